//! What a program of a plugin says.

#![cfg_attr(fuzzing, no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(message);
