//! What waits for a person, and tools that wait for one.

use serde_json::json;

use crate::evolve::{TOKEN, definition};
use crate::place::Place;

#[test]
fn an_id_shows_the_text_that_it_approves() {
    let place = Place::new();
    let evil = definition("evil", "echo evil\n");
    let id = place.staged(&evil, &[]);
    place.told(&["deny", &id]);

    // A tool with the name of an id is refused as a proposal, and so is one that was made by hand.
    place.write("proposal.json", &definition(&id, "echo good\n"));
    let ran = place.evolve(&["propose", "proposal.json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("as the id of a proposal does"), "{}", ran.shown());

    // One that a store of an earlier release has does not stand before the text that waits.
    place.approved(&definition("good", "echo good\n"), &[]);
    let tools = place.path().join("tools");
    for dir in ["tools", "history"] {
        let end = if dir == "tools" { ".json" } else { "" };
        let dir = tools.join(dir);
        std::fs::rename(dir.join(format!("good{end}")), dir.join(format!("{id}{end}"))).unwrap();
    }
    assert_eq!(place.staged(&evil, &[]), id);
    let shown = place.evolve(&["show", &id]).stdout();
    assert!(shown.contains("+echo evil"), "{shown}");
    place.told(&["approve", "--yes", &id]);
    assert_eq!(place.output(&["evil", "text=a"]), "evil\n");
}

#[test]
fn no_damage_brings_an_archived_tool_back() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    for (number, damage) in [(2, "x"), (4, "")] {
        place.told(&["archive", "t"]);
        let path = place.path().join(format!("tools/history/t/{number:06}.json"));
        match damage {
            "" => std::fs::remove_file(&path).unwrap(),
            text => std::fs::write(&path, text).unwrap(),
        }
        let ran = place.evolving(&["call", "t", "text=a"]).run();
        assert_eq!(ran.code, Some(4), "{}", ran.shown());
        assert!(
            ran.stderr().contains(
                "`flyto --evolve tools evolve restore t` has the version before it run again"
            ),
            "{}",
            ran.shown()
        );
        let list = place.told(&["list"]);
        assert_eq!(list["tools"][0]["state"], "damaged", "{list}");
        assert_eq!(place.told(&["restore", "t"])["version"], number + 1);
        assert_eq!(place.output(&["t", "text=a"]), "t\n");
    }
}

#[test]
fn what_is_read_does_not_run() {
    let place = Place::new();
    let text = json!({
        "name": "t", "description": "Is t.", "script": "echo t\n",
        "examples": [{"input": {}, "output": "another"}],
    });
    place.write("tools/tools/t.json", &text.to_string());
    let ran = place.evolve(&["show", "t"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let untested = "\nexamples: untested, they run when it is approved\n";
    assert!(ran.stdout().contains("\n+echo t\n"), "{}", ran.shown());
    assert!(ran.stdout().ends_with(untested), "{}", ran.shown());
    assert!(!ran.stderr().contains("refused"), "{}", ran.shown());
    // A person may have it run before an answer.
    let ran = place.evolve(&["show", "t", "--run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    if cfg!(target_os = "linux") {
        let told = "it would be refused now: example 0: the output \"another\" is expected";
        assert!(ran.stderr().contains(told), "{}", ran.shown());
    }
    place.approved(&definition("u", "echo u\n"), &[]);
    assert_eq!(place.evolve(&["show", "u", "--run"]).code, Some(2));
}

#[test]
fn what_waits_is_shown_also_where_it_would_be_refused() {
    let place = Place::new();
    place.approved(&definition("t", "echo one\n"), &[]);
    let late = place.staged(&definition("t", "echo late\n"), &["--base", "1"]);
    place.approved(&definition("t", "echo two\n"), &["--base", "1"]);
    let ran = place.evolve(&["show", &late]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout().contains("\nscript\n@@ -0,0 +1 @@\n+echo late\n"), "{}", ran.shown());
    assert!(ran.stderr().contains("it would be refused now: "), "{}", ran.shown());
    assert_eq!(place.told(&["show", &late])["pending"]["id"], late);

    // An edit of the file keeps the tool from its calls, and is told so.
    let path = place.path().join("tools/tools/t.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("echo two", "echo by hand")).unwrap();
    assert_eq!(place.told(&["show", "t"])["state"], "edited");
    assert_eq!(place.evolving(&["call", "t", "text=a"]).run().code, Some(7));
}

#[test]
fn a_job_calls_tools_that_were_written_at_run_time() {
    let place = Place::new();
    place.approved(&definition("t", "echo \"$TOOL_INPUT_TEXT\"\n"), &[]);
    let ran = place.evolving(&["call", "t", "text=later", "--background"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let id = ran.stdout();
    let ran = place.flyto(&["jobs", "result", id.trim(), "--wait"]).run();
    assert_eq!(ran.stdout(), "later\n", "{}", ran.shown());
}

#[test]
fn a_torn_proposal_is_told_by_every_verb() {
    let place = Place::new();
    let id = place.staged(&definition("t", "echo t\n"), &[]);
    let path = place.path().join(format!("tools/pending/{id}.json"));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let list = place.evolve(&["list"]);
    assert!(list.stderr().contains(&format!("{id}.json cannot be used: ")), "{}", list.shown());
    let told = || {
        for words in [&["show", &id][..], &["approve", "--yes", &id], &["deny", &id]] {
            let ran = place.evolve(words);
            assert_eq!(ran.code, Some(3), "{}", ran.shown());
            let (what, help) =
                (format!("the proposal {id:?} cannot be used: "), "propose it again");
            assert!(ran.stderr().contains(&what) && ran.stderr().contains(help), "{}", ran.shown());
        }
    };
    told();
    // A start sets it aside, and tells it.
    let ran = place.evolving(&["call", "t", "text=a"]).run();
    assert!(ran.stderr().contains(&format!("the proposal {id} was damaged")), "{}", ran.shown());
    assert!(!path.exists());
    told();
    assert!(place.evolve(&["list"]).stderr().contains("set aside since damaged: "));
    assert_eq!(place.staged(&definition("t", "echo t\n"), &[]), id);
}

#[test]
fn a_proposal_that_was_changed_is_not_shown_under_its_id() {
    let place = Place::new();
    let id = place.staged(&definition("t", "echo good\n"), &[]);
    let path = place.path().join(format!("tools/pending/{id}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, why) in [
        ("echo good", "echo EVIL", "its text was changed: recorded is "),
        (
            "\n  \"base\"",
            "\n  \"tools\": {\"u\": \"SHA\"},\n  \"base\"",
            "its id is that of another text",
        ),
    ] {
        let to = to.replace("SHA", &"0".repeat(64));
        let changed = text.replacen(from, &to, 1);
        assert_ne!(changed, text);
        std::fs::write(&path, changed).unwrap();
        let list = place.evolve(&["list"]);
        let told = format!("{id}.json cannot be used: {why}");
        assert!(list.stderr().contains(&told), "{}", list.shown());
        for words in [&["show", &id][..], &["approve", "--yes", &id], &["deny", &id]] {
            let ran = place.evolve(words);
            assert_eq!(ran.code, Some(3), "{}", ran.shown());
            assert!(!ran.shown().contains("EVIL"), "{}", ran.shown());
        }
    }
    std::fs::write(&path, text).unwrap();
    place.told(&["approve", "--yes", &id]);
    assert_eq!(place.output(&["t", "text=a"]), "good\n");
}

#[test]
fn a_rollback_says_that_it_brings_an_archived_tool_back() {
    let place = Place::new();
    place.approved(&definition("t", "echo one\n"), &[]);
    place.approved(&definition("t", "echo two\n"), &["--base", "1"]);
    // Of a tool in use it says nothing of the kind.
    assert_eq!(place.told(&["rollback", "t", "1"])["was_archived"], false);
    assert_eq!(place.evolve(&["archive", "t"]).code, Some(0));
    let words = ["rollback", "t", "2", "--dry-run"];
    let told = place.evolve(&words).stderr();
    assert!(told.contains("t is archived; a rollback brings it back into use"), "{told}");
    assert_eq!(place.told(&words)["was_archived"], true);
    assert_eq!(place.evolving(&["call", "t", "text=a"]).run().code, Some(4));
    assert_eq!(
        place.evolve(&["rollback", "t", "2"]).stdout(),
        "t is at version 5, with the text of 2; it was archived, and is in use again\n"
    );
    assert_eq!(place.output(&["t", "text=a"]), "two\n");
    assert!(!place.evolve(&["rollback", "t", "1"]).stdout().contains("archived"));
}

#[test]
fn a_file_of_the_store_that_cannot_be_used_comes_with_what_to_do() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    place.write("proposal.json", &definition("u", "echo u\n"));
    let at = |file: &str| place.path().join("tools").join(file);
    let told = |words: &[&str], help: &str| {
        let ran = place.evolve(words);
        assert!(ran.code != Some(0) && ran.stderr().contains(help), "{}", ran.shown());
    };
    std::fs::write(at("fingerprint.key"), "").unwrap();
    told(&["propose", "proposal.json"], "remove it: the store makes another one");
    std::fs::remove_file(at("fingerprint.key")).unwrap();
    place.staged(&definition("u", "echo u\n"), &[]);
    std::fs::write(at("acks.json"), "{").unwrap();
    told(&["propose", "proposal.json"], "mend it, or move it away: without it, a text");
    assert_eq!(place.evolve(&["propose", "proposal.json"]).code, Some(7));
    std::fs::remove_file(at("acks.json")).unwrap();
    std::fs::write(at("pins.json"), "{").unwrap();
    told(&["pin", "t"], "mend or remove it; without it no tool is pinned");
    std::fs::remove_file(at("pins.json")).unwrap();
    assert_eq!(place.evolve(&["pin", "t"]).code, Some(0));
    std::fs::remove_file(at(".lock")).unwrap();
    std::fs::create_dir(at(".lock")).unwrap();
    told(&["archive", "t"], "remove it: the store makes a file there");
    std::fs::remove_dir(at(".lock")).unwrap();
    std::fs::rename(at("events"), at("events.before")).unwrap();
    std::fs::write(at("events"), "").unwrap();
    told(
        &["archive", "t"],
        "move it away: the store makes a directory there, and begins another log",
    );
    std::fs::remove_file(at("events")).unwrap();
    assert_eq!(place.evolve(&["archive", "t"]).code, Some(0));
}

#[test]
fn a_damaged_older_version_is_named() {
    let place = Place::new();
    place.approved(&definition("t", "echo one\n"), &[]);
    place.approved(&definition("t", "echo two\n"), &["--base", "1"]);
    let path = place.path().join("tools/history/t/000001.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("echo one", "echo other")).unwrap();
    let what = "tools/history/t/000001.json cannot be used: its definition was changed: ";
    for words in [&["list"][..], &["history", "t"]] {
        let ran = place.evolve(words);
        assert_eq!(ran.stderr().matches(what).count(), 1, "{}", ran.shown());
        let damaged = &place.told(words)["damaged"];
        assert!(damaged[0]["file"].as_str().unwrap().ends_with("000001.json"), "{damaged}");
    }
    let ran = place.evolving(&["list", "--problems"]).run();
    assert_eq!(ran.stderr().matches(what).count(), 1, "{}", ran.shown());
    assert_eq!(place.output(&["t", "text=a"]), "two\n");
}

#[test]
fn of_many_damaged_versions_the_first_ones_are_told() {
    let place = Place::new();
    place.approved(&definition("t", "echo one\n"), &[]);
    for number in 2..=30 {
        place.write(&format!("tools/history/t/{number:06}.json"), "garbage");
    }
    let what = "cannot be used: it is no version of a tool";
    for words in [&["evolve", "list"][..], &["list", "--problems"], &["evolve", "history", "t"]] {
        let ran = place.evolving(words).run();
        assert!(ran.stderr().contains(" more files cannot be used: "), "{}", ran.shown());
        // The newest one is told by itself, since for it the tool is not called.
        assert!((20..=21).contains(&ran.stderr().matches(what).count()), "{}", ran.shown());
    }
    assert_eq!(place.told(&["list"])["damaged"].as_array().unwrap().len(), 29);
}

#[test]
fn of_many_files_put_in_order_the_first_ones_are_told() {
    let place = Place::new();
    for number in 1..=30 {
        place.write(&format!("tools/tools/t{number}.json"), "{");
    }
    let ran = place.evolving(&["list"]).run();
    assert_eq!(ran.stderr().matches(" was damaged (").count(), 20, "{}", ran.shown());
    let more = "10 more files of the store had to be put in order: ";
    assert!(ran.stderr().contains(more), "{}", ran.shown());
}

#[test]
fn a_directory_that_cannot_be_listed_costs_its_own_tool() {
    let place = Place::new();
    for name in ["t", "other"] {
        place.approved(&definition(name, &format!("echo {name}\n")), &[]);
    }
    let path = place.path().join("tools/history/t");
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    assert_eq!(place.output(&["other", "text=a"]), "other\n");
    let what = "tools/history/t cannot be used: failed to list it: ";
    let list = place.evolve(&["list"]);
    assert_eq!(list.stderr().matches(what).count(), 1, "{}", list.shown());
    let ran = place.evolving(&["call", "t", "text=a"]).run();
    assert!(ran.code == Some(4) && ran.stderr().contains(what), "{}", ran.shown());
}

#[test]
fn counts_and_pins_that_are_no_files_are_told() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    for file in ["usage.json", "pins.json"] {
        let path = place.path().join("tools").join(file);
        drop(std::fs::remove_file(&path));
        std::fs::create_dir(path).unwrap();
        let list = place.evolve(&["list"]);
        let what = format!("tools/{file} cannot be used: it is no regular file; no tool decays");
        assert_eq!(list.stderr().matches(&what).count(), 1, "{}", list.shown());
    }
}

#[test]
fn what_is_kept_of_an_acknowledgement_holds_no_secret() {
    let place = Place::new();
    let print = "b".repeat(64);
    for (rule, code) in [(TOKEN, 5), ("two words", 2), ("", 2)] {
        let ran = place.evolve(&["acknowledge", &print, "--rule", rule, "--reason", "an example"]);
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
    }
    // Nor is one taken for the name of a person.
    let words = ["evolve", "acknowledge", &print, "--rule", "r", "--reason", "an example"];
    let ran = place.evolving(&words).env("USER", TOKEN).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    for file in ["acks.json", "events/audit.jsonl"] {
        let kept = std::fs::read_to_string(place.path().join("tools").join(file)).unwrap();
        assert!(kept.contains("an example") && !kept.contains(TOKEN), "{kept}");
    }
}

#[test]
fn a_store_that_cannot_be_reached_is_told() {
    let place = Place::new();
    place.write("file", "");
    let run = |words: &[&str]| place.flyto(&[&["--evolve", "file/store"], words].concat()).run();
    for (words, code) in [
        (&["list"][..], 0),
        (&["call", "t"], 4),
        (&["show", "t"], 4),
        (&["evolve", "list"], 7),
        (&["evolve", "approve", "t"], 7),
        (&["evolve", "forget", "t"], 7),
    ] {
        let ran = run(words);
        assert_eq!(ran.code, Some(code), "{words:?} {}", ran.shown());
        assert!(ran.stderr().contains("file/store"), "{}", ran.shown());
    }
    // The default store is one too, where something has its place.
    place.write("home/.flyto/evolution", "");
    let ran = place.flyto(&["list"]).run();
    assert!(ran.stderr().contains("home/.flyto/evolution"), "{}", ran.shown());
}

#[test]
fn an_earlier_text_that_is_put_back_by_hand_is_told() {
    let place = Place::new();
    let view = place.path().join("tools/tools/t.json");
    let files: Vec<String> = ["1", "2", "3"]
        .into_iter()
        .map(|text| {
            let base = (text != "1").then(|| (text.parse::<u64>().unwrap() - 1).to_string());
            let words: Vec<&str> = base.iter().flat_map(|it| ["--base", it]).collect();
            place.approved(&definition("t", &format!("echo {text}\n")), &words);
            std::fs::read_to_string(&view).unwrap()
        })
        .collect();
    // The version before may be what a stopped writer left. Each command that replaces the file tells it.
    let told = "the file of the tool t said version 2 and says version 3 now; a rollback";
    for words in [&["call", "t", "text=a"][..], &["list"], &["evolve", "replay", "t"]] {
        std::fs::write(&view, &files[1]).unwrap();
        let ran = place.evolving(words).run();
        assert!(ran.stderr().contains(told), "{words:?} {}", ran.shown());
        assert_eq!(std::fs::read_to_string(&view).unwrap(), files[2]);
        assert!(!place.evolving(words).run().stderr().contains(told));
    }
    // An older one is an edit.
    std::fs::write(&view, &files[0]).unwrap();
    let ran = place.evolving(&["call", "t", "text=a"]).run();
    assert!(ran.code == Some(7) && ran.stderr().contains("edited by hand"), "{}", ran.shown());
    assert_eq!(std::fs::read_to_string(&view).unwrap(), files[0]);
    let id = place.told(&["list"])["unapproved"][0]["id"].as_str().unwrap().to_owned();
    for verb in ["show", "approve", "deny"] {
        let command = format!("`flyto --evolve tools evolve {verb} {id}`");
        assert!(ran.stderr().contains(&command), "{verb}: {}", ran.shown());
    }
    assert_eq!(place.told(&["approve", "--yes", &id])["version"], 4);
    assert_eq!(place.output(&["t", "text=a"]), "1\n");
}

#[test]
fn a_full_list_of_proposals_says_how_to_make_room() {
    let place = Place::new();
    let text = |n: usize| definition("t", &format!("echo {n}\n"));
    let first = place.staged(&text(0), &[]);
    (1..8).for_each(|n| drop(place.staged(&text(n), &[])));
    place.write("proposal.json", &text(8));
    let ran = place.evolve(&["propose", "proposal.json"]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(
        ran.stderr().contains("`flyto --evolve tools evolve deny ID` takes one off"),
        "{}",
        ran.shown()
    );
    place.told(&["deny", &first]);
    place.staged(&text(8), &[]);
}

#[test]
fn a_version_without_an_approval_is_told_as_one() {
    let place = Place::new();
    place.approved(&definition("t", "echo t\n"), &[]);
    let at = |number: u64| place.path().join(format!("tools/history/t/{number:06}.json"));
    let text = std::fs::read(at(1)).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&text).unwrap();
    record["version"] = 2.into();
    record["parent"] = 1.into();
    record["approval"] = serde_json::Value::Null;
    std::fs::write(at(2), record.to_string()).unwrap();

    let told = "version 2 of the tool t has no approval: `flyto --evolve tools evolve history t`";
    for words in
        [&["call", "t", "text=a"][..], &["evolve", "approve", "t"], &["evolve", "deny", "t"]]
    {
        let ran = place.evolving(words).run();
        assert_eq!(ran.code, Some(4), "{}", ran.shown());
        assert!(ran.stderr().contains(told), "{}", ran.shown());
    }
    let list = place.evolve(&["list"]).stdout();
    assert!(list.contains("version 2, without an approval"), "{list}");
    assert_eq!(place.told(&["list"])["unapproved"][0]["version"], 2);
    assert_eq!(place.told(&["rollback", "t", "1"])["version"], 3);
    assert_eq!(place.output(&["t", "text=a"]), "t\n");
}
