//! Texts without a known meaning.

use flyto_plugin::ToolDef;
use proptest::prelude::*;
use serde_json::json;

use crate::{Host, uses_shell};

/// Reads a text, and looks at what comes of it.
fn check(text: &str) {
    let schema = json!({"type": "object", "properties": {"x": {}, "ü": {}}});
    match ToolDef::template("t", text, schema) {
        Ok(def) => {
            let shell = uses_shell(&def);
            let words = Host::new().words(def, json!({"x": "v1", "ü": "v2"}));
            let is_code = words.starts_with("\"sh\"\n\"-c\"\n");
            assert!(if shell { is_code } else { words.starts_with('"') }, "{text:?}: {words}");
        }
        Err(err) => {
            // The place is one of the text, and of whole characters.
            assert!(text.get(err.span()).is_some(), "{text:?}: {err}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        check(&text);
    }

    #[test]
    fn any_shell_text_is_read_or_refused(
        text in "([a-z ]|[$`\\\\'\"{}()|&;<>#~=*?\\[\n]|\\{\\{x\\}\\}|\\{\\{ü\\}\\}|\\$\\(|é|字|sh -c|env|find|-exec|--){0,14}"
    ) {
        check(&text);
    }
}

#[test]
fn texts_that_are_large_or_deep_are_read_in_time_or_refused() {
    let n = 30_000;
    for piece in
        ["$(", "${", "$((", "{{", "{{x", "{", "(", "'", "\"", "\"$(", "\\", "a ", "$(a ", "#", "\n"]
    {
        check(&format!("p {}", piece.repeat(n)));
    }
    for piece in ["env ", "find -exec ", "node --a ", "sh ", "awk ", "sh -c ", "A=1 ", "if "] {
        check(&piece.repeat(n));
        check(&format!("p {}", piece.repeat(n)));
    }
    check(&format!("p {}{}", "$(a ".repeat(32), ")".repeat(32)));
    check(&format!("p {}{}", "$(a ".repeat(33), ")".repeat(33)));
    let many: String = (0..20_000).map(|it| format!(" {{{{n{it}}}}}")).collect();
    check(&format!("p{many}"));
}
