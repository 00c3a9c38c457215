//! Files of JSON with an object of servers.

use flyto_diagnostics::{Source, json};
use serde::Serialize as _;
use serde_json::{Value, json as object, ser::PrettyFormatter};

use super::types::{InstallError, ServerEntry};
use crate::comments::{blank_comments, blank_last_commas};

/// The blanks of one level of depth where the file shows none.
const INDENT: &str = "  ";

/// A server as an element of the object.
fn server_value(has_type: bool, server: &ServerEntry) -> Value {
    let ServerEntry { command, args, .. } = server;
    match has_type {
        true => object!({"type": "stdio", "command": command, "args": args}),
        false => object!({"command": command, "args": args}),
    }
}

/// A file with this server and nothing else.
pub(super) fn only(key: &str, has_type: bool, server: &ServerEntry) -> String {
    let value = object!({key: {&server.name: server_value(has_type, server)}});
    Layout { newline: "\n", indent: INDENT, is_one_line: false }.text(&value, "") + "\n"
}

/// The file with the server; `None` where it has it already.
pub(super) fn with(
    text: &str,
    key: &str,
    has_type: bool,
    has_comments: bool,
    server: &ServerEntry,
) -> Result<Option<String>, InstallError> {
    // What stands before the text that is read.
    let n_before = text.len() - text.trim_start_matches('\u{feff}').len();
    let plain = &text[n_before..];
    let uncommented = if has_comments { blank_comments(plain) } else { plain.to_owned() };
    let read = if has_comments { blank_last_commas(&uncommented) } else { plain.to_owned() };
    let source = Source::new("", read);
    let root = json::parse(&source).map_err(|diag| {
        let line = diag.location.place().map_or(1, |it| it.line);
        InstallError::Json { message: format!("{} (line {line})", diag.message) }
    })?;
    let members = root.as_object().ok_or(InstallError::NoObject)?;
    let value = server_value(has_type, server);
    let (object, member, value) = match only_member(members, key)? {
        None => (&root, key, object!({&server.name: value})),
        Some(servers) => {
            let members = servers.as_object();
            let members = members.ok_or_else(|| InstallError::NoServers { key: key.to_owned() })?;
            match only_member(members, &server.name)? {
                Some(it) if is_same(it, server) => return Ok(None),
                Some(_) => return Err(InstallError::OtherServer { name: server.name.clone() }),
                None => (servers, &*server.name, value),
            }
        }
    };
    let Addition { comma, at, text: piece } =
        addition(&root, object, plain, &uncommented, member, &value);
    let mut res = text.to_owned();
    res.insert_str(n_before + at, &piece);
    if let Some(comma) = comma {
        res.insert(n_before + comma, ',');
    }
    Ok(Some(res))
}

/// What is added to a text.
struct Addition {
    /// The byte at which a comma is added, where the object has a last member without one.
    comma: Option<usize>,
    /// The byte at which the text is added; not before the comma.
    at: usize,
    text: String,
}

/// The value of a key.
///
/// # Errors
///
/// The key stands twice.
fn only_member<'v, 's>(
    members: &'v [json::Member<'s>],
    key: &str,
) -> Result<Option<&'v json::Value<'s>>, InstallError> {
    let mut found = members.iter().filter(|it| it.key.value == key);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(InstallError::Twice { key: key.to_owned() }),
        (first, None) => Ok(first.map(|it| &it.value)),
    }
}

/// Whether an element starts the same.
fn is_same(value: &json::Value<'_>, server: &ServerEntry) -> bool {
    let args = value.get("args").and_then(json::Value::as_array);
    let command = value.get("command").and_then(json::Value::as_str);
    args.is_some_and(|args| server.matches(command, args.iter().map(json::Value::as_str)))
}

/// What is added to an object behind its last member. Where `text` has comments `uncommented` has blanks.
fn addition(
    root: &json::Value<'_>,
    object: &json::Value<'_>,
    text: &str,
    uncommented: &str,
    key: &str,
    value: &Value,
) -> Addition {
    let members = object.as_object().unwrap_or_default();
    let has_lines = text[object.span.range()].contains('\n');
    let indent = root.as_object().and_then(|it| own_line(text, it.first()?));
    let layout = Layout {
        newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
        indent: indent.filter(|it| !it.is_empty()).unwrap_or(INDENT),
        is_one_line: !members.is_empty() && !has_lines,
    };
    let outer = line_blanks(text, object.span.start);
    let blanks = match members.last().and_then(|it| own_line(text, it)) {
        Some(blanks) => blanks.to_owned(),
        None => format!("{outer}{}", layout.indent),
    };
    let newline = layout.newline;
    let member = format!("{}: {}", Value::from(key), layout.text(value, &blanks));
    let Some(last) = members.last().map(|it| it.value.span.end) else {
        // The end of the object has a line of its own already, or gets one.
        let after = if has_lines { String::new() } else { format!("{newline}{outer}") };
        let at = behind_line_comment(text, uncommented, object.span.start + 1);
        return Addition { comma: None, at, text: format!("{newline}{blanks}{member}{after}") };
    };
    let separator = if layout.is_one_line { " ".to_owned() } else { format!("{newline}{blanks}") };
    let comma = uncommented[last..object.span.end].find(',').map(|it| last + it + 1);
    let at = behind_line_comment(text, uncommented, comma.unwrap_or(last));
    let comma = comma.is_none().then_some(last);
    Addition { comma, at, text: format!("{separator}{member}") }
}

/// The end of the line where nothing but a comment `// …` stands behind a byte: it belongs to what stands before it. Else the byte
/// itself.
fn behind_line_comment(text: &str, uncommented: &str, at: usize) -> usize {
    let rest = &text[at..];
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let is_comment =
        rest[blanks..].starts_with("//") && uncommented[at + blanks..].starts_with(' ');
    let line = rest.find('\n').filter(|_| is_comment).map(|it| rest[..it].trim_end_matches('\r'));
    at + line.map_or(0, str::len)
}

/// The blanks before the key of a member that begins its line.
fn own_line<'t>(text: &'t str, member: &json::Member<'_>) -> Option<&'t str> {
    let before = &text[..member.key.span.start];
    let blanks = &before[before.rfind('\n')? + 1..];
    blanks.chars().all(|it| matches!(it, ' ' | '\t')).then_some(blanks)
}

/// The blanks at the beginning of the line in which a byte is.
fn line_blanks(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let blanks = text[line..at].find(|c| !matches!(c, ' ' | '\t'));
    &text[line..blanks.map_or(at, |it| line + it)]
}

/// How a value is written.
struct Layout<'a> {
    newline: &'a str,
    /// The blanks of one level.
    indent: &'a str,
    is_one_line: bool,
}

impl Layout<'_> {
    /// A value; `blanks` stand at the beginning of its lines but for the first.
    fn text(&self, value: &Value, blanks: &str) -> String {
        let indent = if self.is_one_line { "" } else { self.indent };
        let mut text = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut text, formatter);
        value.serialize(&mut writer).expect("a vector takes it, and every key is a text");
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        // No string has a line feed, which JSON escapes.
        match self.is_one_line {
            true => text.replace(",\n", ", ").replace('\n', ""),
            false => text.replace('\n', &format!("{}{blanks}", self.newline)),
        }
    }
}
