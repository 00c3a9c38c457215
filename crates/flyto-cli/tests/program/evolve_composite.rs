//! Tools that agents compose of others: each step is a call of its own, through all stages of the host.

use serde_json::{Value, json};

use crate::place::{Place, Ran};
use crate::serve::running::{TREE, fifo, lines, survivors, watched};

/// Appends a line to the file `log`, and fails for `c`.
const STEP: &str = "echo \"do $TOOL_INPUT_TEXT\" >>log; [ \"$TOOL_INPUT_TEXT\" != c ]\n";

pub(crate) fn place() -> Place {
    let place = Place::new();
    for (name, script) in [("do_it", STEP), ("undo_it", "echo \"undo $TOOL_INPUT_TEXT\" >>log\n")] {
        approve(&place, &crate::evolve::definition(name, script));
    }
    let allow = json!({"permissions": {"allow": ["do_it", "undo_it"]}});
    place.write("home/.config/flyto/config.json", &allow.to_string());
    place
}

pub(crate) fn approve(place: &Place, text: &str) {
    let id = place.staged(text, &["--distinct-because", "a test"]);
    let ran = place.evolving(&["evolve", "approve", "--yes", &id]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
}

/// Four steps, of which the third may fail.
pub(crate) fn composite(name: &str) -> String {
    let step = |id: &str| {
        let with = json!({"text": id});
        let mut step = json!({"id": id, "tool": "do_it", "with": with, "on_error": "undo"});
        step["undo"] = json!({"tool": "undo_it", "with": {"text": id}});
        step
    };
    let chain = |id: &str, after: &str| {
        let mut step = step(id);
        step["after"] = json!([after]);
        step
    };
    json!({
        "name": name, "description": "Does four things, or none.", "execution_type": "composite",
        "composite": {"steps": [step("a"), chain("b", "a"), chain("c", "b"), chain("d", "c")]},
    })
    .to_string()
}

#[test]
fn steps_go_through_the_host_and_are_undone_in_reverse() {
    let place = place();
    approve(&place, &composite("all_or_none"));
    let ran = place.evolving(&["call", "all_or_none", "--format", "json"]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    assert_eq!(log, "do a\ndo b\ndo c\nundo b\nundo a\n");
    let shown = ran.shown();
    assert!(shown.contains("undone: b, a") && shown.contains("d: not run"), "{shown}");

    // Each step is recorded as a call within that of the composite.
    let log = place.flyto(&["audit", "export"]).run().stdout();
    let records: Vec<Value> = log.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let begun = |tool: &str| -> Vec<&Value> {
        records.iter().filter(|it| it["body"]["tool"] == tool).collect()
    };
    let parent = &begun("all_or_none")[0]["id"];
    assert!(parent.is_string(), "{log}");
    let steps: Vec<_> = begun("do_it").into_iter().chain(begun("undo_it")).collect();
    assert_eq!(steps.len(), 5);
    for it in steps {
        assert_eq!((&it["body"]["parent"], &it["body"]["caller"]), (parent, &json!("agent")));
    }
}

#[test]
fn a_step_that_is_denied_stays_denied_within() {
    let place = place();
    approve(&place, &composite("all_or_none"));
    let deny = json!({"permissions": {"allow": ["do_it"], "deny": ["undo_it"]}});
    place.write("home/.config/flyto/config.json", &deny.to_string());
    let ran = place.evolving(&["call", "all_or_none"]).run();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(ran.stdout().contains("not undone: b: "), "{}", ran.shown());
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    assert_eq!(log, "do a\ndo b\ndo c\n");
}

#[test]
fn a_composite_is_never_safer_than_its_steps() {
    let place = place();
    let claim = composite("claim").replacen("\"name\"", "\"read_only\":true,\"name\"", 1);
    place.write("claim.json", &claim);
    let ran = place.evolving(&["evolve", "propose", "claim.json"]).run();
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("read_only"), "{}", ran.shown());
    let unknown = composite("unknown").replace("\"undo_it\"", "\"nothing\"");
    place.write("unknown.json", &unknown);
    let ran = place.evolving(&["evolve", "propose", "unknown.json"]).run();
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    assert!(ran.stderr().contains("nothing"), "{}", ran.shown());
}

#[test]
fn a_composite_whose_tools_changed_waits_for_a_person() {
    let place = place();
    let steps = json!({"steps": [{"id": "a", "tool": "do_it", "with": {"text": "a"}}]});
    let def = json!({"name": "one", "description": "Does one thing.", "execution_type": "composite", "composite": steps});
    approve(&place, &def.to_string());
    assert_eq!(place.evolving(&["call", "one"]).run().code, Some(0));
    // Another text for the step.
    let next = crate::evolve::definition("do_it", "echo \"done $TOOL_INPUT_TEXT\" >>log\n");
    let id = place.staged(&next, &["--base", "1", "--distinct-because", "a test"]);
    place.told(&["approve", "--yes", &id]);
    let ran = place.evolving(&["call", "one"]).run();
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    assert!(ran.stderr().contains("tools that it calls changed: do_it"), "{}", ran.shown());
    assert_eq!(std::fs::read_to_string(place.path().join("log")).unwrap(), "do a\n");
    for words in [&["list"][..], &["list", "--problems"]] {
        let told = place.evolving(words).run().stderr();
        assert!(
            told.contains("the tool one needs review, since tools that it calls changed (do_it)"),
            "{told}"
        );
    }
    let list = place.evolve(&["list"]).stdout();
    assert!(list.contains("needs_review") && list.contains("a change of do_it"), "{list}");
    let shown = place.told(&["show", "one"]);
    assert_eq!(
        (&shown["state"], &shown["changed_tools"]),
        (&json!("needs_review"), &json!(["do_it"]))
    );
    // The text is approved again by its id, which holds for the tools that were shown with it, and runs.
    let id =
        |place: &Place| place.told(&["list"])["needs_review"][0]["id"].as_str().unwrap().to_owned();
    let first = id(&place);
    let review = place.evolve(&["show", &first]).stdout();
    for part in [
        "the text is that of version 1:\n\ncomposite:\n {\n",
        "! calls do_it, sha256 ",
        "changed since version 1 was approved\n\nscript of do_it:\n@@ -1 +1 @@\n-echo \"do ",
    ] {
        assert!(review.contains(part), "{review}");
    }
    let next = crate::evolve::definition("do_it", "echo \"is done $TOOL_INPUT_TEXT\" >>log\n");
    let step = place.staged(&next, &["--base", "2", "--distinct-because", "a test"]);
    place.told(&["approve", "--yes", &step]);
    assert_eq!(place.evolve(&["approve", "--yes", &first]).code, Some(4));
    let id = id(&place);
    assert!(id != first && place.evolve(&["show", &id]).stdout().contains("calls do_it, sha256 "));
    assert_eq!(place.told(&["approve", "--yes", &id])["version"], 2);
    assert_eq!(place.told(&["show", "one"])["change"]["kind"], "reviewed");
    assert_eq!(place.evolving(&["call", "one"]).run().code, Some(0));
    // One that is brought back is not said to run where it does not.
    assert_eq!(place.evolve(&["archive", "one"]).code, Some(0));
    let last = crate::evolve::definition("do_it", "echo \"was done $TOOL_INPUT_TEXT\" >>log\n");
    let step = place.staged(&last, &["--base", "3", "--distinct-because", "a test"]);
    place.told(&["approve", "--yes", &step]);
    let ran = place.evolve(&["restore", "one"]);
    let told = "the tool one needs review, since tools that it calls changed (do_it): `flyto";
    assert!(ran.stderr().contains(told), "{}", ran.shown());
    assert_eq!(ran.stdout(), "one is in use again, as version 4\n");
    let id = place.told(&["list"])["needs_review"][0]["id"].as_str().unwrap().to_owned();
    place.told(&["approve", "--yes", &id]);
    // What calls a tool is named when the tool goes.
    let ran = place.evolve(&["archive", "do_it"]);
    assert!(ran.stderr().contains("called by one, which refuse their calls"), "{}", ran.shown());
    assert_eq!(place.evolving(&["call", "one"]).run().code, Some(5));
}

#[test]
fn a_composite_whose_step_is_gone_says_so_and_no_more() {
    let place = place();
    approve(&place, &composite("all_or_none"));
    assert_eq!(place.evolve(&["archive", "undo_it"]).code, Some(0));
    let ran = place.evolving(&["call", "all_or_none"]).run();
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    let stderr = ran.stderr();
    assert!(stderr.contains("undo_it") && !stderr.contains("--sandbox"), "{}", ran.shown());
    let restore = format!(
        "`flyto --evolve {}/tools evolve restore undo_it` brings it back",
        place.path().display()
    );
    assert!(stderr.contains(&restore), "{}", ran.shown());
    assert_eq!(place.evolve(&["restore", "undo_it"]).code, Some(0));
}

#[test]
fn a_name_that_another_source_takes_is_told() {
    let place = place();
    let steps = json!({"steps": [{"id": "a", "tool": "do_it", "with": {"text": "a"}}]});
    let def = json!({"name": "one", "description": "Does one thing.", "execution_type": "composite", "composite": steps});
    approve(&place, &def.to_string());
    let tools = r#"[{"name": "do_it", "description": "Does something else.", "exec": ["true"]}]"#;
    place.write("tools.json", tools);
    let call = |name: &str| place.evolving(&["--exec-tools", "tools.json", "call", name]).run();
    let ran = call("do_it");
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let told = "an evolved tool is left out: failed to register do_it of evolve";
    let remedy = "give that one another name, or leave its source out";
    for part in [told, "tools.json", remedy] {
        assert!(ran.stderr().contains(part), "{}", ran.shown());
    }
    // A composite over it runs none of that name, and sends no reader to an approval.
    let ran = call("one");
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    let stderr = ran.stderr();
    let remedy = "give that one another name or leave its source out";
    for part in ["tools that it calls changed: do_it, which is a tool of", "tools.json", remedy] {
        assert!(stderr.contains(part), "{}", ran.shown());
    }
    assert!(!call("undo_it").stderr().contains("left out"));
}

#[test]
fn a_composite_that_waits_is_not_approved_with_other_tools() {
    let place = place();
    let steps = json!({"steps": [{"id": "a", "tool": "do_it", "with": {"text": "a"}}]});
    let def = json!({"name": "one", "description": "Does one thing.", "execution_type": "composite", "composite": steps});
    let id = place.staged(&def.to_string(), &[]);
    let shown = place.evolve(&["show", &id]).stdout();
    assert!(shown.contains("calls do_it, sha256 ") && !shown.contains("changed since"), "{shown}");
    // Another text for the step, meanwhile.
    let next = crate::evolve::definition("do_it", "echo \"done $TOOL_INPUT_TEXT\" >>log\n");
    place.approved(&next, &["--base", "1", "--distinct-because", "a test"]);
    let shown = place.evolve(&["show", &id]).stdout();
    assert!(shown.contains(", changed since it was proposed"), "{shown}");
    let ran = place.evolve(&["approve", "--yes", &id]);
    assert_eq!(ran.code, Some(5), "{}", ran.shown());
    let stderr = ran.stderr();
    assert!(stderr.contains("tools that it calls changed (do_it)"), "{stderr}");
    assert!(stderr.contains("propose it again"), "{stderr}");
    // Nothing was saved, and it waits still.
    assert_eq!(place.evolving(&["call", "one"]).run().code, Some(4));
    assert_eq!(place.told(&["list"])["pending"][0]["id"], id);
    // Proposed again, it has an id that holds for the tool as it is now.
    let again = place.staged(&def.to_string(), &[]);
    assert_ne!(again, id);
    place.told(&["approve", "--yes", &again]);
    assert_eq!(place.evolving(&["call", "one"]).run().code, Some(0));
    assert_eq!(std::fs::read_to_string(place.path().join("log")).unwrap(), "done a\n");
}

#[test]
fn a_composite_at_the_callers_deadline_ends_its_program_and_tells_what_was_done() {
    let place = place();
    place.plugin("p", &[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let config = json!({
        "plugins": {"enabled": true, "plugin_dirs": [place.path().join("plugins")]},
        "permissions": {"allow": ["do_it", "undo_it", "p:tree"]},
    });
    place.write("home/.config/flyto/config.json", &config.to_string());
    let step = |id: &str, after: &[&str]| json!({"id": id, "tool": "do_it", "with": {"text": id}, "after": after});
    let steps =
        json!([step("a", &[]), {"id": "b", "tool": "p:tree", "after": ["a"]}, step("d", &["b"])]);
    let def = json!({"name": "late", "description": "Waits for ever.", "execution_type": "composite", "composite": {"steps": steps}});
    approve(&place, &def.to_string());

    let child = place.evolving(&["call", "late", "--timeout", "5", "--format", "json"]).start();
    let tree = watched(&lines(&ids, 3));
    let ran = Ran::new(child.wait_with_output().unwrap(), &place);
    assert_eq!(survivors(&tree), 0);
    assert_eq!(ran.code, Some(6), "{}", ran.shown());
    let document = ran.json();
    let steps = document["data"]["steps"].as_array().unwrap().iter();
    let steps: Vec<_> = steps.map(|it| (&it["id"], &it["status"])).collect();
    let step = |id: &str, status: &str| (json!(id), json!(status));
    let expected = [step("a", "done"), step("b", "failed"), step("d", "not_run")];
    assert_eq!(steps, expected.iter().map(|it| (&it.0, &it.1)).collect::<Vec<_>>());
    assert_eq!(std::fs::read_to_string(place.path().join("log")).unwrap(), "do a\n");

    // The call of the program is recorded within that of the composite, with its end.
    let log = place.flyto(&["audit", "export"]).run().stdout();
    let records: Vec<Value> = log.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let of = |tool: &str| {
        let begin = records.iter().find(|it| it["body"]["tool"] == tool).unwrap();
        let end = records.iter().find(|it| it["id"] == begin["id"] && it["event"] == "end");
        (begin, &end.unwrap()["body"])
    };
    let ((whole, whole_end), (program, program_end)) = (of("late"), of("p:tree"));
    assert_eq!(program["body"]["parent"], whole["id"]);
    assert_eq!(program_end["failure"]["kind"], "timed_out");
    assert_eq!((&program_end["confirmed"], &program_end["leaked"]), (&json!(true), &json!(0)));
    assert_eq!(whole_end["failure"], json!({"kind": "timed_out", "after_seconds": 5.0}));
}

#[test]
fn a_composite_without_its_tool_is_shown_with_why_it_is_refused() {
    let place = Place::new();
    approve(
        &place,
        &json!({"name": "part", "description": "A part.", "script": "echo a\n"}).to_string(),
    );
    let steps = json!([{"id": "a", "tool": "part"}]);
    let def = json!({"name": "whole", "description": "The whole.", "execution_type": "composite", "composite": {"steps": steps}});
    approve(&place, &def.to_string());
    place.told(&["archive", "part"]);
    let listed = place.told(&["list"]);
    let id = listed["needs_review"][0]["id"].as_str().unwrap();
    let shown = place.evolve(&["show", id]);
    assert_eq!(shown.code, Some(0), "{}", shown.shown());
    assert!(shown.stdout().contains("The whole."), "{}", shown.shown());
    let told = "it would be refused now: /composite/steps/0/tool: there is no tool \"part\"";
    assert!(shown.stderr().contains(told), "{}", shown.shown());
    let document = place.told(&["show", id]);
    assert_eq!(document["definition"]["name"], "whole", "{document}");
    // The answer that is left: to take it off the list.
    assert_eq!(place.evolve(&["approve", "--yes", id]).code, Some(3));
    assert_eq!(place.evolve(&["deny", id]).code, Some(0));
    assert_eq!(place.told(&["list"])["needs_review"], json!([]));
}

#[test]
fn a_composite_that_asks_for_a_version_that_is_gone_offers_no_answer() {
    let place = Place::new();
    approve(
        &place,
        &json!({"name": "part", "description": "A part.", "script": "echo a\n"}).to_string(),
    );
    let composite = |name: &str| {
        let steps = json!([{"id": name, "tool": "part", "version": 1}]);
        json!({"name": name, "description": format!("The {name}."), "execution_type": "composite", "composite": {"steps": steps}})
            .to_string()
    };
    approve(&place, &composite("whole"));
    let waits = place.staged(&composite("other"), &["--distinct-because", "a test"]);
    place.told(&["archive", "part"]);
    let restored = place.evolve(&["restore", "part"]);
    let told = "the tool whole needs review, since tools that it calls changed (part): it cannot be approved as it is";
    assert!(restored.stderr().contains(told), "{}", restored.shown());
    let why = "cannot be approved as it is: the version of the tool \"part\" is 3, and version 1 is asked for; propose ";
    let listed = place.evolve(&["list"]);
    assert_eq!(listed.stderr().matches(why).count(), 2, "{}", listed.shown());
    assert!(!listed.stderr().contains("approve ID"), "{}", listed.shown());
    assert!(place.evolving(&["list"]).run().stderr().contains("it cannot be approved as it is"));
    let id = place.told(&["list"])["needs_review"][0]["id"].as_str().unwrap().to_owned();
    for id in ["whole", &id] {
        let ran = place.evolve(&["approve", "--yes", id]);
        assert_eq!(ran.code, Some(5), "{}", ran.shown());
        let help = "propose FILE --base 1` proposes it again, and `flyto";
        assert!(ran.stderr().contains(why) && ran.stderr().contains(help), "{}", ran.shown());
    }
    for id in [&id, &waits] {
        let shown = place.evolve(&["show", id]).stderr();
        assert!(shown.contains("write the version that is there, or leave it out"), "{shown}");
    }
}

#[test]
fn a_version_that_was_removed_on_purpose_is_told_no_more() {
    let place = Place::new();
    let def = |n: u8| {
        json!({"name": "part", "description": "A part.", "script": format!("echo {n}\n")})
            .to_string()
    };
    approve(&place, &def(1));
    for n in 2..=3 {
        let id = place
            .staged(&def(n), &["--base", &(n - 1).to_string(), "--distinct-because", "a test"]);
        place.told(&["approve", "--yes", &id]);
    }
    let dir = place.told(&["list"])["dir"].as_str().unwrap().to_owned();
    std::fs::remove_file(std::path::Path::new(&dir).join("history/part/000002.json")).unwrap();
    for verb in [&["list"][..], &["history", "part"]] {
        let told = place.evolve(verb).stderr();
        assert!(
            told.contains("it is gone") && told.contains("evolve forget NAME --gone`"),
            "{told}"
        );
    }
    assert_eq!(
        place.told(&["forget", "part", "--gone"])["versions"],
        json!([{"start": 2, "end": 2}])
    );
    for verb in [&["list"][..], &["history", "part"]] {
        assert!(!place.evolve(verb).stderr().contains("it is gone"));
    }
    assert!(place.evolve(&["events", "part"]).stdout().contains("forgotten"));
    assert_eq!(place.evolve(&["forget", "other", "--gone"]).code, Some(4));
}

#[test]
fn the_guide_shows_a_composite_that_runs() {
    let guide = include_str!("../../../../docs/guide/evolve.md");
    let section = guide.split("\n## ").find(|it| it.starts_with("A composite\n")).unwrap();
    let block = |kind: &str| {
        let rest = section.split_once(&format!("```{kind}\n")).unwrap().1;
        rest.split_once("```").unwrap().0
    };
    let place = Place::new();
    let list = r#"sep='['; for it in "$TOOL_INPUT_DIR"/*; do printf '%s"%s"' "$sep" "$it"; sep=,; done; echo ']'"#;
    let count =
        r#"printf '{"path":"%s","words":%d}' "$TOOL_INPUT_PATH" "$(wc -w <"$TOOL_INPUT_PATH")""#;
    for (name, script) in [
        ("list_texts", list),
        ("count_words", count),
        ("save_text", r#"printf %s "$TOOL_INPUT_TEXT" >"$TOOL_INPUT_PATH""#),
        ("remove_file", r#"rm "$TOOL_INPUT_PATH""#),
        ("publish", "[ ! -e closed ] || exit 9\necho '{\"ok\":true}'"),
    ] {
        let def = json!({"name": name, "description": format!("Is {name}."), "script": script});
        approve(&place, &def.to_string());
    }
    let names = ["list_texts", "count_words", "save_text", "remove_file", "publish"];
    let allow = json!({"permissions": {"allow": names}});
    place.write("home/.config/flyto/config.json", &allow.to_string());
    place.write("texts/a.txt", "one two");
    place.write("texts/b.txt", "three");
    approve(&place, block("json"));
    let call = || place.evolving(&["call", "word_report", "dir=texts"]).run();
    let counts = r#"[{"path":"texts/a.txt","words":2},{"path":"texts/b.txt","words":1}]"#;
    let ran = call();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let told: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let counts: Value = serde_json::from_str(counts).unwrap();
    assert_eq!(told, json!({"counts": counts, "published": "done"}));
    let report = place.path().join("report.txt");
    assert_eq!(std::fs::read_to_string(&report).unwrap(), format!("Words: {counts}\n"));
    // What fails is told as the guide shows it.
    place.write("closed", "");
    let ran = call();
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert_eq!((ran.stdout().as_str(), report.exists()), (block("text"), false));
}
