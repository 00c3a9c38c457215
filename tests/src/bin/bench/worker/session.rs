//! What is measured: a tool of a plugin whose process stays, called as a host calls it.

use std::{sync::Arc, time::Duration};

use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_plugin::{Invocation, Lifetime, PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, Input, Tool};
use tokio::runtime::Runtime;

use super::{CHILD_PATH, calls};
use crate::{
    Result,
    job::{Job, REQUEST_BYTES, Sample},
};

/// Bytes of a request beside the text in its arguments, with an id of five digits.
const ENVELOPE_BYTES: usize = 97;

pub(super) fn calls(job: &Job, runtime: &Runtime) -> Result<Sample> {
    let file = job.child.file_name().ok_or("a child has a name")?;
    let dir = job.child.parent().ok_or("a child has a directory")?;
    let mut def = ToolDef::rpc("t", file);
    def.invocation = Invocation::Rpc {
        path: file.into(),
        lifetime: Lifetime::Session { idle: Duration::from_secs(60) },
    };
    let host_env = Environment::from_iter([("PATH", CHILD_PATH)]);
    let ctx = Arc::new(PluginContext::new(ExecEnv::new(Local::new()), host_env).session_dir("/"));
    let tool = Arc::new(PluginTool::new(def, dir, "p", Arc::clone(&ctx)));
    let text = "x".repeat(REQUEST_BYTES - ENVELOPE_BYTES);
    let input = Input::parse(format!(r#"{{"text":"{text}"}}"#))?;
    let res = calls::concurrent(job, runtime, move |_| {
        let (tool, input) = (Arc::clone(&tool), input.clone());
        async move {
            let res = tool.execute(&CallContext::new(), input).await?;
            if res.is_error() {
                return Err(res.output.into());
            }
            Ok(())
        }
    });
    runtime.block_on(ctx.sessions.close());
    res
}
