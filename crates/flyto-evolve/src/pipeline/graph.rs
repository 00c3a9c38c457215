//! Whether the tools of a store still end in tools that call no others.
//!
//! A proposal is compared with the tools that its own steps call. That is not enough where a definition takes the place of
//! another one: composites that call it become part of the question, and so does what a rollback brings back. So each change
//! of a current definition is compared with all composites that are there.

use super::{Refusal, ToolBuilder};
use crate::{
    Body, MAX_COMPOSITE_DEPTH, StepFault, ToolDefinition, Version,
    composite::{Calls, Composite, ToolHashes, changed, composite_of, cycle, depth},
};

impl ToolBuilder {
    /// As [`check_graph`](Self::check_graph), with what the store has now. `shown` are the tools below it that a person was shown,
    /// where one was.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotApproved`] where they are not those that it would call: what was shown is not what would run.
    pub(super) async fn check_graph_now(
        &self,
        definition: &ToolDefinition,
        shown: Option<&ToolHashes>,
    ) -> Result<(), Refusal> {
        let loaded = self.blocking(|store| store.load()).await?;
        self.check_graph(definition, &loaded.active)?;
        let (Some(shown), Some(composite)) = (shown, Composite::of(definition)) else {
            return Ok(());
        };
        let changed = changed(shown, &loaded.hashes(&composite));
        if changed.is_empty() {
            return Ok(());
        }
        let unsaved: Vec<&str> =
            changed.iter().map(String::as_str).filter(|it| self.is_once(it)).collect();
        if !unsaved.is_empty() {
            let why = format!(
                "it calls tools that are there for this session only ({}); have them saved first, then propose it again",
                unsaved.join(", ")
            );
            return Err(Refusal::NotApproved { why });
        }
        let why = format!(
            "tools that it calls changed while the question was open ({}); propose it again to be asked with them",
            changed.join(", ")
        );
        Err(Refusal::NotApproved { why })
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
