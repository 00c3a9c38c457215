//! `permission`: what the rules say of a call that is not made.

use flyto_host::permission::{Decision, Verdict};
use serde::Serialize;

use crate::args::PermissionTest;
use crate::call::input;
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
}

/// `permission test`: decides as for a model, and calls nothing.
pub(super) fn test(args: &PermissionTest, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load(None, Backend::Unused)?;
    let entry = loaded.find(&args.name)?;
    let input = input::input(&args.input, std::io::stdin().lock())?;
    let call = loaded.host.prepare_entry(entry, input);
    let decision = call.decision();
    let screen = session.screen;
    if screen.is_json() {
        let allowed_by = decision.suggested_rules();
        screen.document(&Document { tool: call.id().as_str(), decision: &decision, allowed_by })?;
    } else {
        screen.answer(format!("{}\n", tame(&decision.to_string())))?;
        if let Some(remark) = loaded.config_remark() {
            screen.note(remark);
        }
    }
    let is_allowed = decision.verdict == Verdict::Allow;
    Ok(Exit::of(&Ending::Decided { is_allowed }))
}
