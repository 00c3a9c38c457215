//! Runs programs on Linux, for [`flyto_execenv`]: starts them quickly, ends all their descendants, bounds
//! and confines them, and reports what was in force.
//!
//! [`Linux`] is a backend: give it to an [`ExecEnv`](flyto_execenv::ExecEnv). It needs no root, no daemon
//! and no container. What the machine lacks is not declared as a capability, and a spec that asks for it
//! is refused before anything starts.
//!
//! It leaves to `flyto-execenv` what a program gets and what is captured of it ([`Spec`], [`Outcome`]), to
//! the caller which isolation a program runs under, and to the kernel the enforcement: namespaces,
//! Landlock, seccomp, control groups and resource limits. It defends against programs that escape, kill
//! their supervisor or multiply; it does not defend against a hole in the kernel.
//!
//! ```
//! use std::time::Duration;
//!
//! use flyto_execenv::{Ending, ExecEnv, Isolation, KillScope, Network, Spec};
//! use flyto_execenv_linux::{KillMechanism, Linux};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), flyto_execenv::ExecError> {
//! let linux = Linux::new();
//! println!("trees are ended by: {}", linux.mechanism().name());
//! # if linux.mechanism() == KillMechanism::Group { return Ok(()) }
//! let env = ExecEnv::new(linux);
//!
//! // A daemon that leaves its session and its parent is ended with the call that it belongs to.
//! let daemon = Spec::new("/bin/sh")
//!     .args(["-c", "setsid sh -c 'sleep 60 & sleep 60' & sleep 60"])
//!     .env_var("PATH", "/usr/bin:/bin")
//!     .isolation(Isolation::new().network(Network::Off))
//!     .kill(KillScope::Tree)
//!     .deadline(Duration::from_millis(300));
//! match env.run(daemon).await {
//!     Ok(outcome) => {
//!         assert_eq!(outcome.ending, Ending::TimedOut);
//!         assert!(outcome.confirmed, "a process of the tree may still be running");
//!     }
//!     // This machine has no way to take the network away.
//!     Err(err) => assert_eq!(err.kind(), flyto_execenv::ExecErrorKind::Unsupported),
//! }
//! # Ok(()) }
//! ```
//!
//! `examples/confined.rs` confines a program of yours. The README describes each mechanism and what it
//! holds against, and `docs/linux.md` in the repository what hostile programs left behind.
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `examine` | | `examine`: tries every mechanism on this machine and says why one does not work |
//!
//! On other systems than Linux the crate is empty. On Linux of another architecture than x86-64 programs
//! start as with the portable backend, and only process groups are ended.
//!
//! [`Spec`]: flyto_execenv::Spec
//! [`Outcome`]: flyto_execenv::Outcome
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

// The backend: which way a program takes, and where the architecture has no supervisor.
mod kill_mechanism;
#[cfg(supervised)]
mod linux;
#[cfg(not(supervised))]
mod portable;

// Starting: a child of the host, or of a supervisor, by system calls that no library makes.
#[cfg(supervised)]
mod bare;
#[cfg(supervised)]
mod direct;
#[cfg(supervised)]
mod supervised;

// Ending and bounding: control groups, resource limits, and the processes of a tree.
#[cfg(supervised)]
mod cgroup;
#[cfg(supervised)]
mod enforcement;
#[cfg(supervised)]
mod processes;

// Confining: files, system calls and the network.
#[cfg(supervised)]
mod proxy;
#[cfg(supervised)]
mod sandbox;

// What works on this machine, and why something does not.
#[cfg(feature = "examine")]
pub mod examine;
#[cfg(supervised)]
mod failure;
#[cfg(all(feature = "fuzz", supervised))]
#[doc(hidden)]
pub mod fuzz {
    //! Decoders that are not public, for `cargo xtask fuzz`.

    pub use crate::proxy::fuzz::{request, tls};
}
#[cfg(any(supervised, feature = "examine"))]
mod kernel;
#[cfg(all(test, supervised))]
mod ordinary;

#[cfg(feature = "examine")]
pub use examine::examine;
pub use kill_mechanism::KillMechanism;
#[cfg(supervised)]
pub use linux::{Linux, adopt_orphans};
#[cfg(not(supervised))]
pub use portable::{Linux, adopt_orphans};

/// The examples of the README are tests.
#[cfg(all(doctest, supervised))]
#[doc = include_str!("../README.md")]
struct Readme;
