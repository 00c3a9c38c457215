//! What holds for any text.

use std::sync::LazyLock;

use flyto_diagnostics::{Severity, Source};
use flyto_plugin::{Depth, LoadOptions, check_plugin_name, check_tool_name, load_source, schema};
use jsonschema::Validator;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// Values of every type, among them many that are right somewhere.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0i64..100).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec![
            "", " ", "t", "u", "./x", "a b", "{{t}}", "$A", "${A:-b}", "${", "object", "binary",
            "jsonrpc", "x\u{0}",
        ])
        .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let keys =
            select(vec!["type", "properties", "required", "$ref", "A", "tool", "env", "path"]);
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((keys, inner), 0..3).prop_map(object),
        ]
    })
}

fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

/// A tool that is in order but for a few members.
fn tool() -> impl Strategy<Value = Value> {
    let keys = select(vec![
        "name",
        "description",
        "command",
        "args",
        "env",
        "work_dir",
        "working_dir",
        "timeout_seconds",
        "timeout_secs",
        "grace_seconds",
        "stream",
        "content",
        "ready",
        "limits",
        "sha256",
        "undo",
        "input_schema",
        "output_schema",
        "parameters",
        "permission_class",
        "aliases",
        "read_only",
        "version",
        "title",
        "oops",
    ]);
    vec((keys, value()), 0..3).prop_map(|members| {
        let mut res = json!({"name": "t", "description": "d", "command": "ls"});
        for (key, value) in members {
            res[key] = value;
        }
        res
    })
}

fn manifest() -> impl Strategy<Value = Value> {
    let keys = select(vec![
        "name",
        "version",
        "description",
        "author",
        "tools",
        "execution",
        "binary",
        "mcpServers",
        "oops",
    ]);
    (vec(tool(), 0..3), vec((keys, value()), 0..2)).prop_map(|(tools, members)| {
        let mut res = json!({"name": "p", "tools": tools});
        for (key, value) in members {
            res[key] = value;
        }
        res
    })
}

/// The manifest without what counts as left out under every spelling.
fn without_nulls(manifest: &Value) -> Value {
    let mut res = manifest.clone();
    let kept = |object: &mut Map<String, Value>| object.retain(|_, value| !value.is_null());
    res.as_object_mut().map(kept);
    for tool in res["tools"].as_array_mut().into_iter().flatten() {
        tool.as_object_mut().map(kept);
    }
    res
}

proptest! {
    #[test]
    fn whatever_is_written_is_loaded_or_explained(manifest in manifest()) {
        static SCHEMA: LazyLock<Validator> =
            LazyLock::new(|| jsonschema::draft202012::new(&schema::plugin()).expect("valid"));
        for depth in [Depth::Quick, Depth::Full] {
            let source = Source::new("p", manifest.to_string());
            let options = LoadOptions::new().depth(depth);
            let loaded = load_source(&source, "/no/such/directory", &options);

            let n_tools = manifest["tools"].as_array().map_or(0, Vec::len);
            match &loaded.plugin {
                Some(plugin) => {
                    prop_assert_eq!(check_plugin_name(plugin.name()), Ok(()));
                    prop_assert_eq!(plugin.tools().len() + plugin.refused().len(), n_tools);
                    for tool in plugin.tools() {
                        prop_assert_eq!(check_tool_name(&tool.name), Ok(()));
                        prop_assert!(!tool.timeout.is_zero());
                    }
                    // What is left out has a reason.
                    prop_assert!(plugin.refused().is_empty() || loaded.findings.has_errors());
                }
                None => prop_assert!(loaded.findings.has_errors()),
            }
            for finding in &loaded.findings {
                let span = finding.location.span().expect("it is about the text");
                prop_assert!(source.slice(span).is_some());
            }
            if loaded.findings.iter().all(|it| it.severity == Severity::Note) {
                let manifest = without_nulls(&manifest);
                prop_assert!(SCHEMA.is_valid(&manifest), "loads, and the schema refuses it");
            }
        }
    }
}
