//! `list --watch`: what changes after the table.
//!
//! Nothing is called here, so nothing has to be cleaned up: a signal ends the program as it ends any
//! other.

use flyto_diagnostics::{Diagnostic, Severity};
use flyto_host::{HostChanges, SourceChange, SourceKind, WatchError, WatchOptions};
use flyto_plugin::ChangeKind;
use flyto_tools::{Changes, ToolId};
use serde::Serialize;
use tokio::sync::oneshot;

use super::Document;
use crate::args::List;
use crate::exit::{Exit, Why};
use crate::findings::{Drawing, summary};
use crate::screen::{look, when_reader_has_gone};
use crate::session::{Loaded, Session};
use crate::stop::{Stop, chain};
use crate::words::{counted, one_line};

/// The first line, which is what `list` answers without `--watch`.
#[derive(Serialize)]
pub(super) struct First<'a> {
    pub(super) event: &'static str,
    #[serde(flatten)]
    pub(super) document: Document<'a>,
}

/// A line about a source.
#[derive(Serialize)]
struct Change<'a> {
    event: &'static str,
    #[serde(flatten)]
    change: &'a SourceChange,
}

/// A line about no single source.
#[derive(Serialize)]
struct Finding<'a> {
    event: &'static str,
    finding: &'a Diagnostic,
}

/// Tells every change from the state in `loaded` on, until a signal comes or the reader has gone.
pub(super) fn run(args: &List, loaded: &Loaded, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    let mut watching = loaded.host.watch(WatchOptions::default()).map_err(not_watched)?;
    let (gone, has_gone) = oneshot::channel();
    when_reader_has_gone(|| {
        let _ = gone.send(());
    })
    .map_err(Stop::internal)?;
    let gone = async {
        if has_gone.await.is_err() {
            // No terminal; it still shows at the next write.
            std::future::pending().await
        }
    };
    tokio::pin!(gone);
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(Stop::internal)?;
    screen.note("watching for changes; Ctrl-C ends it");
    loop {
        let changes = runtime.block_on(async {
            tokio::select! {
                res = watching.changed() => res.ok_or(Stop::Closed),
                () = &mut gone => Err(Stop::Closed),
            }
        })?;
        if screen.is_json() {
            for change in &changes.sources {
                screen.line(&Change { event: "change", change })?;
            }
            for finding in &changes.findings {
                screen.line(&Finding { event: "finding", finding })?;
            }
        } else {
            screen.answer(text(&changes, args, session))?;
        }
    }
}

fn not_watched(err: WatchError) -> Stop {
    Stop::new(Why::Failed, chain(&err))
        .with_help("there are too many threads or processes; see `ulimit -u`")
}

fn text(changes: &HostChanges, args: &List, session: &Session) -> String {
    let page = session.screen.stdout;
    let drawing = Drawing::new(page);
    let mut res = String::new();
    let tell = |finding: &Diagnostic| {
        if args.problems {
            format!("\n{}\n\n", drawing.draw(finding))
        } else {
            format!("    {}\n", short(finding))
        }
    };
    for change in &changes.sources {
        let name = page.styled(look::NAME, one_line(&change.name));
        let is_bad = matches!(change.kind, ChangeKind::Kept | ChangeKind::Refused);
        res.push_str(&line(change, &name));
        if !is_bad && !args.problems && !change.findings.is_empty() {
            res.push_str(&format!(" ({})", summary(&change.findings)));
        }
        res.push('\n');
        // That the last good version is kept was said.
        let told =
            change.findings.iter().filter(|it| args.problems || it.severity != Severity::Note);
        if is_bad || args.problems {
            res.extend(told.map(&tell));
        }
    }
    for finding in &changes.findings {
        res.push_str("! ");
        res.push_str(tell(finding).trim_start());
    }
    res
}

/// What has happened to a source.
fn line(change: &SourceChange, name: &str) -> String {
    let of_plugin = change.source == SourceKind::Plugin;
    match change.kind {
        ChangeKind::Added => format!("+ {name} ({})", counted(change.tools.added.len(), "tool")),
        ChangeKind::Removed => format!("- {name} removed"),
        ChangeKind::Kept => {
            format!("! {name}: the edit cannot be used, the last good version is kept")
        }
        ChangeKind::Refused => format!("! {name}: refused"),
        _ => match tools(&change.tools, of_plugin) {
            text if text.is_empty() => format!("~ {name} changed"),
            text => format!("~ {name} changed: {text}"),
        },
    }
}

/// The tools that are different, by the names that they have within their source.
fn tools(changes: &Changes, of_plugin: bool) -> String {
    let name = |id: &ToolId| one_line(if of_plugin { id.tool() } else { id.as_str() });
    let Changes { added, removed, changed, .. } = changes;
    let signed = [('+', added), ('-', removed), ('~', changed)];
    let words = signed
        .into_iter()
        .flat_map(|(sign, ids)| ids.iter().map(move |id| format!("{sign}{}", name(id))));
    words.collect::<Vec<_>>().join(" ")
}

/// A finding on one line.
fn short(finding: &Diagnostic) -> String {
    let place = match finding.location.place() {
        Some(place) => format!("{}:{place}", finding.location.name()),
        None => finding.location.name().to_owned(),
    };
    one_line(&format!("{}[{}] {place}: {}", finding.severity, finding.code, finding.message))
}
