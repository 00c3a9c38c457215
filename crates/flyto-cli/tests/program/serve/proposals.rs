//! Proposals of a model, which the user of its client is asked about in the call that makes them.

use serde_json::{Value, json};

use super::background::job;
use super::client::Client;
use super::http::Server;
use super::tools::text;
use crate::place::Place;

const SAVE: &str = "save: it can be called now and later";
const ONCE: &str = "once: it can be called until this server ends";
const LATER: &str = "later: it waits for `flyto evolve approve`";

/// A place whose configuration lets a model propose without a question before, and call `greet`.
fn place(evolve: &Value) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("plugins")).unwrap();
    let mut settings = json!({"dir": place.path().join("tools")});
    settings.as_object_mut().unwrap().extend(evolve.as_object().unwrap().clone());
    let config = json!({"permissions": {"allow": ["create_tool", "greet"]}, "evolve": settings});
    place.write("home/.config/flyto/config.json", &config.to_string());
    place
}

fn asks() -> Value {
    json!({"elicitation": {}})
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The call by which the model proposes `greet`.
fn proposal() -> Value {
    let definition = json!({
        "name": "greet", "description": "Greets.", "script": "echo \"hello $GREETED\"\n",
        "examples": [{"input": {}, "contains": ["hello"]}],
    });
    call("create_tool", &definition)
}

fn answer(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

/// A client of either era.
struct Asked {
    client: Client,
    is_modern: bool,
}

impl Asked {
    fn new(place: &Place, is_modern: bool) -> Self {
        let client = match is_modern {
            true => Client::modern(place, &[], &asks()),
            false => Client::legacy(place, &[], &asks()),
        };
        Self { client, is_modern }
    }

    /// Proposes, and gives what comes back: the question.
    fn ask(&mut self) -> Value {
        if self.is_modern {
            let mut asked = self.client.result("tools/call", proposal());
            asked["inputRequests"]["approval"]["params"].take()
        } else {
            self.client.request("tools/call", proposal());
            self.client.receive()["params"].take()
        }
    }

    /// Proposes, answers the question about the text, and gives the question and the result of the call.
    fn propose(&mut self, answer: &Value) -> (Value, Value) {
        if self.is_modern {
            let mut asked = self.client.result("tools/call", proposal());
            assert_eq!(asked["resultType"], "input_required", "{asked}");
            let mut again = proposal();
            again["inputResponses"] = json!({"approval": answer});
            again["requestState"] = asked["requestState"].take();
            let result = self.client.result("tools/call", again);
            (asked["inputRequests"]["approval"]["params"].take(), result)
        } else {
            let id = self.client.request("tools/call", proposal());
            let mut question = self.client.receive();
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let response = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer});
            self.client.send(&response);
            (question["params"].take(), self.client.response(id)["result"].take())
        }
    }

    fn greet(&mut self) -> Value {
        let id = self.client.request("tools/call", call("greet", &json!({})));
        self.client.response(id)
    }
}

/// What waits in the store of a place.
fn waiting(place: &Place) -> Vec<Value> {
    let listed = place.evolving(&["--format", "json", "evolve", "list"]).run();
    let listed: Value = serde_json::from_str(&listed.stdout()).unwrap();
    listed["pending"].as_array().unwrap().clone()
}

#[test]
fn a_text_that_is_saved_can_be_called_in_the_same_turn() {
    for is_modern in [false, true] {
        let place = place(&json!({}));
        let mut client = Asked::new(&place, is_modern);
        let (question, result) = client.propose(&answer(SAVE));
        let shown = question["message"].as_str().unwrap();
        // All that a terminal would show: the text, what it uses, and how its example went.
        for what in ["+echo \"hello $GREETED\"", "GREETED", "example"] {
            assert!(shown.contains(what), "{what}: {shown}");
        }
        let choices = &question["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(choices.as_array().unwrap().len(), 4, "{question}");
        assert_eq!(text(&result), "greet() is saved as version 1 and can be called now");
        assert_eq!(text(&client.greet()["result"]), "hello \n");
        // The log says by which way the person answered.
        let history = place.evolving(&["--format", "json", "evolve", "history", "greet"]).run();
        assert!(history.stdout().contains(", in a client\""), "{}", history.shown());
        // It is there in the next process as well.
        assert_eq!(place.evolving(&["call", "greet"]).run().stdout(), "hello \n");
    }
}

#[test]
fn a_text_that_is_let_run_once_ends_with_the_server() {
    for is_modern in [false, true] {
        let place = place(&json!({}));
        let mut client = Asked::new(&place, is_modern);
        let (_, result) = client.propose(&answer(ONCE));
        assert_eq!(text(&result), "greet can be called now, in this session only");
        assert_eq!(text(&client.greet()["result"]), "hello \n");
        drop(client);
        assert_eq!(waiting(&place), [json!(null); 0]);
        let ran = place.evolving(&["call", "greet"]).run();
        assert_eq!(ran.code, Some(4), "{}", ran.shown());
    }
}

#[test]
fn a_tool_that_cannot_be_called_now_is_explained() {
    for is_modern in [false, true] {
        let place = place(&json!({}));
        let mut client = Asked::new(&place, is_modern);
        client.propose(&answer(LATER));
        let why = |client: &mut Asked| client.greet()["error"]["message"].take();
        let waits = why(&mut client);
        let waits = waits.as_str().unwrap();
        assert!(waits.contains("a proposal of that name waits for an answer: `flyto "), "{waits}");
        let (_, result) = client.propose(&answer(SAVE));
        assert!(text(&result).contains("is saved as version 1"), "{result}");
        let archived = place.evolving(&["evolve", "archive", "greet"]).run();
        assert_eq!(archived.code, Some(0), "{}", archived.shown());
        let set_aside = why(&mut Asked::new(&place, is_modern));
        let set_aside = set_aside.as_str().unwrap();
        assert!(set_aside.contains("of that name was set aside: `flyto "), "{set_aside}");
    }
}

#[test]
fn a_denial_tells_the_model_why() {
    for is_modern in [false, true] {
        let place = place(&json!({}));
        let mut client = Asked::new(&place, is_modern);
        let no = json!({"decision": "deny", "reason": "use say"});
        let (_, result) = client.propose(&json!({"action": "accept", "content": no}));
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains("use say"), "{result}");
        // The client did not keep to the form.
        let no = json!({"decision": "deny", "reason": "\u{1b}[31m\u{202e}x"});
        let (_, result) =
            Asked::new(&place, is_modern).propose(&json!({"action": "accept", "content": no}));
        assert!(
            text(&result).contains("\\u{202e}x") && !text(&result).contains('\u{1b}'),
            "{result}"
        );
        let (_, result) = client.propose(&json!({"action": "decline"}));
        assert!(text(&result).contains("the user declined"), "{result}");
        // A text that was denied twice is not asked about again.
        let id = client.client.request("tools/call", proposal());
        let result = client.client.response(id)["result"].take();
        assert!(text(&result).contains("this very text was denied before"), "{result}");
        assert_eq!(waiting(&place), [json!(null); 0]);
    }
}

#[test]
fn any_other_answer_has_the_text_wait() {
    let answers = [
        answer(LATER),
        answer("yes"),
        json!({"action": "accept", "content": {"decision": 1}}),
        json!({"action": "accept"}),
        json!({"action": "cancel"}),
        json!({}),
    ];
    for (n, answer) in answers.iter().enumerate() {
        let place = place(&json!({}));
        let mut client = Asked::new(&place, n % 2 == 0);
        let (_, result) = client.propose(answer);
        assert!(text(&result).contains("the proposal waits for a person as"), "{answer}: {result}");
        assert_eq!(waiting(&place).len(), 1, "{answer}");
        assert_eq!(client.greet()["error"]["code"], -32602, "{answer}");
    }
}

#[test]
fn a_text_waits_where_the_client_goes_without_an_answer() {
    for is_modern in [false, true] {
        for is_killed in [false, true] {
            let place = place(&json!({}));
            let mut client = Asked::new(&place, is_modern);
            let question = client.ask();
            assert!(question["message"].as_str().unwrap().contains("greet"), "{question}");
            match is_killed {
                // The server is killed.
                true => drop(client),
                false => drop(client.client.close()),
            }
            assert_eq!(waiting(&place).len(), 1, "{is_modern} {is_killed}");
            // The next answer is one to it.
            let (_, result) = Asked::new(&place, is_modern).propose(&answer(SAVE));
            assert!(text(&result).contains("is saved as version 1"), "{result}");
            assert_eq!(waiting(&place), [json!(null); 0]);
        }
    }
    let place = place(&json!({}));
    let server = Server::start(&place, &[]);
    let asked = server.modern("tools/call", proposal()).event()["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(server.terminate(), Some(143));
    assert_eq!(waiting(&place).len(), 1);
}

#[test]
fn over_http_the_request_that_brings_the_answer_has_the_call_go_on() {
    let place = place(&json!({}));
    let server = Server::start(&place, &[]);
    let mut asked = server.modern("tools/call", proposal()).event()["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let mut again = proposal();
    again["inputResponses"] = json!({"approval": answer(SAVE)});
    again["requestState"] = asked["requestState"].take();
    let result = server.modern("tools/call", again).event()["result"].take();
    assert_eq!(text(&result), "greet() is saved as version 1 and can be called now");
}

#[test]
fn the_command_that_a_model_hands_on_leads_to_the_store_of_its_server() {
    let place = place(&json!({"ask_client": false}));
    let mut client = Client::legacy(&place, &["--evolve", "other"], &json!({}));
    let result = client.result("tools/call", proposal());
    let dir = place.path().display();
    let command =
        format!("`flyto --plugins {dir}/plugins --evolve {dir}/other evolve approve greet-");
    assert!(text(&result).contains(&command), "{result}");
}

#[test]
fn a_proposal_waits_where_no_client_is_asked() {
    let by_setting = (json!({"ask_client": false}), asks());
    let cannot_ask = (json!({}), json!({}));
    for (settings, capabilities) in [by_setting, cannot_ask] {
        let place = place(&settings);
        let mut client = Client::legacy(&place, &[], &capabilities);
        let result = client.result("tools/call", proposal());
        assert!(text(&result).contains("the proposal waits for a person as"), "{result}");
        let events = place.evolving(&["--format", "json", "evolve", "events", "greet"]).run();
        assert!(!events.stdout().contains("\"shown\""), "{}", events.shown());
    }
}

#[test]
fn a_client_that_cannot_ask_needs_a_rule_for_a_proposal_that_waits() {
    let allowed = json!({"allow": ["create_tool"]});
    let denied = json!({"allow": ["create_tool"], "deny": ["create_tool"]});
    for (permissions, waits) in [(json!({}), false), (allowed, true), (denied, false)] {
        for is_modern in [false, true] {
            let place = place(&json!({}));
            let config =
                json!({"permissions": permissions, "evolve": {"dir": place.path().join("tools")}});
            place.write("home/.config/flyto/config.json", &config.to_string());
            let mut client = match is_modern {
                true => Client::modern(&place, &[], &json!({})),
                false => Client::legacy(&place, &[], &json!({})),
            };
            let result = client.result("tools/call", proposal());
            let told = text(&result).contains("the proposal waits for a person as");
            assert_eq!(told, waits, "{permissions}: {result}");
            assert_eq!(result["isError"].as_bool().unwrap_or(false), !waits, "{result}");
            assert_eq!(waiting(&place).len(), usize::from(waits), "{permissions}");
        }
    }
}

#[test]
fn nothing_of_a_proposal_that_waits_at_once_has_run() {
    let place = place(&json!({}));
    let config = json!({
        "permissions": {"allow": ["create_tool"]}, "evolve": {"dir": place.path().join("tools")},
    });
    place.write("home/.config/flyto/config.json", &config.to_string());
    let mut client = Client::modern(&place, &[], &json!({}));
    let mut proposal = proposal();
    // Where it ran, it would be refused with what it printed.
    proposal["arguments"]["examples"] = json!([{"input": {}, "output": "not what it prints"}]);
    let result = client.result("tools/call", proposal);
    assert!(text(&result).contains("the proposal waits for a person as"), "{result}");
    let waiting = waiting(&place);
    assert_eq!(waiting.len(), 1);
    // Before a person decides, it runs.
    let id = waiting[0]["id"].as_str().unwrap();
    let ran = place.evolving(&["evolve", "approve", "--yes", id]).run();
    assert!(ran.shown().contains("not what it prints"), "{}", ran.shown());
}

#[test]
fn a_proposal_of_a_job_waits() {
    for is_modern in [false, true] {
        let place = place(&json!({}));
        let words = ["--task-after", "60"];
        let mut client = match is_modern {
            true => Client::modern(&place, &words, &asks()),
            false => Client::legacy(&place, &words, &asks()),
        };
        let arguments = proposal()["arguments"].take();
        let started =
            job(&mut client, "start", json!({"tool": "create_tool", "arguments": arguments}));
        let id = &started["structuredContent"]["job"];
        let result = job(&mut client, "result", json!({"job": id, "wait_seconds": 60}));
        assert!(text(&result).contains("the proposal waits for a person as"), "{result}");
    }
}
