//! The form that has a command line with placeholders.
//!
//! What the text means is the business of [`crate::template`]; here its faults become findings
//! at their place in the JSON string, and the odd but working placeholders become warnings.

use std::collections::BTreeSet;

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, Severity, closest, quoted};
use serde_json::{Map, Value, json};
use smallvec::SmallVec;

use super::{
    command,
    def::{Invocation, any_object},
    field::check_system_text,
    lazy::Schema,
    literal::span_within,
    place::Place,
    program, schema,
};
use crate::{
    codes,
    place::{as_warning, moved},
    template::{Fault, Reading, Template},
};

/// The schema of the parameters, as an object whatever it leaves out: an author of one for
/// ZeptoClaw was never told what is missing, and services for models refuse one without a type.
/// `null` and `true` are any object, with a warning. A parameter that is both required and has a
/// default becomes optional in the schema that comes out, so that a caller may leave it out.
///
/// # Errors
///
/// As for [`schema::read`].
pub(super) fn parameters(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    place: Place<'_>,
) -> Result<Schema, Reported> {
    let at = reader.at(key);
    let value = at.value();
    if value.is_null() || value.as_bool() == Some(true) {
        reader.allow(key);
        let what = format!("{} is no schema, and any object is accepted", quoted(key));
        let text = r#"{"type": "object", "properties": {}}"#;
        let diag = at.warning(codes::BAD_SCHEMA, what).with_help(format!("write `{text}`"));
        reader.push(diag.with_suggestion(at.span(), text));
        return Ok(any_object().clone());
    }
    let names_type = at.member("type").is_some();
    let is_object = at.member("type").is_none_or(|it| it.value().as_str() == Some("object"));
    if value.as_object().is_none() || !is_object || (names_type && !requires_defaults(at)) {
        return Ok(schema::read(reader, key, place)?.unwrap_or_else(|| any_object().clone()));
    }
    schema::read_untyped(reader, key, place, typed)
}

/// Whether a parameter that must be there has a default for when it is not.
/// Only then is a schema with a type read as [`typed`] makes it; any other stays a part of the
/// text.
fn requires_defaults(at: At<'_>) -> bool {
    let Some(properties) = at.member("properties") else { return false };
    let required = at.member("required").into_iter().flat_map(|it| it.items());
    let mut names = required.filter_map(|it| it.value().as_str());
    names.any(|name| properties.member(name).is_some_and(|it| it.member("default").is_some()))
}

/// The schema with what makes it one of an object. A parameter that has a default may be left out,
/// whatever `required` says: the command gets the default then.
/// `type` and `properties` are added where they are missing; every other key stays.
fn typed(schema: &Value) -> Value {
    let mut res = Map::new();
    res.insert("type".to_owned(), json!("object"));
    res.insert("properties".to_owned(), json!({}));
    res.extend(schema.as_object().into_iter().flatten().map(|(key, it)| (key.clone(), it.clone())));
    let properties = res["properties"].clone();
    let has_default =
        |name: &Value| name.as_str().is_some_and(|it| properties[it].get("default").is_some());
    if let Some(Value::Array(required)) = res.get_mut("required") {
        required.retain(|name| !has_default(name));
    }
    Value::Object(res)
}

/// Reads `command` as a template of these parameters.
/// Warnings: a placeholder that names no parameter or is written with blanks, a parameter that
/// the command never uses, a program that is not there.
///
/// # Errors
///
/// [`Reported`] when `args` stands beside `parameters`, when `command` is missing or no
/// template, and when a digest is demanded of a command that a shell runs.
pub(super) fn read(
    reader: &mut ObjectReader<'_, '_>,
    place: Place<'_>,
) -> Result<Invocation, Reported> {
    let why = "\"parameters\" makes the tool a template, which has no list of arguments";
    let exclusive = reader.exclusive("parameters", "args", why);
    let text = super::meant::check(reader, "command", meant)
        .and_then(|()| reader.required_string("command"));
    exclusive?;
    let text = text?;
    let at = reader.at("command");
    if let Err(diagnostic) = check_system_text(at, "\"command\"") {
        return Err(reader.push(diagnostic));
    }
    let properties = reader.at("parameters").member("properties");
    let names = || properties.into_iter().flat_map(|it| it.members()).map(|(name, _)| name);
    let declared = Names::new(names());
    let reading = match Template::read(text, &|name| declared.has(name)) {
        Ok(reading) => reading,
        Err(fault) => return Err(reader.push(finding(at, *fault))),
    };
    let template = &reading.template;
    if template.uses_shell() && reader.is_present("sha256") {
        let digest = reader.at("sha256");
        let what = "\"sha256\" is the digest of a program, and a shell runs this command";
        let diag = digest
            .error(codes::BAD_DIGEST, what)
            .with_reason("which programs the shell runs is not known before it does")
            .with_help("write a command that needs no shell, or remove the digest");
        return Err(reader.push(diag));
    }
    report_odd(reader, at, &reading, names, &declared);
    report_unused(reader, properties, template);
    let program = template.program();
    if let Some(warning) = program.and_then(|it| program::check_installed(at, it, place)) {
        let span = reading.program_span();
        reader.push(moved(warning, at, span_within(at, span.start, span.end)));
    }
    Ok(Invocation::Template(reading.template))
}

/// Warns about parameters that the command never uses.
fn report_unused(
    reader: &mut ObjectReader<'_, '_>,
    properties: Option<At<'_>>,
    template: &Template,
) {
    let mentioned = Names::new(template.parameters().iter().map(String::as_str));
    for (name, property) in properties.into_iter().flat_map(|it| it.members()) {
        if mentioned.has(name) || reader.findings().count_only(Severity::Warning).is_some() {
            continue;
        }
        let what = format!("the command never uses the parameter {}", quoted(name));
        let object = reader.at("parameters").member("properties").unwrap_or(property);
        let diag = crate::place::about_key(object, name, codes::UNUSED_PARAMETER, what);
        reader.push(
            as_warning(diag).with_help(format!(
                "put `{{{{{name}}}}}` into the command, or remove the parameter"
            )),
        );
    }
}

/// Names that are looked up. A few are compared one by one; more, of which a hostile manifest has very many, are sorted.
struct Names<'a>(SmallVec<[&'a str; 8]>);

impl<'a> Names<'a> {
    fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: SmallVec<_> = names.collect();
        if names.spilled() {
            names.sort_unstable();
        }
        Self(names)
    }

    fn has(&self, name: &str) -> bool {
        if self.0.spilled() {
            return self.0.binary_search(&name).is_ok();
        }
        self.0.contains(&name)
    }
}

/// The words of a program as an array, which is a template without quotes.
/// The words are joined as one line, each quoted where it needs it.
fn meant(at: At<'_>) -> Option<Diagnostic> {
    let words: Option<Vec<&str>> = at.value().as_array()?.iter().map(|it| it.as_str()).collect();
    let words: Vec<_> = words?.iter().map(|it| command::word(it)).collect();
    let text = Value::from(words.join(" ")).to_string();
    let found = at.value().describe();
    let what = format!("\"command\" must be a string, found {found}");
    let diag = at.error(flyto_diagnostics::codes::WRONG_TYPE, what);
    Some(
        diag.with_reason("the command of a template is one line, in which words may be quoted")
            .with_help(format!("write `{text}`"))
            .with_suggestion(at.span(), text),
    )
}

/// What is wrong, at its place within the text.
/// `fault.span` counts bytes of the string; the finding counts bytes of the file.
fn finding(at: At<'_>, fault: Fault) -> Diagnostic {
    let span = span_within(at, fault.span.start, fault.span.end);
    let reason = fault.reason();
    let mut diag = moved(at.error(fault.code, fault.what), at, span);
    if let Some(reason) = reason {
        diag = diag.with_reason(reason);
    }
    if let Some(help) = fault.help {
        diag = diag.with_help(help);
    }
    match fault.instead {
        Some(text) => diag.with_suggestion(span, escaped(&text)),
        None => diag,
    }
}

/// A text as it stands within a JSON string.
/// Without its quotes, so that a suggestion can replace a part of the string.
fn escaped(text: &str) -> String {
    let literal = Value::from(text).to_string();
    literal[1..literal.len() - 1].to_owned()
}

/// Warns about placeholders that work and are written in an odd way, each name where it stands first.
/// `declared` holds the same names as `names`, which gives them in the order of the text, in which near names are looked
/// for.
fn report_odd<'v, N: Iterator<Item = &'v str>>(
    reader: &mut ObjectReader<'_, '_>,
    at: At<'_>,
    reading: &Reading,
    names: impl Fn() -> N,
    declared: &Names<'_>,
) {
    let mut seen = BTreeSet::new();
    for (name, span, spaced) in reading.placeholders() {
        let is_known = declared.has(name);
        if is_known && !spaced || !seen.insert(name) {
            continue;
        }
        if reader.findings().count_only(Severity::Warning).is_some() {
            continue;
        }
        let span = span_within(at, span.start, span.end);
        let plain = format!("{{{{{name}}}}}");
        if spaced {
            let what = format!("`{plain}` is written with blanks");
            let diag = moved(at.warning(codes::SPACED_PLACEHOLDER, what), at, span);
            reader.push(diag.with_help(format!("write `{plain}`")).with_suggestion(span, plain));
            continue;
        }
        let what = format!("`{plain}` names no parameter");
        let diag = moved(at.warning(codes::UNDECLARED_PARAMETER, what), at, span)
            .with_reason("a model does not know of it, and without a value its word is left out");
        reader.push(match closest(name, names()) {
            Some(near) => {
                let near = format!("{{{{{near}}}}}");
                diag.with_help(format!("did you mean `{near}`?")).with_suggestion(span, near)
            }
            None => diag.with_help(format!(
                "add {} to \"properties\" of \"parameters\"; for the braces themselves, \
                 part them by quotes, as in `'{{''{{{name}}}}}'`",
                quoted(name)
            )),
        });
    }
}
