//! Which answers are understood.

use expect_test::{Expect, expect};
use flyto_tools::Failure;

use crate::{Host, def, shown};

async fn answered(reply: impl AsRef<[u8]>) -> String {
    shown(&Host::answering(reply).call(def(), "{}").await)
}

#[track_caller]
fn check(actual: &str, expect: &Expect) {
    expect.assert_eq(actual);
}

#[tokio::test]
async fn every_answer_that_can_be_understood_is() {
    let ok = r#"{"jsonrpc":"2.0","id":1,"result":{"output":"fine"}}"#;
    for reply in [
        format!("{ok}\n"),
        ok.to_owned(),
        format!("{ok}\r\n"),
        format!("\n\n  {ok}  \n\n\n"),
        format!("starting\n{ok}\n"),
        format!("{ok}\ndone\n{{\"level\":\"info\",\"result\":\"done\"}}\n[1]\n"),
        ok.replace('1', "7"),
        ok.replace(r#""id":1"#, r#""id":"1""#),
        ok.replace(r#""id":1"#, r#""id":null"#),
        ok.replace(r#""id":1,"#, ""),
        ok.replace("2.0", "1.0"),
        ok.replace(r#""jsonrpc":"2.0","#, ""),
        ok.replace("}}", r#","more":[{}]},"error":null,"extra":1}"#),
        // The last answer counts.
        format!("{}\n{ok}\n", ok.replace("fine", "first")),
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"message\":\"m\"}}}}\n{ok}"
        ),
        // What tells of progress is no answer.
        format!(
            "{ok}\n{{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{{\"id\":1,\"progress\":1}}}}\n"
        ),
        serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(ok).expect("JSON"))
            .expect("JSON"),
    ] {
        assert_eq!(answered(&reply).await, "ok: \"fine\"\n", "{reply}");
    }
}

#[tokio::test]
async fn outputs_and_data() {
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let mut lines = String::new();
    for it in [
        r#"{"output":""}"#,
        r#"{"output":" two\nlines \u00e9\ud83e\udd80 "}"#,
        r#"{"output":"[1]"}"#,
        r#"{"output":"text","data":{"b":1.0,"a":[]}}"#,
        r#"{"output":"half of a pair: \udcff"}"#,
    ] {
        lines += &answered(result(it)).await;
    }
    lines += &answered(b"{\"jsonrpc\":\"2.0\",\"result\":{\"output\":\"caf\xe9\"}}\n").await;
    check(
        &lines,
        &expect![[r#"
        ok: ""
        ok: " two\nlines é🦀 "
        ok: "[1]"
        ok: "text" data {"b":1.0,"a":[]}
        ok: "half of a pair: ���"
        ok: "caf�"
    "#]],
    );
}

#[tokio::test]
async fn content() {
    let content = r#"{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}"#;
    let reply = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{content}}}"#);
    let mut declared = def();
    declared.blocks = true;
    let mut lines = shown(&Host::answering(&reply).call(declared.clone(), "{}").await);
    let failing = Host::answering(&reply);
    failing.write("bin/tool", "#!/bin/sh\ncat \"$PLUGIN_ROOT/reply\"; exit 3");
    lines += &shown(&failing.call(declared.clone(), "{}").await);
    let text = reply.replace(content, r#"{"output":"[1]"}"#);
    lines += &shown(&Host::answering(text).call(declared, "{}").await);
    lines += &answered(&reply).await;
    lines += &answered(reply.replace("[{", "{").replace("}]", "}")).await;
    // A log has such a word, too.
    lines += &answered(reply.replace(r#""jsonrpc":"2.0","#, "")).await;
    check(
        &lines,
        &expect![[r#"
        ok: "[audio, audio/wav, 3 bytes]" data {"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}
        exit code 3: "exit code 3\nstdout: [audio, audio/wav, 3 bytes]\nstderr: " data {"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}
        ok: "[1]"
        output breaks the schema: "plugin tool \"p:t\": \"result\" has no \"output\", and the tool declares no \"content\""
        output breaks the schema: "plugin tool \"p:t\": \"content\" must be an array, found an object\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":{\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"audio/wav\"}}}\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: {\"id\":1,\"result\":{\"content\":[{\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"audio/wav\"}]}}\nstderr: "
    "#]],
    );
}

#[tokio::test]
async fn errors() {
    let error = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
    let mut lines = String::new();
    for it in [
        r#"{"code":-32000,"message":"no such file"}"#,
        r#"{"code":1,"message":"","data":{"path":"x"}}"#,
        r#"{"code":2.0,"message":"two\nlines","data":null}"#,
    ] {
        lines += &answered(error(it)).await;
    }
    let both = error(r#"{"code":3,"message":"wins"}"#)
        .replace(r#""id""#, r#""result":{"output":"x"},"id""#);
    lines += &answered(both).await;
    check(
        &lines,
        &expect![[r#"
        error -32000: "error (code -32000): no such file"
        error 1: "error (code 1): " data {"path":"x"}
        error 2: "error (code 2): two\nlines"
        error 3: "error (code 3): wins"
    "#]],
    );

    let res = Host::answering(error(r#"{"code":-5,"message":"m"}"#)).call(def(), "{}").await;
    assert_eq!(res.failure, Some(Failure::Reported { code: Some(-5) }));
}

#[tokio::test]
async fn what_is_no_answer_says_why() {
    let result = |result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n");
    let mut lines = String::new();
    for it in [
        String::new(),
        "\n".to_owned(),
        "working\ndone\n".to_owned(),
        result("null"),
        result("\"text\""),
        result("{}"),
        result(r#"{"output":5}"#),
        result(r#"{"output":{"text":"x"}}"#),
        result(r#"{"output":"x"}"#) + &result(r#"{"output":null}"#),
        format!("[{}]\n", result(r#"{"output":"x"}"#).trim_end()),
        result(r#"{"output":"cut"#),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"text\"}\n".to_owned(),
        "{\"result\":5,\"id\":1}\n".to_owned(),
    ] {
        lines += &answered(it).await;
    }
    check(
        &lines,
        &expect![[r#"
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: \nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: \n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: working\ndone\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": \"result\" must be an object with \"output\", found a string\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"text\"}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": \"result\" has no \"output\"\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": \"output\" must be a string, found a number\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":5}}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": \"output\" must be a string, found an object\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":{\"text\":\"x\"}}}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": \"result\" has no \"output\"\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"x\"}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":null}}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout: the answer stands in an array, which is a batch; a call is one request, and its answer is the object itself\nstdout: [{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"x\"}}]\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"cut}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": \"error\" must be an object with \"code\" and \"message\", found a string\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"text\"}\n\nstderr: "
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: {\"result\":5,\"id\":1}\n\nstderr: "
    "#]],
    );
}

#[tokio::test]
async fn exit_codes_beside_answers() {
    let answers = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":"kept","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":4,"message":"kept","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"output":5}}"#,
        "no answer",
    ];
    let mut lines = String::new();
    for answer in answers {
        for end in ["exit 3", "kill -KILL $$", "exit 0"] {
            let host = Host::new(&format!(
                "cat >/dev/null\ncat <<'END'\n{answer}\nEND\necho why >&2\n{end}"
            ));
            let res = host.call(def(), "{}").await;
            lines += &shown(&res);
            let execution = res.execution.expect("it ran");
            assert_eq!(execution.stderr.as_deref(), Some("why\n"));
        }
    }
    check(
        &lines,
        &expect![[r#"
        exit code 3: "exit code 3\nstdout: kept\nstderr: why\n" data [1]
        signal 9 (SIGKILL): "exit code -1 (killed by signal 9, SIGKILL)\nstdout: kept\nstderr: why\n" data [1]
        ok: "kept" data [1]
        error 4: "error (code 4): kept" data [1]
        error 4: "error (code 4): kept" data [1]
        error 4: "error (code 4): kept" data [1]
        exit code 3: "exit code 3\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":5}}\n\nstderr: why\n"
        signal 9 (SIGKILL): "exit code -1 (killed by signal 9, SIGKILL)\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":5}}\n\nstderr: why\n"
        output breaks the schema: "plugin tool \"p:t\": \"output\" must be a string, found a number\nstdout: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":5}}\n\nstderr: why\n"
        exit code 3: "exit code 3\nstdout: no answer\n\nstderr: why\n"
        signal 9 (SIGKILL): "exit code -1 (killed by signal 9, SIGKILL)\nstdout: no answer\n\nstderr: why\n"
        output breaks the schema: "plugin tool \"p:t\": no JSON-RPC response on stdout\nstdout: no answer\n\nstderr: why\n"
    "#]],
    );
}
