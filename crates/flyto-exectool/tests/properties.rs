//! What holds for every file.

use flyto_diagnostics::Source;
use flyto_exectool::{ExecToolDef, codes, load};
use proptest::prelude::*;
use serde_json::{Value, json};

fn definition(name: &str, exec: &[String]) -> Value {
    json!({"name": name, "description": "d", "exec": exec})
}

/// Pieces of which files are made, so that a random file gets further than its first character.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{\"name\":\"a\",\"exec\":[\"b\"]}".to_owned()),
        Just("\"exec\":".to_owned()),
        Just("\"input_schema\":".to_owned()),
        "[\\[\\]{},:\"]",
        "-?[0-9]{1,3}",
        "\"[a-z: _]{0,6}\"",
        "\\PC{0,3}",
    ]
}

proptest! {
    #[test]
    fn every_command_arrives_as_written(
        program in "[^\0]{1,12}",
        args in proptest::collection::vec("[^\0]{0,12}", 0..4),
    ) {
        let exec = [vec![program.clone()], args.clone()].concat();
        let text = definition("a", &exec).to_string();
        let tools = load(&Source::new("t.json", text)).tools.expect("a good definition");
        prop_assert_eq!(tools[0].program().to_str(), Some(program.as_str()));
        let read: Vec<_> = tools[0].args().iter().map(|it| it.to_str().unwrap_or_default()).collect();
        prop_assert_eq!(read, args);
    }

    #[test]
    fn every_text_is_read_or_refused_with_a_reason(pieces in proptest::collection::vec(piece(), 0..12)) {
        let loaded = load(&Source::new("t.json", pieces.concat()));
        prop_assert_eq!(loaded.tools.is_none(), loaded.findings.has_errors());
    }

    #[test]
    fn file_and_constructor_agree_about_names(name in "[a-z: _\u{7f}\u{2003}ü]{0,6}") {
        let exec = ["b".to_owned()];
        let source = Source::new("t.json", definition(&name, &exec).to_string());
        let loaded = load(&source);
        prop_assert_eq!(loaded.tools.is_some(), ExecToolDef::new(name, exec.iter()).is_ok());
        // What is suggested instead of a bad name is a good one.
        for finding in loaded.findings.iter().filter(|it| it.code == codes::BAD_NAME) {
            if let Some(suggestion) = &finding.suggestion {
                let mut text = source.text().to_owned();
                text.replace_range(suggestion.span.range(), &suggestion.replacement);
                prop_assert!(load(&Source::new("t.json", text)).tools.is_some());
            }
        }
    }
}
