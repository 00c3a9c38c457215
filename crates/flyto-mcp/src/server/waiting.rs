//! Calls that wait for an answer while no request of theirs is open.
//!
//! In the new era a server asks by the result of a request. A call that has begun cannot begin anew when the answer comes, and a tool
//! that has begun may have another one called that is asked about, such as a step of a composite. Its request is then answered with
//! the question. The call itself waits, with what it has done so far, and the request that brings the answer takes it over. Of a call
//! that goes on as a task, the task asks, and takes the answer.
//!
//! A call waits as long as its question can be answered, within its own deadline, and it ends with its client at the latest: over a
//! pair of streams with the connection, over HTTP with the server. What it came to is there for that request as well where it ended
//! meanwhile.

use std::{
    collections::{HashMap, VecDeque},
    future::pending,
    mem,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use flyto_tools::{CallId, CancellationToken};
use serde_json::Value;
use tokio::{
    sync::{Notify, oneshot},
    task::JoinSet,
};

use super::seal::LIFETIME;

/// Most calls that wait so at once, of one client; over HTTP of all requests that belong to no session.
const MAX_WAITING: usize = 64;

/// What a call within another one is asked about.
#[derive(Debug)]
pub(crate) struct InnerQuestion {
    /// Of the parameters.
    pub(crate) digest: String,
    /// Those of `elicitation/create`.
    pub(crate) params: Value,
    /// Where the answer of the client goes.
    pub(crate) answer: oneshot::Sender<Value>,
}

/// The questions of the calls within one call, which are put to the client one after the other: by the request of the call, or by
/// its task.
#[derive(Debug)]
pub(crate) struct InnerQuestions {
    /// `None` once they are put to the client no more.
    open: Mutex<Option<Open>>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Open {
    questions: VecDeque<InnerQuestion>,
    /// How many were taken out before these.
    n_taken: u64,
}

impl Open {
    /// By what the answer to the first question is found: no two questions of one call have the same key.
    fn key(&self) -> String {
        format!("approval-{}", self.n_taken + 1)
    }

    fn take(&mut self) -> Option<InnerQuestion> {
        let question = self.questions.pop_front()?;
        self.n_taken += 1;
        Some(question)
    }
}

impl Default for InnerQuestions {
    fn default() -> Self {
        Self { open: Mutex::new(Some(Open::default())), added: Notify::new() }
    }
}

impl InnerQuestions {
    /// Has the client asked. Otherwise the sender of the answer is dropped.
    pub(crate) fn add(&self, question: InnerQuestion) {
        if let Some(open) = &mut *self.open() {
            open.questions.push_back(question);
            self.added.notify_one();
        }
    }

    /// Takes the next one out, once there is one.
    pub(crate) async fn next(&self) -> InnerQuestion {
        loop {
            // A permit of `notify_one` stays until it is taken, so that no question is missed in between.
            if let Some(question) = self.open().as_mut().and_then(Open::take) {
                return question;
            }
            self.added.notified().await;
        }
    }

    /// The first one that still waits for its answer, by the key of the answer.
    pub(crate) fn first(&self) -> Option<(String, Value)> {
        let mut open = self.open();
        let open = open.as_mut()?;
        // Of a call that was refused meanwhile, nothing waits for the answer.
        while open.questions.front().is_some_and(|it| it.answer.is_closed()) {
            open.take();
        }
        Some((open.key(), open.questions.front()?.params.clone()))
    }

    /// Answers the first one, where the key is its own.
    pub(crate) fn answer(&self, key: &str, answer: Value) {
        let mut open = self.open();
        if let Some(question) = open.as_mut().filter(|it| it.key() == key).and_then(Open::take) {
            let _ = question.answer.send(answer);
        }
    }

    /// Drops the questions, those that come later as well: nothing asks them.
    pub(crate) fn close(&self) {
        *self.open() = None;
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        // The queue is whole between any two statements that change it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of one client that wait, by their ids. `C` is what a request needs to take one over.
#[derive(Debug)]
pub(crate) struct WaitingCalls<C> {
    calls: Mutex<HashMap<CallId, WaitingCall<C>>>,
    /// What has the calls go on meanwhile: their other steps run, and their deadlines end them.
    tasks: Mutex<JoinSet<()>>,
    /// Cancelled with the client.
    ended: CancellationToken,
}

/// A call that waits, and what for.
#[derive(Debug)]
pub(crate) struct WaitingCall<C> {
    pub(crate) call: C,
    pub(crate) question: InnerQuestion,
    /// When its question was put.
    since: Instant,
}

/// A boxed future.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<C> Default for WaitingCalls<C> {
    fn default() -> Self {
        let (calls, tasks, ended) = (Mutex::default(), Mutex::default(), CancellationToken::new());
        Self { calls, tasks, ended }
    }
}

impl<C> WaitingCalls<C> {
    /// Has a call wait for the answer to this question. Gives the call back where too many wait already, or the client has gone.
    pub(crate) fn add(&self, id: CallId, call: C, question: InnerQuestion) -> Option<C> {
        let mut calls = self.calls();
        // The states of the others cannot be used any more.
        calls.retain(|_, it| it.since.elapsed() < LIFETIME);
        if calls.len() >= MAX_WAITING || self.ended.is_cancelled() {
            return Some(call);
        }
        calls.insert(id, WaitingCall { call, question, since: Instant::now() });
        None
    }

    /// Has the work of a call go on in a task, so that it needs no request, until the client ends. Gives what waits for it.
    pub(crate) fn in_task<T: Send + 'static>(
        &self,
        mut work: Work<T>,
        cancellation: CancellationToken,
    ) -> Work<T> {
        let (sender, result) = oneshot::channel();
        let ended = self.ended.clone();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended need no place.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let result = tokio::select! {
                biased;
                result = &mut work => result,
                () = ended.cancelled() => {
                    cancellation.cancel();
                    work.await
                }
            };
            let _ = sender.send(result);
        });
        Box::pin(async {
            match result.await {
                Ok(result) => result,
                // The task was ended by force, and so is what waits for it.
                Err(_) => pending().await,
            }
        })
    }

    /// Takes a call over, if it waits for the answer to this question.
    pub(crate) fn take(&self, id: &CallId, question: &str) -> Option<WaitingCall<C>> {
        let mut calls = self.calls();
        calls.get(id).filter(|it| it.question.digest == question)?;
        calls.remove(id)
    }

    /// Cancels those that wait, and lets no other one wait: no client answers any more.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Drops what is left of them. To be called last: a question that is dropped is one without an answer, and before it was cancelled
    /// a call would end as one that was refused.
    pub(crate) fn clear(&self) {
        self.calls().clear();
    }

    /// Waits for the ends of the calls.
    pub(crate) async fn all_ended(&self) {
        let mut tasks = mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, WaitingCall<C>>> {
        // The map is whole between any two statements that change it.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
