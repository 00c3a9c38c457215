//! A composite from its proposal on: what is compared with the tools that are there, and what holds at each call.

use expect_test::{Expect, expect};
use flyto_evolve::{
    Answer, Applied, Approval, Approver, ApproverError, CallRecording, Change, Decision,
    HostContext, NewVersion, Proposal, Refusal, Review, Store, ToolBuilder,
};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use tempfile::TempDir;

use super::*;

#[derive(Debug, Default)]
pub(crate) struct Yes(pub(crate) Mutex<Vec<Review>>);

#[async_trait::async_trait]
impl Approver for Yes {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        self.0.lock().unwrap().push(review.clone());
        Ok(Decision::new(Answer::Save, "ada"))
    }
}

pub(crate) struct Life {
    temp: TempDir,
    pub(crate) bench: Bench,
    pub(crate) approver: Arc<Yes>,
    pub(crate) builder: ToolBuilder,
}

impl Life {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    fn at(temp: tempfile::TempDir) -> Self {
        let approver = Arc::new(Yes::default());
        Self::with(temp, approver.clone(), approver)
    }

    pub(crate) fn with(temp: TempDir, approver: Arc<Yes>, asked: Arc<dyn Approver>) -> Self {
        let bench = Bench::new();
        let store = Store::new(temp.path().join("evolution"));
        let env: Environment = [("PATH", "/usr/local/bin:/usr/bin:/bin")].into_iter().collect();
        let builder = ToolBuilder::builder(
            store,
            ExecEnv::new(Local::new()),
            HostContext::new(env, "/tmp"),
            Arc::clone(&bench.registry),
        )
        .approver(asked)
        .caller(Arc::clone(&bench.caller) as _)
        .max_per_session(30)
        .record_calls(CallRecording::default())
        .build();
        Self { temp, bench, approver, builder }
    }

    pub(crate) async fn apply(
        &self,
        def: &ToolDefinition,
        base: Option<u64>,
    ) -> Result<Applied, Refusal> {
        let mut proposal = Proposal::of(def, "session-1").distinct_because("a test");
        proposal.base = base;
        self.builder.apply(proposal).await
    }

    async fn refused(&self, def: &ToolDefinition, base: Option<u64>, expect: Expect) {
        let refusal = self.apply(def, base).await.expect_err("it is refused");
        expect.assert_eq(&format!("{:?}: {refusal}\n-> {}", refusal.stage(), refusal.advice()));
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> Result<ToolResult, ToolError> {
        self.bench.caller.call_tool(&CallContext::new(), name, Input::from_value(input)).await
    }
}

pub(crate) fn job(name: &str, tools: &[&str]) -> ToolDefinition {
    let steps: Vec<Value> = tools
        .iter()
        .enumerate()
        .map(|(i, tool)| json!({"id": format!("s{i}"), "tool": tool}))
        .collect();
    ToolDefinition::composite(
        name,
        format!("Does {name} with {}.", tools.join(" and ")),
        json!({"steps": steps}),
    )
}

#[tokio::test]
async fn a_composite_of_scripts_lives_through_a_restart() {
    let life = Life::new();
    let script = ToolDefinition::script(
        "count",
        "Counts the words of a text.",
        "wc -w <<< \"$TOOL_INPUT_TEXT\"\n",
    )
    .with_input_schema(
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    );
    life.apply(&script, None).await.unwrap();
    let def = ToolDefinition::composite("sizes", "Counts the words of every text.", json!({"steps": [
        {"id": "each", "tool": "count", "version": 1, "for_each": by_ref("/input/texts"), "with": {"text": by_ref("/item")}},
    ]}))
    .with_input_schema(json!({"type": "object", "properties": {"texts": {"type": "array", "items": {"type": "string"}}}, "required": ["texts"]}));
    life.apply(&def, None).await.unwrap();
    let texts = json!({"texts": ["$(id) one", "", "a b c"]});
    let before = life.call("sizes", texts.clone()).await.unwrap();
    assert_eq!(before.data.clone().unwrap(), json!(["2\n", "0\n", "3\n"]));
    let notes = life.approver.0.lock().unwrap().last().unwrap().notes.clone();
    assert!(notes.iter().any(|it| it.contains("destructive undeclared, so true")), "{notes:?}");

    let again = Life::at(life.temp);
    again.builder.load_all().await.unwrap();
    assert_eq!(again.call("sizes", texts.clone()).await.unwrap().data, before.data);
    let err = again.call("sizes", json!({"texts": 1})).await.unwrap();
    assert_eq!(err.failure, Some(Failure::BadInput));
    // A pinned step is another one now.
    let mut next = script;
    next.description = "Counts words.".into();
    again.apply(&next, Some(1)).await.unwrap();
    let err = again.call("sizes", texts).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    assert!(err.to_string().contains("the version of the tool \"count\" is 2"), "{err}");
}

#[tokio::test]
async fn what_the_tools_do_not_take_is_refused() {
    let life = Life::new();
    let script = ToolDefinition::script("count", "Counts the words of a text.", "wc -w <<< \"$TOOL_INPUT_TEXT\"\n")
        .with_input_schema(json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}));
    life.apply(&script, None).await.unwrap();
    let def = ToolDefinition::composite(
        "bad",
        "Is wrong.",
        json!({"steps": [
            {"id": "a", "tool": "counts"},
            {"id": "b", "tool": "count", "with": {"texts": 1}},
            {"id": "c", "tool": "count", "with": {"text": 7}, "for_each": [], "max_parallel": 2},
            {"id": "d", "tool": "count", "with": {"text": by_ref("/input/pth")}},
            {"id": "e", "tool": "create_tool"},
        ]}),
    )
    .with_input_schema(json!({"type": "object", "properties": {"path": {"type": "string"}}}));
    life.refused(&def, None, expect![[r#"
        Syntax: /composite/steps/1/with: the tool "count" needs "text"; /composite/steps/1/with/texts: the tool "count" takes no "texts"; /composite/steps/2/with/text: the tool "count" does not take this: (root): expected a string, got the number 7; /composite/steps/2/max_parallel: calls of "count" may not run beside each other; /composite/steps/4/tool: "create_tool" is not called by other tools; /composite/steps/3: "/input/pth" has no value: the schema has no "pth"
        -> add "text" to "with"; did you mean "text"?; write a value that fits its schema; leave it out; let the agent call it; did you mean "path"?"#]]).await;
    // A schema that closes all parameters out has none; one that says nothing of them has any.
    let to_input =
        json!({"steps": [{"id": "a", "tool": "say", "with": {"text": by_ref("/input/zz")}}]});
    let mut def = ToolDefinition::composite("none", "Says a text of none.", to_input);
    def.input_schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    life.refused(
        &def,
        None,
        expect![[r#"
        Syntax: /composite/steps/0: "/input/zz" has no value: the schema has no "zz"
        -> add "zz" to the schema"#]],
    )
    .await;
    def.input_schema = json!({"type": "object", "properties": {}});
    life.apply(&def, None).await.unwrap();
    life.refused(
        &job("two", &["counts"]),
        None,
        expect![[r#"
        Syntax: /composite/steps/0/tool: there is no tool "counts"
        -> did you mean "count"?"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_never_a_list_has_no_items() {
    let life = Life::new();
    let job = |value: Value| {
        let steps = json!({"steps": [{"id": "a", "tool": "echo", "for_each": value}]});
        let mut def = ToolDefinition::composite("each", "Says each.", steps);
        def.input_schema = json!({"type": "object", "properties": {"list": {}}});
        def
    };
    for value in [json!("x"), json!(1), json!(null), json!({"a": []}), json!({"$concat": ["a"]})] {
        life.refused(
            &job(value),
            None,
            expect![[r#"
                Syntax: /composite/steps/0/for_each: "for_each" takes a list, and the value is never one
                -> write a list, or a reference to one"#]],
        )
        .await;
    }
    let default = json!({"$default": [by_ref("/input/list"), []]});
    life.apply(&job(default), None).await.unwrap();
    life.apply(&job(json!(["a", by_ref("/input/list")])), Some(1)).await.unwrap();
}

#[tokio::test]
async fn a_composite_is_never_safer_than_its_steps() {
    let life = Life::new();
    let mut def = job("mixed", &["echo", "write"]);
    def.read_only = true;
    life.refused(&def, None, expect![[r#"
        Syntax: /read_only: "read_only" says that calls change nothing, and the step tool "write" does not declare that
        -> a composite is never safer than its steps: leave it out"#]]).await;
    // An undo step counts.
    let undo = json!({"steps": [{"id": "a", "tool": "echo", "undo": {"tool": "write"}}]});
    let mut def = ToolDefinition::composite("mixed", "Reads.", undo);
    def.concurrency_safe = true;
    life.refused(&def, None, expect![[r#"
        Syntax: /concurrency_safe: "concurrency_safe" says that calls may run beside each other, and the step tool "write" does not declare that
        -> a composite is never safer than its steps: leave it out"#]]).await;
    // What is not declared counts as destructive.
    let claim = json!({"steps": [{"id": "a", "tool": "write"}], "destructive": false});
    life.refused(&ToolDefinition::composite("mixed", "Reads.", claim), None, expect![[r#"
        Syntax: /composite/destructive: "composite/destructive" says that calls destroy nothing, and the step tool "write" does not declare that
        -> a composite is never safer than its steps: leave it out"#]]).await;

    let mut def = job("reads", &["echo", "say"]);
    (def.read_only, def.concurrency_safe) = (true, true);
    life.apply(&def, None).await.unwrap();
    let entry = life.bench.registry.get("reads").unwrap();
    let metadata = entry.tool().metadata();
    assert_eq!((metadata.read_only, metadata.concurrency_safe), (Some(true), Some(true)));
    assert_eq!((metadata.destructive, metadata.open_world), (Some(false), Some(false)));
    // A composite of composites is as its inner ones; what the inner one does not claim is not claimed.
    life.apply(&job("inner", &["echo"]), None).await.unwrap();
    let mut def = job("outer", &["inner"]);
    def.read_only = true;
    life.refused(&def, None, expect![[r#"
        Syntax: /read_only: "read_only" says that calls change nothing, and the step tool "inner" does not declare that
        -> a composite is never safer than its steps: leave it out"#]]).await;

    // A step that lost its declaration takes the approval with it.
    life.bench.registry.remove("say");
    let say = NativeTool::builder("say", "Says.").run(async |_, _: Object| "said").unwrap();
    life.bench.registry.register("host", Arc::new(say)).unwrap();
    let err = life.call("reads", json!({})).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    assert!(err.to_string().contains("\"read_only\" says that calls change nothing"), "{err}");
}

#[tokio::test]
async fn tools_that_call_each_other_are_caught_at_creation_and_at_change() {
    let life = Life::new();
    life.refused(
        &job("own", &["own"]),
        None,
        expect![[r#"
        Syntax: /composite/steps/0/tool: the tools call each other: own -> own
        -> call a tool that does not call this one"#]],
    )
    .await;
    life.apply(&job("a", &["echo"]), None).await.unwrap();
    life.apply(&job("b", &["a"]), None).await.unwrap();
    life.apply(&job("c", &["b", "echo"]), None).await.unwrap();
    life.refused(
        &job("a", &["c"]),
        Some(1),
        expect![[r#"
        Syntax: /composite/steps/0/tool: the tools call each other: a -> c -> b -> a
        -> call a tool that does not call this one"#]],
    )
    .await;
    life.apply(&job("d", &["c"]), None).await.unwrap();
    life.apply(&job("e", &["d"]), None).await.unwrap();
    life.refused(
        &job("f", &["e"]),
        None,
        expect![[r#"
        Syntax: /composite/steps/0/tool: composite tools call each other more than 5 deep
        -> write the steps of the inner tools here"#]],
    )
    .await;
    // Two processes that each saw one half: the call finds the ring.
    let text = life.call("e", json!({})).await.unwrap().output;
    assert_eq!(text, "{}");
    let ring = CompositeTool::new(
        job("echo", &["e"]),
        Arc::clone(&life.bench.caller) as _,
        Arc::clone(&life.bench.registry),
    )
    .unwrap();
    life.bench.registry.remove("echo");
    life.bench.registry.register("other", Arc::new(ring)).unwrap();
    let err = life.call("e", json!({})).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    assert!(err.to_string().contains("the tools call each other"), "{err}");
}

/// Puts a tool in the place of `say` that declares this.
fn say(life: &Life, destructive: Option<bool>, open_world: Option<bool>) {
    life.bench.registry.remove("say");
    let metadata = {
        let mut res = reading();
        (res.destructive, res.open_world) = (destructive, open_world);
        res
    };
    let said = NativeTool::builder("say", "Says.").metadata(metadata);
    let said = said.run(async |_, _: Object| "said").unwrap();
    life.bench.registry.register("host", Arc::new(said)).unwrap();
}

#[tokio::test]
async fn a_step_tool_that_becomes_dangerous_makes_its_composites_so() {
    let life = Life::new();
    life.apply(&job("inner", &["echo", "say"]), None).await.unwrap();
    life.apply(&job("outer", &["inner"]), None).await.unwrap();
    let declared = |name: &str| {
        let entry = life.bench.registry.get(name).unwrap();
        let metadata = entry.tool().metadata();
        (metadata.destructive, metadata.open_world)
    };
    let safe = (Some(false), Some(false));
    assert_eq!((declared("inner"), declared("outer")), (safe, safe));
    // No call is made on what no longer holds, also where the change is one that no composite can see come.
    for (destructive, open_world, what) in [
        (Some(true), Some(false), "calls may destroy something"),
        (None, Some(false), "calls may destroy something"),
        (Some(false), Some(true), "calls may reach other systems"),
        (Some(false), None, "calls may reach other systems"),
    ] {
        say(&life, destructive, open_world);
        for name in ["inner", "outer"] {
            let n_before = life.bench.called().len();
            let err = life.call(name, json!({})).await.unwrap_err();
            assert_eq!(err.kind(), ToolErrorKind::Refused, "{err}");
            assert!(err.to_string().contains(what), "{err}");
            assert_eq!(life.bench.called().len(), n_before + 1, "no step is called");
        }
        // Loading derives it anew, for composites of composites as well.
        life.builder.load_all().await.unwrap();
        let now = (destructive, open_world);
        assert_eq!((declared("inner"), declared("outer")), (now, now));
        life.call("outer", json!({})).await.unwrap();
        // And back.
        say(&life, Some(false), Some(false));
        life.builder.load_all().await.unwrap();
        assert_eq!((declared("inner"), declared("outer")), (safe, safe));
    }
}

#[tokio::test]
async fn a_new_version_of_a_step_is_seen_at_once_by_what_calls_it() {
    let life = Life::new();
    let claim = |is| json!({"steps": [{"id": "a", "tool": "echo"}], "destructive": is});
    let step = |is| ToolDefinition::composite("step", "Is a step.", claim(is));
    life.apply(&step(false), None).await.unwrap();
    life.apply(&job("whole", &["step"]), None).await.unwrap();
    let declared = || life.bench.registry.get("whole").unwrap().tool().metadata().destructive;
    assert_eq!(declared(), Some(false));
    life.apply(&step(true), Some(1)).await.unwrap();
    assert_eq!(declared(), Some(true));
    // A person saw another step.
    let err = life.call("whole", json!({})).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    assert!(err.to_string().contains("tools that it calls changed: step"), "{err}");
    life.builder.roll_back("step", 1, "ada").await.unwrap();
    assert_eq!(declared(), Some(false));
    life.call("whole", json!({})).await.unwrap();
    life.builder.archive("step", "ada").await.unwrap();
    assert_eq!(declared(), None);
    let err = life.call("whole", json!({})).await.unwrap_err();
    assert!(err.to_string().contains("there is no tool \"step\""), "{err}");
}

#[tokio::test]
async fn only_what_its_own_text_does_sets_a_composite_aside() {
    let life = Life::new();
    let end = |steps: Value, output: Value| json!({"steps": [steps], "output": output});
    let of = |tool: &str| end(json!({"id": "a", "tool": tool}), json!("done"));
    let each = json!({"id": "a", "tool": "denied", "for_each": [1, 2]});
    let wrong = end(json!({"id": "a", "tool": "echo"}), by_ref("/steps/a/output/missing"));
    for (name, composite, own, of_step) in [
        ("refused", of("denied"), 0, 0),
        ("refused_items", end(each, json!("done")), 0, 0),
        ("of_a_step", of("fail"), 0, 4),
        ("of_itself", wrong, 3, 0),
    ] {
        let what = format!("Does {name} to its end.");
        life.apply(&ToolDefinition::composite(name, what, composite), None).await.unwrap();
        for _ in 0..3 {
            assert!(life.call(name, json!({})).await.unwrap().is_error());
        }
        let is_there = life.bench.registry.get(name).is_some();
        assert_eq!(is_there, own < 3, "{name}");
        if is_there {
            life.call(name, json!({})).await.unwrap();
        }
        let usage = life.builder.flush_usage().await.unwrap();
        let it = &usage[name][&1];
        assert_eq!((it.n_own_failures, it.n_step_failures), (own, of_step), "{name}");
    }
    // Neither does a caller that takes its call back, or gives it no time.
    life.apply(&job("slow", &["wait"]), None).await.unwrap();
    let entry = life.bench.registry.get("slow").unwrap();
    for _ in 0..3 {
        let ctx = CallContext::new();
        ctx.cancellation().cancel();
        let result = entry.tool().execute(&ctx, Input::from_value(json!({}))).await.unwrap();
        assert_eq!(result.failure, Some(Failure::Cancelled));
        let ctx = CallContext::new().with_deadline(std::time::Instant::now());
        assert!(entry.tool().execute(&ctx, Input::from_value(json!({}))).await.unwrap().is_error());
    }
    assert!(life.bench.registry.get("slow").is_some());
}

#[tokio::test]
async fn a_composite_needs_review_once_a_tool_below_its_steps_is_another_one() {
    let life = Life::new();
    let script = |text: &str| ToolDefinition::script("part", "Is a part.", text);
    life.apply(&script("echo one\n"), None).await.unwrap();
    life.apply(&job("whole", &["part"]), None).await.unwrap();
    life.apply(&job("outer", &["whole"]), None).await.unwrap();
    let outer = life.builder.store().last("outer").unwrap().unwrap();
    let approved: Vec<_> = outer.approval.as_ref().unwrap().tools.keys().cloned().collect();
    assert_eq!(approved, ["part", "whole"]);
    life.call("outer", json!({})).await.unwrap();
    life.apply(&script("echo two\n"), Some(1)).await.unwrap();
    let whole = life.builder.store().last("whole").unwrap().unwrap();
    life.builder.apply(Proposal::again(&whole, "ada")).await.unwrap();
    life.call("whole", json!({})).await.unwrap();
    let err = life.call("outer", json!({})).await.unwrap_err();
    assert!(err.to_string().contains("changed: part"), "{err}");
    let report = Life::at(life.temp).builder.load_all().await.unwrap();
    let waits: Vec<_> = report.needs_review.iter().map(|it| (&*it.name, &*it.tools)).collect();
    assert_eq!(waits, [("outer", &["part".to_owned()][..])]);
}

#[tokio::test]
async fn a_composite_needs_review_once_a_tool_of_its_steps_is_another_one() {
    let life = Life::new();
    let script = |text: &str| ToolDefinition::script("part", "Is a part.", text);
    life.apply(&script("echo one\n"), None).await.unwrap();
    life.apply(&job("whole", &["part", "echo"]), None).await.unwrap();
    let first = life.builder.store().last("part").unwrap().unwrap();
    let whole = life.builder.store().last("whole").unwrap().unwrap();
    let approved = &whole.approval.as_ref().unwrap().tools;
    // The tools of the host are the host's to answer for.
    assert_eq!(approved.iter().collect::<Vec<_>>(), [(&"part".to_owned(), &first.hash())]);
    let review = life.approver.0.lock().unwrap().last().unwrap().to_string();
    assert!(review.contains(&format!("calls part, sha256 {}: ", first.hash().short())), "{review}");
    life.call("whole", json!({})).await.unwrap();

    life.apply(&script("echo two\n"), Some(1)).await.unwrap();
    let notes = life.approver.0.lock().unwrap().last().unwrap().notes.clone();
    assert!(
        notes.contains(&"called by whole, which must be approved again before they run".into())
    );
    let n_before = life.bench.called().len();
    let err = life.call("whole", json!({})).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Refused);
    assert!(err.to_string().contains("needs review and is not run"), "{err}");
    assert_eq!(life.bench.called().len(), n_before + 1, "no step is called");
    // Another process says so too.
    let again = Life::at(life.temp);
    let report = again.builder.load_all().await.unwrap();
    let waits: Vec<_> = report.needs_review.iter().map(|it| (&*it.name, it.version)).collect();
    assert_eq!((waits, &report.needs_review[0].tools), (vec![("whole", 1)], &vec!["part".into()]));
    assert!(again.call("whole", json!({})).await.is_err());
    // The old text again needs no person, and the new one does.
    again.builder.roll_back("part", 1, "ada").await.unwrap();
    again.call("whole", json!({})).await.unwrap();
    again.builder.roll_back("part", 2, "ada").await.unwrap();
    let proposal = Proposal::again(&whole, "ada");
    let Applied::Saved(saved) = again.builder.apply(proposal).await.unwrap() else { panic!() };
    assert_eq!(
        (saved.number, saved.change, saved.definition.hash()),
        (2, Change::Reviewed, whole.hash())
    );
    again.call("whole", json!({})).await.unwrap();
    assert!(again.builder.load_all().await.unwrap().needs_review.is_empty());
    // A tool of the host in the place of one that was approved is another one as well.
    let loaded = again.builder.store().load().unwrap();
    assert_eq!(loaded.callers("part"), ["whole"]);
    again.builder.archive("part", "ada").await.unwrap();
    let part = NativeTool::builder("part", "Is a part.").run(async |_, _: Object| "part").unwrap();
    again.bench.registry.register("host", Arc::new(part)).unwrap();
    let err = again.call("whole", json!({})).await.unwrap_err();
    assert!(err.to_string().contains("changed: part"), "{err}");
}

#[tokio::test]
async fn a_text_that_comes_while_a_composite_runs_is_not_run_by_it() {
    for version in [None, Some(1)] {
        let life = Life::new();
        let script = |text: &str| ToolDefinition::script("part", "Is a part.", text);
        life.apply(&script("echo old\n"), None).await.unwrap();
        let builder = life.builder.clone();
        let swap = NativeTool::builder("swap", "Saves another text for a part.");
        let swap = swap.run(move |_, _: Object| {
            let builder = builder.clone();
            let next = ToolDefinition::script("part", "Is a part.", "echo new\n");
            async move {
                let next = Proposal::of(&next, "s").based_on(1).distinct_because("a test");
                builder.apply(next).await.unwrap();
                "done"
            }
        });
        life.bench.registry.register("host", Arc::new(swap.unwrap())).unwrap();
        let mut last = json!({"id": "b", "tool": "part", "after": ["a"], "on_error": "undo"});
        if let Some(version) = version {
            last["version"] = json!(version);
        }
        let steps = json!([
            {"id": "w", "tool": "write", "undo": {"tool": "remove"}},
            {"id": "u", "tool": "write", "undo": {"tool": "part"}},
            {"id": "a", "tool": "swap"},
            last,
        ]);
        let whole = ToolDefinition::composite("whole", "Is a whole.", json!({"steps": steps}));
        life.apply(&whole, None).await.unwrap();
        let result = life.call("whole", json!({})).await.unwrap();
        expect![[r#"
            step "b" failed
            w: done
            u: done
            a: done
            b: failed: the tool "part" changed while the composite ran
            undone: w
            not undone: u: the tool "part" changed while the composite ran
            without undo: a
        "#]]
        .assert_eq(&result.output);
        assert_eq!(
            life.bench.called(),
            ["whole {}", "write {}", "write {}", "swap {}", "remove {}"]
        );
        assert_eq!(life.call("part", json!({})).await.unwrap().output, "new\n");
    }
}

#[tokio::test]
async fn a_tool_that_takes_a_name_while_a_composite_runs_is_not_run_by_it() {
    // What is gone is told by the call of it.
    let changed = "the tool \"part\" changed while the composite ran";
    for (takes_it, why) in [(true, changed), (false, "part\n")] {
        let life = Life::new();
        let part = ToolDefinition::script("part", "Is a part.", "echo old\n");
        life.apply(&part, None).await.unwrap();
        let (builder, registry) = (life.builder.clone(), Arc::clone(&life.bench.registry));
        let swap = NativeTool::builder("swap", "Archives a part.");
        let swap = swap.run(move |_, _: Object| {
            let (builder, registry) = (builder.clone(), Arc::clone(&registry));
            async move {
                builder.archive("part", "ada").await.unwrap();
                let other = NativeTool::builder("part", "Is another.");
                let other = other.run(|_, _: Object| async { "other" }).unwrap();
                if takes_it {
                    registry.register("host", Arc::new(other)).unwrap();
                }
                "done"
            }
        });
        life.bench.registry.register("host", Arc::new(swap.unwrap())).unwrap();
        let steps =
            json!([{"id": "a", "tool": "swap"}, {"id": "b", "tool": "part", "after": ["a"]}]);
        let whole = ToolDefinition::composite("whole", "Is a whole.", json!({"steps": steps}));
        life.apply(&whole, None).await.unwrap();
        let result = life.call("whole", json!({})).await.unwrap();
        assert!(result.output.contains(&format!("b: failed: {why}")), "{}", result.output);
    }
}

/// Says yes, and meanwhile another process gives the tool `count` another text.
#[derive(Debug)]
struct WhileAsked(Store);

#[async_trait::async_trait]
impl Approver for WhileAsked {
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        if review.name == "sizes" {
            let def = ToolDefinition::script("count", "Counts.", "wc -c\n");
            let approval = Approval::now("bob", def.hash());
            let new = NewVersion::new(def, Some(1), Change::Updated).approved(approval);
            self.0.commit(new).unwrap();
        }
        Ok(Decision::new(Answer::Save, "ada"))
    }
}

#[tokio::test]
async fn a_yes_to_a_composite_is_none_where_its_tools_changed_meanwhile() {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::new(temp.path().join("evolution"));
    let life = Life::with(temp, Arc::default(), Arc::new(WhileAsked(store.clone())));
    life.apply(&ToolDefinition::script("count", "Counts.", "wc -w\n"), None).await.unwrap();
    life.refused(
        &job("sizes", &["count"]),
        None,
        expect![[r#"
            Approval: not approved: tools that it calls changed while the question was open (count); propose it again to be asked with them
            -> "#]],
    )
    .await;
    let loaded = store.load().unwrap();
    let names: Vec<_> = loaded.active.iter().map(|it| (&*it.definition.name, it.number)).collect();
    assert_eq!(names, [("count", 2)]);
}
