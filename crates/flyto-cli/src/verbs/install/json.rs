//! Files of JSON with an object of servers.

use serde_json::{Map, Value, json};

use super::{Refused, Server, strings};

/// A server as an element of the object.
fn server_value(has_type: bool, server: &Server) -> Value {
    match has_type {
        true => json!({"type": "stdio", "command": server.command, "args": server.args}),
        false => json!({"command": server.command, "args": server.args}),
    }
}

/// A file with this server and nothing else.
pub(super) fn entry(key: &str, has_type: bool, name: &str, server: &Server) -> String {
    shown(&json!({key: {name: server_value(has_type, server)}}))
}

/// The file with the server; `None` where it has it already.
///
/// # Errors
///
/// It is no JSON, or another server has the name.
pub(super) fn with_server(
    text: &str,
    key: &str,
    has_type: bool,
    name: &str,
    server: &Server,
) -> Result<Option<String>, Refused> {
    let mut file = match text.trim_start_matches('\u{feff}').trim() {
        "" => json!({}),
        text => serde_json::from_str(text).map_err(|err| format!("is not read as JSON: {err}"))?,
    };
    let members = file.as_object_mut().ok_or("is no object")?;
    let servers = members.entry(key).or_insert_with(|| Map::new().into());
    let servers =
        servers.as_object_mut().ok_or_else(|| format!("has a {key:?} that is no object"))?;
    match servers.get(name) {
        Some(it) if is_same(it, server) => return Ok(None),
        Some(_) => {
            return Err(format!(
                "has another server {name:?}; take it out, or take another `--name`"
            ));
        }
        None => servers.insert(name.to_owned(), server_value(has_type, server)),
    };
    Ok(Some(shown(&file)))
}

/// Whether an element starts the same.
fn is_same(value: &Value, server: &Server) -> bool {
    value["command"] == *server.command
        && strings(&value["args"]).is_some_and(|it| it.iter().eq(server.args.iter()))
}

fn shown(value: &Value) -> String {
    // A value has texts for keys, which is all that can go wrong.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
