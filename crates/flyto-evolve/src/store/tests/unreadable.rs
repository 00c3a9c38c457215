//! Files that the system does not give: each costs no more than itself.

use super::*;

/// A disk on which one file or directory can be neither read nor listed, for a reason of the system.
#[derive(Debug)]
struct Denying {
    disk: Disk,
    path: String,
    why: fn() -> io::Error,
}

impl Denying {
    fn ask(&self, path: &str) -> io::Result<()> {
        if path == self.path { Err((self.why)()) } else { Ok(()) }
    }
}

impl Files for Denying {
    fn make_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.make_dir(dir)
    }
    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        self.ask(path)?;
        self.disk.read(path, max_bytes)
    }
    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        self.ask(dir)?;
        self.disk.names(dir)
    }
    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_new(path, bytes)
    }
    fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_unsynced(path, bytes)
    }
    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.link(from, to)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
    fn lock(&self, wait: Duration) -> io::Result<Option<File>> {
        self.disk.lock(wait)
    }
}

/// A store with the tools `t`, at version 2, and `other`, and the same store without the right to one path.
fn denied(path: &str) -> (tempfile::TempDir, Store) {
    refused(path, || io::ErrorKind::PermissionDenied.into())
}

fn refused(path: &str, why: fn() -> io::Error) -> (tempfile::TempDir, Store) {
    let (temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    store.commit(new("t", "echo 2\n", Some(1))).unwrap();
    store.commit(new("other", "echo 1\n", None)).unwrap();
    fs::write(store.path("pending/t-0123.json"), "{}").unwrap();
    let disk = Disk::new(store.dir());
    let files = Arc::new(Denying { disk, path: path.to_owned(), why });
    (temp, Store::with_files(store.dir().to_owned(), files, DEFAULT_LOCK_WAIT))
}

/// What is told of the path, after a look that changes nothing and after one that puts in order.
#[track_caller]
fn check(path: &str, expected: &str) {
    let (_temp, store) = denied(path);
    let told = |damaged: &[Damaged]| -> Vec<String> {
        let found = damaged.iter().filter(|it| it.path == store.path(path));
        found.map(|it| it.why.clone()).collect()
    };
    let names = |loaded: &Loaded| -> Vec<String> {
        loaded.active.iter().map(|it| format!("{} {}", it.definition.name, it.number)).collect()
    };
    let seen = store.load().unwrap();
    let (recovered, loaded) = store.recover_and_load().unwrap();
    assert_eq!(store.pending().is_ok(), path != "pending");
    let aside = recovered.iter().filter(|it| it.name == "t" && store.path(path).exists());
    let found = format!(
        "{:?}\n{:?}\n{:?}\n{} in its place again",
        told(&seen.damaged),
        told(&loaded.damaged),
        names(&loaded),
        aside.filter(|it| matches!(it.kind, RecoveredKind::SetAside { .. })).count()
    );
    assert_eq!(found, expected);
}

#[test]
fn a_file_that_cannot_be_read_costs_its_own_tool() {
    let read = "failed to read it: permission denied; make it readable for this user";
    let held = format!("{read}; the tool is not called before it is restored or archived");
    let list = "failed to list it: permission denied; make it readable for this user";
    for (path, why, active, n_aside) in [
        ("history/t/000002.json", &*held, "[\"other 1\"]", 0),
        ("history/t", list, "[\"other 1\"]", 0),
        // The history has what was approved.
        ("tools/t.json", read, "[\"other 1\", \"t 2\"]", 1),
    ] {
        check(path, &format!("[{why:?}]\n[{why:?}]\n{active}\n{n_aside} in its place again"));
    }
    check("history/t/000001.json", "[]\n[]\n[\"other 1\", \"t 2\"]\n0 in its place again");
}

#[test]
fn a_store_that_cannot_be_reached_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", temp.path().join("link")).unwrap();
    for (dir, is_known) in
        [("file/store", true), (&*"n".repeat(256), true), ("link", true), ("none/store", false)]
    {
        let store = Store::new(temp.path().join(dir));
        let res = store.recover();
        assert_eq!(matches!(res, Err(StoreError::Io { .. })), is_known, "{dir}: {res:?}");
    }
    assert!(!temp.path().join("none").exists());
}

#[test]
fn a_tool_that_may_be_archived_is_not_in_force() {
    let (_temp, store) = denied("history/t");
    let hash = store.version("t", 2).unwrap().hash();
    let err = store.in_force("t", 2, hash).unwrap_err();
    assert!(err.to_string().contains("failed to list it: permission denied"), "{err}");
    store.in_force("other", 1, store.version("other", 1).unwrap().hash()).unwrap();
    for changed in [store.archive("t", "ada"), store.restore("t", "ada")] {
        let err = changed.unwrap_err().to_string();
        assert!(err.contains("history/t cannot be used: failed to list it"), "{err}");
    }
}

#[test]
#[cfg(unix)]
fn a_process_without_descriptors_sets_nothing_aside() {
    use rustix::io::Errno;

    let why: [fn() -> io::Error; 2] = [|| Errno::MFILE.into(), || Errno::NFILE.into()];
    for path in ["history/t/000002.json", "history/t", "tools/t.json", "pending/t-0123.json"] {
        for why in why {
            let (_temp, store) = refused(path, why);
            for res in [store.load().map(drop), store.recover().map(drop)] {
                assert!(matches!(res, Err(StoreError::Io { .. })), "{path}: {res:?}");
            }
            // With descriptors, everything is there.
            let loaded = Store::new(store.dir()).load().unwrap();
            assert_eq!((loaded.active.len(), store.path(path).exists()), (2, true), "{path}");
        }
    }
}

#[test]
fn what_belongs_to_no_tool_costs_none() {
    for (path, doing, until) in [
        ("usage.json", "read", "; no tool decays before it is mended or removed"),
        ("usage.since.json", "read", "; no tool decays before it is mended or removed"),
        ("pins.json", "read", "; no tool decays before it is mended or removed"),
        ("pending/t-0123.json", "read", ""),
        ("quarantine", "list", ""),
        ("pending", "list", ""),
    ] {
        let why = format!(
            "failed to {doing} it: permission denied; make it readable for this user{until}"
        );
        check(path, &format!("[{why:?}]\n[{why:?}]\n[\"other 1\", \"t 2\"]\n0 in its place again"));
    }
}

#[test]
fn a_proposal_that_cannot_be_read_stays_and_is_told() {
    let (_temp, store) = denied("pending/t-0123.json");
    store.recover().unwrap();
    let [found] = &store.damaged_proposals().unwrap()[..] else { panic!() };
    assert!(found.path.ends_with("pending/t-0123.json") && found.path.exists());
}

#[test]
fn versions_that_cannot_be_used_are_told() {
    let (_temp, store) = denied("history/t/000001.json");
    fs::write(store.path("history/other/000001.json"), "{").unwrap();
    let told = |found: Vec<Damaged>| -> Vec<String> {
        let dir = store.dir();
        let line =
            |it: Damaged| format!("{}: {}", it.path.strip_prefix(dir).unwrap().display(), it.why);
        found.into_iter().map(line).collect()
    };
    expect![[r#"
        history/other/000001.json: it is no version of a tool: EOF while parsing an object at line 1 column 1
        history/t/000001.json: failed to read it: permission denied; make it readable for this user"#]].assert_eq(&told(store.damaged_history().unwrap()).join("\n"));
    assert_eq!(told(store.damaged_versions("t").unwrap()).len(), 1);
    assert_eq!(store.history("t").unwrap().len(), 1);
    assert_eq!(store.damaged_versions("none").unwrap(), []);
}

#[test]
fn an_unreadable_list_of_acknowledgements_is_an_error() {
    let (_temp, store) = store();
    assert_eq!(store.acknowledgements().unwrap(), []);
    let fingerprint = flyto_security::Fingerprint([7; 32]);
    store.acknowledge(fingerprint, "rule", "ada", "a test value").unwrap();
    store.acknowledge(fingerprint, "rule", "ada", "again").unwrap();
    assert_eq!(store.acknowledgements().unwrap().len(), 1);
    assert_eq!(store.fingerprint_key().unwrap(), store.fingerprint_key().unwrap());
    fs::write(store.dir().join("acks.json"), "[{").unwrap();
    assert!(matches!(
        store.acknowledge(fingerprint, "r", "b", "c"),
        Err(StoreError::Damaged { .. })
    ));
}

#[test]
fn a_file_whose_name_no_tool_can_have_is_told() {
    let (_temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    let text = fs::read_to_string(store.view_path("t")).unwrap();
    for name in ["a__b", "two words", ".hidden"] {
        fs::write(store.dir().join(format!("tools/{name}.json")), &text).unwrap();
    }
    fs::create_dir(store.dir().join("history/x:y")).unwrap();
    for loaded in [store.load().unwrap(), store.recover_and_load().unwrap().1] {
        let told: Vec<String> = loaded
            .damaged
            .iter()
            .map(|it| format!("{}: {}", it.path.file_name().unwrap().display(), it.why))
            .collect();
        expect![[r#"
            a__b.json: its name holds `__`, which stands between a plugin and its tool, so it is no tool; rename it, with the "name" in it
            two words.json: its name holds white space, a control character or an invisible one, so it is no tool; rename it, with the "name" in it
            x:y: its name holds a colon, which stands between a plugin and its tool, so it is no tool; rename it, with the "name" in it"#]]
        .assert_eq(&told.join("\n"));
        assert_eq!(loaded.active.len(), 1);
    }
}

#[test]
fn many_files_that_are_no_proposals_are_set_aside_over_time() {
    let (_temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    for n in 0..70 {
        fs::write(store.dir().join(format!("pending/t-{n:040}.json")), "junk").unwrap();
    }
    for (n_aside, told) in [(32, Some("38 more files")), (32, Some("6 more files")), (6, None)] {
        let (recovered, loaded) = store.recover_and_load().unwrap();
        let n =
            recovered.iter().filter(|it| matches!(it.kind, RecoveredKind::ProposalSetAside { .. }));
        assert_eq!((n.count(), loaded.active.len()), (n_aside, 1));
        let left: Vec<_> = loaded.damaged.iter().map(|it| it.why.split(" in it").next()).collect();
        assert_eq!(left, told.into_iter().map(Some).collect::<Vec<_>>());
    }
}

#[test]
fn more_tools_than_are_read_take_none_away() {
    let (_temp, store) = store();
    store.commit(new("zz", "echo 1\n", None)).unwrap();
    for n in 0..crate::MAX_TOOLS + 2 {
        fs::write(store.path(&format!("tools/a{n:04}.json")), "{").unwrap();
    }
    let loaded = store.load().unwrap();
    assert_eq!(loaded.active.len(), 1);
    let told = loaded.damaged.iter().find(|it| it.path.ends_with("tools")).unwrap();
    assert!(told.why.contains("so 3 files of tools without a history are left out"), "{told:?}");
    // A further tool is refused, and one that is there goes on.
    let refused = store.commit(new("further", "echo 1\n", None)).unwrap_err();
    assert!(matches!(refused, StoreError::Full { limit: 1000, .. }), "{refused}");
    store.commit(new("zz", "echo 2\n", Some(1))).unwrap();
}

/// What is told of versions that are gone, without what to do.
fn told_gone(store: &Store) -> Vec<String> {
    let found = store.damaged_history().unwrap();
    let told = found.iter().map(|it| {
        let why = it.why.strip_suffix(
            "; put it back from a copy, or forget it where it was removed on purpose; no rollback leads to it",
        );
        format!("{}: {}", it.path.file_name().unwrap().to_string_lossy(), why.unwrap())
    });
    told.collect()
}

#[test]
fn a_version_that_was_removed_on_purpose_is_told_until_a_person_says_so() {
    let (_temp, store) = store();
    for number in 1..=7 {
        let base = Some(number - 1).filter(|it| *it > 0);
        store.commit(new("t", &format!("echo {number}\n"), base)).unwrap();
    }
    let remove = |number: u64| {
        fs::remove_file(store.dir().join(format!("history/t/{number:06}.json"))).unwrap();
    };
    assert_eq!(store.forget_gone("t", "ada").unwrap(), []);
    [2, 4].into_iter().for_each(remove);
    assert_eq!(told_gone(&store), ["000002.json: it is gone", "000004.json: it is gone"]);
    assert_eq!(store.forget_gone("t", "ada").unwrap(), [2..=2, 4..=4]);
    assert_eq!(told_gone(&store), [""; 0]);
    assert_eq!(store.forget_gone("t", "ada").unwrap(), []);
    // One that is lost later is told by itself, and so is what is said of it.
    [3, 5].into_iter().for_each(remove);
    let again = Store::new(store.dir());
    assert_eq!(told_gone(&again), ["000003.json: it is gone", "000005.json: it is gone"]);
    assert_eq!(again.forget_gone("t", "ada").unwrap(), [3..=3, 5..=5]);
    assert_eq!(told_gone(&again), [""; 0]);
    assert!(flyto_audit::verify(store.dir().join(EVENTS)).unwrap().is_intact());
    let events = flyto_audit::Reader::open(store.dir().join(EVENTS)).unwrap();
    let events = events.records().unwrap().map(Result::unwrap);
    let told: Vec<_> = events.filter(|it| it.event == "forgotten").map(|it| it.body).collect();
    assert_eq!((told.len(), &told[0]["by"]), (2, &"ada".into()));
    assert_eq!(told[1]["versions"][0], json!({"start": 3, "end": 3}));
    // A number is not given again, and a file that is back is a version.
    let first = fs::read(store.dir().join("history/t/000006.json")).unwrap();
    remove(6);
    assert_eq!(store.forget_gone("t", "ada").unwrap(), [6..=6]);
    fs::write(store.dir().join("history/t/000006.json"), first).unwrap();
    assert_eq!(store.history("t").unwrap().len(), 3);
    assert!(matches!(store.forget_gone("other", "ada"), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_version_that_is_gone_from_the_history_is_told() {
    for (gone, expected) in [
        (&[1][..], &["000001.json: it is gone"][..]),
        (&[2, 3], &["000002.json: it is gone, as are those up to version 3"]),
        (&[1, 2], &["000002.json: it is gone"]),
        (&[], &[]),
    ] {
        let (_temp, store) = store();
        for number in 1..=4 {
            let base = Some(number - 1).filter(|it| *it > 0);
            store.commit(new("t", &format!("echo {number}\n"), base)).unwrap();
        }
        for number in gone {
            fs::remove_file(store.dir().join(format!("history/t/{number:06}.json"))).unwrap();
        }
        assert_eq!(told_gone(&store), expected);
        // The last one is in force all the same.
        assert_eq!(store.load().unwrap().active[0].number, 4);
    }
    // A folder without a history counted by itself.
    let (_temp, store) = store();
    let mut first = new("t", "echo 7\n", None);
    first.definition.version = 7;
    store.commit(first).unwrap();
    assert_eq!(store.damaged_history().unwrap(), []);
}
