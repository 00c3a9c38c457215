//! How a person is asked about a proposal.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use flyto_evolve::{Answer, Approver, ApproverError, Decision, Review};
use flyto_execenv::Environment;

use super::editor::Editor;
use super::person;
use crate::screen::{Screen, forget_typed, read_line};
use crate::words::{one_line, tame};

/// Where a question is shown.
pub(crate) trait Prompt: fmt::Debug + Send + Sync {
    /// Shows text that needs no escape any more.
    fn write(&self, text: &str);
    /// The person has ended the line that was written last.
    fn line_ended(&self) {}
}

impl Prompt for Screen {
    fn write(&self, text: &str) {
        self.complain(text);
    }
}

/// Whether a person can see a question and answer it.
pub(crate) fn can_ask(screen: &Screen) -> bool {
    screen.stderr.terminal && io::stdin().is_terminal()
}

/// Asks at the terminal. Only a clear yes is one; the end of the input, or three answers that are none, leave the
/// proposal waiting.
#[derive(Debug)]
pub(crate) struct AtTerminal {
    prompt: Arc<dyn Prompt>,
    by: String,
    editor: Option<Editor>,
    /// Whether this process calls the tool. Otherwise `Answer::Once` would allow nothing, and is not offered.
    calls: bool,
    /// The text of the last edit, where it was refused: the person goes on with it.
    refused: Mutex<Option<String>>,
}

/// How often a person is asked again after an answer that is none.
const MAX_ASKED: usize = 3;

impl AtTerminal {
    /// Asks the person of an environment. An editor that it names may change a proposal.
    pub(crate) fn new(prompt: Arc<dyn Prompt>, env: &Environment) -> Self {
        let editor = Editor::of(env);
        Self { prompt, by: person(env), editor, calls: false, refused: Mutex::default() }
    }

    /// Offers to let the tool be called once, where this process calls it next.
    pub(crate) fn before_a_call(mut self) -> Self {
        self.calls = true;
        self
    }

    async fn line(&self, question: &str) -> Result<String, ApproverError> {
        forget_typed();
        self.prompt.write(question);
        let line = read_line().await.map_err(|err| ApproverError::new(err.to_string()))?;
        if line.ends_with('\n') {
            self.prompt.line_ended();
        } else {
            // The person ended the input, and the terminal is still in the line of the question.
            self.prompt.write("\n");
        }
        Ok(line)
    }

    async fn answer(&self, review: &Review) -> Result<Answer, ApproverError> {
        let edit = if self.editor.is_some() { "edit (e), " } else { "" };
        let once = if self.calls { "only for this call (o), " } else { "" };
        let question = format!(
            "approve this text? save (s), {once}{edit}deny with a reason (d REASON), later (L) "
        );
        for _ in 0..MAX_ASKED {
            let line = self.line(&question).await?;
            let line = line.trim();
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            // Only a denial has more than its word: a sentence that begins as an answer does is none.
            let said = if matches!(&*word.to_lowercase(), "d" | "deny") { word } else { line };
            match (&*said.to_lowercase(), &self.editor) {
                ("s" | "save", _) => return Ok(Answer::Save),
                ("o" | "once", _) if self.calls => return Ok(Answer::Once),
                ("e" | "edit", Some(editor)) => {
                    if let Some(text) = self.edited(editor, review).await {
                        return Ok(Answer::Edit(text));
                    }
                }
                ("d" | "deny", _) => {
                    let reason = match rest.trim() {
                        "" => self.line("reason: ").await?.trim().to_owned(),
                        reason => reason.to_owned(),
                    };
                    return Ok(Answer::Deny { reason });
                }
                ("" | "l" | "later" | "n" | "no", _) => return Ok(Answer::Later),
                _ => {}
            }
        }
        Ok(Answer::Later)
    }

    /// The definition as the person leaves it; `None` where that is as it was, which is told.
    async fn edited(&self, editor: &Editor, review: &Review) -> Option<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_again = refused.is_some();
        let text = refused.unwrap_or_else(|| format!("{:#}\n", review.definition));
        let what = match editor.edit(&text).await {
            Ok(edited) if edited != text || is_again => return Some(edited),
            Ok(_) => "nothing was changed".to_owned(),
            Err(err) => format!("the text could not be edited: {err}"),
        };
        self.prompt.write(&tame(&format!("{what}\n")));
        None
    }
}

#[async_trait]
impl Approver for AtTerminal {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        self.prompt.write(&tame(&format!("{review}\n")));
        Ok(Decision::new(self.answer(review).await?, self.by.clone()))
    }

    fn refused_edit(&self, text: &str, why: &str) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        self.prompt.write(&tame(&format!(
            "\nthe edited text is refused: {why}\n`edit` goes on with it; this is the text before the edit:\n\n"
        )));
    }
}

/// Keeps each proposal for a person, where none can be asked.
#[derive(Debug)]
pub(crate) struct Later;

#[async_trait]
impl Approver for Later {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        Ok(Decision::unseen(Answer::Later, "no terminal"))
    }
}

/// Approves the one text that the operator named by its id.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) by: String,
}

#[async_trait]
impl Approver for Named {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        let found = review.id();
        if found != self.id {
            let changed: Vec<_> = review.changed_tools.iter().map(|it| one_line(it)).collect();
            let why = match changed.as_slice() {
                [] => "its text or a tool that it calls changed".to_owned(),
                tools => format!("tools that it calls changed ({})", tools.join(", ")),
            };
            let tools: Vec<String> = review
                .tools
                .iter()
                .map(|(name, hash)| format!("{name} (sha256 {})", hash.short()))
                .collect();
            let calls = match tools.is_empty() {
                true => String::new(),
                false => format!(": it calls {} now", tools.join(", ")),
            };
            return Err(ApproverError::new(format!(
                "what waits is {found:?}, not {:?}, since {why}{calls}",
                self.id
            )));
        }
        Ok(Decision::unseen(Answer::Save, self.by.clone()))
    }
}
