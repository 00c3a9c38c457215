//! `serve --http`: the same over HTTP, for the processes of this user only.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::client::{LEGACY, MODERN};
use super::running::{TREE, add_plugin, fifo, lines, survivors, watched};
use super::tools::{allowed, text};
use crate::place::Place;

/// A server over HTTP. Dropping it kills it.
pub(crate) struct Server {
    child: Child,
    address: String,
    token: String,
    stderr: Lines<BufReader<ChildStderr>>,
}

/// A response of which the body comes line by line.
pub(crate) struct Response {
    status: u16,
    head: String,
    body: BufReader<TcpStream>,
}

impl Server {
    pub(crate) fn start(place: &Place, words: &[&str]) -> Self {
        let jobs: &[&str] = if words.contains(&"--task-after") { &[] } else { &["--no-jobs"] };
        let words = [&["--plugins", "plugins", "serve", "--http", "0"], words, jobs].concat();
        let mut child = place.flyto(&words).start();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = stderr.next().unwrap().unwrap();
        let address = url.strip_prefix("serving http://").and_then(|it| it.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{url}")).to_owned();
        let token = match words.contains(&"--token-file") {
            true => String::new(),
            false => {
                let line = stderr.next().unwrap().unwrap();
                line.strip_prefix("Authorization: Bearer ").unwrap().to_owned()
            }
        };
        Self { child, address, token, stderr }
    }

    /// Stops it as an operator does; its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let id = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Sends a request with these header lines beside those that any has.
    fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> Response {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in [
            ("Host", self.address.clone()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Connection", "close".to_owned()),
        ] {
            if !headers.iter().any(|it| it.starts_with(&format!("{name}:"))) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for line in headers {
            head.push_str(&format!("{line}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut body = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(body.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, head, body }
    }

    fn post(&self, headers: &[String], message: &Value) -> Response {
        self.send("POST", "/mcp", headers, &message.to_string())
    }

    /// A request of the new era with the headers that it needs.
    pub(crate) fn modern(&self, method: &str, mut params: Value) -> Response {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        let mut headers =
            vec![format!("MCP-Protocol-Version: {MODERN}"), format!("Mcp-Method: {method}")];
        if let Some(name) = params["name"].as_str() {
            headers.push(format!("Mcp-Name: {name}"));
        }
        self.post(&headers, &request(1, method, &params))
    }

    /// Opens a session, and gives the headers of its requests.
    fn session(&self, capabilities: &Value) -> Vec<String> {
        let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities});
        let response = self.post(&[], &request(1, "initialize", &params));
        let name = response.header("mcp-session-id").unwrap();
        assert_eq!(response.json()["result"]["protocolVersion"], LEGACY);
        vec![format!("Mcp-Session-Id: {name}"), format!("MCP-Protocol-Version: {LEGACY}")]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Response {
    fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines().filter_map(|it| it.split_once(": "));
        lines.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }

    /// The whole body as JSON.
    fn json(mut self) -> Value {
        let mut text = String::new();
        self.body.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|err| panic!("{err}: {} {text:?}", self.head))
    }

    /// The message of the next event.
    pub(crate) fn event(&mut self) -> Value {
        assert_eq!(
            self.header("content-type").as_deref(),
            Some("text/event-stream"),
            "{}",
            self.head
        );
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.body.read_line(&mut line).unwrap() > 0, "no further event");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn only_those_with_the_token_from_this_machine_are_answered() {
    let place = allowed(&[("t", "echo hi", "")]);
    let server = Server::start(&place, &[]);
    let ping = request(1, "ping", &json!({}));
    for (header, status) in [
        ("Authorization: Bearer wrong", 401),
        ("Authorization: Basic x", 401),
        ("Authorization: ", 401),
        ("Host: example.org", 403),
        ("Host: localhost.example.org:80", 403),
        ("Host: localhost:80@example.org", 403),
        ("Host: localhost\r\nHost: example.org", 400),
        ("Origin: http://127.0.0.1:80@example", 403),
        ("Origin: http://localhost\r\nOrigin: https://example.org", 400),
        ("Origin: https://example.org", 403),
        ("Origin: null", 403),
        ("Origin: http://localhost:99999", 403),
        ("Content-Type: text/plain", 415),
        // These pass, and lack a session.
        ("Origin: http://localhost:6274", 400),
        ("Host: localhost", 400),
    ] {
        let response = server.post(&[header.to_owned()], &ping);
        assert_eq!(response.status, status, "{header}");
    }
    assert_eq!(server.send("GET", "/mcp", &[], "").status, 405);
    assert_eq!(server.send("POST", "/", &[], "{}").status, 404);
    assert_eq!(server.send("POST", "/mcp", &[], "{").json()["error"]["code"], -32700);
    assert_eq!(server.send("POST", "/mcp", &[], "[]").json()["error"]["code"], -32600);
}

#[test]
fn a_message_over_the_limit_is_refused_before_it_is_sent() {
    let place = allowed(&[("t", "echo hi", "")]);
    let server = Server::start(&place, &[]);
    for length in [16 * 1024 * 1024 + 1, u64::MAX / 2] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (host, token) = (&server.address, &server.token);
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // Nothing of the message is sent: a server that waits for it answers 408.
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        assert_eq!(status, "HTTP/1.1 413 Payload Too Large\r\n", "{length}");
    }
}

#[test]
fn each_modern_request_stands_for_itself() {
    let place = allowed(&[("cat", "cat", "")]);
    let server = Server::start(&place, &[]);
    let found = server.modern("server/discover", json!({}));
    assert_eq!(
        (found.status, found.header("content-type").as_deref()),
        (200, Some("application/json"))
    );
    assert_eq!(found.json()["result"]["supportedVersions"][0], MODERN);
    assert_eq!(
        server.modern("tools/list", json!({})).json()["result"]["tools"][0]["name"],
        "p__cat"
    );
    let call = json!({"name": "p__cat", "arguments": {"a": 1.0}});
    let mut called = server.modern("tools/call", call.clone());
    assert_eq!(text(&called.event()["result"]), r#"{"a":1.0}"#);
    let missing = server.modern("nothing", json!({}));
    assert_eq!((missing.status, missing.json()["error"]["code"].clone()), (404, json!(-32601)));

    // The headers say what the message says.
    let mut params = call;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let version = format!("MCP-Protocol-Version: {MODERN}");
    let method = "Mcp-Method: tools/call".to_owned();
    for headers in [
        vec![method.clone(), "Mcp-Name: p__cat".to_owned()],
        vec![version.clone(), "Mcp-Name: p__cat".to_owned()],
        vec![version.clone(), method.clone()],
        vec![version.clone(), method.clone(), "Mcp-Name: p__other".to_owned()],
        vec![version, "Mcp-Method: tools/list".to_owned(), "Mcp-Name: p__cat".to_owned()],
    ] {
        let response = server.post(&headers, &request(1, "tools/call", &params));
        assert_eq!(response.status, 400, "{headers:?}");
        assert_eq!(response.json()["error"]["code"], -32020, "{headers:?}");
    }
}

#[test]
fn a_session_lasts_from_its_handshake_to_its_end() {
    let place = allowed(&[("t", "echo hi", "")]);
    let server = Server::start(&place, &[]);
    let session = server.session(&json!({}));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.post(&session, &initialized).status, 202);
    let list = server.post(&session, &request(2, "tools/list", &json!({})));
    assert_eq!(list.json()["result"]["tools"][0]["name"], "p__t");
    let call = request(3, "tools/call", &json!({"name": "p__t", "arguments": {}}));
    assert_eq!(text(&server.post(&session, &call).event()["result"]), "hi\n");
    assert_eq!(server.post(&[], &call).status, 400);
    assert_eq!(server.post(&["Mcp-Session-Id: guessed".to_owned()], &call).status, 404);
    assert_eq!(server.send("DELETE", "/mcp", &session, "").status, 204);
    assert_eq!(server.send("DELETE", "/mcp", &session, "").status, 404);
    assert_eq!(server.post(&session, &call).status, 404);
}

#[test]
fn a_session_is_told_of_changes_until_it_ends() {
    let place = allowed(&[("t", "echo hi", "")]);
    let server = Server::start(&place, &[]);
    let session = server.session(&json!({}));
    let mut stream = server.send("GET", "/mcp", &session, "");
    assert_eq!(stream.status, 200);
    add_plugin(place.path());
    assert_eq!(stream.event()["method"], "notifications/tools/list_changed");
    let list = server.post(&session, &request(2, "tools/list", &json!({})));
    assert_eq!(list.json()["result"]["tools"].as_array().unwrap().len(), 2);
    // Streams leave room for other requests: they have a quarter of the connections.
    let more: Vec<_> = (0..63).map(|_| server.send("GET", "/mcp", &session, "")).collect();
    assert!(more.iter().all(|it| it.status == 200));
    assert_eq!(server.send("GET", "/mcp", &session, "").status, 503);
    assert_eq!(server.send("DELETE", "/mcp", &session, "").status, 204);
    let mut rest = String::new();
    stream.body.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("data:"), "{rest}");
    assert_eq!(server.send("GET", "/mcp", &session, "").status, 404);
}

#[test]
fn a_job_belongs_to_the_session_that_started_it() {
    let place = allowed(&[("t", "echo begun >ids; read -r line <go; echo released", "")]);
    let (ids, mut go) = (fifo(&place, "ids"), fifo(&place, "go"));
    let server = Server::start(&place, &["--task-after", "60"]);
    let job = |tool: &str, arguments: Value| json!({"name": format!("jobs__{tool}"), "arguments": arguments});
    let in_session = |session: &[String], tool: &str, arguments: Value| {
        let call = request(2, "tools/call", &job(tool, arguments));
        server.post(session, &call).event()["result"].take()
    };
    let in_none = |tool: &str, arguments: Value| {
        server.modern("tools/call", job(tool, arguments)).event()["result"].take()
    };
    let (own, other) = (server.session(&json!({})), server.session(&json!({})));
    let started = in_session(&own, "start", json!({"tool": "p__t"}));
    let id = started["structuredContent"]["job"].clone();
    assert_eq!(lines(&ids, 1), ["begun"]);
    let running = in_session(&own, "status", json!({}));
    assert_eq!(running["structuredContent"]["running"][0]["job"], id);
    let running = in_session(&other, "status", json!({}));
    assert_eq!(running["structuredContent"], json!({"running": []}));
    for tool in ["status", "result", "cancel"] {
        for result in
            [in_session(&other, tool, json!({"job": id})), in_none(tool, json!({"job": id}))]
        {
            assert!(text(&result).starts_with("there is no job"), "{result}");
        }
    }
    go.write_all(b"go\n").unwrap();
    let result = in_session(&own, "result", json!({"job": id, "wait_seconds": 50}));
    assert_eq!(text(&result), "released\n");

    // What no session started is followed by its id, and is in no list.
    let started = in_none("start", json!({"tool": "p__t"}));
    let id = started["structuredContent"]["job"].clone();
    let running = in_none("status", json!({}));
    assert!(text(&running).starts_with("name the job"), "{running}");
    let result = in_session(&own, "status", json!({"job": id}));
    assert!(text(&result).starts_with("there is no job"), "{result}");
    assert_eq!(lines(&ids, 1), ["begun"]);
    go.write_all(b"go\n").unwrap();
    let result = in_none("result", json!({"job": id, "wait_seconds": 50}));
    assert_eq!(text(&result), "released\n");
}

#[test]
fn the_end_of_a_session_cancels_its_jobs() {
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let server = Server::start(&place, &["--task-after", "60"]);
    let start = |session: &[String]| {
        let call = json!({"name": "jobs__start", "arguments": {"tool": "p__tree"}});
        server.post(session, &request(2, "tools/call", &call)).event()["result"].take()
    };
    // By the word of its client.
    let first = server.session(&json!({}));
    start(&first);
    let tree = watched(&lines(&ids, 3));
    assert_eq!(server.send("DELETE", "/mcp", &first, "").status, 204);
    assert_eq!(survivors(&tree), 0);
    // However many others come, they take the places of those that are idle.
    let busy = server.session(&json!({}));
    start(&busy);
    let tree = watched(&lines(&ids, 3));
    let idle = server.session(&json!({}));
    for _ in 0..64 {
        server.session(&json!({}));
    }
    let ping = request(3, "ping", &json!({}));
    assert_eq!(server.post(&idle, &ping).status, 404);
    assert_eq!(server.post(&busy, &ping).status, 200);
    assert_eq!(server.send("DELETE", "/mcp", &busy, "").status, 204);
    assert_eq!(survivors(&tree), 0);
}

#[test]
fn a_handshake_that_is_refused_opens_no_session() {
    let place = allowed(&[("t", "true", "")]);
    let server = Server::start(&place, &[]);
    let first = server.session(&json!({}));
    for _ in 0..64 {
        let refused = server.post(&[], &request(1, "initialize", &json!({})));
        assert_eq!(refused.status, 400, "{}", refused.head);
        assert_eq!(refused.header("mcp-session-id"), None);
    }
    assert_eq!(server.post(&first, &request(2, "ping", &json!({}))).status, 200);
}

#[test]
fn the_jobs_of_one_session_leave_room_for_those_of_others() {
    let place = allowed(&[("t", "read -r line <go", "")]);
    let _go = fifo(&place, "go");
    let server = Server::start(&place, &["--task-after", "60"]);
    let start = |session: &[String]| {
        let call = json!({"name": "jobs__start", "arguments": {"tool": "p__t"}});
        server.post(session, &request(2, "tools/call", &call)).event()["result"].take()
    };
    let (greedy, other) = (server.session(&json!({})), server.session(&json!({})));
    for _ in 0..32 {
        assert!(start(&greedy)["structuredContent"]["job"].is_string());
    }
    let refused = start(&greedy);
    assert!(text(&refused).contains("32 of them yours"), "{refused}");
    assert!(start(&other)["structuredContent"]["job"].is_string());
}

#[test]
fn a_question_is_put_over_the_stream_of_its_call() {
    let place = Place::with_tools(&[("t", "echo done", "")]);
    let server = Server::start(&place, &[]);
    let accept = json!({"action": "accept", "content": {"decision": "approve once"}});
    let session = server.session(&json!({"elicitation": {}}));
    let call = request(2, "tools/call", &json!({"name": "p__t", "arguments": {}}));
    let mut response = server.post(&session, &call);
    let question = response.event();
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accept});
    // Another session cannot answer it.
    let other = server.session(&json!({}));
    assert_eq!(server.post(&other, &answer).status, 202);
    assert_eq!(server.post(&session, &answer).status, 202);
    assert_eq!(text(&response.event()["result"]), "done\n");

    let mut params = json!({"name": "p__t", "arguments": {}});
    let question = server.modern("tools/call", params.clone()).event()["result"].take();
    assert_eq!(question["resultType"], "input_required");
    params["requestState"] = question["requestState"].clone();
    params["inputResponses"] = json!({"approval": accept});
    assert_eq!(text(&server.modern("tools/call", params).event()["result"]), "done\n");
}

#[test]
fn an_approval_for_the_session_holds_for_no_other_client() {
    let place = Place::with_tools(&[("t", "echo done", "")]);
    let server = Server::start(&place, &[]);
    let for_session =
        json!({"action": "accept", "content": {"decision": "approve for this session"}});
    let call = request(2, "tools/call", &json!({"name": "p__t", "arguments": {}}));
    let session = server.session(&json!({"elicitation": {}}));
    let mut response = server.post(&session, &call);
    let question = response.event();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": for_session});
    assert_eq!(server.post(&session, &answer).status, 202);
    assert_eq!(text(&response.event()["result"]), "done\n");
    // This client is not asked again.
    assert_eq!(text(&server.post(&session, &call).event()["result"]), "done\n");

    let other = server.session(&json!({"elicitation": {}}));
    assert_eq!(server.post(&other, &call).event()["method"], "elicitation/create");
    // A request that belongs to no session is asked about, without the choice that would need one.
    let params = json!({"name": "p__t", "arguments": {}});
    let asked = server.modern("tools/call", params).event()["result"].take();
    let question = &asked["inputRequests"]["approval"]["params"];
    let choices = &question["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(*choices, json!(["approve once", "deny"]));
    let message = question["message"].as_str().unwrap();
    assert!(!message.contains("session"), "{message}");
}

#[test]
fn calls_that_wait_and_silent_connections_keep_no_client_out() {
    let place = Place::with_tools(&[("t", "echo done", "")]);
    let server = Server::start(&place, &[]);
    let session = server.session(&json!({"elicitation": {}}));
    let call = |id| request(id, "tools/call", &json!({"name": "p__t", "arguments": {}}));
    // A quarter of the connections, each with a question that has no answer.
    let waiting: Vec<_> = (2..66)
        .map(|id| {
            let mut response = server.post(&session, &call(id));
            assert_eq!(response.event()["method"], "elicitation/create");
            response
        })
        .collect();
    let refused = server.post(&session, &call(66)).json()["result"].take();
    assert!(text(&refused).contains("too many calls are in flight"), "{refused}");
    let _silent: Vec<_> = (0..300).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let other = server.session(&json!({"elicitation": {}}));
    assert_eq!(server.post(&other, &call(2)).event()["method"], "elicitation/create");
    let found = server.modern("tools/list", json!({})).json();
    assert_eq!(found["result"]["tools"][0]["name"], "p__t");
    assert_eq!(waiting.len(), 64);
}

#[test]
fn a_client_that_closes_the_stream_takes_the_call_back() {
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let server = Server::start(&place, &[]);
    let response = server.modern("tools/call", json!({"name": "p__tree", "arguments": {}}));
    let tree = watched(&lines(&ids, 3));
    drop(response);
    assert_eq!(survivors(&tree), 0);
}

#[test]
fn a_subscription_hears_of_changes_until_the_server_ends() {
    let place = allowed(&[("t", "echo hi", "")]);
    let mut server = Server::start(&place, &[]);
    let mut stream =
        server.modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(stream.event()["method"], "notifications/subscriptions/acknowledged");
    place.plugin("new", &[("n", "echo hi", "")]);
    assert_eq!(stream.event()["method"], "notifications/tools/list_changed");
    // A connection that says nothing keeps no server from its end.
    let _idle = TcpStream::connect(&server.address).unwrap();
    kill_process(Pid::from_raw(server.child.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    loop {
        // The plugin may have come in more than one step.
        let message = stream.event();
        if message["id"] == 1 {
            assert_eq!(message["result"]["resultType"], "complete");
            break;
        }
    }
    assert_eq!(server.child.wait().unwrap().code(), Some(143));
}

#[test]
fn the_token_may_come_from_a_file_and_the_address_is_a_loopback_one() {
    let place = allowed(&[("t", "echo hi", "")]);
    place.write("token", "0123456789abcdef\n");
    let token = place.path().join("token");
    fs::set_permissions(&token, Permissions::from_mode(0o644)).unwrap();
    let mut server = Server::start(&place, &["--token-file", "token"]);
    let told = server.stderr.next().unwrap().unwrap();
    assert!(told.starts_with("warning: other users may read the token in token"), "{told}");
    server.token = "0123456789abcdef".to_owned();
    server.session(&json!({}));
    place.write("short", "0123456789\n");
    let fifo = place.path().join("fifo");
    rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for (words, code) in [
        // Nothing writes into it.
        (&["serve", "--http", "0", "--token-file", "fifo"][..], 3),
        (&["serve", "--http", "0", "--token-file", "/dev/zero"], 4),
        (&["serve", "--http", "0", "--token-file", "short"], 3),
        (&["serve", "--http", "0", "--token-file", "none"], 4),
        (&["serve", "--http", "0.0.0.0:0"], 2),
        (&["serve", "--http", "example.org:80"], 2),
        (&["serve", "--token-file", "token"], 2),
    ] {
        assert_eq!(place.flyto(words).run().code, Some(code), "{words:?}");
    }
}
