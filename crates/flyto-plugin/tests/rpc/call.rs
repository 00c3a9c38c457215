//! What a program gets, and where it runs.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::{Arc, Mutex},
    time::Duration,
};

use expect_test::expect;
use flyto_execenv::{Sha256, Template};
use flyto_plugin::ToolDef;
use flyto_tools::{CallContext, Input, OutputChunk, ProblemKind, Progress, Tool, ToolErrorKind};
use serde_json::json;

use crate::{Host, def, shown};

/// A program that answers with an empty text, and keeps what it read.
const KEEPS: &str =
    r#"cat >"$PLUGIN_ROOT/request"; echo '{"jsonrpc":"2.0","id":1,"result":{"output":""}}'"#;

#[tokio::test]
async fn the_request_is_exact() {
    let host = Host::new(KEEPS);
    let mut requests = String::new();
    for input in [
        "",
        "{}",
        r#"{"z":1.0,"a":1e2,"n":123456789012345678901234567890,"m":-0}"#,
        "{ \"b\": [ 1 ,2 ],\r\n  \"a\": \"two\\nlines \u{e9} \\u00e9 \\/\" }",
        r#""text""#,
        "null",
    ] {
        let res = host.call(def(), input).await;
        assert_eq!((res.output.as_str(), res.failure), ("", None));
        requests += &fs::read_to_string(host.dir.path().join("request")).expect("kept");
    }
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"t","args":{}}}
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"t","args":{}}}
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"t","args":{"z":1.0,"a":1e2,"n":123456789012345678901234567890,"m":-0}}}
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"t","args":{ "b": [ 1 ,2 ],    "a": "two\nlines é \u00e9 \/" }}}
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"t","args":"text"}}
        {"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"t","args":null}}
    "#]].assert_eq(&requests);
}

#[tokio::test]
async fn it_starts_where_the_session_works_and_sees_what_every_program_sees() {
    let mut host = Host::new(
        r#"cd "$(pwd -P)"; text=$(pwd -P; env | grep -v '^PWD=' | grep -v '^_=' | grep -v '^OLDPWD=' | sort; echo "args: $#")
        printf '{"jsonrpc":"2.0","id":1,"result":{"output":"%s"}}\n' "$(echo "$text" | tr '\n' '|')""#,
    );
    let data = host.dir.path().join("data");
    host.ctx = host.ctx.clone().data_root(data);
    let mut plain = def();
    plain.env.insert("MINE", Template::parse("${PLUGIN_ROOT}").expect("valid"));
    let mut elsewhere = def();
    elsewhere.work_dir = Some("sub".into());
    fs::create_dir(host.session.path().join("sub")).expect("created");
    let mut absolute = def();
    absolute.work_dir = Some("/".into());
    let mut lines = String::new();
    for def in [plain, elsewhere, absolute] {
        lines += &shown(&host.call(def, "").await);
    }
    expect![[r#"
        ok: "SESSION|LANG=C|MINE=DIR|PATH=/usr/bin:/bin|PLUGIN_DATA=DIR/data/p|PLUGIN_ROOT=DIR|args: 0|"
        ok: "SESSION/sub|LANG=C|PATH=/usr/bin:/bin|PLUGIN_DATA=DIR/data/p|PLUGIN_ROOT=DIR|args: 0|"
        ok: "/|LANG=C|PATH=/usr/bin:/bin|PLUGIN_DATA=DIR/data/p|PLUGIN_ROOT=DIR|args: 0|"
    "#]].assert_eq(&host.redacted(&lines));
}

#[tokio::test]
async fn promised_json_is_the_data_or_the_output() {
    let promised = |reply: &str| {
        let host = Host::answering(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{reply}}}"#));
        let mut def = def();
        def.output_schema = Some(json!({"type": "object"}).into());
        async move { shown(&host.call(def, "").await) }
    };
    let mut lines = promised(r#"{"output":"text","data":{"n":1}}"#).await;
    lines += &promised(r#"{"output":"{\"n\": 2}"}"#).await;
    lines += &promised(r#"{"output":"text"}"#).await;
    expect![[r#"
        ok: "text" data {"n":1}
        ok: "{\"n\": 2}" data {"n":2}
        output breaks the schema: "plugin tool \"p:t\": \"output\" is no JSON: expected ident at line 1 column 2\noutput: text"
    "#]].assert_eq(&lines);
}

#[tokio::test]
async fn a_link_out_of_the_plugin_is_looked_for_at_every_call() {
    let host = Host::new(KEEPS);
    host.write(
        "other",
        "#!/bin/sh\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"inside\"}}'\n",
    );
    let file = host.dir.path().join("bin/tool");
    assert_eq!(host.call(def(), "").await.output, "");

    fs::remove_file(&file).expect("removed");
    symlink("../other", &file).expect("linked");
    assert_eq!(host.call(def(), "").await.output, "inside");

    fs::remove_file(&file).expect("removed");
    symlink("/bin/sh", &file).expect("linked");
    let err = host.try_call(def(), "").await.expect_err("not tried");
    assert_eq!(err.kind(), ToolErrorKind::NotStartable);
    let sh = fs::canonicalize("/bin/sh").expect("there").display().to_string();
    let chain = err.chain().replace(&host.dir.path().display().to_string(), "DIR");
    expect![[r#"plugin tool "p:t" exec failed: "DIR/bin/tool" leads to "SH", out of the plugin's directory"#]].assert_eq(&chain.replace(&sh, "SH"));
    let preview = host.tool(def()).preview(&Input::empty()).expect("one");
    assert_eq!(preview.problems[0].text, err.chain());
    assert_eq!(preview.problems[0].kind, ProblemKind::Error(err.kind()));

    fs::remove_file(&file).expect("removed");
    let err = host.try_call(def(), "").await.expect_err("not tried");
    assert_eq!(err.kind(), ToolErrorKind::ProgramMissing);
    let plain = ToolDef::rpc("t", "reply");
    fs::write(host.dir.path().join("reply"), "").expect("written");
    let err = host.try_call(plain, "").await.expect_err("not tried");
    assert_eq!(err.kind(), ToolErrorKind::NotStartable);
}

#[tokio::test]
async fn bytes_that_are_not_the_ones_that_were_approved_do_not_run() {
    let host = Host::new(KEEPS);
    let mut pinned = def();
    pinned.sha256 = Some(Sha256([7; 32]));
    let err = host.try_call(pinned, "").await.expect_err("not tried");
    assert_eq!(err.kind(), ToolErrorKind::DigestMismatch, "{}", err.chain());
    assert!(!host.dir.path().join("request").exists());
}

#[tokio::test]
async fn a_preview_shows_the_request() {
    let host = Host::new(KEEPS);
    let mut def = def();
    def.timeout = Duration::from_secs(5);
    let input = Input::parse(r#"{"a": 1.0}"#).expect("JSON");
    let preview = host.tool(def).preview(&input).expect("one");
    assert_eq!(preview.deadline, Some(Duration::from_secs(5)));
    let text =
        format!("{:?}\n{:?}\n{:?}\n", preview.command_line, preview.working_dir, preview.stdin);
    expect![[r#"
        Some(["DIR/bin/tool"])
        Some("SESSION")
        Some("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"execute\",\"params\":{\"tool\":\"t\",\"args\":{\"a\": 1.0}}}\n")
    "#]].assert_eq(&host.redacted(&text));
    assert!(!host.dir.path().join("request").exists());
}

#[tokio::test]
async fn progress_is_reported_as_it_comes_and_messages_are_not_shown() {
    let host = Host::new(
        r#"echo '::progress 0.5 half' >&2; echo word >&2
        echo '{"jsonrpc":"2.0","method":"progress","params":{"id":1,"progress":0.25,"detail":"reading"}}'
        echo '{"jsonrpc":"2.0","id":1,"result":{"output":"done"}}'"#,
    );
    for (stream, expect) in
        [(false, vec!["25% reading"]), (true, vec!["25% reading", "50% half", "word\n"])]
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (progress, output) = (Arc::clone(&seen), Arc::clone(&seen));
        let ctx = CallContext::new()
            .with_progress(move |it: Progress| {
                progress.lock().expect("not poisoned").push(it.to_string());
            })
            .with_output(move |it: OutputChunk<'_>| {
                let text = String::from_utf8_lossy(it.bytes).into_owned();
                output.lock().expect("not poisoned").push(text);
            });
        let mut def = def();
        def.stream = stream;
        let res = host.tool(def).execute(&ctx, Input::empty()).await.expect("it was tried");
        assert_eq!(res.output, "done");
        let mut seen = seen.lock().expect("not poisoned").clone();
        seen.sort();
        assert_eq!(seen, expect);
    }
}

#[tokio::test]
async fn an_answer_that_is_nearly_one_is_explained() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"output":"x"}}"#;
    let mark = "\u{feff}";
    for (reply, why) in [
        (format!("{mark}{answer}\n"), "a byte order mark stands in front"),
        (format!("log\n{mark}{answer}\r\n"), "a byte order mark stands in front"),
        (format!("[{answer}]\n"), "in an array, which is a batch"),
        (format!("{mark}[\n{answer}]"), "in an array, which is a batch"),
        (format!("[[{answer}]]"), ""),
        (format!("{mark}[1]"), ""),
        (format!("{mark}text"), ""),
    ] {
        let res = Host::answering(&reply).call(def(), "").await;
        let head = "plugin tool \"p:t\": no JSON-RPC response on stdout";
        let rest = res.output.strip_prefix(head).expect("no answer");
        let explains = rest.starts_with(": ");
        assert_eq!((explains, rest.contains(why)), (!why.is_empty(), true), "{reply}: {rest}");
    }
}
