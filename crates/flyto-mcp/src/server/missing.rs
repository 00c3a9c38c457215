//! A call of a tool that the host does not have.

use std::fmt::Write as _;

use flyto_host::{CallError, stages::MissingCall};
use flyto_tools::{CallContext, Input};

use super::{Shared, fault::Fault, params::Negotiated, peer::Outcome, result};

/// Most names that an error about a tool lists.
const MAX_SIMILAR: usize = 3;

/// A call whose name leads to no tool, or to one that may not be used. Clients had it in no list.
#[derive(Debug)]
pub(crate) struct Missing {
    name: String,
    /// `None` where the arguments are no input.
    input: Option<Input>,
    error: CallError,
    /// Whether the name is an argument of a call, so that the model is told and not the client.
    is_chosen: bool,
}

impl Missing {
    /// A call by the name of its request, with the text of its arguments.
    pub(crate) fn new(name: &str, arguments: &str, error: CallError) -> Self {
        let input = Input::parse(arguments).ok();
        Self { name: name.to_owned(), input, error, is_chosen: false }
    }

    /// The same where the model chose the name by an argument.
    pub(crate) fn chosen(self) -> Self {
        Self { is_chosen: true, ..self }
    }

    /// Has the log of the host take the call, and says what is wrong.
    pub(crate) async fn run(self, server: &Shared, negotiated: &Negotiated) -> Outcome {
        let ctx = CallContext::new();
        let call = MissingCall::new(&self.name, &ctx, &self.error);
        server.host.missing(self.input.iter().fold(call, MissingCall::input)).await;
        let message = message(server, &self.error);
        match self.is_chosen {
            true => result::error(server, negotiated, &message),
            false => Err(Fault::invalid_params(message)),
        }
    }
}

/// Why there is no tool, in the names that clients have: that it is held back, what kept the tool from being loaded, else names that are near.
fn message(server: &Shared, err: &CallError) -> String {
    let mut res = err.to_string();
    let CallError::NotFound { name, similar, missing_plugin, findings, held_back } = err else {
        return res;
    };
    // No other tool is meant.
    if held_back.is_some() {
        return res;
    }
    if let Some(refusal) = server.servers.as_ref().and_then(|it| it.refusal(name)) {
        return refusal;
    }
    // Those that kept it from being loaded come first.
    if let Some(finding) = findings.iter().min_by_key(|it| it.severity) {
        let (code, message) = (finding.code, &finding.message);
        return format!("the tool {name:?} was not loaded: {message} ({code})");
    }
    let tools = server.host.registry().snapshot();
    let wire_name = |id: &String| match tools.get(id) {
        Some(entry) => entry.wire_name().to_owned(),
        // That of a plugin.
        None => id.clone(),
    };
    let names: Vec<_> = similar.iter().take(MAX_SIMILAR).map(wire_name).collect();
    let names: Vec<_> = names.iter().map(|it| format!("{it:?}")).collect();
    match (names.is_empty(), missing_plugin) {
        (true, _) => {}
        (false, Some(_)) => {
            let _ = write!(res, "; similar plugins: {}", names.join(", "));
        }
        (false, None) => {
            let _ = write!(res, "; similar: {}", names.join(", "));
        }
    }
    res
}
