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

/// Where the reader of a file stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) current_dir: &'a Path,
    /// Files of clients in it belong to the user and to no project.
    pub(super) home: Option<&'a Path>,
}

/// Reads a file: TOML with `mcp_servers`, as Codex has it, or JSON with `mcpServers`, as Claude Code, Gemini CLI and
/// Cursor have it, or with `servers`, as VS Code has it. Comments in JSON are left out.
///
/// A file of Claude Code has servers of projects as well: those of the project of the current directory come first, and
/// take the place of others of their names.
///
/// # Errors
///
/// It has neither, or cannot be read; in words that follow its name.
pub(super) fn read(path: &Path, text: &str, reader: Reader<'_>) -> Result<File, String> {
    let is_toml = path.extension().is_some_and(|it| it == "toml");
    let is_in = |dir: &str| path.iter().any(|it| it == dir);
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
    let mut found: Vec<Found> = Vec::new();
    let projects = root.get("projects").and_then(Value::as_object).into_iter().flatten();
    let servers_of = |it: &Value| it.get("mcpServers").and_then(Value::as_object).cloned();
    let of_projects = projects.filter_map(|(dir, it)| Some((dir, servers_of(it)?)));
    let of_projects: Vec<_> = of_projects.filter(|it| !it.1.is_empty()).collect();
    let is_around = |dir: &str| reader.current_dir.starts_with(dir);
    let nearest = of_projects.iter().map(|it| it.0.as_str()).filter(|it| is_around(it));
    let nearest = nearest.max_by_key(|it| it.len()).map(ToOwned::to_owned);
    for (dir, servers) in &of_projects {
        if Some(*dir) != nearest.as_ref() {
            notes.push(format!(
                "the servers of the project {dir} are not read; `flyto import` in that directory reads them"
            ));
            continue;
        }
        found.extend(servers.iter().map(|(name, declared)| Found {
            name: name.clone(),
            declared: declared.clone(),
            variables: Variables::Braced,
            dir: Some(dir.into()),
        }));
    }
    let Some((place, servers)) = servers else {
        return match notes.is_empty() && found.is_empty() {
            true => Err("has no servers: neither mcpServers, servers nor mcp_servers".to_owned()),
            false => Ok(File { servers: found, notes }),
        };
    };
    let variables = match place {
        "/mcp_servers" => Variables::None,
        "/mcpServers" if is_in(".gemini") => Variables::Shell,
        "/mcpServers" if !is_in(".cursor") => Variables::Braced,
        _ => Variables::Prefixed,
    };
    let dir = project_of(path, reader.home);
    for (name, declared) in servers {
        if found.iter().all(|it| it.name != *name) {
            let (name, declared, dir) = (name.clone(), declared.clone(), dir.clone());
            found.push(Found { name, declared, variables, dir });
        }
    }
    Ok(File { servers: found, notes })
}

/// The directories in which clients have their files, in a project and in the home of a user.
const CLIENT_DIRS: [&str; 4] = [".cursor", ".vscode", ".gemini", ".codex"];

/// The directory of the project to which a file belongs, by its name; `None` for a file of the user's own.
fn project_of(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let dir = path.parent()?;
    if path.file_name()? == ".mcp.json" {
        return Some(dir.to_owned());
    }
    let project = dir.parent().filter(|_| CLIENT_DIRS.iter().any(|it| dir.ends_with(it)))?;
    (Some(project) != home).then(|| project.to_owned())
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
