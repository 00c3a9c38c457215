//! What a server asks the user of its client.
//!
//! "MCP 2025-11-25, Client, Elicitation" has two modes: a form, which the client shows and sends back filled in, and
//! an address, which the user opens elsewhere, so that a secret never passes through the client. Servers of the new
//! era put the same question into the result of a call ("MCP 2026-07-28, Basic, Patterns, Multi Round-Trip Requests"),
//! and get the same answer with the next call.

use async_trait::async_trait;
use serde_json::{Value, json};

/// Characters of a question that are kept.
const MAX_CHARS: usize = 8 * 1024;

/// A question of a server, within a call of one of its tools.
///
/// The text and the form are the server's, and not to be trusted more than the server is: a program that shows them says
/// whose they are.
///
/// A question in the era of handshakes need not belong to a call. It is cut off from the call's time: what bounds it
/// is the connection, and of one connection 4 are asked at once; a further one is answered with an error. In the new
/// era questions are asked one after the other, and the time of the call goes on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Elicitation {
    /// The name of the server.
    pub server: String,
    /// The question, at most 8,192 characters.
    /// The rest of a longer one is cut off without a mark. Line breaks and control characters are as the server sent
    /// them.
    pub message: String,
    /// The form to fill in: an object schema with plain properties. `None` where only a yes is asked for.
    /// That its properties are plain is the server's promise, and is not checked; a form without properties is `None`.
    pub schema: Option<Value>,
    /// The address that the user is to open, where the server asks for that in place of a form.
    /// It is not checked either. A program shows its host, and opens it after a yes only. Clients here declare forms
    /// alone (`"elicitation": {}`), so that a server that sends one breaks the protocol.
    pub url: Option<String>,
}

/// What the user answers.
///
/// ```
/// use flyto_mcp::ElicitationAnswer;
/// use serde_json::json;
///
/// // For a form with the fields `name` and `count`.
/// let answer = ElicitationAnswer::Accept(json!({"name": "Ada", "count": 3}));
/// assert_ne!(answer, ElicitationAnswer::Decline);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElicitationAnswer {
    /// Yes, with what was filled in.
    /// An object that fits the form; it goes to the server without a check. For an address the value is left out.
    Accept(Value),
    /// No.
    Decline,
    /// There was no answer: the user closed the dialogue, or there is none.
    Cancel,
}

/// Puts questions of servers to the user. Without a handler, servers are told that this client cannot ask, and what they
/// ask all the same is declined.
///
/// ```
/// use std::sync::Arc;
///
/// use async_trait::async_trait;
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{ClientOptions, Elicitation, ElicitationAnswer, ElicitationHandler, Servers};
/// use serde_json::json;
/// use tokio::sync::{mpsc, oneshot};
///
/// /// Hands questions to the task that draws the screen, and waits for the user there.
/// #[derive(Debug)]
/// struct Screen(mpsc::Sender<(String, oneshot::Sender<bool>)>);
///
/// #[async_trait]
/// impl ElicitationHandler for Screen {
///     async fn ask(&self, question: &Elicitation) -> ElicitationAnswer {
///         // This screen shows neither forms nor addresses.
///         if question.schema.is_some() || question.url.is_some() {
///             return ElicitationAnswer::Decline;
///         }
///         let (answer, answered) = oneshot::channel();
///         // The user has to see whose question it is.
///         let shown = format!("{} asks: {:?}", question.server, question.message);
///         if self.0.send((shown, answer)).await.is_err() {
///             return ElicitationAnswer::Cancel;
///         }
///         match answered.await {
///             Ok(true) => ElicitationAnswer::Accept(json!({})),
///             Ok(false) => ElicitationAnswer::Decline,
///             Err(_) => ElicitationAnswer::Cancel,
///         }
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
/// let (questions, _shown) = mpsc::channel(4);
/// let handler = Arc::new(Screen(questions));
/// let servers = Servers::with_handler(&Arc::new(host), None, ClientOptions::default(), Some(handler));
/// assert!(servers.reports().is_empty());
/// # Ok(()) }
/// ```
#[async_trait]
pub trait ElicitationHandler: std::fmt::Debug + Send + Sync + 'static {
    /// Asks. The future is dropped when nothing waits for its answer any more: in the era of handshakes at the end of
    /// the connection, in the new one at the end of the call.
    ///
    /// It runs in a task of the runtime, and no message of the server waits for it. Nothing here bounds how long it
    /// may take, but for the time of a call in the new era: a handler that asks a person brings its own bound, and
    /// answers [`Cancel`](ElicitationAnswer::Cancel) beyond it.
    async fn ask(&self, question: &Elicitation) -> ElicitationAnswer;
}

impl Elicitation {
    /// Reads the parameters of `elicitation/create`; `None` where they are none.
    pub(super) fn read(server: &str, params: Value) -> Option<Self> {
        let message: String = params.get("message")?.as_str()?.chars().take(MAX_CHARS).collect();
        let url = params.get("url").and_then(Value::as_str).map(ToOwned::to_owned);
        let schema = params.get("requestedSchema").filter(|it| {
            let fields = it.get("properties").and_then(Value::as_object);
            fields.is_some_and(|it| !it.is_empty())
        });
        Some(Self { server: server.to_owned(), message, schema: schema.cloned(), url })
    }

    /// The result of `elicitation/create`.
    pub(super) fn result(&self, answer: ElicitationAnswer) -> Value {
        match answer {
            // A page has no content: what the user did there is the server's to know.
            ElicitationAnswer::Accept(_) if self.url.is_some() => json!({"action": "accept"}),
            ElicitationAnswer::Accept(content) => json!({"action": "accept", "content": content}),
            ElicitationAnswer::Decline => json!({"action": "decline"}),
            ElicitationAnswer::Cancel => json!({"action": "cancel"}),
        }
    }
}
