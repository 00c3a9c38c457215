//! The keys of one definition.
//!
//! [`read`] goes over the object once: each key has a function that reads, checks and reports it,
//! and the definition is put together only from those that passed. A key that is not read by then
//! has a warning.

use std::{ffi::OsString, time::Duration};

use flyto_diagnostics::{
    At, Findings, ObjectReader, Reported,
    codes::{BAD_VALUE, WRONG_TYPE},
    quoted,
};
use flyto_tools::SchemaChecker;
use serde_json::Value;

use crate::{
    ExecToolDef,
    check::{self, StartBounds},
    codes,
};

/// What related formats call the keys, where no likeness of letters leads to ours.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("command", "exec"),
    ("cmd", "exec"),
    ("argv", "exec"),
    ("inputSchema", "input_schema"),
    ("parameters", "input_schema"),
    ("timeout", "timeout_seconds"),
    ("timeout_secs", "timeout_seconds"),
    ("grace", "grace_seconds"),
];

/// What the definitions of one file are checked with.
#[derive(Default)]
pub(crate) struct Checks<'a> {
    /// Bounds the work on all schemas together.
    pub(crate) schemas: SchemaChecker,
    /// There for an author who asks whether a call could start.
    pub(crate) bounds: Option<StartBounds<'a>>,
}

/// What was read of one definition.
pub(crate) struct Read<'v> {
    /// The name and where it stands, if it is a good one.
    pub(crate) name: Option<(&'v str, At<'v>)>,
    /// The definition; the findings say why there is none.
    pub(crate) def: Result<ExecToolDef, Reported>,
}

/// Reads the object at a place. Every key is read, so that one run reports all mistakes.
pub(crate) fn read<'v>(at: At<'v>, checks: &mut Checks<'_>, findings: &mut Findings) -> Read<'v> {
    if at.value().as_object().is_none() {
        let what = format!("a definition must be an object, found {}", at.value().describe());
        let reported = findings.push(at.error(codes::NO_DEFINITION, what));
        return Read { name: None, def: Err(reported) };
    }
    let mut reader = match ObjectReader::new(at, findings) {
        Ok(reader) => reader,
        Err(reported) => return Read { name: None, def: Err(reported) },
    };
    for (other, key) in OTHER_NAMES {
        reader.suggest_for(other, key);
    }
    // Editors look here for the schema of the file.
    reader.allow("$schema");

    let name = read_name(&mut reader);
    let description = read_description(&mut reader);
    let schema = read_schema(&mut reader, &mut checks.schemas);
    let exec = read_exec(&mut reader, checks.bounds);
    let timeout = read_timeout(&mut reader);
    let grace = reader.optional_u64("grace_seconds");
    let ready = reader.optional_bool("ready");
    let blocks = reader.optional_one_of("content", &[("mcp", true)]);
    reader.finish();

    let def = || {
        let mut def = ExecToolDef::from_checked(name?.to_owned(), exec?)
            .with_description(description?)
            .with_timeout(timeout?)
            .with_grace(Duration::from_secs(grace?.unwrap_or(0)))
            .with_file(at.source().name());
        if let Some(schema) = schema? {
            def = def.with_checked_schema(schema);
        }
        if ready? == Some(true) {
            def = def.with_ready();
        }
        if blocks? == Some(true) {
            def = def.with_blocks();
        }
        Ok(def)
    };
    Read { name: name.ok().and_then(|name| Some((name, at.member("name")?))), def: def() }
}

/// Reads the name, or suggests a name that is near to it and allowed.
fn read_name<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<&'v str, Reported> {
    let name = reader.required_string("name")?;
    let Err(why) = check::name(name) else { return Ok(name) };
    let at = reader.at("name");
    let what = format!("the name {} {why}", quoted(name));
    let mut diagnostic = at.error(codes::BAD_NAME, what);
    let better = better_name(name);
    if check::name(&better).is_ok() {
        diagnostic = diagnostic
            .with_help(format!("write {}", quoted(&better)))
            .with_suggestion(at.span(), Value::from(better).to_string());
    }
    Err(reader.push(diagnostic))
}

/// The name with a single `_` for every run of what a name cannot hold.
///
/// It may itself be refused, for its length or because nothing is left; then it is not suggested.
fn better_name(name: &str) -> String {
    let wrong = |it: char| it.is_whitespace() || it.is_control() || it == ':' || it == '_';
    let parts: Vec<&str> = name.split(wrong).filter(|it| !it.is_empty()).collect();
    parts.join("_")
}

fn read_description<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<&'v str, Reported> {
    let text = reader.optional_string("description")?.unwrap_or_default();
    if text.trim().is_empty() {
        let what = "the tool has no description, and a model chooses tools by theirs";
        let warning = reader.at("description").warning(codes::NO_DESCRIPTION, what);
        reader.push(warning.with_help("say what the tool does and what it returns"));
    }
    Ok(text)
}

/// Reads the time limit. Zero and less stand for the default; a negative number has a warning.
fn read_timeout(reader: &mut ObjectReader<'_, '_>) -> Result<Duration, Reported> {
    let seconds = reader.optional_i64("timeout_seconds")?.unwrap_or(0);
    if seconds < 0 {
        let what = format!("{seconds} stands for the default of 30 s");
        let warning = reader.at("timeout_seconds").warning(codes::NEGATIVE_TIMEOUT, what);
        let help = "write how many seconds the tool may take, or leave it out";
        reader.push(warning.with_help(help));
    }
    Ok(Duration::from_secs(seconds.max(0).unsigned_abs()))
}

/// Reads the schema of the input, which has to compile: a call could not be checked otherwise.
fn read_schema(
    reader: &mut ObjectReader<'_, '_>,
    schemas: &mut SchemaChecker,
) -> Result<Option<Value>, Reported> {
    let Some(at) = reader.optional_object("input_schema")? else { return Ok(None) };
    at.refuse_duplicate_keys(reader.findings())?;
    let schema = at.value().to_json();
    let Err(fault) = check::schema(&schema, |it| schemas.check(it)) else {
        return Ok(Some(schema));
    };
    let place = at.at_pointer(&fault.pointer).unwrap_or(at);
    let mut diagnostic = place.error(codes::BAD_SCHEMA, format!("the schema {}", fault.why));
    if let Some(help) = fault.help {
        diagnostic = diagnostic.with_help(help);
    }
    Err(reader.push(diagnostic))
}

/// Reads the program and its arguments. A whole line in one string is refused with the array that does the
/// same.
fn read_exec(
    reader: &mut ObjectReader<'_, '_>,
    bounds: Option<StartBounds<'_>>,
) -> Result<Vec<OsString>, Reported> {
    if let Some(at) = reader.optional("exec")?
        && let Some(line) = at.value().as_str()
    {
        let mut diagnostic =
            at.error(WRONG_TYPE, "\"exec\" must be an array of strings, found a string");
        if !line.trim().is_empty() {
            let text = format!("[{}]", words_of(line));
            diagnostic =
                diagnostic.with_help(format!("write `{text}`")).with_suggestion(at.span(), text);
        }
        return Err(reader.push(diagnostic));
    }
    let words = reader.required_string_array("exec")?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let at = reader.at("exec");
    if let Err(fault) = check::command(words.iter().map(OsString::as_os_str)) {
        let place = fault.index.and_then(|index| at.item(index)).unwrap_or(at);
        let diagnostic = place.error(codes::BAD_COMMAND, format!("the command {}", fault.why));
        return Err(reader.push(diagnostic));
    }
    warn_of_command_line(at, reader);
    if let Some(found) = bounds.and_then(|it| it.too_long(&words)) {
        let warning = at.warning(BAD_VALUE, found.to_string());
        reader.push(warning.with_reason("each call of it fails").with_help(
            match found.blames_variables() {
                true => "the program sees all variables of the host: start it with fewer",
                false => "hand large values over in a file that the program reads",
            },
        ));
    }
    Ok(words)
}

/// A bare name with a blank can be a program, and never is one.
fn warn_of_command_line(exec: At<'_>, reader: &mut ObjectReader<'_, '_>) {
    let Some(program) = exec.item(0) else { return };
    let Some(text) = program.value().as_str() else { return };
    if text.contains('/') || !text.contains(char::is_whitespace) {
        return;
    }
    let what = format!("the program {} is looked for with the blank in its name", quoted(text));
    let mut warning = program.warning(codes::COMMAND_LINE, what);
    if !text.trim().is_empty() {
        let words = words_of(text);
        warning = warning
            .with_help(format!("write each argument as a string of its own: `{words}`"))
            .with_suggestion(program.span(), words);
    }
    reader.push(warning);
}

/// The items of `exec` that do what a line would do in a shell: its words where no character means
/// anything to a shell, else a shell that reads it.
fn words_of(line: &str) -> String {
    let plain = |it: char| it.is_alphanumeric() || " \t-_./,:=+@%".contains(it);
    let words: Vec<&str> = if line.chars().all(plain) {
        line.split_whitespace().collect()
    } else {
        vec!["sh", "-c", line]
    };
    let words: Vec<_> = words.into_iter().map(|it| Value::from(it).to_string()).collect();
    words.join(", ")
}
