//! Processes that stay between calls, and what a host does about them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::Arc,
    time::{Duration, Instant},
};

use expect_test::expect;
use flyto_host::{CallError, Host};
use flyto_tools::Failure;

use crate::world::{World, call, shown};

/// Long enough for any machine; a test that comes to it fails.
const GUARD: Duration = Duration::from_secs(60);

/// Answers each call with its process id, and once there is a file `slow`, not before it is gone.
const SCRIPT: &str = r#"#!/bin/sh
while read -r line; do
    case $line in *'"execute"'*) ;; *) continue ;; esac
    id=${line#*'"id":'}
    while [ -e "$PLUGIN_ROOT/slow" ]; do : >"$PLUGIN_ROOT/asked"; sleep 0.01; done
    echo '{"jsonrpc":"2.0","id":'"${id%%,*}"',"result":{"output":"'$$'"}}'
done
"#;

/// Answers `a` with its process id, and `b` never; but for that it dies when there is a file `doom`.
const MORTAL: &str = r#"#!/bin/sh
while read -r line; do
    id=${line#*'"id":'}
    case $line in
        *'"tool":"a"'*) echo '{"jsonrpc":"2.0","id":'"${id%%,*}"',"result":{"output":"'$$'"}}' ;;
        *'"tool":"b"'*)
            : >"$PLUGIN_ROOT/asked"
            if [ -e "$PLUGIN_ROOT/doom" ]; then echo "out of luck" >&2; exit 3; fi ;;
    esac
done
"#;

/// A world with a plugin `s` of two tools that share a process.
fn world() -> World {
    world_of(SCRIPT)
}

fn world_of(script: &str) -> World {
    let world = World::new();
    let path = world.write("plugins/s/run", script);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    describe(&world, "Tells its process.");
    world
}

fn describe(world: &World, description: &str) {
    let tool = |name: &str, text: &str| serde_json::json!({"name": name, "description": text});
    let manifest = serde_json::json!({
        "name": "s",
        "execution": "binary",
        "binary": {"path": "run", "protocol": "jsonrpc", "lifetime": "session"},
        "tools": [tool("a", description), tool("b", "The same.")],
    });
    world.write("plugins/s/plugin.json", &manifest.to_string());
}

async fn pid(host: &Host, tool: &str) -> String {
    let result = call(host, tool, "{}").await.expect("a result");
    assert_eq!(result.failure, None, "{}", result.output);
    result.output
}

/// Whether a process is there and no mere entry that waits for its parent.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    let state = stat.ok().and_then(|it| it.rsplit(')').next()?.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < GUARD, "never: {what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn closing_leaves_no_process() {
    let world = world();
    let host = world.host();
    let first = pid(&host, "s:a").await;
    assert_eq!(pid(&host, "s:b").await, first, "the tools share one process");
    assert!(is_alive(&first));
    host.close().await;
    assert!(!is_alive(&first));
    let refused = call(&host, "s:a", "{}").await.expect_err("it is not started again");
    assert!(matches!(refused, CallError::Tool(_)), "{refused}");
}

#[tokio::test]
async fn a_session_that_changes_goes_on_with_another_process() {
    let world = world();
    let host = Arc::new(world.host());
    let first = pid(&host, "s:a").await;
    assert!(host.reload().is_empty());
    assert_eq!(pid(&host, "s:b").await, first, "nothing has changed");

    world.write("plugins/s/slow", "");
    let running = {
        let host = Arc::clone(&host);
        tokio::spawn(async move { pid(&host, "s:a").await })
    };
    until("the call is made", || world.path("plugins/s/asked").exists()).await;
    describe(&world, "Tells another one.");
    // As the thread that watches does it, which has no runtime.
    let changes = {
        let host = Arc::clone(&host);
        std::thread::spawn(move || host.reload()).join().expect("no panic")
    };
    expect![[r#"
        changed s ~s:a ~s:b
    "#]]
    .assert_eq(&shown(&changes));
    assert!(is_alive(&first), "it has a call to answer");
    fs::remove_file(world.path("plugins/s/slow")).expect("removed");
    let second = pid(&host, "s:b").await;
    assert_ne!(second, first);
    assert_eq!(running.await.expect("no panic"), first);
    until("the first process is gone", || !is_alive(&first)).await;
    assert_eq!(pid(&host, "s:a").await, second);
    host.close().await;
    assert!(!is_alive(&second));
}

#[tokio::test]
async fn calls_in_flight_learn_of_the_death_and_the_next_one_starts_anew() {
    let world = world_of(MORTAL);
    let host = Arc::new(world.host());
    let first = pid(&host, "s:a").await;
    let in_flight = {
        let host = Arc::clone(&host);
        tokio::spawn(async move { call(&host, "s:b", "{}").await })
    };
    until("the call is made", || world.path("plugins/s/asked").exists()).await;
    world.write("plugins/s/doom", "");
    let deadly = call(&host, "s:b", "{}").await.expect("a result");
    let in_flight = in_flight.await.expect("no panic").expect("a result");
    for result in [in_flight, deadly] {
        assert_eq!(result.failure, Some(Failure::exit_code(3)));
        expect![[r#"
            plugin tool "s:b": the session ended: exit code 3
            stderr: out of luck
        "#]]
        .assert_eq(&result.output);
    }
    assert!(!is_alive(&first));
    let second = pid(&host, "s:a").await;
    assert_ne!(second, first);
    host.close().await;
    assert!(!is_alive(&second));
}
