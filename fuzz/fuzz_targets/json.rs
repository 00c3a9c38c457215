//! A JSON text.

#![cfg_attr(fuzzing, no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(json);
