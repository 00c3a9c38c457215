//! A step once for each item of a list.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use flyto_tools::{Failure, Omitted};
use serde_json::{Value, json};

use super::{
    super::{
        MAX_VALUE_BYTES, OnError, Step, StepStatus,
        cut::joined,
        outcome::at_once,
        results::{Output, StepValue},
        value::Scope,
    },
    CallEnd, Run, StepEnd, failed, failure_of,
};

/// What is kept of one item of a step.
struct ItemEnd {
    /// As JSON; `None` where there is no room for it in the list.
    output: Option<String>,
    omitted: Option<Omitted>,
    why: Option<String>,
    failure: Option<Failure>,
    is_of_tool: bool,
    n_calls: usize,
}

impl Run<'_> {
    /// A step once for each item. No item is begun once the list is full, or the call is over.
    pub(super) async fn items(
        &self,
        index: usize,
        step: &Step,
        scope: Scope,
        items: Vec<Value>,
    ) -> StepEnd {
        let width = if self.is_safe[index] { step.max_parallel } else { 1 };
        let n_items = items.len();
        // The brackets are part of the list.
        let left = AtomicUsize::new(MAX_VALUE_BYTES - 2);
        let calls = items.into_iter().enumerate().map(|(i, item)| {
            let scope = Scope { item: Some((Arc::new(item), i)), ..scope.clone() };
            let left = &left;
            async move { self.item(index, step, &scope, left).await }
        });
        let goes_on = step.on_error == OnError::Continue;
        let stop = |it: &ItemEnd| {
            it.output.is_none() || (it.why.is_some() && !goes_on) || self.over().is_some()
        };
        let ends = at_once(width, calls, stop).await;
        let n_calls = ends.iter().flatten().map(|it| it.n_calls).sum();
        let n_made = ends.len();
        let (mut outputs, mut omitted) = (Vec::new(), Vec::new());
        let mut first = None;
        for (i, end) in ends.into_iter().enumerate() {
            let Some(ItemEnd { output, omitted: left_out, why, failure, is_of_tool, .. }) = end
            else {
                continue;
            };
            let Some(output) = output else {
                let what = format!("the items give more than {MAX_VALUE_BYTES} bytes together");
                return failed(what, Some(Failure::limit("output")), n_calls);
            };
            // Those that the end of the call took along did not fail by themselves.
            let is_taken = matches!(&failure, Some(Failure::Cancelled | Failure::TimedOut { .. }))
                && self.over().is_some();
            if let Some(why) = why.filter(|_| !goes_on || is_taken) {
                first.get_or_insert((format!("item {i}: {why}"), failure, is_of_tool));
            }
            outputs.push(output);
            omitted.extend(left_out);
        }
        if n_made < n_items
            && first.is_none()
            && let Some(over) = self.over()
        {
            let failure = failure_of(&over);
            first = Some((format!("{failure} before item {n_made}"), Some(failure), false));
        }
        let is_error = first.is_some();
        let value = StepValue {
            status: if is_error { "failed" } else { "done" }.into(),
            is_error: is_error.into(),
            truncated: (!omitted.is_empty()).into(),
            text: Some(format!("[{}]", outputs.join(",")).into()),
            output: (!is_error).then_some(Output::JsonText),
            omitted: joined(omitted.into_iter()),
        };
        let status = if is_error { StepStatus::Failed } else { StepStatus::Done };
        let (why, failure, is_of_tool) =
            first.map_or((None, None, false), |(why, failure, is)| (Some(why), failure, is));
        let wall = Duration::ZERO;
        StepEnd { status, value: Some(value.into()), why, failure, is_of_tool, n_calls, wall }
    }

    /// One item, and what of it goes into the list while there is room.
    async fn item(&self, index: usize, step: &Step, scope: &Scope, left: &AtomicUsize) -> ItemEnd {
        let CallEnd { value, why, failure, is_of_tool, n_calls } =
            self.call(index, step, scope).await;
        let output = match &why {
            Some(why) => json!({ "error": why }).to_string(),
            None => value.compact().unwrap_or_else(|| "null".to_owned()),
        };
        let n_bytes = output.len() + 1;
        let has_room = left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(n_bytes))
            .is_ok();
        let output = has_room.then_some(output);
        ItemEnd { output, omitted: value.omitted, why, failure, is_of_tool, n_calls }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Mutex};

    use async_trait::async_trait;
    use flyto_tools::{CallContext, Input, ToolCaller, ToolError, ToolResult};

    use super::*;
    use crate::composite::{read, run::MAX_UNDO_BYTES};

    /// Gives back the lengths of the texts that it is called with.
    #[derive(Debug)]
    struct Lengths;

    #[async_trait]
    impl ToolCaller for Lengths {
        async fn call_tool(
            &self,
            _: &CallContext,
            _: &str,
            input: Input,
        ) -> Result<ToolResult, ToolError> {
            let texts = input.value().as_object().unwrap().values();
            let lengths = texts.map(|it| it.as_str().unwrap().len());
            Ok(ToolResult::text(Value::from_iter(lengths).to_string()))
        }
    }

    #[tokio::test]
    async fn large_lists_are_read_once_for_all_items() {
        let list = |id: &str| json!({"id": id, "tool": "list"});
        let part = |id: &str| json!({"$ref": format!("/steps/{id}/output/1")});
        let with =
            json!({"a": part("a"), "b": part("b"), "c": part("c"), "own": {"$ref": "/item"}});
        let undo = json!({"tool": "lengths", "with": with});
        let each = json!({
            "id": "each", "tool": "lengths", "for_each": {"$ref": "/input/items"}, "with": with, "undo": undo,
        });
        let composite = read(&json!({"steps": [list("a"), list("b"), list("c"), each]})).unwrap();
        let n_items = 100;
        let input = Arc::new(json!({"items": vec!["own"; n_items]}));
        let run = Run {
            composite: &composite,
            caller: &Lengths,
            still: None,
            ctx: CallContext::new(),
            inner: CallContext::new(),
            input: Arc::clone(&input),
            is_safe: vec![false; 4],
            n_calls: AtomicUsize::new(0),
            completed: Mutex::default(),
            undo_bytes_left: MAX_UNDO_BYTES.into(),
            kept: None,
            spill_dir: None,
        };
        let mut scope = Scope::new(input);
        let large = json!(vec!["x".repeat(9_000); 100]).to_string();
        for id in ["a", "b", "c"] {
            let value = StepValue {
                status: "done".into(),
                is_error: false.into(),
                truncated: false.into(),
                text: Some(large.as_str().into()),
                output: Some(Output::JsonText),
                omitted: None,
            };
            scope.steps.insert(id.to_owned(), value.into());
        }
        let parsed = Arc::clone(&scope.parsed);
        let end = run.step(3, scope).await;
        assert_eq!(end.status, StepStatus::Done);
        let outputs = end.value.unwrap().output().unwrap();
        let outputs: BTreeSet<String> =
            outputs.as_array().unwrap().iter().map(Value::to_string).collect();
        assert_eq!(outputs, BTreeSet::from(["[9000,9000,9000,3]".to_owned()]));
        // Each list once, then three of its parts for the call of each item and for its undo.
        assert_eq!(parsed.n_bytes(), 3 * large.len() + n_items * 2 * 3 * 9_002);
    }
}
