//! What the input of a program names: addresses and paths, by its schema and by its texts.

use std::{collections::HashSet, path::Path};

use flyto_tools::{Access, PermissionClass, Preview};
use serde_json::Value;

/// The key of a schema that says that its text is a path, and what the program does with it: `read`, `write`.
const PATH: &str = "x-flyto-path";

/// The most values of an input that are looked at, each with each schema that holds for it. A schema may refer to itself.
const MAX_VALUES: usize = 10_000;

/// The preview of a program with what its input names, for a tool of the class `file` or `webfetch`:
///
/// - each text whose schema has `"x-flyto-path": "read"` or `"write"` is a path, a relative one from the preview's working
///   directory;
/// - each text whose schema has the format `uri` or `uri-reference` is an address;
/// - each text that is an address of the web is one where the class is `webfetch`, whatever the schema says of it.
///
/// A tool of any other class is judged by its command line. Of an input with more than 10,000 values nothing is named, so that
/// no rule allows it by a part.
///
/// ```
/// use flyto_program::with_named;
/// use flyto_tools::{PermissionClass, Preview};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"to": {"type": "string", "x-flyto-path": "write"}}});
/// let input = json!({"to": "a.txt", "from": "http://a.example/"});
/// let preview = Preview::new().with_working_dir("/tmp");
/// let preview = with_named(preview, &PermissionClass::WEBFETCH, &schema, &input);
/// assert_eq!(preview.urls, ["http://a.example/"]);
/// assert_eq!(preview.paths[0].path, "/tmp/a.txt");
/// ```
#[must_use]
pub fn with_named(
    preview: Preview,
    class: &PermissionClass,
    schema: &Value,
    input: &Value,
) -> Preview {
    let is_web = *class == PermissionClass::WEBFETCH;
    if !is_web && *class != PermissionClass::FILE {
        return preview;
    }
    let dir = preview.working_dir.clone();
    let mut named = Named { root: schema, dir, n_left: MAX_VALUES, paths: vec![], urls: vec![] };
    let is_whole = named.by_schema(input).is_some() && (!is_web || named.by_text(input).is_some());
    let Named { paths, urls, .. } = named;
    if !is_whole {
        return preview;
    }
    let mut seen = HashSet::new();
    let urls = urls.into_iter().filter(|it| seen.insert(*it)).fold(preview, Preview::with_url);
    let mut seen = HashSet::new();
    let paths = paths.into_iter().filter(|it| seen.insert(it.clone()));
    paths.fold(urls, |res, (path, access)| res.with_path(path, access))
}

struct Named<'a> {
    root: &'a Value,
    /// Where relative paths start.
    dir: Option<String>,
    /// How many values may still be looked at.
    n_left: usize,
    paths: Vec<(String, Access)>,
    urls: Vec<&'a str>,
}

impl<'a> Named<'a> {
    /// `None` where there are too many values. They wait in a list, so that a deep input takes no stack.
    fn by_schema(&mut self, input: &'a Value) -> Option<()> {
        let mut todo = vec![(self.root, input)];
        while let Some((schema, value)) = todo.pop() {
            self.n_left = self.n_left.checked_sub(1)?;
            if let Value::String(text) = value {
                self.by_mark(schema, text);
            }
            for key in ["allOf", "anyOf", "oneOf"] {
                let parts = schema[key].as_array().into_iter().flatten();
                todo.extend(parts.map(|it| (it, value)));
            }
            todo.extend(
                ["if", "then", "else"].iter().filter_map(|it| Some((schema.get(it)?, value))),
            );
            if let Some(pointer) = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#'))
                && let Some(part) = self.root.pointer(pointer)
            {
                todo.push((part, value));
            }
            match value {
                Value::Object(fields) => {
                    for (name, value) in fields {
                        let own = schema["properties"].get(name);
                        let own = own.or_else(|| schema.get("additionalProperties"));
                        todo.extend(own.map(|it| (it, value)));
                    }
                }
                Value::Array(values) => {
                    for (i, value) in values.iter().enumerate() {
                        let own = schema["prefixItems"].get(i).or_else(|| schema.get("items"));
                        todo.extend(own.map(|it| (it, value)));
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn by_mark(&mut self, schema: &Value, text: &'a str) {
        if matches!(schema["format"].as_str(), Some("uri" | "uri-reference")) {
            self.urls.push(text);
        }
        let access = match schema[PATH].as_str() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            _ => return,
        };
        let path = match &self.dir {
            Some(dir) => Path::new(dir).join(text).to_string_lossy().into_owned(),
            None => text.to_owned(),
        };
        self.paths.push((path, access));
    }

    fn by_text(&mut self, input: &'a Value) -> Option<()> {
        let mut todo = vec![input];
        while let Some(value) = todo.pop() {
            self.n_left = self.n_left.checked_sub(1)?;
            match value {
                Value::String(text) if is_web_address(text) => self.urls.push(text),
                Value::Array(values) => todo.extend(values),
                Value::Object(fields) => todo.extend(fields.values()),
                _ => {}
            }
        }
        Some(())
    }
}

/// Whether a program may take the text for an address: it begins with a scheme of the web, in letters of either case, behind
/// what such programs skip.
fn is_web_address(text: &str) -> bool {
    let text = text.trim_start_matches(|it: char| it.is_whitespace() || it.is_control());
    ["http:", "https:"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme)))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(class: &PermissionClass, schema: &Value, input: &Value, expect: Expect) {
        let preview = Preview::new().with_working_dir("/base");
        let preview = with_named(preview, class, schema, input);
        let paths = preview.paths.iter().map(|it| format!("{:?} {}\n", it.access, it.path));
        let mut shown: Vec<_> =
            paths.chain(preview.urls.iter().map(|it| format!("url {it}\n"))).collect();
        shown.sort();
        expect.assert_eq(&shown.concat());
    }

    #[test]
    fn marks_of_the_schema_are_paths_and_addresses() {
        let schema = json!({
            "properties": {
                "from": {"type": "string", "x-flyto-path": "read"},
                "more": {"type": "array", "items": {"$ref": "#/$defs/target"}},
                "site": {"anyOf": [{"type": "null"}, {"type": "string", "format": "uri-reference"}]},
                "note": {"type": "string"},
                "odd": {"type": "string", "x-flyto-path": true},
            },
            "$defs": {"target": {"properties": {"to": {"x-flyto-path": "write"}}}},
            "additionalProperties": {"x-flyto-path": "read"},
        });
        let input = json!({
            "from": "a", "more": [{"to": "/etc/b"}, {"to": "../c"}], "site": "//a.example/x",
            "note": "http://b.example", "odd": "d", "else": "e",
        });
        check(
            &PermissionClass::FILE,
            &schema,
            &input,
            expect![[r#"
            Read /base/a
            Read /base/e
            Write /base/../c
            Write /etc/b
            url //a.example/x
        "#]],
        );
        check(&PermissionClass::BASH, &schema, &input, expect![""]);
    }

    #[test]
    fn any_address_of_the_web_counts_for_a_tool_that_fetches() {
        let input = json!({
            "u": "http://169.254.169.254/latest", "list": ["HTTPS://a.example", "httpd", {"x": " http:b"}],
            "again": "http://169.254.169.254/latest", "é": "hé",
        });
        check(
            &PermissionClass::WEBFETCH,
            &json!({}),
            &input,
            expect![[r#"
            url  http:b
            url HTTPS://a.example
            url http://169.254.169.254/latest
        "#]],
        );
    }

    #[test]
    fn more_than_is_looked_at_names_nothing() {
        let schema = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}], "x-flyto-path": "read"});
        check(&PermissionClass::FILE, &schema, &json!("a"), expect![""]);
        let schema = json!({"items": {"x-flyto-path": "read"}});
        check(&PermissionClass::FILE, &schema, &vec!["a"; 10_000].into(), expect![""]);
        let schema = json!({});
        let urls = vec!["http://a.example"; 10_000];
        check(&PermissionClass::WEBFETCH, &schema, &urls.into(), expect![""]);
    }
}
