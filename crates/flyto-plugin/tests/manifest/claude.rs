//! Plugins of Claude Code, and the file `.mcp.json` beside a native manifest.

use std::fs;

use expect_test::{Expect, expect};
use flyto_execenv::Environment;
use flyto_plugin::{Catalogue, Filter, LoadOptions, Loaded, Plugin, Transport, load};
use tempfile::TempDir;

use crate::{common, plugin_dir};

const HEAD: &str =
    r#"{"name": "wiki", "version": "1.2.0", "author": {"name": "Ada"}, "commands": "./commands""#;

fn options() -> LoadOptions {
    LoadOptions::new().env([("TOKEN", "t")].into_iter().collect::<Environment>())
}

fn shown(plugin: Option<&Plugin>) -> String {
    let Some(plugin) = plugin else { return "no plugin\n".to_owned() };
    let manifest = plugin.manifest();
    let (version, author) = (&manifest.version, &manifest.author);
    let mut res =
        format!("{} {version:?} by {author:?}, {} tools\n", plugin.name(), plugin.tools().len());
    for server in &manifest.servers {
        let names: Vec<_> = match &server.transport {
            Transport::Stdio { env, .. } => env.iter().map(|it| it.0).collect(),
            _ => Vec::new(),
        };
        let ready = if server.is_ready() { "ready" } else { "not ready" };
        let (name, file) = (&server.name, &server.file);
        res +=
            &format!("- {name} in {file}: reads {:?}, sets {names:?}, {ready}\n", server.reads());
    }
    res
}

/// Checks a directory with these files, loaded by itself and found by a search.
#[track_caller]
fn check(files: &[(&str, &str)], expect: Expect) {
    let dir = plugin_dir();
    write(&dir, files);
    let Loaded { plugin, findings, .. } = load(dir.path(), &options());
    let res = common::show(&findings) + &shown(plugin.as_ref());
    expect.assert_eq(&res.replace(dir.path().to_str().expect("UTF-8"), "DIR"));
    let catalogue = Catalogue::discover([dir.path()], &Filter::new(), &options());
    assert_eq!(catalogue.plugins().next().map(|it| &**it), plugin.as_ref());
}

fn write(dir: &TempDir, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("one")).expect("made");
        fs::write(path, text).expect("written");
    }
}

const SERVERS: &str = r#"{"mcpServers": {
    "pages": {"command": "${CLAUDE_PLUGIN_ROOT}/run.sh", "args": ["$5", "${TOKEN}"], "env": {"A": "${NONE:-a}"}},
    "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "${NONE}"}}}}"#;

#[test]
fn a_plugin_of_claude_has_its_servers() {
    check(
        &[(".claude-plugin/plugin.json", &format!("{HEAD}}}")), (".mcp.json", SERVERS)],
        expect![[r#"
            3:12: warning[F0161]: the server "web" needs a variable that is not set: NONE (used in X)
                at /mcpServers/web
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            wiki Some("1.2.0") by Some("Ada"), 0 tools
            - pages in DIR/.mcp.json: reads {"NONE", "PLUGIN_DATA", "PLUGIN_ROOT", "TOKEN"}, sets ["A", "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
            - web in DIR/.mcp.json: reads {"NONE"}, sets [], not ready
        "#]],
    );
    // Servers as the whole of the file, and in the manifest.
    let inline = format!(r#"{HEAD}, "mcpServers": {{"a": {{"command": "x"}}}}}}"#);
    check(
        &[(".claude-plugin/plugin.json", &inline), (".mcp.json", r#"{"b": {"command": "y"}}"#)],
        expect![[r#"
            wiki Some("1.2.0") by Some("Ada"), 0 tools
            - a in DIR/.claude-plugin/plugin.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
            - b in DIR/.mcp.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
        "#]],
    );
    let named =
        format!(r#"{HEAD}, "mcpServers": ["./.mcp.json", "./more/s.json", "../out.json"]}}"#);
    check(
        &[
            (".claude-plugin/plugin.json", &named),
            (".mcp.json", r#"{"b": {"command": "y"}}"#),
            ("more/s.json", r#"{"b": {"command": "z"}, "c": {"command": "z"}}"#),
        ],
        expect![[r#"
            1:138: error[F0165]: "../out.json" leads out of the plugin's directory
                at /mcpServers/2
                help: name a file or a directory within it, without links that lead elsewhere
            wiki Some("1.2.0") by Some("Ada"), 0 tools
            - b in DIR/.mcp.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
            - c in DIR/more/s.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
        "#]],
    );
}

#[test]
fn a_native_manifest_has_the_file_beside_it() {
    let tool = r#"{"name": "t", "description": "d", "command": "ls"}"#;
    let file = (".mcp.json", r#"{"mcpServers": {"b": {"command": "y"}}}"#);
    check(
        &[("plugin.json", &format!(r#"{{"name": "p", "tools": [{tool}]}}"#)), file],
        expect![[r#"
            p None by None, 1 tools
            - b in DIR/.mcp.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
        "#]],
    );
    check(
        &[("plugin.json", r#"{"name": "p"}"#), file],
        expect![[r#"
            p None by None, 0 tools
            - b in DIR/.mcp.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
        "#]],
    );
    // A manifest that names servers has those, and one at the root comes before that of Claude Code.
    let own = r#"{"name": "p", "mcpServers": {"a": {"command": "x"}}}"#;
    check(
        &[("plugin.json", own), file, (".claude-plugin/plugin.json", HEAD)],
        expect![[r#"
            p None by None, 0 tools
            - a in DIR/plugin.json: reads {}, sets [], ready
        "#]],
    );
}

#[test]
fn what_cannot_be_used_says_so() {
    check(
        &[(".claude-plugin/plugin.json", &format!("{HEAD}}}"))],
        expect![[r#"
        1:1: error[F0105]: the plugin has no server
            because of a plugin of Claude Code only the servers are used here
            help: add servers to `.mcp.json` beside `.claude-plugin`
        no plugin
    "#]],
    );
    check(
        &[(".claude-plugin/plugin.json", r#"{"name": "a b", "mcpServers": 5}"#)],
        expect![[r#"
            1:10: error[F0101]: the name "a b" of a plugin holds ' '
                at /name
                help: a name is made of letters, digits and `-`, a letter or digit first
                "a b" -> "a-b"
            1:31: error[F0023]: "mcpServers" must be an object of servers, or the path of a file with one
                at /mcpServers
            no plugin
        "#]],
    );
    let key =
        r#"{"a": {"command": "x", "args": ["$1 ${user_config.key}"]}, "b": {"command": "y"}}"#;
    check(
        &[(".claude-plugin/plugin.json", &format!("{HEAD}}}")), (".mcp.json", key)],
        expect![[r#"
            1:37: error[F0118]: `${user_config.key}` in argument 1 names no variable
                at /a/args/0
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            wiki Some("1.2.0") by Some("Ada"), 0 tools
            - b in DIR/.mcp.json: reads {"PLUGIN_DATA", "PLUGIN_ROOT"}, sets ["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT"], ready
        "#]],
    );
    check(
        &[("plugin.json", r#"{"name": "p"}"#), (".mcp.json", "{")],
        expect![[r#"
        1:2: error[F0012]: the text ends inside an object
            help: close the object with `}`
            1:1: the object begins here
        p None by None, 0 tools
    "#]],
    );
}
