//! One entry of `tools`.

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, quoted};
use flyto_execenv::{Limits, Sha256};

use super::{
    DEFAULT_TIMEOUT, Invocation, MAX_GRACE, MAX_TIMEOUT, Schema, ToolDef, ToolForm, any_object,
    argv,
    binary::{self, BinaryDef},
    category, env,
    literal::span_within,
    meant, metadata, narrowing, program,
    program::Seen,
    schema, template, undo, within,
};
use crate::{codes, load::LoadOptions, names::NameKind, place::moved};

/// Where a manifest lies, and how closely it is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The plugin's directory, absolute.
    pub(crate) dir: &'a Path,
    pub(crate) options: &'a LoadOptions,
    /// The programs and directories that were looked at.
    pub(crate) seen: &'a Seen,
    /// Whether no path may lead out of the directory.
    pub(super) is_confined: bool,
}

impl<'a> Place<'a> {
    pub(crate) fn new(dir: &'a Path, options: &'a LoadOptions, seen: &'a Seen) -> Self {
        seen.next_manifest();
        Self { dir, options, seen, is_confined: false }
    }
}

/// The keys that stand for each other, each with the spelling of this form first.
struct Spelling {
    work_dir: (&'static str, &'static str),
    timeout: (&'static str, &'static str),
}

/// Where a tool is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// In an entry of `tools`.
    Entry,
    /// In place of the whole manifest, whose name is that of the plugin and of the tool.
    Alone,
}

pub(super) fn read(
    at: At<'_>,
    form: ToolForm,
    standing: Standing,
    binary: Option<&BinaryDef>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<ToolDef, Reported> {
    if let Some(diagnostic) = meant::tool(at) {
        return Err(findings.push(diagnostic));
    }
    let mut reader = ObjectReader::new(at, findings)?;
    let spelling = spelling(form);
    reader.also_spelled(spelling.work_dir.0, spelling.work_dir.1);
    reader.also_spelled(spelling.timeout.0, spelling.timeout.1);
    reader.suggest_for_each(match form {
        ToolForm::Argv => &const { hints("work_dir", "timeout_seconds") },
        ToolForm::Template | ToolForm::Binary => &const { hints("working_dir", "timeout_secs") },
    });

    if standing == Standing::Alone {
        for key in ["$schema", "author", "execution", "binary"] {
            reader.allow(key);
        }
    }
    let name = name(&mut reader, form, standing);
    let description = description(&mut reader, name.as_deref().ok());
    let schemas = schemas(&mut reader, form, place);
    let work_dir = work_dir(&mut reader, spelling.work_dir.0, form, place);
    let env = env::read(&mut reader);
    let sha256 = sha256(&mut reader, None);
    let sha256 = match binary {
        Some(binary) => sha256.and_then(|it| binary::digest(&mut reader, binary, it)),
        None => sha256,
    };
    let invocation = match (form, binary) {
        (_, Some(binary)) => binary::invocation(&mut reader, binary),
        (ToolForm::Argv, None) => {
            let start_dir = work_dir.as_ref().ok().map(|it| start_dir(place.dir, it.as_deref()));
            let looks = program::Looks { start_dir, env: env.as_ref().ok(), place };
            argv::read(&mut reader, &looks)
        }
        (_, None) => template::read(&mut reader, place),
    };
    let sha256 = sha256.and_then(|digest| {
        let (Some(wanted), Ok(invocation)) = (digest, &invocation) else { return Ok(digest) };
        let (start_dir, env, command) = match invocation {
            Invocation::Argv { command, .. } => {
                let dir = work_dir.as_ref().ok().map(|it| start_dir(place.dir, it.as_deref()));
                (dir, env.as_ref().ok(), command.to_str().map(ToOwned::to_owned))
            }
            // A path that is relative leads into the session's directory, which is not known here.
            Invocation::Template(template) => {
                let known = |it: &String| !it.contains('/') || it.starts_with('/');
                (Some(place.dir.to_owned()), env.as_ref().ok(), template.program().filter(known))
            }
            Invocation::Rpc { .. } => return Ok(digest),
        };
        let looks = program::Looks { start_dir, env, place };
        let file = command.and_then(|it| looks.file(&it));
        let at = reader.at("sha256");
        match file.and_then(|it| program::other_digest(at, &it, wanted, place)) {
            Some(finding) => Err(reader.push(finding)),
            None => Ok(digest),
        }
    });
    let timeout = seconds(&mut reader, spelling.timeout.0);
    let grace = grace(&mut reader);
    let stream = meant::flag(&mut reader, "stream");
    let limits = limits(&mut reader);
    let network = narrowing::network(&mut reader);
    let sandbox = non_blank(&mut reader, "sandbox");
    let undo = undo::read(&mut reader);
    let mut metadata = metadata::read(&mut reader);
    let category = category::read(&mut reader);
    if let (Ok(metadata), Ok(Some(category))) = (&mut metadata, category) {
        category.apply(metadata, |key| reader.is_present(key));
    }
    reader.finish();

    let _ = category?;
    let (input_schema, output_schema) = schemas?;
    Ok(ToolDef {
        name: name?.into_owned(),
        description: description?,
        input_schema: input_schema.unwrap_or_else(|| any_object().clone()),
        output_schema,
        invocation: invocation?,
        env: env?,
        work_dir: work_dir?,
        timeout: binary.and_then(|it| it.timeout).or(timeout?).unwrap_or(DEFAULT_TIMEOUT),
        grace: grace?,
        limits: limits?,
        network: network?,
        sandbox: sandbox?,
        sha256: sha256?,
        stream: stream?.unwrap_or_default(),
        undo: undo?,
        metadata: metadata?,
    })
}

/// The directory in which a program starts.
pub(crate) fn start_dir(dir: &Path, work_dir: Option<&Path>) -> PathBuf {
    work_dir.map_or_else(|| dir.to_owned(), |it| dir.join(it))
}

/// A text that says something. A blank one counts as left out, with a warning.
pub(super) fn non_blank(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<String>, Reported> {
    let Some(text) = reader.optional_string(key)? else { return Ok(None) };
    if text.trim().is_empty() {
        let at = reader.at(key);
        let what = format!("{} is blank and counts as left out", quoted(key));
        reader.push(at.warning(codes::BLANK, what));
        return Ok(None);
    }
    Ok(Some(text.to_owned()))
}

/// Refuses a NUL character, which no argument and no path can hold.
pub(crate) fn refuse_nul(at: At<'_>, label: impl fmt::Display) -> Result<(), Box<Diagnostic>> {
    let Some(nul) = at.value().as_str().and_then(|it| it.find('\0')) else { return Ok(()) };
    let what = format!("{label} holds a NUL character");
    let span = span_within(at, nul, nul + 1);
    let diag = at
        .error(codes::NUL, what)
        .with_reason("the system ends arguments, variables and paths at it")
        .with_help("remove it")
        .with_suggestion(span, "");
    Err(Box::new(moved(diag, at, span)))
}

const fn spelling(form: ToolForm) -> Spelling {
    let (work_dir, timeout) = (("work_dir", "working_dir"), ("timeout_seconds", "timeout_secs"));
    match form {
        ToolForm::Argv => Spelling { work_dir, timeout },
        ToolForm::Template | ToolForm::Binary => {
            Spelling { work_dir: (work_dir.1, work_dir.0), timeout: (timeout.1, timeout.0) }
        }
    }
}

/// Names from other formats that no likeness of letters leads to.
const fn hints(
    work_dir: &'static str,
    timeout: &'static str,
) -> [(&'static str, &'static str); 18] {
    [
        ("cwd", work_dir),
        ("dir", work_dir),
        ("directory", work_dir),
        ("deadline", timeout),
        ("cmd", "command"),
        ("exec", "command"),
        ("run", "command"),
        ("program", "command"),
        ("arguments", "args"),
        ("argv", "args"),
        ("environment", "env"),
        ("schema", "input_schema"),
        ("input", "input_schema"),
        ("returns", "output_schema"),
        ("permission", "permission_class"),
        ("digest", "sha256"),
        ("hash", "sha256"),
        ("streaming", "stream"),
    ]
}

fn name<'v>(
    reader: &mut ObjectReader<'v, '_>,
    form: ToolForm,
    standing: Standing,
) -> Result<Cow<'v, str>, Reported> {
    let name = reader.required_string("name")?;
    let kind = match form {
        ToolForm::Argv => NameKind::ArgvTool,
        ToolForm::Template | ToolForm::Binary => NameKind::OtherTool,
    };
    let Err(fault) = kind.check(name) else { return Ok(name.into()) };
    if let (Standing::Alone, Some(better)) = (standing, kind.mended(name)) {
        return Ok(better.into());
    }
    let at = reader.at("name");
    let what = format!("the name {} of a tool {fault}", quoted(name));
    let diag = at.error(codes::BAD_TOOL_NAME, what);
    let diag = diag.with_help(format!("a name is made of {}", kind.rule()));
    Err(reader.push(match kind.mended(name) {
        Some(better) => diag.with_suggestion(at.span(), quoted(&better)),
        None => diag,
    }))
}

fn description(reader: &mut ObjectReader<'_, '_>, name: Option<&str>) -> Result<String, Reported> {
    let text = reader.optional_string("description")?.unwrap_or_default();
    if text.trim().is_empty() {
        let at = reader.at("description");
        let what = match name {
            Some(name) => format!("the tool {} has no description", quoted(name)),
            None => "a tool has no description".to_owned(),
        };
        reader.push(
            at.warning(codes::NO_DESCRIPTION, what)
                .with_reason("a model chooses a tool by its description")
                .with_help("say in a sentence or two what the tool does and when to use it"),
        );
    }
    Ok(text.to_owned())
}

/// The schemas of input and output.
fn schemas(
    reader: &mut ObjectReader<'_, '_>,
    form: ToolForm,
    place: Place<'_>,
) -> Result<(Option<Schema>, Option<Schema>), Reported> {
    let why = match form {
        ToolForm::Binary => "both are the schema of the input",
        _ => "\"parameters\" makes the tool a template, whose input has no other schema",
    };
    let exclusive = reader.exclusive("parameters", "input_schema", why);
    let input = match form {
        ToolForm::Argv => schema::read(reader, "input_schema", place),
        ToolForm::Template => template::parameters(reader, "parameters", place).map(Some),
        ToolForm::Binary => {
            let parameters = match reader.optional("parameters") {
                Ok(Some(_)) => template::parameters(reader, "parameters", place).map(Some),
                none => none.map(|_| None),
            };
            let input_schema = schema::read(reader, "input_schema", place);
            parameters.and_then(|it| input_schema.map(|other| it.or(other)))
        }
    };
    let output = schema::read(reader, "output_schema", place);
    exclusive?;
    Ok((input?, output?))
}

fn work_dir(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    form: ToolForm,
    place: Place<'_>,
) -> Result<Option<PathBuf>, Reported> {
    let Some(text) = reader.optional_string(key)?.filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let at = reader.at(key);
    if let Err(diagnostic) = refuse_nul(at, format_args!("{key:?}")) {
        return Err(reader.push(diagnostic));
    }
    if place.is_confined {
        let base = (form == ToolForm::Argv).then_some(Path::new(""));
        if let Some(diagnostic) = within::tool_leaves(at, base, Path::new(text), place) {
            return Err(reader.push(diagnostic));
        }
    }
    // The other forms start in a directory that only the session knows.
    if form != ToolForm::Argv && text.starts_with('~') {
        let what = format!("the working directory {} is not a home directory", quoted(text));
        let diag = at.warning(codes::NO_WORKING_DIR, what);
        reader.push(diag.with_help("`~` is not expanded here; write the whole path"));
    }
    if form == ToolForm::Argv || Path::new(text).is_absolute() {
        let dir = start_dir(place.dir, Some(Path::new(text)));
        if !place.seen.metadata(&dir).is_some_and(|it| it.is_dir()) {
            let what = format!("the working directory {} is not there", quoted(text));
            let diag =
                at.warning(codes::NO_WORKING_DIR, what).with_reason(program::looked_for_at(&dir));
            reader.push(match text.starts_with('~') {
                true => diag.with_help("`~` is not expanded here; write the whole path"),
                false if Path::new(text).is_absolute() => diag,
                false => diag.with_help("a relative path is taken from the plugin's directory"),
            });
        }
    }
    Ok(Some(PathBuf::from(text)))
}

/// A time in whole seconds. Zero and less stand for the default, with a warning.
pub(super) fn seconds(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<Duration>, Reported> {
    if reader.optional(key)?.is_none() {
        return Ok(None);
    }
    meant::check(reader, key, |at| meant::seconds(at, key, MAX_TIMEOUT))?;
    let Some(seconds) = reader.optional_i64(key)? else { return Ok(None) };
    let at = reader.at(key);
    if seconds <= 0 {
        let what = format!("{seconds} stands for the default of {} s", DEFAULT_TIMEOUT.as_secs());
        let diag = at.warning(codes::NO_TIMEOUT, what);
        reader.push(diag.with_help("write how many seconds the tool may take, or leave it out"));
        return Ok(Some(DEFAULT_TIMEOUT));
    }
    Ok(Some(Duration::from_secs(seconds.unsigned_abs())))
}

fn grace(reader: &mut ObjectReader<'_, '_>) -> Result<Duration, Reported> {
    let key = "grace_seconds";
    meant::check(reader, key, |at| meant::seconds(at, key, MAX_GRACE))?;
    Ok(Duration::from_secs(reader.optional_u64(key)?.unwrap_or_default()))
}

/// The digest as 64 hexadecimal digits, of the file `file` of the plugin where that is known.
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
fn is_placeholder(text: &str) -> bool {
    let has = |it: &str| text.contains(it);
    has("...") || has("…") || has("<") || !text.contains(|it: char| it.is_ascii_digit())
}

fn digest(text: &str) -> Option<Sha256> {
    let digits: Vec<u8> =
        text.chars().map(|it| it.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    // An odd digit at the end is one too many, which the length shows.
    (digits.len() == 64).then(|| bytes.try_into().ok().map(Sha256)).flatten()
}

/// The object `limits`, of a tool or of a grant.
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
pub fn read_limits(reader: &mut ObjectReader<'_, '_>, why: &str) -> Result<Limits, Reported> {
    let Some(at) = reader.optional_object("limits")? else { return Ok(Limits::new()) };
    let mut reader = ObjectReader::new(at, reader.findings())?;
    let res = each_limit(&mut reader);
    reader.refuse_unknown(why)?;
    res
}

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
