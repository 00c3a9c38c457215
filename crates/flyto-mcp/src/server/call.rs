//! `tools/call`: one call of a tool, through all stages of the host.
//!
//! Which answer is an error of the protocol and which one a result follows "MCP 2025-11-25, Server, Tools, Error
//! Handling": no name, an unknown tool and arguments that are no object are errors of the request; arguments that
//! break the schema, a refusal and a failure are results, for the model can try again. A name that the model chose in
//! an argument is told in a result as well.
//!
//! A call runs in the task of its request. It goes on as a job by moving into the task of that, with the same future:
//! it is neither started again nor asked about twice. So it is with a call that [waits](super::waiting) for an answer, and goes on
//! under the request that brings it.

use std::{fmt, future::pending, mem, ops::ControlFlow, sync::Arc, time::Duration};

use flyto_host::Prepared;
use flyto_tools::{CallContext, CallId, CancellationToken, Entry, Input, InputError, Progress};
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::{
    Shared,
    approval::{Asker, Retry, WaitingAnswer},
    background::{
        CallResult, Jobs, OwnJobs, Reserved, RunningCall, tasks,
        tools::{self, JobCall, Start},
    },
    discovery::{self, InnerCall},
    fault::Fault,
    missing::Missing,
    own_arguments::refusal,
    params::{Negotiated, Params, ProgressToken},
    peer::{InFlight, Outcome, Peer},
    progress::{self, Latest},
    result,
    seal::BadState,
    waiting::InnerQuestion,
};

/// A call that was read and not made yet.
#[derive(Debug)]
pub(crate) struct ToolCall {
    /// What holds for the request.
    negotiated: Negotiated,
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
        negotiated: &Negotiated,
        params: &mut Params<'_>,
    ) -> Result<Read, Fault> {
        let name = params.name.take();
        let name = name.ok_or_else(|| Fault::invalid_params("params lack \"name\""))?;
        let arguments = object(params.arguments)?;
        let server = &peer.server;
        let refuse = |text: &str| result::error(server, negotiated, text).map(Read::Done);
        let long = match &server.jobs {
            Some(_) if negotiated.takes_tasks() => Background::After(server.options.task_after),
            _ => Background::Never,
        };
        let has_job_tools = || server.has_job_tools(&server.host.registry().snapshot());
        // What the model chose by an argument is told to the model.
        let inner = match name.as_str() {
            discovery::SEARCH if server.options.discovery => {
                return discovery::search(server, negotiated, arguments).map(Read::Done);
            }
            discovery::CALL if server.options.discovery => {
                let inner = serde_json::from_str(arguments);
                inner
                    .map(|InnerCall { name, arguments }| (name, arguments, long))
                    .map_err(|err| refusal(discovery::tools(), discovery::CALL, arguments, &err))
            }
            _ => match server.host.find(&name) {
                Ok(entry) => {
                    return Self::of(peer, negotiated, params, entry, arguments, long);
                }
                Err(_) if name == tools::START && has_job_tools() => {
                    let inner = serde_json::from_str(arguments);
                    let call = |Start { tool, arguments }| (tool, arguments, Background::AtOnce);
                    inner
                        .map(call)
                        .map_err(|err| refusal(tools::tools(), tools::START, arguments, &err))
                }
                // A job that was started can be asked also once the host has a tool of another one of these names.
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
                Self::of(peer, negotiated, params, entry, arguments, background)
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
        negotiated: &Negotiated,
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
        let progress_token = params.meta.as_ref().and_then(|it| it.progress_token.clone());
        let asker = match (&peer.server.approvals, &prepared) {
            (Some(_), Ok(prepared)) => {
                let (tool, arguments) = (prepared.id().as_str(), prepared.input().as_str());
                match Retry::read(peer, negotiated, params, tool, arguments)? {
                    Retry::Anew(answers) => Some(Asker::new(peer, negotiated, answers)),
                    Retry::Waiting(answer) => {
                        let negotiated = negotiated.clone();
                        return Ok(Read::Answer(AnswerCall { negotiated, progress_token, answer }));
                    }
                }
            }
            _ => None,
        };
        let negotiated = negotiated.clone();
        let call = Self { negotiated, progress_token, prepared, asker, background };
        Ok(Read::Call(Box::new(call)))
    }

    /// Makes the call. `None`: the client took it back, and waits for no answer.
    ///
    /// What the rules ask about is asked while the request is open, before anything runs. A call that goes on as a job is
    /// answered with it, and its end is recorded, whatever becomes of the client.
    pub(crate) async fn run(self, peer: Arc<Peer>, in_flight: InFlight) -> Option<Outcome> {
        let Self { negotiated, progress_token, prepared, asker, background } = self;
        let server = &peer.server;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            // The model wrote the arguments, and can write them again.
            Err((entry, why)) => {
                let ctx = CallContext::new().with_cancellation(in_flight.cancellation.clone());
                let err = server.host.refuse_input(&entry, &ctx, &why).await;
                let is_awaited = !in_flight.is_taken_back();
                return is_awaited.then(|| result::not_called(server, &negotiated, &err));
            }
        };
        let latest = Arc::new(Latest::default());
        let sink = Arc::clone(&latest);
        let ctx = CallContext::new().with_progress(move |progress: Progress| sink.set(progress));
        let job = match begin(server, &peer.session.jobs, background, &prepared, ctx).await {
            Ok(job) => job,
            Err(why) => return Some(result::error(server, &negotiated, &why)),
        };
        let cancellation = in_flight.cancellation.clone();
        let ctx = job.ctx.with_cancellation(cancellation.clone());
        let id = ctx.id().clone();
        let approvals = server.approvals.as_ref().zip(asker.as_ref());
        let registered = approvals.map(|(it, asker)| it.register(&id, Arc::clone(asker)));
        let call = prepared.clone();
        let call: RunningCall = Box::pin(async move {
            let _registered = registered;
            call.run_reported(&ctx).await.result
        });
        let (background, reserved) = (job.background, job.reserved);
        let is_in_task = false;
        let call = BegunCall {
            id,
            prepared,
            asker,
            background,
            reserved,
            latest,
            cancellation,
            call,
            is_in_task,
        };
        call.go_on(&peer, &in_flight, &negotiated, progress_token.as_ref()).await
    }
}

/// The answer to a question about a call that waits, which is taken over with it.
#[derive(Debug)]
pub(crate) struct AnswerCall {
    negotiated: Negotiated,
    progress_token: Option<ProgressToken>,
    answer: WaitingAnswer,
}

impl AnswerCall {
    /// Has the call go on. `None`: the client took the request back.
    pub(crate) async fn run(self, peer: Arc<Peer>, in_flight: InFlight) -> Option<Outcome> {
        let Self { negotiated, progress_token, answer: WaitingAnswer { id, question, answer } } =
            self;
        let Some((mut call, question)) = peer.session.waiting.take(&id, &question) else {
            return Some(Err(Fault::invalid_params(BadState::Over.to_string())));
        };
        match answer {
            // A call that has ended meanwhile needs none.
            Some(answer) => drop(question.answer.send(answer)),
            None => match call.ask(&peer, question) {
                ControlFlow::Break(outcome) => return Some(outcome),
                ControlFlow::Continue(same) => call = same,
            },
        }
        let cancellation = call.cancellation.clone();
        let going_on = call.go_on(&peer, &in_flight, &negotiated, progress_token.as_ref());
        tokio::pin!(going_on);
        tokio::select! {
            biased;
            outcome = &mut going_on => outcome,
            () = in_flight.cancellation.cancelled() => {
                cancellation.cancel();
                going_on.await
            }
        }
    }
}

/// A call that has begun. One request after the other may wait for it.
pub(crate) struct BegunCall {
    id: CallId,
    prepared: Prepared,
    /// See [`ToolCall::asker`].
    asker: Option<Arc<Asker>>,
    background: Background,
    /// See [`Begin::reserved`].
    reserved: Option<Reserved>,
    latest: Arc<Latest>,
    cancellation: CancellationToken,
    call: RunningCall,
    /// Whether a task has it go on, and `call` waits for that.
    is_in_task: bool,
}

impl fmt::Debug for BegunCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BegunCall").field("id", &self.id).finish_non_exhaustive()
    }
}

impl BegunCall {
    /// Waits for what answers the request: the result, a job, or a question about a call within this one, for whose answer this one
    /// waits. `None`: the client took the request back.
    async fn go_on(
        mut self,
        peer: &Arc<Peer>,
        in_flight: &InFlight,
        negotiated: &Negotiated,
        progress_token: Option<&ProgressToken>,
    ) -> Option<Outcome> {
        let server = &peer.server;
        loop {
            let latest = Arc::clone(&self.latest);
            let ended = self.ended(peer);
            let ended = match progress_token {
                None => ended.await,
                Some(token) => {
                    let heartbeat = server.options.heartbeat;
                    progress::reported(&peer.outbox, token, &latest, heartbeat, ended).await
                }
            };
            match ended {
                Ended::Result(result) => {
                    return (!in_flight.is_taken_back())
                        .then(|| self.outcome(peer, negotiated, *result));
                }
                Ended::Job(reserved) => {
                    return self.into_job(peer, in_flight, negotiated, reserved).await;
                }
                // It is cancelled, and so are the calls within it.
                Ended::Question(_) if in_flight.is_taken_back() => {}
                Ended::Question(question) => match self.ask(peer, question) {
                    ControlFlow::Break(outcome) => return Some(outcome),
                    ControlFlow::Continue(same) => self = same,
                },
            }
        }
    }

    /// Waits for the end of the call, a question, or until it is to go on as a job. Without room for one, its client waits on.
    async fn ended(&mut self, peer: &Peer) -> Ended {
        let Self { prepared, asker, background, reserved, call, .. } = self;
        let (prepared, asker) = (&*prepared, asker.as_ref());
        // What is asked about is answered while the request is open.
        let go_on = async {
            match *background {
                Background::Never => pending().await,
                Background::After(time) => sleep(time).await,
                Background::AtOnce => {}
            }
            if let Some(asker) = asker {
                asker.settled(prepared).await;
            }
        };
        let asked = async {
            match asker {
                Some(asker) => asker.inner.next().await,
                None => pending().await,
            }
        };
        tokio::pin!(asked);
        tokio::select! {
            biased;
            res = &mut *call => return Ended::Result(Box::new(res)),
            () = go_on => {}
            question = &mut asked => return Ended::Question(question),
        }
        let (jobs, own) = (peer.server.jobs.as_ref(), &peer.session.jobs);
        match reserve(reserved.take(), jobs, own, prepared).await {
            Some(reserved) => Ended::Job(reserved),
            None => tokio::select! {
                biased;
                res = call => Ended::Result(Box::new(res)),
                question = &mut asked => Ended::Question(question),
            },
        }
    }

    /// The answer to the request of a call that ended.
    fn outcome(&self, peer: &Peer, negotiated: &Negotiated, result: CallResult) -> Outcome {
        let (server, prepared) = (&peer.server, &self.prepared);
        match result {
            Ok(result) => {
                let has_schema = prepared.entry().tool().output_schema().is_some();
                result::of(server, negotiated, result, has_schema)
            }
            Err(err) => {
                // A call that ended with a question is answered with it.
                let (tool, arguments) = (prepared.id().as_str(), prepared.input().as_str());
                let question = self.asker.as_ref().and_then(|it| it.question(tool, arguments));
                question.unwrap_or_else(|| result::not_called(server, negotiated, &err))
            }
        }
    }

    /// Has the call go on as this job, with which its request is answered.
    async fn into_job(
        self,
        peer: &Peer,
        in_flight: &InFlight,
        negotiated: &Negotiated,
        reserved: Reserved,
    ) -> Option<Outcome> {
        let (server, own) = (&peer.server, &peer.session.jobs);
        let id = reserved.id().clone();
        self.latest.forward(reserved.context());
        let questions = match (&self.asker, self.background) {
            (Some(asker), Background::AtOnce) => {
                asker.inner.close();
                None
            }
            (asker, _) => asker.as_ref().map(|it| Arc::clone(&it.inner)),
        };
        reserved.run(server, self.call, self.cancellation, questions);
        let job = server.jobs.as_ref()?.find(own, id.as_str()).await;
        (!in_flight.is_taken_back()).then(|| {
            let job = job.map_err(Fault::internal)?;
            let job = job.ok_or_else(|| Fault::internal("the job was removed"))?;
            match self.background {
                Background::AtOnce => tools::started(server, negotiated, &job),
                _ => tasks::created(server, &job),
            }
        })
    }

    /// Answers the request with a question, and has the call wait. Where it cannot wait, the question has no answer, and the
    /// call goes on.
    fn ask(mut self, peer: &Peer, question: InnerQuestion) -> ControlFlow<Outcome, Self> {
        let waiting = &peer.session.waiting;
        let Some(asker) = &self.asker else { return ControlFlow::Continue(self) };
        let (tool, arguments) = (self.prepared.id().as_str(), self.prepared.input().as_str());
        let outcome = asker.inner_question(&self.id, tool, arguments, &question);
        if !mem::replace(&mut self.is_in_task, true) {
            let call = mem::replace(&mut self.call, Box::pin(pending()));
            self.call = waiting.in_task(call, self.cancellation.clone());
        }
        match waiting.add(self.id.clone(), self, question) {
            None => ControlFlow::Break(outcome),
            Some(same) => ControlFlow::Continue(same),
        }
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
    /// A call within it is asked about.
    Question(InnerQuestion),
}

/// What a request came to when it was read.
pub(crate) enum Read {
    /// A call of a tool of the host, which goes through its stages.
    Call(Box<ToolCall>),
    /// An answer to what a call that waits was asked about.
    Answer(AnswerCall),
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
