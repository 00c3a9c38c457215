//! A call of a tool that the host does not have.

use flyto_host::{CallError, stages::MissingCall};
use flyto_tools::{CallContext, Input};

use super::{Shared, fault::Fault, params::Terms, peer::Outcome, result};

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
    pub(crate) async fn run(self, server: &Shared, terms: &Terms) -> Outcome {
        let ctx = CallContext::new();
        let call = MissingCall::new(&self.name, &ctx, &self.error);
        server.host.missing(self.input.iter().fold(call, MissingCall::input)).await;
        let message = message(&self.error);
        match self.is_chosen {
            true => result::error(server, terms, &message),
            false => Err(Fault::invalid_params(message)),
        }
    }
}

fn message(err: &CallError) -> String {
    let mut res = err.to_string();
    if let CallError::NotFound { similar, .. } = err
        && !similar.is_empty()
    {
        let names: Vec<_> = similar.iter().take(MAX_SIMILAR).map(|it| format!("{it:?}")).collect();
        res.push_str(&format!("; similar: {}", names.join(", ")));
    }
    res
}
