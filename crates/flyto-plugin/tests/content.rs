//! Tools that give blocks: text, images, audio, resources.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use flyto_execenv::{Environment, ExecEnv, Limits, local::Local};
use flyto_plugin::{PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, Input, OutputChunk, Tool, ToolResult};
use tempfile::TempDir;

const IMAGE: &str = r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#;

/// A tool that runs a line of shell, and says that it prints blocks.
fn sh(line: &str) -> ToolDef {
    let mut res = ToolDef::argv("t", "sh", ["-c", line]);
    res.blocks = true;
    res
}

fn tool(dir: &TempDir, def: ToolDef) -> PluginTool {
    let env: Environment = [("PATH", "/usr/local/bin:/usr/bin:/bin")].into_iter().collect();
    let ctx = PluginContext::new(ExecEnv::new(Local::new()), env).spill_dir(dir.path());
    PluginTool::new(def, dir.path(), "p", ctx)
}

async fn call(def: ToolDef) -> ToolResult {
    let dir = tempfile::tempdir().expect("a directory");
    let called = tool(&dir, def).execute(&CallContext::new(), Input::empty()).await;
    let mut res = called.expect("it was tried");
    let path = dir.path().to_str().expect("UTF-8");
    res.output = res.output.replace(path, "DIR");
    res
}

#[track_caller]
fn check(res: &ToolResult, expect: Expect) {
    let failure = res.failure.as_ref().map_or_else(|| "ok".to_owned(), ToString::to_string);
    let data = res.data.as_ref().map_or_else(String::new, |it| format!(" data {it}"));
    expect.assert_eq(&format!("{failure}: {:?}{data}\n", res.output));
}

#[tokio::test]
async fn blocks_are_the_text_and_the_data() {
    let line = format!(r#"echo '{{"content": [{{"type": "text", "text": "see"}}, {IMAGE}]}}'"#);
    check(
        &call(sh(&line)).await,
        expect![[r#"
        ok: "see\n[image, image/png, 3 bytes]" data {"content":[{"type":"text","text":"see"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}
    "#]],
    );
    // A failure has them as well, and no base64 in its text.
    let failing = format!("{line}; echo why >&2; exit 3");
    check(
        &call(sh(&failing)).await,
        expect![[r#"
        exit code 3: "exit code 3\nstdout: see\n[image, image/png, 3 bytes]\nstderr: why\n" data {"content":[{"type":"text","text":"see"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}
    "#]],
    );
    // What is not declared is a text.
    let mut undeclared = sh(&line);
    undeclared.blocks = false;
    let res = call(undeclared).await;
    assert!(res.output.contains("AAAA") && res.data.is_none(), "{res:?}");
}

#[tokio::test]
async fn what_is_no_list_of_blocks_is_a_text_that_says_so() {
    check(
        &call(sh("echo no sales")).await,
        expect![[r#"
        ok: "no sales\n[stdout is no list of blocks: expected ident at line 1 column 2]"
    "#]],
    );
    check(
        &call(sh("printf '[1]'")).await,
        expect![[r#"
        ok: "[1]\n[stdout is no list of blocks: expected an object with \"content\"]"
    "#]],
    );
    check(
        &call(sh("echo out; exit 3")).await,
        expect![[r#"
        exit code 3: "exit code 3\nstdout: out\n\nstderr: "
    "#]],
    );
}

#[tokio::test]
async fn a_wrong_block_costs_itself() {
    let line = format!(
        r#"echo '{{"content": [{{"type": "image", "data": "?", "mimeType": "image/png"}}, {IMAGE}], "isError": true}}'"#
    );
    check(
        &call(sh(&line)).await,
        expect![[r#"
        ok: "[a block of the type image, left out: no base64: Invalid symbol 63, offset 0.]\n[image, image/png, 3 bytes]\n[left out beside \"content\": \"isError\"]" data {"content":[{"type":"text","text":"[a block of the type image, left out: no base64: Invalid symbol 63, offset 0.]"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"[left out beside \"content\": \"isError\"]"}]}
    "#]],
    );
}

#[tokio::test]
async fn no_image_is_cut() {
    let image = |n: &str| {
        format!(
            r#"printf '{{"type":"image","mimeType":"image/png","data":"'; head -c {n} /dev/zero | tr '\0' A; printf '"}}'"#
        )
    };
    let list = |n: &str| {
        format!(
            r#"printf '{{"content":['; {}; printf ,; {}; printf ']}}'"#,
            image("4000000"),
            image(n)
        )
    };
    // Each is whole, or is told.
    let mut res = call(sh(&list("400000"))).await;
    let data = res.data.take().expect("it has an image");
    assert_eq!(data["content"].as_array().map(Vec::len), Some(1));
    check(
        &res,
        expect![[r#"
        ok: "[image, image/png, 3000000 bytes]\n[image, image/png, 300000 bytes, left out: too large]"
    "#]],
    );
    // More than is read.
    let res = call(sh(&list("13000000"))).await;
    let (text, file) = res.output.split_once("DIR/").expect("a file");
    expect![[r#"
        [stdout is no list of blocks: it is too long to be kept whole]
        [… 17000113 bytes omitted, the whole is in "#]]
    .assert_eq(text);
    assert!(file.ends_with(" …]"), "{file}");
    // The bound that the tool sets itself.
    let mut bounded = sh(&list("400000"));
    bounded.limits = Limits::new().output_bytes(1_000_000);
    check(
        &call(bounded).await,
        expect![[r#"
        output limit reached: "plugin tool \"p:t\" reached its limit of output\nstderr: "
    "#]],
    );
}

#[tokio::test]
async fn base64_is_not_shown_while_it_comes() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&shown);
    let ctx = CallContext::new().with_all_output(move |it: OutputChunk<'_>| {
        sink.lock().expect("held").extend_from_slice(it.bytes)
    });
    let mut def = sh(&format!(r#"echo drawing >&2; echo '{{"content": [{IMAGE}]}}'"#));
    for stream in [false, true] {
        def.stream = stream;
        let dir = tempfile::tempdir().expect("a directory");
        let res = tool(&dir, def.clone()).execute(&ctx, Input::empty()).await.expect("tried");
        assert_eq!(res.output, "[image, image/png, 3 bytes]");
        let shown = std::mem::take(&mut *shown.lock().expect("held"));
        assert_eq!(String::from_utf8_lossy(&shown), "drawing\n", "{stream}");
    }
}
