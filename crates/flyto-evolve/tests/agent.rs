//! The tools by which an agent makes tools.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::sync::Arc;

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_evolve::{
    Answer, Approver, ApproverError, Decision, HostContext, Review, Store, ToolBuilder,
    agent_tools, export, import, parse_proposal,
};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::{CallContext, Input, Registry};
use serde_json::{Value, json};

/// Says yes, but to what is proposed because of a wish.
#[derive(Debug)]
struct Person;

#[async_trait::async_trait]
impl Approver for Person {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        let answer = match review.definition["rationale"].as_str() {
            Some("a wish") => Answer::Deny { reason: "not needed".into() },
            Some("later") => Answer::Later,
            _ => Answer::Save,
        };
        Ok(Decision::new(answer, "ada"))
    }
}

struct Agent {
    _temp: tempfile::TempDir,
    registry: Arc<Registry>,
    builder: ToolBuilder,
}

impl Agent {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let registry = Arc::new(Registry::new());
        let env: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
        let host = HostContext::new(env, "/tmp");
        let store = Store::new(temp.path().join("evolution"));
        let builder =
            ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::clone(&registry))
                .approver(Arc::new(Person))
                .build();
        for tool in agent_tools(&builder, "session-7").unwrap() {
            registry.register("host", tool).unwrap();
        }
        Self { _temp: temp, registry, builder }
    }

    async fn check(&self, name: &str, input: Value, expect: Expect) {
        let entry = self.registry.get(name).expect("it is there");
        let result =
            entry.tool().execute(&CallContext::new(), Input::from_value(input)).await.unwrap();
        // The time of saving is another one in each run.
        let output: Vec<&str> =
            result.output.lines().filter(|it| !it.contains("\"created_at\"")).collect();
        expect.assert_eq(&format!("{}\n{:?}", output.join("\n"), result.failure));
    }
}

#[tokio::test]
async fn an_agent_makes_a_tool_and_calls_it_in_the_same_turn() {
    let agent = Agent::new();
    let upper = json!({
        "name": "upper", "description": "Prints a text in capitals.",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "command": "printf %s {{.text}} | tr a-z A-Z", "tags": ["case"]
    });
    agent
        .check(
            "list_tools",
            json!({}),
            expect![[r#"
                none
                None"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            upper.clone(),
            expect![[r#"
        upper(text?: string) is saved as version 1 and can be called now
        None"#]],
        )
        .await;
    agent
        .check(
            "upper",
            json!({"text": "it's $HOME"}),
            expect![[r#"
        IT'S $HOME
        None"#]],
        )
        .await;
    agent.check("create_tool", upper.clone(), expect![[r#"
        there is a tool "upper", at version 1
        what to do: to change it, propose an update of "upper" with the base version 1; else choose another name
        Some(Reported { code: None })"#]]).await;
    agent
        .check(
            "list_tools",
            json!({}),
            expect![[r#"
                upper (version 1): Prints a text in capitals.
                None"#]],
        )
        .await;
    agent
        .check(
            "list_tools",
            json!({"name": "upper"}),
            expect![[r#"
                {
                  "command": "printf %s {{.text}} | tr a-z A-Z",
                  "concurrency_safe": false,
                  "created_by": "session-7",
                  "description": "Prints a text in capitals.",
                  "execution_type": "command",
                  "input_schema": {
                    "properties": {
                      "text": {
                        "type": "string"
                      }
                    },
                    "type": "object"
                  },
                  "name": "upper",
                  "read_only": false,
                  "tags": [
                    "case"
                  ],
                  "version": 1
                }
                None"#]],
        )
        .await;
    agent
        .check(
            "list_tools",
            json!({"name": "lower"}),
            expect![[r#"
        there is no tool "lower" that was created
        Some(Reported { code: None })"#]],
        )
        .await;
    let mut next = upper.clone();
    next["base_version"] = 1.into();
    next["command"] = "tr a-z A-Z <<< {{.text}}".into();
    // A key that is not known is told, as by create_tool.
    for (tool, key) in [("update_tool", "timeout_second"), ("create_tool", "exampels")] {
        let mut mistyped = next.clone();
        mistyped[key] = json!(5);
        if tool == "create_tool" {
            mistyped.as_object_mut().unwrap().remove("base_version");
        }
        let tool = agent.registry.get(tool).unwrap();
        assert_eq!(tool.tool().input_schema()["additionalProperties"], false);
        let res = tool.tool().execute(&CallContext::new(), Input::from_value(mistyped)).await;
        let told = format!("{res:?}");
        assert!(told.contains(key) && !told.contains("is saved"), "{told}");
    }
    agent
        .check(
            "update_tool",
            next.clone(),
            expect![[r#"
        upper(text?: string) is saved as version 2 and can be called now
        None"#]],
        )
        .await;
    agent
        .check(
            "update_tool",
            next,
            expect![[r#"
        the tool "upper" is at version 2, and the proposal is based on version 1
        what to do: read version 2 of "upper", and propose your change again with the base version 2
        Some(Reported { code: None })"#]],
        )
        .await;
    agent
        .check(
            "upper",
            json!({"text": "b"}),
            expect![[r#"
                B
                None"#]],
        )
        .await;
    agent.check("search_tools", json!({"query": "text in upper case"}), expect![[r#"
        upper (version 2): Prints a text in capitals.
        create_tool: Creates a tool that can be called at once, after a person approved it. Write one for what will be needed again, and search for an existing one first. A script runs in bash: parameters are in $TOOL_INPUT_NAME (upper case, `-` becomes `_`), the whole input is JSON on stdin, secrets are read from environment variables.
        None"#]]).await;
    agent.check("search_tools", json!({"query": "case"}), expect![[r#"
        upper (version 2): Prints a text in capitals.
        create_tool: Creates a tool that can be called at once, after a person approved it. Write one for what will be needed again, and search for an existing one first. A script runs in bash: parameters are in $TOOL_INPUT_NAME (upper case, `-` becomes `_`), the whole input is JSON on stdin, secrets are read from environment variables.
        None"#]]).await;
}

#[tokio::test]
async fn an_agent_is_told_of_a_tool_that_fails() {
    let agent = Agent::new();
    let exits = json!({
        "name": "exits", "description": "Ends with a code.", "script": "exit \"$TOOL_INPUT_CODE\"\n",
        "input_schema": {"type": "object", "properties": {"code": {"type": "integer"}}}
    });
    agent
        .check(
            "create_tool",
            exits,
            expect![[r#"
        exits(code?: integer) is saved as version 1 and can be called now
        None"#]],
        )
        .await;
    for code in [3, 4, 5] {
        let entry = agent.registry.get("exits").unwrap();
        let input = Input::from_value(json!({ "code": code }));
        assert!(entry.tool().execute(&CallContext::new(), input).await.unwrap().is_error());
    }
    agent
        .check(
            "list_tools",
            json!({}),
            expect![[r#"
                exits (version 1): Ends with a code.
                the last 3 calls of exits failed (exit code 5): where its text is the reason, update_tool mends it
                None"#]],
        )
        .await;
}

#[tokio::test]
async fn refusals_are_results_that_say_what_to_do() {
    let agent = Agent::new();
    let with = |change: Value| {
        let mut def = json!({"name": "t", "description": "Tests a thing.", "script": "uptime"});
        def.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        def
    };
    agent
        .check(
            "create_tool",
            with(json!({"name": "Bash"})),
            expect![[r#"
        the name "Bash" is that of a tool of the host
        what to do: choose a name that says what the tool does and is like no other
        Some(Reported { code: None })"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            with(json!({"script": "for"})),
            expect![[r#"
        bash cannot read the text: t: -c: line 1: syntax error near unexpected token `newline'
        t: -c: line 1: `for'
        what to do: correct the text and propose it again
        Some(Reported { code: None })"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            with(json!({"command": "date"})),
            expect![[r#"
                the definition cannot be used: /command: a tool has one text, and "script" and "command" are there
                what to do: remove one of them
                Some(Reported { code: None })"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            with(json!({"script": null})),
            expect![[r#"
                the definition cannot be used: a tool needs a "script", a "command" or a "composite"
                what to do: write what is run under one of these keys
                Some(Reported { code: None })"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            with(json!({"rationale": "a wish"})),
            expect![[r#"
        denied: not needed
        what to do: do what the reason says, or go on without the tool
        Some(Denied)"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            with(json!({"rationale": "later"})),
            expect![[r#"
                the proposal waits for a person as "t-c956d6ed317120d1ffca12422782c64425045f94"; go on without the tool, and tell the user that `flyto evolve approve t-c956d6ed317120d1ffca12422782c64425045f94` shows it and asks
                None"#]],
        )
        .await;
    agent.check("create_tool", with(json!({"acknowledge": true})), expect![[r#"
        invalid input: /acknowledge: unknown field `acknowledge`, expected one of `name`, `description`, `input_schema`, `execution_type`, `script`, `command`, `composite`, `timeout_seconds`, `rationale`, `tags`, `concurrency_safe`, `read_only`, `examples`, `distinct_because`
        Some(BadInput)"#]]).await;
}

#[tokio::test]
async fn an_imported_tool_is_asked_for_like_any_other() {
    let from = Agent::new();
    let def =
        json!({"name": "up", "description": "Says how long the system runs.", "script": "echo up"});
    from.check(
        "create_tool",
        def,
        expect![[r#"
        up() is saved as version 1 and can be called now
        None"#]],
    )
    .await;
    let text = export(&from.builder.store().last("up").unwrap().unwrap());
    let to = Agent::new();
    let proposal = import(&text, "a friend", "ada").unwrap();
    let review = to.builder.dry_run(&proposal).await.unwrap();
    assert_eq!(review.imported_from.as_deref(), Some("a friend"));
    to.builder.apply(proposal).await.unwrap();
    to.check(
        "up",
        json!({}),
        expect![[r#"
            up
            None"#]],
    )
    .await;
    let (a, b) = (
        from.builder.store().last("up").unwrap().unwrap(),
        to.builder.store().last("up").unwrap().unwrap(),
    );
    assert_eq!(a.hash(), b.hash());
    for other in ["", "{}", "[]", &text.replace("-tool/1", "-tool/9")] {
        assert!(import(other, "x", "y").is_err(), "{other}");
    }
}

#[tokio::test]
async fn a_definition_has_one_form_for_agents_and_for_files() {
    let agent = Agent::new();
    let def = json!({"name": "now", "description": "The time.", "script": "date\n"});
    let typed = |kind: &str| {
        let mut def = def.clone();
        def["execution_type"] = kind.into();
        def
    };
    let file = |def: &Value| {
        flyto_evolve::parse_proposal(&flyto_diagnostics::Source::new("a", def.to_string()))
            .definition
    };
    assert_eq!(file(&def), file(&typed("script")));
    assert!(file(&def).is_some() && file(&typed("command")).is_none());
    agent
        .check(
            "create_tool",
            typed("command"),
            expect![[r#"
            the definition cannot be used: /script: a tool of the type "command" has no "script"
            what to do: remove it, or write "execution_type": "script"
            Some(Reported { code: None })"#]],
        )
        .await;
    agent
        .check(
            "create_tool",
            typed("script"),
            expect![[r#"
            now() is saved as version 1 and can be called now
            None"#]],
        )
        .await;
}

/// The keys that a mistyped one is answered with are those that an agent and a reader of the guide are told of.
#[test]
fn every_key_of_a_composite_is_described() {
    let def = json!({
        "name": "t", "description": "Does t.",
        "composite": {"steps": [{"id": "a", "tool": "t", "qqqqqqqq": 1}], "qqqqqqqq": 1},
    });
    let parsed = parse_proposal(&Source::new("proposal", def.to_string()));
    let help = parsed.findings.iter().filter_map(|it| it.help.as_deref());
    let keys: Vec<&str> = help
        .filter_map(|it| it.strip_prefix("the keys are "))
        .flat_map(|it| it.split(", "))
        .collect();
    assert_eq!(keys.len(), 4 + 13, "{keys:?}");
    let agent = Agent::new();
    let tool = agent.registry.get("create_tool").unwrap();
    let schema = &tool.tool().input_schema()["properties"]["composite"];
    let schema = schema["description"].as_str().unwrap();
    let guide = include_str!("../../../docs/guide/evolve.md");
    for key in keys {
        assert!(schema.contains(&format!("\"{key}\"")), "{key} is missing in {schema}");
        assert!(guide.contains(&format!("\n| `{key}` | ")), "{key} is missing in the guide");
    }
}

/// What `flyto evolve deny` does, in another process.
fn deny(agent: &Agent, reason: &str) {
    let store = Store::new(agent.builder.store().dir());
    let id = store.pending().unwrap().pop().unwrap().id;
    store.unstage(&id).unwrap();
    let body = json!({"id": id, "tool": "t", "by": "ada", "reason": reason});
    store.log().unwrap().event("", "denied", &body).unwrap();
}

#[tokio::test]
async fn an_agent_is_told_what_was_denied_in_another_process() {
    let agent = Agent::new();
    let wait = |script: &str| {
        let text = "Tests a thing.";
        json!({"name": "t", "description": text, "script": script, "rationale": "later"})
    };
    let create = async |script: &str| {
        let entry = agent.registry.get("create_tool").unwrap();
        let input = Input::from_value(wait(script));
        entry.tool().execute(&CallContext::new(), input).await.unwrap()
    };
    let first = create("uptime").await;
    let id = first.data.unwrap()["id"].as_str().unwrap().to_owned();
    deny(&agent, "use grep instead");
    let second = create("whoami").await;
    let line = format!("the proposal {id:?} was denied: use grep instead\n");
    assert!(second.output.ends_with(&line), "{}", second.output);
    let data = second.data.unwrap();
    assert_eq!(data["denials"], json!([{"id": id, "reason": "use grep instead"}]));
    // It is told once, and listed always.
    deny(&agent, "");
    let third = create("uptime").await;
    assert!(!third.output.contains("grep"), "{}", third.output);
    deny(&agent, "use grep, I said");
    agent
        .check(
            "list_tools",
            json!({}),
            expect![[r#"
        none
        the proposal "t-c956d6ed317120d1ffca12422782c64425045f94" was denied: use grep instead
        the proposal "t-607a4dce209b17a188976678761fa09799ab7f0e" was denied
        the proposal "t-c956d6ed317120d1ffca12422782c64425045f94" was denied: use grep, I said
        None"#]],
        )
        .await;
    // A text that was denied twice is not kept for a person again.
    agent
        .check(
            "create_tool",
            wait("uptime"),
            expect![[r#"
        denied: this very text was denied before; a person is not asked again
        what to do: do what the reason says, or go on without the tool
        Some(Denied)"#]],
        )
        .await;
}
