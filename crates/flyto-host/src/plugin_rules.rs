//! The rules that plugins bring for their own tools, ready to decide.
//!
//! A tool has the rules of the plugin as they were when it was made, so a call that was prepared is decided by
//! those of the very tool that it runs: a reload changes the rules of the calls that are prepared later, and rules go
//! with the tools of a plugin that is gone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use flyto_permission::{Layer, OwnTools, Place, Rule, RuleError, Rules, Verdict};
use flyto_plugin::{NamedTools, PluginRule, RuleEffect, RuleFault};

/// Reads a rule of a plugin, for [`LoadOptions::rules`](flyto_plugin::LoadOptions::rules).
pub(crate) fn check(plugin: &str, text: &str) -> Result<Option<NamedTools>, RuleFault> {
    let own = Rule::check_of_plugin(plugin, text);
    let own = own.map_err(|RuleError { why, span, suggestion, .. }| {
        let fault = RuleFault::new(why, span);
        suggestion.into_iter().fold(fault, RuleFault::with_suggestion)
    })?;
    Ok(own.map(|OwnTools { server, name, is_prefix, .. }| {
        let named = match is_prefix {
            true => NamedTools::starting_with(name),
            false => NamedTools::one(name),
        };
        server.into_iter().fold(named, NamedTools::of_server)
    }))
}

/// The rules of each plugin, made when one of its calls is first decided.
///
/// Bounded by the plugins that have rules: those without a tool left go when the next ones are made.
#[derive(Debug, Default)]
pub(crate) struct PluginRules {
    /// By the name of the plugin.
    made: Mutex<HashMap<String, Made>>,
}

#[derive(Debug)]
struct Made {
    /// The texts that they were made of. Its memory is not used again while this is there, so the address tells
    /// them apart.
    of: Weak<[PluginRule]>,
    rules: Option<Rules>,
}

/// A text of a plugin that is no rule. Where the host loads the plugins, none has such a text.
#[derive(Debug)]
pub(crate) struct Unreadable;

impl PluginRules {
    /// The rules that hold for the tools of a plugin beside those of the host; `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`Unreadable`]
    pub(crate) fn of(
        &self,
        plugin: &str,
        texts: &Arc<[PluginRule]>,
    ) -> Result<Option<Rules>, Unreadable> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.get(plugin);
        let known = known.filter(|it| std::ptr::addr_eq(it.of.as_ptr(), Arc::as_ptr(texts)));
        let rules = match known {
            Some(it) => it.rules.clone(),
            None => {
                let rules = compile(plugin, texts).ok();
                made.retain(|_, it| it.of.strong_count() > 0);
                let new = Made { of: Arc::downgrade(texts), rules: rules.clone() };
                made.insert(plugin.to_owned(), new);
                rules
            }
        };
        rules.map(Some).ok_or(Unreadable)
    }
}

fn compile(plugin: &str, texts: &[PluginRule]) -> Result<Rules, RuleError> {
    let mut res = Rules::builder();
    for it in texts {
        let effect = match it.effect {
            RuleEffect::Ask => Verdict::Ask,
            RuleEffect::Deny => Verdict::Deny,
        };
        // A manifest has far fewer lines and columns.
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let place = Place::new(&it.file, number(it.line), number(it.column), &it.pointer);
        res.add(Layer::Plugin(plugin.to_owned()), effect, &it.text, place)?;
    }
    Ok(res.build())
}
