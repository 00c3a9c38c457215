//! Blocks of a result that are no text: images, audio, resources ("MCP 2025-11-25, Server, Tools, Tool Result").
//!
//! The structured result of a tool has them as `{"content": […]}` where the tool declares no other one. So the client hands on
//! what a server answers, and the server gives it to its own clients as blocks again.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A block that is no text, with the members that clients know. Others are not handed on: a client that finds one of them in
/// another form refuses the whole result.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Block<'a> {
    Image {
        data: Cow<'a, str>,
        mime_type: Cow<'a, str>,
    },
    Audio {
        data: Cow<'a, str>,
        mime_type: Cow<'a, str>,
    },
    Resource {
        resource: Blob<'a>,
    },
    ResourceLink {
        uri: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
    },
}

/// The bytes of a resource. One that is text stands in the text of a result.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Blob<'a> {
    uri: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<Cow<'a, str>>,
    blob: Cow<'a, str>,
}

impl Block<'_> {
    /// Whether its bytes are base64, which some clients check.
    fn is_sound(&self) -> bool {
        match self {
            Self::Image { data, .. } | Self::Audio { data, .. } => is_base64(data),
            Self::Resource { resource } => is_base64(&resource.blob),
            Self::ResourceLink { .. } => true,
        }
    }

    /// Whether it came with "MCP 2025-03-26" or later.
    pub(crate) const fn is_late(&self) -> bool {
        matches!(self, Self::Audio { .. } | Self::ResourceLink { .. })
    }
}

fn is_base64(text: &str) -> bool {
    BASE64_STANDARD.decode(text).is_ok()
}

/// The blocks that are no text of a structured result that is such a list and nothing else. Those of text are left out: they stand in
/// the text of the result.
///
/// `None` for any other result, also where one element is no block that clients know, as in a document whose parts have types of
/// their own: it stays what it is, so that nothing of it is lost.
pub(crate) fn blocks(data: &Value) -> Option<Vec<Block<'_>>> {
    let object = data.as_object().filter(|it| it.len() == 1)?;
    let mut res = Vec::new();
    for it in object.get("content")?.as_array()? {
        if text_of(it).is_none() {
            res.push(Block::deserialize(it).ok().filter(Block::is_sound)?);
        }
    }
    (!res.is_empty()).then_some(res)
}

/// The text of a block of text, and of an embedded resource that is text.
pub(crate) fn text_of(block: &Value) -> Option<&str> {
    match block["type"].as_str()? {
        "text" => block["text"].as_str(),
        "resource" => block["resource"]["text"].as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        let written = serde_json::to_value(blocks(&data)).expect("they are objects");
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
            assert_eq!(blocks(&json!({"content": [image, block]})), None, "{block}");
        }
        let text = json!({"type": "text", "text": "a"});
        for data in [
            json!({"content": []}),
            json!({"content": [text]}),
            json!({"content": [image], "more": 1}),
            json!([image]),
        ] {
            assert_eq!(blocks(&data), None, "{data}");
        }
    }
}
