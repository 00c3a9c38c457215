//! Requests of the server to a client of the era of handshakes, and their answers.
//!
//! Ids of such requests begin with `flyto-`, and count within the connection. A client that answers twice, too late, or what it was not
//! asked, is not heard.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json, value::RawValue};
use tokio::sync::oneshot;

use super::{
    message::{Id, Notification, Request},
    peer::Peer,
};

type Waiting = HashMap<Id, oneshot::Sender<Option<Value>>>;

/// What a client was asked and has not answered.
#[derive(Debug)]
pub(crate) struct Questions {
    n_asked: AtomicU64,
    /// `None` once the client says nothing more.
    waiting: Mutex<Option<Waiting>>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { n_asked: AtomicU64::new(0), waiting: Mutex::new(Some(Waiting::new())) }
    }
}

impl Questions {
    /// Takes an answer. One that was not asked for, or comes too late, means nothing.
    pub(crate) fn answer(&self, id: &Id, result: Option<&RawValue>) {
        let sender = self.waiting().as_mut().and_then(|it| it.remove(id));
        if let Some(sender) = sender {
            let _ = sender.send(result.and_then(|it| serde_json::from_str(it.get()).ok()));
        }
    }

    /// Ends the wait of every question: the client says nothing more.
    pub(crate) fn close(&self) {
        self.waiting().take();
    }

    /// The questions that wait, by their ids. Held for moments.
    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits. When it is dropped without an answer, the client is told that none is needed any more.
struct Asked<'a> {
    peer: &'a Peer,
    id: Id,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let waited =
            self.peer.session.questions.waiting().as_mut().and_then(|it| it.remove(&self.id));
        if waited.is_some() {
            let params = json!({"requestId": self.id, "reason": "the call has ended"});
            self.peer.outbox.offer(&Notification::new("notifications/cancelled", params));
        }
    }
}

impl Peer {
    /// Sends the client a request and waits for the result; `None` for an error, and from a client that has gone.
    ///
    /// There is no limit of time here: the call that asks has one, and dropping the future tells the client that no answer
    /// is needed any more.
    pub(crate) async fn ask_client(&self, method: &str, params: &Value) -> Option<Value> {
        let n = self.session.questions.n_asked.fetch_add(1, Ordering::Relaxed) + 1;
        let id = Id::Text(format!("flyto-{n}"));
        let (sender, answer) = oneshot::channel();
        self.session.questions.waiting().as_mut()?.insert(id.clone(), sender);
        let asked = Asked { peer: self, id };
        self.outbox.send(&Request::new(&asked.id, method, params)).await.ok()?;
        answer.await.ok().flatten()
    }
}
