//! The parameters of all methods, and what every request says of its client.
//!
//! One reader serves all methods: a request is read once, and members that a method does not know mean nothing to it. Types are
//! checked for all of them, so that a name that is a number is an error of the request and not a tool that is not there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{fault::Fault, revision::Revision};

/// The key of the revision in the `_meta` of a modern request.
const REVISION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's capabilities there.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Members of `params` that some method reads. Others are ignored, as the protocol asks.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct Params<'a> {
    /// What is said about the request itself.
    #[serde(rename = "_meta")]
    pub(crate) meta: Option<Meta>,
    /// Of `initialize`.
    pub(crate) protocol_version: Option<String>,
    /// Of `initialize`.
    pub(crate) capabilities: Option<Capabilities>,
    /// Of `tools/list`.
    pub(crate) cursor: Option<String>,
    /// Of `tools/call`.
    pub(crate) name: Option<String>,
    /// Of `tools/call`.
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
    /// Of `tools/call`: the answers to what an earlier call ended with.
    pub(crate) input_responses: Option<Map<String, Value>>,
    /// Of `tools/call`: what the server gave with those questions.
    pub(crate) request_state: Option<String>,
    /// Of `subscriptions/listen`.
    pub(crate) notifications: Option<Filter>,
    /// Of `notifications/cancelled`.
    pub(crate) request_id: Option<Value>,
    /// Of the methods of tasks.
    pub(crate) task_id: Option<String>,
}

/// Which notifications a client wants to get. Of those that it may name, this server has one.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct Filter {
    pub(crate) tools_list_changed: bool,
}

/// The `_meta` of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct Meta {
    /// Present where the client wants to be told of progress.
    #[serde(rename = "progressToken")]
    pub(crate) progress_token: Option<ProgressToken>,
    /// The revision of a request of the new era.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) revision: Option<String>,
    /// What the client can do, said with each request.
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: Option<Capabilities>,
}

/// What a client calls the progress of one of its requests.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged, expecting = "a string or a number")]
pub(crate) enum ProgressToken {
    Number(serde_json::Number),
    Text(String),
}

/// What a client can do. Members that are not known stand for nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct Capabilities {
    /// The modes in which it asks its user; an empty object stands for forms.
    pub(crate) elicitation: Option<Map<String, Value>>,
    /// Extensions of the protocol, with their settings.
    pub(crate) extensions: Option<Map<String, Value>>,
}

/// What holds for one request: the revision, and what its client can do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Negotiated {
    /// What is spoken.
    pub(crate) revision: Revision,
    /// Servers must not ask for what is not in here.
    pub(crate) capabilities: Capabilities,
}

impl<'a> Params<'a> {
    /// Reads `params`, where there are any.
    ///
    /// # Errors
    ///
    /// [`INVALID_PARAMS`](super::fault::INVALID_PARAMS) for a member of another type, or what is no object.
    pub(crate) fn read(params: Option<&'a RawValue>) -> Result<Self, Fault> {
        let Some(params) = params else { return Ok(Self::default()) };
        // A derived reader takes an array for an object whose members have no names.
        if params.get().starts_with('[') {
            return Err(Fault::invalid_params("failed to read the parameters: expected an object"));
        }
        serde_json::from_str(params.get())
            .map_err(|err| Fault::invalid_params(format!("failed to read the parameters: {err}")))
    }

    /// What the request itself says of its revision and capabilities; `None` for a request of the era of handshakes.
    ///
    /// # Errors
    ///
    /// A revision that is not spoken, or one without the capabilities of the client.
    pub(crate) fn take_terms(&mut self) -> Result<Option<Negotiated>, Fault> {
        let Some(meta) = &mut self.meta else { return Ok(None) };
        let Some(requested) = &meta.revision else {
            return match meta.capabilities {
                Some(_) => {
                    Err(Fault::invalid_params(format!("params._meta lacks {REVISION_KEY:?}")))
                }
                None => Ok(None),
            };
        };
        let revision = Revision::parse(requested)
            .filter(|it| it.is_modern())
            .ok_or_else(|| Fault::unsupported_revision(requested))?;
        let capabilities = meta.capabilities.take().ok_or_else(|| {
            Fault::invalid_params(format!("params._meta lacks {CAPABILITIES_KEY:?}"))
        })?;
        Ok(Some(Negotiated { revision, capabilities }))
    }
}
