//! Whether the tools that a composite calls are those that were approved with it.
//!
//! An approval holds for a text and for the texts of the run-time tools that its steps call, those of a composite among them
//! included, down to the last. When one of them gets another text, a person has not seen what the composite would do: it needs
//! review, and is not run before it was approved again.
//! Tools of other owners are the host's to answer for, and are compared by what they declare.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use flyto_diagnostics::quoted;
use flyto_tools::{CallContext, Input, Registry, ToolError, ToolErrorKind, ToolResult};

use super::{Catalog, Composite, run::Run};
use crate::{CalledTool, DefinitionHash, Facts, Loaded, ToolDefinition, Version};

/// Run-time tools by name, each with the hash of its text.
pub(crate) type ToolHashes = BTreeMap<String, DefinitionHash>;

/// A composite that waits for a person, since tools that it calls are not those that were approved with it.
///
/// It stays registered and refuses its calls. [`Proposal::again`](crate::Proposal::again) asks the person.
///
/// ```
/// use flyto_evolve::NeedsReview;
///
/// fn told(it: &NeedsReview) -> String {
///     format!("{} needs review: {} changed", it.name, it.tools.join(", "))
/// }
/// # let _ = told;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct NeedsReview {
    /// The composite.
    pub name: String,
    /// By what an answer names it: its text with the tools that it calls now.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The tools of its steps, and those that composites among them call, that have another text now, were archived, or were not
    /// there when it was approved, and those that have another version than a step asks for, in the order of their names.
    pub tools: Vec<String>,
    /// Why no answer can approve it as it is, by [`Loaded::version_fault`].
    pub refused: Option<String>,
}

impl Catalog {
    /// The tools of the steps in their order, then those that composites among them call, by their names.
    ///
    /// Each is there once, with everything that calls it. A tool that is not there is left out: the
    /// [check](super::check) refuses the composite before a person sees it.
    pub(crate) fn called(&self, composite: &Composite) -> Vec<CalledTool> {
        let below = tools_below(composite, |it| self.composite_of(it));
        let mut names: Vec<&str> = Vec::new();
        for name in composite.tools().chain(below.iter().map(String::as_str)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut res: Vec<CalledTool> =
            names.into_iter().filter_map(|it| self.called_tool(it)).collect();
        let mut callers: Vec<(&str, String)> = Vec::new();
        for step in &composite.steps {
            callers.push((&step.tool, format!("step {}", step.id)));
            callers.extend(step.undo.iter().map(|it| (&*it.tool, format!("undo of {}", step.id))));
        }
        let inner: Vec<_> =
            below.iter().filter_map(|it| Some((it, self.composite_of(it)?))).collect();
        for (name, inner) in &inner {
            callers.extend(inner.tools().map(|it| (it, format!("the tool {name}"))));
        }
        for (name, by) in callers {
            if let Some(tool) = res.iter_mut().find(|it| it.name == name)
                && !tool.called_by.contains(&by)
            {
                tool.called_by.push(by);
            }
        }
        res
    }

    fn called_tool(&self, name: &str) -> Option<CalledTool> {
        let metadata = self.metadata_of(name)?;
        let definition = self.definition_of(name);
        Some(CalledTool {
            name: name.to_owned(),
            called_by: Vec::new(),
            metadata,
            sha256: self.hash_of(name),
            facts: definition.as_ref().map(Facts::of),
        })
    }

    /// The run-time tools that the steps and undo steps of a composite call, and those that these call.
    pub(crate) fn hashes(&self, composite: &Composite) -> ToolHashes {
        let names = tools_below(composite, |it| self.composite_of(it));
        names.into_iter().filter_map(|it| self.hash_of(&it).map(|hash| (it, hash))).collect()
    }
}

/// Whether tools are still those that were approved with a composite, while a call of it runs: a version that is saved
/// meanwhile is in the registry at once.
#[derive(Debug)]
pub(super) struct StillApproved<'a> {
    registry: &'a Registry,
    approved: Option<&'a ToolHashes>,
    /// The generation of the registry before the tools were compared.
    compared: u64,
}

impl<'a> StillApproved<'a> {
    /// Begins before the tools are compared for the whole call. Without hashes, the host answers for the texts.
    pub(super) fn new(registry: &'a Registry, approved: Option<&'a ToolHashes>) -> Self {
        Self { registry, approved, compared: registry.generation() }
    }

    /// Whether a tool, and what it calls, has the text that it had then, and the version that is asked for.
    ///
    /// # Errors
    ///
    /// [`ToolErrorKind::Refused`] with the tool that changed.
    pub(super) fn check(&self, tool: &str, version: Option<u64>) -> Result<(), ToolError> {
        if self.registry.generation() == self.compared {
            return Ok(());
        }
        let tools = self.registry.snapshot();
        let catalog = Catalog::new(tools.clone());
        let mut names = BTreeSet::from([tool.to_owned()]);
        if let Some(inner) = catalog.composite_of(tool) {
            names.extend(tools_below(&inner, |it| catalog.composite_of(it)));
        }
        // One that is gone is told by the call of it; another tool may have taken its name.
        let is_there = |name: &str| tools.get(name).is_some();
        let is_other = |it: &&String| {
            let now = catalog.hash_of(it);
            is_there(it) && self.approved.is_some_and(|approved| approved.get(*it) != now.as_ref())
        };
        let other = names.iter().find(is_other).map(String::as_str);
        let is_version =
            !is_there(tool) || version.is_none_or(|it| catalog.version_of(tool) == Some(it));
        match other.or((!is_version).then_some(tool)) {
            Some(name) => {
                let what = format!("the tool {name:?} changed while the composite ran");
                Err(ToolError::new(ToolErrorKind::Refused, what))
            }
            None => Ok(()),
        }
    }
}

impl Run<'_> {
    /// Calls a tool that is still what was approved.
    ///
    /// # Errors
    ///
    /// It is not, and is not called; or those of the host.
    pub(super) async fn called(
        &self,
        ctx: &CallContext,
        tool: &str,
        version: Option<u64>,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        self.still.iter().try_for_each(|it| it.check(tool, version))?;
        self.caller.call_tool(ctx, tool, input).await
    }
}

/// The names of the tools that a composite calls, with those that composites among them call. Each is looked at once, so a
/// cycle comes to an end.
fn tools_below(
    composite: &Composite,
    find: impl Fn(&str) -> Option<Arc<Composite>>,
) -> BTreeSet<String> {
    let mut res = BTreeSet::new();
    let mut left: Vec<String> = composite.tools().map(str::to_owned).collect();
    while let Some(name) = left.pop() {
        if !res.contains(&name) {
            if let Some(inner) = find(&name) {
                left.extend(inner.tools().map(str::to_owned));
            }
            res.insert(name);
        }
    }
    res
}

/// The composites that a composite calls, and those that these call, by their names.
pub(super) fn composites_below(
    composite: &Composite,
    find: impl Fn(&str) -> Option<Arc<Composite>>,
) -> Vec<(String, Arc<Composite>)> {
    let names = tools_below(composite, &find).into_iter();
    names.filter_map(|it| find(&it).map(|inner| (it, inner))).collect()
}

/// The first step that asks for another version of its tool than the one that is there, with what is wrong.
///
/// `version` gives the version of a run-time tool that can be called. A tool of another source has none, so no step that asks
/// for a version can call it.
pub(super) fn wrong_version(
    composite: &Composite,
    version: impl Fn(&str) -> Option<u64>,
) -> Option<(usize, String)> {
    composite.steps.iter().enumerate().find_map(|(index, step)| {
        let wanted = step.version?;
        let tool = quoted(&step.tool);
        let is = match version(&step.tool) {
            Some(found) if found == wanted => return None,
            Some(found) => format!("the version of the tool {tool} is {found}"),
            None => format!("the tool {tool} has no version that can be called"),
        };
        Some((index, format!("{is}, and version {wanted} is asked for")))
    })
}

/// The names whose hashes differ, or that only one of both has.
pub(crate) fn changed(approved: &ToolHashes, now: &ToolHashes) -> Vec<String> {
    let gone = approved.keys().filter(|it| !now.contains_key(*it));
    let other = now.iter().filter(|it| approved.get(it.0) != Some(it.1)).map(|it| it.0);
    let mut res: Vec<String> = gone.chain(other).cloned().collect();
    res.sort_unstable();
    res
}

impl Loaded {
    /// Composites that can be called and whose tools changed since a person approved them, in the order of their names.
    #[must_use]
    pub fn needs_review(&self) -> Vec<NeedsReview> {
        let of = |it: &Version| Composite::of(&it.definition).map(Arc::new);
        let composites: BTreeMap<&str, (&Version, Arc<Composite>)> = self
            .active
            .iter()
            .filter_map(|it| Some((it.definition.name.as_str(), (it, of(it)?))))
            .collect();
        // A hash takes longer than reading what it is of, and most tools are called by no composite.
        let called: BTreeSet<&str> = composites.values().flat_map(|it| it.1.tools()).collect();
        let called = self.active.iter().filter(|it| called.contains(it.definition.name.as_str()));
        let hashes: ToolHashes = called.map(|it| (it.definition.name.clone(), it.hash())).collect();
        let numbers = self.active.iter().map(|it| (it.definition.name.as_str(), it.number));
        let numbers: BTreeMap<&str, u64> = numbers.collect();
        let of = |(it, composite): &(&Version, Arc<Composite>)| {
            let names = tools_below(composite, |it| composites.get(it).map(|it| Arc::clone(&it.1)));
            let now = names.iter().filter_map(|it| Some((it.clone(), *hashes.get(it)?)));
            let now: ToolHashes = now.collect();
            let mut tools = changed(&it.approval.as_ref()?.tools, &now);
            // A text that is back is a version of its own, and not the one that a step asks for, be it a step below.
            let below = names.iter().filter_map(|it| Some(&composites.get(it.as_str())?.1));
            let steps = below.chain([composite]).flat_map(|it| &it.steps);
            let pins = steps.filter_map(|it| Some((&it.tool, it.version?)));
            let others = pins.filter(|(tool, version)| {
                numbers.get(tool.as_str()).is_some_and(|it| it != version)
            });
            tools.extend(others.map(|it| it.0.clone()));
            tools.sort_unstable();
            tools.dedup();
            let (name, version) = (it.definition.name.clone(), it.number);
            (!tools.is_empty()).then(|| {
                let id = it.hash().with_tools(&now).proposal_id(&name);
                let refused = self.version_fault(&it.definition);
                NeedsReview { name, id, version, tools, refused }
            })
        };
        composites.values().filter_map(of).collect()
    }

    /// Why no answer can approve a composite with this text, and what to do instead; `None` where no version keeps it from that.
    ///
    /// One of its steps, or one of a composite that it calls, asks for another version of a tool than the one that can be called.
    /// A number is given once, so neither a rollback nor a restore brings that version back.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// use flyto_evolve::{Store, ToolDefinition};
    ///
    /// let loaded = Store::new(temp.path().join("evolution")).load()?;
    /// let script = ToolDefinition::script("now", "The time.", "date\n");
    /// assert_eq!(loaded.version_fault(&script), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn version_fault(&self, definition: &ToolDefinition) -> Option<String> {
        let find = |name: &str| self.active.iter().find(|it| it.definition.name == name);
        let composite = Composite::of(definition)?;
        let below =
            composites_below(&composite, |it| Composite::of(&find(it)?.definition).map(Arc::new));
        let below = below.iter().map(|it| (&it.0, &*it.1));
        [(&definition.name, &composite)].into_iter().chain(below).find_map(|(of, it)| {
            let (_, what) = wrong_version(it, |it| Some(find(it)?.number))?;
            let of = quoted(of);
            Some(format!(
                "{what}; propose {of} again with the version that is there, or without one"
            ))
        })
    }

    /// The tools that can be called and that the steps and undo steps of a composite call, and those that these call.
    pub(crate) fn hashes(&self, composite: &Composite) -> ToolHashes {
        let find = |name: &str| self.active.iter().find(|it| it.definition.name == name);
        let inner = |name: &str| Composite::of(&find(name)?.definition).map(Arc::new);
        let names = tools_below(composite, inner);
        names
            .into_iter()
            .filter_map(|it| find(&it).map(Version::hash).map(|hash| (it, hash)))
            .collect()
    }

    /// The composites that can be called and whose steps or undo steps call a tool of this name, in the order of their
    /// names. Without the tool they refuse their calls.
    #[must_use]
    pub fn callers(&self, name: &str) -> Vec<&str> {
        let calls = |it: &&Version| {
            Composite::of(&it.definition).is_some_and(|it| it.tools().any(|tool| tool == name))
        };
        self.active.iter().filter(calls).map(|it| it.definition.name.as_str()).collect()
    }
}
