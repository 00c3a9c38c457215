//! What a call does.

use expect_test::expect;
use flyto_tools::CancellationToken;
use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn values_keep_their_types_on_the_way() {
    let bench = Bench::new();
    let composite = json!({
        "steps": [
            {"id": "one", "tool": "echo", "with": {"n": by_ref("/input/n"), "list": [1, by_ref("/input/n"), null]}},
            {"id": "two", "tool": "echo", "with": {
                "all": by_ref("/steps/one/output"), "third": by_ref("/steps/one/output/list/1"),
                "text": {"$concat": ["n=", by_ref("/steps/one/output/n")]}, "literal": {"$$ref": "/x"}
            }},
        ],
        "output": {"got": by_ref("/steps/two/output"), "ok": {"$default": [by_ref("/input/no"), "none"]}},
    });
    let result = bench.call(composite, json!({"n": 1.5})).await;
    let expected = json!({
        "got": {"all": {"list": [1, 1.5, null], "n": 1.5}, "literal": {"$ref": "/x"}, "text": "n=1.5", "third": 1.5},
        "ok": "none",
    });
    assert_eq!((result.data.unwrap(), result.failure), (expected, None));
}

#[tokio::test]
async fn numbers_keep_their_last_digit_on_the_way() {
    let bench = Bench::new();
    let numbers: Vec<f64> = (1..1000).map(|it| f64::from(it) / 7e5).collect();
    let composite = json!({
        "steps": [
            {"id": "one", "tool": "echo", "with": {"all": by_ref("/input/all")}},
            {"id": "each", "tool": "echo", "for_each": [1, 2], "with": {"all": by_ref("/steps/one/output/all")}},
        ],
        "output": by_ref("/steps/each/output/1/all"),
    });
    let result = bench.call(composite, json!({"all": numbers})).await;
    assert_eq!(result.data.unwrap(), json!(numbers));
}

#[tokio::test]
async fn what_failed_is_told_with_what_was_done_and_taken_back_in_reverse() {
    let bench = Bench::new();
    let undo = |path: &str| json!({"tool": "remove", "with": {"path": path, "was": by_ref("/steps/b/output/path")}});
    let composite = json!({
        "steps": [
            {"id": "a", "tool": "write", "with": {"path": "a"}, "undo": {"tool": "remove", "with": {"path": "a"}}},
            {"id": "b", "tool": "write", "with": {"path": "b"}, "undo": undo("b")},
            {"id": "each", "tool": "write", "for_each": [1, 2], "with": {"n": by_ref("/item")},
             "undo": {"tool": "remove", "with": {"n": by_ref("/item"), "i": by_ref("/index")}}},
            {"id": "c", "tool": "write", "with": {"path": "c"}},
            {"id": "bad", "tool": "write", "undo": {"tool": "fail"}},
            {"id": "d", "tool": "fail", "on_error": "undo", "retry": {"times": 2}},
            {"id": "e", "tool": "write"},
        ],
    });
    let result = bench.call(composite, json!({})).await;
    expect![[r#"
        step "d" failed
        a: done
        b: done
        each: done
        c: done
        bad: done
        d: failed: exit code 3: out of paper
        e: not run
        undone: each[1], each[0], b, a
        not undone: bad: exit code 3: out of paper
        without undo: c

        {"undone":["each[1]","each[0]","b","a"],"failed":[["bad","exit code 3: out of paper"]],"not_undoable":["c"]}
        Some(ExitCode { code: 3 })"#]]
    .assert_eq(&report(&result));
    assert_eq!(result.data.unwrap()["steps"][5]["n_calls"], 3);
    let removed: Vec<String> =
        bench.called().into_iter().filter(|it| it.starts_with("remove")).collect();
    expect![[r#"
        [
            "remove {\"n\":2,\"i\":1}",
            "remove {\"n\":1,\"i\":0}",
            "remove {\"path\":\"b\",\"was\":\"b\"}",
            "remove {\"path\":\"a\"}",
        ]
    "#]]
    .assert_debug_eq(&removed);
}

#[tokio::test]
async fn what_could_be_taken_back_and_was_not_is_told() {
    let bench = Bench::new();
    let undo = json!({"tool": "remove"});
    let steps = json!([
        {"id": "a", "tool": "write", "undo": undo},
        {"id": "each", "tool": "write", "for_each": [1, 2], "undo": undo},
        {"id": "c", "tool": "write"},
        {"id": "d", "tool": "fail"},
    ]);
    let result = bench.call(json!({ "steps": steps }), json!({})).await;
    expect![[r#"
        step "d" failed
        a: done
        each: done
        c: done
        d: failed: exit code 3: out of paper
        left as they are: each[1], each[0], a; the step "d" does not say "on_error": "undo"

        null
        Some(ExitCode { code: 3 })"#]]
    .assert_eq(&report(&result));
    let composite = json!({"steps": [{"id": "a", "tool": "write", "undo": undo}], "output": by_ref("/input/no")});
    let result = bench.call(composite, json!({})).await;
    expect![[r#"
        the steps ran, and the output could not be made: there is no value at "/input/no"
        a: done
        left as they are: a

        null
        Some(Reported { code: None })"#]]
    .assert_eq(&report(&result));
    assert!(!bench.called().iter().any(|it| it.starts_with("remove")));
}

#[tokio::test]
async fn a_step_that_is_denied_stays_denied() {
    let bench = Bench::new();
    let composite = json!({"steps": [{"id": "a", "tool": "denied", "retry": {"times": 5}}, {"id": "b", "tool": "write"}]});
    let result = bench.call(composite, json!({})).await;
    expect![[r#"
        step "a" failed
        a: failed: a rule denies it
        b: not run

        null
        Some(Denied)"#]]
    .assert_eq(&report(&result));
    assert_eq!(bench.called(), ["denied {}"]);
}

#[tokio::test]
async fn conditions_skip_and_errors_may_be_passed_over() {
    let bench = Bench::new();
    let composite = json!({
        "steps": [
            {"id": "maybe", "tool": "say", "with": {"text": "x"}, "when": {"equals": [by_ref("/input/mode"), "full"]}},
            {"id": "broken", "tool": "fail", "on_error": "continue"},
            {"id": "flaky", "tool": "flaky", "retry": {"times": 2, "delay_ms": 1}},
        ],
        "output": {
            "maybe": {"$default": [by_ref("/steps/maybe/output"), "skipped"]},
            "status": [by_ref("/steps/maybe/status"), by_ref("/steps/broken/status"), by_ref("/steps/broken/is_error")],
            "why": by_ref("/steps/broken/text"),
            "flaky": by_ref("/steps/flaky/output"),
        },
    });
    let result = bench.call(composite, json!({"mode": "fast"})).await;
    let expected = json!({
        "maybe": "skipped", "status": ["skipped", "failed", true], "why": "out of paper", "flaky": "at last",
    });
    assert_eq!(result.data.unwrap(), expected);
}

#[tokio::test]
async fn steps_without_an_edge_run_side_by_side() {
    let bench = Bench::new();
    let both = json!({"steps": [{"id": "a", "tool": "meet"}, {"id": "b", "tool": "meet"}], "output": [by_ref("/steps/a/text"), by_ref("/steps/b/text")]});
    let result = guarded(bench.call(both, json!({}))).await;
    assert_eq!(result.data.unwrap(), json!(["met", "met"]));
    let items = json!({"steps": [{"id": "a", "tool": "meet", "for_each": [1, 2, 3, 4], "max_parallel": 2}]});
    let result = guarded(bench.call(items, json!({}))).await;
    assert_eq!(result.data.unwrap(), json!(["met", "met", "met", "met"]));
}

/// Gives a call one turn, in which it comes to a step that waits.
async fn begins<F: Future>(mut call: std::pin::Pin<&mut F>) {
    std::future::poll_fn(|cx| {
        assert!(call.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn cancelling_ends_the_running_step_and_takes_back() {
    let bench = Bench::new();
    let composite = json!({"steps": [
        {"id": "a", "tool": "write", "undo": {"tool": "remove"}},
        {"id": "b", "tool": "wait"},
    ]});
    let tool = bench.tool(composite.clone());
    let token = CancellationToken::new();
    let ctx = CallContext::new().with_cancellation(token.clone());
    let mut call = std::pin::pin!(tool.execute(&ctx, Input::empty()));
    begins(call.as_mut()).await;
    assert_eq!(bench.called(), ["write {}", "wait {}"]);
    token.cancel();
    let result = guarded(call).await.unwrap();
    expect![[r#"
        the call was cancelled
        a: done
        b: failed: cancelled
        undone: a

        {"undone":["a"],"failed":[],"not_undoable":[]}
        Some(Cancelled)"#]]
    .assert_eq(&report(&result));
    // The same with the time over: one limit for all steps.
    let ctx = CallContext::new().with_timeout(Duration::from_millis(50));
    let result = guarded(bench.tool(composite).execute(&ctx, Input::empty())).await.unwrap();
    assert_eq!(result.failure, Some(Failure::TimedOut { after: Some(Duration::from_millis(50)) }));
    assert_eq!(result.data.unwrap()["undo"]["undone"], json!(["a"]));
}

#[tokio::test]
async fn items_are_bounded_and_come_in_order() {
    let bench = Bench::new();
    let each = |more: Value| {
        let mut step = json!({"id": "a", "tool": "echo", "for_each": by_ref("/input/list"), "with": {"v": by_ref("/item")}});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"steps": [step]})
    };
    let list: Vec<usize> = (0..101).collect();
    let result = bench.call(each(json!({})), json!({"list": list})).await;
    assert!(
        result.output.contains("there are 101 items, and at most 100 are taken"),
        "{}",
        result.output
    );
    let result =
        bench.call(each(json!({"max_items": 101, "max_parallel": 8})), json!({"list": list})).await;
    let expected: Vec<Value> = list.iter().map(|it| json!({"v": it})).collect();
    assert_eq!(result.data.unwrap(), json!(expected));
    let result = bench.call(each(json!({})), json!({"list": "abc"})).await;
    assert!(
        result.output.contains("\"for_each\" takes a list, and the value is a text"),
        "{}",
        result.output
    );
    let composite =
        json!({"steps": [{"id": "a", "tool": "fail", "for_each": [1, 2], "on_error": "continue"}]});
    let composite = json!({"steps": composite["steps"], "output": {"$default": [by_ref("/steps/a/output"), 0]}});
    let result = bench.call(composite, json!({})).await;
    let error = json!({"error": "exit code 3: out of paper"});
    assert_eq!(result.data.unwrap(), json!([error, error]));
    // Calls are counted, retries included.
    let steps: Vec<Value> = (0..3).map(|i| json!({"id": format!("s{i}"), "tool": "say", "for_each": by_ref("/input/list"), "max_items": 1000, "with": {"text": ""}})).collect();
    let many: Vec<usize> = (0..1000).collect();
    let result = bench.call(json!({"steps": steps}), json!({"list": many})).await;
    assert!(
        result.output.contains("the tool made 2000 calls, and that is the most"),
        "{}",
        result.output
    );
}

#[tokio::test]
async fn a_long_text_is_cut_and_marked() {
    let bench = Bench::new();
    let composite = json!({
        "steps": [{"id": "a", "tool": "say", "with": {"text": by_ref("/input/text")}}],
        "output": {"cut": by_ref("/steps/a/truncated"), "text": by_ref("/steps/a/output")},
    });
    let text = format!("[{}]", "1,".repeat(200_000));
    let data = bench.call(composite, json!({"text": text})).await.data.unwrap();
    assert_eq!(data["cut"], true);
    let cut = data["text"].as_str().unwrap();
    assert!(cut.len() <= flyto_evolve::MAX_STEP_BYTES);
    assert!(cut.starts_with("[1,1,") && cut.ends_with(",1,]"), "both ends stay");
}

#[tokio::test]
async fn what_is_cut_says_how_much_and_where_the_whole_is() {
    let bench = Bench::new();
    let temp = tempfile::tempdir().unwrap();
    let composite = json!({
        "steps": [{"id": "a", "tool": "say", "with": {"text": by_ref("/input/text")}}],
        "output": by_ref("/steps/a/text"),
    });
    let text = "0123456789\n".repeat(60_000);
    let tool = bench.tool(composite.clone()).spill_dir(temp.path().join("output"));
    let input = Input::from_value(json!({"text": text}));
    let result = tool.execute(&CallContext::new(), input).await.unwrap();
    let omitted = result.omitted.unwrap();
    let notice = format!("\n{}\n", flyto_program::omission_notice(&omitted));
    let (head, tail) = result.output.split_once(&notice).expect("it stands in the text");
    assert_eq!(head.len() + tail.len() + usize::try_from(omitted.bytes).unwrap(), text.len());
    assert!(text.starts_with(head) && text.ends_with(tail));
    assert_eq!(std::fs::read_to_string(omitted.whole.unwrap()).unwrap(), text);
    // Without a directory, it says how much.
    let result = bench.call(composite, json!({"text": text})).await;
    assert_eq!(result.omitted.map(|it| (it.bytes, it.whole)), Some((omitted.bytes, None)));
}

#[tokio::test]
async fn what_is_cut_of_an_item_is_told() {
    let bench = Bench::new();
    let composite = json!({
        "steps": [{
            "id": "a", "tool": "say", "for_each": by_ref("/input/texts"), "with": {"text": by_ref("/item")}
        }],
        "output": {"cut": by_ref("/steps/a/truncated"), "texts": by_ref("/steps/a/output")},
    });
    let texts = ["a", "b", "c"].map(|it| it.repeat(if it == "a" { 1 } else { 300_000 }));
    let result = bench.call(composite, json!({"texts": texts})).await;
    let data = result.data.unwrap();
    assert_eq!((&data["cut"], &data["texts"][0]), (&json!(true), &json!("a")));
    let n_kept = |it: usize| data["texts"][it].as_str().unwrap().matches(['b', 'c']).count() as u64;
    // The line between the ends has a "b", in "bytes".
    assert_eq!(result.omitted.unwrap().bytes, 600_000 - (n_kept(1) - 1) - (n_kept(2) - 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random graphs: every step runs once, and behind all that it refers to.
    #[test]
    fn steps_run_behind_what_they_need(
        edges in prop::collection::vec((0_usize..20, 0_usize..20), 0..40),
        unsafe_steps in prop::collection::btree_set(0_usize..20, 0..6),
    ) {
        let steps: Vec<Value> = (0..20).map(|at| {
            let before: Vec<usize> = edges.iter().filter(|it| it.1 == at && it.0 < at).map(|it| it.0).collect();
            let refs: Vec<Value> = before.iter().map(|it| by_ref(&format!("/steps/s{it}/output/id"))).collect();
            let after: Vec<String> = edges.iter().filter(|it| it.0 == at && it.1 < at).map(|it| format!("s{}", it.1)).collect();
            let tool = if unsafe_steps.contains(&at) { "write" } else { "echo" };
            json!({"id": format!("s{at}"), "tool": tool, "with": {"id": at, "refs": refs}, "after": after})
        }).collect();
        let all: Vec<Value> = (0..20).map(|it| by_ref(&format!("/steps/s{it}/output"))).collect();
        let bench = Bench::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let result = runtime.block_on(bench.call(json!({"steps": steps, "output": all}), json!({})));
        let data = result.data.unwrap();
        let order: Vec<u64> = bench.called().iter().map(|it| {
            let input: Value = serde_json::from_str(it.split_once(' ').unwrap().1).unwrap();
            input["id"].as_u64().unwrap()
        }).collect();
        prop_assert_eq!(order.len(), 20);
        let place = |id: usize| order.iter().position(|it| *it == id as u64).unwrap();
        for (a, b) in &edges {
            if a != b {
                prop_assert!(place(*a.min(b)) < place(*a.max(b)));
            }
        }
        for (at, it) in data.as_array().unwrap().iter().enumerate() {
            prop_assert_eq!(&it["id"], at);
        }
    }
}

#[tokio::test]
async fn time_in_which_a_person_is_asked_is_not_that_of_the_tool() {
    let bench = Bench::new();
    let composite = json!({
        "steps": [
            {"id": "a", "tool": "asked", "timeout_ms": 2000, "with": {"n": 1}},
            {"id": "b", "tool": "asked", "with": {"n": by_ref("/steps/a/output/n")}},
        ],
        "timeout_ms": 3000,
    });
    let result = guarded(bench.call(composite, json!({}))).await;
    assert_eq!((result.output.as_str(), result.failure), (r#"{"n":1}"#, None));
}

#[tokio::test]
async fn an_input_that_a_step_made_is_no_fault_of_the_caller() {
    let bench = Bench::new();
    for (list, failure) in [
        (by_ref("/input/list"), Failure::BadInput),
        (by_ref("/steps/a/output/list"), Failure::reported()),
    ] {
        let steps = json!([
            {"id": "a", "tool": "echo", "with": {"list": by_ref("/input/list")}},
            {"id": "b", "tool": "echo", "for_each": list},
        ]);
        let result = bench.call(json!({"steps": steps}), json!({"list": "abc"})).await;
        assert_eq!(result.failure, Some(failure), "{}", result.output);
    }
}

/// Registers a tool that only reads.
fn add<F>(bench: &Bench, name: &str, run: impl Fn(Object) -> F + Send + Sync + 'static)
where
    F: Future<Output = ToolResult> + Send + 'static,
{
    let tool = NativeTool::builder(name, "Reads.").metadata(reading());
    let tool = tool.run(move |_, it: Object| run(it)).unwrap();
    bench.registry.register("test", Arc::new(tool)).unwrap();
}

#[tokio::test]
async fn a_step_that_fails_second_has_its_say_about_undo() {
    let bench = Bench::new();
    let (send, heard) = tokio::sync::watch::channel(false);
    add(&bench, "first", move |_| {
        let _ = send.send(true);
        async { ToolResult::failed(Failure::reported(), "first") }
    });
    add(&bench, "second", move |_| {
        let mut heard = heard.clone();
        async move {
            heard.wait_for(|it| *it).await.unwrap();
            tokio::task::yield_now().await;
            ToolResult::failed(Failure::reported(), "second")
        }
    });
    let composite = json!({"steps": [
        {"id": "a", "tool": "write", "undo": {"tool": "remove"}},
        {"id": "b", "tool": "second", "after": ["a"], "on_error": "undo"},
        {"id": "c", "tool": "first", "after": ["a"]},
    ]});
    let result = guarded(bench.call(composite, json!({}))).await;
    assert!(result.output.starts_with("step \"c\" failed\n"), "{}", result.output);
    assert!(result.output.contains("undone: a\n"), "{}", result.output);
}

#[tokio::test]
async fn no_item_is_begun_once_the_call_is_over() {
    let bench = Bench::new();
    let token = CancellationToken::new();
    let stop = token.clone();
    add(&bench, "stops", move |_| {
        stop.cancel();
        async { ToolResult::text("") }
    });
    let steps = json!([
        {"id": "a", "tool": "stops", "for_each": [1, 2, 3], "on_error": "continue"},
        {"id": "b", "tool": "say", "with": {"text": ""}, "after": ["a"]},
    ]);
    let tool = bench.tool(json!({"steps": steps, "output": 1}));
    let ctx = CallContext::new().with_cancellation(token);
    let result = guarded(tool.execute(&ctx, Input::empty())).await.unwrap();
    assert_eq!(bench.called(), ["stops {}"]);
    expect![[r#"
        the call was cancelled
        a: failed: item 0: cancelled: stops was cancelled
        b: not run

        {"undone":[],"failed":[],"not_undoable":[]}
        Some(Cancelled)"#]]
    .assert_eq(&report(&result));
}

#[tokio::test]
async fn no_item_is_begun_once_the_list_is_full() {
    let bench = Bench::new();
    add(&bench, "large", async |_| ToolResult::text("x".repeat(200_000)));
    let items: Vec<usize> = (0..40).collect();
    let composite = json!({"steps": [{"id": "a", "tool": "large", "for_each": items, "on_error": "continue"}], "output": 1});
    let result = guarded(bench.call(composite, json!({}))).await;
    let told = "the items give more than 1048576 bytes together";
    assert!(!result.is_error(), "{}", result.output);
    assert_eq!(bench.called().len(), 6);
    let stops = json!({"steps": [{"id": "a", "tool": "large", "for_each": items}]});
    let result = guarded(bench.call(stops, json!({}))).await;
    assert!(result.output.contains(told), "{}", result.output);
    assert_eq!(bench.called().len(), 12);
}

#[tokio::test]
async fn what_is_kept_for_undo_is_bounded() {
    let bench = Bench::new();
    let items: Vec<usize> = (0..100).collect();
    let step = json!({
        "id": "a", "tool": "write", "for_each": items, "on_error": "undo",
        "undo": {"tool": "remove", "with": {"blob": by_ref("/input/blob")}},
    });
    let input = json!({"blob": "x".repeat(1_000_000)});
    let result = guarded(bench.call(json!({"steps": [step]}), input)).await;
    let told = "item 16: what is kept to undo calls has more than 16777216 bytes";
    assert!(result.output.contains(told), "{}", result.output);
    // The one beyond the bound stays, and is told; the others are taken back.
    assert!(result.output.contains("\nundone: a[15], a[14], "), "{}", result.output);
    assert!(result.output.contains("\nnot undone: a[16]: what is kept"), "{}", result.output);
}

#[tokio::test]
async fn an_undo_that_hangs_leaves_time_for_the_others() {
    let bench = Bench::new();
    let deadlines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&deadlines);
    let takes_back = NativeTool::builder("takes_back", "Has a deadline.");
    let takes_back = takes_back.run(move |ctx: CallContext, _: Object| {
        seen.lock().unwrap().push(ctx.deadline().unwrap());
        async { "done" }
    });
    bench.registry.register("test", Arc::new(takes_back.unwrap())).unwrap();
    let step = |id: &str| json!({"id": id, "tool": "write", "undo": {"tool": "takes_back"}});
    let composite = json!({"steps": [
        {"id": "z", "tool": "write"},
        step("a"), step("b"), step("c"), {"id": "d", "tool": "fail", "on_error": "undo"},
    ]});
    let result = guarded(bench.call(composite, json!({}))).await;
    assert!(result.output.contains("undone: c, b, a\n"), "{}", result.output);
    // Only the last one may take all of the time.
    let deadlines = deadlines.lock().unwrap();
    assert!(deadlines[..2].iter().all(|it| it < &deadlines[2]), "{deadlines:?}");
}

#[tokio::test]
async fn an_undo_that_was_killed_at_its_limit_says_so() {
    let bench = Bench::new();
    let calls = [("killed", "\nexit: signal: killed"), ("silent", "")];
    let step = |(name, text): &(&str, &str)| {
        let text = (*text).to_owned();
        add(&bench, name, move |_| {
            let failure = Failure::TimedOut { after: Some(Duration::from_secs(5)) };
            let result = ToolResult::failed(failure, text.clone());
            async move { result }
        });
        json!({"id": name, "tool": "write", "undo": {"tool": name}})
    };
    let mut steps: Vec<Value> = calls.iter().map(step).collect();
    steps.push(json!({"id": "d", "tool": "fail", "on_error": "undo"}));
    let result = guarded(bench.call(json!({ "steps": steps }), json!({}))).await;
    let expected = json!([["silent", "timed out"], ["killed", "timed out: exit: signal: killed"]]);
    assert_eq!(result.data.as_ref().unwrap()["undo"]["failed"], expected, "{}", result.output);
    let told = "\nnot undone: killed: timed out: exit: signal: killed\n";
    assert!(result.output.contains(told), "{}", result.output);
}

#[tokio::test]
async fn a_composite_within_another_one_takes_back_to_its_end() {
    let bench = Bench::new();
    let n_undone = Arc::new(Mutex::new(0));
    let undone = Arc::clone(&n_undone);
    add(&bench, "takes_back", move |_| {
        let undone = Arc::clone(&undone);
        async move {
            // Longer than a call that is over has to end.
            tokio::time::sleep(Duration::from_millis(2500)).await;
            *undone.lock().unwrap() += 1;
            ToolResult::text("")
        }
    });
    let inner = json!({"steps": [
        {"id": "a", "tool": "write", "with": {"n": 1}, "undo": {"tool": "takes_back"}},
        {"id": "b", "tool": "write", "with": {"n": 2}, "undo": {"tool": "takes_back"}},
        {"id": "c", "tool": "wait"},
    ]});
    let def = ToolDefinition::composite("inner", "Is within another one.", inner);
    let caller = Arc::clone(&bench.caller) as _;
    let inner = CompositeTool::new(def, caller, Arc::clone(&bench.registry)).unwrap();
    bench.registry.register("test", Arc::new(inner)).unwrap();
    let outer = |more: Value| {
        let mut step = json!({"id": "i", "tool": "inner", "on_error": "undo"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"steps": [{"id": "o", "tool": "write", "undo": {"tool": "remove"}}, step]})
    };
    // At the limit of its step, at that of the whole, and with a cancellation.
    let result = guarded(bench.call(outer(json!({"timeout_ms": 200})), json!({}))).await;
    assert!(result.output.contains("undone: o\n"), "{}", result.output);
    assert_eq!(*n_undone.lock().unwrap(), 2, "{}", result.output);
    let ctx = CallContext::new().with_timeout(Duration::from_millis(200));
    let tool = bench.tool(outer(json!({})));
    let result = guarded(tool.execute(&ctx, Input::empty())).await.unwrap();
    assert!(result.output.contains("undone: o\n"), "{}", result.output);
    assert_eq!(*n_undone.lock().unwrap(), 4, "{}", result.output);
    let token = CancellationToken::new();
    let ctx = CallContext::new().with_cancellation(token.clone());
    let mut call = std::pin::pin!(tool.execute(&ctx, Input::empty()));
    begins(call.as_mut()).await;
    token.cancel();
    let result = guarded(call).await.unwrap();
    assert!(result.output.contains("undone: o\n"), "{}", result.output);
    assert_eq!(*n_undone.lock().unwrap(), 6, "{}", result.output);
}
