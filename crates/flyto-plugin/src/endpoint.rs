//! A declared server of the Model Context Protocol, with every value expanded.
//!
//! What is started or reached is made anew each time: variables, grants and links change meanwhile.

use std::{
    error::Error,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use flyto_execenv::{Class, Declared, Grants, Program, Spec, Template};

use crate::{
    context::PluginContext,
    environment::{Sources, StrictEnv, Unresolved, Variable},
    files,
    load::Plugin,
    manifest::{HttpKind, ServerDef, Transport},
    start::{grants, make_data_dir},
};

/// Where a declaration of a server stands: it decides from where paths start, and which variables there are.
///
/// ```
/// use flyto_plugin::ServerPlace;
///
/// let place = ServerPlace::in_dir("/home/ada/.config/flyto".as_ref());
/// assert_eq!(place.plugin(), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ServerPlace<'a> {
    /// The plugin's name.
    plugin: Option<&'a str>,
    dir: &'a Path,
}

impl<'a> ServerPlace<'a> {
    /// A plugin: its server has what its tools have, grants included.
    #[must_use]
    pub fn of_plugin(plugin: &'a Plugin) -> Self {
        Self { plugin: Some(plugin.name()), dir: plugin.dir() }
    }

    /// A file of the operator's in this directory. There is neither a `PLUGIN_ROOT` nor a `PLUGIN_DATA`, nothing is granted,
    /// and every variable of the host may be read: the operator wrote the declaration.
    #[must_use]
    pub fn in_dir(dir: &'a Path) -> Self {
        Self { plugin: None, dir }
    }

    /// The name of the plugin; `None` for a file of the operator's.
    #[must_use]
    pub fn plugin(&self) -> Option<&'a str> {
        self.plugin
    }
}

/// A server, ready to be started or reached.
///
/// Made by [`ServerDef::endpoint`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Endpoint {
    /// A program, of the class [`Class::MCP_SERVER`]. Its streams are as [`Spec::new`] has them: the caller pipes them.
    Program(Box<Spec>),
    /// A place that is reached over HTTP.
    Http {
        /// Which of the protocol's two ways.
        kind: HttpKind,
        /// The address. It is not checked further than that it is text without control characters.
        url: String,
        /// The headers of every request, in order of their names as they are declared. A value has no control
        /// characters but tabs.
        headers: Vec<(String, String)>,
    },
}

/// Why a declared server can be neither started nor reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointError {
    /// A value needs variables that are not set, or not granted.
    Variables {
        /// Their names, in order.
        names: Vec<String>,
        /// The names with the values that use them.
        why: String,
    },
    /// With its variables, a value is none that it can be.
    Value {
        /// The value: `the address`, `the header Authorization`.
        what: String,
        /// What is wrong with it. The value itself may be a secret, and is left out.
        fault: &'static str,
    },
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variables { names: _, why } => f.write_str(why),
            Self::Value { what, fault } => write!(f, "{what} {fault}"),
        }
    }
}

impl Error for EndpointError {}

/// How the parts of a declaration are called in a message. No variable has such a name.
#[derive(Clone, Copy)]
enum Part<'a> {
    Command,
    Argument(usize),
    Directory,
    Address,
    Header(&'a str),
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("the command"),
            Self::Argument(at) => write!(f, "argument {}", at + 1),
            Self::Directory => f.write_str("the directory"),
            Self::Address => f.write_str("the address"),
            Self::Header(name) => write!(f, "the header {name}"),
        }
    }
}

impl ServerDef {
    /// The server with every value expanded: what is to be started or reached now.
    ///
    /// A program gets the environment that every program of a plugin has, the variables of the declaration on top; it
    /// starts in `cwd`, by default the directory of its declaration, from which a relative path of a program starts as
    /// well. A bare name of a program is looked up in its `PATH` when it is started. Nothing is started, and
    /// no address is looked up; the plugin's directory for data is made.
    ///
    /// # Errors
    ///
    /// A variable without a value, or a value that is no text where text is needed.
    pub fn endpoint(
        &self,
        place: ServerPlace<'_>,
        ctx: &PluginContext,
    ) -> Result<Endpoint, EndpointError> {
        let resolver = Resolver { place, ctx };
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                resolver.program(command, args, env, cwd.as_ref())
            }
            Transport::Http { kind, url, headers } => {
                let parts = headers.iter().map(|(name, it)| (Part::Header(name), it));
                let parts = std::iter::once((Part::Address, url)).chain(parts).collect::<Vec<_>>();
                let mut values = resolver.expand(&parts)?.into_iter();
                let url = text(Part::Address, values.next().unwrap_or_default())?;
                let headers = headers.keys().zip(values).map(|(name, value)| {
                    text(Part::Header(name), value).map(|value| (name.clone(), value))
                });
                Ok(Endpoint::Http { kind: *kind, url, headers: headers.collect::<Result<_, _>>()? })
            }
        }
    }
}

impl ServerDef {
    /// The directory in which a program of the server starts; `None` for one that is reached over HTTP.
    ///
    /// # Errors
    ///
    /// A variable in `cwd` without a value.
    pub fn working_dir(
        &self,
        place: ServerPlace<'_>,
        ctx: &PluginContext,
    ) -> Result<Option<PathBuf>, EndpointError> {
        let Transport::Stdio { cwd, .. } = &self.transport else { return Ok(None) };
        let base = files::absolute(place.dir);
        let Some(cwd) = cwd else { return Ok(Some(base)) };
        let values = Resolver { place, ctx }.expand(&[(Part::Directory, cwd)])?;
        Ok(Some(base.join(values.into_iter().next().unwrap_or_default())))
    }

    /// The variables that a program of the server sees, and why, in order of their names; none for one that is reached over
    /// HTTP.
    #[must_use]
    pub fn variables(&self, place: ServerPlace<'_>, ctx: &PluginContext) -> Vec<Variable> {
        match &self.transport {
            Transport::Stdio { env, .. } => {
                Resolver { place, ctx }.with_sources(env, |it| it.variables())
            }
            Transport::Http { .. } => Vec::new(),
        }
    }
}

/// What values are expanded from.
#[derive(Clone, Copy)]
struct Resolver<'a> {
    place: ServerPlace<'a>,
    ctx: &'a PluginContext,
}

impl Resolver<'_> {
    fn program(
        self,
        command: &Template,
        args: &[Template],
        env: &Declared,
        cwd: Option<&Template>,
    ) -> Result<Endpoint, EndpointError> {
        let mut parts = vec![(Part::Command, command)];
        parts.extend(args.iter().enumerate().map(|(at, it)| (Part::Argument(at), it)));
        parts.extend(cwd.map(|it| (Part::Directory, it)));
        let mut values = self.expand(&parts)?;
        let base = files::absolute(self.place.dir);
        let dir = match cwd {
            Some(_) => base.join(values.pop().unwrap_or_default()),
            None => base.clone(),
        };
        let args = values.split_off(1);
        let program = values.pop().unwrap_or_default();
        // A bare name is looked up, and stays one.
        let program = match PathBuf::from(&program) {
            path if path.components().count() > 1 => base.join(path).into_os_string(),
            _ => program,
        };
        let env = self.with_sources(env, |it| it.build()).map_err(|err| unresolved(&err))?;
        make_data_dir(self.ctx, self.place.plugin.unwrap_or_default());
        let spec = Spec::new(Program::Named(program))
            .class(Class::MCP_SERVER)
            .args(args)
            .env(env)
            .working_dir(dir)
            .grants(match self.place.plugin {
                Some(plugin) => grants(self.ctx, &Class::MCP_SERVER, plugin, &base, false),
                None => Grants::new(),
            });
        Ok(Endpoint::Program(Box::new(spec)))
    }

    /// The values in the order of the parts.
    fn expand(self, parts: &[(Part<'_>, &Template)]) -> Result<Vec<OsString>, EndpointError> {
        // Names in order of the parts, so that the values come back in it.
        let label = |at: usize, part: &Part<'_>| format!("{at:08} {part}");
        let declared: Declared = parts
            .iter()
            .enumerate()
            .map(|(at, (part, it))| (label(at, part), (*it).clone()))
            .collect();
        let values = self.with_sources(&declared, |it| it.values());
        match values {
            Ok(values) => Ok(values.into_iter().map(|it| it.1).collect()),
            Err(mut err) => {
                err.relabel(|it| *it = it.split_once(' ').unwrap_or_default().1.to_owned());
                Err(unresolved(&err))
            }
        }
    }

    fn with_sources<T>(self, declared: &Declared, f: impl FnOnce(Sources<'_>) -> T) -> T {
        let Self { place, ctx } = self;
        let plugin = place.plugin.unwrap_or_default();
        let data = ctx.data_dir(plugin);
        let root = files::absolute(place.dir);
        f(Sources {
            host: &ctx.host_env,
            root: place.plugin.map(|_| &*root),
            data: data.as_deref(),
            granted: ctx.granted(plugin),
            declared,
            strict: if place.plugin.is_some() { ctx.strict_env } else { StrictEnv::Off },
        })
    }
}

fn unresolved(err: &Unresolved) -> EndpointError {
    EndpointError::Variables { names: err.names(), why: err.to_string() }
}

/// A value that is sent as text.
fn text(part: Part<'_>, value: OsString) -> Result<String, EndpointError> {
    let fault = |fault| EndpointError::Value { what: part.to_string(), fault };
    let text = value.into_string().map_err(|_| fault("is not UTF-8"))?;
    match text.chars().any(|it| it.is_control() && it != '\t') {
        true => Err(fault("holds a control character")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use flyto_diagnostics::{At, Findings, Source, json};
    use flyto_execenv::{Environment, ExecEnv, scripted::Scripted};

    use super::*;
    use crate::{LoadOptions, load_source, read_servers};

    const HOST: [(&str, &str); 4] =
        [("PATH", "/bin"), ("TOKEN", "secret"), ("LINES", "a\nb"), ("HOME", "/home/ada")];

    fn context() -> PluginContext {
        let host: Environment = HOST.into_iter().collect();
        PluginContext::new(ExecEnv::new(Scripted::new()), host)
    }

    fn show(endpoint: Result<Endpoint, EndpointError>) -> String {
        match endpoint {
            Ok(Endpoint::Program(spec)) => {
                let env: Vec<_> = spec
                    .env
                    .iter()
                    .map(|(name, it)| format!("{}={}", name.display(), it.display()))
                    .collect();
                let dir = spec.working_dir.display();
                format!(
                    "{} {:?} {:?}\nin {}\n{}\n",
                    spec.class,
                    spec.program.as_os_str(),
                    spec.args,
                    dir,
                    env.join("\n")
                )
            }
            Ok(Endpoint::Http { kind, url, headers }) => format!("{kind:?} {url} {headers:?}\n"),
            Err(err) => format!("{err}\n"),
        }
    }

    /// What a server becomes that a file of the operator's declares.
    #[track_caller]
    fn check(server: &str, expect: Expect) {
        let source = Source::new("config.json", format!("{{\"s\": {server}}}"));
        let value = json::parse(&source).expect("it is JSON");
        let dir = Path::new("/etc/flyto");
        let mut findings = Findings::new();
        let servers =
            read_servers(At::root(&source, &value), dir, &LoadOptions::new(), &mut findings);
        assert!(findings.is_empty(), "{findings:?}");
        let (place, ctx) = (ServerPlace::in_dir(dir), context());
        let endpoint = servers[0].endpoint(place, &ctx);
        if let Ok(Endpoint::Program(spec)) = &endpoint {
            assert_eq!(servers[0].working_dir(place, &ctx), Ok(Some(spec.working_dir.clone())));
        }
        expect.assert_eq(&show(endpoint));
    }

    #[test]
    fn a_program_of_the_operator() {
        check(
            r#"{"command": "${X:-mcp-time}", "args": ["--key=$TOKEN", "$$"], "env": {"A": "${TOKEN}"}}"#,
            expect![[r#"
                mcp_server "mcp-time" ["--key=secret", "$"]
                in /etc/flyto
                A=secret
                HOME=/home/ada
                PATH=/bin
            "#]],
        );
        check(
            r#"{"command": "./run", "cwd": "sub"}"#,
            expect![[r#"
            mcp_server "/etc/flyto/./run" []
            in /etc/flyto/sub
            HOME=/home/ada
            PATH=/bin
        "#]],
        );
    }

    #[test]
    fn an_address_of_the_operator() {
        check(
            r#"{"url": "https://a.org/${X:-mcp}", "headers": {"B": "2", "A": "Bearer $TOKEN"}}"#,
            expect![[r#"
                Streamable https://a.org/mcp [("A", "Bearer secret"), ("B", "2")]
            "#]],
        );
        check(
            r#"{"url": "https://a.org", "headers": {"A": "$LINES"}}"#,
            expect![[r#"
            the header A holds a control character
        "#]],
        );
    }

    #[test]
    fn every_variable_that_is_missing_is_told_with_its_place() {
        check(
            r#"{"command": "$X", "args": ["$X", "a", "$Y"], "env": {"PLUGINS": "$PLUGIN_ROOT"}}"#,
            expect![[r#"
                variables not set: X (used in the command, argument 1), Y (used in argument 3)
            "#]],
        );
        check(
            r#"{"command": "a", "env": {"ROOT": "$PLUGIN_ROOT"}}"#,
            expect![[r#"
            variable not set: PLUGIN_ROOT (used in ROOT)
        "#]],
        );
    }

    #[test]
    fn a_plugin_has_its_own_directories_and_grants() {
        let text = r#"{"name": "p", "mcpServers": {"s": {"command": "bin/s", "args": ["$PLUGIN_ROOT", "$TOKEN"]}}}"#;
        let source = Source::new("plugin.json", text);
        let plugin = load_source(&source, "/plugins/p", &LoadOptions::new()).plugin;
        let plugin = plugin.expect("it is in order");
        let server = &plugin.manifest().servers[0];
        let place = ServerPlace::of_plugin(&plugin);
        let mut ctx = context();
        expect![[r#"
            mcp_server "/plugins/p/bin/s" ["/plugins/p", "secret"]
            in /plugins/p
            HOME=/home/ada
            PATH=/bin
            PLUGIN_ROOT=/plugins/p
        "#]]
        .assert_eq(&show(server.endpoint(place, &ctx)));
        ctx.strict_env = StrictEnv::On;
        expect![[r#"
            variable not granted: TOKEN (used in argument 2)
        "#]]
        .assert_eq(&show(server.endpoint(place, &ctx)));
    }
}
