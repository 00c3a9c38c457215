//! From a file to definitions, or to findings that say what is wrong with it.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    path::Path,
};

use flyto_diagnostics::{At, Diagnostic, Findings, Reported, Source, files, json, quoted};
use flyto_execenv::MAX_VALUES_BYTES;

use crate::{
    ExecToolDef, HostContext,
    check::StartBounds,
    codes,
    fields::{self, Checks, Read},
};

/// What came of reading a file.
///
/// Both parts are there: a file with warnings has tools, one with an error has none.
///
/// `tools` is `None` exactly where [`findings`](Self::findings) has an error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The tools in the order of the file, or `None` where there is an error: one bad definition
    /// refuses its whole file, so that no host works with half of what was declared.
    pub tools: Option<Vec<ExecToolDef>>,
    /// What was found, warnings included.
    pub findings: Findings,
}

/// Reads a file of definitions.
///
/// Every problem is a finding with code, place and, where it helps, a suggestion. All definitions
/// are looked at, so one run shows all problems. What is no regular file, such as a directory or a
/// FIFO, is refused at once, and so is a file of more than
/// [`MAX_FILE_BYTES`](files::MAX_FILE_BYTES) or [`MAX_ENTRIES`](flyto_diagnostics::MAX_ENTRIES) definitions.
#[must_use]
pub fn load_file(path: impl AsRef<Path>) -> Loaded {
    match files::open(path.as_ref()) {
        Ok(source) => load(&source),
        Err(diagnostic) => {
            let mut findings = Findings::new();
            findings.push(diagnostic);
            Loaded { tools: None, findings }
        }
    }
}

/// The same for a text that was read already. Its name is what the tools say they are from.
///
/// ```
/// use flyto_diagnostics::Source;
/// use flyto_exectool::load;
///
/// let text = r#"{"name": "kernel", "description": "The release.", "exec": ["uname", "-r"]}"#;
/// let loaded = load(&Source::new("tools.json", text));
/// assert_eq!(loaded.tools.expect("no error")[0].name(), "kernel");
///
/// // One mistake refuses the file, and the finding says where it is.
/// let loaded = load(&Source::new("tools.json", r#"{"name": "kernel", "exec": "uname"}"#));
/// assert!(loaded.tools.is_none());
/// let shown = loaded.findings.iter().next().expect("a finding").to_string();
/// assert!(shown.starts_with("tools.json:1:"), "{shown}");
/// ```
#[must_use]
pub fn load(source: &Source) -> Loaded {
    read_source(source, Checks::default())
}

/// The same for an author who asks: it also warns of each tool whose arguments are more than the system takes beside the
/// variables of `host`, so that none of its calls can start.
///
/// `max_words_bytes` is the most bytes that the system takes of both together, as `flyto_execenv::local::max_words_bytes`
/// tells; without it, [`MAX_VALUES_BYTES`].
///
/// ```
/// use flyto_diagnostics::Source;
/// use flyto_execenv::Environment;
/// use flyto_exectool::{HostContext, load_in_full};
///
/// let text = format!(r#"{{"name": "a", "description": "b", "exec": ["c", "{}"]}}"#, "x".repeat(100_000));
/// let host = HostContext::new(Environment::new(), "/");
/// let loaded = load_in_full(&Source::new("tools.json", text), &host, Some(90_000));
/// let finding = loaded.findings.iter().next().expect("a warning");
/// assert_eq!(finding.pointer.as_ref().expect("of a value").as_str(), "/exec");
/// assert!(loaded.tools.is_some());
/// ```
#[must_use]
pub fn load_in_full(source: &Source, host: &HostContext, max_words_bytes: Option<u64>) -> Loaded {
    let max_bytes = max_words_bytes.unwrap_or(MAX_VALUES_BYTES as u64);
    let bounds = StartBounds { env: &host.env, max_bytes };
    read_source(source, Checks { bounds: Some(bounds), ..Checks::default() })
}

fn read_source(source: &Source, mut checks: Checks<'_>) -> Loaded {
    let mut findings = Findings::new();
    let tools = read_document(source, &mut checks, &mut findings).ok();
    Loaded { tools, findings }
}

/// How the file was read. Every finding says it: a forgotten bracket shows there.
#[derive(Clone, Copy)]
enum Form {
    Object,
    Array,
    Item(usize),
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object => f.write_str("the file was read as one object"),
            Self::Array => f.write_str("the file was read as an array"),
            Self::Item(index) => write!(f, "item [{index}] of the file read as an array"),
        }
    }
}

impl Form {
    fn note(self, mut diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.message = format!("{} ({self})", diagnostic.message);
        diagnostic
    }
}

fn read_document(
    source: &Source,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Result<Vec<ExecToolDef>, Reported> {
    let document =
        json::parse(source).map_err(|err| findings.push(note_syntax(source, err.into())))?;
    let root = At::root(source, &document);
    if root.value().as_array().is_some() {
        return read_array(root, checks, findings);
    }
    if root.value().as_object().is_none() {
        let what = format!(
            "the file must hold one definition or an array of definitions, found {}",
            root.value().describe()
        );
        return Err(findings.push(root.error(codes::NO_DEFINITION, what)));
    }
    if let Some(diagnostic) = wrapped(root) {
        return Err(findings.push(Form::Object.note(diagnostic)));
    }
    Ok(vec![read_noted(root, Form::Object, checks, findings).def?])
}

/// Text that is no JSON was meant as one of the two as well, and its first character says which.
fn note_syntax(source: &Source, diagnostic: Diagnostic) -> Diagnostic {
    match source.text().trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).chars().next() {
        Some('[') => Form::Array.note(diagnostic),
        Some('{') => Form::Object.note(diagnostic),
        _ => diagnostic,
    }
}

/// An object around the array, as other formats have it.
///
/// Only where neither `name` nor `exec` stands beside the array, since such an object is a
/// definition with a key too many. The suggestion replaces the object by the array's text.
fn wrapped(root: At<'_>) -> Option<Diagnostic> {
    if root.member("name").is_some() || root.member("exec").is_some() {
        return None;
    }
    let (key, array) = root.members().find(|(_, at)| {
        at.value().as_array().is_some_and(|items| items.iter().any(|it| it.as_object().is_some()))
    })?;
    let what = format!("the definitions are within the key {}", quoted(key));
    let text = root.source().slice(array.span())?;
    Some(
        array
            .error(codes::NO_DEFINITION, what)
            .with_help("make the array the whole file, without an object around it")
            .with_suggestion(root.span(), text),
    )
}

fn read_array(
    root: At<'_>,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Result<Vec<ExecToolDef>, Reported> {
    root.refuse_many(findings)?;
    let mut res = Vec::new();
    let mut failed = None;
    let mut first_of: HashMap<&str, (usize, At<'_>)> = HashMap::new();
    for (index, at) in root.items().enumerate() {
        let form = Form::Item(index);
        let Read { name, def } = read_noted(at, form, checks, findings);
        // A definition that has another fault still has its name.
        if let Some((text, at)) = name {
            match first_of.entry(text) {
                Entry::Vacant(entry) => _ = entry.insert((index, at)),
                Entry::Occupied(entry) => {
                    failed = Some(findings.push(form.note(duplicate(text, at, *entry.get()))));
                }
            }
        }
        match def {
            Ok(def) => res.push(def),
            Err(reported) => failed = Some(reported),
        }
    }
    failed.map_or(Ok(res), Err)
}

/// `first` is the item that had the name before, by its index and the place of its name.
fn duplicate(name: &str, at: At<'_>, first: (usize, At<'_>)) -> Diagnostic {
    let (index, first) = first;
    let what = format!("the name {} is taken by item [{index}]", quoted(name));
    at.error(codes::DUPLICATE_NAME, what)
        .with_reason("a call could not say which of the two it means")
        .with_help("give one of them another name, or remove it")
        .with_related(first.location(), "the name is here first")
}

/// Reads one definition; its findings say where in the file it was.
fn read_noted<'v>(
    at: At<'v>,
    form: Form,
    checks: &mut Checks<'_>,
    findings: &mut Findings,
) -> Read<'v> {
    let mut own = Findings::new();
    let res = fields::read(at, checks, &mut own);
    for diagnostic in own.into_vec() {
        findings.push(form.note(diagnostic));
    }
    res
}
