//! Manifests of the format Agent Plugins 1.0.0.

use std::fs;

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_plugin::{
    Catalogue, Filter, LoadOptions, Loaded, PluginState, Transport, load, load_source,
};
use tempfile::TempDir;

use crate::{common, plugin_dir};

const HEAD: &str =
    r#""$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "a.b""#;

const CLOCK: &str = r#""extensions": {"dev.flyto": {"tools": [
    {"name": "now", "description": "d", "command": "date"}]}}"#;

/// Checks a manifest with this text behind the name, and `mcp.json` beside it.
#[track_caller]
fn check(members: &str, servers: Option<&str>, expect: Expect) {
    let dir = plugin_dir();
    if let Some(text) = servers {
        fs::write(dir.path().join("mcp.json"), text).expect("written");
    }
    check_in(&dir, members, expect);
}

#[track_caller]
fn check_in(dir: &TempDir, members: &str, expect: Expect) {
    let text = format!("{{{HEAD}{members}}}");
    let Loaded { plugin, findings, .. } =
        load_source(&Source::new("plugin.json", text), dir.path(), &LoadOptions::new());
    let mut res = common::show(&findings);
    match plugin {
        None => res += "no plugin\n",
        Some(plugin) => {
            let tools: Vec<_> = plugin.tools().iter().map(|it| it.name.as_str()).collect();
            let author = plugin.manifest().author.as_deref().unwrap_or("nobody");
            res += &format!("{} by {author}: {tools:?}\n", plugin.name());
            for server in &plugin.manifest().servers {
                let kind = match &server.transport {
                    Transport::Stdio { .. } => "program".to_owned(),
                    Transport::Http { kind, .. } => format!("{kind:?}"),
                    other => format!("{other:?}"),
                };
                res += &format!("- {}: {kind}, reads {:?}\n", server.name, server.reads());
            }
        }
    }
    expect.assert_eq(&res.replace(dir.path().to_str().expect("UTF-8"), "DIR"));
}

#[test]
fn tools_stand_in_an_extension() {
    check(
        &format!(
            r#", "version": "1.0.0", "author": {{"name": "Ada", "email": "ada@example.org"}},
            "license": "MIT", "keywords": ["clock"], {CLOCK}"#
        ),
        None,
        expect![[r#"
            a-b by Ada <ada@example.org>: ["now"]
        "#]],
    );
}

#[test]
fn the_top_level_is_closed() {
    check(
        &format!(r#", "dependencies": [], "tools": [], "mcpServers": {{}}, {CLOCK}"#),
        None,
        expect![[r#"
            1:90: warning[F0021]: unknown key "dependencies"
                at /dependencies
                help: the keys here are "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"
            1:119: warning[F0166]: "tools" has no place at the top of this format
                at /tools
                help: move it into `"extensions": {"dev.flyto": {…}}`
            1:137: warning[F0166]: "mcpServers" has no place in a manifest of this format
                at /mcpServers
                help: move it into a file `mcp.json` beside the manifest
            a-b by nobody: ["now"]
        "#]],
    );
    check(
        r#", "homepage": 5, "author": "Ada", "extensions": {"flyto": {}}"#,
        None,
        expect![[r#"
        1:102: error[F0023]: "homepage" must be a string, found the number 5
            at /homepage
            help: write `"5"`
            5 -> "5"
        1:115: error[F0023]: "author" must be an object, found the string "Ada"
            at /author
        1:146: error[F0166]: the extension "flyto" has no domain as its name
            at /extensions/flyto
            help: write a domain backwards, such as "dev.flyto"
        no plugin
    "#]],
    );
    check(
        r#", "extensions": {"com.example": {}}"#,
        None,
        expect![[r#"
        1:1: error[F0105]: the plugin has neither a tool nor a server
            because other parts of a plugin, such as skills, are not used here
            help: add tools to "dev.flyto" in "extensions", or servers to `mcp.json`
        no plugin
    "#]],
    );
}

#[test]
fn servers_stand_beside_it_and_a_bad_one_costs_itself() {
    check(
        "",
        Some(
            r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {
            "a": {"type": "stdio", "command": "./run.sh", "args": ["${PLUGIN_ROOT}/x", "${HOME}"],
                  "env": {"D": "$PLUGIN_DATA"}, "cwd": "${PLUGIN_DATA}/state"},
            "b": {"type": "streamable-http", "url": "https://example.org/mcp"},
            "c": {"command": "node"},
            "d": {"type": "stdio", "command": "node", "timeout": 5},
            "e": {"type": "stdio", "command": "node server.mjs"},
            "f": {"type": "stdio", "command": "/bin/node"},
            "g": {"type": "stdio", "command": "./../node"},
            "h": {"type": "stdio", "command": "node", "cwd": "${PLUGIN_ROOT}/.."},
            "i": {"type": "stdio", "command": "node", "cwd": "sub", "env": {"PLUGIN_ROOT": "x"}},
            "j": {"type": "sse", "url": "http://example.org", "headers": {}},
            "k": {"type": "sse", "url": "https://example.org", "headers": {"Authorization": "${T}"}}
        }}"#,
        ),
        expect![[r#"
            5:18: error[F0022]: the key "type" is missing
                at /mcpServers/c
                help: add `"type": …`
            6:55: error[F0021]: a server of this kind has no "timeout"
                at /mcpServers/d/timeout
                help: the keys are "type", "command", "args", "env", "cwd"
            7:47: error[F0024]: the program "node server.mjs" is not one word
                at /mcpServers/e/command
                help: write the name of a program, such as `node`, or a path that begins with `./`
            8:47: error[F0024]: the program "/bin/node" is neither a name nor begins with `./`
                at /mcpServers/f/command
                help: write the name of a program, such as `node`, or a path that begins with `./`
            9:47: error[F0165]: "./../node" leads out of the plugin's directory
                at /mcpServers/g/command
                help: name a file or a directory within it, without links that lead elsewhere
            10:62: error[F0165]: "${PLUGIN_ROOT}/.." leads out of the plugin's directory
                at /mcpServers/h/cwd
                help: name a file or a directory within it, without links that lead elsewhere
            11:62: error[F0024]: "sub" is no directory of the plugin
                at /mcpServers/i/cwd
                help: begin with `./`, `${PLUGIN_ROOT}` or `${PLUGIN_DATA}`
            11:77: error[F0117]: PLUGIN_ROOT is set by the host
                at /mcpServers/i/env/PLUGIN_ROOT
                help: use ${PLUGIN_ROOT} in the value of another variable, or read it as it is
            12:41: error[F0163]: what is sent to "http://example.org" can be read on its way
                at /mcpServers/j/url
                help: write `https://`, unless the server runs on this machine
            13:76: warning[F0163]: Authorization looks like a secret, and every user can read this file
                at /mcpServers/k/headers/Authorization
                help: leave the header out; each user sets credentials of their own
            a-b by nobody: []
            - a: program, reads {"PLUGIN_DATA", "PLUGIN_ROOT"}
            - b: Streamable, reads {}
            - k: Sse, reads {}
        "#]],
    );
    check(
        &format!(", {CLOCK}"),
        Some("{"),
        expect![[r#"
        1:2: error[F0012]: the text ends inside an object
            help: close the object with `}`
            1:1: the object begins here
        a-b by nobody: ["now"]
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    let outside = plugin_dir();
    let dir = plugin_dir();
    let link = std::os::unix::fs::symlink::<std::path::PathBuf, std::path::PathBuf>;
    link(outside.path().join("run.sh"), dir.path().join("link.sh")).expect("linked");
    link("sub".into(), dir.path().join("inner")).expect("linked");
    fs::write(
        dir.path().join("mcp.json"),
        r#"{"mcpServers": {"a": {"type": "stdio", "command": "./link.sh"},
            "b": {"type": "stdio", "command": "node", "cwd": "./inner"}}}"#,
    )
    .expect("written");
    check_in(
        &dir,
        "",
        expect![[r#"
        1:51: error[F0165]: "./link.sh" leads out of the plugin's directory
            at /mcpServers/a/command
            help: name a file or a directory within it, without links that lead elsewhere
        a-b by nobody: []
        - b: program, reads {}
    "#]],
    );
    let other = plugin_dir();
    fs::write(outside.path().join("mcp.json"), r#"{"mcpServers": {}}"#).expect("written");
    link(outside.path().join("mcp.json"), other.path().join("mcp.json")).expect("linked");
    check_in(
        &other,
        &format!(", {CLOCK}"),
        expect![[r#"
        DIR/mcp.json: error[F0165]: the file is a link that leads out of the plugin's directory
        a-b by nobody: ["now"]
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_path_of_a_tool_that_leads_out_costs_that_tool() {
    let outside = plugin_dir();
    let dir = plugin_dir();
    let link = std::os::unix::fs::symlink::<std::path::PathBuf, std::path::PathBuf>;
    link(outside.path().to_owned(), dir.path().join("out")).expect("linked");
    link("sub".into(), dir.path().join("inner")).expect("linked");
    let tools = [
        ("up", r#""command": "../run.sh""#),
        ("absolute", r#""command": "/bin/sh""#),
        ("linked", r#""command": "./out/run.sh""#),
        ("not-there-yet", r#""command": "out/later/run.sh""#),
        ("from-above", r#""command": "ls", "work_dir": "..""#),
        ("from-root", r#""command": "ls", "work_dir": "/""#),
        ("from-link", r#""command": "ls", "work_dir": "out""#),
        ("too-high", r#""command": "../../run.sh", "work_dir": "sub""#),
        ("template", r#""command": "ls", "parameters": {"type": "object"}, "working_dir": "/""#),
        ("session", r#""command": "ls", "parameters": {"type": "object"}, "working_dir": "..""#),
        ("bare", r#""command": "ls""#),
        ("own", r#""command": "./run.sh""#),
        ("back", r#""command": "../run.sh", "work_dir": "sub""#),
        ("within", r#""command": "ls", "work_dir": "inner""#),
        ("below", r#""command": "ls", "parameters": {"type": "object"}, "working_dir": "x""#),
    ];
    let tools =
        tools.map(|(name, text)| format!(r#"{{"name": "{name}", "description": "d", {text}}}"#));
    let members =
        format!(r#", "extensions": {{"dev.flyto": {{"tools": [{}]}}}}"#, tools.join(",\n"));
    check_in(
        &dir,
        &members,
        expect![[r#"
        1:175: error[F0165]: "../run.sh" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/0/command
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        2:53: error[F0165]: "/bin/sh" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/1/command
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        3:51: error[F0165]: "./out/run.sh" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/2/command
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        4:58: error[F0165]: "out/later/run.sh" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/3/command
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        5:73: error[F0165]: ".." leads out of the plugin's directory
            at /extensions/dev.flyto/tools/4/work_dir
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        6:72: error[F0165]: "/" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/5/work_dir
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        7:72: error[F0165]: "out" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/6/work_dir
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        8:53: error[F0165]: "../../run.sh" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/7/command
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        9:108: error[F0165]: "/" leads out of the plugin's directory
            at /extensions/dev.flyto/tools/8/working_dir
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        10:107: error[F0165]: ".." leads out of the plugin's directory
            at /extensions/dev.flyto/tools/9/working_dir
            because no path in a manifest of this format may
            help: name a file or a directory within it, without links that lead elsewhere
        a-b by nobody: ["bare", "own", "back", "within", "below"]
    "#]],
    );
}

#[test]
fn names() {
    for name in ["A", "a_b", "-a", "a.", "a--b", "a..b", "", "ä"] {
        let text = format!(
            r#"{{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "{name}", {CLOCK}}}"#
        );
        let loaded = load_source(&Source::new("p", text), "/", &LoadOptions::new());
        assert!(loaded.plugin.is_none() && loaded.findings.has_errors(), "{name}");
    }
}

#[test]
fn a_plugin_is_known_by_the_name_it_goes_by() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let plugin = dir.path().join(name);
        fs::create_dir(&plugin).expect("created");
        fs::write(plugin.join("plugin.json"), text).expect("written");
        plugin
    };
    let conformant = write("1", &format!("{{{HEAD}, {CLOCK}}}"));
    write("2", r#"{"name": "a-b", "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#);
    write("3", r#"{"name": "git_pr", "description": "d", "command": "ls"}"#);
    let states = |filter: &Filter| -> Vec<(Option<String>, PluginState)> {
        let found = Catalogue::discover([dir.path()], filter, &LoadOptions::new()).found;
        found.into_iter().map(|it| (it.name, it.state)).collect()
    };
    let named = |name: &str, state| (Some(name.to_owned()), state);
    assert_eq!(
        states(&Filter::new()),
        [
            named("a-b", PluginState::Loaded),
            named("a-b", PluginState::Refused),
            named("git-pr", PluginState::Loaded)
        ]
    );
    assert_eq!(
        states(&Filter::new().block(["a-b", "git-pr"])),
        [
            named("a-b", PluginState::Blocked),
            named("a-b", PluginState::Blocked),
            named("git-pr", PluginState::Blocked)
        ]
    );
    assert_eq!(load(conformant, &LoadOptions::new()).plugin.expect("loaded").name(), "a-b");
}

#[test]
fn another_schema_is_for_editors() {
    let text = r#"{"$schema": "https://example.org/plugin.schema.json", "name": "p",
        "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#;
    let loaded = load_source(&Source::new("p", text), "/", &LoadOptions::new());
    assert!(loaded.findings.is_empty() && loaded.plugin.is_some());
}
