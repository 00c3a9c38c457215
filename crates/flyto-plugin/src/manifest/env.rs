//! Declared variables.
//!
//! A value is a text with references: `${NAME}`, `${NAME:-default}`, and `$$` for a dollar. They
//! are parsed here, and expanded before each start, against the variables that the tool may
//! read.

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, quoted};
use flyto_execenv::{Declared, Template, TemplateError};

use super::{literal::span_within, meant, servers::Dialect};
use crate::{
    codes,
    environment::{PLUGIN_DATA, PLUGIN_ROOT},
    place::{about_key, moved},
};

/// Whether the host itself sets the variable for every program of a plugin.
///
/// Such a variable can be neither declared nor granted; a value can refer to it.
pub(crate) fn is_reserved(name: &str) -> bool {
    name == PLUGIN_ROOT || name == PLUGIN_DATA
}

/// Why a text cannot be the name of a variable, in words that follow it.
/// The rule is that of the system, which splits an entry at its first `=` and ends it at NUL
/// (environ(7)).
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.contains('=') {
        Some("holds `=`, which stands between name and value")
    } else if name.contains('\0') {
        Some("holds a NUL character")
    } else {
        None
    }
}

/// Reads `env`: names and values. Every variable that cannot be used has a finding.
///
/// # Errors
///
/// [`Reported`] when one variable cannot be used, or `env` is no object of strings. The tool, or
/// the server, is refused then: a program without one of its variables could do something else.
pub(crate) fn read(reader: &mut ObjectReader<'_, '_>) -> Result<Declared, Reported> {
    read_as(reader, Dialect::Own)
}

/// The same, with the references of `dialect`.
///
/// # Errors
///
/// Those of [`read`].
pub(super) fn read_as(
    reader: &mut ObjectReader<'_, '_>,
    dialect: Dialect,
) -> Result<Declared, Reported> {
    meant::check(reader, "env", meant::env)?;
    let Some(members) = reader.optional_string_map("env")? else { return Ok(Declared::new()) };
    let env = reader.at("env");
    let mut failed = None;
    // The map was read from this object, so members and strings go together.
    let places = members.into_iter().zip(env.members());
    let variables = places.filter_map(|((name, text), (_, at))| {
        let read =
            variable(env, name, at, text, dialect).map_err(|it| failed = Some(reader.push(it)));
        Some((name, read.ok()?))
    });
    let res = variables.collect();
    failed.map_or(Ok(res), Err)
}

/// One variable: its name and its value are in order, and its references can be parsed.
fn variable(
    env: At<'_>,
    name: &str,
    at: At<'_>,
    text: &str,
    dialect: Dialect,
) -> Result<Template, Box<Diagnostic>> {
    check(env, name, at, text)?;
    dialect.parse(text).map_err(|(start, err)| {
        Box::new(bad_template(at, &format!("the value of {name}"), text, start, &err))
    })
}

/// Checks all of a variable but the references in its value.
/// `env` is the object, `at` the place of the value. Servers of a file `mcp.json` are checked
/// with it, too; in their values other references are text.
pub(super) fn check(
    env: At<'_>,
    name: &str,
    at: At<'_>,
    text: &str,
) -> Result<(), Box<Diagnostic>> {
    if let Some(why) = name_fault(name) {
        let what = format!("the name {} of a variable {why}", quoted(name));
        let diag = about_key(env, name, codes::BAD_VARIABLE, what);
        let help = "a name is made of letters, digits and `_`, a letter or `_` first";
        return Err(Box::new(diag.with_help(help)));
    }
    if is_reserved(name) {
        let what = format!("{name} is set by the host");
        let diag = about_key(env, name, codes::RESERVED_VARIABLE, what);
        let help = format!("use ${{{name}}} in the value of another variable, or read it as it is");
        return Err(Box::new(diag.with_help(help)));
    }
    if let Some(nul) = text.find('\0') {
        let what = format!("the value of {name} holds a NUL character");
        let span = span_within(at, nul, nul + 1);
        let diag = at.error(codes::NUL, what).with_help("remove it").with_suggestion(span, "");
        return Err(Box::new(moved(diag, at, span)));
    }
    Ok(())
}

/// The finding that a reference in `label` cannot be read.
/// The place is the reference alone. `${env:NAME}`, as editors write it, has `${NAME}` as
/// suggestion.
pub(super) fn bad_template(
    at: At<'_>,
    label: &str,
    text: &str,
    start: usize,
    err: &TemplateError,
) -> Diagnostic {
    let rest = &text[start..];
    let (end, what) = match err {
        TemplateError::BadName { found, .. } => {
            let end = start + rest.find('}').map_or(rest.len(), |at| at + 1);
            (end, format!("`${{{found}}}` in {label} names no variable"))
        }
        _ => (text.len(), format!("`${{` in {label} is not closed")),
    };
    let span = span_within(at, start, end);
    let diag = at.error(codes::BAD_REFERENCE, what);
    let diag = moved(diag, at, span)
        .with_help("write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar");
    // What other programs write for the same thing.
    match err {
        TemplateError::BadName { found, .. } => match found.strip_prefix("env:") {
            Some(variable)
                if variable.bytes().all(|it| it == b'_' || it.is_ascii_alphanumeric()) =>
            {
                diag.with_suggestion(span, format!("${{{variable}}}"))
            }
            _ => diag,
        },
        _ => diag,
    }
}
