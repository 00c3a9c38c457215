//! What the output guard looks at: all texts of a result, and why a tool could not be tried.

use std::{
    error::Error as _,
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
};

use flyto_audit::Reader;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    CallError, Host, HostBuilder, OutputGuard, SecretRules,
    permission::Caller,
    stages::{CallReport, names},
};
use flyto_security::{ScanError, SecretGuard, SecretMatch};
use flyto_tools::{
    CallContext, Content, Execution, Input, NativeTool, NoInput, Progress, ToolError,
    ToolErrorKind, ToolResult,
};
use serde_json::json;

use crate::world::World;

/// What looks like a token, and is none.
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

fn builder(world: &mut World) -> HostBuilder {
    world.config.permissions.allow("class:undeclared").expect("a rule");
    Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone())
}

/// Calls a tool of this host.
async fn call(host: &Host, outcome: fn() -> Result<ToolResult, ToolError>) -> CallReport {
    let tool = NativeTool::builder("t", "Gives.").run(move |_, _: NoInput| {
        let outcome = outcome();
        async { outcome }
    });
    host.add_tool("test", tool.expect("a tool")).expect("free");
    let prepared = host.prepare("t", Input::empty()).expect("it is there");
    prepared.run_reported(&CallContext::new()).await
}

#[tokio::test]
async fn rules_of_the_user_find_secrets_too() {
    let rules = "[[rules]]\nid = \"acme\"\nregex = '''acme_[0-9a-f]{16}'''\n";
    let mut world = World::new();
    world.config.secret_rules = Some(SecretRules::parse("acme.toml", rules).expect("rules"));
    let host = builder(&mut world).build();
    let report = call(&host, || Ok(ToolResult::text("acme_0123456789abcdef"))).await;
    assert_eq!(report.result.expect("a result").output, "[redacted: acme, 21 characters]");
    assert_eq!(report.secrets[0].found.rule, "acme");
}

#[tokio::test]
async fn a_secret_in_a_block_is_replaced() {
    let mut world = World::new();
    let host = builder(&mut world).build();
    let report = call(&host, || {
        let link = |name: &str| json!({"type": "resource_link", "uri": "f:a", "name": name});
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let content = Content::new(vec![link(TOKEN), image]);
        Ok(ToolResult::text("x").with_data(json!(1)).with_blocks(content.known()))
    });
    let report = report.await;
    let blocks = json!(report.result.expect("a result").blocks);
    assert_eq!(blocks[0]["name"], "[redacted: github-token, 40 characters]", "{blocks}");
    assert_eq!(blocks[1]["data"], "AAAA");
    assert_eq!(report.secrets[0].part, "blocks");
}

/// Calls a tool that cannot be tried, for reasons with a token in them.
async fn fail(guard: Option<OutputGuard>, caller: Caller) -> (World, CallReport) {
    let mut world = World::new();
    world.config.output_guard = guard;
    let host = builder(&mut world).caller(caller).build();
    let calling = call(&host, || {
        let cause = std::io::Error::other(format!("the header was \"{TOKEN}\""));
        let text = format!("failed to reach https://user:{TOKEN}@a.org");
        Err(ToolError::new(ToolErrorKind::Unreachable, text).with_source(cause))
    });
    (world, calling.await)
}

#[tokio::test]
async fn a_secret_in_an_error_does_not_reach_a_model() {
    let (world, report) = fail(None, Caller::Agent).await;
    let Err(CallError::Tool(err)) = report.result else { panic!("{report:?}") };
    assert_eq!(err.kind(), ToolErrorKind::Unreachable);
    let text = err.chain();
    assert!(text.starts_with("failed to reach https://user:[redacted: "), "{text}");
    assert!(text.contains(": the header was \"[redacted: ") && !text.contains(TOKEN), "{text}");
    assert!(!format!("{err:?}").contains(TOKEN), "{err:?}");
    let parts: Vec<_> = report.secrets.iter().map(|it| it.part).collect();
    assert_eq!(parts, ["error", "error"]);

    let log = Reader::open(world.path(".local/state/flyto/audit")).expect("a log");
    let end = log.newest_first().records().expect("it opens").next().expect("a record");
    let end = end.expect("a record").body;
    assert_eq!((&end["outcome"], &end["error"]), (&"not_tried".into(), &"unreachable".into()));
    assert_eq!(end["secrets"].as_array().map(Vec::len), Some(2), "{end}");
}

#[tokio::test]
async fn an_error_is_guarded_as_a_result_is() {
    for (guard, caller, n_found) in [
        (None, Caller::Operator, 0),
        (Some(OutputGuard::Off), Caller::Agent, 0),
        (Some(OutputGuard::Report), Caller::Agent, 2),
    ] {
        let (_world, report) = fail(guard, caller).await;
        let Err(CallError::Tool(err)) = report.result else { panic!("{report:?}") };
        assert!(err.to_string().contains(TOKEN), "{guard:?}");
        assert!(err.source().is_some_and(|it| it.is::<std::io::Error>()), "{guard:?}");
        assert_eq!(report.secrets.len(), n_found, "{guard:?}");
    }
    let (_world, report) = fail(Some(OutputGuard::Refuse), Caller::Operator).await;
    let Err(CallError::Refused(refusal)) = report.result else { panic!("{report:?}") };
    assert_eq!(refusal.stage, names::OUTPUT_GUARD);
    let why = "the tool could not be tried, and the reason is withheld: error, ";
    assert!(refusal.why.starts_with(why) && !refusal.why.contains(TOKEN), "{}", refusal.why);
}

#[tokio::test]
async fn an_error_without_a_secret_is_left_alone() {
    let mut world = World::new();
    let host = builder(&mut world).build();
    let calling = call(&host, || {
        let cause = std::io::Error::other("reset");
        Err(ToolError::new(ToolErrorKind::Overloaded, "no room").with_source(cause))
    });
    let report = calling.await;
    let Err(CallError::Tool(err)) = report.result else { panic!("{report:?}") };
    assert_eq!((err.kind(), err.chain()), (ToolErrorKind::Overloaded, "no room: reset".into()));
    assert!(err.source().is_some_and(|it| it.is::<std::io::Error>()));
    // The stages behind the one that executes are reached, as with a result.
    let last = report.stages.last().map(|it| it.stage.as_str());
    assert_eq!(last, Some(names::BOUND));
}

/// Finds nothing, and notes on which threads it looks.
#[derive(Debug, Clone, Default)]
struct Threads(Arc<Mutex<Vec<ThreadId>>>);

impl SecretGuard for Threads {
    fn scan(&self, _: &str, _: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
        self.0.lock().expect("not poisoned").push(thread::current().id());
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn large_texts_of_any_kind_do_not_keep_the_thread() {
    const SMALL: usize = 40_000;
    const LARGE: usize = 140_000;
    type Make = fn() -> Result<ToolResult, ToolError>;
    let cases: [(&str, bool, Make); 6] = [
        ("a short text", false, || Ok(ToolResult::text("x".repeat(SMALL)))),
        ("a long text", true, || Ok(ToolResult::text("x".repeat(LARGE)))),
        ("streams", true, || {
            let mut execution = Execution::new("test");
            execution.stderr = Some("x".repeat(LARGE));
            Ok(ToolResult::text("x").with_execution(execution))
        }),
        ("several", true, || {
            let mut execution = Execution::new("test");
            execution.command_line = vec!["x".repeat(SMALL)];
            execution.stdout = Some("x".repeat(SMALL));
            let result = ToolResult::text("x".repeat(SMALL)).with_execution(execution);
            Ok(result.with_data("x".repeat(SMALL).into()))
        }),
        ("a short error", false, || Err(ToolError::new(ToolErrorKind::Internal, "x"))),
        ("a long error", true, || Err(ToolError::new(ToolErrorKind::Internal, "x".repeat(LARGE)))),
    ];
    for (what, is_elsewhere, make) in cases {
        let mut world = World::new();
        let guard = Threads::default();
        let host = builder(&mut world).secret_guard(guard.clone()).build();
        let _ = call(&host, make).await;
        let threads = guard.0.lock().expect("not poisoned").clone();
        let here = thread::current().id();
        assert!(!threads.is_empty(), "{what}");
        assert!(threads.iter().all(|it| (*it != here) == is_elsewhere), "{what}");
    }
}

#[tokio::test]
async fn the_words_of_a_tool_about_its_progress_are_guarded() {
    for (guard, caller, expect) in [
        (None, Caller::Agent, "at [redacted: github-token, 40 characters]"),
        (Some(OutputGuard::Refuse), Caller::Agent, ""),
        (None, Caller::Operator, "at TOKEN"),
        (Some(OutputGuard::Report), Caller::Agent, "at TOKEN"),
        (Some(OutputGuard::Redact), Caller::Operator, "at [redacted: github-token, 40 characters]"),
    ] {
        let mut world = World::new();
        world.config.output_guard = guard;
        let host = builder(&mut world).caller(caller).build();
        let tool =
            NativeTool::builder("t", "Reports.").run(async |ctx: CallContext, _: NoInput| {
                ctx.report(0.25, "begun");
                ctx.report(0.5, format!("at {TOKEN}"));
                "done"
            });
        host.add_tool("test", tool.expect("a tool")).expect("free");
        let heard: Arc<Mutex<Vec<Progress>>> = Arc::default();
        let sink = Arc::clone(&heard);
        let ctx = CallContext::new().with_progress(move |it| sink.lock().expect("free").push(it));
        host.call("t", Input::empty(), &ctx).await.expect("a result");
        let heard: Vec<_> = heard.lock().expect("free").drain(..).collect();
        let heard: Vec<_> = heard.iter().map(|it| (it.progress(), it.detail())).collect();
        let expect = expect.replace("TOKEN", TOKEN);
        assert_eq!(heard, [(0.25, "begun"), (0.5, &*expect)], "{guard:?} {caller:?}");
    }
}
