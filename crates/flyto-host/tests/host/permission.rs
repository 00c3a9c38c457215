//! Which calls may run: the rules, the questions, the refusals.

use std::{
    error::Error,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    CallError, Flags, Host, HostBuilder, Prepared, Refusal, TrustStore, load_config,
    permission::{Caller, Decision, Verdict},
    stages::{Answer, CheckpointHandler, Question, names},
};
use flyto_tools::{
    Access, CallContext, Failure, Input, Metadata, NativeTool, NoInput, Origin, PermissionClass,
    Preview, ToolCaller as _, ToolErrorKind,
};

use crate::world::{World, call};

/// A world whose user has these rules.
fn world(permissions: &str) -> World {
    let mut world = World::new().plugin("p", "echo ran");
    let text = format!(r#"{{"plugins": {{"enabled": true}}, "permissions": {permissions}}}"#);
    world.write(".config/flyto/config.json", &text);
    let (config, findings) =
        load_config(&world.surroundings(), &Flags::default()).expect("it can be read");
    assert!(!findings.has_errors());
    world.config.permissions = config.permissions;
    world
}

fn builder(world: &World) -> HostBuilder {
    Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone())
}

/// Calls the tool of the plugin for a model, and shows what came of it.
async fn check(permissions: &str, expect: Expect) {
    let world = world(permissions);
    let host = builder(&world).build();
    let shown = match call(&host, "p:run", "{}").await {
        Ok(result) => result.output,
        Err(CallError::Refused(it)) => {
            let rule = it.rule.as_ref().map_or_else(|| "no rule".to_owned(), ToString::to_string);
            format!("{}: {}\n{rule}\nto allow it: {:?}", it.stage, it.why, it.allowed_by)
        }
        Err(err) => panic!("{err}"),
    };
    expect.assert_eq(&shown.replace(&*world.dir.path().to_string_lossy(), "DIR"));
}

#[tokio::test]
async fn a_rule_for_a_server_allows_its_tools_and_no_plugin() {
    let world = world(r#"{"allow": ["mcp__p__*", "mcp__s__*"]}"#);
    let host = builder(&world).build();
    let mut metadata = Metadata::default();
    metadata.origin = Origin::McpServer { server: "s".to_owned() };
    let tool = NativeTool::builder("s:t", "Imported.")
        .metadata(metadata)
        .run(async |_: CallContext, _: NoInput| "x");
    host.add_tool("servers", tool.expect("a tool")).expect("it is new");
    for (name, expected) in [("s:t", Verdict::Allow), ("p:run", Verdict::Ask)] {
        let prepared = host.prepare(name, Input::empty()).expect("there is such a tool");
        let decision = prepared.outline().decision.expect("a host has rules");
        assert_eq!(decision.verdict, expected, "{name}: {decision}");
    }
}

#[tokio::test]
async fn what_no_rule_allows_is_asked_and_a_host_alone_has_no_answer() {
    check("{}", expect![[r#"
        permission: it is asked first, and there is no handler that could answer: `echo ran`: no rule allows it; to allow it: p:run
        no rule
        to allow it: ["p:run"]"#]]).await;
}

#[tokio::test]
async fn a_rule_allows_and_one_that_denies_is_named_with_its_place() {
    check(
        r#"{"allow": ["p:run"]}"#,
        expect![[r#"
        ran
    "#]],
    )
    .await;
    check(
        r#"{"allow": ["Bash(echo:*)"]}"#,
        expect![[r#"
        ran
    "#]],
    )
    .await;
    check(r#"{"allow": ["p:run"], "deny": ["Bash(echo:*)"]}"#, expect![[r#"
        permission: the rules deny it: `echo ran`: Bash(echo:*) (deny, operator, DIR/.config/flyto/config.json:1:77)
        Bash(echo:*) (deny, operator, DIR/.config/flyto/config.json:1:77)
        to allow it: []"#]]).await;
    check(r#"{"allow": ["Bash"], "ask": ["p:*"]}"#, expect![[r#"
        permission: it is asked first, and there is no handler that could answer: tool p:run: p:* (ask, operator, DIR/.config/flyto/config.json:1:75)
        p:* (ask, operator, DIR/.config/flyto/config.json:1:75)
        to allow it: []"#]]).await;
}

#[tokio::test]
async fn a_call_by_the_operator_is_the_yes_to_a_question_and_to_no_denial() {
    let asked = world(r#"{"ask": ["p:run"]}"#);
    let host = builder(&asked).caller(Caller::Operator).build();
    assert_eq!(call(&host, "p:run", "{}").await.expect("called").output, "ran\n");
    // The operator named no call that a tool makes in its turn.
    let input = Input::empty();
    let err = host.call_tool(&CallContext::new(), "p:run", input).await.expect_err("refused");
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    let refusal = Refusal::of(&err).expect("a stage refused it");
    assert_eq!(refusal.stage, names::PERMISSION);
    assert_eq!(refusal.rule.as_ref().map(|it| it.text()), Some("p:run"));
    assert_eq!(err.chain(), format!("failed to call \"p:run\": {refusal}"));

    let denied = world(r#"{"deny": ["p:run"]}"#);
    let host = builder(&denied).caller(Caller::Operator).build();
    let plan = host.prepare("p:run", Input::empty()).expect("it is there");
    assert_eq!(decided(&plan).verdict, Verdict::Deny);
    let planned = plan.outline().refused.expect("it is denied");
    assert!(planned.why.contains("the rules deny it") && planned.rule.is_some(), "{planned:?}");
    match call(&host, "p:run", "{}").await {
        Err(CallError::Refused(refused)) => assert_eq!(planned, *refused),
        other => panic!("{other:?}"),
    }
}

/// What the rules say of a call.
fn decided(call: &Prepared) -> Arc<Decision> {
    call.outline().decision.expect("a host has rules")
}

/// Gives one answer after the other, and notes what it was asked.
#[derive(Debug, Clone)]
struct Scripted {
    answers: Arc<Mutex<Vec<Result<Answer, &'static str>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<Answer, &'static str>>) -> Self {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Self { answers: Arc::new(Mutex::new(answers)), asked: Arc::default() }
    }

    fn asked(&self) -> String {
        self.asked.lock().expect("not poisoned").join("\n")
    }
}

#[async_trait]
impl CheckpointHandler for Scripted {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let text = format!("{} {:?}", question.why, question.rules);
        self.asked.lock().expect("not poisoned").push(text);
        let answer = self.answers.lock().expect("not poisoned").pop();
        Ok(answer.expect("there is no further question")?)
    }
}

#[tokio::test]
async fn an_answer_holds_for_one_call_or_for_all() {
    let world = world("{}");
    let handler = Scripted::new([
        Ok(Answer::Yes),
        Ok(Answer::No { reason: Some("not today".to_owned()) }),
        Err("the dialogue is gone"),
        Ok(Answer::Always),
    ]);
    let host = builder(&world).checkpoint_handler(handler.clone()).build();
    let mut shown = Vec::new();
    for _ in 0..6 {
        shown.push(match call(&host, "p:run", "{}").await {
            Ok(result) => result.output,
            Err(err) => format!("{err}\n"),
        });
    }
    expect![[r#"
        ran
        the call of "p:run" was refused by the stage "permission": the answer was no: not today
        the call of "p:run" was refused by the stage "permission": there was no answer: the dialogue is gone
        ran
        ran
        ran
    "#]].assert_eq(&shown.concat());
    expect![[r#"
        ask: `echo ran`: no rule allows it; to allow it: p:run ["p:run"]
        ask: `echo ran`: no rule allows it; to allow it: p:run ["p:run"]
        ask: `echo ran`: no rule allows it; to allow it: p:run ["p:run"]
        ask: `echo ran`: no rule allows it; to allow it: p:run ["p:run"]"#]]
    .assert_eq(&handler.asked());
}

#[tokio::test]
async fn a_caller_is_told_of_no_rule_after_a_no() {
    let world = world(r#"{"ask": ["p:run"]}"#);
    let answers = [Err("the dialogue is gone"), Ok(Answer::No { reason: None })];
    let host = builder(&world).checkpoint_handler(Scripted::new(answers)).build();
    let CallError::Refused(unanswered) = call(&host, "p:run", "{}").await.expect_err("no answer")
    else {
        panic!("it was asked");
    };
    assert!(unanswered.rule.is_some());
    let CallError::Refused(no) = call(&host, "p:run", "{}").await.expect_err("no") else {
        panic!("it was asked");
    };
    assert!(no.rule.is_none() && no.allowed_by.is_empty());
}

/// Adds a tool that is released before each call.
fn add_gated(host: &Host) {
    let mut metadata = Metadata::default();
    metadata.requires_checkpoint = true;
    let tool = NativeTool::builder("send", "Sends.").metadata(metadata);
    host.add_tool("test", tool.run(async |_, _: NoInput| "sent").expect("a tool")).expect("free");
}

#[tokio::test]
async fn only_a_rule_for_exactly_this_call_releases_a_checkpoint() {
    for (rule, is_released) in [("send", true), ("class:undeclared", false)] {
        let world = world(&format!(r#"{{"allow": ["{rule}"]}}"#));
        let host = builder(&world).build();
        add_gated(&host);
        assert_eq!(call(&host, "send", "{}").await.is_ok(), is_released, "{rule}");
        let prepared = host.prepare("send", Input::empty()).expect("it is there");
        assert_eq!(prepared.outline().refused.is_none(), is_released, "{rule}");
    }
    // The answer to a checkpoint releases the later ones of the same tool.
    let world = world(r#"{"allow": ["class:undeclared"]}"#);
    let handler = Scripted::new([Ok(Answer::Always)]);
    let host = builder(&world).checkpoint_handler(handler.clone()).build();
    add_gated(&host);
    for _ in 0..3 {
        assert_eq!(call(&host, "send", "{}").await.expect("released").output, "sent");
    }
    expect![[r#"the tool asks for a release before each call ["send"]"#]]
        .assert_eq(&handler.asked());
}

/// A plugin that says of itself that it only reads.
const READS: &str = r#"{"name": "r", "tools": [{"name": "look", "description": "Looks.",
    "command": "true", "permission_class": "readonly"}]}"#;

#[tokio::test]
async fn a_lax_class_holds_for_plugins_that_the_operator_named() {
    let mut world = world("{}");
    world.write("plugins/r/plugin.json", READS);
    let verdict = |world: &World| {
        let call = builder(world).build().prepare("r:look", Input::empty()).expect("it is there");
        decided(&call).verdict
    };
    assert_eq!(verdict(&world), Verdict::Ask);
    world.config.plugins.allowed_plugins.insert("r".to_owned());
    assert_eq!(verdict(&world), Verdict::Allow);
}

#[tokio::test]
async fn files_of_the_project_need_no_rule() {
    let world = World::new();
    let project = world.path("project");
    std::fs::create_dir(&project).expect("created");
    let mut surroundings = world.surroundings();
    surroundings.current_dir = project.clone();
    let host = Host::new(ExecEnv::new(Local::new()), surroundings, world.config.clone());
    let mut metadata = Metadata::default();
    metadata.permission_class = PermissionClass::FILE;
    for (name, path) in
        [("inside", project.join("a")), ("outside", world.path("b")), ("up", project.join("../b"))]
    {
        let path = path.to_string_lossy().into_owned();
        let tool = NativeTool::builder(name, "Writes.").metadata(metadata.clone()).preview(
            move |_: &Input| {
                Some(flyto_tools::Preview::new().with_path(path.clone(), Access::Write))
            },
        );
        host.add_tool("test", tool.run(async |_, _: NoInput| "done").expect("a tool"))
            .expect("free");
    }
    let verdicts = ["inside", "outside", "up"]
        .map(|it| decided(&host.prepare(it, Input::empty()).expect("it is there")).verdict);
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Ask, Verdict::Ask]);
}

/// Programs with fixed arguments, which read what they touch from their input.
const NAMED: &str = r#"{"name": "n", "tools": [
    {"name": "copy", "description": "Copies.", "command": "true", "permission_class": "file", "input_schema": {"properties": {
        "from": {"type": "string", "x-flyto-path": "read"}, "to": {"type": "string", "x-flyto-path": "write"}}}},
    {"name": "get", "description": "Fetches.", "command": "true", "permission_class": "webfetch"}]}"#;

#[tokio::test]
async fn rules_for_paths_and_hosts_hold_for_the_input_of_a_program() {
    let mut world = world(r#"{"allow": ["Read(/data/**)", "Edit(/out/**)", "class:webfetch"]}"#);
    world.write("plugins/n/plugin.json", NAMED);
    world.config.plugins.allowed_plugins.insert("n".to_owned());
    let host = builder(&world).build();
    let verdict = |tool: &str, input: &str| {
        let input = Input::parse(input).expect("JSON");
        decided(&host.prepare(tool, input).expect("it is there")).verdict
    };
    assert_eq!(verdict("n:copy", r#"{"from": "/data/a"}"#), Verdict::Allow);
    assert_eq!(verdict("n:copy", r#"{"from": "/data/a", "to": "/out/a"}"#), Verdict::Allow);
    assert_eq!(verdict("n:copy", r#"{"from": "/out/a"}"#), Verdict::Ask);
    assert_eq!(verdict("n:copy", r#"{"from": "/data/a", "to": "/data/b"}"#), Verdict::Ask);
    assert_eq!(verdict("n:copy", "{}"), Verdict::Ask);
    assert_eq!(verdict("n:get", r#"{"u": "https://a.example/x"}"#), Verdict::Allow);
    assert_eq!(verdict("n:get", r#"{"u": "http://169.254.169.254/latest"}"#), Verdict::Ask);
}

#[test]
fn a_project_is_denied_below_its_directory_and_a_home_directory_within_it() {
    let world = world(r#"{"allow": ["n:copy"]}"#);
    world.write("plugins/n/plugin.json", NAMED);
    let rules = r#"{"permissions": {"deny": ["Read(secret/**)"]}}"#;
    world.write("project/.flyto/config.json", rules);
    world.write("project/src/secret/k", "");
    let verdict = |dir: &str, rules: Option<&str>, path: &str| {
        let mut surroundings = world.surroundings();
        surroundings.current_dir = world.path(dir).canonicalize().expect("it is there");
        let (mut config, _) =
            load_config(&surroundings, &Flags::default()).expect("it can be read");
        config.plugins.clone_from(&world.config.plugins);
        config.plugins.allowed_plugins.insert("n".to_owned());
        rules.into_iter().for_each(|it| config.permissions.deny(it).expect("it is a rule"));
        let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
        let path = world.path(path).to_string_lossy().into_owned();
        let input = Input::parse(format!("{{\"from\": {path:?}}}")).expect("JSON");
        decided(&host.prepare("n:copy", input).expect("it is there")).verdict
    };
    assert_eq!(verdict("project", None, "project/secret/k"), Verdict::Deny);
    assert_eq!(verdict("project/src", None, "project/secret/k"), Verdict::Deny);
    assert_eq!(verdict("project/src", None, "project/src/secret/k"), Verdict::Allow);
    // A home directory is no place of work, and the program starts in its plugin's.
    assert_eq!(verdict(".", Some("Read(kept/**)"), "kept/k"), Verdict::Deny);
}

/// What holds where the user allows `a:b`, and a project has these rules.
fn check_project(project: &str, is_trusted: bool, expect: Expect) {
    let world = World::new();
    world.write(".config/flyto/config.json", r#"{"permissions": {"allow": ["a:b"]}}"#);
    let file = world.write("project/.flyto/config.json", project);
    let mut surroundings = world.surroundings();
    surroundings.current_dir = world.path("project").canonicalize().expect("it is there");
    if is_trusted {
        let store = TrustStore::of(&surroundings.places).expect("there is a home");
        store.trust(&surroundings.current_dir, project).expect("written");
    }
    let (config, findings) = load_config(&surroundings, &Flags::default()).expect("it can be read");
    let mut shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
    let values = config.values().into_iter().filter(|it| it.key.starts_with("permissions"));
    shown.extend(values.map(|it| {
        let place = it.place.and_then(|it| it.place()).map(|it| it.to_string());
        format!("{} = {} {}", it.key, it.value, place.unwrap_or_default())
    }));
    let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
    for name in ["b", "c"] {
        let tool = NativeTool::builder(name, "Does.").run(async |_, _: NoInput| "done");
        host.add_tool("test", tool.expect("a tool")).expect("free");
        let decision = decided(&host.prepare(name, Input::empty()).expect("it is there"));
        shown.push(decision.to_string());
    }
    let dir = file.parent().and_then(|it| it.parent()).and_then(|it| it.parent()).expect("above");
    expect.assert_eq(&shown.join("\n").replace(&*dir.to_string_lossy(), "DIR"));
}

#[test]
fn a_project_adds_rules_and_allows_only_where_it_is_trusted() {
    let rules = r#"{"permissions": {"allow": ["c"], "deny": ["b"]}}"#;
    check_project(
        rules,
        false,
        expect![[r#"
            DIR/project/.flyto/config.json:1:27: warning[F0301]: "permissions.allow" of an untrusted project is left out: it can only narrow
            permissions.allow[0] = "a:b" 1:28
            permissions.ask = [] 
            permissions.deny[0] = "b" 1:43
            deny: tool b: b (deny, project, DIR/project/.flyto/config.json:1:43)
            ask: tool c: no rule allows it; to allow it: c"#]],
    );
    check_project(
        rules,
        true,
        expect![[r#"
            permissions.allow[0] = "a:b" 1:28
            permissions.allow[0] = "c" 1:28
            permissions.ask = [] 
            permissions.deny[0] = "b" 1:43
            deny: tool b: b (deny, project, DIR/project/.flyto/config.json:1:43)
            allow: tool c: c (allow, project, DIR/project/.flyto/config.json:1:28)"#]],
    );
    check_project(
        r#"{"permissions": {"ask": ["b"], "deny": ["Bash(rm"]}}"#,
        false,
        expect![[r#"
        DIR/project/.flyto/config.json: warning[F0317]: the project's configuration is broken, and only what can be read of it narrows
        DIR/project/.flyto/config.json:1:46: warning[F0320]: "Bash(rm" is no rule: a bracket is not closed
        permissions.allow[0] = "a:b" 1:28
        permissions.ask[0] = "b" 1:26
        permissions.deny[0] = "Bash(rm" 1:41
        ask: tool b: b (ask, project, DIR/project/.flyto/config.json:1:26)
        ask: tool b: no rule allows it; to allow it: b
        ask: tool c: no rule allows it; to allow it: c"#]],
    );
}

#[tokio::test]
async fn an_answer_for_always_is_no_rule_for_others() {
    // The id of the tool reads as a class of tools, and that of another one as every command.
    let mut world = World::new();
    world.write(
        "plugins/class/plugin.json",
        r#"{"name": "class", "tools": [{"name": "bash", "description": "Does.", "command": "true",
            "requires_checkpoint": true}]}"#,
    );
    world.config.permissions.allow("Bash(true:*)").expect("a rule");
    world.config.permissions.allow("class:generic").expect("a rule");
    let handler = Scripted::new([Ok(Answer::Always), Ok(Answer::No { reason: None })]);
    let host = builder(&world).checkpoint_handler(handler.clone()).build();
    drop(call(&host, "class:bash", "{}").await);
    expect!["the tool asks for a release before each call []"].assert_eq(&handler.asked());
    world.add_plugin("p", "echo ran");
    host.reload();
    let decision = decided(&host.prepare("p:run", Input::empty()).expect("it is there"));
    assert_eq!(decision.verdict, Verdict::Ask);
}

#[test]
fn a_rule_that_denies_sees_the_input_of_a_fixed_program() {
    let mut world = World::new();
    world.write(
        "plugins/sh/plugin.json",
        r#"{"name": "sh", "tools": [{"name": "run", "description": "Runs.", "command": "true",
            "input_schema": {"type": "object"}}]}"#,
    );
    world.config.permissions.allow("sh:*").expect("a rule");
    world.config.permissions.deny("Bash(rm:*)").expect("a rule");
    world.config.permissions.deny("Read(/etc/passwd)").expect("a rule");
    world.config.permissions.deny("WebFetch(domain:evil.com)").expect("a rule");
    let host = builder(&world).build();
    let verdict = |input: &str| {
        let input = Input::parse(input).expect("JSON");
        decided(&host.prepare("sh:run", input).expect("it is there")).verdict
    };
    assert_eq!(verdict(r#"{"command": "ls"}"#), Verdict::Allow);
    for input in [
        r#"{"command": "ls; rm -rf /"}"#,
        r#"{"path": "/etc/passwd"}"#,
        r#"{"url": "https://evil.com/x"}"#,
    ] {
        assert_eq!(verdict(input), Verdict::Deny, "{input}");
    }
}

#[test]
fn a_rule_for_an_evolved_tool_answers_for_the_text_that_was_approved() {
    let text = "date >>log; rm -f old";
    let verdict = |deny: &str, origin: Origin| {
        let mut world = World::new();
        world.config.permissions.allow("note").expect("a rule");
        world.config.permissions.deny(deny).expect("a rule");
        let host = builder(&world).build();
        let mut metadata = Metadata::new();
        (metadata.permission_class, metadata.origin) = (PermissionClass::BASH, origin);
        let preview = Preview::new().with_command_line(["bash", "-c", text, "note"]);
        let tool = NativeTool::builder("note", "Notes.")
            .metadata(metadata)
            .preview(move |_| Some(preview.clone()));
        let tool = tool.run(|_, _: NoInput| async { "done" }).expect("it is fine");
        host.registry().register("a program", Arc::new(tool)).expect("it is new");
        decided(&host.prepare("note", Input::empty()).expect("it is there")).verdict
    };
    let evolved = || Origin::Evolved { version: 1 };
    assert_eq!(verdict("Bash(curl:*)", evolved()), Verdict::Allow);
    assert_eq!(verdict("Bash(rm:*)", evolved()), Verdict::Deny);
    assert_eq!(verdict("Bash(curl:*)", Origin::Native), Verdict::Ask);
}

/// Says yes once the time that was left is over.
#[derive(Debug)]
struct Slow;

#[async_trait]
impl CheckpointHandler for Slow {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let left = question.call.ctx().time_given().expect("there is a limit");
        tokio::time::sleep(left + Duration::from_millis(50)).await;
        Ok(Answer::Yes)
    }
}

#[tokio::test]
async fn a_time_limit_stands_still_while_a_person_is_asked() {
    let world = world("{}");
    let host = builder(&world).checkpoint_handler(Slow).build();
    let call = async |ctx: CallContext| {
        let prepared = host.prepare("p:run", Input::empty()).expect("it is there");
        prepared.run(&ctx).await.expect("it is permitted").failure
    };
    let limited = CallContext::new().with_time_limit(Duration::from_secs(2));
    assert_eq!(call(limited).await, None);
    // That of the caller does not.
    let limited = CallContext::new().with_timeout(Duration::from_millis(200));
    assert!(matches!(call(limited).await, Some(Failure::TimedOut { .. })));
}
