//! The name table: what leads where, and how a change of it is planned.
//!
//! A change goes in two steps: a plan (an [`Edit`]) is made from a state that is only read, then
//! [`State::apply`] carries it out, which cannot fail. [`State::settle`] decides all names.
//! Invariant: every name leads to one tool at most, be it an id, an alias or a wire name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::{Changes, Entry, LeftOut, NameRole, Owner, Registered, RegistryError};
use crate::name::ToolId;
use crate::tool::Tool;

/// The tools of a registry with all names that lead to them. It is never changed in place: a change makes a
/// copy, so that a reader holds a whole set.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// How often the set has changed.
    pub(super) generation: u64,
    /// Every tool, by its id.
    pub(super) tools: BTreeMap<ToolId, Entry>,
    /// The ids of each owner's tools: an owner that exchanges its set does not walk over all others.
    ///
    /// An owner without tools has no entry.
    owned: HashMap<Owner, BTreeSet<ToolId>>,
    /// Aliases and wire names, where they are not the id itself.
    other_names: HashMap<Arc<str>, ToolId>,
}

/// A tool that wants to be registered. Asked for its names before the registry is locked, because
/// tools are foreign code.
///
/// Its names have been read and are valid; whether they are free is not known yet.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Its place among the tools that were offered with it.
    index: usize,
    id: ToolId,
    aliases: Vec<ToolId>,
    owner: Owner,
    tool: Arc<dyn Tool>,
}

/// Ids that leave, then entries that come.
///
/// The default changes nothing. An id may be in both parts: then its tool is exchanged.
#[derive(Debug, Default)]
pub(super) struct Edit {
    pub(super) remove: BTreeSet<ToolId>,
    pub(super) add: Vec<Entry>,
}

impl Edit {
    /// Whether it changes nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.add.is_empty()
    }
}

impl Candidate {
    /// Reads the names of a tool; an alias that repeats another name of it is left out.
    ///
    /// # Errors
    ///
    /// [`RegistryError::InvalidName`] for the name or one of the aliases.
    pub(super) fn new(
        owner: &Owner,
        index: usize,
        tool: Arc<dyn Tool>,
    ) -> Result<Self, RegistryError> {
        let parse = |name: &str| {
            ToolId::parse(name)
                .map_err(|source| RegistryError::InvalidName { owner: owner.clone(), source })
        };
        let id = parse(tool.name())?;
        let mut seen = HashSet::from([id.clone()]);
        let mut aliases = Vec::new();
        for alias in &tool.metadata().aliases {
            let alias = parse(alias)?;
            if seen.insert(alias.clone()) {
                aliases.push(alias);
            }
        }
        Ok(Self { index, id, aliases, owner: owner.clone(), tool })
    }
}

impl State {
    /// The tool with this id, alias or wire name.
    ///
    /// Ids come first, so that a lookup by id costs one step.
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name).or_else(|| self.tools.get(self.other_names.get(name)?))
    }

    /// The tools of one owner in the order of their ids.
    pub(super) fn owned_by(&self, owner: &Owner) -> impl Iterator<Item = &Entry> {
        self.owned.get(owner).into_iter().flatten().filter_map(|id| self.tools.get(id))
    }

    /// What has to change so that one more tool is there; fails where one of its names is taken.
    ///
    /// # Errors
    ///
    /// [`RegistryError::Taken`].
    pub(super) fn addition(&self, it: Candidate) -> Result<(Entry, Edit), RegistryError> {
        let mut add = self.settle(&BTreeSet::new(), vec![it], |it| Err(it.error))?;
        let entry = add.pop().expect("one candidate gives one entry");
        Ok((entry.clone(), Edit { remove: BTreeSet::new(), add: vec![entry] }))
    }

    /// What has to change so that `owner` has exactly these tools, but for those that `leave_out` passes
    /// over. The edit is empty where every tool is the same `Arc` under the same names.
    ///
    /// # Errors
    ///
    /// Those of `leave_out`.
    pub(super) fn exchange<E>(
        &self,
        owner: &Owner,
        candidates: Vec<Candidate>,
        leave_out: impl FnMut(LeftOut) -> Result<(), E>,
    ) -> Result<(Changes, Edit), E> {
        let remove: BTreeSet<ToolId> = self.owned_by(owner).map(|it| it.id().clone()).collect();
        let add = self.settle(&remove, candidates, leave_out)?;
        let after = add.iter().map(|it| (it.id().clone(), it.clone())).collect();
        let before = self.owned_by(owner).map(|it| (it.id().clone(), it.clone())).collect();
        let changes = Changes::between(&before, &after);
        let edit = if changes.is_empty() { Edit::default() } else { Edit { remove, add } };
        Ok((changes, edit))
    }

    /// Gives every candidate its names, as if the tools in `leaving` were gone already.
    ///
    /// Ids and aliases are what their authors wrote: a clash is an error. Wire names give way:
    /// first to those that stay, then plain ones before hashed ones, so that the outcome does not
    /// depend on the order of the candidates. A candidate that is left out gives its names back, so
    /// one pass finds every clash.
    fn settle<E>(
        &self,
        leaving: &BTreeSet<ToolId>,
        mut candidates: Vec<Candidate>,
        mut leave_out: impl FnMut(LeftOut) -> Result<(), E>,
    ) -> Result<Vec<Entry>, E> {
        candidates.sort_by(|a, b| a.id.cmp(&b.id));
        let mut claims = Claims { state: self, leaving, claimed: HashMap::new() };
        let steps: [ClaimNames<'_>; 2] = [Claims::claim_id, Claims::claim_aliases];
        for claim_names in steps {
            let mut kept = Vec::with_capacity(candidates.len());
            for it in candidates {
                match claim_names(&mut claims, &it) {
                    Ok(()) => kept.push(it),
                    Err(error) => leave_out(LeftOut { index: it.index, error })?,
                }
            }
            candidates = kept;
        }

        let mut wire_names: BTreeMap<ToolId, Arc<str>> = BTreeMap::new();
        let stays = |it: &Candidate| leaving.get(&it.id).and_then(|id| self.tools.get(id));
        for it in &candidates {
            if let Some(former) = stays(it)
                && claims.offer(it, former.wire_name())
            {
                wire_names.insert(it.id.clone(), Arc::clone(&former.0.wire_name));
            }
        }
        for nth_choice in 0.. {
            if wire_names.len() == candidates.len() {
                break;
            }
            for it in &candidates {
                if !wire_names.contains_key(&it.id)
                    && let Some(wire_name) = it.id.wire_names().nth(nth_choice)
                    && claims.offer(it, &wire_name)
                {
                    wire_names.insert(it.id.clone(), wire_name.into());
                }
            }
        }

        let entries = candidates.into_iter().map(|it| {
            let wire_name = wire_names.remove(&it.id).expect("every candidate was given one");
            let Candidate { index: _, id, aliases, owner, tool } = it;
            let page = OnceLock::new();
            Entry(Arc::new(Registered { id, wire_name, aliases, owner, tool, page }))
        });
        Ok(entries.collect())
    }

    /// Carries out a settled change, and gives back what has left.
    pub(super) fn apply(&mut self, edit: Edit) -> Vec<Entry> {
        let mut gone = Vec::new();
        for id in &edit.remove {
            let Some(entry) = self.tools.remove(id) else { continue };
            self.other_names.remove(entry.wire_name());
            for alias in entry.aliases() {
                self.other_names.remove(alias.as_str());
            }
            if let Some(ids) = self.owned.get_mut(entry.owner()) {
                ids.remove(id);
                if ids.is_empty() {
                    self.owned.remove(entry.owner());
                }
            }
            gone.push(entry);
        }
        for entry in edit.add {
            let id = entry.id();
            for alias in entry.aliases() {
                self.other_names.insert(alias.as_str().into(), id.clone());
            }
            if entry.wire_name() != id.as_str() {
                self.other_names.insert(Arc::clone(&entry.0.wire_name), id.clone());
            }
            self.owned.entry(entry.owner().clone()).or_default().insert(id.clone());
            self.tools.insert(id.clone(), entry);
        }
        self.generation += 1;
        gone
    }
}

/// Names that the candidates of one change have got so far, on top of those of the tools that stay.
struct Claims<'a> {
    state: &'a State,
    leaving: &'a BTreeSet<ToolId>,
    claimed: HashMap<Arc<str>, (ToolId, Owner, NameRole)>,
}

/// Takes names of one kind for a candidate: all of them or none.
type ClaimNames<'a> = fn(&mut Claims<'a>, &Candidate) -> Result<(), RegistryError>;

impl Claims<'_> {
    fn claim_id(&mut self, it: &Candidate) -> Result<(), RegistryError> {
        self.claim(it, it.id.as_str(), NameRole::Id)
    }

    /// Takes all aliases of a candidate that has its id; else takes none, and gives the id back.
    fn claim_aliases(&mut self, it: &Candidate) -> Result<(), RegistryError> {
        for (n_claimed, alias) in it.aliases.iter().enumerate() {
            if let Err(err) = self.claim(it, alias.as_str(), NameRole::Alias) {
                for name in it.aliases[..n_claimed].iter().chain([&it.id]) {
                    self.claimed.remove(name.as_str());
                }
                return Err(err);
            }
        }
        Ok(())
    }

    /// Takes a name that the author of the tool chose.
    fn claim(&mut self, it: &Candidate, name: &str, role: NameRole) -> Result<(), RegistryError> {
        if let Some((holder, holder_owner, role)) = self.holder(name) {
            return Err(RegistryError::Taken {
                name: name.to_owned(),
                role,
                holder,
                holder_owner,
                tool: it.id.clone(),
                owner: it.owner.clone(),
            });
        }
        self.claimed.insert(name.into(), (it.id.clone(), it.owner.clone(), role));
        Ok(())
    }

    /// Takes a wire name if it is free, or is a name of this very tool.
    fn offer(&mut self, it: &Candidate, name: &str) -> bool {
        match self.holder(name) {
            Some((holder, ..)) => holder == it.id,
            None => {
                let claim = (it.id.clone(), it.owner.clone(), NameRole::WireName);
                self.claimed.insert(name.into(), claim);
                true
            }
        }
    }

    /// The tool that has a name, its owner, and what the name is to it.
    fn holder(&self, name: &str) -> Option<(ToolId, Owner, NameRole)> {
        if let Some(claim) = self.claimed.get(name) {
            return Some(claim.clone());
        }
        let entry = self.state.get(name).filter(|it| !self.leaving.contains(it.id()))?;
        let role = if entry.id().as_str() == name {
            NameRole::Id
        } else if entry.wire_name() == name {
            NameRole::WireName
        } else {
            NameRole::Alias
        };
        Some((entry.id().clone(), entry.owner().clone(), role))
    }
}
