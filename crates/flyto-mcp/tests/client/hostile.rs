//! Servers that break the rules, and programs that do not end.

use std::time::Duration;

use flyto_host::CallError;
use flyto_mcp::ServerStatus;
use flyto_tools::{CallContext, Failure, ToolErrorKind};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use crate::support::{World, little, options};

fn is_alive(pid: &str) -> bool {
    let pid = pid.parse().ok().and_then(Pid::from_raw).expect("a process");
    test_kill_process(pid).is_ok()
}

#[tokio::test]
async fn a_server_that_dies_at_once_costs_its_own_tools_only() {
    let servers = json!({"dead": little(&["dies"]), "s": little(&[])});
    let world = World::with(servers, options(), None).connected().await;
    let report = world.report();
    assert_eq!((report.status, report.tools.len()), (ServerStatus::Failed, 0));
    let problem = report.problem.expect("there is one");
    assert!(
        problem.ends_with("its program closed its output; it said last: no database"),
        "{problem}"
    );
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let servers = json!({"s": {"command": "no-such-program"}});
    let world = World::with(servers, options(), None).connected().await;
    let problem = world.report().problem.expect("there is one");
    assert!(problem.contains("no-such-program"), "{problem}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for() {
    let mut options = options();
    options.connect_timeout = Duration::from_millis(300);
    let world = World::with(json!({"s": little(&["deaf"])}), options, None).connected().await;
    assert_eq!(world.report().problem.as_deref(), Some("it was not ready after 300ms"));
}

#[tokio::test]
async fn a_call_that_is_not_answered_ends_with_its_time() {
    let world = World::new(&[]).connected().await;
    let ctx = CallContext::new().with_timeout(Duration::from_millis(300));
    let result = world.call_with("never", json!({}), &ctx).await.expect("a result");
    assert!(matches!(result.failure, Some(Failure::TimedOut { .. })), "{:?}", result.failure);
    // The server is still there, and still asked.
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn an_answer_that_is_no_object_is_told_in_plain_words() {
    let world = World::new(&[]).connected().await;
    let result = world.call("null", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Lost));
    assert!(result.output.contains("null, expected an object"), "{}", result.output);
    assert!(!result.output.contains("CallToolResult"), "{}", result.output);
}

#[tokio::test]
async fn a_server_that_is_stuck_is_ended_and_started_again() {
    let mut options = options();
    options.backoff = Duration::ZERO;
    let world = World::with(json!({"s": little(&[])}), options, None).connected().await;
    let before = world.text("pid", json!({})).await;
    let ctx = CallContext::new().with_timeout(Duration::from_millis(300));
    let result = world.call_with("stuck", json!({}), &ctx).await.expect("a result");
    assert!(matches!(result.failure, Some(Failure::TimedOut { .. })), "{:?}", result.failure);
    // It gives no sign of life, so its connection ends, and the next call starts it again.
    while world.report().status == ServerStatus::Connected {
        tokio::task::yield_now().await;
    }
    let after = world.text("pid", json!({})).await;
    assert_ne!(before, after);
    // It has its grace.
    while is_alive(&before) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_connection_that_is_kept_is_made_anew() {
    let mut options = options();
    options.backoff = Duration::ZERO;
    let world = World::with(json!({"s": little(&[])}), options, None).connected().await;
    world.servers.keep_connected();
    let before = world.text("pid", json!({})).await;
    let result = world.call("dies", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Lost));
    // No call asks for it.
    while world.report().status != ServerStatus::Connected {
        tokio::task::yield_now().await;
    }
    assert_ne!(world.text("pid", json!({})).await, before);
}

#[tokio::test]
async fn a_server_that_ends_within_a_call_is_told_with_its_last_words() {
    let mut options = options();
    options.backoff = Duration::from_secs(3600);
    let world = World::with(json!({"s": little(&[])}), options, None).connected().await;
    let result = world.call("dies", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Lost));
    assert!(result.output.ends_with("it said last: out of cheese"), "{}", result.output);
    assert_eq!(world.report().status, ServerStatus::Failed);
    // Within the pause no program is started.
    let err = match world.call("echo", json!({"text": "a"})).await {
        Err(CallError::Tool(err)) => err,
        other => panic!("{other:?}"),
    };
    assert_eq!(err.kind(), ToolErrorKind::Unreachable);
    assert!(err.to_string().contains("next attempt in"), "{err}");
}

#[tokio::test]
async fn a_flood_ends_the_connection() {
    let world = World::new(&[]).connected().await;
    let result = world.call("floods", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Lost));
    assert!(
        result.output.contains("more than 1000 lines that are no messages"),
        "{}",
        result.output
    );
}

#[tokio::test]
async fn a_line_without_end_ends_the_connection() {
    let world = World::new(&[]).connected().await;
    let result = world.call("endless_line", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Lost));
    assert!(result.output.ends_with("it sent a line without end"), "{}", result.output);
}

#[tokio::test]
async fn a_schema_that_leads_out_costs_its_tool() {
    let world = World::new(&["far"]).connected().await;
    let report = world.report();
    let fault =
        "far has an \"inputSchema\" that refers to http://127.0.0.1:1/x, and no schema is fetched";
    assert_eq!(report.faults, [fault]);
    assert!(report.held_back.is_empty() && !report.has_tool("far"), "{report:?}");
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_call_only() {
    let world = World::new(&[]).connected().await;
    let result = world.call("oversize", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::limit("message")));
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn answers_to_no_request_change_nothing() {
    let world = World::new(&[]).connected().await;
    assert_eq!(world.text("twice", json!({})).await, "first");
    assert_eq!(world.text("wrong_ids", json!({})).await, "right");
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn a_list_is_bounded_in_bytes() {
    let world = World::new(&["huge"]).connected().await;
    let report = world.report();
    // Each page has two tools of 100 kB, and there is always a next one.
    assert_eq!(report.tools.len(), 82, "{report:?}");
    let bounded = "its list of tools has more than 8388608 bytes";
    assert!(report.faults.iter().any(|it| it == bounded), "{report:?}");
}

#[tokio::test]
async fn a_tool_that_nests_too_deep_costs_itself() {
    let world = World::new(&["deep"]).connected().await;
    let report = world.report();
    let told = "deep cannot be read: recursion limit exceeded";
    assert!(report.faults.len() == 1 && report.faults[0].starts_with(told), "{report:?}");
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn an_error_that_cannot_be_read_is_an_answer() {
    let world = World::new(&[]).connected().await;
    let result = world.call("odd_error", json!({})).await.expect("a result");
    assert!(result.output.contains("an error that cannot be read"), "{}", result.output);
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn a_server_that_chatters_answers_its_calls() {
    for modes in [&[][..], &["modern"][..]] {
        let world = World::new(modes).connected().await;
        // More than is read at once while nothing is asked, and more than its pipe holds.
        assert_eq!(world.text("chatters", json!({"bytes": 2 << 20})).await, "one moment");
        assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
    }
}

#[tokio::test]
async fn a_list_without_end_is_cut() {
    let world = World::new(&["pages"]).connected().await;
    assert_eq!(world.report().faults, ["its list of tools has more than 100 pages"]);

    let world = World::new(&["endless"]).connected().await;
    let report = world.report();
    assert_eq!(report.tools, ["s:a"]);
    assert!(report.faults.iter().any(|it| it == "its list of tools has no end"), "{report:?}");
    let world = World::new(&["many"]).connected().await;
    let report = world.report();
    assert_eq!(report.tools.len(), 1000);
    assert_eq!(report.faults, ["it has more than 1000 tools"]);
}

#[tokio::test]
async fn nothing_of_a_server_outlives_its_host() {
    for closes in [true, false] {
        let mut options = options();
        options.grace = Duration::from_millis(100);
        let world = World::with(json!({"s": little(&["stays"])}), options, None).connected().await;
        let pid = world.text("pid", json!({})).await;
        assert!(is_alive(&pid));
        if closes {
            assert!(world.servers.close().await.is_empty());
            assert!(!is_alive(&pid));
        } else {
            // Dropping kills, and the task that reaps comes after it.
            drop(world);
            while is_alive(&pid) {
                tokio::task::yield_now().await;
            }
        }
    }
}
