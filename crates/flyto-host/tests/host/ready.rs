//! Tools whose programs are started before their calls.

use std::{
    error::Error,
    fs,
    path::Path,
    sync::Mutex,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use flyto_audit::Reader;
use flyto_execenv::{ExecEnv, ReadyOptions, local::Local};
use flyto_host::{
    Host, codes, may_wait, not_ready,
    permission::Caller,
    stages::{Answer, CheckpointHandler, Question},
};
use flyto_tools::{CallContext, Input, Readiness, ToolResult};
use tokio::task::yield_now;

use crate::world::{World, call};

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

/// A line that tells its process once it has its input, and writes it down before.
const SCRIPT: &str = "echo $$ >\"$PLUGIN_DATA/new\"; mv \"$PLUGIN_DATA/new\" \"$PLUGIN_DATA/pid\"; \
                      input=$(cat); echo $$ $input";

/// A plugin `p` whose tool `run` is a line of shell that says `ready`.
fn world(script: &str) -> World {
    let world = World::new();
    write_manifest(&world, script, "Runs.");
    settle(&world.path("plugins/p/plugin.json"));
    world
}

fn write_manifest(world: &World, script: &str, description: &str) {
    let manifest = serde_json::json!({"name": "p", "tools": [{
        "name": "run", "description": description, "command": "sh", "args": ["-c", script],
        "ready": true, "timeout_seconds": 60,
    }]});
    world.write("plugins/p/plugin.json", &manifest.to_string());
}

/// Waits until a file is old enough that another change of it would show.
fn settle(path: &Path) {
    let changed = fs::metadata(path).and_then(|it| it.modified()).expect("it is there");
    while SystemTime::now() < changed + Duration::from_millis(200) {
        std::thread::yield_now();
    }
}

async fn until_waiting(host: &Host, processes: usize) {
    let waiting = async {
        while host.waiting_processes() != processes {
            yield_now().await;
        }
    };
    let found = || format!("{} wait, not {processes}", host.waiting_processes());
    tokio::time::timeout(GUARD, waiting).await.unwrap_or_else(|_| panic!("{}", found()));
}

async fn run(host: &Host, name: &str) -> ToolResult {
    call(host, name, "{}").await.expect("it was tried")
}

fn readiness(result: &ToolResult) -> Readiness {
    let execution = result.execution.as_ref().expect("it ran");
    execution.readiness.clone().expect("the tool says `ready`")
}

fn is_ready(result: &ToolResult) -> bool {
    matches!(readiness(result), Readiness::Ready { .. })
}

/// The process that a tool of this plugin wrote down last, other than these.
async fn pid(world: &World, plugin: &str, others: &[&str]) -> String {
    let file = world.path(&format!(".local/share/flyto/plugins/{plugin}/pid"));
    let found = async {
        loop {
            let pid = fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
            match pid.is_empty() || others.contains(&&*pid) {
                true => yield_now().await,
                false => return pid,
            }
        }
    };
    tokio::time::timeout(GUARD, found).await.expect("in time")
}

/// Waits until a process is gone, or nothing but its exit code.
async fn until_gone(pid: &str) {
    let gone = async {
        while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|it| !it.contains(") Z ")) {
            yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, gone).await.expect("in time");
}

#[tokio::test]
async fn the_second_call_is_served_by_a_process_that_waited() {
    let world = world(SCRIPT);
    let host = world.host();
    assert!(may_wait(&host.find("p:run").expect("loaded")));
    let first = run(&host, "p:run").await;
    assert_eq!(readiness(&first), Readiness::cold("no process of it waited"));
    for _ in 0..9 {
        until_waiting(&host, 1).await;
        let next = run(&host, "p:run").await;
        assert!(is_ready(&next) && !next.is_error(), "{next:?}");
        assert_ne!(next.output, first.output);
    }
    let log = Reader::open(world.path(".local/state/flyto/audit")).expect("there is a log");
    let records = log.records().expect("it opens").map(|it| it.expect("a record").body.clone());
    let started: Vec<_> =
        records.filter_map(|it| Some(it.get("started")?.as_str()?.to_owned())).collect();
    assert_eq!(started[0], "cold");
    assert!(started.len() == 10 && started[1..].iter().all(|it| it == "ready"), "{started:?}");
}

#[tokio::test]
async fn the_operator_bounds_them_or_turns_them_off() {
    let mut world = world(SCRIPT);
    let none =
        Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone())
            .caller(Caller::Operator)
            .ready(ReadyOptions::new().processes(0))
            .build();
    world.config.plugins.ready = ReadyOptions::new().memory_bytes(0);
    for host in [none, world.host()] {
        let result = run(&host, "p:run").await;
        assert_eq!(result.execution.expect("it ran").readiness, None);
        assert_eq!(host.waiting_processes(), 0);
    }
}

#[tokio::test]
async fn a_reload_gives_up_what_was_started() {
    let world = world(SCRIPT);
    let host = world.host();
    let first = run(&host, "p:run").await;
    let first = first.output.split(' ').next().expect("a process");
    let waits = pid(&world, "p", &[first]).await;
    until_waiting(&host, 1).await;
    assert!(host.reload().is_empty());
    assert_eq!(host.waiting_processes(), 1, "nothing has changed");
    write_manifest(&world, SCRIPT, "Runs again.");
    settle(&world.path("plugins/p/plugin.json"));
    assert!(!host.reload().is_empty());
    assert_eq!(host.waiting_processes(), 0);
    until_gone(&waits).await;
    assert!(!is_ready(&run(&host, "p:run").await));
    until_waiting(&host, 1).await;
    assert!(is_ready(&run(&host, "p:run").await));
}

#[tokio::test]
async fn a_call_of_a_tool_that_is_gone_starts_nothing_for_a_later_one() {
    let world = world(SCRIPT);
    let host = world.host();
    let entry = host.find("p:run").expect("loaded");
    write_manifest(&world, SCRIPT, "Runs again.");
    settle(&world.path("plugins/p/plugin.json"));
    assert!(!host.reload().is_empty());
    // As after a question that was answered late.
    let input = Input::parse("{}").expect("JSON");
    let result = host.prepare_entry(entry, input).run(&CallContext::new()).await;
    let result = result.expect("it was tried");
    assert!(!result.is_error(), "{result:?}");
    assert_eq!(result.execution.expect("it ran").readiness, None);
    // The one that has its name now is started, and that is all.
    run(&host, "p:run").await;
    until_waiting(&host, 1).await;
    assert!(is_ready(&run(&host, "p:run").await));
    until_waiting(&host, 1).await;
}

#[tokio::test]
async fn a_file_of_the_plugin_that_changes_gives_up_what_was_started() {
    let world = world("input=$(cat); cat data");
    let data = world.write("plugins/p/data", "old");
    settle(&data);
    let host = world.host();
    assert_eq!(run(&host, "p:run").await.output, "old");
    until_waiting(&host, 1).await;
    fs::write(&data, "new").expect("it is ours");
    let result = run(&host, "p:run").await;
    assert_eq!(result.output, "new");
    let Readiness::Cold { why, help: None } = readiness(&result) else {
        panic!("it was served by a process that waited: {result:?}")
    };
    assert!(why.contains("plugins/p/data") && why.contains("has changed"), "{why}");
}

#[tokio::test]
async fn a_directory_that_is_gone_ends_what_waits_in_it() {
    let world = World::new();
    world.write(
        "plugins/p/plugin.json",
        r#"{"name": "p", "tools": [{"name": "run", "description": "d", "command": "cat",
            "work_dir": "sub", "ready": true}]}"#,
    );
    let file = world.write("plugins/p/sub/file", "");
    settle(&file);
    let host = world.host();
    run(&host, "p:run").await;
    until_waiting(&host, 1).await;
    fs::remove_dir_all(world.path("plugins/p/sub")).expect("it is ours");
    assert!(call(&host, "p:run", "{}").await.is_err(), "it starts where there is no directory");
    until_waiting(&host, 0).await;
}

#[tokio::test]
async fn a_tool_that_does_not_wait_has_a_finding_and_is_given_up() {
    // What it does before it reads is done without a call.
    let mut world = World::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile/plugins");
    world.config.plugins.plugin_dirs = vec![fixtures.join("eager")];
    let host = world.host();
    let entry = host.find("eager:act").expect("loaded");
    let mut reasons = Vec::<String>::new();
    while reasons.last().is_none_or(|it| !it.contains("three of its processes")) {
        until_waiting(&host, 0).await;
        let result = run(&host, "eager:act").await;
        let execution = result.execution.expect("it ran");
        if let Some(finding) = not_ready(&entry, &execution) {
            assert!(finding.help.as_deref().is_some_and(|it| it.contains("read its input")));
            assert_eq!(finding.code, codes::NOT_READY);
            assert!(finding.location.name().ends_with("eager/plugin.json"));
            reasons.push(finding.reason.expect("why"));
        }
    }
    assert!(reasons[0].contains("exited with code 0 before it was asked"), "{reasons:?}");
    until_waiting(&host, 0).await;
}

#[tokio::test]
async fn tools_of_a_file_wait_as_well() {
    let mut world = World::new();
    let text = r#"[{"name": "t", "description": "d", "exec": ["cat"], "ready": true},
        {"name": "u", "description": "d", "exec": ["cat"]}]"#;
    world.config.exec_tools.push(world.write("tools.json", text));
    let host = world.host();
    assert!(may_wait(&host.find("t").expect("loaded")));
    assert!(!may_wait(&host.find("u").expect("loaded")));
    run(&host, "t").await;
    until_waiting(&host, 1).await;
    assert!(is_ready(&run(&host, "t").await));
    assert_eq!(run(&host, "u").await.execution.expect("it ran").readiness, None);
}

/// Gives one answer after the other.
#[derive(Debug)]
struct Answers(Mutex<Vec<Answer>>);

#[async_trait]
impl CheckpointHandler for Answers {
    async fn ask(&self, _: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        Ok(self.0.lock().expect("not poisoned").remove(0))
    }
}

#[tokio::test]
async fn what_was_permitted_once_is_not_started_again() {
    let world = world(SCRIPT);
    world.add_plugin("q", "echo ran");
    let answers = vec![Answer::Yes, Answer::Always, Answer::No { reason: None }];
    let host =
        Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone())
            .checkpoint_handler(Answers(answers.into()))
            .build();
    let once = run(&host, "p:run").await;
    assert_eq!(once.execution.expect("it ran").readiness, None);
    assert_eq!(host.waiting_processes(), 0);
    assert!(!is_ready(&run(&host, "p:run").await));
    until_waiting(&host, 1).await;
    assert!(is_ready(&run(&host, "p:run").await));
    until_waiting(&host, 1).await;
    // Which of them a person has in mind that declines a call is not known.
    call(&host, "q:run", "{}").await.expect_err("it was declined");
    assert_eq!(host.waiting_processes(), 0);
}

#[tokio::test]
async fn a_host_that_ends_leaves_none() {
    for closes in [true, false] {
        let world = world(SCRIPT);
        let host = world.host();
        let first = run(&host, "p:run").await;
        let waits = pid(&world, "p", &[first.output.split(' ').next().expect("a process")]).await;
        until_waiting(&host, 1).await;
        if closes {
            host.close().await;
            assert_eq!(host.waiting_processes(), 0);
            run(&host, "p:run").await;
            assert_eq!(host.waiting_processes(), 0, "a closed host keeps none");
        } else {
            drop(host);
        }
        until_gone(&waits).await;
    }
}
