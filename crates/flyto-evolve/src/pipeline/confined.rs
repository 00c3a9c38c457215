//! Running a text that no person approved, or approved for other circumstances: examples of a proposal, and recorded calls.
//!
//! It runs with nothing of the user's: no network, no files but those of the system and a directory of its own, no
//! environment of the host but the path. Where the backend does not confine that far, nothing is run. `/proc` can be read, since
//! the supervisor that ends the run needs it under the same rules: names and arguments of other processes are in it, and the
//! kernel gives neither their variables nor their memory.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use flyto_execenv::{Environment, ExecEnv, ExecErrorKind, Limits, Profile, ProfilePlaces, Spec};
use flyto_program::{Streaming, chain};
use flyto_tools::{CallContext, Failure, Input, ToolResult};
use serde_json::Value;

use crate::{EvolvedTool, HostContext, ToolDefinition};

/// How long one run may take.
pub(super) const MAX_TIME: Duration = Duration::from_secs(10);
/// How much one run may print.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// How much memory all processes of one run may have: 512 MiB, with which common interpreters start.
const MAX_MEMORY_BYTES: u64 = 512 << 20;
/// How large a file may be that one run writes: 16 MiB.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// How many processes and threads of one run may be alive at once.
const MAX_PROCESSES: u64 = 128;

/// Why a run failed, with the bound where it met one.
pub(super) fn bound(failure: &Failure) -> String {
    match failure {
        Failure::TimedOut { .. } => format!("it ran longer than {} s", MAX_TIME.as_secs()),
        Failure::Limit { which } => {
            let bound = match which.as_str() {
                "output" => format!("{} MiB of output", MAX_OUTPUT_BYTES >> 20),
                "memory" => format!("{} MiB of memory", MAX_MEMORY_BYTES >> 20),
                "file_size" => format!("{} MiB of a file", MAX_FILE_BYTES >> 20),
                "processes" => format!("{MAX_PROCESSES} processes"),
                other => format!("its bound of {other}"),
            };
            format!("it took more than {bound}")
        }
        other => other.to_string(),
    }
}

/// A script or a command that runs confined, with an empty directory that is removed with it.
pub(super) struct Confined<'a> {
    tool: EvolvedTool,
    dir: ScratchDir,
    env: &'a ExecEnv,
    host: &'a HostContext,
}

impl<'a> Confined<'a> {
    /// Prepares a definition; the error says why that cannot be.
    pub(super) fn new(
        def: &ToolDefinition,
        env: &'a ExecEnv,
        host: &'a HostContext,
    ) -> Result<Self, String> {
        let dir = ScratchDir::new()
            .map_err(|err| format!("no directory for them could be made: {err}"))?;
        let inside = HostContext::new(confined_env(host, dir.path()), dir.path());
        let tool =
            EvolvedTool::new(def.clone(), env.clone(), inside).map_err(|err| err.to_string())?;
        Ok(Self { tool, dir, env, host })
    }

    /// Puts a file into the directory, so that a run that looks there finds something else.
    pub(super) fn add_file(&self) -> Result<(), String> {
        std::fs::write(self.dir.path().join("notes.txt"), "another run\n")
            .map_err(|err| err.to_string())
    }

    /// One call, of 10 seconds at most, and of the time that the tool has. An input that cannot be handed over is a result with
    /// [`Failure::BadInput`]; the error says why nothing was run.
    pub(super) async fn call(&self, input: &Value) -> Result<ToolResult, String> {
        let spec = match self.tool.spec(&Input::from_value(input.clone())) {
            Ok(spec) => {
                let time = self.tool.definition().timeout().min(MAX_TIME);
                confine(spec, self.dir.path(), self.host).deadline(time)
            }
            Err(text) => return Ok(ToolResult::failed(Failure::BadInput, text)),
        };
        let ctx = CallContext::new();
        match flyto_program::run(self.env, spec, &ctx, Streaming::Quiet).await {
            Ok(ran) => Ok(EvolvedTool::result(&ran)),
            Err(err) if err.kind() == ExecErrorKind::Unsupported => {
                Err(format!("nothing confines them here: {}", chain(&err)))
            }
            Err(err) => Err(chain(&err)),
        }
    }
}

/// Asks for everything that keeps a program from the rights of its user. A backend without it refuses.
///
/// The profile is `strict`: the programs and settings of the system can be read, such as those in `/usr` and `/etc`, and no
/// file of the user, of the caller's directory or of `/tmp`; only the directory of the run can be written. There is
/// no network, no socket, no other process to signal. Output, memory, files and processes are bounded.
fn confine(spec: Spec, dir: &Path, host: &HostContext) -> Spec {
    let places = ProfilePlaces::new(dir).temp_dir(dir).environment(&host.env);
    let mut places = places.system_secrets();
    if let Some(home) = host.env.get("HOME").map(PathBuf::from).filter(|it| it.is_absolute()) {
        places = places.home(home);
    }
    let isolation = Profile::Strict.isolation(&places);
    let limits = Limits::new()
        .output_bytes(MAX_OUTPUT_BYTES)
        .memory_bytes(MAX_MEMORY_BYTES)
        .file_size_bytes(MAX_FILE_BYTES)
        .processes(MAX_PROCESSES);
    spec.isolation(isolation).limits(limits)
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

/// A directory that is removed with the value.
struct ScratchDir(PathBuf);

impl ScratchDir {
    /// Makes one of mode 0700 that no other process has.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers, or the directory cannot be made.
    fn new() -> std::io::Result<Self> {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let name: String = bytes.iter().map(|it| format!("{it:02x}")).collect();
        // The name says nothing about the run: a script that knows a rehearsal could behave there.
        let path = std::env::temp_dir().canonicalize()?.join(format!("tmp.{name}"));
        // Fails where it exists, so it is of this process alone.
        #[cfg_attr(not(unix), expect(unused_mut, reason = "the mode is one of Unix"))]
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    /// Where it is, from the root on and without links.
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
