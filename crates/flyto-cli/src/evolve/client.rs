//! How the user of a client of `flyto serve` is asked about a proposal.

use std::sync::Arc;

use async_trait::async_trait;
use flyto_evolve::{Answer, Approver, ApproverError, Decision, Review};
use flyto_mcp::{CallClient, ClientApprovals, FormAnswer, FormError};
use flyto_tools::CallContext;
use serde_json::{Map, Value, json};

use crate::words::{one_line, tame};

/// The properties of the form.
const DECISION: &str = "decision";
const REASON: &str = "reason";

/// The longest reason, in characters.
const MAX_REASON: usize = 2000;

/// The choices.
const SAVE: &str = "save: it can be called now and later";
const ONCE: &str = "once: it can be called until this server ends";
const DENY: &str = "deny";
const LATER: &str = "later: it waits for `flyto evolve approve`";

/// Has the client asked that makes the call of a proposal. A proposal of a client that cannot ask its user waits.
#[derive(Debug)]
pub(crate) struct AtClient {
    approvals: ClientApprovals,
    /// The user of this machine, who started the server.
    by: String,
}

impl AtClient {
    /// Asks the clients whose calls `approvals` knows. `by` is the person in whose name the server runs.
    pub(crate) fn new(approvals: ClientApprovals, by: &str) -> Self {
        Self { approvals, by: format!("{by}, in a client") }
    }
}

#[async_trait]
impl Approver for AtClient {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        Ok(Decision::unseen(Answer::Later, "a client that cannot ask its user"))
    }

    fn only_stages(&self) -> bool {
        true
    }

    fn within(&self, call: &CallContext) -> Option<Arc<dyn Approver>> {
        let client = self.approvals.client_of(call)?;
        Some(Arc::new(OfCall { client, by: self.by.clone() }))
    }
}

/// Asks the client of one call.
#[derive(Debug)]
struct OfCall {
    client: CallClient,
    by: String,
}

#[async_trait]
impl Approver for OfCall {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        let text = tame(&review.to_string());
        let answer = self.client.ask(&text, &form(), &[DECISION]).await;
        let by = self.by.clone();
        Ok(match answer {
            Ok(answer) => Decision::new(read(answer), by),
            // What was asked and has no answer waits, as at a terminal.
            Err(FormError::TimedOut(_)) => Decision::new(Answer::Later, by),
            Err(_) => Decision::unseen(Answer::Later, by),
        })
    }
}

/// One choice, and the reason of a denial.
fn form() -> Map<String, Value> {
    let form = json!({
        DECISION: {
            "type": "string", "title": "What becomes of this tool?",
            "enum": [SAVE, ONCE, DENY, LATER],
        },
        REASON: {
            "type": "string", "title": "Why it is denied; the agent reads it",
            "maxLength": MAX_REASON,
        },
    });
    match form {
        Value::Object(form) => form,
        _ => unreachable!("it is written as an object"),
    }
}

/// Only a clear yes is one.
fn read(answer: FormAnswer) -> Answer {
    match answer {
        FormAnswer::Filled(values) => {
            let text = |key: &str| values.get(key).and_then(Value::as_str);
            match text(DECISION) {
                Some(SAVE) => Answer::Save,
                Some(ONCE) => Answer::Once,
                Some(DENY) => {
                    // The client need not have kept to the form.
                    let reason: String =
                        text(REASON).unwrap_or_default().chars().take(MAX_REASON).collect();
                    let reason = match reason.trim() {
                        "" => "the user gave no reason".to_owned(),
                        reason => one_line(reason),
                    };
                    Answer::Deny { reason }
                }
                _ => Answer::Later,
            }
        }
        FormAnswer::Declined => Answer::Deny { reason: "the user declined".to_owned() },
        _ => Answer::Later,
    }
}
