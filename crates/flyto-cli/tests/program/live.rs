//! Calls while they run: streaming, signals, readers that go or do not read, the status line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::place::{Flyto, Place, Ran};

/// Tells two process ids, its own and that of a child, and then waits for ever.
const HANGS: &str = "sleep 1000 & echo $$ $!; wait";

const STREAM: &str = r#""stream": true"#;

/// Long enough for any machine; a test that comes to it fails.
const GUARD: Duration = Duration::from_secs(60);

pub(crate) fn interrupt(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Reads the line of [`HANGS`].
fn pids(reader: &mut impl std::io::BufRead) -> Vec<Pid> {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.split_whitespace().map(|it| Pid::from_raw(it.parse().unwrap()).unwrap()).collect()
}

/// Whether a process is there and no mere entry that waits for its parent.
pub(crate) fn is_alive(pid: Pid) -> bool {
    if rustix::process::test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let state = stat.ok().and_then(|it| it.rsplit(')').next()?.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X'))
}

#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < GUARD, "never: {what}");
        std::thread::yield_now();
    }
}

/// Sends a signal to a call that hangs, and checks how it ends.
#[track_caller]
fn check_signal(signal: Signal, code: i32) {
    let place = Place::with_tools(&[("hangs", HANGS, STREAM)]);
    let mut child = place.call(&["p:hangs"]).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    assert_eq!(pids.len(), 2);
    interrupt(&child, signal);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!pids.into_iter().any(is_alive), "the tool has outlived the call");
}

#[test]
fn ctrl_c_ends_the_tool_and_what_it_started() {
    check_signal(Signal::INT, 130);
}

#[test]
fn other_ways_to_ask_for_an_end_work_as_well() {
    check_signal(Signal::TERM, 143);
    check_signal(Signal::HUP, 129);
    check_signal(Signal::USR1, 128 + Signal::USR1.as_raw());
    check_signal(Signal::USR2, 128 + Signal::USR2.as_raw());
    check_signal(Signal::ALARM, 142);
    check_signal(Signal::XCPU, 128 + Signal::XCPU.as_raw());
}

#[test]
fn ctrl_backslash_does_not_wait_for_the_grace() {
    let script = "trap '' TERM; sleep 1000 & echo $$ $!; wait";
    let place =
        Place::with_tools(&[("stubborn", script, r#""stream": true, "grace_seconds": 50"#)]);
    let mut child = place.call(&["p:stubborn"]).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    assert_eq!(pids.len(), 2);
    interrupt(&child, Signal::QUIT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(131));
    // A call that comes to the end of its grace says that it was cancelled.
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    wait_until("the tool is gone", || !pids.iter().any(|it| is_alive(*it)));
}

/// A place with a plugin `s` whose tool `t` is a session of this script.
fn with_session(script: &str) -> Place {
    let place = Place::new();
    let path = place.write("plugins/s/run", script);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place.write(
        "plugins/s/plugin.json",
        r#"{"name": "s", "execution": "binary",
            "binary": {"path": "run", "protocol": "jsonrpc", "lifetime": "session"},
            "tools": [{"name": "t", "description": "d"}]}"#,
    );
    place
}

#[test]
fn the_process_of_a_session_ends_with_the_program() {
    let script = "#!/bin/sh
        while read -r line; do
            id=${line#*'\"id\":'}
            echo '{\"jsonrpc\":\"2.0\",\"id\":'\"${id%%,*}\"',\"result\":{\"output\":\"'$$'\"}}'
        done
        : >ended\n";
    let place = with_session(script);
    let ran = place.call(&["s:t"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let pid = Pid::from_raw(ran.stdout().trim().parse().unwrap()).unwrap();
    assert!(!is_alive(pid));
    assert!(place.exists("ended"), "it saw the end of its input");
}

/// Says that it is asked, and later that its input has ended. Then it stays.
const STAYING: &str = "#!/bin/sh
    read -r line
    echo $$ >new
    mv new pid
    echo '{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"id\":1,\"progress\":0.5}}'
    while read -r line; do :; done
    : >ended
    while :; do sleep 60; done\n";

/// Checks that the session of this script is gone without having seen the end of its input, for which
/// it would have got 2 s.
#[track_caller]
fn check_killed_at_once(place: &Place) {
    // On a busy machine a limit may be over before the shell has begun.
    if let Ok(pid) = std::fs::read_to_string(place.path().join("pid")) {
        assert!(!is_alive(Pid::from_raw(pid.trim().parse().unwrap()).unwrap()));
    }
    assert!(!place.exists("ended"), "it was given time to end");
}

#[test]
fn a_session_whose_call_timed_out_gets_no_more_time() {
    let place = with_session(STAYING);
    let ran = place.call(&["s:t", "--timeout", "1"]).run();
    assert_eq!(ran.code, Some(6), "{}", ran.shown());
    check_killed_at_once(&place);
}

#[test]
fn a_session_whose_call_is_interrupted_gets_no_more_time() {
    let place = with_session(STAYING);
    let mut child = place.call(&["s:t"]).start();
    wait_until("it is asked", || place.exists("pid"));
    interrupt(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    check_killed_at_once(&place);
}

#[test]
fn a_session_that_dies_is_told_with_its_last_words() {
    let script = "#!/bin/sh
        read -r line
        echo '{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"id\":1,\"progress\":0.5}}'
        echo 'out of luck' >&2
        kill -9 $$\n";
    let place = with_session(script);
    place.call(&["s:t"]).check(expect![[r#"
        exit code 1
        -- stdout
        plugin tool "s:t": the session ended: killed by signal 9, SIGKILL
        stderr: out of luck
    "#]]);
}

#[test]
fn a_file_that_grows_too_large_does_not_kill_the_program() {
    let place = Place::with_tools(&[("hangs", HANGS, STREAM)]);
    let mut child = place.call(&["p:hangs"]).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    interrupt(&child, Signal::XFSZ);
    interrupt(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!pids.into_iter().any(is_alive), "the tool has outlived the call");
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let script = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two";
    let place = Place::with_tools(&[("streams", script, STREAM)]);
    let mut child = place.call(&["p:streams"]).started_by(r#"trap "" HUP; exec "$@""#).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    stdout.read_line(&mut shown).unwrap();
    interrupt(&child, Signal::HUP);
    place.write("plugins/p/go", "");
    stdout.read_to_string(&mut shown).unwrap();
    assert_eq!(shown, "one\ntwo\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interrupted_call_shows_what_there_is() {
    let place = Place::with_tools(&[("t", "touch ran; sleep 1000", "")]);
    let child = place.call(&["p:t"]).start();
    wait_until("the tool runs", || place.exists("plugins/p/ran"));
    interrupt(&child, Signal::INT);
    let ran = Ran::new(child.wait_with_output().unwrap(), &place);
    assert_eq!(ran.code, Some(130));
    assert!(ran.stdout().starts_with("plugin tool \"p:t\" cancelled after "), "{}", ran.stdout());
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_grace() {
    let script = "trap ': >asked' TERM; echo $$; while :; do sleep 1; done";
    let place =
        Place::with_tools(&[("stubborn", script, r#""stream": true, "grace_seconds": 50"#)]);
    let mut child = place.call(&["p:stubborn"]).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    interrupt(&child, Signal::INT);
    wait_until("the tool is asked to end", || place.exists("plugins/p/asked"));
    interrupt(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    // A call that comes to the end of its grace says that it was cancelled.
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    wait_until("the tool is gone", || !pids.iter().any(|it| is_alive(*it)));
}

#[test]
fn lines_are_shown_as_they_come_and_once() {
    let script = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; echo beside >&2";
    let place = Place::with_tools(&[("streams", script, STREAM)]);
    let mut child = place.call(&["p:streams"]).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    stdout.read_line(&mut shown).unwrap();
    assert_eq!(shown, "one\n");
    place.write("plugins/p/go", "");
    stdout.read_to_string(&mut shown).unwrap();
    assert_eq!(shown, "one\ntwo\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "beside\n");
}

#[test]
fn a_stream_that_fails_has_its_text_on_stdout() {
    let script = "echo one; echo '::progress 0.5 half' >&2; echo why >&2; exit 3";
    let place = Place::with_tools(&[("streams", script, STREAM)]);
    place.call(&["p:streams"]).check(expect![[r#"
        exit code 1
        -- stdout
        one
        exit code 3
        stdout: one

        stderr: why
        -- stderr
        why
    "#]]);
    let json = place.call(&["p:streams", "--format", "json"]).run();
    assert_eq!(json.json()["exit_code"], 1);
    assert_eq!(json.stderr(), "");
}

#[test]
fn a_reader_that_has_enough_ends_the_call() {
    let script = "echo $$; while [ ! -e gone ]; do sleep 0.05; done; while :; do echo more; done";
    let place = Place::with_tools(&[("endless", script, STREAM)]);
    let mut child = place.call(&["p:endless"]).start();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    drop(stdout);
    place.write("plugins/p/gone", "");
    let ran = Ran::new(child.wait_with_output().unwrap(), &place);
    assert_eq!((ran.code, ran.stderr()), (Some(0), String::new()));
    assert!(!pids.into_iter().any(is_alive));
}

#[test]
fn a_reader_that_does_not_read_does_not_stop_the_clock() {
    let script = "echo $$; while :; do echo 'more and more and more'; done";
    let place =
        Place::with_tools(&[("endless", script, r#""stream": true, "timeout_seconds": 1"#)]);
    let mut child = place.call(&["p:endless"]).start();
    let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    wait_until("the deadline ends the tool", || !pids.iter().any(|it| is_alive(*it)));
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("were not read until the call ended"), "{stderr}");
}

#[test]
fn a_reader_that_does_not_read_does_not_keep_ctrl_c_away() {
    let script = "echo $$; while :; do echo 'more and more and more'; done";
    let place = Place::with_tools(&[("endless", script, STREAM)]);
    let mut child = place.call(&["p:endless"]).start();
    let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
    let pids = pids(&mut stdout);
    interrupt(&child, Signal::INT);
    wait_until("the tool is gone", || !pids.iter().any(|it| is_alive(*it)));
    // The program still waits for its reader, and can be told not to.
    interrupt(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// A terminal: what is read from the first is what the program wrote to the second.
pub(crate) fn terminal(columns: u16) -> (File, OwnedFd) {
    let controller =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let user =
        rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
    let user = user.unwrap();
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&user, size).unwrap();
    (controller.into(), user)
}

/// Starts a program at a terminal, where `typed` was typed before, answers each question once it is there, and gives the
/// exit code and what was shown.
pub(crate) fn answered(
    flyto: Flyto<'_>,
    columns: u16,
    typed: &str,
    dialogue: &[(&str, &str)],
) -> (Option<i32>, String) {
    let (mut controller, user) = terminal(columns);
    controller.write_all(typed.as_bytes()).unwrap();
    let (input, output) = (user.try_clone().unwrap(), user.try_clone().unwrap());
    let mut flyto = flyto.command(|it| _ = it.stdin(input).stdout(output).stderr(user)).start();
    let mut seen = String::new();
    for (question, answer) in dialogue {
        seen += &read_until(&mut controller, question);
        controller.write_all(answer.as_bytes()).unwrap();
    }
    let status = flyto.wait().unwrap();
    // A terminal whose last user is gone ends with an error on Linux.
    let mut rest = Vec::new();
    let _ = controller.read_to_end(&mut rest);
    seen.push_str(&String::from_utf8_lossy(&rest));
    (status.code(), seen.replace('\r', ""))
}

/// Reads from a terminal until `text` is there, and gives everything so far.
pub(crate) fn read_until(terminal: &mut File, text: &str) -> String {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains(text) {
        let mut readable = [PollFd::new(&*terminal, PollFlags::IN)];
        let ready = poll(&mut readable, Some(&GUARD.try_into().unwrap())).unwrap();
        assert!(ready > 0, "never {text:?}: {:?}", String::from_utf8_lossy(&seen));
        let n = terminal.read(&mut buffer).unwrap();
        assert!(n > 0, "{text:?} is not in {:?}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..n]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn a_long_call_has_a_status_line_on_a_terminal() {
    let script =
        "echo '::progress 0.4 reading' >&2; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let place = Place::with_tools(&[("slow", script, STREAM)]);
    let (mut controller, user) = terminal(80);
    let mut child = place
        .call(&["p:slow"])
        .command(|it| {
            it.stderr(Stdio::from(user));
        })
        .start();
    let seen = read_until(&mut controller, "40% reading");
    assert!(seen.contains(" p:slow 0s"), "{seen:?}");
    place.write("plugins/p/go", "");
    // The line is taken away before the output comes.
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout, "done\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut rest = Vec::new();
    // A terminal whose last user is gone ends with an error on Linux.
    let _ = controller.read_to_end(&mut rest);
    let all = seen + &String::from_utf8_lossy(&rest);
    assert!(all.ends_with("\r\u{1b}[2K"), "{all:?}");
}

#[test]
fn a_quiet_call_has_no_status_line() {
    let place = Place::with_tools(&[("slow", "sleep 0.8; echo done", "")]);
    let (mut controller, user) = terminal(80);
    let child = place
        .call(&["p:slow", "-q"])
        .command(|it| {
            it.stderr(Stdio::from(user));
        })
        .start();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"done\n");
    let mut seen = Vec::new();
    let _ = controller.read_to_end(&mut seen);
    assert_eq!(seen, b"");
}

#[test]
fn a_terminal_has_colours_and_a_width() {
    let place = Place::with_tools(&[("t", "true", r#""title": "A title""#)]);
    let list = |env: &[(&str, &str)]| {
        let (mut controller, user) = terminal(30);
        let mut flyto = place.flyto(&["--plugins", "plugins", "list"]).command(|it| {
            it.stdout(Stdio::from(user));
        });
        for (name, value) in env {
            flyto = flyto.env(name, value);
        }
        // The command holds the terminal open until it is dropped.
        let status = flyto.start().wait().unwrap();
        assert_eq!(status.code(), Some(0));
        let mut seen = Vec::new();
        let _ = controller.read_to_end(&mut seen);
        String::from_utf8(seen).unwrap().replace("\r\n", "\n")
    };
    assert!(list(&[]).contains('\u{1b}'));
    assert!(!list(&[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!list(&[("TERM", "dumb")]).contains('\u{1b}'));
    expect![[r#"
        NAME  CLASS  TRAITS  DESCRIPTION
        p:t   bash   -       The tool t.
    "#]]
    .assert_eq(&list(&[("NO_COLOR", "1")]));
}

#[test]
fn nothing_is_left_of_a_tool_that_kills_its_supervisor() {
    const KILLS: &str = "[ \"$(cat /proc/$PPID/comm)\" = flyto ] && exit 9
        setsid sleep 1000 & sleep 1000 & kill -9 $PPID; sleep 1000";
    let place = Place::with_tools(&[("kills", KILLS, "")]);
    let ran = place.call(&["p:kills"]).run();
    if ran.stdout().starts_with("exit code 9") {
        // There is no supervisor here, and the parent of a program is flyto itself.
        return;
    }
    expect![[r#"
        exit code 1
        -- stdout
        plugin tool "p:kills" lost: failed to watch "sh": its supervisor was killed, by the program itself or from outside; what the program did until then is unknown⏎
    "#]].assert_eq(&ran.shown());
    // Each has the plugin's directory in its environment.
    let sleeps = |pid: i32| {
        let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let root = place.path().as_os_str().as_encoded_bytes();
        env.windows(root.len()).any(|it| it == root)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    assert_eq!(numbers.filter(|it| sleeps(*it)).collect::<Vec<_>>(), [0_i32; 0]);
}
