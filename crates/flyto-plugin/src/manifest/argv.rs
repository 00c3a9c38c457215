//! The form that has a command and its arguments.
//!
//! The command is one program, and no shell is involved: a text with blanks in it that names no
//! file is a command line in the wrong place, and gets a finding that shows both forms it may
//! have meant.

use std::{ffi::OsString, path::Path};

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, quoted};

use super::{
    command,
    def::Invocation,
    field::check_system_text,
    meant,
    program::{self, Looks},
    within,
};
use crate::codes;

/// Reads `command` and `args` of a tool without `parameters`, in a plugin without `execution:
/// "binary"`.
///
/// # Errors
///
/// [`Reported`] when `command` is missing, blank, or a command line, when an argument is no
/// string, and when a text holds NUL.
pub(super) fn read(
    reader: &mut ObjectReader<'_, '_>,
    looks: &Looks<'_>,
) -> Result<Invocation, Reported> {
    let has_args = reader.is_present("args");
    let command = meant::check(reader, "command", |at| meant::command(at, has_args))
        .and_then(|()| reader.required_string("command"));
    let args = reader.optional_string_array("args");
    let command = command.and_then(|command| check_command(reader, command, looks));
    let args = args.and_then(|args| check_args(reader, args.unwrap_or_default()));
    Ok(Invocation::Argv { command: command?, args: args? })
}

/// Checks the one word that is the program. In order: blank, NUL, out of the plugin's directory
/// (only in a confined manifest), a command line. A program that is not there is a warning at
/// most, since it may be built later.
fn check_command(
    reader: &mut ObjectReader<'_, '_>,
    command: &str,
    looks: &Looks<'_>,
) -> Result<OsString, Reported> {
    let at = reader.at("command");
    if command.trim().is_empty() {
        let what = "\"command\" is empty";
        let diag = at.error(flyto_diagnostics::codes::BAD_VALUE, what);
        let help = "write the name of a program, or the path of one, such as `./run.sh`";
        return Err(reader.push(diag.with_help(help)));
    }
    if let Err(diagnostic) = check_system_text(at, "\"command\"") {
        return Err(reader.push(diagnostic));
    }
    if looks.place.is_confined
        && command.contains('/')
        && let Some(start_dir) = &looks.start_dir
    {
        // The working directory is within the plugin's, or could not be read.
        let base = start_dir.strip_prefix(looks.place.dir).ok();
        let path = Path::new(command);
        if let Some(diagnostic) = within::tool_leaves(at, base, path, looks.place) {
            return Err(reader.push(diagnostic));
        }
    }
    let is_line = command.contains(char::is_whitespace) || command.contains("{{");
    if is_line && !looks.is_there(command) {
        let args = reader.is_present("args").then(|| reader.at("args"));
        return Err(reader.push(command::not_a_program(at, command, args)));
    }
    if let Some(warning) = program::check(at, command, looks) {
        reader.push(warning);
    }
    Ok(command.into())
}

/// Checks each argument; they are taken byte for byte. Every argument with NUL has a finding of
/// its own.
fn check_args(
    reader: &mut ObjectReader<'_, '_>,
    args: Vec<&str>,
) -> Result<Vec<OsString>, Reported> {
    let mut failed = None;
    for (index, at) in reader.at("args").items().take(args.len()).enumerate() {
        if let Err(diagnostic) = check_system_text(at, format_args!("argument {}", index + 1)) {
            failed = Some(reader.push(diagnostic));
        }
    }
    if args.iter().any(|it| it.contains('{')) {
        check_placeholders(reader, &args);
    }
    failed.map_or_else(|| Ok(args.into_iter().map(Into::into).collect()), Err)
}

/// Warns about each argument with the name of a property in braces.
fn check_placeholders(reader: &mut ObjectReader<'_, '_>, args: &[&str]) {
    let properties = reader.at("input_schema").member("properties");
    let whole = reader.at("args");
    let command = reader.at("command").value().as_str().unwrap_or("…");
    for (arg, at) in args.iter().zip(whole.items()) {
        if let Some(warning) =
            placeholder(at, arg, properties, || command::as_template(command, Some(whole)))
        {
            reader.push(warning);
        }
    }
}

/// A warning about `{{name}}` where `name` is a property of the input. Other braces are left alone:
/// they are the language of many programs.
/// `template` makes the text of the help, and is called for a warning only.
fn placeholder(
    at: At<'_>,
    arg: &str,
    properties: Option<At<'_>>,
    template: impl FnOnce() -> String,
) -> Option<Diagnostic> {
    let properties = properties?.value().as_object()?;
    let name = arg.split("{{").skip(1).find_map(|rest| {
        let name = rest.split_once("}}")?.0.trim();
        properties.iter().any(|it| it.key.value == name).then_some(name)
    })?;
    let what = format!("{} stays as it is; nothing is put into arguments", quoted(arg));
    let diag = at.warning(codes::PLACEHOLDER, what);
    let name = quoted(name);
    let help = format!("take {name} from the input, which is on stdin as JSON; {}", template());
    Some(diag.with_help(help))
}
