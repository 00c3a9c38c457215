//! The path of a call, and what is said where there is none.

use std::{fs, path::Path};

use expect_test::{Expect, expect};
use flyto_diagnostics::Pointer;
use flyto_host::{CallError, Host, explain, validate_path};
use flyto_tools::{CallContext, Failure, Input, NativeTool, NoInput, ToolErrorKind};

use crate::world::{World, call};

#[tokio::test]
async fn a_call_is_looked_up_checked_run_and_bounded() {
    let mut world = World::new().plugin("p", "cat; printf %0100d 0");
    world.config.output_limit_bytes = 20;
    let host = world.host();

    let bad = call(&host, "p:run", r#"{"n": "x"}"#).await.expect("a result");
    assert_eq!(bad.failure, Some(Failure::BadInput));
    assert!(bad.execution.is_none(), "nothing ran");

    // The wire name leads to the same tool.
    let good = call(&host, "p__run", r#"{"n": 1}"#).await.expect("a result");
    assert_eq!(good.failure, None);
    let omitted = good.omitted.expect("the text was cut");
    assert_eq!(omitted.bytes, 108 - 20);
    let whole = omitted.whole.expect("the whole was kept");
    assert!(Path::new(&whole).starts_with(world.dir.path().join(".local/state/flyto/output")));
    assert_eq!(fs::read_to_string(whole).expect("written"), format!(r#"{{"n": 1}}{:0100}"#, 0));
}

#[track_caller]
fn check_missing(host: &Host, name: &str, expect: Expect) {
    let shown = match host.find(name).expect_err("no such tool") {
        CallError::NotFound { similar, missing_plugin, findings, .. } => {
            let codes: Vec<_> = findings.iter().map(|it| it.code.as_str()).collect();
            let what = missing_plugin.map_or("not found".into(), |it| format!("no plugin {it:?}"));
            format!("{what}, similar {similar:?}, because of {codes:?}")
        }
        err => err.to_string(),
    };
    expect.assert_eq(&shown);
}

#[test]
fn a_missing_tool_is_explained() {
    let mut world =
        World::new().plugin("text", "true").plugin("held", "true").plugin("extra", "true");
    world.write("plugins/broken/plugin.json", r#"{"name": "broken", "tools": {}}"#);
    world.write(
        "plugins/partly/plugin.json",
        r#"{"name": "partly", "tools": [{"name": "bad", "description": "x"},
            {"name": "good", "description": "x", "command": "true"}]}"#,
    );
    world.config.plugins.blocked_plugins.insert("held".to_owned());
    let host = world.host();
    check_missing(
        &host,
        "text:rum",
        expect![[r#"not found, similar ["text:run"], because of []"#]],
    );
    check_missing(
        &host,
        "run",
        expect![[r#"not found, similar ["extra:run", "text:run"], because of []"#]],
    );
    check_missing(&host, "zzz", expect!["not found, similar [], because of []"]);
    check_missing(&host, "broken:x", expect![[r#"not found, similar [], because of ["F0023"]"#]]);
    check_missing(
        &host,
        "partly:bad",
        expect![[r#"not found, similar ["partly:good"], because of ["F0022"]"#]],
    );
    check_missing(
        &host,
        "texts:run",
        expect![[r#"no plugin "texts", similar ["text"], because of []"#]],
    );
    let world = World::new().plugin("text1", "true");
    world.write("plugins/text2/plugin.json", r#"{"name": "text2", "tools": []}"#);
    check_missing(
        &world.host(),
        "text2:run",
        expect![[r#"not found, similar [], because of ["F0105"]"#]],
    );
    check_missing(
        &host,
        "held:run",
        expect![[r#"the tool "held:run" cannot be used: plugin "held" is blocked"#]],
    );
    check_missing(
        &host,
        "held__run",
        expect![[r#"the tool "held__run" cannot be used: plugin "held" is blocked"#]],
    );
}

#[tokio::test]
async fn definition_files_and_native_tools_are_sources_too() {
    let mut world = World::new();
    let file =
        world.write("tools.json", r#"[{"name": "echo", "description": "x", "exec": ["cat"]}]"#);
    let twice = world.write(
        "twice.json",
        r#"[{"name": "other", "description": "x", "exec": ["true"]},
            {"name": "echo", "description": "x", "exec": ["true"]}]"#,
    );
    let broken = world.write("broken.json", r#"[{"name": "a b", "exec": ["true"]}]"#);
    world.config.exec_tools = vec![file, twice, broken];
    let host = world.host();
    let hello = NativeTool::builder("hello", "Says hello.")
        .run(|_ctx, _: NoInput| async { "hello" })
        .expect("a tool");
    host.add_tool("host", hello).expect("the name is free");

    assert_eq!(call(&host, "echo", "{}").await.expect("a result").output, "{}");
    assert_eq!(call(&host, "hello", "{}").await.expect("a result").output, "hello");
    let codes: Vec<_> = host.report().findings().map(|it| it.code.as_str()).collect();
    assert_eq!(codes.last(), Some(&"F0304"), "the second `echo` is left out, and that is said");
    let report = host.report();
    let taken = report.findings().last().expect("it is there");
    assert_eq!(taken.pointer.as_ref().map(Pointer::as_str), Some("/1/name"));
    assert_eq!(taken.location.place().map(|it| (it.line, it.column)), Some((2, 22)));
    assert!(host.report().exec_files[2].tools.is_none());
    check_missing(
        &host,
        "a b",
        expect![[r#"not found, similar [], because of ["F0207", "F0202"]"#]],
    );
    for code in codes {
        assert!(explain(code).is_some(), "{code}");
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_tried_is_an_error_and_one_that_fails_a_result() {
    let world = World::new().plugin("p", "echo no >&2; exit 3");
    world.write(
        "plugins/q/plugin.json",
        r#"{"name": "q", "tools": [{"name": "run", "description": "x", "command": "no-such-program"}]}"#,
    );
    let host = world.host();
    let failed = call(&host, "p:run", "{}").await.expect("a result");
    assert_eq!(failed.failure, Some(Failure::exit_code(3)));
    assert_eq!(failed.output, "exit code 3\nstdout: \nstderr: no\n");
    match call(&host, "q:run", "{}").await {
        Err(CallError::Tool(err)) => assert_eq!(err.kind(), ToolErrorKind::ProgramMissing),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_plan_shows_and_starts_nothing() {
    let world = World::new().plugin("p", "touch ran");
    let input = Input::parse(r#"{"n": "x"}"#).expect("JSON");
    let call = world.host().prepare("p:run", input).expect("it is there");
    let plan = call.plan(&CallContext::new()).await.expect("a plan");
    let preview = plan.preview.expect("programs can say");
    assert_eq!(preview.command_line.expect("a program"), ["sh", "-c", "touch ran"]);
    assert!(plan.violations.is_some());
    assert!(!world.dir.path().join("plugins/p/ran").exists());
}

#[test]
fn it_is_known_why_a_program_sees_a_variable() {
    let mut world = World::new().plugin("p", "true");
    let file = r#"{"name": "t", "description": "x", "exec": ["true"]}"#;
    world.config.exec_tools = vec![world.write("tools.json", file)];
    let host = world.host();
    let variables = |name: &str| {
        let variables = host.prepare(name, Input::empty()).expect("a tool").outline().variables?;
        Some(variables.iter().map(|it| format!("{} {:?}", it.name, it.origin)).collect::<Vec<_>>())
    };
    let expected = ["HOME Host", "PATH Host", "PLUGIN_DATA Plugin", "PLUGIN_ROOT Plugin"];
    assert_eq!(variables("p__run"), Some(expected.map(str::to_owned).to_vec()));
    assert_eq!(variables("t"), None);
}

#[test]
fn plugins_that_are_switched_off_are_named_and_not_used() {
    let mut world = World::new().plugin("p", "true");
    world.config.plugins.enabled = false;
    let host = world.host();
    assert!(host.registry().snapshot().is_empty());
    check_missing(
        &host,
        "p:run",
        expect![[r#"the tool "p:run" cannot be used: plugin "p" is disabled"#]],
    );
}

#[track_caller]
fn check_validation(world: &World, path: &str, expect: Expect) {
    let res =
        validate_path(&world.dir.path().join(path), &world.surroundings()).expect("it is there");
    let kinds: Vec<_> = res.checked.iter().map(|it| it.1).collect();
    let codes: Vec<_> = res.findings.iter().map(|it| it.code.as_str()).collect();
    expect.assert_eq(&format!("{kinds:?} {codes:?}"));
}

#[test]
fn what_a_file_is_shows_in_its_content() {
    let world = World::new().plugin("p", "true");
    world.write("tool.json", r#"{"name": "a", "description": "x", "exec": ["true"]}"#);
    world.write("list.json", "[]");
    world.write("config.json", r#"{"plugins": {"enabledd": true}}"#);
    world.write("other.json", r#"{"colour": "red"}"#);
    world.write("evolved.json", r#"{"name": "a", "description": "x", "script": "true"}"#);
    world.write("broken.json", "{,}");
    world.write("bare/file.txt", "");
    check_validation(&world, "plugins", expect![[r#"["plugin"] []"#]]);
    check_validation(&world, "plugins/p", expect![[r#"["plugin"] []"#]]);
    check_validation(&world, "plugins/p/plugin.json", expect![[r#"["plugin"] []"#]]);
    check_validation(&world, "tool.json", expect![[r#"["exec tools"] []"#]]);
    check_validation(&world, "list.json", expect![[r#"["exec tools"] []"#]]);
    check_validation(&world, "config.json", expect![[r#"["configuration"] ["F0021"]"#]]);
    check_validation(&world, "other.json", expect![[r#"[] ["F0305"]"#]]);
    check_validation(&world, "evolved.json", expect![[r#"[] ["F0305"]"#]]);
    check_validation(&world, "broken.json", expect![[r#"[] ["F0005"]"#]]);
    check_validation(&world, "bare", expect![[r#"[] ["F0305"]"#]]);
    assert!(validate_path(&world.dir.path().join("nowhere"), &world.surroundings()).is_err());
}

#[test]
fn the_schema_of_the_configuration_knows_its_keys() {
    let schema = flyto_host::schema::config();
    let validator = flyto_tools::compile(&schema).expect("a schema");
    let check = |text: &str| validator.check(&serde_json::from_str(text).expect("JSON")).is_ok();
    assert!(check(r#"{"plugins": {"enabled": true, "plugin_dirs": ["x"]}, "exec_tools": ["a"]}"#));
    assert!(check("{}"));
    assert!(!check(r#"{"plugin": {}}"#));
    assert!(!check(r#"{"output_limit_bytes": -1}"#));
    assert!(!check(r#"{"plugins": {"enabled": "yes"}}"#));
}

#[tokio::test]
async fn a_tool_that_needs_a_checkpoint_is_refused_before_anything_starts() {
    let world = World::new();
    let tool = |name: &str, command: &str, more: &str| {
        format!(
            r#"{{"name": "{name}", "description": "x", "command": "{command}",
                "parameters": {{"type": "object"}}, {more}}}"#
        )
    };
    let tools = [
        tool("send", "touch sent", r#""category": "messaging""#),
        tool("ask", "touch sent", r#""requires_checkpoint": true"#),
        tool("free", "echo free", r#""category": "messaging", "requires_checkpoint": false"#),
    ]
    .join(",");
    let manifest =
        format!(r#"{{"name": "m", "version": "1", "description": "x", "tools": [{tools}]}}"#);
    world.write("plugins/m/plugin.json", &manifest);
    let host = world.host();
    for name in ["m:send", "m__send", "m:ask"] {
        let refused = call(&host, name, "{}").await.expect_err("nobody can release it");
        let CallError::Refused(refused) = refused else { panic!("{name}: {refused}") };
        assert_eq!(refused.stage, "checkpoint");
        let input = Input::parse("{}").expect("JSON");
        let plan = host.prepare(name, input).expect("it is there").plan(&CallContext::new()).await;
        assert_eq!(plan.expect("a plan").refused, Some(*refused));
    }
    assert!(!world.path("sent").exists() && !world.path("plugins/m/sent").exists());
    assert_eq!(call(&host, "m:free", "{}").await.expect("a result").output, "free\n");
}
