//! Runs programs on Linux, for [`flyto_execenv`].
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

#[cfg(supervised)]
mod bare;
#[cfg(supervised)]
mod cgroup; // control groups that can be used here
#[cfg(supervised)]
mod direct; // programs as children of the host
#[cfg(feature = "examine")]
pub mod examine; // what works on this machine, and why something does not
#[cfg(supervised)]
mod failure;
#[cfg(all(feature = "fuzz", supervised))]
#[doc(hidden)]
pub mod fuzz {
    //! Decoders that are not public, for `cargo xtask fuzz`.

    pub use crate::proxy::fuzz::{request, tls};
}
#[cfg(any(supervised, feature = "examine"))]
mod kernel; // releases of the kernel
#[cfg(supervised)]
mod limits; // who keeps which bound
#[cfg(supervised)]
mod linux;
#[cfg(all(test, supervised))]
mod ordinary;
#[cfg(not(supervised))]
mod portable; // the backend where the architecture has no supervisor
#[cfg(supervised)]
mod processes; // processes in /proc, and ending them
#[cfg(supervised)]
mod proxy; // the way out of a network namespace
mod rung;
#[cfg(supervised)]
mod sandbox; // what keeps isolation
#[cfg(supervised)]
mod supervised;

#[cfg(feature = "examine")]
pub use examine::examine;
#[cfg(supervised)]
pub use linux::{Linux, adopt_orphans};
#[cfg(not(supervised))]
pub use portable::{Linux, adopt_orphans};
pub use rung::KillRung;
