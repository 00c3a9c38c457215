//! A tool of a server, as a tool of the host.
//!
//! The steps of one call, after the gates of the host have let it pass:
//!
//! 1. The connection: the one that there is, or a new one, for which other calls wait as well.
//! 2. The pin: where the server declares the tool in another way by now, the call is refused, and nothing is sent.
//! 3. The request, and notes of its progress until the answer.
//! 4. Where the server asks for input, the handler answers, and the same request is made again with the answers.
//!
//! The time that a caller gives covers all of them, the time of the declaration those after the first. At its end, and where the caller cancels, the request is taken back by dropping
//! it, and the result says so at once: a server that does not react delays no caller.

use std::{borrow::Cow, sync::Arc, time::Duration};

use async_trait::async_trait;
use flyto_plugin::EndpointError;
use flyto_program::{duration_text, tool_error_kind};
use flyto_tools::{
    CallContext, DescribeContext, Failure, Input, Metadata, Preview, Tool, ToolError,
    ToolErrorKind, ToolResult,
};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use super::{
    connection::{ConnectError, Connection},
    content::CallToolResult,
    definition::Definition,
    elicitation::{Elicitation, ElicitationHandler},
    peer::{Note, RequestError},
    report::DefinitionChange,
    server::ServerState,
};

/// How often one call may ask for more input: 8. Each round costs the user a question, and a server that goes on asking
/// gives a failure in place of a result.
const MAX_ROUNDS: usize = 8;

/// A tool that a server offers.
///
/// It holds its server, which holds its tools weakly: the registry decides how long a tool lives. A snapshot of the registry
/// may keep one longer than the server offers it; a call of such a tool is refused by its pin.
#[derive(Debug)]
pub(super) struct ServerTool {
    server: Arc<ServerState>,
    /// The id in the registry.
    id: String,
    definition: Definition,
    metadata: Metadata,
}

impl ServerTool {
    pub(super) fn new(
        server: Arc<ServerState>,
        id: String,
        definition: Definition,
        metadata: Metadata,
    ) -> Self {
        Self { server, id, definition, metadata }
    }
}

/// Why a call ended before its answer. What the server does with it from then on is not known.
#[derive(Debug, Clone, Copy)]
enum Over {
    Cancelled,
    TimedOut(Duration),
}

#[async_trait]
impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.id
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        Cow::Borrowed(&self.definition.description)
    }

    fn input_schema(&self) -> &Value {
        &self.definition.input_schema
    }

    fn output_schema(&self) -> Option<&Value> {
        self.definition.output_schema.as_ref()
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Where the program of the server starts, from which it reads relative paths.
    fn preview(&self, _: &Input) -> Option<Preview> {
        let dir = self.server.declared.working_dir()?;
        Some(Preview::new().with_working_dir(dir.to_str()?))
    }

    /// Connects to the server where there is no connection, and calls the tool once: a call of which the outcome is not known is
    /// never made again.
    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        let ends = ctx.time_given().map(|it| (Instant::now() + it, it));
        let connection = tokio::select! {
            biased;
            it = over(ctx, ends) => return Ok(self.ended(it)),
            connected = self.server.connection() => match connected {
                Ok(connection) => connection,
                Err(err) => return self.not_connected(&err),
            },
        };
        self.check_pin(&connection)?;
        // What the declaration says of a call is said of its work, and not of how long its server takes to start.
        let declared = self.server.declared.timeout();
        let declared =
            declared.or_else(|| ends.is_none().then_some(self.server.options.call_timeout));
        let declared = declared.map(|it| (Instant::now() + it, it));
        let mut over = std::pin::pin!(over(ctx, ends.into_iter().chain(declared).min()));
        let mut further = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let called = self.ask(ctx, &connection, &input, &further);
            let result = tokio::select! {
                biased;
                it = &mut over => {
                    connection.expect_sign_of_life();
                    return Ok(self.ended(it));
                }
                called = called => match called? {
                    Ok(result) => result,
                    Err(err) => return Ok(self.failed(&err)),
                },
            };
            match result.result_type.as_deref() {
                None | Some("complete") => {
                    let result = result.into_result(self.definition.output_schema.is_some());
                    return Ok(self.server.declared.bounded(result, ctx.id()).await);
                }
                Some("input_required") => {}
                Some(other) => {
                    let text =
                        format!("{} answered with {other:?}, which was not asked for", self.id);
                    return Ok(ToolResult::failed(Failure::reported(), text));
                }
            }
            let asked = self.further_input(result);
            further = tokio::select! {
                biased;
                it = &mut over => return Ok(self.ended(it)),
                asked = asked => match asked {
                    Some(further) => further,
                    None => {
                        let text = format!(
                            "{} asks for input that cannot be given here",
                            self.id
                        );
                        return Ok(ToolResult::failed(Failure::Denied, text));
                    }
                },
            };
        }
        let text = format!("{} asked for more input {MAX_ROUNDS} times", self.id);
        Ok(ToolResult::failed(Failure::reported(), text))
    }
}

impl ServerTool {
    /// Makes the call, and reports how far it has come.
    ///
    /// # Errors
    ///
    /// The outer error says that the call was not made: the connection has ended, or too many requests wait. The inner one
    /// says that it was made and has no result.
    async fn ask(
        &self,
        ctx: &CallContext,
        connection: &Connection,
        input: &Input,
        further: &[(&str, String)],
    ) -> Result<Result<CallToolResult, RequestError>, ToolError> {
        let name = Value::from(self.definition.name.as_str()).to_string();
        let arguments = if input.is_empty() { "{}" } else { input.as_str() };
        let mut members = vec![("name", name.as_str()), ("arguments", arguments)];
        members.extend(further.iter().map(|(key, it)| (*key, it.as_str())));
        let begun = connection.peer.begin("tools/call", &members, ctx.wants_progress()).await;
        let mut in_flight = match begun {
            Ok(in_flight) => in_flight,
            Err(RequestError::Overloaded) => {
                let what = format!("failed to call {}: too many calls in flight", self.id);
                return Err(ToolError::new(ToolErrorKind::Overloaded, what));
            }
            Err(err) => {
                let what = format!("failed to call {}: {err}", self.id);
                return Err(ToolError::new(ToolErrorKind::Unreachable, what));
            }
        };
        let mut notes = in_flight.notes.clone();
        let mut tells = ctx.wants_progress();
        let mut last = 0.0;
        let answer = loop {
            tokio::select! {
                biased;
                changed = notes.changed(), if tells => match changed {
                    Ok(()) => {
                        let note = notes.borrow_and_update().clone();
                        if let Some(note) = note {
                            report(ctx, &note, &mut last);
                        }
                    }
                    Err(_) => tells = false,
                },
                answer = in_flight.answer() => break answer,
            }
        };
        Ok(answer.and_then(|it| {
            serde_json::from_str(it.get()).map_err(|err| {
                RequestError::Closed(format!("its answer cannot be read: {err}").into())
            })
        }))
    }

    /// Whether the server still declares the tool as it was pinned.
    ///
    /// # Errors
    ///
    /// [`Refused`](ToolErrorKind::Refused) where it declares another tool under the name, which the operator has not approved;
    /// [`NotFound`](ToolErrorKind::NotFound) where it offers none.
    fn check_pin(&self, connection: &Connection) -> Result<(), ToolError> {
        let (id, server) = (&self.id, &self.server.name);
        let what = match connection.tool(&self.definition.name) {
            Some(now) if now == self.definition => return Ok(()),
            Some(now) => {
                let change = DefinitionChange::Changed(self.definition.differences(&now));
                change.refusal(id, server)
            }
            None => {
                let what = DefinitionChange::Gone.refusal(id, server);
                return Err(ToolError::new(ToolErrorKind::NotFound, what));
            }
        };
        Err(ToolError::new(ToolErrorKind::Refused, what))
    }

    /// What the server asks for within the call, answered: members for the next request of the same call.
    ///
    /// `None` where it cannot be answered: there is no handler, the request is none for a form or an address, or it cannot be
    /// read. What the server sent as its state goes back as it came.
    async fn further_input(&self, result: CallToolResult) -> Option<Vec<(&'static str, String)>> {
        let handler: &Arc<dyn ElicitationHandler> = self.server.handler.as_ref()?;
        let mut answers = Map::new();
        for (key, request) in result.input_requests.unwrap_or_default() {
            if request["method"] != "elicitation/create" {
                return None;
            }
            let question = Elicitation::read(&self.server.name, request["params"].clone())?;
            let answer = handler.ask(&question).await;
            answers.insert(key, question.result(answer));
        }
        let mut res = vec![("inputResponses", Value::Object(answers).to_string())];
        res.extend(result.request_state.map(|it| ("requestState", it.to_string())));
        Some(res)
    }

    /// The result of a call that ended before its answer.
    fn ended(&self, over: Over) -> ToolResult {
        match over {
            Over::Cancelled => {
                ToolResult::failed(Failure::Cancelled, format!("{} was cancelled", self.id))
            }
            Over::TimedOut(after) => {
                let text = format!("{} timed out after {}", self.id, duration_text(after));
                ToolResult::failed(Failure::TimedOut { after: Some(after) }, text)
            }
        }
    }

    /// The call was made, and there is no result.
    fn failed(&self, err: &RequestError) -> ToolResult {
        let id = &self.id;
        match err {
            RequestError::Rpc(err) => {
                let mut text = format!("error (code {}): {}", err.code, err.message);
                if let Some(data) = &err.data {
                    text.push_str(&format!("\n{data}"));
                }
                ToolResult::failed(Failure::Reported { code: Some(err.code) }, text)
            }
            RequestError::TooLong(_) => {
                ToolResult::failed(Failure::limit("message"), format!("{id}: {err}"))
            }
            RequestError::Closed(_) | RequestError::Overloaded => ToolResult::failed(
                Failure::Lost,
                format!("what {id} did is not known, and it is not called again: {err}"),
            ),
        }
    }

    /// The call was not made: there is no connection. A variable that is not set is a result, which a model can report;
    /// everything else is an error, whose kind says whether another attempt can help.
    fn not_connected(&self, err: &ConnectError) -> Result<ToolResult, ToolError> {
        let what = format!("failed to call {}: the server {}: {err}", self.id, self.server.name);
        let kind = match err {
            ConnectError::Endpoint(EndpointError::Variables { names, .. }) => {
                let failure = Failure::Environment { missing: names.clone() };
                return Ok(ToolResult::failed(failure, what));
            }
            ConnectError::Start(err) => tool_error_kind(err.kind()),
            ConnectError::Endpoint(_) => ToolErrorKind::NotStartable,
            _ => ToolErrorKind::Unreachable,
        };
        Err(ToolError::new(kind, what))
    }
}

/// When the call is over before its answer. A cancellation that comes after the deadline is [the deadline's](CallContext::is_late).
///
/// `ends` is when its time is over, and how long that was; without one it has any time.
async fn over(ctx: &CallContext, ends: Option<(Instant, Duration)>) -> Over {
    let timed_out = async {
        match ends {
            Some((at, given)) => {
                sleep_until(at).await;
                given
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = ctx.cancellation().cancelled() => match ctx.time_given() {
            Some(given) if ctx.is_late() => Over::TimedOut(given),
            _ => Over::Cancelled,
        },
        given = timed_out => Over::TimedOut(given),
    }
}

/// A note of the server as progress from 0 to 1. Without a total it is not known how much is left; then the last share
/// stays, and the detail has the number.
fn report(ctx: &CallContext, note: &Note, last: &mut f64) {
    /// Characters of a message that are shown.
    const SHOWN: usize = 300;
    let Note { progress, total, message } = note;
    let mut detail: String = message.iter().flat_map(|it| it.chars()).take(SHOWN).collect();
    match total {
        Some(total) if *total > 0.0 => *last = (progress / total).clamp(0.0, 1.0),
        _ if detail.is_empty() => detail = format!("{progress}"),
        _ => {}
    }
    ctx.report(*last, detail);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use flyto_tools::Progress;
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_are_progress_from_0_to_1() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        let ctx = CallContext::new().with_progress(move |it: Progress| {
            sink.lock().expect("no panic").push(format!("{:?}", (it.progress(), it.detail())));
        });
        let mut last = 0.0;
        let notes = [
            json!({"progress": 1, "total": 4, "message": "a"}),
            json!({"progress": 2}),
            json!({"progress": 9, "total": 4}),
            json!({"progress": 1, "total": 0, "message": "b"}),
        ];
        for note in notes {
            report(&ctx, &serde_json::from_value(note).expect("a note"), &mut last);
        }
        let heard = heard.lock().expect("no panic").clone();
        assert_eq!(heard, [r#"(0.25, "a")"#, r#"(0.25, "2")"#, r#"(1.0, "")"#, r#"(1.0, "b")"#]);
    }
}
