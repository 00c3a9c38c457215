//! Servers of the Model Context Protocol that a plugin declares.

pub(super) mod conformant; // in the file `mcp.json` beside an Agent Plugins manifest
pub(super) mod native; //     in the block `mcpServers` of a manifest
mod url; //                   addresses of servers

use std::collections::{BTreeMap, BTreeSet};

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, Span, quoted};
use flyto_execenv::{Declared, Environment, Template};

use super::{env, literal::span_within, tool::refuse_nul};
use crate::{
    codes,
    environment::{PLUGIN_DATA, PLUGIN_ROOT},
    load::Depth,
    names::NameKind,
    place::{about_key, moved},
};

/// A server of the Model Context Protocol that a plugin declares.
///
/// This crate checks the declaration and starts nothing. The host that starts the server gives its program
/// the environment that programs of plugins have: what every one of them sees, what is granted, and
/// [`Transport::Stdio::env`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerDef {
    /// The name within the plugin.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Variables that the declaration reads, without a default, and that the host does not have, in
    /// order. While there are any, the server is not to be started. None are known where the host's
    /// environment was not; see [`LoadOptions::env`](crate::LoadOptions::env).
    pub unset: Vec<String>,
}

/// How a server is reached. In every value `${NAME}` is a variable of the host, or the plugin's
/// `PLUGIN_ROOT` or `PLUGIN_DATA`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// It is a program that is started, and spoken to over its stdin and stdout.
    Stdio {
        /// The program: a name that is looked up in `PATH`, or a path from the plugin's directory.
        command: Template,
        /// The arguments.
        args: Vec<Template>,
        /// Variables that the program gets beside those every plugin program has.
        env: Declared,
        /// The directory in which it starts; `None` is the plugin's.
        cwd: Option<Template>,
    },
    /// It runs somewhere, and is spoken to over HTTP.
    Http {
        /// Which of the protocol's two ways over HTTP.
        kind: HttpKind,
        /// The address.
        url: Template,
        /// Headers of every request, by name.
        headers: BTreeMap<String, Template>,
    },
}

/// Which of the protocol's two ways over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpKind {
    /// Streamable HTTP, the one in use.
    Streamable,
    /// HTTP with server-sent events, the older one.
    Sse,
}

impl ServerDef {
    /// Whether it can be started: every variable that it needs is there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.unset.is_empty()
    }

    /// The names of the variables that the declaration reads, with those that have a default.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<&str> {
        self.templates().flat_map(|(_, it)| it.variables()).collect()
    }

    /// Every value that is expanded, and what it is called in a message.
    fn templates(&self) -> impl Iterator<Item = (&str, &Template)> {
        let mut res: Vec<(&str, &Template)> = Vec::new();
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                res.push(("command", command));
                res.extend(args.iter().map(|it| ("args", it)));
                res.extend(env.iter());
                res.extend(cwd.iter().map(|it| ("cwd", it)));
            }
            Transport::Http { kind: _, url, headers } => {
                res.push(("url", url));
                res.extend(headers.iter().map(|(name, it)| (name.as_str(), it)));
            }
        }
        res.into_iter()
    }

    /// Finds the variables that are not set, and says which value needs them.
    fn look_up(&mut self, host: &Environment) -> BTreeMap<String, Vec<String>> {
        let mut host = host.clone();
        for own in [PLUGIN_ROOT, PLUGIN_DATA] {
            host.set(own, "");
        }
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (label, template) in self.templates() {
            for name in template.expand(&host).err().into_iter().flatten() {
                let used_in = missing.entry(name).or_default();
                if !used_in.iter().any(|it| it == label) {
                    used_in.push(label.to_owned());
                }
            }
        }
        self.unset = missing.keys().cloned().collect();
        missing
    }
}

/// What other programs call the plugin's directories.
const OTHER_ROOTS: [(&str, &str); 5] = [
    ("CLAUDE_PLUGIN_ROOT", PLUGIN_ROOT),
    ("extensionPath", PLUGIN_ROOT),
    ("__dirname", PLUGIN_ROOT),
    ("CLAUDE_PLUGIN_DATA", PLUGIN_DATA),
    ("pluginRoot", PLUGIN_ROOT),
];

/// Reads every server of an object of them with `read`; one that cannot be used costs itself.
fn read_all(
    at: At<'_>,
    findings: &mut Findings,
    read: impl Fn(&str, At<'_>, &mut Findings) -> Result<Option<ServerDef>, Reported>,
) -> Vec<ServerDef> {
    // The reader tells of names that occur twice; which of the two was meant is not known.
    if ObjectReader::new(at, findings).map(drop).is_err() {
        return Vec::new();
    }
    let mut n_same: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in at.members() {
        *n_same.entry(name).or_default() += 1;
    }
    let mut res = Vec::new();
    for (name, value) in at.members() {
        if n_same[name] > 1 || check_name(at, name, findings).is_err() {
            continue;
        }
        if value.value().as_object().is_none() {
            let found = value.value().describe();
            let what = format!("the server {} must be an object, found {found}", quoted(name));
            let diag = value.error(flyto_diagnostics::codes::WRONG_TYPE, what);
            findings.push(diag.with_help("write `{\"command\": …, \"args\": […]}`"));
            continue;
        }
        res.extend(read(name, value, findings).ok().flatten());
    }
    res
}

fn check_name(servers: At<'_>, name: &str, findings: &mut Findings) -> Result<(), Reported> {
    let Err(fault) = NameKind::Server.check(name) else { return Ok(()) };
    let what = format!("the name {} of a server {fault}", quoted(name));
    let diag = about_key(servers, name, codes::BAD_SERVER_NAME, what);
    let diag = diag.with_help(format!("a name is made of {}", NameKind::Server.rule()));
    let key = servers.value().member(name).map(|it| it.key.span);
    Err(findings.push(match (NameKind::Server.mended(name), key) {
        (Some(better), Some(key)) => diag.with_suggestion(key, quoted(&better)),
        _ => diag,
    }))
}

/// Reports the variables that a server needs and the host does not have. It is kept, and not to be
/// started.
fn report_unset(
    server: &mut ServerDef,
    at: At<'_>,
    host: Option<&Environment>,
    depth: Depth,
    findings: &mut Findings,
) {
    let Some(host) = host else { return };
    let missing = server.look_up(host);
    if missing.is_empty() {
        return;
    }
    let list: Vec<_> = missing
        .iter()
        .map(|(name, used_in)| format!("{name} (used in {})", used_in.join(", ")))
        .collect();
    let noun = if list.len() == 1 { "a variable that is" } else { "variables that are" };
    let what =
        format!("the server {} needs {noun} not set: {}", quoted(&server.name), list.join(", "));
    let diag = match depth {
        Depth::Quick => at.warning(codes::SERVER_UNSET, what),
        Depth::Full => at.error(codes::SERVER_UNSET, what),
    };
    let other = OTHER_ROOTS.into_iter().find(|it| missing.contains_key(it.0));
    findings.push(diag.with_reason("it is not started without them").with_help(match other {
        Some((other, own)) => format!("write `${{{own}}}` in place of `${{{other}}}`"),
        None => "set them for the host, or write a default: `${NAME:-default}`".to_owned(),
    }));
}

/// A value with references to variables.
fn template(at: At<'_>, label: &str, text: &str) -> Result<Template, Box<Diagnostic>> {
    refuse_nul(at, label)?;
    Template::parse(text).map_err(|err| Box::new(env::bad_template(at, label, text, &err)))
}

/// A text that some programs read as a variable and that is taken literally here.
fn foreign_reference(at: At<'_>, text: &str) -> Option<Diagnostic> {
    let start =
        text.match_indices("{env:").map(|it| it.0).find(|&it| !text[..it].ends_with('$'))?;
    let end = start + text[start..].find('}')? + 1;
    let name = &text[start + 5..end - 1];
    let span: Span = span_within(at, start, end);
    let what = format!("{} stays as it is", quoted(&text[start..end]));
    let diag = at.warning(codes::BAD_REFERENCE, what);
    let help = format!("a variable of the host is written `${{{name}}}`");
    Some(moved(diag, at, span).with_help(help).with_suggestion(span, format!("${{{name}}}")))
}

/// What keeps a header from being sent: its name is none, or its value has a line end, behind which
/// another header would stand.
fn header_fault(object: At<'_>, name: &str, at: At<'_>, value: &str) -> Option<Diagnostic> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        let what = format!("{} is no name of a header", quoted(name));
        let diag = about_key(object, name, codes::BAD_HEADER, what);
        return Some(diag.with_help("a name is made of letters, digits and `-`"));
    }
    let bad = value.find(|c: char| c.is_control() && c != '\t')?;
    let span = span_within(at, bad, bad + 1);
    let what = format!("the value of the header {name} holds a control character");
    Some(moved(at.error(codes::BAD_HEADER, what), at, span).with_help("remove it"))
}
