//! Stores whose writer is stopped, whose files are damaged, and which a person edits.

mod cycle;
mod edited;
mod held;
mod settled;
mod stopped;
mod unreadable;

use std::{
    fs, io,
    sync::atomic::{AtomicU64, Ordering},
};

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::ToolDefinition;

fn def(name: &str, text: &str) -> ToolDefinition {
    ToolDefinition::script(name, "Tests.", text).with_created_by("agent")
}

/// An approved version.
fn new(name: &str, text: &str, base: Option<u64>) -> NewVersion {
    let def = def(name, text);
    let approval = Approval::now("ada", def.hash());
    let change = if base.is_some() { Change::Updated } else { Change::Created };
    NewVersion::new(def, base, change).approved(approval)
}

fn text_of(version: &Version) -> &str {
    version.definition.body.text().unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::new(temp.path().join("a/store"));
    (temp, store)
}

/// A writer that is stopped after so many operations. Writing a file is three: its name, half of its bytes, all of them.
#[derive(Debug)]
struct Stopping {
    disk: Disk,
    left: AtomicU64,
}

impl Stopping {
    fn step(&self) -> io::Result<()> {
        let take = |left: u64| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .map(drop)
            .map_err(|_| io::Error::other("stopped"))
    }
}

impl Files for Stopping {
    fn make_dir(&self, dir: &str) -> io::Result<()> {
        self.step()?;
        self.disk.make_dir(dir)
    }

    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        self.disk.read(path, max_bytes)
    }

    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        self.disk.names(dir)
    }

    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        for n_written in [0, bytes.len() / 2] {
            if let Err(err) = self.step() {
                self.disk.write_new(path, &bytes[..n_written])?;
                return Err(err);
            }
        }
        self.disk.write_new(path, bytes)
    }

    fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_new(path, bytes)
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        self.disk.link(from, to)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.step()?;
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.step()?;
        self.disk.sync_dir(dir)
    }

    fn lock(&self, wait: Duration) -> io::Result<Option<File>> {
        self.step()?;
        self.disk.lock(wait)
    }
}

/// Stops a change after every number of operations, and looks at what is there then. Gives how many there were.
fn stop_everywhere(
    prepare: impl Fn(&Store),
    change: impl Fn(&Store) -> Result<Version, StoreError>,
) -> u64 {
    for k in 0.. {
        let (_temp, store) = store();
        prepare(&store);
        let before = store.last("t").unwrap();
        let dir = store.dir().to_owned();
        let files = Arc::new(Stopping { disk: Disk::new(&dir), left: AtomicU64::new(k) });
        let stopped = Store::with_files(dir, files, DEFAULT_LOCK_WAIT);
        let res = change(&stopped);
        drop(stopped);

        let after = store.last("t").unwrap();
        match (&res, &before, &after) {
            (Ok(version), _, Some(after)) => {
                assert_eq!(version, after, "acknowledged after {k} operations")
            }
            (Ok(_), _, None) => panic!("an acknowledged version was lost after {k} operations"),
            (Err(_), _, _) if after == before => {}
            // Not acknowledged, and there: the old state or the new one, and nothing else.
            (Err(_), before, Some(after)) => {
                let before = before.as_ref().map(|it| it.number);
                assert_eq!(after.parent, before, "after {k} operations");
            }
            (Err(_), _, None) => panic!("the tool was lost after {k} operations"),
        }
        store.recover().unwrap();
        assert_eq!(store.recover().unwrap(), [], "putting in order twice, after {k} operations");
        assert_eq!(store.last("t").unwrap(), after);
        let loaded = store.load().unwrap();
        assert_eq!((loaded.damaged, loaded.unapproved), (vec![], vec![]), "after {k} operations");
        let view = fs::read_to_string(store.view_path("t")).ok();
        let expected =
            after.filter(|it| it.status == Status::Active).map(|it| it.definition.file_text());
        assert_eq!(view, expected, "after {k} operations");
        for dir in ["", "tools", "history/t", "pending"] {
            let names = Disk::new(store.dir()).names(dir).unwrap();
            assert!(names.iter().all(|it| !it.starts_with(TEMP)), "{names:?} after {k} operations");
        }
        // The store goes on.
        let base = store.last("t").unwrap().map(|it| it.number);
        store.commit(new("t", "echo next\n", base)).unwrap();
        if res.is_ok() && stopped_nothing(k, &change, &prepare) {
            return k;
        }
    }
    0
}

/// Whether the change needs no more than `k` operations.
fn stopped_nothing(
    k: u64,
    change: impl Fn(&Store) -> Result<Version, StoreError>,
    prepare: impl Fn(&Store),
) -> bool {
    let (_temp, store) = store();
    prepare(&store);
    let files = Arc::new(Stopping { disk: Disk::new(store.dir()), left: AtomicU64::new(k) });
    let stopped =
        Store::with_files(store.dir().to_owned(), Arc::clone(&files) as _, DEFAULT_LOCK_WAIT);
    change(&stopped).is_ok() && files.left.load(Ordering::SeqCst) > 0
}

#[test]
fn a_writer_that_stops_after_any_operation_leaves_the_old_version_or_the_new_one() {
    let first = stop_everywhere(|_| {}, |store| store.commit(new("t", "echo 1\n", None)));
    let two = |store: &Store| {
        store.commit(new("t", "echo 1\n", None)).unwrap();
        store.commit(new("t", "echo 2\n", Some(1))).unwrap();
    };
    let update = stop_everywhere(two, |store| store.commit(new("t", "echo 3\n", Some(2))));
    let back = stop_everywhere(two, |store| store.roll_back("t", 1, "ada").map(|it| it.version));
    let archive = stop_everywhere(two, |store| store.archive("t", "ada").map(|it| it.version));
    let restore = stop_everywhere(
        |store| {
            two(store);
            store.archive("t", "ada").unwrap();
        },
        |store| store.restore("t", "ada").map(|it| it.version),
    );
    let n_stops = [first, update, back, archive, restore];
    assert!(n_stops.iter().all(|it| *it >= 10), "{n_stops:?}");
}

#[test]
fn a_base_that_is_old_is_a_conflict_with_the_version_that_is_there() {
    let (_temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    store.commit(new("t", "echo 2\n", Some(1))).unwrap();
    for base in [None, Some(1), Some(3)] {
        let err = store.commit(new("t", "echo x\n", base)).unwrap_err();
        let StoreError::Conflict { current: Some(current), .. } = &err else { panic!("{err}") };
        assert_eq!((current.number, text_of(current)), (2, "echo 2\n"));
    }
    let err = store.commit(new("u", "echo x\n", Some(1))).unwrap_err();
    assert_eq!(
        err.to_string(),
        "the tool \"u\" is at no version, and the change is based on version 1"
    );
    assert_eq!(store.history("t").unwrap().len(), 2);
}

#[test]
fn two_threads_on_one_base_make_one_version() {
    let (_temp, store) = store();
    store.commit(new("t", "echo 0\n", None)).unwrap();
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                // Each with a lock of its own, as in another process.
                let store = Store::new(store.dir());
                scope.spawn(move || store.commit(new("t", &format!("echo {n}\n"), Some(1))))
            })
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 7));
    for err in lost {
        let StoreError::Conflict { base: Some(1), current: Some(current), .. } = err.unwrap_err()
        else {
            panic!()
        };
        assert_eq!(current.number, 2);
    }
}

#[test]
fn the_link_alone_keeps_a_number_from_being_taken_twice() {
    /// A lock that locks nothing out, as on some network file systems.
    #[derive(Debug)]
    struct Unlocked(Disk);

    impl Files for Unlocked {
        fn make_dir(&self, dir: &str) -> io::Result<()> {
            self.0.make_dir(dir)
        }
        fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
            self.0.read(path, max_bytes)
        }
        fn names(&self, dir: &str) -> io::Result<Vec<String>> {
            self.0.names(dir)
        }
        fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
            self.0.write_new(path, bytes)
        }
        fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
            self.0.write_unsynced(path, bytes)
        }
        fn link(&self, from: &str, to: &str) -> io::Result<()> {
            self.0.link(from, to)
        }
        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.0.rename(from, to)
        }
        fn remove(&self, path: &str) -> io::Result<()> {
            self.0.remove(path)
        }
        fn sync_dir(&self, dir: &str) -> io::Result<()> {
            self.0.sync_dir(dir)
        }
        fn lock(&self, _: Duration) -> io::Result<Option<File>> {
            File::open("/dev/null").map(Some)
        }
    }

    let (_temp, first) = store();
    first.commit(new("t", "echo 0\n", None)).unwrap();
    let n_won: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let dir = first.dir().to_owned();
                let files = Arc::new(Unlocked(Disk::new(&dir)));
                let store = Store::with_files(dir, files, DEFAULT_LOCK_WAIT);
                scope.spawn(move || store.commit(new("t", &format!("echo {n}\n"), Some(1))).is_ok())
            })
            .collect();
        threads.into_iter().map(|it| usize::from(it.join().unwrap())).sum()
    });
    assert_eq!((n_won, first.history("t").unwrap().len()), (1, 2));
}

#[track_caller]
fn check_recovery(damage: impl FnOnce(&Store), expect: Expect) {
    let (_temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    store.commit(new("t", "echo 2\n", Some(1))).unwrap();
    store.commit(new("other", "echo 1\n", None)).unwrap();
    damage(&store);
    let (recovered, loaded) = store.recover_and_load().unwrap();
    // One pass sees what a pass of its own sees behind it.
    assert_eq!(format!("{loaded:?}"), format!("{:?}", store.load().unwrap()));
    let tools: Vec<_> =
        loaded.active.iter().map(|it| format!("{} {}", it.definition.name, it.number)).collect();
    let edited: Vec<_> =
        loaded.unapproved.iter().map(|it| (it.definition.name.clone(), it.base)).collect();
    let damaged: Vec<_> = loaded
        .damaged
        .iter()
        .map(|it| {
            (it.path.strip_prefix(store.dir()).unwrap().display().to_string(), it.why.clone())
        })
        .collect();
    let recovered: Vec<_> = recovered
        .into_iter()
        .map(|it| match it.kind {
            RecoveredKind::SetAside { path, why, .. } => {
                assert!(path.exists());
                format!("{} set aside: {why}", it.name)
            }
            other => format!("{} {other:?}", it.name),
        })
        .collect();
    expect.assert_eq(&format!(
        "{tools:?}\nunapproved {edited:?}\ndamaged {damaged:?}\nrecovered {recovered:?}"
    ));
}

#[test]
fn what_is_damaged_is_set_aside_and_told() {
    check_recovery(
        |_| {},
        expect![[r#"
        ["other 1", "t 2"]
        unapproved []
        damaged []
        recovered []"#]],
    );
    check_recovery(
        |store| fs::write(store.view_path("t"), "").unwrap(),
        expect![[r#"
        ["other 1", "t 2"]
        unapproved []
        damaged []
        recovered ["t set aside: the file is empty"]"#]],
    );
    check_recovery(
        |store| fs::write(store.view_path("t"), b"{\"name\": \xff").unwrap(),
        expect![[r#"
        ["other 1", "t 2"]
        unapproved []
        damaged []
        recovered ["t set aside: it is not UTF-8"]"#]],
    );
    check_recovery(
        |store| fs::remove_file(store.view_path("t")).unwrap(),
        expect![[r#"
        ["other 1", "t 2"]
        unapproved []
        damaged []
        recovered ["t RolledForward { from: None, to: 2 }"]"#]],
    );
    check_recovery(
        |store| {
            fs::write(store.view_path("t"), store.version("t", 1).unwrap().definition.file_text())
                .unwrap()
        },
        expect![[r#"
            ["other 1", "t 2"]
            unapproved []
            damaged []
            recovered ["t RolledForward { from: Some(1), to: 2 }"]"#]],
    );
    check_recovery(
        |store| {
            let path = store.path(&record_of("t", 2));
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace("echo 2", "echo 3")).unwrap();
        },
        expect![[r#"
            ["other 1"]
            unapproved []
            damaged [("history/t/000002.json", "its definition was changed: recorded is 17e2c61c47e1, found 48bd829597cf; the tool is not called before it is restored or archived")]
            recovered []"#]],
    );
    check_recovery(
        |store| {
            let path = store.path(&record_of("t", 2));
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        },
        expect![[r#"
            ["other 1"]
            unapproved []
            damaged [("history/t/000002.json", "it is no version of a tool: EOF while parsing a string at line 16 column 10; the tool is not called before it is restored or archived")]
            recovered []"#]],
    );
    check_recovery(
        |store| {
            fs::remove_file(store.view_path("t")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", store.view_path("t")).unwrap();
        },
        expect![[r#"
            ["other 1", "t 2"]
            unapproved []
            damaged []
            recovered ["t set aside: it is a link, and links are not followed"]"#]],
    );
}

#[test]
fn what_a_person_edits_is_told_and_never_overwritten() {
    let edit = |store: &Store| {
        let path = store.view_path("t");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("echo 2", "echo by hand")).unwrap();
    };
    check_recovery(
        edit,
        expect![[r#"
        ["other 1", "t 2"]
        unapproved [("t", Some(2))]
        damaged []
        recovered []"#]],
    );
    let (_temp, store) = store();
    store.commit(new("t", "echo 2\n", None)).unwrap();
    edit(&store);
    let err = store.commit(new("t", "echo agent\n", Some(1))).unwrap_err();
    assert!(matches!(err, StoreError::EditedByHand { .. }), "{err}");
    let found = store.unapproved("t").unwrap();
    assert_eq!((found.base, found.definition.body.text()), (Some(1), Some("echo by hand\n")));

    // Approved, it is the next version.
    let approval = Approval::now("ada", found.definition.hash());
    let edited =
        NewVersion::new(found.definition, found.base, Change::HumanEdit).approved(approval);
    assert_eq!(store.commit(edited).unwrap().number, 2);
    assert_eq!(store.load().unwrap().unapproved, []);

    // Discarded, it is set aside.
    fs::write(store.view_path("t"), def("t", "echo bad\n").file_text()).unwrap();
    let aside = store.discard_edit("t").unwrap();
    assert!(fs::read_to_string(aside).unwrap().contains("echo bad"));
    assert!(fs::read_to_string(store.view_path("t")).unwrap().contains("echo by hand"));
}

#[test]
fn a_folder_of_the_go_layout_loads_unchanged() {
    let (_temp, store) = store();
    fs::create_dir_all(store.dir().join("tools")).unwrap();
    let text = r#"{
  "name": "now",
  "description": "Says the time.",
  "input_schema": {"type": "object"},
  "execution_type": "command",
  "command": "date",
  "version": 4,
  "created_at": "2026-04-15T10:20:30.123456789+08:00",
  "created_by": "session-1",
  "concurrency_safe": true,
  "read_only": false
}"#;
    fs::write(store.view_path("now"), text).unwrap();
    assert_eq!(store.recover().unwrap(), []);
    assert_eq!(fs::read_to_string(store.view_path("now")).unwrap(), text);
    let found = store.load().unwrap().unapproved.remove(0);
    assert_eq!((found.base, found.definition.version), (None, 4));
    let approval = Approval::now("ada", found.definition.hash());
    let new = NewVersion::new(found.definition, None, Change::Adopted).approved(approval);
    let saved = store.commit(new).unwrap();
    assert_eq!((saved.number, saved.parent), (4, None));
    assert_eq!(
        store.load().unwrap().active[0].definition.created_at,
        "2026-04-15T10:20:30.123456789+08:00"
    );
    expect![[r#"
        {
          "command": "date",
          "concurrency_safe": true,
          "created_at": "2026-04-15T10:20:30.123456789+08:00",
          "created_by": "session-1",
          "description": "Says the time.",
          "execution_type": "command",
          "input_schema": {
            "type": "object"
          },
          "name": "now",
          "read_only": false,
          "version": 4
        }
    "#]]
    .assert_eq(&fs::read_to_string(store.view_path("now")).unwrap());
}

#[test]
fn a_version_without_approval_is_never_active() {
    let (_temp, store) = store();
    store.commit(NewVersion::new(def("t", "echo 1\n"), None, Change::Created)).unwrap();
    let loaded = store.load().unwrap();
    assert_eq!((loaded.active.len(), loaded.unapproved.len()), (0, 1));
    assert_eq!((loaded.unapproved[0].base, loaded.unapproved[0].version), (None, Some(1)));
    let mut other = new("u", "echo 1\n", None);
    other.approval = Some(Approval::now("ada", def("u", "echo 2\n").hash()));
    store.commit(other).unwrap();
    assert_eq!(store.load().unwrap().active, []);
}

#[test]
fn names_lead_nowhere_else() {
    let (_temp, store) = store();
    for name in ["../t", "a/b", "", ".", "..", ".lock", "a\0", "a b"] {
        assert!(
            matches!(store.commit(new(name, "x", None)), Err(StoreError::InvalidName { .. })),
            "{name:?}"
        );
        assert!(store.version(name, 1).is_err() && store.pending_one(name).is_err(), "{name:?}");
    }
    assert!(!store.dir().exists());
    fs::create_dir_all(store.dir()).unwrap();
    std::os::unix::fs::symlink("/tmp", store.dir().join("history")).unwrap();
    assert!(store.commit(new("t", "x", None)).is_err());
    assert!(!std::path::Path::new("/tmp/t").exists());
}

/// What may happen to a tool.
#[derive(Debug, Clone)]
enum Step {
    Save(u8),
    Back(u8),
    Archive,
    Restore,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_version_stays_and_can_be_had_again(steps in prop::collection::vec(prop_oneof![
        any::<u8>().prop_map(Step::Save),
        any::<u8>().prop_map(Step::Back),
        Just(Step::Archive),
        Just(Step::Restore),
    ], 1..8)) {
        let (_temp, store) = store();
        store.commit(new("t", "echo first\n", None)).unwrap();
        let file = |number| fs::read(store.path(&record_of("t", number))).unwrap();
        let mut files = vec![file(1)];
        for step in steps {
            let n_versions = files.len() as u64;
            let before = store.last("t").unwrap().unwrap();
            let is_save = matches!(step, Step::Save(_));
            let saved = match step {
                Step::Save(n) => store.commit(new("t", &format!("echo {n}\n"), Some(n_versions))).map(Settled::made),
                Step::Back(to) => {
                    let to = u64::from(to) % n_versions + 1;
                    let saved = store.roll_back("t", to, "ada");
                    let old = store.version("t", to).unwrap();
                    prop_assert_eq!(saved.as_ref().unwrap().version.definition.canonical_text(), old.definition.canonical_text());
                    saved
                }
                Step::Archive => store.archive("t", "ada"),
                Step::Restore => store.restore("t", "ada"),
            };
            let Settled { version: saved, is_new } = saved.unwrap();
            prop_assert!(saved.is_approved());
            prop_assert_eq!(saved.number > n_versions, is_new);
            // Only what changes something makes a version.
            let is_other = (before.status, before.hash()) != (saved.status, saved.hash());
            prop_assert_eq!(is_new, is_save || is_other);
            if saved.number > n_versions {
                files.push(file(saved.number));
            }
            for (at, bytes) in files.iter().enumerate() {
                prop_assert_eq!(&file(at as u64 + 1), bytes);
            }
        }
        prop_assert_eq!(store.history("t").unwrap().len(), files.len());
        prop_assert!(flyto_audit::verify(store.dir().join(EVENTS)).unwrap().is_intact());
    }
}
