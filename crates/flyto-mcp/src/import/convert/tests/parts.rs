//! What becomes of each part of a declaration.

use super::*;

/// A part of a declaration that is not used is told, or the server is refused.
#[test]
fn nothing_is_dropped_without_a_word() {
    for (declared, expect) in [
        (
            json!({"command": "x", "args": "y"}),
            expect![[r#"
            "args" is not a list
        "#]],
        ),
        (
            json!({"command": "x", "env": []}),
            expect![[r#"
            "env" is not an object
        "#]],
        ),
        (
            json!({"command": "x", "env_vars": "A"}),
            expect![[r#"
            "env_vars" is not a list
        "#]],
        ),
        (
            json!({"command": "x", "env": {"A": "1"}, "env_vars": ["A"]}),
            expect![[r#"
            it has the variable A twice
        "#]],
        ),
        (
            json!({"command": "x", "env_vars": [{"name": "A", "source": "local"}, {"name": "B", "source": "remote"}], "cwd": "/"}),
            expect![[r#"
                {"command":"x","env":{"A":"${A}","B":"${B}"},"cwd":"/"}
                left out: source of B in "env_vars"
            "#]],
        ),
        (
            json!({"command": "x", "disabled": "yes"}),
            expect![[r#"
            "disabled" is not true or false
        "#]],
        ),
        (
            json!({"command": "x", "enabled": 0}),
            expect![[r#"
            "enabled" is not true or false
        "#]],
        ),
        (
            json!({"command": "x", "timeout": "5"}),
            expect![[r#"
            "timeout" is not a number
        "#]],
        ),
        (
            json!({"command": "x", "includeTools": "a"}),
            expect![[r#"
            "includeTools" is not a list
        "#]],
        ),
        (
            json!({"command": "x", "excludeTools": [1]}),
            expect![[r#"
            a name in "excludeTools" is no text
        "#]],
        ),
        (
            json!({"command": "x", "type": "zzz"}),
            expect![[r#"
            its type "zzz" is not known
        "#]],
        ),
        (
            json!({"command": "x", "type": 1}),
            expect![[r#"
            "type" is no text
        "#]],
        ),
        (
            json!({"command": "x", "type": "http"}),
            expect![[r#"
            it is of the type "http", and has no address
        "#]],
        ),
        (
            json!({"url": "http://h/", "type": "stdio"}),
            expect![[r#"
            it is of the type "stdio", and has no command
        "#]],
        ),
        (
            json!({"command": "x", "url": "http://h/"}),
            expect![[r#"
            it has both a command and an address, and no "type" that tells which one counts
        "#]],
        ),
        (
            json!({"url": "http://h/", "headers": "A: b"}),
            expect![[r#"
            "headers" is not an object
        "#]],
        ),
        (
            json!({"url": "http://h/", "headers": {"A": "b"}, "http_headers": {"A": "c"}}),
            expect![[r#"
                it has the header A twice
            "#]],
        ),
        (
            json!({"url": "http://h/", "headers": {"Authorization": "b"}, "bearer_token_env_var": "T"}),
            expect![[r#"
                it has the header Authorization twice
            "#]],
        ),
        (
            json!({"command": "x", "timeout": -5, "cwd": "/"}),
            expect![[r#"
            {"command":"x","cwd":"/"}
            left out: timeout
        "#]],
        ),
        (
            json!({"command": "x", "timeout": 1e12, "cwd": "/"}),
            expect![[r#"
            {"command":"x","cwd":"/","timeout_seconds":604800}
            a call may take 604800 s at most here
        "#]],
        ),
        (
            json!({"command": "x", "timeout": 5, "tool_timeout_sec": 5, "startup_timeout_sec": 5, "cwd": "/"}),
            expect![[r#"
                {"command":"x","cwd":"/","timeout_seconds":5}
                left out: timeout, startup_timeout_sec
            "#]],
        ),
        (
            json!({"command": "x", "type": "stdio", "url": "http://h/", "headers": {"A": "b"}, "cwd": "/"}),
            expect![[r#"
                {"command":"x","cwd":"/"}
                left out: url, headers
            "#]],
        ),
        (
            json!({"command": "x", "type": "http", "url": "http://h/", "httpUrl": "http://g/", "env": {"A": "b"}}),
            expect![[r#"
                {"url":"http://g/"}
                left out: command, url, env
            "#]],
        ),
        (
            json!({"command": "x", "includeTools": [], "cwd": "/"}),
            expect![[r#"
            {"command":"x","cwd":"/"}
            the client offers no tool, and here all tools are offered; a rule "deny" keeps one from being called
        "#]],
        ),
        (
            json!({"command": "x", "args": null, "env": null, "url": null, "type": null, "timeout": null, "a": null, "cwd": "/"}),
            expect![[r#"
                {"command":"x","cwd":"/"}
            "#]],
        ),
    ] {
        check(Variables::Braced, declared, expect);
    }
}

#[test]
fn another_name_is_told() {
    let name = "a\u{1b}[1m b".to_owned();
    let declared = json!({"command": "x"});
    let made = ClientServer { name, ..server(Variables::None, declared, None) }.convert().unwrap();
    assert_eq!(made.notes[0].to_string(), r#"its name in the file is "a\u{1b}[1m b""#);
}
