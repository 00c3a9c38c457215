//! The record of a project that is trusted.

#![cfg_attr(any(fuzzing, clippy), no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(trust);
