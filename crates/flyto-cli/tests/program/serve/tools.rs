//! `tools/list` and `tools/call`: every tool of the host, through all its gates.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::client::Client;
use crate::place::Place;

/// A place whose rules allow every tool of the plugin `p`.
pub(super) fn allowed(tools: &[(&str, &str, &str)]) -> Place {
    let place = Place::with_tools(tools);
    place.write("home/.config/flyto/config.json", r#"{"permissions": {"allow": ["p:*"]}}"#);
    place
}

pub(super) fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(result["content"][0]["type"], "text");
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_tool_is_described_for_both_eras() {
    let schema =
        r#""input_schema": {"type": "object", "properties": {"x": true, "y": {"type": "string"}}}"#;
    let place = Place::with_tools(&[("t", "echo hi", schema)]);
    for mut client in
        [Client::legacy(&place, &[], &json!({})), Client::modern(&place, &[], &json!({}))]
    {
        let list = client.result("tools/list", json!({}));
        let tool = &list["tools"][0];
        assert_eq!(tool["name"], "p__t");
        assert_eq!(tool["description"], "The tool t.");
        assert_eq!(tool["inputSchema"]["type"], "object");
        // One boolean there makes many clients drop the whole list.
        assert_eq!(tool["inputSchema"]["properties"]["x"], json!({}));
        assert_eq!(
            tool["annotations"],
            json!({
                "readOnlyHint": false, "destructiveHint": false,
                "idempotentHint": false, "openWorldHint": true,
            })
        );
        assert_eq!(list["tools"].as_array().unwrap().len(), 1);
        assert!(list.get("nextCursor").is_none());
        let is_modern = list.get("resultType").is_some();
        assert_eq!(list["ttlMs"].is_u64() && list["cacheScope"] == "private", is_modern);
        assert_eq!(client.error("tools/list", json!({"cursor": "nonsense"})).0, -32602);
    }
}

#[test]
fn a_call_of_no_tool_is_in_the_log() {
    let place = allowed(&[("t", "echo hi", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    client.error("tools/call", json!({"name": "p__gone", "arguments": {"n": 1}}));
    let reader = flyto_audit::Reader::open(crate::audit::log_dir(&place)).unwrap();
    let mut records = reader.follow_after(0).unwrap().map(|it| it.unwrap().body);
    let (begin, end) = (records.next().unwrap(), records.next().unwrap());
    assert_eq!((&begin["tool"], &begin["caller"]), (&json!("p__gone"), &json!("agent")));
    assert_eq!(begin["input_bytes"], 7);
    assert_eq!((&end["outcome"], &end["error"]), (&json!("not_tried"), &json!("not_found")));
}

/// Clients check the structured part of any result against the schema, and show an error of their own where it does not fit.
#[test]
fn an_error_of_a_tool_with_an_output_schema_has_no_structured_part() {
    let schema = r#""output_schema": {"type": "object", "properties": {"rows": {"type": "integer"}}, "required": ["rows"]}"#;
    let place = allowed(&[
        ("good", r#"echo '{"rows": 1}'"#, schema),
        ("breaks", r#"echo '{"b": 1}'"#, schema),
        ("fails", r#"echo '{"b": 1}'; exit 1"#, schema),
    ]);
    for mut client in
        [Client::legacy(&place, &[], &json!({})), Client::modern(&place, &[], &json!({}))]
    {
        let result = client.result("tools/call", json!({"name": "p__good"}));
        assert_eq!(result["structuredContent"], json!({"rows": 1}), "{result}");
        for name in ["p__breaks", "p__fails"] {
            let result = client.result("tools/call", json!({"name": name}));
            assert_eq!((result.get("structuredContent"), &result["isError"]), (None, &json!(true)));
            // The model reads what it printed.
            assert!(text(&result).contains(r#"{"b": 1}"#), "{result}");
        }
    }
}

#[test]
fn a_call_whose_arguments_are_no_json_is_in_the_log() {
    let place = allowed(&[("t", "cat", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let arguments = [r#"{"n":1,"n":2}"#, &deep, r#"{"n":"\ud800"}"#];
    for arguments in arguments {
        let params = format!(r#"{{"name":"p__t","arguments":{arguments}}}"#);
        let head = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":"#;
        client.write(format!("{head}{params}}}\n").as_bytes());
        let response = client.receive();
        assert_eq!(response["result"]["isError"], true, "{response}");
        let refusal = &response["result"]["_meta"]["dev.flyto/refusal"];
        assert_eq!(*refusal, json!({"stage": "validate"}), "{response}");
    }
    let reader = flyto_audit::Reader::open(crate::audit::log_dir(&place)).unwrap();
    let records = reader.follow_after(0).unwrap().map(|it| it.unwrap().body);
    let records: Vec<_> = records.take(2 * arguments.len()).collect();
    for call in records.chunks(2) {
        assert_eq!((&call[0]["tool"], &call[0]["caller"]), (&json!("p:t"), &json!("agent")));
        assert_eq!(
            (&call[1]["outcome"], &call[1]["stage"]),
            (&json!("refused"), &json!("validate"))
        );
    }
}

#[test]
fn a_name_that_leads_to_no_tool_is_told_with_the_names_that_clients_have() {
    let place =
        allowed(&[("echo", "echo hi", ""), ("bad", "true", r#""timeout_seconds": "soon""#)]);
    let mut client = Client::legacy(&place, &["--discovery"], &json!({}));
    let (code, message) = client.error("tools/call", json!({"name": "p__ech"}));
    assert_eq!(
        (code, message.as_str()),
        (-32602, r#"there is no tool "p__ech"; similar: "p__echo""#)
    );
    let call = json!({"name": "call_tool", "arguments": {"name": "p__ech"}});
    let result = client.result("tools/call", call);
    assert!(text(&result).ends_with(r#"similar: "p__echo""#), "{result}");
    // It is there, and has a problem.
    let (_, message) = client.error("tools/call", json!({"name": "p__bad"}));
    assert!(message.starts_with(r#"the tool "p__bad" was not loaded: "#), "{message}");
}

#[test]
fn pages_and_searches_are_bounded_in_bytes() {
    const N: usize = 30;
    const LONG: usize = 200_000;
    let place = Place::new();
    for i in 0..N {
        let description = format!("{i} {}", "x".repeat(LONG));
        let tool = json!({"name": "t", "description": description, "command": "true", "args": []});
        let manifest = json!({"name": format!("p{i}"), "tools": [tool]});
        place.write(&format!("plugins/p{i}/plugin.json"), &manifest.to_string());
    }
    let mut client = Client::modern(&place, &[], &json!({}));
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.result("tools/list", params);
        pages.push(page["tools"].as_array().unwrap().len());
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    // 4 MiB hold 20 such tools.
    assert_eq!(pages, [20, 10]);

    let mut client = Client::modern(&place, &["--discovery"], &json!({}));
    let search = json!({"name": "search_tools", "arguments": {"query": "", "limit": 20}});
    let found = client.result("tools/call", search);
    assert_eq!(found["structuredContent"]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(found["structuredContent"]["of"], N);
}

#[test]
fn a_thousand_tools_come_in_pages() {
    let place = Place::new();
    for plugin in 0..4 {
        let mut tools = String::new();
        for tool in 0..250 {
            let comma = if tool == 0 { "" } else { "," };
            write!(
                tools,
                r#"{comma}{{"name":"t{tool}","description":"d","command":"true","args":[]}}"#
            )
            .unwrap();
        }
        place.write(
            &format!("plugins/p{plugin}/plugin.json"),
            &format!(r#"{{"name": "p{plugin}", "tools": [{tools}]}}"#),
        );
    }
    let mut client = Client::modern(&place, &[], &json!({}));
    let mut names: Vec<String> = Vec::new();
    let mut n_pages = 0;
    let mut params = json!({});
    loop {
        let page = client.result("tools/list", params);
        n_pages += 1;
        names.extend(
            page["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().into()),
        );
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!((n_pages, names.len()), (2, 1000));
    assert!(names.is_sorted(), "the order is the same at each time");
    names.dedup();
    assert_eq!(names.len(), 1000);
}

#[test]
fn a_call_gets_the_bytes_of_its_arguments_and_gives_its_text() {
    let place = allowed(&[("cat", "cat", ""), ("fail", "echo out; echo why >&2; exit 3", "")]);
    for mut client in
        [Client::legacy(&place, &[], &json!({})), Client::modern(&place, &[], &json!({}))]
    {
        // A number keeps its digits, and a key its place.
        let call = json!({"name": "p__cat", "arguments": {"b": 1.0, "a": "é"}});
        let result = client.result("tools/call", call);
        assert_eq!((text(&result), &result["isError"]), (r#"{"b":1.0,"a":"é"}"#, &json!(false)));
        // Without arguments the input is an empty object; the id of the tool is as good as its wire name.
        let result = client.result("tools/call", json!({"name": "p:cat"}));
        assert_eq!(text(&result), "{}");
        let result = client.result("tools/call", json!({"name": "p__fail", "arguments": {}}));
        assert_eq!(result["isError"], true);
        let shown = text(&result);
        assert!(shown.contains("exit code 3") && shown.contains("why"), "{shown}");
    }
}

#[test]
fn what_a_model_can_mend_is_a_result_and_the_rest_an_error_of_the_protocol() {
    let schema = r#""input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}"#;
    let place = allowed(&[("t", "cat", schema)]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let result = client.result("tools/call", json!({"name": "p__t", "arguments": {"n": "one"}}));
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("/n"), "{result}");
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"tools/call\",\"params\":{\"name\":\"p__t\",\"arguments\":{\"n\":1,\"n\":2}}}\n");
    let response = client.receive();
    assert_eq!(response["result"]["isError"], true, "{response}");
    assert!(text(&response["result"]).contains("twice"), "{response}");

    let (code, message) = client.error("tools/call", json!({"name": "p__x", "arguments": {}}));
    assert_eq!(code, -32602);
    assert!(message.contains("there is no tool \"p__x\""), "{message}");
    assert_eq!(client.error("tools/call", json!({"arguments": {}})).0, -32602);
    assert_eq!(client.error("tools/call", json!({"name": 7})).0, -32602);
    assert_eq!(client.error("tools/call", json!({"name": "p__t", "arguments": [1]})).0, -32602);
}

#[test]
fn a_call_that_no_rule_allows_is_refused_with_the_rule_to_add() {
    let place = Place::with_tools(&[("t", "echo ran > ran", "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    let result = client.result("tools/call", json!({"name": "p__t", "arguments": {}}));
    assert_eq!(result["isError"], true);
    let shown = text(&result);
    assert!(shown.contains("refused by the stage \"permission\""), "{shown}");
    assert!(shown.contains(r#"{"permissions":{"allow":["p:t"]}}"#), "{shown}");
    assert!(shown.contains("home/.config/flyto/config.json"), "{shown}");
    let refusal = json!({"stage": "permission", "allowed_by": ["p:t"]});
    assert_eq!(result["_meta"]["dev.flyto/refusal"], refusal);
    assert!(!place.exists("plugins/p/ran"));
}

#[test]
fn a_long_output_has_its_middle_cut_out() {
    let place = allowed(&[("long", "head -c 300000 /dev/zero | tr '\\0' x", "")]);
    let mut client = Client::legacy(&place, &["--output-limit", "1000"], &json!({}));
    let result = client.result("tools/call", json!({"name": "p__long", "arguments": {}}));
    let shown = text(&result);
    assert!(shown.len() < 1500 && shown.contains("bytes"), "{} bytes", shown.len());
    // Without the option a model has a limit, too.
    let mut client = Client::legacy(&place, &[], &json!({}));
    let result = client.result("tools/call", json!({"name": "p__long", "arguments": {}}));
    assert!((60_000..70_000).contains(&text(&result).len()), "{}", text(&result).len());
}

#[test]
fn a_tool_neither_reads_the_servers_stdin_nor_writes_its_stdout() {
    // A program that changes the flags of its descriptors, reads all of stdin, and writes to both outputs.
    let script = "cat >/dev/null; cat <&0 >/dev/null; echo out; echo err >&2; exec 0<&- 1>&-";
    let place = allowed(&[("t", script, "")]);
    let mut client = Client::legacy(&place, &[], &json!({}));
    for _ in 0..4 {
        client.request("tools/call", json!({"name": "p__t", "arguments": {}}));
    }
    for _ in 0..4 {
        assert_eq!(text(&client.receive()["result"]).trim_end(), "out");
    }
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn calls_in_flight_are_answered_when_stdin_ends() {
    let place = allowed(&[("t", "read line < fifo; echo $line", "")]);
    let fifo = place.path().join("plugins/p/fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let mut client = Client::legacy(&place, &[], &json!({}));
    let id = client.request("tools/call", json!({"name": "p__t", "arguments": {}}));
    client.close_stdin();
    // Opening it waits for the tool, which the server started after its input had ended, or before.
    std::fs::write(&fifo, "done\n").unwrap();
    let (status, messages, _) = client.end();
    assert!(status.success());
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!((&messages[0]["id"], text(&messages[0]["result"])), (&json!(id), "done\n"));
}

#[test]
fn a_model_is_told_once_that_a_tool_would_help_where_the_user_says_so() {
    for gives_hints in [true, false] {
        let place = Place::with_tools(&[("t", "echo hi", ""), ("fail", "exit 1", "")]);
        let config = json!({
            "permissions": {"allow": ["p:*"]},
            "evolve": {"dir": place.path().join("tools"), "hints": gives_hints},
        });
        place.write("home/.config/flyto/config.json", &config.to_string());
        let mut client = Client::modern(&place, &[], &json!({}));
        let mut call = |name: &str, n: u64| {
            let command = format!("git log -n {n}");
            let call = json!({"name": name, "arguments": {"command": command}});
            text(&client.result("tools/call", call)).to_owned()
        };
        // The same call again, and calls that failed, are no reason for a tool.
        let before =
            [("p__t", 1), ("p__t", 1), ("p__t", 2), ("p__fail", 1), ("p__fail", 2), ("p__fail", 3)];
        for (name, n) in before {
            let shown = call(name, n);
            assert!(!shown.contains("[hint"), "{shown}");
        }
        let hint = "[hint: p:t was called 4 times as {\"command\":\"git log -n *\"}; \
            if that is needed again, create a tool for it]";
        let shown = call("p__t", 3);
        assert_eq!(shown.trim_end().strip_prefix("hi\n"), gives_hints.then_some(hint), "{shown}");
        let shown = call("p__t", 4);
        assert!(!shown.contains("[hint"), "{shown}");
    }
}
