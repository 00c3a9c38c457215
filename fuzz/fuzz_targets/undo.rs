//! The record of a call that can be undone.

#![cfg_attr(any(fuzzing, clippy), no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(undo);
