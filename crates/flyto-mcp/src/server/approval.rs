//! Approvals: what the rules ask about, and checkpoints, are put to the user of the client.
//!
//! In the era of handshakes the server sends the client a request while the call waits. In the new one it answers the call
//! with the question; the client makes the call again with the answer, and the call begins anew: nothing has run before
//! a question. A question about a call within it comes later. Then the call [waits](super::waiting) for the client to make it again.
//! Either way the text is the plan of the call, and an answer holds for the call and for questions with the very same text. The text
//! names every reason for which the call is asked about, so that the user of a client is asked once a call.
//!
//! What the rules ask about can be approved for a session. A release before each call, and what a stage of the embedding
//! program asks, cannot: no rule that was approved for a session answers such a question.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
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
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use super::{
    Shared,
    fault::Fault,
    params::{Negotiated, Params},
    peer::{Outcome, Peer, Session},
    plan_text::{Plan, plan},
    question::FormError,
    seal::{BadState, LIFETIME, Open},
    waiting::{InnerQuestion, InnerQuestions},
};

/// Rules that the user of one client approved for its session, at most. What is approved beyond them holds once.
const MAX_HELD_RULES: usize = 1000;
/// How long a question waits for its answer: as long as an answer in the new era holds.
const PATIENCE: Duration = LIFETIME;
/// Why a question got none within that time.
const NO_ANSWER: &str = "there was no answer within ten minutes";
/// The name of the question in the new era.
const KEY: &str = "approval";
/// The property of the answer.
const DECISION: &str = "decision";
/// This call runs.
const ONCE: &str = "approve once";
/// This call runs, and so do later ones of the same client that the same rules ask about, until its session ends.
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

    pub(crate) fn asker(&self, id: &CallId) -> Option<Arc<Asker>> {
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
        let ctx = question.call.ctx();
        let asker = self.asker(ctx.root());
        let asker = asker.ok_or("no client that could be asked made this call")?;
        asker.ask(question, ctx.root() != ctx.id()).await
    }
}

/// The rules that the user of a client approved for its session.
///
/// They are the client's, and not the host's: another client of the same server is asked by itself.
#[derive(Debug, Default)]
pub(crate) struct HeldRules(Mutex<HashSet<String>>);

impl HeldRules {
    /// Whether every rule is held. A question without one is never answered so.
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
    negotiated: Negotiated,
    round: Mutex<Round>,
    /// How many questions about the call itself were answered.
    n_answered: watch::Sender<usize>,
    /// Of the new era: questions about calls within it.
    pub(crate) inner: Arc<InnerQuestions>,
}

/// What was answered so far, and the question that the call ends with.
#[derive(Debug, Default)]
struct Round {
    /// Of the new era: what came with the call, by the digests of its questions.
    answers: Vec<(String, Value)>,
    /// What the client answered while the call waited, by the calls and the digests of their questions.
    answered: Vec<(CallId, String, Value)>,
    /// Of the new era.
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

/// Why a question that the call waited for has no answer.
#[derive(Debug)]
enum NoAnswer {
    /// There was none in time.
    Late,
    /// The client failed the question, or ended its connection.
    None,
    /// No request or connection is there by which it could be asked.
    Gone,
}

/// What a client gives with a call of the new era that it makes again.
#[derive(Debug)]
pub(crate) enum Retry {
    /// The call begins anew. What was answered so far, by the digests of the questions.
    Anew(Vec<(String, Value)>),
    /// The call has begun, and waits.
    Waiting(WaitingAnswer),
}

/// An answer to what a call that waits was asked about.
#[derive(Debug)]
pub(crate) struct WaitingAnswer {
    /// Of the call.
    pub(crate) id: CallId,
    /// The digest of the question.
    pub(crate) question: String,
    /// `None` where the client gave the state alone.
    pub(crate) answer: Option<Value>,
}

impl Retry {
    /// Reads what came with a call of this tool. A call that is made for the first time begins.
    ///
    /// # Errors
    ///
    /// A state that is not taken: a fault of the request.
    pub(crate) fn read(
        peer: &Peer,
        negotiated: &Negotiated,
        params: &mut Params<'_>,
        tool: &str,
        arguments: &str,
    ) -> Result<Self, Fault> {
        let sealed = params.request_state.take().filter(|_| negotiated.revision.is_modern());
        let Some(sealed) = sealed else { return Ok(Self::Anew(Vec::new())) };
        let refused = |why: BadState| Fault::invalid_params(why.to_string());
        let state = peer.server.sealer.open(&sealed, tool, arguments).map_err(refused)?;
        let answer = params.input_responses.take().and_then(|mut it| it.remove(KEY));
        if let Some(id) = state.waiting {
            let id = CallId::new(id).map_err(|_| refused(BadState::Broken))?;
            return Ok(Self::Waiting(WaitingAnswer { id, question: state.question, answer }));
        }
        let mut answers = state.answers;
        answers.extend(answer.map(|it| (state.question, it)));
        Ok(Self::Anew(answers))
    }
}

impl Asker {
    /// The client of a call, with what it answered before: see [`Retry::Anew`].
    pub(crate) fn new(
        peer: &Arc<Peer>,
        negotiated: &Negotiated,
        answers: Vec<(String, Value)>,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(&peer.server),
            session: Arc::clone(&peer.session),
            peer: Arc::downgrade(peer),
            negotiated: negotiated.clone(),
            round: Mutex::new(Round { answers, ..Round::default() }),
            n_answered: watch::Sender::new(0),
            inner: Arc::default(),
        })
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
        let reasons = Reasons::of(question);
        // Of the new era over HTTP, no later call belongs to this one.
        let held = self.session.held.as_ref().filter(|_| reasons.are_the_rules);
        if held.is_some_and(|it| it.answer(&question.rules)) {
            return Ok(Answer::Held);
        }
        let refusal = |why: &str| format!("{why}; {}", how_to_allow(&self.server, question));
        if !self.negotiated.can_ask() {
            return Err(refusal("this client cannot ask its user (no elicitation)").into());
        }
        let rules = if held.is_some() { question.rules.as_slice() } else { &[] };
        let Plan { text, session_rules, values } = match plan(question.call, &reasons.lines, rules)
        {
            Ok(plan) => plan,
            // An answer about what was not read would be none.
            Err(why) => return Err(refusal(&why).into()),
        };
        let rules = session_rules;
        let params = json!({
            "mode": "form",
            "message": text,
            "requestedSchema": choices(!rules.is_empty()),
        });
        let digest = self.server.sealer.digest_of_question(&params.to_string(), &values);
        let is_modern = self.negotiated.revision.is_modern();
        if is_modern && !is_nested {
            let mut round = self.round();
            return match round.answers.iter().find(|(it, _)| *it == digest) {
                Some((_, answer)) => Ok(self.read_answer(answer, rules)),
                None => {
                    round.open = Some(OpenQuestion { digest, params });
                    Err("the client is asked, and makes the call again with the answer".into())
                }
            };
        }
        let id = question.call.ctx().id();
        let is_same = |it: &&(CallId, String, Value)| it.0 == *id && it.1 == digest;
        if let Some((.., answer)) = self.round().answered.iter().find(is_same) {
            return Ok(self.read_answer(answer, rules));
        }
        let answer = self.wait_for(digest.clone(), params).await.map_err(|why| match why {
            NoAnswer::Late => NO_ANSWER.to_owned(),
            NoAnswer::None => "the client gave no answer".to_owned(),
            NoAnswer::Gone if is_modern => {
                refusal("no request of the client waits for the call around it")
            }
            NoAnswer::Gone => refusal("the client waits for the call no more"),
        })?;
        let res = self.read_answer(&answer, rules);
        self.round().answered.push((id.clone(), digest, answer));
        Ok(res)
    }

    /// Puts a question to the client while the call waits, and gives the answer.
    async fn wait_for(&self, digest: String, params: Value) -> Result<Value, NoAnswer> {
        if self.negotiated.revision.is_modern() {
            let (sender, answer) = oneshot::channel();
            self.inner.add(InnerQuestion { digest, params, answer: sender });
            let answer = timeout(PATIENCE, answer).await.map_err(|_| NoAnswer::Late)?;
            return answer.map_err(|_| NoAnswer::Gone);
        }
        let peer = self.peer.upgrade().ok_or(NoAnswer::Gone)?;
        let answer = peer.ask_client("elicitation/create", &params);
        timeout(PATIENCE, answer).await.map_err(|_| NoAnswer::Late)?.ok_or(NoAnswer::None)
    }

    /// Whether a question within the call can reach the client and its user. None does from a call that a client started as a
    /// job.
    pub(crate) fn can_ask_within(&self) -> bool {
        let is_there = self.negotiated.revision.is_modern() || self.peer.strong_count() > 0;
        is_there && self.inner.is_open() && self.negotiated.can_ask()
    }

    /// Asks by a form of the embedding program within the call, or within one that it makes. `params` are those of
    /// `elicitation/create`.
    pub(crate) async fn ask_within(
        &self,
        call: &CallId,
        params: &Value,
    ) -> Result<Value, FormError> {
        let digest = self.server.sealer.digest_of_question(&params.to_string(), call.as_str());
        self.wait_for(digest, params.clone()).await.map_err(|why| match why {
            NoAnswer::Late => FormError::TimedOut(PATIENCE),
            NoAnswer::None | NoAnswer::Gone => FormError::NoAnswer,
        })
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
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
        let Round { answers, open, .. } = std::mem::take(&mut *self.round());
        let OpenQuestion { digest, params } = open?;
        let open = Open { question: digest, answers, waiting: None };
        Some(self.input_required(tool, arguments, open, &params))
    }

    /// The result that asks about a call within this one, which waits for the answer.
    pub(crate) fn inner_question(
        &self,
        id: &CallId,
        tool: &str,
        arguments: &str,
        question: &InnerQuestion,
    ) -> Outcome {
        let waiting = Some(id.as_str().to_owned());
        let open = Open { question: question.digest.clone(), answers: Vec::new(), waiting };
        self.input_required(tool, arguments, open, &question.params)
    }

    /// The result that asks. `params` are those of `elicitation/create`.
    fn input_required(&self, tool: &str, arguments: &str, open: Open, params: &Value) -> Outcome {
        let sealed = self.server.sealer.seal(tool, arguments, open);
        let sealed =
            sealed.map_err(|err| Fault::internal(format!("failed to seal a question: {err}")))?;
        to_raw_value(&json!({
            "resultType": "input_required",
            "inputRequests": {KEY: input_request(params)},
            "requestState": sealed,
            "_meta": self.server.result_meta(),
        }))
        .map_err(|err| Fault::unwritable(&err))
    }
}

/// A question as a result holds it. `params` are those of `elicitation/create`.
pub(crate) fn input_request(params: &Value) -> Value {
    json!({"method": "elicitation/create", "params": params})
}

/// Why a call is asked about: the same for each question about it, whichever stage asks.
#[derive(Debug)]
struct Reasons {
    /// In words.
    lines: Vec<String>,
    /// Whether the rules are the only one: then an approval for the session is an answer.
    are_the_rules: bool,
}

impl Reasons {
    fn of(question: &Question<'_>) -> Self {
        let call = question.call.prepared();
        let decision = call.outline().decision.filter(|it| it.verdict == Verdict::Ask);
        let asked = decision.map(|it| it.to_string());
        let released = Checkpoint::needs_release(call).then(|| Checkpoint::WHY.to_owned());
        let reasons: Vec<_> = asked.iter().chain(&released).collect();
        // A stage of the embedding program asks for a reason of its own.
        let is_named = reasons.iter().any(|it| **it == question.why);
        let own = (!is_named).then_some(&question.why);
        let are_the_rules = asked.is_some() && released.is_none() && own.is_none();
        let texts = reasons.into_iter().chain(own);
        let lines = texts.flat_map(|it| it.lines()).map(str::to_owned).collect();
        Self { lines, are_the_rules }
    }
}

impl Negotiated {
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
        [] => "there is no rule to suggest for it".to_owned(),
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
