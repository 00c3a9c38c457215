//! The guide says what is so: what it shows loads, and every key is in it.

use std::{fs, path::Path};

use flyto_execenv::Environment;
use flyto_host::{Surroundings, schema, validate_path};
use serde_json::Value;

const MANIFEST: &str = include_str!("../../docs/guide/manifest.md");
const CONFIGURATION: &str = include_str!("../../docs/guide/configuration.md");

/// The JSON that a page shows.
fn shown(page: &str) -> Vec<&str> {
    page.split("```json\n").skip(1).filter_map(|it| Some(it.split_once("```")?.0)).collect()
}

/// Checks what a page shows as files of this name, and gives what is found about them.
fn findings(page: &str, file_name: &str) -> Vec<String> {
    let mut res = Vec::new();
    let blocks = shown(page);
    assert!(!blocks.is_empty());
    for text in blocks {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join(file_name);
        fs::write(&file, text).expect("it can be written");
        res.extend(look(&file));
    }
    res
}

fn look(file: &Path) -> Vec<String> {
    let env = Environment::from_iter([("PATH", "/usr/bin:/bin"), ("HOME", "/home/ada")]);
    let checked = validate_path(file, &Surroundings::new(env, "/")).expect("it is there");
    checked.findings.iter().map(|it| format!("{} {}", it.code, it.message)).collect()
}

/// The keys of every object that a schema describes.
fn keys(schema: &Value, res: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                res.extend(properties.keys().filter(|it| *it != "$schema").cloned());
            }
            members.values().for_each(|it| keys(it, res));
        }
        Value::Array(items) => items.iter().for_each(|it| keys(it, res)),
        _ => {}
    }
}

#[track_caller]
fn check_keys(schema: &Value, page: &str, elsewhere: &[&str]) {
    let mut all = Vec::new();
    keys(schema, &mut all);
    assert!(all.len() > 10);
    for key in all.iter().filter(|it| !elsewhere.contains(&it.as_str())) {
        let is_named = page.contains(&format!("`{key}`")) || page.contains(&format!(".{key}`"));
        assert!(is_named || page.contains(&format!("{key:?}")), "the guide does not name {key}");
    }
}

#[test]
fn manifests_of_the_guide_load() {
    let missing = ["bin/solver", "./import", "./drop", "./week"];
    let missing = missing.map(|it| format!("F0114 the program {it:?} is not there"));
    assert_eq!(findings(MANIFEST, "plugin.json"), missing);
}

#[test]
fn configurations_of_the_guide_load() {
    let unset = "F0161 the server \"wiki\" needs a variable that is not set: WIKI_TOKEN (used in Authorization)";
    assert_eq!(findings(CONFIGURATION, "config.json"), [unset]);
}

#[test]
fn every_key_is_in_the_guide() {
    // What a server is made of is the Model Context Protocol's to say.
    let servers = ["type", "cwd", "url", "headers", "disabled", "enabled"];
    check_keys(&schema::plugin(), MANIFEST, &servers);
    check_keys(&schema::config(), CONFIGURATION, &[]);
}
