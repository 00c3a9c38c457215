//! Tools that give images, audio and resources.

use serde_json::{Value, json};

use super::client::Client;
use super::tools::allowed;
use crate::place::Place;
use crate::servers::{configure, server};

/// A text, an image, a sound, a resource and a link.
fn blocks() -> Value {
    json!([
        {"type": "text", "text": "the week"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "test://a", "mimeType": "a/b", "blob": "AAAA"}},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
    ])
}

const TEXT: &str = "the week\n[image, image/png, 8 bytes]\n[audio, audio/wav, 4 bytes]\n[resource, test://a, 3 bytes]\n[resource, a: file:///a]";

/// What a client gets: the text, and the blocks that are none.
fn expected() -> Value {
    let mut res = blocks();
    res[0]["text"] = TEXT.into();
    res
}

fn both_eras(place: &Place) -> [Client; 2] {
    [Client::legacy(place, &[], &json!({})), Client::modern(place, &[], &json!({}))]
}

#[test]
fn a_tool_of_a_plugin_gives_them() {
    let printed = json!({"content": blocks()}).to_string();
    let script = format!("cat <<'E'\n{printed}\nE\n");
    let place = allowed(&[("week", &script, r#""content": "mcp""#), ("plain", &script, "")]);
    for mut client in both_eras(&place) {
        let result = client.result("tools/call", json!({"name": "p__week"}));
        assert_eq!(result["content"], expected(), "{result}");
        assert_eq!((result.get("structuredContent"), &result["isError"]), (None, &json!(false)));
        // Nothing is taken for blocks that is not declared.
        let result = client.result("tools/call", json!({"name": "p__plain"}));
        assert_eq!(result["content"], json!([{"type": "text", "text": format!("{printed}\n")}]));
    }
    // A terminal has the text.
    let ran = place.call(&["p:week"]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(0), TEXT.to_owned()), "{}", ran.shown());
    let printed =
        place.flyto(&["--plugins", "plugins", "call", "p:week", "--format", "json"]).run();
    assert_eq!(printed.json()["data"]["content"], blocks(), "{}", printed.shown());
    for (name, row, content) in [("p:week", true, json!("mcp")), ("p:plain", false, json!(null))] {
        let show = |more: &[&str]| {
            place.flyto(&[&["--plugins", "plugins", "show", name], more].concat()).run()
        };
        let shown = show(&[]).stdout();
        assert_eq!(shown.contains("content      a list of blocks"), row, "{shown}");
        assert_eq!(show(&["--format", "json"]).json()["content"], content);
    }
}

#[test]
fn those_of_a_session_and_of_another_server_stand_beside_its_data() {
    let place = Place::new();
    let answer = json!({"content": blocks(), "data": {"total": 3}}).to_string();
    let program = format!(
        "#!/bin/sh\nwhile read -r line; do id=${{line#*id\\\":}}; id=${{id%%,*}}\ncat <<E\n{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{answer}}}\nE\ndone\n"
    );
    let file = place.write("plugins/p/program", &program);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(file, mode).unwrap();
    let manifest = json!({
        "name": "p", "execution": "binary",
        "binary": {"path": "program", "lifetime": "session"},
        "tools": [{"name": "week", "description": "The week.", "content": "mcp"}],
    });
    place.write("plugins/p/plugin.json", &manifest.to_string());
    configure(&place, &json!({"other": server(&place)}), &json!({"allow": ["p:*", "other:*"]}));
    for mut client in both_eras(&place) {
        client.result("tools/list", json!({}));
        for name in ["p__week", "other__p__week"] {
            let result = client.result("tools/call", json!({"name": name}));
            let content = result["content"].as_array().unwrap();
            // The text of another `flyto` has its own lines.
            assert!(content[0]["text"].as_str().unwrap().starts_with(TEXT), "{name}: {result}");
            assert_eq!(content[1..], expected().as_array().unwrap()[1..], "{name}");
            assert_eq!(result["structuredContent"], json!({"total": 3}), "{name}");
        }
    }
}
