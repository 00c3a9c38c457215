//! The files of clients: where servers stand in them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Found, Variables};

/// The servers of a file, and what is to be known of the file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) servers: Vec<Found>,
    pub(super) notes: Vec<String>,
}

/// Reads a file: TOML with `mcp_servers`, as Codex has it, or JSON with `mcpServers`, as Claude Code, Gemini CLI and
/// Cursor have it, or with `servers`, as VS Code has it. Comments in JSON are left out.
///
/// # Errors
///
/// It has neither, or cannot be read; in words that follow its name.
pub(super) fn read(path: &Path, text: &str) -> Result<File, String> {
    let is_toml = path.extension().is_some_and(|it| it == "toml");
    let is_gemini = path.iter().any(|it| it == ".gemini");
    let root: Value = match is_toml {
        true => {
            toml::from_str(text).map_err(|err| format!("is not read as TOML: {}", err.message()))?
        }
        false => serde_json::from_str(&without_comments(text))
            .map_err(|err| format!("is not read as JSON: {err}"))?,
    };
    let places = ["/mcp_servers", "/mcpServers", "/servers", "/mcp/servers"];
    let servers = places.iter().find_map(|it| Some((*it, root.pointer(it)?.as_object()?)));
    let mut notes = Vec::new();
    let projects = root.get("projects").and_then(Value::as_object).into_iter().flatten();
    let of_projects = projects.filter(|(_, it)| {
        it.get("mcpServers").and_then(Value::as_object).is_some_and(|it| !it.is_empty())
    });
    for (dir, _) in of_projects {
        notes.push(format!("the servers of the project {dir} are not read"));
    }
    let Some((place, servers)) = servers else {
        return match notes.is_empty() {
            true => Err("has no servers: neither mcpServers, servers nor mcp_servers".to_owned()),
            false => Ok(File { servers: Vec::new(), notes }),
        };
    };
    let variables = match place {
        "/mcp_servers" => Variables::None,
        "/mcpServers" if is_gemini => Variables::Shell,
        "/mcpServers" => Variables::Braced,
        _ => Variables::Prefixed,
    };
    let found = |(name, declared): (&String, &Value)| Found {
        name: name.clone(),
        declared: declared.clone(),
        variables,
        dir: project_of(path),
    };
    Ok(File { servers: servers.iter().map(found).collect(), notes })
}

/// The directory of the project to which a file belongs, by its name.
fn project_of(path: &Path) -> Option<PathBuf> {
    let dir = path.parent()?;
    match path.file_name()?.to_str()? {
        ".mcp.json" => Some(dir.to_owned()),
        _ if [".cursor", ".vscode"].iter().any(|it| dir.ends_with(it)) => {
            Some(dir.parent()?.to_owned())
        }
        _ => None,
    }
}

/// JSON without `// …` and `/* … */`, and without a comma before the end of an object or an array.
fn without_comments(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let n_bytes = match c {
            '"' => string_bytes(rest),
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest[2..].find("*/").map_or("", |at| &rest[at + 4..]);
                continue;
            }
            '}' | ']' => {
                if let Some(before) = res.trim_end().strip_suffix(',') {
                    res.truncate(before.len());
                }
                1
            }
            _ => c.len_utf8(),
        };
        res.push_str(&rest[..n_bytes]);
        rest = &rest[n_bytes..];
    }
    res
}

/// Bytes of the string that a text begins with, with both its quotes.
fn string_bytes(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |it| it.0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_left_out() {
        let text = "{ // a \"b\"\n \"u\": \"http://x\\\"//y\", /* c, */ \"l\": [1, 2, /* */ ],\n}";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"u": "http://x\"//y", "l": [1, 2]}));
        for text in ["\"", "/*", "//", "\"\\", ",}", "/"] {
            without_comments(text);
        }
    }
}
