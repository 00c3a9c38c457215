//! What is measured: a tool of a definition file, called through all stages of a host.

use std::{fs, sync::Arc};

use flyto_execenv::Environment;
use flyto_host::{Config, Host, Surroundings};
use flyto_tools::{CallContext, Input};
use serde_json::json;
use tokio::runtime::Runtime;

use super::{CHILD_PATH, calls, exec_env};
use crate::{
    Result,
    job::{Job, REQUEST_BYTES, Sample},
};

/// Bytes of the input beside its text.
const AROUND_BYTES: usize = r#"{"text":""}"#.len();

pub(super) fn calls(job: &Job, runtime: &Runtime) -> Result<Sample> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("tools.json");
    let schema = json!({"type": "object", "properties": {"text": {"type": "string", "maxLength": 4096}},
        "required": ["text"], "additionalProperties": false});
    let tool = json!({"name": "t", "description": "Answers.", "exec": [&job.child], "input_schema": schema});
    fs::write(&file, tool.to_string())?;
    let mut config = Config::default();
    config.exec_tools.push(file);
    let path = [("PATH", CHILD_PATH.as_ref()), ("HOME", dir.path().as_os_str())];
    let env = Environment::from_iter(path);
    let surroundings = Surroundings::new(env, dir.path());
    // As for a model: rules decide, each call is recorded, and its result is looked at.
    config.permissions.allow("t")?;
    let host = Arc::new(Host::new(exec_env::env(), surroundings, config));
    let text = "x".repeat(REQUEST_BYTES - AROUND_BYTES);
    let input = Input::parse(format!(r#"{{"text":"{text}"}}"#))?;
    calls::concurrent(job, runtime, move |_| {
        let (host, input) = (Arc::clone(&host), input.clone());
        async move {
            let res = host.call("t", input, &CallContext::new()).await?;
            if res.is_error() || res.output.len() != REQUEST_BYTES {
                return Err(res.output.into());
            }
            Ok(())
        }
    })
}
