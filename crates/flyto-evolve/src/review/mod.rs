//! What a person is shown of a proposal, and what the person may answer.
//!
//! The crate does not know how a person is asked. It hands over a [`Review`], which is complete and can be serialised, and
//! takes a [`Decision`]. What is not a clear yes is a no: an error, a panic, and an approver that is not there.

mod called;
mod commands;
mod diff;
mod environment;
mod facts;
mod grammar;
mod names;
mod render;
mod visible;
mod words;

use std::{collections::BTreeMap, fmt, panic::AssertUnwindSafe, pin::pin, sync::Arc, task::Poll};

use async_trait::async_trait;
use flyto_security::SecretMatch;
use flyto_tools::CallContext;
use serde::Serialize;
use serde_json::Value;

pub use called::CalledTool;
pub use diff::{FieldDiff, diff};
pub(crate) use environment::names_read;
pub use facts::Facts;
pub(crate) use grammar::redirection;
pub(crate) use visible::one_line;
pub use visible::{HiddenCharacter, hidden_characters, visible};
pub(crate) use words::{joined, script};

use crate::{DefinitionHash, Example, Replay};

/// Everything that a person needs to decide about a proposal. It serialises, so that the person may sit elsewhere;
/// `Display` shows it as text for a terminal, with control and invisible characters made visible.
///
/// What is approved is the text with [`sha256`](Self::sha256) and no other one.
///
/// A review is made by [`ToolBuilder::dry_run`](crate::ToolBuilder::dry_run) without asking, and
/// for each [`Approver`].
///
/// ```
/// use flyto_evolve::{HostContext, Proposal, Store, ToolBuilder, ToolDefinition};
/// use flyto_execenv::{Environment, ExecEnv, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// # let host = HostContext::new(Environment::ambient(), "/tmp");
/// # let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Default::default()).build();
/// let def = ToolDefinition::script("clean", "Removes a directory.", "rm -rf \"$TOOL_INPUT_DIR\"\n");
/// let review = builder.dry_run(&Proposal::of(&def, "session-7")).await?;
/// assert_eq!((review.from, review.to), (None, 1));
/// assert_eq!(review.facts.dangers, ["removes directories (rm -r)"]);
/// assert!(review.to_string().contains("! removes directories (rm -r)"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Review {
    /// The name of the tool.
    pub name: String,
    /// The version on which it is based; `None` where the tool is new.
    pub from: Option<u64>,
    /// The version that it would be.
    pub to: u64,
    /// By which session, agent or person it was proposed.
    pub proposed_by: String,
    /// Where it came from, for one that was imported.
    pub imported_from: Option<String>,
    /// Whether a person edited what is shown, in this decision.
    pub is_edited: bool,
    /// The hash of the text.
    pub sha256: DefinitionHash,
    /// The definition, exactly; characters that hide something are in it as they are.
    pub definition: Value,
    /// As a call: `count_lines(path: string)`.
    pub signature: String,
    /// What differs from the version before, field by field; of a new tool, all of it. Empty where the text is the same, as
    /// where a person is asked [again](crate::Proposal::again): `Display` shows the whole text then.
    pub diff: Vec<FieldDiff>,
    /// What the text was seen to do. Facts for a reader, no verdict, and not complete.
    pub facts: Facts,
    /// What looks like a secret, without the secret.
    pub secrets: Vec<SecretFinding>,
    /// Other things that a reader should know, one sentence each.
    pub notes: Vec<String>,
    /// The run-time tools that the steps of a composite call, with the hashes of their texts. The approval holds for these:
    /// when one of them changes, the composite [needs review](crate::NeedsReview).
    pub tools: BTreeMap<String, DefinitionHash>,
    /// The tools that the steps of a composite call, whatever they come from, in the order of the steps, and those that
    /// composites among them call.
    pub calls: Vec<CalledTool>,
    /// The names of [`tool_changes`](Self::tool_changes).
    pub changed_tools: Vec<String>,
    /// The tools below a composite that are others than when the proposal began to wait for an answer, or than those that were
    /// approved with the version before, in the order of their names.
    pub tool_changes: Vec<ToolChange>,
    /// Tools that are like it.
    pub similar: Vec<String>,
    /// How the examples went.
    pub examples: ExampleReport,
    /// What it delivers for calls of earlier versions that were recorded; `None` where none were.
    pub replay: Option<Replay>,
    /// Characters that are not seen, or hide others.
    pub hidden_characters: Vec<HiddenCharacter>,
}

impl Review {
    /// By what an answer names what is shown: the name, and the first 40 digits of the hash of the text together with those
    /// of the [`tools`](Self::tools) that it calls.
    #[must_use]
    pub fn id(&self) -> String {
        self.sha256.with_tools(&self.tools).proposal_id(&self.name)
    }
}

/// A tool that a composite calls, and that changed since a person saw the composite.
///
/// ```
/// use flyto_evolve::{Review, ToolChange};
///
/// fn told(review: &Review) -> Vec<String> {
///     let told = |it: &ToolChange| format!("{} changed since {}", it.name, it.since);
///     review.tool_changes.iter().map(told).collect()
/// }
/// # let _ = told;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolChange {
    /// The name of the tool.
    pub name: String,
    /// Since when, for people: `version 3 was approved`, `it was proposed`.
    pub since: String,
    /// Whether it is no run-time tool any more, or is not called any more.
    pub is_gone: bool,
    /// Whether [`diff`](Self::diff) has all of its text, since the text that it had then is not in the store, or it was none
    /// of the tools.
    pub is_whole: bool,
    /// What differs from the text that it had then, field by field.
    pub diff: Vec<FieldDiff>,
}

/// Something that looks like a secret, with its place in the definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SecretFinding {
    /// JSON Pointer of the text.
    pub pointer: String,
    /// What was found; the secret itself is not in it.
    #[serde(flatten)]
    pub found: SecretMatch,
}

impl SecretFinding {
    pub(crate) fn new(pointer: String, found: SecretMatch) -> Self {
        Self { pointer, found }
    }
}

impl fmt::Display for SecretFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.place(), self.found, self.advice())
    }
}

impl SecretFinding {
    /// The pointer, or that several texts have it together.
    pub(crate) fn place(&self) -> &str {
        if self.pointer.is_empty() { "the definition as a whole" } else { &self.pointer }
    }

    /// What to write in place of the secret: only the text that bash runs can read a variable.
    pub(crate) fn advice(&self) -> String {
        let is_run = ["", "/script", "/command"].contains(&self.pointer.as_str());
        match is_run {
            true => self.found.advice(),
            false => "leave it out; a script reads it from the environment".to_owned(),
        }
    }
}

/// How the examples of a proposal went.
///
/// ```
/// use flyto_evolve::ExampleReport;
///
/// let report = ExampleReport::Untested { why: "nothing confines them here".into() };
/// assert_eq!(
///     serde_json::to_string(&report)?,
///     r#"{"state":"untested","why":"nothing confines them here"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
#[non_exhaustive]
pub enum ExampleReport {
    /// The proposal has none.
    None,
    /// They were not run, because nothing confines them here.
    Untested {
        /// What is missing.
        why: String,
    },
    /// They were run where they could reach nothing.
    Ran {
        /// One for each example, in their order.
        outcomes: Vec<ExampleOutcome>,
    },
}

/// How one example went.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExampleOutcome {
    /// The input.
    pub input: Value,
    /// The text that came, truncated to 4 KiB.
    pub output: String,
    /// How many bytes of it are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_bytes: u64,
    /// What was not as expected; `None` where all was.
    pub problem: Option<String>,
}

/// How much of the output of an example is shown, in bytes.
const MAX_OUTPUT_BYTES: usize = 4096;

impl ExampleOutcome {
    pub(crate) fn new(example: &Example, mut output: String, problem: Option<String>) -> Self {
        let n_bytes = output.len();
        output.truncate(output.floor_char_boundary(MAX_OUTPUT_BYTES));
        let omitted_bytes = (n_bytes - output.len()) as u64;
        Self { input: example.input.clone(), output, omitted_bytes, problem }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(it: &u64) -> bool {
    *it == 0
}

/// What a person answers.
///
/// | answer | saved | can be called | counts against the session |
/// | --- | --- | --- | --- |
/// | [`Once`](Self::Once) | no | until the process ends | yes |
/// | [`Save`](Self::Save) | yes | yes, also after a restart | yes |
/// | [`Edit`](Self::Edit) | not yet: asked again | not yet | not yet |
/// | [`Deny`](Self::Deny) | no | no | as a proposal |
/// | [`Later`](Self::Later) | in `pending` | no | as a proposal |
///
/// An edited text is counted as one more look at the same proposal; after 8 edits it is refused. A
/// text that was denied twice in a session is refused without asking again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, for this session: nothing is saved.
    Once,
    /// Yes: the version is saved.
    Save,
    /// The text should be another one, as JSON. It goes through all checks, and is shown again.
    Edit(String),
    /// No, with a reason that the agent is told.
    Deny {
        /// The reason.
        reason: String,
    },
    /// Not now: the proposal waits in the store.
    Later,
}

/// An answer, and by which person or channel it was given.
///
/// ```
/// use flyto_evolve::{Answer, Decision};
///
/// let no = Decision::new(Answer::Deny { reason: "use `git log` instead".into() }, "ada");
/// assert_eq!(no.by, "ada");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// By which person, or by which channel.
    pub by: String,
    /// Whether a person saw the review before this answer. The log of events says then that it was shown, in an event `shown`
    /// with the hash of the text.
    pub was_shown: bool,
}

impl Decision {
    /// An answer of this person, to whom the review was shown.
    #[must_use]
    pub fn new(answer: Answer, by: impl Into<String>) -> Self {
        Self { answer, by: by.into(), was_shown: true }
    }

    /// An answer for which no review was shown: of an approver that keeps proposals for later, of one that could not ask, and of
    /// one that takes a person's answer by an id that the person read elsewhere.
    ///
    /// ```
    /// use flyto_evolve::{Answer, Approver, ApproverError, Decision, Review};
    ///
    /// /// Has every proposal wait for a person.
    /// #[derive(Debug)]
    /// struct Later;
    ///
    /// #[async_trait::async_trait]
    /// impl Approver for Later {
    ///     async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
    ///         Ok(Decision::unseen(Answer::Later, "an unattended host"))
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn unseen(answer: Answer, by: impl Into<String>) -> Self {
        Self { answer, by: by.into(), was_shown: false }
    }
}

/// Why no answer was had. It counts as a no.
///
/// ```
/// use flyto_evolve::ApproverError;
///
/// let err = ApproverError::new("the terminal was closed");
/// assert_eq!(err.to_string(), "no answer was had: the terminal was closed");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no answer was had: {why}")]
pub struct ApproverError {
    /// What went wrong.
    pub why: String,
}

impl ApproverError {
    /// For people.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

/// Asks a person. A terminal, a web page or a chat implements it; a host without a person answers
/// [`Answer::Later`].
///
/// An error or a panic denies, and so does a missing approver. Nothing is shown of a proposal that holds a secret of tier
/// `block`.
///
/// ```
/// use flyto_evolve::{Answer, Approver, ApproverError, Decision, Review};
///
/// #[derive(Debug)]
/// struct Script;
///
/// #[async_trait::async_trait]
/// impl Approver for Script {
///     async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
///         let answer = if review.facts.dangers.is_empty() { Answer::Save } else { Answer::Later };
///         Ok(Decision::new(answer, "a test"))
///     }
/// }
/// ```
#[async_trait]
pub trait Approver: fmt::Debug + Send + Sync {
    /// Shows a proposal and waits for the answer. There is no time limit: the caller's cancellation ends the wait.
    ///
    /// # Errors
    ///
    /// No answer could be had, which denies.
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError>;

    /// What asks about a proposal that this call makes; `None`, the default, where this approver does.
    ///
    /// A host with several users asks by the channel by which the call came: a server of the Model Context Protocol asks the
    /// client that made the call, and no other. It is asked for before the first question, and once a proposal.
    ///
    /// ```
    /// use std::{collections::HashMap, sync::Arc};
    ///
    /// use flyto_evolve::{Answer, Approver, ApproverError, Decision, Review};
    /// use flyto_tools::{CallContext, CallId};
    ///
    /// /// The users whose agents make calls, by the calls.
    /// #[derive(Debug)]
    /// struct Users(HashMap<CallId, Arc<dyn Approver>>);
    ///
    /// #[async_trait::async_trait]
    /// impl Approver for Users {
    ///     async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
    ///         Ok(Decision::unseen(Answer::Later, "a call of no user"))
    ///     }
    ///
    ///     fn within(&self, call: &CallContext) -> Option<Arc<dyn Approver>> {
    ///         self.0.get(call.root()).cloned()
    ///     }
    /// }
    /// ```
    fn within(&self, call: &CallContext) -> Option<Arc<dyn Approver>> {
        let _ = call;
        None
    }

    /// Whether every answer of this approver, for calls within which nobody else is asked, is to [wait](Answer::Later).
    ///
    /// Nothing of such a proposal runs before a person looks at it: its examples are untested, and no recorded calls are run
    /// again. The default says that it asks a person.
    fn only_stages(&self) -> bool {
        false
    }

    /// Tells why a text that the answer [edited](Answer::Edit) is refused. The text before the edit is asked about again, so
    /// that a mistake in an edit costs neither the edit nor the proposal: a terminal shows the reason, and opens the refused text
    /// at the next edit. An edit counts towards the most that a decision may have, whether it is refused or not.
    ///
    /// An approver without a method of its own tells nothing, and the person sees the former text again.
    fn refused_edit(&self, text: &str, why: &str) {
        let _ = (text, why);
    }
}

/// Asks, and takes a panic for an error.
pub(crate) async fn ask(
    approver: &dyn Approver,
    review: &Review,
) -> Result<Decision, ApproverError> {
    let mut asked = pin!(approver.review(review));
    std::future::poll_fn(|cx| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| asked.as_mut().poll(cx)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(ApproverError::new("the approver panicked"))))
    })
    .await
}
