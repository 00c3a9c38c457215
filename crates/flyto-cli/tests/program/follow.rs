//! `flyto audit follow`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout};
use std::sync::mpsc;
use std::thread;

use expect_test::expect;
use flyto_audit::{Log, Options};
use rustix::process::Signal;
use serde_json::json;

use crate::audit::{cells, hostile_place, log_dir, recorded};
use crate::live::interrupt;
use crate::place::{Flyto, Place};
use crate::terminal::{check_clean, hostile};

const FOLLOW: &[&str] = &["audit", "follow"];

/// A program that follows the log, and what it prints. It ends with the test.
struct Following {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Following {
    /// Goes on once the program says that it waits.
    fn new(flyto: Flyto<'_>) -> Self {
        let mut child = flyto.start();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.ends_with("Ctrl-C ends it\n") && !said.ends_with("flyto/audit\n") {
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
        }
        let stdout = BufReader::new(child.stdout.take().unwrap());
        // What it says later goes nowhere.
        drop(stderr);
        Self { child, stdout: Some(stdout) }
    }

    fn read(&mut self, n_lines: usize) -> String {
        let (mut res, stdout) = (String::new(), self.stdout.as_mut().unwrap());
        for _ in 0..n_lines {
            stdout.read_line(&mut res).unwrap();
        }
        res
    }
}

#[test]
fn calls_of_other_processes_are_followed() {
    let place = recorded(&["p:good"]);
    let mut following = Following::new(place.flyto(FOLLOW));
    let mut of_bad = Following::new(place.flyto(&[FOLLOW, &["--tool", "p:bad"]].concat()));
    for tool in ["p:forbidden", "p:bad"] {
        place.call(&[tool]).run();
    }
    expect![[r#"
        TIME begin ID p:forbidden operator deny
        TIME end ID p:forbidden refused SECONDS
        TIME begin ID p:bad operator ask
        TIME end ID p:bad failed SECONDS
    "#]]
    .assert_eq(&cells(&following.read(4)));
    expect![[r#"
        TIME begin ID p:bad operator ask
        TIME end ID p:bad failed SECONDS
    "#]]
    .assert_eq(&cells(&of_bad.read(2)));
    interrupt(&following.child, Signal::INT);
    let status = following.child.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::INT.as_raw()), "a shell makes 130 of it");
}

#[test]
fn a_log_that_comes_later_is_followed_from_its_start() {
    let place = Place::with_tools(&[("t", "echo ran", "")]);
    let mut following = Following::new(place.flyto(FOLLOW));
    place.call(&["p:t"]).run();
    expect![[r#"
        TIME begin ID p:t operator ask
        TIME end ID p:t ok SECONDS
    "#]]
    .assert_eq(&cells(&following.read(2)));
}

#[test]
fn for_programs_the_lines_of_the_log_are_followed() {
    let place = recorded(&["p:good"]);
    let mut child = place.flyto(&[FOLLOW, &["--format", "json"]].concat()).start();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let _following = Following { child, stdout: None };
    let (sender, lines) = mpsc::channel();
    // Ends with the program.
    thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|it| sender.send(it)));
    // It does not say when it begins, so there are calls until it has printed a record.
    let line = (0..1000).find_map(|_| {
        place.call(&["p:good"]).run();
        lines.try_recv().ok()
    });
    let log = fs::read_to_string(log_dir(&place).join("audit.jsonl")).unwrap();
    let at = log.lines().position(|it| Some(it) == line.as_deref());
    assert!(at.expect("a line of the log") >= 2);
}

#[test]
fn following_ends_when_the_reader_has_gone() {
    let place = recorded(&["p:good"]);
    let mut following = Following::new(place.flyto(FOLLOW));
    drop(following.stdout.take());
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

#[test]
fn records_that_are_followed_do_not_act_on_a_terminal() {
    let (place, state) = hostile_place();
    let flyto = place.flyto(&[&["--color", "always"], FOLLOW].concat());
    let mut following = Following::new(flyto.env("XDG_STATE_HOME", state.to_str().unwrap()));
    let log = Log::open(state.join("flyto/audit"), Options::default()).unwrap();
    let text = hostile();
    let begun = log.begin("id\u{202e}", &json!({"tool": text, "caller": text})).unwrap();
    begun.end(&json!({"outcome": text})).unwrap();
    log.event("", "ev\u{202e}", &json!({})).unwrap();
    // Opening the log may have recorded what was changed by hand.
    let mut seen = String::new();
    while !seen.contains("  ev") {
        seen.push_str(&following.read(1));
    }
    check_clean(&["follow".to_owned()], &seen, true);
    assert!(seen.contains("begin  id\\u{202e}  ") && seen.contains("  end    id"), "{seen:?}");
}
