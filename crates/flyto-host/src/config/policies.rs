//! What each class of program gets, by the configuration.

use std::path::PathBuf;

use flyto_execenv::{
    Capabilities, Capability, Isolation, KillScope, Limits, Policies, Policy, Profile,
    ProfilePlaces,
};

use super::{
    Config,
    sandbox::{SandboxProfile, real},
};
use crate::places::Surroundings;

impl Config {
    /// What each class of program gets on a backend that declares `capabilities`, by its profiles at
    /// these places.
    ///
    /// Every class has its programs ended with all their descendants where the backend can do that,
    /// else with their process group: what nobody asked for is no reason to refuse a call. What a
    /// profile asks for is one.
    ///
    /// Programs work on the current directory. `workspace` has the directory for temporary files
    /// (`$TMPDIR`, else `/tmp`), which other programs use as well; `strict` has none.
    #[must_use]
    pub fn policies(&self, capabilities: &Capabilities, surroundings: &Surroundings) -> Policies {
        let kill = match capabilities.has(Capability::TreeKill) {
            true => KillScope::Tree,
            false => KillScope::Group,
        };
        let policy = Policy::new().kill(kill);
        let mut res = Policies::new().other(policy.clone());
        for (class, profiles) in &self.sandbox.classes {
            let mut isolation = Isolation::new();
            let mut limits = Limits::new();
            for profile in profiles {
                let places = places(profile, surroundings);
                isolation = isolation.narrowed_by(&profile.isolation(&places));
                limits = limits.narrowed_by(&profile.limits);
            }
            res = res.class(class.clone(), policy.clone().isolation(isolation).limits(limits));
        }
        res
    }
}

/// The places that a profile speaks of. What plugins lie in and keep is granted to each by itself.
fn places(profile: &SandboxProfile, surroundings: &Surroundings) -> ProfilePlaces {
    let mut res = ProfilePlaces::new(real(&surroundings.current_dir));
    if let Some(home) = &surroundings.places.home {
        res = res.home(real(home));
    }
    if profile.extends == Profile::Workspace {
        let named = surroundings.env.get("TMPDIR").map(PathBuf::from);
        let dir = named.filter(|it| it.is_absolute()).unwrap_or_else(|| "/tmp".into());
        res = res.temp_dir(real(&dir));
    }
    res
}

#[cfg(test)]
mod tests {
    use flyto_execenv::{Class, Environment, Filesystem, Network};

    use super::*;
    use crate::config::Sandbox;

    fn surroundings() -> Surroundings {
        let env: Environment = [("HOME", "/h"), ("TMPDIR", "/t")].into_iter().collect();
        Surroundings::new(env, "/w")
    }

    fn config(profiles: &[&str]) -> Config {
        let mut res = Config::default();
        for name in profiles {
            let mut one = Sandbox::default();
            one.use_for_all(&one.profile(name).expect("everybody has it"));
            res.sandbox.narrow(one);
        }
        res
    }

    fn writes(isolation: &Isolation) -> Vec<String> {
        let Filesystem::Grants { write, .. } = &isolation.filesystem else { return Vec::new() };
        let own = write.iter().filter(|it| !it.starts_with("/dev"));
        own.map(|it| it.display().to_string()).collect()
    }

    #[test]
    fn trees_are_ended_where_the_backend_can() {
        let kill = |capabilities: &Capabilities| {
            let policies = config(&[]).policies(capabilities, &surroundings());
            policies.get(&Class::USER_HOOK).kill
        };
        let portable = Capabilities::new("x").with([Capability::GroupKill]);
        assert_eq!(kill(&portable), Some(KillScope::Group));
        assert_eq!(kill(&portable.with([Capability::TreeKill])), Some(KillScope::Tree));
    }

    #[test]
    fn profiles_have_their_places_and_further_ones_only_take() {
        let isolation = |profiles: &[&str]| {
            let capabilities = Capabilities::new("x");
            let policies = config(profiles).policies(&capabilities, &surroundings());
            policies.get(&Class::PLUGIN_TOOL).isolation.clone()
        };
        assert!(isolation(&[]).is_none() && isolation(&["none"]).is_none());
        assert_eq!(writes(&isolation(&["workspace"])), ["/t", "/w"]);
        assert_eq!(writes(&isolation(&["strict"])), [""; 0]);
        assert_eq!(isolation(&["workspace", "none"]), isolation(&["workspace"]));
        let both = isolation(&["workspace", "strict"]);
        assert_eq!((both.network.clone(), writes(&both)), (Network::Off, Vec::new()));
        assert_eq!(both.denied.len(), isolation(&["strict"]).denied.len());
    }
}
