//! `permission`: what the rules say of a call that is not made.

use flyto_host::permission::{Decision, Verdict};
use flyto_host::stages::Checkpoint;
use flyto_tools::{CallContext, Violation};
use serde::Serialize;

use crate::advice;
use crate::args::PermissionTest;
use crate::call::{corrections, input, not_tried};
use crate::exit::{Ending, Exit};
use crate::session::{Backend, Session};
use crate::stop::Stop;
use crate::words::tame;

#[derive(Serialize)]
struct Document<'a> {
    tool: &'a str,
    #[serde(flatten)]
    decision: &'a Decision,
    /// Rules that would allow the call, and nothing wider.
    allowed_by: Vec<&'a str>,
    /// Rules that would release the call, where the tool needs a checkpoint that no rule answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Checkpointed<'a>>,
    /// Where the input breaks the schema; the first of such places.
    violations: &'a [Violation],
}

#[derive(Serialize)]
struct Checkpointed<'a> {
    released_by: &'a [String],
}

/// `permission test`: decides as for a model, and calls nothing.
///
/// An input that breaks the schema of the tool is told beside the decision, which it does not change: such a call
/// ends before the rules are asked, and the exit code is that of the decision. A checkpoint that no rule answers counts
/// as a question.
pub(super) fn test(args: &PermissionTest, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Unused)?;
    let entry = loaded.find(&args.name)?;
    let input = input::input(&args.input, std::io::stdin().lock())?;
    let call = loaded.host.prepare_entry(entry, input);
    let decision = call.outline().decision.expect("the host has the stage `permission`");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let plan = runtime.map_err(not_tried)?.block_on(call.plan(&CallContext::new()));
    let violations = plan.as_ref().ok().and_then(|it| it.violations.as_ref());
    let released_by = Checkpoint::needs_release(&call).then(|| Checkpoint::released_by(&call));
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Document {
            tool: call.id().as_str(),
            decision: &decision,
            allowed_by: decision.suggested_rules(),
            checkpoint: released_by.as_deref().map(|released_by| Checkpointed { released_by }),
            violations: violations.map_or(&[], |it| &it.shown),
        })?;
    } else {
        let mut text = format!("{}\n", tame(&decision.to_string()));
        if let Some(rules) = &released_by {
            let rules = if rules.is_empty() { "no rule".to_owned() } else { rules.join(", ") };
            let rules = tame(&rules);
            text.push_str(&format!("ask: the tool needs a checkpoint; to release it: {rules}\n"));
        }
        if let Some(violations) = violations {
            let broken = tame(&violations.to_string());
            text.push_str(&format!("the input breaks the schema of the tool: {broken}\n"));
        }
        screen.answer(text)?;
        if violations.is_some() {
            let schema = call.entry().tool().input_schema();
            corrections(&args.input.pairs, schema).iter().for_each(|it| screen.note(it));
        }
        for remark in loaded.config_remarks() {
            screen.note(remark);
        }
    }
    // A schema that cannot be used: no rule is part of that, so it is told last.
    plan.map_err(|err| advice::not_called(&loaded, &call, err))?;
    let is_allowed = decision.verdict == Verdict::Allow && released_by.is_none();
    Ok(Exit::of(&Ending::Decided { is_allowed }))
}
