//! What is used, with its versions.
//!
//! A directory is installed anew where its list has changed, and else as it is.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::Place;
use crate::{
    process::{program, run as run_program},
    stop::Stop,
};

/// Packages of others, and where they go.
#[derive(Debug)]
pub(super) struct Packages {
    from: Registry,
    /// The directory below that of [`Place`].
    dir: &'static str,
    list: &'static [&'static str],
}

#[derive(Debug)]
enum Registry {
    Npm,
    PyPi,
}

/// The inspector and the suite of revision 2026-07-28, and the Node that they need: at least 22.
pub(super) const NODE: Packages = Packages {
    from: Registry::Npm,
    dir: "node",
    list: &[
        "node@24.21.0",
        "@modelcontextprotocol/inspector@2.12.0",
        "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    ],
};
/// The client of the official SDK, and that of another library.
pub(super) const PYTHON: Packages =
    Packages { from: Registry::PyPi, dir: "python", list: &["mcp==2.3.0", "fastmcp==4.1.2"] };
/// Servers of the era of handshakes.
pub(super) const NODE_SERVERS: Packages = Packages {
    from: Registry::Npm,
    dir: "node-servers",
    list: &[
        "node@24.21.0",
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
        "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    ],
};
/// Servers of the era without them.
pub(super) const PYTHON_SERVERS: Packages = Packages {
    from: Registry::PyPi,
    dir: "python-servers",
    list: &[
        "mcp-server-fetch==2026.10.24",
        "mcp-server-git==2026.10.19",
        "mcp-server-time==2026.10.19",
    ],
};
/// Programs for agents.
pub(super) const AGENTS: Packages = Packages {
    from: Registry::Npm,
    dir: "agents",
    list: &[
        "node@24.21.0",
        "@anthropic-ai/claude-code@2.1.330",
        "@openai/codex@0.169.0",
        "@google/gemini-cli@0.61.0",
    ],
};

impl Packages {
    /// Where they are, once they are [installed](Self::install).
    pub(super) fn dir(&self, place: &Place) -> PathBuf {
        place.dir.join(self.dir)
    }

    pub(super) fn install(&self, place: &Place) -> Result<(), Stop> {
        let dir = self.dir(place);
        let (stamp, list) = (dir.join("installed"), self.list.join("\n"));
        if fs::read_to_string(&stamp).is_ok_and(|it| it == list) {
            return Ok(());
        }
        let failed = |err| Stop::because(format!("make {dir:?}"), &err);
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(failed)?;
        }
        fs::create_dir_all(&dir).map_err(failed)?;
        let installed = match self.from {
            Registry::Npm => npm(&dir, self.list),
            Registry::PyPi => pip(&dir, self.list),
        };
        installed.map_err(|err| {
            place.lacks_packages.set(true);
            let name = self.dir;
            match err {
                Stop::Failed(why) => Stop::failed(format!("failed to install {name}: {why}")),
                _ => Stop::failed(format!("failed to install {name}; is there a network?")),
            }
        })?;
        fs::write(stamp, list).map_err(failed)
    }

    /// Whether a package of exactly this name is among them.
    pub(super) fn holds(&self, name: &str) -> bool {
        let name_of = |it: &&'static str| it.trim_end_matches(|it| !['@', '='].contains(&it));
        self.list.iter().any(|it| name_of(it).trim_end_matches(['@', '=']) == name)
    }

    /// The name and the version of that package whose name holds this one.
    pub(super) fn shown(&self, name: &str) -> String {
        let is_it =
            |it: &&&str| it.rsplit_once(['@', '=']).is_some_and(|(it, _)| it.contains(name));
        let found = self.list.iter().find(is_it).copied().unwrap_or(name);
        let (own, version) = found.rsplit_once(['@', '=']).unwrap_or((found, ""));
        let own = own.trim_end_matches('=').trim_start_matches('@');
        format!("{} {version}", own.rsplit('/').next().unwrap_or(own))
    }
}

/// Packages of npm below a directory.
fn npm(dir: &Path, packages: &[&str]) -> Result<(), Stop> {
    // npm 11.19 runs the scripts of no package that is not named here. That of `node` gets the program.
    let name = |it: &&str| it.rsplit_once('@').map_or(*it, |(name, _)| name).to_owned();
    let allowed: serde_json::Map<_, _> =
        packages.iter().map(|it| (name(it), true.into())).collect();
    let package = serde_json::json!({"private": true, "allowScripts": allowed});
    fs::write(dir.join("package.json"), package.to_string())
        .map_err(|err| Stop::because(format!("write into {dir:?}"), &err))?;
    let mut npm = program("npm");
    npm.current_dir(dir).args(["install", "--no-audit", "--no-fund"]).args(packages);
    run_program(npm)
}

/// Packages of PyPI in an environment of their own.
fn pip(dir: &Path, packages: &[&str]) -> Result<(), Stop> {
    let mut venv = program("python3");
    venv.args(["-m", "venv"]).arg(dir);
    run_program(venv)?;
    let mut pip = program(dir.join("bin/pip"));
    pip.args(["install", "--quiet"]).args(packages);
    run_program(pip)
}

/// A script of a package, under the Node that was installed beside it.
pub(super) fn node(dir: &Path, script: &str) -> Command {
    let bin = dir.join("node_modules/node/bin");
    let mut res = program(bin.join("node"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(bin).chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(path) {
        res.env("PATH", path);
    }
    res.arg(dir.join("node_modules").join(script));
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_shown_with_its_version() {
        assert_eq!(NODE.shown("inspector"), "inspector 2.12.0");
        assert_eq!(PYTHON.shown("fastmcp"), "fastmcp 4.1.2");
        assert_eq!(PYTHON.shown("mcp"), "mcp 2.3.0");
        assert_eq!(AGENTS.shown("codex"), "codex 0.169.0");
    }

    #[test]
    fn a_package_is_found_by_its_whole_name() {
        assert!(PYTHON.holds("mcp") && AGENTS.holds("@openai/codex"));
        assert!(!PYTHON.holds("fast") && !AGENTS.holds("codex"));
    }
}
