//! A file of settings of the host.

#![cfg_attr(any(fuzzing, clippy), no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(configuration);
