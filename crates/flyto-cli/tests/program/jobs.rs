//! Calls in the background: a process of their own keeps them, and none of them outlives it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use rustix::process::{Pid, Signal, getsid, kill_process};
use serde_json::Value;

use crate::live::{is_alive, wait_until};
use crate::place::{Flyto, Place, Ran};

/// Says that it has begun, and goes on when a line comes through the FIFO `gate`.
const GATED: &str = "echo one; echo beside >&2; [ -p gate ] || mkfifo gate; read -r line <gate
    echo two";

/// Tells the process id of a daemon that it leaves in a session of its own, and its own; then it stays.
const STAYS: &str = "(setsid sh -c 'echo $$ >daemon; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
    while ! [ -s daemon ]; do :; done
    echo $$ >new; mv new tool
    echo waits; while :; do sleep 1000; done";

/// A place whose tools are given; each may run for an hour.
fn with_tools(tools: &[(&str, &str)]) -> Place {
    let more = r#""stream": true, "timeout_seconds": 3600"#;
    let tools: Vec<_> = tools.iter().map(|(name, script)| (*name, *script, more)).collect();
    Place::with_tools(&tools)
}

fn jobs<'a>(place: &'a Place, words: &[&str]) -> Flyto<'a> {
    place.flyto(&[&["jobs"], words].concat())
}

/// Starts a job, and gives its id.
#[track_caller]
fn background(place: &Place, words: &[&str]) -> String {
    let ran = place.call(&[words, &["--background"]].concat()).run();
    assert_eq!((ran.code, ran.stderr()), (Some(0), String::new()), "{}", ran.shown());
    let id = ran.stdout();
    assert!(id.ends_with('\n') && id.trim().len() == 12, "{id}");
    id.trim().to_owned()
}

/// The document of `jobs status`.
#[track_caller]
fn status(place: &Place, id: &str) -> Value {
    let ran = jobs(place, &["status", id, "--format", "json"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    ran.json()
}

fn result(place: &Place, id: &str) -> Ran {
    jobs(place, &["result", id, "--wait"]).run()
}

/// Lets the tool of [`GATED`] go on.
fn open_gate(place: &Place) {
    wait_until("the tool waits", || place.exists("plugins/p/gate"));
    fs::write(place.path().join("plugins/p/gate"), "go\n").unwrap();
}

fn worker(place: &Place, id: &str) -> Pid {
    let pid = status(place, id)["worker_pid"].as_i64().unwrap();
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

/// The processes of [`STAYS`], once they are there and the job has what they print.
fn tree(place: &Place, id: &str) -> [Pid; 2] {
    wait_until("the tool is there", || place.exists("plugins/p/tool"));
    wait_until("its output is there", || {
        fs::read(dir(place).join(id).join("stdout")).is_ok_and(|it| it == b"waits\n")
    });
    ["tool", "daemon"].map(|it| {
        let text = fs::read_to_string(place.path().join("plugins/p").join(it)).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    })
}

fn dir(place: &Place) -> PathBuf {
    place.path().join("home/.local/state/flyto/jobs")
}

#[test]
fn a_call_in_the_background_is_there_at_once_and_later_its_result() {
    let place = with_tools(&[("t", GATED)]);
    // This reads both streams to their ends, as `| cat` does, while the tool waits.
    let id = background(&place, &["p:t", "a=b"]);
    let job = status(&place, &id);
    assert_eq!((&job["state"], &job["tool"]), (&"running".into(), &"p:t".into()));
    assert_eq!(job["input"], serde_json::json!({"a": "b"}));
    let ran = jobs(&place, &["result", &id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(75), String::new()), "{}", ran.shown());
    assert!(ran.stderr().contains(&format!("the job {id} still runs")), "{}", ran.stderr());
    let ran = jobs(&place, &["result", &id, "--format", "json"]).run();
    assert_eq!(ran.json_error()["error"]["exit_code"], 75);

    open_gate(&place);
    let ran = result(&place, &id);
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), "one\ntwo\n"), "{}", ran.shown());
    assert_eq!(ran.stderr(), "beside\n");
    let job = status(&place, &id);
    assert_eq!((&job["state"], &job["exit_code"]), (&"ended".into(), &0.into()));
    let list = jobs(&place, &["list"]).run().stdout();
    assert!(list.contains(&id) && list.contains("exit code 0"), "{list}");
    // It is there more than once.
    assert_eq!(result(&place, &id).stdout(), "one\ntwo\n");
}

#[test]
fn the_result_is_that_of_the_call() {
    let place =
        Place::with_tools(&[("fails", "echo half; echo why >&2; exit 3", ""), ("cat", "cat", "")]);
    for words in [&["p:fails"][..], &["p:cat", "a:=1.50"]] {
        let id = background(&place, words);
        let (ran, called) = (result(&place, &id), place.call(words).run());
        assert_eq!((ran.code, ran.stdout()), (called.code, called.stdout()));
        let json = ["result", &id, "--wait", "--format", "json"];
        let called = place.call(&[words, &["--format", "json"]].concat()).run();
        let ran = jobs(&place, &json).run();
        assert_eq!(ran.code, called.code);
        let without_measures = |ran: &Ran| {
            let mut it = ran.json();
            let execution = it["execution"].as_object_mut().unwrap();
            execution.retain(|key, _| !key.ends_with("_seconds") && key != "peak_memory_bytes");
            it
        };
        assert_eq!(without_measures(&ran), without_measures(&called));
    }
}

#[test]
fn the_id_is_a_document_for_programs() {
    let place = with_tools(&[("cat", "cat")]);
    let ran = place.call(&["p:cat", "--background", "--format", "json"]).run();
    let document = ran.json();
    assert_eq!((ran.code, &document["tool"]), (Some(0), &"p:cat".into()));
    let id = document["id"].as_str().unwrap();
    assert_eq!(result(&place, &id[..6]).stdout(), "{}");
    let list = jobs(&place, &["list", "--format", "json"]).run().json();
    assert_eq!((&list["jobs"][0]["id"], &list["unusable"]), (&id.into(), &Value::Array(vec![])));
}

#[test]
fn what_keeps_a_call_from_starting_is_told_before_there_is_a_job() {
    let place = Place::with_tools(&[
        ("typed", "cat", r#""input_schema": {"type": "object", "required": ["n"]}"#),
        ("asked", "cat", r#""requires_checkpoint": true"#),
    ]);
    place.write(
        "plugins/q/plugin.json",
        r#"{"name": "q", "tools": [{"name": "t", "description": "d", "command": "./nothing"}]}"#,
    );
    for (name, code) in [("p:typed", 3), ("p:asked", 5), ("q:t", 7), ("p:nothing", 4)] {
        let ran = place.call(&[name, "--background"]).run();
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
        let called = place.call(&[name]).run();
        assert_eq!(called.code, Some(code), "{}", called.shown());
    }
    let ran = place.call(&["p:typed", "--background"]).run();
    assert!(ran.stdout().starts_with("invalid input: "), "{}", ran.shown());
    assert!(!dir(&place).exists());
    assert_eq!(place.call(&["p:typed", "--background", "--dry-run"]).run().code, Some(2));
}

#[test]
fn the_output_is_followed_to_its_end() {
    let place = with_tools(&[("t", GATED)]);
    let id = background(&place, &["p:t"]);
    let mut follow = jobs(&place, &["output", &id, "--follow"]).start();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    let so_far = jobs(&place, &["output", &id]).run();
    assert_eq!((&*so_far.stdout(), &*so_far.stderr()), ("one\n", "beside\n"));
    open_gate(&place);
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    assert!(lines.next().is_none());
    assert_eq!(follow.wait().unwrap().code(), Some(0));

    let ran = jobs(&place, &["output", &id, "--follow", "--format", "json"]).run().stdout();
    let events: Vec<Value> = ran.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(events[0]["text"], "one\ntwo\n");
    assert_eq!((&events[1]["stream"], &events[1]["text"]), (&"stderr".into(), &"beside\n".into()));
    assert_eq!((&events[2]["event"], &events[2]["state"]), (&"end".into(), &"ended".into()));
    let whole = jobs(&place, &["output", &id, "--format", "json"]).run().json();
    assert_eq!((&whole["stdout"], &whole["dropped_bytes"]), (&"one\ntwo\n".into(), &0.into()));
}

#[test]
fn the_output_so_far_is_there_of_any_program() {
    let place = Place::with_tools(&[("t", GATED, r#""timeout_seconds": 3600"#)]);
    let id = background(&place, &["p:t"]);
    let mut follow = jobs(&place, &["output", &id, "--follow"]).start();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    open_gate(&place);
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    assert!(lines.next().is_none());
    assert_eq!(follow.wait().unwrap().code(), Some(0));
    let ran = result(&place, &id);
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), "one\ntwo\n"), "{}", ran.shown());
}

#[test]
fn what_the_rules_ask_about_runs_for_the_operator_and_what_they_deny_does_not() {
    let place = with_tools(&[("asked", "echo ran"), ("denied", "echo ran")]);
    place.write("config.json", r#"{"permissions": {"ask": ["p:asked"], "deny": ["p:denied"]}}"#);
    let id = background(&place, &["p:asked", "--config", "config.json"]);
    assert_eq!(result(&place, &id).stdout(), "ran\n");
    let ran = place.call(&["p:denied", "--background", "--config", "config.json"]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(5), String::new()), "{}", ran.shown());
    assert!(ran.stderr().contains("the rules deny it"), "{}", ran.stderr());
    assert!(ran.stderr().contains("the rule stands in "), "{}", ran.stderr());
    assert!(!ran.stderr().contains("terminal"), "{}", ran.stderr());
}

#[test]
fn cancelling_a_job_ends_its_whole_tree() {
    let place = with_tools(&[("t", STAYS)]);
    let id = background(&place, &["p:t"]);
    let (tree, worker) = (tree(&place, &id), worker(&place, &id));
    assert!(tree.into_iter().all(is_alive));
    let ran = jobs(&place, &["cancel", &id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(0), format!("{id} has ended: exit code 130\n")));
    assert!(!tree.into_iter().any(is_alive), "something outlives the job");
    wait_until("the worker is gone", || !is_alive(worker));
    let ran = result(&place, &id);
    assert_eq!(ran.code, Some(130), "{}", ran.shown());
    // Once more is no error.
    let ran = jobs(&place, &["cancel", &id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(0), String::new()), "{}", ran.shown());
    assert!(ran.stderr().contains("had ended before"), "{}", ran.stderr());
}

#[test]
fn the_tool_of_a_killed_worker_ends_and_the_job_is_lost() {
    let place = with_tools(&[("t", STAYS)]);
    let id = background(&place, &["p:t"]);
    let (tree, worker) = (tree(&place, &id), worker(&place, &id));
    let follow = jobs(&place, &["output", &id, "--follow"]).start();
    kill_process(worker, Signal::KILL).unwrap();
    wait_until("the tool is gone", || !tree.into_iter().any(is_alive));
    let ran = jobs(&place, &["status", &id]).run();
    assert_eq!(ran.code, Some(0));
    let lost = "state  lost: the worker ended without a result\n";
    assert!(ran.stdout().contains(lost), "{}", ran.stdout());
    let ran = result(&place, &id);
    assert_eq!((ran.code, ran.stdout()), (Some(1), String::new()), "{}", ran.shown());
    assert!(
        ran.stderr().contains("was lost: the worker ended without a result"),
        "{}",
        ran.shown()
    );
    let ran = Ran::new(follow.wait_with_output().unwrap(), &place);
    let told = format!("the job {id} was lost: the worker ended without a result");
    for ran in [ran, jobs(&place, &["output", &id]).run()] {
        assert_eq!((ran.code, &*ran.stdout()), (Some(0), "waits\n"));
        assert!(ran.stderr().contains(&told), "{}", ran.shown());
    }
    let ran = jobs(&place, &["cancel", &id]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stderr().contains("had ended before: lost"), "{}", ran.stderr());
}

#[test]
fn a_worker_that_is_asked_to_end_records_that() {
    let place = with_tools(&[("t", STAYS)]);
    let id = background(&place, &["p:t"]);
    let (tree, worker) = (tree(&place, &id), worker(&place, &id));
    kill_process(worker, Signal::TERM).unwrap();
    let ran = result(&place, &id);
    assert_eq!(ran.code, Some(143), "{}", ran.shown());
    assert!(!tree.into_iter().any(is_alive));
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_holds_nothing_of_its_caller() {
    use std::io::Write as _;

    let place = with_tools(&[("t", GATED)]);
    // Beside its streams, the caller has a file open and not marked.
    let ran = place.call(&["p:t", "--background", "--json", "-"]).stdin(b"{}").run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let id = ran.stdout().trim().to_owned();
    let ran = place
        .call(&["p:t", "--background"])
        .started_by("exec 7<plugins/p/plugin.json; exec \"$@\"")
        .run();
    let other = ran.stdout().trim().to_owned();
    for id in [&id, &other] {
        let worker = worker(&place, id);
        assert_eq!(getsid(Some(worker)).unwrap(), worker, "it leads a session of its own");
        let proc = PathBuf::from(format!("/proc/{}", worker.as_raw_nonzero()));
        assert_eq!(fs::read_link(proc.join("cwd")).unwrap(), PathBuf::from("/"));
        let job = dir(&place).join(id);
        let mut foreign = Vec::new();
        for fd in fs::read_dir(proc.join("fd")).unwrap() {
            let fd = fd.unwrap();
            let number: i32 = fd.file_name().to_str().unwrap().parse().unwrap();
            let Ok(path) = fs::read_link(fd.path()) else { continue };
            let is_own = path.starts_with(&job)
                // The log of calls.
                || path.components().any(|it| it.as_os_str() == "audit")
                || path.as_os_str() == "/dev/null"
                || !path.starts_with("/")
                    // Pipes to the tool are its own; those that it was given stood at 0 to 2.
                    && number > 2;
            if !is_own && path.starts_with(place.path()) {
                foreign.push((number, path));
            }
        }
        assert!(foreign.is_empty(), "{foreign:?}");
        let args = fs::read(proc.join("cmdline")).unwrap();
        assert!(args.starts_with(b"flyto\0"), "{args:?}");
    }
    // Two tools wait at one gate; each takes a line.
    wait_until("a tool waits", || place.exists("plugins/p/gate"));
    let both = || [&id, &other].iter().all(|it| status(&place, it)["state"] == "ended");
    while !both() {
        let gate = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        let gate =
            rustix::fs::open(place.path().join("plugins/p/gate"), gate, rustix::fs::Mode::empty());
        if let Ok(gate) = gate {
            let _ = fs::File::from(gate).write_all(b"go\n");
        }
    }
}

#[test]
fn ten_jobs_run_at_once() {
    let script = "mkdir -p here; touch here/$$
        while [ \"$(ls here | wc -l)\" -lt 10 ]; do sleep 0.05; done; cat";
    let place = with_tools(&[("t", script)]);
    let ids: Vec<_> = (0..10).map(|n| background(&place, &["p:t", &format!("n:={n}")])).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 10);
    for (n, id) in ids.iter().enumerate() {
        let ran = result(&place, id);
        assert_eq!(
            (ran.code, ran.stdout()),
            (Some(0), format!("{{\"n\":{n}}}")),
            "{}",
            ran.shown()
        );
    }
    let list = jobs(&place, &["list", "--format", "json"]).run().json();
    assert_eq!(list["jobs"].as_array().unwrap().len(), 10);
    let ran = jobs(&place, &["remove", "--ended", "--format", "json"]).run();
    assert_eq!(ran.json()["removed"].as_array().unwrap().len(), 10);
    assert_eq!(fs::read_dir(dir(&place)).unwrap().count(), 0);
}

#[test]
fn a_job_from_before_a_restart_of_the_machine_is_lost() {
    let place = with_tools(&[("t", STAYS)]);
    let id = background(&place, &["p:t"]);
    tree(&place, &id);
    let job = status(&place, &id);
    // The files are as they were while it ran, and no process holds the lock on them.
    let before = dir(&place).join("0123456789ab");
    fs::create_dir(&before).unwrap();
    for name in ["request.json", "input", "status.json", "stdout", "stderr", "lock"] {
        fs::copy(dir(&place).join(&id).join(name), before.join(name)).unwrap();
    }
    let copied = status(&place, "0123456789ab");
    assert_eq!((&copied["state"], &copied["worker_pid"]), (&"lost".into(), &job["worker_pid"]));
    assert_eq!(jobs(&place, &["output", "0123456789ab"]).run().stdout(), "waits\n");
    // A process that happens to have the number is left alone.
    let ran = jobs(&place, &["cancel", "0123456789ab"]).run();
    assert_eq!(ran.code, Some(3), "there is no FIFO: {}", ran.shown());
    assert_eq!(status(&place, &id)["state"], "running");
    assert_eq!(jobs(&place, &["remove", "0123456789ab"]).run().code, Some(0));
    let ran = jobs(&place, &["remove", &id]).run();
    assert_eq!(ran.code, Some(75), "{}", ran.shown());
    assert_eq!(jobs(&place, &["cancel", &id]).run().code, Some(0));
}

#[test]
fn a_result_without_room_on_the_disk_is_told() {
    let place = with_tools(&[("flood", "head -c 1000000 /dev/zero | tr '\\0' x")]);
    // The system refuses every file of more than 128 KiB (setrlimit(2)), as a full disk does.
    let ran =
        place.call(&["p:flood", "--background"]).started_by("ulimit -f 256; exec \"$@\"").run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let id = ran.stdout().trim().to_owned();
    let ran = result(&place, &id);
    assert_eq!((ran.code, ran.stdout()), (Some(74), String::new()), "{}", ran.shown());
    assert!(
        ran.stderr().contains("the result of the call could not be recorded"),
        "{}",
        ran.shown()
    );
    let job = status(&place, &id);
    assert_eq!((&job["state"], &job["exit_code"]), (&"ended".into(), &74.into()));
    assert!(job["dropped_bytes"].as_u64().unwrap() > 800_000, "{job}");
    // Where the request itself finds no room, there is no job.
    let large = "{ printf '{\"a\": \"'; head -c 200000 /dev/zero | tr '\\0' x; printf '\"}'; }";
    let ran = place
        .call(&["p:flood", "--background", "--json", "-"])
        .started_by(&format!("ulimit -f 256; {large} | \"$@\""))
        .run();
    assert_eq!((ran.code, ran.stdout()), (Some(7), String::new()), "{}", ran.shown());
    assert_eq!(jobs(&place, &["list", "--format", "json"]).run().json()["jobs"][0]["id"], id);
    assert_eq!(fs::read_dir(dir(&place)).unwrap().count(), 1);
}

#[test]
fn an_id_is_never_a_path() {
    let place = with_tools(&[("cat", "cat")]);
    result(&place, &background(&place, &["p:cat"]));
    fs::write(place.path().join("home/.local/state/flyto/x"), "not a job").unwrap();
    for verb in ["status", "output", "result", "cancel", "remove"] {
        for id in ["../x", "..", ".", "/etc/passwd", "", "g", "\u{1b}[2J", "../jobs"] {
            let ran = jobs(&place, &[verb, id]).run();
            assert_eq!(ran.code, Some(4), "{verb} {id}: {}", ran.shown());
            assert!(!ran.stderr().contains('\u{1b}'), "{}", ran.stderr());
        }
    }
    assert!(place.exists("home/.local/state/flyto/x"));
}

#[test]
fn progress_is_told_while_a_job_runs() {
    let place = with_tools(&[("t", &format!("echo '::progress 0.5 half' >&2\n{GATED}"))]);
    let id = background(&place, &["p:t"]);
    wait_until("it says how far it is", || status(&place, &id)["progress"]["progress"] == 0.5);
    let shown = jobs(&place, &["status", &id]).run().stdout();
    assert!(shown.contains("progress  50% half, "), "{shown}");
    assert!(jobs(&place, &["list"]).run().stdout().contains("50% half"));
    open_gate(&place);
    assert_eq!(result(&place, &id).stdout(), "one\ntwo\n");
}

#[test]
fn the_verb_of_workers_is_in_no_error() {
    let place = Place::new();
    let missing = place.flyto(&["--format", "json"]).run().stderr();
    assert!(missing.contains("undo") && !missing.contains("keep-job"), "{missing}");
    let unknown = place.flyto(&["keep-jobb"]).run().stderr();
    assert!(!unknown.contains("'keep-job'"), "{unknown}");
    let near = place.flyto(&["validat"]).run().stderr();
    assert!(near.contains("'validate'"), "{near}");
}
