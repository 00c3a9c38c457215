//! Approvals: what the rules ask about, and checkpoints, are put to the user of the client.
//!
//! In the era of handshakes the server sends the client a request while the call waits. In the new one it answers the call
//! with the question; the client makes the call again with the answer, and the call begins anew: nothing has run before
//! a question. Either way the text is the plan of the call, and an answer holds for a question with the very same text.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use flyto_host::{
    Prepared,
    permission::{Caller, Verdict},
    stages::{Answer, Checkpoint, CheckpointHandler, Question},
};
use flyto_tools::CallId;
use serde_json::{Map, Value, json, value::to_raw_value};
use tokio::sync::watch;

use super::{
    Shared,
    fault::Fault,
    params::{Params, Terms},
    peer::{Outcome, Peer, Session},
    plan_text::plan_text,
    seal::digest,
};

/// Rules that the user of one client approved for its session, at most. What is approved beyond them holds once.
const MAX_HELD_RULES: usize = 1000;
/// How long a question waits for its answer: as long as an answer in the new era holds.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// The name of the question in the new era.
const KEY: &str = "approval";
/// The property of the answer.
const DECISION: &str = "decision";
/// This call runs.
const ONCE: &str = "approve once";
/// This call runs, and so do later ones of the same client with the same rules, until its session ends.
const SESSION: &str = "approve for this session";
/// This call does not run.
const DENY: &str = "deny";

/// Puts questions about calls to the clients that make them.
///
/// It is a handler of the host, and is given to the server as well, so that each question finds the client of its call.
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{ClientApprovals, Server, ServerOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let approvals = ClientApprovals::new();
/// let host = Host::builder(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default())
///     .checkpoint_handler(approvals.clone())
///     .build();
/// let server = Server::new(Arc::new(host), ServerOptions::default())?.approvals(approvals);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ClientApprovals(Arc<Mutex<HashMap<CallId, Arc<Asker>>>>);

impl ClientApprovals {
    /// No call is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has the questions of a call go to its client until the result is dropped.
    pub(crate) fn register(&self, id: &CallId, asker: Arc<Asker>) -> Registered {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), asker);
        Registered { approvals: self.clone(), id: id.clone() }
    }

    fn asker(&self, id: &CallId) -> Option<Arc<Asker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}

/// A call whose questions go to its client.
#[derive(Debug)]
pub(crate) struct Registered {
    approvals: ClientApprovals,
    id: CallId,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.approvals.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[async_trait]
impl CheckpointHandler for ClientApprovals {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let own = self.asker(question.call.ctx().id());
        let parent = question.call.prepared().parent();
        let is_nested = own.is_none() && parent.is_some();
        let asker = own.or_else(|| self.asker(parent?));
        let asker = asker.ok_or("no client that could be asked made this call")?;
        asker.ask(question, is_nested).await
    }
}

/// The rules that the user of a client approved for its session.
///
/// They are the client's, and not the host's: another client of the same server is asked by itself.
#[derive(Debug, Default)]
pub(crate) struct HeldRules(Mutex<HashSet<String>>);

impl HeldRules {
    /// Whether every rule of a question is held. A question that no rule can answer is never answered so.
    fn answer(&self, rules: &[String]) -> bool {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !rules.is_empty() && rules.iter().all(|it| held.contains(it))
    }

    fn hold(&self, rules: &[String]) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() + rules.len() <= MAX_HELD_RULES {
            held.extend(rules.iter().cloned());
        }
    }
}

/// The client of one call, and what it answered so far.
#[derive(Debug)]
pub(crate) struct Asker {
    server: Arc<Shared>,
    session: Arc<Session>,
    /// Gone where the call outlives the connection, as a job.
    peer: Weak<Peer>,
    terms: Terms,
    round: Mutex<Round>,
    /// How many questions about the call itself were answered.
    n_answered: watch::Sender<usize>,
}

/// Of the new era: the answers that came with the call, and the question that it ends with.
#[derive(Debug, Default)]
struct Round {
    answers: Vec<(String, Value)>,
    open: Option<OpenQuestion>,
}

/// A question that has no answer yet.
#[derive(Debug)]
struct OpenQuestion {
    /// Of the parameters, by which its answer is found.
    digest: String,
    /// Those of `elicitation/create`: the text and the form.
    params: Value,
}

impl Asker {
    /// The client of a call that comes with these parameters.
    ///
    /// # Errors
    ///
    /// A state that is not taken: a fault of the request.
    pub(crate) fn new(
        peer: &Arc<Peer>,
        terms: &Terms,
        params: &mut Params<'_>,
        tool: &str,
        arguments: &str,
    ) -> Result<Arc<Self>, Fault> {
        let mut round = Round::default();
        if let Some(sealed) = params.request_state.take().filter(|_| terms.revision.is_modern()) {
            let state = peer.server.sealer.open(&sealed, tool, arguments);
            let state = state.map_err(|why| Fault::invalid_params(why.to_string()))?;
            round.answers = state.answers;
            let responses = params.input_responses.take();
            if let Some(answer) = responses.and_then(|mut it| it.remove(KEY)) {
                round.answers.push((state.question, answer));
            }
        }
        Ok(Arc::new(Self {
            server: Arc::clone(&peer.server),
            session: Arc::clone(&peer.session),
            peer: Arc::downgrade(peer),
            terms: terms.clone(),
            round: Mutex::new(round),
            n_answered: watch::Sender::new(0),
        }))
    }

    /// Waits until everything that is asked about this call is answered. A call that is refused before never comes to that.
    pub(crate) async fn settled(&self, call: &Prepared) {
        let decision = call.outline().decision;
        let is_asked = decision.is_some_and(|it| it.verdict == Verdict::Ask);
        let is_asked = is_asked && call.caller() != Caller::Operator;
        let n = usize::from(is_asked) + usize::from(Checkpoint::needs_release(call));
        // The sender lives as long as this.
        let _ = self.n_answered.subscribe().wait_for(|it| *it >= n).await;
    }

    /// Gives the answer that the call came with, or asks. `is_nested`: a tool makes the call within the client's own.
    ///
    /// # Errors
    ///
    /// There is no answer, which refuses the call: the client cannot ask, or has gone; or it is asked by the result.
    async fn ask(
        &self,
        question: &Question<'_>,
        is_nested: bool,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let answer = self.answer(question, is_nested).await?;
        if !is_nested {
            self.n_answered.send_modify(|it| *it += 1);
        }
        Ok(answer)
    }

    /// The answer of the user, which came with the call or is waited for.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    async fn answer(
        &self,
        question: &Question<'_>,
        is_nested: bool,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        if self.session.held.as_ref().is_some_and(|it| it.answer(&question.rules)) {
            return Ok(Answer::Held);
        }
        if !self.terms.can_ask() {
            let help = how_to_allow(&self.server, question);
            return Err(format!("this client cannot ask its user (no elicitation); {help}").into());
        }
        // Of the new era over HTTP, no later call belongs to this one.
        let rules = if self.session.held.is_some() { question.rules.as_slice() } else { &[] };
        let params = json!({
            "mode": "form",
            "message": plan_text(question, rules),
            "requestedSchema": choices(!rules.is_empty()),
        });
        if self.terms.revision.is_modern() {
            if is_nested {
                // The call around it has begun, and cannot begin anew.
                let help = how_to_allow(&self.server, question);
                return Err(format!("a call within another one is not asked about; {help}").into());
            }
            let digest = digest(&params.to_string());
            let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
            return match round.answers.iter().find(|(it, _)| *it == digest) {
                Some((_, answer)) => Ok(self.read_answer(answer, rules)),
                None => {
                    round.open = Some(OpenQuestion { digest, params });
                    Err("the client is asked, and makes the call again with the answer".into())
                }
            };
        }
        let Some(peer) = self.peer.upgrade() else {
            let help = how_to_allow(&self.server, question);
            return Err(format!("the client waits for the call no more; {help}").into());
        };
        let answer = peer.ask_client("elicitation/create", &params);
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let answer = answer.map_err(|_| "there was no answer within ten minutes")?;
        Ok(self.read_answer(&answer.ok_or("the client gave no answer")?, rules))
    }

    /// Everything but a clear yes is a no.
    fn read_answer(&self, answer: &Value, rules: &[String]) -> Answer {
        let no = |reason: &str| Answer::No { reason: Some(reason.to_owned()) };
        match (answer["action"].as_str(), answer["content"][DECISION].as_str()) {
            (Some("accept"), Some(ONCE)) => Answer::Yes,
            (Some("accept"), Some(SESSION)) if !rules.is_empty() => {
                if let Some(held) = &self.session.held {
                    held.hold(rules);
                }
                Answer::Held
            }
            (Some("accept"), Some(DENY)) | (Some("decline"), _) => no("the user declined"),
            (Some("cancel"), _) => no("the user dismissed the question"),
            _ => no("the answer is none of the choices"),
        }
    }

    /// The result that asks, where the call ended with a question.
    pub(crate) fn question(&self, tool: &str, arguments: &str) -> Option<Outcome> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let Round { answers, open } = std::mem::take(&mut *round);
        let OpenQuestion { digest, params } = open?;
        let server = &self.server;
        let sealed = server.sealer.seal(tool, arguments, digest, answers);
        let request = json!({"method": "elicitation/create", "params": params});
        Some(match sealed {
            Ok(sealed) => to_raw_value(&json!({
                "resultType": "input_required",
                "inputRequests": {KEY: request},
                "requestState": sealed,
                "_meta": server.result_meta(),
            }))
            .map_err(|err| Fault::unwritable(&err)),
            Err(err) => Err(Fault::internal(format!("failed to seal a question: {err}"))),
        })
    }
}

impl Terms {
    /// Whether the client asks its user by a form.
    fn can_ask(&self) -> bool {
        let modes = self.capabilities.elicitation.as_ref();
        let has_forms = |it: &Map<String, Value>| it.is_empty() || it.contains_key("form");
        self.revision.has_structured_results() && modes.is_some_and(has_forms)
    }
}

/// What the operator writes to have such a call run without a question.
fn how_to_allow(server: &Shared, question: &Question<'_>) -> String {
    match question.rules.as_slice() {
        [] => "no rule can allow it".to_owned(),
        rules => server.allow_by(rules),
    }
}

/// The form: one choice of two or three.
fn choices(has_rules: bool) -> Value {
    let choices = if has_rules { json!([ONCE, SESSION, DENY]) } else { json!([ONCE, DENY]) };
    json!({
        "type": "object",
        "properties": {
            DECISION: {"type": "string", "title": "May this call run?", "enum": choices},
        },
        "required": [DECISION],
    })
}
