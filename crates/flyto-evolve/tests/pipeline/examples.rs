//! Examples of proposals, which run before a person is asked.

use flyto_evolve::{Example, ExampleReport, Refusal, ToolDefinition};
use flyto_execenv::{
    Capabilities, Capability, ExecEnv, ExecError, Executor, Isolation, Running, Spec, local::Local,
};
use serde_json::json;

use super::{Bench, def};

/// Declares that it confines, notes what was asked for, and runs the program without it: what is tried here is what
/// is asked for, and what becomes of the outcome.
#[derive(Debug)]
struct Confining {
    local: Local,
    capabilities: Capabilities,
    asked: std::sync::Arc<std::sync::Mutex<Vec<Spec>>>,
}

#[async_trait::async_trait]
impl Executor for Confining {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, mut spec: Spec) -> Result<Running, ExecError> {
        self.asked.lock().unwrap().push(spec.clone());
        spec.isolation = Isolation::new();
        self.local.start(spec).await
    }
}

pub(crate) fn confining() -> (ExecEnv, std::sync::Arc<std::sync::Mutex<Vec<Spec>>>) {
    let local = Local::new();
    let capabilities = local.capabilities().clone().with(Capability::ALL.iter().copied());
    let asked = std::sync::Arc::default();
    let confining = Confining { local, capabilities, asked: std::sync::Arc::clone(&asked) };
    (ExecEnv::new(confining), asked)
}

fn shout(example: Example) -> ToolDefinition {
    def("shout", "tr a-z A-Z <<< \"$TOOL_INPUT_TEXT\"\n")
        .with_input_schema(json!({"type": "object", "properties": {"text": {"type": "string"}}}))
        .with_example(example)
}

#[tokio::test]
async fn examples_run_confined_before_a_person_is_asked() {
    let (env, asked) = confining();
    let bench = Bench::with(env);
    let example = Example::new(json!({"text": "hi"})).expecting_output("HI").expecting_text("H");
    let saved = bench.save(&shout(example), None).await;
    let ExampleReport::Ran { outcomes } = bench.approver.last().examples else { panic!() };
    assert_eq!((outcomes[0].output.as_str(), &outcomes[0].problem), ("HI\n", &None));
    assert_eq!(saved.evidence["examples"]["state"], "ran");
    let specs = asked.lock().unwrap();
    // The first one is `bash -n`.
    let spec = &specs[1];
    assert_eq!(spec.isolation.network, flyto_execenv::Network::Off);
    assert_ne!(spec.isolation.filesystem, flyto_execenv::Filesystem::Host);
    let names: Vec<_> = spec.env.names().map(|it| it.to_str().unwrap()).collect();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR", "TOOL_INPUT_TEXT"]);
    assert!(!spec.working_dir.exists(), "the directory is removed");
    let name = spec.working_dir.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("tmp.") && !name.contains("flyto"), "{name}");
    let limits = &spec.limits;
    for limit in
        [limits.memory_bytes, limits.file_size_bytes, limits.processes, limits.output_bytes]
    {
        assert!(limit.is_some(), "{limits:?}");
    }
}

#[tokio::test]
async fn a_failing_example_is_not_shown() {
    let (env, _) = confining();
    let bench = Bench::with(env);
    for (example, problem) in [
        (
            Example::new(json!({"text": "hi"})).expecting_output("hi"),
            "the output \"hi\" is expected",
        ),
        (
            Example::new(json!({"text": "hi"})).expecting_text("x"),
            "the text \"x\" is expected in the output",
        ),
        (
            Example::new(json!({"text": "hi"})).expecting_error(),
            "it is expected that the call fails",
        ),
    ] {
        let refusal = bench.refused(shout(example).file_text()).await;
        let Refusal::ExampleFailed { outcomes } = &refusal else { panic!("{refusal}") };
        assert_eq!(outcomes[0].problem.as_deref(), Some(problem));
        assert_eq!(refusal.to_string(), format!("example 0: {problem}, got \"HI\\n\""));
    }
    assert_eq!(bench.approver.n_seen(), 0);
}

#[tokio::test]
async fn a_failure_of_an_example_is_named() {
    let (env, _) = confining();
    let bench = Bench::with(env);
    let script = "case $TOOL_INPUT_TEXT in long) yes ;; *) exit 3 ;; esac\n";
    for (text, problem) in [
        ("a", "it is expected that the call succeeds: exit code 3"),
        ("long", "it is expected that the call succeeds: it took more than 1 MiB of output"),
    ] {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let tool = def("fail", script)
            .with_input_schema(schema)
            .with_example(Example::new(json!({"text": text})));
        let refusal = bench.refused(tool.file_text()).await;
        let Refusal::ExampleFailed { outcomes } = &refusal else { panic!("{refusal}") };
        assert_eq!(outcomes[0].problem.as_deref(), Some(problem));
        // It may lack what a confined run has not.
        assert!(refusal.advice().contains("without network"), "{}", refusal.advice());
    }
}

#[tokio::test]
async fn a_refusal_quotes_little_of_an_output_and_no_secret() {
    let (env, asked) = confining();
    let bench = Bench::with(env);
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo \"$TOOL_INPUT_A$TOOL_INPUT_B line $i of what it read\"; done\n";
    // That a rule is sure of is refused as a secret; this may be one.
    let input = json!({"a": "mysql --password=tr0ub4", "b": "dor-and-3 "});
    let mut definition = def("peek", script);
    for n in 0..5 {
        let example = Example::new(input.clone()).expecting_output(format!("{n}"));
        definition = definition.with_example(example);
    }
    let refusal = bench.refused(definition.file_text()).await;
    let text = refusal.to_string();
    assert!(!text.contains("tr0ub4dor") && text.contains("redacted"), "{text}");
    assert!(text.len() < 2560 && text.ends_with("more bytes"), "{text}");
    // What only root may read is closed.
    let specs = asked.lock().unwrap();
    let is_root = std::fs::File::open("/etc/shadow").is_ok();
    let denied = &specs.last().expect("one ran").isolation.denied;
    assert_eq!(denied.iter().any(|it| it.ends_with("etc/shadow")), is_root);
}

#[tokio::test]
async fn without_confinement_they_are_not_run() {
    let bench = Bench::new();
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("marker");
    let script = format!("touch {}\n", marker.display());
    bench.save(&def("mark", &script).with_example(Example::new(json!({}))), None).await;
    assert!(!marker.exists());
    let ExampleReport::Untested { why } = bench.approver.last().examples else { panic!() };
    assert!(why.starts_with("nothing confines them here: "), "{why}");
}

#[tokio::test]
async fn a_long_output_says_how_much_is_left_out() {
    let bench = Bench::with(confining().0);
    let example = Example::new(json!({"text": "é".repeat(3000)})).expecting_text("é");
    bench
        .save(
            &def("say", "echo \"$TOOL_INPUT_TEXT\"\n")
                .with_input_schema(
                    json!({"type": "object", "properties": {"text": {"type": "string"}}}),
                )
                .with_example(example),
            None,
        )
        .await;
    let review = bench.approver.last();
    let shown = review.to_string();
    assert!(shown.contains("\n  ! 1905 more bytes of the output are not shown\n"), "{shown}");
    let ExampleReport::Ran { outcomes } = &review.examples else { panic!() };
    assert_eq!((outcomes[0].output.len(), outcomes[0].omitted_bytes), (4096, 1905));
    assert_eq!(
        serde_json::to_value(&review).unwrap()["examples"]["outcomes"][0]["omitted_bytes"],
        1905
    );
    // What fails is quoted with all that is left out.
    let wrong = Example::new(json!({"text": "x".repeat(5000)})).expecting_output("y");
    let refusal = bench.refused(shout(wrong).file_text()).await;
    assert!(refusal.to_string().contains("and 4745 more bytes"), "{refusal}");
}
