//! What a supervisor and its host say to each other.

#![cfg_attr(fuzzing, no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(records);
