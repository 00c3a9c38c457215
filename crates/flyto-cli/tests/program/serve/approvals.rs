//! What the rules ask about, and checkpoints, put to the user of the client.

use std::process::Command;

use serde_json::{Value, json};

use super::client::Client;
use super::tools::{allowed, text};
use crate::place::Place;

const ONCE: &str = "approve once";
const SESSION: &str = "approve for this session";

/// Each run of it adds a line.
const COUNTED: &str = "echo ran >>ran; echo done";

fn n_runs(place: &Place) -> usize {
    let path = place.path().join("plugins/p/ran");
    std::fs::read_to_string(path).map_or(0, |it| it.lines().count())
}

fn asks() -> Value {
    json!({"elicitation": {}})
}

fn accept(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

fn call(arguments: &Value) -> Value {
    json!({"name": "p__t", "arguments": arguments})
}

/// Calls the tool with an answer to each question of the server, in the era of handshakes. Gives the result and the
/// questions.
fn legacy_call(client: &mut Client, answers: &[Value]) -> (Value, Vec<Value>) {
    let id = client.request("tools/call", call(&json!({})));
    let mut questions = Vec::new();
    for answer in answers {
        let mut question = client.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        questions.push(question["params"].take());
    }
    let response = client.receive();
    assert_eq!(response["id"], id, "{response}");
    (response["result"].clone(), questions)
}

/// The same in the era without.
fn modern_call(client: &mut Client, answers: &[Value]) -> (Value, Vec<Value>) {
    let mut questions = Vec::new();
    let mut params = call(&json!({}));
    let mut answers = answers.iter();
    loop {
        let result = client.result("tools/call", params.clone());
        if result["resultType"] == "complete" {
            assert_eq!(answers.next(), None);
            return (result, questions);
        }
        assert_eq!(result["resultType"], "input_required", "{result}");
        let request = &result["inputRequests"]["approval"];
        assert_eq!(request["method"], "elicitation/create");
        questions.push(request["params"].clone());
        params["inputResponses"] = json!({"approval": answers.next().unwrap()});
        params["requestState"] = result["requestState"].clone();
    }
}

type Call = fn(&mut Client, &[Value]) -> (Value, Vec<Value>);
type Start = fn(&Place, &[&str], &Value) -> Client;
const ERAS: [(Start, Call); 2] = [(Client::legacy, legacy_call), (Client::modern, modern_call)];

#[test]
fn the_question_is_the_plan_of_the_call() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    for (start, call) in ERAS {
        let mut client = start(&place, &[], &asks());
        let (result, questions) = call(&mut client, &[accept(ONCE)]);
        assert_eq!((text(&result), &result["isError"]), ("done\n", &json!(false)));
        let message = questions[0]["message"].as_str().unwrap();
        let dir = place.path().to_str().unwrap();
        let shown = message.replace(dir, "DIR");
        expect_test::expect![[r#"
            flyto asks before this call of p:t (plugin p).
            runs: sh t.sh
            in: DIR/plugins/p
            input: {}
            because: ask: `sh t.sh`: no rule allows it; to allow it: p:t
            rule for this session: p:t"#]]
        .assert_eq(&shown);
        let schema = &questions[0]["requestedSchema"];
        assert_eq!(schema["properties"]["decision"]["enum"], json!([ONCE, SESSION, "deny"]));
        assert_eq!(schema["required"], json!(["decision"]));
    }
    assert_eq!(n_runs(&place), 2);
}

#[test]
fn an_answer_once_holds_once_and_one_for_the_session_until_its_end() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    for (start, call) in ERAS {
        let mut client = start(&place, &[], &asks());
        for answers in
            [vec![accept(ONCE)], vec![accept(ONCE)], vec![accept(SESSION)], vec![], vec![]]
        {
            let (result, questions) = call(&mut client, &answers);
            assert_eq!((text(&result), questions.len()), ("done\n", answers.len()));
        }
    }
    assert_eq!(n_runs(&place), 10);
}

#[test]
fn everything_but_a_clear_yes_is_a_no() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    for (start, call) in ERAS {
        let mut client = start(&place, &[], &asks());
        for (answer, why) in [
            (accept("deny"), "the user declined"),
            (json!({"action": "decline"}), "the user declined"),
            (json!({"action": "cancel"}), "the user dismissed the question"),
            (json!({"action": "accept"}), "none of the choices"),
            (json!({"action": "accept", "content": {"decision": true}}), "none of the choices"),
            (accept("yes"), "none of the choices"),
            (json!("approve once"), "none of the choices"),
        ] {
            let (result, _) = call(&mut client, &[answer]);
            assert_eq!(result["isError"], true);
            let shown = text(&result);
            assert!(shown.contains(why) && !shown.contains("to allow it"), "{why}: {result}");
            let refusal = &result["_meta"]["dev.flyto/refusal"];
            assert_eq!(*refusal, json!({"stage": "permission"}));
        }
    }
    assert_eq!(n_runs(&place), 0);
}

#[test]
fn a_client_that_cannot_ask_gets_a_refusal_that_says_how_to_allow() {
    let checkpoint = r#""requires_checkpoint": true"#;
    let place = allowed(&[("t", COUNTED, checkpoint)]);
    for (start, call) in ERAS {
        // Links are no forms.
        for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
            let mut client = start(&place, &[], &capabilities);
            let (result, _) = call(&mut client, &[]);
            assert_eq!(result["isError"], true);
            let shown = text(&result);
            assert!(shown.contains("cannot ask its user"), "{shown}");
            assert_eq!(shown.matches(r#"{"permissions":{"allow":["p:t"]}}"#).count(), 1, "{shown}");
        }
    }
    assert_eq!(n_runs(&place), 0);
}

#[test]
fn a_checkpoint_is_asked_although_a_wider_rule_allows() {
    let checkpoint = r#""requires_checkpoint": true"#;
    let place = allowed(&[("t", COUNTED, checkpoint)]);
    for (start, call) in ERAS {
        let mut client = start(&place, &[], &asks());
        let (result, questions) = call(&mut client, &[accept(ONCE)]);
        assert_eq!(text(&result), "done\n");
        let message = questions[0]["message"].as_str().unwrap();
        assert!(
            message.contains("because: the tool asks for a release before each call"),
            "{message}"
        );
        let decision = &questions[0]["requestedSchema"]["properties"]["decision"];
        assert_eq!(decision["enum"], json!([ONCE, "deny"]));
        // A choice that was not offered is none.
        let (result, _) = call(&mut client, &[accept(SESSION)]);
        assert!(text(&result).contains("none of the choices"), "{result}");
    }
    assert_eq!(n_runs(&place), 2);
}

#[test]
fn a_call_is_asked_about_once_for_every_reason() {
    let place = Place::with_tools(&[("t", COUNTED, r#""requires_checkpoint": true"#)]);
    for (start, call) in ERAS {
        let mut client = start(&place, &[], &asks());
        // A release is for each call, so that each is asked about.
        for _ in 0..2 {
            let (result, questions) = call(&mut client, &[accept(ONCE)]);
            assert_eq!((text(&result), questions.len()), ("done\n", 1));
            let message = questions[0]["message"].as_str().unwrap();
            let reasons: Vec<_> =
                message.lines().filter_map(|it| it.strip_prefix("because: ")).collect();
            assert_eq!(
                reasons,
                [
                    "ask: `sh t.sh`: no rule allows it; to allow it: p:t",
                    "the tool asks for a release before each call",
                ]
            );
            assert!(!message.contains("for this session"), "{message}");
            let decision = &questions[0]["requestedSchema"]["properties"]["decision"];
            assert_eq!(decision["enum"], json!([ONCE, "deny"]));
        }
        let (result, _) = call(&mut client, &[json!({"action": "decline"})]);
        assert_eq!(result["isError"], true);
    }
    assert_eq!(n_runs(&place), 4);
    let reader = flyto_audit::Reader::open(crate::audit::log_dir(&place)).unwrap();
    let bodies = reader.follow_after(0).unwrap().map(|it| it.unwrap().body);
    let released: Vec<_> =
        bodies.filter_map(|it| it.get("checkpoint").cloned()).take(n_runs(&place)).collect();
    assert_eq!(released, vec![json!("once"); 4]);
}

#[test]
fn an_approval_for_the_session_releases_no_checkpoint() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let mut client = Client::legacy(&place, &[], &asks());
    let (result, _) = legacy_call(&mut client, &[accept(SESSION)]);
    assert_eq!(text(&result), "done\n");
    // The same tool asks for a release from now on.
    place.plugin("p", &[("t", COUNTED, r#""requires_checkpoint": true"#)]);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    for _ in 0..2 {
        let (result, questions) = legacy_call(&mut client, &[accept(ONCE)]);
        assert_eq!((text(&result), questions.len()), ("done\n", 1));
    }
}

/// A rule that is copied from a question, or from a refusal, holds.
#[test]
fn a_rule_that_is_shown_holds_where_it_is_copied() {
    let place = Place::new();
    let tool = json!({
        "name": "t", "description": "d", "command": "echo {{x}}",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    });
    place.write("plugins/p/plugin.json", &json!({"name": "p", "tools": [tool]}).to_string());
    let config = "home/.config/flyto/config.json";
    for (value, is_in_question) in [
        ("two  words", true),
        (r#"a'b "c" \d"#, true),
        ("größer 字", true),
        ("\u{202e}evil\u{2066}", false),
        ("tag\u{e0041}", false),
        ("e\u{301}", false),
    ] {
        let call = call(&json!({"x": value}));
        place.write(config, "{}");
        let mut client = Client::legacy(&place, &[], &asks());
        client.request("tools/call", call.clone());
        let question = client.receive();
        let message = question["params"]["message"].as_str().unwrap().to_owned();
        let rule = message.split_once("; to allow it: ").map(|it| it.1.lines().next().unwrap());
        assert_eq!(rule.is_some(), is_in_question, "{message}");
        drop(client);
        // Without a question it is refused, with the rule as JSON.
        let mut client = Client::legacy(&place, &[], &json!({}));
        let refused = client.result("tools/call", call.clone());
        let (_, entry) = text(&refused).split_once("to allow it, put ").unwrap();
        let (entry, _) = entry.split_once(" into ").unwrap();
        assert!(!entry.contains(flyto_tools::is_hidden), "{entry}");
        drop(client);
        let operator = place.flyto(&["--plugins", "plugins", "permission", "test", "p:t"]);
        let given = |it: &mut Command| {
            it.arg(format!("x={value}"));
        };
        let shown = operator.command(given).run().shown();
        assert_eq!(shown.contains("; to allow it: "), is_in_question, "{shown}");

        let of_question = rule.map(|it| json!({"permissions": {"allow": [it]}}).to_string());
        for config_text in of_question.iter().map(String::as_str).chain([entry]) {
            place.write(config, config_text);
            let mut client = Client::legacy(&place, &[], &json!({}));
            let result = client.result("tools/call", call.clone());
            assert_eq!(text(&result), format!("{value}\n"), "{config_text}");
        }
    }
}

#[test]
fn a_call_that_no_question_shows_whole_is_refused() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    for start in [Client::legacy, Client::modern] {
        let mut client = start(&place, &[], &asks());
        let long = call(&json!({"text": "x".repeat(256 * 1024)}));
        let result = client.result("tools/call", long);
        let shown = text(&result);
        assert!(shown.contains("the input has 262155 bytes"), "{shown}");
        assert!(shown.contains(r#"to allow it, put {"permissions":{"allow":["p:t"]}}"#), "{shown}");
    }
    // What would be shown escaped counts as it would be shown.
    let mut client = Client::modern(&place, &[], &asks());
    let escaped = client.result("tools/call", call(&json!({"text": "\u{202e}".repeat(50_000)})));
    assert!(text(&escaped).contains("a question about it would have"), "{}", text(&escaped));
    assert_eq!(n_runs(&place), 0);
}

#[test]
fn a_long_input_is_shown_whole_behind_the_reasons() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let long = format!("{}middle{}", "x".repeat(100_000), "x".repeat(100_000));
    let arguments = json!({"text": long, "b": 1});
    let end = format!("\ninput: {{\"b\":1,\"text\":\"{long}\"}}");
    let mut client = Client::legacy(&place, &[], &asks());
    client.request("tools/call", call(&arguments));
    let question = client.receive();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.ends_with(&end) && message[..2000].contains("\nbecause: "));
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(ONCE)}));
    assert_eq!(text(&client.receive()["result"]), "done\n");

    let mut client = Client::modern(&place, &[], &asks());
    let asked = client.result("tools/call", call(&arguments));
    let message = asked["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    assert!(message.ends_with(&end) && message[..2000].contains("\nbecause: "));
    let answered = |arguments: Value| {
        json!({
            "name": "p__t", "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {"approval": accept(ONCE)},
        })
    };
    // What was approved is what runs: one byte in the middle makes another call.
    let other = json!({"text": long.replace("middle", "muddle"), "b": 1});
    let (_, message) = client.error("tools/call", answered(other));
    assert!(message.contains("belongs to another call"), "{message}");
    assert_eq!(n_runs(&place), 1);
    let result = client.result("tools/call", answered(arguments));
    assert_eq!((text(&result), n_runs(&place)), ("done\n", 2));
}

#[test]
fn a_sealed_answer_holds_for_its_call_and_once() {
    let place = Place::with_tools(&[("t", COUNTED, ""), ("u", COUNTED, "")]);
    let mut client = Client::modern(&place, &[], &asks());
    let arguments = json!({"a": 1, "b": 2});
    let question = client.result("tools/call", call(&arguments));
    let state = question["requestState"].as_str().unwrap().to_owned();
    let answered = |tool: &str, arguments: Value, state: &str| {
        json!({
            "name": tool, "arguments": arguments, "requestState": state,
            "inputResponses": {"approval": accept(ONCE)},
        })
    };
    let mut changed = state.clone();
    changed.replace_range(8..9, if &state[8..9] == "A" { "B" } else { "A" });
    for (tool, arguments, state, why) in [
        ("p__t", json!({"a": 1, "b": 3}), state.as_str(), "belongs to another call"),
        ("p__u", arguments.clone(), &state, "belongs to another call"),
        ("p__t", arguments.clone(), &changed, "was changed"),
        ("p__t", arguments.clone(), "", "was changed"),
    ] {
        let (code, message) = client.error("tools/call", answered(tool, arguments, state));
        assert_eq!(code, -32602);
        assert!(message.contains(why), "{message}");
    }
    // An answer without the state is none.
    let result = client.result(
        "tools/call",
        json!({"name": "p__t", "arguments": arguments, "inputResponses": {"approval": accept(ONCE)}}),
    );
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(n_runs(&place), 0);
    // The order of keys is no difference.
    let result = client.result("tools/call", answered("p__t", json!({"b": 2, "a": 1}), &state));
    assert_eq!(text(&result), "done\n");
    let (code, message) = client.error("tools/call", answered("p__t", arguments, &state));
    assert_eq!(code, -32602);
    assert!(message.contains("used already"), "{message}");
    assert_eq!(n_runs(&place), 1);
}

#[test]
fn a_state_without_its_answer_is_asked_again() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let mut client = Client::modern(&place, &[], &asks());
    let question = client.result("tools/call", call(&json!({})));
    let again = client.result(
        "tools/call",
        json!({"name": "p__t", "arguments": {}, "requestState": question["requestState"]}),
    );
    assert_eq!(again["resultType"], "input_required");
    assert_eq!(again["inputRequests"], question["inputRequests"]);
    assert_ne!(again["requestState"], question["requestState"]);
    assert_eq!(n_runs(&place), 0);
}

#[test]
fn an_answer_does_not_hold_for_another_plan() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let mut client = Client::modern(&place, &[], &asks());
    let question = client.result("tools/call", call(&json!({})));
    // The tool becomes another one between the question and the answer.
    let manifest = r#"{"name": "p", "tools": [{"name": "t", "description": "d", "command": "sh", "args": ["other.sh"]}]}"#;
    place.write("plugins/p/other.sh", COUNTED);
    let id = client
        .request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(client.receive()["method"], "notifications/subscriptions/acknowledged", "{id}");
    place.write("plugins/p/plugin.json", manifest);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let result = client.result(
        "tools/call",
        json!({
            "name": "p__t", "arguments": {}, "requestState": question["requestState"],
            "inputResponses": {"approval": accept(ONCE)},
        }),
    );
    assert_eq!(result["resultType"], "input_required", "{result}");
    let message = result["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("runs: sh other.sh"), "{message}");
    assert_eq!(n_runs(&place), 0);
}

#[test]
fn a_question_shows_no_token_and_its_answer_is_bound_to_the_token() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let other = ["ghp_", "26C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let hidden = "[redacted: github-token, 40 characters]";
    let manifest = |token: &str| {
        let tool =
            json!({"name": "t", "description": "d", "command": "sh", "args": ["t.sh", token]});
        json!({"name": "p", "tools": [tool]}).to_string()
    };
    place.write("plugins/p/plugin.json", &manifest(&token));
    let arguments = json!({"key": token, "then": format!("$({token})")});
    let is_hidden = |message: &str| {
        assert!(message.contains(&format!("\nruns: sh t.sh {hidden}\n")), "{message}");
        assert!(message.contains(&format!("{{\"key\":\"{hidden}\"")), "{message}");
    };
    let mut client = Client::legacy(&place, &[], &asks());
    client.request("tools/call", call(&arguments));
    let question = client.receive();
    is_hidden(question["params"]["message"].as_str().unwrap());
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(ONCE)}));
    assert_eq!(text(&client.receive()["result"]), "done\n");

    let mut client = Client::modern(&place, &[], &asks());
    client.request("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(client.receive()["method"], "notifications/subscriptions/acknowledged");
    let question = client.result("tools/call", call(&arguments));
    let request = &question["inputRequests"]["approval"];
    is_hidden(request["params"]["message"].as_str().unwrap());
    place.write("plugins/p/plugin.json", &manifest(&other));
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let again = client.result(
        "tools/call",
        json!({
            "name": "p__t", "arguments": arguments, "requestState": question["requestState"],
            "inputResponses": {"approval": accept(ONCE)},
        }),
    );
    assert_eq!(&again["inputRequests"]["approval"], request, "the same text, and another plan");
    assert_eq!(n_runs(&place), 1);
}

#[test]
fn a_token_beside_a_control_character_is_not_shown_either() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let (a, b) = token.split_at(9);
    let texts = [
        format!("{token}\u{1}"),
        format!("\u{1}{token}"),
        format!("{token}\u{1b}[0m echo"),
        format!("echo \u{1b}[1m{token}"),
        format!("{a}\u{200b}{b}"),
    ];
    for text in texts {
        let mut client = Client::legacy(&place, &[], &asks());
        client.request("tools/call", call(&json!({"c": [text], text.clone(): 1})));
        let question = client.receive();
        let message = question["params"]["message"].as_str().unwrap();
        assert!(!message.contains(b), "{message}");
        assert_eq!(message.matches("[redacted: github-token").count(), 2, "{message}");
    }
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let mut client = Client::legacy(&place, &[], &asks());
    let id = client.request("tools/call", call(&json!({})));
    let question = client.receive();
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    let message = client.receive();
    assert_eq!(message["method"], "notifications/cancelled", "{message}");
    assert_eq!(message["params"]["requestId"], question["id"]);
    // An answer that comes too late means nothing.
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(ONCE)}));
    assert_eq!(client.result("ping", json!({})), json!({}));
    assert_eq!(n_runs(&place), 0);
}

#[test]
fn the_end_of_a_client_is_a_no() {
    let place = Place::with_tools(&[("t", COUNTED, "")]);
    let mut client = Client::legacy(&place, &[], &asks());
    client.request("tools/call", call(&json!({})));
    client.receive();
    let (status, rest, _) = client.end();
    assert!(status.success());
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(text(&rest[0]["result"]).contains("no answer"), "{rest:?}");
    assert_eq!(n_runs(&place), 0);
}
