//! The published schemas allow the keys that the readers ask for: no more and no fewer.
//!
//! Each sample is read as a user's file is, and the readers tell which keys they asked for in each
//! object. The schema tells which keys it allows there. A key that is added to one side only fails
//! here.

use std::{collections::BTreeSet, fs, path::Path};

use flyto_diagnostics::{ObjectKeys, recorded_keys};
use flyto_execenv::Environment;
use flyto_host::{Surroundings, schema, validate_path};
use serde_json::{Value, json};

/// Parts of a schema that describe one value, and the definitions that were used on the way.
#[derive(Default)]
struct Parts<'s> {
    schemas: Vec<&'s Value>,
    definitions: BTreeSet<&'s str>,
}

impl<'s> Parts<'s> {
    /// Collects what `schema` says about the value at `path` in `instance`.
    fn collect(&mut self, root: &'s Value, schema: &'s Value, instance: &Value, path: &[String]) {
        if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
            let (name, target) =
                root["$defs"].as_object().and_then(|it| it.get_key_value(name)).expect("a target");
            self.definitions.insert(name);
            self.collect(root, target, instance, path);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.collect(root, part, instance, path);
        }
        let alternatives = ["anyOf", "oneOf"].map(|key| schema[key].as_array());
        for part in alternatives.into_iter().flatten().flatten() {
            if fits(root, part, instance) {
                self.collect(root, part, instance, path);
            }
        }
        if let Some(condition) = schema.get("if") {
            let branch = if fits(root, condition, instance) { "then" } else { "else" };
            if let Some(part) = schema.get(branch) {
                self.collect(root, part, instance, path);
            }
        }
        let Some((first, rest)) = path.split_first() else {
            self.schemas.push(schema);
            return;
        };
        let below = match instance {
            Value::Array(items) => first.parse().ok().and_then(|at: usize| items.get(at)),
            _ => instance.get(first),
        };
        let below = below.expect("readers name places of the sample");
        let parts = if instance.is_array() {
            vec![schema.get("items")]
        } else {
            let by_pattern = schema["patternProperties"].as_object().into_iter().flatten();
            let by_name = schema["properties"].get(first);
            let others = schema.get("additionalProperties").filter(|_| by_name.is_none());
            [by_name, others].into_iter().chain(by_pattern.map(|it| Some(it.1))).collect()
        };
        for part in parts.into_iter().flatten() {
            self.collect(root, part, below, rest);
        }
    }

    /// The keys that these schemas name, and among them those that an object of this form may have.
    fn keys(&self) -> (BTreeSet<&'s str>, BTreeSet<&'s str>) {
        let rows = self.schemas.iter().filter_map(|it| it["properties"].as_object()).flatten();
        // What may only be left out, or be `null`, is named so that an editor underlines it.
        let is_closed = |it: &Value| *it == json!(false) || *it == json!({"const": null});
        let (closed, open): (Vec<_>, Vec<_>) = rows.partition(|(_, it)| is_closed(it));
        let names = |rows: Vec<(&'s String, _)>| rows.into_iter().map(|it| it.0.as_str()).collect();
        let (closed, open): (BTreeSet<&str>, BTreeSet<&str>) = (names(closed), names(open));
        (&closed | &open, &open - &closed)
    }
}

/// Whether `instance` is valid against `part`, a part of the schema `root`.
fn fits(root: &Value, part: &Value, instance: &Value) -> bool {
    let schema = json!({"$defs": root["$defs"], "allOf": [part]});
    jsonschema::draft202012::new(&schema).expect("a schema").is_valid(instance)
}

/// Compares every object that was read of a sample; tells which definitions of the schema were used.
/// A reader need not ask for the keys that are `deciding`: with one of them the form is another one.
#[track_caller]
fn compare<'s>(
    schema: &'s Value,
    sample: &Value,
    read: &[ObjectKeys],
    deciding: &[&str],
) -> BTreeSet<&'s str> {
    assert!(!read.is_empty(), "nothing was read");
    let mut used = BTreeSet::new();
    for object in read {
        let text = object.pointer.to_string();
        let path: Vec<String> = text.split('/').skip(1).map(str::to_owned).collect();
        let mut parts = Parts::default();
        parts.collect(schema, schema, sample, &path);
        let (named, open) = parts.keys();
        let not_read: Vec<_> = open
            .iter()
            .filter(|it| !object.asked.contains(*it) && !object.allowed.contains(**it))
            .filter(|it| !deciding.contains(it))
            .collect();
        let not_published: Vec<_> = object.asked.iter().filter(|it| !named.contains(*it)).collect();
        assert!(
            not_read.is_empty() && not_published.is_empty(),
            "the object at {text:?}: the schema has keys that are not read: {not_read:?}; \
             the reader asks for keys that the schema refuses: {not_published:?}"
        );
        used.extend(parts.definitions);
    }
    used
}

/// No definition with keys is left out by the samples.
#[track_caller]
fn check_all_used(schema: &Value, used: &BTreeSet<&str>) {
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        let has_keys = definition["additionalProperties"] == json!(false);
        assert!(!has_keys || used.contains(name.as_str()), "no sample has a {name}");
    }
}

/// Reads a sample as `flyto validate` reads a file of this name; tells which keys were asked for.
#[track_caller]
fn keys_of(file: &Path, sample: &Value) -> Vec<ObjectKeys> {
    fs::write(file, sample.to_string()).expect("written");
    let dir = file.parent().expect("a directory");
    let env: Environment =
        [("HOME", dir.as_os_str()), ("PATH", "/usr/bin:/bin".as_ref())].into_iter().collect();
    let surroundings = Surroundings::new(env, dir);
    let (read, keys) = recorded_keys(|| validate_path(file, &surroundings).expect("it is there"));
    assert!(read.findings.is_empty(), "{:?}", read.findings);
    keys
}

#[test]
fn manifests_of_plugins() {
    let dir = tempfile::tempdir().expect("a directory");
    let (file, program) = (dir.path().join("plugin.json"), dir.path().join("run"));
    fs::write(&program, "").expect("written");
    #[cfg(unix)]
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("changed");
    let tool = json!({
        "name": "t", "description": "d", "command": "./run",
        "limits": {"processes": 1}, "undo": {"tool": "t"}
    });
    let mut template = tool.clone();
    template["parameters"] = json!({"type": "object"});
    template["command"] = json!("true");
    let mut of_binary = template.clone();
    of_binary.as_object_mut().expect("an object").remove("command");
    let samples = [
        json!({"name": "p", "tools": [tool], "permissions": {"ask": ["p:t"], "deny": []}}),
        json!({"name": "p", "tools": [template]}),
        json!({"name": "p", "tools": [of_binary], "execution": "binary", "binary": {
            "path": "run", "lifetime": "session"
        }}),
        json!({"name": "p", "mcpServers": {"a": {"command": "true"}}}),
        json!({"name": "p", "mcpServers": {"a": {"url": "https://example.org/"}}}),
    ];
    let schema = schema::plugin();
    let mut used = BTreeSet::new();
    for sample in &samples {
        used.extend(compare(&schema, sample, &keys_of(&file, sample), &["parameters"]));
    }
    check_all_used(&schema, &used);
}

#[test]
fn definitions_of_exec_tools() {
    let dir = tempfile::tempdir().expect("a directory");
    let definition = json!({"name": "t", "description": "d", "exec": ["true"]});
    let schema = schema::exec_tool();
    let mut used = BTreeSet::new();
    for sample in [json!([definition]), definition] {
        let keys = keys_of(&dir.path().join("tools.json"), &sample);
        used.extend(compare(&schema, &sample, &keys, &[]));
    }
    check_all_used(&schema, &used);
}

#[test]
fn configurations() {
    let dir = tempfile::tempdir().expect("a directory");
    let samples = [
        json!({
            "plugins": {"enabled": true, "grants": {"p": {"limits": {"processes": 1}}}},
            "sandbox": {"plugin_tool": "mine", "profiles": {
                "mine": {"extends": "strict", "limits": {"processes": 1}}
            }}
        }),
        json!({"plugins": {"enabled": true, "ready": {"processes": 2}}, "sandbox": "workspace"}),
        json!({"permissions": {"allow": ["p:t"], "ask": ["Bash(git push)"], "deny": ["Read(~/.ssh/**)"]}}),
        json!({"audit": {"enabled": true, "fsync": "each", "on_failure": "run", "inputs": "full", "keep_days": 90},
            "evolve": {"enabled": true, "dir": "tools", "record_calls": true, "hints": true,
                "ask_client": false},
            "output_guard": "redact", "secret_rules": "rules.toml"}),
        json!({"mcpServers": {"a": {"command": "true"}}}),
        json!({"mcpServers": {"a": {"url": "https://example.org/"}}}),
    ];
    let schema = schema::config();
    let mut used = BTreeSet::new();
    for sample in &samples {
        let keys = keys_of(&dir.path().join("config.json"), sample);
        used.extend(compare(&schema, sample, &keys, &[]));
    }
    check_all_used(&schema, &used);
}
