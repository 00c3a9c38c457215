//! Changes that several processes make at the same time.

use std::sync::Barrier;

use super::*;

#[test]
fn of_equal_changes_at_once_one_is_new() {
    type Work = fn(&Store) -> Result<Settled, StoreError>;
    let works: [Work; 3] = [
        |store| store.roll_back("t", 1, "ada"),
        |store| store.archive("t", "ada"),
        |store| store.restore("t", "ada"),
    ];
    let (_temp, store) = store();
    store.commit(new("t", "echo 1\n", None)).unwrap();
    store.commit(new("t", "echo 2\n", Some(1))).unwrap();
    for (work, number) in works.into_iter().zip(3..) {
        let barrier = Barrier::new(4);
        let settled: Vec<Settled> = std::thread::scope(|scope| {
            let one = || {
                // With a lock and a log of its own, as another process.
                let store = Store::new(store.dir());
                barrier.wait();
                work(&store).unwrap()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert_eq!(settled.iter().filter(|it| it.is_new).count(), 1);
        assert!(settled.iter().all(|it| it.version.number == number), "{settled:?}");
    }
    assert!(flyto_audit::verify(store.dir().join(EVENTS)).unwrap().is_intact());
}
