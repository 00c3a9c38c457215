//! Several writers at once.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
};

use flyto_evolve::Store;

use crate::{child, writer::new};

/// Two processes update version 1 at the same time: one does, and the other is told what is there now.
pub(crate) fn one_base(dir: &Path) {
    for round in 0..10 {
        let dir = dir.join(round.to_string());
        let store = Store::new(&dir);
        store.commit(new("first", None)).unwrap();
        let mut writers: Vec<_> =
            ["a", "b"].iter().map(|text| child("once", &dir).arg(text).spawn().unwrap()).collect();
        let mut outs: Vec<_> =
            writers.iter_mut().map(|it| BufReader::new(it.stdout.take().unwrap())).collect();
        for out in &mut outs {
            out.read_line(&mut String::new()).unwrap();
        }
        for writer in &mut writers {
            writer.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }
        let mut told: Vec<String> = Vec::new();
        for (out, writer) in outs.iter_mut().zip(&mut writers) {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            assert!(writer.wait().unwrap().success());
            told.push(text.trim().to_owned());
        }
        told.sort();
        let won = store.last("t").unwrap().unwrap();
        let text = won.definition.body.text().unwrap().trim().to_owned();
        assert_eq!(told, [format!("conflict 1 2 {text}"), "saved 2".to_owned()]);
        assert_eq!(store.history("t").unwrap().len(), 2);
    }
}

/// Four processes save 25 versions each; all are there, each on the one before.
pub(crate) fn four_writers(dir: &Path) {
    let dir = dir.join("store");
    let mut writers: Vec<_> = (0..4).map(|_| child("hundred", &dir).spawn().unwrap()).collect();
    let mut lines = Vec::new();
    for writer in &mut writers {
        let mut text = String::new();
        writer.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(writer.wait().unwrap().success());
        lines.extend(text.lines().map(str::to_owned));
    }
    let store = Store::new(&dir);
    let history = store.history("t").unwrap();
    assert_eq!((lines.len(), history.len()), (100, 100));
    for (at, version) in history.iter().enumerate() {
        assert_eq!(version.parent, (at > 0).then_some(at as u64));
        assert!(lines.contains(&format!("{} {}", version.number, version.hash())));
    }
    assert_eq!(store.recover().unwrap(), []);
    let verified = flyto_audit::verify(dir.join("events")).unwrap();
    assert!(verified.is_intact() && verified.n_open_calls == 0);
}
