//! Whether the tools of a store still end in tools that call no others.
//!
//! A proposal is compared with the tools that its own steps call. That is not enough where a definition takes the place of
//! another one: composites that call it become part of the question, and so does what a rollback brings back. So each change
//! of a current definition is compared with all composites that are there.

use std::collections::BTreeSet;

use super::{Refusal, ToolBuilder};
use crate::{
    Body, MAX_COMPOSITE_DEPTH, StepFault, ToolDefinition, Version,
    composite::{Calls, Composite, composite_of, cycle},
};

impl ToolBuilder {
    /// As [`check_graph`](Self::check_graph), with what the store has now.
    pub(super) async fn check_graph_now(&self, definition: &ToolDefinition) -> Result<(), Refusal> {
        let loaded = self.blocking(|store| store.load()).await?;
        self.check_graph(definition, &loaded.active)
    }

    /// Refuses a definition with which tools would call each other, or be more than [`MAX_COMPOSITE_DEPTH`] above each other.
    /// `active` is what the store has.
    ///
    /// # Errors
    ///
    /// [`Refusal::Steps`].
    pub(super) fn check_graph(
        &self,
        definition: &ToolDefinition,
        active: &[Version],
    ) -> Result<(), Refusal> {
        // Nothing is below any other tool.
        let Body::Composite(_) = definition.body else { return Ok(()) };
        let snapshot = self.inner.registry.snapshot();
        // A step may name a tool by an alias.
        let named = |tool: &str| {
            let found = snapshot.get(tool);
            found.map_or_else(|| tool.to_owned(), |it| it.tool().name().to_owned())
        };
        let called = |it: &Composite| it.tools().map(named).collect::<Vec<String>>();
        let others = snapshot.iter().filter(|it| it.owner() != &self.inner.owner);
        let composites = others.filter_map(|it| composite_of(&**it.tool()));
        let mut calls: Calls =
            composites.map(|it| (it.definition().name.clone(), called(it.composite()))).collect();
        let own = active.iter().map(|it| &it.definition);
        let own = own.filter(|it| it.name != definition.name).chain([definition]);
        calls.extend(own.filter_map(|it| Some((it.name.clone(), called(&Composite::of(it)?)))));
        let fault = |what: String, help: &str| StepFault {
            pointer: "/composite/steps".to_owned(),
            what,
            help: help.to_owned(),
        };
        let fault = match cycle(&calls, &definition.name) {
            Some(path) => fault(
                format!("the tools call each other: {}", path.join(" -> ")),
                "change or archive one of the other tools first",
            ),
            None if depth(&calls, &definition.name) > MAX_COMPOSITE_DEPTH => fault(
                format!("composite tools call each other more than {MAX_COMPOSITE_DEPTH} deep"),
                "write the steps of the inner tools into the outer ones first",
            ),
            None => return Ok(()),
        };
        Err(Refusal::Steps { faults: vec![fault] })
    }
}

/// How many composites are above each other on the longest way over a tool, up to one more than may be.
fn depth(calls: &Calls, name: &str) -> usize {
    let below = levels(name, |at| {
        let called = calls.get(at).into_iter().flatten().map(String::as_str);
        called.filter(|it| calls.contains_key(*it)).collect()
    });
    let above = levels(name, |at| {
        let callers = calls.iter().filter(|(_, tools)| tools.iter().any(|it| it == at));
        callers.map(|it| it.0.as_str()).collect()
    });
    // The tool itself is in both.
    below + above - 1
}

/// How many steps the longest way from a tool has, that one included.
fn levels<'a>(name: &'a str, next: impl Fn(&str) -> Vec<&'a str>) -> usize {
    let mut level = BTreeSet::from([name]);
    let mut res = 0;
    // A cycle elsewhere has ways without end.
    while !level.is_empty() && res <= MAX_COMPOSITE_DEPTH {
        res += 1;
        level = level.into_iter().flat_map(&next).collect();
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(edges: &[(&str, &str)]) -> Calls {
        let mut res = Calls::new();
        for (from, to) in edges {
            res.entry((*from).to_owned()).or_default().push((*to).to_owned());
        }
        res
    }

    #[test]
    fn the_depth_is_that_of_the_longest_way() {
        let calls = calls(&[("a", "b"), ("b", "c"), ("b", "leaf"), ("c", "leaf"), ("x", "x")]);
        let depths = ["a", "b", "c", "x"].map(|it| depth(&calls, it));
        assert_eq!(depths[..3], [3, 3, 3]);
        assert!(depths[3] > MAX_COMPOSITE_DEPTH);
    }
}
