//! The table of codes: complete, readable, and with examples that are what they say.

use flyto_diagnostics::codes::{self, CODES};
use flyto_diagnostics::{At, Code, Findings, ObjectReader, Source, json};

/// Everything that is found in a text that is read as an object with a few keys.
fn findings(text: &str) -> Vec<Code> {
    let source = Source::new("f", text);
    let mut findings = Findings::new();
    if let Ok(value) = findings.take(json::parse(&source)) {
        let at = At::root(&source, &value);
        let _ = at.refuse_duplicate_keys(&mut findings);
        if findings.is_empty() && value.as_object().is_some() {
            read_object(at, &mut findings);
        }
    }
    findings.iter().map(|it| it.code).collect()
}

fn read_object(at: At<'_>, findings: &mut Findings) {
    let mut reader = ObjectReader::new(at, findings).expect("only objects come here");
    reader.also_spelled("timeout_seconds", "timeout_secs");
    for key in ["version", "args", "command", "read_only", "pattern"] {
        reader.allow(key);
    }
    let _ = reader.required_string("name");
    let _ = reader.optional_string("description");
    let _ = reader.optional_one_of("mode", &[("fast", 0), ("exact", 1)]);
    let _ = reader.optional_u64("timeout_seconds");
    reader.finish();
}

/// The indented block that follows a line such as `Wrong:`.
fn example<'a>(explanation: &'a str, head: &str) -> Option<String> {
    let mut lines =
        explanation.lines().skip_while(move |line: &&'a str| *line != head).skip(2).peekable();
    lines.peek()?;
    let block = lines.take_while(|line| line.starts_with("    "));
    Some(block.map(|line| &line[4..]).collect::<Vec<_>>().join("\n"))
}

#[test]
fn wrong_examples_are_wrong_and_right_ones_right() {
    let mut n_wrong = 0;
    for info in CODES {
        if let Some(wrong) = example(info.explanation, "Wrong:") {
            assert!(findings(&wrong).contains(&info.code), "{}: {wrong}", info.code);
            n_wrong += 1;
        }
        if let Some(right) = example(info.explanation, "Right:") {
            let codes = findings(&right);
            // The right form of some syntax errors is a fragment that no object has to be.
            let about = codes
                .iter()
                .filter(|&&code| code != codes::MISSING_KEY && code != codes::UNKNOWN_KEY);
            assert_eq!(about.count(), 0, "{}: {right}: {codes:?}", info.code);
        }
    }
    assert!(n_wrong > 12, "only {n_wrong} examples were found");
}

#[test]
fn a_code_has_one_form() {
    assert_eq!(Code::new("F0123").to_string(), "F0123");
    for text in ["F012", "F01234", "E0123", "F01a3", ""] {
        assert!(std::panic::catch_unwind(|| Code::new(text)).is_err(), "{text:?}");
    }
}
