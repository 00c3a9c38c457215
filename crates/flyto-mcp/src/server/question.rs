//! Requests of the server to a client of the era of handshakes, and their answers; forms that the embedding program asks by
//! in either era.
//!
//! Ids of such requests begin with `flyto-`, and count within the connection. A client that answers twice, too late, or what it was not
//! asked, is not heard.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use flyto_tools::{CallContext, CallId};
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::oneshot;

use super::{
    approval::{Asker, ClientApprovals},
    message::{Id, Notification, Request},
    peer::Peer,
    plan_text::MAX_TEXT_BYTES,
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

impl ClientApprovals {
    /// The client that made this call, or the call around it; `None` where it cannot ask its user by a form, and where no
    /// request or task of the client waits for the call any more.
    #[must_use]
    pub fn client_of(&self, call: &CallContext) -> Option<CallClient> {
        let asker = self.asker(call.root()).filter(|it| it.can_ask_within())?;
        Some(CallClient { asker, call: call.id().clone() })
    }
}

/// The client of a call that runs, whose user can be asked.
///
/// What is asked is no approval of the call: a handler of the host asks that, see [`ClientApprovals`]. It is for what the call
/// itself wants to know, as which of several things to do.
#[derive(Debug, Clone)]
pub struct CallClient {
    asker: Arc<Asker>,
    call: CallId,
}

/// What the user of a client did with a form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FormAnswer {
    /// Sent it. A client need not have compared the values with the form.
    Filled(Map<String, Value>),
    /// Declined to answer.
    Declined,
    /// Closed it without an answer.
    Dismissed,
}

/// Why a form has no answer.
///
/// ```
/// use flyto_mcp::FormError;
///
/// let err = FormError::TooLong { n_bytes: 300_000, max_bytes: 262_144 };
/// assert_eq!(err.to_string(), "the text has 300000 bytes, and a client is shown at most 262144");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// The text is longer than what a user is shown: 256 KiB.
    #[error("the text has {n_bytes} bytes, and a client is shown at most {max_bytes}")]
    TooLong {
        /// Of the text.
        n_bytes: usize,
        /// What is shown at most.
        max_bytes: usize,
    },
    /// The client gave none: it has gone, no request of it waits for the call, or its answer is none of the protocol's.
    #[error("the client gave no answer")]
    NoAnswer,
    /// There was none within this time.
    #[error("there was no answer within {0:?}")]
    TimedOut(Duration),
}

impl CallClient {
    /// Shows the user a text and a form, and waits for the answer, ten minutes at most. `properties` are those of the form: a
    /// JSON Schema for each, of the plain kinds that the protocol allows (text, numbers, yes or no, one of several texts).
    /// `required` names those that have a value in every answer.
    ///
    /// The text is shown as it is: a caller that shows text of others escapes what could act on a terminal. In revision
    /// 2026-07-28 the question is the answer to the client's request, and the call waits for the request that brings the answer.
    ///
    /// # Errors
    ///
    /// [`FormError`]: nothing was shown, or nothing came back.
    pub async fn ask(
        &self,
        text: &str,
        properties: &Map<String, Value>,
        required: &[&str],
    ) -> Result<FormAnswer, FormError> {
        if text.len() > MAX_TEXT_BYTES {
            let (n_bytes, max_bytes) = (text.len(), MAX_TEXT_BYTES);
            return Err(FormError::TooLong { n_bytes, max_bytes });
        }
        let params = json!({
            "mode": "form",
            "message": text,
            "requestedSchema": {"type": "object", "properties": properties, "required": required},
        });
        let answer = self.asker.ask_within(&self.call, &params).await?;
        match answer["action"].as_str() {
            Some("accept") => {
                Ok(FormAnswer::Filled(answer["content"].as_object().cloned().unwrap_or_default()))
            }
            Some("decline") => Ok(FormAnswer::Declined),
            Some("cancel") => Ok(FormAnswer::Dismissed),
            _ => Err(FormError::NoAnswer),
        }
    }
}
