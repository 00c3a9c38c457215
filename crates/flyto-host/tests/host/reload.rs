//! Looking at the sources again.

use std::{fs, future::Future as _, path::Path, pin::pin, sync::Arc, task::Poll};

use expect_test::{Expect, expect};
use flyto_host::Host;
use flyto_tools::{CallContext, Input, NativeTool, NoInput};

use crate::world::{World, call, manifest, manifest_of, shown};

#[track_caller]
fn check(host: &Host, expect: Expect) {
    let changes = host.reload();
    expect.assert_eq(&shown(&changes));
    assert_eq!(changes.is_empty(), shown(&changes).is_empty());
}

#[test]
fn plugins_come_change_and_go() {
    let world = World::new().plugin("a", "true").plugin("b", "true");
    let host = world.host();
    check(&host, expect![""]);
    world.write("plugins/a/plugin.json", &manifest_of("a", &["one", "two"]));
    world.add_plugin("c", "true");
    fs::remove_dir_all(world.path("plugins/b")).expect("removed");
    check(
        &host,
        expect![[r#"
        removed b -b:run
        changed a +a:one +a:two -a:run
        added c +c:run
    "#]],
    );
    // Known by its name, not by its directory.
    fs::rename(world.path("plugins/c"), world.path("plugins/d")).expect("renamed");
    check(
        &host,
        expect![[r#"
        changed c ~c:run
    "#]],
    );
    world.write("plugins/d/plugin.json", &manifest("e", "true"));
    check(
        &host,
        expect![[r#"
        removed c -c:run
        added e +e:run
    "#]],
    );
    assert!(host.find("e:run").is_ok() && host.find("c:run").is_err());
}

#[test]
fn a_broken_edit_keeps_the_last_good_version() {
    let world = World::new().plugin("p", "true");
    let host = world.host();
    let before = host.find("p:run").expect("loaded");
    world.write("plugins/p/plugin.json", "{");
    check(
        &host,
        expect![[r#"
            kept p F0012 F0138
        "#]],
    );
    check(&host, expect![""]);
    assert_eq!(host.report().plugin("p").expect("found").state.name(), "kept");
    let kept = host.find("p:run").expect("kept");
    assert!(Arc::ptr_eq(before.tool(), kept.tool()));
    world.add_plugin("p", "true");
    check(
        &host,
        expect![[r#"
        changed p
    "#]],
    );
    let mended = host.find("p:run").expect("mended");
    assert!(Arc::ptr_eq(before.tool(), mended.tool()), "nothing has changed in the end");
    assert_eq!(host.report().findings().count(), 0);
}

#[test]
fn a_plugin_that_never_was_in_order_is_refused() {
    let world = World::new();
    let host = world.host();
    world.write("plugins/p/plugin.json", "{");
    check(
        &host,
        expect![[r#"
            refused p F0012
        "#]],
    );
    world.add_plugin("p", "true");
    check(
        &host,
        expect![[r#"
        added p +p:run
    "#]],
    );
}

#[test]
fn tools_that_are_declared_as_before_stay_the_same() {
    let world = World::new();
    let path = "plugins/p/plugin.json";
    world.write(path, &manifest_of("p", &["one", "two"]));
    let host = world.host();
    let one = host.find("p:one").expect("loaded");
    let text = manifest_of("p", &["one", "two"]);
    world.write(path, &text.replacen("nothing", "less", 2).replacen("less", "nothing", 1));
    check(
        &host,
        expect![[r#"
        changed p ~p:two
    "#]],
    );
    assert!(Arc::ptr_eq(one.tool(), host.find("p:one").expect("still there").tool()));
}

#[tokio::test]
async fn a_call_that_runs_finishes_on_its_version() {
    let script = "echo old; : >started; while [ ! -e go ]; do sleep 0.01; done";
    let world = World::new().plugin("p", script);
    let host = world.host();
    let entry = host.find("p:run").expect("loaded");
    let ctx = CallContext::new();
    let mut running = pin!(entry.tool().execute(&ctx, Input::empty()));
    let mut early = None;
    std::future::poll_fn(|cx| {
        if let Poll::Ready(res) = running.as_mut().poll(cx) {
            early = Some(res);
        }
        // Looked at again and again, as the file is no event of the runtime.
        cx.waker().wake_by_ref();
        if world.path("plugins/p/started").exists() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    assert!(early.is_none(), "{early:?}");

    world.add_plugin("p", "echo new");
    check(
        &host,
        expect![[r#"
        changed p ~p:run
    "#]],
    );
    assert_eq!(call(&host, "p:run", "{}").await.expect("a result").output, "new\n");
    world.write("plugins/p/go", "");
    assert_eq!(running.await.expect("a result").output, "old\n");
}

fn definition(name: &str, text: &str) -> String {
    format!(r#"{{"name": "{name}", "description": "x", "exec": ["echo", "{text}"]}}"#)
}

#[tokio::test]
async fn definition_files_are_looked_at_again() {
    let mut world = World::new();
    let both = format!("[{}, {}]", definition("one", "1"), definition("two", "2"));
    let file = world.write("tools.json", &both);
    world.config.exec_tools = vec![file.clone(), world.path("later.json")];
    let host = world.host();
    let two = host.find("two").expect("loaded");
    check(&host, expect![""]);

    world.write("tools.json", &both.replace("\"1\"", "\"one\""));
    world.write("later.json", &definition("late", "x"));
    check(
        &host,
        expect![[r#"
        changed tools.json ~one
        added later.json +late
    "#]],
    );
    assert_eq!(call(&host, "one", "{}").await.expect("a result").output, "one\n");
    assert!(Arc::ptr_eq(two.tool(), host.find("two").expect("still there").tool()));

    world.write("tools.json", "[{}]");
    check(
        &host,
        expect![[r#"
            kept tools.json F0022 F0207 F0022 F0307
        "#]],
    );
    check(&host, expect![""]);
    let kept = host.report().exec_files[0].clone();
    assert_eq!((kept.state.name(), kept.tools.map(|it| it.len())), ("kept", Some(2)));
    assert!(host.find("one").is_ok());

    fs::remove_file(&file).expect("removed");
    check(
        &host,
        expect![[r#"
            removed tools.json -one -two F0001
        "#]],
    );
    assert!(host.find("one").is_err());
    world.write("tools.json", &definition("one", "1"));
    check(
        &host,
        expect![[r#"
        added tools.json +one
    "#]],
    );
}

#[test]
fn a_taken_name_is_free_when_its_owner_goes() {
    let mut world = World::new();
    let first = world.write("first.json", &definition("echo", "1"));
    let second = world.write("second.json", &definition("echo", "2"));
    world.config.exec_tools = vec![first.clone(), second.clone()];
    let host = world.host();
    let owner = |host: &Host| {
        let owner = host.find("echo").expect("one of the two").owner().to_string();
        Path::new(&owner).file_name().map(ToOwned::to_owned).expect("a file")
    };
    assert_eq!(owner(&host), "first.json");
    assert_eq!(host.report().names.iter().count(), 1);

    world.write("first.json", "[]");
    check(
        &host,
        expect![[r#"
        changed first.json -echo
        changed second.json +echo
    "#]],
    );
    assert_eq!(owner(&host), "second.json");
    assert_eq!(host.report().names.iter().count(), 0);

    // The source that has the name keeps it.
    world.write("first.json", &definition("echo", "1"));
    let changes = host.reload();
    assert_eq!(changes.sources.len(), 0);
    assert_eq!(changes.findings.iter().count(), 1);
    assert_eq!(owner(&host), "second.json");

    // Both at once.
    world.write("second.json", &definition("other", "1"));
    check(
        &host,
        expect![[r#"
        changed first.json +echo
        changed second.json +other -echo
    "#]],
    );
}

#[test]
fn a_tool_of_the_host_keeps_its_name() {
    let mut world = World::new();
    world.config.exec_tools = vec![world.path("tools.json")];
    let host = world.host();
    let hello = NativeTool::builder("hello", "Says hello.")
        .run(|_ctx, _: NoInput| async { "hello" })
        .expect("a tool");
    host.add_tool("host", hello).expect("the name is free");
    world.write("tools.json", &definition("hello", "no"));
    check(
        &host,
        expect![[r#"
            added tools.json
            finding F0304
        "#]],
    );
    assert_eq!(host.find("hello").expect("there").owner().as_str(), "host");
}
