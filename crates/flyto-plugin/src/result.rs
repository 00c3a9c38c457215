//! What came of a program, in the words of a result.
//!
//! The texts are part of the contract with models and hosts: the table at
//! [`PluginTool`](crate::PluginTool) lists them.

use flyto_execenv::{Ending, ExecError, WordsTooLong};
use flyto_program::{Ran, Text, chain};
use flyto_tools::{Content, Failure, ToolError, ToolErrorKind, ToolResult, json_value};

use crate::{environment::Unresolved, manifest::ToolDef};

/// The result of the tool `name` whose declared variables have no values.
///
/// Nothing was started.
///
/// # Errors
///
/// A value is longer than any start takes, so that no call of the tool can be tried.
pub(crate) fn unresolved(name: &str, err: &Unresolved) -> Result<ToolResult, ToolError> {
    let what = format!("plugin tool {name:?}: resolve env failed");
    match err {
        Unresolved::Missing { .. } => {
            let failure = Failure::Environment { missing: err.names() };
            Ok(ToolResult::failed(failure, format!("{what}: {err}")))
        }
        Unresolved::TooLong(_) => {
            Err(ToolError::new(ToolErrorKind::NotStartable, what).with_source(err.clone()))
        }
    }
}

/// Whether a program did not start because its variables are too long.
pub(crate) fn blames_variables(err: &ExecError) -> bool {
    WordsTooLong::of(err).is_some_and(WordsTooLong::blames_variables)
}

/// The result of the tool `name` whose program was started and lost sight of.
///
/// Nothing is known about its end: what it started may still run.
pub(crate) fn lost(name: &str, err: &ExecError) -> ToolResult {
    let text = format!("plugin tool {name:?} lost: {}", chain(err));
    ToolResult::failed(Failure::Lost, text)
}

/// What a tool declares of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declares {
    /// Nothing: it is a text.
    Text,
    /// An output schema, so that it has to be one JSON value.
    Json,
    /// Blocks, as [`ToolDef::blocks`] has them.
    Blocks,
}

impl Declares {
    pub(crate) fn of(def: &ToolDef) -> Self {
        match (&def.output_schema, def.blocks) {
            (Some(_), _) => Self::Json,
            (None, true) => Self::Blocks,
            (None, false) => Self::Text,
        }
    }
}

/// The result of the tool `name`.
///
/// `declares` is what stdout has to be. Every result says how the program was run; stdout stands in that part where the text
/// has no place for it.
pub(crate) fn of(name: &str, ran: &Ran, declares: Declares) -> ToolResult {
    let stdout = ran.stdout();
    let ended_early = matches!(ran.outcome.ending, Ending::TimedOut | Ending::Cancelled);
    // The texts for these have no place for stdout.
    let kept = Some(stdout.text.clone()).filter(|it| ended_early && !it.is_empty());
    let mut res = match (ran.outcome.ending, ran.failure()) {
        (_, None) if declares == Declares::Json => with_data(name, stdout),
        (_, None) if declares == Declares::Blocks => {
            ran.content().map_or_else(from_stdout, ToolResult::content)
        }
        (_, None) => from_stdout(stdout),
        (Ending::TimedOut, Some(failure)) => {
            let text = format!("plugin tool {name:?} timed out after {}", ran.deadline_text());
            with_stderr(failure, text, ran)
        }
        (Ending::Cancelled, Some(failure)) => {
            let text = format!("plugin tool {name:?} cancelled after {}", ran.wall_text());
            with_stderr(failure, text, ran)
        }
        (Ending::LimitReached(limit), Some(failure)) => {
            let text = format!("plugin tool {name:?} reached its limit of {}", limit.name());
            match declares {
                // Half of an image is of no use.
                Declares::Blocks => with_stderr(failure, text, ran),
                _ => with_both(failure, text, ran),
            }
        }
        (_, Some(failure)) => {
            let content = (declares == Declares::Blocks).then(|| ran.content().ok());
            match content.flatten() {
                Some(content) => with_blocks(failure, content, ran),
                None => with_both(failure, ran.exit_text(), ran),
            }
        }
    };
    let mut execution = ran.execution();
    execution.stdout = kept;
    res.execution = Some(execution);
    res
}

/// Stdout as it is: untrimmed, with the bytes beside the text where they are no UTF-8.
fn from_stdout(stdout: Text) -> ToolResult {
    let mut res = ToolResult::text(stdout.text);
    res.raw = stdout.raw;
    res.omitted = stdout.omitted;
    res
}

/// The result of a program that promises JSON.
///
/// Output that outgrew the memory kept for it is no JSON, whatever its start looks like.
fn with_data(name: &str, stdout: Text) -> ToolResult {
    let read = if stdout.omitted.is_some() {
        Err("it is too long to be kept whole".to_owned())
    } else {
        json_value(&stdout.text).map_err(|err| err.to_string())
    };
    match read {
        Ok(data) => from_stdout(stdout).with_data(data),
        Err(why) => {
            let text =
                format!("plugin tool {name:?}: stdout is no JSON: {why}\nstdout: {}", stdout.text);
            let mut res = ToolResult::failed(Failure::BadOutput, text);
            res.raw = stdout.raw;
            res.omitted = stdout.omitted;
            res
        }
    }
}

/// A failure of a program that printed blocks all the same: base64 is of no use in its text.
fn with_blocks(failure: Failure, content: Content, ran: &Ran) -> ToolResult {
    let stderr = ran.failed_stderr();
    let mut res = ToolResult::content(content).with_failure(failure);
    res.output = format!("{}\nstdout: {}\nstderr: {}", ran.exit_text(), res.output, stderr.text);
    res.omitted = stderr.omitted;
    res
}

/// A failure whose text is one line and stderr.
fn with_stderr(failure: Failure, first: String, ran: &Ran) -> ToolResult {
    let stderr = ran.failed_stderr();
    let mut res = ToolResult::failed(failure, format!("{first}\nstderr: {}", stderr.text));
    // The text has no place for stdout; a file that holds it is named all the same. The one of stderr is named in the
    // text.
    res.omitted = ran.stdout().omitted.or(stderr.omitted);
    res
}

/// A failure whose text is one line, stdout and stderr.
fn with_both(failure: Failure, first: String, ran: &Ran) -> ToolResult {
    let (stdout, stderr) = (ran.failed_stdout(), ran.failed_stderr());
    let text = format!("{first}\nstdout: {}\nstderr: {}", stdout.text, stderr.text);
    let mut res = ToolResult::failed(failure, text);
    res.raw = stdout.raw;
    res.omitted = stdout.omitted.or(stderr.omitted);
    res
}
