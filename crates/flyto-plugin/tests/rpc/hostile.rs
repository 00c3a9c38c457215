//! Programs that do not do their part.

use std::{fs, time::Duration};

use expect_test::expect;
use flyto_tools::{CallContext, Failure, Input, Tool};

use crate::{GUARD, Host, assert_none_left_in, def, shown};

#[tokio::test]
async fn a_thousand_answers_without_reading_a_large_input() {
    let host = Host::new(r#"printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"output":"done"}}'"#);
    let input = Input::parse(format!("{:?}", "x".repeat(1 << 20))).expect("JSON");
    let tool = host.tool(def());
    for n in 0..1000 {
        let res = tool.execute(&CallContext::new(), input.clone()).await.expect("it was tried");
        assert_eq!((res.output.as_str(), res.failure), ("done", None), "call {n}");
    }
}

/// As above, of an interpreter that takes its time before it ends.
#[tokio::test]
async fn a_hundred_answers_of_python_without_reading_a_large_input() {
    let host = Host::new(
        r#"exec python3 -c 'print("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"done\"}}")'"#,
    );
    let input = Input::parse(format!("{:?}", "x".repeat(200_000))).expect("JSON");
    let tool = host.tool(def());
    for n in 0..100 {
        let res = tool.execute(&CallContext::new(), input.clone()).await.expect("it was tried");
        assert_eq!((res.output.as_str(), res.failure), ("done", None), "call {n}");
    }
}

#[tokio::test]
async fn nothing_survives_a_deadline() {
    let host =
        Host::new("echo so far >&2\nfor _ in 1 2 3; do sh -c 'sleep 600 & sleep 600' & done\nwait");
    let mut def = def();
    def.timeout = Duration::from_secs(1);
    let input = format!("{:?}", "x".repeat(1 << 20));
    let res = host.call(def, &input).await;
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(Duration::from_secs(1)) }));
    expect![[r#"
        timed out: "plugin tool \"p:t\" timed out after 1s\nstderr: so far\n"
    "#]]
    .assert_eq(&shown(&res));
    assert_none_left_in(host.session.path());
}

#[tokio::test]
async fn an_answer_before_the_deadline_is_no_result_of_a_call_that_goes_on() {
    let host =
        Host::new(r#"echo '{"jsonrpc":"2.0","id":1,"result":{"output":"early"}}'; exec sleep 600"#);
    let mut def = def();
    def.timeout = Duration::from_secs(1);
    let res = host.call(def, "").await;
    expect![[r#"
        timed out: "plugin tool \"p:t\" timed out after 1s\nstderr: "
    "#]]
    .assert_eq(&shown(&res));
    let printed = res.execution.and_then(|it| it.stdout).expect("kept");
    assert!(printed.contains("early"), "{printed}");
}

#[tokio::test]
async fn a_descendant_that_keeps_the_pipe_delays_nothing_for_long() {
    let host =
        Host::new(r#"sleep 600 & echo '{"jsonrpc":"2.0","id":1,"result":{"output":"done"}}'"#);
    let mut def = def();
    def.timeout = GUARD;
    let res = host.call(def, "").await;
    assert_eq!((res.output.as_str(), &res.failure), ("done", &None));
    assert!(res.execution.expect("it ran").pipe_held);
    assert_none_left_in(host.session.path());
}

#[tokio::test]
async fn an_answer_of_ten_megabytes_is_whole() {
    let text = "0123456789".repeat(1 << 20);
    let host =
        Host::answering(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"output":"{text}"}}}}"#));
    let res = host.call(def(), "").await;
    assert!(res.output == text && res.failure.is_none() && res.omitted.is_none());
}

#[tokio::test]
async fn an_answer_beyond_the_bound_says_how_long_it_was_and_where_it_is() {
    let text = "0123456789".repeat(2 << 20);
    let mut host = Host::answering(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"output\":\"{text}\"}}}}\n"
    ));
    let res = host.call(def(), "").await;
    assert_eq!(res.failure, Some(Failure::BadOutput));
    let first = res.output.lines().next().expect("a line");
    expect![[r#"plugin tool "p:t": stdout has 20971568 bytes, and an answer at most 16777216"#]]
        .assert_eq(first);

    let spill = host.session.path().join("spill");
    host.ctx = host.ctx.clone().spill_dir(&spill);
    let res = host.call(def(), "").await;
    let whole = res.omitted.expect("told").whole.expect("kept");
    let first = res.output.lines().next().expect("a line");
    expect![[r#"plugin tool "p:t": stdout has 20971568 bytes, and an answer at most 16777216; all of it is in FILE"#]].assert_eq(&first.replace(&whole, "FILE"));
    assert!(fs::read_to_string(&whole).expect("there").contains(&text));
}

#[tokio::test]
async fn an_answer_beside_a_long_log_counts() {
    let mut host = Host::answering("");
    let spill = host.session.path().join("spill");
    host.ctx = host.ctx.clone().spill_dir(&spill);
    let log = "a line of a log\n".repeat(2 << 20);
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"output":"done"}}"#;
    for stdout in [format!("{log}{reply}\n"), format!("{reply}\n{log}")] {
        fs::write(host.dir.path().join("reply"), stdout).expect("written");
        let res = host.call(def(), "").await;
        assert_eq!((res.output.as_str(), &res.failure, &res.omitted), ("done", &None, &None));
        // No reader would learn of the file.
        assert_eq!(fs::read_dir(&spill).expect("made").count(), 0);
    }
}

#[tokio::test]
async fn a_log_that_looks_like_messages_is_read_in_no_time_to_speak_of() {
    let line = "{\"jsonrpc\":\"2.0\",\"level\":1,\"more\":[]}\n".repeat(200_000);
    let res = Host::answering(line).call(def(), "").await;
    assert_eq!(res.failure, Some(Failure::BadOutput));
}
