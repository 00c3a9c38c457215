//! Which directory a path leads to.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use other::{Identity, identity};
#[cfg(unix)]
pub(super) use unix::{Identity, identity};
