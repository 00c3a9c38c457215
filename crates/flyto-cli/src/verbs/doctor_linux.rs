//! `doctor`: what works on this machine, and why something does not.

use std::fmt::Write as _;
use std::path::PathBuf;

use flyto_execenv::Capability;
use flyto_execenv_linux::KillMechanism;
use flyto_execenv_linux::examine::{
    Check, Examination, Layer, Machine, State, Trouble, errno_name, examine,
};
use flyto_host::{Surroundings, closed_paths};
use serde::Serialize;

use crate::backend::backend;
use crate::exit::{Ending, Exit, Why};
use crate::screen::{Page, look};
use crate::session::Session;
use crate::stop::Stop;
use crate::table::{Table, facts};
use crate::words::one_line;

/// The answer for programs.
#[derive(Serialize)]
struct Document<'a> {
    /// Whether everything works that every tool is given by default.
    ok: bool,
    /// What of that does not, by the names of capabilities.
    missing: Vec<&'static str>,
    /// By which means trees are ended: `cgroup`, `pid-namespace`, `subreaper`, `group`.
    ends_trees_by: &'static str,
    /// By which means an isolated program is kept from killing its supervisor: `landlock-scope`,
    /// `pid-namespace`; `null` where a program that asks for that is refused.
    isolates_processes_by: Option<&'a str>,
    kernel: &'a str,
    architecture: &'a str,
    user: u32,
    surroundings: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    security_modules: Option<&'a [String]>,
    checks: Vec<CheckDocument<'a>>,
    /// With --verbose: what every sandbox profile closes, what is there first.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<Vec<ClosedDocument>>,
}

#[derive(Serialize)]
struct ClosedDocument {
    path: String,
    /// Whether there is something of this name that the user may look at.
    exists: bool,
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    layer: &'static str,
    gives: &'static str,
    /// `works`, `partly`, `fails`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(flatten)]
    trouble: Option<TroubleDocument<'a>>,
}

#[derive(Serialize)]
struct TroubleDocument<'a> {
    tried: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errno: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errno_name: Option<&'static str>,
    cause: &'a str,
    fix: &'a str,
    instead: &'a str,
}

pub(super) fn run(session: &Session) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|err| {
        Stop::new(Why::Failed, format!("nothing can be tried: failed to start a runtime: {err}"))
    })?;
    let found = runtime.block_on(examine(&backend(Vec::new())));
    let screen = session.screen;
    let closed = if screen.verbose { Some(closed(&session.surroundings()?)) } else { None };
    if screen.is_json() {
        let closed = closed.map(|it| it.iter().map(ClosedDocument::of).collect());
        screen.document(&Document { closed, ..Document::of(&found) })?;
    } else {
        screen.answer(page(&found, screen.stdout))?;
        if let Some(closed) = closed {
            screen.answer(closed_page(&closed, screen.stdout))?;
        }
    }
    Ok(Exit::of(&Ending::Examined { serves_by_default: found.serves_by_default() }))
}

/// What every sandbox profile closes, and whether it is there; what is there comes first.
fn closed(surroundings: &Surroundings) -> Vec<(PathBuf, bool)> {
    let paths = closed_paths(surroundings).into_iter();
    let mut res: Vec<_> = paths.map(|it| (it.symlink_metadata().is_ok(), it)).collect();
    res.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    res.into_iter().map(|(exists, path)| (path, exists)).collect()
}

/// The same for people: a line for each path that is there, then the others.
fn closed_page(closed: &[(PathBuf, bool)], page: Page) -> String {
    let n_there = closed.iter().filter(|it| it.1).count();
    let head = format!("closed by every sandbox profile: {n_there} of {} are there", closed.len());
    let mut res = format!("\n{}\n", page.styled(look::HEAD, head));
    for (path, exists) in closed {
        let path = one_line(&path.to_string_lossy());
        let path =
            if *exists { path } else { page.styled(look::FAINT, format!("{path} (not there)")) };
        let _ = writeln!(res, "  {path}");
    }
    res
}

impl ClosedDocument {
    fn of((path, exists): &(PathBuf, bool)) -> Self {
        Self { path: path.to_string_lossy().into_owned(), exists: *exists }
    }
}

impl<'a> Document<'a> {
    fn of(found: &'a Examination) -> Self {
        let machine = &found.machine;
        Self {
            ok: found.serves_by_default(),
            missing: found.missing.iter().map(|it| it.name()).collect(),
            ends_trees_by: found.mechanism.name(),
            isolates_processes_by: found.process_isolation.as_deref(),
            kernel: &machine.kernel,
            architecture: machine.architecture,
            user: machine.user,
            surroundings: &machine.surroundings,
            security_modules: machine.security_modules.as_deref(),
            checks: found.checks.iter().map(CheckDocument::of).collect(),
            closed: None,
        }
    }
}

impl<'a> CheckDocument<'a> {
    fn of(check: &'a Check) -> Self {
        let (state, by, trouble) = parts(&check.state);
        Self {
            layer: check.layer.name(),
            gives: check.layer.gives(),
            state,
            by,
            trouble: trouble.map(|it| TroubleDocument {
                tried: &it.tried,
                errno: it.errno,
                errno_name: it.errno.and_then(errno_name),
                cause: &it.cause,
                fix: &it.fix,
                instead: &it.instead,
            }),
        }
    }
}

/// A word for what came of a layer, by which means it works, and what is wrong with it.
fn parts(state: &State) -> (&'static str, Option<&str>, Option<&Trouble>) {
    match state {
        State::Works { by } => ("works", Some(by), None),
        State::Partly { by, trouble } => ("partly", Some(by), Some(trouble)),
        State::Fails(trouble) => ("fails", None, Some(trouble)),
        // A state that is not known yet tells nothing.
        _ => ("unknown", None, None),
    }
}

/// The answer for people: the machine, a table, and what is wrong in full.
fn page(found: &Examination, page: Page) -> String {
    let mut res = facts(page, &of_machine(&found.machine));
    res.push('\n');
    let mut table = Table::new(["LAYER", "STATE", "BY"]);
    for check in &found.checks {
        let (state, by, trouble) = parts(&check.state);
        let how = match trouble {
            Some(trouble) => of_errno(trouble),
            None => by.unwrap_or_default().to_owned(),
        };
        table.row([check.layer.name().to_owned(), state.to_owned(), how]);
    }
    res.push_str(&table.draw(page));
    for (names, rows) in troubles(found) {
        let _ = write!(res, "\n{}\n", page.styled(look::ERROR, names));
        for line in facts(page, &rows).lines() {
            let _ = writeln!(res, "  {line}");
        }
    }
    let _ = writeln!(res, "\n{}", verdict(found));
    res
}

/// What is wrong: for each cause the layers that fail for it, and what there is to say.
fn troubles(found: &Examination) -> Vec<(String, Vec<(&'static str, String)>)> {
    let all: Vec<_> =
        found.checks.iter().filter_map(|it| Some((it.layer, parts(&it.state).2?))).collect();
    let mut causes: Vec<&str> = Vec::new();
    for (_, trouble) in &all {
        if !causes.contains(&&*trouble.cause) {
            causes.push(&trouble.cause);
        }
    }
    let of_cause = |cause: &str| {
        let these: Vec<_> = all.iter().filter(|(_, it)| it.cause == cause).collect();
        let joined = |of: &dyn Fn(&Trouble) -> String| {
            let mut lines: Vec<String> = Vec::new();
            for (_, trouble) in &these {
                let line = of(trouble);
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            lines.join("\n")
        };
        let names: Vec<_> = these.iter().map(|(layer, _)| layer.name()).collect();
        let rows = vec![
            ("failed", first_lines(&joined(&|it| format!("to {}", of_errno(it))))),
            ("cause", cause.to_owned()),
            ("fix", joined(&|it| it.fix.clone())),
            ("instead", joined(&|it| it.instead.clone())),
        ];
        (names.join(", "), rows)
    };
    causes.into_iter().map(of_cause).collect()
}

/// As many lines as show what it is about; the table has all of them.
fn first_lines(text: &str) -> String {
    text.lines().take(MOST_LINES).collect::<Vec<_>>().join("\n")
}

const MOST_LINES: usize = 3;

fn of_machine(machine: &Machine) -> Vec<(&'static str, String)> {
    let user = match machine.user {
        0 => "0 (root)".to_owned(),
        user => user.to_string(),
    };
    let kernel = format!("Linux {} on {}", machine.kernel, machine.architecture);
    let mut res = vec![("kernel", kernel), ("user", user)];
    if !machine.surroundings.is_empty() {
        res.push(("inside", machine.surroundings.join(", ")));
    }
    res
}

/// What was tried, and the system's answer: `make the namespaces: ENOSPC`.
fn of_errno(trouble: &Trouble) -> String {
    match trouble.errno {
        Some(errno) => match errno_name(errno) {
            Some(name) => format!("{}: {name}", trouble.tried),
            None => format!("{}: error {errno}", trouble.tried),
        },
        None => trouble.tried.clone(),
    }
}

fn verdict(found: &Examination) -> String {
    let ended = match found.mechanism {
        KillMechanism::Cgroup => "Trees are ended by a control group.",
        KillMechanism::PidNamespace => "Trees are ended by a PID namespace.",
        KillMechanism::Subreaper => "Trees are ended by their supervisor.",
        _ => "Trees are not ended: only processes that stay in the process group are.",
    };
    let kept = match (found.mechanism, found.process_isolation.as_deref()) {
        (KillMechanism::Group, _) => "",
        (_, Some("pid-namespace")) => " A PID namespace keeps sandboxed tools from breaking that.",
        (_, Some(_)) => " A Landlock scope keeps sandboxed tools from breaking that.",
        (_, None) => " Nothing would keep a sandboxed tool from breaking that, so none is started.",
    };
    let ended = format!("{ended}{kept}");
    if found.serves_by_default() {
        return format!("{ended} Tools have all that they need by default.");
    }
    let mut missing: Vec<_> = found.missing.iter().copied().map(Capability::name).collect();
    if found.check(Layer::Threads).is_some_and(|it| it.failed().is_some()) {
        missing.push(Layer::Threads.name());
    }
    format!("{ended} Missing of what tools need by default: {}.", missing.join(", "))
}
