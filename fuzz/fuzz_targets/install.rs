//! The file of another client, to which a server is added.

#![cfg_attr(fuzzing, no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(install);
