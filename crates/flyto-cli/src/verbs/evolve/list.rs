//! `evolve list`: the tools of the store, and what waits.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use flyto_diagnostics::Source;
use flyto_evolve::{Loaded, NeedsReview, Pending, Store, Unapproved, Version};
use serde::Serialize;

use crate::commands::by_evolve;
use crate::evolve::{Evolution, Known, failed, forgets, name_of, set_aside_remark, told_files};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::Table;
use crate::words::one_line;

#[derive(Serialize)]
struct Document<'a> {
    dir: String,
    tools: Vec<Tool<'a>>,
    pending: &'a [Pending],
    /// Files that no person approved.
    unapproved: Vec<File<'a>>,
    /// Composites whose tools changed.
    needs_review: &'a [NeedsReview],
    /// Files that cannot be used.
    damaged: Vec<Damaged<'a>>,
    /// Files that could not be used when they were set aside.
    set_aside: Vec<String>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    signature: String,
    #[serde(flatten)]
    evolution: Evolution,
    /// Of all versions.
    n_calls: u64,
}

#[derive(Serialize)]
struct File<'a> {
    id: &'a str,
    name: &'a str,
    /// The version that it was edited from.
    base: Option<u64>,
    /// The version of the history that has no approval, where it is none of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

#[derive(Serialize)]
struct Damaged<'a> {
    file: String,
    why: &'a str,
}

pub(super) fn run(session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let loaded = store.load().map_err(failed)?;
    let needs_review = loaded.needs_review();
    // Where they cannot be listed, what cannot be used says so.
    let pending = store.pending().unwrap_or_default();
    let faults: Vec<Option<String>> = pending.iter().map(|it| fault(it, &loaded)).collect();
    let Loaded { active, archived, held, unapproved, mut damaged, set_aside, .. } = loaded;
    add_older(&mut damaged, &store)?;
    let mut versions: Vec<&Version> = active.iter().chain(&archived).chain(&held).collect();
    versions.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
    let known = Known::of(&store);
    let tools: Vec<Tool<'_>> = versions
        .into_iter()
        .map(|it| Tool {
            name: &it.definition.name,
            description: &it.definition.description,
            signature: it.definition.signature(),
            evolution: Evolution::of(it, &known),
            n_calls: known.n_calls(&it.definition.name),
        })
        .collect();
    let unapproved: Vec<File<'_>> = unapproved
        .iter()
        .map(|it| {
            let Unapproved { definition, base, version, id, .. } = it;
            File { id, name: &definition.name, base: *base, version: *version }
        })
        .collect();
    let damaged: Vec<Damaged<'_>> = damaged
        .iter()
        .map(|it| Damaged { file: it.path.to_string_lossy().into_owned(), why: &it.why })
        .collect();
    let set_aside: Vec<String> =
        set_aside.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let screen = session.screen;
    if screen.is_json() {
        let dir = store.dir().to_string_lossy().into_owned();
        let pending = &pending;
        let needs_review = &needs_review;
        screen.document(&Document {
            dir,
            tools,
            pending,
            unapproved,
            needs_review,
            damaged,
            set_aside,
        })?;
        return Ok(Exit::Ok);
    }
    if tools.is_empty() && pending.is_empty() && unapproved.is_empty() {
        let dir = one_line(&store.dir().to_string_lossy());
        screen.note(format_args!(
            "there are no tools in {dir}; {} makes one",
            by_evolve(["propose", "FILE"])
        ));
    }
    if !tools.is_empty() {
        let mut table = Table::new(["NAME", "VERSION", "STATE", "CALLS", "DESCRIPTION"]);
        for it in &tools {
            table.row(row(it));
        }
        screen.answer(table.draw(screen.stdout))?;
    }
    if pending.len() + unapproved.len() + needs_review.len() > 0 {
        let gap = if tools.is_empty() { "" } else { "\n" };
        let mut table = Table::new(["WAITS", "BASED ON", "PROPOSED BY"]);
        let base = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
        // Whether an answer can approve one of them, and why none can approve which.
        let (mut can_be_approved, mut refused) = (false, Vec::new());
        for (it, fault) in pending.iter().zip(faults) {
            let current = tools.iter().find(|tool| tool.name == name_of(&it.id));
            let is_outdated = current.map(|it| it.evolution.version) != it.base;
            can_be_approved |= !is_outdated && fault.is_none();
            refused.extend(fault.map(|why| (&it.id, why)));
            let base = base(it.base) + if is_outdated { ", outdated" } else { "" };
            table.row([one_line(&it.id), base, one_line(&it.proposed_by)]);
        }
        for it in &unapproved {
            let what = match (it.version, it.base) {
                (Some(version), _) => format!("version {version}, without an approval"),
                (None, Some(_)) => "an edit of its file".to_owned(),
                (None, None) => "its file".to_owned(),
            };
            can_be_approved |= it.version.is_none();
            table.row([one_line(it.id), base(it.base), what]);
        }
        for it in &needs_review {
            let changed: Vec<String> = it.tools.iter().map(|it| one_line(it)).collect();
            let why = format!("a change of {}", changed.join(", "));
            can_be_approved |= it.refused.is_none();
            refused.extend(it.refused.clone().map(|why| (&it.id, why)));
            table.row([one_line(&it.id), base(Some(it.version)), why]);
        }
        screen.answer(format!("{gap}{}", table.draw(screen.stdout)))?;
        if can_be_approved {
            let approve = by_evolve(["approve", "ID"]);
            screen.note(format_args!("{approve} shows what waits, and asks"));
        }
        for (id, why) in refused {
            let (id, why) = (one_line(id), one_line(&why));
            screen.note(format_args!("{id} cannot be approved as it is: {why}"));
        }
    }
    let sentence =
        |it: &Damaged<'_>| format!("{} cannot be used: {}", one_line(&it.file), one_line(it.why));
    told_files(damaged.iter().map(sentence).collect()).into_iter().for_each(|it| screen.note(it));
    damaged
        .iter()
        .find_map(|it| forgets(Path::new(&it.file)))
        .into_iter()
        .for_each(|it| screen.note(it));
    if !set_aside.is_empty() {
        let files: Vec<String> = set_aside.iter().map(|it| one_line(it)).collect();
        screen.note(set_aside_remark(&files));
    }
    Ok(Exit::Ok)
}

/// Why no answer can approve a proposal that waits, where a version that it asks for is the reason.
fn fault(pending: &Pending, loaded: &Loaded) -> Option<String> {
    let source = Source::new(&*pending.id, &*pending.definition);
    loaded.version_fault(&flyto_evolve::parse(&source).definition?)
}

/// Adds versions that cannot be used while a newer one is in force.
fn add_older(damaged: &mut Vec<flyto_evolve::Damaged>, store: &Store) -> Result<(), Stop> {
    let known: HashSet<PathBuf> = damaged.iter().map(|it| it.path.clone()).collect();
    let older = store.damaged_history().map_err(failed)?;
    damaged.extend(older.into_iter().filter(|it| !known.contains(&it.path)));
    Ok(())
}

fn row(tool: &Tool<'_>) -> [String; 5] {
    let it = &tool.evolution;
    let pin = if it.pinned_by.is_some() { ", pinned" } else { "" };
    [
        one_line(tool.name),
        it.version.to_string(),
        format!("{}{pin}", it.state),
        tool.n_calls.to_string(),
        one_line(tool.description),
    ]
}
