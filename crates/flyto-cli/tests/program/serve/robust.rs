//! Hostile clients and tools: what they cost the server, and which processes are left.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::client::Client;
use super::running::{TREE, fifo, lines, survivors, watched};
use super::tools::allowed;

/// A call of the tool `t`, whose answer is more than a pipe holds.
fn long_call(id: u64) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "p__t", "arguments": {}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn assert_long_answer(line: &str, id: u64) {
    let answer: Value = serde_json::from_str(line).unwrap();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(300_000));
}

/// Has a server with these streams answer three calls, one after the other, and end with its client.
fn check_streams(
    stdin: impl Into<Stdio>,
    stdout: impl Into<Stdio>,
    mut requests: impl Write,
    answers: impl Read,
) {
    let place = allowed(&[("t", "head -c 300000 /dev/zero | tr '\\0' x", "")]);
    let words = ["--plugins", "plugins", "serve", "--output-limit", "400000"];
    let start = |it: &mut Command| {
        it.stdin(stdin).stdout(stdout);
    };
    let mut server = place.flyto(&words).command(start).start();
    let mut answers = BufReader::new(answers).lines();
    for id in 0..3 {
        // The server has nothing to read until the last answer was taken, and more to write than a pipe holds.
        writeln!(requests, "{}", long_call(id)).unwrap();
        assert_long_answer(&answers.next().unwrap().unwrap(), id);
    }
    drop(requests);
    assert!(server.wait().unwrap().success());
}

#[test]
fn pipes_are_read_and_written() {
    let (stdin, requests) = std::io::pipe().unwrap();
    let (answers, stdout) = std::io::pipe().unwrap();
    let shared = stdin.try_clone().unwrap();
    check_streams(stdin, stdout, requests, answers);
    // A process that shares the pipe still waits for it.
    assert!(!fcntl_getfl(&shared).unwrap().contains(OFlags::NONBLOCK));
}

#[test]
fn streams_that_do_not_wait_are_read_and_written_all_the_same() {
    // The flag belongs to the open file, which any process has that a client handed it to.
    let (stdin, requests) = std::io::pipe().unwrap();
    let (answers, stdout) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&stdin, true).unwrap();
    rustix::io::ioctl_fionbio(&stdout, true).unwrap();
    check_streams(stdin, stdout, requests, answers);
}

#[test]
fn sockets_are_read_and_written() {
    // So Node.js starts its children.
    let (stdin, requests) = UnixStream::pair().unwrap();
    let (answers, stdout) = UnixStream::pair().unwrap();
    check_streams(OwnedFd::from(stdin), OwnedFd::from(stdout), requests, answers);
}

#[test]
fn files_are_read_and_written() {
    let place = allowed(&[("t", "head -c 300000 /dev/zero | tr '\\0' x", "")]);
    std::fs::write(place.path().join("requests"), format!("{}\n", long_call(7))).unwrap();
    let stdin = File::open(place.path().join("requests")).unwrap();
    let stdout = File::create(place.path().join("answers")).unwrap();
    let words = ["--plugins", "plugins", "serve", "--output-limit", "400000"];
    let start = |it: &mut Command| {
        it.stdin(stdin).stdout(stdout);
    };
    assert!(place.flyto(&words).command(start).start().wait().unwrap().success());
    assert_long_answer(&std::fs::read_to_string(place.path().join("answers")).unwrap(), 7);
}

#[test]
fn a_tree_in_flight_ends_after_its_client() {
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let mut client = Client::legacy(&place, &[], &json!({}));
    client.request("tools/call", json!({"name": "p__tree", "arguments": {}}));
    let tree = watched(&lines(&ids, 3));
    // It has its time to end by itself, and does not.
    let (status, messages, _) = client.end();
    assert!(status.success());
    assert_eq!(messages[0]["result"]["isError"], true, "{messages:?}");
    assert_eq!(survivors(&tree), 0);
}

#[test]
fn sixty_four_trees_end_with_a_signal() {
    const N: usize = 64;
    let place = allowed(&[("tree", TREE, "")]);
    let ids = fifo(&place, "ids");
    let mut client = Client::legacy(&place, &[], &json!({}));
    for _ in 0..N {
        client.request("tools/call", json!({"name": "p__tree", "arguments": {}}));
    }
    // As many run at once as there are places for, and the others wait.
    let trees = watched(&lines(&ids, 16 * 3));
    kill_process(Pid::from_raw(client.pid().cast_signed()).unwrap(), Signal::TERM).unwrap();
    let (status, messages, _) = client.end_with_open_stdin();
    assert_eq!(status.code(), Some(143));
    assert!(messages.len() <= N);
    assert_eq!(survivors(&trees), 0);
}

#[test]
fn a_line_of_noise_costs_its_own_answer_only() {
    let place = allowed(&[("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let deep = [b"[".repeat(1 << 20), b"]".repeat(1 << 20)].concat();
    let noise: [&[u8]; 6] = [
        b"\0\0\0",
        b"\xff\xfe{\"jsonrpc\":\"2.0\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":{\"a\":1},\"method\":\"ping\"}",
        b"Content-Length: 5",
        &deep,
    ];
    for line in noise {
        client.write(line);
        client.write(b"\n");
        let answer = client.receive();
        assert!(answer["error"]["code"].is_i64() && answer.get("id").is_none(), "{answer}");
        assert_eq!(client.result("ping", json!({})), json!({}));
    }
}

#[test]
fn a_client_that_does_not_read_costs_a_bounded_amount() {
    const N: u64 = 1_500;
    let place = allowed(&[("t", "head -c 60000 /dev/zero | tr '\\0' x", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stdin = client.take_stdin();
    let (sender, written) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for id in 1000..1000 + N {
            let params = json!({"name": "p__t", "arguments": {}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            writeln!(stdin, "{call}").unwrap();
            let _ = sender.send(());
        }
        stdin
    });
    // As many as wait in the pipe, in the server, and in what goes back: the server takes them without being read.
    for _ in 0..600 {
        written.recv().unwrap();
    }
    let answers: Vec<Value> = (0..N).map(|_| client.receive()).collect();
    let is_whole =
        |it: &&Value| it["result"]["content"][0]["text"].as_str().map(str::len) == Some(60_000);
    let n_whole = answers.iter().filter(is_whole).count();
    // A further call while so many are in flight is answered as well.
    assert!(n_whole >= 256, "{n_whole}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.pid())).unwrap();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 256 * 1024, "{peak_kib} KiB");
    drop(writer.join().unwrap());
}
