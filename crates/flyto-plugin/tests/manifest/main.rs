//! What becomes of a manifest: the findings, and what is left of the plugin.

#[path = "../common/mod.rs"]
mod common;

mod anything;
mod binary;
mod claude;
mod conformant;
mod declared;
mod families;
mod forms;
mod head;
mod mutated;
mod permissions;
mod program;
mod schemas;
mod servers;
mod templates;

use std::fs;

use expect_test::Expect;
use flyto_diagnostics::Source;
use flyto_plugin::{Depth, LoadOptions, Loaded, load_source};
use tempfile::TempDir;

/// A directory with an executable `run.sh`, a `plain.txt` and a directory `sub`.
fn plugin_dir() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let script = dir.path().join("run.sh");
    fs::write(&script, "#!/bin/sh\n").expect("written");
    #[cfg(unix)]
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("changed");
    fs::write(dir.path().join("plain.txt"), "").expect("written");
    fs::create_dir(dir.path().join("sub")).expect("created");
    dir
}

fn load_in(dir: &TempDir, text: &str, depth: Depth) -> Loaded {
    let options = LoadOptions::new().depth(depth).path("/bin:/usr/bin").rules(permissions::reads);
    load_source(&Source::new("plugin.json", text), dir.path(), &options)
}

fn loaded(text: &str, depth: Depth) -> Loaded {
    load_in(&plugin_dir(), text, depth)
}

/// The findings, and the tools that are left.
fn shown(text: &str, depth: Depth) -> String {
    let dir = plugin_dir();
    let Loaded { plugin, findings, .. } = load_in(&dir, text, depth);
    let mut res = common::show(&findings);
    res += &match plugin {
        None => "no plugin".to_owned(),
        Some(plugin) => {
            let tools: Vec<_> = plugin.tools().iter().map(|it| it.name.as_str()).collect();
            let refused: Vec<_> = plugin
                .refused()
                .iter()
                .map(|it| format!("{} ({})", it.name.as_deref().unwrap_or("?"), it.form))
                .collect();
            let refused = refused.join(", ");
            format!("{}: loaded [{}] refused [{refused}]", plugin.name(), tools.join(", "))
        }
    };
    res.push('\n');
    res.replace(dir.path().to_str().expect("UTF-8"), "DIR")
}

#[track_caller]
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&shown(text, Depth::Quick));
}

/// Checks a manifest with one tool, of which this is the text behind name and description.
#[track_caller]
fn check_tool(members: &str, expect: Expect) {
    expect.assert_eq(&shown(&with_tool(members), Depth::Quick));
}

#[track_caller]
fn check_tool_in_full(members: &str, expect: Expect) {
    expect.assert_eq(&shown(&with_tool(members), Depth::Full));
}

fn with_tool(members: &str) -> String {
    format!(
        "{{\n\"name\": \"p\",\n\"tools\": [{{\n\"name\": \"t\", \"description\": \"d\",\n{members}\n}}]\n}}"
    )
}
