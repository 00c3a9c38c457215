//! What clients are offered of the tools: not each of them, and not each whole.

use flyto_mcp::SERVER_TOOL_NAMES;
use flyto_tools::Entry;
use flyto_tools::export::{ExportError, Format, check_output, refused, refused_keyword};
use serde::Serialize;

use crate::words::one_line;

/// The tools of which clients are not offered all.
#[derive(Serialize)]
pub(crate) struct Offer {
    /// The tools that no client is offered, since their schemas cost a client the whole list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_offered: Vec<Reason>,
    /// The tools that clients are offered without their output schema, for the same reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_output_schema: Vec<Reason>,
    /// The tools that clients are offered, and APIs of models refuse.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused_by_apis: Vec<Reason>,
    /// The tools for which `serve` offers none of its own for jobs, since they have the name of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instead_of_jobs: Vec<String>,
}

/// A tool, and what is in the way.
#[derive(Serialize)]
struct Reason {
    tool: String,
    why: String,
}

impl Offer {
    pub(crate) fn of(tools: &[Entry]) -> Self {
        let not_offered = |err: ExportError| Reason {
            tool: err.tool.as_str().to_owned(),
            why: err.why.to_string(),
        };
        let without_output = |tool: &Entry| {
            let err = check_output(tool.tool().output_schema()?).err()?;
            Some(Reason { tool: tool.id().as_str().to_owned(), why: err.to_string() })
        };
        let refused_by_apis = |tool: &Entry| {
            let (keyword, formats) = refused_keyword(tool.tool().input_schema())?;
            let formats: Vec<_> = formats.into_iter().map(Format::as_str).collect();
            let formats = formats.join(", ");
            let why = format!(
                "its input schema has {keyword:?} at the root, which APIs refuse: {formats}"
            );
            Some(Reason { tool: tool.id().as_str().to_owned(), why })
        };
        let is_for_jobs = |it: &str| it.starts_with("jobs__") && SERVER_TOOL_NAMES.contains(&it);
        let instead_of_jobs = |tool: &&Entry| {
            is_for_jobs(tool.wire_name())
                || tool.aliases().iter().any(|it| is_for_jobs(it.as_str()))
        };
        let instead_of_jobs = tools.iter().filter(instead_of_jobs);
        Self {
            instead_of_jobs: instead_of_jobs.map(|it| it.id().as_str().to_owned()).collect(),
            not_offered: refused(tools, Format::Mcp).into_iter().map(not_offered).collect(),
            without_output_schema: tools.iter().filter_map(without_output).collect(),
            refused_by_apis: tools.iter().filter_map(refused_by_apis).collect(),
        }
    }

    /// The same as remarks.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let told = |reasons: &[Reason], what: &str| {
            let told =
                |it: &Reason| format!("{} {what}: {}", one_line(&it.tool), one_line(&it.why));
            reasons.iter().map(told).collect::<Vec<_>>()
        };
        let for_jobs = |it: &String| {
            let it = one_line(it);
            format!("{it} has the name of a tool of `serve` for jobs, which then offers none")
        };
        [
            self.instead_of_jobs.iter().map(for_jobs).collect(),
            told(&self.not_offered, "is not offered to clients"),
            told(&self.without_output_schema, "is offered to clients without its output schema"),
            told(&self.refused_by_apis, "is of no use in clients that hand its schema on"),
        ]
        .concat()
    }
}
