//! Which connections one call asks for, and which of them are blocked.
//!
//! The policy is shared by calls; what was denied is this call's own, and ends up in its outcome
//! ([`Outcome::denied_hosts`](flyto_execenv::Outcome::denied_hosts)).

use std::sync::{Arc, Mutex, PoisonError};

use flyto_execenv::{DeniedHost, HostDenial};
use tokio::net::TcpStream;

use super::egress::{EgressPolicy, Refusal, Target};

/// Blocked hosts that a call reports: 16. A program that asks for more of them looks for something that is open.
const MAX_DENIED: usize = 16;

/// The way out during one call.
#[derive(Debug)]
pub(super) struct ProxySession {
    policy: Arc<EgressPolicy>,
    denied: Mutex<Vec<DeniedHost>>,
}

impl ProxySession {
    pub(super) fn new(policy: Arc<EgressPolicy>) -> Self {
        Self { policy, denied: Mutex::default() }
    }

    /// Whether a pattern names this host.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        self.policy.names(host, port)
    }

    /// A connection to the target, if that is granted.
    pub(super) async fn open(&self, target: &Target) -> Result<TcpStream, Refusal> {
        let opened = self.policy.open(target).await;
        match &opened {
            Err(Refusal::NotGranted(_)) => self.deny(target, HostDenial::NotNamed),
            Err(Refusal::Inside(_, address)) => self.deny(target, HostDenial::Inside(*address)),
            // That is the network's doing.
            Err(Refusal::NotFound(..) | Refusal::NotReached(..)) | Ok(_) => {}
        }
        opened
    }

    /// The first reason for a host and port is kept. Beyond [`MAX_DENIED`] nothing is noted, and
    /// the refusal holds all the same.
    pub(super) fn deny(&self, target: &Target, why: HostDenial) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let host = DeniedHost::new(&target.host, target.port, why);
        let is_new = || !denied.iter().any(|it| (&it.host, it.port) == (&host.host, host.port));
        if denied.len() < MAX_DENIED && is_new() {
            denied.push(host);
        }
    }

    /// In the order in which they were first denied.
    pub(super) fn denied(&self) -> Vec<DeniedHost> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
