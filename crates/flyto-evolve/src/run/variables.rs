//! Parameters as variables of bash: `TOOL_INPUT_` and the name in upper case.
//!
//! Whatever a value holds, it is a value: bash expands a variable once and reads nothing of it as code. What cannot be
//! handed over at all is refused before bash starts, by name and size: two parameters with one variable, a name that no
//! variable has, a zero byte, and more than the system takes in one string.

use std::{cmp::Reverse, collections::BTreeMap};

use flyto_execenv::{ExecError, WordsTooLong};
use flyto_program::MAX_ARGUMENT_BYTES;
use flyto_tools::Input;
use serde_json::{Value, value::RawValue};

/// In front of the name of each parameter.
pub(crate) const PREFIX: &str = "TOOL_INPUT_";

/// Why a parameter has no variable of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VariableFault {
    /// The name is empty, or holds what no variable has.
    Impossible { name: String },
    /// Another parameter has the variable.
    Clash { name: String, other: String, variable: String },
}

/// The variable of a parameter; `None` where no variable can have such a name.
///
/// Letters become upper case and `-` becomes `_`, so two parameters can have one variable; that is
/// a fault of the definition.
pub(crate) fn variable_name(parameter: &str) -> Option<String> {
    let is_possible = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
    (!parameter.is_empty() && parameter.bytes().all(is_possible))
        .then(|| format!("{PREFIX}{}", parameter.to_ascii_uppercase().replace('-', "_")))
}

/// The variables of parameters, in their order, or all faults.
pub(crate) fn variable_names<'a>(
    parameters: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<(&'a str, String)>, Vec<VariableFault>> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut res = Vec::new();
    let mut faults = Vec::new();
    for name in parameters {
        let Some(variable) = variable_name(name) else {
            faults.push(VariableFault::Impossible { name: name.to_owned() });
            continue;
        };
        if let Some(other) = seen.insert(variable.clone(), name) {
            let (name, other) = (name.to_owned(), other.to_owned());
            faults.push(VariableFault::Clash { name, other, variable });
            continue;
        }
        res.push((name, variable));
    }
    if faults.is_empty() { Ok(res) } else { Err(faults) }
}

/// The variables of a call: strings as they are, other values as compact JSON. The error is what follows
/// `invalid input: `, and names every parameter that cannot be handed over.
///
/// Numbers have the text that they have in the input, as on standard input: a parsed number is rounded to 64 bits.
pub(crate) fn variables(input: &Input) -> Result<Vec<(String, String)>, String> {
    let Some(map) = input.value().as_object() else {
        return Err(format!("expected an object, found {}", kind_of(input.value())));
    };
    let names = variable_names(map.keys().map(String::as_str)).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(fault_text).collect();
        faults.join("; ")
    })?;
    let mut res = Vec::new();
    let mut faults = Vec::new();
    let texts = if map.values().all(Value::is_string) { BTreeMap::new() } else { texts(input) };
    for (name, variable) in names {
        let value = match (&map[name], texts.get(name)) {
            (Value::String(text), _) => text.clone(),
            (_, Some(text)) => compact(text.get()),
            (other, None) => other.to_string(),
        };
        // The system counts the name, the equals sign and a zero byte as well (execve(2)).
        let most = MAX_ARGUMENT_BYTES - variable.len() - 1;
        if value.contains('\0') {
            faults.push(format!(
                "parameter {name:?} holds a NUL character, which no variable can hold"
            ));
        } else if value.len() > most {
            let n_bytes = value.len();
            faults.push(format!(
                "parameter {name:?} has {n_bytes} bytes, and {variable} can hold at most {most}"
            ));
        } else {
            res.push((variable, value));
        }
    }
    if faults.is_empty() { Ok(res) } else { Err(faults.join("; ")) }
}

/// What follows `invalid input: ` where bash was not started since the parameters are too long together: the largest ones by
/// name and size. `None` where they are not to blame: the larger part of the variables is the host's.
pub(crate) fn too_long(input: &Input, err: &ExecError) -> Option<String> {
    const MAX_NAMED: usize = 3;
    let long = WordsTooLong::of(err)?;
    let WordsTooLong::Together { variable_bytes, .. } = long else { return None };
    let variables = variables(input).ok()?;
    let own: usize = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
    if (own as u64) < variable_bytes / 2 {
        return None;
    }
    let values = variables.iter().map(|(_, value)| value.len());
    let mut sizes: Vec<_> = input.value().as_object()?.keys().zip(values).collect();
    sizes.sort_by_key(|(_, n_bytes)| Reverse(*n_bytes));
    let named = sizes.iter().take(MAX_NAMED);
    let named: Vec<_> =
        named.map(|(name, n_bytes)| format!("{name:?} ({n_bytes} bytes)")).collect();
    let others = match sizes.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!("too long together are the parameters {}{others}: {long}", named.join(", ")))
}

/// The values of an input by name, as they were written.
fn texts(input: &Input) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(input.as_str()).unwrap_or_default()
}

/// JSON without the blanks between its parts.
fn compact(json: &str) -> String {
    let (mut is_in_string, mut is_escaped) = (false, false);
    let mut is_kept = |it: &char| {
        let was_in_string = is_in_string;
        match it {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_in_string,
            '"' => is_in_string = !is_in_string,
            _ => {}
        }
        was_in_string || !matches!(it, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(|it| is_kept(it)).collect()
}

fn fault_text(fault: &VariableFault) -> String {
    match fault {
        VariableFault::Impossible { name } => format!(
            "parameter {:?} cannot be the name of a variable",
            name.chars().take(64).collect::<String>()
        ),
        VariableFault::Clash { name, other, variable } => {
            format!("parameters {other:?} and {name:?} have one variable, {variable}")
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(input: Value, expect: Expect) {
        check_text(&input.to_string(), expect);
    }

    #[track_caller]
    fn check_text(input: &str, expect: Expect) {
        expect.assert_eq(&format!("{:?}", variables(&Input::parse(input).unwrap())));
    }

    #[test]
    fn numbers_keep_their_text() {
        check_text(
            r#"{"n": 123456789012345678901234567890, "p": 1.50, "e": 1E+2, "s": "1.50"}"#,
            expect![[
                r#"Ok([("TOOL_INPUT_N", "123456789012345678901234567890"), ("TOOL_INPUT_P", "1.50"), ("TOOL_INPUT_E", "1E+2"), ("TOOL_INPUT_S", "1.50")])"#
            ]],
        );
        check_text(
            "{\"list\": [ 1.0,\t{\"b\": \"a  \\\"  {\\\\\",\n \"a\" : -0.10} ], \"x\": \" \\u0041\"}",
            expect![[
                r#"Ok([("TOOL_INPUT_LIST", "[1.0,{\"b\":\"a  \\\"  {\\\\\",\"a\":-0.10}]"), ("TOOL_INPUT_X", " A")])"#
            ]],
        );
    }

    #[test]
    fn values_become_variables() {
        check(
            json!({"path": "a b", "dry-run": true, "n": 1.5, "list": [1, "x"], "none": null}),
            expect![[
                r#"Ok([("TOOL_INPUT_PATH", "a b"), ("TOOL_INPUT_DRY_RUN", "true"), ("TOOL_INPUT_N", "1.5"), ("TOOL_INPUT_LIST", "[1,\"x\"]"), ("TOOL_INPUT_NONE", "null")])"#
            ]],
        );
        check(json!({}), expect!["Ok([])"]);
    }

    #[test]
    fn what_no_variable_can_be_is_named() {
        check(json!([1]), expect![[r#"Err("expected an object, found an array")"#]]);
        check(
            json!({"a-b": 1, "A_B": 2, "a.b": 3, "": 4, "ä": 5}),
            expect![[
                r#"Err("parameters \"a-b\" and \"A_B\" have one variable, TOOL_INPUT_A_B; parameter \"a.b\" cannot be the name of a variable; parameter \"\" cannot be the name of a variable; parameter \"ä\" cannot be the name of a variable")"#
            ]],
        );
        check(
            json!({"a": "x\0y", "big": "z".repeat(200_000), "c": ""}),
            expect![[
                r#"Err("parameter \"a\" holds a NUL character, which no variable can hold; parameter \"big\" has 200000 bytes, and TOOL_INPUT_BIG can hold at most 131056")"#
            ]],
        );
    }
}
