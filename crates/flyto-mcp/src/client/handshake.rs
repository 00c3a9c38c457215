//! How a client finds out which era a server is of.
//!
//! A server of the new era answers `server/discover`. One of the era of handshakes answers it with an error, says nothing, or
//! ends: to the first two `initialize` is sent over the same connection, and the last one is started again for it.
//!
//! What was agreed on is kept with the pins, and a server of the era of handshakes is sent `initialize` first from then on: a
//! silent one costs the wait once, and one that ends is started once. A server that has changed its era refuses or ends,
//! and is asked as at first.
//!
//! A server that loads for longer than the first wait has both requests, and answers the one that it knows. A server of
//! the new era may refuse the handshake then, so a refusal counts only when the discovery is answered as well.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::timeout;

use super::peer::{Answer, InFlight, Peer, RequestError};
use crate::Revision;

/// How long the answer to `server/discover` is waited for alone. A server that ignores it costs this much at its start; one
/// that loads for longer is sent a handshake as well, and the first of the two that it grants holds.
const DISCOVERY_TIME: Duration = Duration::from_secs(5);

/// Characters of a version that are kept.
const MAX_NAME_CHARS: usize = 128;

/// With which era to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// Ask; a handshake follows where that is no use.
    Discovery,
    /// With a handshake at once: the server ended when it was asked.
    Handshake,
    /// With a handshake, since that was agreed on before; a server that refuses it, or is silent, is asked.
    Remembered,
}

/// What a server says of itself.
#[derive(Debug, Clone)]
pub(super) struct Agreed {
    pub(super) revision: Revision,
    /// Its version; empty where it says none.
    pub(super) version: String,
    /// Whether it has tools.
    pub(super) has_tools: bool,
    /// Whether it tells when they change.
    pub(super) tells_changes: bool,
}

/// Why there is no agreement.
#[derive(Debug)]
pub(super) enum NoAgreement {
    /// The server ended when it was asked for its era; it is to be started again.
    EndedAtDiscovery,
    /// The server ended at the handshake that it agreed to before; it is to be started again, and asked.
    EndedAtHandshake,
    /// In words.
    Failed(String),
}

/// The answer of a server to either request: in the new era with the versions that it has, in the other one with the one that
/// it chose.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hello {
    #[serde(default)]
    supported_versions: Vec<String>,
    #[serde(default)]
    protocol_version: Option<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Option<Info>,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default, rename = "io.modelcontextprotocol/serverInfo")]
    server_info: Option<Info>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Info {
    version: String,
}

/// Agrees with a server on a revision.
///
/// # Errors
///
/// The server ends, refuses, or speaks no revision that is known here.
pub(super) async fn agree(peer: &Arc<Peer>, begin: Begin) -> Result<Agreed, NoAgreement> {
    let failed = |what: String| Err(NoAgreement::Failed(what));
    // Requests that were not answered in time, and may still be.
    let (mut discovery, mut handshake) = (None, None);
    if begin == Begin::Remembered {
        let begun = initialize(peer).await;
        let mut asked = begun.map_err(|_| NoAgreement::EndedAtHandshake)?;
        match timeout(DISCOVERY_TIME, asked.answer()).await {
            Ok(Ok(answer)) => return shaken(peer, &answer).await,
            Ok(Err(RequestError::Closed(_))) => return Err(NoAgreement::EndedAtHandshake),
            Ok(Err(_)) => {}
            Err(_) => handshake = Some(asked),
        }
    }
    if begin != Begin::Handshake {
        let asked = peer.begin("server/discover", &[], false).await;
        let mut asked = asked.map_err(|_| NoAgreement::EndedAtDiscovery)?;
        if handshake.is_some() {
            discovery = Some(asked);
        } else {
            match timeout(DISCOVERY_TIME, asked.answer()).await {
                Ok(Err(RequestError::Closed(_))) => return Err(NoAgreement::EndedAtDiscovery),
                Ok(answer) => {
                    if let Some(agreed) = discovered(peer, answer) {
                        return Ok(agreed);
                    }
                }
                Err(_) => discovery = Some(asked),
            }
        }
    }
    let mut handshake = match handshake {
        Some(handshake) => handshake,
        None => match initialize(peer).await {
            Ok(handshake) => handshake,
            Err(err) => return failed(format!("the handshake failed: {err}")),
        },
    };
    let mut refusal = None;
    let answer = loop {
        tokio::select! {
            biased;
            late = answer_of(&mut discovery) => {
                discovery = None;
                if let Err(RequestError::Closed(_)) = late {
                    return Err(NoAgreement::EndedAtDiscovery);
                }
                // A server of the new era that loads slowly answers in order: the discovery, and then no handshake.
                if let Some(agreed) = discovered(peer, late) {
                    return Ok(agreed);
                }
            }
            answer = handshake.answer(), if refusal.is_none() => match answer {
                Ok(answer) => break answer,
                Err(err) => refusal = Some(err),
            },
        }
        if let (Some(err), None) = (&refusal, &discovery) {
            return failed(format!("the handshake failed: {err}"));
        }
    };
    shaken(peer, &answer).await
}

/// Begins a handshake.
async fn initialize(peer: &Arc<Peer>) -> Result<InFlight, RequestError> {
    let version = json!(Revision::LATEST_LEGACY.as_str()).to_string();
    let (capabilities, info) = (peer.capabilities().to_string(), peer.info().to_string());
    let members = [
        ("protocolVersion", version.as_str()),
        ("capabilities", &capabilities),
        ("clientInfo", &info),
    ];
    peer.begin("initialize", &members, false).await
}

/// Agrees on the era of handshakes by the answer to one.
async fn shaken(peer: &Arc<Peer>, answer: &RawValue) -> Result<Agreed, NoAgreement> {
    let failed = |what: String| Err(NoAgreement::Failed(what));
    let Ok(hello) = serde_json::from_str::<Hello>(answer.get()) else {
        return failed("its answer to \"initialize\" cannot be read".to_owned());
    };
    let named = hello.protocol_version.clone().unwrap_or_default();
    let revision = match Revision::parse(&named) {
        Some(revision) if !revision.is_modern() => revision,
        _ => {
            let named: String = named.chars().take(MAX_NAME_CHARS).collect();
            return failed(format!("it speaks the revision {named:?}, which is not known here"));
        }
    };
    peer.agree(revision);
    peer.notify("notifications/initialized").await;
    Ok(agreed(hello, revision))
}

/// The answer to a request that may be there; without one there is never any.
async fn answer_of(request: &mut Option<InFlight>) -> Answer {
    match request {
        Some(request) => request.answer().await,
        None => std::future::pending().await,
    }
}

/// Agrees on the new era, where the answer to `server/discover` says that the server has it.
fn discovered(peer: &Peer, answer: Answer) -> Option<Agreed> {
    let hello: Hello = serde_json::from_str(answer.ok()?.get()).ok()?;
    let latest = Revision::LATEST.as_str();
    if !hello.supported_versions.iter().any(|it| it == latest) {
        return None;
    }
    peer.agree(Revision::LATEST);
    Some(agreed(hello, Revision::LATEST))
}

/// What the server says of itself, cut to what is kept. A server without the capability `tools` has none to list.
fn agreed(hello: Hello, revision: Revision) -> Agreed {
    let Hello { capabilities, server_info, meta, .. } = hello;
    let info = server_info.or_else(|| meta.and_then(|it| it.server_info)).unwrap_or_default();
    let cut = |it: String| it.chars().filter(|it| !it.is_control()).take(MAX_NAME_CHARS).collect();
    let tools = capabilities.get("tools");
    let told = tools.and_then(|it| it.get("listChanged"));
    Agreed {
        revision,
        version: cut(info.version),
        has_tools: tools.is_some(),
        tells_changes: told.and_then(Value::as_bool) == Some(true),
    }
}
