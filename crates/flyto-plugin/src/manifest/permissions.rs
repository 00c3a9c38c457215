//! The rules of permission that a plugin has for its own tools: the key `permissions`.
//!
//! A rule that is not read would not hold, so any mistake costs the plugin: a key that is unknown or
//! looks like one of rules (`rule_keys`), a text that is no rule, and rules in a program that decides no calls by them.
//! One that names no tool of the plugin is a warning (`rule_names`).

use std::sync::Arc;

use flyto_diagnostics::{
    At, Diagnostic, Location, ObjectReader, Reported, Span, codes::WRONG_TYPE, quoted,
};

use super::{
    place::Place,
    rule_keys::{self, KEY, NOT_READ},
    rule_names::{Declared, shown},
};
use crate::{
    codes,
    rules::{PluginRule, RuleEffect, RuleFault},
};

/// The most rules of one plugin: 256. A decision about a call of the plugin compares the call with each that
/// names no tool, command or directory.
pub(crate) const MAX_RULES: usize = 256;

/// The longest rule in bytes.
pub(crate) const MAX_RULE_BYTES: usize = 4096;

/// Reads `permissions` of the object that has `tools`, when every other key of it was asked for. `name` is that of the
/// plugin, where it could be read; `declared` gives what the plugin declares.
///
/// # Errors
///
/// [`Reported`] for anything in it that is not a rule that asks or denies, for a misspelt key, for more than
/// [`MAX_RULES`], and where the [options](crate::LoadOptions::rules) have nothing that reads rules.
pub(super) fn read<'v>(
    outer: &mut ObjectReader<'_, '_>,
    name: Option<&str>,
    declared: impl FnOnce() -> Declared<'v>,
    place: Place<'_>,
) -> Result<Arc<[PluginRule]>, Reported> {
    let section = outer.optional_object(KEY);
    rule_keys::refuse(outer, rule_keys::Standing::Head)?;
    let Some(at) = section? else { return Ok(Arc::default()) };
    let Some(check) = place.options.rules else {
        let what = "the plugin has rules of permission, and this program decides no call by rules";
        let diag = at.error(codes::PLUGIN_RULE, what).with_reason(NOT_READ);
        return Err(outer.push(diag.with_help("use the plugin with a host that does")));
    };
    let mut reader = ObjectReader::new(at, outer.findings())?;
    let allow = refuse_allow(&mut reader);
    let declared = declared();
    let mut rules = Vec::new();
    let mut res = Ok(());
    for (key, effect) in [("ask", RuleEffect::Ask), ("deny", RuleEffect::Deny)] {
        if let Some(at) = at.member(key).filter(|it| it.value().is_null()) {
            let what = format!("{} must be an array of strings, found null", quoted(key));
            let diag = at.error(WRONG_TYPE, what).with_reason(NOT_READ);
            let diag = diag.with_help("write `[]` for no rules, or remove the key");
            res = Err(reader.push(diag.with_suggestion(at.span(), "[]")));
        }
        match reader.optional_string_array(key) {
            Ok(Some(_)) => {}
            Ok(None) => continue,
            Err(reported) => {
                res = Err(reported);
                continue;
            }
        }
        for at in reader.at(key).items() {
            let Some(text) = at.value().as_str() else { continue };
            if rules.len() == MAX_RULES {
                let what = format!("the plugin has more than {MAX_RULES} rules");
                let diag = at.error(codes::PLUGIN_RULE, what).with_reason(NOT_READ);
                let help = "name several tools by one rule, as `NAME:*`";
                res = Err(reader.push(diag.with_help(help)));
                break;
            }
            // Without a name, that has a finding of its own, which costs the plugin.
            let read = match name {
                _ if text.len() > MAX_RULE_BYTES => {
                    let why = format!("it is longer than {MAX_RULE_BYTES} bytes");
                    Err(RuleFault::new(why, 0..text.len()))
                }
                None => Ok(None),
                Some(name) => check(name, text).map(|it| Some((name, it?))),
            };
            match read {
                Ok(Some((name, named))) => {
                    let suggests = !reader.findings().is_full();
                    let unmatched = declared.unmatched((name, at, text), &named, suggests);
                    unmatched.map(|it| reader.push(it));
                }
                Ok(None) => {}
                Err(fault) => res = Err(reader.push(refused(at, text, &fault))),
            }
            rules.push(rule(at, text, effect));
        }
    }
    reader.suggest_for("denied", "deny");
    reader.suggest_for("asks", "ask");
    let known = reader.refuse_unknown(NOT_READ);
    allow?;
    res?;
    known?;
    Ok(rules.into())
}

/// A plugin cannot allow anything, so that the key is no slip of a name.
fn refuse_allow(reader: &mut ObjectReader<'_, '_>) -> Result<(), Reported> {
    if !reader.is_present("allow") {
        return Ok(());
    }
    reader.allow("allow");
    let diag = reader.at("allow").error(codes::PLUGIN_RULE, "a plugin cannot allow its own calls");
    let diag = diag.with_reason(
        "what a plugin may do is the operator's to decide, and its rules only narrow that",
    );
    Err(reader.push(diag.with_help("remove it; write calls to be asked into \"ask\"")))
}

fn rule(at: At<'_>, text: &str, effect: RuleEffect) -> PluginRule {
    let location = at.location();
    let (line, column) = location.place().map_or((0, 0), |it| (it.line, it.column));
    PluginRule {
        effect,
        text: text.to_owned(),
        file: location.name().to_owned(),
        line,
        column,
        pointer: at.pointer().to_string(),
    }
}

/// Says what is wrong with a rule, and what to write.
fn refused(at: At<'_>, text: &str, fault: &RuleFault) -> Diagnostic {
    let what = format!("{} is no rule: {}", shown(text), fault.why);
    let mut diag = at.error(codes::PLUGIN_RULE, what);
    diag = diag.with_reason(NOT_READ);
    // The bytes of the rule are those of the file where nothing in it is escaped.
    let span = at.span();
    let inner = Span { start: span.start + 1, end: span.end.saturating_sub(1) };
    if at.source().slice(inner) == Some(text) {
        let part =
            Span { start: inner.start + fault.span.start, end: inner.start + fault.span.end };
        diag.location = Location::text(at.source(), part);
    }
    match &fault.suggestion {
        Some(rule) => {
            diag.with_help(format!("write {}", quoted(rule))).with_suggestion(span, quoted(rule))
        }
        None => diag.with_help("`flyto explain F0169` shows rules of a plugin"),
    }
}
