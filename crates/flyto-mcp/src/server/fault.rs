//! Errors of the protocol: what a request itself does wrong. What a tool does is a result.

use serde::Serialize;
use serde_json::{Value, json};

use super::revision::Revision;

/// The text is no JSON.
pub(crate) const PARSE_ERROR: i32 = -32700;
/// JSON, and no message.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// A method that is not there.
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
/// Parameters that the method does not take; also a tool that is not there.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// A fault of the server.
pub(crate) const INTERNAL_ERROR: i32 = -32603;
/// Headers that say another thing than the message.
pub(crate) const HEADER_MISMATCH: i32 = -32020;
/// What the client must declare, and does not.
pub(crate) const MISSING_CAPABILITY: i32 = -32021;
/// A revision that is not spoken.
pub(crate) const UNSUPPORTED_REVISION: i32 = -32022;

/// The `error` of a response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fault {
    /// One of the numbers above.
    pub(crate) code: i32,
    /// One sentence in lower case without a full stop.
    pub(crate) message: String,
    /// What a program may read of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<Value>>,
}

impl Fault {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(INTERNAL_ERROR, message)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        /// Bytes of a name that are repeated.
        const SHOWN_BYTES: usize = 100;
        let shown = &method[..method.floor_char_boundary(SHOWN_BYTES)];
        Self::new(METHOD_NOT_FOUND, format!("there is no method {shown:?}"))
    }

    /// What cannot be written as JSON, which no value of this crate is.
    pub(crate) fn unwritable(err: &serde_json::Error) -> Self {
        Self::new(INTERNAL_ERROR, format!("failed to write the result: {err}"))
    }

    /// The revision of a request is not spoken; the client chooses among those in `data`.
    pub(crate) fn unsupported_revision(requested: &str) -> Self {
        let supported = Revision::ALL.map(Revision::as_str);
        let data = json!({ "supported": supported, "requested": requested });
        let message = format!("the protocol revision {requested:?} is not supported");
        Self { data: Some(Box::new(data)), ..Self::new(UNSUPPORTED_REVISION, message) }
    }
}
