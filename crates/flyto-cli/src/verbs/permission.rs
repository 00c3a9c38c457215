//! `permission`: what the rules say of a call that is not made.

use flyto_host::permission::{Decision, Verdict};
use flyto_tools::{CallContext, Violation};
use serde::Serialize;

use crate::advice;
use crate::args::PermissionTest;
use crate::call::{input, not_tried};
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
    /// Where the input breaks the schema; the first of such places.
    violations: &'a [Violation],
}

/// `permission test`: decides as for a model, and calls nothing.
///
/// An input that breaks the schema of the tool is told beside the decision, which it does not change: such a call
/// ends before the rules are asked, and the exit code is that of the decision.
pub(super) fn test(args: &PermissionTest, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Unused)?;
    let entry = loaded.find(&args.name)?;
    let input = input::input(&args.input, std::io::stdin().lock())?;
    let call = loaded.host.prepare_entry(entry, input);
    let decision = call.decision();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let plan = runtime.map_err(not_tried)?.block_on(call.plan(&CallContext::new()));
    let violations = plan.as_ref().ok().and_then(|it| it.violations.as_ref());
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Document {
            tool: call.id().as_str(),
            decision: &decision,
            allowed_by: decision.suggested_rules(),
            violations: violations.map_or(&[], |it| &it.shown),
        })?;
    } else {
        let mut text = format!("{}\n", tame(&decision.to_string()));
        if let Some(violations) = violations {
            let broken = tame(&violations.to_string());
            text.push_str(&format!("the input breaks the schema of the tool: {broken}\n"));
        }
        screen.answer(text)?;
        if let Some(remark) = loaded.config_remark() {
            screen.note(remark);
        }
    }
    // A schema that cannot be used: no rule is part of that, so it is told last.
    plan.map_err(|err| advice::not_called(&loaded, &call, err))?;
    let is_allowed = decision.verdict == Verdict::Allow;
    Ok(Exit::of(&Ending::Decided { is_allowed }))
}
