//! `trust`: which content of a project's configuration the operator trusts.

use std::path::{Path, PathBuf};

use flyto_diagnostics::Diagnostic;
use flyto_host::{
    ReviewError, Surroundings, TrustError, TrustStore, Trusted, find_project, review_project,
};
use serde::Serialize;

use crate::args::Trust;
use crate::exit::{Exit, Why};
use crate::findings::Drawing;
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::table::{Table, facts};
use crate::words::{one_line, tame};

/// A project of which the operator trusts some content.
#[derive(Serialize)]
struct Document<'a> {
    project: String,
    sha256: &'a str,
    /// A day in UTC: `2026-11-22`.
    since: String,
    /// The keys that go beyond narrowing, as they are written in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    widens: Option<Vec<Widens<'a>>>,
    /// `unchanged`, `changed`, `gone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

#[derive(Serialize)]
struct Widens<'a> {
    key: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct List<'a> {
    trusted: Vec<Document<'a>>,
    /// Records that cannot be used.
    unusable: Vec<String>,
}

/// A project of which nothing is trusted any more.
#[derive(Serialize)]
struct Removed {
    project: String,
    removed: bool,
}

pub(super) fn run(args: &Trust, session: &Session) -> Result<Exit, Stop> {
    let surroundings = session.surroundings()?;
    let store = TrustStore::of(&surroundings.places).ok_or_else(|| {
        Stop::new(Why::Failed, "there is no state directory to record trust in")
            .with_help("set HOME or XDG_STATE_HOME")
    })?;
    if args.list {
        return list(&store, session);
    }
    let dir = match &args.dir {
        Some(dir) => surroundings.current_dir.join(dir),
        None => find_project(&surroundings).ok_or_else(|| no_project(&surroundings))?,
    };
    match args.remove {
        true => remove(&dir, &store, session),
        false => trust(&dir, &store, &surroundings, session),
    }
}

fn no_project(surroundings: &Surroundings) -> Stop {
    let dir = one_line(&surroundings.current_dir.to_string_lossy());
    let what = format!("neither {dir} nor a directory above holds a .flyto/config.json");
    Stop::new(Why::Missing, what).with_help("name the directory of the project")
}

fn trust(
    dir: &Path,
    store: &TrustStore,
    surroundings: &Surroundings,
    session: &Session,
) -> Result<Exit, Stop> {
    let review = review_project(dir, surroundings).map_err(not_trusted)?;
    let screen = session.screen;
    if !screen.is_json() {
        let mut rows = vec![("file", one_line(&review.file.to_string_lossy()))];
        for (key, text) in &review.widens {
            rows.push(("allows", format!("{key}: {}", tame(text))));
        }
        if review.widens.is_empty() {
            rows.push(("allows", "no more than your own configuration does".to_owned()));
        }
        screen.answer(facts(screen.stdout, &rows))?;
    }
    let drawing = Drawing::new(screen.stderr);
    for finding in review.findings.iter().filter(|_| !screen.quiet && !screen.is_json()) {
        screen.complain(format_args!("{}\n\n", drawing.draw(finding)));
    }
    let recorded = store.trust(&review.project, &review.content).map_err(|err| {
        Stop::new(Why::Failed, format!("the record of trust cannot be written: {err}"))
    })?;
    if screen.is_json() {
        let widens = review.widens.iter().map(|(key, text)| Widens { key, text }).collect();
        let document = Document { widens: Some(widens), ..Document::of(&recorded) };
        screen.document(&document)?;
    } else {
        screen.answer(facts(screen.stdout, &[("trusted", recorded.sha256)]))?;
    }
    Ok(Exit::Ok)
}

fn not_trusted(err: ReviewError) -> Stop {
    match err {
        ReviewError::Missing(path) => {
            let path = one_line(&path.to_string_lossy());
            Stop::new(Why::Missing, format!("there is no file {path}"))
        }
        ReviewError::Link(path) => {
            let path = one_line(&path.to_string_lossy());
            let what = format!("{path} is a link, and what a link leads to can be exchanged");
            Stop::new(Why::Broken, what).with_help("put a file in the place of the link")
        }
        ReviewError::Broken(findings) => {
            let findings: Vec<Diagnostic> = findings.into_vec();
            let what = "the project's configuration is broken, and was not trusted";
            Stop::new(Why::Broken, what).with_findings(findings)
        }
        _ => Stop::new(Why::Broken, "the project's configuration cannot be trusted"),
    }
}

fn remove(dir: &Path, store: &TrustStore, session: &Session) -> Result<Exit, Stop> {
    // The project itself may be gone.
    let project = dir.canonicalize().unwrap_or_else(|_| plain(dir));
    let shown = one_line(&project.to_string_lossy());
    let was_there = store.remove(&project).map_err(|err| {
        Stop::new(Why::Failed, format!("the record of trust cannot be removed: {err}"))
    })?;
    if !was_there {
        let what = format!("no content of {shown} is trusted");
        return Err(Stop::new(Why::Missing, what).with_help("`flyto trust --list` shows what is"));
    }
    if session.screen.is_json() {
        let project = project.to_string_lossy().into_owned();
        session.screen.document(&Removed { project, removed: true })?;
    }
    session.screen.note(format_args!("no content of {shown} is trusted any more"));
    Ok(Exit::Ok)
}

/// The path without a slash at its end and without `.`.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

fn list(store: &TrustStore, session: &Session) -> Result<Exit, Stop> {
    let (trusted, unusable) = store.list().map_err(|err| {
        Stop::new(Why::Failed, format!("the records of trust cannot be listed: {err}"))
    })?;
    let unusable: Vec<_> = unusable.iter().map(|it: &TrustError| chain(it)).collect();
    let screen = session.screen;
    if screen.is_json() {
        let document = |it| Document { state: Some(state(it)), ..Document::of(it) };
        let trusted = trusted.iter().map(document).collect();
        screen.document(&List { trusted, unusable })?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(["PROJECT", "SINCE", "STATE"]);
    for it in &trusted {
        let project = one_line(&it.project.to_string_lossy());
        table.row([project, it.day(), state(it).to_owned()]);
    }
    if !trusted.is_empty() {
        screen.answer(table.draw(screen.stdout))?;
    } else if unusable.is_empty() {
        screen.note("no project is trusted");
    }
    for it in unusable {
        screen.note(one_line(&it));
    }
    Ok(Exit::Ok)
}

/// What has become of the file since.
fn state(it: &Trusted) -> &'static str {
    let file = it.project.join(".flyto").join("config.json");
    match flyto_diagnostics::files::read(&file) {
        Ok(bytes) if bytes == it.content.as_bytes() => "unchanged",
        Err(flyto_diagnostics::files::ReadError::Missing) => "gone",
        _ => "changed",
    }
}

impl<'a> Document<'a> {
    fn of(it: &'a Trusted) -> Self {
        let project = it.project.to_string_lossy().into_owned();
        Self { project, sha256: &it.sha256, since: it.day(), widens: None, state: None }
    }
}
