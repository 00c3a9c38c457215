//! The path of a call: its stages, their order, what each of them refuses.

use std::{
    error::Error,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use flyto_audit::Reader;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    CallError, Config, Host, HostBuilder, HostGuard, OutputGuard, Refusal,
    permission::Caller,
    stages::{
        Answer, Audit, Call, Challenged, Challenger, CheckpointHandler, Deliverable, Guard, Next,
        Question, Stage, StageError, StageResult, Stages, names,
    },
};
use flyto_tools::{
    CallContext, CancellationToken, Failure, Input, Metadata, NativeTool, ToolResult,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::world::World;

fn builder(world: &World) -> HostBuilder {
    Host::builder(ExecEnv::new(Local::new()), world.surroundings(), Config::default())
        .caller(Caller::Operator)
}

/// What the tool `greet` takes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Greeted {
    /// The name.
    name: String,
}

/// Adds a tool `greet` that says hello.
fn with_greet(host: Host, metadata: Metadata) -> Host {
    let greet = async |_, it: Greeted| format!("hello, {}", it.name);
    let greet = NativeTool::builder("greet", "Greets.").metadata(metadata).run(greet);
    host.add_tool("test", greet.expect("a tool")).expect("its name is free");
    host
}

fn input() -> Input {
    Input::parse(r#"{"name": "Ada"}"#).expect("JSON")
}

/// Notes when a call comes to it, when its result comes back, and when a call does not come.
#[derive(Debug)]
struct Notes {
    name: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Notes {
    fn note(&self, what: &str) {
        self.seen.lock().expect("not poisoned").push(format!("{} {what}", self.name));
    }
}

#[async_trait]
impl Stage for Notes {
    fn name(&self) -> &str {
        self.name
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        self.note(if call.result().is_some() { "sees a result" } else { "begins" });
        let res = next.run(call).await;
        self.note(if res.is_ok() { "ends well" } else { "ends" });
        res
    }

    async fn not_reached(&self, _: &Call, end: &StageResult) {
        self.note(if end.is_ok() { "is spared" } else { "is not reached" });
    }
}

#[tokio::test]
async fn a_call_goes_through_the_stages_in_their_order() {
    let world = World::new();
    let seen = Arc::default();
    let notes = |name| Notes { name, seen: Arc::clone(&seen) };
    let stages = |it: Stages| {
        it.insert_before(names::VALIDATE, notes("first"))?
            .insert_before(names::EXECUTE, notes("before"))?
            .insert_after(names::EXECUTE, notes("after"))
    };
    let host = with_greet(
        builder(&world).stages(stages).expect("their names are free").build(),
        Metadata::default(),
    );
    assert_eq!(
        host.stages().collect::<Vec<_>>(),
        [
            "first",
            "validate",
            "permission",
            "reverse thinking",
            "checkpoint",
            "audit",
            "before",
            "execute",
            "after",
            "output guard",
            "bound"
        ]
    );
    let call = host.prepare("greet", input()).expect("it is there");
    let report = call.run_reported(&CallContext::new()).await;
    assert_eq!(report.result.expect("a result").output, "hello, Ada");
    let timed: Vec<_> = report.stages.iter().map(|it| it.stage.as_str()).collect();
    assert_eq!(timed, host.stages().collect::<Vec<_>>());
    let taken =
        |seen: &Mutex<Vec<String>>| std::mem::take(&mut *seen.lock().expect("not poisoned"));
    assert_eq!(
        taken(&seen),
        [
            "first begins",
            "before begins",
            "after sees a result",
            "after ends well",
            "before ends well",
            "first ends well"
        ]
    );

    // An input that does not fit ends in the stage for it; the stages behind hear of that.
    let bad = host.call("greet", Input::empty(), &CallContext::new()).await.expect("a result");
    assert_eq!(bad.failure, Some(Failure::BadInput));
    assert_eq!(
        taken(&seen),
        ["first begins", "first ends well", "before is spared", "after is spared"]
    );
}

#[test]
fn a_list_of_stages_is_changed_by_name() {
    let world = World::new();
    let notes = |name| Notes { name, seen: Arc::default() };
    let names_of = |change: &dyn Fn(Stages) -> Result<Stages, StageError>| {
        let built = builder(&world).stages(change).map(HostBuilder::build);
        built.map(|it| it.stages().collect::<Vec<_>>().join(", ")).map_err(|err| err.to_string())
    };
    let ok = |text: &str| Ok(text.to_owned());
    assert_eq!(
        names_of(&|it| it.remove(names::BOUND)?.move_before(names::CHECKPOINT, names::VALIDATE)),
        ok("checkpoint, validate, permission, reverse thinking, audit, execute, output guard")
    );
    assert_eq!(
        names_of(&|it| it.move_before(names::VALIDATE, names::EXECUTE)),
        ok(
            "permission, reverse thinking, checkpoint, audit, validate, execute, output guard, bound"
        )
    );
    assert_eq!(
        names_of(&|it| it.replace(names::BOUND, notes("x"))?.push(notes("y"))),
        ok(
            "validate, permission, reverse thinking, checkpoint, audit, execute, output guard, x, y"
        )
    );
    let err = |it: Result<String, String>| it.expect_err("it cannot be done");
    expect![[r#"there is no stage "excute"; there are validate, permission, reverse thinking, checkpoint, audit, execute, output guard, bound"#]]
        .assert_eq(&err(names_of(&|it| it.insert_after("excute", notes("x")))));
    expect![[
        r#"there is a stage "bound" already; replace it, or give the other one its own name"#
    ]]
    .assert_eq(&err(names_of(&|it| it.push(notes(names::BOUND)))));
}

#[tokio::test]
async fn a_stage_that_was_removed_can_be_put_back() {
    let world = World::new();
    let guard = Arc::new(HostGuard::new(world.surroundings().env));
    let dir = world.path("calls");
    let audit = Audit::new(&dir, &world.config.audit, guard.clone());
    let stages = |it: Stages| {
        let without = it.remove(names::AUDIT)?.remove(names::OUTPUT_GUARD)?;
        without
            .insert_before(names::VALIDATE, audit)?
            .insert_after(names::EXECUTE, Guard::new(guard, Some(OutputGuard::Redact)))
    };
    let host = builder(&world).stages(stages).expect("they are there").build();
    let host = with_greet(host, Metadata::default());
    let listed = host.stages().collect::<Vec<_>>().join(", ");
    expect![
        "audit, validate, permission, reverse thinking, checkpoint, execute, output guard, bound"
    ]
    .assert_eq(&listed);

    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let input = Input::from_value(serde_json::json!({"name": token}));
    let res = host.call("greet", input, &CallContext::new()).await.expect("a result");
    assert!(res.output.starts_with("hello, [redacted: "), "{}", res.output);
    // It stands in front of the others, so it sees what they refuse, and no decision yet.
    let bad = host.call("greet", Input::empty(), &CallContext::new()).await.expect("a result");
    assert_eq!(bad.failure, Some(Failure::BadInput));
    let records = Reader::open(&dir).expect("a log").records().expect("it opens");
    let records: Vec<_> = records.map(|it| it.expect("a record").body).collect();
    let outcomes: Vec<_> = records.iter().filter_map(|it| it["outcome"].as_str()).collect();
    assert_eq!((records.len(), outcomes), (4, vec!["ok", "failed"]));
    assert!(records.iter().all(|it| it.get("decision").is_none()));
    assert!(!world.path(".local/state/flyto/audit").exists());
}

#[tokio::test]
async fn without_the_stage_that_executes_there_is_no_result() {
    let world = World::new();
    let host = builder(&world).stages(|it| it.remove(names::EXECUTE)).expect("it is there").build();
    let host = with_greet(host, Metadata::default());
    let err = host.call("greet", input(), &CallContext::new()).await.expect_err("no result");
    expect!["failed to call greet: no stage executes tools"].assert_eq(&err.to_string());
}

#[tokio::test]
async fn a_tool_checks_its_input_where_no_stage_does() {
    let world = World::new();
    let host =
        builder(&world).stages(|it| it.remove(names::VALIDATE)).expect("it is there").build();
    let host = with_greet(host, Metadata::default());
    let res = host.call("greet", Input::empty(), &CallContext::new()).await.expect("a result");
    assert_eq!(res.failure, Some(Failure::BadInput));
}

/// How a handler behaves.
#[derive(Debug, Clone, Copy)]
enum Handler {
    Releases,
    Refuses,
    Fails,
    Panics,
    Waits,
}

#[async_trait]
impl CheckpointHandler for Handler {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        assert_eq!(question.call.input().value()["name"], "Ada");
        match self {
            Self::Releases => Ok(Answer::Yes),
            Self::Refuses => Ok(Answer::No { reason: Some("not today".to_owned()) }),
            Self::Fails => Err("the terminal is gone".into()),
            Self::Panics => panic!("no hands"),
            Self::Waits => std::future::pending().await,
        }
    }
}

fn at_checkpoint() -> Metadata {
    let mut metadata = Metadata::default();
    metadata.requires_checkpoint = true;
    metadata
}

async fn check_checkpoint(handler: Handler, ctx: &CallContext, expect: Expect) {
    let world = World::new();
    let host = with_greet(builder(&world).checkpoint_handler(handler).build(), at_checkpoint());
    let call = host.prepare("greet", input()).expect("it is there");
    assert_eq!(call.outline().refused, None, "a handler decides");
    let shown = match call.run(ctx).await {
        Ok(result) => match result.failure {
            Some(failure) => format!("{failure:?}: {}", result.output),
            None => result.output,
        },
        Err(CallError::Refused(refusal)) => {
            assert_eq!(refusal.stage, names::CHECKPOINT);
            refusal.to_string()
        }
        Err(other) => panic!("{other:?}"),
    };
    expect.assert_eq(&shown);
}

#[tokio::test]
async fn a_checkpoint_waits_for_its_handler() {
    let ctx = CallContext::new();
    check_checkpoint(Handler::Releases, &ctx, expect!["hello, Ada"]).await;
    check_checkpoint(
        Handler::Refuses,
        &ctx,
        expect![[r#"the call of "greet" was refused by the stage "checkpoint": it was not released: not today"#]],
    )
    .await;
    check_checkpoint(
        Handler::Fails,
        &ctx,
        expect![[r#"the call of "greet" was refused by the stage "checkpoint": it was not released: the terminal is gone"#]],
    )
    .await;
    check_checkpoint(
        Handler::Panics,
        &ctx,
        expect![[r#"the call of "greet" was refused by the stage "checkpoint": it was not released: the handler panicked: no hands"#]],
    )
    .await;
}

#[tokio::test]
async fn a_checkpoint_waits_no_longer_than_its_call() {
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    check_checkpoint(
        Handler::Waits,
        &CallContext::new().with_cancellation(cancelled),
        expect![[r#"Cancelled: tool "greet" was cancelled in the stage "checkpoint"; nothing was started"#]],
    )
    .await;
    check_checkpoint(
        Handler::Waits,
        // Long enough to reach the checkpoint.
        &CallContext::new().with_timeout(Duration::from_secs(2)),
        expect![[r#"TimedOut { after: Some(2s) }: tool "greet" timed out after 2s in the stage "checkpoint"; nothing was started"#]],
    )
    .await;
}

/// Doubts every call, or has nothing to say.
#[derive(Debug)]
struct Doubts(bool);

#[async_trait]
impl Challenger for Doubts {
    async fn challenge(&self, call: &Call) -> Result<Deliverable, Box<dyn Error + Send + Sync>> {
        let Self(speaks) = self;
        let name = &call.input().value()["name"];
        let found = Deliverable::new("doubtful", "the name may be wrong")
            .assumption(format!("{name} is a name"));
        if *speaks { Ok(found) } else { Err("no model answers".into()) }
    }
}

#[tokio::test]
async fn a_challenge_informs_and_refuses_nothing() {
    let world = World::new();
    let challenged = async |builder: HostBuilder, is_required: bool| {
        let mut metadata = Metadata::default();
        metadata.requires_reverse_thinking = is_required;
        let host = with_greet(builder.build(), metadata);
        let call = host.prepare("greet", input()).expect("it is there");
        let report = call.run_reported(&CallContext::new()).await;
        assert_eq!(report.result.expect("a result").output, "hello, Ada");
        report.challenged
    };
    let speaks = || builder(&world).challenger(Doubts(true));
    assert_eq!(challenged(speaks(), false).await, Challenged::NotRequired);
    assert_eq!(challenged(builder(&world), true).await, Challenged::NoChallenger);
    let failed = challenged(builder(&world).challenger(Doubts(false)), true).await;
    assert_eq!(failed, Challenged::Failed("no model answers".to_owned()));
    let found = serde_json::to_string(&challenged(speaks(), true).await).expect("data");
    expect![[r#"{"by":{"hidden_assumptions":["\"Ada\" is a name"],"failure_scenarios":[],"verdict":"doubtful","verdict_reason":"the name may be wrong"}}"#]]
        .assert_eq(&found);
}

/// Answers in place of the tool, and refuses other calls.
#[derive(Debug)]
struct Answers;

#[async_trait]
impl Stage for Answers {
    fn name(&self) -> &str {
        "answers"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if call.input().value()["name"] != "Ada" {
            return Err(Refusal::new(call, self.name(), "it answers Ada only").into());
        }
        call.set_result(ToolResult::text("x".repeat(200_000)));
        next.run(call).await
    }
}

#[tokio::test]
async fn a_stage_may_answer_for_the_tool() {
    let world = World::new();
    let host =
        builder(&world).stages(|it| it.replace(names::EXECUTE, Answers)).expect("it is there");
    let host = with_greet(host.build(), Metadata::default());
    let res = host.call("greet", input(), &CallContext::new()).await.expect("a result");
    assert!(res.omitted.is_some_and(|it| it.bytes > 100_000), "the stages behind see it");
    let other = Input::parse(r#"{"name": "Eve"}"#).expect("JSON");
    let err = host.call("greet", other, &CallContext::new()).await.expect_err("it is refused");
    expect![[r#"the call of "greet" was refused by the stage "answers": it answers Ada only"#]]
        .assert_eq(&err.to_string());
}

#[tokio::test]
async fn what_was_checked_is_what_runs() {
    let world = World::new().plugin("p", "echo checked");
    let host = world.host();
    let call = host.prepare("p:run", Input::empty()).expect("it is there");
    let plan = call.plan(&CallContext::new()).await.expect("a plan");
    let shown = plan.preview.and_then(|it| it.command_line).expect("a program");
    assert_eq!(shown, ["sh", "-c", "echo checked"]);
    world.add_plugin("p", "echo exchanged");
    host.reload();
    let res = call.run(&CallContext::new()).await.expect("a result");
    assert_eq!(res.output, "checked\n");
    let next = host.call("p:run", Input::empty(), &CallContext::new()).await.expect("a result");
    assert_eq!(next.output, "exchanged\n");
}

/// Takes until the time of the call is over.
#[derive(Debug)]
struct Late;

#[async_trait]
impl Stage for Late {
    fn name(&self) -> &str {
        "late"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        call.set_ctx(call.ctx().clone().with_timeout(Duration::from_millis(1)));
        tokio::time::sleep_until(call.ctx().deadline().expect("it was set").into()).await;
        next.run(call).await
    }
}

#[tokio::test]
async fn time_that_ends_in_a_stage_names_the_stage_and_starts_nothing() {
    let world = World::new().plugin("p", "echo ran >ran");
    let host =
        Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone())
            .caller(Caller::Operator)
            .stages(|it| it.insert_before(names::EXECUTE, Late))
            .expect("there is a stage that executes")
            .build();
    let report = host
        .prepare("p:run", Input::empty())
        .expect("it is there")
        .run_reported(&CallContext::new())
        .await;
    let res = report.result.expect("it was tried");
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(Duration::from_millis(1)) }));
    assert_eq!(
        res.output,
        r#"plugin tool "p:run" timed out after 1ms in the stage "late"; nothing was started"#
    );
    assert_eq!(report.stages.last().map(|it| &*it.stage), Some("late"));
    assert!(!world.path("plugins/p/ran").exists());
}
