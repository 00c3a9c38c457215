//! Programs for agents: the server is installed as a person does it, and the program says what it found.
//!
//! No model is asked, and no account is needed.

use std::{fs, path::Path};

use super::{
    Place, Row,
    clients::{Said, said},
    install::AGENTS,
};
use crate::{process::program, stop::Stop};

/// A program with the name that `flyto install` has for it, its package, and the words that it says of a server.
const PROGRAMS: [(&str, &str, &str, &str); 3] = [
    ("claude-code", "claude", "claude-code", "Connected"),
    ("codex", "codex", "codex", "enabled"),
    ("gemini", "gemini", "gemini-cli", "Connected"),
];

/// A row for each.
pub(super) fn rows(place: &Place) -> Result<Vec<Row>, Stop> {
    let dir = AGENTS.dir(place);
    let row = |(client, name, package, found): (&str, &str, &str, &str)| {
        let home = place.home(name)?;
        let mut install = program(&place.flyto);
        install.args(["install", client]);
        let installed = said(install, &home)?;
        if name == "gemini" {
            trust(&home)?;
        }
        let result = match installed.code {
            Some(0) => list(&dir, name, &home)?.has(0, found),
            _ => Err(installed.text),
        };
        Ok(Row {
            peer: AGENTS.shown(package),
            era: "its own",
            exercised: format!("`flyto install {client}`, `{name} mcp list`"),
            result: result.map(|_| found.to_lowercase()),
        })
    };
    PROGRAMS.into_iter().map(row).collect()
}

/// Has Gemini CLI trust its directory: it starts no server, not even the user's, in another one.
fn trust(home: &Path) -> Result<(), Stop> {
    let file = home.join(".gemini/trustedFolders.json");
    fs::write(&file, serde_json::json!({home.to_string_lossy(): "TRUST_FOLDER"}).to_string())
        .map_err(|err| Stop::because(format!("write {file:?}"), &err))
}

/// What the program says of its servers, of which there is one.
fn list(dir: &Path, name: &str, home: &Path) -> Result<Said, Stop> {
    let mut list = program(dir.join("node_modules/.bin").join(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bin = dir.join("node_modules/node/bin");
    let path = std::iter::once(bin).chain(std::env::split_paths(&path));
    list.env("PATH", std::env::join_paths(path).unwrap_or_default());
    list.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").current_dir(home);
    list.args(["mcp", "list"]);
    said(list, home)
}
