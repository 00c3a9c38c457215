//! What a definition must fulfil: one that is in a store, and one that an agent proposes.
//!
//! A fault knows its place as a JSON Pointer; the reader makes a finding of it, with line and column. All faults are told, so
//! that an agent mends them in one go.
//!
//! | place | what is looked at |
//! | --- | --- |
//! | `/name` | the characters that every model API takes, length, `__`, path characters |
//! | `/description`, `/rationale`, `/tags` | that there is a description; their lengths |
//! | `/input_schema` | that it is an object schema that compiles, within the bounds of the schema checker |
//! | `/script`, `/command`, `/composite` | that there is a text, without NUL, short enough; placeholders; the declaration |
//! | parameters | that each has a variable of its own |
//! | `/examples` | that their inputs fit the schema |

use std::collections::BTreeSet;

use flyto_diagnostics::{Code, closest, quoted};
use flyto_tools::{SchemaChecker, compile};
use serde_json::Value;

use super::{
    Body, MAX_DESCRIPTION_BYTES, MAX_EXAMPLES, MAX_PARAMETERS, MAX_RATIONALE_BYTES,
    MAX_SCRIPT_BYTES, MAX_TAGS, MAX_TIMEOUT, ToolDefinition, name,
};
use crate::{
    codes,
    run::{
        TemplateFault, VariableFault, length_fault, option_fault, render, variable_name,
        variable_names,
    },
};

/// One thing that is wrong, at a place of the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    /// JSON Pointer into the definition.
    pub(crate) pointer: String,
    pub(crate) what: String,
    pub(crate) help: Option<String>,
    /// What could stand there instead, as JSON.
    pub(crate) instead: Option<String>,
}

impl Fault {
    /// A fault without advice.
    pub(crate) fn new(code: Code, pointer: &str, what: impl Into<String>) -> Self {
        Self { code, pointer: pointer.to_owned(), what: what.into(), help: None, instead: None }
    }

    /// Sets what to write instead.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// What keeps any definition from being a tool, also one that was made elsewhere.
///
/// A store made by another program is read with these rules alone: names may be wider, and parts
/// longer, than an agent may propose.
pub(crate) fn faults(def: &ToolDefinition) -> Vec<Fault> {
    let mut res = Vec::new();
    if let Some(why) = name::tool_name_fault(&def.name) {
        res.push(name_fault(&def.name, why));
    }
    if def.description.trim().is_empty() {
        let what = "the description is empty, and a model chooses tools by theirs";
        res.push(
            Fault::new(codes::BAD_NAME, "/description", what)
                .help("say what the tool does and what it returns"),
        );
    }
    schema(&def.input_schema, &mut res);
    body(def, &mut res);
    if def.timeout_seconds > MAX_TIMEOUT.as_secs() {
        let what = format!(
            "a call may take 600 seconds at most, and {} are asked for",
            def.timeout_seconds
        );
        res.push(Fault::new(codes::TOO_LARGE, "/timeout_seconds", what).help("write 600 or less"));
    }
    res
}

/// What more keeps a definition from being proposed by an agent.
///
/// All parts have a bound, since a person reads all of them before the answer. What [`faults`]
/// tells is not told again.
pub(crate) fn faults_of_proposal(def: &ToolDefinition) -> Vec<Fault> {
    let mut res = Vec::new();
    if name::tool_name_fault(&def.name).is_none()
        && let Some(why) = name::proposed_name_fault(&def.name)
    {
        res.push(name_fault(&def.name, why));
    }
    let mut bound = |pointer: &str, what: &str, n: usize, most: usize, help: &str| {
        if n > most {
            let what = format!("there are {n} {what}, and at most {most} are taken");
            res.push(Fault::new(codes::TOO_LARGE, pointer, what).help(help));
        }
    };
    let shorter = "write less: a person reads all of it";
    bound(
        "/description",
        "bytes of description",
        def.description.len(),
        MAX_DESCRIPTION_BYTES,
        shorter,
    );
    bound("/rationale", "bytes of rationale", def.rationale.len(), MAX_RATIONALE_BYTES, shorter);
    let n_parameters = def.parameters().count();
    bound(
        "/input_schema/properties",
        "parameters",
        n_parameters,
        MAX_PARAMETERS,
        "make two tools of it",
    );
    bound(
        "/tags",
        "tags",
        def.tags.len(),
        MAX_TAGS,
        "keep the words by which the tool is searched",
    );
    bound("/examples", "examples", def.examples.len(), MAX_EXAMPLES, "keep those that differ");
    if let Some(text) = def.body.text() {
        let pointer = format!("/{}", def.body.execution_type());
        let what = format!("bytes of {}", def.body.execution_type());
        bound(&pointer, &what, text.len(), MAX_SCRIPT_BYTES, "make two tools of it");
        shebang(text, &pointer, &mut res);
    }
    match &def.body {
        Body::Command(text) => unlisted(def, text, &mut res),
        Body::Script(text) => unreplaced(def, text, &mut res),
        Body::Composite(_) => {}
    }
    for (index, tag) in def.tags.iter().enumerate() {
        if tag.is_empty() || tag.len() > 64 || tag.chars().any(char::is_control) {
            let what = format!(
                "the tag {} is empty, longer than 64 bytes or holds a control character",
                quoted(tag)
            );
            res.push(Fault::new(codes::TOO_LARGE, &format!("/tags/{index}"), what));
        }
    }
    parameters(def, &mut res);
    examples(def, &mut res);
    res
}

/// A name that cannot be one, with a name that can as the suggestion.
fn name_fault(name: &str, why: &str) -> Fault {
    let mut res = Fault::new(codes::BAD_NAME, "/name", format!("the name {} {why}", quoted(name)));
    if let Some(better) = name::better_name(name) {
        res = res.help(format!("write {}", quoted(&better)));
        res.instead = Some(Value::from(better).to_string());
        return res;
    }
    res.help("write what the tool does in ASCII, such as \"count_lines\"".to_owned())
}

/// Compiles the schema. The root type is an object, as model services ask, and a schema that is
/// nested or repeated to cost time is refused by the bounds of the checker.
fn schema(schema: &Value, res: &mut Vec<Fault>) {
    let at = |pointer: &str, what: String| {
        Fault::new(codes::BAD_SCHEMA, &format!("/input_schema{pointer}"), what)
    };
    let Some(root) = schema.as_object() else {
        res.push(
            at("", "the schema is no object".to_owned())
                .help("write `{\"type\": \"object\", \"properties\": {…}}`"),
        );
        return;
    };
    // Model services accept nothing else as the input of a tool.
    if let Some(kind) = root.get("type")
        && kind != "object"
    {
        let what = format!("the schema has the root type {kind}, and a call passes in an object");
        res.push(at("/type", what).help("write \"object\""));
    }
    if let Err(err) = SchemaChecker::new().check(schema) {
        let what = format!("the schema cannot be used: {}", err.why);
        res.push(at(&err.pointer, what).help(err.kind.help()));
    }
}

/// Looks at the text for bash.
fn body(def: &ToolDefinition, res: &mut Vec<Fault>) {
    let kind = def.body.execution_type();
    let pointer = format!("/{kind}");
    if let Body::Composite(value) = &def.body {
        res.extend(crate::composite::read(value).err().unwrap_or_default());
    }
    let Some(text) = def.body.text() else { return };
    if text.trim().is_empty() {
        let what = format!("a tool of the type \"{kind}\" needs a {kind}, and it is empty");
        res.push(Fault::new(codes::BAD_BODY, &pointer, what).help("write the text that bash runs"));
    }
    if let Some(why) = option_fault(text) {
        let what = format!("the {kind} {why}");
        let help = "begin with the name of a program";
        res.push(Fault::new(codes::BAD_BODY, &pointer, what).help(help));
    }
    if text.contains('\0') {
        let what =
            format!("the {kind} holds a NUL character, at which the system would cut it off");
        res.push(
            Fault::new(codes::BAD_BODY, &pointer, what)
                .help("write `\\0` for printf, or leave it out"),
        );
    }
    if let Some(why) = length_fault(text.len()) {
        let what = format!("the {kind} {why}");
        res.push(Fault::new(codes::TOO_LARGE, &pointer, what).help("make two tools of it"));
    }
    let Body::Command(text) = &def.body else { return };
    match render(text, |name| def.is_parameter(name)) {
        Err(TemplateFault { what, help, .. }) => {
            res.push(Fault::new(codes::PLACEHOLDER, &pointer, what).help(help));
        }
        Ok(rendered) if rendered.text.len() > text.len() => {
            if let Some(why) = length_fault(rendered.text.len()) {
                let what = format!("the {kind}, with a variable for each placeholder, {why}");
                let help = "write each placeholder once, as in `f={{.file}}; cat \"$f\" \"$f\"`, or make it a script";
                res.push(Fault::new(codes::TOO_LARGE, &pointer, what).help(help));
            }
        }
        Ok(_) => {}
    }
}

/// A first line that names another interpreter has no effect.
fn shebang(text: &str, pointer: &str, res: &mut Vec<Fault>) {
    let Some(line) = text.lines().next().and_then(|it| it.strip_prefix("#!")) else { return };
    let is_shell = line.split(['/', ' ', '\t']).any(|word| matches!(word, "bash" | "sh" | "dash"));
    if !is_shell {
        let what = format!(
            "bash runs the text, and the first line {} has no effect",
            quoted(&format!("#!{line}"))
        );
        let help = "let bash start the program, as in `python3 - <<'EOF'`, and remove the line";
        res.push(Fault::new(codes::BAD_BODY, pointer, what).help(help));
    }
}

/// The names in the placeholders of a command, each once, whether or not they are parameters. `{{.State.Status}}` and the like
/// belong to other programs.
pub(crate) fn placeholder_names(text: &str) -> BTreeSet<&str> {
    let insides = text.split("{{").skip(1).filter_map(|it| Some(it.split_once("}}")?.0));
    let names = insides.filter_map(|it| it.trim_matches([' ', '\t']).strip_prefix('.'));
    names.filter(|it| variable_name(it).is_some()).collect()
}

/// A placeholder of a name that the schema does not list would stay as text, and so would one with a mistake in it.
///
/// Each name is told once, with the parameter that may be meant. A command that is stored is not looked at here: it says what it
/// said when a person approved it.
fn unlisted(def: &ToolDefinition, text: &str, res: &mut Vec<Fault>) {
    for name in placeholder_names(text).into_iter().filter(|it| !def.is_parameter(it)) {
        let what = format!("`{{{{.{name}}}}}` is no parameter that the schema lists");
        let list = "list it in \"properties\"; where another program is to read it, make a script of the command";
        let help = match closest(name, def.parameters()) {
            Some(meant) => format!("did you mean `{{{{.{meant}}}}}`? Else {list}"),
            None => list.to_owned(),
        };
        res.push(Fault::new(codes::PLACEHOLDER, "/command", what).help(help));
    }
    for (written, name) in misspelt(def, text) {
        let what = format!("`{written}` is no placeholder, though {} is a parameter", quoted(name));
        let help = format!(
            "write `{{{{.{name}}}}}`; where another program is to read it, make a script of the command"
        );
        res.push(Fault::new(codes::PLACEHOLDER, "/command", what).help(help));
    }
}

/// A placeholder stays as text in a script, whose values are variables. Where the script reads that variable as well, the text is
/// for another program.
fn unreplaced(def: &ToolDefinition, text: &str, res: &mut Vec<Fault>) {
    for name in placeholder_names(text) {
        let Some(variable) = variable_name(name).filter(|_| def.parameters().any(|it| it == name))
        else {
            continue;
        };
        if !text.contains(&variable) {
            let what = format!("`{{{{.{name}}}}}` is no placeholder in a script");
            let help = format!("write `\"${variable}\"`, or make a command of the script");
            res.push(Fault::new(codes::PLACEHOLDER, "/script", what).help(help));
        }
    }
}

/// What stands for a parameter and is not in the form of a placeholder: `{{city}}`, `{{.city`, `{{.city | upper}}`. Each with
/// the parameter. `{{- .city}}` and `{{.city.name}}` are for another program.
fn misspelt<'a>(def: &ToolDefinition, text: &'a str) -> BTreeSet<(&'a str, &'a str)> {
    let mut res = BTreeSet::new();
    for (at, _) in text.match_indices("{{") {
        let inside = &text[at + 2..];
        let line = inside.find('\n').unwrap_or(inside.len());
        let end = inside[..line].find("}}");
        let inside = &inside[..end.unwrap_or(line)];
        let inner = inside.trim_matches([' ', '\t']);
        let rest = inner.strip_prefix('.').unwrap_or(inner);
        let is_of_name = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
        let name = &rest[..rest.find(|it| !is_of_name(it)).unwrap_or(rest.len())];
        let is_placeholder = end.is_some() && inner.strip_prefix('.') == Some(name);
        let is_alone = end.is_none()
            || matches!(rest[name.len()..].trim_start().chars().next(), None | Some('|'));
        if def.parameters().any(|it| it == name) && is_alone && !is_placeholder {
            let written = at + 2 + inside.len() + end.map_or(0, |_| 2);
            res.insert((&text[at..text.floor_char_boundary(written.min(at + 80))], name));
        }
    }
    res
}

/// Two parameters with one variable (`a-b` and `a_b`, or names that differ in case), and a name that
/// no variable can have, are faults: a script would read the wrong value, or none. A composite has no variables.
fn parameters(def: &ToolDefinition, res: &mut Vec<Fault>) {
    if matches!(def.body, Body::Composite(_)) {
        return;
    }
    for fault in variable_names(def.parameters()).err().unwrap_or_default() {
        let (name, what, help) = match fault {
            VariableFault::Impossible { name } => {
                let what =
                    format!("the parameter {} cannot be the name of a variable", quoted(&name));
                (name, what, "write letters of ASCII, digits and `_`".to_owned())
            }
            VariableFault::Clash { name, other, variable } => {
                let what = format!(
                    "the parameters {} and {} have one variable, {variable}",
                    quoted(&other),
                    quoted(&name)
                );
                (name, what, "give one of them another name".to_owned())
            }
        };
        let pointer =
            format!("/input_schema/properties/{}", name.replace('~', "~0").replace('/', "~1"));
        res.push(Fault::new(codes::BAD_PARAMETER, &pointer, what).help(help));
    }
}

/// Compares the input of each example with the schema, so that an example that cannot be run is
/// told before it is.
fn examples(def: &ToolDefinition, res: &mut Vec<Fault>) {
    let Ok(validator) = compile(&def.input_schema) else { return };
    for (index, example) in def.examples.iter().enumerate() {
        let pointer = format!("/examples/{index}/input");
        if !example.input.is_object() {
            let what = "the input of an example is no object".to_owned();
            res.push(
                Fault::new(codes::BAD_EXAMPLE, &pointer, what)
                    .help("write the input of a call, such as `{}`"),
            );
        } else if !example.is_error
            && let Err(violations) = validator.check(&example.input)
        {
            let what = format!("the input of the example does not fit the schema: {violations}");
            res.push(
                Fault::new(codes::BAD_EXAMPLE, &pointer, what)
                    .help("change the example or the schema"),
            );
        }
    }
}
