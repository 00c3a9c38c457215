//! Blocks of a result that are no text: images, audio, resources ("MCP 2025-11-25, Server, Tools, Tool Result").
//!
//! A tool that has any gives them as `{"content": […]}` in the data of its result, and beside it where its data is something
//! else. The text of the result has one line for each, for models and terminals that show none.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::input::json_value;

/// Blocks of one result. Those behind them are counted.
const MAX_BLOCKS: usize = 1000;

/// Bytes of blocks that are no text and are kept, 4 MiB; what is larger is told and left out.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// A block that is no text, with the members that clients know. Others are not handed on: a client that finds one of them in
/// another form refuses the whole result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Block {
    /// An image.
    Image {
        /// Its bytes as base64.
        data: String,
        /// What they are, such as `image/png`.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// Its bytes as base64.
        data: String,
        /// What they are, such as `audio/wav`.
        mime_type: String,
    },
    /// A resource with its bytes.
    Resource {
        /// The resource.
        resource: Blob,
    },
    /// Where a resource is.
    ResourceLink {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
        /// Its name for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// What its bytes are.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

/// The bytes of a resource. One that is text stands in the text of a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Blob {
    /// The address of the resource.
    pub uri: String,
    /// What its bytes are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its bytes as base64.
    pub blob: String,
}

impl Block {
    /// Reads a block that is no text.
    ///
    /// # Errors
    ///
    /// In words: it has another form, or its bytes are no base64, which some clients check.
    pub fn read(value: &Value) -> Result<Self, String> {
        let res = Self::deserialize(value).map_err(|err| err.to_string())?;
        let bytes = match &res {
            Self::Image { data, .. } | Self::Audio { data, .. } => data,
            Self::Resource { resource } => &resource.blob,
            Self::ResourceLink { .. } => return Ok(res),
        };
        match BASE64_STANDARD.decode(bytes.as_bytes()) {
            Ok(_) => Ok(res),
            Err(err) => Err(format!("no base64: {err}")),
        }
    }

    /// The blocks that are no text of a structured result that is such a list and nothing else. Those of text are left out: they
    /// stand in the text of the result.
    ///
    /// `None` for any other result, also where one element is no block that clients know, as in a document whose parts have types
    /// of their own: it stays what it is, so that nothing of it is lost.
    #[must_use]
    pub fn all_of(data: &Value) -> Option<Vec<Self>> {
        let object = data.as_object().filter(|it| it.len() == 1)?;
        let mut res = Vec::new();
        for it in object.get("content")?.as_array()? {
            if text_of(it).is_none() {
                res.push(Self::read(it).ok()?);
            }
        }
        (!res.is_empty()).then_some(res)
    }
}

/// The text of a block of text, and of an embedded resource that is text.
fn text_of(block: &Value) -> Option<&str> {
    match block["type"].as_str()? {
        "text" => block["text"].as_str(),
        "resource" => block["resource"]["text"].as_str(),
        _ => None,
    }
}

/// A list of blocks, as a text with the blocks beside it.
///
/// ```
/// use flyto_tools::{Content, ToolResult};
///
/// let printed = r#"{"content": [
///     {"type": "text", "text": "the week"},
///     {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
/// ]}"#;
/// let result = ToolResult::content(Content::parse(printed)?);
/// assert_eq!(result.output, "the week\n[image, image/png, 8 bytes]");
/// assert_eq!(result.data.expect("it has an image")["content"][1]["type"], "image");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Content {
    /// The texts, and a line for each other block: `[image, image/png, 8 bytes]`. The line says it of a block that is not kept.
    pub text: String,
    /// The blocks that are kept, those of text among them: of the first 1,000 those that have 4 MiB together, texts not counted.
    pub blocks: Vec<Value>,
    /// Whether one of `blocks` is no text.
    pub is_rich: bool,
}

impl Content {
    /// Keeps blocks as they are, also those of a type that is not known.
    #[must_use]
    pub fn new(list: Vec<Value>) -> Self {
        Self::bounded(list, false)
    }

    /// Texts are bounded by the caller, or here, together with the other blocks.
    fn bounded(list: Vec<Value>, counts_texts: bool) -> Self {
        let n_more = list.len().saturating_sub(MAX_BLOCKS);
        let (mut res, mut lines, mut kept_bytes) = (Self::default(), Vec::new(), 0);
        for block in list.into_iter().take(MAX_BLOCKS) {
            if let Some(text) = text_of(&block) {
                let n_bytes = if counts_texts { text.len() } else { 0 };
                if kept_bytes + n_bytes > MAX_KEPT_BYTES {
                    lines.push(format!("[a text of {n_bytes} bytes, left out: too large]"));
                    continue;
                }
                kept_bytes += n_bytes;
                lines.push(text.to_owned());
                res.blocks.push(block);
                continue;
            }
            let n_bytes = weight(&block);
            let fits = kept_bytes + n_bytes <= MAX_KEPT_BYTES;
            let left_out = if fits { "" } else { ", left out: too large" };
            lines.push(format!("[{}{left_out}]", describe(&block)));
            if fits {
                kept_bytes += n_bytes;
                res.is_rich = true;
                res.blocks.push(block);
            }
        }
        if n_more > 0 {
            lines.push(format!("[{n_more} more blocks, left out]"));
        }
        res.text = lines.join("\n");
        res
    }

    /// Keeps the blocks that clients know, where they have 4 MiB together with the texts. In the place of another one stands a text
    /// that says what is wrong with it.
    #[must_use]
    pub fn checked(mut list: Vec<Value>) -> Self {
        for block in list.iter_mut().take(MAX_BLOCKS) {
            if text_of(block).is_none()
                && let Err(why) = Block::read(block)
            {
                let what = one_line(block["type"].as_str().unwrap_or("unknown"));
                let text = format!("[a block of the type {what}, left out: {}]", one_line(&why));
                *block = json!({"type": "text", "text": text});
            }
        }
        Self::bounded(list, true)
    }

    /// Reads what a program printed: `{"content": […]}`. Its blocks are [checked](Self::checked); a text at the end names further
    /// members, which are left out.
    ///
    /// # Errors
    ///
    /// In words that follow "is no list of blocks:": the text is something else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Value::Object(mut members) = json_value(text).map_err(|err| err.to_string())? else {
            return Err("expected an object with \"content\"".to_owned());
        };
        let Some(Value::Array(mut list)) = members.remove("content") else {
            return Err("expected an array under \"content\"".to_owned());
        };
        if !members.is_empty() {
            let names: Vec<_> = members.keys().map(|it| one_line(&json!(it).to_string())).collect();
            let text = format!("[left out beside \"content\": {}]", names.join(", "));
            list.push(json!({"type": "text", "text": text}));
        }
        Ok(Self::checked(list))
    }

    /// Whether it has blocks that clients do not know. Of these, the text has a line each.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        self.blocks.iter().any(|it| Block::read(it).is_err())
    }

    /// The blocks that are no text and that clients know.
    #[must_use]
    pub fn known(&self) -> Vec<Block> {
        self.blocks.iter().filter_map(|it| Block::read(it).ok()).collect()
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
    let size = |value: &Value| format!("{} bytes", value.as_str().map_or(0, decoded_bytes));
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

/// How many bytes a text of base64 stands for: four characters are three bytes, less one for each `=` at the end.
fn decoded_bytes(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|it| *it == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// A text of at most 300 characters in one line.
fn one_line(text: &str) -> String {
    text.chars().take(300).map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[track_caller]
    fn check(content: &Content, expect: Expect) {
        let blocks = json!(content.blocks);
        expect.assert_eq(&format!("{}\n{} {blocks}\n", content.text, content.is_rich));
    }

    #[test]
    fn what_is_no_text_is_told_and_kept() {
        let Value::Array(list) = json!([
            {"type": "text", "text": "see"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAA==", "mimeType": "audio/wav\n"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "f:b", "blob": "AAAA"}},
            {"type": "dance"}, 5,
        ]) else {
            unreachable!("it is an array")
        };
        check(
            &Content::new(list.clone()),
            expect![[r#"
                see
                [image, image/png, 3 bytes]
                [audio, audio/wav , 4 bytes]
                [resource, a: file:///a]
                [resource, f:b, 3 bytes]
                [a block of the type dance]
                [a block of the type unknown]
                true [{"type":"text","text":"see"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AAAAAA==","mimeType":"audio/wav\n"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"f:b","blob":"AAAA"}},{"type":"dance"},5]
            "#]],
        );
        let checked = Content::checked(list);
        assert!(Block::all_of(&json!({"content": checked.blocks})).is_some_and(|it| it.len() == 4));
        check(
            &checked,
            expect![[r#"
            see
            [image, image/png, 3 bytes]
            [audio, audio/wav , 4 bytes]
            [resource, a: file:///a]
            [resource, f:b, 3 bytes]
            [a block of the type dance, left out: unknown variant `dance`, expected one of `image`, `audio`, `resource`, `resource_link`]
            [a block of the type unknown, left out: invalid type: integer `5`, expected internally tagged enum Block]
            true [{"type":"text","text":"see"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AAAAAA==","mimeType":"audio/wav\n"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"f:b","blob":"AAAA"}},{"type":"text","text":"[a block of the type dance, left out: unknown variant `dance`, expected one of `image`, `audio`, `resource`, `resource_link`]"},{"type":"text","text":"[a block of the type unknown, left out: invalid type: integer `5`, expected internally tagged enum Block]"}]
        "#]],
        );
    }

    #[test]
    fn what_a_program_prints() {
        let parse = |text: &str| match Content::parse(text) {
            Ok(it) => format!("{:?} {} {}", it.text, it.is_rich, json!(it.blocks)),
            Err(why) => why,
        };
        expect!["EOF while parsing a value at line 1 column 0"].assert_eq(&parse(""));
        expect!["expected value at line 1 column 1"].assert_eq(&parse("hi"));
        expect![[r#"expected an object with "content""#]].assert_eq(&parse("[]"));
        expect![[r#"expected an array under "content""#]].assert_eq(&parse(r#"{"content": "a"}"#));
        expect![[r#""" false []"#]].assert_eq(&parse(r#"{"content": []}"#));
        expect![[r#""a" false [{"type":"text","text":"a"}]"#]]
            .assert_eq(&parse(r#"{"content": [{"type": "text", "text": "a"}]}"#));
        expect![[r#""[left out beside \"content\": \"isError\"]" false [{"type":"text","text":"[left out beside \"content\": \"isError\"]"}]"#]].assert_eq(&parse(r#"{"content": [], "isError": true}"#));
        let bad = r#"{"content": [{"type": "image", "data": "?", "mimeType": "a/b"}, {"type": "image", "data": "AAAA"}]}"#;
        expect![[r#""[a block of the type image, left out: no base64: Invalid symbol 63, offset 0.]\n[a block of the type image, left out: missing field `mimeType`]" false [{"type":"text","text":"[a block of the type image, left out: no base64: Invalid symbol 63, offset 0.]"},{"type":"text","text":"[a block of the type image, left out: missing field `mimeType`]"}]"#]].assert_eq(&parse(bad));
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        let small = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let large =
            json!({"type": "image", "data": "A".repeat(MAX_KEPT_BYTES), "mimeType": "image/png"});
        check(
            &Content::new(vec![small, large.clone()]),
            expect![[r#"
            [image, image/png, 3 bytes]
            [image, image/png, 3145728 bytes, left out: too large]
            true [{"type":"image","data":"AAAA","mimeType":"image/png"}]
        "#]],
        );
        // Alone it fits.
        assert_eq!(Content::new(vec![large.clone()]).blocks, [large]);
        let text = json!({"type": "text", "text": "A".repeat(MAX_KEPT_BYTES)});
        assert_eq!(Content::new(vec![text.clone(), text.clone()]).blocks.len(), 2);
        let checked = Content::checked(vec![text.clone(), text]);
        assert_eq!(checked.blocks.len(), 1);
        assert!(checked.text.ends_with("\n[a text of 4194304 bytes, left out: too large]"));
        let many = vec![json!({"type": "text", "text": ""}); MAX_BLOCKS + 2];
        assert!(Content::new(many).text.ends_with("[2 more blocks, left out]"));
    }

    #[test]
    fn a_block_keeps_what_clients_know() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        let blob = json!({"uri": "f:b", "mimeType": "audio/wav", "blob": "AAAA"});
        let resource = json!({"type": "resource", "resource": blob});
        let mut more = image.clone();
        more["annotations"] = json!("of another form");
        let text = json!({"type": "resource", "resource": {"uri": "f:a", "text": "whole"}});
        let data = json!({"content": [{"type": "text", "text": "a"}, more, text, link, resource]});
        let written = serde_json::to_value(Block::all_of(&data)).expect("they are objects");
        assert_eq!(written, json!([image, link, resource]));
    }

    #[test]
    fn a_result_with_anything_else_stays_as_it_is() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        for block in [
            json!({"type": "image", "data": "no base64", "mimeType": "image/png"}),
            json!({"type": "image", "data": "AAAA"}),
            json!({"type": "resource_link", "uri": 1, "name": "a"}),
            json!({"type": "paragraph", "children": ["of a document"]}),
            json!({"type": "text"}),
            json!("a"),
        ] {
            assert_eq!(Block::all_of(&json!({"content": [image, block]})), None, "{block}");
        }
        let text = json!({"type": "text", "text": "a"});
        for data in [
            json!({"content": []}),
            json!({"content": [text]}),
            json!({"content": [image], "more": 1}),
            json!([image]),
        ] {
            assert_eq!(Block::all_of(&data), None, "{data}");
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_of_a_program_is_known_to_clients(parts in vec((0usize..6, "[A-D=]{0,9}"), 0..5)) {
            let block = |(kind, text): (usize, String)| match kind {
                0 => json!({"type": "text", "text": text}),
                1 => json!({"type": "image", "data": text, "mimeType": "a/b"}),
                2 => json!({"type": "resource", "resource": {"uri": "f:a", "blob": text}}),
                3 => json!({"type": "resource", "resource": {"uri": "f:a", "text": text}}),
                4 => json!({"type": text, "name": "a", "uri": "f:a"}),
                _ => json!(text),
            };
            let list: Vec<_> = parts.into_iter().map(block).collect();
            let n_blocks = list.len();
            let content = Content::parse(&json!({"content": list}).to_string()).expect("a list");
            prop_assert_eq!(content.blocks.len(), n_blocks);
            let known = Block::all_of(&json!({"content": content.blocks}));
            prop_assert_eq!(known.is_some(), content.is_rich);
            prop_assert_eq!(known.unwrap_or_default(), content.known());
        }
    }
}
