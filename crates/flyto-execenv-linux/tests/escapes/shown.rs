//! The table in two forms: each way by which a call can end, and one for a document.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::table::{ATTACKS, BOMBS, Cell, KINDS, Key, MEANS, Means, User, Way};

const USERS: [User; 2] = [User::Root, User::Ordinary];

fn kinds() -> Vec<&'static str> {
    [KINDS, BOMBS, ATTACKS].concat()
}

/// For each user and mechanism what is left by each way, and what the tools say of their attempts.
pub(crate) fn by_way(cells: &BTreeMap<Key, Cell>) -> String {
    let mut res = String::new();
    for user in USERS {
        for (means, name) in MEANS {
            if !cells.keys().any(|it| (it.0, it.1) == (user, means)) {
                continue;
            }
            let _ = write!(res, "\n{:34}", format!("{user:?}, {name}: survivors"));
            for way in Way::ALL {
                let _ = write!(res, "{:>12}", way.name());
            }
            res.push('\n');
            for kind in kinds() {
                let cell = |way| cells.get(&(user, means, kind.to_owned(), way));
                let row: Vec<_> = Way::ALL.into_iter().map(cell).collect();
                if row.iter().all(Option::is_none) {
                    continue;
                }
                let _ = write!(res, "  {kind:32}");
                for cell in &row {
                    let text = cell.map_or("-".into(), ToString::to_string);
                    let _ = write!(res, "{text:>12}");
                }
                let said =
                    row.iter().flatten().map(|it| it.said.as_str()).find(|it| !it.is_empty());
                let _ = writeln!(res, "{}", said.map_or(String::new(), |it| format!("  {it}")));
            }
        }
    }
    if !res.is_empty() {
        res.push_str("\n?: the outcome says that not everything is known to be gone\n");
    }
    res
}

/// The most that is left, in Markdown: a row for each kind, a column for each mechanism and user.
pub(crate) fn for_a_document(cells: &BTreeMap<Key, Cell>) -> String {
    let columns = MEANS.into_iter().flat_map(|(means, name)| USERS.map(|user| (means, name, user)));
    let columns: Vec<_> = columns
        .filter(|(means, _, user)| cells.keys().any(|it| (it.0, it.1) == (*user, *means)))
        .collect();
    if columns.is_empty() {
        return String::new();
    }
    let mut res = "\n| what a program does |".to_owned();
    for (_, name, user) in &columns {
        let _ = write!(res, " {name}, {} |", format!("{user:?}").to_lowercase());
    }
    let _ = writeln!(res, "\n| --- |{}", " --- |".repeat(columns.len()));
    for kind in kinds() {
        let _ = write!(res, "| {kind} |");
        for (means, _, user) in &columns {
            let _ = write!(res, " {} |", most(cells, *user, *means, kind));
        }
        res.push('\n');
    }
    res
}

/// How many are left at most: while the host lives on, and where it ends.
fn most(cells: &BTreeMap<Key, Cell>, user: User, means: Means, kind: &str) -> String {
    let of = |leaves_the_host| {
        let ways = Way::ALL.into_iter().filter(|it| it.leaves_the_host() == leaves_the_host);
        ways.filter_map(|way| cells.get(&(user, means, kind.to_owned(), way)))
            .map(|it| it.survivors)
            .max()
    };
    match (of(true), of(false)) {
        (None, None) => "–".to_owned(),
        (Some(n), None) | (None, Some(n)) => n.to_string(),
        (Some(n), Some(m)) if n == m => n.to_string(),
        (Some(n), Some(m)) => format!("{n} / {m}"),
    }
}
