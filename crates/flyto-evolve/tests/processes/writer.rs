//! What this program does as a writer.

use std::{
    io::{BufRead as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use flyto_evolve::{Approval, Change, NewVersion, Settled, Store, StoreError, ToolDefinition};

pub(crate) const FLAG: &str = "--writer";

/// An approved version of the tool `t`.
pub(crate) fn new(text: &str, base: Option<u64>) -> NewVersion {
    let def = ToolDefinition::script("t", "Tests.", format!("echo {text}\n"));
    let approval = Approval::now("ada", def.hash());
    NewVersion::new(def, base, if base.is_some() { Change::Updated } else { Change::Created })
        .approved(approval)
}

pub(crate) fn run(mut args: impl Iterator<Item = String>) -> ExitCode {
    let task = args.next().unwrap();
    let dir = PathBuf::from(args.next().unwrap());
    let text = args.next().unwrap_or_default();
    match task.as_str() {
        "endless" => endless(&dir, u64::MAX),
        "hundred" => endless(&dir, 25),
        "once" => once(&dir, &text),
        "fill" => fill(&dir),
        "many_results" => crate::memory::many_results(),
        other => panic!("there is no task {other:?}"),
    }
    ExitCode::SUCCESS
}

/// Saves versions, and prints the number and the text of each that is acknowledged.
fn endless(dir: &Path, n_versions: u64) {
    let store = Store::new(dir);
    let me = std::process::id();
    let told = |it: Settled| (it.version, it.is_new);
    let (mut n, mut n_saved) = (0_u64, 0);
    while n_saved < n_versions {
        n += 1;
        let base = store.last("t").unwrap().map(|it| it.number);
        let text = format!("{me}-{n}");
        // Now and then the text of an earlier version, or none at all.
        let saved = match (n % 7, base) {
            (5, Some(base)) => store.roll_back("t", base.div_ceil(2), &text).map(told),
            (6, Some(_)) => store.archive("t", &text).map(told),
            _ => store.commit(new(&text, base)).map(|it| (it, true)),
        };
        match saved {
            // The other writer has done it already.
            Ok((_, false)) => {}
            Ok((version, true)) => {
                say(&format!("{} {}", version.number, version.hash()));
                n_saved += 1;
            }
            Err(StoreError::Conflict { .. }) => {}
            Err(err) => panic!("{err:?}"),
        }
    }
}

/// Waits for a line, then updates version 1.
fn once(dir: &Path, text: &str) {
    let store = Store::new(dir);
    say("ready");
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    match store.commit(new(text, Some(1))) {
        Ok(version) => say(&format!("saved {}", version.number)),
        Err(StoreError::Conflict { base, current, .. }) => {
            let current = current.unwrap();
            say(&format!(
                "conflict {} {} {}",
                base.unwrap(),
                current.number,
                current.definition.body.text().unwrap().trim()
            ));
        }
        Err(err) => panic!("{err:?}"),
    }
}

/// Saves larger and larger versions until there is no room, and prints the last one that was acknowledged.
fn fill(dir: &Path) {
    let store = Store::new(dir.join("store"));
    let mut last = 0;
    loop {
        let text = "x".repeat(usize::try_from(last).unwrap() * 1000);
        match store.commit(new(&text, (last > 0).then_some(last))) {
            Ok(version) => last = version.number,
            Err(StoreError::NoSpace { .. }) => break,
            // The log of events finds the disk full as well.
            Err(StoreError::Events(flyto_audit::AuditError::NoSpace { .. })) => break,
            Err(err) => panic!("{err:?}"),
        }
        assert!(last < 60, "the disk is never full");
    }
    let found = store.last("t").unwrap().unwrap();
    assert_eq!(found.number, last);
    let view = std::fs::read_to_string(store.view_path("t")).unwrap();
    assert_eq!(view, found.definition.file_text());
    // A smaller one has room, or is refused as well; nothing of the large one is in the way.
    match store.commit(new("small", Some(last))) {
        Ok(version) => assert_eq!(version.number, last + 1),
        Err(StoreError::NoSpace { .. } | StoreError::Events(_)) => {}
        Err(err) => panic!("{err:?}"),
    }
    for name in store.load().unwrap().active {
        assert!(name.is_approved());
    }
    say(&last.to_string());
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}
