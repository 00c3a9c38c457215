//! The set of tools at one moment.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::state::State;
use super::{Entry, Owner};
use crate::name::ToolId;

/// The set of tools at one moment. Cloning is cheap, and nothing changes it any more.
///
/// A caller that holds a snapshot sees the same tools until it takes another one, whatever is registered
/// meanwhile; so the list that a model was shown and the call that it makes agree.
#[derive(Clone, Default)]
pub struct Snapshot {
    state: Arc<State>,
}

impl Snapshot {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    /// The tool with this id, alias or wire name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.state.get(name)
    }

    /// All tools in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry> + Clone {
        self.state.tools.values()
    }

    /// The tools of one owner in the order of their ids.
    pub fn owned_by(&self, owner: &Owner) -> impl Iterator<Item = &Entry> {
        self.state.owned_by(owner)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.tools.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.tools.is_empty()
    }

    /// How often the registry had changed by then. Equal generations of one registry mean equal
    /// sets.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.state.generation
    }

    /// What is different from an `older` set.
    #[must_use]
    pub fn changes_since(&self, older: &Self) -> Changes {
        Changes::between(&older.state.tools, &self.state.tools)
    }
}

/// Shows the names only; the tools of a large registry fill screens.
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("generation", &self.generation())
            .field("tools", &self.state.tools.keys())
            .finish()
    }
}

/// What is different between two sets of tools, each list in the order of ids.
///
/// A tool that was removed and registered again between the two is `changed`, also if it does the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Changes {
    /// Tools that are new.
    pub added: Vec<ToolId>,
    /// Tools that are gone.
    pub removed: Vec<ToolId>,
    /// Tools that were registered anew under the id of an earlier one.
    pub changed: Vec<ToolId>,
}

impl Changes {
    /// Whether nothing is different.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty()
    }

    /// Walks both sets side by side.
    pub(super) fn between(
        before: &BTreeMap<ToolId, Entry>,
        after: &BTreeMap<ToolId, Entry>,
    ) -> Self {
        let mut res = Self::default();
        let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return res,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old_id, _)), Some((new_id, _))) => old_id.cmp(new_id),
            };
            match order {
                Ordering::Less => res.removed.extend(old.next().map(|(id, _)| id.clone())),
                Ordering::Greater => res.added.extend(new.next().map(|(id, _)| id.clone())),
                Ordering::Equal => {
                    if let (Some((id, old)), Some((_, new))) = (old.next(), new.next())
                        && !old.same_tool(new)
                    {
                        res.changed.push(id.clone());
                    }
                }
            }
        }
    }
}
