//! Results as the steps behind them see them, why calls failed, and futures that run side by side.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use flyto_execenv::SpillDir;
use flyto_program::omission_notice;
use flyto_tools::{Failure, Omitted, ToolResult};
use serde_json::Value;

use super::{
    MAX_STEP_BYTES,
    cut::cut,
    results::{Output, StepValue},
};

/// Runs futures in the task of the caller, `width` at a time, in their order; none is started once `stop` said so.
///
/// Futures are made when they are started and not before. The result has an entry for each that was
/// started, `None` for one that was not over when `stop` said so; those that run then are waited
/// for. Dropping the returned future drops all of them.
pub(super) async fn at_once<F: Future>(
    width: usize,
    futures: impl Iterator<Item = F>,
    stop: impl Fn(&F::Output) -> bool,
) -> Vec<Option<F::Output>> {
    let mut waiting = futures.enumerate();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut res: Vec<Option<F::Output>> = Vec::new();
    let mut is_stopped = false;
    poll_fn(|cx| {
        loop {
            while !is_stopped && running.len() < width.max(1) {
                let Some((index, next)) = waiting.next() else { break };
                res.push(None);
                running.push((index, Box::pin(next)));
            }
            let n_before = running.len();
            running.retain_mut(|(index, it)| match it.as_mut().poll(cx) {
                Poll::Ready(output) => {
                    is_stopped |= stop(&output);
                    res[*index] = Some(output);
                    false
                }
                Poll::Pending => true,
            });
            if running.is_empty() && (is_stopped || waiting.size_hint().1 == Some(0)) {
                return Poll::Ready(());
            }
            if running.len() == n_before {
                return Poll::Pending;
            }
        }
    })
    .await;
    res
}

/// A result as the steps behind it see it: `text`, and as `output` its data, the JSON that the text is, or the text.
///
/// A text is taken for JSON only where it begins as an object or a list does and is whole: a number
/// or a word stays a text, so that a step never sees another type than the tool meant. Of a text
/// beyond 256 KiB, the middle is [cut], and `truncated` says so, as for data that is larger.
pub(super) fn value_of(result: ToolResult, dir: Option<&SpillDir>) -> StepValue {
    let is_error = result.is_error();
    let (text, omitted) = cut(result.output, result.omitted, dir);
    let data = result.data.map(|it| it.to_string());
    let is_large = data.as_ref().is_some_and(|it| it.len() > MAX_STEP_BYTES);
    let is_cut = omitted.is_some() || is_large;
    let output = match data.filter(|_| !is_large) {
        Some(data) => Output::Data(data),
        None => {
            let looks_so = !is_cut && text.trim_start().starts_with(['{', '[']);
            match looks_so && serde_json::from_str::<Value>(&text).is_ok() {
                true => Output::JsonText,
                false => Output::Text,
            }
        }
    };
    StepValue {
        status: if is_error { "failed" } else { "done" }.into(),
        is_error: is_error.into(),
        truncated: is_cut.into(),
        text: Some(text.into()),
        output: (!is_error).then_some(output),
        omitted: omitted.filter(|it| it.bytes > 0),
    }
}

/// How much of a result tells why the call failed, in bytes.
const MAX_WHY_BYTES: usize = 1024;

/// Why a call failed: the kind of its failure, and the begin of its text, which alone does not tell that its time was over.
/// `None` where it did not fail.
pub(super) fn why_failed(result: &ToolResult) -> Option<String> {
    let failure = result.failure.as_ref()?;
    let text = result.output.trim();
    let (start, rest) = text.split_at(text.floor_char_boundary(MAX_WHY_BYTES));
    Some(match (start, rest.len()) {
        ("", _) => failure.to_string(),
        (_, 0) => format!("{failure}: {text}"),
        (start, n) => {
            format!("{failure}: {start} {}", omission_notice(&Omitted::new(n as u64)))
        }
    })
}

/// The result of a call that did not end behind its deadline, and was dropped.
pub(super) fn abandoned(after: Option<Duration>) -> ToolResult {
    let text = "the call did not end in time, and was abandoned";
    ToolResult::failed(Failure::TimedOut { after }, text)
}

/// That of a call that could not be made.
pub(super) fn error_value(why: &str) -> StepValue {
    StepValue {
        status: "failed".into(),
        is_error: true.into(),
        truncated: false.into(),
        text: Some(why.into()),
        output: None,
        omitted: None,
    }
}

/// The type of a value, for a message.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
