//! Calls that are recorded: only where the host says so, without secrets, within bounds.

use flyto_evolve::{CallRecording, MAX_RECORDED_CALLS};

use super::*;

/// As long as a token of GitHub, and none.
fn token() -> String {
    format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5")
}

#[tokio::test]
async fn nothing_is_recorded_unless_the_host_says_so() {
    let bench = Bench::new();
    bench.save(&def("say", "echo \"$TOOL_INPUT_TEXT\"\n"), None).await;
    call(&bench.registry, "say", json!({"text": "a-text-of-its-own"})).await.unwrap();
    assert_eq!(bench.store().calls("say", 10).unwrap(), []);
    assert!(!bench.holds("a-text-of-its-own"));
}

#[tokio::test]
async fn the_last_calls_are_kept_with_what_went_in_and_what_came_out() {
    let bench = Bench::recording(CallRecording::default().n_calls(3));
    let saved =
        bench.save(&def("say", "echo \"$TOOL_INPUT_N\"; exit $((TOOL_INPUT_N % 2))\n"), None).await;
    for n in 0..5 {
        call(&bench.registry, "say", json!({"n": n})).await.unwrap();
    }
    let calls = bench.store().calls("say", 100).unwrap();
    let seen: Vec<_> = calls
        .iter()
        .map(|it| (it.input.clone(), it.result.text.as_str(), it.result.failure.is_some()))
        .collect();
    assert_eq!(
        seen,
        [
            (json!({"n": 2}), "2\n", false),
            (json!({"n": 3}), "3\n\nexit: exit status 1", true),
            (json!({"n": 4}), "4\n", false),
        ]
    );
    assert!(calls.iter().all(|it| it.version == 1 && it.sha256 == saved.hash()));
    assert_eq!(bench.store().calls("say", 1).unwrap(), calls[2..]);
    assert_eq!(bench.store().forget_calls("say").unwrap(), 3);
    assert_eq!(bench.store().calls("say", 100).unwrap(), []);
    assert_eq!(bench.store().calls("none", 100).unwrap(), []);
    assert!(bench.store().calls("../say", 100).is_err());
}

#[tokio::test]
async fn no_secret_of_a_call_reaches_the_disk() {
    let bench = Bench::recording(CallRecording::default());
    bench.save(&def("say", "echo \"$TOOL_INPUT_TEXT $DEPLOY_TOKEN\"\n"), None).await;
    let token = token();
    for input in [
        json!({"text": format!("curl -H 'Authorization: Bearer {token}'")}),
        json!({"text": "a", "password": "gr8-Horse-Battery"}),
        json!({"text": {"list": [{"db_password": "gr8-Horse-Battery"}]}}),
        json!({"text": "a", token.as_str(): 1}),
    ] {
        call(&bench.registry, "say", input).await.unwrap();
    }
    for secret in [token.as_str(), "gr8-Horse-Battery", "correct-horse-7-battery"] {
        assert!(!bench.holds(secret), "{secret}");
    }
    let calls = bench.store().calls("say", 10).unwrap();
    assert!(!calls.is_empty());
    assert!(calls.iter().all(|it| it.redacted.iter().any(|it| it == "/result/text")), "{calls:?}");
    let first = &calls[0];
    assert_eq!(first.redacted, ["/input/text", "/result/text"]);
    let shown = first.input["text"].as_str().unwrap();
    assert!(shown.contains("[redacted: ") && shown.starts_with("curl"), "{shown}");
}

#[tokio::test]
async fn a_call_with_a_secret_in_neighbouring_texts_is_not_kept() {
    let bench = Bench::recording(CallRecording::default());
    let token = token();
    bench.save(&def("take", "cat > /dev/null\n"), None).await;
    let json = format!("{{\"a\": \"{}\", \"b\": \"{}\"}}", &token[..12], &token[12..]);
    for input in [
        json!({"x": &token[..12], "y": &token[12..]}),
        json!({"x": [&token[..12], {"y": &token[12..20]}], "z": &token[20..]}),
        json!({"x": json}),
        json!({"x": "kept"}),
    ] {
        call(&bench.registry, "take", input).await.unwrap();
    }
    assert!(!bench.holds(&token[..12]) && !bench.holds(&token[12..20]));
    let calls = bench.store().calls("take", 10).unwrap();
    assert_eq!(calls.iter().map(|it| &it.input).collect::<Vec<_>>(), [&json!({"x": "kept"})]);
}

#[tokio::test]
async fn a_member_with_the_name_of_a_secret_is_hidden_however_it_looks() {
    let bench = Bench::recording(CallRecording::default());
    let script = "printf '{\"user\": \"ada\", \"passwd\": \"lat%s\", \"in\": %s}' er \"$TOOL_INPUT_LOGIN\"\n";
    bench.save(&def("say", script), None).await;
    let input = json!({
        "login": {"password": "hunter22", "secret": ["pin1", 471108154], "api-key": 882207319, "token_url": "https://a.example"},
        "tokens": {"a": "a-word"}, "n": 5,
    });
    call(&bench.registry, "say", input).await.unwrap();
    for secret in ["hunter22", "pin1", "471108154", "882207319", "later", "a-word"] {
        assert!(!bench.holds(secret), "{secret}");
    }
    let calls = bench.store().calls("say", 10).unwrap();
    assert_eq!(
        calls[0].input,
        json!({
            "login": {"password": "[redacted]", "secret": ["[redacted]", "[redacted]"], "api-key": "[redacted]",
                "token_url": "https://a.example"},
            "tokens": {"a": "[redacted]"}, "n": 5,
        })
    );
    assert!(calls[0].redacted.contains(&"/input/login/password".to_owned()), "{calls:?}");
    assert!(calls[0].result.text.contains("\"user\": \"ada\""), "{calls:?}");
}

#[tokio::test]
async fn the_value_of_a_hidden_member_is_hidden_wherever_it_stands() {
    let bench = Bench::recording(CallRecording::default());
    bench.save(&def("say", "echo \"$TOOL_INPUT_NOTE $TOOL_INPUT_PIN\"\n"), None).await;
    let input = json!({
        "password": "hunter22", "note": "n hunter22 x", "glued": "-phunter22", "hunter22": 1,
        "secret": {"a": "horses"}, "plain": "horses seahorses", "token": "ab", "word": "ab", "api_key": 1234567, "number": "n=1234567", "list": [1234567],
        "passwd": "a\"b-long", "json": "{\"a\": \"a\\\"b-long\"}",
    });
    call(&bench.registry, "say", input).await.unwrap();
    for secret in ["hunter22", "1234567", "b-long"] {
        assert!(!bench.holds(secret), "{secret}");
    }
    let kept = &bench.store().calls("say", 10).unwrap()[0];
    assert_eq!(kept.input["note"], "n [redacted] x");
    assert_eq!(kept.input["glued"], "-p[redacted]");
    assert_eq!(kept.input["plain"], "[redacted] seahorses");
    assert_eq!(kept.input["word"], "ab");
    assert!(kept.result.text.starts_with("n [redacted] x"), "{kept:?}");
    assert!(kept.redacted.iter().any(|it| it == "/result/text"), "{kept:?}");
    // There is a bound on such values.
    let many: Vec<String> = (0..300).map(|it| format!("word-{it:05}")).collect();
    call(&bench.registry, "say", json!({"secret": many})).await.unwrap();
    assert_eq!(bench.store().calls("say", 10).unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_beyond_the_bound_is_not_kept() {
    let bench = Bench::recording(CallRecording::default().max_bytes(1000));
    bench.save(&def("fill", "head -c \"$TOOL_INPUT_N\" /dev/zero | tr '\\0' x\n"), None).await;
    for (n, n_kept) in [(100, 1), (5000, 1), (200, 2)] {
        call(&bench.registry, "fill", json!({"n": n})).await.unwrap();
        assert_eq!(bench.store().calls("fill", 10).unwrap().len(), n_kept, "{n}");
    }
    call(&bench.registry, "fill", json!({"n": 1, "more": "x".repeat(2000)})).await.unwrap();
    assert_eq!(bench.store().calls("fill", 10).unwrap().len(), 2);
}

#[tokio::test]
async fn files_that_are_no_records_are_left_out() {
    let bench = Bench::recording(CallRecording::default());
    bench.save(&def("say", "echo hi\n"), None).await;
    output(&bench.registry, "say").await;
    let dir = bench.store().dir().join("calls/say");
    std::fs::write(dir.join("0000000000001-torn.json"), "{\"id\":").unwrap();
    std::fs::write(dir.join(".tmp.1.left"), "half").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("0000000000002-link.json")).unwrap();
    let long = "[".repeat(2_000_000);
    std::fs::write(dir.join("0000000000003-long.json"), long).unwrap();
    assert_eq!(bench.store().calls("say", MAX_RECORDED_CALLS).unwrap().len(), 1);
    output(&bench.registry, "say").await;
    assert_eq!(bench.store().calls("say", MAX_RECORDED_CALLS).unwrap().len(), 2);
    assert!(!dir.join(".tmp.1.left").exists());
}

#[tokio::test]
async fn a_tool_of_one_session_is_not_recorded() {
    let bench = Bench::recording(CallRecording::default());
    bench.approver.answers(flyto_evolve::Answer::Once);
    let proposal = Proposal::of(&def("say", "echo hi\n"), "session-1");
    assert!(matches!(bench.builder.apply(proposal).await, Ok(Applied::Once { .. })));
    output(&bench.registry, "say").await;
    assert_eq!(bench.store().calls("say", 10).unwrap(), []);
}
