//! The example plugins whose process stays, with several calls at once.

#![forbid(unsafe_code)]

use std::{env, fs, path::Path, sync::Arc};

use expect_test::expect;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{Config, Host, Surroundings, permission::Caller};
use flyto_tools::{CallContext, Failure, Input, ToolResult};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host of one of the plugins, and a directory for its files. `None` where a program is missing,
/// which in CI is a failure.
fn host(plugin: &str, program: &str) -> Option<(Arc<Host>, TempDir)> {
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|it| it.join(program).is_file()) {
        assert!(env::var_os("CI").is_none(), "{program} is not installed");
        return None;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/plugins");
    let mut config = Config::default();
    config.plugins.enabled = true;
    config.plugins.plugin_dirs = vec![plugins.join(plugin)];
    let vars = [("PATH", path.as_os_str()), ("HOME", dir.path().as_os_str())];
    let surroundings = Surroundings::new(vars.into_iter().collect(), dir.path());
    let host = Host::builder(ExecEnv::new(Local::new()), surroundings, config)
        .caller(Caller::Operator)
        .build();
    assert_eq!(host.report().findings().count(), 0, "{:?}", host.report());
    Some((Arc::new(host), dir))
}

async fn call(host: &Host, tool: &str, input: Value, ctx: &CallContext) -> ToolResult {
    let input = Input::parse(input.to_string()).expect("JSON");
    host.call(tool, input, ctx).await.expect("it was tried")
}

async fn text(host: &Host, tool: &str, input: Value) -> String {
    let res = call(host, tool, input, &CallContext::new()).await;
    assert_eq!(res.failure, None, "{}", res.output);
    res.output
}

#[tokio::test]
async fn an_expression_without_end_holds_up_no_other() {
    let Some((host, _dir)) = host("regex", "node") else { return };
    // A first call, so that the process is there.
    let simple = || json!({"pattern": "b", "text": "ab"});
    assert_eq!(text(&host, "regex:find", simple()).await, "1 match\n1:2 \"b\"");
    let ctx = CallContext::new();
    let token = ctx.cancellation().clone();
    let endless = {
        let host = Arc::clone(&host);
        let input = json!({"pattern": "^(a+)+$", "text": format!("{}b", "a".repeat(64))});
        tokio::spawn(async move { call(&host, "regex:find", input, &ctx).await })
    };
    for _ in 0..20 {
        assert_eq!(text(&host, "regex:find", simple()).await, "1 match\n1:2 \"b\"");
    }
    assert!(!endless.is_finished());
    token.cancel();
    let endless = endless.await.expect("no panic");
    assert_eq!(endless.failure, Some(Failure::Cancelled), "{}", endless.output);
    assert_eq!(text(&host, "regex:find", simple()).await, "1 match\n1:2 \"b\"");
    host.close().await;
}

#[tokio::test]
async fn an_index_follows_its_files() {
    let Some((host, dir)) = host("fulltext", "python3") else { return };
    let root = dir.path().canonicalize().expect("it is there");
    let search = || json!({"path": root, "query": "fox"});
    fs::write(root.join("a.txt"), "a fox\n").expect("written");
    fs::write(root.join("b.txt"), "a bear\n").expect("written");
    let mut results = text(&host, "fulltext:search", search()).await + "\n";
    fs::write(root.join("b.txt"), "a bear and a fox\n").expect("written");
    results += &(text(&host, "fulltext:search", search()).await + "\n");
    fs::remove_file(root.join("a.txt")).expect("removed");
    results += &(text(&host, "fulltext:search", search()).await + "\n");
    // What is no text is passed over, and not read again.
    fs::write(root.join("c.bin"), b"fox \xff").expect("written");
    results += &(text(&host, "fulltext:search", search()).await + "\n");
    results += &text(&host, "fulltext:search", search()).await;
    expect![[r#"
        1 of 2 files match, 2 read anew
        0.69 a.txt:1: a fox
        2 of 2 files match, 1 read anew
        0.22 a.txt:1: a fox
        0.16 b.txt:1: a bear and a fox
        1 of 1 files match, 0 read anew
        0.29 b.txt:1: a bear and a fox
        1 of 2 files match, 1 read anew
        0.49 b.txt:1: a bear and a fox
        1 of 2 files match, 0 read anew
        0.49 b.txt:1: a bear and a fox"#]]
    .assert_eq(&results);
    host.close().await;
}

#[tokio::test]
async fn searches_go_on_side_by_side() {
    let Some((host, dir)) = host("fulltext", "python3") else { return };
    for n in 0..200 {
        fs::write(dir.path().join(format!("{n}.txt")), format!("word{n} and more\n"))
            .expect("written");
    }
    let calls: Vec<_> = (0..64)
        .map(|n| {
            let (host, root) = (Arc::clone(&host), dir.path().to_owned());
            tokio::spawn(async move {
                let input = json!({"path": root, "query": format!("word{n}")});
                text(&host, "fulltext:search", input).await
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let found = call.await.expect("no panic");
        assert!(found.starts_with("1 of 200 files match"), "{found}");
        assert!(found.ends_with(&format!("{n}.txt:1: word{n} and more")), "{found}");
    }
    host.close().await;
}
