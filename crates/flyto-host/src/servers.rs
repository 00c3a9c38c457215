//! Servers of the Model Context Protocol that are declared: what the program that speaks the protocol needs of a host.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use flyto_execenv::{Class, ExecError, Network, Process, RunOptions, Spec};
use flyto_plugin::{
    Endpoint, EndpointError, Plugin, PluginContext, ServerDef, ServerPlace, Transport, Variable,
};
use flyto_tools::{CallId, CancellationToken, Failure, ToolResult};

use crate::{
    bound, config::ConfigServer, confinement::Confinement, report::LoadReport,
    server_rules::ServerRules,
};

/// A server that the configuration or a plugin declares.
///
/// ```
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
///
/// # let dir = tempfile::tempdir()?;
/// let plugin = dir.path().join("wiki");
/// std::fs::create_dir(&plugin)?;
/// let manifest = r#"{"name": "wiki", "mcpServers": {"pages": {"command": "wiki-mcp"}}}"#;
/// std::fs::write(plugin.join("plugin.json"), manifest)?;
/// let mut config = Config::default();
/// config.plugins.enabled = true;
/// config.plugins.plugin_dirs = vec![dir.path().to_owned()];
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, config);
/// let servers = host.servers();
/// assert_eq!((servers[0].name(), servers[0].plugin()), ("wiki.pages", Some("wiki")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DeclaredServer {
    name: String,
    def: ServerDef,
    source: Source,
    ctx: Arc<PluginContext>,
}

/// What declares a server.
#[derive(Debug, Clone)]
enum Source {
    Config(PathBuf),
    Plugin(Arc<Plugin>),
}

impl DeclaredServer {
    /// The name under which its tools are known: the declared one for a server of the configuration, `PLUGIN.SERVER` for
    /// one of a plugin, so that a plugin cannot take the name of a server for which the operator has rules.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the plugin that declares it; `None` for a server of the configuration.
    #[must_use]
    pub fn plugin(&self) -> Option<&str> {
        match &self.source {
            Source::Config(_) => None,
            Source::Plugin(plugin) => Some(plugin.name()),
        }
    }

    /// The file that declares it, such as the `.mcp.json` of a plugin.
    #[must_use]
    pub fn declared_in(&self) -> &Path {
        match &self.source {
            Source::Config(file) => file,
            Source::Plugin(_) => Path::new(&self.def.file),
        }
    }

    /// The file by which the server is known: that of the configuration, or the manifest of its plugin. It stays the same where a
    /// plugin moves the server to another of its files, so that what is kept under it holds on.
    #[must_use]
    pub fn file(&self) -> &Path {
        match &self.source {
            Source::Config(file) => file,
            Source::Plugin(plugin) => Path::new(plugin.source().name()),
        }
    }

    /// How long one call of its tools may take, where the declaration says so.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.def.timeout
    }

    /// The directory of the declaration: a program starts in it where the declaration names no other one.
    #[must_use]
    pub fn dir(&self) -> &Path {
        match &self.source {
            Source::Config(file) => file.parent().unwrap_or(file),
            Source::Plugin(plugin) => plugin.dir(),
        }
    }

    /// The variables that its program sees, and why, in order of their names; none for a server behind an address.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        self.def.variables(self.place(), &self.ctx)
    }

    /// What holds for its program by the class, [`MCP_SERVER`](flyto_execenv::Class::MCP_SERVER); what is granted to a
    /// plugin is not in it.
    #[must_use]
    pub fn confinement(&self) -> Confinement {
        Confinement::of_class(&self.ctx.exec_env, Class::MCP_SERVER)
    }

    /// The rules of permission of the plugin that declares it, for the tools that it offers.
    #[must_use]
    pub fn rules(&self) -> ServerRules {
        match &self.source {
            Source::Config(_) => ServerRules::default(),
            Source::Plugin(plugin) => ServerRules::of(plugin),
        }
    }

    fn place(&self) -> ServerPlace<'_> {
        match &self.source {
            Source::Config(_) => ServerPlace::in_dir(self.dir()),
            Source::Plugin(plugin) => ServerPlace::of_plugin(plugin),
        }
    }

    /// A result of one of its tools, with a text as long as that of a plugin's program: of a longer one both ends, and the whole
    /// in a file. Before the stages of the host look at it, so that one that is too long for them is not lost.
    pub async fn bounded(&self, result: ToolResult, id: &CallId) -> ToolResult {
        let limit = self.ctx.capture_bytes;
        if result.output.len() as u64 <= limit {
            return result;
        }
        let (dir, id) = (self.ctx.spill_dir.clone(), id.clone());
        let bounding = tokio::task::spawn_blocking(move || {
            bound::bound(result, limit, dir.map(|it| it.path).as_deref(), &id)
        });
        bounding.await.unwrap_or_else(|err| {
            let text = format!("the result could not be kept: {err}");
            ToolResult::failed(Failure::limit("output"), text)
        })
    }

    /// How it is reached, as it is declared.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.def.transport
    }

    /// The server with every value expanded, as it is now: variables and grants may change between two calls. A
    /// program runs as class [`MCP_SERVER`](flyto_execenv::Class::MCP_SERVER), and the network of that class's profile
    /// holds for an address as well.
    ///
    /// # Errors
    ///
    /// A variable is not set or not granted, or a value cannot be used.
    pub fn endpoint(&self) -> Result<Endpoint, EndpointError> {
        let endpoint = self.def.endpoint(self.place(), &self.ctx)?;
        if let Endpoint::Http { url, .. } = &endpoint {
            // No program runs, so no backend keeps this.
            let network = &self.ctx.exec_env.policy(&Class::MCP_SERVER).isolation.network;
            if !may_reach(network, url) {
                let fault = "is closed by the sandbox profile of the class mcp_server";
                return Err(EndpointError::Value { what: "the address".to_owned(), fault });
            }
        }
        Ok(endpoint)
    }

    /// The directory in which its program starts, and from which it reads relative paths; `None` for one that is reached over
    /// HTTP, and for one whose directory needs a variable that is not set.
    #[must_use]
    pub fn working_dir(&self) -> Option<PathBuf> {
        self.def.working_dir(self.place(), &self.ctx).ok().flatten()
    }

    /// Starts a program of this server, under the policy that the host has for the class of the spec. Dropping the
    /// process kills it with all its descendants, and so does `kill`, after the grace of the spec.
    ///
    /// # Errors
    ///
    /// The backend could not start it, or the policy refuses it.
    pub async fn start(&self, spec: Spec, kill: CancellationToken) -> Result<Process, ExecError> {
        self.ctx.exec_env.start(spec, RunOptions::new().cancel(kill)).await
    }

    /// Whether the declaration is the same: then a process of the one is one of the other. Its [`rules`](Self::rules) may
    /// differ.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.def == other.def
            && self.file() == other.file()
            && self.plugin() == other.plugin()
    }
}

/// Whether a network has the host of an address.
fn may_reach(network: &Network, url: &str) -> bool {
    let hosts = match network {
        Network::Host => return true,
        Network::Hosts(hosts) => hosts,
        _ => return false,
    };
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let authority = authority.rsplit_once('@').map_or(authority, |it| it.1);
    let port = authority.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let default = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    let (host, port) = port.unwrap_or((authority, default));
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    hosts.iter().any(|it| it.matches(host, port))
}

/// The servers of the configuration, then those of the plugins in use. Of two with one name the first one counts.
pub(crate) fn declared(
    servers: &[ConfigServer],
    report: &LoadReport,
    ctx: &Arc<PluginContext>,
) -> Vec<DeclaredServer> {
    let of_config = servers.iter().map(|it| DeclaredServer {
        name: it.def.name.clone(),
        def: it.def.clone(),
        source: Source::Config(it.file.clone()),
        ctx: Arc::clone(ctx),
    });
    let of_plugins = report.catalogue.plugins().flat_map(|plugin| {
        plugin.manifest().servers.iter().map(|def| DeclaredServer {
            name: format!("{}.{}", plugin.name(), def.name),
            def: def.clone(),
            source: Source::Plugin(Arc::clone(plugin)),
            ctx: Arc::clone(ctx),
        })
    });
    let mut seen = HashSet::new();
    of_config.chain(of_plugins).filter(|it| seen.insert(it.name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_closes_the_network_closes_addresses() {
        let named = ["a.org:8443", "b.org", "::1"].map(|it| it.parse().expect("a pattern"));
        let named = Network::Hosts(named.to_vec());
        for (url, expected) in [
            ("https://a.org:8443/mcp", true),
            ("https://a.org/mcp", false),
            ("http://b.org?x=http://a.org", true),
            ("http://a.org@c.org/", false),
            ("http://[::1]:80/", true),
            ("b.org", false),
        ] {
            assert_eq!(may_reach(&named, url), expected, "{url}");
            assert!(may_reach(&Network::Host, url) && !may_reach(&Network::Off, url), "{url}");
        }
    }
}
