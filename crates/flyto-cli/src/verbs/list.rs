//! `list`: the tools that are there, and what did not load.

pub(super) mod offer; // what clients are offered of them
mod watch; // what changes from then on

use std::ops::Not;

use flyto_diagnostics::Diagnostic;
use flyto_evolve::AGENT_TOOLS;
use flyto_host::permission::Rule;
use flyto_host::{LoadReport, codes, may_wait};
use flyto_mcp::ServerReport;
use flyto_plugin::{Found, PluginState};
use flyto_tools::{DescribeContext, Entry, Metadata, Origin, Snapshot, ToolId};
use serde::Serialize;

use crate::args::List;
use crate::commands::by_evolve;
use crate::evolve::{Evolved, out_of_quarantine};
use crate::exit::Exit;
use crate::findings::{Drawing, summary};
use crate::session::{Loaded, Session};
use crate::stop::Stop;
use crate::table::Table;
use crate::tool_details::Form;
use crate::words::{counted, one_line};

use self::offer::Offer;

/// One tool of the JSON document.
#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    wire_name: &'a str,
    description: String,
    metadata: &'a Metadata,
    /// Of a plugin's tool.
    #[serde(flatten)]
    form: Option<Form>,
    /// Whether a host may start its process before a call.
    #[serde(skip_serializing_if = "Not::not")]
    ready: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    tools: Vec<Tool<'a>>,
    /// Without its findings.
    report: serde_json::Value,
    /// Those about the configuration, then those of the report.
    findings: Vec<&'a Diagnostic>,
    /// The servers whose tools are used, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ServerReport>,
    #[serde(flatten)]
    offer: Offer,
    /// What is to be said of the store of evolved tools, where one is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    evolve: Option<Vec<String>>,
}

pub(super) fn run(args: &List, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load_with_servers()?;
    let servers = loaded.servers.reports();
    let tools = loaded.host.registry().snapshot();
    let entries: Vec<Entry> = if args.words.is_empty() {
        tools.iter().cloned().collect()
    } else {
        let hits = tools.search(&args.words.join(" "), usize::MAX);
        hits.into_iter().map(|hit| hit.entry).collect()
    };
    let ctx = DescribeContext::new().with_tools(tools.clone());
    let screen = session.screen;
    if screen.is_json() {
        let tools = entries.iter().map(|it| Tool::new(it, &ctx, &loaded.report)).collect();
        let findings = loaded.findings().collect();
        let mut report = serde_json::to_value(&*loaded.report).map_err(Stop::internal)?;
        report.as_object_mut().and_then(|it| it.remove("findings"));
        let mut evolve = loaded.evolved.as_ref().map(of_store);
        evolve.iter_mut().for_each(|it| it.extend(of_history(args, &loaded)));
        let offer = Offer::of(&entries);
        let document = Document { tools, report, findings, evolve, servers, offer };
        if args.watch {
            screen.line(&watch::First { event: "list", document })?;
            return watch::run(args, &loaded, session);
        }
        screen.document(&document)?;
        return Ok(Exit::Ok);
    }
    let mut of_store: Vec<_> = loaded.evolved.iter().flat_map(of_store).collect();
    of_store.extend(of_history(args, &loaded));
    let offer = Offer::of(&entries).remarks();
    if args.problems && !args.watch {
        let said = [short(&entries, &tools, &loaded), of_rules(&loaded), offer, of_store].concat();
        return show_problems(&said, &loaded, session);
    }
    if !entries.is_empty() {
        let table = table(&entries, args.wire, &ctx);
        screen.answer(table.draw(screen.stdout))?;
    }
    let remarks = remarks(&loaded).into_iter().chain(offer).chain(of_store);
    for remark in short(&entries, &tools, &loaded).into_iter().chain(remarks) {
        screen.note(remark);
    }
    let findings: Vec<_> = loaded.findings().collect();
    if args.problems {
        show_problems(&[], &loaded, session)?;
    } else if !findings.is_empty() {
        screen.note(format_args!("{}; --problems shows them", summary(findings)));
    }
    if args.watch { watch::run(args, &loaded, session) } else { Ok(Exit::Ok) }
}

impl<'a> Tool<'a> {
    fn new(entry: &'a Entry, ctx: &DescribeContext, report: &LoadReport) -> Self {
        let tool = entry.tool();
        Self {
            name: entry.id().as_str(),
            wire_name: entry.wire_name(),
            description: tool.description(ctx).into_owned(),
            metadata: tool.metadata(),
            form: form(report, entry.id()),
            ready: may_wait(entry),
        }
    }
}

/// The form of a plugin's tool.
fn form(report: &LoadReport, id: &ToolId) -> Option<Form> {
    let plugin = report.plugin(id.owner()?)?.plugin.as_ref()?;
    plugin.tools().iter().find(|it| it.name == id.tool()).map(Form::of)
}

fn table(entries: &[Entry], wire: bool, ctx: &DescribeContext) -> Table {
    let mut head = vec!["NAME"];
    head.extend(wire.then_some("WIRE NAME"));
    head.extend(["CLASS", "TRAITS", "DESCRIPTION"]);
    let mut res = Table::new(head);
    for entry in entries {
        let tool = entry.tool();
        let metadata = tool.metadata();
        let mut cells = vec![one_line(entry.id().as_str())];
        cells.extend(wire.then(|| entry.wire_name().to_owned()));
        cells.push(one_line(metadata.permission_class.as_str()));
        cells.push(traits(metadata));
        cells.push(one_line(&tool.description(ctx)));
        res.row(cells);
    }
    res
}

/// What a tool declares of itself, in words that are true only where they were declared.
fn traits(metadata: &Metadata) -> String {
    let traits = [
        (metadata.is_read_only(), "read-only"),
        (metadata.is_destructive(), "destructive"),
        (metadata.is_concurrency_safe(), "concurrent"),
        (metadata.requires_checkpoint, "checkpoint"),
    ];
    let declared: Vec<_> = traits.iter().filter(|(it, _)| *it).map(|(_, name)| *name).collect();
    if declared.is_empty() { "-".to_owned() } else { declared.join(", ") }
}

/// What is to be said about a list that is empty.
fn short(entries: &[Entry], tools: &Snapshot, loaded: &Loaded) -> Vec<String> {
    let mut res = Vec::new();
    if entries.is_empty() && !tools.is_empty() {
        res.push(format!("none of {} fits", counted(tools.len(), "tool")));
    } else if entries.is_empty() {
        res.push("there are no tools; `--plugins DIR` and `--exec-tools FILE` add some".to_owned());
        res.extend(loaded.switched_off().map(ToOwned::to_owned));
        let missing = loaded.findings().filter(|it| it.code == codes::NO_PLUGIN_DIR);
        res.extend(
            missing
                .map(|it| format!("{}: {}", it.location.name(), it.message))
                .map(|it| one_line(&it)),
        );
    }
    res
}

/// What is to be said about plugins that are held back, and about servers.
fn remarks(loaded: &Loaded) -> Vec<String> {
    let mut res = Vec::new();
    res.extend(of_rules(loaded));
    res.extend(loaded.servers.reports().iter().flat_map(super::servers::remarks));
    for found in &loaded.report.catalogue.found {
        let is_held_back = found.plugin.is_none() && found.findings.is_empty();
        if let Some(name) = found.name.as_ref().filter(|_| is_held_back) {
            res.push(format!("the plugin {} is {}", one_line(name), found.state));
        }
    }
    res
}

/// Rules that ask or deny and name no tool, also none that comes with a store of evolved tools.
fn of_rules(loaded: &Loaded) -> Vec<String> {
    let rules = loaded.host.unmatched_rules();
    let remark = |rule: &Rule| {
        let rule = one_line(&rule.to_string());
        format!("no tool of this list has the name or class of this rule: {rule}")
    };
    rules.iter().filter(|it| !AGENT_TOOLS.contains(&it.text())).map(remark).collect()
}

/// Versions of evolved tools that cannot be used, of which [`of_store`] does not tell. All versions are read, so it is done
/// where problems are asked for.
fn of_history(args: &List, loaded: &Loaded) -> Vec<String> {
    let evolved = loaded.evolved.as_ref().filter(|_| args.problems);
    evolved.map(Evolved::damaged_history).unwrap_or_default()
}

/// What is to be said of the store of evolved tools: what waits for an answer, what was set aside, what cannot be used.
fn of_store(evolved: &Evolved) -> Vec<String> {
    let mut res = evolved.remarks();
    res.extend(evolved.quarantined().into_iter().map(|(name, why)| {
        let way_back = out_of_quarantine(&name);
        let (name, why) = (one_line(&name), one_line(&why));
        format!("the tool {name} is quarantined: {why}; {way_back}")
    }));
    res.extend(evolved.failing().into_iter().map(|(name, n_calls, why)| {
        let show = by_evolve(["show", name]);
        let (name, why) = (one_line(name), one_line(&why));
        format!("the last {n_calls} calls of the tool {name} failed ({why}), by its text or by their input: {show}")
    }));
    res
}

/// The findings, and under them the plugins that are not plainly there.
fn show_problems(remarks: &[String], loaded: &Loaded, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    let drawing = Drawing::new(screen.stdout);
    let findings: Vec<&Diagnostic> = loaded.findings().collect();
    for finding in &findings {
        screen.answer(format!("{}\n\n", drawing.draw(finding)))?;
    }
    let plugins = not_plain(&loaded.report);
    if let Some(table) = &plugins {
        screen.answer(table.draw(screen.stdout))?;
    }
    for remark in remarks {
        screen.note(remark);
    }
    let says_more = plugins.is_some() || !remarks.is_empty();
    let is_told = findings.is_empty() && says_more;
    if !screen.quiet && !is_told {
        screen.complain(format_args!("{}\n", summary(findings)));
    }
    Ok(Exit::Ok)
}

/// The plugins that are not loaded, or not whole; `None` where there are none.
fn not_plain(report: &LoadReport) -> Option<Table> {
    let mut found = report.catalogue.found.iter().filter(|it| it.state != PluginState::Loaded);
    let mut res = Table::new(["PLUGIN", "STATE", "DIRECTORY"]);
    let mut row = |it: &Found| {
        let name = it.name.as_deref().map_or("-".to_owned(), one_line);
        res.row([name, it.state.to_string(), one_line(&it.dir.to_string_lossy())]);
    };
    row(found.next()?);
    found.for_each(row);
    Some(res)
}

/// Where a tool comes from, in words.
pub(super) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Native => "the host itself".to_owned(),
        Origin::Plugin { plugin } => format!("plugin {}", one_line(plugin)),
        Origin::ExecFile { path } => format!("exec-tool file {}", one_line(path)),
        Origin::Evolved { version } => format!("written at run time, version {version}"),
        Origin::McpServer { server } => format!("MCP server {}", one_line(server)),
        _ => "elsewhere".to_owned(),
    }
}
