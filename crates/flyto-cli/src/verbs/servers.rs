//! `servers`: the servers whose tools are used here, and what the operator knows of them.

use std::io::{self, BufRead as _, Read as _};

use flyto_diagnostics::Diagnostic;
use flyto_execenv::Template;
use flyto_host::DeclaredServer;
use flyto_mcp::{ApproveError, DefinitionChange, HeldBack, ServerReport, ServerStatus};
use flyto_plugin::Transport;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::servers::{Servers, ServersApprove, ServersShow, ServersWhat};
use crate::commands::by_flyto;
use crate::confinement::{self, ConfinementDocument};
use crate::evolve::can_ask;
use crate::exit::{Exit, Why};
use crate::preview;
use crate::screen::Screen;
use crate::servers::{runtime, unreachable};
use crate::session::{Backend, Loaded, Session};
use crate::stop::Stop;
use crate::table::{Table, facts};
use crate::words::{command_line, counted, one_line, tame, time};

#[derive(Serialize)]
struct List<'a> {
    servers: &'a [ServerReport],
    /// Those of `list`: a server that is left out is told of here.
    findings: Vec<&'a Diagnostic>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a ServerReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    declaration: Option<Value>,
}

#[derive(Serialize)]
struct Approved<'a> {
    server: &'a str,
    /// The names of the tools that were held back.
    approved: &'a [String],
}

pub(super) fn run(args: &Servers, session: &Session) -> Result<Exit, Stop> {
    match &args.what {
        None | Some(ServersWhat::List(_)) => list(session),
        Some(ServersWhat::Show(args)) => show(args, session),
        Some(ServersWhat::Approve(args)) => approve(args, session),
    }
}

fn list(session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Used)?;
    let reports = loaded.look(None, |_| true)?;
    let screen = session.screen;
    if screen.is_json() {
        let findings = loaded.findings().collect();
        screen.document(&List { servers: &reports, findings })?;
        return Ok(Exit::Ok);
    }
    if reports.is_empty() {
        screen.note(match loaded.has_odd_servers() {
            true => "there are no servers that can be used",
            false => "there are no servers; they stand under \"mcpServers\" in a configuration",
        });
    } else {
        screen.answer(table(&reports).draw(screen.stdout))?;
    }
    for note in reports.iter().flat_map(remarks).chain(loaded.servers_remark()) {
        screen.note(note);
    }
    Ok(Exit::Ok)
}

fn table(reports: &[ServerReport]) -> Table {
    let mut res = Table::new(["SERVER", "STATE", "REVISION", "VERSION", "TOOLS", "DECLARED IN"]);
    for it in reports {
        let text = |it: &str| if it.is_empty() { "-".to_owned() } else { one_line(it) };
        res.row([
            one_line(&it.name),
            it.status.to_string(),
            it.revision.map_or("-".to_owned(), |it| it.to_string()),
            text(&it.version),
            it.tools.len().to_string(),
            one_line(&it.declared_in),
        ]);
    }
    res
}

/// What is to be said of a server beside its row.
pub(super) fn remarks(report: &ServerReport) -> Vec<String> {
    let name = one_line(&report.name);
    let mut res = Vec::new();
    match &report.problem {
        Some(problem) if report.failed_before => res.push(format!(
            "the server {name} failed to connect earlier: {}; {} tries again",
            one_line(problem),
            by_flyto(["servers"])
        )),
        // It was connected to.
        Some(problem) if report.revision.is_some() => {
            res.push(format!("the connection to the server {name} ended: {}", one_line(problem)));
        }
        Some(problem) => {
            res.push(format!("the server {name} failed to connect: {}", one_line(problem)));
        }
        None => {}
    }
    if report.status == ServerStatus::Unknown {
        res.push(format!(
            "the server {name} is not connected yet: {} starts it and finds out its tools",
            by_flyto(["servers"])
        ));
    }
    let n = report.held_back.iter().filter(|it| it.now.is_some()).count();
    if n > 0 {
        let n_tools = counted(n, "tool");
        res.push(format!(
            "the server {name} has {n_tools} held back: {} shows what changed",
            by_flyto(["servers", "approve", &report.name])
        ));
    }
    res.extend(report.faults.iter().map(|it| format!("the server {name}: {}", one_line(it))));
    res
}

fn show(args: &ServersShow, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Used)?;
    let report = find(&loaded, &args.name)?;
    let declared = loaded.host.servers().into_iter().find(|it| it.name() == report.name);
    let screen = session.screen;
    if screen.is_json() {
        let declaration = declared.as_ref().map(declaration);
        screen.document(&Shown { report: &report, declaration })?;
        return Ok(Exit::Ok);
    }
    let mut rows = vec![
        ("server", one_line(&report.name)),
        ("state", report.status.to_string()),
        ("declared in", one_line(&report.declared_in)),
    ];
    rows.extend(declared.iter().flat_map(declared_facts));
    rows.extend(report.revision.map(|it| ("revision", it.to_string())));
    rows.extend((!report.version.is_empty()).then(|| ("version", one_line(&report.version))));
    rows.extend(report.tools.iter().map(|it| ("tool", one_line(it))));
    screen.answer(facts(screen.stdout, &rows))?;
    screen.answer(held_back(&report.held_back))?;
    for note in remarks(&report) {
        screen.note(note);
    }
    Ok(Exit::Ok)
}

/// The words of a program as they are declared: references to variables are not replaced, as their values may be secrets.
fn words(command: &Template, args: &[Template]) -> Vec<String> {
    std::iter::once(command).chain(args).map(ToString::to_string).collect()
}

/// The directory in which a program starts, as it is declared.
fn directory(server: &DeclaredServer, cwd: Option<&Template>) -> String {
    let dir = server.dir().display().to_string();
    match cwd.map(ToString::to_string) {
        Some(cwd) if cwd.starts_with(['/', '$']) => cwd,
        Some(cwd) => server.dir().join(cwd).display().to_string(),
        None => dir,
    }
}

/// What is started or reached, for people.
fn declared_facts(server: &DeclaredServer) -> Vec<(&'static str, String)> {
    let mut res = Vec::new();
    match server.transport() {
        Transport::Stdio { command, args, cwd, .. } => {
            res.push(("runs", tame(&command_line(words(command, args)))));
            res.push(("in", one_line(&directory(server, cwd.as_ref()))));
            res.push(("environment", preview::with_reasons(&server.variables())));
            let shown = ["sandbox", "limits", "isolation"];
            let facts = confinement::facts(&server.confinement()).into_iter();
            // A server has no deadline: its calls have one.
            res.extend(facts.filter(|it| shown.contains(&it.0) && it.1 != "none but the deadline"));
        }
        Transport::Http { url, headers, .. } => {
            res.push(("reaches", one_line(&url.to_string())));
            let names: Vec<_> = headers.keys().map(|it| one_line(it)).collect();
            res.extend((!names.is_empty()).then(|| ("headers", names.join(" "))));
        }
        _ => {}
    }
    res.extend(server.timeout().map(|it| ("a call has", time(it))));
    res
}

/// The same for a JSON document.
fn declaration(server: &DeclaredServer) -> Value {
    match server.transport() {
        Transport::Stdio { command, args, cwd, .. } => json!({
            "command_line": words(command, args),
            "working_dir": directory(server, cwd.as_ref()),
            "variables": preview::variable_documents(server.variables()),
            "confinement": ConfinementDocument::of(&server.confinement()),
        }),
        Transport::Http { url, headers, .. } => json!({
            "url": url.to_string(),
            "headers": headers.keys().collect::<Vec<_>>(),
        }),
        _ => Value::Null,
    }
}

fn approve(args: &ServersApprove, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Used)?;
    let screen = session.screen;
    let known = |it: &ServerReport| it.name == args.name;
    let runtime = runtime()?;
    let approved = runtime.block_on(async {
        loaded.servers.connect(|it| it == args.name).await;
        let report = loaded.servers.reports().into_iter().find(known);
        let res = match report {
            Some(report) => approve_shown(args, &loaded, &report, session),
            None => Err(no_server(&loaded, &args.name)),
        };
        loaded.servers.disconnect().await;
        res
    })?;
    if screen.is_json() {
        screen.document(&Approved { server: &args.name, approved: &approved })?;
    } else if approved.is_empty() {
        screen.note("nothing is held back");
    } else {
        let names: Vec<_> = approved.iter().map(|it| one_line(it)).collect();
        screen.answer(format!("approved: {}\n", names.join(", ")))?;
    }
    Ok(Exit::Ok)
}

fn approve_shown(
    args: &ServersApprove,
    loaded: &Loaded,
    report: &ServerReport,
    session: &Session,
) -> Result<Vec<String>, Stop> {
    let screen = session.screen;
    if let Some(problem) = &report.problem {
        return Err(unreachable(&report.name, problem));
    }
    let own = args.tool.as_deref();
    let own = own.map(|it| it.strip_prefix(&format!("{}:", args.name)).unwrap_or(it));
    let chosen: Vec<HeldBack> = report
        .held_back
        .iter()
        .filter(|it| own.is_none_or(|own| own == it.name))
        .cloned()
        .collect();
    if let Some(own) = own.filter(|it| !report.has_tool(it)) {
        let what = format!("the server {} has no tool {own:?}", one_line(&args.name));
        return Err(Stop::new(Why::Missing, what));
    }
    if !chosen.is_empty() && !args.yes {
        screen.output_beside(&held_back(&chosen));
        let is_agreed = confirm(&screen, "may these be used? [y/N] ");
        if !is_agreed {
            let approve = by_flyto(["servers", "approve", &args.name, "--yes"]);
            return Err(Stop::new(Why::Refused, "nothing was approved")
                .with_help(format!("{approve} approves without a question")));
        }
    }
    loaded.servers.approve(&args.name, &chosen).map_err(|err| {
        let why = match err {
            ApproveError::NoServer { .. } => Why::Missing,
            ApproveError::Changed { .. } => Why::Refused,
            _ => Why::Failed,
        };
        Stop::new(why, one_line(&err.to_string()))
    })?;
    Ok(chosen.into_iter().map(|it| it.name).collect())
}

/// Asks at the terminal; only a clear yes is one.
fn confirm(screen: &Screen, question: &str) -> bool {
    /// The longest answer that is read.
    const MAX_BYTES: u64 = 1024;
    if !can_ask(screen) {
        return false;
    }
    screen.output_beside(question);
    let mut line = String::new();
    let read = io::stdin().lock().take(MAX_BYTES).read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "yes")
}

fn find(loaded: &Loaded, name: &str) -> Result<ServerReport, Stop> {
    let mut reports = loaded.look(None, |it| it == name)?;
    reports.pop().ok_or_else(|| no_server(loaded, name))
}

fn no_server(loaded: &Loaded, name: &str) -> Stop {
    let names: Vec<_> = loaded.servers.reports().iter().map(|it| one_line(&it.name)).collect();
    let stop = Stop::new(Why::Missing, format!("there is no server {name:?}"));
    if let Some(remark) = loaded.servers_remark().filter(|_| loaded.has_odd_servers()) {
        return stop.with_help(remark);
    }
    match names.is_empty() {
        true => stop.with_help("servers stand under \"mcpServers\" in a configuration"),
        false => stop.with_help(format!("the servers are: {}", names.join(", "))),
    }
}

/// What differs from what the operator knows, member by member.
fn held_back(held_back: &[HeldBack]) -> String {
    let mut res = String::new();
    for it in held_back {
        res.push_str(&format!("\n{} ({})\n", one_line(&it.name), it.change));
        let members: &[&str] = match &it.change {
            DefinitionChange::Changed(members) => members,
            DefinitionChange::New => &["description", "inputSchema", "outputSchema", "annotations"],
            _ => &[],
        };
        for member in members {
            for (sign, definition) in [('-', &it.before), ('+', &it.now)] {
                let value = definition.as_ref().and_then(|it| it.get(member));
                let text = match value {
                    None => continue,
                    Some(Value::String(text)) => tame(text),
                    Some(other) => tame(&other.to_string()),
                };
                for line in text.lines() {
                    res.push_str(&format!("  {sign} {member}: {line}\n"));
                }
            }
        }
    }
    res
}
