//! Writers that are killed.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use flyto_evolve::Store;

use crate::child;

/// Rounds of two writers each, which are killed with SIGKILL together.
const ROUNDS: u64 = 40;

/// A number that looks random and is the same in each run.
fn scattered(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// What a writer printed before it was killed is in the store, whole.
pub(crate) fn kills(dir: &Path) {
    let dir = dir.join("store");
    let store = Store::new(&dir);
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    let mut n_forward = 0;
    for round in 0..ROUNDS {
        let mut writers: Vec<_> = (0..2).map(|_| child("endless", &dir).spawn().unwrap()).collect();
        let mut outs: Vec<_> =
            writers.iter_mut().map(|it| BufReader::new(it.stdout.take().unwrap())).collect();
        let mut text = String::new();
        for _ in 0..=scattered(round) % 6 {
            outs[0].read_line(&mut text).unwrap();
        }
        // Some are killed in the middle of what comes next.
        std::hint::black_box((0..scattered(round) % 3_000_000).sum::<u64>());
        writers.iter_mut().for_each(|it| it.kill().unwrap());
        for (writer, out) in writers.iter_mut().zip(&mut outs) {
            writer.wait().unwrap();
            out.read_to_string(&mut text).unwrap();
            text.push('\n');
        }
        // The last line of a writer may itself be torn.
        for line in text.lines() {
            let Some((number, hash)) = line.split_once(' ').filter(|it| it.1.len() == 64) else {
                continue;
            };
            let before = acknowledged.insert(number.parse().unwrap(), hash.to_owned());
            assert_eq!(before, None, "version {number} was acknowledged twice");
        }
        n_forward += store.recover().unwrap().len();
        let loaded = store.load().unwrap();
        assert_eq!((loaded.damaged, loaded.unapproved), (vec![], vec![]));
    }
    let history = store.history("t").unwrap();
    let numbers: Vec<u64> = history.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (1..=history.len() as u64).collect::<Vec<_>>(), "no number is missing");
    for (number, hash) in &acknowledged {
        let found = &history[usize::try_from(*number).unwrap() - 1];
        assert_eq!(&found.hash().to_string(), hash, "version {number}");
        assert!(found.is_approved());
    }
    assert!(acknowledged.len() as u64 >= ROUNDS);
    let verified = flyto_audit::verify(dir.join("events")).unwrap();
    assert!(verified.is_intact(), "{:?}", verified.findings);
    println!(
        "{ROUNDS} rounds of two killed writers: {} versions, {} acknowledged, 0 lost, {n_forward} times rolled forward, {} saves \
         without an end in the log",
        history.len(),
        acknowledged.len(),
        verified.n_open_calls,
    );
}
