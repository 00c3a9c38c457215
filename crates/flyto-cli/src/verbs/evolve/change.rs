//! `evolve rollback`, `archive`, `restore`, `forget`, `pin`, `unpin` and `acknowledge`.

use std::ops::RangeInclusive;

use flyto_evolve::{Change, NeedsReview, Replay, Settled, Status, StoreError};
use serde::Serialize;

use super::decide::{changed, check_text, working};
use super::replay::Compared;
use crate::args::evolve::{Acknowledge, Forget, Rollback};
use crate::commands::by_evolve;
use crate::evolve::{failed, needs_review, person, pins, refused};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::words::{counted, one_line};

/// The longest name of a rule that is kept, in bytes. Those of this program have at most 30.
const MAX_RULE_BYTES: usize = 64;

#[derive(Serialize)]
struct RolledBack<'a> {
    /// `saved`, `unchanged` where the tool has that text already, or `compared` with `--dry-run`.
    status: &'static str,
    name: &'a str,
    version: u64,
    sha256: String,
    /// Whether the tool was archived before, so that the rollback has it called again.
    was_archived: bool,
    /// What the text delivers for recorded calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<Replay>,
}

pub(super) fn roll_back(args: &Rollback, session: &Session) -> Result<Exit, Stop> {
    let (name, to) = (&args.name, args.version);
    let loaded = super::load(session)?;
    let builder = &super::joined(&loaded, session)?.builder;
    let by = person(session.env());
    let screen = session.screen;
    let old = super::version(builder.store(), name, Some(to))?;
    let runtime = working()?;
    // The advice comes before the change: it is of no use behind it.
    let compared = runtime.block_on(Compared::of(builder, name, to));
    if !screen.is_json() && !compared.text.is_empty() {
        screen.answer(&compared.text)?;
    }
    let (version, status, before) = match args.dry_run {
        true => (old, "compared", builder.store().last(name).map_err(failed)?),
        false => {
            let settled = runtime.block_on(builder.roll_back(name, to, &by)).map_err(refused)?;
            let Settled { version, is_new, .. } = settled;
            // The one that it took the place of, also where that was saved a moment ago.
            let before = version.parent.filter(|_| is_new);
            let before = before.map(|it| builder.store().version(name, it)).transpose();
            (version, if is_new { "saved" } else { "unchanged" }, before.map_err(failed)?)
        }
    };
    let was_archived = before.is_some_and(|it| it.status == Status::Archived);
    if screen.is_json() {
        let (version, sha256) = (version.number, version.hash().to_string());
        let replay = compared.replay;
        let told = RolledBack { status, name, version, sha256, was_archived, replay };
        screen.document(&told)?;
    } else if args.dry_run {
        if compared.text.is_empty() {
            screen.note(format_args!("no call of {} is recorded", one_line(name)));
        }
        if was_archived {
            let name = one_line(name);
            screen.note(format_args!("{name} is archived; a rollback brings it back into use"));
        }
        screen.note("nothing was changed");
    } else {
        let (name, number) = (one_line(name), version.number);
        let already = if status == "unchanged" { " already" } else { "" };
        let back = match was_archived {
            true => "; it was archived, and is in use again",
            false => "",
        };
        screen.answer(format!(
            "{name} is at version {number}{already}, with the text of {to}{back}\n"
        ))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn archive(name: &str, session: &Session) -> Result<Exit, Stop> {
    // What calls it is looked up before, since it may be archived for that very reason.
    let loaded = session.evolve_store()?.load().map_err(failed)?;
    let callers: Vec<String> = loaded.callers(name).into_iter().map(one_line).collect();
    let res = changed(
        name,
        async |it, by| it.archive(name, by).await,
        [|name, _| format!("{name} is archived"), |name, _| format!("{name} is archived already")],
        session,
    )?;
    if !callers.is_empty() {
        session.screen.note(format_args!(
            "called by {}, which refuse their calls until it is back: {}",
            callers.join(", "),
            by_evolve(["restore", name])
        ));
    }
    Ok(res)
}

pub(super) fn restore(name: &str, session: &Session) -> Result<Exit, Stop> {
    // What it was archived for is looked up before.
    let store = session.evolve_store()?;
    let last = store.last(name).ok().flatten();
    let was_quarantined = last.is_some_and(|it| matches!(it.change, Change::Quarantined { .. }));
    let is_pinned = store.pins().is_ok_and(|it| it.contains_key(name));
    let res = changed(
        name,
        async |it, by| it.restore(name, by).await,
        [
            |name, number| format!("{name} is in use again, as version {number}"),
            |name, number| format!("{name} is in use already, as version {number}"),
        ],
        session,
    )?;
    if was_quarantined && !is_pinned {
        session.screen.note(pins(name));
    }
    let reviews = store.load().map(|it| it.needs_review()).unwrap_or_default();
    // One that asks for a version by its number does not run again by this.
    let is_of_it = |it: &&NeedsReview| it.name == name || it.tools.iter().any(|it| it == name);
    reviews.iter().filter(is_of_it).for_each(|it| session.screen.note(needs_review(it)));
    Ok(res)
}

#[derive(Serialize)]
struct Forgotten<'a> {
    name: &'a str,
    calls: usize,
}

#[derive(Serialize)]
struct Gone<'a> {
    name: &'a str,
    /// The numbers of versions that are told no more, row by row.
    versions: Vec<RangeInclusive<u64>>,
}

/// Has versions that are gone told no more.
fn forget_gone(name: &str, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    super::version(&store, name, None)?;
    let versions = store.forget_gone(name, &person(session.env())).map_err(failed)?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Gone { name, versions })?;
        return Ok(Exit::Ok);
    }
    let name = one_line(name);
    if versions.is_empty() {
        screen.answer(format!("no version of {name} is gone that was told\n"))?;
    }
    for it in versions {
        let numbers = match it.start() == it.end() {
            true => format!("version {} of {name} is", it.start()),
            false => format!("versions {} to {} of {name} are", it.start(), it.end()),
        };
        screen.answer(format!("{numbers} gone, which is told no more\n"))?;
    }
    Ok(Exit::Ok)
}

/// Also of a tool that is archived or not there any more, whose calls may still be.
pub(super) fn forget(args: &Forget, session: &Session) -> Result<Exit, Stop> {
    let name = &args.name;
    if args.gone {
        return forget_gone(name, session);
    }
    let store = session.evolve_store()?;
    let calls = match store.dir().is_dir() {
        true => store.forget_calls(name).map_err(failed)?,
        // There is nothing to forget, and no reason to make a store.
        false => 0,
    };
    if calls == 0 {
        super::version(&store, name, None)?;
    }
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Forgotten { name, calls })?;
    } else {
        let n_calls = counted(calls, "recorded call");
        let are = if calls == 1 { "is" } else { "are" };
        screen.answer(format!("{n_calls} of {} {are} removed\n", one_line(name)))?;
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Pinned<'a> {
    name: &'a str,
    pinned: bool,
}

pub(super) fn pin(name: &str, pinned: bool, session: &Session) -> Result<Exit, Stop> {
    let by = person(session.env());
    let store = session.evolve_store()?;
    let changed = if pinned { store.pin(name, &by) } else { store.unpin(name, &by) };
    changed.map_err(|err| {
        let is_of_pins =
            matches!(&err, StoreError::Damaged { path, .. } if path.ends_with("pins.json"));
        match is_of_pins {
            true => failed(err).with_help("mend or remove it; without it no tool is pinned"),
            false => failed(err),
        }
    })?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Pinned { name, pinned })?;
    } else {
        let state = if pinned { "is pinned" } else { "is not pinned any more" };
        screen.answer(format!("{} {state}\n", one_line(name)))?;
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Acknowledged<'a> {
    fingerprint: &'a str,
    rule: &'a str,
}

pub(super) fn acknowledge(args: &Acknowledge, session: &Session) -> Result<Exit, Stop> {
    let Acknowledge { fingerprint, rule, reason, .. } = args;
    let parsed = fingerprint.parse().map_err(|err| {
        Stop::usage(format!("{fingerprint:?} is no fingerprint: {}", chain(&err)))
            .with_help("the refusal of the proposal names it")
    })?;
    let is_of_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    if rule.is_empty() || rule.len() > MAX_RULE_BYTES || !rule.chars().all(is_of_name) {
        let what = "the rule is no name of one: at most 64 letters, digits, `-`, `_` and `.`";
        return Err(Stop::usage(what).with_help("the refusal of the proposal names it"));
    }
    check_text("the rule", rule, session)?;
    check_text("the reason", reason, session)?;
    let (store, by) = (session.evolve_store()?, person(session.env()));
    store.acknowledge(parsed, rule, &by, reason).map_err(failed)?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Acknowledged { fingerprint, rule })?;
    } else {
        screen.answer(
            "the text with this fingerprint counts as no secret; propose the tool again\n",
        )?;
    }
    Ok(Exit::Ok)
}
