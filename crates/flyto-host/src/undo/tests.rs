//! The store without programs: ids, bounds, and whatever lies in the directory.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

struct World {
    _dir: tempfile::TempDir,
    store: UndoStore,
}

fn world() -> World {
    let dir = tempfile::tempdir().expect("a directory");
    let store = UndoStore::new(dir.path().join("state/undo"));
    World { _dir: dir, store }
}

impl World {
    fn record(&self, call: &str) -> String {
        let call = CallId::new(call).expect("printable");
        let undo = UndoInfo::new("remove a", "rm", json!({"path": call.as_str()}));
        self.store.record(&call, "p:make", &undo, None, None).expect("recorded")
    }

    /// The only file but for the lock.
    fn file(&self) -> PathBuf {
        let mut names = self.store.names().expect("listed");
        assert_eq!(names.len(), 1);
        self.store.dir.join(names.remove(0))
    }

    fn ids(&self) -> Vec<String> {
        self.store.list().expect("listed").records.into_iter().map(|it| it.id).collect()
    }
}

#[test]
fn a_call_is_recorded_and_found() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    assert_eq!(world.store.list().expect("listed"), UndoList::default());
    assert_eq!(world.record("toolu_01A"), "toolu_01A");
    let record = world.store.find("toolu_01A").expect("recorded");
    assert_eq!((&*record.tool, &*record.undo.tool), ("p:make", "rm"));
    assert_eq!(record.undo.input, json!({"path": "toolu_01A"}));
    assert_eq!((&record.state, &record.undoes), (&UndoState::Open, &None));
    assert_eq!(world.store.find("toolu").expect("the only one").id, "toolu_01A");
    for id in ["", "x", "../undo", "toolu_01B"] {
        assert!(matches!(world.store.find(id), Err(UndoError::NotFound { .. })), "{id}");
    }
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&world.store.dir), mode(&world.file())), (0o700, 0o600));
}

#[test]
fn a_process_that_keeps_the_lock_keeps_no_call() {
    let world = world();
    world.record("call-1");
    let lock = fs::File::open(world.store.dir.join(LOCK)).expect("it is there");
    lock.lock().expect("free");
    let undo = UndoInfo::new("remove a", "rm", json!({}));
    let call = CallId::new("call-2").expect("printable");
    let err = world.store.record(&call, "p:make", &undo, None, None).expect_err("it is locked");
    let UndoError::Io { source, .. } = err else { panic!("{err:?}") };
    assert_eq!(source.to_string(), "another process has held the lock for 2s");
    drop(lock);
    world.record("call-2");
}

#[test]
fn ids_that_repeat_are_numbered() {
    let world = world();
    let ids: Vec<_> = (0..3).map(|_| world.record("call-1")).collect();
    assert_eq!(ids, ["call-1", "call-1-2", "call-1-3"]);
    assert_eq!(world.ids(), ["call-1-3", "call-1-2", "call-1"]);
    // A whole id is itself, also where another one begins like it.
    assert_eq!(world.store.find("call-1").expect("recorded").id, "call-1");
    assert!(matches!(world.store.find("call"), Err(UndoError::Ambiguous { n: 3, .. })));
    // What no name of a file can hold is an id all the same.
    let odd = "../../etc/passwd";
    assert_eq!(world.record(odd), odd);
    assert_eq!(world.store.find(odd).expect("recorded").undo.input["path"], odd);
}

#[test]
fn the_oldest_records_are_removed() {
    let world = world();
    disk::private_dir(&world.store.dir).expect("made");
    for n in 0..MAX_RECORDS {
        // In the year 2100: what counts is the order.
        let name = format!("{}-{n:016x}.json", 4_102_444_800_000_000_000 + n as u64);
        fs::write(world.store.dir.join(name), "").expect("written");
    }
    let old = format!("{:019}-0123456789abcdef.json", 1_000_000_000_000_000_000_u64);
    fs::write(world.store.dir.join(&old), "").expect("written");
    world.record("a");
    let names: BTreeSet<_> = world.store.names().expect("listed").into_iter().collect();
    assert_eq!(names.len(), MAX_RECORDS);
    assert!(!names.contains(&old), "older than is kept");
    assert_eq!(world.ids(), ["a"]);
}

#[test]
fn a_record_that_is_too_large_is_none() {
    let world = world();
    let call = CallId::new("a").expect("printable");
    let undo = UndoInfo::new("x", "rm", json!("x".repeat(2 << 20)));
    let err = world.store.record(&call, "t", &undo, None, None).expect_err("too large");
    assert!(matches!(err, UndoError::TooLarge { bytes } if bytes > 2 << 20), "{err}");
    assert!(world.ids().is_empty());
}

#[test]
fn an_undoing_begins_once() {
    let world = world();
    world.record("a");
    let by = CallId::new("b").expect("printable");
    let undoing = world.store.begin("a", &by).expect("open");
    assert_eq!((undoing.record().undo.tool.as_str(), undoing.by()), ("rm", &by));
    let again = world.store.begin("a", &by).expect_err("begun");
    assert!(matches!(&again, UndoError::Unsure { by, .. } if by == "b"), "{again}");
    assert!(again.to_string().starts_with("the call \"a\" may have been undone: "), "{again}");
    assert!(world.store.latest().expect("listed").is_none());
    // As a process does that dies.
    drop(undoing);
    let again = world.store.begin("a", &by).expect_err("begun");
    assert!(matches!(again, UndoError::Unsure { .. }), "{again}");
}

#[test]
fn of_several_that_begin_at_once_one_does() {
    let world = world();
    world.record("a");
    let by = CallId::new("b").expect("printable");
    let n_begun = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| world.store.begin("a", &by).is_ok())).collect();
        threads.into_iter().filter_map(|it| it.join().ok()).filter(|it| *it).count()
    });
    assert_eq!(n_begun, 1);
}

#[test]
fn listing_survives_whatever_lies_there() {
    let world = world();
    world.record("torn");
    let text = fs::read_to_string(world.file()).expect("there");
    fs::write(world.file(), &text[..text.len() / 2]).expect("written");
    let good = world.record("good");
    let other = file_name("other", SystemTime::now());
    fs::write(world.store.dir.join(&other), text).expect("written");
    let fifo = world.store.dir.join(file_name("fifo", SystemTime::now()));
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("made");
    fs::create_dir(world.store.dir.join(file_name("dir", SystemTime::now()))).expect("made");
    fs::write(world.store.dir.join("notes.txt"), "").expect("written");
    let list = world.store.list().expect("listed");
    assert_eq!(list.records.into_iter().map(|it| it.id).collect::<Vec<_>>(), [good]);
    let why: BTreeSet<_> = list.unusable.iter().map(|it| &*it.why).collect();
    assert_eq!(list.unusable.len(), 4, "{why:?}");
    assert!(why.contains("it is the record of another call"), "{why:?}");
    assert!(matches!(world.store.find("torn"), Err(UndoError::Unusable { .. })));
}

#[test]
fn what_was_written_by_hand_is_no_panic() {
    let world = world();
    world.record("a");
    let text = fs::read_to_string(world.file()).expect("there");
    let marked = text.replace(
        "\"undo\":",
        "\"mark\": {\"state\": \"undone\", \"at_ms\": 18446744073709551615, \"by\": \"\"}, \"undo\":",
    );
    fs::write(world.file(), marked).expect("written");
    let record = world.store.find("a").expect("a record");
    let err = record.check().expect_err("undone");
    assert!(err.to_string().contains("was undone already, at "), "{err}");
}
