//! Whether a body can run: bash is asked whether it can read a text, without running it, and the steps of a composite are
//! compared with the tools that they call.

use std::time::Duration;

use flyto_execenv::{Class, Ending, ExecEnv, Exit, Spec};
use flyto_program::chain;

use flyto_tools::Registry;
use serde_json::Value;

use super::Refusal;
use crate::{
    Body, CalledTool, HostContext, ToolDefinition,
    composite::{self, Catalog, ToolHashes},
    inherited,
    run::render,
};

/// How long bash may read.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Runs `bash -n`.
///
/// bash reads the text and runs nothing of it (`-n`), in the host's directory and under its
/// policies. A command is read with its variables in place, as it will run.
///
/// # Errors
///
/// [`Refusal::Syntax`] with what bash says and its lines; [`Refusal::NoBash`] where it could not be
/// started, or did not end in 10 s.
pub(super) async fn check(
    def: &ToolDefinition,
    env: &ExecEnv,
    host: &HostContext,
) -> Result<(), Refusal> {
    let text = match &def.body {
        Body::Command(text) => match render(text, |name| def.is_parameter(name)) {
            Ok(rendered) => rendered.text,
            Err(fault) => {
                return Err(Refusal::Syntax { message: format!("{}; {}", fault.what, fault.help) });
            }
        },
        other => other.text().unwrap_or_default().to_owned(),
    };
    let spec = Spec::new("bash")
        .class(Class::EVOLVE)
        // Behind `--` no text is an option, such as `+n`, which would have it run.
        .args(["-n", "-c", "--", &text, &def.name])
        .env(inherited(&host.env))
        .working_dir(&host.working_dir)
        .deadline(MAX_TIME)
        .merge_stderr();
    let outcome = env.run(spec).await.map_err(|err| Refusal::NoBash { why: chain(&err) })?;
    match outcome.ending {
        Ending::Exited(Exit::Code(0)) => Ok(()),
        Ending::Exited(exit) => {
            let said = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
            let message = match exit {
                // A text that nests too deep takes more stack than bash has.
                Exit::Signal(signal) => format!(
                    "{said}it was ended by {signal} while it read the text: write fewer parts within each other"
                ),
                _ => said,
            };
            Err(Refusal::Syntax { message })
        }
        _ => Err(Refusal::NoBash {
            why: format!("it did not come to an end within {} s", MAX_TIME.as_secs()),
        }),
    }
}

/// What is known of the steps of a composite.
pub(super) struct Steps {
    /// The run-time tools that they call.
    pub(super) tools: ToolHashes,
    /// All tools that they call.
    pub(super) calls: Vec<CalledTool>,
    /// What a reader should know.
    pub(super) notes: Vec<String>,
}

/// Compares the steps of a composite with the tools that are registered.
///
/// The notes say what the steps make of the composite, so that the person sees what the host will
/// decide by.
///
/// # Errors
///
/// [`Refusal::Steps`] with every fault and its place.
pub(super) fn steps(
    def: &ToolDefinition,
    value: &Value,
    registry: &Registry,
) -> Result<Steps, Refusal> {
    let catalog = Catalog::new(registry.snapshot()).with(def);
    // It was read without a fault before.
    let composite =
        composite::read(value).map_err(|_| Refusal::Invalid { findings: Vec::new() })?;
    let checked = composite::check(def, &composite, &catalog);
    let (derived, mut notes) = checked.map_err(|faults| Refusal::Steps { faults })?;
    notes.push(format!(
        "derived from its steps: read_only {}, concurrency_safe {}, destructive {}, open_world {}",
        derived.read_only,
        derived.concurrency_safe,
        derived.destructive.map_or("undeclared, so true", |it| if it { "true" } else { "false" }),
        derived.open_world.map_or("undeclared, so true", |it| if it { "true" } else { "false" }),
    ));
    Ok(Steps { tools: catalog.hashes(&composite), calls: catalog.called(&composite), notes })
}
