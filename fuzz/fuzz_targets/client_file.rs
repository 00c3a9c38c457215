//! The file in which another client has its servers.

#![cfg_attr(any(fuzzing, clippy), no_main)]
#![forbid(unsafe_code)]

flyto_fuzz::target!(client_file);
