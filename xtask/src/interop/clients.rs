//! Clients that call tools over stdio.

use std::{path::Path, process::Command};

use super::{
    Place, Row,
    install::{NODE, PYTHON, node},
};
use crate::{process::program, stop::Stop};

/// What the inspector's command line gives back where the tool failed.
const TOOL_FAILED: i32 = 5;

/// The inspector: lists and calls by its command line, and a person's answers by its daemon.
pub(super) fn inspector(place: &Place) -> Result<Vec<Row>, Stop> {
    let dir = NODE.dir(place);
    let home = place.home("inspector")?;
    let package = "@modelcontextprotocol/inspector/clients";
    let row = |era: &'static str, exercised: &str, result| Row {
        peer: NODE.shown("inspector"),
        era,
        exercised: exercised.to_owned(),
        result,
    };
    let mut rows = Vec::new();
    for era in ["legacy", "modern"] {
        let cli = |words: &[&str]| {
            let mut res = node(&dir, &format!("{package}/launcher/build/index.js"));
            res.args(["--cli", "--protocol-era", era, "--format", "json"]);
            res.arg(&place.flyto).args(Place::SERVE).args(words);
            said(res, &home)
        };
        let list = cli(&["--strict", "--method", "tools/list"])?;
        rows.push(row(era, "tools/list, strict schemas", list.has(0, "test_simple_text")));
        let words = ["--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=you"];
        rows.push(row(era, "tools/call", cli(&words)?.has(0, "Hello, you!")));
        let words = ["--method", "tools/call", "--tool-name", "test_error_handling"];
        let failed = cli(&words)?.has(TOOL_FAILED, "intentionally");
        rows.push(row(era, "a tool that fails", failed));

        let daemon = |words: &[&str]| {
            let mut res = node(&dir, &format!("{package}/mcpdo/build/mcp-bin.js"));
            res.args(["--format", "json"]).args(words);
            said(res, &home)
        };
        let flyto = place.flyto.to_string_lossy();
        daemon(&["connect", "@p", "--era", era, &*flyto, "serve"])?;
        for (answer, what, text) in [
            (r#"decision:="approve once""#, "a call that is approved", "approved"),
            ("--decline", "a call that is declined", "the user declined"),
        ] {
            let asked = daemon(&["@p", "tools/call", "test_streaming_elicitation"])?;
            let id = asked.value_of("elicitationId").unwrap_or_default();
            let ended = daemon(&["@p", "elicitation/respond", &id, answer])?;
            let is_there = ended.text.contains(text);
            rows.push(row(era, what, if is_there { Ok(String::new()) } else { Err(ended.text) }));
        }
        daemon(&["daemon", "stop"])?;
    }
    Ok(rows)
}

/// The official SDK for Python, and another library, by scripts that tell what they exercised.
pub(super) fn python(place: &Place) -> Result<Vec<Row>, Stop> {
    let dir = PYTHON.dir(place);
    let home = place.home("python")?;
    let mut rows = Vec::new();
    for (package, era, script) in
        [("mcp", "legacy", "sdk_client.py"), ("fastmcp", "modern", "fastmcp_client.py")]
    {
        let mut python = program(dir.join("bin/python"));
        python.arg(place.fixtures.join(script)).arg(&place.flyto).args(Place::SERVE);
        let said = said(python, &home)?;
        let row = |exercised: &str, result| Row {
            peer: PYTHON.shown(package),
            era,
            exercised: exercised.to_owned(),
            result,
        };
        for line in said.text.lines() {
            let Some((exercised, result)) = line.split_once('\t') else { continue };
            let result = if result == "ok" { Ok(String::new()) } else { Err(result.to_owned()) };
            rows.push(row(exercised, result));
        }
        if said.code != Some(0) {
            rows.push(row("the script", Err(said.text)));
        }
    }
    Ok(rows)
}

/// What a program said on both streams, and its exit code.
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) text: String,
}

impl Said {
    /// Whether it ended with this code and said this.
    pub(super) fn has(self, code: i32, text: &str) -> Result<String, String> {
        match self.code == Some(code) && self.text.contains(text) {
            true => Ok(String::new()),
            false => Err(format!("exit code {:?}: {}", self.code, self.text.trim())),
        }
    }

    /// The first string of this name in a JSON text.
    fn value_of(&self, name: &str) -> Option<String> {
        let rest = self.text.split_once(&format!("\"{name}\": \""))?.1;
        Some(rest.split_once('"')?.0.to_owned())
    }
}

/// Runs a program in this home.
pub(super) fn said(mut command: Command, home: &Path) -> Result<Said, Stop> {
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|err| Stop::because(format!("start {name}"), &err))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(Said { code: output.status.code(), text })
}
