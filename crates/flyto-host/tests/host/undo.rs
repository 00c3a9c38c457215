//! The stage that records how calls are taken back, and undoing them through all stages.

use std::{
    error::Error,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use flyto_audit::Reader;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{
    CallError, Host, HostBuilder, OutputGuard,
    stages::{Answer, CallReport, CheckpointHandler, Question, names},
    undo::{UndoError, UndoState, UndoStore},
};
use flyto_tools::{
    CallContext, Failure, Input, NativeTool, NoInput, ToolCaller as _, ToolResult, UndoInfo,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::World;

/// What the tools take.
#[derive(Debug, Deserialize, JsonSchema)]
struct Note {
    /// The name of the note.
    name: String,
}

/// What the tools have done.
type Done = Arc<Mutex<Vec<String>>>;

/// A host with notes that are made and removed.
struct Notes {
    world: World,
    store: UndoStore,
    host: Host,
    done: Done,
}

impl Notes {
    fn new() -> Self {
        Self::of(World::new(), |it, store| it.undo_store(store))
    }

    /// With rules that allow what none denies.
    fn of(mut world: World, build: impl FnOnce(HostBuilder, UndoStore) -> HostBuilder) -> Self {
        for rule in ["make", "remove", "plain", "stuck", "twice"] {
            world.config.permissions.allow(rule).expect("a rule");
        }
        let store = UndoStore::of(&world.surroundings().places).expect("a state directory");
        let env = ExecEnv::new(Local::new());
        let builder = Host::builder(env, world.surroundings(), world.config.clone());
        let host = build(builder, store.clone()).build();
        let done = Done::default();
        for (name, inverse) in [("make", "remove"), ("remove", "make")] {
            let done = Arc::clone(&done);
            add(
                &host,
                NativeTool::builder(name, "Makes or removes.").run(move |_, it: Note| {
                    let text = format!("{name} {}", it.name);
                    done.lock().expect("not poisoned").push(text.clone());
                    let undo = UndoInfo::new(inverse, inverse, json!({"name": it.name}));
                    async move { ToolResult::text(text).with_undo(undo) }
                }),
            );
        }
        let plain = NativeTool::builder("plain", "Cannot be taken back.");
        add(&host, plain.run(async |_, _: NoInput| "done"));
        let stuck = NativeTool::builder("stuck", "Is cancelled in the middle.");
        let stuck = stuck.run(|ctx: CallContext, _: NoInput| {
            ctx.cancellation().cancel();
            std::future::pending::<&str>()
        });
        add(&host, stuck);
        let twice = NativeTool::builder("twice", "Its inverse is cancelled.");
        add(
            &host,
            twice.run(async |_, _: NoInput| {
                ToolResult::text("done").with_undo(UndoInfo::new("wait", "stuck", json!({})))
            }),
        );
        Self { world, store, host, done }
    }

    async fn call(&self, tool: &str, input: Value) -> CallReport {
        let call = self.host.prepare(tool, Input::from_value(input)).expect("it is there");
        call.run_reported(&CallContext::new()).await
    }

    /// Makes a note, and gives the id of the record.
    async fn make(&self, name: &str) -> String {
        let report = self.call("make", json!({"name": name})).await;
        report.undo.expect("it has an inverse").expect("it is recorded")
    }

    async fn undo(&self, id: &str) -> Result<ToolResult, UndoError> {
        self.store.undo(&self.host, id, &CallContext::new()).await
    }

    /// The file of the only record.
    fn record_file(&self) -> PathBuf {
        let entries =
            fs::read_dir(self.store.dir()).expect("listed").map(|it| it.expect("there").path());
        let mut files = entries.filter(|it| it.extension().is_some_and(|it| it == "json"));
        files.next().expect("a record")
    }

    fn state(&self, id: &str) -> UndoState {
        self.store.find(id).expect("a record").state
    }

    fn done(&self) -> String {
        self.done.lock().expect("not poisoned").join(", ")
    }

    /// The bodies of the records of a tool's calls, begin and end.
    fn audit(&self, tool: &str) -> Vec<(String, Value, Value)> {
        let log = Reader::open(self.world.path(".local/state/flyto/audit")).expect("a log");
        let records = log.records().expect("it opens").map(|it| it.expect("a record"));
        let records: Vec<_> = records.collect();
        let begins = records.iter().filter(|it| it.event == "begin" && it.body["tool"] == *tool);
        let pair = |begin: &flyto_audit::Record| {
            let end = records.iter().find(|it| it.event == "end" && it.id == begin.id);
            (begin.id.clone(), begin.body.clone(), end.expect("its end").body.clone())
        };
        begins.map(pair).collect()
    }
}

fn add(host: &Host, tool: Result<NativeTool, impl std::fmt::Debug>) {
    host.add_tool("test", tool.expect("a tool")).expect("its name is free");
}

/// Cancels the call before its tool.
#[derive(Debug)]
struct NoAnswer;

#[async_trait]
impl CheckpointHandler for NoAnswer {
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        question.call.ctx().cancellation().cancel();
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_undoing_that_ends_at_a_question_leaves_the_record_as_it_was() {
    let mut world = World::new();
    world.config.permissions.ask("remove").expect("a rule");
    let notes = Notes::of(world, |it, store| it.undo_store(store).checkpoint_handler(NoAnswer));
    let id = notes.make("a").await;
    let result = notes.undo(&id).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Cancelled));
    assert_eq!((notes.state(&id), &*notes.done()), (UndoState::Open, "make a"));
}

#[tokio::test]
async fn a_result_with_an_inverse_is_recorded_behind_its_tool() {
    let notes = Notes::new();
    let stages: Vec<_> = notes.host.stages().collect();
    let at = |name| stages.iter().position(|it| *it == name).expect("it is there");
    assert_eq!(at(names::UNDO), at(names::EXECUTE) + 1);

    let id = notes.make("a").await;
    let record = notes.store.find(&id).expect("a record");
    assert_eq!((&*record.tool, &*record.undo.tool), ("make", "remove"));
    assert_eq!((record.undo.input, record.undoes), (json!({"name": "a"}), None));
    assert_eq!(record.state, UndoState::Open);

    // Neither without an inverse nor without a result.
    assert!(notes.call("plain", json!({})).await.undo.is_none());
    let refused = notes.call("make", json!({"name": 1})).await;
    assert_eq!(refused.result.expect("a result").failure, Some(Failure::BadInput));
    assert!(refused.undo.is_none());
    assert_eq!(notes.store.list().expect("listed").records.len(), 1);
}

#[tokio::test]
async fn without_a_store_nothing_is_kept_and_the_result_has_its_inverse() {
    let notes = Notes::of(World::new(), |it, _| it);
    assert!(notes.host.stages().all(|it| it != names::UNDO));
    let report = notes.call("make", json!({"name": "a"})).await;
    assert!(report.undo.is_none());
    assert_eq!(report.result.expect("a result").undo.expect("its inverse").tool, "remove");
    assert!(notes.store.list().expect("listed").records.is_empty());
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_says_so_and_has_its_result() {
    let notes = Notes::new();
    fs::create_dir_all(notes.world.path(".local/state/flyto")).expect("made");
    fs::write(notes.store.dir(), "no directory").expect("written");
    let report = notes.call("make", json!({"name": "a"})).await;
    assert_eq!(report.result.expect("a result").output, "make a");
    assert!(matches!(report.undo, Some(Err(UndoError::Io { .. }))), "{:?}", report.undo);
}

#[tokio::test]
async fn a_call_is_undone_once() {
    let notes = Notes::new();
    let id = notes.make("a").await;
    assert_eq!(notes.undo(&id).await.expect("undone").output, "remove a");
    let UndoState::Undone { by, .. } = notes.state(&id) else { panic!("{:?}", notes.state(&id)) };
    let err = notes.undo(&id).await.expect_err("undone already");
    assert!(matches!(&err, UndoError::AlreadyUndone { by: told, .. } if *told == by), "{err}");
    assert!(err.to_string().starts_with(&format!("the call {id:?} was undone already, at ")));
    assert_eq!(notes.done(), "make a, remove a");

    // The undoing is a call of its own, which can be taken back by its own id.
    assert_eq!(notes.store.find(&by).expect("a record").undoes, Some(id));
    assert!(notes.store.latest().expect("listed").is_none());
    assert_eq!(notes.undo(&by).await.expect("undone").output, "make a");
}

#[tokio::test]
async fn an_undoing_whose_result_is_withheld_is_one() {
    let mut world = World::new();
    world.config.output_guard = Some(OutputGuard::Refuse);
    let notes = Notes::of(world, |it, store| it.undo_store(store));
    let id = notes.make("a").await;
    // The text of the inverse call has what looks like a token.
    let record = notes.store.find(&id).expect("a record");
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let named = fs::read_to_string(notes.record_file()).expect("a record");
    let named = named.replace(r#""name": "a""#, &format!(r#""name": "{token}""#));
    fs::write(notes.record_file(), named).expect("written");
    assert_eq!(record.state, UndoState::Open);

    let err = notes.undo(&id).await.expect_err("withheld");
    let UndoError::Call { state, source, .. } = &err else { panic!("{err:?}") };
    let CallError::Refused(refusal) = &**source else { panic!("{err:?}") };
    assert_eq!(refusal.stage, names::OUTPUT_GUARD);
    assert!(matches!(state, UndoState::Undone { .. }), "{state:?}");
    assert_eq!(err.to_string(), format!("the call {id:?} was undone, by a call without a result"));
    assert!(matches!(notes.state(&id), UndoState::Undone { .. }), "{:?}", notes.state(&id));
    let again = notes.undo(&id).await.expect_err("undone already");
    assert!(matches!(again, UndoError::AlreadyUndone { .. }), "{again}");
    assert_eq!(notes.done(), format!("make a, remove {token}"));
}

#[tokio::test]
async fn several_calls_are_undone_in_the_reverse_of_their_order() {
    let notes = Notes::new();
    for name in ["a", "b", "c"] {
        notes.make(name).await;
    }
    notes.call("plain", json!({})).await;
    while let Some(latest) = notes.store.latest().expect("listed") {
        notes.undo(&latest.id).await.expect("undone");
    }
    assert_eq!(notes.done(), "make a, make b, make c, remove c, remove b, remove a");
}

#[tokio::test]
async fn an_undoing_is_recorded_with_the_call_that_it_takes_back() {
    let notes = Notes::new();
    // A call within another one, as a composite tool makes it.
    let outer = CallContext::new();
    let input = Input::from_value(json!({"name": "a"}));
    notes.host.call_tool(&outer, "make", input).await.expect("called");
    let id = notes.store.latest().expect("listed").expect("a record").id;
    notes.undo(&id).await.expect("undone");

    let made = notes.audit("make").remove(0);
    assert_eq!((&made.0, &made.1["parent"]), (&id, &outer.id().as_str().into()));
    assert!(made.1.get("undoes").is_none());
    let (by, begin, end) = notes.audit("remove").remove(0);
    assert_eq!((&begin["undoes"], begin.get("parent")), (&json!(id), None));
    assert_eq!((&begin["caller"], &end["outcome"]), (&"agent".into(), &"ok".into()));
    assert!(matches!(notes.state(&id), UndoState::Undone { by: told, .. } if told == by));
}

#[tokio::test]
async fn an_undoing_that_is_refused_leaves_the_call_as_it_was() {
    let mut world = World::new();
    world.config.permissions.deny("remove").expect("a rule");
    let notes = Notes::of(world, |it, store| it.undo_store(store));
    let id = notes.make("a").await;
    for _ in 0..2 {
        let err = notes.undo(&id).await.expect_err("denied");
        let UndoError::Call { source, .. } = err else { panic!("{err:?}") };
        let CallError::Refused(refusal) = *source else { panic!("{source:?}") };
        assert_eq!(refusal.stage, names::PERMISSION);
        assert_eq!(notes.state(&id), UndoState::Open);
    }
    let audit = notes.audit("remove");
    assert_eq!(audit.len(), 2);
    for (_, begin, end) in audit {
        assert_eq!((&begin["undoes"], &end["outcome"]), (&json!(id), &"refused".into()));
    }
    assert_eq!(notes.done(), "make a");
}

#[tokio::test]
async fn an_undoing_that_ends_early_is_not_made_again() {
    let notes = Notes::new();
    let id = notes.call("twice", json!({})).await.undo.expect("an inverse").expect("recorded");
    let result = notes.undo(&id).await.expect("a result");
    assert_eq!(result.failure, Some(Failure::Cancelled));
    assert!(matches!(notes.state(&id), UndoState::Unsure { .. }), "{:?}", notes.state(&id));
    let err = notes.undo(&id).await.expect_err("it may have been undone");
    assert!(matches!(err, UndoError::Unsure { .. }), "{err}");
    assert_eq!(notes.audit("stuck").len(), 1);
}
