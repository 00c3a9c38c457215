//! The tools that are there, under names that no two of them share.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::name::{InvalidName, ToolId};
use crate::tool::Tool;

mod search;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;

pub use search::Hit;
pub use snapshot::{Changes, Snapshot};
use state::{Candidate, Edit, State};

/// The tools that are there. Shared by reference; every method takes `&self`.
///
/// Ids, aliases and wire names of all tools live in one name space: a name leads to one tool or to
/// none, whichever owner registers first. Readers take a [`Snapshot`], which costs no more than a pointer
/// and stays as it is, so a call that runs never keeps a registration waiting.
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_tools::{NativeTool, NoInput, Registry};
///
/// let registry = Registry::new();
/// let hello = NativeTool::builder("demo:hello", "Says hello.")
///     .run(|_ctx, _: NoInput| async { "hello" })?;
/// registry.register("demo", Arc::new(hello))?;
///
/// let snapshot = registry.snapshot();
/// assert_eq!(snapshot.get("demo__hello").unwrap().id().as_str(), "demo:hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Registry {
    state: watch::Sender<Arc<State>>,
}

/// The owner of tools in a registry, which may exchange them: a plugin, a file, the host itself.
///
/// Its text is for people: they read it where two owners want one name.
///
/// ```
/// use flyto_tools::Owner;
///
/// let owner = Owner::new("plugin text-stats");
/// assert_eq!(owner.as_str(), "plugin text-stats");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

/// One tool with the names under which it is registered. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Entry(Arc<Registered>);

#[derive(Debug)]
struct Registered {
    id: ToolId,
    wire_name: Arc<str>,
    aliases: Vec<ToolId>,
    owner: Owner,
    tool: Arc<dyn Tool>,
    /// What searches look through, from the first one on.
    page: OnceLock<search::Page>,
}

/// Why a registry took no tool. It is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A tool's name or alias is no name.
    #[error("failed to register a tool of {owner}")]
    InvalidName {
        /// The owner that wanted to register it.
        owner: Owner,
        /// What is wrong.
        source: InvalidName,
    },
    /// A name leads to another tool already.
    #[error(
        "failed to register {tool} of {owner}: \
         {name} is {role} of {holder}, which belongs to {holder_owner}"
    )]
    Taken {
        /// The name that two tools want.
        name: String,
        /// What the name is to the tool that has it.
        role: NameRole,
        /// The tool that has it.
        holder: ToolId,
        /// The owner that registered that one.
        holder_owner: Owner,
        /// The tool that cannot have it.
        tool: ToolId,
        /// The owner that wanted to register that one.
        owner: Owner,
    },
}

/// What came of [`Registry::replace_owner_where_free`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replaced {
    /// What is different from the set of the owner before.
    pub changes: Changes,
    /// The tools that are not registered, in the order in which they were given.
    pub left_out: Vec<LeftOut>,
}

/// A tool that a registry left out of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its place among the tools that were given, counted from 0.
    pub index: usize,
    /// Why: one of its names is no name, or leads to another tool.
    pub error: RegistryError,
}

/// What a name is to the tool it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameRole {
    /// Its id.
    Id,
    /// One of its aliases.
    Alias,
    /// Its name for model APIs and clients.
    WireName,
}

impl Registry {
    /// Makes an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self { state: watch::Sender::new(Arc::default()) }
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// [`RegistryError::InvalidName`] for its name and its aliases, [`RegistryError::Taken`] where
    /// one of them leads to another tool.
    pub fn register(
        &self,
        owner: impl Into<Owner>,
        tool: Arc<dyn Tool>,
    ) -> Result<Entry, RegistryError> {
        let candidate = Candidate::new(&owner.into(), 0, tool)?;
        self.modify(|state| state.addition(candidate))
    }

    /// Exchanges all tools of `owner` for `tools`, in one step: readers see the old set or the new
    /// one. No tools at all are a set as well.
    ///
    /// A tool that stays keeps its wire name. It counts as changed unless it is the same `Arc`.
    ///
    /// # Errors
    ///
    /// Those of [`register`](Self::register); then the old set is still there, whole.
    pub fn replace_owner(
        &self,
        owner: impl Into<Owner>,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<Changes, RegistryError> {
        let owner = owner.into();
        let candidates = tools
            .into_iter()
            .enumerate()
            .map(|(index, tool)| Candidate::new(&owner, index, tool))
            .collect::<Result<Vec<_>, _>>()?;
        self.modify(|state| state.exchange(&owner, candidates, |it| Err(it.error)))
    }

    /// Exchanges all tools of `owner` for those of `tools` whose names are free, in one step, and says
    /// which were left out. As [`replace_owner`](Self::replace_owner) otherwise.
    ///
    /// Of two tools that want one name, the one whose id comes first has it, and of two with one id the
    /// one that comes first in `tools`. All clashes are found in one pass.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flyto_tools::{NativeTool, NoInput, Registry, Tool};
    ///
    /// let tool = |name: &str| -> Result<Arc<dyn Tool>, Box<dyn std::error::Error>> {
    ///     let tool = NativeTool::builder(name, "Answers.").run(|_ctx, _: NoInput| async { "hi" })?;
    ///     Ok(Arc::new(tool))
    /// };
    /// let registry = Registry::new();
    /// registry.register("host", tool("ping")?)?;
    /// let replaced = registry.replace_owner_where_free("demo", [tool("ping")?, tool("pong")?]);
    /// assert_eq!(replaced.left_out[0].index, 0);
    /// assert_eq!(replaced.changes.added[0].as_str(), "pong");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace_owner_where_free(
        &self,
        owner: impl Into<Owner>,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Replaced {
        let owner = owner.into();
        let mut left_out = Vec::new();
        let mut candidates = Vec::new();
        for (index, tool) in tools.into_iter().enumerate() {
            match Candidate::new(&owner, index, tool) {
                Ok(it) => candidates.push(it),
                Err(error) => left_out.push(LeftOut { index, error }),
            }
        }
        let keep = |it| {
            left_out.push(it);
            Ok::<_, Infallible>(())
        };
        let changes = match self.modify(|state| state.exchange(&owner, candidates, keep)) {
            Ok(changes) => changes,
            Err(never) => match never {},
        };
        left_out.sort_by_key(|it| it.index);
        Replaced { changes, left_out }
    }

    /// Removes all tools of `owner`, and returns them. Calls that run go on.
    pub fn remove_owner(&self, owner: impl Into<Owner>) -> Vec<Entry> {
        let owner = owner.into();
        self.remove_where(|state| state.owned_by(&owner).cloned().collect())
    }

    /// Removes the tool with this id, alias or wire name, and returns it. `None` where the name leads to no
    /// tool; then nothing has changed and no [`Watch`] wakes up.
    pub fn remove(&self, name: &str) -> Option<Entry> {
        self.remove_where(|state| state.get(name).cloned().into_iter().collect()).pop()
    }

    /// The tools as they are now, at the price of a pointer.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(Arc::clone(&self.state.borrow()))
    }

    /// The tool with this id, alias or wire name, as it is now.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Entry> {
        self.state.borrow().get(name).cloned()
    }

    /// How often the set of tools has changed so far.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.state.borrow().generation
    }

    /// Makes something to wait on for changes that happen from now on.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch { receiver: self.state.subscribe() }
    }

    fn remove_where(&self, choose: impl FnOnce(&State) -> Vec<Entry>) -> Vec<Entry> {
        let res = self.modify(|state| {
            let gone = choose(state);
            let remove = gone.iter().map(|it| it.id().clone()).collect();
            Ok::<_, Infallible>((gone, Edit { remove, add: Vec::new() }))
        });
        match res {
            Ok(gone) => gone,
            Err(never) => match never {},
        }
    }

    /// The only function that changes the state. `plan` looks at it and says what to change; only then is
    /// anything touched, so a plan that fails leaves no trace. The state is copied only while a
    /// snapshot of it is alive, and foreign code (a tool's `Drop`) runs after the lock is released.
    fn modify<T, E>(&self, plan: impl FnOnce(&State) -> Result<(T, Edit), E>) -> Result<T, E> {
        let mut res = None;
        let mut gone = Vec::new();
        self.state.send_if_modified(|state| {
            let planned = plan(state).map(|(value, edit)| {
                if !edit.is_empty() {
                    gone = Arc::make_mut(state).apply(edit);
                    return (value, true);
                }
                (value, false)
            });
            let changed = matches!(planned, Ok((_, true)));
            res = Some(planned.map(|(value, _)| value));
            changed
        });
        drop(gone);
        res.expect("`send_if_modified` runs its closure once")
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Owner {
    /// Names an owner, such as `plugin text-stats`.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Owner {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Owner {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<&Owner> for Owner {
    fn from(owner: &Owner) -> Self {
        owner.clone()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Entry {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &ToolId {
        &self.0.id
    }

    /// The name for model APIs and clients, which the registry keeps apart from all others.
    #[must_use]
    pub fn wire_name(&self) -> &str {
        &self.0.wire_name
    }

    /// Further names that lead here.
    #[must_use]
    pub fn aliases(&self) -> &[ToolId] {
        &self.0.aliases
    }

    /// The owner that registered the tool.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.0.owner
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.0.tool
    }

    /// Whether both hold one and the same tool, not merely one of the same name.
    fn same_tool(&self, other: &Self) -> bool {
        // The data pointer alone: a vtable may exist more than once.
        std::ptr::addr_eq(Arc::as_ptr(self.tool()), Arc::as_ptr(other.tool()))
    }
}

impl fmt::Display for NameRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id => "the id",
            Self::Alias => "an alias",
            Self::WireName => "the wire name",
        })
    }
}

/// Waits for changes of a [`Registry`], under any executor.
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_tools::{CallContext, NativeTool, NoInput, Registry};
///
/// async fn pong(_: CallContext, _: NoInput) -> &'static str {
///     "pong"
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new();
/// let before = registry.snapshot();
/// let mut watch = registry.watch();
/// registry.register("host", Arc::new(NativeTool::builder("ping", "Answers.").run(pong)?))?;
/// let now = watch.changed().await.expect("the registry is there");
/// assert_eq!(now.changes_since(&before).added[0].as_str(), "ping");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Watch {
    receiver: watch::Receiver<Arc<State>>,
}

impl Watch {
    /// Waits until the set of tools is another than at the last call, and gives it. Changes in
    /// quick succession are seen as one; [`Snapshot::changes_since`] says what they come to.
    /// `None`: the registry is gone.
    ///
    /// Cancel-safe: a change is not lost when the future is dropped.
    pub async fn changed(&mut self) -> Option<Snapshot> {
        self.receiver.changed().await.ok()?;
        Some(Snapshot::new(Arc::clone(&self.receiver.borrow_and_update())))
    }
}
