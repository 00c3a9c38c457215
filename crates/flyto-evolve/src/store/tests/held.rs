//! Tools whose newest version cannot be used.

use super::*;

#[test]
fn no_damage_brings_an_archived_tool_back() {
    let damages: [fn(&Path); 2] =
        [|path| fs::write(path, "x").unwrap(), |path| fs::remove_file(path).unwrap()];
    for damage in damages {
        let (_temp, store) = store();
        let first = store.commit(new("t", "echo 1\n", None)).unwrap();
        store.archive("t", "ada").unwrap();
        damage(&store.path(&record_of("t", 2)));
        let (recovered, loaded) = store.recover_and_load().unwrap();
        assert_eq!(format!("{loaded:?}"), format!("{:?}", store.load().unwrap()));
        let counts = (recovered.len(), loaded.active.len(), loaded.damaged.len());
        assert_eq!(counts, (0, 0, 1), "{loaded:?}");
        assert_eq!(loaded.held, std::slice::from_ref(&first));
        let err = store.in_force("t", 1, first.hash()).unwrap_err();
        assert!(err.to_string().contains("restored or archived"), "{err}");

        // A person decides, and no number is given twice.
        let back = store.restore("t", "ada").unwrap().version;
        assert_eq!((back.number, back.hash()), (3, first.hash()));
        let loaded = store.load().unwrap();
        assert_eq!((loaded.active.len(), loaded.held.len()), (1, 0));
        store.in_force("t", 3, first.hash()).unwrap();
        assert_eq!(store.archive("t", "ada").unwrap().version.number, 4);
    }
}

#[test]
fn a_torn_newest_version_is_restored_or_archived_though_its_file_is_intact() {
    for status in [Status::Active, Status::Archived] {
        let (_temp, store) = store();
        let first = store.commit(new("t", "echo 1\n", None)).unwrap();
        let second = store.commit(new("t", "echo 2\n", Some(1))).unwrap();
        let path = store.path(&record_of("t", 2));
        fs::write(&path, &fs::read(&path).unwrap()[..300]).unwrap();
        let (recovered, loaded) = store.recover_and_load().unwrap();
        assert_eq!((recovered.len(), loaded.active.len(), loaded.unapproved.len()), (0, 0, 0));
        assert_eq!(loaded.held, std::slice::from_ref(&first));
        let why = &loaded.damaged[0].why;
        assert!(why.contains("restored or archived"), "{why}");

        // Either does what is told, and the text is not lost.
        let third = match status {
            Status::Active => store.restore("t", "ada").unwrap().version,
            Status::Archived => store.archive("t", "ada").unwrap().version,
        };
        assert_eq!((third.number, third.hash(), third.status), (3, first.hash(), status));
        let loaded = store.load().unwrap();
        assert_eq!((loaded.active.len() + loaded.archived.len(), loaded.held.len()), (1, 0));
        let [aside] = &loaded.set_aside[..] else { panic!("{:?}", loaded.set_aside) };
        assert_eq!(fs::read_to_string(aside).unwrap(), second.definition.file_text());
    }
}

#[test]
fn an_edit_beside_a_torn_version_is_one() {
    let (_temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    store.commit(new("t", "echo 2\n", Some(1))).unwrap();
    fs::write(store.path(&record_of("t", 2)), "{").unwrap();
    let view = store.view_path("t");
    fs::write(&view, fs::read_to_string(&view).unwrap().replace("echo 2", "echo 3")).unwrap();
    assert_eq!(store.load().unwrap().unapproved.len(), 1);
    assert!(matches!(store.restore("t", "ada"), Err(StoreError::EditedByHand { .. })));
    // What that error names works.
    store.discard_edit("t").unwrap();
    assert_eq!(store.restore("t", "ada").unwrap().version.number, 3);
}

#[test]
fn the_number_of_a_version_that_was_removed_is_not_given_again() {
    let removed = || {
        let (temp, store) = store();
        for (number, base) in [(1, None), (2, Some(1)), (3, Some(2))] {
            store.commit(new("t", &format!("echo {number}\n"), base)).unwrap();
        }
        fs::remove_file(store.path(&record_of("t", 3))).unwrap();
        (temp, store)
    };
    // Its text is still in the file, as an edit without an approval.
    let (_temp, store) = removed();
    let edit = store.unapproved("t").unwrap();
    assert_eq!((edit.base, edit.definition.body.text()), (Some(2), Some("echo 3\n")));
    let mut other = new("t", "echo 4\n", Some(2));
    other.replaces_edit = Some(edit.definition.hash());
    assert_eq!(store.commit(other).unwrap().number, 4);
    // Or it is gone from there as well.
    let (_temp, store) = removed();
    store.discard_edit("t").unwrap();
    assert_eq!(store.commit(new("t", "echo 4\n", Some(2))).unwrap().number, 4);
}
