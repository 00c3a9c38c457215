//! Composites over the recorded results of their steps: no tool is called again.

use flyto_evolve::{Replay, ReplayOutcome};

use super::{life::Life, *};

fn pipeline(steps: Value) -> ToolDefinition {
    ToolDefinition::composite("job", "Does a job.", json!({ "steps": steps }))
}

fn outcome(replay: &Replay) -> String {
    match &replay.calls[0].outcome {
        ReplayOutcome::Equal => "equal".into(),
        ReplayOutcome::Different { differences } => {
            differences.iter().map(|it| format!("{} ", it.pointer)).collect()
        }
        ReplayOutcome::NotReproduced { why } => why.clone(),
        other => panic!("{other:?}"),
    }
}

/// The review of a version with these steps, after one call of the first version; and that no tool was called for it.
async fn reviewed(life: &Life, steps: Value, base: u64) -> String {
    let n_before = life.bench.called().len();
    life.apply(&pipeline(steps), Some(base)).await.unwrap();
    assert_eq!(life.bench.called().len(), n_before, "no tool is called");
    outcome(life.approver.0.lock().unwrap().last().unwrap().replay.as_ref().unwrap())
}

#[tokio::test]
async fn another_version_runs_over_the_recorded_steps() {
    let life = Life::new();
    let one = json!({"id": "one", "tool": "echo", "with": {"n": by_ref("/input/n")}});
    let two = json!({"id": "two", "tool": "say", "with": {"text": "hi"}});
    let flaky = json!({"id": "three", "tool": "flaky", "retry": {"times": 2, "delay_ms": 50}});
    life.apply(&pipeline(json!([one, two, flaky])), None).await.unwrap();
    life.call("job", json!({"n": 7})).await.unwrap();
    let calls = life.builder.store().calls("job", 10).unwrap();
    let ids: Vec<_> = calls[0].steps.iter().map(|it| it.step.as_str()).collect();
    assert_eq!((ids, calls[0].result.text.as_str()), (vec!["one", "two", "three"], "at last"));

    // Other ids and another order, with the same calls.
    let renamed = json!([
        {"id": "b", "tool": "say", "with": {"text": "hi"}},
        {"id": "a", "tool": "echo", "with": {"n": by_ref("/input/n")}},
        {"id": "c", "tool": "flaky", "retry": {"times": 2, "delay_ms": 50}},
    ]);
    assert_eq!(reviewed(&life, renamed, 1).await, "equal");
    // Fewer steps deliver something else.
    assert_eq!(reviewed(&life, json!([one, two]), 2).await, "/output ");
    let other_input = json!([one, {"id": "x", "tool": "say", "with": {"text": "hello"}}]);
    let why = "step \"x\" calls \"say\" with an input that was not recorded";
    assert_eq!(reviewed(&life, other_input, 3).await, why);
    let other_tool = json!([one, {"id": "y", "tool": "write"}]);
    let why = "step \"y\" calls \"write\", which was not called";
    assert_eq!(reviewed(&life, other_tool, 4).await, why);
    // A step may not have one record twice.
    let twice = json!([two, {"id": "again", "tool": "say", "with": {"text": "hi"}}]);
    let why = "step \"again\" calls \"say\" with an input that was not recorded";
    assert_eq!(reviewed(&life, twice, 5).await, why);
}

#[tokio::test]
async fn failures_and_undo_are_reproduced_with_all_that_they_tell() {
    let life = Life::new();
    let steps = json!([
        {"id": "a", "tool": "write", "with": {"n": 1},
         "undo": {"tool": "remove", "with": {"was": by_ref("/steps/a/output")}}},
        {"id": "b", "tool": "denied", "on_error": "continue"},
        {"id": "c", "tool": "fail", "retry": {"times": 1, "delay_ms": 1}, "on_error": "undo"},
    ]);
    life.apply(&pipeline(steps.clone()), None).await.unwrap();
    let result = life.call("job", json!({})).await.unwrap();
    assert_eq!(result.data.as_ref().unwrap()["undo"]["undone"], json!(["a"]));
    let call = life.builder.store().calls("job", 1).unwrap().remove(0);
    let kept: Vec<_> =
        call.steps.iter().map(|it| (it.step.as_str(), it.is_undo, it.is_refused)).collect();
    assert_eq!(
        kept,
        [("a", false, false), ("b", false, true), ("c", false, false), ("a", true, false)]
    );
    let same = life.builder.replay("job", 1, 10).await.unwrap();
    assert_eq!(outcome(&same), "equal", "{same}");
    // Without the undo, what it tells is gone.
    let mut bare = steps;
    bare[0].as_object_mut().unwrap().remove("undo");
    assert_eq!(
        reviewed(&life, bare, 1).await,
        "/output/undo/not_undoable/0 /output/undo/undone/0 "
    );
}

#[tokio::test]
async fn a_call_that_was_ended_is_not_run_again() {
    let life = Life::new();
    life.apply(&pipeline(json!([{"id": "w", "tool": "wait", "timeout_ms": 10}])), None)
        .await
        .unwrap();
    let ctx = CallContext::new();
    ctx.cancellation().cancel();
    let input = Input::from_value(json!({}));
    life.bench.caller.call_tool(&ctx, "job", input).await.unwrap();
    let replay = life.builder.replay("job", 1, 10).await.unwrap();
    assert_eq!(outcome(&replay), "the recorded call was cancelled");
}
