//! Tools that are called by JSON-RPC: a request is a line on stdin, its reply a line on stdout.
//!
//! ```text
//! {"jsonrpc": "2.0", "id": 1, "method": "execute", "params": {"tool": "slug", "args": {…}}}
//! {"jsonrpc": "2.0", "id": 1, "result": {"output": "…"}}
//! {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "…"}}
//! ```
//!
//! Each call runs in a thread of its own, so replies come in any order. At the end of input the
//! program ends when its calls have. So it serves both lifetimes: a process for each call, and one
//! for all.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

// ---- the tools ----

/// The result of a tool, or what the caller is told of its failure.
type Outcome = Result<String, Failed>;

struct Failed {
    code: i32,
    message: String,
}

/// JSON-RPC's own codes; those of the tools are positive.
const PARSE_ERROR: i32 = -32700;
const UNKNOWN: i32 = -32601;
const FAILED: i32 = 1;
const CANCELLED: i32 = 2;

fn failed(code: i32, message: impl Into<String>) -> Failed {
    Failed { code, message: message.into() }
}

fn execute(call: &Call, tool: &str, args: &Value) -> Outcome {
    match tool {
        "slug" => slug(args),
        "wait" => wait(call, args),
        _ => Err(failed(UNKNOWN, format!("there is no tool {tool}"))),
    }
}

fn slug(args: &Value) -> Outcome {
    let text = args.get("text").and_then(Value::as_str);
    let text = text.ok_or_else(|| failed(FAILED, "`text` must be a string"))?;
    let words = text.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let words: Vec<_> = words.map(str::to_ascii_lowercase).collect();
    if words.is_empty() {
        return Err(failed(FAILED, "the text has no letter or digit"));
    }
    Ok(words.join("-"))
}

fn wait(call: &Call, args: &Value) -> Outcome {
    let seconds = args.get("seconds").and_then(Value::as_f64);
    let seconds = seconds.ok_or_else(|| failed(FAILED, "`seconds` must be a number"))?;
    for step in 0..10 {
        call.progress(f64::from(step) / 10.0, &format!("step {step} of 10"));
        call.sleep(Duration::from_secs_f64(seconds.clamp(0.0, 60.0) / 10.0))?;
    }
    Ok(format!("waited for {seconds} s"))
}

// ---- the protocol ----

/// One call that is running.
struct Call {
    /// As the request has it: a number, a string or `null`.
    id: Value,
    cancelled: Receiver<()>,
}

impl Call {
    /// Tells how far the call is, from 0 to 1.
    fn progress(&self, share: f64, detail: &str) {
        let params = json!({"id": self.id, "progress": share, "detail": detail});
        send(&json!({"jsonrpc": "2.0", "method": "progress", "params": params}));
    }

    /// Waits, but not for a call that was taken back.
    fn sleep(&self, time: Duration) -> Result<(), Failed> {
        match self.cancelled.recv_timeout(time) {
            Ok(()) => Err(failed(CANCELLED, "cancelled")),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    fn reply(&self, outcome: &Outcome) {
        let id = &self.id;
        send(&match outcome {
            Ok(output) => json!({"jsonrpc": "2.0", "id": id, "result": {"output": output}}),
            Err(Failed { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }
}

/// Writes a message as one line.
fn send(message: &Value) {
    let mut stdout = io::stdout().lock();
    if writeln!(stdout, "{message}").and_then(|()| stdout.flush()).is_err() {
        // The host has closed the pipe.
        std::process::exit(1);
    }
}

/// The calls that are running, by their id as JSON.
type Calls = Arc<Mutex<HashMap<String, Sender<()>>>>;

fn main() {
    let calls = Calls::default();
    let mut threads = Vec::new();
    for line in io::stdin().lock().lines() {
        // What cannot be read, or is no UTF-8, ends the input.
        let Ok(line) = line else { break };
        threads.retain(|it: &thread::JoinHandle<()>| !it.is_finished());
        threads.extend(take(&line, &calls));
    }
    for thread in threads {
        // A thread that panicked has said so on stderr.
        let _ = thread.join();
    }
}

/// Takes a message. A call begins a thread.
fn take(line: &str, calls: &Calls) -> Option<thread::JoinHandle<()>> {
    let mut message: Value = match serde_json::from_str(line) {
        Ok(message) => message,
        Err(err) => {
            let error = json!({"code": PARSE_ERROR, "message": err.to_string()});
            send(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
            return None;
        }
    };
    let params = message.get_mut("params").map(Value::take).unwrap_or_default();
    match message.get("method").and_then(Value::as_str)? {
        "execute" => {
            let id = message.get("id")?.clone();
            let (cancel, cancelled) = mpsc::channel();
            calls.lock().expect("no panic while locked").insert(id.to_string(), cancel);
            let (call, calls) = (Call { id, cancelled }, Arc::clone(calls));
            Some(thread::spawn(move || {
                let tool = params.get("tool").and_then(Value::as_str).unwrap_or_default();
                let outcome = execute(&call, tool, params.get("args").unwrap_or(&Value::Null));
                calls.lock().expect("no panic while locked").remove(&call.id.to_string());
                call.reply(&outcome);
            }))
        }
        "cancel" => {
            let id = params.get("id")?.to_string();
            if let Some(call) = calls.lock().expect("no panic while locked").get(&id) {
                // A call that has just ended does not listen.
                let _ = call.send(());
            }
            None
        }
        _ => {
            // Also what shows that the program is at work: a ping after a deadline.
            let error = json!({"code": UNKNOWN, "message": "there is no such method"});
            send(&json!({"jsonrpc": "2.0", "id": message.get("id")?, "error": error}));
            None
        }
    }
}
