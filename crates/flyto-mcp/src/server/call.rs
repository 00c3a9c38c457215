//! `tools/call`: one call of a tool, through all stages of the host.

use std::sync::Arc;

use flyto_host::{CallError, Prepared};
use flyto_tools::{CallContext, Entry, Input, InputError, Progress};
use serde_json::value::RawValue;

use super::{
    approval::Asker,
    discovery::{self, InnerCall},
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
    /// What holds for the request.
    terms: Terms,
    /// Present where the client wants to be told of progress.
    progress_token: Option<ProgressToken>,
    /// The call, or why its arguments are no input.
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
    ) -> Result<Read, Fault> {
        let name = params.name.take();
        let name = name.ok_or_else(|| Fault::invalid_params("params lack \"name\""))?;
        let arguments = object(params.arguments)?;
        let server = &peer.server;
        if !server.options.discovery
            || !matches!(name.as_str(), discovery::SEARCH | discovery::CALL)
        {
            let entry = server.host.find(&name).map_err(|err| unknown(&err))?;
            return Self::of(peer, terms, params, entry, arguments).map(Read::Call);
        }
        if name == discovery::SEARCH {
            return discovery::search(server, terms, arguments).map(Read::Done);
        }
        // The model chose the tool, and can choose another one.
        let refuse = |text: &str| result::error(server, terms, text).map(Read::Done);
        let inner: InnerCall<'_> = match serde_json::from_str(arguments) {
            Ok(inner) => inner,
            Err(err) => return refuse(&format!("failed to read the arguments: {err}")),
        };
        match (server.host.find(&inner.name), object(inner.arguments)) {
            (Ok(entry), Ok(arguments)) => {
                Self::of(peer, terms, params, entry, arguments).map(Read::Call)
            }
            (Err(err), _) => refuse(&unknown(&err).message),
            (_, Err(fault)) => refuse(&fault.message),
        }
    }

    /// A call of this tool with the text of an object.
    ///
    /// # Errors
    ///
    /// A state that is not taken.
    fn of(
        peer: &Arc<Peer>,
        terms: &Terms,
        params: &mut Params<'_>,
        entry: Entry,
        arguments: &str,
    ) -> Result<Self, Fault> {
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

/// What a request came to when it was read.
pub(crate) enum Read {
    Call(ToolCall),
    /// It was no call of a tool of the host.
    Done(Box<RawValue>),
}

/// The text of an object; without one, that of an empty object.
fn object(arguments: Option<&RawValue>) -> Result<&str, Fault> {
    let arguments = arguments.map_or("{}", RawValue::get);
    if !arguments.starts_with('{') {
        return Err(Fault::invalid_params("\"arguments\" must be an object"));
    }
    Ok(arguments)
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
