//! A person at a terminal decides about tools that agents write.

use serde_json::json;

use crate::evolve::definition;
use crate::live;
use crate::place::Place;
use crate::terminal::{check_clean, hostile};

/// Runs a command at a terminal, answers its question, and gives the exit code and what was shown.
fn answered(place: &Place, words: &[&str], answer: &str) -> (Option<i32>, String) {
    answered_with(place, words, answer, &[])
}

/// The same with these variables.
fn answered_with(
    place: &Place,
    words: &[&str],
    answer: &str,
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    let words = [&["--color", "never"], words].concat();
    let flyto = place.evolving(&words).command(|it| _ = it.envs(variables.iter().copied()));
    let mut question = "later (L) ";
    let mut dialogue = Vec::new();
    for line in answer.split_inclusive('\n') {
        dialogue.push((question, line));
        question = if line == "deny\n" { "reason: " } else { "later (L) " };
    }
    live::answered(flyto, 100, "s\n", &dialogue)
}

const PROPOSE: &[&str] = &["evolve", "propose", "t.json"];

#[test]
fn a_person_saves_what_was_shown() {
    let place = Place::new();
    place.write("t.json", &definition("t", "echo \"$GITHUB_TOKEN\" # \u{202e}\n"));
    let (code, seen) = answered(&place, PROPOSE, "s\n");
    assert_eq!(code, Some(0), "{seen}");
    for part in [
        "t(text: string), new -> version 1\n",
        "+echo \"$GITHUB_TOKEN\" # \\u{202e}\n",
        "commands: echo\n",
        "variables read: GITHUB_TOKEN\n",
        "! direction character U+202E in /script, line 1\n",
        "examples: none\n",
    ] {
        assert!(seen.contains(part), "{part:?}: {seen}");
    }
    assert!(!seen.contains('\u{202e}') && seen.ends_with("t is saved as version 1\n"), "{seen}");
    // An update is shown as what it changes.
    place.write("t.json", &definition("t", "echo no token\n"));
    let (code, seen) = answered(&place, &[PROPOSE, &["--base", "1"]].concat(), "save\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("version 1 -> version 2\n") && !seen.contains("+Does"), "{seen}");
    assert!(
        seen.contains("\n-echo \"$GITHUB_TOKEN\"") && seen.contains("\n+echo no token\n"),
        "{seen}"
    );
}

#[test]
fn what_is_no_clear_yes_is_none() {
    let place = Place::new();
    place.write("t.json", &definition("t", "echo ran\n"));
    let (code, seen) = answered(&place, PROPOSE, "d it does too little\n");
    assert_eq!(code, Some(5), "{seen}");
    assert!(seen.contains("denied: it does too little"), "{seen}");
    let (code, seen) = answered(&place, PROPOSE, "deny\nnot now\n");
    assert_eq!(code, Some(5), "{seen}");
    assert!(seen.contains("reason: ") && seen.contains("denied: not now"), "{seen}");
    // What is no answer is asked again, and then waits. "Once" is none: this process ends with its command.
    assert!(!seen.contains("once"), "{seen}");
    let (code, seen) = answered(&place, PROPOSE, "y\nonce\no\n");
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(seen.matches("later (L) ").count(), 3, "{seen}");
    assert!(seen.contains(" waits\n"), "{seen}");
    let ran = place.evolving(&["call", "t", "text=x"]).run();
    assert_eq!(ran.code, Some(4), "{}", ran.shown());
    // A sentence that begins as an answer does is none.
    let sentences = "save nothing - this is bad\ns it?\nlater, maybe\n";
    let (code, seen) = answered(&place, &["evolve", "approve", "t"], sentences);
    assert_eq!((code, seen.matches("later (L) ").count()), (Some(0), 3), "{seen}");
    assert!(seen.contains(" waits\n") && !seen.contains("is saved"), "{seen}");
    let (code, seen) = answered(&place, &["evolve", "approve", "t"], "n\n");
    assert_eq!((code, seen.matches("later (L) ").count()), (Some(0), 1), "{seen}");
    // The end of the input is no answer either. Then it is approved by its name.
    let (code, seen) = answered(&place, &["evolve", "approve", "t"], "\u{4}");
    assert_eq!(code, Some(0), "{seen}");
    let (code, seen) = answered(&place, &["evolve", "approve", "t"], " Save \n");
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().stdout(), "ran\n");
}

#[test]
fn a_person_edits_what_was_proposed() {
    let place = Place::new();
    let temp = place.path().join("temp");
    std::fs::create_dir(&temp).unwrap();
    let temp = ("TMPDIR", temp.to_str().unwrap());
    place.write("t.json", &definition("t", "echo ran\n"));
    // Nothing was changed, then the editor fails, then the text is another one, which is checked and shown again.
    let (code, seen) = answered_with(&place, PROPOSE, "e\nl\n", &[temp, ("EDITOR", "true")]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("edit (e), ") && seen.contains("nothing was changed\n"), "{seen}");
    let editor = ("VISUAL", "exit 3; true");
    let (_, seen) = answered_with(&place, PROPOSE, "e\nl\n", &[temp, editor]);
    assert!(seen.contains("the text could not be edited: the editor ended with "), "{seen}");
    let editor = ("VISUAL", "test -t 0 && test -t 1 && sed -i s/ran/edited/");
    let (code, seen) = answered_with(&place, PROPOSE, "e\ns\n", &[temp, editor]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("edited by a person in this decision\n"), "{seen}");
    assert!(seen.contains("+echo ran") && seen.contains("+echo edited"), "{seen}");
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().stdout(), "edited\n");
    // An edit goes through all checks, and leaves no file behind.
    let words = [PROPOSE, &["--base", "1"]].concat();
    let editor = ("VISUAL", "sed -i 's/echo ran/echo $(/'");
    let (code, seen) = answered_with(&place, &words, "e\nl\n", &[temp, editor]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("the edited text is refused: bash cannot read the text"), "{seen}");
    assert!(!place.evolving(&["evolve", "list"]).run().stdout().contains("$("), "{seen}");
    // What was refused is there for the next edit.
    let editor = ("VISUAL", "sed -i 's/echo $(/echo mended/; t; s/echo ran/echo $(/'");
    let (code, seen) = answered_with(&place, &words, "e\ne\ns\n", &[temp, editor]);
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().stdout(), "mended\n");
    assert_eq!(std::fs::read_dir(temp.1).unwrap().count(), 0);
}

#[test]
fn a_proposed_tool_is_called_in_the_same_process() {
    let place = Place::new();
    place.write("t.json", &definition("t", "echo \"<$TOOL_INPUT_TEXT>\"\n"));
    let words = [PROPOSE, &["--call", r#"{"text": "a b"}"#]].concat();
    // Once: nothing is there afterwards.
    let (code, seen) = answered(&place, &words, "o\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("only for this call (o)") && seen.contains("<a b>"), "{seen}");
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().code, Some(4));
    // What waits was not called.
    let (code, seen) = answered(&place, &words, "l\n");
    assert_eq!(code, Some(5), "{seen}");
    assert!(seen.contains("waits, so nothing was called") && !seen.contains("<a b>"), "{seen}");
    let (code, seen) = answered(&place, &words, "s\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("t is saved as version 1") && seen.contains("<a b>"), "{seen}");
    assert_eq!(place.evolving(&["call", "t", "text=x"]).run().stdout(), "<x>\n");
    // Without a call, there is nothing that could be let run once.
    place.write("t.json", &definition("other", "echo other\n"));
    let (_, seen) = answered(&place, PROPOSE, "o\nl\n");
    assert!(!seen.contains("(o)") && seen.contains("waits"), "{seen}");
}

#[test]
fn an_input_that_does_not_fit_is_told_before_the_question() {
    let place = Place::new();
    place.write("t.json", &definition("t", "echo hello\n"));
    // Before a person is asked.
    let ran = place.evolving(&[PROPOSE, &["--call", "{"]].concat()).run();
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(2), ""), "{}", ran.shown());
    assert!(ran.stderr().contains("--call is not usable JSON"), "{}", ran.shown());
    let ran = place.evolving(&[PROPOSE, &["--call", ""]].concat()).run();
    assert!(ran.stderr().contains("or leave --call out"), "{}", ran.shown());
    let ran = place.evolving(&[PROPOSE, &["--call", "{}"]].concat()).run();
    assert_eq!((ran.code, ran.stdout().as_str()), (Some(3), ""), "{}", ran.shown());
    assert!(ran.stderr().contains("invalid input: /text: expected a string"), "{}", ran.shown());
    assert!(place.told(&["list"])["pending"].as_array().unwrap().is_empty());
    let ran = place.evolving(&["evolve", "propose", "-", "--call", "-"]).run();
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
}

#[test]
fn a_proposal_of_an_agent_is_asked_about_in_its_call() {
    let place = Place::new();
    let input =
        json!({"name": "t", "description": "Greets.", "script": "echo hello\n"}).to_string();
    let (code, seen) = answered(&place, &["call", "create_tool", "--json", &input], "s\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("proposed by session ") && seen.contains("+echo hello"), "{seen}");
    assert!(seen.contains("is saved as version 1 and can be called now"), "{seen}");
    assert_eq!(place.evolving(&["call", "t"]).run().stdout(), "hello\n");
}

#[test]
fn no_text_of_a_proposal_acts_on_a_terminal() {
    let place = Place::new();
    let hostile = hostile();
    let text = json!({
        "name": "t", "description": hostile, "rationale": hostile, "execution_type": "script",
        "script": format!("echo '{hostile}'\n"), "tags": ["a"],
        "input_schema": {"type": "object", "properties": {"a": {"type": "string", "description": hostile}}},
    });
    let id = place.staged(&text.to_string(), &[]);
    let ways: [&[&str]; 9] = [
        &["evolve", "show", &id],
        &["evolve", "list"],
        &["list"],
        &["evolve", "approve", "--yes", &id],
        &["evolve", "show", "t"],
        &["evolve", "history", "t"],
        &["show", "t"],
        &["evolve", "show", &hostile],
        &["evolve", "diff", "t", "1", "1"],
    ];
    for way in ways {
        for options in [&["--color", "never"][..], &["--color", "always"]] {
            let ran = place.evolving(&[options, way].concat()).run();
            let what: Vec<String> = way.iter().map(ToString::to_string).collect();
            check_clean(&what, &ran.stdout(), options[1] == "always");
            check_clean(&what, &ran.stderr(), options[1] == "always");
        }
    }
}

#[test]
fn no_line_of_a_description_passes_for_a_fact() {
    let place = Place::new();
    let text = json!({
        "name": "t", "execution_type": "script", "script": "echo hello\n",
        "description": "Prints  f.\n\nversion     9, active\nsha256      0000\napproved    by root",
    });
    place.approved(&text.to_string(), &[]);
    let shown = expect_test::expect![[r#"
        t()

        Prints f.
          |
          | version     9, active
          | sha256      0000
          | approved    by root

    "#]];
    let page = place.evolve(&["show", "t"]).stdout();
    let end = page.find("\nversion").unwrap_or_else(|| panic!("{page}"));
    shown.assert_eq(&page[..=end]);
    assert!(page[end..].starts_with("\nversion     1, active"), "{page}");

    let page = place.evolving(&["show", "t"]).run().stdout();
    let end = page.find("\nfrom").unwrap_or_else(|| panic!("{page}"));
    let shown = expect_test::expect![[r#"
        t

        Prints f.
          |
          | version     9, active
          | sha256      0000
          | approved    by root

    "#]];
    shown.assert_eq(&page[..=end]);
}
