//! Declared variables.
//!
//! A value is a text with references: `${NAME}`, `${NAME:-default}`, and `$$` for a dollar. They
//! are parsed here, and expanded before each start, against the variables that the tool may
//! read.

use std::fmt;

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, codes::BAD_VALUE, quoted};
use flyto_execenv::{Declared, Template, TemplateError};
use flyto_program::MAX_ARGUMENT_BYTES;

use super::{
    dialect::Dialect,
    field::{check_bytes, check_nul},
    literal::span_within,
    meant,
};
use crate::{
    codes,
    environment::{PLUGIN_DATA, PLUGIN_ROOT},
    place::{about_key, moved},
};

/// How many variables and references the tools of a plugin declare together at most, and its servers: 10,000.
pub(super) const MAX_DECLARED: usize = 10_000;

/// How many bytes the name of a variable has at most that a value refers to: 255.
pub(super) const MAX_NAME_BYTES: usize = 255;

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
    check(env, name, at)?;
    let res = parse(at, &format_args!("the value of {name}"), text, dialect)?;
    check_length(name, at, &res)?;
    Ok(res)
}

/// A text with references.
///
/// `label` names the value in a message.
pub(super) fn parse(
    at: At<'_>,
    label: &dyn fmt::Display,
    text: &str,
    dialect: Dialect,
) -> Result<Template, Box<Diagnostic>> {
    let parsed = dialect.parse(text);
    let res = parsed.map_err(|(start, err)| bad_template(at, label, text, start, &err))?;
    // A short text holds no long name.
    if text.len() > MAX_NAME_BYTES
        && let Some(name) = res.variables().find(|it| it.len() > MAX_NAME_BYTES)
    {
        let n_bytes = name.len();
        let what = format!(
            "{label} refers to a variable whose name has {n_bytes} bytes, and {MAX_NAME_BYTES} are the most"
        );
        return Err(Box::new(at.error(codes::BAD_REFERENCE, what)));
    }
    Ok(res)
}

/// How many variables and references the tools of one plugin, or its servers, may still declare.
///
/// Each of them is read again for every call; without a bound a manifest of 16 MiB has millions.
pub(super) struct Budget {
    left: usize,
    /// The text is too short to declare more than there may be, and nothing is counted.
    is_short: bool,
    /// The keys of a tool or server whose texts are expanded.
    keys: &'static [&'static str],
}

impl Budget {
    /// For the value of `tools`.
    pub(super) fn of_tools(tools: At<'_>) -> Self {
        Self::new(tools, &["env"])
    }

    /// For the value of `mcpServers`.
    pub(super) fn of_servers(servers: At<'_>) -> Self {
        Self::new(servers, &["env", "headers", "args", "command", "cwd", "url"])
    }

    fn new(all: At<'_>, keys: &'static [&'static str]) -> Self {
        // No variable and no reference is shorter than `$A`.
        let is_short = (all.span().end - all.span().start) / 2 <= MAX_DECLARED;
        Self { left: MAX_DECLARED, is_short, keys }
    }

    /// Takes off what a tool or server declares: its variables, and each reference in a value that `parse` reads. A value
    /// that it does not read has none: it refuses its owner.
    ///
    /// # Errors
    ///
    /// More than is left. What stands behind it may still fit.
    pub(super) fn spend(
        &mut self,
        owner: At<'_>,
        parse: impl Fn(&str) -> Option<Template>,
    ) -> Result<(), Box<Diagnostic>> {
        if self.is_short {
            return Ok(());
        }
        let n_references = |at: At<'_>| {
            let text = at.value().as_str().filter(|it| it.contains('$'));
            text.and_then(&parse).map_or(0, |it| it.variables().count())
        };
        let values = self.keys.iter().filter_map(|key| owner.member(key));
        let n: usize = values
            .map(|it| {
                let members = it.members().map(|(_, it)| 1 + n_references(it));
                n_references(it) + members.chain(it.items().map(n_references)).sum::<usize>()
            })
            .sum();
        let Some(left) = self.left.checked_sub(n) else {
            let what =
                format!("with it, more than {MAX_DECLARED} variables and references are declared");
            let diag = owner.error(BAD_VALUE, what);
            return Err(Box::new(diag.with_help("put them into a file of the plugin")));
        };
        self.left = left;
        Ok(())
    }
}

/// Checks all of a variable but its length and the references in its value.
/// `env` is the object, `at` the place of the value. Servers of a file `mcp.json` are checked
/// with it, too; in their values other references are text.
pub(super) fn check(env: At<'_>, name: &str, at: At<'_>) -> Result<(), Box<Diagnostic>> {
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
    check_nul(at, format_args!("the value of {name}"))
}

/// Refuses a variable that is longer than any, whatever its value refers to. Its name and the `=` count, as the system takes
/// them with the value in one string (execve(2)).
pub(super) fn check_length(
    name: &str,
    at: At<'_>,
    value: &Template,
) -> Result<(), Box<Diagnostic>> {
    // No text has fewer bytes than the shortest value that it stands for.
    let written_bytes = at.value().as_str().map_or(usize::MAX, str::len);
    if written_bytes.saturating_add(variable_length(name, 0)) <= MAX_ARGUMENT_BYTES {
        return Ok(());
    }
    let n_bytes = variable_length(name, value.min_bytes());
    check_bytes(at, format_args!("the variable {name}, with its name,"), n_bytes)
}

/// The length of the string `NAME=value`.
pub(super) fn variable_length(name: &str, value_bytes: usize) -> usize {
    name.len() + 1 + value_bytes
}

/// The finding that a reference in `label` cannot be read.
/// The place is the reference alone. `${env:NAME}`, as editors write it, has `${NAME}` as
/// suggestion.
fn bad_template(
    at: At<'_>,
    label: &dyn fmt::Display,
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
