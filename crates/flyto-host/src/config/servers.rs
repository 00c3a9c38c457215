//! Servers of the Model Context Protocol: the section `mcpServers` of a configuration.

use std::path::{Path, PathBuf};

use flyto_diagnostics::{At, Findings, Severity};
use flyto_plugin::{LoadOptions, ServerDef, codes::SERVER_UNSET, read_servers};

/// A server that a configuration declares.
///
/// ```
/// use flyto_execenv::Environment;
/// use flyto_host::{Flags, Surroundings, load_config};
///
/// # let dir = tempfile::tempdir()?;
/// let env: Environment = [("HOME", dir.path())].into_iter().collect();
/// let file = dir.path().join("flyto.json");
/// std::fs::write(&file, r#"{"mcpServers": {"time": {"command": "mcp-server-time"}}}"#)?;
/// let mut flags = Flags::default();
/// flags.config = Some(file.clone());
/// let (config, _) = load_config(&Surroundings::new(env, dir.path()), &flags)?;
/// assert_eq!((config.servers[0].def.name.as_str(), &config.servers[0].file), ("time", &file));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigServer {
    /// The declaration. Its `unset` is empty: whether each variable is there is found when the server is started.
    pub def: ServerDef,
    /// The file that declares it, absolute. Relative paths of programs start from its directory.
    pub file: PathBuf,
}

/// The key of the section.
pub(super) const KEY: &str = "mcpServers";

/// Reads the section, as closely as `options` say. A server that cannot be used costs itself, with a warning: the other tools
/// work as before. So does one whose variables are not set, which stays.
pub(super) fn read(
    at: At<'_>,
    dir: &Path,
    options: &LoadOptions,
    findings: &mut Findings,
) -> Vec<ServerDef> {
    let mut found = Findings::new();
    let servers = read_servers(at, dir, options, &mut found);
    for mut finding in found.into_vec() {
        if finding.severity == Severity::Error {
            finding.severity = Severity::Warning;
            if finding.code == SERVER_UNSET {
                findings.push(finding);
                continue;
            }
            let reason = finding.reason.take().map(|it| format!("{it}; ")).unwrap_or_default();
            finding.reason = Some(format!("{reason}the server is left out"));
        }
        findings.push(finding);
    }
    servers
}

/// Adds the servers of a file to those of files before it. Of two with one name the later one counts, in the place of the
/// first.
pub(super) fn add(servers: &mut Vec<ConfigServer>, defs: Vec<ServerDef>, file: &Path) {
    for def in defs {
        let server = ConfigServer { def, file: file.to_owned() };
        match servers.iter_mut().find(|it| it.def.name == server.def.name) {
            Some(former) => *former = server,
            None => servers.push(server),
        }
    }
}
