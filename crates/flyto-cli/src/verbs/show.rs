//! `show`: everything about one tool.

use std::ops::Not;

use flyto_diagnostics::Diagnostic;
use flyto_host::permission::{Caller, Decision};
use flyto_host::{Host, LoadReport, Plan, gives_blocks, may_wait};
use flyto_tools::{
    CallContext, DescribeContext, Entry, Input, Metadata, Preview, export::export_one,
};
use serde::Serialize;
use serde_json::Value;

use crate::advice;
use crate::args::Show;
use crate::confinement::{self, ConfinementDocument};
use crate::decision;
use crate::evolve::{Evolution, Known};
use crate::exit::{Exit, Why};
use crate::findings::Drawing;
use crate::preview::{self, VariableDocument};
use crate::screen::look;
use crate::session::{Backend, Loaded, Session};
use crate::stop::{Stop, chain};
use crate::table::facts;
use crate::tool_details::ToolDetails;
use crate::verbs::list::origin;
use crate::words::{self, one_line, tame};

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    wire_name: &'a str,
    owner: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    /// As declared; what is not declared is left out.
    metadata: &'a Metadata,
    /// What a call without input would touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<&'a Preview>,
    /// Why every call would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    /// What the rules say of a call without input.
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<&'a Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<Vec<VariableDocument>>,
    /// Of a program: what holds for it.
    #[serde(flatten)]
    confinement: Option<ConfinementDocument<'a>>,
    /// Of a plugin's tool: what it is, and what it was granted.
    #[serde(flatten)]
    details: Option<&'a ToolDetails>,
    /// Whether a host may start its process before a call.
    #[serde(skip_serializing_if = "Not::not")]
    ready: bool,
    /// `mcp` where its program gives a list of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'static str>,
    /// Of a tool that was written at run time: its version, its approval, how it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    evolved: Option<&'a Evolution>,
    findings: Vec<&'a Diagnostic>,
}

pub(super) fn run(args: &Show, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Used)?;
    loaded.learn(&args.name, &session.screen)?;
    let (host, entry) = (&loaded.host, loaded.find(&args.name)?);
    let tools = host.registry().snapshot();
    let ctx = DescribeContext::new().with_tools(tools);
    let screen = session.screen;
    if let Some(shape) = args.shape {
        let exported = export_one(&entry, shape, &ctx);
        screen.document(&exported.map_err(|err| Stop::new(Why::Broken, chain(&err)))?)?;
        return Ok(Exit::Ok);
    }
    let tool = entry.tool();
    let description = tool.description(&ctx);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|err| Stop::new(Why::Failed, err.to_string()))?;
    let call = host.prepare_entry(entry.clone(), Input::empty());
    let plan = runtime
        .block_on(call.plan(&CallContext::new()))
        .map_err(|err| advice::not_called(&loaded, &call, err))?;
    let details = ToolDetails::of(&call);
    let evolved = evolution(&loaded, &entry);
    let findings = findings_about(&loaded.report, &entry);
    if screen.is_json() {
        screen.document(&Document {
            name: entry.id().as_str(),
            wire_name: entry.wire_name(),
            owner: entry.owner().as_str(),
            description: &description,
            input_schema: tool.input_schema(),
            output_schema: tool.output_schema(),
            metadata: tool.metadata(),
            preview: plan.preview.as_ref(),
            refused: plan.refused.as_ref().map(|it| it.why.as_str()),
            permission: by_rule(&plan),
            variables: plan.variables.clone().map(preview::variable_documents),
            confinement: plan.confinement.as_ref().map(ConfinementDocument::of),
            details: details.as_ref(),
            ready: may_wait(&entry),
            content: gives_blocks(&entry).then_some("mcp"),
            evolved: evolved.as_ref(),
            findings,
        })?;
        return Ok(Exit::Ok);
    }
    let more = More { details: details.as_ref(), evolved: evolved.as_ref() };
    screen.answer(page(host, &entry, &description, &plan, &more, session))?;
    let drawing = Drawing::new(screen.stderr);
    for finding in findings.into_iter().filter(|_| !screen.quiet) {
        screen.complain(format_args!("{}\n\n", drawing.draw(finding)));
    }
    Ok(Exit::Ok)
}

/// What is known of a tool by what it comes from.
struct More<'a> {
    details: Option<&'a ToolDetails>,
    evolved: Option<&'a Evolution>,
}

/// What the store knows of a tool that was written at run time.
fn evolution(loaded: &Loaded, entry: &Entry) -> Option<Evolution> {
    let flyto_tools::Origin::Evolved { version } = entry.tool().metadata().origin else {
        return None;
    };
    let store = loaded.evolved.as_ref()?.builder.store();
    let version = store.version(entry.id().tool(), version).ok()?;
    Some(Evolution::of(&version, &Known::of(store)))
}

/// What the rules say of a call without input, where one of them decides that.
fn by_rule(plan: &Plan) -> Option<&Decision> {
    plan.decision.as_deref().filter(|it| it.rule().is_some())
}

/// The page for people.
fn page(
    host: &Host,
    entry: &Entry,
    description: &str,
    plan: &Plan,
    more: &More<'_>,
    session: &Session,
) -> String {
    let More { details, evolved } = *more;
    let tool = entry.tool();
    let metadata = tool.metadata();
    let page = session.screen.stdout;
    let mut head = page.styled(look::NAME, one_line(entry.id().as_str()));
    if let Some(title) = &metadata.title {
        head.push_str(&format!("  {}", page.styled(look::HEAD, one_line(title))));
    }
    let mut rows = vec![("from", source(host, metadata)), ("wire name", entry.wire_name().into())];
    if !entry.aliases().is_empty() {
        let aliases: Vec<_> = entry.aliases().iter().map(|it| one_line(it.as_str())).collect();
        rows.push(("aliases", aliases.join(" ")));
    }
    let (preview, variables) = (plan.preview.as_ref(), plan.variables.as_deref());
    rows.extend(evolved.map(Evolution::rows).unwrap_or_default());
    rows.extend(details.map(ToolDetails::program).unwrap_or_default());
    if details.is_none() && may_wait(entry) {
        rows.push(("ready", "a host may start its process before a call".to_owned()));
    }
    if gives_blocks(entry) {
        rows.push(("content", "a list of blocks, such as texts and images (mcp)".to_owned()));
    }
    rows.extend(preview.map(|it| preview::facts(it, variables)).unwrap_or_default());
    rows.extend(by_rule(plan).iter().flat_map(|it| decision::facts(it, Caller::Operator)));
    rows.extend(plan.refused.iter().map(|it| ("problem", tame(&it.why))));
    rows.extend(plan.confinement.iter().flat_map(confinement::facts));
    rows.extend(details.map(ToolDetails::grants).unwrap_or_default());
    rows.extend(declared(metadata));

    let mut res = format!("{head}\n\n{}\n\n", words::description(description));
    res.push_str(&facts(page, &rows));
    for (name, schema) in [("input", Some(tool.input_schema())), ("output", tool.output_schema())] {
        if let Some(schema) = schema {
            let head = page.styled(look::HEAD, format_args!("{name} schema"));
            res.push_str(&format!("\n{head}\n{}\n", tame(&format!("{schema:#}"))));
        }
    }
    res
}

fn source(host: &Host, metadata: &Metadata) -> String {
    let mut res = origin(&metadata.origin);
    let is_told = matches!(metadata.origin, flyto_tools::Origin::Evolved { .. });
    if let Some(version) = metadata.version.as_ref().filter(|_| !is_told) {
        res.push_str(&format!(" {}", one_line(version)));
    }
    if let flyto_tools::Origin::Plugin { plugin } = &metadata.origin
        && let Some(found) = host.report().plugin(plugin)
    {
        res.push_str(&format!(" in {}", one_line(&found.dir.to_string_lossy())));
    }
    res
}

/// What a tool says about itself, and how the gaps are read.
fn declared(metadata: &Metadata) -> Vec<(&'static str, String)> {
    let word = |declared: Option<bool>, counts: &str| match declared {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => format!("undeclared, {counts}"),
    };
    let as_destructive =
        if metadata.counts_as_destructive() { "counts as yes" } else { "counts as no" };
    let mut res = vec![
        ("class", one_line(metadata.permission_class.as_str())),
        ("read-only", word(metadata.read_only, "counts as no")),
        ("destructive", word(metadata.destructive, as_destructive)),
        ("concurrent", word(metadata.concurrency_safe, "counts as no")),
        ("idempotent", word(metadata.idempotent, "counts as no")),
        ("open world", word(metadata.open_world, "counts as yes")),
    ];
    if let Some(operation) = &metadata.audit_operation {
        res.push(("audited as", one_line(operation.as_str())));
    }
    if metadata.requires_checkpoint {
        res.push(("checkpoint", "needed before each call".to_owned()));
    }
    if metadata.requires_reverse_thinking {
        res.push(("challenged", "before each call".to_owned()));
    }
    if let Some(hint) = &metadata.search_hint {
        res.push(("search hint", one_line(hint)));
    }
    res
}

/// What was found in the plugin or file that the tool comes from.
fn findings_about<'a>(report: &'a LoadReport, entry: &Entry) -> Vec<&'a Diagnostic> {
    let id = entry.id();
    let found = id.owner().and_then(|plugin| report.plugin(plugin));
    found.map(|it| it.findings_about(id.tool()).collect()).unwrap_or_default()
}
