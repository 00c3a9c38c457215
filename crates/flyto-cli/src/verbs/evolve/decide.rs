//! `evolve propose`, `approve` and `deny`: proposals, and their answers.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use flyto_diagnostics::Source;
use flyto_evolve::{
    Applied, Approver, Damaged, Proposal, ProposalSource, Refusal, Review, Settled, Store,
    Unapproved, Version, parse_proposal,
};
use flyto_tools::{Input, compile};
use serde::Serialize;
use serde_json::json;

use crate::args::evolve::{Approve, Deny, Propose};
use crate::call::call_proposed;
use crate::commands::by_evolve;
use crate::evolve::{
    AtTerminal, Later, Named, approve as approve_words, block_on, can_ask, failed, name_of, person,
    refused, refused_by, unapproved,
};
use crate::exit::{Exit, Why};
use crate::session::{Answers, Backend, Loaded, Session};
use crate::source_paths::no_such_file;
use crate::stop::{Stop, chain};
use crate::words::{one_line, tame};

/// The largest file that is read as a proposal: four times a definition at its bound, for spaces and escapes.
const MAX_BYTES: u64 = 4 * flyto_evolve::MAX_DEFINITION_BYTES as u64;

/// What came of a proposal.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Document<'a> {
    Saved { name: &'a str, version: u64, sha256: String },
    Staged { id: &'a str },
    Denied { id: &'a str },
    Unchanged { name: &'a str, version: u64, sha256: String },
}

pub(super) fn propose(args: &Propose, session: &Session) -> Result<Exit, Stop> {
    let text = read(&args.file)?;
    let mut proposal = Proposal::new(text, person(session.env())).read_from(place(&args.file));
    proposal.base = args.base;
    proposal.distinct_because.clone_from(&args.distinct_because);
    let proposal = proposal.source(ProposalSource::Person);
    let Some(input) = &args.call else { return apply(proposal, "propose", session) };
    if input == "-" && args.file.as_os_str() == "-" {
        return Err(Stop::usage("both the definition and the input would be read from stdin")
            .with_help("give one of them as a file, or the input in the command line"));
    }
    call_proposed(input, session, |loaded, input| {
        check_input(&proposal.text, input)?;
        name_to_call(proposal, loaded, session)
    })
}

/// Compares an input with the schema of a definition, so that what does not fit shows before a person is asked. A text that is no
/// definition is told by its own check.
fn check_input(text: &str, input: &Input) -> Result<(), Stop> {
    let parsed = parse_proposal(&Source::new("the proposal", text));
    let Some(definition) = parsed.definition else { return Ok(()) };
    let Ok(validator) = compile(&definition.input_schema) else { return Ok(()) };
    let name = one_line(&definition.name);
    validator.check(input.value()).map_err(|violations| {
        Stop::new(Why::Broken, format!("invalid input: {violations}"))
            .with_help(format!("give an input that fits the schema of {name}; nothing was asked"))
    })
}

/// Has a tool made of a proposal, and gives its name. What was saved is told on stderr, since stdout is for the call.
fn name_to_call(proposal: Proposal, loaded: &Loaded, session: &Session) -> Result<String, Stop> {
    let applied = working()?.block_on(super::joined(loaded, session)?.builder.apply(proposal));
    match applied.map_err(|it| refused_by(it, "propose"))? {
        Applied::Once { name } => Ok(name),
        Applied::Saved(version) => {
            session.screen.note(saved(&version));
            Ok(version.definition.name)
        }
        Applied::Staged { id } => {
            let what = format!("{} waits, so nothing was called", one_line(&id));
            Err(Stop::new(Why::Refused, what).with_help(how_to_answer(&id, session)))
        }
        other => Err(Stop::new(Why::Internal, format!("unknown: {other:?}"))),
    }
}

/// What came of a version that was approved.
fn saved(version: &Version) -> String {
    format!("{} is saved as version {}", one_line(&version.definition.name), version.number)
}

/// How a person answers what waits.
fn how_to_answer(id: &str, session: &Session) -> String {
    match can_ask(&session.screen) {
        true => format!("{} asks again", approve_words(id)),
        false => format!(
            "there is no terminal to ask at: {} shows it, and {} saves it",
            by_evolve(["show", id]),
            by_evolve(["approve", "--yes", id])
        ),
    }
}

/// Makes a tool of a proposal, and asks at the terminal; without one, the proposal waits.
/// `verb` is the one by which it is made.
pub(super) fn apply(proposal: Proposal, verb: &str, session: &Session) -> Result<Exit, Stop> {
    let approver: Arc<dyn Approver> = match can_ask(&session.screen) {
        true => at_terminal(session),
        false => Arc::new(Later),
    };
    let loaded = load(session, approver)?;
    let applied = working()?.block_on(super::joined(&loaded, session)?.builder.apply(proposal));
    told(applied, verb, session)
}

fn at_terminal(session: &Session) -> Arc<dyn Approver> {
    Arc::new(AtTerminal::new(Arc::new(session.screen), session.env()))
}

fn load(session: &Session, approver: Arc<dyn Approver>) -> Result<Loaded, Stop> {
    let session = session.with_evolve_store()?;
    let answers = Answers { approver, ..Answers::default() };
    session.load_with(None, Backend::Used, answers, |host, _| host)
}

/// Runs bash and examples, so it needs all of a runtime.
pub(super) fn working() -> Result<tokio::runtime::Runtime, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|err| Stop::new(Why::Failed, err.to_string()))
}

/// How the text of a file, or of stdin, is named.
pub(super) fn place(file: &Path) -> String {
    match file.as_os_str() == "-" {
        true => "stdin".to_owned(),
        false => file.to_string_lossy().into_owned(),
    }
}

/// The text of a file, or of stdin.
pub(super) fn read(file: &Path) -> Result<String, Stop> {
    let failed = |err: io::Error| match err.kind() {
        io::ErrorKind::NotFound => no_such_file(file),
        io::ErrorKind::InvalidData => {
            let file = one_line(&file.to_string_lossy());
            Stop::new(Why::Broken, format!("{file} is no text in UTF-8"))
        }
        _ => {
            let file = one_line(&file.to_string_lossy());
            Stop::new(Why::Failed, format!("failed to read {file}: {err}"))
        }
    };
    let mut text = String::new();
    let n = match file.as_os_str() == "-" {
        true => io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text),
        false => std::fs::File::open(file)
            .and_then(|it| it.take(MAX_BYTES + 1).read_to_string(&mut text)),
    };
    if n.map_err(failed)? as u64 > MAX_BYTES {
        let file = one_line(&file.to_string_lossy());
        return Err(Stop::new(Why::Broken, format!("{file} is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Tells what came of a proposal.
fn told(applied: Result<Applied, Refusal>, verb: &str, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    let applied = applied.map_err(|it| refused_by(it, verb))?;
    let (document, text) = match &applied {
        Applied::Saved(version) => {
            let (name, number) = (&version.definition.name, version.number);
            let sha256 = version.hash().to_string();
            let text = format!("{}\n", saved(version));
            (Document::Saved { name, version: number, sha256 }, text)
        }
        Applied::Staged { id } => (Document::Staged { id }, format!("{} waits\n", one_line(id))),
        other => return Err(Stop::new(Why::Internal, format!("unknown: {other:?}"))),
    };
    if screen.is_json() {
        screen.document(&document)?;
    } else {
        screen.answer(text)?;
    }
    if let Document::Staged { id } = document {
        screen.note(how_to_answer(id, session));
    }
    Ok(Exit::Ok)
}

/// What waits for an answer.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A proposal, by its id.
    Proposal(String),
    /// A file that was edited, or never approved: the name of its tool, and the id of its text.
    File { name: String, id: String },
    /// A composite whose tools changed: its name, and the id of its text.
    Composite {
        name: String,
        id: String,
        /// Why no answer can approve it as it is.
        refused: Option<String>,
    },
}

impl Waiting {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Proposal(id) | Self::File { id, .. } | Self::Composite { id, .. } => id,
        }
    }

    /// What waits under an id, or for a tool of this name.
    pub(super) fn find(store: &Store, wanted: &str) -> Result<Self, Stop> {
        let pending = store.pending().map_err(failed)?;
        let loaded = store.load().map_err(failed)?;
        let needs_review = loaded.needs_review();
        let composites = needs_review.into_iter();
        let composites =
            composites.map(|it| Self::Composite { name: it.name, id: it.id, refused: it.refused });
        let (files, versions): (Vec<_>, Vec<_>) =
            loaded.unapproved.into_iter().partition(|it| it.version.is_none());
        let files = files.into_iter();
        let files = files.map(|it| Self::File { name: it.definition.name, id: it.id });
        let proposals = pending.into_iter().map(|it| Self::Proposal(it.id));
        let all: Vec<Self> = proposals.chain(files).chain(composites).collect();
        if let Some(at) = all.iter().position(|it| it.id() == wanted) {
            return Ok(all.into_iter().nth(at).expect("it was found there"));
        }
        let mut named: Vec<Self> =
            all.into_iter().filter(|it| name_of(it.id()) == wanted).collect();
        match (named.pop(), named.len()) {
            (Some(one), 0) => Ok(one),
            (Some(last), _) => {
                let ids: Vec<_> = named.iter().chain([&last]).map(|it| one_line(it.id())).collect();
                let what = format!("{} proposals of {wanted:?} wait", ids.len());
                Err(Stop::usage(what).with_help(format!("name one: {}", ids.join(", "))))
            }
            (None, _) => {
                if let Some(stop) = damaged(store, wanted)? {
                    return Err(stop);
                }
                let is_it = |it: &&Unapproved| it.id == wanted || it.definition.name == wanted;
                if let Some(it) = versions.iter().find(is_it) {
                    return Err(Stop::new(Why::Missing, unapproved(it)));
                }
                let dir = one_line(&store.dir().to_string_lossy());
                let what = format!("no proposal {wanted:?} waits in {dir}");
                let stop = Stop::new(Why::Missing, what);
                Err(stop.with_help(format!("{} shows what waits", by_evolve(["list"]))))
            }
        }
    }
}

/// What became of a proposal of this id, or of a tool of this name, whose file is damaged.
pub(super) fn damaged(store: &Store, wanted: &str) -> Result<Option<Stop>, Stop> {
    let is_it = |it: &Damaged| {
        let file = it.path.file_name().map(|it| it.to_string_lossy().into_owned());
        let id = file.as_deref().and_then(|it| it.split_once(".json")).map(|it| it.0.to_owned());
        id.is_some_and(|it| it == wanted || name_of(&it) == wanted)
    };
    let found = store.damaged_proposals().map_err(failed)?.into_iter().find(is_it);
    Ok(found.map(|it| {
        let file = one_line(&it.path.to_string_lossy());
        let what = format!("the proposal {wanted:?} cannot be used: {}", one_line(&it.why));
        Stop::new(Why::Broken, what).with_help(format!(
            "propose it again, then remove {file}, which has what is left of it"
        ))
    }))
}

pub(super) fn approve(args: &Approve, session: &Session) -> Result<Exit, Stop> {
    let waiting = Waiting::find(&session.evolve_store()?, &args.name)?;
    let id = waiting.id();
    if let Waiting::Composite { name, refused: Some(why), .. } = &waiting {
        return Err(cannot_be_approved(name, why, &session.evolve_store()?));
    }
    let approver: Arc<dyn Approver> = if args.yes {
        if id != args.name {
            return Err(Stop::usage("`--yes` approves a text by its id, which has its hash")
                .with_help(format!("{} shows the text", by_evolve(["show", id]))));
        }
        Arc::new(Named { id: id.to_owned(), by: person(session.env()) })
    } else if can_ask(&session.screen) {
        at_terminal(session)
    } else {
        let stop = Stop::new(Why::Refused, "there is no terminal to ask at");
        return Err(stop.with_help(format!(
            "read it by {}, then run {}",
            by_evolve(["show", id]),
            by_evolve(["approve", "--yes", id])
        )));
    };
    let loaded = load(session, approver)?;
    let builder = &super::joined(&loaded, session)?.builder;
    let again = match &waiting {
        Waiting::Composite { name, .. } => Some(again(name, builder.store(), session)?),
        _ => None,
    };
    let applied = working()?.block_on(async {
        match &waiting {
            Waiting::Proposal(id) => builder.resume(id).await,
            Waiting::File { name, .. } => builder.adopt(name, &person(session.env())).await,
            Waiting::Composite { .. } => {
                builder.apply(again.expect("it was made for a composite")).await
            }
        }
    });
    // One that was denied waits no longer, and a store that failed says nothing about the proposal.
    let is_kept = matches!(&waiting, Waiting::Proposal(_))
        && matches!(&applied, Err(it) if !matches!(it, Refusal::Denied { .. } | Refusal::Store(_)));
    // The answer names a text with tools as they were shown.
    let is_other = args.yes && matches!(&applied, Err(Refusal::NotApproved { .. }));
    told(applied, "propose", session).map_err(|stop| match is_kept {
        true => {
            let deny = by_evolve(["deny", waiting.id()]);
            stop.with_help(match &waiting {
                Waiting::Proposal(id) if is_other => format!(
                    "read it by {} and propose it again, which gives it an id for these tools; {deny} \
                     removes this one",
                    by_evolve(["show", id])
                ),
                _ => format!("it waits still; {deny} removes it"),
            })
        }
        false => stop,
    })
}

/// That no answer can approve a composite, since a version that it asks for is gone.
fn cannot_be_approved(name: &str, why: &str, store: &Store) -> Stop {
    let what = format!("{name:?} cannot be approved as it is: {}", one_line(why));
    let last = store.last(name).ok().flatten().map(|it| it.number.to_string());
    Stop::new(Why::Refused, what).with_help(format!(
        "{} proposes it again, and {} archives it",
        by_evolve(["propose", "FILE", "--base", last.as_deref().unwrap_or("N")]),
        by_evolve(["deny", name]),
    ))
}

/// Asks anew about a composite.
fn again(name: &str, store: &Store, session: &Session) -> Result<Proposal, Stop> {
    Ok(Proposal::again(&super::version(store, name, None)?, person(session.env())))
}

pub(super) fn deny(args: &Deny, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let waiting = Waiting::find(&store, &args.name)?;
    if let Some(reason) = &args.reason {
        check_text("the reason", reason, session)?;
    }
    let id = waiting.id();
    let text = match &waiting {
        Waiting::Composite { name, .. } => {
            store.archive(name, &person(session.env())).map_err(failed)?;
            format!("{} is archived\n", one_line(name))
        }
        Waiting::Proposal(id) => {
            store.unstage(id).map_err(failed)?;
            format!("{} waits no longer\n", one_line(id))
        }
        Waiting::File { name, .. } => {
            let aside = store.discard_edit(name).map_err(failed)?;
            let (name, aside) = (one_line(name), one_line(&aside.to_string_lossy()));
            format!("the file of {name} lies in {aside} now\n")
        }
    };
    let by = person(session.env());
    let body = json!({"id": id, "tool": name_of(id), "by": by, "reason": args.reason});
    let recorded = store.log().map_err(|err| chain(&err));
    let recorded = recorded.and_then(|it| it.event("", "denied", &body).map_err(|err| chain(&err)));
    let screen = session.screen;
    if let Err(why) = recorded {
        screen.note(format_args!("the answer is not in the log of events: {}", tame(&why)));
    }
    match screen.is_json() {
        true => screen.document(&Document::Denied { id })?,
        false => screen.answer(text)?,
    }
    Ok(Exit::Ok)
}

/// Refuses a text with a secret in it, such as a reason: it is kept in the log of events. `place` names it.
pub(super) fn check_text(place: &str, text: &str, session: &Session) -> Result<(), Stop> {
    let loaded = super::load(session)?;
    let builder = &super::joined(&loaded, session)?.builder;
    match working()?.block_on(builder.check_text(place, text)) {
        Err(Refusal::Secret { findings }) => {
            let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
            let what = format!("{place} has what looks like a secret: {}", found.join("; "));
            Err(Stop::new(Why::Refused, tame(&what)).with_help("write it without the secret"))
        }
        other => other.map_err(refused),
    }
}

/// What a person would be shown of what waits. Nothing of it runs unless `run` says so.
pub(super) fn review(waiting: &Waiting, run: bool, session: &Session) -> Result<Review, Stop> {
    let loaded = super::load(session)?;
    let builder = &super::joined(&loaded, session)?.builder;
    let proposal = match waiting {
        Waiting::Proposal(id) => builder.store().pending_one(id).map_err(failed)?.proposal(),
        Waiting::File { name, .. } => {
            let found = builder.store().unapproved(name).map_err(failed)?;
            let by = person(session.env());
            let mut proposal = Proposal::of(&found.definition, by).source(ProposalSource::File);
            proposal.base = found.base;
            proposal
        }
        Waiting::Composite { name, .. } => again(name, builder.store(), session)?,
    };
    let proposal = if run { proposal } else { proposal.untested() };
    working()?.block_on(builder.dry_run(&proposal)).map_err(refused)
}

/// Makes a change of versions, and tells the version that came of it: `told` where there is a new one, else `so_already`.
pub(super) fn changed(
    name: &str,
    work: impl AsyncFnOnce(&flyto_evolve::ToolBuilder, &str) -> Result<Settled, Refusal>,
    [told, so_already]: [fn(&str, u64) -> String; 2],
    session: &Session,
) -> Result<Exit, Stop> {
    let loaded = super::load(session)?;
    let builder = &super::joined(&loaded, session)?.builder;
    let by = person(session.env());
    let Settled { version, is_new, .. } = block_on(work(builder, &by))?.map_err(refused)?;
    let number = version.number;
    let screen = session.screen;
    if screen.is_json() {
        let sha256 = version.hash().to_string();
        screen.document(&match is_new {
            true => Document::Saved { name, version: number, sha256 },
            false => Document::Unchanged { name, version: number, sha256 },
        })?;
    } else {
        let told = if is_new { told } else { so_already };
        screen.answer(format!("{}\n", told(&one_line(name), number)))?;
    }
    Ok(Exit::Ok)
}
