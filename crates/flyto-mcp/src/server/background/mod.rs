//! Calls that go on after their request is answered.
//!
//! Each is a job of `flyto-host`: recorded on disk before the client has its id, and listed for the operator by `flyto jobs`, also
//! after the server. This process keeps it, so it ends with the server at the latest. It belongs to the client that started it
//! ([`OwnJobs`]): no other client of this server, and no client of another one, reads or cancels it. Over HTTP it ends with the
//! session of its client.
//!
//! A call comes here in two ways. A client that declares the tasks extension gets a task in place of the result once its call
//! has run for a while ([`tasks`]); for any other client a tool starts the call in the background ([`tools`]). Either way the call
//! has passed every gate before: what is asked about is answered while the request is open. Calls within it come to their gates later: a
//! task asks about them, and of a call that a tool started they are refused.

mod own; //              whose job is whose
pub(crate) mod tasks; // the extension of the new era
pub(crate) mod tools; // the same for every client

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use flyto_host::{
    CallEnd, CallError,
    jobs::{Job, JobEnd, JobError, JobId, JobState, JobStore, JobWorker},
    permission::Caller,
};
use flyto_tools::{CallContext, CancellationToken, Failure, Input, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::timeout,
};

pub(crate) use self::own::OwnJobs;
use super::{Shared, result, waiting::InnerQuestions};

/// What came of a call.
pub(crate) type CallResult = Result<ToolResult, CallError>;
/// A call that runs.
pub(crate) type RunningCall = Pin<Box<dyn Future<Output = CallResult> + Send>>;

/// Longest text that says why a result could not be recorded.
const MAX_SHORT_BYTES: usize = 2000;

/// The jobs of a server.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// Where they are recorded. Other processes of the user read it, too.
    store: JobStore,
    /// Most of them at once.
    max: usize,
    /// Those of this process that have not ended.
    running: Mutex<HashMap<JobId, Running>>,
    /// What waits for their calls, and records their ends.
    tasks: Mutex<JoinSet<()>>,
}

/// What is known of a job that runs here.
#[derive(Debug)]
struct Running {
    /// The jobs of its client.
    own: Arc<OwnJobs>,
    /// Of its call; `None` until there is one.
    call: Option<CancellationToken>,
    /// What calls within its call are asked about; `None` where the client is not asked.
    questions: Option<Arc<InnerQuestions>>,
    /// Cancelled once the job has ended.
    ended: CancellationToken,
}

/// A job that is recorded and has no call yet. When it is dropped, nothing of it is left.
#[derive(Debug)]
pub(crate) struct Reserved {
    jobs: Arc<Jobs>,
    /// Those of its client, of which it is one.
    own: Arc<OwnJobs>,
    /// By which its client finds it.
    id: JobId,
    /// The id of its tool.
    tool: String,
    /// What holds its lock. `None` once the job runs.
    worker: Option<JobWorker>,
}

/// How a job stands.
#[derive(Debug)]
pub(crate) enum State {
    /// Its call runs.
    Running,
    /// Its call was taken back.
    Cancelled,
    /// Its call ended: what a request of its own would have been answered with.
    Ended(CallOutcome),
    /// The process that kept it ended first. How far the call had come is not known.
    Lost,
}

/// What came of the call of a job, as it is recorded.
#[derive(Debug)]
pub(crate) enum CallOutcome {
    /// A result, a failure included.
    Result(Box<ToolResult>),
    /// Why there is none.
    Error(String),
}

impl Jobs {
    /// The jobs in this store, of which so many may run at once in this process.
    pub(crate) fn new(store: JobStore, max: usize) -> Arc<Self> {
        let (running, tasks) = (Mutex::default(), Mutex::default());
        Arc::new(Self { store, max, running, tasks })
    }

    /// Records a job for a call of this tool. From then on the client whose jobs are `own` finds it.
    ///
    /// # Errors
    ///
    /// In words: too many run already, of this client or of all, or the disk refused.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        own: &Arc<OwnJobs>,
        tool: &str,
        input: &Input,
    ) -> Result<Reserved, String> {
        let (jobs, own) = (Arc::clone(self), Arc::clone(own));
        let (name, input) = (tool.to_owned(), input.clone());
        let made = move || {
            let new = jobs.store.create_for(&name, &input, Caller::Agent)?;
            let id = new.id().clone();
            let mut running = jobs.running();
            let n_own = running.values().filter(|it| Arc::ptr_eq(&it.own, &own)).count();
            if running.len() >= jobs.max || n_own >= own.share(jobs.max) {
                new.discard();
                return Ok(Err(n_own));
            }
            let ended = CancellationToken::new();
            let own_jobs = Arc::clone(&own);
            let new_one = Running { own: own_jobs, call: None, questions: None, ended };
            running.insert(id.clone(), new_one);
            drop(running);
            let lock = new.lock().map_err(|source| JobError::Io {
                what: "hold the lock of a job".to_owned(),
                source,
            });
            match lock.and_then(|lock| JobWorker::take(&jobs.store, &id, lock)) {
                Ok(worker) => {
                    own.add(&id, &jobs.store);
                    Ok(Ok(Reserved { jobs, own, id, tool: name, worker: Some(worker) }))
                }
                Err(err) => {
                    jobs.forget(&id);
                    new.discard();
                    Err(err)
                }
            }
        };
        match spawn_blocking(made).await {
            Ok(Ok(Ok(reserved))) => Ok(reserved),
            Ok(Ok(Err(0))) => Err(format!(
                "{} calls of other clients run in the background already; call again when one has ended",
                self.max
            )),
            Ok(Ok(Err(n_own))) => Err(format!(
                "too many calls run in the background already, {n_own} of them yours; wait for one, or cancel it"
            )),
            Ok(Err(err)) => Err(format!("no job can be recorded: {}", chain::<JobError>(&err))),
            Err(_) => Err("no job can be recorded".to_owned()),
        }
    }

    /// The job of this id, where it is one of the client's own; `None` for any other text.
    ///
    /// # Errors
    ///
    /// In words: its files do not make a job.
    pub(crate) async fn find(
        self: &Arc<Self>,
        own: &OwnJobs,
        id: &str,
    ) -> Result<Option<Job>, String> {
        let Some(id) = JobId::parse(id).filter(|it| own.has(it)) else { return Ok(None) };
        let jobs = Arc::clone(self);
        match spawn_blocking(move || jobs.store.find(id.as_str())).await {
            Ok(Ok(job)) => Ok(Some(job)),
            Ok(Err(JobError::NotFound { .. })) => Ok(None),
            Ok(Err(err)) => Err(chain(&err)),
            Err(_) => Err("the job cannot be read".to_owned()),
        }
    }

    /// How a job stands, with what came of it.
    ///
    /// # Errors
    ///
    /// In words: its result cannot be read.
    pub(crate) async fn state(self: &Arc<Self>, job: &Job) -> Result<State, String> {
        match job.state {
            JobState::Running => return Ok(State::Running),
            JobState::Ended => {}
            _ => return Ok(State::Lost),
        }
        let (jobs, id) = (Arc::clone(self), job.id.clone());
        let text = spawn_blocking(move || jobs.store.result(&id)).await;
        let text = text.map_err(|err| err.to_string())?.map_err(|err| chain(&err))?;
        let document: Document = serde_json::from_str(&text)
            .map_err(|err| format!("the result of the job {} cannot be read: {err}", job.id))?;
        Ok(match document {
            Document::Failed { error } => State::Ended(CallOutcome::Error(error.message)),
            Document::Result(result) if result.failure == Some(Failure::Cancelled) => {
                State::Cancelled
            }
            Document::Result(result) => State::Ended(CallOutcome::Result(result)),
        })
    }

    /// The client's own jobs that run, the newest first.
    pub(crate) async fn running_here(self: &Arc<Self>, own: &OwnJobs) -> Vec<Job> {
        let ids: Vec<JobId> = self.running().keys().filter(|it| own.has(it)).cloned().collect();
        let mut res = Vec::new();
        for id in ids {
            if let Ok(Some(job)) = self.find(own, id.as_str()).await {
                res.push(job);
            }
        }
        res.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id)));
        res
    }

    /// Asks for the end of a job's call. The tool gets its grace. Nothing is to be done for a job that has ended, or is lost.
    ///
    /// # Errors
    ///
    /// In words: what keeps it does not listen.
    pub(crate) async fn cancel(self: &Arc<Self>, job: &Job) -> Result<(), String> {
        if job.state != JobState::Running {
            return Ok(());
        }
        let call = self.running().get(&job.id).and_then(|it| it.call.clone());
        if let Some(call) = call {
            call.cancel();
            return Ok(());
        }
        let (jobs, id) = (Arc::clone(self), job.id.clone());
        let cancelled = spawn_blocking(move || jobs.store.cancel(&id)).await;
        cancelled.map_err(|err| err.to_string())?.map(drop).map_err(|err| chain(&err))
    }

    /// What calls within the call of a job are asked about; `None` where it has ended, or asks nothing.
    pub(crate) fn questions(&self, id: &JobId) -> Option<Arc<InnerQuestions>> {
        self.running().get(id)?.questions.clone()
    }

    /// Waits for the end of a job, at most so long.
    pub(crate) async fn wait(&self, id: &JobId, limit: Duration) {
        let ended = self.running().get(id).map(|it| it.ended.clone());
        if let Some(ended) = ended {
            let _ = timeout(limit, ended.cancelled()).await;
        }
    }

    /// Cancels every call, and drops those that have not ended after the grace.
    pub(crate) async fn end(&self, grace: Duration) {
        let calls: Vec<_> = self.running().values().filter_map(|it| it.call.clone()).collect();
        calls.iter().for_each(CancellationToken::cancel);
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(grace, all).await;
        tasks.shutdown().await;
    }

    fn running(&self) -> MutexGuard<'_, HashMap<JobId, Running>> {
        // The map is whole between any two statements that change it.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved {
    /// Its id.
    pub(crate) fn id(&self) -> &JobId {
        &self.id
    }

    /// The context of its call, whose progress and output are recorded. A call that began under another one reports to
    /// this.
    pub(crate) fn context(&self) -> CallContext {
        let ctx = CallContext::new();
        match &self.worker {
            Some(worker) => worker.context(ctx),
            None => ctx,
        }
    }

    /// Has the call go on by itself. `cancellation` is that of the call, and `questions` are those that its task asks.
    pub(crate) fn run(
        mut self,
        server: &Arc<Shared>,
        mut call: RunningCall,
        cancellation: CancellationToken,
        questions: Option<Arc<InnerQuestions>>,
    ) {
        let Some(worker) = self.worker.take() else { return };
        let (jobs, id, tool) = (Arc::clone(&self.jobs), self.id.clone(), self.tool.clone());
        let (server, own) = (Arc::clone(server), Arc::clone(&self.own));
        if let Some(running) = jobs.running().get_mut(&id) {
            running.call = Some(cancellation.clone());
            running.questions = questions;
        }
        let kept = Arc::clone(&jobs);
        let work = async move {
            let res = tokio::select! {
                biased;
                res = &mut call => res,
                () = worker.cancellation().cancelled() => {
                    cancellation.cancel();
                    call.await
                }
                () = own.ended() => {
                    cancellation.cancel();
                    call.await
                }
            };
            let end = end_of(&server, &tool, &res);
            // What cannot be written leaves a job that is lost, which is what its reader is told.
            let record = move || worker.end_or(&end, |err| not_recorded(&err.to_string()));
            let _ = spawn_blocking(record).await;
            kept.forget(&id);
        };
        let mut tasks = jobs.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended need no place.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // A job that runs is forgotten when it ends.
        if let Some(worker) = self.worker.take() {
            let (jobs, id) = (Arc::clone(&self.jobs), self.id.clone());
            self.own.forget(&id);
            let discard = move || {
                drop(worker);
                let _ = jobs.store.remove(&id);
                jobs.forget(&id);
            };
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn_blocking(discard)),
                Err(_) => discard(),
            }
        }
    }
}

impl Jobs {
    /// Makes room for another job, and wakes what waits for the end of this one.
    fn forget(&self, id: &JobId) {
        if let Some(running) = self.running().remove(id) {
            running.ended.cancel();
        }
    }
}

/// What is recorded of a call, in the shape that `flyto jobs result` reads.
#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    Failed { error: Failed },
    Result(Box<ToolResult>),
}

/// Why a call gave no result.
#[derive(Deserialize)]
struct Failed {
    message: String,
}

/// What came of a call that took place.
#[derive(Serialize)]
struct ResultDocument<'a> {
    tool: &'a str,
    exit_code: u8,
    #[serde(flatten)]
    result: &'a ToolResult,
}

/// The end of a job whose call ended so.
fn end_of(server: &Shared, tool: &str, res: &CallResult) -> JobEnd {
    let exit_code = CallEnd::of(res).exit_code();
    let document = match res {
        Ok(result) => serde_json::to_string_pretty(&ResultDocument { tool, exit_code, result }),
        Err(err) => {
            serde_json::to_string_pretty(&error_document(exit_code, &result::why_not(server, err)))
        }
    };
    // A result has texts for keys, which is all that can go wrong.
    JobEnd::new(exit_code, document.unwrap_or_default())
}

/// An error in the shape of those that the program itself writes.
fn error_document(exit_code: u8, message: &str) -> serde_json::Value {
    json!({"error": {"kind": "not_tried", "message": message, "exit_code": exit_code, "help": []}})
}

/// The end of a job whose result the disk refused: short enough for the room that is kept for it.
fn not_recorded(why: &str) -> JobEnd {
    let why = &why[..why.floor_char_boundary(MAX_SHORT_BYTES)];
    let exit_code = CallEnd::Internal.exit_code();
    let message = format!("the result of the call could not be recorded: {why}");
    JobEnd::new(exit_code, error_document(exit_code, &message).to_string())
}

/// An error and its causes in one line.
fn chain<E: std::error::Error>(err: &E) -> String {
    let mut res = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        res.push_str(&format!(": {err}"));
        cause = err.source();
    }
    res
}
