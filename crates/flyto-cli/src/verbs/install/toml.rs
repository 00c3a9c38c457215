//! The file of Codex: TOML with a table for each server.
//!
//! The table is added at the end, and nothing before it is touched. What is written is read again: a file in which that means another
//! thing, such as one that has its servers in an inline table, is left as it is.

use toml::{Table, Value};

use super::{Refused, Server};

/// The key of all servers.
const SERVERS: &str = "mcp_servers";

/// The table of a server.
pub(super) fn entry(name: &str, server: &Server) -> String {
    let args: Vec<String> = server.args.iter().map(|it| string(it)).collect();
    let (command, args) = (string(&server.command), args.join(", "));
    format!("[{SERVERS}.{name}]\ncommand = {command}\nargs = [{args}]\n")
}

/// A basic string, which escapes as JSON does but for one character
/// ([TOML](https://toml.io/en/v1.0.0#string)).
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// The file with the server; `None` where it has it already.
///
/// # Errors
///
/// It is no TOML, another server has the name, or the table cannot stand at its end.
pub(super) fn with_server(
    text: &str,
    name: &str,
    server: &Server,
) -> Result<Option<String>, Refused> {
    let file: Table = text.parse().map_err(|err| format!("is not read as TOML: {err}"))?;
    if let Some(it) = file.get(SERVERS).and_then(|it| it.get(name)) {
        return match is_same(it, server) {
            true => Ok(None),
            false => {
                Err(format!("has another server {name:?}; take it out, or take another `--name`"))
            }
        };
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let after = format!("{text}{gap}{}", entry(name, server));
    let is_there = after.parse::<Table>().is_ok_and(|mut file| {
        let servers = file.get_mut(SERVERS).and_then(Value::as_table_mut);
        let added = servers.and_then(|it| it.remove(name));
        added.is_some_and(|it| is_same(&it, server))
    });
    match is_there {
        true => Ok(Some(after)),
        false => Err(format!("has {SERVERS:?} in a form to which no table can be added")),
    }
}

/// Whether a table starts the same.
fn is_same(value: &Value, server: &Server) -> bool {
    let args = value.get("args").and_then(Value::as_array);
    let args: Option<Vec<&str>> = args.and_then(|it| it.iter().map(Value::as_str).collect());
    value.get("command").and_then(Value::as_str) == Some(&server.command)
        && args.is_some_and(|it| it.iter().eq(server.args.iter()))
}
