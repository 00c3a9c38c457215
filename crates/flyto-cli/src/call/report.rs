//! What came of a call, on stdout and beside it.

use std::fs::File;

use flyto_host::stages::StageTime;
use flyto_host::{Confinement, MissingGrants};
use flyto_tools::{DeniedHost, Execution, Failure, Readiness, ToolResult};
use serde::Serialize;

use super::Made;
use crate::advice::DOCTOR;
use crate::commands::{by_flyto, flyto_line};
use crate::confinement;
use crate::exit::Exit;
use crate::screen::Screen;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::facts;
use crate::tool_details::{TO_GRANT, missing_facts};
use crate::words::{bytes, command_line, one_line, some, tame, time};

#[derive(Serialize)]
struct Document<'a> {
    tool: &'a str,
    exit_code: u8,
    #[serde(flatten)]
    result: &'a ToolResult,
    /// How the variables are granted for want of which the call failed.
    #[serde(flatten)]
    lacks: Option<&'a MissingGrants>,
    /// Variables that are set and not granted, in whose place a default stood.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    defaulted: &'a [String],
    /// The id by which the call can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo_id: Option<&'a str>,
    /// The time that each stage took, with `-vv`.
    #[serde(skip_serializing_if = "<[StageTime]>::is_empty")]
    stages: &'a [StageTime],
}

/// Shows the result, and gives the exit code.
pub(super) fn show(name: &str, made: Made, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&document(name, &made))?;
        return Ok(made.exit);
    }
    let printed = print(&made, &screen)?;
    remark(&made, name, printed, session);
    if screen.verbose {
        screen.complain(execution(&made, name, &screen));
    }
    Ok(made.exit)
}

/// The result as the one JSON document.
pub(super) fn document<'a>(name: &'a str, made: &'a Made) -> impl Serialize + 'a {
    let Made { result, exit, lacks, defaulted, undo, stages, .. } = made;
    let undo_id = undo.as_ref().and_then(|it| it.as_deref().ok());
    let (exit_code, lacks) = (exit.code(), lacks.as_ref());
    Document { tool: name, exit_code, result, lacks, defaulted, undo_id, stages }
}

/// How much is shown of each end of an output that is too long: 2 KiB, about a screen of lines.
const SHOWN_BYTES: usize = 2 * 1024;

/// How much of the output is on stdout now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Printed {
    /// The output, all of it.
    Output,
    /// The result's text, which has a gap that it tells of.
    Text,
}

/// Prints the output byte for byte, unless it was shown while the tool ran. The text of a failure is
/// printed in every case.
fn print(made: &Made, screen: &Screen) -> Result<Printed, Stop> {
    let result = &made.result;
    let is_shown = made.shown.stdout;
    if is_shown && !result.is_error() {
        return Ok(Printed::Output);
    }
    if made.shown.is_within_line {
        screen.output(&b"\n"[..])?;
    }
    let raw = result.raw.as_deref().filter(|_| !is_shown);
    let output = raw.unwrap_or(result.output.as_bytes());
    let omitted = result.omitted.as_ref();
    // The text of a success is the tool's output, so the whole of it may stand in the text's place.
    let whole = omitted.and_then(|it| it.whole.as_ref()).filter(|_| !result.is_error());
    if let Some(path) = whole.filter(|_| !made.is_limited)
        && let Ok(whole) = File::open(path)
    {
        screen.output(whole)?;
        if !made.is_recorded {
            // It was there for this, and is not reported. One that stays is removed in a week.
            let _ = std::fs::remove_file(path);
        }
        return Ok(Printed::Output);
    }
    if is_ours(result) {
        screen.answer(String::from_utf8_lossy(output))?;
    } else {
        screen.output(output)?;
    }
    let ends_within_line = output.last().is_some_and(|it| *it != b'\n');
    if ends_within_line && screen.stdout.terminal && screen.stderr.terminal {
        // What follows on the terminal starts on a line of its own, and stdout stays as it is.
        screen.complain('\n');
    }
    Ok(if omitted.is_some() { Printed::Text } else { Printed::Output })
}

/// Whether the text is this program's own, in which names and values of others may stand.
fn is_ours(result: &ToolResult) -> bool {
    let failure = result.failure.as_ref();
    failure.is_some_and(|it| {
        matches!(
            it,
            Failure::BadInput | Failure::Denied | Failure::Environment { .. } | Failure::NotStarted
        )
    })
}

/// Says what stdout does not: what the tool said beside its output, what is missing, and what may
/// still run.
fn remark(made: &Made, name: &str, printed: Printed, session: &Session) {
    let Made { result, shown, .. } = made;
    let screen = session.screen;
    if screen.quiet {
        return;
    }
    let execution = result.execution.as_ref();
    if let Some(stdout) = execution.and_then(|it| it.stdout.as_deref()).filter(|_| !shown.stdout) {
        screen.note("until then it had printed:");
        let whole = result.omitted.as_ref().and_then(|it| it.whole.as_ref());
        screen.output_beside(&shortened(stdout, whole.is_some()));
    }
    let stderr = execution.and_then(|it| it.stderr.as_deref());
    let is_told = |text: &str| {
        let (start, end) = ends(text).unwrap_or((text, text));
        [start, end].iter().all(|it| result.output.contains(it.trim_end()))
    };
    if let Some(stderr) = stderr.filter(|it| !shown.stderr && !is_told(it)) {
        screen.output_beside(&shortened(stderr, false));
    }
    if let Some(lacks) = &made.lacks {
        let mut rows = missing_facts(lacks);
        // Where every variable that it needs is granted, a further one is of no use.
        rows.retain(|it| lacks.has_ungranted() || it.0 != TO_GRANT);
        screen.complain(facts(screen.stderr, &rows));
    }
    if shown.dropped_bytes > 0 {
        let n = bytes(shown.dropped_bytes);
        screen.note(format_args!("{n} of the output were not read until the call ended"));
    }
    if let Some(omitted) = result.omitted.as_ref().filter(|_| printed == Printed::Text) {
        let n = bytes(omitted.bytes);
        match &omitted.whole {
            Some(whole) => screen.note(format_args!(
                "{n} of the output were left out; the whole is in {}",
                one_line(whole)
            )),
            None => {
                let why = omitted.not_kept.as_ref();
                let why = why.map(|it| format!("; the whole could not be kept: {}", one_line(it)));
                screen.note(format_args!(
                    "{n} of the output were left out{}",
                    why.unwrap_or_default()
                ));
            }
        }
    }
    if !made.defaulted.is_empty() {
        let names = one_line(&some(&made.defaulted).join(", "));
        screen.note(format_args!("default value used, variable set but not granted: {names}"));
    }
    if let Some(remark) =
        made.confinement.as_ref().and_then(|it| held(it, result, name, session.sandbox()))
    {
        screen.note(remark);
    }
    for it in execution.map_or(&[][..], |it| &it.denied_hosts) {
        screen.note(denied(it, name));
    }
    if let Some(remark) = execution.and_then(|it| unended(it, name)) {
        screen.note(remark);
    }
    match (&made.undo, &result.undo) {
        (Some(Ok(id)), Some(undo)) => {
            let (what, command) = (one_line(&undo.what), flyto_line(["undo", id]));
            screen.note(format_args!("to undo it ({what}): {command}"));
        }
        (Some(Err(why)), _) => {
            screen.note(format_args!("it cannot be undone by `flyto undo`: {}", one_line(why)));
        }
        _ => {}
    }
}

/// What a program printed, ended by a line feed: of a long text both ends. The line between them says
/// where the rest is, unless the file that holds it is told as well.
fn shortened(text: &str, is_file_told: bool) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let Some((head, tail)) = ends(text) else { return format!("{text}{end}") };
    let n = bytes((text.len() - head.len() - tail.len()) as u64);
    let rest = if is_file_told { "" } else { "; `--format json` has them" };
    format!("{head}\n[… {n} omitted here{rest} …]\n{tail}{end}")
}

/// The first and the last lines of a text that is longer than what is shown; `None` for a shorter one.
fn ends(text: &str) -> Option<(&str, &str)> {
    if text.len() <= 2 * SHOWN_BYTES {
        return None;
    }
    let head = &text[..text.floor_char_boundary(SHOWN_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - SHOWN_BYTES)..];
    let head = head.rsplit_once('\n').map_or(head, |(lines, _)| lines);
    let tail = tail.split_once('\n').map_or(tail, |(_, lines)| lines);
    Some((head, tail))
}

/// Why the tool was blocked from connecting to a host. The name of that is the tool's own words.
fn denied(it: &DeniedHost, name: &str) -> String {
    let DeniedHost { host, why, .. } = it;
    let (name, host, why) = (one_line(name), one_line(host), one_line(why));
    format!("blocked \"{name}\" from connecting to {host}: {why}")
}

/// What held for a program that failed by itself: a file that is closed and a process that is one too many show in
/// its words alone, and those are not looked at. Of a bound that holds for every program nothing is said.
fn held(
    it: &Confinement,
    result: &ToolResult,
    name: &str,
    sandbox: Option<&str>,
) -> Option<String> {
    if !matches!(result.failure, Some(Failure::ExitCode { .. })) {
        return None;
    }
    let asked_for = it.limits.without(&it.default_limits).processes;
    if it.isolation.is_none() && asked_for.is_none() {
        return None;
    }
    let names: Vec<_> =
        it.sandbox.iter().filter(|it| *it != "none").map(|it| one_line(it)).collect();
    let mut parts = Vec::new();
    match &names[..] {
        [] if it.isolation.is_none() => {}
        [] => parts.push("an isolation of its own".to_owned()),
        [one] => parts.push(format!("the sandbox \"{one}\"")),
        all => parts.push(format!("the sandboxes {}", some(all).join(", "))),
    }
    parts.extend(it.limits.processes.map(|n| format!("a bound of {n} processes")));
    let show = match sandbox {
        // The profile is that of this call alone.
        Some(profile) => by_flyto(["call", name, "--sandbox", profile, "--dry-run"]),
        None => by_flyto(["show", name]),
    };
    let parts = parts.join(" and ");
    Some(format!("\"{}\" ran under {parts}; {show} tells what it may use", one_line(name)))
}

/// That something of the call may still run. What was ended is left to `--verbose`: a child that ends
/// an instant after its program counts as well, and is nothing to worry about.
fn unended(it: &Execution, name: &str) -> Option<String> {
    if it.confirmed != Some(false) {
        return None;
    }
    let name = one_line(name);
    Some(format!("processes started by \"{name}\" may still be running; {DOCTOR}"))
}

/// What ran and how long, for `--verbose`.
fn execution(made: &Made, name: &str, screen: &Screen) -> String {
    let page = screen.stderr;
    let result = &made.result;
    let ended = result.failure.as_ref().map_or_else(|| "ok".to_owned(), ToString::to_string);
    let mut rows = vec![("tool", one_line(name)), ("ended", tame(&ended))];
    // What may have been in the way, as `show` says it.
    let confinement = made.confinement.as_ref().filter(|_| result.is_error());
    let facts_of = confinement.map(confinement::facts).unwrap_or_default();
    rows.extend(facts_of.into_iter().filter(|it| matches!(it.0, "sandbox" | "limits")));
    if let Some(execution) = &result.execution {
        rows.extend(execution_facts(execution, made.working_dir.as_deref()));
    }
    facts(page, &rows)
}

pub(crate) fn execution_facts(
    it: &Execution,
    working_dir: Option<&str>,
) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if !it.command_line.is_empty() {
        rows.push(("ran", tame(&command_line(&it.command_line))));
    }
    if let Some(dir) = working_dir {
        rows.push(("in", one_line(dir)));
    }
    rows.push(("on", one_line(&it.backend)));
    let mut took = vec![format!("{} wall", time(it.wall))];
    took.extend(it.cpu.map(|it| format!("{} CPU", time(it))));
    took.extend(it.peak_memory_bytes.map(|it| format!("{} peak memory", bytes(it))));
    rows.push(("took", took.join(", ")));
    rows.extend(it.readiness.as_ref().map(|it| ("started", started(it))));
    let (stdout, stderr) = (bytes(it.stdout_bytes), bytes(it.stderr_bytes));
    rows.push(("wrote", format!("{stdout} to stdout, {stderr} to stderr")));
    if let Some(n) = it.leaked.filter(|it| *it > 0) {
        let what = if n == 1 { "process" } else { "processes" };
        rows.push(("left behind", format!("{n} {what}, ended")));
    }
    if it.pipe_held {
        rows.push(("held open", "its output, by a process that it left behind".to_owned()));
    }
    if !it.enforced.is_empty() {
        rows.push(("in force", one_line(&it.enforced.join(", "))));
    }
    rows
}

/// Whether its process had waited for the call.
fn started(it: &Readiness) -> String {
    match it {
        Readiness::Ready { waited, startup_cpu } => {
            let startup = startup_cpu.map(|it| format!("; {} CPU until then", time(it)));
            format!("ready, {} before the call{}", time(*waited), startup.unwrap_or_default())
        }
        Readiness::Cold { why, .. } => format!("cold: {}", one_line(why)),
        _ => one_line(it.name()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::*;
    use crate::screen::Page;

    #[test]
    fn an_execution_reads_as_facts() {
        let mut it = Execution::new("local");
        it.command_line = vec!["./count.py".into(), "a b".into()];
        it.wall = Duration::from_millis(34);
        it.cpu = Some(Duration::from_millis(28));
        it.peak_memory_bytes = Some(10_276_045);
        it.stdout_bytes = 52;
        it.enforced = vec!["deadline".into(), "process-group".into()];
        it.leaked = Some(2);
        it.pipe_held = true;
        let rows = execution_facts(&it, Some("/plugins/text-stats"));
        expect![[r#"
            ran          ./count.py 'a b'
            in           /plugins/text-stats
            on           local
            took         34 ms wall, 28 ms CPU, 9.8 MiB peak memory
            wrote        52 B to stdout, 0 B to stderr
            left behind  2 processes, ended
            held open    its output, by a process that it left behind
            in force     deadline, process-group
        "#]]
        .assert_eq(&facts(Page::default(), &rows));
    }

    #[test]
    fn a_process_that_had_waited_is_told() {
        let waited = Duration::from_millis(1500);
        let startup_cpu = Some(Duration::from_millis(20));
        let ready = Readiness::Ready { waited, startup_cpu };
        expect!["ready, 1.5 s before the call; 20 ms CPU until then"].assert_eq(&started(&ready));
        expect!["cold: no process of it waited"]
            .assert_eq(&started(&Readiness::cold("no process of it waited")));
    }

    #[test]
    fn hosts_that_are_out_of_reach_are_told() {
        let it = DeniedHost::new("a.org:443", "host not allowed");
        expect![[r#"blocked "p:t" from connecting to a.org:443: host not allowed"#]]
            .assert_eq(&denied(&it, "p:t"));
    }

    #[track_caller]
    fn check_unended(confirmed: Option<bool>, name: &str, expect: expect_test::Expect) {
        let mut it = Execution::new("local");
        it.confirmed = confirmed;
        expect.assert_eq(unended(&it, name).as_deref().unwrap_or("-"));
    }

    #[test]
    fn what_may_still_run_is_told() {
        check_unended(None, "p:t", expect!["-"]);
        check_unended(Some(true), "p:t", expect!["-"]);
        check_unended(
            Some(false),
            "p\n:t",
            expect![[
                r#"processes started by "p :t" may still be running; `flyto doctor` tells what works on this machine, and why something does not"#
            ]],
        );
    }
}
