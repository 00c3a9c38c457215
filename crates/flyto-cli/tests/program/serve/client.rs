//! A client of the protocol over the stdio of the real program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::Place;

/// How long a test waits for something that must come: far more than it takes on a loaded machine.
const GUARD: Duration = Duration::from_secs(60);

/// The revision of the era of handshakes that most clients speak.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";

/// A client, and the server that it started. Dropping it kills the server.
#[derive(Debug)]
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,

    next_id: u64,
    /// What each request carries in the era without a handshake.
    meta: Option<Value>,
}

impl Client {
    /// Starts `flyto serve` with the plugins of a place. Without `--task-after` among the words no call goes on after its
    /// request, and the tools for that are not listed.
    pub(crate) fn start(place: &Place, words: &[&str]) -> Self {
        let jobs: &[&str] = if words.contains(&"--task-after") { &[] } else { &["--no-jobs"] };
        let words = [&["--plugins", "plugins", "serve"], words, jobs].concat();
        let mut child = place
            .flyto(&words)
            .command(|it| {
                it.stdin(Stdio::piped());
            })
            .start();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if line.is_err() || sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        Self { child, stdin, lines, next_id: 0, meta: None }
    }

    /// A client that has shaken hands with this revision and these capabilities.
    pub(crate) fn legacy(place: &Place, words: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::start(place, words);
        let result = client.initialize(LEGACY, capabilities);
        assert_eq!(result["protocolVersion"], LEGACY);
        client
    }

    /// A client of the era without a handshake.
    pub(crate) fn modern(place: &Place, words: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::start(place, words);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }));
        client
    }

    /// Shakes hands; the result of `initialize`.
    pub(crate) fn initialize(&mut self, revision: &str, capabilities: &Value) -> Value {
        let result = self.result(
            "initialize",
            json!({
                "protocolVersion": revision,
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a message as one line.
    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and gives its id.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        if let Some(meta) = &self.meta {
            let mut all = meta.clone();
            if let Some(more) = params["_meta"].as_object() {
                all.as_object_mut().unwrap().extend(more.clone());
            }
            params["_meta"] = all;
        }
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message of the server.
    #[track_caller]
    pub(crate) fn receive(&self) -> Value {
        match self.lines.recv_timeout(GUARD) {
            Ok(line) => serde_json::from_str(&line).unwrap(),
            Err(err) => panic!("no message: {err}"),
        }
    }

    /// The response to a request; other messages before it are dropped.
    #[track_caller]
    pub(crate) fn response(&self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Makes a request, and gives its result.
    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let mut response = self.response(id);
        assert!(response.get("error").is_none(), "{response}");
        response["result"].take()
    }

    /// Makes a request, and gives its error as its code and its message.
    #[track_caller]
    pub(crate) fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.request(method, params);
        let response = self.response(id);
        assert!(response.get("result").is_none(), "{response}");
        let error = &response["error"];
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// Closes both ends, as the end of the client's process does. What the server says meanwhile is lost.
    pub(crate) fn close(mut self) -> ExitStatus {
        self.stdin = None;
        // The thread that reads stdout ends, and closes it, at the first line that cannot be handed over.
        self.lines = channel().1;
        self.child.wait().unwrap()
    }

    /// Closes stdin. What the server still says can be received.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The stdin of the server, for a thread that writes while the test reads.
    pub(crate) fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().unwrap()
    }

    /// What the server tells its operator.
    pub(crate) fn take_stderr(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.child.stderr.take().unwrap())
    }

    /// The id of the server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the server. Gives its status, the messages that were not received yet, and stderr.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<Value>, String) {
        self.stdin = None;
        self.end_with_open_stdin()
    }

    /// The same without closing stdin.
    #[track_caller]
    pub(crate) fn end_with_open_stdin(mut self) -> (ExitStatus, Vec<Value>, String) {
        let mut messages = Vec::new();
        loop {
            match self.lines.recv_timeout(GUARD) {
                Ok(line) => messages.push(serde_json::from_str(&line).unwrap()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server did not end"),
            }
        }
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap(), messages, stderr)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
