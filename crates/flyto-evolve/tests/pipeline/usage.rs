//! What follows from calls that were made.

use std::time::{Duration, Instant};

use flyto_evolve::{Change, Decay, DecayPolicy, Example, Status, StoreError};
use flyto_tools::Failure;

use super::*;

#[tokio::test]
async fn a_tool_that_fails_again_and_again_is_set_aside_and_can_be_mended() {
    let bench = Bench::new();
    let broken = bench.store().dir().with_file_name("broken");
    let script = format!("[ ! -e '{}' ] || exit 3\n", broken.display());
    bench.save(&def("shaky", &script), None).await;
    bench.save(&def("pinned", "exit 4\n"), None).await;
    bench.store().pin("pinned", "ada").unwrap();
    for is_broken in [true, true, false, true, true] {
        match is_broken {
            true => std::fs::write(&broken, "").unwrap(),
            false => std::fs::remove_file(&broken).unwrap(),
        }
        call(&bench.registry, "shaky", json!({})).await.unwrap();
    }
    assert!(bench.registry.get("shaky").is_some());
    // Another process counts on.
    let (registry, builder) = bench.again();
    builder.load_all().await.unwrap();
    call(&registry, "shaky", json!({})).await.unwrap();
    assert!(registry.get("shaky").is_none());
    let last = bench.store().last("shaky").unwrap().unwrap();
    let why = "it failed 3 times in a row by its own fault".to_owned();
    assert_eq!((last.status, last.change), (Status::Archived, Change::Quarantined { why }));
    assert!(call(&bench.registry, "shaky", json!({})).await.is_err());
    let usage = builder.flush_usage().await.unwrap();
    let it = &usage["shaky"][&1];
    assert_eq!((it.n_calls, it.n_ok, it.n_own_failures), (6, 1, 5));
    assert_eq!(it.last_failure.as_deref(), Some("exit code 3"));
    // A proposal on that base mends it.
    bench.save(&def("shaky", "echo fine\n"), Some(last.number)).await;
    assert_eq!(output(&bench.registry, "shaky").await, "fine\n");
    for _ in 0..5 {
        call(&bench.registry, "pinned", json!({})).await.unwrap();
    }
    assert!(bench.registry.get("pinned").is_some());
}

#[tokio::test]
async fn input_that_a_tool_cannot_handle_does_not_set_it_aside() {
    let bench = Bench::new();
    let lines = bench.store().dir().with_file_name("lines");
    std::fs::write(&lines, "cherry\n").unwrap();
    let find = def("find", &format!("grep -e \"$TOOL_INPUT_TEXT\" '{}'\n", lines.display()))
        .with_input_schema(json!({"type": "object", "properties": {"text": {"type": "string"}}}))
        .with_example(Example::new(json!({"text": "apple"})))
        .with_example(Example::new(json!({"text": "pear"})).expecting_error());
    bench.save(&find, None).await;
    let usage = async || bench.builder.flush_usage().await.unwrap()["find"][&1].clone();
    // No match, a pattern that is none, no text, and what a person approved as a call that fails.
    for text in [json!("plum"), json!("["), json!(""), json!("pear"), json!("[a"), json!("fig")] {
        let input = if text == "" { json!({}) } else { json!({ "text": text }) };
        let result = call(&bench.registry, "find", input).await.unwrap();
        assert_eq!(result.is_error(), text != "", "{}", result.output);
        if text == "" {
            // It matches every line, so the counts begin anew.
            assert!(!usage().await.is_failing());
        }
    }
    let it = usage().await;
    assert_eq!((it.n_failures_in_a_row, it.n_certain_in_a_row, it.is_failing()), (3, 0, true));
    assert!(bench.holds("tool_failing") && bench.registry.get("find").is_some());
    // What a person approved as a call that succeeds is another matter.
    for n in 1..=3 {
        assert!(bench.registry.get("find").is_some(), "{n}");
        call(&bench.registry, "find", json!({"text": "apple"})).await.unwrap();
    }
    assert!(bench.registry.get("find").is_none());
}

#[tokio::test]
async fn callers_and_machines_set_no_tool_aside() {
    let bench = Bench::new();
    bench.save(&def("waits", "sleep 600\n"), None).await;
    bench.save(&def("lacks", "flyto-no-such-program\n"), None).await;
    for _ in 0..4 {
        let result = call(&bench.registry, "lacks", json!({})).await.unwrap();
        assert_eq!(result.failure, Some(Failure::exit_code(127)));
        let entry = bench.registry.get("waits").unwrap();
        let ctx = CallContext::new().with_deadline(Instant::now() + Duration::from_millis(20));
        let result = entry.tool().execute(&ctx, Input::from_value(json!({}))).await.unwrap();
        assert!(matches!(result.failure, Some(Failure::TimedOut { .. })), "{result:?}");
    }
    let usage = bench.builder.flush_usage().await.unwrap();
    for name in ["waits", "lacks"] {
        assert_eq!((usage[name][&1].n_calls, usage[name][&1].n_own_failures), (4, 0), "{name}");
        assert!(bench.registry.get(name).is_some());
    }
}

#[tokio::test]
async fn what_is_not_used_is_told_first_and_archived_on_demand() {
    let bench = Bench::new();
    bench.save(&def("used", "echo used\n"), None).await;
    bench.save(&def("kept", "echo 'kept by a person'\n"), None).await;
    bench.store().pin("kept", "ada").unwrap();
    let never = DecayPolicy::default();
    assert!(bench.builder.decay(&never, Some("rule")).await.unwrap().is_empty());
    let at_once = DecayPolicy::new(Duration::ZERO, Duration::ZERO);
    let steps = bench.builder.decay(&at_once, None).await.unwrap();
    assert_eq!(
        steps.iter().map(|it| (it.name.as_str(), it.decay)).collect::<Vec<_>>(),
        [("used", Decay::Archive)]
    );
    assert!(bench.registry.get("used").is_some());
    bench.builder.decay(&at_once, Some("rule")).await.unwrap();
    assert!(bench.registry.get("used").is_none() && bench.registry.get("kept").is_some());
    bench.builder.restore("used", "ada").await.unwrap();
    assert_eq!(output(&bench.registry, "used").await, "used\n");
}

#[tokio::test]
async fn a_damaged_file_of_counts_is_set_aside() {
    let bench = Bench::new();
    bench.save(&def("a", "echo a\n"), None).await;
    std::fs::write(bench.store().dir().join("usage.json"), "{\"a\":").unwrap();
    assert!(bench.store().usage().is_err());
    output(&bench.registry, "a").await;
    assert_eq!(bench.builder.flush_usage().await.unwrap()["a"][&1].n_ok, 1);
}

#[tokio::test]
async fn no_tool_decays_by_counts_that_were_lost() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        bench.save(&def(name, &format!("echo {name}\n")), None).await;
    }
    let saved = Instant::now();
    let decay = async || {
        // Both are older than that, as they were saved.
        let policy = DecayPolicy::new(saved.elapsed(), saved.elapsed());
        bench.builder.decay(&policy, Some("rule")).await.map(|it| it.len())
    };
    let told = || {
        let loaded = bench.store().load().unwrap();
        let names = loaded.damaged.iter().map(|it| it.path.file_name().unwrap().to_owned());
        (names.collect::<Vec<_>>(), loaded.set_aside.len())
    };
    let [usage, pins] = ["usage.json", "pins.json"].map(|it| bench.store().dir().join(it));
    for file in [&usage, &pins] {
        std::fs::write(file, "{\"a\":").unwrap();
        assert!(matches!(decay().await, Err(Refusal::Store(_))));
        assert_eq!(told(), (vec![file.file_name().unwrap().to_owned()], 0));
        std::fs::remove_file(file).unwrap();
    }
    // A call begins to count anew. Of "b" it is not known that it was not used before. The rule has the time until then for
    // its own work.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    std::fs::write(&usage, "{\"a\":").unwrap();
    output(&bench.registry, "a").await;
    bench.builder.flush_usage().await.unwrap();
    assert_eq!(told(), (vec![], 1));
    assert_eq!(decay().await.unwrap(), 0);
    let since = bench.store().counted_since().unwrap().unwrap();
    assert!(since <= flyto_audit::Timestamp::now());
    // Once the time is over since then, the rule holds again.
    let at_once = DecayPolicy::new(Duration::ZERO, Duration::ZERO);
    assert_eq!(bench.builder.decay(&at_once, None).await.unwrap().len(), 2);
}

#[tokio::test]
async fn neither_a_call_nor_a_start_waits_for_a_process_that_keeps_the_store_locked() {
    let bench = Bench::recording(CallRecording::default());
    bench.save(&def("a", "echo a\n"), None).await;
    let lock = std::fs::File::open(bench.store().dir().join(".lock")).unwrap();
    lock.lock().unwrap();
    let registry = Arc::new(Registry::new());
    // What is saved waits for so long, and would end this test.
    let store = Store::new(bench.store().dir()).lock_wait(Duration::from_secs(120));
    let host = HostContext::new(host_env(), "/tmp");
    let builder =
        ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::clone(&registry))
            .record_calls(CallRecording::default())
            .build();
    let work = async {
        let report = builder.load_all().await.unwrap();
        assert!(report.not_recovered.is_some_and(|it| it.contains("failed to lock")));
        assert_eq!(output(&registry, "a").await, "a\n");
        let Err(Refusal::Store(err)) = builder.flush_usage().await else {
            panic!("the store is locked")
        };
        assert!(matches!(*err, StoreError::Locked { .. }), "{err}");
        assert_eq!(builder.n_uncounted(), 1);
    };
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("nothing waits for the lock");
    drop(lock);
    assert_eq!(builder.flush_usage().await.unwrap()["a"][&1].n_ok, 1);
    assert_eq!(builder.n_uncounted(), 0);
    assert!(bench.store().calls("a", 1).unwrap().is_empty());
}
