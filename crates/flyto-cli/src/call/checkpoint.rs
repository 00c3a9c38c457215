//! The release of a call by the person at the terminal.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use flyto_host::stages::{Answer, CheckpointHandler, Question};
use tokio::sync::oneshot;

use super::status::Status;
use crate::preview;
use crate::screen::Screen;
use crate::table::facts;
use crate::words::{one_line, tame};

/// Bytes of an input that are shown with the question: enough to recognise it.
const SHOWN_BYTES: usize = 2 * 1024;

/// Asks at the terminal. The answer is a line: `y` or `yes` releases the call, anything else refuses it.
#[derive(Debug)]
pub(super) struct AtTerminal {
    screen: Screen,
    status: Arc<Status>,
}

impl AtTerminal {
    /// A handler, where a person can see a question and answer it.
    pub(super) fn new(screen: Screen, status: Arc<Status>) -> Option<Self> {
        let can_ask = screen.stderr.terminal && io::IsTerminal::is_terminal(&io::stdin());
        can_ask.then_some(Self { screen, status })
    }

    fn text(&self, question: &Question<'_>) -> String {
        let call = question.call;
        let mut rows = vec![
            ("checkpoint", one_line(call.entry().id().as_str())),
            ("because", tame(&question.why)),
        ];
        let variables = call.prepared().variables();
        if let Some(preview) = call.prepared().preview() {
            rows.extend(preview::facts(preview, variables.as_deref()));
        }
        let input = call.input().text();
        let cut = input.floor_char_boundary(SHOWN_BYTES);
        let more = if cut < input.len() { " …" } else { "" };
        rows.push(("input", format!("{}{more}", tame(&input[..cut]))));
        format!("{}release this call? [y/N] ", facts(self.screen.stderr, &rows))
    }
}

#[async_trait]
impl CheckpointHandler for AtTerminal {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        // The status line is not drawn over a line that has not ended.
        self.status.write_stderr(self.text(question).as_bytes());
        let (sender, line) = oneshot::channel();
        // No task of the runtime: that would be waited for at the end, and the line may never come.
        thread::Builder::new().name("checkpoint".to_owned()).spawn(move || {
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line).map(|_| line);
            let _ = sender.send(read);
        })?;
        let answer = line.await??;
        self.status.line_ended();
        Ok(match answer.trim() {
            "y" | "Y" | "yes" => Answer::Yes,
            _ => Answer::No { reason: None },
        })
    }
}
