//! A JSON Schema and a value.

#![cfg_attr(fuzzing, no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(schema);
