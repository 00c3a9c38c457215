//! Another version over recorded calls, before a person is asked and after.

use expect_test::{Expect, expect};
use flyto_evolve::{CallRecording, ReplayOutcome};

use super::{examples::confining, *};

fn bench() -> Bench {
    Bench::made(confining().0, |it| {
        it.record_calls(CallRecording::default()).quarantine_after(None)
    })
}

/// Without times, which differ.
fn check(text: &str, expect: Expect) {
    let lines = text.lines().map(|it| match it.split_once("Z, version ") {
        Some((_, rest)) => format!("version {rest}"),
        None => it.to_owned(),
    });
    expect.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn a_proposal_carries_what_it_would_have_delivered() {
    let bench = bench();
    let first = def("count", "wc -w <<< \"$TOOL_INPUT_TEXT\" | tr -d ' '\n");
    bench.save(&first, None).await;
    assert_eq!(bench.approver.last().replay, None);
    for text in ["one", "a b  c", ""] {
        call(&bench.registry, "count", json!({"text": text})).await.unwrap();
    }
    let next = def("count", "grep -o ' ' <<< \"$TOOL_INPUT_TEXT \" | wc -l | tr -d ' '\n");
    let saved = bench.save(&next, Some(1)).await;
    let review = bench.approver.last();
    check(
        &review.replay.as_ref().unwrap().to_string(),
        expect![[r#"
            the proposal over 3 recorded calls: 1 equal, 2 different, 0 not reproduced
            version 1, {"text":"one"}: equal
            version 1, {"text":"a b  c"}: different
              /output: "3\n" -> "4\n"
            version 1, {"text":""}: different
              /output: "0\n" -> "1\n"
            compared is what each call delivers, and nothing else that it does"#]],
    );
    assert!(review.to_string().contains("3 recorded calls: 1 equal, 2 different"));
    assert_eq!(
        saved.evidence["replay"],
        json!({"n_equal": 1, "n_different": 2, "n_not_reproduced": 0})
    );
    // The calls of the first version over the first version again, and over the second.
    let same = bench.builder.replay("count", 1, 100).await.unwrap();
    assert!(same.calls.iter().all(|it| it.outcome == ReplayOutcome::Equal));
    let replay = bench.builder.replay("count", 2, 1).await.unwrap();
    assert_eq!((replay.calls.len(), replay.counts().n_different), (1, 1));
    assert!(bench.builder.replay("count", 9, 1).await.is_err());
    // Torn records are told, also where there are no others.
    let calls = bench.store().dir().join("calls/count");
    for it in std::fs::read_dir(calls).unwrap() {
        std::fs::write(it.unwrap().path(), "{").unwrap();
    }
    let torn = bench.builder.replay("count", 2, 100).await.unwrap();
    check(
        &torn.to_string(),
        expect![[r#"
            version 2 over 0 recorded calls: 0 equal, 0 different, 0 not reproduced
            3 more were left out: their files in calls/count cannot be read"#]],
    );
    assert!(!torn.is_empty());
}

#[tokio::test]
async fn json_is_compared_by_its_places_and_texts_by_their_lines() {
    let bench = bench();
    let script = |json: &str| format!("cat <<'E'\n{json}\nE\n");
    bench.save(&def("state", &script(r#"{"n": 1, "list": ["a"], "gone": null}"#)), None).await;
    output(&bench.registry, "state").await;
    bench.save(&def("state", &script(r#"{"list": ["a", "b"], "n": 2}"#)), Some(1)).await;
    check(
        &bench.approver.last().replay.unwrap().to_string(),
        expect![[r#"
            the proposal over 1 recorded calls: 0 equal, 1 different, 0 not reproduced
            version 1, {}: different
              /output/gone: removed null
              /output/list/1: added "b"
              /output/n: 1 -> 2
            compared is what each call delivers, and nothing else that it does"#]],
    );
    bench.save(&def("lines", "printf 'a\\nb\\nc\\n'\n"), None).await;
    output(&bench.registry, "lines").await;
    bench.save(&def("lines", "printf 'a\\nx\\nc\\n'; exit 3\n"), Some(1)).await;
    check(
        &bench.approver.last().replay.unwrap().to_string(),
        expect![[r#"
            the proposal over 1 recorded calls: 0 equal, 1 different, 0 not reproduced
            version 1, {}: different
              /failure: added "exit code 3"
              /output:
                @@ -1,3 +1,5 @@
                 a
                -b
                +x
                 c
                +
                +exit: exit status 3
                \ No newline at end of file
            compared is what each call delivers, and nothing else that it does"#]],
    );
}

#[tokio::test]
async fn what_depends_on_something_else_is_told_as_not_reproduced() {
    let bench = bench();
    bench.save(&def("clock", "date +%N; echo $RANDOM$RANDOM\n"), None).await;
    output(&bench.registry, "clock").await;
    // What was given is a variable of the host, and a confined run has none.
    bench.save(&def("home", "echo \"${HOME}\"\n"), None).await;
    output(&bench.registry, "home").await;
    // The input is not what was given.
    bench.save(&def("login", "echo in\n"), None).await;
    call(&bench.registry, "login", json!({"password": "gr8-Horse-Battery"})).await.unwrap();
    for (name, why) in [
        ("clock", "version 1 itself gives something else when it runs again, at /output: "),
        ("home", "version 1 itself gives something else when it runs again, at /output: "),
        ("login", "a secret was taken out of the record at /input/password"),
    ] {
        let replay = bench.builder.replay(name, 1, 10).await.unwrap();
        let ReplayOutcome::NotReproduced { why: found } = &replay.calls[0].outcome else {
            panic!("{replay}")
        };
        assert!(found.starts_with(why), "{found}");
        assert!(replay.to_string().contains("could not be reproduced: "));
    }
}

#[tokio::test]
async fn a_difference_that_the_confinement_may_make_is_none() {
    let bench = bench();
    let first = def("t", "echo online\n");
    bench.save(&first, None).await;
    output(&bench.registry, "t").await;
    let mut base = 1;
    for (script, why) in [
        ("curl -s 127.0.0.1:9 || echo offline\n", "it runs \"curl\", which may need the network"),
        ("echo \"${DEPLOY_TOKEN:-none}\"\n", "it reads the variable \"DEPLOY_TOKEN\", which"),
        ("echo $RANDOM$RANDOM\n", "it gives something else when it runs a second time"),
        ("echo *\n", "it has the pattern \"*\", and a replay has no files"),
        ("echo \"$(git log 2>/dev/null)z\"\n", "it runs \"git\", which may need the network"),
        ("python3 -c 'print(1)' 2>/dev/null\n", "it runs \"python3\", which may use files"),
        ("cat list\n", "it lacks a file, as it says itself"),
        ("sleep 11; echo online\n", "it ran longer than 10 s, a bound of the replay"),
    ] {
        let saved = bench.save(&def("t", script), Some(base)).await;
        base = saved.number;
        let replay = bench.approver.last().replay.unwrap();
        let ReplayOutcome::NotReproduced { why: found } = &replay.calls[0].outcome else {
            panic!("{script}{replay}")
        };
        let told = format!("what is run delivers something else, and cannot be compared: {why}");
        assert!(found.starts_with(&told), "{found}");
        assert_eq!(replay.counts().n_not_reproduced, 1);
    }
    // The time that the tool has by itself is no bound of the replay.
    let quick = def("t", "sleep 5; echo online\n").with_timeout_seconds(1);
    bench.save(&quick, Some(base)).await;
    assert_eq!(bench.approver.last().replay.unwrap().counts().n_different, 1);
}

#[tokio::test]
async fn without_confinement_nothing_is_run_again() {
    let bench = Bench::recording(CallRecording::default());
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("marker");
    let script = format!("echo >> {}\n", marker.display());
    bench.save(&def("mark", &script), None).await;
    output(&bench.registry, "mark").await;
    bench.save(&def("mark", &format!("{script}echo more\n")), Some(1)).await;
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "\n");
    let replay = bench.approver.last().replay.unwrap();
    let ReplayOutcome::NotReproduced { why } = &replay.calls[0].outcome else { panic!() };
    assert!(why.starts_with("nothing confines them here: "), "{why}");
}

#[tokio::test]
async fn advice_to_roll_back_says_what_the_earlier_version_delivers() {
    let bench = bench();
    bench.save(&def("shaky", "echo fine\n"), None).await;
    for _ in 0..5 {
        output(&bench.registry, "shaky").await;
    }
    assert_eq!(bench.builder.rollback_advice("shaky").await.unwrap(), None);
    bench.save(&def("shaky", "echo not fine; exit 4\n"), Some(1)).await;
    for _ in 0..5 {
        output(&bench.registry, "shaky").await;
    }
    let advice = bench.builder.rollback_advice("shaky").await.unwrap().unwrap();
    assert_eq!((advice.from, advice.to, advice.replay.counts().n_different), (2, 1, 5));
    let text = advice.to_string();
    let first: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        first,
        [
            "shaky version 2: 5 of 5 calls failed",
            "shaky version 1: 0 of 5 calls failed",
            "version 1 over 10 recorded calls: 5 equal, 5 different, 0 not reproduced",
        ]
    );
}

#[tokio::test]
async fn what_is_equal_only_without_the_host_is_told_as_such() {
    let bench = bench();
    bench.save(&def("greet", "echo hi\n"), None).await;
    output(&bench.registry, "greet").await;
    let hidden = "if [ -n \"$DEPLOY\" ]; then echo bye; else echo hi; fi\n";
    bench.save(&def("greet", hidden), Some(1)).await;
    check(
        &bench.approver.last().replay.unwrap().to_string(),
        expect![[r#"
            the proposal over 1 recorded calls: 1 equal, 0 different, 0 not reproduced
            version 1, {}: equal
            equal without network, variables and files of the host; outside of a replay it may differ: it reads the variable "DEPLOY", which a replay does not have
            compared is what each call delivers, and nothing else that it does"#]],
    );
    // Whether two texts are equal from which a secret was taken out is not known. Each is made where it runs, so that no scan of the text sees it.
    let made = |text: &str| format!("tr A-Za-z B-ZAb-za <<< {text}\n");
    bench.save(&def("token", &made("fgo_16B7d42E292b6912D7710b838347Zd178A4z")), None).await;
    output(&bench.registry, "token").await;
    bench.save(&def("token", &made("fgo_26B7d42E292b6912D7710b838347Zd178A4z")), Some(1)).await;
    let replay = bench.approver.last().replay.unwrap();
    let ReplayOutcome::NotReproduced { why } = &replay.calls[0].outcome else { panic!("{replay}") };
    assert!(why.starts_with("a secret was taken out"), "{why}");
}
