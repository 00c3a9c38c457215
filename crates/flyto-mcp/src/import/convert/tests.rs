//! What becomes of servers.

use expect_test::{Expect, expect};

use super::*;

mod parts; // of declarations, which are used or told

fn server(variables: Variables, declared: Value, dir: Option<&str>) -> ClientServer {
    ClientServer { name: "s".to_owned(), declared, variables, dir: dir.map(Into::into) }
}

#[track_caller]
fn check(variables: Variables, declared: Value, expect: Expect) {
    let shown = match server(variables, declared, Some("/p")).convert() {
        Ok(ImportedServer { declaration, notes }) => {
            format!(
                "{declaration}\n{}",
                notes.iter().map(|it| format!("{it}\n")).collect::<String>()
            )
        }
        Err(why) => format!("{why}\n"),
    };
    expect.assert_eq(&shown);
}

#[test]
fn a_secret_beside_a_reference_is_left_out() {
    let token = GITHUB;
    check(
        Variables::Braced,
        json!({"command": "x", "args": ["--token", "${T:-abc}", format!("a=${{B:-{token}}}")], "cwd": "/",
               "env": {"API_TOKEN": format!("${{API_TOKEN:-{token}}}"), "FOO": format!("${{FOO:-{token}}}"),
                       "A_KEY": "${UNSET}SECRET", "B_TOKEN": "${B_TOKEN}", "AUTHORIZATION": "Bearer ${T}", "C": "${C:-plain}"}}),
        expect![[r#"
            {"command":"x","args":["--token","${S_TOKEN}","a=${B}"],"env":{"API_TOKEN":"${API_TOKEN}","FOO":"${FOO}","A_KEY":"${A_KEY}","B_TOKEN":"${B_TOKEN}","AUTHORIZATION":"Bearer ${T}","C":"${C:-plain}"},"cwd":"/"}
            a secret is not copied; set the variable S_TOKEN
            a secret is not copied; set the variable B
            a secret is not copied; set the variable API_TOKEN
            a secret is not copied; set the variable FOO
            a secret is not copied; set the variable A_KEY
        "#]],
    );
}

/// A token of GitHub, of the form that it has.
const GITHUB: &str = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");

/// A token of no known form.
const OPAQUE: &str = concat!("q7RkX2mZ", "v9TbN4sLw8Yc");

#[test]
fn each_secret_has_a_variable_of_its_own() {
    let (other, third) = (GITHUB.replace('7', "8"), GITHUB.replace('7', "9"));
    check(
        Variables::Braced,
        json!({"command": "x", "cwd": "/",
               "args": ["postgres://u:secretpw@h/db", GITHUB, other, GITHUB, "--token", "pw", "--token=pw", "--token", "pw2"],
               "env": {"MY_KEY": "pw", "ID": "${input:my-key} ${input:my.key} ${input:my-key}", "S_ARGUMENT_4": third}}),
        expect![[r#"
            {"command":"x","args":["${S_ARGUMENT}","${S_ARGUMENT_2}","${S_ARGUMENT_3}","${S_ARGUMENT_2}","--token","${S_TOKEN}","--token=${S_TOKEN}","--token","${S_TOKEN_2}"],"env":{"MY_KEY":"${MY_KEY}","ID":"${MY_KEY_2} ${MY_KEY_3} ${MY_KEY_2}","S_ARGUMENT_4":"${S_ARGUMENT_4}"},"cwd":"/"}
            a secret is not copied; set the variable S_ARGUMENT
            a secret is not copied; set the variable S_ARGUMENT_2
            a secret is not copied; set the variable S_ARGUMENT_3
            a secret is not copied; set the variable S_TOKEN
            a secret is not copied; set the variable S_TOKEN_2
            a secret is not copied; set the variable MY_KEY
            the client asks for my-key; set the variable MY_KEY_2
            the client asks for my.key; set the variable MY_KEY_3
            a secret is not copied; set the variable S_ARGUMENT_4
        "#]],
    );
    // The declaration refers to a variable of this name, which is not to become this secret.
    check(
        Variables::Braced,
        json!({"command": "x", "cwd": "/", "args": [GITHUB, "${S_ARGUMENT}"], "env": {"A": "${env:S_ARGUMENT_2:-x}"}}),
        expect![[r#"
            {"command":"x","args":["${S_ARGUMENT_3}","${S_ARGUMENT}"],"env":{"A":"${S_ARGUMENT_2:-x}"},"cwd":"/"}
            a secret is not copied; set the variable S_ARGUMENT_3
        "#]],
    );
    check(
        Variables::None,
        json!({"url": "https://a.org", "http_headers": {"X-Key": "pw"}, "env_http_headers": {"X_Key": "pw 2"}}),
        expect![[r#"
            {"url":"https://a.org","headers":{"X-Key":"${S_X_KEY}","X_Key":"${S_X_KEY_2}"}}
            a secret is not copied; set the variable S_X_KEY
            a secret is not copied; set the variable S_X_KEY_2
        "#]],
    );
}

#[test]
fn a_secret_default_is_left_out() {
    check(
        Variables::Braced,
        json!({"command": "x", "args": ["--a=${API_KEY:-abcdef12345}", "https://a.org/${API_KEY:-abcdef12345}/${V:-v1}"],
               "env": {"FOO": "${API_KEY:-abcdef12345}", "BAR": "${env:B_TOKEN:-pw} ${HOME:-/}", "URL": "${U:-https://u:pw@a.org}",
                       "NESTED": "${A:-${C_TOKEN:-pw}", "OUTER": "${D_TOKEN:-${A:-pw}",
                       "BAZ": "${E_TOKEN:-}", "AUTH": "${AUTHORIZATION:-Bearer }"}, "cwd": "/"}),
        expect![[r#"
            {"command":"x","args":["--a=${API_KEY}","https://a.org/${API_KEY}/${V:-v1}"],"env":{"FOO":"${API_KEY}","BAR":"${B_TOKEN} ${HOME:-/}","URL":"${U}","NESTED":"${A}","OUTER":"${D_TOKEN}","BAZ":"${E_TOKEN:-}","AUTH":"${AUTHORIZATION:-Bearer }"},"cwd":"/"}
            a secret is not copied; set the variable API_KEY
            a secret is not copied; set the variable B_TOKEN
            a secret is not copied; set the variable U
            a secret is not copied; set the variable A
            a secret is not copied; set the variable D_TOKEN
        "#]],
    );
}

#[test]
fn a_secret_in_an_address_is_left_out() {
    let uuid = "8f14e45f-ceea-467f-a83d-0c1b2e3f4a5b";
    let digest = "2c26b46b68ffc68ff99b453c1d30413413422d70";
    for (url, is_secret) in [
        (format!("https://a.org/api/s/{OPAQUE}/mcp"), true),
        (format!("https://a.org/{uuid}/sse"), true),
        (format!("https://a.org/{digest}"), true),
        (format!("https://a.org/mcp?profile={OPAQUE}"), true),
        ("https://a.org/mcp?x=1&key=abc".to_owned(), true),
        ("https://a.org/mcp;auth=abc#x".to_owned(), true),
        ("https://ada@a.org/mcp".to_owned(), true),
        ("https://a.org/mcp?api_key=${KEY:-abc}".to_owned(), true),
        ("https://a.org/${PATH_TOKEN}/mcp?api_key=${KEY}&v=2025-06-18".to_owned(), false),
        ("https://mcp.example.org/model-context-protocol/v1/streamable-http".to_owned(), false),
        ("http://localhost:8931/mcp".to_owned(), false),
    ] {
        let made = server(Variables::Braced, json!({"url": url}), None).convert().unwrap();
        let expect = if is_secret { "${S_URL}" } else { &url };
        assert_eq!(made.declaration["url"], expect);
        assert_eq!(!made.notes.is_empty(), is_secret, "{url}");
    }
    for (arg, is_secret) in [
        (format!("https://a.org/api/s/{OPAQUE}/mcp"), true),
        (format!("--url=https://a.org/{uuid}"), true),
        ("postgres://ada:pw@localhost/db".to_owned(), true),
        ("postgres://ada@localhost/db".to_owned(), true),
        ("https://abc@o1.ingest/1".to_owned(), true),
        ("https://u:hunter2secret@h/".to_owned(), true),
        ("http://a.org,http://u:pw@b.org".to_owned(), true),
        ("--next=https://a.org/?to=https://u@b.org".to_owned(), true),
        ("ssh://git:pw@example.org/a".to_owned(), true),
        (format!("ssh://{OPAQUE}@example.org/a"), true),
        ("profile://u:pw@example.org/a".to_owned(), true),
        ("https://a.org/@scope/x,https://b.org/x@1".to_owned(), false),
        (format!("git+https://example.org/a/b@{digest}"), false),
        ("git+ssh://git@example.org/a/b".to_owned(), false),
        ("file:///nix/store/v5sv61sszx301i0x6xysaqzla09nksnd-x".to_owned(), false),
    ] {
        let made =
            server(Variables::Braced, json!({"command": "x", "args": [arg]}), None).convert();
        let made = made.unwrap();
        assert_eq!(made.declaration["args"][0] != *arg, is_secret, "{arg}: {made:?}");
    }
}

#[test]
fn an_address_with_a_user_is_left_out_of_a_variable() {
    check(
        Variables::Braced,
        json!({"command": "x", "cwd": "/", "env": {"DSN": "https://abc@o1.ingest/1", "MYSQL_PWD": "pw", "AUTHOR": "ada"}}),
        expect![[r#"
            {"command":"x","env":{"DSN":"${DSN}","MYSQL_PWD":"${MYSQL_PWD}","AUTHOR":"ada"},"cwd":"/"}
            a secret is not copied; set the variable DSN
            a secret is not copied; set the variable MYSQL_PWD
        "#]],
    );
}

#[test]
fn a_secret_in_a_command_line_is_left_out() {
    check(
        Variables::Braced,
        json!({"command": format!("x --token {GITHUB}"), "cwd": format!("/srv/{GITHUB}"),
               "args": ["-e", "API_KEY=pw", "-e", "A=b", "--header", "Authorization: Bearer pw", "-H", "X-Api-Key:pw",
                        "--header", "X-Team: ${TEAM}", "--header", "Authorization:${AUTH}"]}),
        expect![[r#"
            {"command":"${S_COMMAND}","args":["-e","API_KEY=${S_API_KEY}","-e","A=b","--header","Authorization: Bearer ${S_AUTHORIZATION}","-H","X-Api-Key:${S_X_API_KEY}","--header","X-Team: ${TEAM}","--header","Authorization:${AUTH}"],"cwd":"${S_CWD}"}
            a secret is not copied; set the variable S_COMMAND
            a secret is not copied; set the variable S_API_KEY
            a secret is not copied; set the variable S_AUTHORIZATION
            a secret is not copied; set the variable S_X_API_KEY
            a secret is not copied; set the variable S_CWD
        "#]],
    );
}

#[test]
fn a_secret_is_no_name() {
    for (declared, what) in [
        (json!({"command": "x", "env": {GITHUB: "1"}}), "the name of a variable"),
        (json!({"command": "x", "env": {"A": format!("${{{GITHUB}}}")}}), "the name of a variable"),
        (
            json!({"command": "x", "args": [format!("${{input:{GITHUB}}}")]}),
            "the name of a variable",
        ),
        (json!({"command": "x", "args": [format!("--{GITHUB}=1")]}), "the name of an option"),
        (json!({"command": "x", "env_vars": [GITHUB]}), "the name of a variable"),
        (json!({"command": "x", "env_vars": [{"name": GITHUB}]}), "the name of a variable"),
        (json!({"url": "https://a.org", "headers": {GITHUB: "1"}}), "the name of a header"),
    ] {
        let why = server(Variables::Braced, declared, None).convert().unwrap_err();
        assert_eq!(why, ImportError::SecretName { what });
        assert!(!why.to_string().contains("ghp_"));
    }
    let named =
        ClientServer { name: GITHUB.to_owned(), ..server(Variables::None, json!({}), None) };
    assert_eq!(named.name(), "server");
    assert_eq!(named.convert(), Err(ImportError::SecretName { what: "its name" }));
    let no_name = json!({"command": "x", "env_vars": ["API_KEY=pw"]});
    let why = server(Variables::None, no_name, None).convert().unwrap_err();
    assert_eq!(why, ImportError::NotAVariable { key: "env_vars" });
}

#[test]
fn a_token_in_the_place_of_a_name_is_left_out() {
    for token in [GITHUB, OPAQUE, "sk-a1", "pass word"] {
        check(
            Variables::None,
            json!({"url": "https://a.org", "bearer_token_env_var": token, "env_http_headers": {"X-Key": token}}),
            expect![[r#"
                {"url":"https://a.org","headers":{"X-Key":"${S_X_KEY}","Authorization":"Bearer ${S_AUTHORIZATION}"}}
                a secret is not copied; set the variable S_X_KEY
                a secret is not copied; set the variable S_AUTHORIZATION
            "#]],
        );
    }
    check(
        Variables::None,
        json!({"url": "https://a.org", "bearer_token_env_var": "githubPersonalAccessToken",
               "env_http_headers": {"X-Key": "MY_S3_KEY_V2_2024"}}),
        expect![[r#"
            {"url":"https://a.org","headers":{"X-Key":"${MY_S3_KEY_V2_2024}","Authorization":"Bearer ${S_AUTHORIZATION}"}}
            a secret is not copied; set the variable S_AUTHORIZATION
        "#]],
    );
}

#[test]
fn a_path_in_the_home_directory_needs_no_shell() {
    check(
        Variables::Prefixed,
        json!({"command": "~/bin/x", "args": ["~/notes"], "cwd": "~"}),
        expect![[r#"
            {"command":"${HOME}/bin/x","args":["~/notes"],"cwd":"${HOME}"}
        "#]],
    );
    check(
        Variables::None,
        json!({"command": "x", "cwd": "~ada/x"}),
        expect![[r#"
            "~ada/x" names the home of a user, which only a shell looks up
        "#]],
    );
}

#[test]
fn programs() {
    let env =
        json!({"A": "${env:B}", "C": "a$b", "GITHUB_TOKEN": "ghp_x", "D_TOKEN": "${D}", "N": 5});
    check(
        Variables::Braced,
        json!({"type": "stdio", "command": "./run", "args": ["${workspaceFolder}", "--api-key", "k1", "--token=t", "$HOME"],
               "env": env, "timeout": 1500, "alwaysAllow": ["x"]}),
        expect![[r#"
            {"command":"/p/./run","args":["/p","--api-key","${S_API_KEY}","--token=${S_TOKEN}","$$HOME"],"env":{"A":"${B}","C":"a$$b","GITHUB_TOKEN":"${GITHUB_TOKEN}","D_TOKEN":"${D}","N":"5"},"cwd":"/p","timeout_seconds":2}
            a secret is not copied; set the variable S_API_KEY
            a secret is not copied; set the variable S_TOKEN
            a secret is not copied; set the variable GITHUB_TOKEN
            left out: alwaysAllow
        "#]],
    );
    check(
        Variables::Shell,
        json!({"command": "x", "args": ["$HOME/$", "${A:-b}"], "cwd": "sub"}),
        expect![[r#"
            {"command":"x","args":["$HOME/$$","${A:-b}"],"cwd":"/p/sub"}
        "#]],
    );
    check(
        Variables::None,
        json!({"command": "x", "args": ["${A}"], "env_vars": ["T"], "tool_timeout_sec": 90.0}),
        expect![[r#"
            {"command":"x","args":["$${A}"],"env":{"T":"${T}"},"cwd":"/p","timeout_seconds":90}
        "#]],
    );
    check(
        Variables::Braced,
        json!({"command": "x", "env": {"K": "${input:my-key}"}}),
        expect![[r#"
            {"command":"x","env":{"K":"${MY_KEY}"},"cwd":"/p"}
            the client asks for my-key; set the variable MY_KEY
        "#]],
    );
}

#[test]
fn addresses() {
    let headers = json!({"Authorization": "Bearer abc", "X-Team": "t"});
    check(
        Variables::Braced,
        json!({"type": "http", "url": "https://a.org/mcp", "headers": headers}),
        expect![[r#"
            {"url":"https://a.org/mcp","headers":{"Authorization":"Bearer ${S_AUTHORIZATION}","X-Team":"t"}}
            a secret is not copied; set the variable S_AUTHORIZATION
        "#]],
    );
    check(
        Variables::Shell,
        json!({"httpUrl": "https://a.org/mcp?api_key=1"}),
        expect![[r#"
            {"url":"${S_URL}"}
            a secret is not copied; set the variable S_URL
        "#]],
    );
    check(
        Variables::None,
        json!({"url": "https://a.org", "bearer_token_env_var": "T", "env_http_headers": {"X": "Y"}}),
        expect![[r#"
            {"url":"https://a.org","headers":{"X":"${Y}","Authorization":"Bearer ${T}"}}
        "#]],
    );
}

#[test]
fn what_the_client_does_not_offer_is_told() {
    check(
        Variables::None,
        json!({"command": "x", "enabled_tools": ["a", "b"], "disabled_tools": ["c"]}),
        expect![[r#"
            {"command":"x","cwd":"/p"}
            the client does not offer c, and here all tools are offered; to deny them, add {"permissions":{"deny":["mcp__s__c"]}} to the configuration
            the client offers only a, b, and here all tools are offered; a rule "deny" keeps one from being called
        "#]],
    );
    check(
        Variables::Shell,
        json!({"command": "x", "includeTools": ["a"], "excludeTools": []}),
        expect![[r#"
            {"command":"x","cwd":"/p"}
            the client offers only a, and here all tools are offered; a rule "deny" keeps one from being called
        "#]],
    );
}

#[test]
fn what_cannot_be_used() {
    check(
        Variables::Braced,
        json!({"command": "x", "disabled": true}),
        expect![[r#"
        it is switched off
    "#]],
    );
    check(
        Variables::Braced,
        json!({}),
        expect![[r#"
        it has neither a command nor an address
    "#]],
    );
    check(
        Variables::Braced,
        json!({"command": "x", "args": [1]}),
        expect![[r#"
        an argument is no text
    "#]],
    );
    check(
        Variables::Prefixed,
        json!({"command": "x", "args": ["${file}"]}),
        expect![[r#"
        it uses ${file}, which means nothing here
    "#]],
    );
    check(
        Variables::Braced,
        json!({"command": "x", "args": ["${file}.${1}"]}),
        expect![[r#"
            it uses ${1}, which means nothing here
        "#]],
    );
    check(
        Variables::Braced,
        json!({"type": "sse", "url": "https://a.org/sse"}),
        expect![[r#"
            it speaks the older way over HTTP ("sse"), which is not spoken here; many such servers have an address for "http" as well
        "#]],
    );
    check(
        Variables::Prefixed,
        json!({"command": "x", "args": ["a${pathSeparator}b${/}c", "${workspaceFolderBasename}"]}),
        expect![[r#"
            {"command":"x","args":["a/b/c","p"],"cwd":"/p"}
        "#]],
    );
    for declared in [json!({"command": "./x"}), json!({"command": "x", "cwd": "sub"})] {
        let why = server(Variables::None, declared, None).convert().unwrap_err();
        assert!(matches!(why, ImportError::Relative { .. }), "{why}");
    }
}

#[test]
fn names_are_made_of_plain_characters() {
    let named = |name: &str| {
        let name = name.to_owned();
        ClientServer { name, ..server(Variables::None, json!({}), None) }.name()
    };
    assert_eq!(["my server", "-", "a_b"].map(named), ["my-server", "server", "a_b"]);
}

/// Texts that cost more than they are long, where each `${` looks for its end or stands for a path.
#[test]
fn a_server_is_bounded() {
    let long_dir = format!("/{}", "d".repeat(4000));
    for (text, dir) in [
        ("${".repeat(2 << 20), "/p"),
        ("${workspaceFolder}".repeat(1 << 18), &*long_dir),
        ("${input:x}".repeat(1 << 18), "/p"),
        ("$".repeat(MAX_SERVER_BYTES), "/p"),
    ] {
        for variables in [Variables::Braced, Variables::Shell, Variables::None] {
            let declared = json!({"command": "x", "args": [text]});
            let res = server(variables, declared, Some(dir)).convert();
            assert_eq!(res, Err(ImportError::TooLong));
        }
    }
    let declared = json!({"command": "x", "args": vec![""; 1 << 20]});
    let res = server(Variables::None, declared, None).convert();
    assert_eq!(res, Err(ImportError::TooLong));
    let declared = json!({"command": "x", "args": ["y".repeat(MAX_SERVER_BYTES - 64)]});
    assert!(server(Variables::None, declared, None).convert().is_ok());
}
