//! Framing, the two eras, and the end of a connection.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::client::{Client, LEGACY, MODERN};
use crate::place::Place;

#[test]
fn a_handshake_agrees_on_a_revision() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        (LEGACY, LEGACY),
        // What is not known, or has no handshake, is answered with the newest that has one.
        ("1900-01-01", LEGACY),
        (MODERN, LEGACY),
    ] {
        let mut client = Client::start(&place, &[]);
        let result = client.initialize(asked, &json!({}));
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "flyto");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        assert_eq!(client.result("ping", json!({})), json!({}));
        let again = client.error("initialize", json!({"protocolVersion": asked}));
        assert_eq!(again, (-32600, "the connection is initialised already".to_owned()));
        assert!(client.end().0.success());
    }
}

#[test]
fn each_modern_request_carries_its_terms() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let mut client = Client::modern(&place, &[], &json!({}));
    let found = client.result("server/discover", json!({}));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["supportedVersions"][0], MODERN);
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "flyto");
    assert!(found["ttlMs"].is_u64() && found["cacheScope"] == "private", "{found}");
    // What the new era does not have any more.
    for method in ["ping", "initialize", "logging/setLevel", "prompts/list", "resources/list"] {
        assert_eq!(client.error(method, json!({})).0, -32601, "{method}");
    }
    let id = client.request(
        "server/discover",
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}}),
    );
    let response = client.response(id);
    assert_eq!(response["error"]["code"], -32022, "{response}");
    assert_eq!(response["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(response["error"]["data"]["supported"][0], MODERN);
}

#[test]
fn a_request_without_terms_is_told_what_it_lacks() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let mut client = Client::start(&place, &[]);
    let (code, message) = client.error("server/discover", json!({}));
    assert_eq!(code, -32602);
    assert!(message.contains(MODERN) && message.contains("\"initialize\""), "{message}");
    let key = "io.modelcontextprotocol/protocolVersion";
    let (code, message) = client.error("server/discover", json!({"_meta": {key: MODERN}}));
    assert_eq!(code, -32602);
    assert!(message.contains("clientCapabilities"), "{message}");
    // Both eras on one connection.
    client.initialize(LEGACY, &json!({}));
    let meta = json!({key: MODERN, "io.modelcontextprotocol/clientCapabilities": {}});
    assert_eq!(client.result("server/discover", json!({"_meta": meta}))["resultType"], "complete");
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn lines_that_are_no_messages_are_answered_and_cost_nothing_else() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    for (line, code) in [
        ("{\"jsonrpc\":", -32700),
        ("nonsense", -32700),
        ("\u{0}", -32700),
        ("42", -32600),
        ("{}", -32600),
        ("[]", -32600),
        // Batches went with the revision 2025-06-18.
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let response = client.receive();
        assert_eq!(response["error"]["code"], code, "{line}: {response}");
        assert!(response.get("id").is_none(), "{response}");
    }
    client.write(b"\xff\xfe\n\r\n\n");
    assert_eq!(client.receive()["error"]["code"], -32700);
    // Parameters of another type belong to the request.
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\",\"params\":[1]}\n");
    let response = client.receive();
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!("x"), &json!(-32602)));
    // Responses and notifications that mean nothing are not answered.
    client.send(&json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/unknown"}));
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}),
    );
    assert_eq!(client.result("ping", json!({})), json!({}));
    let (status, rest, stderr) = client.end();
    assert!(status.success());
    assert_eq!((rest, stderr), (Vec::<Value>::new(), String::new()));
}

#[test]
fn a_message_beyond_the_bound_is_dropped_and_the_connection_goes_on() {
    const MAX: usize = 16 * 1024 * 1024;
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let head = r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":""#;
    let tail = r#""}}"#;
    for (length, is_taken) in [(MAX, true), (MAX + 1, false)] {
        let filling = "x".repeat(length - head.len() - tail.len());
        client.write(format!("{head}{filling}{tail}\n").as_bytes());
        let response = client.receive();
        assert_eq!(response.get("result").is_some(), is_taken, "{length}: {response}");
        if !is_taken {
            assert_eq!(response["error"]["code"], -32600);
            let message = response["error"]["message"].as_str().unwrap();
            assert!(message.contains("16777217") && message.contains("16777216"), "{message}");
        }
    }
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn batches_belong_to_the_revisions_that_have_them() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let mut client = Client::start(&place, &[]);
    client.initialize("2025-03-26", &json!({}));
    client.send(&json!([
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        {"jsonrpc": "2.0", "id": "b", "method": "nothing"},
        7,
    ]));
    let answers = client.receive();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&json!("a"), &json!({})));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!("b"), &json!(-32601)));
    assert_eq!(answers[2]["error"]["code"], -32600);
    // A batch of notifications is not answered.
    client.send(&json!([{"jsonrpc": "2.0", "method": "notifications/unknown"}]));
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn a_flood_of_requests_is_answered_in_order_within_bounds() {
    const N: u64 = 20_000;
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stdin = client.take_stdin();
    let flood = std::thread::spawn(move || {
        for id in 0..N {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"f{id}\",\"method\":\"ping\"}}\n");
            std::io::Write::write_all(&mut stdin, line.as_bytes()).unwrap();
        }
    });
    for id in 0..N {
        assert_eq!(client.receive()["id"], format!("f{id}"));
    }
    flood.join().unwrap();
    assert!(client.end().0.success());
}

#[test]
fn the_end_of_stdin_ends_the_server() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    // A last line without an end of line counts.
    let mut client = Client::start(&place, &[]);
    client.write(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let (status, rest, stderr) = client.end();
    assert!(status.success());
    assert_eq!(rest, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
    assert_eq!(stderr, "");
}

#[test]
fn a_signal_ends_the_server() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let client = Client::legacy(&place, &[], &json!({}));
    let pid = Pid::from_raw(client.pid().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let (status, _, stderr) = client.end_with_open_stdin();
    assert_eq!((status.code(), stderr), (Some(143), String::new()));
}
