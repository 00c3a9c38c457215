//! What the rules say of a call, for people.

use flyto_host::permission::{Caller, Decision, Verdict};

use crate::words::tame;

/// The row of a plan: the verdict, and each part of the call that decided it. Empty where every part is allowed by a
/// default, which is nothing to be told.
pub(crate) fn facts(decision: &Decision, caller: Caller) -> Vec<(&'static str, String)> {
    let text = match (decision.verdict, caller) {
        // Each line begins with the verdict.
        (Verdict::Ask, Caller::Operator) => {
            format!("{decision}\na call by name is the operator's yes")
        }
        _ => decision.to_string(),
    };
    vec![("permission", tame(&text))]
}
