//! `tools/call`: one call of a tool, through all stages of the host.

use std::sync::Arc;

use flyto_host::{CallError, Prepared};
use flyto_tools::{CallContext, Input, InputError, Progress};
use serde_json::value::RawValue;

use super::{
    approval::Asker,
    fault::Fault,
    params::{Params, ProgressToken, Terms},
    peer::{InFlight, Outcome, Peer},
    progress::{self, Latest},
    result,
};

/// Most names that an error about a tool lists.
const MAX_SIMILAR: usize = 3;

/// A call that was read and not made yet.
#[derive(Debug)]
pub(crate) struct ToolCall {
    terms: Terms,
    progress_token: Option<ProgressToken>,
    prepared: Result<Prepared, InputError>,
    /// The client, for what the rules ask about; `None` where the host asks no client.
    asker: Option<Arc<Asker>>,
}

impl ToolCall {
    /// Finds the tool and reads its arguments.
    ///
    /// # Errors
    ///
    /// What is a fault of the request: no name, a name that no tool has, arguments that are no object.
    pub(crate) fn read(
        peer: &Arc<Peer>,
        terms: &Terms,
        params: &mut Params<'_>,
    ) -> Result<Self, Fault> {
        let name = params.name.as_deref();
        let name = name.ok_or_else(|| Fault::invalid_params("params lack \"name\""))?;
        let entry = peer.server.host.find(name).map_err(|err| unknown(&err))?;
        let arguments = params.arguments.map_or("{}", RawValue::get);
        if !arguments.starts_with('{') {
            return Err(Fault::invalid_params("\"arguments\" must be an object"));
        }
        // What a program reads on stdin are the bytes that the client wrote.
        let prepared = Input::parse(arguments);
        let prepared = prepared.map(|input| peer.server.host.prepare_entry(entry, input));
        let asker = match (&peer.server.approvals, &prepared) {
            (Some(_), Ok(prepared)) => {
                let (tool, arguments) = (prepared.id().as_str(), prepared.input().as_str());
                Some(Asker::new(peer, terms, params, tool, arguments)?)
            }
            _ => None,
        };
        let progress_token = params.meta.as_ref().and_then(|it| it.progress_token.clone());
        Ok(Self { terms: terms.clone(), progress_token, prepared, asker })
    }

    /// Makes the call. `None`: the client took it back, and waits for no answer.
    pub(crate) async fn run(self, peer: Arc<Peer>, in_flight: InFlight) -> Option<Outcome> {
        let server = &peer.server;
        let prepared = match self.prepared {
            Ok(prepared) => prepared,
            // The model wrote the arguments, and can write them again.
            Err(err) => return Some(result::error(server, &self.terms, &err.to_string())),
        };
        let ctx = CallContext::new().with_cancellation(in_flight.cancellation.clone());
        let approvals = server.approvals.as_ref().zip(self.asker.as_ref());
        let _registered = approvals.map(|(it, asker)| it.register(ctx.id(), Arc::clone(asker)));
        let call = prepared.clone();
        let report = match &self.progress_token {
            None => call.run_reported(&ctx).await,
            Some(token) => {
                let latest = Arc::new(Latest::default());
                let sink = Arc::clone(&latest);
                let ctx = ctx.with_progress(move |progress: Progress| sink.set(progress));
                let call = call.run_reported(&ctx);
                let heartbeat = server.options.heartbeat;
                progress::reported(&peer.outbox, token, &latest, heartbeat, call).await
            }
        };
        if in_flight.is_taken_back() {
            return None;
        }
        Some(match report.result {
            Ok(result) => result::of(server, &self.terms, result),
            Err(err) => {
                // A call that ended with a question is answered with it.
                let (tool, arguments) = (prepared.id().as_str(), prepared.input().as_str());
                let question = self.asker.and_then(|it| it.question(tool, arguments));
                question.unwrap_or_else(|| {
                    result::error(server, &self.terms, &result::why_not(server, &err))
                })
            }
        })
    }
}

/// A tool that is not there, or may not be used. Clients had it in no list.
fn unknown(err: &CallError) -> Fault {
    let mut message = err.to_string();
    if let CallError::NotFound { similar, .. } = err
        && !similar.is_empty()
    {
        let names: Vec<_> = similar.iter().take(MAX_SIMILAR).map(|it| format!("{it:?}")).collect();
        message.push_str(&format!("; similar: {}", names.join(", ")));
    }
    Fault::invalid_params(message)
}
