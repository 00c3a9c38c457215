//! Values that stand under keys of several sections.
//!
//! Tools, `binary` and grants share these readers. None of them knows which section it reads.

use std::{borrow::Cow, fmt, path::Path, time::Duration};

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, json::Node, quoted};
use flyto_execenv::{Limits, Sha256};
use flyto_program::MAX_ARGUMENT_BYTES;

use super::{
    def::{DEFAULT_TIMEOUT, MAX_TIMEOUT},
    literal::span_within,
    meant, program,
};
use crate::{codes, place::moved};

/// The directory in which a program starts.
///
/// `work_dir` is taken from `dir`; an absolute one stands for itself. Nothing is resolved or
/// checked.
pub(crate) fn start_dir<'a>(dir: &'a Path, work_dir: Option<&'a Path>) -> Cow<'a, Path> {
    match work_dir {
        None => dir.into(),
        Some(work_dir) if work_dir.is_absolute() => work_dir.into(),
        Some(work_dir) => dir.join(work_dir).into(),
    }
}

/// A text that says something. A blank one counts as left out, with a warning.
/// The text comes back untrimmed.
#[inline(always)]
pub(super) fn non_blank(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<String>, Reported> {
    match reader.optional_string(key)? {
        Some(text) => unless_blank(reader, key, text),
        None => Ok(None),
    }
}

#[inline(never)]
fn unless_blank(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    text: &str,
) -> Result<Option<String>, Reported> {
    if text.chars().all(char::is_whitespace) {
        let at = reader.at(key);
        let what = format!("{} is blank and counts as left out", quoted(key));
        reader.push(at.warning(codes::BLANK, what));
        return Ok(None);
    }
    Ok(Some(text.to_owned()))
}

/// Refuses a text that the system hands to no program: one with a NUL character, which no argument and no path can
/// hold, and one that is longer than any argument ([`MAX_ARGUMENT_BYTES`]).
/// `label` names the value in the message. A value that is no string passes.
pub(crate) fn check_system_text(
    at: At<'_>,
    label: impl fmt::Display,
) -> Result<(), Box<Diagnostic>> {
    let n_bytes = at.value().as_str().map_or(0, str::len);
    check_bytes(at, &label, n_bytes)?;
    check_nul(at, label)
}

/// Whether [`check_system_text`] passes a text.
pub(super) fn is_system_text(text: &str) -> bool {
    text.len() <= MAX_ARGUMENT_BYTES && memchr::memchr(0, text.as_bytes()).is_none()
}

/// Refuses a value of so many bytes if no argument and no variable of a program has as many.
/// `label` names what has them.
pub(super) fn check_bytes(
    at: At<'_>,
    label: impl fmt::Display,
    n_bytes: usize,
) -> Result<(), Box<Diagnostic>> {
    if n_bytes <= MAX_ARGUMENT_BYTES {
        return Ok(());
    }
    let what =
        format!("{label} has {n_bytes} bytes, and at most {MAX_ARGUMENT_BYTES} can be handed over");
    let diag = at
        .error(flyto_diagnostics::codes::BAD_VALUE, what)
        .with_reason("the system bounds each argument and each variable of a program (execve(2))")
        .with_help("put it into a file of the plugin");
    Err(Box::new(diag))
}

/// Refuses a text with a NUL character.
pub(super) fn check_nul(at: At<'_>, label: impl fmt::Display) -> Result<(), Box<Diagnostic>> {
    let text = at.value().as_str().unwrap_or_default();
    let Some(nul) = memchr::memchr(0, text.as_bytes()) else { return Ok(()) };
    let what = format!("{label} holds a NUL character");
    let span = span_within(at, nul, nul + 1);
    let diag = at
        .error(codes::NUL, what)
        .with_reason("the system ends arguments, variables and paths at it")
        .with_help("remove it")
        .with_suggestion(span, "");
    Err(Box::new(moved(diag, at, span)))
}

/// A time in whole seconds. Zero and less stand for the default, with a warning.
/// Up to [`MAX_TIMEOUT`], one week. A fraction, and a text with a unit such as `10s`, are errors
/// that show the number to write.
pub(super) fn seconds(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<Duration>, Reported> {
    let Some(at) = reader.optional(key)? else { return Ok(None) };
    // What most people write.
    if let Node::Number(text) = &at.value().node
        && let Ok(seconds) = text.parse()
        && (1..=MAX_TIMEOUT.as_secs()).contains(&seconds)
    {
        return Ok(Some(Duration::from_secs(seconds)));
    }
    meant::check(reader, key, |at| meant::seconds(at, key, MAX_TIMEOUT))?;
    let Some(seconds) = reader.optional_i64(key)? else { return Ok(None) };
    if seconds <= 0 {
        let what = format!("{seconds} stands for the default of {} s", DEFAULT_TIMEOUT.as_secs());
        let diag = at.warning(codes::NO_TIMEOUT, what);
        reader.push(diag.with_help("write how many seconds the tool may take, or leave it out"));
        return Ok(Some(DEFAULT_TIMEOUT));
    }
    Ok(Some(Duration::from_secs(seconds.unsigned_abs())))
}

/// The digest as 64 hexadecimal digits, of the file `file` of the plugin where that is known.
/// Hexadecimal digits may be large or small. `file` only makes the help precise: which command
/// prints the digest.
pub(super) fn sha256(
    reader: &mut ObjectReader<'_, '_>,
    file: Option<&str>,
) -> Result<Option<Sha256>, Reported> {
    let Some(text) = reader.optional_string("sha256")? else { return Ok(None) };
    if let Some(digest) = digest(text) {
        return Ok(Some(digest));
    }
    let at = reader.at("sha256");
    let bare = text.strip_prefix("sha256:").filter(|it| digest(it).is_some());
    let what = if bare.is_some() {
        "a SHA-256 digest stands for itself here, without `sha256:`".to_owned()
    } else if text.bytes().all(|it| it.is_ascii_hexdigit()) {
        format!("a SHA-256 digest has 64 hexadecimal digits, found {}", text.len())
    } else if is_placeholder(text) {
        format!("{} stands for a SHA-256 digest and is none", quoted(text))
    } else {
        format!("{} is no SHA-256 digest", quoted(text))
    };
    let file = file.map_or_else(|| "FILE".to_owned(), |it| program::shell_word(it.as_ref()));
    let help = format!("`sha256sum {file}` prints it; leave the key out if the file may change");
    let diag = at.error(codes::BAD_DIGEST, what).with_help(help);
    Err(reader.push(match bare {
        Some(bare) => diag.with_suggestion(at.span(), format!("\"{bare}\"")),
        None => diag,
    }))
}

/// What an example writes where every program has another digest.
/// Dots, an ellipsis, `<`, or no digit at all.
fn is_placeholder(text: &str) -> bool {
    let has = |it: &str| text.contains(it);
    has("...") || has("…") || has("<") || !text.contains(|it: char| it.is_ascii_digit())
}

/// The 32 bytes of a text of 64 hexadecimal digits; `None` for any other text.
fn digest(text: &str) -> Option<Sha256> {
    let digits: Vec<u8> =
        text.chars().map(|it| it.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    // An odd digit at the end is one too many, which the length shows.
    (digits.len() == 64).then(|| bytes.try_into().ok().map(Sha256)).flatten()
}

/// The object `limits`, of a tool or of a grant.
/// An unknown key is a warning here; [`read_limits`] makes it an error.
pub(crate) fn limits(reader: &mut ObjectReader<'_, '_>) -> Result<Limits, Reported> {
    let Some(at) = reader.optional_object("limits")? else { return Ok(Limits::new()) };
    let mut reader = ObjectReader::new(at, reader.findings())?;
    let res = each_limit(&mut reader);
    reader.finish();
    res
}

/// Reads `limits` of an object that the operator wrote: upper bounds, of which an unknown one is an error,
/// because of `why`.
///
/// # Errors
///
/// [`Reported`] when one cannot be read.
/// Keys and units: `cpu_seconds`, `memory_bytes`, `processes`, `file_size_bytes`, `open_files`,
/// `output_bytes`, each a whole number above 0. A key that is absent sets no bound.
pub fn read_limits(reader: &mut ObjectReader<'_, '_>, why: &str) -> Result<Limits, Reported> {
    let Some(at) = reader.optional_object("limits")? else { return Ok(Limits::new()) };
    let mut reader = ObjectReader::new(at, reader.findings())?;
    let res = each_limit(&mut reader);
    reader.refuse_unknown(why)?;
    res
}

/// The keys of [`read_limits`].
pub const LIMIT_KEYS: [&str; 6] =
    ["cpu_seconds", "memory_bytes", "processes", "file_size_bytes", "open_files", "output_bytes"];

/// The six limits, from a reader of the object; the caller decides about unknown keys.
fn each_limit(reader: &mut ObjectReader<'_, '_>) -> Result<Limits, Reported> {
    let cpu_seconds = above_zero(reader, "cpu_seconds");
    let memory_bytes = above_zero(reader, "memory_bytes");
    let processes = above_zero(reader, "processes");
    let file_size_bytes = above_zero(reader, "file_size_bytes");
    let open_files = above_zero(reader, "open_files");
    let output_bytes = above_zero(reader, "output_bytes");

    let mut res = Limits::new();
    res.cpu_time = cpu_seconds?.map(Duration::from_secs);
    res.memory_bytes = memory_bytes?;
    res.processes = processes?;
    res.file_size_bytes = file_size_bytes?;
    res.open_files = open_files?;
    res.output_bytes = output_bytes?;
    Ok(res)
}

/// A whole number. 0 is an error, because other formats write it for no limit, and it would mean
/// that nothing may run.
fn above_zero(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<u64>, Reported> {
    let number = reader.optional_u64(key)?;
    if number != Some(0) {
        return Ok(number);
    }
    let at = reader.at(key);
    let what = format!("{} must be above 0; leave it out for no limit", quoted(key));
    Err(reader.push(at.error(flyto_diagnostics::codes::BAD_VALUE, what)))
}
