//! Calls that go on after their requests: as tasks where the client knows them, else as jobs that tools follow.

use std::fs;
use std::io::Write as _;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::client::{Client, LEGACY};
use super::running::{TREE, fifo, lines, survivors, watched};
use super::tools::{allowed, text};
use crate::place::Place;

/// Says that it has begun, reports how far it is, and ends once a line comes.
pub(super) const GATED: &str = "echo begun >ids; read -r line <go; echo released";

/// A client that knows tasks and forms.
fn tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}})
}

pub(super) fn knows_tasks(place: &Place) -> Client {
    Client::modern(place, &["--task-after", "0.000001"], &tasks())
}

/// The id of the task that a call of this tool becomes.
#[track_caller]
pub(super) fn task(client: &mut Client, tool: &str) -> String {
    let task = client.result("tools/call", json!({"name": tool, "arguments": {}}));
    assert_eq!(
        (&task["resultType"], &task["status"]),
        (&json!("task"), &json!("working")),
        "{task}"
    );
    assert!(
        task.get("result").is_none() && task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64()
    );
    let time = task["createdAt"].as_str().unwrap();
    assert!(time.ends_with('Z') && task["lastUpdatedAt"] == time, "{task}");
    task["taskId"].as_str().unwrap().to_owned()
}

/// Asks for a task until it works no more.
#[track_caller]
pub(super) fn ended(client: &mut Client, id: &str) -> Value {
    loop {
        let task = client.result("tasks/get", json!({"taskId": id}));
        assert_eq!((&task["resultType"], &task["taskId"]), (&json!("complete"), &json!(id)));
        if task["status"] != "working" {
            return task;
        }
    }
}

/// The result of a tool for jobs.
#[track_caller]
pub(super) fn job(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.result("tools/call", json!({"name": format!("jobs__{tool}"), "arguments": arguments}))
}

/// The jobs that the operator sees.
fn listed(place: &Place) -> Vec<Value> {
    let ran = place.flyto(&["jobs", "list", "--format", "json"]).run();
    ran.json()["jobs"].as_array().unwrap().clone()
}

#[test]
fn a_call_that_takes_long_is_a_task() {
    let place = allowed(&[("t", GATED, ""), ("bad", "read -r line <go; exit 3", "")]);
    let (ids, mut go) = (fifo(&place, "ids"), fifo(&place, "go"));
    let mut client = knows_tasks(&place);
    let discovered = client.result("server/discover", json!({}));
    let extensions = &discovered["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({"io.modelcontextprotocol/tasks": {}}));

    let id = task(&mut client, "p__t");
    assert_eq!(lines(&ids, 1), ["begun"]);
    let working = client.result("tasks/get", json!({"taskId": id}));
    assert_eq!(working["status"], "working");
    // The operator sees it as well, and on whose behalf it runs.
    let jobs = listed(&place);
    assert_eq!((&jobs[0]["id"], &jobs[0]["caller"]), (&json!(id), &json!("agent")));
    assert_eq!((&jobs[0]["tool"], &jobs[0]["state"]), (&json!("p:t"), &json!("running")));

    go.write_all(b"go\n").unwrap();
    let done = ended(&mut client, &id);
    assert_eq!(done["status"], "completed");
    assert_eq!(text(&done["result"]), "released\n");
    let ran = place.flyto(&["jobs", "result", &id]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(0), "released\n".to_owned()));
    // A tool that fails is completed, too.
    let id = task(&mut client, "p__bad");
    go.write_all(b"go\n").unwrap();
    let done = ended(&mut client, &id);
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(true)));
    // An end that is told twice is the same, and its cancellation means nothing.
    client.result("tasks/cancel", json!({"taskId": id}));
    client.result("tasks/update", json!({"taskId": id, "inputResponses": {}}));
    assert_eq!(ended(&mut client, &id), done);
}

#[test]
fn a_task_that_is_cancelled_ends_its_tree() {
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let mut client = knows_tasks(&place);
    let id = task(&mut client, "p__tree");
    let tree = watched(&lines(&ids, 3));
    let cancelled = client.result("tasks/cancel", json!({"taskId": id}));
    assert_eq!(cancelled["resultType"], "complete");
    assert_eq!(survivors(&tree), 0);
    assert_eq!(ended(&mut client, &id)["status"], "cancelled");
}

#[test]
fn only_a_client_that_knows_tasks_gets_them() {
    let place = allowed(&[("t", "echo hi", "")]);
    let mut client = Client::modern(&place, &["--task-after", "0.000001"], &json!({}));
    let result = client.result("tools/call", json!({"name": "p__t", "arguments": {}}));
    assert_eq!((&result["resultType"], text(&result)), (&json!("complete"), "hi\n"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let id = client.request(method, json!({"taskId": "000000000000"}));
        let error = &client.response(id)["error"];
        assert_eq!(error["code"], -32021, "{error}");
        let required = &error["data"]["requiredCapabilities"]["extensions"];
        assert_eq!(*required, json!({"io.modelcontextprotocol/tasks": {}}));
    }
    let mut client = knows_tasks(&place);
    for id in ["000000000000", "", "../../../etc"] {
        assert_eq!(client.error("tasks/get", json!({"taskId": id})).0, -32602, "{id}");
    }
    assert_eq!(client.error("tasks/get", json!({})).0, -32602);
    for method in ["tasks/list", "tasks/result"] {
        assert_eq!(client.error(method, json!({"taskId": "000000000000"})).0, -32601);
    }
    let mut client = Client::legacy(&place, &["--task-after", "0.000001"], &tasks());
    assert_eq!(client.error("tasks/get", json!({"taskId": "000000000000"})).0, -32601);
}

#[test]
fn a_task_begins_once_the_user_has_answered() {
    let place = Place::with_tools(&[("t", GATED, "")]);
    let (_ids, mut go) = (fifo(&place, "ids"), fifo(&place, "go"));
    let mut client = knows_tasks(&place);
    let mut params = json!({"name": "p__t", "arguments": {}});
    let question = client.result("tools/call", params.clone());
    assert_eq!(question["resultType"], "input_required", "{question}");
    assert!(question.get("taskId").is_none() && listed(&place).is_empty());
    params["requestState"] = question["requestState"].clone();
    let answer = json!({"action": "accept", "content": {"decision": "approve once"}});
    params["inputResponses"] = json!({"approval": answer});
    let task = client.result("tools/call", params);
    assert_eq!(task["resultType"], "task", "{task}");
    assert!(task.get("requestState").is_none());
    go.write_all(b"go\n").unwrap();
    let done = ended(&mut client, task["taskId"].as_str().unwrap());
    assert_eq!(text(&done["result"]), "released\n");
}

#[test]
fn any_client_follows_a_call_by_tools() {
    let place = allowed(&[("t", GATED, ""), ("tree", TREE, "")]);
    let (ids, mut go) = (fifo(&place, "ids"), fifo(&place, "go"));
    for mut client in [
        Client::legacy(&place, &["--task-after", "60"], &json!({})),
        Client::modern(&place, &["--task-after", "60"], &json!({})),
    ] {
        let list = client.result("tools/list", json!({}));
        let names: Vec<_> =
            list["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        let expected =
            ["jobs__cancel", "jobs__result", "jobs__start", "jobs__status", "p__t", "p__tree"];
        assert_eq!(names, expected);

        let started = job(&mut client, "start", json!({"tool": "p__t", "arguments": {}}));
        let shown = &started["structuredContent"];
        assert_eq!((&shown["tool"], &shown["state"]), (&json!("p:t"), &json!("running")));
        let id = shown["job"].clone();
        assert_eq!(lines(&ids, 1), ["begun"]);
        let status = job(&mut client, "status", json!({}));
        assert_eq!(status["structuredContent"]["running"][0]["job"], id);
        let early = job(&mut client, "result", json!({"job": id}));
        assert_eq!(early["structuredContent"]["state"], "running");
        go.write_all(b"go\n").unwrap();
        let result = job(&mut client, "result", json!({"job": id, "wait_seconds": 50}));
        assert_eq!((text(&result), &result["isError"]), ("released\n", &json!(false)));
        let status = job(&mut client, "status", json!({"job": id}));
        assert_eq!(status["structuredContent"]["state"], "ended");

        let started = job(&mut client, "start", json!({"tool": "p:tree"}));
        let id = started["structuredContent"]["job"].clone();
        let tree = watched(&lines(&ids, 3));
        let cancelled = job(&mut client, "cancel", json!({"job": id}));
        assert_eq!(cancelled["structuredContent"]["was_running"], true);
        assert_eq!(survivors(&tree), 0);
        let result = job(&mut client, "result", json!({"job": id, "wait_seconds": 50}));
        assert_eq!((text(&result), &result["isError"]), ("the call was cancelled", &json!(true)));
    }
}

#[test]
fn a_call_in_the_background_goes_through_every_gate() {
    let place = Place::with_tools(&[("t", "echo ran >>ran; read -r line <go; echo done", "")]);
    // A call that has ended is no job any more.
    let mut go = fifo(&place, "go");
    let start = json!({"name": "jobs__start", "arguments": {"tool": "p__t"}});
    let accept = |decision: &str| json!({"action": "accept", "content": {"decision": decision}});
    // A client that cannot ask, and arguments that are none, make no job.
    let mut client = Client::legacy(&place, &["--task-after", "60"], &json!({}));
    let refused = client.result("tools/call", start.clone());
    assert!(text(&refused).contains("to allow it, put"), "{refused}");
    for (arguments, why) in [
        (json!({"tool": "p__none"}), "there is no tool"),
        (json!({}), "invalid input: /tool: expected a string"),
        (json!({"tool": 5}), "invalid input: /tool: expected a string"),
        (json!({"tool": "p__t", "more": 1}), "/more: "),
        (json!({"tool": "jobs__start"}), "there is no tool"),
    ] {
        let result = job(&mut client, "start", arguments);
        assert!(result["isError"] == true && text(&result).contains(why), "{why}: {result}");
    }
    let mut client = Client::legacy(&place, &["--task-after", "60"], &tasks());
    for (answer, is_made) in [("deny", false), ("approve once", true)] {
        let id = client.request("tools/call", start.clone());
        let question = client.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert!(!place.exists("plugins/p/ran"));
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(answer)}));
        let result = client.response(id)["result"].take();
        assert_eq!(result["isError"] == false, is_made, "{result}");
        if is_made {
            let id = result["structuredContent"]["job"].clone();
            go.write_all(b"go\n").unwrap();
            let result = job(&mut client, "result", json!({"job": id, "wait_seconds": 50}));
            assert_eq!(text(&result), "done\n");
        }
    }
    // Of the refused ones nothing is left: the server ends before its jobs are counted.
    client.end();
    assert_eq!(listed(&place).len(), 1);
}

#[test]
fn jobs_of_the_operator_are_none_of_a_model() {
    let place = allowed(&[("t", "echo hi", "")]);
    let ran = place.flyto(&["--plugins", "plugins", "call", "p:t", "--background"]).run();
    let id = ran.stdout().trim().to_owned();
    let mut client = Client::modern(&place, &["--task-after", "0.000001"], &tasks());
    assert_eq!(client.error("tasks/get", json!({"taskId": id})).0, -32602);
    for tool in ["status", "result", "cancel"] {
        let result = job(&mut client, tool, json!({"job": id}));
        assert!(text(&result).starts_with("there is no job"), "{result}");
    }
}

#[test]
fn a_job_ends_with_its_server_and_the_operator_sees_how() {
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    for (signal, state) in [(Signal::TERM, "ended"), (Signal::KILL, "lost")] {
        let mut client = knows_tasks(&place);
        let id = task(&mut client, "p__tree");
        let tree = watched(&lines(&ids, 3));
        kill_process(Pid::from_raw(client.pid().cast_signed()).unwrap(), signal).unwrap();
        client.end_with_open_stdin();
        assert_eq!(survivors(&tree), 0);
        let jobs = listed(&place);
        assert_eq!((&jobs[0]["id"], &jobs[0]["state"]), (&json!(id), &json!(state)));
        // The next server has clients of its own.
        assert_eq!(knows_tasks(&place).error("tasks/get", json!({"taskId": id})).0, -32602);
    }
}

#[test]
fn a_job_belongs_to_the_client_that_started_it() {
    let place = allowed(&[("t", GATED, "")]);
    let (ids, mut go) = (fifo(&place, "ids"), fifo(&place, "go"));
    let mut own = knows_tasks(&place);
    let started = job(&mut own, "start", json!({"tool": "p__t"}));
    let id = started["structuredContent"]["job"].clone();
    assert_eq!(lines(&ids, 1), ["begun"]);

    let mut other = knows_tasks(&place);
    let running = job(&mut other, "status", json!({}));
    assert_eq!(running["structuredContent"], json!({"running": []}));
    for tool in ["status", "result", "cancel"] {
        let result = job(&mut other, tool, json!({"job": id}));
        assert!(text(&result).starts_with("there is no job"), "{result}");
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(other.error(method, json!({"taskId": id})).0, -32602, "{method}");
    }
    // The operator sees it, and it goes on.
    assert_eq!(listed(&place)[0]["id"], id);
    go.write_all(b"go\n").unwrap();
    let result = job(&mut own, "result", json!({"job": id, "wait_seconds": 50}));
    assert_eq!(text(&result), "released\n");
}

/// What is listed is what is called, and no call is started by one of the four that none of the others can follow.
#[test]
fn a_tool_with_the_name_of_one_for_jobs_keeps_it() {
    let place = Place::new();
    let tool = r#"{"name": "status", "description": "d", "command": "echo", "args": ["mine"]}"#;
    place.write("plugins/jobs/plugin.json", &format!(r#"{{"name": "jobs", "tools": [{tool}]}}"#));
    place.write("home/.config/flyto/config.json", r#"{"permissions": {"allow": ["jobs:*"]}}"#);
    for discovery in [&[][..], &["--discovery"]] {
        let args = [&["--task-after", "60"], discovery].concat();
        let mut client = Client::legacy(&place, &args, &json!({}));
        let list = client.result("tools/list", json!({}));
        let tools = list["tools"].as_array().unwrap().iter();
        let names: Vec<_> = tools.map(|it| it["name"].as_str().unwrap()).collect();
        if discovery.is_empty() {
            assert_eq!(names, ["jobs__status"]);
        } else {
            assert!(!names.iter().any(|it| it.starts_with("jobs__")), "{names:?}");
        }
        assert_eq!(text(&job(&mut client, "status", json!({}))), "mine\n");
        let start = json!({"name": "jobs__start", "arguments": {"tool": "jobs__status"}});
        assert_eq!(client.error("tools/call", start).0, -32602);
    }
    let ran = place.flyto(&["--plugins", "plugins", "list"]).run();
    let told = "jobs:status has the name of a tool of `serve` for jobs, which then offers none";
    assert!(ran.stderr().contains(told), "{}", ran.stderr());
}

/// A server of the era of handshakes with the tool `status`, which answers once a line comes through the file that is named.
const LATE_STATUS: &str = r#"
read -r _ <"$1"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    case $line in
    *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer '"result":{"tools":[{"name":"status","description":"d","inputSchema":{"type":"object"}}]}' ;;
    *'"id"'*) answer '"error":{"code":-32601,"message":"unknown"}' ;;
    esac
done
"#;

/// A client asks for them before the servers of the configuration are connected to.
#[test]
fn instructions_name_no_tool_for_jobs_whose_name_a_server_may_take() {
    for (server, is_named) in [("jobs", false), ("job", true), ("jobs_", true)] {
        let place = allowed(&[("t", "true", "")]);
        let mut gate = fifo(&place, "gate");
        let script = place.write("late.sh", LATE_STATUS);
        let args = json!([script, place.path().join("plugins/p/gate")]);
        let config = json!({"mcpServers": {server: {"command": "sh", "args": args}}});
        place.write("home/.config/flyto/config.json", &config.to_string());
        let mut client = Client::start(&place, &["--task-after", "60"]);
        let told = client.initialize(LEGACY, &json!({}))["instructions"].to_string();
        assert_eq!(told.contains("jobs__"), is_named, "{server}: {told}");
        gate.write_all(b"go\n").unwrap();
        let name = format!("{server}__status");
        let names = loop {
            let list = client.result("tools/list", json!({}))["tools"].to_string();
            if list.contains(&name) {
                break list;
            }
        };
        assert_eq!(names.contains("jobs__start"), is_named, "{names}");
    }
}

#[test]
fn a_job_is_followed_to_its_end_once_another_tool_has_such_a_name() {
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let mut client = Client::legacy(&place, &["--task-after", "60"], &json!({}));
    let started = job(&mut client, "start", json!({"tool": "p:tree"}));
    let id = started["structuredContent"]["job"].clone();
    let tree = watched(&lines(&ids, 3));
    // As an editor does it: a directory that is there as a whole.
    let tool = r#"{"name": "status", "description": "d", "command": "echo", "args": ["mine"]}"#;
    place.write("new/plugin.json", &format!(r#"{{"name": "jobs", "tools": [{tool}]}}"#));
    fs::rename(place.path().join("new"), place.path().join("plugins/jobs")).unwrap();
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let start = json!({"name": "jobs__start", "arguments": {"tool": "p:tree"}});
    assert_eq!(client.error("tools/call", start).0, -32602);
    let cancelled = job(&mut client, "cancel", json!({"job": id}));
    assert_eq!(cancelled["structuredContent"]["was_running"], true);
    assert_eq!(survivors(&tree), 0);
}
