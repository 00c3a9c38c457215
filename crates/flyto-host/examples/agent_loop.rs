//! A small agent loop against a scripted model: each turn of the model asks for calls, each call goes through the
//! stages of the host, and the model gets the results.
//!
//! ```sh
//! cargo run -p flyto-host --example agent_loop
//! ```
//!
//! Beside the stages of every host, the loop has one of its own, which counts the calls of a session. One tool waits
//! for a checkpoint, one has a challenger look at it first.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{
    error::Error,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    Config, Host, Refusal, Surroundings,
    stages::{
        Answer, Call, Challenged, Challenger, CheckpointHandler, Deliverable, Next, Question,
        Stage, StageResult, names,
    },
};
use flyto_tools::{CallContext, Input, Metadata, NativeTool, NoInput};

/// What a model would answer, turn by turn: the tools that it calls, with their inputs.
const SCRIPT: [&[(&str, &str)]; 4] = [
    &[("echo_input", r#"{"text": "what is there"}"#), ("clock", "{}")],
    &[("deploy", r#"{}"#)],
    &[("erase", r#"{}"#), ("nowhere", "{}")],
    &[("clock", "{}")],
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
    // What no rule names is asked, and the handler below answers.
    config.permissions.allow("echo_input")?;
    config.permissions.allow("clock")?;
    config.permissions.deny("erase")?;
    let host = Host::builder(ExecEnv::new(Local::new()), Surroundings::ambient()?, config)
        .checkpoint_handler(ReleaseDeploys)
        .challenger(Doubts)
        .stages(|stages| stages.insert_before(names::EXECUTE, CallsLeft(AtomicUsize::new(3))))?
        .build();
    add_tools(&host)?;
    println!("stages: {}", host.stages().collect::<Vec<_>>().join(" → "));

    for (turn, calls) in SCRIPT.iter().enumerate() {
        println!("\nturn {}", turn + 1);
        for (name, input) in *calls {
            make(&host, name, Input::parse(*input)?).await;
        }
    }
    // Processes of session plugins end here, and not when the program exits.
    host.close().await;
    Ok(())
}

/// Makes one call, and shows what the model would be told, with the way that the call took.
async fn make(host: &Host, name: &str, input: Input) {
    println!("  {name} {}", input.text());
    let call = match host.prepare(name, input) {
        Ok(call) => call,
        Err(err) => return println!("    no call: {err}"),
    };
    // What is shown here is what runs, also when the tool is reloaded in between.
    if let Some(command_line) = call.preview().and_then(|it| it.command_line.as_ref()) {
        println!("    would run: {}", command_line.join(" "));
    }
    let ctx = CallContext::new().with_timeout(Duration::from_secs(10));
    let report = call.run_reported(&ctx).await;
    if let Challenged::By(found) = &report.challenged {
        println!("    challenged: {}, {}", found.verdict, found.verdict_reason);
    }
    match &report.result {
        Ok(result) => println!("    result: {}", result.output.trim_end()),
        Err(err) => println!("    no call: {err}"),
    }
    let stages = report.stages.iter().map(|it| format!("{} {:?}", it.stage, it.time));
    println!("    went through: {}", stages.collect::<Vec<_>>().join(", "));
}

fn add_tools(host: &Host) -> Result<(), Box<dyn Error>> {
    let clock = NativeTool::builder("clock", "Says how far the clock is.");
    host.add_tool("example", clock.run(async |_, _: NoInput| "noon")?)?;

    let mut gated = Metadata::default();
    gated.requires_checkpoint = true;
    for (name, about) in [("deploy", "Puts the program into use."), ("erase", "Erases the disk.")] {
        let mut metadata = gated.clone();
        metadata.requires_reverse_thinking = name == "deploy";
        let tool = NativeTool::builder(name, about).metadata(metadata);
        host.add_tool("example", tool.run(async |_, _: NoInput| "done")?)?;
    }
    Ok(())
}

/// Releases one tool. A program would ask a person here.
#[derive(Debug)]
struct ReleaseDeploys;

#[async_trait]
impl CheckpointHandler for ReleaseDeploys {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        match question.call.entry().id().as_str() {
            "deploy" => Ok(Answer::Yes),
            _ => Ok(Answer::No { reason: Some("the operator said no".to_owned()) }),
        }
    }
}

/// Argues against a call. A program would ask a model here.
#[derive(Debug)]
struct Doubts;

#[async_trait]
impl Challenger for Doubts {
    async fn challenge(&self, _: &Call) -> Result<Deliverable, Box<dyn Error + Send + Sync>> {
        Ok(Deliverable::new("go on", "a former version can be put back")
            .assumption("the tests passed on this very version")
            .scenario("the new version cannot read the old data"))
    }
}

/// A stage of the program's own: so many calls, and no more.
#[derive(Debug)]
struct CallsLeft(AtomicUsize);

#[async_trait]
impl Stage for CallsLeft {
    fn name(&self) -> &str {
        "calls left"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        let Self(left) = self;
        let one_less = |it: usize| it.checked_sub(1);
        match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Ok(_) => next.run(call).await,
            Err(_) => Err(Refusal::new(call, self.name(), "the session has had its calls").into()),
        }
    }
}
