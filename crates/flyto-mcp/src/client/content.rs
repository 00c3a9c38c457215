//! The result of `tools/call` as the result of a tool.
//!
//! Texts become the text for the model. Of what is no text, the text has one line that says what it is, and the structured
//! result has the blocks as they came. They stand beside it where the server gives a structured result itself, and where one of
//! them is of a type that clients do not know: of that one, the line is all.

use flyto_tools::{Content, Failure, ToolResult};
use serde::Deserialize;
use serde_json::Value;

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
        let is_empty = content.is_empty();
        let content = Content::new(content);
        // What follows a call reads all of a structured result, so that its size has a bound of its own.
        let large = structured_content.as_ref().map(Value::to_string);
        let large = large.filter(|it| it.len() > MAX_DATA_BYTES);
        let beside = large.as_ref().map(|text| match is_empty {
            true => text.clone(),
            false => {
                let n_bytes = text.len();
                format!("\n[a structured result of {n_bytes} bytes, left out: too large]")
            }
        });
        // The blocks are the structured result where the server gives no other one. A schema is for what the server gives, not
        // for what is made of it here.
        let structured = structured_content.filter(|_| large.is_none());
        // Clients get the blocks of a structured result only where they know all of them.
        let mut res = if structured.is_none() && !has_schema && !content.has_unknown() {
            ToolResult::content(content)
        } else {
            let blocks = content.known();
            ToolResult::text(content.text).with_blocks(blocks)
        };
        res.output.push_str(&beside.unwrap_or_default());
        if is_error {
            res = res.with_failure(Failure::reported());
        } else if large.is_some() && has_schema {
            // Without it, the result is none that the tool declares.
            res = res.with_failure(Failure::limit("structured_content"));
        }
        match structured {
            Some(data) => res.with_data(data),
            None => res,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(result: Value, has_schema: bool, expect: Expect) {
        let read: CallToolResult = serde_json::from_value(result).expect("it is in order");
        let ToolResult { output, failure, data, blocks, .. } = read.into_result(has_schema);
        let data = data.map(|it| it.to_string()).unwrap_or_default();
        let blocks =
            if blocks.is_empty() { String::new() } else { format!("beside: {}\n", json!(blocks)) };
        expect.assert_eq(&format!("{output}\n{failure:?}\n{data}\n{blocks}"));
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
    fn a_block_of_an_unknown_type_costs_itself() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let hologram = json!({"type": "hologram", "data": "AAAA"});
        check(
            json!({"content": [image, hologram]}),
            false,
            expect![[r#"
            [image, image/png, 3 bytes]
            [a block of the type hologram]
            None

            beside: [{"type":"image","data":"AAAA","mimeType":"image/png"}]
        "#]],
        );
    }

    #[test]
    fn what_is_no_text_is_told_and_kept() {
        let blocks = json!([
            {"type": "text", "text": "see"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "dance"},
        ]);
        check(
            json!({"content": blocks}),
            false,
            expect![[r#"
                see
                [image, image/png, 3 bytes]
                [a block of the type dance]
                None

                beside: [{"type":"image","data":"AAAA","mimeType":"image/png"}]
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
        for has_schema in [false, true] {
            check(
                json!({"content": image, "structuredContent": {"a": 1}}),
                has_schema,
                expect![[r#"
                    [image, image/png, 3 bytes]
                    None
                    {"a":1}
                    beside: [{"type":"image","data":"AAAA","mimeType":"image/png"}]
                "#]],
            );
        }
    }
}
