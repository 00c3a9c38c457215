//! The value of a declared variable.

#![cfg_attr(any(fuzzing, clippy), no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(variables);
