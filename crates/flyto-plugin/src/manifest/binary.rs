//! The section about a plugin's one program, and tools that it carries out.
//!
//! A binary plugin has one file that answers JSON-RPC for all tools, so `binary` belongs to the
//! head: a mistake in it costs the plugin. The file has to lie in the plugin's directory once
//! links are resolved. That is checked here, and once more before each start, because a link can
//! change.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, codes::UNKNOWN_KEY, quoted};
use flyto_execenv::Sha256;

use super::{
    def::{DEFAULT_IDLE, Invocation, Lifetime, MAX_TIMEOUT},
    field::{check_system_text, seconds, sha256},
    meant,
    place::Place,
    program::{looked_for_at, not_executable, other_digest},
    rule_keys, within,
};
use crate::{
    codes, files,
    place::{about_key, as_warning},
    rpc::program,
};

/// What `binary` says.
#[derive(Clone, Debug)]
pub(super) struct BinaryDef {
    /// As it is written: relative, and checked to stay within the plugin's directory.
    path: PathBuf,
    /// One process for each call, unless the manifest says `session`.
    pub(super) lifetime: Lifetime,
    /// The time of a call, which wins over that of the tool.
    pub(super) timeout: Option<Duration>,
    /// The digest of the bytes that must run.
    sha256: Option<Sha256>,
}

/// Reads `binary`, without which a binary plugin cannot be used at all.
/// `protocol` must be `jsonrpc` or absent. At [`Depth::Full`](crate::Depth::Full) the file is
/// hashed and compared with `sha256`.
///
/// # Errors
///
/// [`Reported`] when the section is missing or is no object, when the path leaves the directory,
/// and when a value cannot be read.
pub(super) fn read(
    reader: &mut ObjectReader<'_, '_>,
    place: Place<'_>,
) -> Result<BinaryDef, Reported> {
    let at = reader.required_object("binary")?;
    let mut reader = ObjectReader::new(at, reader.findings())?;
    reader.also_spelled("timeout_secs", "timeout_seconds");
    reader.also_spelled("idle_timeout_secs", "idle_timeout_seconds");
    for other in ["command", "file", "program", "executable"] {
        reader.suggest_for(other, "path");
    }
    reader.suggest_for("idle", "idle_timeout_secs");
    let path = reader.required_string("path").and_then(|path| check_path(&mut reader, path, place));
    let protocol = reader.optional_one_of("protocol", &[("jsonrpc", ())]);
    let timeout = seconds(&mut reader, "timeout_secs");
    let mut digest = sha256(&mut reader, path.ok());
    if let (Ok(Some(wanted)), Ok(path)) = (digest, path)
        && let Ok(file) = program::resolve(place.dir, Path::new(path))
        && let Some(finding) = other_digest(reader.at("sha256"), &file, wanted, place)
    {
        digest = Err(reader.push(finding));
    }
    let lifetime = lifetime(&mut reader);
    let at_head = rule_keys::Standing::Elsewhere(rule_keys::AT_HEAD);
    let unread_rules = rule_keys::refuse(&mut reader, at_head);
    reader.finish();
    unread_rules?;
    protocol?;
    Ok(BinaryDef { path: path?.into(), lifetime: lifetime?, timeout: timeout?, sha256: digest? })
}

/// Warns about keys of `binary` that stand beside it, where they have no effect.
///
/// Called for binary plugins only. These keys are allowed after that, so each has one finding
/// and not a second one as an unknown key.
pub(super) fn misplaced<'v>(reader: &mut ObjectReader<'v, '_>, root: At<'v>) {
    for key in ["sha256", "lifetime", "protocol", "idle_timeout_secs"] {
        if root.member(key).is_some() {
            let what = format!("unknown key {}", quoted(key));
            let diag = as_warning(about_key(root, key, UNKNOWN_KEY, what));
            reader.push(diag.with_help(format!("move it into \"binary\": `binary.{key}`")));
            reader.allow(key);
        }
    }
}

/// What runs for a call of a tool: the plugin's program, whatever the tool says.
///
/// A blank `command` and an empty `args` are accepted: tools of ZeptoClaw carry them without a
/// meaning.
///
/// # Errors
///
/// [`Reported`] (`F0127`) when the tool says which program it runs.
pub(super) fn invocation(
    reader: &mut ObjectReader<'_, '_>,
    binary: &BinaryDef,
) -> Result<Invocation, Reported> {
    let command = reader.optional("command");
    let args = reader.optional("args");
    let says_something = |at: &At<'_>| match (at.value().as_str(), at.value().as_array()) {
        (Some(text), _) => !text.trim().is_empty(),
        (_, Some(items)) => !items.is_empty(),
        _ => !at.value().is_null(),
    };
    for (at, what) in [(command?, "command"), (args?, "arguments")] {
        if let Some(at) = at.filter(says_something) {
            let what = format!("a tool of a binary plugin has no {what} of its own");
            let program = quoted(&binary.path.to_string_lossy());
            return Err(reader.push(
                at.error(codes::BINARY_COMMAND, what)
                    .with_reason(format!("its calls go to {program}, the program of the plugin"))
                    .with_help(
                        "remove it; the program reads from each request which tool is called, and \
                         with what",
                    ),
            ));
        }
    }
    Ok(Invocation::Rpc { path: binary.path.clone(), lifetime: binary.lifetime })
}

/// The digest of the program: the plugin's, which that of a tool may only repeat.
/// `tools` is what the tool itself declares. A digest of the tool where the plugin has none is
/// an error, too: the program is one file for all tools.
pub(super) fn digest(
    reader: &mut ObjectReader<'_, '_>,
    binary: &BinaryDef,
    tools: Option<Sha256>,
) -> Result<Option<Sha256>, Reported> {
    if tools.is_none() || tools == binary.sha256 {
        return Ok(binary.sha256);
    }
    let what = "the program of a binary plugin has one digest, which is not this";
    let diag = reader.at("sha256").error(codes::BAD_DIGEST, what);
    Err(reader.push(diag.with_help("write it as \"sha256\" of \"binary\", and remove it here")))
}

/// Reads `lifetime` and `idle_timeout_secs`. An idle time beside `call` is a warning, as it has
/// no effect there.
fn lifetime(reader: &mut ObjectReader<'_, '_>) -> Result<Lifetime, Reported> {
    let is_session = reader.optional_one_of("lifetime", &[("call", false), ("session", true)]);
    let key = "idle_timeout_secs";
    let idle = seconds_or_default(reader, key);
    if is_session? == Some(true) {
        return Ok(Lifetime::Session { idle: idle? });
    }
    if reader.is_present(key) {
        let at = reader.at(key);
        let what = format!("{} has no effect without `\"lifetime\": \"session\"`", quoted(key));
        let warning = at
            .warning(codes::UNUSED_IDLE_TIMEOUT, what)
            .with_reason("a program that is started for each call is never idle");
        reader.push(warning);
    }
    idle.map(|_| Lifetime::Call)
}

/// A time in whole seconds, up to [`MAX_TIMEOUT`]; 0 and an absent key stand for
/// [`DEFAULT_IDLE`]. A negative number is an error, unlike the timeout of a tool.
fn seconds_or_default(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Duration, Reported> {
    meant::check(reader, key, |at| meant::seconds(at, key, MAX_TIMEOUT))?;
    match reader.optional_u64(key)? {
        Some(0) => {
            let what = format!("0 stands for the default of {} s", DEFAULT_IDLE.as_secs());
            let diag = reader.at(key).warning(codes::NO_TIMEOUT, what);
            reader.push(diag.with_help("write how many seconds the program may be idle"));
            Ok(DEFAULT_IDLE)
        }
        seconds => Ok(seconds.map_or(DEFAULT_IDLE, Duration::from_secs)),
    }
}

/// Checks the text of the path, then where it leads on this machine. A file that is not there,
/// or not executable, is a warning.
fn check_path<'v>(
    reader: &mut ObjectReader<'v, '_>,
    path: &'v str,
    place: Place<'_>,
) -> Result<&'v str, Reported> {
    let at = reader.at("path");
    if let Err(diagnostic) = check_system_text(at, "\"path\"") {
        return Err(reader.push(diagnostic));
    }
    if let Some(diagnostic) = path_fault(at, path) {
        return Err(reader.push(diagnostic));
    }
    match program::resolve(place.dir, Path::new(path)) {
        Err(escape) => {
            let what = format!("the program {} is not in the plugin's directory", quoted(path));
            let diag = at.error(codes::BINARY_PATH, what);
            let diag = diag.with_reason(format!("a link leads to {:?}", escape.target));
            Err(reader.push(diag.with_help("put the file itself where the link is")))
        }
        Ok(file) => {
            if let Some(warning) = file_fault(at, path, &file) {
                reader.push(warning);
            }
            Ok(path)
        }
    }
}

/// What is wrong with the path by its text alone: blank, absolute, or climbing above its start.
fn path_fault(at: At<'_>, path: &str) -> Option<Diagnostic> {
    let why = if path.trim().is_empty() {
        "is blank"
    } else if Path::new(path).is_absolute() {
        "is absolute"
    } else if !within::descends(Path::new(path)) {
        "leaves the plugin's directory"
    } else {
        return None;
    };
    let what = format!("the path {} of the program {why}", quoted(path));
    let help = "write the path of a file within the plugin's directory, such as `bin/tool`";
    Some(at.error(codes::BINARY_PATH, what).with_help(help))
}

/// A warning when the program cannot be started as things are. It may be built later, so this is
/// no error.
/// `file` is the path with its links resolved, or as written where nothing is there.
fn file_fault(at: At<'_>, path: &str, file: &Path) -> Option<Diagnostic> {
    let program = quoted(path);
    let Ok(metadata) = fs::metadata(file) else {
        let what = format!("the program {program} is not there");
        return Some(
            at.warning(codes::NO_PROGRAM, what)
                .with_reason(looked_for_at(file))
                .with_help("build it before the first call"),
        );
    };
    let Some(kind) = files::other_kind(&metadata) else {
        return (!files::is_executable(&metadata)).then(|| not_executable(at, path, file));
    };
    let diag = at.warning(codes::NO_PROGRAM, format!("the program {program} is {kind}"));
    Some(diag.with_help("write the path of an executable file"))
}
