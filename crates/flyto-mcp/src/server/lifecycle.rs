//! How a client and a server agree: the handshake of the old era, and the question of the new one.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Shared,
    background::tasks,
    fault::Fault,
    params::{Negotiated, Params},
    revision::Revision,
};

/// How long a client may keep what it was told of the server, in milliseconds: an hour, for it changes with the
/// program only.
const DISCOVERY_TTL_MS: u64 = 60 * 60 * 1000;

/// The name and the version of the server.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ServerInfo {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// What the server can do, for both eras.
fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true } })
}

/// What it can do beside that in the new one.
fn extensions(server: &Shared) -> Value {
    match server.jobs {
        Some(_) => json!({tasks::EXTENSION: {}}),
        None => json!({}),
    }
}

/// What `initialize` asks for, and what holds from then on.
///
/// # Errors
///
/// No revision is named.
pub(crate) fn agree(params: &mut Params<'_>) -> Result<Negotiated, Fault> {
    let requested = params.protocol_version.as_deref();
    let requested =
        requested.ok_or_else(|| Fault::invalid_params("params lack \"protocolVersion\""))?;
    // To a revision that it does not know, a server answers with its own latest one.
    let known = Revision::parse(requested).filter(|it| !it.is_modern());
    let revision = known.unwrap_or(Revision::LATEST_LEGACY);
    Ok(Negotiated { revision, capabilities: params.capabilities.take().unwrap_or_default() })
}

/// The result of `initialize`.
pub(crate) fn initialized(server: &Shared, negotiated: &Negotiated) -> Value {
    json!({
        "protocolVersion": negotiated.revision.as_str(),
        "capabilities": capabilities(),
        "serverInfo": server.info,
        "instructions": server.instructions(),
    })
}

/// The result of `server/discover`.
pub(crate) fn discover(server: &Shared) -> Value {
    let mut capabilities = capabilities();
    capabilities["extensions"] = extensions(server);
    json!({
        "resultType": "complete",
        "supportedVersions": Revision::ALL.map(Revision::as_str),
        "capabilities": capabilities,
        "instructions": server.instructions(),
        "ttlMs": DISCOVERY_TTL_MS,
        "cacheScope": "private",
        "_meta": server.result_meta(),
    })
}

/// A request that neither carries its revision nor follows a handshake.
pub(crate) fn no_terms() -> Fault {
    Fault::invalid_params(format!(
        "params._meta lacks \"io.modelcontextprotocol/protocolVersion\" ({}), and no \"initialize\" came before \
         (up to {})",
        Revision::LATEST,
        Revision::LATEST_LEGACY
    ))
}
