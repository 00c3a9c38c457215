//! What each class of program gets, by the configuration.

use flyto_execenv::{Capabilities, Capability, KillScope, Policies, Policy};

use super::Config;

impl Config {
    /// What each class of program gets on a backend that declares `capabilities`.
    ///
    /// Every class has its programs ended with all their descendants where the backend can do that,
    /// else with their process group: what nobody asked for is no reason to refuse a call.
    #[must_use]
    pub fn policies(&self, capabilities: &Capabilities) -> Policies {
        let kill = match capabilities.has(Capability::TreeKill) {
            true => KillScope::Tree,
            false => KillScope::Group,
        };
        Policies::new().other(Policy::new().kill(kill))
    }
}
