//! What a server declares of a tool.
//!
//! | member | what it becomes |
//! | --- | --- |
//! | `name` | part of the id; kept as it is for requests |
//! | `title`, `description` | texts for people and for models |
//! | `inputSchema`, `outputSchema` | the schemas against which the host checks; one for output that is no object is left out. A type of the input other than `object`, and a schema that cannot be compiled, cost the tool |
//! | `annotations.destructiveHint`, `.openWorldHint` | metadata, where they say `true`. Without the former, and without a `readOnlyHint`, a tool is destructive, as the protocol has it |
//! | other annotations | nothing: a server does not declare itself harmless |
//! | any other member | nothing, and it is not compared |

use std::fmt::Write as _;

use flyto_tools::{Metadata, Origin, PermissionClass, SchemaChecker, ToolId};
use serde_json::{Map, Value, value::RawValue};
use sha2::{Digest as _, Sha256};

/// Bytes of one definition, 256 KiB: schemas of large services have some tens of them.
const MAX_BYTES: usize = 256 * 1024;

/// Characters of a name. The protocol asks for at most 128.
const MAX_NAME_CHARS: usize = 128;

/// Characters that say what is wrong with a schema. The words of the server in it may be long.
const MAX_WHY_CHARS: usize = 300;

/// The members of a definition that a model or a person decides by: what a pin holds.
const MEMBERS: [&str; 6] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// A tool as a server declares it, within the bounds.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// The name that the server knows.
    pub(super) name: String,
    /// Empty where it has none.
    pub(super) description: String,
    /// An object, which may still be no schema: see [`check_schemas`](Self::check_schemas).
    pub(super) input_schema: Value,
    /// An object, or none.
    pub(super) output_schema: Option<Value>,
    title: Option<String>,
    /// What it says about itself; hints, and nothing more.
    destructive: bool,
    open_world: bool,
    /// The members that are pinned, as they came.
    kept: Map<String, Value>,
}

/// The order of members does not count.
impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.kept == other.kept
    }
}

impl Definition {
    /// Reads an element of `tools` from its text. One that nests deeper than 128 levels is not read.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub(super) fn parse(text: &RawValue) -> Result<Self, String> {
        /// The name in a definition that cannot be read whole, since it nests too deep.
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
        }
        let value = serde_json::from_str(text.get()).map_err(|err| {
            let name = serde_json::from_str::<Named>(text.get()).map(|it| it.name);
            let name = name.unwrap_or_else(|_| "a tool".to_owned());
            let shown: String = name.escape_debug().take(MAX_NAME_CHARS).collect();
            format!("{shown} cannot be read: {err}")
        })?;
        Self::read(value)
    }

    /// Reads an element of `tools`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words; the name first where there is one.
    pub(super) fn read(value: Value) -> Result<Self, String> {
        let Value::Object(members) = value else { return Err("a tool is no object".to_owned()) };
        let name = members.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
            return Err(format!("a tool has no name of 1 to {MAX_NAME_CHARS} characters"));
        }
        let mut kept = Map::new();
        for key in MEMBERS {
            if let Some(value) = members.get(key).filter(|it| !it.is_null()) {
                kept.insert(key.to_owned(), value.clone());
            }
        }
        let shown = name.escape_debug();
        let n_bytes = Value::Object(kept.clone()).to_string().len();
        if n_bytes > MAX_BYTES {
            return Err(format!("{shown} is declared in {n_bytes} bytes, over {MAX_BYTES}"));
        }
        let input_schema = kept.get("inputSchema").cloned().unwrap_or_default();
        if !input_schema.is_object() {
            return Err(format!("{shown} has no \"inputSchema\" that is an object"));
        }
        // Without a type it is one of objects: the arguments of a call are.
        if input_schema.get("type").is_some_and(|it| it != "object") {
            return Err(format!("{shown} has an \"inputSchema\" whose type is not \"object\""));
        }
        for key in ["inputSchema", "outputSchema"] {
            if let Some(target) = kept.get(key).and_then(outside_reference) {
                let target: String = target.escape_debug().take(MAX_NAME_CHARS).collect();
                return Err(format!(
                    "{shown} has an {key:?} that refers to {target}, and no schema is fetched"
                ));
            }
        }
        let text = |key: &str| kept.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let annotations = kept.get("annotations");
        let hint = |key: &str| annotations.and_then(|it| it.get(key)).and_then(Value::as_bool);
        let title = annotations.and_then(|it| it.get("title")).and_then(Value::as_str);
        Ok(Self {
            description: text("description").unwrap_or_default(),
            output_schema: kept.get("outputSchema").filter(|it| it.is_object()).cloned(),
            title: text("title").or_else(|| title.map(ToOwned::to_owned)),
            // "MCP 2026-07-28, Schema, ToolAnnotations".
            destructive: hint("destructiveHint").unwrap_or(hint("readOnlyHint") != Some(true)),
            open_world: hint("openWorldHint") == Some(true),
            input_schema,
            name,
            kept,
        })
    }

    /// Compiles its schemas: with one that cannot be compiled, each call would fail.
    ///
    /// # Errors
    ///
    /// What is wrong with a schema, in words; the name first.
    pub(super) fn check_schemas(&self, checker: &mut SchemaChecker) -> Result<(), String> {
        let schemas = [
            ("inputSchema", Some(&self.input_schema)),
            ("outputSchema", self.output_schema.as_ref()),
        ];
        for (key, schema) in schemas {
            if let Some(Err(err)) = schema.map(|it| checker.check(it)) {
                let plain = |it: char| if it.is_control() { ' ' } else { it };
                let why: String = err.why.chars().map(plain).take(MAX_WHY_CHARS).collect();
                let name = self.name.escape_debug();
                return Err(format!("{name} has an {key:?} that cannot be used: {why}"));
            }
        }
        Ok(())
    }

    /// The members that are pinned.
    pub(super) fn to_value(&self) -> Value {
        Value::Object(self.kept.clone())
    }

    /// Which of the pinned members differ, in order.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        MEMBERS.into_iter().filter(|key| self.kept.get(*key) != other.kept.get(*key)).collect()
    }

    /// The metadata of the tool. A server is not trusted: what it says to be harmless counts for nothing, and what it says to
    /// be harmful holds.
    pub(super) fn metadata(&self, server: &str, version: &str) -> Metadata {
        let mut res = Metadata::new();
        res.title.clone_from(&self.title);
        res.destructive = self.destructive.then_some(true);
        res.open_world = self.open_world.then_some(true);
        res.permission_class = PermissionClass::GENERIC;
        res.origin = Origin::McpServer { server: server.to_owned() };
        res.version = (!version.is_empty()).then(|| version.to_owned());
        res
    }
}

/// A reference that leads out of the schema: neither to a place in it, nor to a part of it with an id, nor to one of the
/// published dialects. Each check of a value would fail with it.
///
/// Words of the specification: "MCP 2026-07-28, Server, Tools" forbids to fetch a schema.
fn outside_reference(schema: &Value) -> Option<&str> {
    /// Calls `take` with each string under one of these keys. What stands under a keyword for values is no schema.
    fn each<'v>(schema: &'v Value, keys: &[&str], take: &mut impl FnMut(&'v str)) {
        match schema {
            Value::Object(members) => {
                for (key, value) in members {
                    match value {
                        Value::String(text) if keys.contains(&key.as_str()) => take(text),
                        _ if ["const", "enum", "default", "examples"].contains(&key.as_str()) => {}
                        _ => each(value, keys, take),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|it| each(it, keys, take)),
            _ => {}
        }
    }
    let mut ids = Vec::new();
    each(schema, &["$id", "id"], &mut |it| ids.push(it.trim_end_matches('#')));
    let is_known = |target: &str| {
        let base = target.split('#').next().unwrap_or_default();
        let dialects = ["https://json-schema.org/draft/", "http://json-schema.org/draft-"];
        base.is_empty()
            || ids.contains(&base)
            || dialects.iter().any(|it| base.starts_with(it))
            // A name beside that of the whole, as in a bundle.
            || ids.iter().any(|it| !base.contains(':') && it.ends_with(&format!("/{base}")))
    };
    let mut res = None;
    each(schema, &["$ref", "$dynamicRef", "$recursiveRef"], &mut |it| {
        if !is_known(it) {
            res.get_or_insert(it);
        }
    });
    res
}

/// The id of a tool of a server: `server:tool`. A name that no id can hold is its plain characters, cut, with `-` and six
/// hexadecimal digits of the SHA-256 of it: the same name has the same id always.
pub(super) fn id(server: &str, tool: &str) -> String {
    let text = format!("{server}:{tool}");
    if ToolId::parse(&text).is_ok() {
        return text;
    }
    /// Characters of the name that stay.
    const KEPT: usize = 50;
    let plain: String = tool
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || "_.-".contains(it) { it } else { '_' })
        .take(KEPT)
        .collect();
    format!("{server}:{plain}-{}", &hex(&Sha256::digest(tool))[..6])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut res, it| {
        let _ = write!(res, "{it:02x}");
        res
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Definition {
        Definition::read(value).expect("it is in order")
    }

    #[test]
    fn hints_make_a_tool_only_less_trusted() {
        let annotations = json!({"readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false});
        let tool = read(json!({"name": "a", "inputSchema": {}, "annotations": annotations}));
        let metadata = tool.metadata("s", "1.2");
        assert!(!metadata.is_read_only() && metadata.counts_as_destructive());
        assert!(!metadata.is_idempotent() && metadata.is_open_world());
        assert!(!metadata.is_concurrency_safe());
        assert_eq!(metadata.origin, Origin::McpServer { server: "s".to_owned() });
        let harmful =
            json!({"name": "a", "inputSchema": {}, "annotations": {"destructiveHint": true}});
        assert!(read(harmful).metadata("s", "").is_destructive());
        // One that says nothing is destructive by the protocol, unless it only reads.
        let silent = |annotations: Value| {
            let tool = json!({"name": "a", "inputSchema": {}, "annotations": annotations});
            read(tool).metadata("s", "").destructive
        };
        assert_eq!(silent(Value::Null), Some(true));
        assert_eq!(silent(json!({"destructiveHint": "no"})), Some(true));
        assert_eq!(silent(json!({"readOnlyHint": true})), None);
        assert_eq!(silent(json!({"destructiveHint": false})), None);
    }

    #[test]
    fn the_order_of_members_does_not_count() {
        let a = read(
            json!({"name": "a", "inputSchema": {"a": 1, "b": [{"x": 1, "y": 2}]}, "extra": 1}),
        );
        let b = read(
            json!({"inputSchema": {"b": [{"y": 2, "x": 1}], "a": 1}, "name": "a", "extra": 2}),
        );
        assert_eq!(a, b);
        assert!(a.differences(&b).is_empty());
        let c = read(json!({"name": "a", "description": "d", "inputSchema": {"a": 2}}));
        assert_ne!(a, c);
        assert_eq!(a.differences(&c), ["description", "inputSchema"]);
    }

    #[track_caller]
    fn check_bad(value: Value, expect: Expect) {
        expect.assert_eq(&Definition::read(value).expect_err("it is not in order"));
    }

    #[test]
    fn what_is_no_definition_says_why() {
        check_bad(json!(5), expect!["a tool is no object"]);
        check_bad(json!({"inputSchema": {}}), expect!["a tool has no name of 1 to 128 characters"]);
        check_bad(
            json!({"name": "x".repeat(129)}),
            expect!["a tool has no name of 1 to 128 characters"],
        );
        check_bad(
            json!({"name": "a\nb", "inputSchema": true}),
            expect![[r#"a\nb has no "inputSchema" that is an object"#]],
        );
        check_bad(
            json!({"name": "a", "inputSchema": {"type": "string"}}),
            expect![[r#"a has an "inputSchema" whose type is not "object""#]],
        );
        let far = json!({"properties": {"x": {"$ref": "https://a.org/x.json#/a"}}});
        check_bad(
            json!({"name": "a", "inputSchema": far}),
            expect![[
                r#"a has an "inputSchema" that refers to https://a.org/x.json#/a, and no schema is fetched"#
            ]],
        );
        let long = "x".repeat(MAX_BYTES);
        check_bad(
            json!({"name": "a", "description": long, "inputSchema": {}}),
            expect!["a is declared in 262190 bytes, over 262144"],
        );
    }

    #[test]
    fn references_within_a_schema_are_in_order() {
        for schema in [
            json!({"properties": {"x": {"$ref": "#/$defs/a"}, "$ref": {"type": "string"}}, "$defs": {"a": {}}}),
            json!({"$id": "https://a.org/all", "allOf": [{"$ref": "b"}], "$defs": {"b": {"$id": "https://a.org/b"}}}),
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
            json!({"properties": {"x": {"default": {"$ref": "https://a.org"}}}}),
        ] {
            read(json!({"name": "a", "inputSchema": schema, "outputSchema": schema}));
        }
        let far = json!({"type": "object", "allOf": [{"$ref": "file:///etc/passwd"}]});
        Definition::read(json!({"name": "a", "inputSchema": {}, "outputSchema": far}))
            .expect_err("it leads out");
    }

    #[test]
    fn a_schema_that_cannot_be_compiled_says_why() {
        let check = |schema: Value, expect: Expect| {
            let (good, bad) = (json!({"type": "object"}), schema);
            for (input, output) in [(&bad, &good), (&good, &bad)] {
                let tool = read(json!({"name": "a", "inputSchema": input, "outputSchema": output}));
                let why = tool.check_schemas(&mut SchemaChecker::new()).expect_err("it is none");
                let why = why.replace("outputSchema", "inputSchema");
                expect.assert_eq(&why);
            }
            let tool = read(json!({"name": "a", "inputSchema": good, "outputSchema": good}));
            tool.check_schemas(&mut SchemaChecker::new()).expect("both are in order");
        };
        check(
            json!({"$schema": "https://a.org/dialect"}),
            expect![[
                r#"a has an "inputSchema" that cannot be used: "https://a.org/dialect" is no known dialect of JSON Schema"#
            ]],
        );
        check(
            json!({"properties": {"x": {"$ref": "#/$defs/nope"}}}),
            expect![[
                r#"a has an "inputSchema" that cannot be used: there is nothing at /$defs/nope"#
            ]],
        );
        check(
            json!({"$ref": "#"}),
            expect![[
                r#"a has an "inputSchema" that cannot be used: a schema refers to itself without going into the value"#
            ]],
        );
        check(
            json!({"properties": 5}),
            expect![[
                r#"a has an "inputSchema" that cannot be used: the number 5 cannot stand here"#
            ]],
        );
    }

    #[test]
    fn every_name_has_an_id() {
        let check = |tool: &str, expect: Expect| expect.assert_eq(&id("s", tool));
        check("get_time", expect!["s:get_time"]);
        check("a.b/c:d", expect!["s:a.b/c:d"]);
        check("two words", expect!["s:two_words-a03f1d"]);
        check("tab\tand \u{202e}", expect!["s:tab_and__-97cac7"]);
        check(
            &"é".repeat(128),
            expect!["s:__________________________________________________-e42dd2"],
        );
        assert_ne!(id("s", "a b"), id("s", "a\tb"));
    }
}
