//! Writers that stop while they change what is no version: proposals that wait, acknowledgements, pins, counts, recorded calls.

use std::{collections::BTreeMap, path::PathBuf};

use super::*;
use crate::usage::{CallUse, Fault};

/// Everything of a store that a change of this file may touch. Times are left out, and so is the order of what came in the same
/// millisecond.
#[derive(Debug, PartialEq)]
struct Kept {
    waiting: Vec<String>,
    acknowledged: Vec<String>,
    pins: Vec<(String, String)>,
    n_calls: Vec<(String, u64)>,
    recorded: Vec<String>,
    gone: Vec<PathBuf>,
    /// How many bytes it has; the key itself is random.
    key: Option<usize>,
}

fn kept(store: &Store) -> Kept {
    assert_eq!(store.damaged_proposals().unwrap(), []);
    let key = fs::read(store.dir().join("fingerprint.key")).ok().map(|it| it.len());
    let mut waiting: Vec<String> = store.pending().unwrap().into_iter().map(|it| it.id).collect();
    waiting.sort_unstable();
    Kept {
        waiting,
        acknowledged: store.acknowledgements().unwrap().into_iter().map(|it| it.reason).collect(),
        pins: store.pins().unwrap().into_iter().collect(),
        n_calls: store.usage().unwrap().into_iter().map(|it| (it.0, it.1[&1].n_calls)).collect(),
        recorded: store.calls("t", 10).unwrap().into_iter().map(|it| it.id).collect(),
        gone: store
            .damaged_history()
            .unwrap()
            .into_iter()
            .map(|it| it.path)
            .map(file_name)
            .collect(),
        key,
    }
}

/// Without the directory, which each store has of its own.
fn file_name(path: PathBuf) -> PathBuf {
    path.file_name().map(PathBuf::from).unwrap_or_default()
}

/// Stops a change after every number of operations. What is there then is what was there before or what the whole change leaves,
/// it is the latter where the change was acknowledged, and the same change can be made afterwards. Gives how many there were.
fn stop_everywhere<T>(
    prepare: impl Fn(&Store),
    change: impl Fn(&Store) -> Result<T, StoreError>,
) -> u64 {
    let whole = {
        let (_temp, store) = store();
        prepare(&store);
        change(&store).unwrap();
        kept(&store)
    };
    for k in 0.. {
        let (_temp, store) = store();
        prepare(&store);
        let before = kept(&store);
        assert_ne!(before, whole, "the change does nothing");
        let files = Arc::new(Stopping { disk: Disk::new(store.dir()), left: AtomicU64::new(k) });
        let dir = store.dir().to_owned();
        let stopped = Store::with_files(dir, Arc::clone(&files) as _, DEFAULT_LOCK_WAIT);
        let res = change(&stopped);
        drop(stopped);

        let after = kept(&store);
        assert!(
            after == whole || after == before && res.is_err(),
            "{after:?} after {k} operations"
        );
        store.recover().unwrap();
        assert_eq!(store.recover().unwrap(), [], "putting in order twice, after {k} operations");
        assert_eq!(kept(&store), after, "putting in order changes it, after {k} operations");
        let loaded = store.load().unwrap();
        assert_eq!((loaded.damaged, loaded.unapproved), (vec![], vec![]), "after {k} operations");
        if after == before {
            change(&store).unwrap();
            assert_eq!(kept(&store), whole, "again after {k} operations");
        }
        // What is left over of a recorded call is removed by the next one.
        let calls = (after == before).then_some("calls/t");
        for dir in ["", "pending"].into_iter().chain(calls) {
            let names = Disk::new(store.dir()).names(dir).unwrap();
            assert!(names.iter().all(|it| !it.starts_with(TEMP)), "{names:?} after {k} operations");
        }
        if res.is_ok() && files.left.load(Ordering::SeqCst) > 0 {
            return k;
        }
    }
    0
}

fn with_tool(store: &Store) {
    store.commit(new("t", "echo 1\n", None)).unwrap();
}

fn proposal(text: &str) -> Pending {
    let definition = def("t", text);
    let sha256 = definition.hash();
    Pending {
        id: sha256.proposal_id("t"),
        definition: definition.file_text(),
        sha256,
        base: Some(1),
        proposed_by: "agent".to_owned(),
        at: flyto_audit::Timestamp::now().to_string(),
        distinct_because: None,
        imported_from: None,
        is_of_person: false,
        tools: BTreeMap::new(),
    }
}

#[test]
fn a_proposal_waits_whole_or_not_at_all() {
    let first = stop_everywhere(with_tool, |store| store.stage(&proposal("echo 2\n")));
    let full = |store: &Store| {
        with_tool(store);
        for n in 0..MAX_PENDING_OF_TOOL {
            store.stage(&proposal(&format!("echo 2-{n}\n"))).unwrap();
        }
    };
    let removed = stop_everywhere(full, |store| store.unstage(&proposal("echo 2-3\n").id));
    assert!(first >= 6 && removed >= 3, "{first} and {removed}");
}

#[test]
fn what_a_person_says_of_a_finding_is_kept_whole_or_not_at_all() {
    let ack = |store: &Store, n: u8| {
        store.acknowledge(flyto_security::Fingerprint([n; 32]), "rule", "ada", &format!("why {n}"))
    };
    let first = stop_everywhere(|_| {}, |store| ack(store, 1));
    let second = stop_everywhere(|store| ack(store, 1).unwrap(), |store| ack(store, 2));
    let key = stop_everywhere(|_| {}, Store::fingerprint_key);
    assert!(first >= 6 && second >= 6 && key >= 6, "{first}, {second} and {key}");
}

#[test]
fn a_version_is_forgotten_or_not() {
    let gone = |store: &Store| {
        with_tool(store);
        for number in 2..=3 {
            store.commit(new("t", &format!("echo {number}\n"), Some(number - 1))).unwrap();
        }
        std::fs::remove_file(store.dir().join("history/t/000002.json")).unwrap();
    };
    let n_places = stop_everywhere(gone, |store| store.forget_gone("t", "ada"));
    assert!(n_places >= 6, "{n_places}");
}

#[test]
fn a_pin_is_set_or_not() {
    let set = stop_everywhere(with_tool, |store| store.pin("t", "ada"));
    let taken = stop_everywhere(
        |store| {
            with_tool(store);
            store.pin("t", "ada").unwrap();
        },
        |store| store.unpin("t", "grace"),
    );
    assert!(set >= 6 && taken >= 6, "{set} and {taken}");
}

#[test]
fn calls_are_counted_once_or_not_at_all() {
    let count = |store: &Store| {
        let call = CallUse {
            tool: "t".to_owned(),
            version: 1,
            failure: None,
            fault: Fault::None,
            is_certain: false,
            wall: Duration::from_millis(3),
            at: "2026-01-01T00:00:00Z".to_owned(),
        };
        store.add_usage(&[call])
    };
    let first = stop_everywhere(with_tool, count);
    let once = |store: &Store| {
        with_tool(store);
        count(store).unwrap();
    };
    let second = stop_everywhere(once, count);
    assert!(first >= 6 && second >= 6, "{first} and {second}");
}

#[test]
fn a_call_is_recorded_whole_or_not_at_all() {
    let keep = |store: &Store, id: &str| {
        let call = json!({
            "id": id, "tool": "t", "version": 1, "sha256": "0".repeat(64),
            "at": "2026-01-01T00:00:00Z", "input": {}, "result": {"text": "ok"},
        });
        store.keep_call(&serde_json::from_value(call).unwrap(), 5)
    };
    let first = stop_everywhere(with_tool, |store| keep(store, "1"));
    let once = |store: &Store| {
        with_tool(store);
        keep(store, "1").unwrap();
    };
    let second = stop_everywhere(once, |store| keep(store, "2"));
    assert!(first >= 6 && second >= 6, "{first} and {second}");
}

#[test]
fn a_proposal_that_was_saved_waits_no_longer() {
    // A person may have edited the text.
    for saved in ["echo 2\n", "echo edited\n"] {
        let mut told = Vec::new();
        for k in 0.. {
            let (_temp, store) = store();
            with_tool(&store);
            let pending = proposal("echo 2\n");
            store.stage(&pending).unwrap();
            let files =
                Arc::new(Stopping { disk: Disk::new(store.dir()), left: AtomicU64::new(k) });
            let dir = store.dir().to_owned();
            let stopped = Store::with_files(dir, Arc::clone(&files) as _, DEFAULT_LOCK_WAIT);
            let mut new = new("t", saved, Some(1));
            new.decides = Some(pending.id.clone());
            let res = stopped.commit(new);
            drop(stopped);

            let is_saved = store.last("t").unwrap().unwrap().number == 2;
            assert_eq!(store.pending().unwrap().is_empty(), is_saved, "after {k} operations");
            match store.unstage(&pending.id) {
                Err(StoreError::Decided { version, .. }) => assert!(is_saved, "{version:?}"),
                other => assert!(!is_saved && other.is_ok(), "{other:?} after {k} operations"),
            }
            told.extend(store.recover().unwrap().into_iter().map(|it| it.kind));
            assert_eq!(Disk::new(store.dir()).names("pending").unwrap(), [""; 0], "after {k}");
            if res.is_ok() && files.left.load(Ordering::SeqCst) > 0 {
                break;
            }
        }
        let id = proposal("echo 2\n").id;
        assert!(told.contains(&RecoveredKind::ProposalSaved { id, version: 2 }), "{told:?}");
    }
}

#[test]
fn a_proposal_waits_beside_versions_that_are_not_of_it() {
    let (_temp, store) = store();
    with_tool(&store);
    let pending = proposal("echo 2\n");
    store.stage(&pending).unwrap();
    store.commit(new("t", "echo other\n", Some(1))).unwrap();
    // The same text, saved on another base, is another decision.
    store.commit(new("t", "echo 2\n", Some(2))).unwrap();
    assert_eq!(store.recover().unwrap(), []);
    assert_eq!(store.pending().unwrap(), [pending]);
}
