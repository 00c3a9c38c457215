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
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use flyto_tools::{CallId, CancellationToken};
use serde_json::Value;
use tokio::{
    sync::{Notify, oneshot},
    task::{AbortHandle, JoinSet},
    time::sleep,
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
    /// When another one became the first, or none; `None` before there was one.
    changed: Option<SystemTime>,
}

impl Open {
    /// By what the answer to the first question is found: no two questions of one call have the same key.
    fn key(&self) -> String {
        format!("approval-{}", self.n_taken + 1)
    }

    fn take(&mut self) -> Option<InnerQuestion> {
        let question = self.questions.pop_front()?;
        self.n_taken += 1;
        self.changed = Some(SystemTime::now());
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
            if open.questions.is_empty() {
                open.changed = Some(SystemTime::now());
            }
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

    /// When the [first](Self::first) became another one, or none; `None` where there was none yet.
    pub(crate) fn changed(&self) -> Option<SystemTime> {
        self.open().as_ref()?.changed
    }

    /// Answers the first one, where the key is its own.
    pub(crate) fn answer(&self, key: &str, answer: Value) {
        let mut open = self.open();
        if let Some(question) = open.as_mut().filter(|it| it.key() == key).and_then(Open::take) {
            let _ = question.answer.send(answer);
        }
    }

    /// Whether they are put to the client.
    pub(crate) fn is_open(&self) -> bool {
        self.open().is_some()
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
struct WaitingCall<C> {
    call: C,
    question: InnerQuestion,
    /// Drops the call once the question cannot be answered any more.
    _expiry: Expiry,
}

/// A task that is not needed any more when this is dropped.
#[derive(Debug)]
struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A boxed future.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<C> Default for WaitingCalls<C> {
    fn default() -> Self {
        let (calls, tasks, ended) = (Mutex::default(), Mutex::default(), CancellationToken::new());
        Self { calls, tasks, ended }
    }
}

impl<C: Send + 'static> WaitingCalls<C> {
    /// Has a call wait for the answer to this question, for as long as an answer is taken. Gives the call back where too many wait
    /// already, or the client has gone.
    pub(crate) fn add(self: &Arc<Self>, id: CallId, call: C, question: InnerQuestion) -> Option<C> {
        let mut calls = self.calls();
        if calls.len() >= MAX_WAITING || self.ended.is_cancelled() {
            return Some(call);
        }
        let (waiting, ended, own_id) = (Arc::downgrade(self), self.ended.clone(), id.clone());
        let expiry = self.spawn(async move {
            tokio::select! {
                () = sleep(LIFETIME) => {}
                () = ended.cancelled() => return,
            }
            let expired = waiting.upgrade().and_then(|it| it.calls().remove(&own_id));
            drop(expired);
        });
        calls.insert(id, WaitingCall { call, question, _expiry: Expiry(expiry) });
        None
    }

    /// Has a task run until the client ends.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended need no place.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work)
    }

    /// Has the work of a call go on in a task, so that it needs no request, until the client ends. Gives what waits for it.
    pub(crate) fn in_task<T: Send + 'static>(
        &self,
        mut work: Work<T>,
        cancellation: CancellationToken,
    ) -> Work<T> {
        let (sender, result) = oneshot::channel();
        let ended = self.ended.clone();
        self.spawn(async move {
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
    pub(crate) fn take(&self, id: &CallId, question: &str) -> Option<(C, InnerQuestion)> {
        let mut calls = self.calls();
        calls.get(id).filter(|it| it.question.digest == question)?;
        calls.remove(id).map(|it| (it.call, it.question))
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

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use serde_json::json;

    use super::*;

    fn question(digest: &str) -> (InnerQuestion, oneshot::Receiver<Value>) {
        let (answer, receiver) = oneshot::channel();
        let (digest, params) = (digest.to_owned(), json!({"message": digest}));
        (InnerQuestion { digest, params, answer }, receiver)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_its_own_question_and_as_long_as_an_answer_is_taken() {
        let waiting = Arc::new(WaitingCalls::default());
        let id = CallId::next();
        assert_eq!(waiting.add(id.clone(), 1, question("a").0), None);
        assert!(waiting.take(&id, "b").is_none() && waiting.take(&CallId::next(), "a").is_none());
        assert_eq!(waiting.take(&id, "a").expect("it waits").0, 1);
        assert!(waiting.take(&id, "a").is_none());

        // One that was taken and waits again has a time of its own.
        assert_eq!(waiting.add(id.clone(), 2, question("b").0), None);
        sleep(LIFETIME / 2).await;
        assert_eq!(waiting.take(&id, "b").expect("it waits").0, 2);
        let (question, answer) = question("c");
        assert_eq!(waiting.add(id.clone(), 3, question), None);
        sleep(LIFETIME * 3 / 4).await;
        assert_eq!(waiting.calls().len(), 1);
        sleep(LIFETIME / 2).await;
        assert!(waiting.calls().is_empty());
        assert!(answer.await.is_err(), "nothing answers it");
    }

    #[tokio::test]
    async fn too_many_do_not_wait_and_none_does_after_the_end() {
        let waiting = Arc::new(WaitingCalls::default());
        for n in 0..MAX_WAITING {
            assert_eq!(waiting.add(CallId::next(), n, question("a").0), None);
        }
        assert_eq!(waiting.add(CallId::next(), 100, question("a").0), Some(100));
        waiting.end();
        waiting.all_ended().await;
        waiting.clear();
        assert_eq!(waiting.add(CallId::next(), 100, question("a").0), Some(100));
    }

    #[test]
    fn no_two_questions_of_a_call_have_the_same_key() {
        let questions = InnerQuestions::default();
        let ((a, mut first), (b, refused), (c, mut third)) =
            (question("a"), question("b"), question("c"));
        [a, b, c].into_iter().for_each(|it| questions.add(it));
        assert_eq!(questions.first(), Some(("approval-1".to_owned(), json!({"message": "a"}))));
        questions.answer("approval-2", json!("no"));
        assert!(first.try_recv().is_err() && third.try_recv().is_err());
        questions.answer("approval-1", json!("yes"));
        assert_eq!(first.try_recv(), Ok(json!("yes")));
        // The second one was refused meanwhile, and nothing waits for its answer.
        drop(refused);
        assert_eq!(questions.first(), Some(("approval-3".to_owned(), json!({"message": "c"}))));
        questions.answer("approval-2", json!("no"));
        assert!(third.try_recv().is_err());
        questions.close();
        assert!(third.try_recv().is_err() && questions.first().is_none());
        let next = std::pin::pin!(questions.next());
        assert!(next.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }

    #[test]
    fn what_is_asked_changes_with_the_first_question_alone() {
        let questions = InnerQuestions::default();
        assert_eq!(questions.changed(), None);
        let ((a, _first), (b, _second)) = (question("a"), question("b"));
        let before = SystemTime::now();
        questions.add(a);
        let asked = questions.changed().expect("it is asked");
        assert!(asked >= before);
        questions.add(b);
        assert_eq!(questions.changed(), Some(asked));
        questions.answer("approval-9", json!("yes"));
        assert_eq!(questions.changed(), Some(asked));
        let before = SystemTime::now();
        questions.answer("approval-1", json!("yes"));
        assert!(questions.changed().expect("it was asked") >= before);
    }
}
