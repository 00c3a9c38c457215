use std::sync::Arc;

use expect_test::{Expect, expect};
use flyto_tools::{CallContext, Failure};

use super::{GUARD, HANGING, Host, in_words, listening, request};
use crate::session::lines::LONGEST_LINE_BYTES;

/// What a plugin answers to the call of `t` with `args`.
async fn check(script: &str, args: &str, expect: Expect) {
    let host = Host::new(script);
    expect.assert_eq(&format!("{:?}\n", host.text("t", args).await));
}

#[tokio::test]
async fn answers_come_in_any_order() {
    let host = Host::new(
        r#"
taken = [it for _, it in zip(range(3), requests())]
for method, id, tool, args in reversed(taken):
    reply(id, f"{tool} {args}")
"#,
    );
    let (a, b, c) = tokio::join!(host.text("a", "[1]"), host.text("b", "2"), host.text("c", "{}"));
    assert_eq!((&*a, &*b, &*c), ("a [1]", "b 2", "c {}"));
    assert_eq!(host.starts(), 1);
}

#[tokio::test]
async fn progress_comes_before_the_answer() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    for share in range(1, 5):
        progress(id, share / 4, f"part {share}")
    progress(id + 1, 0.1, "of a call that is not there")
    reply(id, "done")
"#,
    );
    let (ctx, told) = listening();
    assert_eq!(in_words(host.call(&ctx, "t", "{}").await).output, "done");
    let told = told.lock().expect("nobody panics").join(", ");
    expect!["25% part 1, 50% part 2, 75% part 3, 100% part 4"].assert_eq(&told);
    // Without a listener it goes nowhere.
    assert_eq!(host.text("t", "{}").await, "done");
}

#[tokio::test]
async fn what_is_no_message_is_passed_over() {
    check(
        r#"
for method, id, tool, args in requests():
    print("starting up\n{not json}\n[1]\n")
    say({"level": "info", "id": id, "message": "a log that is JSON"})
    reply(999, "nobody asked")
    reply("x", "nobody asked")
    say({"jsonrpc": "2.0", "result": {"output": "without an id"}})
    reply(str(id), "the answer")
    reply(id, "twice")
"#,
        "{}",
        expect![[r#"
            "the answer"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_in_many_writes_and_many_in_one() {
    let host = Host::new(
        r#"
first = next(requests())
for byte in json.dumps({"jsonrpc": "2.0", "id": first[1], "result": {"output": "pieces é"}}).encode() + b"\r\n":
    os.write(1, bytes([byte]))
taken = [it for _, it in zip(range(2), requests())]
os.write(1, b"".join(b'{"id":%d,"result":{"output":"%d"}}\n' % (id, id) for _, id, _, _ in taken))
last = next(requests())
# Without a line feed at its end.
os.write(1, b'{"id":%d,"result":{"output":"last"}}' % last[1])
"#,
    );
    assert_eq!(host.text("t", "{}").await, "pieces é");
    let (a, b) = tokio::join!(host.text("t", "{}"), host.text("t", "{}"));
    assert_eq!((&*a, &*b), ("2", "3"));
    assert_eq!(host.text("t", "{}").await, "last");
}

#[tokio::test]
async fn large_requests_and_answers() {
    let host = Host::new("for method, id, tool, args in requests(): reply(id, args * 10)\n");
    let args = format!("{:?}", "x".repeat(1 << 20));
    let text = host.text("t", &args).await;
    assert_eq!((text.len(), text.trim_matches('x')), (10 << 20, ""));
    assert_eq!(host.text("t", "\"y\"").await, "y".repeat(10));
}

#[tokio::test]
async fn an_answer_that_is_too_long_costs_its_call_alone() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    if tool == "long":
        reply(id, "x" * args)
    else:
        reply(id, str(os.getpid()))
"#,
    );
    let pid = host.text("pid", "{}").await;
    let res = host.call(&CallContext::new(), "long", &LONGEST_LINE_BYTES.to_string()).await;
    let res = in_words(res);
    assert_eq!(res.failure, Some(Failure::BadOutput));
    expect![[r#"plugin tool "p:t": the answer has 16777269 bytes, more than the 16777216 of the longest line that is read"#]]
        .assert_eq(&res.output);
    assert_eq!(host.text("pid", "{}").await, pid);
}

#[tokio::test]
async fn a_long_line_without_an_id_near_its_start_ends_the_process() {
    let host = Host::new(
        r#"
taken = [it for _, it in zip(range(2), requests())]
os.write(1, b'{"result":{"output":"' + b"x" * (1 << 24) + b'"},"id":1}\n')
sys.stdin.read()
"#,
    );
    let ctx = CallContext::new();
    let (a, b) = tokio::join!(host.call(&ctx, "t", "{}"), host.call(&ctx, "t", "{}"));
    for res in [a, b] {
        let res = in_words(res);
        assert_eq!(res.failure, Some(Failure::Lost));
        expect![[r#"
            plugin tool "p:t": the session was ended: it sent 16777247 bytes in a line of stdout that does not say near its start whose answer it is
            stderr: "#]].assert_eq(&res.output);
    }
}

#[tokio::test]
async fn errors_in_the_words_of_the_plugin() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    if tool == "fails":
        say({"id": id, "error": {"code": -32000, "message": "no such city", "data": {"hint": "Rome"}}})
    else:
        say({"jsonrpc": "2.0", "id": id, "result": {"output": 5}})
"#,
    );
    let ctx = CallContext::new();
    let res = in_words(host.call(&ctx, "fails", "{}").await);
    assert_eq!(res.failure, Some(Failure::Reported { code: Some(-32000) }));
    assert_eq!(res.output, "error (code -32000): no such city");
    assert_eq!(res.data.expect("kept")["hint"], "Rome");
    let res = in_words(host.call(&ctx, "t", "{}").await);
    assert_eq!(res.failure, Some(Failure::BadOutput));
    expect![[r#"plugin tool "p:t": "output" must be a string, found a number"#]]
        .assert_eq(&res.output);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_at_once() {
    let host = Arc::new(Host::new(
        r#"
import random
held = []
for method, id, tool, args in requests():
    held.append((id, args))
    if len(held) == 100:
        random.shuffle(held)
        for id, args in held: reply(id, str(args))
        held = []
"#,
    ));
    let calls: Vec<_> = (0..1000)
        .map(|n| {
            let host = Arc::clone(&host);
            tokio::spawn(async move { (n, host.text("t", &n.to_string()).await) })
        })
        .collect();
    for call in calls {
        let (n, text) = call.await.expect("no call panics");
        assert_eq!(text, n.to_string());
    }
    assert_eq!(host.starts(), 1);
}

#[tokio::test]
async fn results_say_how_the_process_is_run() {
    let host = Host::new(HANGING);
    let called = host.session.call(&CallContext::new(), request("pid", "{}")).await;
    let execution = in_words(called).execution.expect("it ran");
    assert_eq!((&*execution.backend, &*execution.command_line[1]), ("local", "python3"));
    assert!(execution.enforced.iter().any(|it| it == "piped-streams"), "{execution:?}");
    assert!(execution.wall < GUARD);
}
