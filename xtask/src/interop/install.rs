//! What is used, with its versions.
//!
//! A directory is installed anew where its list has changed, and else as it is.

use std::{fs, path::PathBuf, process::Command};

use super::Place;
use crate::{
    process::{program, run as run_program},
    stop::Stop,
};

/// The inspector and the suite of revision 2026-07-28, and the Node that they need: at least 22.
pub(super) const NODE: &[&str] = &[
    "node@24.21.0",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
];
/// The client of the official SDK, and that of another library.
pub(super) const PYTHON: &[&str] = &["mcp==2.3.0", "fastmcp==4.1.2"];
/// Programs for agents.
pub(super) const AGENTS: &[&str] = &[
    "node@24.21.0",
    "@anthropic-ai/claude-code@2.1.330",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
];

/// Packages of npm below a directory of this name.
pub(super) fn npm(place: &Place, name: &str, packages: &[&str]) -> Result<PathBuf, Stop> {
    install(place, name, packages, |dir| {
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
    })
}

/// Packages of PyPI in an environment of this name.
pub(super) fn pip(place: &Place, name: &str, packages: &[&str]) -> Result<PathBuf, Stop> {
    install(place, name, packages, |dir| {
        let mut venv = program("python3");
        venv.args(["-m", "venv"]).arg(dir);
        run_program(venv)?;
        let mut pip = program(dir.join("bin/pip"));
        pip.args(["install", "--quiet"]).args(packages);
        run_program(pip)
    })
}

fn install(
    place: &Place,
    name: &str,
    packages: &[&str],
    with: impl FnOnce(&PathBuf) -> Result<(), Stop>,
) -> Result<PathBuf, Stop> {
    let dir = place.dir.join(name);
    let (stamp, list) = (dir.join("installed"), packages.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|it| it == list) {
        return Ok(dir);
    }
    let failed = |err| Stop::because(format!("make {dir:?}"), &err);
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(failed)?;
    }
    fs::create_dir_all(&dir).map_err(failed)?;
    with(&dir).map_err(|err| {
        place.lacks_packages.set(true);
        match err {
            Stop::Failed(why) => Stop::failed(format!("failed to install {name}: {why}")),
            _ => Stop::failed(format!("failed to install {name}; is there a network?")),
        }
    })?;
    fs::write(stamp, list).map_err(failed)?;
    Ok(dir)
}

/// A script of a package, under the Node that was installed beside it.
pub(super) fn node(dir: &std::path::Path, script: &str) -> Command {
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

/// The name and the version of the package of this name in a list.
pub(super) fn shown(packages: &[&str], name: &str) -> String {
    let find = |it: &&&str| it.rsplit_once(['@', '=']).is_some_and(|(own, _)| own.contains(name));
    let found = packages.iter().find(find).copied().unwrap_or(name);
    let (own, version) = found.rsplit_once(['@', '=']).unwrap_or((found, ""));
    let own = own.trim_end_matches('=').trim_start_matches('@');
    format!("{} {version}", own.rsplit('/').next().unwrap_or(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_shown_with_its_version() {
        assert_eq!(shown(NODE, "inspector"), "inspector 2.12.0");
        assert_eq!(shown(PYTHON, "fastmcp"), "fastmcp 4.1.2");
        assert_eq!(shown(PYTHON, "mcp"), "mcp 2.3.0");
    }
}
