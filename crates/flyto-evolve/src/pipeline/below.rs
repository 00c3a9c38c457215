//! What changed in the tools below a composite since a person last saw them.
//!
//! An approval of a composite holds for the texts of the run-time tools that its steps call as well. Where one of them has
//! another text by now, the text of the composite alone does not tell what an answer would approve.

use std::collections::BTreeMap;

use super::{Proposal, Refusal, ToolBuilder};
use crate::{
    DefinitionHash, Store, StoreError, ToolChange, ToolDefinition, Version,
    composite::{ToolHashes, changed, definition_of},
    diff,
};

/// Since when a tool has another text, and the hash that it had then.
type Since = (String, Option<DefinitionHash>);

impl ToolBuilder {
    /// The tools below a proposal that are others than when it began to wait, or than those that were approved with the last
    /// version, in the order of their names. What was approved is told where both differ: a person saw it.
    pub(super) async fn tool_changes(
        &self,
        proposal: &Proposal,
        definition: &ToolDefinition,
        last: Option<&Version>,
        tools: &ToolHashes,
    ) -> Result<Vec<ToolChange>, Refusal> {
        let mut found: BTreeMap<String, Since> = BTreeMap::new();
        if let Some(before) = &proposal.tools_before {
            let proposed = |name: String| {
                let since = ("it was proposed".to_owned(), before.get(&name).copied());
                (name, since)
            };
            found.extend(changed(before, tools).into_iter().map(proposed));
        }
        if let Some((last, approval)) = last.and_then(|it| Some((it, it.approval.as_ref()?))) {
            // Another text may call other tools, which its own difference shows.
            let is_same = last.hash() == definition.hash();
            let is_in_both = |name: &String| {
                is_same || (approval.tools.contains_key(name) && tools.contains_key(name))
            };
            let approved = |name: String| {
                let since = format!("version {} was approved", last.number);
                let former = approval.tools.get(&name).copied();
                (name, (since, former))
            };
            let names = changed(&approval.tools, tools).into_iter();
            found.extend(names.filter(is_in_both).map(approved));
        }
        let registered = self.inner.registry.snapshot();
        let mut res = Vec::new();
        for (name, (since, former)) in found {
            let now = registered.get(&name).and_then(|it| definition_of(&**it.tool()).cloned());
            let now = now.filter(|_| tools.contains_key(&name));
            let before = match former {
                Some(hash) if now.is_some() => {
                    let name = name.clone();
                    self.blocking(move |store| text_of(store, &name, hash)).await?
                }
                _ => None,
            };
            let diff = now.as_ref().map(|now| diff(before.as_ref(), now)).unwrap_or_default();
            let (is_gone, is_whole) = (now.is_none(), now.is_some() && before.is_none());
            res.push(ToolChange { name, since, is_gone, is_whole, diff });
        }
        Ok(res)
    }
}

/// The text of a tool that has this hash, where the store has a version with it.
fn text_of(
    store: &Store,
    name: &str,
    hash: DefinitionHash,
) -> Result<Option<ToolDefinition>, StoreError> {
    let history = match store.history(name) {
        Ok(history) => history,
        Err(StoreError::NotFound { .. } | StoreError::InvalidName { .. }) => return Ok(None),
        Err(err) => return Err(err),
    };
    let found = history.into_iter().rev().find(|it| it.hash() == hash);
    Ok(found.map(|it| it.definition))
}
