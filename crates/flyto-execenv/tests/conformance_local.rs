//! The contract on the local backend.

#![cfg(all(unix, feature = "local", feature = "conformance"))]

use flyto_execenv::{ExecEnv, local::Local};

flyto_execenv::executor_conformance!(ExecEnv::new(Local::new()));
