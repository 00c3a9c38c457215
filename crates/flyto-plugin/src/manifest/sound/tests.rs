//! What the short reading takes, and that the whole one gives the same of it.

use std::{fs, ops::Range, path::Path, sync::LazyLock};

use flyto_diagnostics::Source;
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{super::Seen, *};
use crate::LoadOptions;

/// Whether the short reading takes a manifest. Where it does, both readings have agreed.
#[track_caller]
fn is_short(text: &str, dir: &Path) -> bool {
    let source = Source::new("plugin.json", text);
    let (options, seen) = (LoadOptions::new().path("/bin:/usr/bin"), Seen::default());
    agrees(&source, Place::new(dir, &options, &seen))
}

/// A plugin with a program, `./run.sh`.
fn dir() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/plugins/checksum"))
}

/// A manifest with every key that the short reading knows.
const WHOLE: &str = r#"{
  "$schema": "https://a.example/plugin", "name": "p1", "version": "1.0", "description": "d", "author": "a \"b\"",
  "tools": [
    {
      "name": "argv-1", "title": "T", "description": "Says\nit.", "search_hint": "h",
      "input_schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "t", "properties": {
          "a": { "type": "string", "pattern": "^/[a-z]+$", "minLength": 1, "enum": ["x", { "y": [1, null] }] },
          "b": { "type": ["integer", "null"], "multipleOf": 0.5, "minimum": -1, "default": 1.5 },
          "c": { "type": "array", "items": { "type": "number" }, "uniqueItems": true, "x-other": { "k": {} } },
          "d": { "anyOf": [true, { "required": ["e", "f"] }], "properties": { "e": false } }
        },
        "required": ["a"], "additionalProperties": false
      },
      "output_schema": { "type": "object" },
      "command": "./run.sh", "args": ["{a}", "\u0065"], "env": { "A": "${HOME:-x}/$B$$", "C": "" },
      "work_dir": ".", "timeout_seconds": 5, "grace_seconds": 0, "stream": true, "ready": true, "permission_class": "file",
      "audit_operation": "read", "concurrency_safe": true, "read_only": true, "destructive": false, "idempotent": true,
      "open_world": false, "requires_checkpoint": false, "requires_reverse_thinking": true, "version": "2"
    },
    { "name": "bare", "description": "d", "command": "ls", "category": "messaging", "requires_checkpoint": false },
    {
      "name": "template_1", "description": "d", "command": "git -C {{path}} log -n {{count}} \"--author={{path}}\"",
      "parameters": {
        "type": "object", "required": ["path"],
        "properties": { "path": { "type": "string" }, "count": { "type": "integer", "default": 10 } }
      },
      "working_dir": "/", "timeout_secs": 20, "ready": false, "category": "filesystem_read"
    },
    { "name": "whole_path", "description": "d", "command": "/bin/ls -- {{x}}", "parameters":
      { "type": "object", "properties": { "x": {} } }, "work_dir": null }
  ]
}"#;

/// The same, without a key that is there in vain.
static SOUND: LazyLock<String> = LazyLock::new(|| WHOLE.replace(r#", "work_dir": null"#, ""));

#[test]
fn a_manifest_with_every_key_is_read_shortly() {
    assert!(is_short(&SOUND, dir()));
    assert!(!is_short(WHOLE, dir()), "null is for the whole reading");
}

#[test]
fn the_samples_are_read_the_same() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut n_short = 0;
    let mut dirs = ["plugins", "bad/plugin", "hostile"].map(|it| fixtures.join(it)).to_vec();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("the samples are there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.file_name().is_some_and(|it| it == "plugin.json") {
                let bytes = fs::read(&path).expect("it can be read");
                n_short += usize::from(is_short(&String::from_utf8_lossy(&bytes), &dir));
            }
        }
    }
    assert!(n_short >= 9, "{n_short} samples");
}

/// What is left to the whole reading: pairs of a text in the manifest and one in its place.
const OTHERS: &[(&str, &str)] = &[
    (r#""name": "p1""#, r#""name": "p1", "name": "p1""#),
    (r#""name": "p1""#, r#""name": "p_1""#),
    (r#""name": "bare""#, r#""name": "argv-1""#),
    (r#""name": "bare""#, r#""name": "bare", "aliases": ["b"]"#),
    (r#""name": "template_1""#, r#""name": "template-1""#),
    (r#""version": "1.0""#, r#""version": " ""#),
    (r#""author":"#, r#""authors":"#),
    (r#""description": "d", "command": "ls""#, r#""command": "ls""#),
    (r#""title": "T""#, r#""title": "T", "title": "T""#),
    (r#""type": "object", "title""#, r#""title""#),
    (r#""type": "object", "title""#, r#""type": "string", "title""#),
    (r#""pattern": "^/[a-z]+$""#, r#""pattern": "(?=a)""#),
    (r#""k": {}"#, r#""k": {}, "k": {}"#),
    (r#""minLength": 1"#, r#""minLength": 1.5"#),
    (r#""multipleOf": 0.5"#, r#""multipleOf": 0"#),
    (r#""required": ["e", "f"]"#, r#""required": ["e", "e"]"#),
    (r#""anyOf": [true"#, r#""$ref": "/d", "anyOf": [true"#),
    (r#""required": ["path"]"#, r#""required": ["path", "count"]"#),
    (r#""command": "./run.sh""#, r#""command": "./other.sh""#),
    (r#""command": "./run.sh""#, r#""command": "run.sh""#),
    (r#""command": "ls""#, r#""command": "ls -l""#),
    (r#""command": "ls""#, r#""command": "l\u0000s""#),
    (r#"["{a}""#, r#"["{{a}}""#),
    (r#""C": """#, r#""A": """#),
    (r#""C": """#, r#""PLUGIN_ROOT": """#),
    (r#"/$B$$"#, "/${B"),
    (r#""work_dir": ".""#, r#""work_dir": "other""#),
    (r#""timeout_seconds": 5"#, r#""timeout_secs": 5"#),
    (r#""timeout_seconds": 5"#, r#""timeout_seconds": 0"#),
    (r#""ready": false"#, r#""ready": true"#),
    (r#""permission_class": "file""#, r#""permission_class": "files""#),
    (r#""category": "messaging""#, r#""category": "message""#),
    ("-n {{count}}", ""),
    ("-n {{count}}", "-n {{ count }}"),
    ("-n {{count}}", "-n {{count}} {{other}}"),
    ("/bin/ls --", "/bin/other --"),
    ("/bin/ls -- {{x}}", "{{x}}"),
];

#[test]
fn what_is_not_plainly_in_order_is_left_to_the_whole_reading() {
    for (old, new) in OTHERS {
        assert!(SOUND.contains(old), "{old}");
        assert!(!is_short(&SOUND.replacen(old, new, 1), dir()), "{old} -> {new}");
    }
    assert!(!is_short(&format!("{} {{}}", *SOUND), dir()));
    assert!(!is_short(r#"{"name": "p", "tools": []}"#, dir()));
    assert!(!is_short(
        r#"{"tools": [{"name": "t", "description": "d", "command": "ls"}], "name": "p"}"#,
        dir()
    ));
    // A schema may be as deep as a text.
    for (depth, is_deep) in [(100, false), (200, true)] {
        let deep = format!("\"k\": {}{{}}{}", "{\"k\":".repeat(depth), "}".repeat(depth));
        assert_ne!(is_short(&SOUND.replacen("\"k\": {}", &deep, 1), dir()), is_deep);
        let deep = format!("{}{{}}{}", "{\"not\":".repeat(depth), "}".repeat(depth));
        assert_ne!(is_short(&SOUND.replacen("[true", &format!("[{deep}"), 1), dir()), is_deep);
    }
    // Files beside the manifest count, and so does the depth.
    let other = tempfile::tempdir().expect("a directory");
    let text = r#"{"name": "p", "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#;
    assert!(is_short(text, other.path()));
    let source = Source::new("plugin.json", text);
    let (options, seen) = (LoadOptions::new().depth(Depth::Full), Seen::default());
    assert!(read(&source, Place::new(other.path(), &options, &seen), |_| true).is_none());
    let (options, passes) = (LoadOptions::new(), |name: &str| name != "p");
    assert!(read(&source, Place::new(other.path(), &options, &seen), passes).is_none());
    fs::write(other.path().join(".mcp.json"), "{}").expect("it can be written");
    assert!(!is_short(text, other.path()));
}

/// Where the strings, words, numbers and signs of a text are.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut res = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-+.".contains(c);
        let n_bytes = match first {
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |it| it + 2)
            }
            c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let start = text.len() - rest.len();
        res.push(start..start + n_bytes);
        rest = rest[n_bytes..].trim_start();
    }
    res
}

/// Tokens that are not in the manifest.
const NEW: &str = r##"
null 0 -1 1e3 2.5 1e999 300000000 "" " " "ä" "\u0000" "~/x" "${" "$A" "{{x}}" "{{path}} {{count}}" "a b" "./run.sh" "aliases"
"limits" "undo" "sha256" "permissions" "execution" "mcpServers" "$ref" "#/properties" "$defs" "not" "const" "allOf" "deny"
"dependencies" "patternProperties" "parameters" "input_schema" "boolean" "strin"
"##;

/// One token in the place of another, or behind it, from the list or from the manifest.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<Index>(), any::<Index>(), any::<bool>(), 0..8);
    vec(change, 1..4).prop_map(|changes| {
        let mut text = SOUND.clone();
        for (at, from, is_new, how) in changes {
            let places = tokens(&text);
            let mut place = at.get(&places).clone();
            let other = if is_new { NEW } else { &text };
            let token = other[from.get(&tokens(other)).clone()].to_owned();
            match how {
                0 => place.start = place.end,
                // A string is mostly changed for a string.
                1..6 if text[place.clone()].starts_with('"') != token.starts_with('"') => continue,
                _ => {}
            }
            text.replace_range(place, &token);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn both_readings_agree_on_mutated_manifests(text in mutated()) {
        is_short(&text, dir());
    }
}
