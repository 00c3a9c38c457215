//! Rules of permission that name no tool.

use std::collections::BTreeSet;

use crate::{Host, permission::Rule};

impl Host {
    /// Rules that ask or deny by the name or class of a tool, where no tool of the host and no plugin that was found has
    /// it: probably a slip of the pen. A rule for tools of a server is none of them, as the server may not be connected.
    #[must_use]
    pub fn unmatched_rules(&self) -> Vec<Rule> {
        let (tools, report) = (self.registry().snapshot(), self.report());
        let mut classes = BTreeSet::new();
        let found = report.catalogue.found.iter().filter_map(|it| it.name.as_deref());
        let plugins: Vec<_> = found.map(|it| format!("{it}:")).collect();
        let mut names: BTreeSet<&str> = plugins.iter().map(String::as_str).collect();
        for entry in tools.iter() {
            let metadata = entry.tool().metadata();
            names.extend([entry.id().as_str(), entry.wire_name()]);
            names.extend(metadata.aliases.iter().map(String::as_str));
            classes.insert(metadata.permission_class.as_str());
        }
        self.shared.gate.unmatched(&names, &classes)
    }
}
