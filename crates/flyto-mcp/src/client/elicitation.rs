//! What a server asks the user of its client.

use async_trait::async_trait;
use serde_json::{Value, json};

/// Characters of a question that are kept.
const MAX_CHARS: usize = 8 * 1024;

/// A question of a server, within a call of one of its tools.
///
/// The text and the form are the server's, and not to be trusted more than the server is: a program that shows them says
/// whose they are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Elicitation {
    /// The name of the server.
    pub server: String,
    /// The question, at most 8,192 characters.
    pub message: String,
    /// The form to fill in: an object schema with plain properties. `None` where only a yes is asked for.
    pub schema: Option<Value>,
    /// The address that the user is to open, where the server asks for that in place of a form.
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
/// use async_trait::async_trait;
/// use flyto_mcp::{Elicitation, ElicitationAnswer, ElicitationHandler};
/// use serde_json::json;
///
/// #[derive(Debug)]
/// struct AcceptsPlainQuestions;
///
/// #[async_trait]
/// impl ElicitationHandler for AcceptsPlainQuestions {
///     async fn ask(&self, question: &Elicitation) -> ElicitationAnswer {
///         match &question.schema {
///             None => ElicitationAnswer::Accept(json!({})),
///             Some(_) => ElicitationAnswer::Decline,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait ElicitationHandler: std::fmt::Debug + Send + Sync + 'static {
    /// Asks. The future is dropped when the call or the connection has ended.
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
