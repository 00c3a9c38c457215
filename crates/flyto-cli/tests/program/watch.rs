//! `flyto list --watch`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use expect_test::{Expect, expect};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::evolve::definition;
use crate::place::Place;

/// Long enough for any machine; a test that comes to it fails.
const GUARD: Duration = Duration::from_secs(60);

/// A program that watches, and what it prints.
struct Watch<'a> {
    place: &'a Place,
    running: Running,
    lines: Receiver<String>,
}

/// Ends with the test, also with one that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<'a> Watch<'a> {
    fn new(place: &'a Place, words: &[&str]) -> Self {
        let words =
            [&["--plugins", "plugins", "--exec-tools", "tools.json", "list", "--watch"], words];
        let mut child = place.flyto(&words.concat()).start();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::sync_channel(0);
        // Ends with the program, or when no reader takes lines any more.
        thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|it| sender.send(it))
        });
        Self { place, running: Running(child), lines }
    }

    /// Reads as many lines, and no more.
    fn read(&mut self, n_lines: usize) -> String {
        let dir = self.place.path().to_str().unwrap();
        let line = |_| self.lines.recv_timeout(GUARD).expect("the line comes");
        (0..n_lines).map(line).map(|it| it.replace(dir, "DIR") + "\n").collect()
    }

    #[track_caller]
    fn check(&mut self, expect: Expect) {
        let n_lines = expect.data().trim().lines().count();
        expect.assert_eq(&self.read(n_lines));
    }

    fn interrupt(mut self) {
        let pid = Pid::from_raw(i32::try_from(self.running.0.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let status = self.running.0.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::INT.as_raw()), "a shell makes 130 of it");
    }
}

fn place() -> Place {
    let place = Place::with_tools(&[("one", "true", ""), ("two", "true", "")]);
    place.write("tools.json", r#"{"name": "kernel", "description": "d", "exec": ["uname"]}"#);
    place
}

/// Puts a plugin where it is looked for in one step, as a copy that was made elsewhere.
fn put(place: &Place, name: &str, manifest: &str) {
    place.write(&format!("new/{name}/plugin.json"), manifest);
    fs::create_dir_all(place.path().join("plugins")).unwrap();
    let new = place.path().join("new").join(name);
    fs::rename(new, place.path().join("plugins").join(name)).unwrap();
}

/// Replaces the text of a file in one step.
fn replace(place: &Place, path: &str, text: &str) {
    let new = place.write("new-file", text);
    fs::rename(new, place.path().join(path)).unwrap();
}

const P: &str = r#"{"name": "p", "tools": [
    {"name": "one", "description": "d", "command": "true"},
    {"name": "three", "description": "d", "command": "true"}]}"#;

const Q: &str = r#"{"name": "q", "tools": [{"name": "t", "command": "true"}]}"#;

#[test]
fn each_change_is_a_line() {
    let place = place();
    let mut watch = Watch::new(&place, &[]);
    watch.check(expect![[r#"
        NAME    CLASS    TRAITS  DESCRIPTION
        kernel  generic  -       d
        p:one   bash     -       The tool one.
        p:two   bash     -       The tool two.
    "#]]);
    put(&place, "q", Q);
    watch.check(expect![[r#"
        + q (1 tool) (1 warning)
    "#]]);
    replace(&place, "plugins/p/plugin.json", P);
    watch.check(expect![[r#"
        ~ p changed: +three -two ~one
    "#]]);
    replace(&place, "plugins/p/plugin.json", "{\n  \"name\": \"p\",\n}");
    watch.check(expect![[r#"
        ! p: the edit cannot be used, the last good version is kept
            error[F0007] DIR/plugins/p/plugin.json:2:14: a comma behind the last member of an object
    "#]]);
    replace(&place, "plugins/p/plugin.json", P);
    watch.check(expect![[r#"
        ~ p changed
    "#]]);
    put(&place, "bad", "[]");
    watch.check(expect![[r#"
        ! bad: refused
            error[F0023] DIR/plugins/bad/plugin.json:1:1: the document must be an object, found an array
    "#]]);
    fs::remove_file(place.path().join("plugins/q/plugin.json")).unwrap();
    watch.check(expect![[r#"
        - q removed
    "#]]);
    let text = r#"{"name": "p:x", "description": "d", "exec": ["uname"]}"#;
    replace(&place, "tools.json", text);
    watch.check(expect![[r#"
        ! DIR/tools.json: the edit cannot be used, the last good version is kept
            error[F0202] DIR/tools.json:1:10: the name "p:x" holds a colon, which stands between a plugin and its tool (the file was read as one object)
    "#]]);
    watch.interrupt();
}

#[test]
fn problems_are_drawn() {
    let place = place();
    let mut watch = Watch::new(&place, &["--problems", "--quiet"]);
    watch.read(4);
    replace(&place, "plugins/p/plugin.json", "{\n  \"name\": \"p\",\n}");
    watch.check(expect![[r#"
        ! p: the edit cannot be used, the last good version is kept

        error[F0007]: a comma behind the last member of an object
         --> DIR/plugins/p/plugin.json:2:14
          |
    "#]]);
    watch.interrupt();
}

#[test]
fn for_programs_each_line_is_a_document() {
    let place = place();
    let mut watch = Watch::new(&place, &["--format", "json"]);
    let first: Value = serde_json::from_str(&watch.read(1)).unwrap();
    assert_eq!(first["event"], "list");
    assert_eq!(first["tools"].as_array().unwrap().len(), 3);
    assert!(first["report"].is_object() && first["findings"].is_array());
    put(&place, "q", Q);
    let mut second: Value = serde_json::from_str(&watch.read(1)).unwrap();
    let findings = second["findings"].take();
    assert_eq!(findings[0]["code"], "F0121");
    expect![[r#"
        {
          "event": "change",
          "kind": "added",
          "source": "plugin",
          "name": "q",
          "path": "DIR/plugins/q",
          "tools": {
            "added": [
              "q:t"
            ],
            "removed": [],
            "changed": []
          },
          "findings": null
        }"#]]
    .assert_eq(&format!("{second:#}").replace(place.path().to_str().unwrap(), "DIR"));
    watch.interrupt();
}

#[test]
fn what_another_process_does_to_evolved_tools_is_a_line() {
    let place = place();
    let mut watch = Watch::new(&place, &["--format", "json", "--evolve", "tools"]);
    // The store is made only now.
    watch.read(1);
    place.approved(&definition("first", "echo 1\n"), &[]);
    let change: Value = serde_json::from_str(&watch.read(1)).unwrap();
    assert_eq!((&change["source"], &change["name"]), (&json!("store"), &json!("DIR/tools")));
    assert_eq!(change["tools"], json!({"added": ["first"], "removed": [], "changed": []}));
    assert_eq!(place.approved(&definition("first", "echo 2\n"), &["--base", "1"]), 2);
    let change: Value = serde_json::from_str(&watch.read(1)).unwrap();
    assert_eq!(change["tools"]["changed"], json!(["first"]));
    assert_eq!(place.evolve(&["archive", "first"]).code, Some(0));
    let change: Value = serde_json::from_str(&watch.read(1)).unwrap();
    assert_eq!(change["tools"]["removed"], json!(["first"]));
    watch.interrupt();
}

#[test]
fn it_ends_when_its_reader_is_gone() {
    let place = place();
    let child = place.flyto(&["--plugins", "plugins", "list", "--watch", "--quiet"]).start();
    let mut running = Running(child);
    let mut stdout = BufReader::new(running.0.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    running.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((running.0.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn words_choose_nothing_from_what_is_to_come() {
    let ran = place().flyto(&["list", "--watch", "word"]).run();
    assert_eq!(ran.code, Some(2));
}

#[test]
fn a_directory_that_cannot_be_read_is_a_line() {
    let place = place();
    let mut watch = Watch::new(&place, &[]);
    watch.read(4);
    fs::rename(place.path().join("plugins"), place.path().join("old")).unwrap();
    watch.check(expect![[r#"
        - p removed
    "#]]);
    // A file in its place, since permissions do not keep root away.
    place.write("plugins", "");
    watch.check(expect![[r#"
        ! error[F0134] DIR/plugins: the directory cannot be read: Not a directory (os error 20)
    "#]]);
    watch.interrupt();
}
