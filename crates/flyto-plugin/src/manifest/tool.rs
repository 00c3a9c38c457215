//! One entry of `tools`.
//!
//! The forms differ in a few keys only: which schema they take, how the program is named, and
//! which of two spellings of a key is their own. All of that is decided here; what the keys of
//! one form mean is in `argv`, `template` and `binary`.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    time::Duration,
};

use flyto_diagnostics::{At, Findings, ObjectReader, Reported, quoted};

use super::{
    argv,
    binary::{self, BinaryDef},
    category,
    def::{DEFAULT_TIMEOUT, Invocation, MAX_GRACE, ToolDef, ToolForm, any_object},
    env,
    field::{check_system_text, limits, non_blank, seconds, sha256, start_dir},
    lazy::Schema,
    length, meant, metadata, narrowing,
    place::Place,
    program, ready, rule_keys, schema, template, undo, within,
};
use crate::{codes, names::NameKind};

/// The keys that stand for each other, each with the spelling of this form first.
/// The other spelling works with a warning; both at once are an error.
struct Spelling {
    /// The directory in which the program starts.
    work_dir: (&'static str, &'static str),
    /// The time of a call, in whole seconds.
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

/// What a mistake in a tool costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The tool.
    Tool(Reported),
    /// The plugin: rules of permission stand in the tool, and they may be about any other one.
    Plugin(Reported),
}

impl Refused {
    pub(super) fn reported(self) -> Reported {
        match self {
            Self::Tool(it) | Self::Plugin(it) => it,
        }
    }
}

impl From<Reported> for Refused {
    fn from(it: Reported) -> Self {
        Self::Tool(it)
    }
}

/// Reads one tool, in the form that its plugin and its keys give it. `binary` is there for the
/// binary form and for no other. All keys are read before the first failure returns, so one run
/// shows every finding about the tool.
///
/// The time of `binary` wins over that of the tool; without both it is [`DEFAULT_TIMEOUT`].
///
/// # Errors
///
/// [`Refused`] when any key cannot be read, or says something that its form does not know.
pub(super) fn read(
    at: At<'_>,
    form: ToolForm,
    standing: Standing,
    binary: Option<&BinaryDef>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<ToolDef, Refused> {
    if let Some(diagnostic) = meant::tool(at) {
        return Err(findings.push(diagnostic).into());
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
    let blocks = blocks(&mut reader);
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
    if let Ok(declared) = &env {
        length::check_tool(at, declared, invocation.as_ref().ok(), place, reader.findings());
    }
    let sha256 = sha256.and_then(|digest| {
        let (Some(wanted), Ok(invocation)) = (digest, &invocation) else { return Ok(digest) };
        let (start_dir, env, command) = match invocation {
            Invocation::Argv { command, .. } => {
                let dir = work_dir.as_ref().ok().map(|it| start_dir(place.dir, it.as_deref()));
                (dir, env.as_ref().ok(), command.to_str().map(ToOwned::to_owned))
            }
            // A path that is relative leads into the session's directory, which is not known here.
            Invocation::Template(template) => {
                let known = |it: &&str| !it.contains('/') || it.starts_with('/');
                let program = template.program().filter(known).map(str::to_owned);
                (Some(place.dir.into()), env.as_ref().ok(), program)
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
    let ready = ready::read(&mut reader, form, binary);
    let limits = limits(&mut reader);
    let network = narrowing::network(&mut reader);
    let sandbox = non_blank(&mut reader, "sandbox");
    let undo = undo::read(&mut reader);
    let mut metadata = metadata::read(&mut reader);
    let category = category::read(&mut reader);
    if let (Ok(metadata), Ok(Some(category))) = (&mut metadata, category) {
        category.apply(metadata, |key| reader.is_present(key));
    }
    let unread_rules = rule_keys::refuse(&mut reader, rule_keys::Standing::Tool);
    reader.finish();

    unread_rules.map_err(Refused::Plugin)?;
    let _ = category?;
    let (input_schema, output_schema) = schemas?;
    Ok(ToolDef {
        name: name?.into_owned(),
        description: description?,
        input_schema: input_schema.unwrap_or_else(|| any_object().clone()),
        output_schema,
        blocks: blocks?,
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
        ready: ready?,
        undo: undo?,
        metadata: metadata?,
    })
}

/// Argv tools come from one family of manifests, the other two from ZeptoClaw's.
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
/// Pairs of the name elsewhere and the key here. Such a key stays unknown, which is a warning.
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

/// The name, by the rule of its form. Alone in a manifest, a name that breaks the rule is mended
/// without a finding, as the warning about the whole manifest shows the mended one.
///
/// # Errors
///
/// [`Reported`] when it is missing, breaks the rule in an entry of `tools`, or cannot be mended.
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

/// The text as it is; a blank or missing one is a warning that names the tool.
///
/// # Errors
///
/// [`Reported`] when it is no string.
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
/// The first of the two is the input's. Argv takes `input_schema`, a template takes
/// `parameters`, and a binary tool takes either.
///
/// # Errors
///
/// [`Reported`] when both keys of the input are there, or a schema cannot be used.
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

/// Whether `content` says that the result is a list of blocks: `mcp` is the one word that it takes.
///
/// # Errors
///
/// [`Reported`] for another value, and beside `output_schema`: both say what the program prints.
fn blocks(reader: &mut ObjectReader<'_, '_>) -> Result<bool, Reported> {
    let why = "a program prints blocks, or JSON by its schema";
    let exclusive = reader.exclusive("content", "output_schema", why);
    let content = reader.optional_one_of("content", &[("mcp", true)])?;
    exclusive?;
    Ok(content.unwrap_or_default())
}

/// The directory as it is written; an empty text counts as absent. One that is not there is a
/// warning, and is looked for only where the start is known: in the plugin, or at an absolute
/// path. `~` is not expanded.
///
/// # Errors
///
/// [`Reported`] when it is no string, holds NUL, or leads out of a confined plugin.
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
    if let Err(diagnostic) = check_system_text(at, format_args!("{key:?}")) {
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

/// Whole seconds from 0, the default, to [`MAX_GRACE`].
fn grace(reader: &mut ObjectReader<'_, '_>) -> Result<Duration, Reported> {
    let key = "grace_seconds";
    meant::check(reader, key, |at| meant::seconds(at, key, MAX_GRACE))?;
    Ok(Duration::from_secs(reader.optional_u64(key)?.unwrap_or_default()))
}
