//! From a text to a definition, or to findings that say what is wrong with it.

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, Source, json, quoted};
use serde_json::Value;

use super::{
    Body, DEFAULT_TIMEOUT, Example, MAX_DEFINITION_BYTES, ToolDefinition, any_object,
    canonical::GO_ZERO_TIME,
    check::{Fault, faults, faults_of_proposal},
};
use crate::codes;

/// What related formats call the keys.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("inputSchema", "input_schema"),
    ("parameters", "input_schema"),
    ("schema", "input_schema"),
    ("type", "execution_type"),
    ("code", "script"),
    ("bash", "script"),
    ("cmd", "command"),
    ("timeout", "timeout_seconds"),
    ("timeout_secs", "timeout_seconds"),
    ("tests", "examples"),
    ("reason", "rationale"),
];

/// What came of reading a definition.
///
/// ```
/// use flyto_diagnostics::Source;
/// use flyto_evolve::parse_proposal;
///
/// let parsed = parse_proposal(&Source::new("proposal", r#"{"name": "a b", "script": ""}"#));
/// assert!(parsed.definition.is_none());
/// for finding in parsed.findings.iter() {
///     println!("{}: {}", finding.code, finding.message);
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parsed {
    /// The definition; `None` where there is an error.
    pub definition: Option<ToolDefinition>,
    /// What was found, warnings included.
    pub findings: Findings,
}

/// Reads a definition that a store holds: the Go layout, and the keys that were added to it.
///
/// Every problem is a finding with code, place and, where it helps, a suggestion. A key that means nothing is a warning.
/// A text of more than [`MAX_DEFINITION_BYTES`] is refused, and so is one that is nested more than 128 deep.
///
/// ```
/// use flyto_diagnostics::Source;
///
/// let text = r#"{"name": "now", "description": "The time.", "input_schema": null,
///     "execution_type": "command", "command": "date", "version": 3, "created_at": "0001-01-01T00:00:00Z",
///     "concurrency_safe": false, "read_only": false}"#;
/// let parsed = flyto_evolve::parse(&Source::new("now.json", text));
/// assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
/// assert_eq!(parsed.definition.expect("no error").version, 3);
/// ```
#[must_use]
pub fn parse(source: &Source) -> Parsed {
    let mut findings = Findings::new();
    let definition = read(source, &mut findings, faults).ok();
    Parsed { definition, findings }
}

/// Reads a definition of a store without looking at what it means: its schema was compiled when it was approved, and it is
/// looked at again where it is proposed. Compiling schemas would take most of the time that a start and a call take.
pub(crate) fn parse_stored(source: &Source) -> Parsed {
    let mut findings = Findings::new();
    let definition = read(source, &mut findings, |_| Vec::new()).ok();
    Parsed { definition, findings }
}

/// Reads a definition that an agent proposes. Beside what [`parse`] refuses, it refuses unknown keys, names that not
/// every model API takes, parameters without a variable of their own, examples that do not fit, and parts that are larger
/// than a person can be asked to read.
///
/// ```
/// use flyto_diagnostics::Source;
///
/// let text = r#"{"name": "now", "description": "The time.", "execution_type": "command", "comand": "date"}"#;
/// let parsed = flyto_evolve::parse_proposal(&Source::new("proposal", text));
/// assert!(parsed.definition.is_none());
/// ```
#[must_use]
pub fn parse_proposal(source: &Source) -> Parsed {
    let mut findings = Findings::new();
    let all = |def: &ToolDefinition| {
        let mut res = faults(def);
        res.extend(faults_of_proposal(def));
        res
    };
    let definition = read(source, &mut findings, all).ok();
    findings.promote_warnings();
    let definition = definition.filter(|_| !findings.has_errors());
    Parsed { definition, findings }
}

/// Reads the text, then its keys, then has `check` look at the definition. A fault whose place is
/// not in the text, since something is missing, is told at the object that lacks it.
fn read(
    source: &Source,
    findings: &mut Findings,
    check: impl FnOnce(&ToolDefinition) -> Vec<Fault>,
) -> Result<ToolDefinition, Reported> {
    if source.text().len() > MAX_DEFINITION_BYTES {
        let what = format!(
            "the definition has {} bytes, and at most {MAX_DEFINITION_BYTES} are read",
            source.text().len()
        );
        let location = flyto_diagnostics::Location::file(source.name());
        let finding = Diagnostic::error(codes::TOO_LARGE, location, what);
        return Err(findings.push(finding.with_help("make two tools of it")));
    }
    let document = json::parse(source).map_err(|err| findings.push(*err))?;
    let root = At::root(source, &document);
    if root.value().as_object().is_none() {
        let what = format!("a definition must be one object, found {}", root.value().describe());
        return Err(findings.push(root.error(codes::NO_DEFINITION, what)));
    }
    let def = fields(root, findings)?;
    let mut failed = None;
    for Fault { code, pointer, what, help, instead } in check(&def) {
        let mut at = root.at_pointer(&pointer);
        // The place of what is missing is the object that lacks it.
        let mut rest = pointer.as_str();
        while at.is_none() {
            rest = rest.rsplit_once('/').map_or("", |(before, _)| before);
            at = root.at_pointer(rest);
        }
        let at = at.unwrap_or(root);
        let mut finding = at.error(code, what);
        if let Some(help) = help {
            finding = finding.with_help(help);
        }
        if let Some(instead) = instead {
            finding = finding.with_suggestion(at.span(), instead);
        }
        failed = Some(findings.push(finding));
    }
    failed.map_or(Ok(def), Err)
}

/// Reads the keys. All of them are read, so that one run reports all mistakes.
fn fields(at: At<'_>, findings: &mut Findings) -> Result<ToolDefinition, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    reader.suggest_for_each(OTHER_NAMES);
    // Editors look here for the schema of the file.
    reader.allow("$schema");
    let name = reader.required_string("name");
    let description = reader.required_string("description");
    let schema = read_schema(&mut reader);
    let body = read_body(&mut reader);
    let timeout = reader.optional_i64("timeout_seconds");
    let version = read_version(&mut reader);
    let created_at = reader.optional_string("created_at");
    let created_by = reader.optional_string("created_by");
    let rationale = reader.optional_string("rationale");
    let tags = reader.optional_string_array("tags");
    let concurrency_safe = reader.optional_bool("concurrency_safe");
    let read_only = reader.optional_bool("read_only");
    let examples = read_examples(&mut reader);
    reader.finish();

    let text = |it: Result<Option<&str>, Reported>| it.map(|it| it.unwrap_or_default().to_owned());
    let timeout = match timeout?.unwrap_or(0) {
        seconds if seconds <= 0 => DEFAULT_TIMEOUT.as_secs(),
        seconds => seconds.unsigned_abs(),
    };
    Ok(ToolDefinition {
        name: name?.to_owned(),
        description: description?.to_owned(),
        input_schema: schema?,
        body: body?,
        timeout_seconds: timeout,
        version: version?,
        created_at: text(created_at)?.replace(GO_ZERO_TIME, ""),
        created_by: text(created_by)?,
        rationale: text(rationale)?,
        tags: tags?.unwrap_or_default().into_iter().map(str::to_owned).collect(),
        concurrency_safe: concurrency_safe?.unwrap_or(false),
        read_only: read_only?.unwrap_or(false),
        examples: examples?,
    })
}

/// Go writes a negative or a missing version as well.
fn read_version(reader: &mut ObjectReader<'_, '_>) -> Result<u64, Reported> {
    Ok(reader.optional_i64("version")?.unwrap_or(0).max(0).unsigned_abs())
}

/// The schema of the input; without one, any object. A key that stands twice in it is an error.
fn read_schema(reader: &mut ObjectReader<'_, '_>) -> Result<Value, Reported> {
    // Go writes `null` where there is none.
    let at = reader.optional("input_schema")?.filter(|at| !at.value().is_null());
    let Some(at) = at else { return Ok(any_object()) };
    at.refuse_duplicate_keys(reader.findings())?;
    Ok(at.value().to_json())
}

/// The text under the key that `execution_type` names; where it does not say, the one text that is there. A text under
/// one of the other keys is an error, since one of the two would be read by a person and the other one run.
fn read_body(reader: &mut ObjectReader<'_, '_>) -> Result<Body, Reported> {
    let kind = reader.optional_string("execution_type");
    let script = reader.optional_string("script");
    let command = reader.optional_string("command");
    let composite = reader.optional_object("composite");
    let (kind, script, command, composite) = (kind?, script?, command?, composite?);
    let known = ["script", "command", "composite"];
    let given = [script.is_some(), command.is_some(), composite.is_some()];
    let given: Vec<&str> = known.into_iter().zip(given).filter(|it| it.1).map(|it| it.0).collect();
    let kind = match (kind, &given[..]) {
        (Some(kind), _) => kind,
        (None, [only]) => only,
        (None, []) => {
            let what = "a tool needs a \"script\", a \"command\" or a \"composite\"".to_owned();
            let finding = reader.at("execution_type").error(codes::BAD_BODY, what);
            return Err(reader.push(finding.with_help("write what is run under one of these keys")));
        }
        (None, [first, second, ..]) => {
            let what = format!(
                "a tool has one text, and {} and {} are there",
                quoted(first),
                quoted(second)
            );
            let finding = reader.at(second).error(codes::BAD_BODY, what);
            return Err(reader.push(finding.with_help("remove one of them")));
        }
    };
    if !known.contains(&kind) {
        let at = reader.at("execution_type");
        let what = format!(
            "\"execution_type\" must be \"script\", \"command\" or \"composite\", found {}",
            quoted(kind)
        );
        return Err(reader.push(at.error(codes::BAD_BODY, what)));
    }
    for key in known.into_iter().filter(|it| *it != kind) {
        // Go leaves out what is empty, and a person may not.
        let is_empty = match key {
            "script" => script.is_none_or(str::is_empty),
            "command" => command.is_none_or(str::is_empty),
            _ => composite.is_none(),
        };
        if !is_empty {
            let what = format!("a tool of the type \"{kind}\" has no {}", quoted(key));
            let finding = reader.at(key).error(codes::BAD_BODY, what);
            let help = format!("remove it, or write \"execution_type\": {}", quoted(key));
            return Err(reader.push(finding.with_help(help)));
        }
    }
    let missing = |reader: &mut ObjectReader<'_, '_>| {
        let at = reader.at("execution_type");
        let what = format!("a tool of the type \"{kind}\" needs the key \"{kind}\"");
        reader.push(
            at.error(codes::BAD_BODY, what).with_help("write the text that is run under that key"),
        )
    };
    match kind {
        "script" => script.map(|it| Body::Script(it.to_owned())).ok_or_else(|| missing(reader)),
        "command" => command.map(|it| Body::Command(it.to_owned())).ok_or_else(|| missing(reader)),
        _ => {
            let at = composite.ok_or_else(|| missing(reader))?;
            at.refuse_duplicate_keys(reader.findings())?;
            Ok(Body::Composite(at.value().to_json()))
        }
    }
}

/// The examples, each of them read though another one has a mistake.
fn read_examples(reader: &mut ObjectReader<'_, '_>) -> Result<Vec<Example>, Reported> {
    let Some(at) = reader.optional_array("examples")? else { return Ok(Vec::new()) };
    at.items().map(|item| read_example(item, reader.findings())).collect()
}

/// One example: its input and what is expected. Keys that other formats use are suggested.
fn read_example(at: At<'_>, findings: &mut Findings) -> Result<Example, Reported> {
    at.refuse_duplicate_keys(findings)?;
    let mut reader = ObjectReader::new(at, findings)?;
    reader.suggest_for("expected", "output");
    reader.suggest_for("expect", "output");
    let input = reader.required("input").map(|it| it.value().to_json());
    let output = reader.optional_string("output");
    let contains = reader.optional_string_array("contains");
    let is_error = reader.optional_bool("is_error");
    reader.finish();
    Ok(Example {
        input: input?,
        output: output?.map(str::to_owned),
        contains: contains?.unwrap_or_default().into_iter().map(str::to_owned).collect(),
        is_error: is_error?.unwrap_or(false),
    })
}
