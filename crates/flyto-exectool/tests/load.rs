//! How a file is read as a whole.

mod findings;

use std::{fs, path::Path, time::Duration};

use expect_test::{Expect, expect};
use findings::{all_shown, check};
use flyto_diagnostics::{MAX_ENTRIES, Severity, Source};
use flyto_exectool::{load, load_file};

#[test]
fn both_forms_are_read_whole() {
    let full = r#"{"$schema": "exec-tool.json", "name": "stock", "description": "Counts.",
        "input_schema": {"type": "object", "required": ["b", "a"]},
        "exec": ["./stock", "", "ü"], "timeout_seconds": 10, "grace_seconds": 2}"#;
    for text in [full.to_owned(), format!("[{full}]")] {
        let loaded = load(&Source::new("t.json", text));
        assert!(loaded.findings.is_empty());
        let tools = loaded.tools.expect("no findings");
        let [def] = tools.as_slice() else { panic!("{tools:?}") };
        assert_eq!((def.name(), def.description()), ("stock", "Counts."));
        assert_eq!(def.input_schema().to_string(), r#"{"type":"object","required":["b","a"]}"#);
        assert_eq!(def.program(), "./stock");
        assert_eq!(def.args(), ["", "ü"]);
        assert_eq!(def.timeout(), Duration::from_secs(10));
        assert_eq!(def.grace(), Duration::from_secs(2));
        assert_eq!(def.file(), Some("t.json"));
    }
}

#[test]
fn an_empty_array_is_a_file_without_tools() {
    let loaded = load(&Source::new("t.json", " [ ]\n"));
    assert_eq!(loaded.tools, Some(Vec::new()));
    assert!(loaded.findings.is_empty());
}

#[test]
fn a_file_without_a_definition() {
    check(
        "",
        expect![[r#"
        t.json:1:1: error[F0004]: the file is empty
          help: a JSON document is a value, such as `{}`
    "#]],
    );
    check(
        " \n\t",
        expect![[r#"
        t.json:1:1: error[F0004]: the file is blank
          help: a JSON document is a value, such as `{}`
    "#]],
    );
    check(
        "42",
        expect![[r#"
        t.json:1:1: error[F0201]: the file must hold one definition or an array of definitions, found the number 42
          at: 
    "#]],
    );
    check(
        "null",
        expect![[r#"
        t.json:1:1: error[F0201]: the file must hold one definition or an array of definitions, found null
          at: 
    "#]],
    );
    check(
        r#"["uname -r", [], null]"#,
        expect![[r#"
            t.json:1:2: error[F0201]: a definition must be an object, found the string "uname -r" (item [0] of the file read as an array)
              at: /0
            t.json:1:14: error[F0201]: a definition must be an object, found an array (item [1] of the file read as an array)
              at: /1
            t.json:1:18: error[F0201]: a definition must be an object, found null (item [2] of the file read as an array)
              at: /2
        "#]],
    );
    check(
        r#"{"tools": [{"name": "a", "exec": ["b"]}]}"#,
        expect![[r#"
        t.json:1:11: error[F0201]: the definitions are within the key "tools" (the file was read as one object)
          at: /tools
          help: make the array the whole file, without an object around it
          write: [{"name": "a", "exec": ["b"]}]
    "#]],
    );
    check(
        r#"{}"#,
        expect![[r#"
        t.json:1:1: error[F0022]: the key "name" is missing (the file was read as one object)
          at: 
          help: add `"name": "…"`
        t.json:1:1: warning[F0207]: the tool has no description, and a model chooses tools by theirs (the file was read as one object)
          at: 
          help: say what the tool does and what it returns
        t.json:1:1: error[F0022]: the key "exec" is missing (the file was read as one object)
          at: 
          help: add `"exec": ["…"]`
    "#]],
    );
}

#[test]
fn broken_json_says_how_the_file_was_read() {
    check(
        r#"{"name": "a", "exec": ["b"],}"#,
        expect![[r#"
        t.json:1:28: error[F0007]: a comma behind the last member of an object (the file was read as one object)
          help: remove the comma
          write: 
    "#]],
    );
    check(
        r#"[{"name": "a", "exec": ["b"]}"#,
        expect![[r#"
        t.json:1:30: error[F0012]: the text ends inside an array (the file was read as an array)
          help: close the array with `]`
          write: ]
          t.json:1:1: the array begins here
    "#]],
    );
    check(
        "{\"name\": \"a\"}\n{\"name\": \"b\"}",
        expect![[r#"
        t.json:2:1: error[F0013]: expected the end of the file, found `{` (the file was read as one object)
          help: a file holds one JSON value; put several into an array, as in `[…, …]`
          t.json:1:13: the document ends here
    "#]],
    );
    check(
        "\u{feff}[]",
        expect![[r#"
        t.json:1:1: error[F0003]: the text begins with a byte order mark (the file was read as an array)
          help: save the file as UTF-8 without a byte order mark (BOM)
          write: 
    "#]],
    );
    check(
        "name: a",
        expect![[r#"
        t.json:1:1: error[F0008]: the string "name" has no double quotes
          help: put strings between double quotes
          write: "name"
    "#]],
    );
}

#[test]
fn one_name_belongs_to_one_definition() {
    check(
        r#"[
  {"name": "a", "description": "b", "exec": ["c"]},
  {"name": "a", "description": "b", "exec": []},
  {"name": "b", "description": "b", "exec": ["c"]},
  {"name": "\u0061", "description": "b", "exec": ["c"]}
]"#,
        expect![[r#"
            t.json:3:12: error[F0203]: the name "a" is taken by item [0] (item [1] of the file read as an array)
              at: /1/name
              help: give one of them another name, or remove it
              t.json:2:12: the name is here first
            t.json:3:45: error[F0204]: the command is empty, and its first string names the program (item [1] of the file read as an array)
              at: /1/exec
            t.json:5:12: error[F0203]: the name "a" is taken by item [0] (item [3] of the file read as an array)
              at: /3/name
              help: give one of them another name, or remove it
              t.json:2:12: the name is here first
        "#]],
    );
}

#[test]
fn one_bad_definition_refuses_the_file_and_every_fault_is_told() {
    check(
        r#"[
  {"name": "good", "description": "b", "exec": ["c"]},
  {"name": "no exec", "description": "b"},
  {"name": "late", "description": "b", "exec": ["c"], "timeout_seconds": true, "tags": []}
]"#,
        expect![[r#"
            t.json:3:3: error[F0022]: the key "exec" is missing (item [1] of the file read as an array)
              at: /1
              help: add `"exec": ["…"]`
            t.json:3:12: error[F0202]: the name "no exec" holds white space or a control character (item [1] of the file read as an array)
              at: /1/name
              help: write "no_exec"
              write: "no_exec"
            t.json:4:74: error[F0023]: "timeout_seconds" must be a whole number, found true (item [2] of the file read as an array)
              at: /2/timeout_seconds
            t.json:4:80: warning[F0021]: unknown key "tags" (item [2] of the file read as an array)
              at: /2/tags
              help: the keys here are "name", "description", "input_schema", "exec", "timeout_seconds", "grace_seconds", "ready", "content"
        "#]],
    );
}

#[test]
fn warnings_refuse_nothing() {
    let loaded = load(&Source::new("t.json", r#"{"name": "a", "exec": ["c"], "tags": []}"#));
    assert_eq!(loaded.findings.count(Severity::Warning), 2);
    assert_eq!(loaded.tools.map(|it| it.len()), Some(1));
}

/// Findings about a file in `dir`, whose path is left out.
#[track_caller]
fn check_file(dir: &Path, name: &str, expect: Expect) {
    let loaded = load_file(dir.join(name));
    assert!(loaded.tools.is_none());
    let prefix = format!("{}/", dir.display());
    expect.assert_eq(&all_shown(loaded.findings).replace(&prefix, ""));
}

#[test]
fn what_is_no_file_is_not_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    check_file(
        path,
        "missing.json",
        expect![[r#"
            missing.json: error[F0001]: the file cannot be read: there is no such file
        "#]],
    );
    fs::create_dir(path.join("dir.json")).expect("created");
    check_file(
        path,
        "dir.json",
        expect![[r#"
        dir.json: error[F0001]: the file cannot be read: it is a directory
    "#]],
    );
    fs::write(path.join("latin1.json"), b"[\"\xe4\"]").expect("written");
    check_file(
        path,
        "latin1.json",
        expect![[r#"
        latin1.json:1:3: error[F0002]: byte 0xE4 is not UTF-8
          help: save the file as UTF-8
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_its_own_name_is_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("real"), r#"[{"name": "a", "description": "b", "exec": ["c"]}]"#)
        .expect("written");
    let link = dir.path().join("tools.json");
    std::os::unix::fs::symlink("real", &link).expect("linked");
    let tools = load_file(&link).tools.expect("a good file");
    assert_eq!(tools[0].file(), link.to_str());
}

#[test]
fn the_schemas_of_a_file_are_compiled_within_a_bound() {
    let tool = |n: usize, pattern: &str| {
        let property = serde_json::json!({"pattern": pattern});
        serde_json::json!({"name": format!("t{n}"), "description": "Waits.", "exec": ["true"],
            "input_schema": {"type": "object", "properties": {"x": property}}})
    };
    let large = "[a-z]{900}x";
    let read =
        |defs: Vec<_>| load(&Source::new("t.json", serde_json::Value::from(defs).to_string()));
    assert_eq!(read(vec![tool(0, large), tool(1, "(")]).tools, None, "a bad pattern is found");
    let many = (0..2_000).map(|n| tool(n, large)).chain([tool(2_000, &format!("{large}("))]);
    // The call of the last one says what is wrong with its schema.
    let loaded = read(many.collect());
    assert_eq!(all_shown(loaded.findings), "");
    assert_eq!(loaded.tools.expect("nothing was found").len(), 2_001);
}

/// What is made of a definition takes many times its bytes.
#[test]
fn a_file_has_so_many_definitions_at_most() {
    let file = |n: usize| {
        let items: Vec<_> = (0..n)
            .map(|it| format!("{{\"name\": \"t{it}\", \"description\": \"d\", \"exec\": [\"a\"]}}"))
            .collect();
        load(&Source::new("t.json", format!("[{}]", items.join(",\n"))))
    };
    assert_eq!(file(MAX_ENTRIES).tools.map(|it| it.len()), Some(MAX_ENTRIES));
    let loaded = file(50_000);
    assert_eq!(loaded.tools, None);
    let shown: Vec<_> = loaded.findings.iter().map(ToString::to_string).collect();
    expect!["t.json:10001:1: error[F0014]: there are 50000 entries, and 10000 are the most"]
        .assert_eq(&shown.join("\n"));
}
