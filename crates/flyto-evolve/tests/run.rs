//! Running definitions through a real bash.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{sync::Arc, time::Duration};

use expect_test::{Expect, expect};
use flyto_evolve::{EvolvedTool, HostContext, ToolDefinition, inherited};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::{CallContext, Failure, Input, Tool, ToolErrorKind, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

fn host_env() -> Environment {
    [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/nonexistent"),
        ("GITHUB_TOKEN", "token of the host"),
    ]
    .into_iter()
    .collect()
}

fn tool_with(def: ToolDefinition, env: Environment) -> EvolvedTool {
    let host = HostContext::new(env, "/tmp");
    EvolvedTool::new(def, ExecEnv::new(Local::new()), host).expect("it can be run")
}

/// A command with these parameters.
fn command(text: &str, parameters: &[&str]) -> ToolDefinition {
    let properties: serde_json::Map<String, Value> =
        parameters.iter().map(|it| ((*it).to_owned(), json!({}))).collect();
    ToolDefinition::command("t", "Tests.", text)
        .with_input_schema(json!({"type": "object", "properties": properties}))
}

async fn call(def: ToolDefinition, input: Value) -> ToolResult {
    let tool = tool_with(def, host_env());
    tool.execute(&CallContext::new(), Input::from_value(input)).await.expect("it could be tried")
}

#[track_caller]
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[track_caller]
fn check(script: &str, input: Value, expect: Expect) {
    let result = run(call(ToolDefinition::script("t", "Tests.", script), input));
    expect.assert_eq(&format!("{:?}\nfailure: {:?}", result.output, result.failure));
}

#[test]
fn a_schema_that_lists_no_parameter_takes_any_placeholder() {
    let text = "echo value is {{.x}} '{{.Y}}' {{.a.b}}";
    let any = ToolDefinition::command("t", "Tests.", text);
    let result = run(call(any.clone(), json!({"x": "hello; id", "Y": 1})));
    assert_eq!(result.output, "value is hello; id 1 {{.a.b}}\n");
    let closed = any.with_input_schema(json!({"type": "object", "additionalProperties": false}));
    let result = run(call(closed, json!({})));
    assert_eq!(result.output, "value is {{.x}} {{.Y}} {{.a.b}}\n");
}

#[test]
fn results_read_as_the_contract_says() {
    check(
        "echo out; echo err >&2; echo out",
        json!({}),
        expect![[r#"
        "out\nerr\nout\n"
        failure: None"#]],
    );
    check(
        "echo before; exit 3",
        json!({}),
        expect![[r#"
        "before\n\nexit: exit status 3"
        failure: Some(ExitCode { code: 3 })"#]],
    );
    check(
        "exit 1",
        json!({}),
        expect![[r#"
        "\nexit: exit status 1"
        failure: Some(ExitCode { code: 1 })"#]],
    );
    check(
        "printf x; kill -KILL $$",
        json!({}),
        expect![[r#"
        "x\nexit: signal: killed"
        failure: Some(Signal { number: 9, name: Some("SIGKILL") })"#]],
    );
    check(
        "kill -TERM $$",
        json!({}),
        expect![[r#"
        "\nexit: signal: terminated"
        failure: Some(Signal { number: 15, name: Some("SIGTERM") })"#]],
    );
    check(
        "if",
        json!({}),
        expect![[r#"
        "t: -c: line 2: syntax error: unexpected end of file\n\nexit: exit status 2"
        failure: Some(ExitCode { code: 2 })"#]],
    );
    check(
        "echo hi",
        json!([1]),
        expect![[r#"
        "invalid input: expected an object, found an array"
        failure: Some(BadInput)"#]],
    );
    check(
        "echo hi",
        json!({"big": "x".repeat(200_000)}),
        expect![[r#"
        "invalid input: parameter \"big\" has 200000 bytes, and TOOL_INPUT_BIG can hold at most 131056"
        failure: Some(BadInput)"#]],
    );
    let parameter = |n: usize| (format!("p{n:02}"), json!("x".repeat(120_000 - n)));
    let long: serde_json::Map<String, Value> = (0..60).map(parameter).collect();
    let result = run(call(ToolDefinition::script("t", "Tests.", "echo hi"), json!(long)));
    assert_eq!(result.failure, Some(Failure::BadInput));
    let named = "invalid input: too long together are the parameters \"p00\" (120000 bytes), \"p01\" (119999 bytes), \
                 \"p02\" (119998 bytes) and 57 more: arguments of ";
    assert!(result.output.starts_with(named), "{}", result.output);
    check(
        "false\necho $0 $LINENO; nosuchprogram",
        json!({}),
        expect![[r#"
        "t 2\nt: line 2: nosuchprogram: command not found\n\nexit: exit status 127"
        failure: Some(ExitCode { code: 127 })"#]],
    );
}

#[test]
fn bash_that_does_not_start_is_a_result() {
    let env = [("PATH", "/nonexistent")].into_iter().collect();
    let tool = tool_with(ToolDefinition::script("t", "Tests.", "true"), env);
    let result = run(tool.execute(&CallContext::new(), Input::empty())).unwrap();
    expect![[r#"
        "\nexit: failed to start \"bash\": no such program in PATH=/nonexistent"
        failure: Some(NotStarted)"#]]
    .assert_eq(&format!("{:?}\nfailure: {:?}", result.output, result.failure));
}

#[test]
fn a_call_ends_at_its_deadline() {
    let def = ToolDefinition::script("t", "Tests.", "echo started; sleep 1000 & sleep 1000");
    let tool = tool_with(def, host_env());
    let ctx = CallContext::new().with_timeout(Duration::from_millis(300));
    let result = run(tool.execute(&ctx, Input::empty())).unwrap();
    assert_eq!(result.output, "started\n\nexit: signal: killed");
    assert_eq!(result.failure, Some(Failure::TimedOut { after: Some(Duration::from_millis(300)) }));
}

#[test]
fn parameters_are_variables_and_the_whole_input_is_on_stdin() {
    check(
        "echo \"$TOOL_INPUT_A|$TOOL_INPUT_B_C|${TOOL_INPUT_NONE-unset}|$TOOL_INPUT_L|${TOOL_INPUT_E-unset}|$TOOL_INPUT_N\"; cat",
        json!({"a": "x y", "b-c": false, "l": [1, {"k": "v"}], "e": "", "n": null}),
        expect![[r#"
            "x y|false|unset|[1,{\"k\":\"v\"}]||null\n{\"a\":\"x y\",\"b-c\":false,\"l\":[1,{\"k\":\"v\"}],\"e\":\"\",\"n\":null}"
            failure: None"#]],
    );
    check(
        "echo $GITHUB_TOKEN; pwd",
        json!({}),
        expect![[r#"
        "token of the host\n/tmp\n"
        failure: None"#]],
    );
}

/// Each hostile variable would make a file, or change what the script prints.
#[test]
fn no_inherited_variable_makes_bash_run_other_text() {
    let dir = tempfile::tempdir().unwrap();
    let evil = dir.path().join("evil.sh");
    let marker = dir.path().join("marker");
    std::fs::write(&evil, format!("touch {}; echo evil", marker.display())).unwrap();
    let run_it = format!("$(touch {})", marker.display());
    let script = "set -x; f() { echo in f; }; f; cd sub; pwd; for f in *; do echo $f; done; \
                  read -r a <<< x; echo $a; set +x; ls -d .; echo \"${TOOL_INPUT_OUTER-unset}\" ";
    let work = dir.path().join("work");
    std::fs::create_dir_all(work.join("sub/inner")).unwrap();
    std::fs::create_dir_all(dir.path().join("elsewhere/sub")).unwrap();
    let output = |env: Environment| {
        let host = HostContext::new(env, &work);
        let def = ToolDefinition::script("t", "Tests.", script);
        let tool = EvolvedTool::new(def, ExecEnv::new(Local::new()), host).unwrap();
        run(tool.execute(&CallContext::new(), Input::empty())).unwrap().output
    };
    let expected = output(host_env());
    assert!(expected.contains("in f\n") && expected.contains("inner"), "{expected}");
    let path = evil.to_str().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    let function = format!("() {{ touch {}; }}", marker.display());
    for (name, value) in [
        ("BASH_ENV", path),
        ("ENV", path),
        ("SHELLOPTS", "noexec:verbose:xtrace:posix"),
        ("BASHOPTS", "nullglob:extdebug:failglob"),
        ("PS4", &run_it),
        ("PS0", &run_it),
        ("PROMPT_COMMAND", &run_it),
        ("BASH_FUNC_ls%%", &function),
        ("BASH_FUNC_echo%%", &function),
        ("BASH_FUNC_cd()", &function),
        ("ls", &function),
        ("CDPATH", elsewhere.to_str().unwrap()),
        ("GLOBIGNORE", "*"),
        ("IFS", "n"),
        ("FUNCNEST", "0"),
        ("EXECIGNORE", "*"),
        ("POSIXLY_CORRECT", "1"),
        ("BASH_XTRACEFD", "1"),
        ("BASH_COMPAT", "3.1"),
        ("TOOL_INPUT_OUTER", "leaked"),
        ("TMOUT", "1"),
    ] {
        let mut env = host_env();
        env.set(name, value);
        assert_eq!(output(env), expected, "{name}");
        assert!(!marker.exists(), "{name} was run");
    }
    // The first one has an effect where it is not dropped, so the check above shows something.
    let mut env = host_env();
    env.set("BASH_ENV", path);
    let spec = flyto_execenv::Spec::new("bash").args(["-c", "true"]).env(env);
    let outcome = run(ExecEnv::new(Local::new()).run(spec)).unwrap();
    assert_eq!(outcome.stdout.bytes().as_ref(), b"evil\n");
    assert!(marker.exists());
}

#[test]
fn the_rest_of_the_environment_is_inherited() {
    let host: Environment =
        [("HOME", "/h"), ("LD_LIBRARY_PATH", "/l"), ("BASHRC", "x"), ("MY_IFS", "1")]
            .into_iter()
            .collect();
    assert_eq!(inherited(&host).names().collect::<Vec<_>>(), ["HOME", "LD_LIBRARY_PATH", "MY_IFS"]);
}

#[test]
fn a_refusal_of_the_operator_is_an_error() {
    use flyto_execenv::{Class, Policies, Policy};
    let policies =
        Policies::new().class(Class::EVOLVE, Policy::new().refuse("no run-time tools here"));
    let env = ExecEnv::builder(Local::new()).policies(policies).build();
    let host = Arc::new(HostContext::new(host_env(), "/tmp"));
    let tool = EvolvedTool::new(ToolDefinition::script("t", "Tests.", "true"), env, host).unwrap();
    let err = run(tool.execute(&CallContext::new(), Input::empty())).unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    let preview = tool.preview(&Input::empty()).unwrap();
    assert_eq!(preview.problems.len(), 1);
    assert_eq!(preview.command_line.unwrap(), ["bash", "-c", "true", "t"]);
}

/// Every context of bash in which a placeholder is allowed, with all that it prints; `@` stands for the value.
const CONTEXTS: &[(&str, &str)] = &[
    ("printf '%s|' {{.x}} end", "@|end|"),
    ("printf '%s|' a{{.x}}b{{ .x }} end", "a@b@|end|"),
    ("printf '%s|' \"a {{.x}}b\" end", "a @b|end|"),
    ("printf '%s|' 'a {{.x}}b' end", "a @b|end|"),
    ("printf '%s' \"$(printf '%s|' {{.x}} end)\"", "@|end|"),
    ("printf '%s' \"$(printf '%s|' \"a{{.x}}\" 'b{{.x}}')\"", "a@|b@|"),
    ("cat <<< {{.x}}", "@\n"),
    ("for i in {{.x}} end; do printf '%s|' \"$i\"; done", "@|end|"),
    ("(printf '%s|' {{.x}}; printf end) | cat", "@|end"),
    ("if true; then printf '%s|' {{.x}}; fi", "@|"),
    ("{ printf '%s|' {{.x}}; }", "@|"),
    ("cat <(printf '%s|' {{.x}})", "@|"),
    ("bash -c 'printf \"%s|\" \"$1\"' _ {{.x}}", "@|"),
    ("env printf '%s|' {{.x}}", "@|"),
    ("[ {{.x}} = {{.x}} ] && printf '%s|' {{.x}}", "@|"),
    ("printf '%s|' \\\n  {{.x}} # {{.x}}", "@|"),
];

#[test]
fn a_value_that_a_program_may_read_as_an_option_is_refused() {
    let check = |template: &str, value: &str, schema: Value, is_refused: bool| {
        let def = ToolDefinition::command("t", "Tests.", template)
            .with_input_schema(json!({"type": "object", "properties": {"x": schema, "e": {}}}));
        let result = run(call(def, json!({ "x": value, "e": "" })));
        assert_eq!(
            result.failure == Some(Failure::BadInput),
            is_refused,
            "{template}: {}",
            result.output
        );
    };
    check("sed p {{.x}}", "--expression=1e touch PWNED", json!({}), true);
    check("echo a {{.x}}b", "-n", json!({}), true);
    check("cat -- {{.x}}", "-n", json!({}), false);
    check("echo a{{.x}}", "-n", json!({}), false);
    check("echo {{.x}}", "-", json!({}), false);
    check("echo {{.x}}", "-n", json!({"x-flyto-dash": true}), false);
    check("echo {{.x}}", "-n", json!({"enum": ["-n", "-e"]}), false);
    check("echo {{.x}}", "-E", json!({"enum": ["-n", "-e"]}), true);
    check("cat <<< {{.x}}", "-n", json!({}), false);
    // The word counts, and the program's own `--`.
    check("echo {{.e}}{{.x}}", "-n", json!({}), true);
    check("echo {{.x}}{{.e}}", "-", json!({}), false);
    check("echo {{.x}}n", "-", json!({}), true);
    check("env -- sed -n -e p {{.x}}", "-e1e touch PWNED", json!({}), true);
    check("nice -- perl -e 1 {{.x}}", "-esystem q(touch PWNED)", json!({}), true);
    // No schema lets a value be code, but one that names it.
    check("perl -e 1 {{.x}}", "-esystem q(touch PWNED)", json!({"x-flyto-dash": true}), true);
    check("sed -n -e p {{.x}}", "-e1e touch PWNED", json!({"x-flyto-dash": true}), true);
    check("sed -n -e p {{.x}}", "-s", json!({"enum": ["-s"]}), false);
    check("python3 -c 1 {{.x}}", "-n", json!({"x-flyto-dash": true}), false);
}

/// What the command prints for a value.
fn printed(template: &str, value: &str) -> ToolResult {
    run(call(command(template, &["x"]), json!({ "x": value })))
}

#[test]
fn every_context_shows_a_plain_value() {
    for (template, prints) in CONTEXTS {
        let result = printed(template, "v");
        assert_eq!(result.failure, None, "{template}: {}", result.output);
        assert_eq!(result.output, prints.replace('@', "v"), "{template}");
    }
}

/// Values that mean something to a shell, in pieces.
fn hostile_value() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("$(touch PWNED)"),
        Just("`touch PWNED`"),
        Just("${IFS}"),
        Just(";touch PWNED;"),
        Just("&& touch PWNED"),
        Just("| touch PWNED"),
        Just("\n"),
        Just("touch PWNED\n"),
        Just(" "),
        Just("*"),
        Just("?"),
        Just("~"),
        Just("-rf"),
        Just("--"),
        Just("{{.x}}"),
        Just("$TOOL_INPUT_X"),
        Just("!"),
        Just("#"),
        Just("<"),
        Just(">PWNED"),
        Just("("),
        Just(")"),
        Just("{a,b}"),
        Just("\t"),
        Just("$'\\n'"),
        Just("%s%n"),
        Just("é"),
        Just("\u{202e}"),
        Just("\u{1}"),
        Just("a[$(touch PWNED)]"),
        Just("x"),
        Just("="),
        Just("\r"),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_value_is_one_literal_word_in_every_context(value in hostile_value()) {
        for (template, prints) in CONTEXTS {
            let result = printed(template, &value);
            if value.starts_with('-') && value.len() > 1 && result.failure == Some(Failure::BadInput) {
                prop_assert!(result.output.contains("begins with `-`"), "{}", result.output);
                continue;
            }
            prop_assert_eq!(result.failure, None, "{}: {:?}", template, result.output);
            // A substitution takes the newlines at the end of its text, and none of these has one there.
            prop_assert_eq!(result.output, prints.replace('@', &value), "{}", template);
        }
        prop_assert!(!std::path::Path::new("/tmp/PWNED").exists());
    }
}
