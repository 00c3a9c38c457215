//! What is recorded of a call, and what becomes of secrets in its result.

use std::{error::Error, fs::File, sync::Arc, time::Duration};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use flyto_audit::{Log, Options, Reader, Record, verify};
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    CallEnd, CallError, Host, HostBuilder, OnUnrecorded, OutputGuard, Prepared,
    permission::Caller,
    stages::{
        Answer, Call, Challenger, CheckpointHandler, Deliverable, Next, Question, Stage,
        StageResult, names,
    },
};
use flyto_tools::{
    CallContext, CallId, CancellationToken, Failure, Input, Metadata, NativeTool, NoInput,
    ToolCaller as _, ToolResult,
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::world::{World, call};

fn builder(world: &World) -> HostBuilder {
    Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone())
}

fn log(world: &World) -> std::path::PathBuf {
    world.path(".local/state/flyto/audit")
}

fn records(world: &World) -> Vec<Record> {
    let records = Reader::open(log(world)).expect("there is a log").records().expect("it opens");
    records.map(|it| it.expect("a record")).collect()
}

/// The records as lines: what differs from run to run is left out.
fn check(world: &World, expect: Expect) {
    let mut shown = String::new();
    for record in records(world) {
        let mut body = record.body.clone();
        let fields = body.as_object_mut().expect("an object");
        for key in ["uid", "seconds", "usage", "enforced", "confirmed", "leaked", "input_sha256"] {
            fields.remove(key);
        }
        let id = record.id.rsplit_once('-').map_or(&*record.id, |it| it.0);
        let id = if record.id.starts_with("call-") { "call" } else { id };
        shown += &format!("{} {id} {body}\n", record.event);
    }
    expect.assert_eq(&shown.replace(&*world.dir.path().to_string_lossy(), "DIR"));
    assert!(verify(log(world)).expect("verified").is_intact());
}

#[tokio::test]
async fn a_call_is_two_records_of_one_id() {
    let mut world = World::new().plugin("p", "echo ran").plugin("q", "exit 3");
    world.config.permissions.allow("p:*").expect("a rule");
    world.config.permissions.allow("q:*").expect("a rule");
    let host = builder(&world).build();
    assert_eq!(call(&host, "p:run", r#"{"n": 1}"#).await.expect("called").output, "ran\n");
    call(&host, "q:run", "{}").await.expect("called");
    check(
        &world,
        expect![[r#"
            begin call {"caller":"agent","sandbox":["none"],"tool":"p:run","origin":"plugin p","operation":"execute","class":"plugin_tool","input_bytes":8,"decision":{"verdict":"allow","rule":{"text":"p:*","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}}
            end call {"outcome":"ok","output_bytes":4,"backend":"local","sandbox":["none"]}
            begin call {"caller":"agent","sandbox":["none"],"tool":"q:run","origin":"plugin q","operation":"execute","class":"plugin_tool","input_bytes":2,"decision":{"verdict":"allow","rule":{"text":"q:*","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}}
            end call {"outcome":"failed","output_bytes":29,"failure":{"kind":"exit_code","code":3},"backend":"local","sandbox":["none"]}
        "#]],
    );
    let ids: Vec<_> = records(&world).into_iter().map(|it| it.id).collect();
    assert!(ids[0] == ids[1] && ids[2] == ids[3] && ids[0] != ids[2], "{ids:?}");
}

#[tokio::test]
async fn a_call_that_is_not_made_is_recorded_with_the_stage() {
    let mut world = World::new().plugin("p", "echo ran");
    world.write(
        "plugins/m/plugin.json",
        r#"{"name": "m", "tools": [{"name": "send", "description": "Sends.", "command": "true",
            "requires_checkpoint": true}]}"#,
    );
    world.config.permissions.allow("m:*").expect("a rule");
    world.config.permissions.deny("Bash(echo:*)").expect("a rule");
    let host = builder(&world).build();
    let bad = call(&host, "p:run", r#"{"n": "x"}"#).await.expect("a result");
    assert_eq!(bad.failure, Some(Failure::BadInput));
    assert!(matches!(call(&host, "p:run", "{}").await, Err(CallError::Refused(_))));
    assert!(matches!(call(&host, "m:send", "{}").await, Err(CallError::Refused(_))));
    check(
        &world,
        expect![[r#"
            begin call {"caller":"agent","sandbox":["none"],"tool":"p:run","origin":"plugin p","operation":"execute","class":"plugin_tool","input_bytes":10}
            end call {"outcome":"failed","output_bytes":58,"failure":{"kind":"bad_input"}}
            begin call {"caller":"agent","sandbox":["none"],"tool":"p:run","origin":"plugin p","operation":"execute","class":"plugin_tool","input_bytes":2,"decision":{"verdict":"deny","rule":{"text":"Bash(echo:*)","effect":"deny","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}}
            end call {"outcome":"refused","stage":"permission","rule":{"text":"Bash(echo:*)","effect":"deny","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}
            begin call {"caller":"agent","checkpoint":"no_handler","tool":"m:send","origin":"plugin m","operation":"write","sandbox":["none"],"input_bytes":2,"decision":{"verdict":"allow","rule":{"text":"m:*","effect":"allow","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}},"class":"plugin_tool"}
            end call {"outcome":"refused","stage":"checkpoint"}
        "#]],
    );
}

#[tokio::test]
async fn a_call_that_leads_to_no_tool_is_recorded() {
    let mut world = World::new().plugin("p", "echo ran");
    world.config.permissions.allow("class:undeclared").expect("a rule");
    world.config.plugins.blocked_plugins.insert("p".to_owned());
    let host = builder(&world).build();
    let ctx = CallContext::new().with_id(CallId::new("outer-1").expect("an id"));
    for name in ["p:run", "nothing"] {
        host.call(name, Input::empty(), &ctx).await.expect_err("no tool");
    }
    let results = host.call_all([(TOKEN, Input::empty())], &ctx).await;
    assert!(matches!(results[0], Err(CallError::NotFound { .. })));
    host.call_tool(&ctx, &"n".repeat(10_000), Input::empty()).await.expect_err("no tool");
    let last = records(&world).remove(6).body;
    assert_eq!((&last["parent"], &last["caller"]), (&"outer-1".into(), &"agent".into()));
    assert_eq!(last["tool"].as_str().map(str::len), Some(256));
    let cut = records(&world).into_iter().take(6).map(|it| format!("{} {}\n", it.event, it.body));
    // The digest of an empty input.
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let uid = format!(r#""uid":{},"#, last["uid"]);
    let cut = cut.collect::<String>().replace(digest, "DIGEST").replace(&uid, "");
    expect![[r#"
        begin {"caller":"agent","tool":"p:run","operation":"execute","input_sha256":"DIGEST","input_bytes":0}
        end {"outcome":"refused","plugin":"p","state":"blocked","seconds":0.0}
        begin {"caller":"agent","tool":"nothing","operation":"invoke","input_sha256":"DIGEST","input_bytes":0}
        end {"outcome":"not_tried","error":"not_found","seconds":0.0}
        begin {"caller":"agent","tool":"[redacted: github-token, 40 characters]","operation":"invoke","input_sha256":"DIGEST","input_bytes":0}
        end {"outcome":"not_tried","error":"not_found","seconds":0.0}
    "#]].assert_eq(&cut);
    assert!(verify(log(&world)).expect("verified").is_intact());
}

/// A call that its plan says cannot take place is recorded as one that was made.
#[tokio::test]
async fn a_call_that_ends_before_the_stages_is_recorded() {
    let mut world = World::new().plugin("p", "echo ran >>ran");
    world.config.permissions.deny("p:*").expect("a rule");
    let host = builder(&world).build();
    for (input, is_refused) in [(r#"{"n": "x"}"#, false), ("{}", true)] {
        let call = host.prepare("p:run", Input::parse(input).expect("JSON")).expect("it is there");
        let ctx = CallContext::new();
        let end = call.plan(&ctx).await.expect("a plan").early_end().expect("it cannot take place");
        assert_eq!(call.end(&ctx, end).await.is_err(), is_refused);
    }
    check(
        &world,
        expect![[r#"
        begin call {"caller":"agent","sandbox":["none"],"tool":"p:run","origin":"plugin p","operation":"execute","class":"plugin_tool","input_bytes":10}
        end call {"outcome":"failed","output_bytes":58,"failure":{"kind":"bad_input"}}
        begin call {"caller":"agent","sandbox":["none"],"tool":"p:run","origin":"plugin p","operation":"execute","class":"plugin_tool","input_bytes":2,"decision":{"verdict":"deny","rule":{"text":"p:*","effect":"deny","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}}
        end call {"outcome":"refused","stage":"permission","rule":{"text":"p:*","effect":"deny","layer":"operator","place":{"file":"the program","line":0,"column":0,"pointer":""}}}
    "#]],
    );
    assert!(!world.path("plugins/p/ran").exists());
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_is_refused() {
    let mut world = World::new().plugin("p", "echo ran >>ran");
    world.write(".local/state/flyto/audit", "no directory");
    let host = builder(&world).caller(Caller::Operator).build();
    let err = call(&host, "p:run", "{}").await.expect_err("refused");
    expect![[r#"the call of "p:run" was refused by the stage "audit": it cannot be recorded: refused to use DIR/.local/state/flyto/audit: it is a link or no directory"#]].assert_eq(&err.to_string().replace(&*world.dir.path().to_string_lossy(), "DIR"));
    assert!(!world.path("plugins/p/ran").exists());

    world.config.audit.on_failure = OnUnrecorded::Run;
    let host = builder(&world).caller(Caller::Operator).build();
    let prepared = host.prepare("p:run", Input::empty()).expect("it is there");
    let report = prepared.run_reported(&CallContext::new()).await;
    assert!(report.result.is_ok() && report.unrecorded.is_some());
    assert!(world.path("plugins/p/ran").exists());
}

/// What the tool `inner` takes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Tokens {
    #[expect(dead_code, reason = "only the log sees it")]
    token: String,
    #[expect(dead_code, reason = "only the log sees it")]
    password: String,
}

#[tokio::test]
async fn a_call_within_another_names_it_and_inputs_are_kept_on_demand() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    world.config.audit.has_inputs = true;
    let host = builder(&world).build();
    let tool = NativeTool::builder("inner", "Does.");
    let tool = tool.run(async |_, _: Tokens| "done").expect("a tool");
    host.add_tool("test", tool).expect("free");
    let parent = CallContext::new().with_id(CallId::new("outer-1").expect("an id"));
    let input = Input::from_value(serde_json::json!({"token": TOKEN, "password": "later"}));
    host.call_tool(&parent, "inner", input).await.expect("called");
    let begin = records(&world).remove(0).body;
    assert_eq!(begin["parent"], "outer-1");
    let kept = begin["input"].as_str().expect("a text");
    assert!(kept.contains("[redacted: ") && !kept.contains(TOKEN), "{kept}");
    assert!(kept.contains("named-value, 5 characters") && !kept.contains("later"), "{kept}");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_recorded_as_dropped() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let host = builder(&world).build();
    let (sender, started) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let tool = NativeTool::builder("waits", "Waits.").run(move |_, _: NoInput| {
        let sender = sender.lock().expect("not poisoned").take();
        sender.expect("it is called once").send(()).expect("the test waits");
        std::future::pending::<&str>()
    });
    host.add_tool("test", tool.expect("a tool")).expect("free");
    let ctx = CallContext::new();
    tokio::select! {
        _ = host.call("waits", Input::empty(), &ctx) => unreachable!("it never ends"),
        it = started => it.expect("it has started"),
    }
    let last = records(&world).pop().expect("two records");
    assert_eq!((last.event.as_str(), &last.body["outcome"]), ("end", &"dropped".into()));
}

/// Says that it was asked, and gives no answer.
#[derive(Debug)]
struct Asked(UnboundedSender<()>);

#[async_trait]
impl CheckpointHandler for Asked {
    async fn ask(&self, _: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        self.0.send(())?;
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_at_a_question_is_recorded_as_dropped() {
    let world = World::new().plugin("p", "echo ran >>ran");
    let (sender, mut asked) = unbounded_channel();
    let host = builder(&world).checkpoint_handler(Asked(sender)).build();
    let ctx = CallContext::new();
    for is_held in [false, true] {
        let held = is_held.then(|| writer(&world));
        tokio::select! {
            _ = host.call("p:run", Input::empty(), &ctx) => unreachable!("it waits for the answer"),
            it = asked.recv() => it.expect("it was asked"),
        }
        drop(held);
    }
    let pair = |event: &str, outcome: Option<&str>| (event.into(), outcome.map(str::to_owned));
    let (begin, dropped) = (pair("begin", None), pair("end", Some("dropped")));
    assert_eq!(followed(&world, 4), [begin.clone(), begin, dropped.clone(), dropped]);
    assert!(!world.path("plugins/p/ran").exists());
    assert!(verify(log(&world)).expect("verified").is_intact());
}

/// Another writer: it has the log until this is dropped.
fn writer(world: &World) -> File {
    drop(Log::open(log(world), Options::default()).expect("a log"));
    let head = File::open(log(world).join("head.json")).expect("it is there");
    head.lock().expect("locked");
    head
}

/// Ends each call that comes to it, as far as its context can.
#[derive(Debug)]
enum Ends {
    Cancels,
    Expires,
}

#[async_trait]
impl Stage for Ends {
    fn name(&self) -> &str {
        "ends"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        match self {
            Self::Cancels => call.ctx().cancellation().cancel(),
            // Long enough to reach the stage behind this one.
            Self::Expires => call.set_ctx(call.ctx().clone().with_timeout(Duration::from_secs(2))),
        }
        next.run(call).await
    }
}

/// The next records, also of those that are not written yet: each with what came of its call.
fn followed(world: &World, n: usize) -> Vec<(String, Option<String>)> {
    let records = Reader::open(log(world)).expect("a log").follow_after(0).expect("it opens");
    let shown = |it: Record| {
        let outcome = it.body["outcome"].as_str().map(str::to_owned);
        (it.event, outcome)
    };
    let mut res: Vec<_> = records.take(n).map(|it| shown(it.expect("a record"))).collect();
    res.sort();
    res
}

#[tokio::test]
async fn a_call_waits_for_another_writer_no_longer_than_it_may_take() {
    let world = World::new().plugin("p", "echo ran >>ran");
    let held = writer(&world);
    for (ends, how) in [(Ends::Expires, "timed out after 2s"), (Ends::Cancels, "was cancelled")] {
        let host = builder(&world)
            .caller(Caller::Operator)
            .stages(|stages| stages.insert_before(names::AUDIT, ends))
            .expect("its name is free")
            .build();
        let result = call(&host, "p:run", "{}").await.expect("a result");
        let why = r#"in the stage "audit": another writer still had the log; nothing was started"#;
        assert_eq!(result.output, format!(r#"plugin tool "p:run" {how} {why}"#));
    }
    assert!(!world.path("plugins/p/ran").exists());
    drop(held);
    let pair = |event: &str, outcome: Option<&str>| (event.into(), outcome.map(str::to_owned));
    let (begin, dropped) = (pair("begin", None), pair("end", Some("dropped")));
    assert_eq!(followed(&world, 4), [begin.clone(), begin, dropped.clone(), dropped]);
    assert!(verify(log(&world)).expect("verified").is_intact());
}

/// Cancels the call that it is asked about, and gives no answer.
#[derive(Debug)]
struct Interrupts(CancellationToken);

#[async_trait]
impl CheckpointHandler for Interrupts {
    async fn ask(&self, _: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        self.0.cancel();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_ends_at_a_question_is_recorded_as_it_ends() {
    let mut world = World::new().plugin("p", "echo ran >>ran");
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let cancellation = CancellationToken::new();
    let handler = Interrupts(cancellation.clone());
    let host = builder(&world).checkpoint_handler(handler).build();
    let mut metadata = Metadata::default();
    metadata.requires_checkpoint = true;
    let tool = NativeTool::builder("gated", "Waits.").metadata(metadata);
    let tool = tool.run(async |_, _: NoInput| "ran").expect("a tool");
    host.add_tool("test", tool).expect("free");
    // The first waits for the answer to a rule that asks, the second for its release.
    for (tool, stage) in [("p:run", names::PERMISSION), ("gated", names::CHECKPOINT)] {
        let call = host.prepare(tool, Input::empty()).expect("it is there");
        let ctx = CallContext::new().with_cancellation(cancellation.child_token());
        let report = call.run_reported(&ctx).await;
        assert_eq!(report.ended_in.as_deref(), Some(stage));
        assert_eq!(CallEnd::of(&report.result), CallEnd::Cancelled);
        let end = records(&world).pop().expect("its end").body;
        assert_eq!((&end["failure"]["kind"], &end["stage"]), (&"cancelled".into(), &stage.into()));
        assert_eq!(end["outcome"], "not_tried");
    }
    assert!(!world.path("plugins/p/ran").exists());
}

/// A call of a tool that runs while another writer has the log, and the lock of that writer once it does.
fn while_written(host: &Host, world: &Arc<World>) -> (Prepared, UnboundedReceiver<File>) {
    let (sender, held) = unbounded_channel();
    let world = Arc::clone(world);
    let tool = NativeTool::builder("t", "Runs while another writer has the log.");
    let tool = tool.run(move |_: CallContext, _: NoInput| {
        sender.send(writer(&world)).expect("the test waits");
        async { "ran" }
    });
    host.add_tool("test", tool.expect("a tool")).expect("free");
    (host.prepare("t", Input::empty()).expect("it is there"), held)
}

#[tokio::test]
async fn a_call_that_has_run_does_not_wait_for_its_record() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let world = Arc::new(world);
    let host = builder(&world)
        .stages(|stages| stages.insert_after(names::EXECUTE, Ends::Cancels))
        .expect("its name is free")
        .build();
    let (prepared, mut held) = while_written(&host, &world);
    let report = prepared.run_reported(&CallContext::new()).await;
    assert_eq!(report.result.expect("a result").output, "ran");
    let why = "another writer still had the log when the call was cancelled; its end is to follow";
    assert_eq!(report.unrecorded.as_deref(), Some(why));
    drop(held.recv().await);
    let ended = [("begin".to_owned(), None), ("end".to_owned(), Some("ok".to_owned()))];
    assert_eq!(followed(&world, 2), ended);
}

#[tokio::test]
async fn a_refused_call_does_not_wait_for_its_records() {
    let world = World::new().plugin("p", "echo ran");
    let held = writer(&world);
    let host = builder(&world)
        .stages(|stages| stages.insert_before(names::PERMISSION, Ends::Cancels))
        .expect("its name is free")
        .build();
    let err = call(&host, "p:run", "{}").await.expect_err("refused");
    assert!(matches!(err, CallError::Refused(it) if it.stage == names::PERMISSION));
    drop(held);
    let ended = [("begin".to_owned(), None), ("end".to_owned(), Some("refused".to_owned()))];
    assert_eq!(followed(&world, 2), ended);
}

#[tokio::test]
async fn an_end_waits_for_another_writer_as_long_as_a_begin() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let world = Arc::new(world);
    let host = builder(&world).build();
    let (prepared, mut held) = while_written(&host, &world);
    let ctx = CallContext::new();
    let call = prepared.run_reported(&ctx);
    tokio::pin!(call);
    // Until the stage has nothing to do but wait, and then the other writer goes.
    let held = tokio::select! {
        biased;
        _ = &mut call => unreachable!("the log is taken"),
        held = held.recv() => held,
    };
    drop(held);
    let report = call.await;
    assert_eq!(report.result.expect("a result").output, "ran");
    assert_eq!(report.unrecorded, None);
    let ended = [("begin".to_owned(), None), ("end".to_owned(), Some("ok".to_owned()))];
    assert_eq!(followed(&world, 2), ended);
}

/// Gives these answers, one for each call.
#[derive(Debug)]
struct Answers(std::sync::Mutex<Vec<Answer>>);

#[async_trait]
impl CheckpointHandler for Answers {
    async fn ask(&self, _: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        Ok(self.0.lock().expect("not poisoned").remove(0))
    }
}

/// Finds something that no log should hold.
#[derive(Debug)]
struct Doubts;

#[async_trait]
impl Challenger for Doubts {
    async fn challenge(&self, _: &Call) -> Result<Deliverable, Box<dyn Error + Send + Sync>> {
        Ok(Deliverable::new("wait", "it sends a token").scenario(format!("{TOKEN} gets out")))
    }
}

#[tokio::test]
async fn what_was_said_before_a_call_is_recorded() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let mut metadata = Metadata::default();
    metadata.requires_checkpoint = true;
    metadata.requires_reverse_thinking = true;
    let tool = NativeTool::builder("gated", "Waits.").metadata(metadata);
    let tool = Arc::new(tool.run(async |_, _: NoInput| "ran").expect("a tool"));
    let answers = vec![Answer::Yes, Answer::No { reason: None }, Answer::Always];
    let handler = Answers(std::sync::Mutex::new(answers));
    let host = builder(&world).checkpoint_handler(handler).build();
    host.add_tool("test", Arc::clone(&tool)).expect("free");
    for is_made in [true, false, true, true] {
        assert_eq!(call(&host, "gated", "{}").await.is_ok(), is_made);
    }
    let host = builder(&world).challenger(Doubts).build();
    host.add_tool("test", tool).expect("free");
    call(&host, "gated", "{}").await.expect_err("there is no handler");
    let begins: Vec<_> = records(&world).into_iter().filter(|it| it.event == "begin").collect();
    let said = |key: &str| begins.iter().map(|it| it.body[key].clone()).collect::<Vec<_>>();
    assert_eq!(said("checkpoint"), ["once", "no", "always", "by_rule", "no_handler"]);
    let challenges = said("challenge");
    assert_eq!(challenges[..4], ["no_challenger"; 4]);
    let found = challenges[4].to_string();
    assert!(found.contains("it sends a token") && !found.contains(TOKEN), "{found}");
}

/// What looks like a token, and is none.
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// Calls a tool that prints a token, and gives what came of it. What ran is recorded whatever becomes of its output.
async fn leak(guard: Option<OutputGuard>, caller: Caller) -> Result<ToolResult, CallError> {
    let mut world = World::new().plugin("p", &format!("echo key {TOKEN} end"));
    world.config.permissions.allow("p:run").expect("a rule");
    world.config.output_guard = guard;
    let host = builder(&world).caller(caller).build();
    let report = host.prepare("p:run", Input::empty())?.run_reported(&CallContext::new()).await;
    let n_found = usize::from(
        guard != Some(OutputGuard::Off) && (guard.is_some() || caller == Caller::Agent),
    );
    assert_eq!(report.secrets.iter().filter(|it| it.part == "output").count(), n_found);
    let end = records(&world).pop().expect("its end").body;
    assert_eq!((&end["backend"], end["usage"].is_object()), (&"local".into(), true), "{end}");
    report.result
}

#[tokio::test]
async fn a_secret_in_a_result_does_not_reach_a_model() {
    let redacted = leak(None, Caller::Agent).await.expect("called");
    let text = format!("{redacted:?}");
    assert!(redacted.output.starts_with("key [redacted: ") && redacted.output.ends_with(" end\n"));
    assert!(!text.contains(TOKEN), "{text}");

    let whole = leak(None, Caller::Operator).await.expect("called");
    assert!(whole.output.contains(TOKEN));
    assert!(
        leak(Some(OutputGuard::Report), Caller::Agent)
            .await
            .expect("called")
            .output
            .contains(TOKEN)
    );
    assert!(
        leak(Some(OutputGuard::Off), Caller::Agent).await.expect("called").output.contains(TOKEN)
    );
    let err = leak(Some(OutputGuard::Refuse), Caller::Operator).await.expect_err("withheld");
    assert!(
        !err.to_string().contains(TOKEN) && err.to_string().contains("the tool has run"),
        "{err}"
    );
}

#[tokio::test]
async fn a_secret_in_structured_data_is_redacted_by_the_name_beside_it() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let host = builder(&world).build();
    let data = serde_json::json!({"password": "hunter2hunter2x9", (TOKEN): 1, "n": [1, "two"]});
    let tool = NativeTool::builder("gives", "Gives.").run(move |_, _: NoInput| {
        let mut result = ToolResult::text("done");
        result.data = Some(data.clone());
        async move { result }
    });
    host.add_tool("test", tool.expect("a tool")).expect("free");
    let result = call(&host, "gives", "{}").await.expect("called");
    let data = result.data.expect("data").to_string();
    assert!(!data.contains("hunter2hunter2x9") && !data.contains(TOKEN), "{data}");
    assert!(data.contains(r#""n":[1,"two"]"#), "{data}");
}
