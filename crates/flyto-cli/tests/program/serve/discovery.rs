//! Two tools in place of all.

use serde_json::json;

use super::client::Client;
use super::tools::{allowed, text};

#[test]
fn tools_are_found_and_called_through_two() {
    let place = allowed(&[("cat", "cat", ""), ("other", "echo other", "")]);
    for mut client in [
        Client::legacy(&place, &["--discovery"], &json!({})),
        Client::modern(&place, &["--discovery"], &json!({})),
    ] {
        let list = client.result("tools/list", json!({}));
        let tools = list["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["call_tool", "search_tools"]);
        assert!(tools.iter().all(|it| it["annotations"].as_object().unwrap().len() == 5), "{list}");

        let call = json!({"name": "search_tools", "arguments": {"query": "cat", "limit": 1}});
        let found = client.result("tools/call", call);
        let found: serde_json::Value = serde_json::from_str(text(&found)).unwrap();
        assert_eq!((&found["tools"][0]["name"], &found["of"]), (&json!("p__cat"), &json!(2)));
        assert!(found["tools"][0]["inputSchema"].is_object(), "{found}");

        let inner = json!({"name": "p__cat", "arguments": {"b": 1.0, "a": 2}});
        let result = client.result("tools/call", json!({"name": "call_tool", "arguments": inner}));
        assert_eq!(text(&result), r#"{"b":1.0,"a":2}"#);
        // What a model chose wrongly is a result, and names what is near.
        for (arguments, why) in [
            (json!({"name": "p__cta"}), "there is no tool"),
            (json!({}), "invalid input: /name: expected a string"),
            (json!({"name": "p__cat", "arguments": [1]}), "must be an object"),
        ] {
            let call = json!({"name": "call_tool", "arguments": arguments});
            let result = client.result("tools/call", call);
            assert_eq!(result["isError"], true);
            assert!(text(&result).contains(why), "{result}");
        }
    }
}

/// What the schema of the search takes is taken, and nothing else.
#[test]
fn a_search_holds_to_its_own_schema() {
    let place = allowed(&[("cat", "cat", "")]);
    let mut client = Client::modern(&place, &["--discovery"], &json!({}));
    let list = client.result("tools/list", json!({}));
    let schema = jsonschema::validator_for(&list["tools"][1]["inputSchema"]).unwrap();
    for (query, limit, fits) in [
        ("cat".to_owned(), json!(1), true),
        ("cat".to_owned(), json!(1.0), true),
        ("cat".to_owned(), json!(20), true),
        ("cat".to_owned(), json!(1.5), false),
        ("cat".to_owned(), json!(0), false),
        ("cat".to_owned(), json!(21), false),
        ("cat".to_owned(), json!(-1.0), false),
        ("cat".to_owned(), json!("1"), false),
        ("ж".repeat(1000), json!(1), true),
        ("ж".repeat(1001), json!(1), false),
    ] {
        let arguments = json!({"query": query, "limit": limit});
        assert_eq!(schema.is_valid(&arguments), fits, "{arguments}");
        let call = json!({"name": "search_tools", "arguments": arguments});
        let result = client.result("tools/call", call);
        assert_eq!(result["isError"] == json!(true), !fits, "{arguments}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.starts_with("invalid input: /"), !fits, "{arguments}: {text}");
    }
}

#[test]
fn a_call_through_the_two_is_asked_about_like_any_other() {
    let place = crate::place::Place::with_tools(&[("t", "echo done", "")]);
    let mut client =
        Client::modern(&place, &["--discovery"], &json!({"elicitation": {"form": {}}}));
    let mut params =
        json!({"name": "call_tool", "arguments": {"name": "p:t", "arguments": {"x": 1}}});
    let question = client.result("tools/call", params.clone());
    assert_eq!(question["resultType"], "input_required", "{question}");
    params["requestState"] = question["requestState"].clone();
    params["inputResponses"] =
        json!({"approval": {"action": "accept", "content": {"decision": "approve once"}}});
    let mut other = params.clone();
    other["arguments"]["arguments"]["x"] = json!(2);
    assert_eq!(client.error("tools/call", other).0, -32602);
    assert_eq!(text(&client.result("tools/call", params)), "done\n");
}
