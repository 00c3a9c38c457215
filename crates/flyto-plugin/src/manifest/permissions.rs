//! The rules of permission that a plugin has for its own tools: the key `permissions`.
//!
//! A rule that is not read would not hold, so any mistake costs the plugin: a key that is unknown or
//! nearly `permissions`, a text that is no rule, and rules in a program that decides no calls by them.

use std::sync::Arc;

use flyto_diagnostics::{
    At, Diagnostic, Location, ObjectReader, Reported, Span, closest, codes::UNKNOWN_KEY, quoted,
};

use super::place::Place;
use crate::{
    codes,
    place::about_key,
    rules::{PluginRule, RuleEffect, RuleFault},
};

/// The key, in each format that has it.
pub(super) const KEY: &str = "permissions";

/// The most rules of one plugin: 256. A decision about a call of the plugin compares the call with each that
/// names no tool, command or directory.
pub(crate) const MAX_RULES: usize = 256;

/// The longest rule in bytes.
pub(crate) const MAX_RULE_BYTES: usize = 4096;

/// Why a mistake is an error.
const NOT_READ: &str = "a rule that is not read would not hold";

/// Reads `permissions` of the object that has `tools`. `name` is that of the plugin, where it could be read;
/// `n_tools` is how many entries `tools` has.
///
/// # Errors
///
/// [`Reported`] for anything in it that is not a rule that asks or denies, for a misspelt key, for more than
/// [`MAX_RULES`], and where the [options](crate::LoadOptions::rules) have nothing that reads rules.
pub(super) fn read(
    outer: &mut ObjectReader<'_, '_>,
    name: Option<&str>,
    n_tools: usize,
    place: Place<'_>,
) -> Result<Arc<[PluginRule]>, Reported> {
    let misspelt = misspelt(outer);
    let section = outer.optional_object(KEY)?;
    if let Some(reported) = misspelt {
        return Err(reported);
    }
    let Some(at) = section else { return Ok(Arc::default()) };
    let Some(check) = place.options.rules else {
        let what = "the plugin has rules of permission, and this program decides no call by rules";
        let diag = at.error(codes::PLUGIN_RULE, what).with_reason(NOT_READ);
        return Err(outer.push(diag.with_help("use the plugin with a host that does")));
    };
    let mut reader = ObjectReader::new(at, outer.findings())?;
    let allow = refuse_allow(&mut reader);
    let mut rules = Vec::new();
    let mut res = Ok(());
    for (key, effect) in [("ask", RuleEffect::Ask), ("deny", RuleEffect::Deny)] {
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
            let fault = match name {
                _ if text.len() > MAX_RULE_BYTES => {
                    let why = format!("it is longer than {MAX_RULE_BYTES} bytes");
                    Some(RuleFault::new(why, 0..text.len()))
                }
                // The name has its own finding, which costs the plugin.
                None => None,
                Some(name) => check(name, text).err(),
            };
            if let Some(fault) = fault {
                res = Err(reader.push(refused(at, text, &fault)));
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
    if n_tools == 0 && !rules.is_empty() {
        let what = "the rules hold for the tools of \"tools\", and there is none";
        let diag = at.error(codes::PLUGIN_RULE, what).with_reason(NOT_READ);
        let help = "rules for the tools of a server stand in the operator's configuration";
        return Err(outer.push(diag.with_help(help)));
    }
    Ok(rules.into())
}

/// Refuses the key where it does not belong: in a tool, and at the top of a format that has it elsewhere.
///
/// # Errors
///
/// [`Reported`] where it is there.
pub(super) fn refuse(reader: &mut ObjectReader<'_, '_>, help: &str) -> Result<(), Reported> {
    if !reader.is_present(KEY) {
        return Ok(());
    }
    reader.allow(KEY);
    let diag = reader.at(KEY).error(codes::MISPLACED, "\"permissions\" has no place here");
    Err(reader.push(diag.with_reason(NOT_READ).with_help(help)))
}

/// Refuses keys that are nearly the right one. Elsewhere in a manifest such a key is a warning.
pub(super) fn misspelt(reader: &mut ObjectReader<'_, '_>) -> Option<Reported> {
    let mut res = None;
    let root = reader.at("");
    for member in root.value().as_object().unwrap_or_default() {
        let key = &member.key;
        if *key.value != *KEY && closest(&key.value, [KEY]).is_some() {
            let what = format!("the key {} is unknown", quoted(&key.value));
            let diag = about_key(root, &key.value, UNKNOWN_KEY, what).with_reason(NOT_READ);
            let diag = diag.with_help(format!("write {}", quoted(KEY)));
            reader.allow(&key.value);
            res = Some(reader.push(diag.with_suggestion(key.span, quoted(KEY))));
        }
    }
    res
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
    const MAX_SHOWN: usize = 256;
    let shown = quoted(&text[..text.floor_char_boundary(MAX_SHOWN)]);
    let mut diag = at.error(codes::PLUGIN_RULE, format!("{shown} is no rule: {}", fault.why));
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
