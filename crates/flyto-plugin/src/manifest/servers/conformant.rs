//! The file `mcp.json` beside an Agent Plugins manifest.
//!
//! The format allows less than the native block: `type` is required, unknown keys of a server
//! are errors, a program is a bare name or a path in the plugin, and no variable of the host is
//! expanded. So a plugin of this format cannot read a secret of the host through a server.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

use flyto_diagnostics::{
    At, Diagnostic, Findings, ObjectReader, Reported, Severity,
    codes::{BAD_VALUE, UNKNOWN_KEY},
    quoted,
};
use flyto_execenv::{Declared, Template};

use super::{
    beside::Beside,
    def::{HttpKind, ServerDef, Transport},
    header, read_all, url,
};
use crate::{
    codes,
    environment::{PLUGIN_DATA, PLUGIN_ROOT},
    manifest::{
        env,
        field::{check_bytes, check_nul, check_system_text},
        length,
        place::Place,
        rule_keys,
        within::leaves,
    },
    place::{about_key, as_warning},
};

/// The name of the file beside an Agent Plugins manifest that declares servers.
pub const MCP_FILE: &str = "mcp.json";

/// What `$schema` says in it.
///
/// Another value is a warning; the file is read as if it were this one.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

/// Reads the file, where there is one.
pub(in crate::manifest) fn read(place: Place<'_>, findings: &mut Findings) -> Beside {
    Beside::read(Path::new(MCP_FILE), place, findings, |_, mut reader| {
        if let Ok(Some(schema)) = reader.optional_string("$schema")
            && schema != SCHEMA
        {
            let at = reader.at("$schema");
            let what = format!("{} is no schema that is known here", quoted(schema));
            reader.push(at.warning(BAD_VALUE, what).with_help(format!("write {}", quoted(SCHEMA))));
        }
        let servers = reader.required_object("mcpServers");
        let servers = servers.map(|at| {
            let parse = |text: &str| Some(own_only(text));
            let read =
                |name: &str, at: At<'_>, findings: &mut Findings| server(name, at, place, findings);
            read_all(at, reader.findings(), parse, read)
        });
        let elsewhere = rule_keys::Standing::Elsewhere(
            "rules stand in `\"extensions\": {\"dev.flyto\": {\"permissions\": {…}}}` of `plugin.json`",
        );
        let unread_rules = rule_keys::refuse(&mut reader, elsewhere);
        reader.finish();
        (servers, unread_rules)
    })
}

/// What `type` says, before the keys of the transport are read.
#[derive(Clone, Copy)]
enum Kind {
    Stdio,
    Http(HttpKind),
}

/// One server; never `None`, as this format has no switch.
///
/// # Errors
///
/// [`Reported`] when `type` is missing, and for any key that is unknown or cannot be read.
fn server(
    name: &str,
    at: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Option<ServerDef>, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    let kind = reader.optional_one_of(
        "type",
        &[
            ("stdio", Kind::Stdio),
            ("streamable-http", Kind::Http(HttpKind::Streamable)),
            ("sse", Kind::Http(HttpKind::Sse)),
        ],
    )?;
    let kind = match kind {
        Some(kind) => kind,
        None => {
            reader.required("type")?;
            Kind::Stdio
        }
    };
    let known: &[&str] = match kind {
        Kind::Stdio => &["type", "command", "args", "env", "cwd"],
        Kind::Http(_) => &["type", "url", "headers"],
    };
    let closed = closed(at, known, &mut reader);
    let transport = match kind {
        Kind::Stdio => stdio(&mut reader, place),
        Kind::Http(kind) => http(&mut reader, kind),
    };
    reader.finish();
    closed?;
    let transport = transport?;
    length::check_server(at, &transport, place, findings);
    Ok(Some(ServerDef {
        name: name.to_owned(),
        file: at.source().name().to_owned(),
        transport,
        timeout: None,
        unset: Vec::new(),
    }))
}

/// Refuses every key that the format does not know; servers are closed in it.
/// `known` are the keys of the kind of server at hand, which the help lists.
fn closed<'v>(
    at: At<'v>,
    known: &[&str],
    reader: &mut ObjectReader<'v, '_>,
) -> Result<(), Reported> {
    let mut failed = None;
    for (key, _) in at.members().filter(|it| !known.contains(&it.0)) {
        let list: Vec<_> = known.iter().map(|it| quoted(it)).collect();
        let what = format!("a server of this kind has no {}", quoted(key));
        let diag = about_key(at, key, UNKNOWN_KEY, what);
        failed = Some(reader.push(diag.with_help(format!("the keys are {}", list.join(", ")))));
        reader.allow(key);
    }
    failed.map_or(Ok(()), Err)
}

/// A server that is started. `command` is literal; in arguments, variables and `cwd` the
/// plugin's two directories are expanded.
fn stdio(reader: &mut ObjectReader<'_, '_>, place: Place<'_>) -> Result<Transport, Reported> {
    let command = reader.required_string("command").and_then(|text| {
        let at = reader.at("command");
        check_system_text(at, "\"command\"").map_err(|diag| reader.push(diag))?;
        match command_fault(at, text, place) {
            Some(diagnostic) => Err(reader.push(diagnostic)),
            None => Ok(literal(text)),
        }
    });
    let args = args(reader);
    let env = variables(reader);
    let cwd = reader.optional_string("cwd").and_then(|text| {
        let Some(text) = text else { return Ok(None) };
        let at = reader.at("cwd");
        check_system_text(at, "\"cwd\"").map_err(|diag| reader.push(diag))?;
        match dir_fault(at, text, place) {
            Some(diagnostic) => Err(reader.push(diagnostic)),
            None => Ok(Some(own_only(text))),
        }
    });
    Ok(Transport::Stdio { command: command?, args: args?, env: env?, cwd: cwd? })
}

/// What is wrong with a program: it is one bare name, or a path within the plugin.
/// `None` when it is in order. Blanks are refused, so no command line passes.
fn command_fault(at: At<'_>, text: &str, place: Place<'_>) -> Option<Diagnostic> {
    let help = "write the name of a program, such as `node`, or a path that begins with `./`";
    let bad = |what: String| Some(at.error(BAD_VALUE, what).with_help(help));
    if text.is_empty() || text.contains(char::is_whitespace) {
        return bad(format!("the program {} is not one word", quoted(text)));
    }
    let Some(path) = text.strip_prefix("./") else {
        return text.contains('/').then(|| {
            let what =
                format!("the program {} is neither a name nor begins with `./`", quoted(text));
            at.error(BAD_VALUE, what).with_help(help)
        });
    };
    leaves(at, Path::new(path), place)
}

/// What is wrong with a directory: it is one of the plugin's own two, or lies below it.
/// It begins with `./`, `${PLUGIN_ROOT}` or `${PLUGIN_DATA}`. Below the data only the text is
/// looked at: the directory may not be there yet.
fn dir_fault(at: At<'_>, text: &str, place: Place<'_>) -> Option<Diagnostic> {
    let below = |own: &str| {
        let rest = text.strip_prefix("${")?.strip_prefix(own)?.strip_prefix('}')?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    };
    if let Some(path) = text.strip_prefix("./").or_else(|| below(PLUGIN_ROOT)) {
        return leaves(at, Path::new(path), place);
    }
    if let Some(path) = below(PLUGIN_DATA) {
        let up = Path::new(path).components().any(|it| it == Component::ParentDir);
        let what = format!("{} leads out of the plugin's data", quoted(text));
        return up.then(|| at.error(codes::LEAVES_PLUGIN, what));
    }
    let what = format!("{} is no directory of the plugin", quoted(text));
    let help = format!("begin with `./`, `${{{PLUGIN_ROOT}}}` or `${{{PLUGIN_DATA}}}`");
    Some(at.error(BAD_VALUE, what).with_help(help))
}

/// The arguments; each one with NUL has a finding of its own.
fn args(reader: &mut ObjectReader<'_, '_>) -> Result<Vec<Template>, Reported> {
    let texts = reader.optional_string_array("args")?.unwrap_or_default();
    let mut res = Vec::with_capacity(texts.len());
    let mut failed = None;
    for (index, (text, at)) in texts.into_iter().zip(reader.at("args").items()).enumerate() {
        let label = format!("argument {}", index + 1);
        let template = own_only(text);
        let checked =
            check_nul(at, &label).and_then(|()| check_bytes(at, &label, template.min_bytes()));
        match checked {
            Ok(()) => res.push(template),
            Err(diagnostic) => failed = Some(reader.push(diagnostic)),
        }
    }
    failed.map_or(Ok(res), Err)
}

/// The variables of the server, by the rules of [`env::check`].
fn variables(reader: &mut ObjectReader<'_, '_>) -> Result<Declared, Reported> {
    let members = reader.optional_string_map("env")?.unwrap_or_default();
    let object = reader.at("env");
    let mut failed = None;
    let places = members.into_iter().zip(object.members());
    let variables = places.filter_map(|((name, text), (_, at))| {
        let value = env::check(object, name, at).and_then(|()| {
            let res = own_only(text);
            env::check_length(name, at, &res).map(|()| res)
        });
        Some((name, value.map_err(|it| failed = Some(reader.push(it))).ok()?))
    });
    let res = variables.collect();
    failed.map_or(Ok(res), Err)
}

/// A server that is reached. The address is literal and has to be `https`, but for this machine.
/// A header that looks like a secret is a warning, since the file is shared with all users of
/// the plugin.
fn http(reader: &mut ObjectReader<'_, '_>, kind: HttpKind) -> Result<Transport, Reported> {
    let url = reader.required_string("url").and_then(|text| {
        match url::fault(reader.at("url"), text, true) {
            Some(diagnostic) => Err(reader.push(diagnostic)),
            None => Ok(literal(text)),
        }
    });
    let members = reader.optional_string_map("headers")?.unwrap_or_default();
    let object = reader.at("headers");
    let mut headers = BTreeMap::new();
    let mut failed = None;
    for ((name, text), (_, at)) in members.into_iter().zip(object.members()) {
        if let Some(diagnostic) = header::fault(object, name, at, text) {
            let is_error = diagnostic.severity == Severity::Error;
            let reported = reader.push(diagnostic);
            failed = is_error.then_some(reported).or(failed);
            continue;
        }
        let secret = ["authorization", "proxy-authorization", "cookie", "x-api-key"];
        if secret.contains(&name.to_ascii_lowercase().as_str()) {
            let what = format!("{name} looks like a secret, and every user can read this file");
            let diag = about_key(object, name, codes::SERVER_ADDRESS, what);
            let help = "leave the header out; each user sets credentials of their own";
            reader.push(as_warning(diag).with_help(help));
        }
        headers.insert(name.to_owned(), literal(text));
    }
    failed.map_or(Ok(()), Err)?;
    Ok(Transport::Http { kind, url: url?, headers })
}

/// A text in which nothing is expanded.
/// The whole text comes out of an expansion as it went in.
fn literal(text: &str) -> Template {
    Template::parse(&text.replace('$', "$$")).expect("every dollar is doubled")
}

/// A text in which the plugin's own two directories are expanded, in one pass, and nothing else.
/// Every other `$` is doubled, so that it comes out as a dollar.
fn own_only(text: &str) -> Template {
    let mut res = text.replace('$', "$$");
    for own in [PLUGIN_ROOT, PLUGIN_DATA] {
        res = res.replace(&format!("$${{{own}}}"), &format!("${{{own}}}"));
    }
    Template::parse(&res).expect("every other dollar is doubled")
}

#[cfg(test)]
mod tests {
    use flyto_execenv::Environment;
    use proptest::prelude::*;

    use super::*;

    fn expanded(template: &Template) -> String {
        let host = [(PLUGIN_ROOT, "/r/${PLUGIN_DATA}"), (PLUGIN_DATA, "/d"), ("HOME", "/h")];
        let res = template.expand(&host.into_iter().collect::<Environment>());
        res.expect("nothing else is read").into_string().expect("UTF-8")
    }

    #[test]
    fn only_the_plugins_own_directories_are_expanded() {
        let check = |text: &str, expect: &str| assert_eq!(expanded(&own_only(text)), expect);
        check("${PLUGIN_ROOT}/x:${PLUGIN_DATA}", "/r/${PLUGIN_DATA}/x:/d");
        check("$PLUGIN_ROOT ${HOME} $HOME ${", "$PLUGIN_ROOT ${HOME} $HOME ${");
        check("$${PLUGIN_ROOT}", "$/r/${PLUGIN_DATA}");
        check("${PLUGIN_ROOT:-x}", "${PLUGIN_ROOT:-x}");
    }

    proptest! {
        #[test]
        fn other_text_stays(text in r"[$\{\}A-Z:_\-a]{0,24}") {
            prop_assume!(!text.contains("${PLUGIN_"));
            prop_assert_eq!(expanded(&own_only(&text)), text.clone());
            prop_assert_eq!(expanded(&literal(&text)), text);
        }
    }
}
