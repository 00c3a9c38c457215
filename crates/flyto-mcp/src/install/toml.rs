//! The file of Codex: TOML with a table for each server.
//!
//! The table is added at the end, and nothing before it is touched. What is written is read again: a file in which that means another
//! thing, such as one that has its servers in an inline table, is left as it is.

use toml::{Table, Value};

use super::types::{InstallError, ServerEntry};

/// The key of all servers.
const SERVERS: &str = "mcp_servers";

/// The table of a server.
pub(super) fn table(server: &ServerEntry) -> String {
    let args: Vec<String> = server.args.iter().map(|it| string(it)).collect();
    let (command, args) = (string(&server.command), args.join(", "));
    format!("[{SERVERS}.{}]\ncommand = {command}\nargs = [{args}]\n", key(&server.name))
}

/// A key, with quotes where it needs them ([TOML](https://toml.io/en/v1.0.0#keys)).
fn key(name: &str) -> String {
    let is_bare = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => name.to_owned(),
        false => string(name),
    }
}

/// A basic string, which escapes as JSON does but for one character
/// ([TOML](https://toml.io/en/v1.0.0#string)).
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// The file with the server; `None` where it has it already.
pub(super) fn with(text: &str, server: &ServerEntry) -> Result<Option<String>, InstallError> {
    let name = &server.name;
    let read = text.parse::<Table>();
    let mut file = read.map_err(|err| {
        let start = err.span().map_or(0, |it| text.floor_char_boundary(it.start));
        let line = text[..start].matches('\n').count() + 1;
        InstallError::Toml { message: format!("{} (line {line})", err.message()) }
    })?;
    match file.get(SERVERS).and_then(|it| it.get(name)) {
        Some(it) if is_same(it, server) => return Ok(None),
        Some(_) => return Err(InstallError::OtherServer { name: name.clone() }),
        None => {}
    }
    let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
    let after = format!("{text}{gap}{}", table(server));
    let is_there = after.parse::<Table>().is_ok_and(|mut after| {
        let servers = after.get_mut(SERVERS).and_then(Value::as_table_mut);
        let added = servers.and_then(|it| it.remove(name));
        // The table of servers may be new as well.
        file.entry(SERVERS).or_insert_with(|| Table::new().into());
        added.is_some_and(|it| is_same(&it, server)) && after == file
    });
    match is_there {
        true => Ok(Some(after)),
        false => Err(InstallError::NoTable { key: SERVERS.to_owned() }),
    }
}

/// Whether a table starts the same.
fn is_same(value: &Value, server: &ServerEntry) -> bool {
    let args = value.get("args").and_then(Value::as_array);
    let command = value.get("command").and_then(Value::as_str);
    args.is_some_and(|args| server.matches(command, args.iter().map(Value::as_str)))
}
