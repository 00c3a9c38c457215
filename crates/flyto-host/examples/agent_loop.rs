//! A small agent loop against a scripted model: each turn of the model asks for calls, each call goes through the
//! stages of the host, and the model gets the results.
//!
//! ```sh
//! cargo run -p flyto-host --example agent_loop
//! ```
//!
//! First one call is traced through all stages, one of which is the program's own. Then the same call is denied by each
//! stage that can deny, with what the model is told, the exit code that `flyto call` would have, and the record in the
//! log. The stage `reverse thinking` denies nothing: its verdict is what the program's own stage decides by.

#![forbid(unsafe_code)]

use std::{
    error::Error,
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use flyto_audit::{Filter, Reader};
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    CallEnd, CallError, Config, Host, OutputGuard, Places, Refusal, Surroundings,
    stages::{
        Answer, Call, CallReport, Challenged, Challenger, CheckpointHandler, Deliverable,
        MissingCall, Next, Question, Stage, StageResult, names,
    },
};
use flyto_tools::{CallContext, Input};
use serde_json::json;

/// What a model would answer, turn by turn: the tools that it calls, with their inputs.
const SCRIPT: [&[(&str, &str)]; 2] = [
    &[("echo_input", r#"{"text": "what is there"}"#), ("nowhere", "{}")],
    &[("site:deploy", DEPLOY)],
];

/// The input of the call that is traced, and then denied.
const DEPLOY: &str = r#"{"version": 7}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Everything of this run lies here. A program of its own takes `Surroundings::ambient()`.
    let dir = tempfile::tempdir()?;
    run(dir.path(), &mut std::io::stdout()).await
}

/// The whole of it, with its files in a directory.
pub(crate) async fn run(dir: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let place = Scenario::new(dir.join("loop"), Case::Made)?;
    let host = place.host()?;
    writeln!(out, "stages: {}", host.stages().collect::<Vec<_>>().join(" → "))?;
    for (turn, calls) in SCRIPT.iter().enumerate() {
        writeln!(out, "\nturn {}", turn + 1)?;
        for (name, input) in *calls {
            writeln!(out, "  {name} {input}")?;
            let ctx = CallContext::new().with_timeout(Duration::from_secs(60));
            let input = Input::parse(*input)?;
            let call = match host.prepare(name, input.clone()) {
                Ok(call) => call,
                Err(err) => {
                    // `Host::call` does this by itself: the log has every call.
                    host.missing(MissingCall::new(name, &ctx, &err).input(&input)).await;
                    end(out, &place, &ctx, &Err(err))?;
                    continue;
                }
            };
            // What is shown here is what runs, also when the tool is reloaded in between.
            let preview = call.outline().preview;
            if let Some(command_line) = preview.and_then(|it| it.command_line) {
                writeln!(out, "    would run: {}", command_line.join(" "))?;
            }
            let report = call.run_reported(&ctx).await;
            for it in &report.stages {
                // `it.time` is how long it took.
                writeln!(out, "    {:<16}  {}", it.stage, said(&it.stage, &report))?;
            }
            end(out, &place, &ctx, &report.result)?;
        }
    }
    // Processes of session plugins end here, and not when the program exits.
    host.close().await;
    writeln!(out, "\nThe same call, denied")?;
    for case in [
        Case::BadInput,
        Case::DenyRule,
        Case::NotReleased,
        Case::NoLog,
        Case::AdvisedAgainst,
        Case::NoProgram,
        Case::SecretWithheld,
    ] {
        let place = Scenario::new(dir.join(format!("{case:?}")), case)?;
        let host = place.host()?;
        let input = if case == Case::BadInput { r#"{"version": "7"}"# } else { DEPLOY };
        let ctx = CallContext::new().with_timeout(Duration::from_secs(60));
        let report = host.prepare("site:deploy", Input::parse(input)?)?.run_reported(&ctx).await;
        let stage = match &report.result {
            Ok(_) => names::VALIDATE,
            Err(CallError::Refused(refusal)) => &refusal.stage,
            Err(_) => names::EXECUTE,
        };
        writeln!(out, "\n  {case:?}: by the stage {stage}")?;
        end(out, &place, &ctx, &report.result)?;
    }
    Ok(())
}

/// What a stage had to say of a call.
fn said(stage: &str, report: &CallReport) -> String {
    let result = report.result.as_ref().ok();
    match stage {
        names::PERMISSION => report.decision.as_ref().map_or_else(String::new, ToString::to_string),
        names::REVERSE_THINKING => match &report.challenged {
            Challenged::By(found) => format!("{}: {}", found.verdict, found.verdict_reason),
            _ => "not asked".to_owned(),
        },
        names::EXECUTE => match result.and_then(|it| it.execution.as_ref()) {
            Some(it) => format!("ran on {}, {} bytes of output", it.backend, it.stdout_bytes),
            None => "ran".to_owned(),
        },
        names::OUTPUT_GUARD => format!("replaced {} secrets", report.secrets.len()),
        names::BOUND => format!("{} bytes for the model", result.map_or(0, |it| it.output.len())),
        _ => "went on".to_owned(),
    }
}

/// What the model is told, the exit code, and the records of the call as `flyto audit show` reads them.
fn end(
    out: &mut impl Write,
    place: &Scenario,
    ctx: &CallContext,
    result: &StageResult,
) -> Result<(), Box<dyn Error>> {
    match result {
        Ok(result) => writeln!(out, "    result: {}", result.output.trim_end())?,
        Err(CallError::Tool(err)) => writeln!(out, "    no result: {}", err.chain())?,
        Err(err) => writeln!(out, "    no result: {err}")?,
    }
    writeln!(out, "    exit code: {}", CallEnd::of(result).exit_code())?;
    let log = match Reader::open(place.log()) {
        Ok(log) => log.filter(Filter::default().with_id(ctx.id().as_str())),
        Err(err) => return Ok(writeln!(out, "    no record: {err}")?),
    };
    for record in log.records()? {
        let mut record = record?;
        if let Some(body) = record.body.as_object_mut() {
            // What differs from run to run, and from machine to machine.
            body.retain(|name, _| {
                !matches!(
                    &**name,
                    "uid" | "seconds" | "usage" | "confirmed" | "leaked" | "enforced"
                )
            });
        }
        writeln!(out, "    {}: {}", record.event, record.body)?;
    }
    Ok(())
}

/// What is different about a call, so that a stage denies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// Nothing: the call is made.
    Made,
    /// Its input breaks the schema.
    BadInput,
    /// A rule denies it.
    DenyRule,
    /// The handler says no.
    NotReleased,
    /// A file lies where the log should be.
    NoLog,
    /// The challenger advises against it.
    AdvisedAgainst,
    /// The program is gone.
    NoProgram,
    /// A secret in the result has it withheld, and not only redacted.
    SecretWithheld,
}

/// A directory with a plugin whose tool `deploy` prints a secret, and with the files of a user.
struct Scenario {
    dir: PathBuf,
    case: Case,
}

impl Scenario {
    fn new(dir: PathBuf, case: Case) -> Result<Self, Box<dyn Error>> {
        let manifest = json!({"name": "site", "tools": [{
            "name": "deploy",
            "description": "Puts a version into use.",
            // A token of the form that is looked for, which opens nothing.
            "command": "sh",
            "args": ["-c", "echo deployed with ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"],
            "input_schema": {
                "type": "object",
                "properties": {"version": {"type": "integer"}},
                "required": ["version"],
            },
            "requires_checkpoint": true,
            "requires_reverse_thinking": true,
        }]});
        let plugin = dir.join("plugins/site");
        fs::create_dir_all(&plugin)?;
        fs::write(plugin.join("plugin.json"), manifest.to_string())?;
        let res = Self { dir, case };
        if case == Case::NoLog {
            fs::create_dir_all(res.places().state_dir.unwrap_or_default())?;
            fs::write(res.log(), "no directory")?;
        }
        Ok(res)
    }

    fn places(&self) -> Places {
        Places::below(&self.dir)
    }

    fn log(&self) -> PathBuf {
        self.places().state_dir.unwrap_or_default().join("audit")
    }

    fn host(&self) -> Result<Host, Box<dyn Error>> {
        let mut config = Config::default();
        config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
        config.plugins.enabled = true;
        config.plugins.plugin_dirs = vec![self.dir.join("plugins")];
        // What no rule names is asked, and the handler below answers.
        config.permissions.allow("echo_input")?;
        config.permissions.allow("Bash(echo:*)")?;
        match self.case {
            Case::DenyRule => config.permissions.deny("site:deploy")?,
            Case::SecretWithheld => config.output_guard = Some(OutputGuard::Refuse),
            _ => {}
        }
        let path = if self.case == Case::NoProgram { "/nowhere" } else { "/usr/bin:/bin" };
        let env = [("PATH", path)].into_iter().collect();
        let surroundings = Surroundings::new(env, &self.dir).with_places(self.places());
        let host = Host::builder(ExecEnv::new(Local::new()), surroundings, config)
            .checkpoint_handler(Releases(self.case != Case::NotReleased))
            .challenger(Doubts(self.case == Case::AdvisedAgainst))
            .stages(|stages| stages.insert_before(names::EXECUTE, HeedsVerdict))?
            .build();
        Ok(host)
    }
}

/// Releases calls, or does not. A program would ask a person here.
#[derive(Debug)]
struct Releases(bool);

#[async_trait]
impl CheckpointHandler for Releases {
    async fn ask(&self, _: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        match self {
            Self(true) => Ok(Answer::Yes),
            Self(false) => Ok(Answer::No { reason: Some("the operator said no".to_owned()) }),
        }
    }
}

/// Argues against a call, and may advise against it. A program would ask a model here.
#[derive(Debug)]
struct Doubts(bool);

#[async_trait]
impl Challenger for Doubts {
    async fn challenge(&self, _: &Call) -> Result<Deliverable, Box<dyn Error + Send + Sync>> {
        let found = match self {
            Self(true) => Deliverable::new("stop", "the former version cannot be put back"),
            Self(false) => Deliverable::new("go on", "the former version can be put back"),
        };
        Ok(found.scenario("the new version cannot read the old data"))
    }
}

/// A stage of the program's own: what the challenger advises against is not called.
#[derive(Debug)]
struct HeedsVerdict;

#[async_trait]
impl Stage for HeedsVerdict {
    fn name(&self) -> &str {
        "heed verdict"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        match call.challenged() {
            Challenged::By(found) if found.verdict == "stop" => {
                let why = format!("the challenger advises against it: {}", found.verdict_reason);
                Err(Refusal::new(call, self.name(), why).into())
            }
            _ => next.run(call).await,
        }
    }
}
