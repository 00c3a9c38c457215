//! Calls while they run: many at once, cancelled ones, and tools that come and go meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};

use super::client::Client;
use super::tools::{allowed, text};
use crate::place::Place;

/// A pipe with a name, open at both ends, so that neither side waits for the other.
pub(crate) fn fifo(place: &Place, name: &str) -> File {
    let path = place.path().join("plugins/p").join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// The next lines of a pipe.
pub(crate) fn lines(pipe: &File, n: usize) -> Vec<String> {
    BufReader::with_capacity(1, pipe).lines().take(n).map(Result::unwrap).collect()
}

/// Holds on to processes by their ids, while they are there.
pub(crate) fn watched(ids: &[String]) -> Vec<OwnedFd> {
    let open =
        |it: &String| pidfd_open(Pid::from_raw(it.parse().unwrap()).unwrap(), PidfdFlags::empty());
    ids.iter().map(|it| open(it).unwrap()).collect()
}

/// Waits until each of these processes has ended; how many have not.
pub(crate) fn survivors(processes: &[OwnedFd]) -> usize {
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    let is_alive =
        |it: &&OwnedFd| poll(&mut [PollFd::new(*it, PollFlags::IN)], Some(&limit)).unwrap() == 0;
    processes.iter().filter(is_alive).count()
}

/// A tool whose tree has three processes, two of which ignore SIGTERM and one of which left the group. Each writes its
/// id to the pipe `ids`.
pub(crate) const TREE: &str = "trap '' TERM; echo $$ >ids; \
    sh -c 'trap \"\" TERM; echo $$ >ids; while :; do sleep 1000; done' & \
    setsid sh -c 'echo $$ >ids; exec sleep 1000' & wait; wait";

#[test]
fn sixty_four_calls_are_in_flight_at_once() {
    const N: usize = 64;
    let place = allowed(&[("t", "echo x >ids; read -r line <go; echo released", "")]);
    let (ids, mut go) = (fifo(&place, "ids"), fifo(&place, "go"));
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut open: Vec<u64> = (0..N)
        .map(|_| client.request("tools/call", json!({"name": "p__t", "arguments": {}})))
        .collect();
    // As many programs run at once as one processor is given, and the other calls wait for their place.
    assert_eq!(lines(&ids, 16).len(), 16);
    // The server is as quick to answer as before.
    assert_eq!(client.result("ping", json!({})), json!({}));
    go.write_all("\n".repeat(N).as_bytes()).unwrap();
    for _ in 0..N {
        let response = client.receive();
        assert_eq!(text(&response["result"]), "released\n");
        open.retain(|id| response["id"] != *id);
    }
    assert_eq!(open, [0_u64; 0]);
    assert!(client.end().0.success());
}

#[test]
fn a_cancelled_call_ends_its_tree_and_is_not_answered() {
    let place = allowed(&[("tree", TREE, ""), ("t", "echo hi", "")]);
    let ids = fifo(&place, "ids");
    for mut client in
        [Client::legacy(&place, &[], &json!({})), Client::modern(&place, &[], &json!({}))]
    {
        let id = client.request("tools/call", json!({"name": "p__tree", "arguments": {}}));
        let tree = watched(&lines(&ids, 3));
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
        }));
        assert_eq!(survivors(&tree), 0);
        // Nothing more is said about it.
        let result = client.result("tools/call", json!({"name": "p__t", "arguments": {}}));
        assert_eq!(text(&result), "hi\n");
        let (status, rest, stderr) = client.end();
        assert!(status.success());
        assert_eq!((rest, stderr), (Vec::<Value>::new(), String::new()));
    }
}

#[test]
fn nothing_survives_a_server_that_ends() {
    type End = fn(Client) -> Option<i32>;
    let by_signal: End = |client| {
        kill_process(Pid::from_raw(client.pid().cast_signed()).unwrap(), Signal::TERM).unwrap();
        client.end_with_open_stdin().0.code()
    };
    let by_client: End = |mut client| {
        // The server notices at the next thing that it says.
        client.request("ping", json!({}));
        client.close().code()
    };
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    for (end, code) in [(by_signal, 143), (by_client, 0)] {
        let mut client = Client::legacy(&place, &[], &json!({}));
        client.request("tools/call", json!({"name": "p__tree", "arguments": {}}));
        let tree = watched(&lines(&ids, 3));
        assert_eq!(end(client), Some(code));
        assert_eq!(survivors(&tree), 0);
    }
}

#[test]
fn progress_grows_and_ends_with_the_call() {
    let place = allowed(&[("t", "read -r line <go", "")]);
    let mut go = fifo(&place, "go");
    let mut client = Client::legacy(&place, &["--heartbeat", "0.01"], &json!({}));
    let id = client.request(
        "tools/call",
        json!({"name": "p__t", "arguments": {}, "_meta": {"progressToken": "mine"}}),
    );
    let mut last = 0.0;
    for _ in 0..3 {
        let message = client.receive();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "mine");
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} follows {last}");
        last = progress;
        let text = message["params"]["message"].as_str().unwrap();
        assert!(text.starts_with("running for"), "{text}");
    }
    go.write_all(b"go\n").unwrap();
    assert_eq!(client.response(id)["result"]["isError"], false);
    let (_, rest, _) = client.end();
    assert_eq!(rest, Vec::<Value>::new());
}

/// The name of the tool that the server lists.
fn names(client: &mut Client) -> Vec<String> {
    let list = client.result("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// Adds a plugin `new`.
pub(super) fn add_plugin(place: &Path) {
    // As an editor does it: a directory that is there as a whole.
    let dir = place.join("new");
    std::fs::create_dir(&dir).unwrap();
    let manifest = r#"{"name": "new", "tools": [{"name": "n", "description": "d", "command": "true", "args": []}]}"#;
    std::fs::write(dir.join("plugin.json"), manifest).unwrap();
    std::fs::rename(dir, place.join("plugins/new")).unwrap();
}

#[test]
fn a_connected_client_hears_of_a_new_plugin() {
    let place = allowed(&[("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    assert_eq!(names(&mut client), ["p__t"]);
    add_plugin(place.path());
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    assert_eq!(names(&mut client), ["new__n", "p__t"]);
}

#[test]
fn a_subscription_is_acknowledged_first_and_ends_in_order() {
    let place = allowed(&[("t", "echo hi", "")]);
    let mut client = Client::modern(&place, &[], &json!({}));
    let key = "io.modelcontextprotocol/subscriptionId";
    let open = |client: &mut Client, filter: Value| {
        let id = client.request("subscriptions/listen", json!({"notifications": filter}));
        let message = client.receive();
        assert_eq!(message["method"], "notifications/subscriptions/acknowledged", "{message}");
        assert_eq!(message["params"]["_meta"][key], id);
        (id, message["params"]["notifications"].clone())
    };
    let asked = json!({"toolsListChanged": true, "promptsListChanged": true});
    let (heard, filter) = open(&mut client, asked);
    assert_eq!(filter, json!({"toolsListChanged": true}));
    let (other, filter) = open(&mut client, json!({"promptsListChanged": true}));
    assert_eq!(filter, json!({}));
    let (closed, _) = open(&mut client, json!({"toolsListChanged": true}));
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": closed},
    }));
    assert_eq!(client.error("subscriptions/listen", json!({})).0, -32602);
    assert_eq!(names(&mut client), ["p__t"]);
    add_plugin(place.path());
    let message = client.receive();
    assert_eq!(message["method"], "notifications/tools/list_changed");
    assert_eq!(message["params"]["_meta"][key], heard);
    assert_eq!(names(&mut client), ["new__n", "p__t"]);
    // A server that ends says so, once for each that is open.
    kill_process(Pid::from_raw(client.pid().cast_signed()).unwrap(), Signal::TERM).unwrap();
    let (_, rest, _) = client.end_with_open_stdin();
    let ended: Vec<&Value> = rest.iter().map(|it| &it["id"]).collect();
    assert_eq!(ended, [heard, other]);
    assert!(rest.iter().all(|it| it["result"]["_meta"][key] == it["id"]), "{rest:?}");
}

#[test]
fn a_client_is_told_what_it_reads_of_a_tool() {
    let place =
        allowed(&[("c", "echo hi", r#""requires_checkpoint": true"#), ("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &["--output-limit", "9000"], &json!({}));
    let list = client.result("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    assert_eq!(tools[0]["_meta"]["anthropic/requiresUserInteraction"], true, "{list}");
    assert_eq!(tools[1]["_meta"], json!({"anthropic/maxResultSizeChars": 9500}));
}
