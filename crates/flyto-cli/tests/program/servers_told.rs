//! What the operator is told of servers while `serve` runs.

use std::fs;
use std::io::{BufRead as _, Write as _};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::place::Place;
use crate::serve::client::Client;
use crate::serve::running::fifo;
use crate::servers::{configure, ok, place, server};

/// A server of the era of handshakes with a tool whose schema refers to a published dialect, which clients cannot read, and one
/// with an output schema that some of them cannot compile, and an input schema that APIs refuse.
const FAR: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    case $line in
    *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}' ;;
    *'"tools/list"'*) answer '"result":{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}},{"name":"flag","description":"d","inputSchema":{"type":"object","oneOf":[{}]},"outputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^(?i)ok$"}}}}]}' ;;
    *'"tools/call"'*) answer '"result":{"content":[],"structuredContent":{"reason":"not today"},"isError":true}' ;;
    *'"id"'*) answer '"error":{"code":-32601,"message":"unknown"}' ;;
    esac
done
"#;

#[test]
fn the_operator_is_told_of_what_is_not_served() {
    let place = Place::with_tools(&[("t", "cat", ""), ("bad", "true", r#""args": 7"#)]);
    let far = place.write("far.sh", FAR).display().to_string();
    let servers = json!({
        "dead": {"command": "/nowhere/server"},
        "far": {"command": "sh", "args": [far]},
    });
    configure(&place, &servers, &json!({}));
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stderr = client.take_stderr().lines();
    let mut said = |what: &str| {
        let line = stderr.next().unwrap().unwrap();
        assert!(line.contains(what), "{line}");
    };
    let plugins = place.path().join("plugins").display().to_string();
    said(&format!("1 error; `flyto --plugins {plugins} list --problems` shows them"));
    said("the server dead failed to connect: ");
    said("far:t is not offered to clients: a reference in its input schema leads to no part of");
    said("far:flag is offered to clients without its output schema: at /properties/a/pattern: ");
    said(
        "far:flag is of no use in clients that hand its schema on: its input schema has \"oneOf\" at",
    );
    let list = client.result("tools/list", json!({}));
    let names: Vec<_> = list["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["far__flag", "p__t"]);
    assert_eq!(list["tools"][0].get("outputSchema"), None);
    // A list tells the same.
    let ran = place.flyto(&["list"]).run();
    assert!(ran.stderr().contains("far:t is not offered to clients: "), "{}", ran.stderr());
    let ran = place.flyto(&["list", "--format", "json"]).run();
    assert_eq!(ran.json()["not_offered"][0]["tool"], "far:t");
    assert_eq!(ran.json()["without_output_schema"][0]["tool"], "far:flag");
    assert_eq!(ran.json()["refused_by_apis"][0]["tool"], "far:flag");
}

#[test]
fn a_server_that_is_left_out_is_told_of() {
    let place = Place::new();
    let servers = json!({"h": {"url": "http://127.0.0.1:1/mcp", "headers": {"X A": "v"}}});
    configure(&place, &servers, &json!({}));
    place.flyto(&["servers"]).check(expect![[r#"
        exit code 0
        -- stderr
        there are no servers that can be used
        DIR/home/.config/flyto/config.json: "X A" is no name of a header; `flyto list --problems` shows it
    "#]]);
    place.flyto(&["servers", "show", "h"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no server "h"
          help: DIR/home/.config/flyto/config.json: "X A" is no name of a header; `flyto list --problems` shows it
    "#]]);
    let document = place.flyto(&["servers", "--format", "json"]).run().json();
    assert_eq!(document["servers"], json!([]));
    assert_eq!(document["findings"][0]["code"], "F0164");

    // What is wrong elsewhere comes after it, as a plugin of it may have had servers.
    let place = Place::with_tools(&[("bad", "true", r#""args": 7"#)]);
    let ran = place.flyto(&["--plugins", "plugins", "servers"]).run();
    assert!(ran.stderr().starts_with("there are no servers; "), "{}", ran.stderr());
    assert!(
        ran.stderr().ends_with("`flyto --plugins plugins list --problems` shows it\n"),
        "{}",
        ran.stderr()
    );
}

/// Its schema is for results that are none.
#[test]
fn the_structured_part_of_an_error_is_its_text() {
    let place = place(&["far:*"]);
    let far = place.write("far.sh", FAR).display().to_string();
    let servers = json!({"far": {"command": "sh", "args": [far]}});
    configure(&place, &servers, &json!({"allow": ["far:*"]}));
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stderr = client.take_stderr().lines().map(Result::unwrap);
    stderr.find(|it| it.starts_with("far:flag is offered")).unwrap();
    let result = client.result("tools/call", json!({"name": "far__flag"}));
    assert_eq!((result.get("structuredContent"), &result["isError"]), (None, &json!(true)));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with(r#"{"reason":"not today"}"#), "{result}");
}

#[test]
fn a_server_that_is_silent_delays_no_word_about_others() {
    let place = place(&["other:*"]);
    let gate = fifo(&place, "gate");
    let silent = json!({"command": "sh", "args": ["-c", "read -r _ <\"$0\"", place.path().join("plugins/p/gate")]});
    let servers = json!({"dead": {"command": "/nowhere/server"}, "silent": silent});
    configure(&place, &servers, &json!({}));
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stderr = client.take_stderr().lines();
    let line = stderr.next().unwrap().unwrap();
    assert!(line.starts_with("the server dead failed to connect: "), "{line}");
    // Only now the other one ends.
    (&gate).write_all(b"go\n").unwrap();
    let line = stderr.next().unwrap().unwrap();
    assert!(line.starts_with("the server silent failed to connect: "), "{line}");
}

#[test]
fn what_becomes_of_a_server_is_told_while_it_is_used() {
    let place = place(&["other:*"]);
    ok(place.flyto(&["list"]).run());
    let manifest = place.path().join("plugins/p/plugin.json");
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stderr = client.take_stderr().lines();
    let names = |client: &mut Client| client.result("tools/list", json!({}))["tools"].to_string();
    assert!(names(&mut client).contains("other__p__echo"));
    let called = json!({"name": "other__p__echo", "arguments": {"text": "x"}});
    client.result("tools/call", called.clone());
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("The tool echo.", "Another text.")).unwrap();
    let line = stderr.next().unwrap().unwrap();
    let plugins = place.path().join("plugins").display().to_string();
    let approve = format!("flyto --plugins {plugins} servers approve other");
    let held = format!("the server other has 1 tool held back: `{approve}` shows what changed");
    assert_eq!(line, held);
    let id = client.request("tools/call", called);
    let response = loop {
        let message = client.receive();
        if message["id"] == id {
            break message;
        }
    };
    let why = response["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("`flyto servers approve other` approves it"), "{response}");
}

#[test]
fn a_server_that_ends_while_it_is_used_is_told_of() {
    const DYING: &str = r#"
echo $$ >"$0.pid"
exec "$@"
"#;
    let place = place(&["other:*"]);
    let own = server(&place);
    let script = place.write("dying.sh", DYING).display().to_string();
    let mut args = vec![json!(script), own["command"].clone()];
    args.extend(own["args"].as_array().unwrap().iter().cloned());
    let servers = json!({"other": {"command": "sh", "args": args}});
    configure(&place, &servers, &json!({"allow": ["other:*"]}));
    let mut client = Client::legacy(&place, &[], &json!({}));
    let mut stderr = client.take_stderr().lines();
    let called = json!({"name": "other__p__echo", "arguments": {"text": "x"}});
    while !client.result("tools/list", json!({}))["tools"].to_string().contains("other__p__echo") {}
    client.result("tools/call", called);
    let id = fs::read_to_string(place.path().join("dying.sh.pid")).unwrap();
    kill_process(Pid::from_raw(id.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let line = stderr.next().unwrap().unwrap();
    assert!(line.starts_with("the connection to the server other ended: "), "{line}");
}
