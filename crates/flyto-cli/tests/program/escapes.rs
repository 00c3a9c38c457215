//! What tools leave running is gone after their call, also where it left the call's process group.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::live::{is_alive, wait_until};
use crate::place::{Place, Ran};

/// Leaves a daemon: in a session of its own, its parent gone, none of the call's streams open. It has
/// written its process id to `daemon`, in one piece, when this goes on, and starts nothing else.
const DAEMON: &str =
    "(setsid sh -c 'echo $$ >daemon; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
    while ! [ -s daemon ]; do :; done
";

/// The daemon that a tool has left, whose working directory this is.
fn daemon(place: &Place, dir: &str) -> Pid {
    let text = std::fs::read_to_string(place.path().join(dir).join("daemon")).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

#[track_caller]
fn check_gone(place: &Place, dir: &str, ran: &Ran, code: i32) {
    assert_eq!(ran.code, Some(code), "{}", ran.shown());
    assert!(!is_alive(daemon(place, dir)), "it outlives its call");
}

#[test]
fn a_daemon_of_a_plugin_ends_with_its_call() {
    let place = Place::with_tools(&[("t", &format!("{DAEMON}echo done"), "")]);
    let ran = place.call(&["p:t", "--verbose"]).run();
    check_gone(&place, "plugins/p", &ran, 0);
    assert_eq!(ran.stdout(), "done\n");
    assert!(ran.stderr().contains("left behind  1 process, ended"), "{}", ran.stderr());
}

#[test]
fn a_daemon_ends_at_the_deadline() {
    let place = Place::with_tools(&[("t", &format!("{DAEMON}exec sleep 1000"), "")]);
    let mut words = vec!["p:t", "--timeout", "1"];
    let mut ran = place.call(&words).run();
    // On a busy machine the deadline may pass before the daemon is there.
    while !place.exists("plugins/p/daemon") {
        words[2] = "10";
        ran = place.call(&words).run();
    }
    check_gone(&place, "plugins/p", &ran, 6);
}

#[test]
fn a_daemon_of_an_exec_tool_ends_with_its_call() {
    let place = Place::new();
    place.write("t.sh", &format!("{DAEMON}echo done"));
    place.write(
        "tools.json",
        r#"{"name": "t", "description": "x", "exec": ["sh", "t.sh"], "timeout_seconds": 60}"#,
    );
    let ran = place.flyto(&["--exec-tools", "tools.json", "call", "t"]).run();
    check_gone(&place, ".", &ran, 0);
}

#[test]
fn a_daemon_of_a_session_ends_with_the_program() {
    let place = Place::new();
    let script = format!(
        "#!/bin/sh
{DAEMON}
        while read -r line; do
            id=${{line#*'\"id\":'}}
            echo '{{\"jsonrpc\":\"2.0\",\"id\":'\"${{id%%,*}}\"',\"result\":{{\"output\":\"hi\"}}}}'
        done\n"
    );
    let file = place.write("plugins/s/run.sh", &script);
    std::fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
    place.write(
        "plugins/s/plugin.json",
        r#"{"name": "s", "description": "x", "execution": "binary",
            "binary": {"path": "run.sh", "lifetime": "session"},
            "tools": [{"name": "t", "description": "d"}]}"#,
    );
    let ran = place.call(&["s:t"]).run();
    check_gone(&place, ".", &ran, 0);
}

#[test]
fn nothing_is_left_where_the_program_is_killed() {
    let place = Place::with_tools(&[("t", &format!("{DAEMON}exec sleep 1000"), "")]);
    // These have no reader: what is left would hold them open.
    let child = place.call(&["p:t"]).command(|it| {
        it.stdout(Stdio::null()).stderr(Stdio::null());
    });
    let mut child = child.start();
    wait_until("the daemon is there", || place.exists("plugins/p/daemon"));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
    let daemon = daemon(&place, "plugins/p");
    wait_until("the daemon is gone", || !is_alive(daemon));
}
