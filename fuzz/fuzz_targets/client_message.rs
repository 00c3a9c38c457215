//! What a client of the Model Context Protocol writes.

#![cfg_attr(fuzzing, no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(client_message);
