//! `evolve show`, `diff` and `history`: versions, and what differs between them.

use flyto_diagnostics::Source;
use flyto_evolve::{Body, Damaged, FieldDiff, Pending, Review, Version};
use serde::Serialize;
use serde_json::Value;

use super::decide::{Waiting, damaged, review};
use crate::args::evolve::{Diff, Show};
use crate::evolve::{Evolution, Known, failed, forgets};
use crate::exit::Exit;
use crate::screen::{Screen, look};
use crate::session::Session;
use crate::stop::Stop;
use crate::table::{Table, facts};
use crate::words::{description, one_line, tame};

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    #[serde(flatten)]
    evolution: Evolution,
    definition: Value,
}

#[derive(Serialize)]
struct Proposed<'a> {
    id: &'a str,
    review: &'a Review,
}

#[derive(Serialize)]
struct Refused<'a> {
    id: &'a str,
    /// Why it cannot be approved any more.
    refused: &'a str,
    #[serde(flatten)]
    text: Text<'a>,
}

/// What waits as it lies in the store.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Text<'a> {
    Pending(&'a Pending),
    Definition(Value),
}

/// What waits as it lies in the store, with why it would be refused now.
fn refused(waiting: &Waiting, why: Stop, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let definition = match waiting {
        Waiting::Proposal(id) => return stored(id, why, session),
        Waiting::File { name, .. } => store.unapproved(name).map_err(failed)?.definition,
        Waiting::Composite { name, .. } => super::version(&store, name, None)?.definition,
    };
    let (screen, refused) = (session.screen, why.message());
    if screen.is_json() {
        let definition = definition.file_text();
        let text = Text::Definition(serde_json::from_str(&definition).map_err(Stop::internal)?);
        screen.document(&Refused { id: waiting.id(), refused, text })?;
        return Ok(Exit::Ok);
    }
    fields(&flyto_evolve::diff(None, &definition), screen)?;
    would_be_refused(&why, screen);
    Ok(Exit::Ok)
}

/// Tells why what waits would be refused, and what to do instead.
fn would_be_refused(why: &Stop, screen: Screen) {
    screen.note(format_args!("it would be refused now: {}", one_line(why.message())));
    why.first_help().into_iter().for_each(|it| screen.note(one_line(it)));
}

/// A proposal as it was stored, with why it would be refused now.
fn stored(id: &str, why: Stop, session: &Session) -> Result<Exit, Stop> {
    let pending = session.evolve_store()?.pending_one(id).map_err(failed)?;
    let screen = session.screen;
    let refused = why.message();
    if screen.is_json() {
        screen.document(&Refused { id, refused, text: Text::Pending(&pending) })?;
        return Ok(Exit::Ok);
    }
    let (by, at) = (one_line(&pending.proposed_by), one_line(&pending.at));
    let base = pending.base.map_or_else(|| "no version".to_owned(), |it| format!("version {it}"));
    screen.answer(format!("proposed by {by}, {at}, based on {base}\n\n"))?;
    let source = Source::new(id, &pending.definition);
    match flyto_evolve::parse(&source).definition {
        Some(definition) => fields(&flyto_evolve::diff(None, &definition), screen)?,
        None => screen.answer(tame(&flyto_evolve::visible(&pending.definition)))?,
    }
    would_be_refused(&why, screen);
    Ok(Exit::Ok)
}

pub(super) fn show(args: &Show, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let screen = session.screen;
    // An id shows the text that `approve` takes under it, whatever tools are there; a name shows the tool first.
    let is_tool = || matches!(store.last(&args.name), Ok(Some(_)));
    if args.version.is_none()
        && let Ok(waiting) = Waiting::find(&store, &args.name)
        && (waiting.id() == args.name || !is_tool())
    {
        let review = match review(&waiting, args.run, session) {
            Ok(review) => review,
            // One that would be refused by now is shown as it lies in the store.
            Err(stop) => return refused(&waiting, stop, session),
        };
        if screen.is_json() {
            screen.document(&Proposed { id: &args.name, review: &review })?;
        } else {
            screen.answer(tame(&review.to_string()))?;
        }
        return Ok(Exit::Ok);
    }
    if args.run {
        let what = format!("nothing waits as {:?}, so there is nothing to run", args.name);
        return Err(Stop::usage(what)
            .with_help(format!("{} shows what waits", crate::commands::by_evolve(["list"]))));
    }
    if !is_tool()
        && let Some(stop) = damaged(&store, &args.name)?
    {
        return Err(stop);
    }
    let version = super::version(&store, &args.name, args.version)?;
    let evolution = Evolution::of(&version, &Known::of(&store));
    if screen.is_json() {
        let definition = version.definition.file_text();
        let definition = serde_json::from_str(&definition).map_err(Stop::internal)?;
        let name = &version.definition.name;
        screen.document(&Document { name, evolution, definition })?;
    } else {
        screen.answer(page(&version, &evolution, session))?;
    }
    Ok(Exit::Ok)
}

/// The page for people.
fn page(version: &Version, evolution: &Evolution, session: &Session) -> String {
    let page = session.screen.stdout;
    let def = &version.definition;
    let head = page.styled(look::NAME, one_line(&def.signature()));
    let mut rows = evolution.rows();
    rows.push(("time limit", format!("{} s", def.timeout_seconds)));
    if !def.tags.is_empty() {
        rows.push(("tags", one_line(&def.tags.join(", "))));
    }
    if !def.rationale.is_empty() {
        rows.push(("rationale", tame(&def.rationale)));
    }
    let body = match &def.body {
        Body::Composite(steps) => format!("{steps:#}"),
        body => body.text().unwrap_or_default().to_owned(),
    };
    let kind = page.styled(look::HEAD, def.body.execution_type());
    format!(
        "{head}\n\n{}\n\n{}\n{kind}\n{}\n",
        description(&def.description),
        facts(page, &rows),
        tame(body.trim_end_matches('\n'))
    )
}

#[derive(Serialize)]
struct Differences<'a> {
    name: &'a str,
    from: u64,
    to: u64,
    diff: &'a [FieldDiff],
}

pub(super) fn diff(args: &Diff, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let Diff { name, from, to, .. } = args;
    let old = super::version(&store, name, Some(*from))?;
    let new = super::version(&store, name, Some(*to))?;
    let diff = flyto_evolve::diff(Some(&old.definition), &new.definition);
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Differences { name, from: *from, to: *to, diff: &diff })?;
        return Ok(Exit::Ok);
    }
    if diff.is_empty() {
        screen.note(format_args!("versions {from} and {to} have the same text"));
    }
    fields(&diff, screen)?;
    Ok(Exit::Ok)
}

/// The fields that differ, each with its name above it.
fn fields(diff: &[FieldDiff], screen: Screen) -> Result<(), Stop> {
    for (index, it) in diff.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        let head = screen.stdout.styled(look::HEAD, one_line(&it.field));
        screen.answer(format!("{gap}{head}\n{}\n", tame(it.unified.trim_end_matches('\n'))))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct History<'a> {
    name: &'a str,
    versions: Vec<Evolution>,
    /// Versions whose files cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Unusable>,
}

#[derive(Serialize)]
struct Unusable {
    file: String,
    why: String,
}

pub(super) fn history(name: &str, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    super::version(&store, name, None)?;
    let damaged = store.damaged_versions(name).map_err(failed)?;
    let history = store.history(name).map_err(failed)?;
    let known = Known::of(&store);
    let versions: Vec<_> = history.iter().map(|it| Evolution::of(it, &known)).collect();
    let screen = session.screen;
    if screen.is_json() {
        let unusable =
            |it: Damaged| Unusable { file: it.path.to_string_lossy().into_owned(), why: it.why };
        let damaged = damaged.into_iter().map(unusable).collect();
        screen.document(&History { name, versions, damaged })?;
        return Ok(Exit::Ok);
    }
    let mut table =
        Table::new(["VERSION", "CHANGE", "PROPOSED BY", "APPROVED BY", "SHA256", "SAVED"]);
    for it in &versions {
        let approved = it.approved_by.as_deref().map_or("-".to_owned(), one_line);
        table.row([
            it.version.to_string(),
            crate::evolve::change(&it.change),
            one_line(&it.proposed_by),
            approved,
            it.sha256[..12].to_owned(),
            one_line(&it.saved_at),
        ]);
    }
    screen.answer(table.draw(screen.stdout))?;
    let sentences = damaged.iter().map(crate::evolve::damaged).collect();
    crate::evolve::told_files(sentences).into_iter().for_each(|it| screen.note(it));
    damaged.iter().find_map(|it| forgets(&it.path)).into_iter().for_each(|it| screen.note(it));
    Ok(Exit::Ok)
}
