//! Whether what a tool hands to its program is too long for any start.
//!
//! Each word by itself is bounded when it is read; here all of them are looked at together, with the values that variables have
//! now. Only an author who asks is told ([`Depth::Full`]): for each call the values are made anew.

use std::ffi::OsStr;

use flyto_diagnostics::{At, ObjectReader, codes::BAD_VALUE};
use flyto_execenv::{
    Declared, EnvPolicy, Environment, MAX_VALUES_BYTES, ValueError, WordsTooLong, argument_bytes,
    variable_bytes,
};
use flyto_program::MAX_ARGUMENT_BYTES;

use super::{def::Invocation, env::variable_length, place::Place};
use crate::{environment::PLUGIN_ROOT, options::Depth};

/// Warns of variables, and of arguments with them, that no call can hand over. `invocation` is `None` where it could not be
/// read.
///
/// What is not known counts with the fewest bytes that it can have: variables that are not set, values of a call, what the
/// operator grants.
pub(super) fn check(
    reader: &mut ObjectReader<'_, '_>,
    declared: &Declared,
    invocation: Option<&Invocation>,
    place: Place<'_>,
) {
    let options = place.options;
    if options.depth != Depth::Full {
        return;
    }
    let nothing = Environment::new();
    let host = options.env.as_deref().unwrap_or(&nothing);
    let max_bytes = options.max_words_bytes.unwrap_or(MAX_VALUES_BYTES as u64);
    let object = reader.at("env");
    let mut declared_bytes = 0;
    for (name, template) in declared.iter() {
        let n_bytes = match template.expand(host) {
            Ok(value) => value.len(),
            Err(ValueError::TooLong) => MAX_ARGUMENT_BYTES + 1,
            Err(_) => template.min_bytes(),
        };
        if variable_length(name, n_bytes) > MAX_ARGUMENT_BYTES {
            let what = format!(
                "the variable {name} would have more than {MAX_ARGUMENT_BYTES} bytes with its name"
            );
            return warn(reader, object.member(name).unwrap_or(object), what);
        }
        declared_bytes += variable_bytes(name.as_ref(), "".as_ref()) + n_bytes as u64;
        if declared_bytes > max_bytes {
            let what = format!(
                "up to {name}, the variables have {declared_bytes} bytes with what stands around each, and at most \
                 {max_bytes} can be handed over"
            );
            return warn(reader, object, what);
        }
    }
    let Some(invocation) = invocation else { return };
    let others = EnvPolicy::Minimal.build(host, [(PLUGIN_ROOT, place.dir)]);
    let is_declared = |name: &OsStr| name.to_str().is_some_and(|it| declared.get(it).is_some());
    let others = others.iter().filter(|it| !is_declared(it.0));
    let other_bytes: u64 = others.map(|(name, value)| variable_bytes(name, value)).sum();
    let variable_bytes = declared_bytes + other_bytes;
    let argument_bytes = least_argument_bytes(invocation);
    if argument_bytes + variable_bytes <= max_bytes {
        return;
    }
    let found = WordsTooLong::Together { argument_bytes, variable_bytes, max_bytes };
    let keys = if found.blames_variables() { ["env", "args"] } else { ["args", "env"] };
    let key = keys.into_iter().find(|it| reader.is_present(it)).unwrap_or("command");
    warn(reader, reader.at(key), found.to_string());
}

fn warn(reader: &mut ObjectReader<'_, '_>, at: At<'_>, what: String) {
    let diag = at.warning(BAD_VALUE, what).with_reason("each call of it fails");
    reader.push(diag.with_help("hand large values over in a file of the plugin"));
}

/// The fewest bytes that the program's name and its arguments have in any call.
fn least_argument_bytes(invocation: &Invocation) -> u64 {
    // The path of the program, which is not shorter than its name, stands beside the arguments without a pointer.
    let program_bytes = |n_bytes: usize| argument_bytes(n_bytes) + n_bytes as u64 + 1;
    match invocation {
        Invocation::Argv { command, args } => {
            let args = args.iter().map(|it| argument_bytes(it.len()));
            program_bytes(command.len()) + args.sum::<u64>()
        }
        Invocation::Template(template) => {
            let words = template.as_written();
            // A word with a placeholder may be left out.
            let args = words.iter().skip(1).filter(|it| !it.contains("{{"));
            let args = args.map(|it| argument_bytes(it.len()));
            program_bytes(words[0].len()) + args.sum::<u64>()
        }
        Invocation::Rpc { path, .. } => program_bytes(path.as_os_str().len()),
    }
}
