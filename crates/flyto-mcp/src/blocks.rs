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

/// The blocks of a structured result that has nothing else; `None` for another one. Blocks of text, and those that are not in order,
/// are left out: the text of the result tells of them.
pub(crate) fn blocks(data: &Value) -> Option<Vec<Block<'_>>> {
    let object = data.as_object().filter(|it| it.len() == 1)?;
    let content = object.get("content")?.as_array()?;
    let is_block = |it: &Value| it.get("type").is_some_and(Value::is_string);
    if content.is_empty() || !content.iter().all(is_block) {
        return None;
    }
    let known = content.iter().filter_map(|it| Block::deserialize(it).ok());
    Some(known.filter(Block::is_sound).collect())
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
        let data = json!({"content": [{"type": "text", "text": "a"}, more, link, resource]});
        let written = serde_json::to_value(blocks(&data)).expect("they are objects");
        assert_eq!(written, json!([image, link, resource]));
    }

    #[test]
    fn a_block_out_of_order_is_left_out() {
        for block in [
            json!({"type": "image", "data": "no base64", "mimeType": "image/png"}),
            json!({"type": "image", "data": "AAAA"}),
            json!({"type": "resource", "resource": {"uri": "f:a", "text": "whole"}}),
            json!({"type": "resource_link", "uri": 1, "name": "a"}),
            json!({"type": "dance"}),
        ] {
            assert_eq!(blocks(&json!({"content": [block]})), Some(Vec::new()));
        }
    }

    #[test]
    fn other_results_have_no_blocks() {
        for data in [
            json!({"content": []}),
            json!({"content": ["a"]}),
            json!({"content": [{"type": "text"}], "more": 1}),
            json!([{"type": "text"}]),
        ] {
            assert_eq!(blocks(&data), None, "{data}");
        }
    }
}
