//! The contract on the local backend.

use flyto_execenv::{ExecEnv, local::Local};

flyto_execenv::executor_conformance!(ExecEnv::new(Local::new()));
