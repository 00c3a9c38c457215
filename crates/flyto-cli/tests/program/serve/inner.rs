//! Calls that a tool makes within its own, put to the user of the client. Those before them have run by then.

use std::fs::File;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::background::{GATED, ended, job, knows_tasks, task};
use super::client::Client;
use super::http::Server;
use super::running::{TREE, fifo, lines, survivors, watched};
use super::tools::text;
use crate::evolve_composite::{approve, composite, place as with_steps};
use crate::place::Place;

/// A place with the tool `all_or_none`: four steps in a row, of which the third fails, so that those before it are undone. `do_it` is
/// asked about.
fn place() -> Place {
    let place = with_steps();
    approve(&place, &composite("all_or_none"));
    configure(&place, &["all_or_none", "undo_it"]);
    place
}

fn configure(place: &Place, allow: &[&str]) {
    std::fs::create_dir_all(place.path().join("plugins")).unwrap();
    let config = json!({
        "permissions": {"allow": allow},
        "evolve": {"dir": place.path().join("tools")},
        "plugins": {"enabled": true, "plugin_dirs": [place.path().join("plugins")]},
    });
    place.write("home/.config/flyto/config.json", &config.to_string());
}

fn asks() -> Value {
    json!({"elicitation": {}})
}

fn accept() -> Value {
    json!({"action": "accept", "content": {"decision": "approve once"}})
}

fn decline() -> Value {
    json!({"action": "decline"})
}

fn call(name: &str) -> Value {
    json!({"name": name, "arguments": {}})
}

/// What the steps have written.
fn log(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("log")).unwrap_or_default()
}

/// Answers each question in turn: gives what the steps had written before each of them, and the text in the end.
type Answered = fn(&Place, &[Value]) -> (Vec<String>, String);

fn legacy(place: &Place, answers: &[Value]) -> (Vec<String>, String) {
    let mut client = Client::legacy(place, &[], &asks());
    let id = client.request("tools/call", call("all_or_none"));
    let mut before = Vec::new();
    for answer in answers {
        let question = client.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        before.push(log(place));
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    }
    (before, text(&client.response(id)["result"]).to_owned())
}

fn modern(place: &Place, answers: &[Value]) -> (Vec<String>, String) {
    let mut client = Client::modern(place, &[], &asks());
    again(place, answers, |params| client.result("tools/call", params))
}

fn over_http(place: &Place, answers: &[Value]) -> (Vec<String>, String) {
    let server = Server::start(place, &[]);
    again(place, answers, |params| server.modern("tools/call", params).event()["result"].take())
}

/// Makes the call again with each answer.
fn again(
    place: &Place,
    answers: &[Value],
    mut call_with: impl FnMut(Value) -> Value,
) -> (Vec<String>, String) {
    let mut before = Vec::new();
    let mut params = call("all_or_none");
    for answer in answers {
        let asked = call_with(params.clone());
        params = with_answer(&asked, answer);
        before.push(log(place));
    }
    let result = call_with(params);
    assert_eq!(result["resultType"], "complete", "{result}");
    (before, text(&result).to_owned())
}

/// The call again, with the state of a question and an answer to it.
fn with_answer(asked: &Value, answer: &Value) -> Value {
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["approval"]["method"], "elicitation/create", "{asked}");
    let mut params = call("all_or_none");
    params["inputResponses"] = json!({"approval": answer});
    params["requestState"] = asked["requestState"].clone();
    params
}

const ALL: [Answered; 3] = [legacy, modern, over_http];

#[test]
fn a_step_is_asked_about_after_those_before_it_have_run() {
    for answered in ALL {
        let place = place();
        let (before, text) = answered(&place, &[accept(), accept(), accept()]);
        assert_eq!(before, ["", "do a\n", "do a\ndo b\n"]);
        assert_eq!(log(&place), "do a\ndo b\ndo c\nundo b\nundo a\n");
        assert!(text.starts_with("step \"c\" failed\n"), "{text}");
        assert!(text.contains("undone: b, a"), "{text}");
    }
}

#[test]
fn a_step_that_is_declined_has_those_before_it_undone() {
    for answered in ALL {
        let place = place();
        let (before, text) = answered(&place, &[accept(), decline()]);
        assert_eq!(before, ["", "do a\n"]);
        assert_eq!(log(&place), "do a\nundo a\n");
        assert!(text.contains("the user declined") && text.contains("undone: a"), "{text}");
    }
}

#[test]
fn an_answer_to_a_call_that_waits_is_bound_to_it() {
    let place = place();
    let mut client = Client::modern(&place, &[], &asks());
    let asked = client.result("tools/call", call("all_or_none"));
    // Another call with the state, and the call without an answer.
    let mut params = with_answer(&asked, &accept());
    params["arguments"] = json!({"x": 1});
    let (code, why) = client.error("tools/call", params);
    assert_eq!((code, why.as_str()), (-32602, "\"requestState\" belongs to another call"));
    let mut params = with_answer(&asked, &accept());
    params.as_object_mut().unwrap().remove("inputResponses");
    let asked_again = client.result("tools/call", params);
    assert_eq!(asked_again["inputRequests"], asked["inputRequests"]);
    assert_eq!(log(&place), "");
    // The first state was used, and so is the second one with its answer.
    let (code, why) = client.error("tools/call", with_answer(&asked, &accept()));
    assert!(code == -32602 && why.contains("was used already"), "{why}");
    let next = client.result("tools/call", with_answer(&asked_again, &accept()));
    assert_eq!(log(&place), "do a\n");
    let (code, why) = client.error("tools/call", with_answer(&asked_again, &accept()));
    assert!(code == -32602 && why.contains("was used already"), "{why}");
    let result = client.result("tools/call", with_answer(&next, &decline()));
    assert!(text(&result).contains("undone: a"), "{result}");
    assert_eq!(log(&place), "do a\nundo a\n");
}

/// The questions of both are about the call that the client made.
#[test]
fn a_step_of_a_composite_within_another_is_asked_about() {
    for answered in ALL {
        let place = place();
        let inner = json!({
            "name": "inner", "description": "Does one thing.", "execution_type": "composite",
            "composite": {"steps": [{"id": "i", "tool": "do_it", "with": {"text": "i"}}]},
        });
        approve(&place, &inner.to_string());
        let steps = json!([
            {"id": "in", "tool": "inner"},
            {"id": "out", "tool": "do_it", "with": {"text": "out"}, "after": ["in"]},
        ]);
        let outer = json!({
            "name": "all_or_none", "description": "Does two things.", "execution_type": "composite",
            "composite": {"steps": steps, "output": "done"},
        });
        let id = place.staged(&outer.to_string(), &["--base", "1", "--distinct-because", "a test"]);
        place.told(&["approve", "--yes", &id]);
        configure(&place, &["all_or_none", "inner"]);
        let (before, text) = answered(&place, &[accept(), accept()]);
        assert_eq!(
            (before.as_slice(), text.as_str()),
            (&["", "do i\n"].map(String::from)[..], "done")
        );
        assert_eq!(log(&place), "do i\ndo out\n");
    }
}

/// A step runs beside the one that is asked about.
fn with_tree() -> (Place, File) {
    let place = with_steps();
    // No deadline ends it before a test gives up.
    let more = r#""concurrency_safe": true, "timeout_seconds": 600"#;
    place.plugin("p", &[("tree", TREE, more)]);
    let ids = fifo(&place, "ids");
    configure(&place, &["all_or_none", "p:tree", "undo_it"]);
    let note = json!({
        "name": "note", "description": "Notes that it ran.", "script": "echo noted >>log",
        "concurrency_safe": true,
    });
    approve(&place, &note.to_string());
    let steps = json!([{"id": "asked", "tool": "note"}, {"id": "tree", "tool": "p:tree"}]);
    let def = json!({
        "name": "all_or_none", "description": "Does two things at once.",
        "execution_type": "composite", "composite": {"steps": steps}, "timeout_seconds": 600,
    });
    approve(&place, &def.to_string());
    (place, ids)
}

#[test]
fn a_call_that_waits_ends_with_its_client() {
    let (place, ids) = with_tree();
    let mut client = Client::modern(&place, &[], &asks());
    client.result("tools/call", call("all_or_none"));
    let tree = watched(&lines(&ids, 3));
    let (status, rest, stderr) = client.end();
    assert_eq!(survivors(&tree), 0);
    assert!(status.success() && rest.is_empty(), "{rest:?} {stderr}");
    check_cancelled(&place);
}

/// Over HTTP no later request belongs to the client, so that the call waits as long as the server does.
#[test]
fn a_call_that_waits_over_http_ends_with_the_server() {
    let (place, ids) = with_tree();
    let server = Server::start(&place, &[]);
    let asked = server.modern("tools/call", call("all_or_none")).event()["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let tree = watched(&lines(&ids, 3));
    assert_eq!(server.terminate(), Some(143));
    assert_eq!(survivors(&tree), 0);
    check_cancelled(&place);
}

/// The step that was asked about did not run, and the end of the composite is recorded.
#[track_caller]
fn check_cancelled(place: &Place) {
    assert_eq!(log(place), "");
    let records = place.flyto(&["audit", "export"]).run().stdout();
    let records: Vec<Value> = records.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let begin = records.iter().find(|it| it["body"]["tool"] == "all_or_none").unwrap();
    let end = records.iter().find(|it| it["event"] == "end" && it["id"] == begin["id"]).unwrap();
    assert_eq!(end["body"]["failure"]["kind"], "cancelled", "{end}");
}

#[test]
fn a_call_that_goes_on_is_cancelled_with_the_request_that_answers() {
    let (place, ids) = with_tree();
    let mut client = Client::modern(&place, &[], &asks());
    let asked = client.result("tools/call", call("all_or_none"));
    let tree = watched(&lines(&ids, 3));
    let id = client.request("tools/call", with_answer(&asked, &accept()));
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    assert_eq!(survivors(&tree), 0);
    assert_eq!(client.result("server/discover", json!({}))["supportedVersions"][0], "2026-07-28");
    let (status, rest, stderr) = client.end();
    assert!(status.success() && rest.is_empty(), "{rest:?} {stderr}");
}

/// A composite whose first step ends once a line comes. The two behind it are asked about.
fn gated() -> (Place, File, File) {
    let place = with_steps();
    place.plugin("p", &[("t", GATED, "")]);
    let (ids, go) = (fifo(&place, "ids"), fifo(&place, "go"));
    configure(&place, &["all_or_none", "p:t", "undo_it"]);
    let step = |id: &str, after: &str| json!({"id": id, "tool": "do_it", "with": {"text": id}, "after": [after]});
    let steps = json!([{"id": "t", "tool": "p:t"}, step("a", "t"), step("b", "a")]);
    let def = json!({
        "name": "all_or_none", "description": "Does three things.", "execution_type": "composite",
        "composite": {"steps": steps, "output": "done"},
    });
    approve(&place, &def.to_string());
    (place, ids, go)
}

/// Waits until a time that is told to the second is another one than now.
fn next_second() {
    let second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let begun = second();
    while second() == begun {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_task_asks_about_the_steps_of_its_call() {
    let (place, ids, mut go) = gated();
    let mut client = knows_tasks(&place);
    let id = task(&mut client, "all_or_none");
    assert_eq!(lines(&ids, 1), ["begun"]);
    next_second();
    go.write_all(b"go\n").unwrap();
    // A client that knows tasks asks until a task works no more, and answers.
    let mut asked = |before: &str, key: &str, answer: &Value| {
        let task = ended(&mut client, &id);
        assert_eq!(task["status"], "input_required", "{task}");
        let time = |key: &str| task[key].as_str().unwrap().to_owned();
        assert!(time("lastUpdatedAt") > time("createdAt"), "{task}");
        assert_eq!(log(&place), before);
        let request = &task["inputRequests"][key];
        assert_eq!(request["method"], "elicitation/create", "{task}");
        assert!(request["params"]["message"].as_str().unwrap().contains("of do_it"), "{task}");
        // Another key means nothing.
        for (key, answer) in [("approval", &decline()), ("approval-9", &decline()), (key, answer)] {
            let answers = json!({"taskId": id, "inputResponses": {key: answer}});
            assert_eq!(client.result("tasks/update", answers)["resultType"], "complete");
        }
    };
    asked("", "approval-1", &accept());
    asked("do a\n", "approval-2", &accept());
    let done = ended(&mut client, &id);
    assert_eq!((&done["status"], text(&done["result"])), (&json!("completed"), "done"));
    assert_eq!(log(&place), "do a\ndo b\n");
}

#[test]
fn a_job_of_the_tools_asks_nothing() {
    let (place, ids, mut go) = gated();
    let mut client = knows_tasks(&place);
    let started = job(&mut client, "start", json!({"tool": "all_or_none"}));
    let id = started["structuredContent"]["job"].clone();
    assert_eq!(lines(&ids, 1), ["begun"]);
    go.write_all(b"go\n").unwrap();
    let result = job(&mut client, "result", json!({"job": id, "wait_seconds": 50}));
    let text = text(&result);
    assert!(text.contains("no request of the client waits for the call around it"), "{text}");
    assert!(text.contains(r#"{"permissions":{"allow":["do_it"]}}"#), "{text}");
    assert_eq!(log(&place), "");
}
