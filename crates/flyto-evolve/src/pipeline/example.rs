//! Running the examples of a proposal, before a person is asked.
//!
//! The text is not approved then. So it runs with nothing of the user's: no network, a file system that is read-only but
//! for a directory of its own, no environment of the host but the path. Where the backend does not confine that far, the
//! examples are not run.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use flyto_execenv::{Environment, ExecEnv, ExecErrorKind, Limits, Profile, ProfilePlaces, Spec};
use flyto_program::{Streaming, chain};
use flyto_tools::{CallContext, Input, ToolResult};

use crate::{
    Body, EvolvedTool, Example, ExampleOutcome, ExampleReport, HostContext, ToolDefinition,
};

/// How long an example may take.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How much of an output is shown, in bytes.
const MAX_OUTPUT_BYTES: usize = 4096;

/// Runs them where that is safe.
pub(super) async fn run(def: &ToolDefinition, env: &ExecEnv, host: &HostContext) -> ExampleReport {
    if def.examples.is_empty() {
        return ExampleReport::None;
    }
    let untested = |why: String| ExampleReport::Untested { why };
    if let Body::Composite(_) = def.body {
        return untested("the steps of a composite call tools, which nothing confines".to_owned());
    }
    let dir = match ScratchDir::new() {
        Ok(dir) => dir,
        Err(err) => return untested(format!("no directory for them could be made: {err}")),
    };
    let confined = HostContext::new(confined_env(host, dir.path()), dir.path());
    let tool = match EvolvedTool::new(def.clone(), env.clone(), confined) {
        Ok(tool) => tool,
        Err(err) => return untested(err.to_string()),
    };
    let mut outcomes = Vec::new();
    for example in &def.examples {
        let spec = match tool.spec(&Input::from_value(example.input.clone())) {
            Ok(spec) => confine(spec, dir.path(), host),
            Err(text) => {
                let problem =
                    (!example.is_error).then(|| "the input cannot be handed over".to_owned());
                outcomes.push(ExampleOutcome::new(example, text, problem));
                continue;
            }
        };
        let ctx = CallContext::new();
        match flyto_program::run(env, spec, &ctx, Streaming::Quiet).await {
            Ok(ran) => outcomes.push(judged(example, &EvolvedTool::result(&ran))),
            Err(err) if err.kind() == ExecErrorKind::Unsupported => {
                return untested(format!("nothing confines them here: {}", chain(&err)));
            }
            Err(err) => return untested(chain(&err)),
        }
    }
    ExampleReport::Ran { outcomes }
}

/// Asks for everything that keeps a program from the rights of its user. A backend without it refuses.
fn confine(spec: Spec, dir: &Path, host: &HostContext) -> Spec {
    let mut places = ProfilePlaces::new(dir).temp_dir(dir).environment(&host.env);
    if let Some(home) = host.env.get("HOME").map(PathBuf::from).filter(|it| it.is_absolute()) {
        places = places.home(home);
    }
    let isolation = Profile::Strict.isolation(&places);
    let limits = Limits::new().output_bytes(1 << 20);
    spec.isolation(isolation).limits(limits).deadline(MAX_TIME)
}

/// The path of the host, so that programs are found, and nothing else of it.
fn confined_env(host: &HostContext, dir: &Path) -> Environment {
    let mut res = Environment::new();
    for name in ["PATH", "LANG", "LC_ALL"] {
        if let Some(value) = host.env.get(name) {
            res.set(name, value);
        }
    }
    for name in ["HOME", "TMPDIR"] {
        res.set(name, dir);
    }
    res
}

fn judged(example: &Example, result: &ToolResult) -> ExampleOutcome {
    let output = result.output.as_str();
    let same = |a: &str, b: &str| a.trim_end_matches('\n') == b.trim_end_matches('\n');
    let problem = if result.is_error() != example.is_error {
        let expected = if example.is_error { "fails" } else { "succeeds" };
        Some(format!("it is expected that the call {expected}"))
    } else if let Some(wanted) = example.output.as_deref().filter(|it| !same(it, output)) {
        Some(format!("the output {wanted:?} is expected"))
    } else {
        let missing = example.contains.iter().find(|it| !output.contains(it.as_str()));
        missing.map(|it| format!("the text {it:?} is expected in the output"))
    };
    let end = output.floor_char_boundary(MAX_OUTPUT_BYTES);
    ExampleOutcome::new(example, output[..end].to_owned(), problem)
}

/// A directory that is removed with the value.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn new() -> std::io::Result<Self> {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let name: String = bytes.iter().map(|it| format!("{it:02x}")).collect();
        let path = std::env::temp_dir().canonicalize()?.join(format!("flyto-example-{name}"));
        // Fails where it exists, so it is of this process alone.
        #[cfg_attr(not(unix), expect(unused_mut, reason = "the mode is one of Unix"))]
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
