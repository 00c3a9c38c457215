//! Tools that agents write, from their proposal to their end.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};

use crate::place::{Flyto, Place, Ran};

/// A token in the format of GitHub's, which opens nothing.
pub(crate) const TOKEN: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

/// The definition of a tool with a script, for a file.
pub(crate) fn definition(name: &str, script: &str) -> String {
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    json!({
        "name": name, "description": format!("Does {name} with a text."), "input_schema": schema,
        "execution_type": "script", "script": script,
    })
    .to_string()
}

impl Place {
    /// The program with these words, and the store `tools`.
    pub(crate) fn evolving(&self, words: &[&str]) -> Flyto<'_> {
        self.flyto(&[&["--evolve", "tools"], words].concat()).env("USER", "ada")
    }

    pub(crate) fn evolve(&self, words: &[&str]) -> Ran {
        self.evolving(&[&["evolve"], words].concat()).run()
    }

    /// The document that a verb of `evolve` prints.
    pub(crate) fn told(&self, words: &[&str]) -> Value {
        let ran = self.evolving(&[&["--format", "json", "evolve"], words].concat()).run();
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        ran.json()
    }

    /// Proposes a definition where there is no terminal, and gives the id under which it waits.
    pub(crate) fn staged(&self, text: &str, words: &[&str]) -> String {
        self.write("proposal.json", text);
        let document = self.told(&[&["propose", "proposal.json"], words].concat());
        assert_eq!(document["status"], "staged");
        document["id"].as_str().unwrap().to_owned()
    }

    /// Proposes a definition, approves it, and gives the version.
    pub(crate) fn approved(&self, text: &str, words: &[&str]) -> u64 {
        let id = self.staged(text, words);
        let document = self.told(&["approve", "--yes", &id]);
        assert_eq!(document["status"], "saved");
        document["version"].as_u64().unwrap()
    }

    pub(crate) fn output(&self, words: &[&str]) -> String {
        let ran = self.evolving(&[&["call"], words].concat()).run();
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        ran.stdout()
    }
}

/// All bytes of the files below a directory.
fn bytes_below(dir: &Path) -> Vec<u8> {
    let mut res = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => res.extend(bytes_below(&path)),
            // A FIFO of a job has no end.
            false if path.is_file() => res.extend(std::fs::read(&path).unwrap()),
            false => {}
        }
    }
    res
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

/// A document without what differs from run to run.
#[track_caller]
fn check(ran: Ran, expect: expect_test::Expect) {
    let mut shown = String::new();
    for line in ran.shown().lines() {
        // A moment, and a time that a call took.
        let line = line.split_inclusive(' ').map(|it| match it.trim().ends_with('Z') {
            true if it.starts_with("20") => "TIME",
            _ => it,
        });
        let line: String = line.collect();
        shown.push_str(line.trim_end());
        shown.push('\n');
    }
    expect.assert_eq(&shown);
}

#[test]
fn a_tool_lives_from_the_terminal() {
    let place = Place::new();
    let first = "head -n 1 <<< \"$TOOL_INPUT_TEXT\"\n";

    // A secret is refused, with what to write instead, and reaches no file.
    let secret = definition("first", &format!("curl -H 'Authorization: {TOKEN}' x.org\n"));
    place.write("proposal.json", &secret);
    let ran = place.evolve(&["propose", "proposal.json"]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(ran.stderr().contains("GitHub token") && !ran.stderr().contains(TOKEN));
    assert!(ran.stderr().contains("$GITHUB_TOKEN"), "{}", ran.shown());
    std::fs::remove_file(place.path().join("proposal.json")).unwrap();
    assert!(!holds(&bytes_below(place.path()), TOKEN));

    // Without one it waits, since there is no terminal, and cannot be called.
    let id = place.staged(&definition("first", first), &[]);
    let ran = place.evolving(&["call", "first", "text=a"]).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    assert!(
        ran.stderr().contains(&format!("flyto --evolve tools evolve approve {id}")),
        "{}",
        ran.shown()
    );
    // The whole text is shown before it is approved, by the hash in its id.
    let review = place.evolve(&["show", &id]).stdout();
    assert!(review.contains("+head -n 1 <<< \"$TOOL_INPUT_TEXT\"\n"), "{review}");
    assert_eq!(place.evolve(&["approve", &id]).code, Some(5));
    assert_eq!(place.evolve(&["approve", "--yes", "first"]).code, Some(2));
    assert_eq!(place.evolve(&["approve", "--yes", "first-000000000000"]).code, Some(4));
    assert_eq!(place.told(&["approve", "--yes", &id])["version"], 1);

    // It is there in every later process.
    assert_eq!(place.output(&["first", "text=a\nb"]), "a\n");
    let list = place.evolving(&["list"]).run().stdout();
    assert!(list.contains("first         bash"), "{list}");
    let shown = place.evolving(&["show", "first", "--format", "json"]).run().json();
    let evolved = &shown["evolved"];
    assert_eq!((&evolved["version"], &evolved["approved_by"]), (&json!(1), &json!("ada")));
    assert_eq!((&evolved["usage"]["n_calls"], &evolved["state"]), (&json!(1), &json!("active")));
    assert_eq!(shown["sandbox"], json!(["none"]), "{shown}");
    let page = place.evolving(&["show", "first"]).run().stdout();
    for part in ["version      1, active", "approved     by ada, ", "calls        1, 1 ok"] {
        assert!(page.contains(part), "{page}");
    }

    // An update names its base, and is compared with it.
    place.write("proposal.json", &definition("first", "tail -n 1 <<< \"$TOOL_INPUT_TEXT\"\n"));
    let ran = place.evolve(&["propose", "proposal.json"]);
    assert_eq!(ran.code, Some(5));
    assert!(ran.stderr().contains("--base 1"), "{}", ran.shown());
    let second = definition("first", "tail -n 1 <<< \"$TOOL_INPUT_TEXT\"\n");
    assert_eq!(place.approved(&second, &["--base", "1"]), 2);
    assert_eq!(place.output(&["first", "text=a\nb"]), "b\n");
    place.evolving(&["evolve", "diff", "first", "1", "2"]).check(expect![[r#"
        exit code 0
        -- stdout
        script
        @@ -1 +1 @@
        -head -n 1 <<< "$TOOL_INPUT_TEXT"
        +tail -n 1 <<< "$TOOL_INPUT_TEXT"
    "#]]);

    // Rolled back, it is byte for byte what it was.
    assert_eq!(place.told(&["rollback", "first", "1"])["version"], 3);
    assert_eq!(place.output(&["first", "text=a\nb"]), "a\n");
    let text = |number: &str| {
        let exported = place.evolve(&["export", "first", "--version", number]).json();
        (exported["definition"].to_string(), exported["sha256"].clone())
    };
    assert_eq!(text("1"), text("3"));
    assert_ne!(text("1"), text("2"));
    let history = place.told(&["history", "first"]);
    let changes: Vec<_> =
        history["versions"].as_array().unwrap().iter().map(|it| &it["change"]).collect();
    assert_eq!(
        changes,
        [
            &json!({"kind": "created"}),
            &json!({"kind": "updated"}),
            &json!({"kind": "rolled_back", "to": 1})
        ]
    );
    // Each call is in the log of calls, with the version that ran.
    let log = place.flyto(&["audit", "export", "--tool", "first"]).run().stdout();
    let versions: Vec<String> = log
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap())
        .filter_map(|it| Some(it["body"]["version"].as_str()?.to_owned()))
        .collect();
    assert_eq!(versions, ["1", "2", "3"], "{log}");
    assert!(log.contains("evolved, version 3"), "{log}");
}

#[test]
fn a_person_says_that_a_text_is_no_secret() {
    let place = Place::new();
    let text = |token: &str| definition("t", &format!("echo '{token}'\n"));
    place.write("proposal.json", &text(TOKEN));
    let ran = place.evolve(&["propose", "proposal.json"]);
    let told = ran.stderr();
    let command = told
        .split("`flyto --evolve tools evolve ")
        .nth(1)
        .unwrap()
        .split(" --reason")
        .next()
        .unwrap();
    assert!(!told.contains(TOKEN), "{told}");
    let words: Vec<_> = command.split(' ').chain(["--reason", "an example"]).collect();
    assert_eq!(words[0], "acknowledge");
    assert_eq!(place.evolve(&["acknowledge", "x", "--rule", "r", "--reason", "r"]).code, Some(2));
    assert_eq!(place.told(&words)["rule"], "github-token");
    assert_eq!(place.approved(&text(TOKEN), &[]), 1);
    // Another one in the same place is one still, and so is one in a reason.
    let other = TOKEN.replace("e42F", "e43F");
    place.write("proposal.json", &text(&other));
    let ran = place.evolve(&["propose", "proposal.json", "--base", "1"]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    let mut words = words;
    *words.last_mut().unwrap() = &other;
    let ran = place.evolve(&words);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    let kept = std::fs::read_to_string(place.path().join("tools/acks.json")).unwrap();
    assert!(!kept.contains(&other));
    assert!(kept.contains("an example") && kept.contains("ada") && !kept.contains(TOKEN), "{kept}");
}

#[test]
fn of_two_updates_at_once_one_wins() {
    let place = Place::new();
    place.approved(&definition("t", "echo 1\n"), &[]);
    let ids = ["echo 2\n", "echo 3\n"]
        .map(|script| place.staged(&definition("t", script), &["--base", "1"]));
    let started = ids.map(|id| place.evolving(&["evolve", "approve", "--yes", &id]).start());
    let ran = started.map(|it| Ran::new(it.wait_with_output().unwrap(), &place));
    let mut codes = ran.iter().map(|it| it.code).collect::<Vec<_>>();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(5)], "{} {}", ran[0].shown(), ran[1].shown());
    let loser = ran.iter().find(|it| it.code == Some(5)).unwrap().stderr();
    assert!(
        loser.contains("the tool \"t\" is at version 2, and the proposal is based on version 1"),
        "{loser}"
    );
    // What it would change in the version that won, and what to do.
    assert!(loser.contains("-echo ") && loser.contains("+echo "), "{loser}");
    assert!(loser.contains("--base 2"), "{loser}");
    assert!(loser.contains("it waits still; `flyto --evolve tools evolve deny t-"), "{loser}");
    assert!(place.evolve(&["list"]).stdout().contains("1, outdated"));
    let history = place.told(&["history", "t"]);
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    // What lost waits still, and is denied.
    let list = place.told(&["list"]);
    let id = list["pending"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(place.told(&["deny", "t", "--reason", "too late"])["id"], id);
    assert_eq!(place.told(&["list"])["pending"], json!([]));
    assert_eq!(place.evolve(&["deny", "t"]).code, Some(4));
    assert!(holds(&bytes_below(&place.path().join("tools/events")), "too late"));
}

#[test]
fn states_are_told_and_changed() {
    let place = Place::new();
    place.evolving(&["evolve", "list"]).check(expect![[r#"
        exit code 0
        -- stderr
        there are no tools in DIR/tools; `flyto --evolve tools evolve propose FILE` makes one
    "#]]);
    // Its schema names no parameter, so no input can be the reason.
    let fails = json!({"name": "fails", "description": "Fails.", "script": "echo no; exit 3\n"});
    place.approved(&fails.to_string(), &[]);
    place.approved(&definition("picky", "[ \"$TOOL_INPUT_TEXT\" = y ]\n"), &[]);
    place.approved(&definition("works", "echo yes\n"), &[]);
    for _ in 0..3 {
        assert_eq!(place.evolving(&["call", "fails"]).run().code, Some(1));
        assert_eq!(place.evolving(&["call", "picky", "text=x"]).run().code, Some(1));
    }
    // Three failures of its own in a row set a tool aside; what waits and what was edited is told.
    let edited = place.path().join("tools/tools/works.json");
    let text = std::fs::read_to_string(&edited).unwrap().replace("echo yes", "echo edited");
    std::fs::write(&edited, text).unwrap();
    place.staged(&definition("new", "date\n"), &[]);
    let told = place.evolving(&["list"]).run().stderr();
    for part in [
        "the tool new waits for an answer: `flyto --evolve tools evolve approve new-",
        "the file of the tool works was edited by hand: `flyto --evolve tools evolve approve works-",
        "the tool fails is quarantined: it failed 3 times in a row by its own fault; `flyto --evolve tools evolve restore fails` brings it back, and `flyto --evolve tools evolve pin fails` keeps it",
        "the last 3 calls of the tool picky failed (exit code 1), by its text or by their input: `flyto --evolve tools evolve show picky`",
    ] {
        assert!(told.contains(part), "{told}");
    }
    check(
        place.evolve(&["list"]),
        expect![[r#"
            exit code 0
            -- stdout
            NAME   VERSION  STATE        CALLS  DESCRIPTION
            fails  2        quarantined  3      Fails.
            picky  1        failing      3      Does picky with a text.
            works  1        edited       0      Does works with a text.

            WAITS                                           BASED ON  PROPOSED BY
            new-e2d8d6be2f1bcd33598a261e9df322d3c2691b31    -         ada
            works-453fd17c60873fd413d96d209ef2bd7a9977894b  1         an edit of its file
            -- stderr
            `flyto --evolve tools evolve approve ID` shows what waits, and asks
        "#]],
    );
    let id = place.told(&["list"])["unapproved"][0]["id"].as_str().unwrap().to_owned();
    let edit = place.evolve(&["show", &id]).stdout();
    assert!(edit.contains("-echo yes\n+echo edited\n"), "{edit}");
    let problems = place.evolving(&["list", "--problems"]).run().stderr();
    assert!(
        problems.contains(&format!("`flyto --evolve tools evolve approve {id}`")),
        "{problems}"
    );
    let ran = place.evolving(&["call", "works", "text=x"]).run();
    assert!(ran.stderr().contains("edited by hand"), "{}", ran.shown());
    assert_eq!(ran.code, Some(7));
    // The edit is denied, and lies aside.
    assert!(place.evolve(&["deny", "works"]).stdout().contains("tools/quarantine/works.json"));
    assert_eq!(place.output(&["works", "text=x"]), "yes\n");

    assert_eq!(place.told(&["pin", "works"])["pinned"], true);
    assert_eq!(place.told(&["show", "works"])["pinned_by"], "ada");
    assert_eq!(place.told(&["unpin", "works"])["pinned"], false);
    // A tool may tell something by its failures, as one that runs tests does.
    let pin = "`flyto --evolve tools evolve pin fails` keeps it from being set aside";
    let ran = place.evolving(&["call", "fails"]).run();
    assert!(ran.stderr().contains(pin), "{}", ran.shown());
    let ran = place.evolve(&["restore", "fails"]);
    assert_eq!(ran.stdout(), "fails is in use again, as version 3\n");
    assert!(ran.stderr().contains(pin), "{}", ran.shown());
    assert_eq!(place.evolving(&["call", "fails"]).run().code, Some(1));
    assert_eq!(place.evolving(&["call", "picky", "text=y"]).run().code, Some(0));
    assert_eq!(place.told(&["show", "picky"])["state"], "active");
    let archived = place.told(&["archive", "works"]);
    assert_eq!((&archived["version"], &archived["status"]), (&json!(2), &json!("saved")));
    // What is so already makes no version.
    let again = place.told(&["archive", "works"]);
    assert_eq!((&again["version"], &again["status"]), (&json!(2), &json!("unchanged")));
    assert_eq!(place.evolve(&["archive", "works"]).stdout(), "works is archived already\n");
    let told = place.evolve(&["restore", "picky"]).stdout();
    assert_eq!(told, "picky is in use already, as version 1\n");
    let told = place.evolve(&["rollback", "picky", "1"]).stdout();
    assert!(told.ends_with("picky is at version 1 already, with the text of 1\n"), "{told}");
    let ran = place.evolving(&["call", "works", "text=x"]).run();
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.stderr().contains("`flyto --evolve tools evolve restore works` brings it back"),
        "{}",
        ran.shown()
    );
    let stats = place.told(&["stats", "fails"]);
    assert_eq!(stats["tools"]["fails"]["versions"]["1"]["n_calls"], 3);
    assert!(place.evolve(&["stats"]).stdout().contains("works  1        1      1"));
    for words in [&["show", "nothing"][..], &["history", "nothing"], &["pin", "nothing"]] {
        assert_eq!(place.evolve(words).code, Some(4), "{words:?}");
    }
    assert_eq!(place.evolve(&["rollback", "works", "9"]).code, Some(4));
}

#[test]
fn a_damaged_file_is_told_of_by_the_call_that_sets_it_aside() {
    let place = Place::new();
    place.approved(&definition("t", "echo one\n"), &[]);
    std::fs::write(place.path().join("tools/tools/t.json"), "{").unwrap();
    let ran = place.evolving(&["call", "t", "text=x"]).run();
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(0), "one\n"));
    let told = ran.stderr();
    assert!(
        told.contains("the file of the tool t was damaged (") && told.contains("version 1 of"),
        "{told}"
    );
    // Later calls do not repeat it, and lists do until the file is removed.
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().stderr(), "");
    let document = place.told(&["list"]);
    let file = document["set_aside"][0].as_str().unwrap();
    for words in [&["list"][..], &["list", "--problems"], &["evolve", "list"]] {
        let told = place.evolving(words).run().stderr();
        assert!(
            told.contains("set aside since damaged: ") && told.contains(".unusable."),
            "{told}"
        );
    }
    std::fs::remove_file(file).unwrap();
    assert_eq!(place.told(&["list"])["set_aside"], json!([]));
}

#[test]
fn what_happened_is_listed_and_verified() {
    let place = Place::new();
    assert_eq!(place.evolve(&["events", "--verify"]).code, Some(4));
    place.approved(&definition("t", "echo one\n"), &[]);
    place.approved(&definition("other", "echo two\n"), &[]);
    place.told(&["archive", "t"]);
    let events = place.told(&["events", "t"])["events"].as_array().unwrap().clone();
    let names: Vec<_> = events.iter().map(|it| it["event"].as_str().unwrap()).collect();
    let approved = ["proposed", "staged", "begin", "end", "registered"];
    assert_eq!(names, [&approved[..], &["begin", "end"]].concat());
    let list = place.evolve(&["events", "--limit", "2"]);
    assert!(list.stdout().contains("save, begin  t     ada  "), "{}", list.shown());
    assert!(list.stderr().contains("there are older events"), "{}", list.shown());
    let verified = place.told(&["events", "--verify"]);
    assert_eq!(verified["intact"], true);
    let head = verified["head"].as_str().unwrap();
    assert_eq!(place.evolve(&["events", "--verify", "--head", head]).code, Some(0));
    // One byte of one record.
    let dir = place.path().join("tools/events");
    let log = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    let log = log.max_by_key(|it| it.metadata().unwrap().len()).unwrap();
    let text = std::fs::read_to_string(&log).unwrap().replacen("ada", "bob", 1);
    std::fs::write(&log, text).unwrap();
    assert_eq!(place.evolve(&["events", "--verify"]).code, Some(8));
}

#[test]
fn names_of_others_are_protected() {
    let place = Place::with_tools(&[("t", "echo", "")]);
    let tools = r#"[{"name": "taken", "description": "x", "exec": ["true"]}]"#;
    place.write("tools.json", tools);
    for (name, part) in [
        ("Bash", "Bash"),
        ("bash", "could be taken for \"Bash\""),
        ("create_tool", "flyto evolve"),
        ("taken", "tools.json"),
    ] {
        place.write("proposal.json", &definition(name, "date\n"));
        let words = ["--exec-tools", "tools.json", "evolve", "propose", "proposal.json"];
        let ran = place.evolving(&words).run();
        assert_eq!(ran.code, Some(5), "{name}: {}", ran.shown());
        assert!(ran.stderr().contains(part), "{name}: {}", ran.shown());
    }
    // A broken definition is drawn with its place in the file.
    place.write("proposal.json", &definition("a b", "date\n"));
    let ran = place.evolve(&["propose", "proposal.json"]);
    assert_eq!(ran.code, Some(3));
    let told = ran.stderr();
    assert!(told.contains("F0402") && told.contains("proposal.json:1:"), "{told}");
    let ran = place.evolving(&["evolve", "propose", "-"]).stdin(b"{").run();
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("stdin:1:"), "{}", ran.shown());
    assert_eq!(place.evolve(&["propose", "nothing.json"]).code, Some(4));
    let error = place.evolve(&["propose", "proposal.json", "--format", "json"]).json_error();
    assert_eq!(error["error"]["kind"], "invalid");
    for words in [&["explain", "F0402"][..], &["explain", "F0409"]] {
        assert_eq!(place.flyto(words).run().code, Some(0));
    }
}

#[test]
fn agents_propose_through_the_same_gates() {
    let place = Place::new();
    let new = json!({"name": "hello", "description": "Greets.", "script": "echo hello\n"});
    let create = |input: &Value| {
        place.evolving(&["call", "create_tool", "--json", &input.to_string()]).run()
    };
    let ran = create(&new);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout().contains("tools evolve approve hello-"), "{}", ran.shown());
    let bad = json!({"name": "bad", "description": "x", "script": format!("echo {TOKEN}\n")});
    let ran = create(&bad);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(ran.stdout().contains("what to do: ") && !holds(&bytes_below(place.path()), TOKEN));

    // A job reads its input from a file, which has no secret once its call is under way.
    let words = ["call", "create_tool", "--background", "--json", &bad.to_string()];
    let ran = place.evolving(&words).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let ran = place.evolving(&["jobs", "result", ran.stdout().trim(), "--wait"]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(!holds(&bytes_below(place.path()), TOKEN));

    let list = place.told(&["list"]);
    let id = list["pending"][0]["id"].as_str().unwrap();
    let ran = place.evolve(&["deny", id, "--reason", &format!("it has {TOKEN}")]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(!holds(&bytes_below(place.path()), TOKEN));
    assert!(list["pending"][0]["proposed_by"].as_str().unwrap().starts_with("session "));
    place.told(&["approve", "--yes", id]);
    assert_eq!(place.output(&["hello"]), "hello\n");
    assert!(place.output(&["list_tools"]).contains("hello (version 1): Greets."));
    assert!(place.output(&["search_tools", "query=greets"]).contains("hello"));
    let update = json!({"base_version": 1, "name": "hello", "description": "Greets.", "script": "echo hi\n"});
    let ran = place.evolving(&["call", "update_tool", "--json", &update.to_string()]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    // Where no store is used, agents are offered none of this.
    let ran = place.flyto(&["call", "list_tools"]).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
}

#[test]
fn a_project_neither_names_a_store_nor_switches_one_off() {
    let place = Place::new();
    place.approved(&definition("t", "echo ran\n"), &[]);
    let config = json!({"evolve": {"dir": place.path().join("tools")}}).to_string();
    place.write(".flyto/config.json", &config);
    let ran = place.flyto(&["call", "t", "text=x"]).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    assert!(ran.stderr().contains("\"evolve.dir\" of an untrusted project"), "{}", ran.shown());
    place.write("home/.config/flyto/config.json", &config);
    place.write(".flyto/config.json", r#"{"evolve": {"enabled": false}}"#);
    let ran = place.flyto(&["call", "t", "text=x"]).run();
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(0), "ran\n"), "{}", ran.shown());
    // The operator does both.
    place.write("home/.config/flyto/config.json", r#"{"evolve": {"enabled": false}}"#);
    assert_eq!(place.flyto(&["evolve", "list"]).run().code, Some(5));
    place.evolving(&["call", "t", "text=x"]).check(expect![[r#"
        exit code 0
        -- stdout
        ran
        -- stderr
        DIR/.flyto/config.json: "evolve.enabled" of an untrusted project is left out: it can only narrow; `flyto --evolve tools list --problems` shows it
    "#]]);
}

#[test]
fn a_store_below_the_home_directory_is_used_once_it_is_there() {
    let place = Place::new();
    place.write("proposal.json", &definition("t", "echo ran\n"));
    let ran = place.flyto(&["evolve", "propose", "proposal.json", "--format", "json"]).run();
    let id = ran.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(place.flyto(&["evolve", "approve", "--yes", &id]).run().code, Some(0));
    assert!(place.exists("home/.flyto/evolution/tools/t.json"));
    assert_eq!(place.flyto(&["call", "t", "text=x"]).run().stdout(), "ran\n");
    // A file of an older program, which no person approved here, is not called.
    place.write("home/.flyto/evolution/tools/old.json", &definition("old", "echo old\n"));
    assert_eq!(place.flyto(&["call", "old", "text=x"]).run().code, Some(4));
    let told = place.flyto(&["list"]).run().stderr();
    assert!(
        told.contains("the file of the tool old has no approved version in the history"),
        "{told}"
    );
    let list = place.flyto(&["evolve", "list", "--format", "json"]).run().json();
    let id = list["unapproved"][0]["id"].as_str().unwrap();
    assert_eq!(place.flyto(&["evolve", "approve", "--yes", id]).run().code, Some(0));
    assert_eq!(place.flyto(&["call", "old", "text=x"]).run().stdout(), "old\n");
}

#[cfg(target_os = "linux")]
/// The words of a command line in which some are between single quotes.
fn words(line: &str) -> Vec<String> {
    let mut res = vec![String::new()];
    for (index, part) in line.split('\'').enumerate() {
        let is_quoted = index % 2 == 1;
        let pieces = if is_quoted { vec![part] } else { part.split(' ').collect() };
        for (index, piece) in pieces.into_iter().enumerate() {
            match res.last_mut() {
                Some(last) if index == 0 => last.push_str(piece),
                _ => res.push(piece.to_owned()),
            }
        }
    }
    res
}

#[test]
fn the_readme_shows_what_happens() {
    let readme = include_str!("../../../../README.md");
    let section = readme.split("\n## ").find(|it| it.starts_with("Tools that the agent writes"));
    let block = |kind: &str| {
        let rest = section.unwrap().split_once(&format!("```{kind}\n")).unwrap().1;
        rest.split_once("```").unwrap().0
    };
    let place = Place::new();
    place.write("first_words.json", block("json"));
    let mut n_commands = 0;
    for command in block("console").split("$ ").filter(|it| !it.is_empty()) {
        let (line, expected) = command.split_once('\n').unwrap();
        let words = words(line);
        assert_eq!(words[0], "flyto");
        let words: Vec<_> = words[1..].iter().map(String::as_str).collect();
        let ran = place.flyto(&words).run();
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.shown());
        if !expected.is_empty() {
            assert_eq!(ran.stdout(), expected, "{line}");
        }
        n_commands += 1;
    }
    assert_eq!(n_commands, 5);
}

#[test]
fn a_call_of_a_tool_that_is_not_loaded_says_why() {
    let place = Place::new();
    place.approved(&definition("old", "echo yes\n"), &[]);
    std::fs::write(place.path().join("tools/history/old/000001.json"), "{}").unwrap();
    std::fs::remove_file(place.path().join("tools/tools/old.json")).unwrap();
    place.write("tools/tools/new.json", &definition("new", "date\n"));
    for (name, part) in [
        ("old", "tools/history/old/000001.json cannot be used: "),
        (
            "new",
            "the file of the tool new has no approved version in the history: `flyto --evolve tools evolve approve new-",
        ),
    ] {
        let ran = place.evolving(&["call", name, "text=x"]).run();
        assert_eq!(ran.code, Some(4), "{}", ran.shown());
        assert!(ran.stderr().contains(part), "{}", ran.shown());
    }
}
