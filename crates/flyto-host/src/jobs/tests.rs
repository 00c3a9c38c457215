//! A store without programs: what is read, whatever lies in the directory.

use std::{collections::BTreeMap, fs, path::Path};

use flyto_tools::{CallContext, CancellationToken, Input, OutputChannel};

use super::*;
use crate::permission::Caller;

struct World {
    _dir: tempfile::TempDir,
    store: JobStore,
}

fn world() -> World {
    let dir = tempfile::tempdir().expect("a directory");
    let store = JobStore::new(dir.path().join("state/jobs"));
    World { _dir: dir, store }
}

impl World {
    fn create(&self) -> NewJob {
        self.store.create("p:t", &Input::parse(r#"{"a": 1.0}"#).expect("JSON")).expect("made")
    }

    /// A job with a worker in this process.
    fn kept(&self) -> JobWorker {
        let new = self.create();
        let (id, lock) = (new.id().clone(), new.lock().expect("a descriptor"));
        drop(new);
        JobWorker::take(&self.store, &id, lock).expect("taken")
    }

    fn ended(&self) -> JobId {
        let worker = self.kept();
        let id = worker.id().clone();
        worker.end(&JobEnd::new(0, "{}")).expect("written");
        id
    }

    fn state(&self, id: &JobId) -> JobState {
        self.store.find(id.as_str()).expect("a job").state
    }
}

#[test]
fn a_job_tells_on_whose_behalf_it_was_made() {
    let world = world();
    let caller = |new: &NewJob| world.store.find(new.id().as_str()).expect("a job").caller;
    assert_eq!(caller(&world.create()), Caller::Operator);
    let new = world.store.create_for("p:t", &Input::empty(), Caller::Agent).expect("made");
    assert_eq!(caller(&new), Caller::Agent);
}

#[test]
fn a_job_is_kept_from_its_request_to_its_end() {
    let world = world();
    assert_eq!(world.store.list().expect("listed"), JobList::default());
    let new = world.create();
    let id = new.id().clone();
    let job = world.store.find(id.as_str()).expect("a job");
    assert_eq!((job.state, job.worker_pid, &*job.tool), (JobState::Running, None, "p:t"));

    let lock = new.lock().expect("a descriptor");
    drop(new);
    assert_eq!(world.state(&id), JobState::Running);
    let worker = JobWorker::take(&world.store, &id, lock).expect("taken");
    assert_eq!(worker.request().input.as_str(), r#"{"a": 1.0}"#);
    assert_eq!(world.state(&id), JobState::Running);
    assert!(matches!(world.store.result(&id), Err(JobError::NoResult { .. })));
    assert!(matches!(world.store.remove(&id), Err(JobError::Running { .. })));

    worker.end(&JobEnd::new(6, r#"{"output": "x"}"#)).expect("written");
    let job = world.store.find(id.as_str()).expect("a job");
    assert_eq!((job.state, job.exit_code), (JobState::Ended, Some(6)));
    assert_eq!(job.worker_pid, Some(std::process::id()));
    assert!(job.ended.is_some_and(|it| it >= job.created));
    assert_eq!(world.store.result(&id).expect("a result"), r#"{"output": "x"}"#);
    assert!(world.store.wait(&id, None).expect("a lock"));

    world.store.remove(&id).expect("removed");
    assert!(matches!(world.store.find(id.as_str()), Err(JobError::NotFound { .. })));
    assert_eq!(fs::read_dir(world.store.dir()).expect("there").count(), 0);
}

#[test]
fn a_secret_in_the_input_of_a_job_is_in_no_file_once_a_worker_has_it() {
    let world = world();
    let token = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");
    let text = format!(r#"{{"script": "echo {token}", "password": "hunter2", "n": 1}}"#);
    let input = Input::parse(text.clone()).expect("an object");
    let new = world.store.create("p:t", &input).expect("made");
    let id = new.id().clone();
    let worker = JobWorker::take(&world.store, &id, new.lock().expect("a descriptor"));
    let worker = worker.expect("taken");
    assert_eq!(worker.request().input.as_str(), text);

    for entry in fs::read_dir(world.store.dir().join(id.as_str())).expect("there") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("read");
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(token) && !text.contains("hunter2"), "{path:?}: {text}");
        }
    }
    let shown = world.store.input(&id, 1 << 16).expect("it is shown");
    assert!(shown.contains("[redacted: github-token, 40 characters]"), "{shown}");
    assert!(shown.ends_with(r#""n": 1}"#), "{shown}");
}

#[test]
fn only_the_user_reads_a_job() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    let new = world.create();
    let mode =
        |path: &Path| fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777;
    let dir = world.store.dir().join(new.id().as_str());
    assert_eq!((mode(world.store.dir()), mode(&dir)), (0o700, 0o700));
    let modes: BTreeMap<_, _> = fs::read_dir(&dir)
        .expect("there")
        .map(|it| it.expect("an entry"))
        .map(|it| (it.file_name(), mode(&it.path())))
        .collect();
    assert_eq!(modes.len(), 8, "{modes:?}");
    assert!(modes.values().all(|it| *it == 0o600), "{modes:?}");
}

#[test]
fn a_job_without_a_worker_is_lost() {
    let world = world();
    // As after the death of a worker, and as after a restart of the machine: the lock is free.
    let before = world.create().id().clone();
    let worker = world.kept();
    let while_kept = worker.id().clone();
    drop(worker);
    for id in [before, while_kept] {
        let job = world.store.find(id.as_str()).expect("a job");
        assert_eq!((job.state, job.ended, job.exit_code), (JobState::Lost, None, None));
        assert!(matches!(world.store.result(&id), Err(JobError::NoResult { .. })));
        assert!(!world.store.cancel(&id).expect("there is none to ask"));
    }
}

#[test]
fn what_the_tool_says_is_recorded() {
    let world = world();
    let worker = world.kept();
    let id = worker.id().clone();
    let ctx = worker.context(CallContext::new());
    assert_eq!(ctx.id().as_str(), id.as_str());
    ctx.emit(OutputChannel::Output, b"one\n");
    ctx.emit(OutputChannel::Error, b"warning\n");
    ctx.report(0.25, "first");
    ctx.report(0.5, "second");
    let progress = loop {
        // The recorder has its own time; the last report is written in the end.
        let job = world.store.find(id.as_str()).expect("a job");
        match job.progress {
            Some(it) if it.detail == "second" => break it.progress,
            _ => std::thread::yield_now(),
        }
    };
    assert_eq!(progress, 0.5);
    let read =
        |stream| io::read_to_string(world.store.output(&id, stream).expect("there")).expect("text");
    assert_eq!((&*read(JobStream::Stdout), &*read(JobStream::Stderr)), ("one\n", "warning\n"));
    worker.end(&JobEnd::new(0, "{}")).expect("written");
    let job = world.store.find(id.as_str()).expect("a job");
    assert_eq!((job.progress.map(|it| it.progress), job.dropped_bytes), (Some(0.5), 0));
}

#[test]
fn a_cancellation_reaches_the_worker_and_no_other() {
    let world = world();
    let (worker, other) = (world.kept(), world.kept());
    let is_cancelled = |it: &CancellationToken| it.is_cancelled();
    assert!(world.store.cancel(worker.id()).expect("sent"));
    while !is_cancelled(worker.cancellation()) {
        std::thread::yield_now();
    }
    assert!(!is_cancelled(other.cancellation()));
    assert!(!world.store.wait(other.id(), Some(Duration::ZERO)).expect("a lock"));
    let id = worker.id().clone();
    worker.end(&JobEnd::new(130, "{}")).expect("written");
    assert!(world.store.wait(&id, None).expect("a lock"));
    assert!(!world.store.cancel(&id).expect("it has ended"));
}

#[test]
fn a_beginning_of_an_id_is_enough_where_it_is_the_only_one() {
    let world = world();
    let ids: Vec<_> = (0..40).map(|_| world.create().id().clone()).collect();
    let find = |id: &str| world.store.resolve(id);
    for id in &ids {
        assert_eq!(&find(id.as_str()).expect("whole"), id);
        assert_eq!(&find(&id.as_str()[..11]).expect("unique"), id);
    }
    // Of 40 ids, several begin with the same of 16 digits.
    let crowded = "0123456789abcdef".chars().map(String::from);
    let n_ambiguous =
        crowded.filter(|it| matches!(find(it), Err(JobError::Ambiguous { .. }))).count();
    assert!(n_ambiguous > 0);
    for bad in ["", "../x", "..", ".new-", "/etc", "0/../..", "g", "\0", "0123456789abc"] {
        assert!(matches!(find(bad), Err(JobError::NotFound { .. })), "{bad:?}");
    }
}

#[test]
fn listing_survives_whatever_lies_there() {
    let world = world();
    let good = world.ended();
    let path = |id: &JobId, name: &str| world.store.path(id, name);
    let broken = |name: &str, content: &[u8]| {
        let id = world.ended();
        fs::write(path(&id, name), content).expect("written");
        id
    };
    let torn = broken(names::REQUEST, br#"{"tool": "p:"#);
    let no_json = broken(names::REQUEST, b"\xff\xfe");
    let odd_status = broken(names::STATUS, br#"{"exit_code": 1000, "progress": {}}"#);
    let odd_result = broken(names::RESULT, b"\xff");
    let huge = broken(names::REQUEST, &vec![b' '; 2 << 20]);
    let no_lock = world.ended();
    fs::remove_file(path(&no_lock, names::LOCK)).expect("removed");
    let fifo = world.ended();
    fs::remove_file(path(&fifo, names::REQUEST)).expect("removed");
    fs::rename(path(&fifo, names::CONTROL), path(&fifo, names::REQUEST)).expect("renamed");
    let empty = JobId::parse("000000000000").expect("an id");
    fs::create_dir(world.store.dir().join(empty.as_str())).expect("made");
    let file = JobId::parse("000000000001").expect("an id");
    fs::write(world.store.dir().join(file.as_str()), "").expect("written");
    fs::write(world.store.dir().join("notes.txt"), "").expect("written");
    let link = world.store.dir().join("000000000002");
    std::os::unix::fs::symlink("/no/where", link).expect("made");

    let list = world.store.list().expect("listed");
    let jobs: BTreeMap<_, _> = list.jobs.iter().map(|it| (&it.id, it)).collect();
    assert_eq!(jobs.len(), 3, "{list:?}");
    assert_eq!(jobs[&good].problem, None);
    assert!(jobs[&odd_status].problem.as_deref().is_some_and(|it| it.starts_with("status.json: ")));
    assert_eq!((jobs[&odd_status].state, jobs[&odd_status].exit_code), (JobState::Ended, None));
    assert_eq!(jobs[&odd_result].state, JobState::Ended);
    assert!(matches!(world.store.result(&odd_result), Err(JobError::Unusable { .. })));
    let why: BTreeMap<_, _> = list.unusable.iter().map(|it| (&*it.name, &*it.why)).collect();
    for (id, expect) in [
        (&torn, "request.json: EOF while parsing"),
        (&no_json, "request.json: "),
        (&huge, "request.json: it is larger than 1048576 bytes"),
        (&no_lock, "lock: No such file"),
        (&fifo, "request.json: it is no plain file"),
        (&empty, "lock: No such file"),
        (&file, "lock: Not a directory"),
    ] {
        assert!(why[id.as_str()].starts_with(expect), "{}", why[id.as_str()]);
    }
    assert_eq!(why["notes.txt"], "its name is no id of a job");
    assert!(why.contains_key("000000000002"), "{why:?}");
    // All of them can be removed.
    for id in [&torn, &no_lock, &fifo, &empty, &file] {
        world.store.remove(id).expect("removed");
    }
}

#[test]
fn old_jobs_are_removed_and_those_that_run_stay() {
    let world = world();
    let (old, recent, running) = (world.ended(), world.ended(), world.kept());
    let age = |id: &JobId, age: Duration| {
        let dir = File::open(world.store.dir().join(id.as_str())).expect("there");
        dir.set_modified(std::time::SystemTime::now() - age).expect("changed");
    };
    age(&old, KEEP + Duration::from_secs(60));
    age(running.id(), KEEP * 2);
    age(&recent, KEEP - Duration::from_secs(60));
    let left = world.store.dir().join(".gone-000000000000-1");
    fs::create_dir(&left).expect("made");
    File::open(&left)
        .expect("there")
        .set_modified(std::time::SystemTime::now() - Duration::from_secs(2 * 60 * 60))
        .expect("changed");
    let new = world.create();
    let ids: Vec<_> =
        world.store.list().expect("listed").jobs.into_iter().map(|it| it.id).collect();
    assert!(!ids.contains(&old) && !left.exists());
    assert!([&recent, running.id(), new.id()].iter().all(|it| ids.contains(it)), "{ids:?}");
}

#[test]
fn more_jobs_than_are_kept_are_removed() {
    let world = world();
    let running = world.kept();
    // What counts is the directory.
    let first = JobId::parse("000000000000").expect("an id");
    for n in 0..MAX_JOBS {
        fs::create_dir(world.store.dir().join(format!("{n:012x}"))).expect("made");
    }
    world.create();
    assert_eq!(world.store.names().expect("listed").len(), MAX_JOBS);
    assert!(!world.store.has(&first), "the one that changed longest ago goes first");
    assert!(world.store.has(running.id()));
}

#[test]
fn a_lock_of_another_job_makes_no_worker() {
    let world = world();
    let (one, other) = (world.create(), world.create());
    let take = |id, new: &NewJob| JobWorker::take(&world.store, id, new.lock().expect("one")).err();
    assert!(matches!(take(one.id(), &other), Some(JobError::Unusable { .. })));
    // Through an open file of its own, the lock is held by the caller.
    let own = File::open(world.store.path(one.id(), names::LOCK)).expect("there");
    let taken = JobWorker::take(&world.store, one.id(), own.into()).err();
    assert!(matches!(taken, Some(JobError::Running { .. })), "{taken:?}");
    // A job has one worker in its life.
    drop(JobWorker::take(&world.store, one.id(), one.lock().expect("one")).expect("taken"));
    let again = take(one.id(), &one).expect("once");
    assert!(again.to_string().contains("has had a worker before"), "{again}");
    let gone = JobId::parse("000000000000").expect("an id");
    assert!(matches!(take(&gone, &one), Some(JobError::NotFound { .. })));
}

#[test]
fn a_result_that_finds_no_room_is_a_short_one() {
    let world = world();
    let worker = world.kept();
    let id = worker.id().clone();
    let end = JobEnd::new(0, "x".repeat(10_000));
    // A directory in the place of the result: writing fails as it does on a full disk, until there is room.
    let result = world.store.path(&id, names::RESULT);
    fs::create_dir(&result).expect("made");
    let short = |err: &io::Error| {
        fs::remove_dir(&result).expect("removed");
        JobEnd::new(74, format!("\"{}\"", err.kind()))
    };
    worker.end_or(&end, short).expect("room");
    let job = world.store.find(id.as_str()).expect("a job");
    assert_eq!((job.state, job.exit_code), (JobState::Ended, Some(74)));
    assert_eq!(world.store.result(&id).expect("a result"), "\"is a directory\"");

    let worker = world.kept();
    let id = worker.id().clone();
    let result = world.store.path(&id, names::RESULT);
    fs::create_dir(&result).expect("made");
    let too_long = worker.end_or(&end, |_| end.clone());
    assert!(matches!(too_long, Err(JobError::Io { .. })), "{too_long:?}");
    fs::remove_dir(&result).expect("removed");
    assert_eq!(world.state(&id), JobState::Lost);
}
