//! The block `mcpServers` of a manifest.
//!
//! The shape is the one that most hosts of the Model Context Protocol share. Keys that other
//! hosts add to it have no effect here, and each gets a warning that says so: a plugin that was
//! written for another host should load, and its author should know what does not hold.

use std::{collections::BTreeMap, path::Path, time::Duration};

use flyto_diagnostics::{At, Findings, ObjectReader, Reported, Severity, codes::BAD_VALUE, quoted};
use flyto_execenv::Template;

use super::{
    RULES_ELSEWHERE,
    def::{HttpKind, ServerDef, Transport},
    foreign_reference, header, read_all, report_unset, template, url,
};
use crate::{
    codes,
    manifest::{
        command,
        def::MAX_TIMEOUT,
        dialect::Dialect,
        env, length, meant,
        place::{Place, Seen},
        rule_keys,
    },
    options::LoadOptions,
    place::{about_key, as_warning},
};

/// Reads the servers of a manifest.
///
/// The servers that can be used and are not switched off, in the order of the text.
pub(in crate::manifest) fn read(
    at: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Vec<ServerDef> {
    let parse = |text: &str| place.dialect.parse(text).ok();
    read_all(at, findings, parse, |name, at, findings| server(name, at, place, findings))
}

/// Reads servers that stand outside a manifest, under `mcpServers` of a configuration or of another program's file, with the
/// rules of a manifest: the servers that can be used and are not switched off, in the order of the text.
///
/// Paths of programs are looked for from `dir`. A server that cannot be used costs itself, with a finding.
///
/// ```
/// use flyto_diagnostics::{At, Findings, Source, json};
/// use flyto_plugin::{LoadOptions, read_servers};
///
/// let source = Source::new(".mcp.json", r#"{"time": {"command": "mcp-server-time"}, "b": {"command": ""}}"#);
/// let value = json::parse(&source).expect("it is JSON");
/// let mut findings = Findings::new();
/// let servers = read_servers(
///     At::root(&source, &value),
///     "/home/ada".as_ref(),
///     &LoadOptions::new(),
///     &mut findings,
/// );
/// assert_eq!((servers.len(), servers[0].name.as_str()), (1, "time"));
/// assert_eq!(findings.iter().count(), 1);
/// ```
pub fn read_servers(
    at: At<'_>,
    dir: &Path,
    options: &LoadOptions,
    findings: &mut Findings,
) -> Vec<ServerDef> {
    let seen = Seen::default();
    read(at, Place { root: None, ..Place::new(dir, options, &seen) }, findings)
}

/// Keys that other programs know and that mean nothing here, each with what to do.
/// The help follows the finding that the key has no effect. Keys about permission are here, too:
/// a plugin cannot allow itself anything.
const FOREIGN: [(&str, &str); 13] = [
    ("timeout", "write \"timeout_seconds\": how many seconds one call may take"),
    ("alwaysLoad", "when tools are loaded is the host's to say; remove the key"),
    ("alwaysAllow", "what may be called without asking is the operator's to say; remove the key"),
    ("autoApprove", "what may be called without asking is the operator's to say; remove the key"),
    ("trust", "what may be called without asking is the operator's to say; remove the key"),
    ("includeTools", "which tools may be called is the operator's to say; remove the key"),
    ("excludeTools", "which tools may be called is the operator's to say; remove the key"),
    ("envFile", "files of variables are not read; declare each in \"env\", as `${NAME}`"),
    ("env_keys", "declare each variable in \"env\", as `${NAME}`"),
    ("env_vars", "declare each variable in \"env\", as `${NAME}`"),
    ("headersHelper", "no program is run for headers; write them into \"headers\""),
    ("oauth", "write the credentials into \"headers\", from a variable of the host"),
    ("description", "a server describes itself; remove the key"),
];

/// What `type` says, before the keys of the transport are read.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Stdio,
    Http(HttpKind),
}

/// One server. `None` when `disabled` or `enabled` switches it off; its keys are checked all the
/// same.
///
/// # Errors
///
/// [`Reported`] when the transport or one of the two switches cannot be read.
fn server(
    name: &str,
    at: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Option<ServerDef>, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    foreign_keys(at, &mut reader);
    for (other, key) in [
        ("environment", "env"),
        ("envs", "env"),
        ("cmd", "command"),
        ("arguments", "args"),
        ("transport", "type"),
        ("httpUrl", "url"),
        ("serverUrl", "url"),
        ("uri", "url"),
        ("endpoint", "url"),
        ("http_headers", "headers"),
        ("work_dir", "cwd"),
        ("working_dir", "cwd"),
    ] {
        reader.suggest_for(other, key);
    }
    let is_off = is_off(at, &mut reader);
    let timeout = timeout(&mut reader);
    let transport = transport(&mut reader, place);
    let elsewhere = rule_keys::Standing::Elsewhere(RULES_ELSEWHERE);
    let unread_rules = rule_keys::refuse(&mut reader, elsewhere);
    let unread_bounds = refuse_bounds(at, &mut reader);
    reader.finish();
    unread_rules.and(unread_bounds)?;
    let mut res = ServerDef {
        name: name.to_owned(),
        file: at.source().name().to_owned(),
        transport: transport?,
        timeout: timeout?,
        unset: Vec::new(),
    };
    if is_off? {
        return Ok(None);
    }
    length::check_server(at, &res.transport, place, findings);
    report_unset(&mut res, at, place.options.env.as_deref(), place.options.depth, findings);
    Ok(Some(res))
}

/// What a tool may declare to be confined by, and a server may not.
const BOUNDS: [&str; 3] = ["sandbox", "network", "limits"];

/// Refuses the keys of [`BOUNDS`]: a server would run without them, where its author reads that it is confined.
///
/// # Errors
///
/// [`Reported`] where there is one.
fn refuse_bounds<'v>(at: At<'v>, reader: &mut ObjectReader<'v, '_>) -> Result<(), Reported> {
    let mut res = Ok(());
    for key in BOUNDS {
        if reader.is_present(key) {
            let what = format!("{} of a server is not read", quoted(key));
            let diag = about_key(at, key, codes::MISPLACED, what).with_reason(rule_keys::NOT_READ);
            let help = "servers are confined by the operator: `{\"sandbox\": {\"mcp_server\": \"strict\"}}` in the configuration";
            res = Err(reader.push(diag.with_help(help)));
        }
        reader.allow(key);
    }
    res
}

/// How long one call may take: at least 1 s, at most [`MAX_TIMEOUT`].
fn timeout(reader: &mut ObjectReader<'_, '_>) -> Result<Option<Duration>, Reported> {
    let key = "timeout_seconds";
    meant::check(reader, key, |at| meant::seconds(at, key, MAX_TIMEOUT))?;
    match reader.optional_u64(key)? {
        Some(0) => {
            let diag = reader.at(key).error(BAD_VALUE, "a call needs more than 0 s");
            let help = "write how many seconds one call may take, or leave the key out";
            Err(reader.push(diag.with_help(help)))
        }
        seconds => Ok(seconds.map(Duration::from_secs)),
    }
}

/// Warns about each key of [`FOREIGN`] that is there, and allows all of them.
fn foreign_keys<'v>(at: At<'v>, reader: &mut ObjectReader<'v, '_>) {
    for (key, help) in FOREIGN {
        if reader.is_present(key) {
            let what = format!("{} of a server has no effect here", quoted(key));
            let warning = as_warning(about_key(at, key, codes::FOREIGN_KEY, what));
            reader.push(warning.with_help(help));
        }
        reader.allow(key);
    }
}

/// Whether the author switched the server off, in one of the two ways that other programs know.
/// The warning names the key, as a server that is left out has to be seen in the report.
fn is_off(at: At<'_>, reader: &mut ObjectReader<'_, '_>) -> Result<bool, Reported> {
    let mut res = false;
    for (key, off) in [("disabled", true), ("enabled", false)] {
        if !reader.is_present(key) {
            reader.allow(key);
            continue;
        }
        if meant::flag(reader, key)? == Some(off) {
            let what = format!("the server is switched off by {} and left out", quoted(key));
            let note = as_warning(about_key(at, key, codes::FOREIGN_KEY, what));
            reader
                .push(note.with_help("remove the key to declare the server, or remove the server"));
            res = true;
        }
    }
    Ok(res)
}

/// `type` decides; without it `url` or `headers` without `command` is HTTP, and anything else is
/// a program. `command` and `url` exclude each other.
///
/// # Errors
///
/// [`Reported`] when `type` is an unknown word, and where the transport cannot be read.
fn transport(reader: &mut ObjectReader<'_, '_>, place: Place<'_>) -> Result<Transport, Reported> {
    let kind = reader.optional_one_of(
        "type",
        &[
            ("stdio", Kind::Stdio),
            ("http", Kind::Http(HttpKind::Streamable)),
            ("streamable-http", Kind::Http(HttpKind::Streamable)),
            ("sse", Kind::Http(HttpKind::Sse)),
        ],
    );
    let why = "a server is either a program that is started or one that is reached over HTTP";
    let exclusive = reader.exclusive("command", "url", why);
    let has_url = reader.is_present("url") || reader.is_present("headers");
    let kind = match kind {
        Ok(Some(kind)) => kind,
        Ok(None) if has_url && !reader.is_present("command") => Kind::Http(HttpKind::Streamable),
        Ok(None) => Kind::Stdio,
        Err(reported) => {
            for key in ["command", "args", "env", "cwd", "url", "headers"] {
                reader.allow(key);
            }
            return Err(reported);
        }
    };
    if kind == Kind::Http(HttpKind::Sse) {
        let at = reader.at("type");
        let diag = at.warning(codes::FOREIGN_KEY, "\"sse\" is the older of two ways over HTTP");
        reader.push(diag.with_help("write \"http\" if the server knows the one in use"));
    }
    exclusive?;
    match kind {
        Kind::Stdio => stdio(reader, place),
        Kind::Http(kind) => http(reader, kind, place.dialect),
    }
}

/// A server that is started. An empty `cwd` counts as absent.
fn stdio(reader: &mut ObjectReader<'_, '_>, place: Place<'_>) -> Result<Transport, Reported> {
    let has_args = reader.is_present("args");
    let command = meant::check(reader, "command", |at| meant::command(at, has_args))
        .and_then(|()| reader.required_string("command"))
        .and_then(|text| check_command(reader, text, place));
    let args = args(reader, place.dialect);
    let env = env::read_as(reader, place.dialect).map(|it| place.dialect.with_dirs(it));
    let cwd = reader.optional_string("cwd").and_then(|text| {
        let Some(text) = text.filter(|it| !it.is_empty()) else { return Ok(None) };
        let at = reader.at("cwd");
        template(at, "\"cwd\"", text, place.dialect).map(Some).map_err(|diag| reader.push(diag))
    });
    Ok(Transport::Stdio { command: command?, args: args?, env: env?, cwd: cwd? })
}

/// A text with blanks is a command line, unless it holds a reference or names an existing file
/// in the plugin's directory. A program that is missing is found out when the server is started.
fn check_command(
    reader: &mut ObjectReader<'_, '_>,
    text: &str,
    place: Place<'_>,
) -> Result<Template, Reported> {
    let at = reader.at("command");
    if text.trim().is_empty() {
        let diag = at.error(BAD_VALUE, "\"command\" is empty");
        return Err(reader.push(diag.with_help("write the name of a program, or the path of one")));
    }
    if text.contains(char::is_whitespace) && !text.contains('$') && !place.dir.join(text).exists() {
        let args = reader.is_present("args").then(|| reader.at("args"));
        let diagnostic = command::not_a_program(at, text, args);
        return Err(reader.push(diagnostic));
    }
    if let Some(warning) = foreign_reference(at, text) {
        reader.push(warning);
    }
    template(at, "\"command\"", text, place.dialect).map_err(|diag| reader.push(diag))
}

/// The arguments, with their references parsed; one that cannot be read refuses the server.
fn args(reader: &mut ObjectReader<'_, '_>, dialect: Dialect) -> Result<Vec<Template>, Reported> {
    let texts = reader.optional_string_array("args")?.unwrap_or_default();
    let mut res = Vec::with_capacity(texts.len());
    let mut failed = None;
    for (index, (text, at)) in texts.into_iter().zip(reader.at("args").items()).enumerate() {
        if let Some(warning) = foreign_reference(at, text) {
            reader.push(warning);
        }
        match template(at, &format!("argument {}", index + 1), text, dialect) {
            Ok(template) => res.push(template),
            Err(diagnostic) => failed = Some(reader.push(diagnostic)),
        }
    }
    failed.map_or(Ok(res), Err)
}

/// A server that is reached. An address with `$` in it is not checked, as what it becomes is not
/// known.
fn http(
    reader: &mut ObjectReader<'_, '_>,
    kind: HttpKind,
    dialect: Dialect,
) -> Result<Transport, Reported> {
    let url = reader.required_string("url").and_then(|text| {
        let at = reader.at("url");
        if let Some(fault) = (!text.contains('$')).then(|| url::fault(at, text, false)).flatten() {
            let is_error = fault.severity == Severity::Error;
            let reported = reader.push(fault);
            if is_error {
                return Err(reported);
            }
        }
        template(at, "\"url\"", text, dialect).map_err(|diag| reader.push(diag))
    });
    let headers = headers(reader, dialect);
    Ok(Transport::Http { kind, url: url?, headers: headers? })
}

/// The headers by name, but those that the client sends with values of its own.
fn headers(
    reader: &mut ObjectReader<'_, '_>,
    dialect: Dialect,
) -> Result<BTreeMap<String, Template>, Reported> {
    let members = reader.optional_string_map("headers")?.unwrap_or_default();
    let object = reader.at("headers");
    let mut res = BTreeMap::new();
    let mut failed = None;
    for ((name, text), (_, at)) in members.into_iter().zip(object.members()) {
        if let Some(diagnostic) = header::fault(object, name, at, text) {
            let is_error = diagnostic.severity == Severity::Error;
            let reported = reader.push(diagnostic);
            failed = is_error.then_some(reported).or(failed);
            continue;
        }
        if let Some(warning) = foreign_reference(at, text) {
            reader.push(warning);
        }
        match template(at, &format!("the header {name}"), text, dialect) {
            Ok(template) => {
                res.insert(name.to_owned(), template);
            }
            Err(diagnostic) => failed = Some(reader.push(diagnostic)),
        }
    }
    failed.map_or(Ok(res), Err)
}
