use std::time::Duration;

use expect_test::expect;
use flyto_tools::{CallContext, CancellationToken, Failure, Progress};
use tokio::sync::Notify;

use super::{GUARD, HANGING, Host, Request, cancelled_by_progress, in_words, is_alive, request};

/// The lines of a text, less what differs from run to run.
fn words(text: &str) -> String {
    let (before, rest) = text.split_once("after ").expect("a time");
    let (_, after) = rest.split_once('\n').expect("a second line");
    format!("{before}after …\n{after}")
}

#[tokio::test]
async fn a_cancelled_call_is_answered_at_once_and_the_plugin_is_told() {
    let host = Host::new(HANGING);
    let pid = host.text("pid", "{}").await;
    let res = in_words(host.call(&cancelled_by_progress(), "hang", "{}").await);
    assert_eq!(res.failure, Some(Failure::Cancelled));
    expect![[r#"
        plugin tool "p:t" cancelled after …
        stderr: "#]]
    .assert_eq(&words(&res.output));
    assert_eq!(host.text("which", "{}").await, "[2]");
    assert_eq!(host.text("pid", "{}").await, pid);
}

#[tokio::test]
async fn a_deadline_is_the_callers_alone() {
    // It answers, late, to a cancellation: that it is at work is all that counts.
    let host = Host::python(HANGING, &["answers"], GUARD);
    let pid = host.text("pid", "{}").await;
    let time = Duration::from_millis(20);
    let late = Request { timeout: time, ..request("hang", "{}") };
    let res = in_words(host.session.call(&CallContext::new(), late).await);
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(time) }));
    expect![[r#"
        plugin tool "p:t" timed out after 20ms
        stderr: "#]]
    .assert_eq(&res.output);
    assert_eq!(host.text("which", "{}").await, "[2]");

    // The caller's own deadline counts where it is earlier.
    let ctx = CallContext::new().with_deadline(std::time::Instant::now() + time);
    let res = in_words(host.call(&ctx, "hang", "{}").await);
    assert!(matches!(res.failure, Some(Failure::TimedOut { after: Some(it) }) if it <= time));
    assert_eq!(host.text("pid", "{}").await, pid);
}

#[tokio::test]
async fn a_cancellation_after_the_deadline_is_told_as_the_deadlines() {
    let host = Host::new(HANGING);
    let ctx = CallContext::new().with_deadline(std::time::Instant::now());
    ctx.cancellation().cancel();
    let res = in_words(host.call(&ctx, "hang", "{}").await);
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(Duration::ZERO) }));
}

#[tokio::test]
async fn a_call_that_is_given_up_says_what_it_printed_and_no_other_call() {
    let host = Host::new(
        r#"
os.write(1, b'started\n')
os.write(2, b'started\n')
for method, id, tool, args in requests():
    if method == "cancel": continue
    os.write(2, b'log of %d\n' % id)
    os.write(1, b'line of %d\n{"jsonrpc":"2.0","result":{"output":"without an id"}}\n' % id)
    if tool == "answer": reply(id, "done")
    elif tool == "die": os._exit(3)
    else: progress(id, 0)
"#,
    );
    for _ in 0..2 {
        assert_eq!(host.text("answer", "{}").await, "done");
        let res = in_words(host.call(&cancelled_by_progress(), "hang", "{}").await);
        // Its log may come later than its progress, and that of another call never.
        let (text, _) = res.output.rsplit_once("stderr: ").expect("it has a place for stderr");
        assert!(!text.contains("started"), "{}", res.output);
        assert_eq!(text.matches("line of").count(), 1, "{}", res.output);
        assert!(text.contains("{\"jsonrpc\":\"2.0\",\"result\""), "{}", res.output);
    }
    // What it wrote before it ended was read to the end.
    assert_eq!(host.text("answer", "{}").await, "done");
    let res = in_words(host.call(&CallContext::new(), "die", "{}").await);
    expect![[r#"
        plugin tool "p:t": the session ended: exit code 3
        stdout: line of 6
        {"jsonrpc":"2.0","result":{"output":"without an id"}}

        stderr: log of 6
    "#]]
    .assert_eq(&res.output);
}

/// Whether a process has been stopped by a signal.
fn is_stopped(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('T'));
    state == Some(true)
}

#[tokio::test]
async fn a_process_that_stops_itself_is_replaced_after_a_deadline() {
    let host = Host::new(
        r#"
import signal
for method, id, tool, args in requests():
    if method == "cancel": continue
    if tool == "stop": os.kill(os.getpid(), signal.SIGSTOP)
    else: reply(id, str(os.getpid()))
"#,
    );
    let pid = host.text("pid", "{}").await;
    let time = Duration::from_millis(100);
    // On a busy machine the deadline may pass before the process has read the call.
    let mut n_calls = 0;
    while n_calls == 0 || !is_stopped(&pid) {
        let late = Request { timeout: time, ..request("stop", "{}") };
        let res = in_words(host.session.call(&CallContext::new(), late).await);
        assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(time) }), "{}", res.output);
        assert!(res.output.contains("timed out after 100ms"), "{}", res.output);
        n_calls += 1;
    }
    // The next call waits until it is known that the process is not at work, and is sent once.
    assert_ne!(host.text("pid", "{}").await, pid);
    assert!(!is_alive(&pid));
    assert_eq!(host.starts(), 2);
}

#[tokio::test]
async fn a_call_after_one_that_stopped_the_process_gets_its_answer() {
    let host = Host::new(
        r#"
import signal
for method, id, tool, args in requests():
    if tool == "stop":
        progress(id, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
    else: reply(id, str(os.getpid()))
"#,
    );
    // After each such call the process is started anew at once: there is no backoff that grows.
    for n_stopped in 1..=3 {
        let pid = host.text("pid", "{}").await;
        let late = Request { timeout: Duration::from_millis(100), ..request("stop", "{}") };
        let res = in_words(host.session.call(&CallContext::new(), late).await);
        assert!(matches!(res.failure, Some(Failure::TimedOut { .. })), "{}", res.output);
        let (answer, until) = (host.text("pid", "{}").await, host.session.shared.pause_until());
        assert_ne!(answer, pid);
        assert_eq!((host.starts(), until), (n_stopped + 1, None));
    }
}

#[tokio::test]
async fn an_answer_to_a_ping_keeps_the_process() {
    // It never answers a call that is cancelled, and knows no ping: its error is an answer too.
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    if method == "ping":
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
    elif tool == "pid": reply(id, str(os.getpid()))
"#,
    );
    let pid = host.text("pid", "{}").await;
    let late = Request { timeout: Duration::from_millis(20), ..request("hang", "{}") };
    let res = in_words(host.session.call(&CallContext::new(), late).await);
    assert!(matches!(res.failure, Some(Failure::TimedOut { .. })), "{}", res.output);
    assert_eq!(host.text("pid", "{}").await, pid);
    assert_eq!(host.starts(), 1);
}

#[tokio::test]
async fn a_silent_process_stays_while_it_has_another_call() {
    let host = Host::new(
        r#"
waiting = None
for method, id, tool, args in requests():
    if tool == "wait":
        waiting = id
        progress(id, 0)
    elif tool == "release":
        reply(waiting, "released")
        reply(id, str(os.getpid()))
    elif tool == "pid": reply(id, str(os.getpid()))
"#,
    );
    let pid = host.text("pid", "{}").await;
    let at_it = std::sync::Arc::new(Notify::new());
    let seen = std::sync::Arc::clone(&at_it);
    let ctx = CallContext::new().with_progress(move |_: Progress| seen.notify_one());
    let wait = host.call(&ctx, "wait", "{}");
    let others = async {
        at_it.notified().await;
        let late = Request { timeout: Duration::from_millis(20), ..request("hang", "{}") };
        let res = in_words(host.session.call(&CallContext::new(), late).await);
        assert!(matches!(res.failure, Some(Failure::TimedOut { .. })), "{}", res.output);
        host.text("release", "{}").await
    };
    let (waited, released) = tokio::join!(wait, others);
    assert_eq!((&*in_words(waited).output, &*released), ("released", &*pid));
    assert_eq!(host.starts(), 1);
}

#[tokio::test]
async fn a_call_whose_time_was_over_is_not_called_cancelled() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    if method == "cancel":
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32800, "message": "cancelled"}})
"#,
    );
    let time = Duration::from_millis(20);
    let late = Request { timeout: time, grace: GUARD, ..request("t", "{}") };
    let res = in_words(host.session.call(&CallContext::new(), late).await);
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(time) }), "{}", res.output);
    assert!(res.output.starts_with("plugin tool \"p:t\" timed out after 20ms"), "{}", res.output);
}

#[tokio::test]
async fn an_answer_within_the_grace_counts() {
    let host = Host::python(HANGING, &["answers"], GUARD);
    let polite = Request { grace: GUARD, ..request("hang", "{}") };
    let res = in_words(host.session.call(&cancelled_by_progress(), polite).await);
    assert_eq!((res.failure, &*res.output), (None, "stopped"));
}

#[tokio::test]
async fn a_death_within_the_grace_is_no_answer() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    if method == "cancel": os._exit(9)
    progress(id, 0)
"#,
    );
    let polite = Request { grace: GUARD, ..request("hang", "{}") };
    let res = in_words(host.session.call(&cancelled_by_progress(), polite).await);
    assert_eq!(res.failure, Some(Failure::Cancelled), "{}", res.output);
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let host = Host::new(HANGING);
    let at_it = std::sync::Arc::new(Notify::new());
    let seen = std::sync::Arc::clone(&at_it);
    let ctx = CallContext::new().with_progress(move |_: Progress| seen.notify_one());
    tokio::select! {
        _ = host.call(&ctx, "hang", "{}") => panic!("it does not answer"),
        () = at_it.notified() => {}
    }
    assert_eq!(host.text("which", "{}").await, "[1]");
}

#[tokio::test]
async fn a_call_that_is_over_already_starts_nothing() {
    let host = Host::new(HANGING);
    let token = CancellationToken::new();
    token.cancel();
    let ctx = CallContext::new().with_cancellation(token);
    assert_eq!(in_words(host.call(&ctx, "pid", "{}").await).failure, Some(Failure::Cancelled));
    let late = Request { timeout: Duration::ZERO, ..request("pid", "{}") };
    let res = in_words(host.session.call(&CallContext::new(), late).await);
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(Duration::ZERO) }));
    assert_eq!(host.starts(), 0);
}

/// A plugin that takes no notice of cancellations must not be given more and more to do.
#[tokio::test]
async fn a_plugin_that_ignores_cancellations_is_started_anew() {
    let host = Host::new(HANGING);
    let pid = host.text("pid", "{}").await;
    // They stay unanswered, and the plugin goes on to say something.
    for _ in 0..64 {
        let res = in_words(host.call(&cancelled_by_progress(), "hang", "{}").await);
        assert_eq!(res.failure, Some(Failure::Cancelled));
    }
    assert_eq!(host.text("pid", "{}").await, pid);
    in_words(host.call(&cancelled_by_progress(), "hang", "{}").await);
    assert_ne!(host.text("pid", "{}").await, pid);
    assert_eq!(host.starts(), 2);
}

/// Neither a full pipe nor a full queue is waited for beyond the deadline, and what cannot be
/// written does not pile up.
#[tokio::test]
async fn a_plugin_that_never_reads() {
    let host = Host::new("threading.Event().wait()");
    let args = format!("{:?}", "x".repeat(300_000));
    let call = |timeout| {
        let late = Request { timeout, ..request("t", &args) };
        async { in_words(host.session.call(&CallContext::new(), late).await) }
    };
    let time = Duration::from_millis(50);
    // Of these the first is being written, three wait in the queue, the others outside.
    let late = futures(8, || call(time)).await;
    for res in &late {
        assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(time) }), "{}", res.output);
    }
    expect![[r#"
        plugin tool "p:t" timed out after 50ms
        session: the plugin has said nothing since a call before it timed out
        stderr: "#]]
    .assert_eq(&late[7].output);
    assert_eq!(host.starts(), 1);

    // No caller waits for what was written, and nothing was heard: it is stuck.
    let late = futures(8, || call(time)).await;
    assert!(late.iter().all(|it| it.failure == Some(Failure::TimedOut { after: Some(time) })));
    let res = call(Duration::from_secs(1)).await;
    assert!(matches!(res.failure, Some(Failure::TimedOut { .. })), "{}", res.output);
    assert_eq!(host.starts(), 2);
}

/// So many calls at once.
async fn futures<T, F: Future<Output = T>>(n: usize, make: impl Fn() -> F) -> Vec<T> {
    let mut at_work: Vec<_> = (0..n).map(|_| Box::pin(make())).collect();
    let mut res: Vec<Option<T>> = (0..n).map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (call, res) in at_work.iter_mut().zip(&mut res) {
            if res.is_none()
                && let std::task::Poll::Ready(it) = call.as_mut().poll(cx)
            {
                *res = Some(it);
            }
        }
        if res.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    res.into_iter().flatten().collect()
}
