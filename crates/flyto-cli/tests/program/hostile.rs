//! Plugins and values that mean harm, through the whole program.

use crate::place::Place;

/// Ends every way of quoting, and would make a file if anything of it were run.
const VALUE: &str = "'; touch pwned; $(touch pwned) `touch pwned` \"; touch pwned; {{b}}";

/// A manifest with one template tool.
fn template(command: &str) -> String {
    let command = serde_json::Value::from(command);
    format!(
        r#"{{"name": "t", "version": "1", "description": "x", "tools": [{{"name": "show",
            "description": "Prints its words.", "command": {command}, "parameters": {{
            "type": "object", "properties": {{"a": {{"type": "string"}}, "b": {{"type": "string"}}}},
            "required": ["a", "b"]}}}}]}}"#
    )
}

#[track_caller]
fn check(command: &str, expect: &str) {
    let place = Place::new();
    place.write("plugins/t/plugin.json", &template(command));
    let a = format!("a={VALUE}");
    let ran = place.call(&["t:show", &a, "b=; touch pwned"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(ran.stdout(), expect);
    assert!(!place.exists("pwned") && !place.exists("plugins/t/pwned"));
}

#[test]
fn a_value_within_quotes_of_a_template_is_one_literal_word() {
    let line = format!("<{VALUE}>\n");
    let both = format!("<{VALUE}>\n<x {VALUE} ; touch pwned>\n<{VALUE}>\n");
    // The program itself, without a shell.
    check(r#"printf '<%s>\n' "{{a}}""#, &line);
    check(r"printf '<%s>\n' '{{a}}'", &line);
    check(r#"printf '<%s>\n' {{a}} "x {{a}} {{b}}" '{{a}}'"#, &both);
    // Through a shell, which `$HOME` needs.
    check(r#"printf '<%s>\n' "{{a}}" ${HOME:+}"#, &line);
    check(r#"printf '<%s>\n' {{a}} "x {{a}} {{b}}" '{{a}}' ${HOME:+}"#, &both);
}
