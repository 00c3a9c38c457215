//! Whether a call may run: the rules that a host holds, and the decision about one call.
//!
//! The types of `flyto-permission` are here too, so that a host developer names one crate.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Mutex, PoisonError, RwLock},
};

use flyto_execenv::{Profile, ProfilePlaces};
pub use flyto_permission::{
    Cause, ClassTrust, Danger, DangerKind, Decision, Layer, Place, Reason, Request, Rule,
    RuleError, Rules, Standing, Subject, Verdict,
};
use flyto_plugin::Invocation;
use flyto_tools::Origin;

pub use crate::config::Permissions;
use crate::{
    config::Config,
    places::Surroundings,
    plugin_rules::{PluginRules, Unreadable},
    prepared::Prepared,
};

/// On whose behalf a host makes calls. It decides what becomes of a call that the rules want to be asked first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Caller {
    /// A model: a handler is asked, and without a handler the call is refused.
    #[default]
    Agent,
    /// The operator, by the name of the tool: the call is its own answer. A rule that denies and a checkpoint
    /// stop it all the same. Calls that a tool makes of others are those of an agent.
    Operator,
}

/// What a host decides by.
#[derive(Debug)]
pub(crate) struct Gate {
    rules: RwLock<Rules>,
    /// What the rules are made of. Held by the call that adds to them.
    permissions: Mutex<Permissions>,
    surroundings: Surroundings,
    /// The current directory, unless it is too wide to be a place of work.
    root: Option<PathBuf>,
    /// What plugins have asked or denied of their own tools.
    of_plugins: PluginRules,
    /// The plugins that the operator named.
    named: std::collections::HashSet<String>,
}

impl Gate {
    pub(crate) fn new(config: &Config, surroundings: &Surroundings) -> Self {
        let dir = &surroundings.current_dir;
        let mut places = ProfilePlaces::new(dir).environment(&surroundings.env);
        if let Some(home) = surroundings.home() {
            places = places.home(home);
        }
        let root = Profile::Workspace.exposed(&places).is_none().then(|| dir.clone());
        let permissions = config.permissions.clone();
        let listed = config.plugins.allowed_plugins.iter();
        let listed = listed.filter(|it| !config.unnamed_plugins.contains(*it));
        Self {
            rules: RwLock::new(permissions.rules(root.as_deref())),
            permissions: Mutex::new(permissions),
            surroundings: surroundings.clone(),
            root,
            of_plugins: PluginRules::default(),
            named: listed.chain(config.plugins.grants.keys()).cloned().collect(),
        }
    }

    pub(crate) fn decide(&self, call: &Prepared) -> Decision {
        let (entry, surroundings) = (call.entry(), &self.surroundings);
        let metadata = entry.tool().metadata();
        let trust = match &metadata.origin {
            Origin::Native | Origin::ExecFile { .. } => ClassTrust::Named,
            Origin::Plugin { plugin } if self.named.contains(plugin) => ClassTrust::Named,
            _ => ClassTrust::Unnamed,
        };
        let mut request = Request::new(entry.id())
            .aliases(&metadata.aliases)
            .wire_name(entry.wire_name())
            .of_server(matches!(metadata.origin, Origin::McpServer { .. }))
            .class(&metadata.permission_class)
            .class_trust(trust)
            .input(call.input().value())
            .preview(call.preview())
            .working_dir(&surroundings.current_dir);
        let invocation = call.plugin_tool().map(|it| &it.definition().invocation);
        let is_fixed = match &metadata.origin {
            // A person approved the text, and inputs reach it as variables.
            Origin::Evolved { .. } => true,
            // Of a template, words come from the input.
            _ => invocation.is_some_and(|it| !matches!(it, Invocation::Template(_))),
        };
        request = request.fixed(is_fixed);
        if let Some(home) = surroundings.home() {
            request = request.home(home);
        }
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner).clone();
        let of_plugin = call.plugin_rules();
        match of_plugin.map_or(Ok(None), |(plugin, texts)| self.of_plugins.of(plugin, texts)) {
            Ok(None) => rules.decide(&request),
            Ok(Some(own)) => rules.narrowed_by(&own).decide(&request),
            // Without any rule and any trust it is asked; a rule of the operator may deny it.
            Err(Unreadable) => {
                let decision = rules.decide(&request);
                match decision.verdict {
                    Verdict::Deny => decision,
                    _ => Rules::default().decide(&request.class_trust(ClassTrust::Unnamed)),
                }
            }
        }
    }

    /// See [`Host::unmatched_rules`].
    pub(crate) fn unmatched(&self, names: &BTreeSet<&str>, classes: &BTreeSet<&str>) -> Vec<Rule> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner).clone();
        rules.unmatched(names, classes).cloned().collect()
    }

    /// Holds these rules from now on, as the operator's, until the host ends. A text that is no rule is left out.
    pub(crate) fn allow(&self, rules: &[String]) {
        let mut permissions = self.permissions.lock().unwrap_or_else(PoisonError::into_inner);
        for rule in rules {
            let place = Place::new("an answer to this host", 0, 0, "");
            let _ = permissions.add(Layer::Operator, Verdict::Allow, rule, place);
        }
        let rules = permissions.rules(self.root.as_deref());
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }
}
