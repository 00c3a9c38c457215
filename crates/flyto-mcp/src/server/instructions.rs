//! What a model is told of the server as a whole.
//!
//! A client with many servers shows its model no tools at first, only these texts; what a model does not find in here, it does not
//! search for. So it names the plugins, as far as there is room.

use std::collections::BTreeMap;

use super::Shared;

/// Most bytes: clients cut longer instructions at 2 KB.
const MAX_BYTES: usize = 2000;
/// What stands for every tool, the facts that matter most first.
const FACTS: &str = "\
Tools here run programs on the user's machine, each with a schema, a deadline and an end of everything that it started. \
A tool of a plugin is named PLUGIN__TOOL. \
A call that the user has not allowed is asked first or refused; a refusal says which rule would allow it: tell the user, \
and do not try the same by other means. \
An output that is too long has its middle cut out, and names the file that holds the whole. \
Arguments that break a tool's schema come back with the place of each mistake.";

/// What stands behind that where calls may go on by themselves. A client asks for this text first, and keeps it: servers may not
/// be connected to yet.
const JOBS: &str = " A call that takes minutes: start it with jobs__start, then ask jobs__result.";

/// What stands before that where tools are searched for.
const DISCOVERY: &str = "\
Find tools for a task with search_tools, then call them with call_tool. ";

impl Shared {
    /// The instructions: facts about every tool, then which plugins there are. At most 2,000 bytes.
    pub(crate) fn instructions(&self) -> String {
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        let tools = self.host.registry().snapshot();
        for entry in tools.iter() {
            if let Some(owner) = entry.id().owner() {
                *owners.entry(owner.to_owned()).or_default() += 1;
            }
        }
        let mut res = FACTS.to_owned();
        if self.will_have_job_tools(&tools) {
            res.push_str(JOBS);
        }
        if self.options.discovery {
            res.insert_str(0, DISCOVERY);
        }
        for (i, (owner, n_tools)) in owners.iter().enumerate() {
            let next = format!(
                "{} {owner} ({n_tools})",
                if i == 0 { "\nPlugins, each with its number of tools:" } else { "," }
            );
            let more = format!(", and {} more", owners.len() - i);
            if res.len() + next.len() + more.len() > MAX_BYTES {
                res.push_str(&more);
                break;
            }
            res.push_str(&next);
        }
        res
    }
}
