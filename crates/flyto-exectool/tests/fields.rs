//! What is found in one definition, and what it defaults to.

mod findings;

use std::time::Duration;

use expect_test::{Expect, expect};
use findings::{all_shown, check};
use flyto_diagnostics::Source;
use flyto_execenv::Environment;
use flyto_exectool::{DEFAULT_TIMEOUT, HostContext, load, load_in_full};

#[test]
fn what_is_left_out_has_a_default() {
    let text = r#"{"name": "a", "description": "b", "exec": ["c"], "timeout_seconds": T}"#;
    for (written, timeout) in [
        ("null", DEFAULT_TIMEOUT),
        ("0", DEFAULT_TIMEOUT),
        ("-5", DEFAULT_TIMEOUT),
        ("1", Duration::from_secs(1)),
        ("9223372036854775807", Duration::from_secs(i64::MAX.unsigned_abs())),
    ] {
        let loaded = load(&Source::new("t.json", text.replace('T', written)));
        let tools = loaded.tools.expect("a good definition");
        assert_eq!(tools[0].timeout(), timeout, "{written}");
        assert_eq!(tools[0].grace(), Duration::ZERO);
        assert_eq!(tools[0].input_schema().to_string(), r#"{"type":"object","properties":{}}"#);
        assert!(tools[0].args().is_empty());
    }
}

#[test]
fn a_program_is_started_before_a_call_where_it_says_so() {
    let text = r#"{"name": "a", "description": "b", "exec": ["c"], "ready": T}"#;
    for (written, expect) in [("null", false), ("false", false), ("true", true)] {
        let loaded = load(&Source::new("t.json", text.replace('T', written)));
        assert!(loaded.findings.is_empty());
        assert_eq!(loaded.tools.expect("a good definition")[0].is_ready(), expect, "{written}");
    }
    check(
        &text.replace('T', "1"),
        expect![[r#"
        t.json:1:59: error[F0023]: "ready" must be `true` or `false`, found the number 1 (the file was read as one object)
          at: /ready
    "#]],
    );
}

#[test]
fn a_negative_time_limit_is_told() {
    check(
        r#"{"name": "a", "description": "b", "exec": ["c"], "timeout_seconds": -4}"#,
        expect![[r#"
            t.json:1:69: warning[F0208]: -4 stands for the default of 30 s (the file was read as one object)
              at: /timeout_seconds
              help: write how many seconds the tool may take, or leave it out
        "#]],
    );
}

#[test]
fn names() {
    let text = |name: &str| format!(r#"{{"name": {name}, "description": "b", "exec": ["c"]}}"#);
    check(
        &text(r#""""#),
        expect![[r#"
        t.json:1:10: error[F0202]: the name "" is empty (the file was read as one object)
          at: /name
    "#]],
    );
    check(
        &text(r#""stock  level""#),
        expect![[r#"
        t.json:1:10: error[F0202]: the name "stock  level" holds white space or a control character (the file was read as one object)
          at: /name
          help: write "stock_level"
          write: "stock_level"
    "#]],
    );
    check(
        &text(r#""shop:stock""#),
        expect![[r#"
        t.json:1:10: error[F0202]: the name "shop:stock" holds a colon, which stands between a plugin and its tool (the file was read as one object)
          at: /name
          help: write "shop_stock"
          write: "shop_stock"
    "#]],
    );
    check(
        &text(r#""shop__stock""#),
        expect![[r#"
        t.json:1:10: error[F0202]: the name "shop__stock" holds `__`, which stands between a plugin and its tool (the file was read as one object)
          at: /name
          help: write "shop_stock"
          write: "shop_stock"
    "#]],
    );
    check(
        &text(r#""a\u0007b""#),
        expect![[r#"
        t.json:1:10: error[F0202]: the name "a\u{7}b" holds white space or a control character (the file was read as one object)
          at: /name
          help: write "a_b"
          write: "a_b"
    "#]],
    );
    check(
        &text(r#"":""#),
        expect![[r#"
        t.json:1:10: error[F0202]: the name ":" holds a colon, which stands between a plugin and its tool (the file was read as one object)
          at: /name
    "#]],
    );
    check(
        &text("7"),
        expect![[r#"
        t.json:1:10: error[F0023]: "name" must be a string, found the number 7 (the file was read as one object)
          at: /name
          help: write `"7"`
          write: "7"
    "#]],
    );
    check(
        &text(&format!("{:?}", "x".repeat(257))),
        expect![[r#"
        t.json:1:10: error[F0202]: the name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" is longer than 256 bytes (the file was read as one object)
          at: /name
    "#]],
    );
    check(&text(r#""查询""#), expect![[""]]);
}

#[test]
fn commands() {
    let text = |exec: &str| format!(r#"{{"name": "a", "description": "b", "exec": {exec}}}"#);
    check(
        &text("[]"),
        expect![[r#"
            t.json:1:43: error[F0204]: the command is empty, and its first string names the program (the file was read as one object)
              at: /exec
        "#]],
    );
    check(
        &text("null"),
        expect![[r#"
        t.json:1:1: error[F0022]: the key "exec" is missing (the file was read as one object)
          at: 
          help: add `"exec": ["…"]`
    "#]],
    );
    check(
        &text(r#"["", "b"]"#),
        expect![[r#"
            t.json:1:44: error[F0204]: the command begins with an empty string, which names no program (the file was read as one object)
              at: /exec/0
        "#]],
    );
    check(
        &text(r#"["b", "c\u0000d"]"#),
        expect![[r#"
            t.json:1:49: error[F0204]: the command holds a NUL character, at which the system would cut it off (the file was read as one object)
              at: /exec/1
        "#]],
    );
    check(
        &text(&format!(r#"["b", "{}"]"#, "c".repeat(1 << 17))),
        expect![[r#"
            t.json:1:49: error[F0204]: the command is longer than 131071 bytes, the most that a program can get as one argument (the file was read as one object)
              at: /exec/1
        "#]],
    );
    check(
        &text(r#"["b", 7, null]"#),
        expect![[r#"
        t.json:1:49: error[F0023]: "exec[1]" must be a string, found the number 7 (the file was read as one object)
          at: /exec/1
          help: write `"7"`
          write: "7"
        t.json:1:52: error[F0023]: "exec[2]" must be a string, found null (the file was read as one object)
          at: /exec/2
    "#]],
    );
    check(
        &text(r#""python3 stock.py""#),
        expect![[r#"
            t.json:1:43: error[F0023]: "exec" must be an array of strings, found a string (the file was read as one object)
              at: /exec
              help: write `["python3", "stock.py"]`
              write: ["python3", "stock.py"]
        "#]],
    );
    check(
        &text(r#""who | wc -l""#),
        expect![[r#"
            t.json:1:43: error[F0023]: "exec" must be an array of strings, found a string (the file was read as one object)
              at: /exec
              help: write `["sh", "-c", "who | wc -l"]`
              write: ["sh", "-c", "who | wc -l"]
        "#]],
    );
    check(
        &text(r#"["uname -r", "-s"]"#),
        expect![[r#"
        t.json:1:44: warning[F0205]: the program "uname -r" is looked for with the blank in its name (the file was read as one object)
          at: /exec/0
          help: write each argument as a string of its own: `"uname", "-r"`
          write: "uname", "-r"
    "#]],
    );
    check(
        &text(r#"["who | wc -l"]"#),
        expect![[r#"
            t.json:1:44: warning[F0205]: the program "who | wc -l" is looked for with the blank in its name (the file was read as one object)
              at: /exec/0
              help: write each argument as a string of its own: `"sh", "-c", "who | wc -l"`
              write: "sh", "-c", "who | wc -l"
        "#]],
    );
    check(&text(r#"["/opt/my tools/run"]"#), expect![[""]]);
}

#[test]
fn schemas() {
    let text = |schema: &str| {
        format!(r#"{{"name": "a", "description": "b", "exec": ["c"], "input_schema": {schema}}}"#)
    };
    check(&text("{}"), expect![[""]]);
    check(
        &text("[]"),
        expect![[r#"
        t.json:1:66: error[F0023]: "input_schema" must be an object, found an array (the file was read as one object)
          at: /input_schema
    "#]],
    );
    check(
        &text("true"),
        expect![[r#"
        t.json:1:66: error[F0023]: "input_schema" must be an object, found true (the file was read as one object)
          at: /input_schema
    "#]],
    );
    check(
        &text(r#"{"type": "string"}"#),
        expect![[r#"
        t.json:1:75: error[F0206]: the schema has the root type "string", and a call passes in an object (the file was read as one object)
          at: /input_schema/type
    "#]],
    );
    check(
        &text(r#"{"type": ["object", "null"]}"#),
        expect![[r#"
        t.json:1:75: error[F0206]: the schema has the root type ["object","null"], and a call passes in an object (the file was read as one object)
          at: /input_schema/type
    "#]],
    );
    check(
        &text(r#"{"properties": {"x": {"type": "text"}}}"#),
        expect![[r#"
            t.json:1:96: error[F0206]: the schema cannot be used: the string "text" is no type; the types are array, boolean, integer, null, number, object and string (the file was read as one object)
              at: /input_schema/properties/x/type
              help: write JSON Schema 2020-12, or name another dialect in "$schema"
        "#]],
    );
    check(
        &text(r#"{"properties": {"x": {"$ref": "https://example.com/x.json"}}}"#),
        expect![[r#"
            t.json:1:96: error[F0206]: the schema cannot be used: https://example.com/x.json is not part of the schema, and nothing is fetched (the file was read as one object)
              at: /input_schema/properties/x/$ref
              help: refer to a place in the same schema, as `#/$defs/NAME` does
        "#]],
    );
    check(
        &text(r#"{"properties": {"x": 1, "x": 2}}"#),
        expect![[r#"
        t.json:1:90: error[F0020]: the key "x" occurs twice (the file was read as one object)
          at: /input_schema/properties/x
          help: remove all but one
          t.json:1:82: it is here first
    "#]],
    );
}

#[test]
fn keys_and_types() {
    let text =
        |rest: &str| format!(r#"{{"name": "a", "description": "b", "exec": ["c"], {rest}}}"#);
    check(
        &text(r#""timeout_secnds": 5"#),
        expect![[r#"
        t.json:1:50: warning[F0021]: unknown key "timeout_secnds" (the file was read as one object)
          at: /timeout_secnds
          help: did you mean "timeout_seconds"?
          write: "timeout_seconds"
    "#]],
    );
    check(
        &text(r#""timeout": 5"#),
        expect![[r#"
        t.json:1:50: warning[F0021]: unknown key "timeout" (the file was read as one object)
          at: /timeout
          help: did you mean "timeout_seconds"?
          write: "timeout_seconds"
    "#]],
    );
    check(
        &text(r#""env": {}"#),
        expect![[r#"
            t.json:1:50: warning[F0021]: unknown key "env" (the file was read as one object)
              at: /env
              help: the keys here are "name", "description", "input_schema", "exec", "timeout_seconds", "grace_seconds", "ready", "content"
        "#]],
    );
    check(
        &text(r#""timeout_seconds": "10""#),
        expect![[r#"
        t.json:1:69: error[F0023]: "timeout_seconds" must be a whole number, found the string "10" (the file was read as one object)
          at: /timeout_seconds
          help: write `10`
          write: 10
    "#]],
    );
    check(
        &text(r#""timeout_seconds": 2.5"#),
        expect![[r#"
        t.json:1:69: error[F0024]: "timeout_seconds" must be a whole number, found the number 2.5 (the file was read as one object)
          at: /timeout_seconds
    "#]],
    );
    check(
        &text(r#""grace_seconds": -1"#),
        expect![[r#"
        t.json:1:67: error[F0024]: "grace_seconds" must be a whole number that is not negative, found the number -1 (the file was read as one object)
          at: /grace_seconds
    "#]],
    );
    check(
        &text(r#""name": "d""#),
        expect![[r#"
        t.json:1:50: error[F0020]: the key "name" occurs twice (the file was read as one object)
          at: /name
          help: remove all but one
          t.json:1:2: it is here first
    "#]],
    );
    check(
        r#"{"name": "a", "exec": ["c"]}"#,
        expect![[r#"
        t.json:1:1: warning[F0207]: the tool has no description, and a model chooses tools by theirs (the file was read as one object)
          at: 
          help: say what the tool does and what it returns
    "#]],
    );
    check(
        r#"{"name": "a", "description": " ", "exec": ["c"]}"#,
        expect![[r#"
        t.json:1:30: warning[F0207]: the tool has no description, and a model chooses tools by theirs (the file was read as one object)
          at: /description
          help: say what the tool does and what it returns
    "#]],
    );
    check(
        r#"{"name": "a", "description": "b", "command": ["c"]}"#,
        expect![[r#"
        t.json:1:1: error[F0022]: the key "exec" is missing (the file was read as one object)
          at: 
          help: add `"exec": ["…"]`
        t.json:1:35: warning[F0021]: unknown key "command" (the file was read as one object)
          at: /command
          help: did you mean "exec"?
          write: "exec"
    "#]],
    );
}

/// The one definition of a file, on a system that takes so many bytes and whose programs see `V` and `PATH`.
#[track_caller]
fn check_in_full(
    n_bytes: usize,
    variable: usize,
    max_bytes: impl Into<Option<u64>>,
    expect: &Expect,
) {
    let word = "x".repeat(n_bytes);
    let text = format!(
        "[{{\"name\": \"a\", \"description\": \"b\",\n \"exec\": [\"/bin/c\", \"-l\", \"{word}\"]}}]"
    );
    let env = Environment::from_iter([("V", "v".repeat(variable)), ("PATH", "/bin".to_owned())]);
    let host = HostContext::new(env, "/");
    let source = Source::new("t.json", text);
    assert!(load(&source).findings.is_empty());
    let loaded = load_in_full(&source, &host, max_bytes.into());
    assert_eq!(loaded.tools.map(|it| it.len()), Some(1));
    expect.assert_eq(&all_shown(loaded.findings));
}

#[test]
fn a_command_that_no_start_takes_is_told_to_an_author_who_asks() {
    // `/bin/c` twice, `-l`, the argument; `V=v…` and `PATH=/bin`: a NUL and a pointer for each.
    let all = 7 + 15 + 11 + 100_009 + 50_011 + 18;
    check_in_full(100_000, 50_000, all, &expect![""]);
    check_in_full(
        100_000,
        50_000,
        all - 1,
        &expect![[r#"
        t.json:2:10: warning[F0024]: arguments of 100042 bytes and variables of 50029 are 1 bytes more than the 150070 that the system takes together; shorten the arguments, or raise the limit of the stack (`ulimit -s`), of which they get a quarter, at most 6 MiB (item [0] of the file read as an array)
          at: /0/exec
          help: hand large values over in a file that the program reads
    "#]],
    );
    // The larger part is to blame.
    check_in_full(
        50_000,
        100_000,
        all - 1,
        &expect![[r#"
        t.json:2:10: warning[F0024]: arguments of 50042 bytes and variables of 100029 are 1 bytes more than the 150070 that the system takes together; shorten the variables, or raise the limit of the stack (`ulimit -s`), of which they get a quarter, at most 6 MiB (item [0] of the file read as an array)
          at: /0/exec
          help: the program sees all variables of the host: start it with fewer
    "#]],
    );
    check_in_full(
        0,
        131_070,
        None,
        &expect![[r#"
        t.json:2:10: warning[F0024]: the variable V has 131072 bytes with its name, and 131071 are the most; hand its value over in a file (item [0] of the file read as an array)
          at: /0/exec
          help: the program sees all variables of the host: start it with fewer
    "#]],
    );
    check_in_full(100_000, 100_000, None, &expect![""]);
}
