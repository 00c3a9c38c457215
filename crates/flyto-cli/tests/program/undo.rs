//! Calls that are taken back.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::live::{interrupt, wait_until};
use crate::place::{Flyto, Place};

/// Makes and removes the file that the input names; the one takes the other back.
fn with_files() -> Place {
    let input = r#""input_schema": {"type": "object", "required": ["name"]}"#;
    let undo = |tool: &str| {
        format!(r#"{input}, "undo": {{"tool": "{tool}", "description": "{tool} it"}}"#)
    };
    let named = "name=$(sed 's/.*\"name\":\"\\([a-z]*\\)\".*/\\1/')";
    Place::with_tools(&[
        (
            "make",
            &format!("{named}; echo \"$name\" >>log; : >\"$name\"; echo made"),
            &undo("remove"),
        ),
        ("remove", &format!("{named}; rm \"$name\" && echo removed"), &undo("make")),
        ("slow", "cat >/dev/null", &undo("stay")),
        ("stay", "[ -p gate ] || mkfifo gate; read -r line <gate", input),
        ("risky", "cat >/dev/null", &undo("asked")),
        ("asked", "cat", &format!(r#"{input}, "requires_checkpoint": true"#)),
    ])
}

fn undo<'a>(place: &'a Place, words: &[&str]) -> Flyto<'a> {
    place.flyto(&[&["--plugins", "plugins", "undo"], words].concat())
}

/// Makes a call that can be undone, and gives its id.
#[track_caller]
fn call(place: &Place, words: &[&str]) -> String {
    let ran = place.call(&[words, &["--format", "json"]].concat()).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    ran.json()["undo_id"].as_str().unwrap().to_owned()
}

fn list(place: &Place) -> Vec<Value> {
    let json = undo(place, &["--list", "--format", "json"]).run().json();
    json["calls"].as_array().unwrap().clone()
}

/// The files of the records.
fn records(place: &Place) -> Vec<PathBuf> {
    let dir = fs::read_dir(place.path().join("home/.local/state/flyto/undo")).unwrap();
    let paths = dir.map(|it| it.unwrap().path());
    paths.filter(|it| it.extension().is_some_and(|it| it == "json")).collect()
}

fn is_there(place: &Place, name: &str) -> bool {
    place.exists(&format!("plugins/p/{name}"))
}

#[test]
fn the_latest_call_is_undone_once() {
    let place = with_files();
    let ran = place.call(&["p:make", "name=a"]).run();
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), "made\n"), "{}", ran.shown());
    let told = ran.stderr();
    let command = "to undo it (remove it): flyto --plugins plugins undo ";
    assert!(told.starts_with(command), "{told}");
    let id = told.trim().rsplit(' ').next().unwrap().to_owned();
    call(&place, &["p:make", "name=b"]);
    assert!(is_there(&place, "a") && is_there(&place, "b"));

    let ran = undo(&place, &[]).run();
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), "removed\n"), "{}", ran.shown());
    assert!(is_there(&place, "a") && !is_there(&place, "b"));
    let ran = undo(&place, &[&id[..12]]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stderr().contains(&format!("undone: {id}: remove it")), "{}", ran.stderr());
    assert!(!is_there(&place, "a"));

    let ran = undo(&place, &[&id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(5), String::new()), "{}", ran.shown());
    assert!(ran.stderr().contains("was undone already, at 2"), "{}", ran.stderr());
    // The inverse calls are recorded, and are undone by their own ids only.
    let ran = undo(&place, &[]).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    let inverse = list(&place).into_iter().find(|it| it["undoes"] == *id).unwrap();
    let ran = undo(&place, &[inverse["id"].as_str().unwrap(), "--format", "json"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(ran.json()["undone"][0]["call"]["output"], "made\n");
    assert!(is_there(&place, "a"));
}

#[test]
fn an_inverse_whose_result_is_withheld_has_undone_the_call() {
    let inverse = "echo x >>log; echo ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let undo_by = r#""undo": {"tool": "remove", "description": "remove it"}"#;
    let place = Place::with_tools(&[("make", "echo made", undo_by), ("remove", inverse, "")]);
    place.write("home/.config/flyto/config.json", r#"{"output_guard": "refuse"}"#);
    let id = call(&place, &["p:make"]);
    let ran = undo(&place, &[&id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(5), String::new()), "{}", ran.shown());
    let told = ran.stderr();
    assert!(told.contains("the call was undone (remove it)"), "{told}");
    assert!(!told.contains("tries it again"), "{told}");
    assert_eq!(list(&place)[0]["state"], "undone");
    let ran = undo(&place, &[&id]).run();
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(ran.stderr().contains("was undone already"), "{}", ran.stderr());
    assert_eq!(fs::read_to_string(place.path().join("plugins/p/log")).unwrap(), "x\n");
}

#[test]
fn several_are_undone_in_the_reverse_of_their_order() {
    let place = with_files();
    let ids = ["a", "b", "c"].map(|it| call(&place, &["p:make", &format!("name={it}")]));
    for it in ["a", "b", "c"] {
        assert_eq!(undo(&place, &[]).run().code, Some(0), "{it}");
    }
    // Their inverse calls, which are undone by `make`: the log of that tells the order.
    fs::remove_file(place.path().join("plugins/p/log")).unwrap();
    let inverse = |id: &String| {
        let all = list(&place);
        all.into_iter().find(|it| it["undoes"] == **id).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let inverses: Vec<_> = ids.iter().map(inverse).collect();
    let words: Vec<_> = [1, 0, 2].map(|it| &*inverses[it]).into();
    let ran = undo(&place, &words).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    // They removed c, b, a; so a is made first.
    let log = fs::read_to_string(place.path().join("plugins/p/log")).unwrap();
    assert_eq!(log, "a\nb\nc\n");
}

#[test]
fn a_refusal_leaves_the_record_as_it_was() {
    let place = with_files();
    let id = call(&place, &["p:risky", "name=a"]);
    for _ in 0..2 {
        let ran = undo(&place, &[&id]).run();
        assert_eq!(ran.code, Some(5), "{}", ran.shown());
        assert!(ran.stderr().contains("refused by the stage \"checkpoint\""), "{}", ran.stderr());
        assert!(ran.stderr().contains("the call was not undone"), "{}", ran.stderr());
        assert_eq!(list(&place)[0]["state"], "open");
    }
    // The same for an inverse tool that is gone, and for one that fails by its own account.
    fs::remove_file(place.path().join("plugins/p/plugin.json")).unwrap();
    assert_eq!(undo(&place, &[&id]).run().code, Some(4));
    assert_eq!(list(&place)[0]["state"], "open");
    let place = with_files();
    let id = call(&place, &["p:make", "name=a"]);
    fs::remove_file(place.path().join("plugins/p/a")).unwrap();
    let ran = undo(&place, &[&id]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(ran.stderr().contains(&format!("not undone: {id}")), "{}", ran.stderr());
    assert_eq!(list(&place)[0]["state"], "open");
}

#[test]
fn an_undoing_that_was_interrupted_is_not_repeated() {
    let place = with_files();
    let id = call(&place, &["p:slow", "name=a"]);
    let mut child = undo(&place, &[&id]).start();
    wait_until("the inverse call runs", || is_there(&place, "gate"));
    // Another one that begins meanwhile makes no second call.
    let ran = undo(&place, &[&id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(5), String::new()), "{}", ran.shown());
    interrupt(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let ran = undo(&place, &[&id]).run();
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(
        ran.stderr().contains("may have been undone: an undoing of it began"),
        "{}",
        ran.stderr()
    );
    // Without an id, no older call takes its place.
    assert_eq!(undo(&place, &[]).run().code, Some(5));
    let place = with_files();
    let older = call(&place, &["p:make", "name=b"]);
    let id = call(&place, &["p:slow", "name=a"]);
    let mut child = undo(&place, &[]).start();
    wait_until("the inverse call runs", || is_there(&place, "gate"));
    interrupt(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let ran = undo(&place, &[]).run();
    let told = ran.stderr();
    assert!(told.contains(&format!("the call \"{id}\" may have been undone")), "{told}");
    let earlier = format!("`flyto --plugins plugins undo {older}` undoes the call before it");
    assert!(told.contains(&earlier), "{told}");
    assert_eq!((ran.code, is_there(&place, "b")), (Some(5), true));

    // One that is cancelled is told as such.
    fs::remove_file(place.path().join("plugins/p/gate")).unwrap();
    let id = call(&place, &["p:slow", "name=a"]);
    let mut child = undo(&place, &[]).start();
    wait_until("the inverse call runs", || is_there(&place, "gate"));
    interrupt(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let ran = undo(&place, &[&id]).run();
    assert!(ran.stderr().contains("an undoing of it ended early (cancelled)"), "{}", ran.shown());
    assert_eq!(list(&place)[0]["state"], "unsure");
}

/// What a full disk leaves, or an edit.
#[test]
fn a_record_that_cannot_be_read_lets_no_older_call_be_undone() {
    let place = with_files();
    let older = call(&place, &["p:make", "name=a"]);
    let known = records(&place);
    call(&place, &["p:make", "name=b"]);
    let newest = records(&place).into_iter().find(|it| !known.contains(it)).unwrap();
    fs::write(&newest, "{\"call\": \"x").unwrap();
    let ran = undo(&place, &[]).run();
    let told = ran.stderr();
    assert!(told.contains(newest.to_str().unwrap()), "{told}");
    let earlier = format!("`flyto --plugins plugins undo {older}` undoes the call before it");
    assert!(told.contains(&earlier), "{told}");
    assert_eq!((ran.code, is_there(&place, "a")), (Some(3), true));
    assert_eq!(undo(&place, &[&older]).run().code, Some(0));
    assert!(!is_there(&place, "a"));
}

#[test]
fn another_tool_of_the_same_name_undoes_nothing() {
    let place = with_files();
    let id = call(&place, &["p:make", "name=a"]);
    // A plugin of the same name, from elsewhere.
    let other = with_files();
    let dir = other.path().join("plugins");
    let ran = place.flyto(&["--plugins", dir.to_str().unwrap(), "undo", &id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(5), String::new()), "{}", ran.shown());
    assert!(
        ran.stderr().contains("and recorded was \"p:remove\" of plugin p in"),
        "{}",
        ran.stderr()
    );
    assert_eq!((is_there(&place, "a"), &list(&place)[0]["state"]), (true, &"open".into()));
    // The same place, and another command.
    let manifest = place.path().join("plugins/p/plugin.json");
    let before = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, before.replace("remove.sh", "make.sh")).unwrap();
    let ran = undo(&place, &[&id]).run();
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(
        ran.stderr().contains("its schema or its command line is not that"),
        "{}",
        ran.stderr()
    );
    fs::write(&manifest, before).unwrap();
    // Another path of the same directory.
    std::os::unix::fs::symlink("plugins", place.path().join("link")).unwrap();
    let ran = place.flyto(&["--plugins", "link", "undo", &id]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(!is_there(&place, "a"));
}

#[test]
fn several_calls_are_checked_before_one_is_undone() {
    let place = with_files();
    let [a, b] = ["a", "b"].map(|it| call(&place, &["p:make", &format!("name={it}")]));
    assert_eq!(undo(&place, &[&a]).run().code, Some(0));
    let ran = undo(&place, &[&b, &a]).run();
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(is_there(&place, "b"));
    let ran = undo(&place, &[&b, "nothing"]).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    assert!(is_there(&place, "b"));
}

#[test]
fn the_list_tells_what_has_become_of_each() {
    let place = with_files();
    let ran = undo(&place, &["--list"]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(0), String::new()));
    let [a, b] = ["a", "b"].map(|it| call(&place, &["p:make", &format!("name={it}")]));
    assert_eq!(undo(&place, &[]).run().code, Some(0));
    let table = undo(&place, &["--list"]).run().stdout();
    let line = |id: &str| table.lines().find(|it| it.starts_with(id)).unwrap().to_owned();
    assert!(line(&a).contains("can be undone"), "{table}");
    assert!(line(&b).contains("undone by "), "{table}");
    let dir: PathBuf = place.path().join("home/.local/state/flyto/undo");
    fs::write(dir.join("1-0123456789abcdef.json"), "{").unwrap();
    let ran = undo(&place, &["--list"]).run();
    assert!(ran.stderr().starts_with("no usable record: "), "{}", ran.shown());
}

#[test]
fn a_call_that_cannot_be_recorded_is_made_all_the_same() {
    let place = with_files();
    // A file in the place of the directory.
    place.write("home/.local/state/flyto/undo", "");
    let ran = place.call(&["p:make", "name=a"]).run();
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), "made\n"), "{}", ran.shown());
    assert!(ran.stderr().starts_with("it cannot be undone by `flyto undo`: "), "{}", ran.stderr());
    assert!(is_there(&place, "a"));
}

#[test]
fn the_call_of_a_job_can_be_undone() {
    let place = with_files();
    let ran = place.call(&["p:make", "name=a", "--background"]).run();
    let id = ran.stdout().trim().to_owned();
    let ran = place.flyto(&["jobs", "result", &id, "--wait"]).run();
    assert!(ran.stderr().contains(&format!("flyto undo {id}")), "{}", ran.shown());
    assert_eq!(undo(&place, &[&id]).run().code, Some(0));
    assert!(!is_there(&place, "a"));
}
