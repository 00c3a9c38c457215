//! `tools/call`: one call of a tool, through all stages of the host.
//!
//! Which answer is an error of the protocol and which one a result follows "MCP 2025-11-25, Server, Tools, Error
//! Handling": no name, an unknown tool and arguments that are no object are errors of the request; arguments that
//! break the schema, a refusal and a failure are results, for the model can try again. A name that the model chose in
//! an argument is told in a result as well.
//!
//! A call runs in the task of its request. It goes on as a job by moving into the task of that, with the same future:
//! it is neither started again nor asked about twice.

use std::{future::pending, sync::Arc, time::Duration};

use flyto_host::Prepared;
use flyto_tools::{CallContext, Entry, Input, InputError, Progress};
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::{
    Shared,
    approval::Asker,
    background::{
        CallResult, Jobs, OwnJobs, Reserved, RunningCall, tasks,
        tools::{self, JobCall, Start},
    },
    discovery::{self, InnerCall},
    fault::Fault,
    missing::Missing,
    params::{Params, ProgressToken, Terms},
    peer::{InFlight, Outcome, Peer},
    progress::{self, Latest},
    result,
};

/// A call that was read and not made yet.
#[derive(Debug)]
pub(crate) struct ToolCall {
    /// What holds for the request.
    terms: Terms,
    /// Present where the client wants to be told of progress.
    progress_token: Option<ProgressToken>,
    /// The call, or its tool and why the arguments are no input.
    prepared: Result<Prepared, (Entry, InputError)>,
    /// The client, for what the rules ask about; `None` where the host asks no client.
    asker: Option<Arc<Asker>>,
    /// When its request is answered before it ends.
    background: Background,
}

/// When a call goes on by itself, as a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Background {
    /// It does not: the request waits for its end.
    Never,
    /// Once it has run so long.
    After(Duration),
    /// At once.
    AtOnce,
}

impl ToolCall {
    /// Finds the tool and reads its arguments.
    ///
    /// # Errors
    ///
    /// What is a fault of the request: no name, arguments that are no object.
    pub(crate) fn read(
        peer: &Arc<Peer>,
        terms: &Terms,
        params: &mut Params<'_>,
    ) -> Result<Read, Fault> {
        let name = params.name.take();
        let name = name.ok_or_else(|| Fault::invalid_params("params lack \"name\""))?;
        let arguments = object(params.arguments)?;
        let server = &peer.server;
        let refuse = |text: &str| result::error(server, terms, text).map(Read::Done);
        let bad = |err: serde_json::Error| format!("failed to read the arguments: {err}");
        let long = match &server.jobs {
            Some(_) if terms.takes_tasks() => Background::After(server.options.task_after),
            _ => Background::Never,
        };
        // What the model chose by an argument is told to the model.
        let inner = match name.as_str() {
            discovery::SEARCH if server.options.discovery => {
                return discovery::search(server, terms, arguments).map(Read::Done);
            }
            discovery::CALL if server.options.discovery => {
                let inner = serde_json::from_str(arguments);
                inner.map(|InnerCall { name, arguments }| (name, arguments, long)).map_err(bad)
            }
            _ => match server.host.find(&name) {
                Ok(entry) => {
                    return Self::of(peer, terms, params, entry, arguments, long);
                }
                Err(_) if server.jobs.is_some() && name == tools::START => {
                    let inner = serde_json::from_str(arguments);
                    let call = |Start { tool, arguments }| (tool, arguments, Background::AtOnce);
                    inner.map(call).map_err(bad)
                }
                Err(err) => match JobCall::read(&name, arguments) {
                    Some(read) if server.jobs.is_some() => {
                        return read.map(Read::Job).or_else(|why| refuse(&why));
                    }
                    _ => return Ok(Read::Missing(Missing::new(&name, arguments, err))),
                },
            },
        };
        let (name, arguments, background) = match inner {
            Ok(inner) => inner,
            Err(why) => return refuse(&why),
        };
        match (server.host.find(&name), object(arguments)) {
            (Ok(entry), Ok(arguments)) => {
                Self::of(peer, terms, params, entry, arguments, background)
            }
            (Err(err), arguments) => {
                let missing = Missing::new(&name, arguments.unwrap_or_default(), err);
                Ok(Read::Missing(missing.chosen()))
            }
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
        background: Background,
    ) -> Result<Read, Fault> {
        // What a program reads on stdin are the bytes that the client wrote.
        let prepared = match Input::parse(arguments) {
            Ok(input) => Ok(peer.server.host.prepare_entry(entry, input)),
            Err(why) => Err((entry, why)),
        };
        let asker = match (&peer.server.approvals, &prepared) {
            (Some(_), Ok(prepared)) => {
                let (tool, arguments) = (prepared.id().as_str(), prepared.input().as_str());
                Some(Asker::new(peer, terms, params, tool, arguments)?)
            }
            _ => None,
        };
        let progress_token = params.meta.as_ref().and_then(|it| it.progress_token.clone());
        let terms = terms.clone();
        let call = Self { terms, progress_token, prepared, asker, background };
        Ok(Read::Call(Box::new(call)))
    }

    /// Makes the call. `None`: the client took it back, and waits for no answer.
    ///
    /// What the rules ask about is asked while the request is open, before anything runs. A call that goes on as a job is
    /// answered with it, and its end is recorded, whatever becomes of the client.
    pub(crate) async fn run(self, peer: Arc<Peer>, in_flight: InFlight) -> Option<Outcome> {
        let Self { terms, progress_token, prepared, asker, background } = self;
        let server = &peer.server;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            // The model wrote the arguments, and can write them again.
            Err((entry, why)) => {
                let ctx = CallContext::new().with_cancellation(in_flight.cancellation.clone());
                let err = server.host.refuse_input(&entry, &ctx, &why).await;
                let is_awaited = !in_flight.is_taken_back();
                return is_awaited.then(|| result::not_called(server, &terms, &err));
            }
        };
        let latest = Arc::new(Latest::default());
        let sink = Arc::clone(&latest);
        let ctx = CallContext::new().with_progress(move |progress: Progress| sink.set(progress));
        let own = &peer.session.jobs;
        let job = match begin(server, own, background, &prepared, ctx).await {
            Ok(job) => job,
            Err(why) => return Some(result::error(server, &terms, &why)),
        };
        let ctx = job.ctx.with_cancellation(in_flight.cancellation.clone());
        let approvals = server.approvals.as_ref().zip(asker.as_ref());
        let registered = approvals.map(|(it, asker)| it.register(ctx.id(), Arc::clone(asker)));
        let call = prepared.clone();
        let mut call: RunningCall = Box::pin(async move {
            let _registered = registered;
            call.run_reported(&ctx).await.result
        });

        // What is asked about is answered while the request is open.
        let go_on = async {
            match job.background {
                Background::Never => pending().await,
                Background::After(time) => sleep(time).await,
                Background::AtOnce => {}
            }
            if let Some(asker) = &asker {
                asker.settled(&prepared).await;
            }
        };
        let (tool, jobs) = (prepared.id().as_str(), server.jobs.as_ref());
        let ended = ended(&mut call, go_on, || reserve(job.reserved, jobs, own, &prepared));
        let ended = match &progress_token {
            None => ended.await,
            Some(token) => {
                let heartbeat = server.options.heartbeat;
                progress::reported(&peer.outbox, token, &latest, heartbeat, ended).await
            }
        };
        let result = match ended {
            Ended::Result(result) => result,
            Ended::Job(reserved) => {
                let id = reserved.id().clone();
                latest.forward(reserved.context());
                reserved.run(server, call, in_flight.cancellation.clone());
                let job = jobs?.find(own, id.as_str()).await;
                return (!in_flight.is_taken_back()).then(|| {
                    let job = job.map_err(Fault::internal)?;
                    let job = job.ok_or_else(|| Fault::internal("the job was removed"))?;
                    match background {
                        Background::AtOnce => tools::started(server, &terms, &job),
                        _ => tasks::created(server, &job),
                    }
                });
            }
        };
        if in_flight.is_taken_back() {
            return None;
        }
        Some(match *result {
            Ok(result) => {
                let has_schema = prepared.entry().tool().output_schema().is_some();
                result::of(server, &terms, result, has_schema)
            }
            Err(err) => {
                // A call that ended with a question is answered with it.
                let arguments = prepared.input().as_str();
                let question = asker.and_then(|it| it.question(tool, arguments));
                question.unwrap_or_else(|| result::not_called(server, &terms, &err))
            }
        })
    }
}

/// How a call begins.
struct Begin {
    /// Where it reports: to the client, or to the record of its job.
    ctx: CallContext,
    background: Background,
    /// The job of a call that goes on at once, which is recorded before it begins.
    reserved: Option<Reserved>,
}

/// Records a job for a call that goes on at once. One that is known to be refused gets none: its request is answered.
///
/// # Errors
///
/// In words: no job can be recorded.
async fn begin(
    server: &Arc<Shared>,
    own: &Arc<OwnJobs>,
    background: Background,
    prepared: &Prepared,
    ctx: CallContext,
) -> Result<Begin, String> {
    let Some(jobs) = server.jobs.as_ref().filter(|_| background == Background::AtOnce) else {
        return Ok(Begin { ctx, background, reserved: None });
    };
    let plan = prepared.plan(&ctx).await;
    let may_run =
        plan.is_ok_and(|it| it.violations.is_none() && it.ended.is_none() && it.refused.is_none());
    if !may_run {
        return Ok(Begin { ctx, background: Background::Never, reserved: None });
    }
    let reserved = jobs.reserve(own, prepared.id().as_str(), prepared.input()).await?;
    Ok(Begin { ctx: reserved.context(), background, reserved: Some(reserved) })
}

/// The job that a call goes on as: that which was recorded before, or a new one; `None` where there is no room for one.
async fn reserve(
    reserved: Option<Reserved>,
    jobs: Option<&Arc<Jobs>>,
    own: &Arc<OwnJobs>,
    prepared: &Prepared,
) -> Option<Reserved> {
    match reserved {
        Some(reserved) => Some(reserved),
        None => jobs?.reserve(own, prepared.id().as_str(), prepared.input()).await.ok(),
    }
}

/// What the wait for a call came to.
enum Ended {
    /// It ended while its request was open.
    Result(Box<CallResult>),
    /// It goes on as this job.
    Job(Reserved),
}

/// Waits for the end of a call, or until it is to go on as a job. Without room for one, its client waits on.
async fn ended<F: Future<Output = Option<Reserved>>>(
    call: &mut RunningCall,
    go_on: impl Future<Output = ()>,
    reserve: impl FnOnce() -> F,
) -> Ended {
    tokio::select! {
        biased;
        res = &mut *call => return Ended::Result(Box::new(res)),
        () = go_on => {}
    }
    match reserve().await {
        Some(reserved) => Ended::Job(reserved),
        None => Ended::Result(Box::new(call.await)),
    }
}

/// What a request came to when it was read.
pub(crate) enum Read {
    /// A call of a tool of the host, which goes through its stages.
    Call(Box<ToolCall>),
    /// A call of a tool that follows a job.
    Job(JobCall),
    /// A call of a tool that the host does not have.
    Missing(Missing),
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
