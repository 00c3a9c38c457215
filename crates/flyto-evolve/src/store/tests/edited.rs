//! Files in `tools` that say an earlier version: a stopped writer left them, or a person put them there.

use super::*;

/// A store with `n` versions of the tool `t`, and their files.
fn versions(n: u64) -> (tempfile::TempDir, Store, Vec<String>) {
    let (temp, store) = store();
    let mut files = Vec::new();
    for number in 1..=n {
        let base = Some(number - 1).filter(|it| *it > 0);
        store.commit(new("t", &format!("echo {number}\n"), base)).unwrap();
        files.push(fs::read_to_string(store.view_path("t")).unwrap());
    }
    (temp, store, files)
}

#[test]
fn an_older_text_is_an_edit_and_that_of_the_version_before_may_be_torn() {
    let (_temp, store, files) = versions(3);
    fs::write(store.view_path("t"), &files[1]).unwrap();
    let kinds: Vec<_> = store.recover().unwrap().into_iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [RecoveredKind::RolledForward { from: Some(2), to: 3 }]);

    fs::write(store.view_path("t"), &files[0]).unwrap();
    assert_eq!(store.recover().unwrap(), []);
    assert_eq!(fs::read_to_string(store.view_path("t")).unwrap(), files[0]);
    let found = store.load().unwrap().unapproved.remove(0);
    assert_eq!((found.base, found.definition.body.text()), (Some(3), Some("echo 1\n")));
    let hash = store.version("t", 3).unwrap().hash();
    assert!(store.in_force("t", 3, hash).is_err());
    let err = store.commit(new("t", "echo 4\n", Some(3))).unwrap_err();
    assert!(matches!(err, StoreError::EditedByHand { .. }), "{err}");

    // Of an archived tool, too.
    store.discard_edit("t").unwrap();
    store.archive("t", "ada").unwrap();
    fs::write(store.view_path("t"), &files[0]).unwrap();
    assert_eq!((store.recover().unwrap(), store.load().unwrap().unapproved.len()), (vec![], 1));
    fs::write(store.view_path("t"), &files[2]).unwrap();
    assert_eq!(store.recover().unwrap()[0].kind, RecoveredKind::Removed);
}

#[test]
fn writers_that_stop_one_after_the_other_leave_no_edit() {
    for (at, next) in [(1, "echo 3\n"), (2, "echo 4\n")] {
        let (_temp, store, files) = versions(2);
        // The first one was stopped before it wrote the file, and the second one brings it up to date.
        fs::write(store.view_path("t"), &files[0]).unwrap();
        for number in 2..=at {
            store.commit(new("t", &format!("echo {}\n", number + 1), Some(number))).unwrap();
            let before = store.version("t", number).unwrap().definition.file_text();
            fs::write(store.view_path("t"), before).unwrap();
        }
        store.commit(new("t", next, Some(at + 1))).unwrap();
        let loaded = store.load().unwrap();
        assert_eq!((loaded.unapproved.len(), text_of(&loaded.active[0])), (0, next));
    }
    // Where the file cannot be brought up to date, nothing is saved.
    let (_temp, store, files) = versions(2);
    fs::write(store.view_path("t"), &files[0]).unwrap();
    for n_operations in 0.. {
        let left = AtomicU64::new(n_operations);
        let files = Arc::new(Stopping { disk: Disk::new(store.dir()), left });
        let stopping = Store::with_files(store.dir().to_owned(), files, DEFAULT_LOCK_WAIT);
        let saved = stopping.commit(new("t", "echo 3\n", Some(2)));
        let loaded = store.load().unwrap();
        assert_eq!(loaded.unapproved, []);
        if saved.is_ok() || loaded.active[0].number > 2 {
            break;
        }
    }
}
