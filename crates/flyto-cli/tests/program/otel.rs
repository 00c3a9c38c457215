//! Spans of a call reach a collector, and a collector that is not there fails no call.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use expect_test::expect;

use crate::place::Place;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

fn place() -> Place {
    Place::with_tools(&[("say", "cat", "")])
}

#[test]
fn the_spans_of_a_call_reach_the_collector_without_its_input() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let collector = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut piece) = (Vec::new(), [0; 4096]);
        // The program keeps the connection until there is an answer.
        loop {
            let n = stream.read(&mut piece).unwrap();
            assert_ne!(n, 0, "it waits for the answer");
            request.extend_from_slice(&piece[..n]);
            if is_whole(&request) {
                break;
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        request
    });
    let place = place();
    let ran = place.call(&["p:say", "text=hunter2"]).env(ENDPOINT, &endpoint);
    ran.check(expect![[r#"
        exit code 0
        -- stdout
        {"text":"hunter2"}⏎
    "#]]);
    let request = collector.join().unwrap();
    let holds = |it: &str| request.windows(it.len()).any(|bytes| bytes == it.as_bytes());
    assert!(holds("execute_tool p:say") && holds("service.name"));
    assert!(!holds("hunter2") && !holds("say.sh"));
}

/// Whether the head and as many bytes as it tells of are there.
fn is_whole(request: &[u8]) -> bool {
    let Some(at) = request.windows(4).position(|it| it == b"\r\n\r\n") else { return false };
    let head = std::str::from_utf8(&request[..at]).unwrap();
    let length = head.lines().find_map(|it| it.strip_prefix("Content-Length: ")).unwrap();
    request.len() == at + 4 + length.parse::<usize>().unwrap()
}

#[test]
fn a_collector_that_is_not_there_is_a_note_with_verbose_only() {
    let place = place();
    // No collector listens at the port 1 (tcpmux).
    let run = |words: &[&str], endpoint| {
        place.call(&[&["p:say", "text=a"], words].concat()).env(ENDPOINT, endpoint).run()
    };
    for endpoint in ["http://127.0.0.1:1", "https://127.0.0.1:1", "hunter2"] {
        let plain = run(&[], endpoint);
        assert_eq!(
            (plain.code, &*plain.stdout(), &*plain.stderr()),
            (Some(0), "{\"text\":\"a\"}", "")
        );
        let verbose = run(&["-v"], endpoint);
        assert_eq!(verbose.code, Some(0));
        let notes: Vec<_> = verbose
            .stderr()
            .lines()
            .filter(|it| it.starts_with("no trace: "))
            .map(str::to_owned)
            .collect();
        assert_eq!(notes.len(), 1, "{}", verbose.stderr());
        assert!(!notes[0].contains("hunter2"), "{}", notes[0]);
    }
}
