//! All plugins of some directories.
//!
//! [`Catalogue`] is what a host holds: made once by [`discover`](Catalogue::discover), and
//! remade by [`reload`](Catalogue::reload). Reading blocks the thread; a host with a runtime
//! calls both from a thread for blocking work. Nothing watches the files; the host decides when
//! to look again.

mod catalogue; // what was found
mod last; //      what was in use before
mod reload; //    what has changed since
mod search; //    from directories to plugins

pub use self::{
    catalogue::{Catalogue, DirState, Found, PluginState, SearchedDir},
    reload::{Change, ChangeKind, Reload},
};
