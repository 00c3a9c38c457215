//! What a plugin declares of a server.
//!
//! A declaration is data: the values are parsed, and not expanded. The host expands them when it
//! starts the server.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use flyto_execenv::{Declared, Environment, MissingVariables, Template};

use crate::environment::{PLUGIN_DATA, PLUGIN_ROOT};

/// A server of the Model Context Protocol that a plugin declares.
///
/// This crate checks the declaration and starts nothing. The host that starts the server gives its program
/// the environment that programs of plugins have: what every one of them sees, what is granted, and
/// [`Transport::Stdio::env`].
///
/// ```
/// use flyto_diagnostics::Source;
/// use flyto_plugin::{LoadOptions, Transport, load_source};
///
/// let text = r#"{
///   "name": "wiki",
///   "mcpServers": {"pages": {"command": "wiki-mcp", "args": ["--key", "${WIKI_KEY}"]}}
/// }"#;
/// let source = Source::new("plugin.json", text);
/// let loaded = load_source(&source, "/opt/plugins/wiki", &LoadOptions::new());
/// let plugin = loaded.plugin.expect("its head is in order");
/// let server = &plugin.manifest().servers[0];
/// assert!(matches!(server.transport, Transport::Stdio { .. }));
/// assert!(server.reads().contains("WIKI_KEY"));
/// // The host's environment was not given, so nothing is known to be missing.
/// assert!(server.is_ready());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerDef {
    /// The name within the plugin.
    ///
    /// 1 to 64 letters, digits, `_` and `-`, a letter or digit first.
    pub name: String,
    /// The name of the text that declares it: the path of the manifest, or of a file such as `.mcp.json` beside it.
    pub file: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long one call of its tools may take, 1 s to one week; `None` leaves that to the host.
    pub timeout: Option<Duration>,
    /// Variables that the declaration reads, without a default, and that the host does not have, in
    /// order. While there are any, the server is not to be started. None are known where the host's
    /// environment was not; see [`LoadOptions::env`](crate::LoadOptions::env).
    pub unset: Vec<String>,
}

/// How a server is reached. In every value `${NAME}` is a variable of the host, or the plugin's
/// `PLUGIN_ROOT` or `PLUGIN_DATA`.
/// In a file `mcp.json` of the format Agent Plugins the host's variables are text, and `$` is a
/// dollar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// It is a program that is started, and spoken to over its stdin and stdout.
    Stdio {
        /// The program: a name that is looked up in `PATH`, or a path from the plugin's directory.
        command: Template,
        /// The arguments.
        /// One string each; no shell is involved.
        args: Vec<Template>,
        /// Variables that the program gets beside those every plugin program has.
        env: Declared,
        /// The directory in which it starts; `None` is the plugin's. Kept as it is written: this
        /// crate resolves no path of a server.
        cwd: Option<Template>,
    },
    /// It runs somewhere, and is spoken to over HTTP.
    Http {
        /// Which of the protocol's two ways over HTTP.
        kind: HttpKind,
        /// The address.
        /// Checked for its scheme and for a user name, unless a reference stands in it.
        url: Template,
        /// Headers of every request, by name.
        /// Names are as written; the case of a header's name does not count (RFC 9110, section
        /// 5.1).
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
    ///
    /// The host decides what it does with one that is not ready; it is still a part of the
    /// manifest.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.unset.is_empty()
    }

    /// The names of the variables that the declaration reads, with those that have a default.
    ///
    /// In order, each once, with [`PLUGIN_ROOT`] and
    /// [`PLUGIN_DATA`] where they are used.
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
    /// The plugin's own two variables count as set. Sets [`unset`](Self::unset), and returns the
    /// labels of the values by variable.
    pub(super) fn look_up(&mut self, host: &Environment) -> MissingVariables {
        let mut host = host.clone();
        for own in [PLUGIN_ROOT, PLUGIN_DATA] {
            host.set(own, "");
        }
        let missing = MissingVariables::of(self.templates(), &host);
        self.unset = missing.missing.keys().cloned().collect();
        missing
    }
}
