//! `validate`: what is wrong with files, shown where it is.

use std::io;
use std::path::Path;

use flyto_diagnostics::{Diagnostic, Findings, Severity};
use flyto_execenv::local::max_words_bytes;
use flyto_host::{Config, Surroundings, validate_path, validate_path_under};
use serde::Serialize;

use crate::args::Validate;
use crate::commands::by_flyto;
use crate::exit::{Ending, Exit, Why};
use crate::findings::{Drawing, summary};
use crate::screen::look;
use crate::session::Session;
use crate::source_paths::no_such_file;
use crate::stop::Stop;
use crate::words::counted;

/// A file or plugin that was looked at.
#[derive(Serialize)]
struct Checked {
    path: String,
    /// `plugin`, `exec tools` or `configuration`.
    kind: &'static str,
}

#[derive(Serialize)]
struct Document<'a> {
    /// Whether there is no error.
    ok: bool,
    errors: usize,
    warnings: usize,
    checked: &'a [Checked],
    findings: &'a [Diagnostic],
}

pub(super) fn run(args: &Validate, session: &Session) -> Result<Exit, Stop> {
    let mut surroundings = session.surroundings()?;
    surroundings.max_words_bytes = max_words_bytes();
    let config = config(session, &surroundings)?;
    let mut checked = Vec::new();
    let mut findings = Findings::new();
    for path in &args.paths {
        let res = match &config {
            Some(config) => validate_path_under(path, &surroundings, config),
            None => validate_path(path, &surroundings),
        };
        let res = res.map_err(|err| unreachable_path(path, &err))?;
        checked.extend(res.checked.into_iter().map(|(path, kind)| Checked { path, kind }));
        findings.append(res.findings);
    }
    if args.strict {
        findings.promote_warnings();
    }
    let has_errors = findings.has_errors();
    // In the order of the command line; each file's own are in the order of its text, then what the configuration lacks.
    let findings: Vec<Diagnostic> = findings.iter().cloned().collect();
    show(&checked, &findings, session)?;
    Ok(Exit::of(&Ending::Validated { has_errors }))
}

/// The user's configuration, which has the sandbox profiles that tools may ask for; `None` where it cannot be used. Files
/// can be checked without it, and it may be the file to be checked.
fn config(session: &Session, surroundings: &Surroundings) -> Result<Option<Config>, Stop> {
    match session.config(None, surroundings) {
        Ok((config, _)) => Ok(Some(config)),
        Err(stop) if stop.exit() == Some(Exit::NotFound) => Err(stop),
        Err(_) => {
            session.screen.note(format_args!(
                "your configuration cannot be used, so the sandbox profiles that tools ask for are not checked; \
                 {} says why",
                by_flyto(["config", "show"])
            ));
            Ok(None)
        }
    }
}

fn unreachable_path(path: &Path, err: &io::Error) -> Stop {
    if err.kind() == io::ErrorKind::NotFound {
        return no_such_file(path);
    }
    Stop::new(Why::Missing, format!("{} cannot be reached: {err}", path.display()))
}

fn show(checked: &[Checked], findings: &[Diagnostic], session: &Session) -> Result<(), Stop> {
    let screen = session.screen;
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let errors = count(Severity::Error);
    if screen.is_json() {
        return screen.document(&Document {
            ok: errors == 0,
            errors,
            warnings: count(Severity::Warning),
            checked,
            findings,
        });
    }
    let drawing = Drawing::new(screen.stdout);
    for finding in findings {
        screen.answer(format!("{}\n\n", drawing.draw(finding)))?;
    }
    if !screen.quiet {
        let what = what_was_checked(checked);
        let page = screen.stderr;
        let verdict = if errors > 0 {
            page.styled(look::ERROR, "failed")
        } else {
            page.styled(look::HEAD, "ok")
        };
        screen.complain(format_args!("{verdict}: {} in {what}\n", summary(findings)));
    }
    Ok(())
}

/// `1 plugin, 2 configurations`; a text that could not be read that far counts as a file.
fn what_was_checked(checked: &[Checked]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for it in checked {
        match kinds.iter_mut().find(|(kind, _)| *kind == it.kind) {
            Some((_, n)) => *n += 1,
            None => kinds.push((it.kind, 1)),
        }
    }
    let parts: Vec<_> = kinds
        .into_iter()
        .map(|(kind, n)| match kind {
            "exec tools" => counted(n, "exec-tool file"),
            kind => counted(n, kind),
        })
        .collect();
    if parts.is_empty() { counted(1, "path") } else { parts.join(", ") }
}
