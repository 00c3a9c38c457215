//! Calls of imported tools, through the gates of a host.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use flyto_host::CallError;
use flyto_mcp::{Elicitation, ElicitationAnswer, ElicitationHandler};
use flyto_tools::{CallContext, Failure, Origin, Progress};
use serde_json::json;

use crate::support::{World, little, options};

#[tokio::test]
async fn a_long_text_is_kept_in_a_file() {
    let mut options = options();
    options.max_message_bytes = 16 << 20;
    let world = World::with(json!({"s": little(&[])}), options, None).connected().await;
    // Longer than what is looked at for secrets.
    let result = world.call("long", json!({})).await.expect("a result");
    assert_eq!(result.failure, None, "{}", result.output);
    assert!(result.output.starts_with("ax") && result.output.ends_with("xz"));
    let whole = result.omitted.and_then(|it| it.whole).expect("a file");
    assert_eq!(std::fs::metadata(&*whole).expect("it is there").len(), (9 << 20) + 2);
}

#[tokio::test]
async fn a_tool_is_one_of_the_host() {
    let world = World::new(&[]).connected().await;
    let entry = world.host.find("s__echo").expect("by its wire name");
    let metadata = entry.tool().metadata();
    assert_eq!(metadata.origin, Origin::McpServer { server: "s".to_owned() });
    assert_eq!(metadata.version.as_deref(), Some("1.2"));
    assert_eq!(world.text("echo", json!({"text": "two words"})).await, "two words");

    // The schema is checked before the server hears of the call.
    let result = world.call("echo", json!({"text": 5})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::BadInput));

    let result = world.call("add", json!({"a": 1, "b": 2})).await.expect("a result");
    assert_eq!((&*result.output, result.data), ("3", Some(json!({"sum": 3}))));
    let result = world.call("breaks_schema", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::BadOutput));
    let result = world.call("image", json!({})).await.expect("a result");
    assert_eq!(result.output, "[image, image/png, 3 bytes]");
    let result = world.call("refuses", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Reported { code: Some(-32602) }));
    assert_eq!(result.output, "error (code -32602): not today");
}

#[tokio::test]
async fn a_name_that_no_id_can_hold_has_a_plain_one() {
    let world = World::new(&[]).connected().await;
    let ids = world.report().tools;
    let id = ids.iter().find(|it| it.starts_with("s:two_words-")).expect("it is there");
    let tool = id.strip_prefix("s:").expect("the server");
    assert_eq!(world.text(tool, json!({})).await, "heard");
}

#[tokio::test]
async fn a_rule_that_denies_the_server_holds() {
    let mut server = little(&[]);
    server["env"] = json!({"X": "1"});
    let world = World::with(json!({"s": little(&[]), "t": server}), options(), None);
    let world = world.connected().await;
    // No rule allows the tools of `t`, and no handler can be asked.
    let input = flyto_tools::Input::from_value(json!({"text": "a"}));
    let res = world.host.call("t:echo", input, &CallContext::new()).await;
    let refusal = match res {
        Err(CallError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal.allowed_by, ["t:echo"]);
}

#[tokio::test]
async fn a_program_sees_the_minimal_environment_and_what_is_declared() {
    let mut server = little(&[]);
    server["env"] = json!({"TOKEN": "${SECRET}", "DEFINITIONS": "${DEFINITIONS}"});
    let world = World::with(json!({"s": server}), options(), None).connected().await;
    let seen = world.text("environment", json!({})).await;
    let dir = world.dir.path().canonicalize().expect("it is there");
    let mut seen: Vec<_> = seen.lines().collect();
    assert_eq!(seen.pop(), dir.to_str());
    // An interpreter may be a script that sets some itself.
    for name in ["DEFINITIONS", "HOME", "PATH", "TOKEN"] {
        assert!(seen.contains(&name), "{name}: {seen:?}");
    }
    assert!(!seen.contains(&"SECRET"), "{seen:?}");
}

#[tokio::test]
async fn a_variable_that_is_not_set_costs_the_server_alone() {
    let mut server = little(&[]);
    server["env"] = json!({"TOKEN": "${NO_SUCH}"});
    let world = World::with(json!({"bad": server, "s": little(&[])}), options(), None);
    let world = world.connected().await;
    let problem = world.report().problem.expect("there is one");
    assert_eq!(problem, "variable not set: NO_SUCH (used in TOKEN)");
    assert_eq!(world.text("echo", json!({"text": "a"})).await, "a");
}

#[tokio::test]
async fn notes_of_the_server_are_progress_of_the_call() {
    let world = World::new(&[]).connected().await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let ctx = CallContext::new().with_progress(move |it: Progress| {
        sink.lock().expect("no panic").push((it.progress(), it.detail().to_owned()));
    });
    let result = world.call_with("steps", json!({}), &ctx).await.expect("a result");
    assert_eq!(result.output, "done");
    // Notes that come at once are told as the newest of them, and those of an ended call not at all.
    let heard = heard.lock().expect("no panic").clone();
    let all =
        [(0.25, "step 1".to_owned()), (0.5, "step 2".to_owned()), (0.75, "step 3".to_owned())];
    assert!(heard.iter().all(|it| all.contains(it)), "{heard:?}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_taken_back() {
    let world = World::new(&[]).connected().await;
    let ctx = CallContext::new();
    let stop = ctx.cancellation().clone();
    let (result, ()) = tokio::join!(world.call_with("never", json!({}), &ctx), async {
        // The answer to this one tells that the server has the other one.
        assert_eq!(world.text("cancelled", json!({})).await, "[]");
        stop.cancel();
    });
    assert_eq!(result.expect("a result").failure, Some(Failure::Cancelled));
    let taken_back = world.text("cancelled", json!({})).await;
    assert_ne!(taken_back, "[]", "{taken_back}");
}

#[tokio::test]
async fn an_input_of_several_lines_is_one_message() {
    let world = World::new(&[]).connected().await;
    let input = flyto_tools::Input::parse("{\r\n  \"text\":\n\"a\\nb\"\n}\n").expect("it is JSON");
    let result = world.host.call("s:echo", input, &CallContext::new()).await.expect("called");
    assert_eq!((result.failure, &*result.output), (None, "a\nb"));
}

#[tokio::test]
async fn a_call_has_the_time_of_its_declaration_and_its_caller() {
    let second = Duration::from_secs(1);
    let mut declared = little(&[]);
    declared["timeout_seconds"] = json!(1);
    for (server, given, expected) in [
        (&declared, None, second),
        (&declared, Some(3600 * second), second),
        (&declared, Some(second / 10), second / 10),
        // A caller may give more than the default.
        (&little(&[]), Some(second / 5), second / 5),
    ] {
        let mut options = options();
        options.call_timeout = second / 10;
        let world = World::with(json!({"s": server}), options, None).connected().await;
        let ctx = given.into_iter().fold(CallContext::new(), CallContext::with_timeout);
        let result = world.call_with("never", json!({}), &ctx).await.expect("a result");
        assert_eq!(result.failure, Some(Failure::TimedOut { after: Some(expected) }));
    }
}

#[tokio::test]
async fn sixty_four_calls_are_in_flight_at_once() {
    let world = World::new(&[]).connected().await;
    // The server answers none of them before it has the last one.
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let host = Arc::clone(&world.host);
            let input = flyto_tools::Input::from_value(json!({"of": 64}));
            tokio::spawn(async move { host.call("s:meets", input, &CallContext::new()).await })
        })
        .collect();
    for call in calls {
        let result = call.await.expect("no panic").expect("it was called");
        assert_eq!((result.failure, &*result.output), (None, "met"));
    }
}

#[derive(Debug)]
struct Answers;

#[async_trait]
impl ElicitationHandler for Answers {
    async fn ask(&self, question: &Elicitation) -> ElicitationAnswer {
        assert_eq!((&*question.server, &*question.message), ("s", "Which name?"));
        ElicitationAnswer::Accept(json!({"name": "Ada"}))
    }
}

#[tokio::test]
async fn what_a_server_asks_goes_to_the_handler() {
    let answer = r#"{"action": "accept", "content": {"name": "Ada"}}"#;
    for (modes, expected) in [(&[][..], answer.to_owned()), (&["modern"], format!("{answer} s1"))] {
        let handler: Arc<dyn ElicitationHandler> = Arc::new(Answers);
        let world = World::with(json!({"s": little(modes)}), options(), Some(handler));
        assert_eq!(world.connected().await.text("asks", json!({})).await, expected, "{modes:?}");
    }
}

#[tokio::test]
async fn without_a_handler_a_question_is_declined() {
    let world = World::new(&[]).connected().await;
    assert_eq!(world.text("asks", json!({})).await, "null");
    let world = World::new(&["modern"]).connected().await;
    let result = world.call("asks", json!({})).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Denied));
}
