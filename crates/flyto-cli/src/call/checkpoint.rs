//! The release of a call by the person at the terminal.

use std::error::Error;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use flyto_host::add_rules;
use flyto_host::stages::{Answer, CheckpointHandler, Question};

use super::status::Status;
use crate::evolve::can_ask;
use crate::preview;
use crate::screen::{Page, Screen, forget_typed, read_line};
use crate::stop::chain;
use crate::table::facts;
use crate::words::{bytes, one_line, tame};

/// Bytes of an input that are shown with the question. Of a longer one its beginning and its end are, and the person can
/// ask for the rest.
const SHOWN_BYTES: usize = 4 * 1024;

/// Asks at the terminal. The answer is a line: `y` or `yes` releases the call, `a` or `always` does that for every later
/// one as well, by a rule in the operator's configuration; `i` or `input` shows an input that is too long to be shown with
/// the question, and asks again; anything else refuses it.
#[derive(Debug)]
pub(super) struct AtTerminal {
    status: Arc<Status>,
    /// The configuration file to which rules are added.
    rules_file: Option<PathBuf>,
}

impl AtTerminal {
    /// A handler, where a person can see a question and answer it; else why there is none.
    pub(super) fn new(
        screen: Screen,
        status: Arc<Status>,
        rules_file: Option<PathBuf>,
    ) -> Result<Self, &'static str> {
        match can_ask(&screen) {
            true => Ok(Self { status, rules_file }),
            false if io::stdin().is_terminal() => Err("stderr is no terminal"),
            false => Err("stdin is no terminal"),
        }
    }

    /// The rules that "always" would add, and the file.
    fn always<'a>(&'a self, question: &'a Question<'_>) -> Option<(&'a [String], &'a Path)> {
        let file = self.rules_file.as_deref()?;
        (!question.rules.is_empty()).then_some((&*question.rules, file))
    }

    fn text(&self, question: &Question<'_>) -> String {
        let call = question.call;
        let mut rows = vec![
            ("checkpoint", one_line(call.entry().id().as_str())),
            ("because", tame(&question.why)),
        ];
        let plan = call.prepared().outline();
        if let Some(preview) = &plan.preview {
            rows.extend(preview::facts(preview, plan.variables.as_deref()));
        }
        let input = call.input().text();
        rows.push(("input", shown(&input)));
        let whole = if input.len() > SHOWN_BYTES { "show the whole input (i), " } else { "" };
        let choices = match self.always(question) {
            Some((rules, file)) => {
                let rules: Vec<_> = rules.iter().map(|it| one_line(it)).collect();
                let file = one_line(&file.to_string_lossy());
                rows.push((
                    "always",
                    format!("adds {} to permissions.allow in {file}", rules.join(", ")),
                ));
                "once (y), always (a), or no (N)"
            }
            None => "once (y), or no (N)",
        };
        format!("{}release this call? {whole}{choices} ", facts(Page::default(), &rows))
    }
}

/// The line of a question. An answer ends it, and so does the end of the call that waits for one.
pub(super) struct QuestionLine<'a> {
    status: &'a Status,
    is_answered: bool,
}

impl<'a> QuestionLine<'a> {
    /// The line of a question that was shown.
    pub(super) fn begin(status: &'a Status) -> Self {
        Self { status, is_answered: false }
    }

    /// Its answer came, with the end of the line.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for QuestionLine<'_> {
    fn drop(&mut self) {
        match self.is_answered {
            true => self.status.line_ended(),
            false => self.status.write_stderr(b"\n"),
        }
    }
}

/// An input, or its beginning and its end with the number of bytes between them.
fn shown(input: &str) -> String {
    if input.len() <= SHOWN_BYTES {
        return tame(input);
    }
    let start = input.floor_char_boundary(SHOWN_BYTES / 2);
    let end = input.ceil_char_boundary(input.len() - SHOWN_BYTES / 2);
    let left_out = bytes((end - start) as u64);
    format!("{} … {left_out} left out … {}", tame(&input[..start]), tame(&input[end..]))
}

#[async_trait]
impl CheckpointHandler for AtTerminal {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let mut text = self.text(question);
        let answer = loop {
            forget_typed();
            // The status line is not drawn over a line that has not ended.
            self.status.write_stderr(text.as_bytes());
            let line = QuestionLine::begin(&self.status);
            let answer = read_line().await?;
            line.answered();
            let input = question.call.input().text();
            if !matches!(answer.trim(), "i" | "input") || input.len() <= SHOWN_BYTES {
                break answer;
            }
            text = format!("{}\n{}", tame(&input), self.text(question));
        };
        Ok(match answer.trim() {
            "y" | "Y" | "yes" => Answer::Yes,
            "a" | "A" | "always" => match self.always(question) {
                Some((rules, file)) => {
                    if let Err(err) = add_rules(file, rules) {
                        let line = format!("warning: released once: {}\n", tame(&chain(&err)));
                        self.status.write_stderr(line.as_bytes());
                    }
                    Answer::Always
                }
                None => Answer::No { reason: None },
            },
            _ => Answer::No { reason: None },
        })
    }
}
