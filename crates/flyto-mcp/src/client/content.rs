//! The result of `tools/call` as the result of a tool.
//!
//! Texts become the text for the model. Of what is no text, the text has one line that says what it is, and the structured
//! result has the blocks as they came, unless the server gives a structured result itself.

use flyto_tools::{Failure, ToolResult};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocks::text_of;

/// Blocks of one result. Those behind them are counted.
const MAX_BLOCKS: usize = 1000;

/// Bytes of blocks that are no text and are kept, 4 MiB; what is larger is told and left out.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// Bytes of a structured result, as JSON: 4 MiB. A larger one is left out, and stands in the text where the server gives no other.
const MAX_DATA_BYTES: usize = 4 << 20;

/// The result of a call, as the server sends it. Members that are not known here are left out; a missing list of blocks is an
/// empty one, as some servers leave it out beside a structured result.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(super) struct CallToolResult {
    pub(super) result_type: Option<String>,
    content: Vec<Value>,
    #[serde(deserialize_with = "present")]
    structured_content: Option<Value>,
    is_error: bool,
    /// Of a result that asks for more input.
    pub(super) input_requests: Option<serde_json::Map<String, Value>>,
    pub(super) request_state: Option<Value>,
}

/// `null` is a structured result as well.
fn present<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(reader).map(Some)
}

impl CallToolResult {
    /// The result of the tool. `has_schema`: whether the tool declares what its structured result is.
    pub(super) fn into_result(self, has_schema: bool) -> ToolResult {
        let Self { content, structured_content, is_error, .. } = self;
        let n_more = content.len().saturating_sub(MAX_BLOCKS);
        let (mut lines, mut kept, mut kept_bytes, mut is_rich) = (Vec::new(), Vec::new(), 0, false);
        for block in content.into_iter().take(MAX_BLOCKS) {
            if let Some(text) = text_of(&block) {
                lines.push(text.to_owned());
                kept.push(block);
                continue;
            }
            is_rich = true;
            let n_bytes = weight(&block);
            let fits = kept_bytes + n_bytes <= MAX_KEPT_BYTES;
            let left_out = if fits { "" } else { ", left out: too large" };
            lines.push(format!("[{}{left_out}]", describe(&block)));
            if fits {
                kept_bytes += n_bytes;
                kept.push(block);
            }
        }
        if n_more > 0 {
            lines.push(format!("[{n_more} more blocks, left out]"));
        }
        // What follows a call reads all of a structured result, so that its size has a bound of its own.
        let large = structured_content.as_ref().map(Value::to_string);
        let large = large.filter(|it| it.len() > MAX_DATA_BYTES);
        if let Some(text) = &large {
            let n_bytes = text.len();
            match lines.is_empty() {
                true => lines.push(text.clone()),
                false => lines
                    .push(format!("[a structured result of {n_bytes} bytes, left out: too large]")),
            }
        }
        let mut res = ToolResult::text(lines.join("\n"));
        if is_error {
            res = res.with_failure(Failure::reported());
        } else if large.is_some() && has_schema {
            // Without it, the result is none that the tool declares.
            res = res.with_failure(Failure::limit("structured_content"));
        }
        match structured_content.filter(|_| large.is_none()) {
            Some(data) => res.with_data(data),
            // A schema is for what the server gives, not for what is made of it here.
            None if is_rich && !has_schema => res.with_data(json!({ "content": kept })),
            None => res,
        }
    }
}

/// The bytes of a block, about.
fn weight(block: &Value) -> usize {
    let texts = [&block["data"], &block["resource"]["blob"], &block["uri"], &block["description"]];
    texts.iter().filter_map(|it| it.as_str()).map(str::len).sum()
}

/// A block that is no text, in one line.
fn describe(block: &Value) -> String {
    let text = |value: &Value| one_line(value.as_str().unwrap_or("unknown"));
    // Four characters of base64 are three bytes.
    let size = |value: &Value| format!("{} bytes", value.as_str().map_or(0, |it| it.len() / 4 * 3));
    match block["type"].as_str() {
        Some(kind @ ("image" | "audio")) => {
            format!("{kind}, {}, {}", text(&block["mimeType"]), size(&block["data"]))
        }
        Some("resource_link") => {
            let name = block["title"].as_str().or_else(|| block["name"].as_str());
            let name = name.map(|it| format!("{}: ", one_line(it))).unwrap_or_default();
            format!("resource, {name}{}", text(&block["uri"]))
        }
        Some("resource") => {
            let resource = &block["resource"];
            format!("resource, {}, {}", text(&resource["uri"]), size(&resource["blob"]))
        }
        _ => format!("a block of the type {}", text(&block["type"])),
    }
}

/// A text of at most 300 characters in one line.
fn one_line(text: &str) -> String {
    text.chars().take(300).map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(result: Value, has_schema: bool, expect: Expect) {
        let read: CallToolResult = serde_json::from_value(result).expect("it is in order");
        let ToolResult { output, failure, data, .. } = read.into_result(has_schema);
        let data = data.map(|it| it.to_string()).unwrap_or_default();
        expect.assert_eq(&format!("{output}\n{failure:?}\n{data}\n"));
    }

    #[test]
    fn a_structured_result_that_is_too_large_is_left_out() {
        let data = json!({"a": "x".repeat(MAX_DATA_BYTES)});
        let read = |content: Value, has_schema| {
            let result = json!({"content": content, "structuredContent": data});
            let read: CallToolResult = serde_json::from_value(result).expect("it is in order");
            read.into_result(has_schema)
        };
        let result = read(json!([]), false);
        assert_eq!((result.data, result.failure), (None, None));
        assert_eq!(result.output, data.to_string());
        let result = read(json!([{"type": "text", "text": "a"}]), true);
        assert_eq!(result.failure, Some(Failure::limit("structured_content")));
        let text = "a\n[a structured result of 4194312 bytes, left out: too large]";
        assert_eq!((result.data, &*result.output), (None, text));
    }

    #[test]
    fn texts_are_the_text() {
        check(
            json!({"content": [{"type": "text", "text": "a\nb"}, {"type": "text", "text": "c"}]}),
            false,
            expect![[r#"
                a
                b
                c
                None

            "#]],
        );
        check(
            json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
            false,
            expect![[r#"
                no
                Some(Reported { code: None })

            "#]],
        );
        check(
            json!({}),
            false,
            expect![[r#"

            None

        "#]],
        );
        let resource = json!({"type": "resource", "resource": {"uri": "f:a", "text": "whole"}});
        check(
            json!({"content": [resource]}),
            false,
            expect![[r#"
            whole
            None

        "#]],
        );
    }

    #[test]
    fn what_is_no_text_is_told_and_kept() {
        let blocks = json!([
            {"type": "text", "text": "see"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav\n"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "f:b", "blob": "AAAA"}},
            {"type": "dance"}, 5,
        ]);
        check(
            json!({"content": blocks}),
            false,
            expect![[r#"
            see
            [image, image/png, 3 bytes]
            [audio, audio/wav , 6 bytes]
            [resource, a: file:///a]
            [resource, f:b, 3 bytes]
            [a block of the type dance]
            [a block of the type unknown]
            None
            {"content":[{"type":"text","text":"see"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AAAAAAAA","mimeType":"audio/wav\n"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"f:b","blob":"AAAA"}},{"type":"dance"},5]}
        "#]],
        );
        check(
            json!({"content": [{"type": "dance"}]}),
            true,
            expect![[r#"
            [a block of the type dance]
            None

        "#]],
        );
    }

    #[test]
    fn a_structured_result_stays() {
        let text = json!([{"type": "text", "text": "{}"}]);
        check(
            json!({"content": text, "structuredContent": {"a": [1]}}),
            true,
            expect![[r#"
            {}
            None
            {"a":[1]}
        "#]],
        );
        check(
            json!({"content": [], "structuredContent": null}),
            true,
            expect![[r#"

            None
            null
        "#]],
        );
        let image = json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]);
        check(
            json!({"content": image, "structuredContent": {"a": 1}}),
            false,
            expect![[r#"
            [image, image/png, 3 bytes]
            None
            {"a":1}
        "#]],
        );
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        let large =
            json!({"type": "image", "data": "A".repeat(MAX_KEPT_BYTES), "mimeType": "image/png"});
        let small = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        check(
            json!({"content": [small, large]}),
            false,
            expect![[r#"
            [image, image/png, 3 bytes]
            [image, image/png, 3145728 bytes, left out: too large]
            None
            {"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}
        "#]],
        );
        let many = vec![json!({"type": "text", "text": ""}); MAX_BLOCKS + 2];
        let read: CallToolResult = serde_json::from_value(json!({"content": many})).expect("read");
        assert!(read.into_result(false).output.ends_with("[2 more blocks, left out]"));
    }
}
