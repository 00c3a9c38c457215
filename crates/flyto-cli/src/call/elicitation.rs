//! Questions of servers, put to the person at the terminal.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use flyto_mcp::{Elicitation, ElicitationAnswer, ElicitationHandler};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::checkpoint::QuestionLine;
use super::form::Field;
use super::status::Status;
use crate::evolve::can_ask;
use crate::screen::{Page, Screen, forget_typed, read_line};
use crate::table::facts;
use crate::words::{one_line, tame};

/// How often a person is asked for one field.
const MAX_ASKED: usize = 3;

/// Asks at the terminal: first whether the server is to be answered, then each field of its form, a line each.
#[derive(Debug)]
pub(super) struct AsksAtTerminal {
    status: Arc<Status>,
    /// Held while one question is asked: a server may have several.
    turn: Mutex<()>,
}

impl AsksAtTerminal {
    /// A handler, where a person can see a question and answer it. Without one, servers are told that there is none.
    pub(super) fn for_a_person(
        screen: Screen,
        status: &Arc<Status>,
    ) -> Option<Arc<dyn ElicitationHandler>> {
        let handler = || Self { status: Arc::clone(status), turn: Mutex::default() };
        can_ask(&screen).then(|| Arc::new(handler()) as Arc<dyn ElicitationHandler>)
    }

    /// Shows a text, and reads the line behind it.
    async fn line(&self, text: &str) -> io::Result<String> {
        forget_typed();
        // The status line is not drawn over a line that has not ended.
        self.status.write_stderr(text.as_bytes());
        let line = QuestionLine::begin(&self.status);
        let answer = read_line().await?;
        line.answered();
        Ok(answer)
    }

    /// Asks for one field; `None` without an answer that it can have.
    async fn field(&self, field: &Field) -> io::Result<Option<Option<Value>>> {
        let name = match field.title.is_empty() {
            true => one_line(&field.name),
            false => one_line(&field.title),
        };
        let hint = one_line(&field.hint());
        for _ in 0..MAX_ASKED {
            match field.read(&self.line(&format!("{name} ({hint}): ")).await?) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => self.status.write_stderr(format!("{}\n", tame(&why)).as_bytes()),
            }
        }
        Ok(None)
    }

    async fn answer(&self, question: &Elicitation) -> io::Result<ElicitationAnswer> {
        let fields = match &question.schema {
            Some(schema) => Field::all(schema),
            None => Some(Vec::new()),
        };
        let server = one_line(&question.server);
        let Some(fields) = fields else {
            let what = "asks with a form that cannot be filled in at a terminal";
            let text = format!("the server {server} {what}: declined\n");
            self.status.write_stderr(text.as_bytes());
            return Ok(ElicitationAnswer::Decline);
        };
        let mut rows = vec![("server", server.clone()), ("asks", tame(&question.message))];
        rows.extend(question.url.as_ref().map(|it| ("address", one_line(it))));
        for field in &fields {
            let text = match field.description.is_empty() {
                true => one_line(&field.name),
                false => format!("{}: {}", one_line(&field.name), tame(&field.description)),
            };
            rows.push(("field", text));
        }
        let rows = facts(Page::default(), &rows);
        let asked = format!("{rows}answer the server {server}? yes (y), or no (N) ");
        if !matches!(self.line(&asked).await?.trim(), "y" | "Y" | "yes") {
            return Ok(ElicitationAnswer::Decline);
        }
        let mut content = Map::new();
        for field in &fields {
            let Some(value) = self.field(field).await? else {
                return Ok(ElicitationAnswer::Cancel);
            };
            content.extend(value.map(|it| (field.name.clone(), it)));
        }
        Ok(ElicitationAnswer::Accept(content.into()))
    }
}

#[async_trait]
impl ElicitationHandler for AsksAtTerminal {
    async fn ask(&self, question: &Elicitation) -> ElicitationAnswer {
        let _turn = self.turn.lock().await;
        // Without a terminal that can be read, no person has answered.
        self.answer(question).await.unwrap_or(ElicitationAnswer::Cancel)
    }
}
