//! How much is ended with a program.

/// How much is ended when a program is ended, at least.
///
/// A backend that has to watch a program for its [`Limits`](crate::Limits) or its
/// [`Isolation`](crate::Isolation) may end its tree in any case, and start it in a process group of its own.
/// Then [`Outcome::enforced`](crate::Outcome::enforced) says
/// [`Capability::TreeKill`](crate::Capability::TreeKill).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KillScope {
    /// The leader alone. It stays in the host's process group, as an interactive program must; with limits
    /// or isolation, see above.
    Leader,
    /// The leader's own process group. Demands [`Capability::GroupKill`](crate::Capability::GroupKill).
    #[default]
    Group,
    /// Every descendant, however it was started. Demands [`Capability::TreeKill`](crate::Capability::TreeKill).
    Tree,
}

impl KillScope {
    /// The name that configuration and reports use: `leader`, `group`, `tree`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Group => "group",
            Self::Tree => "tree",
        }
    }
}
