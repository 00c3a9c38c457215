//! Public servers, whose tools the program uses.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    Place, Row,
    clients::said,
    install::{NODE_SERVERS, PYTHON_SERVERS},
};
use crate::{
    process::{program, run as run_program},
    stop::Stop,
};

/// A call: the tool and its input, the exit code, and what the answer holds.
type Call<'a> = (&'a [&'a str], i32, &'a str);

/// Every server and its calls. `WORK` is a directory of the test's own.
const CALLS: &[(&str, &[Call<'_>])] = &[
    (
        "everything",
        &[
            (&["echo", "message=hi"], 0, "Echo: hi"),
            (&["get-sum", "a:=2", "b:=3"], 0, "5"),
            (&["get-structured-content", "location=Chicago"], 0, "\"temperature\""),
            (&["get-tiny-image"], 0, "image/png"),
            (&["trigger-long-running-operation", "duration:=1", "steps:=2"], 0, "completed"),
            // The schema is checked before the server has the call.
            (&["get-sum", "a=two"], 3, "/a"),
        ],
    ),
    (
        "filesystem",
        &[
            (&["list_directory", "path=WORK"], 0, "[FILE] note.txt"),
            (&["read_text_file", "path=WORK/note.txt"], 0, "two words"),
            (&["read_text_file", "path=/etc/hostname"], 1, "denied"),
        ],
    ),
    (
        "memory",
        &[
            (
                &[
                    "create_entities",
                    r#"entities:=[{"name": "Ada", "entityType": "person", "observations": []}]"#,
                ],
                0,
                "Ada",
            ),
            (&["read_graph"], 0, "Ada"),
        ],
    ),
    (
        "sequential-thinking",
        &[(
            &[
                "sequentialthinking",
                "thought=x",
                "nextThoughtNeeded:=false",
                "thoughtNumber:=1",
                "totalThoughts:=1",
            ],
            0,
            "thoughtHistoryLength",
        )],
    ),
    ("time", &[(&["get_current_time", "timezone=UTC"], 0, "\"timezone\"")]),
    ("git", &[(&["git_status", "repo_path=WORK"], 0, "note.txt")]),
    // A loopback address, so that no network is needed: the refusal is the server's.
    ("fetch", &[(&["fetch", "url=http://127.0.0.1:1/"], 1, "127.0.0.1")]),
];

/// The program against each server: what it lists, and calls of its tools.
pub(super) fn rows(place: &Place) -> Result<Vec<Row>, Stop> {
    let node = NODE_SERVERS.dir(place);
    let python = PYTHON_SERVERS.dir(place);
    let home = place.dir.join("homes/servers");
    let work = prepare(&home, &node, &python)?;
    let mut rows = Vec::new();
    for (name, calls) in CALLS {
        let flyto = |words: &[&str]| {
            let mut flyto = program(&place.flyto);
            flyto.args(words);
            said(flyto, &home)
        };
        let packages = if is_python(name) { &PYTHON_SERVERS } else { &NODE_SERVERS };
        let peer = packages.shown(name);
        let listed = flyto(&["servers", "show", name, "--format", "json"])?;
        let report: Value = serde_json::from_str(&listed.text).unwrap_or_default();
        let era = match report["revision"].as_str() {
            Some("2026-07-28") => "modern",
            _ => "legacy",
        };
        let n_tools = report["tools"].as_array().map_or(0, Vec::len);
        let result = match report["status"] == "connected" && n_tools > 0 {
            true => Ok(format!("{n_tools} tools")),
            false => Err(listed.text.trim().to_owned()),
        };
        rows.push(Row { peer: peer.clone(), era, exercised: "tools/list".to_owned(), result });
        for (words, code, text) in *calls {
            let work = work.to_string_lossy();
            let input = words[1..].iter().map(|it| it.replace("WORK", &work));
            let mut line = vec!["call".to_owned(), format!("{name}:{}", words[0])];
            line.extend(input);
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            let exercised = match code {
                0 => words[0].to_owned(),
                code => format!("{} (exit code {code})", words[0]),
            };
            let result = flyto(&line)?.has(*code, text);
            rows.push(Row { peer: peer.clone(), era, exercised, result });
        }
    }
    Ok(rows)
}

fn is_python(name: &str) -> bool {
    PYTHON_SERVERS.holds(&format!("mcp-server-{name}"))
}

/// A home whose configuration has every server, and a directory for them, which is a repository with one new file.
fn prepare(home: &Path, node: &Path, python: &Path) -> Result<PathBuf, Stop> {
    let failed = |err| Stop::because(format!("make {home:?}"), &err);
    if home.exists() {
        fs::remove_dir_all(home).map_err(failed)?;
    }
    let (work, config) = (home.join("work"), home.join(".config/flyto"));
    for dir in [&work, &config] {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    fs::write(work.join("note.txt"), "two words\n").map_err(failed)?;
    let mut git = program("git");
    git.args(["init", "--quiet"]).arg(&work);
    run_program(git)?;
    let servers: serde_json::Map<String, Value> = CALLS
        .iter()
        .map(|(name, _)| {
            let declared = match is_python(name) {
                true => {
                    let args = match *name {
                        "git" => json!(["--repository", work]),
                        _ => json!([]),
                    };
                    json!({"command": python.join(format!("bin/mcp-server-{name}")), "args": args})
                }
                false => {
                    let package = format!("node_modules/@modelcontextprotocol/server-{name}");
                    let script = node.join(package).join("dist/index.js");
                    let more = (*name == "filesystem").then_some(&work);
                    let args: Vec<_> = std::iter::once(&script).chain(more).collect();
                    let env = match *name {
                        "memory" => json!({"MEMORY_FILE_PATH": home.join("memory.json")}),
                        _ => json!({}),
                    };
                    json!({"command": node.join("node_modules/node/bin/node"), "args": args, "env": env})
                }
            };
            ((*name).to_owned(), declared)
        })
        .collect();
    let text = json!({ "mcpServers": servers }).to_string();
    fs::write(config.join("config.json"), text).map_err(failed)?;
    Ok(work)
}
