//! Running the examples of a proposal, before a person is asked.
//!
//! The text is not approved then, so it runs [confined](super::confined) or not at all. One example that does not come out as it
//! says has the proposal refused, with what each of them gave; where none can be run, the review says `untested` and why.

use flyto_execenv::ExecEnv;
use flyto_tools::{Failure, ToolResult};

use super::confined::{self, Confined};
use crate::{Body, Example, ExampleOutcome, ExampleReport, HostContext, ToolDefinition};

/// Runs none of them, since a person reads the text first. They run when it is approved.
pub(super) fn untested(def: &ToolDefinition) -> ExampleReport {
    match def.examples.is_empty() {
        true => ExampleReport::None,
        false => ExampleReport::Untested { why: "they run when it is approved".to_owned() },
    }
}

/// Runs them where that is safe.
pub(super) async fn run(def: &ToolDefinition, env: &ExecEnv, host: &HostContext) -> ExampleReport {
    if def.examples.is_empty() {
        return ExampleReport::None;
    }
    let untested = |why: String| ExampleReport::Untested { why };
    if let Body::Composite(_) = def.body {
        return untested("the steps of a composite call tools, which nothing confines".to_owned());
    }
    let confined = match Confined::new(def, env, host) {
        Ok(confined) => confined,
        Err(why) => return untested(why),
    };
    let mut outcomes = Vec::new();
    for example in &def.examples {
        let result = match confined.call(&example.input).await {
            Ok(result) => result,
            Err(why) => return untested(why),
        };
        outcomes.push(if result.failure == Some(Failure::BadInput) {
            let problem = (!example.is_error).then(|| "the input cannot be handed over".to_owned());
            ExampleOutcome::new(example, result.output, problem)
        } else {
            judged(example, &result)
        });
    }
    ExampleReport::Ran { outcomes }
}

/// Compares what an example promises with what came of it. A line end at the end of the output makes no difference.
fn judged(example: &Example, result: &ToolResult) -> ExampleOutcome {
    let output = result.output.as_str();
    let same = |a: &str, b: &str| a.trim_end_matches('\n') == b.trim_end_matches('\n');
    let problem = if result.is_error() != example.is_error {
        Some(match &result.failure {
            None => "it is expected that the call fails".to_owned(),
            Some(failure) => {
                format!("it is expected that the call succeeds: {}", confined::bound(failure))
            }
        })
    } else if let Some(wanted) = example.output.as_deref().filter(|it| !same(it, output)) {
        Some(format!("the output {wanted:?} is expected"))
    } else {
        let missing = example.contains.iter().find(|it| !output.contains(it.as_str()));
        missing.map(|it| format!("the text {it:?} is expected in the output"))
    };
    ExampleOutcome::new(example, output.to_owned(), problem)
}
