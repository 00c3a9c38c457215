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
        let back = store.restore("t", "ada").unwrap();
        assert_eq!((back.number, back.hash()), (3, first.hash()));
        let loaded = store.load().unwrap();
        assert_eq!((loaded.active.len(), loaded.held.len()), (1, 0));
        store.in_force("t", 3, first.hash()).unwrap();
        assert_eq!(store.archive("t", "ada").unwrap().number, 4);
    }
}
