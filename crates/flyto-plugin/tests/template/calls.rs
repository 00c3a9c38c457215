//! Calls of templates.

use std::fs;

use expect_test::expect;
use flyto_plugin::ToolDef;
use flyto_tools::{Failure, Input, Problem, ProblemKind, Tool};
use serde_json::json;

use crate::{Host, template};

#[tokio::test]
async fn the_directory_is_the_sessions() {
    let host = Host::new();
    let session = host.dir.path().join("session").canonicalize().expect("it is there");
    let here = |work_dir: Option<&str>| {
        let mut def = template("pwd", json!({}));
        def.work_dir = work_dir.map(Into::into);
        def
    };
    let pwd = host.call(here(None), json!({})).await;
    assert_eq!(pwd.output, format!("{}\n", session.display()));
    fs::create_dir(session.join("sub")).expect("created");
    let pwd = host.call(here(Some("sub")), json!({})).await;
    assert_eq!(pwd.output, format!("{}\n", session.join("sub").display()));
    let pwd = host.call(here(Some("/")), json!({})).await;
    assert_eq!(pwd.output, "/\n");
}

#[tokio::test]
async fn nothing_is_on_stdin_and_the_plugin_is_known() {
    let host = Host::new();
    fs::write(host.dir.path().join("plugin/hello.txt"), "hello").expect("written");
    let res = host.call(template("cat", json!({})), json!({"x": "input"})).await;
    assert_eq!((res.output.as_str(), res.is_error()), ("", false));
    let res = host.call(template("cat \"$PLUGIN_ROOT/hello.txt\"", json!({})), json!({})).await;
    assert_eq!((res.output.as_str(), res.is_error()), ("hello", false));
    let preview = host
        .tool(template("cat", json!({})))
        .preview(&Input::parse("{}").expect("JSON"))
        .expect("it has one");
    assert_eq!(preview.stdin, None);
}

#[test]
fn a_preview_without_input_shows_the_command_as_it_is_written() {
    let schema = json!({"type": "object", "properties": {"x": {}}, "required": ["x"]});
    for (command, shown) in [
        ("p '{{x}} b' {{y}}", vec!["p", "{{x}} b", "{{y}}"]),
        ("p > {{x}}", vec!["sh", "-c", "p > {{x}}"]),
    ] {
        let def = ToolDef::template("t", command, schema.clone()).expect("a template");
        let tool = Host::new().tool(def);
        let preview = tool.preview(&Input::empty()).expect("it has one");
        assert_eq!(preview.command_line.expect("words"), shown);
        assert_eq!(preview.problems, []);
        let preview = tool.preview(&Input::parse("{}").expect("JSON")).expect("it has one");
        let problem = Problem::new(ProblemKind::BadInput, "invalid input: /x: is required");
        assert_eq!(preview.problems, [problem]);
    }
}

#[tokio::test]
async fn a_value_that_cannot_be_put_in_starts_nothing() {
    let host = Host::new();
    let def = template("touch {{a}} {{b}}", json!({"a": {}, "b": {}}));
    let res = host.call(def, json!({"a": "a\0b", "b": "--reference=x"})).await;
    assert_eq!(res.failure, Some(Failure::BadInput));
    expect![[r#"invalid input: /a: holds a NUL character, which no argument can hold; /b: begins with `-`, so the program could take it for an option: "--reference=x"; for a file, write ./ in front"#]].assert_eq(&res.output);
    assert_eq!(fs::read_dir(host.dir.path().join("session")).expect("a directory").count(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_no_argument_can_hold_is_bad_input() {
    let host = Host::new();
    for command in ["printf %s {{x}}", "printf %s {{x}} $HOME"] {
        let most = 32 * 4096 - 1;
        let def = || template(command, json!({"x": {}}));
        let res = host.call(def(), json!({"x": "v".repeat(most)})).await;
        assert_eq!(res.failure, None, "{}", res.output);
        let res = host.call(def(), json!({"x": "v".repeat(most + 1)})).await;
        assert_eq!(res.failure, Some(Failure::BadInput));
        let why =
            "invalid input: /x: has 131072 bytes, and an argument of a program has at most 131071";
        assert_eq!(res.output, why);
    }
    // One that is short enough, many times.
    let many = format!("printf %s {{{{x}}}}{{{{y}}}}{}", "{{x}}".repeat(9));
    let input = json!({"x": "v".repeat(20_000), "y": "w".repeat(30_000)});
    let res = host.call(template(&many, json!({"x": {}, "y": {}})), input).await;
    assert_eq!(res.failure, Some(Failure::BadInput));
    expect!["invalid input: /x: has 20000 bytes and makes an argument of 230000, and an argument of a program has at most 131071"]
        .assert_eq(&res.output);
}

/// Each is short enough, and all together are too long.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_arguments_together_cannot_hold_is_bad_input() {
    let host = Host::new();
    let names: Vec<String> = (0..100).map(|it| format!("n{it}")).collect();
    let properties =
        names.iter().map(|it| (it.clone(), json!({}))).collect::<serde_json::Map<_, _>>();
    let command = names.iter().fold("true".to_owned(), |res, it| res + &format!(" {{{{{it}}}}}"));
    let def = |command: &str| template(command, properties.clone().into());
    let input = |n_bytes: usize| {
        let members = names.iter().map(|it| (it.clone(), json!("v".repeat(n_bytes))));
        serde_json::Value::Object(members.collect())
    };
    let res = host.call(def(&command), input(50_000)).await;
    assert_eq!(res.failure, Some(Failure::BadInput));
    let start = "invalid input: (root): the values are longer than the system lets arguments be: arguments of 50";
    assert!(res.output.starts_with(start), "{}", res.output);
    assert!(res.output.contains("; shorten the arguments, or raise"), "{}", res.output);
    // Not even put together: as many arguments as a command has room for are gigabytes.
    for command in
        [&*command, &(command.clone() + " $HOME"), &("true".to_owned() + &" {{n0}}".repeat(18_000))]
    {
        let res = host.call(def(command), input(100_000)).await;
        assert_eq!(res.failure, Some(Failure::BadInput));
        expect!["invalid input: (root): the arguments together have more than 6291456 bytes, which no program can get"]
            .assert_eq(&res.output);
    }
    let command = "true \"{{n0}}".to_owned() + &" {{n1}}".repeat(10_000) + "$HOME\"";
    let res = host.call(def(&command), input(1)).await;
    assert_eq!(res.failure, Some(Failure::BadInput));
    expect!["invalid input: (root): the command has 170076 bytes with the names of variables in place of values, and an argument of a program has at most 131071"].assert_eq(&res.output);
}

#[tokio::test]
async fn failures_are_told_as_those_of_any_tool() {
    let host = Host::new();
    let res =
        host.call(template("ls -- {{x}} 2>/dev/null", json!({"x": {}})), json!({"x": "no"})).await;
    expect![[r#"
        exit code 2
        stdout: 
        stderr: "#]]
    .assert_eq(&res.output);
    let res = host.call(template("exit {{n}}", json!({"n": {}})), json!({"n": 7})).await;
    expect![[r#"
        exit code 7
        stdout: 
        stderr: "#]]
    .assert_eq(&res.output);
}

#[test]
fn an_error_of_the_constructor_says_where_and_what_to_write() {
    let err = ToolDef::template("t", "p {{a}} | q", json!({"type": "object"})).expect_err("a pipe");
    assert_eq!(err.code().as_str(), "F0150");
    assert_eq!(err.span(), 8..9);
    assert!(err.help().is_some_and(|it| it.contains("sh -c")));
    expect![[r#"failed to read the command "p {{a}} | q": `|` outside of quotes joins commands, and a template is one command (byte 8); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1""#]].assert_eq(&err.to_string());
}
