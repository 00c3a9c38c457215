//! What each class of program gets, as data.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Class, Filesystem, InstallPlaces, Isolation, KillScope, Limits, Spec};

/// What one class of program gets. It narrows a spec and never widens it; [`Spec::grants`] say how far.
///
/// The operator sets it, and no spec can undo it: of two bounds the tighter holds, of two isolations the
/// stricter, and of two kill scopes the wider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// The executor, by the name it was given; `None` is the default one.
    pub executor: Option<String>,
    /// Bounds; the tighter of these and the spec's hold.
    pub limits: Limits,
    /// Isolation; the stricter of this and the spec's holds.
    pub isolation: Isolation,
    /// The least that is ended with the program; the wider of this and the spec's holds.
    pub kill: Option<KillScope>,
    /// Where installed programs are found, so that the backend opens what a program was installed with; `None` opens
    /// nothing beyond the grants.
    pub installs: Option<Arc<InstallPlaces>>,
    /// Why no program of the class is started; `None` where programs are.
    pub refused: Option<String>,
    /// The names under which the operator knows the isolation and the bounds, for messages and reports: those of
    /// sandbox profiles, say. They narrow nothing by themselves.
    pub profiles: Vec<String>,
}

impl Policy {
    /// Changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the class on the executor of this name.
    #[must_use]
    pub fn executor(mut self, name: impl Into<String>) -> Self {
        self.executor = Some(name.into());
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the isolation.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Sets the least that is ended with the program.
    #[must_use]
    pub fn kill(mut self, scope: KillScope) -> Self {
        self.kill = Some(scope);
        self
    }

    /// Has the backend open what a program was installed with, where [`Filesystem::Grants`]
    /// would close it; see [`InstallPlaces`].
    #[must_use]
    pub fn open_installations(mut self, places: impl Into<Arc<InstallPlaces>>) -> Self {
        self.installs = Some(places.into());
        self
    }

    /// Starts no program of the class: each is refused with
    /// [`ExecErrorKind::Refused`](crate::ExecErrorKind::Refused) and this reason, before anything else is looked at.
    #[must_use]
    pub fn refuse(mut self, reason: impl Into<String>) -> Self {
        self.refused = Some(reason.into());
        self
    }

    /// Adds a name under which the operator knows the isolation and the bounds.
    #[must_use]
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.profiles.push(name.into());
        self
    }

    /// What both allow: the tighter bounds, the stricter isolation, the wider kill scope. Where one refuses, both do;
    /// where the two name different executors, that of `self` stays.
    ///
    /// Installations are opened where both do so by the same rules, or where one confines no files.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let Self { executor, limits, isolation, kill, installs, refused, profiles } = other;
        let confines = |it: &Self| matches!(it.isolation.filesystem, Filesystem::Grants { .. });
        let installs = match (confines(self), confines(other)) {
            (_, false) => self.installs.as_ref(),
            (false, true) => installs.as_ref(),
            (true, true) => self.installs.as_ref().filter(|it| Some(*it) == installs.as_ref()),
        };
        let mut names = self.profiles.clone();
        names.extend(profiles.iter().filter(|it| !self.profiles.contains(it)).cloned());
        Self {
            executor: self.executor.as_ref().or(executor.as_ref()).cloned(),
            limits: self.limits.narrowed_by(limits),
            isolation: self.isolation.narrowed_by(isolation),
            kill: self.kill.max(*kill),
            installs: installs.cloned(),
            refused: self.refused.as_ref().or(refused.as_ref()).cloned(),
            profiles: names,
        }
    }

    /// Narrows `spec`, as far as its grants leave it to the class.
    pub fn apply(&self, spec: &mut Spec) {
        let new = self.profiles.iter().filter(|it| !spec.profiles.contains(it)).cloned();
        let new: Vec<_> = new.collect();
        spec.profiles.extend(new);
        let limits = spec.grants.over_limits(&self.limits);
        let isolation = spec.grants.over_isolation(&self.isolation);
        spec.limits = spec.limits.narrowed_by(&limits);
        spec.isolation = spec.isolation.narrowed_by(&isolation);
        if let Some(least) = self.kill {
            spec.kill = spec.kill.max(least);
        }
    }
}

/// The table from class to policy that a handle applies before it checks capabilities.
///
/// A class without a policy of its own gets that of [`other`](Self::other).
///
/// ```
/// use flyto_execenv::{Class, KillScope, Limits, Policies, Policy};
///
/// let policies = Policies::new()
///     .class(Class::PLUGIN_TOOL, Policy::new().kill(KillScope::Tree).limits(Limits::new().processes(64)))
///     .other(Policy::new().limits(Limits::new().memory_bytes(4 << 30)));
/// assert_eq!(policies.get(&Class::PLUGIN_TOOL).limits.processes, Some(64));
/// assert_eq!(policies.get(&Class::EVOLVE).limits.memory_bytes, Some(4 << 30));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    by_class: BTreeMap<Class, Policy>,
    other: Policy,
}

impl Policies {
    /// Nothing is narrowed and everything runs on the default executor.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the policy of one class.
    #[must_use]
    pub fn class(mut self, class: Class, policy: Policy) -> Self {
        self.by_class.insert(class, policy);
        self
    }

    /// Sets the policy of every class without one of its own.
    #[must_use]
    pub fn other(mut self, policy: Policy) -> Self {
        self.other = policy;
        self
    }

    /// What both tables allow, class by class; see [`Policy::narrowed_by`].
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let classes = self.by_class.keys().chain(other.by_class.keys());
        let narrowed = classes.map(|it| (it.clone(), self.get(it).narrowed_by(other.get(it))));
        Self { by_class: narrowed.collect(), other: self.other.narrowed_by(&other.other) }
    }

    /// The policy of `class`.
    #[must_use]
    pub fn get(&self, class: &Class) -> &Policy {
        self.by_class.get(class).unwrap_or(&self.other)
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use super::*;
    use crate::{Grants, LocalSockets, Network, Processes, SystemCalls, project_settings};

    #[test]
    fn a_policy_narrows_and_never_widens() {
        let policies = Policies::new().class(
            Class::EVOLVE,
            Policy::new()
                .limits(Limits::new().processes(8))
                .isolation(Isolation::new().network(Network::Off))
                .kill(KillScope::Tree),
        );
        let mut spec = Spec::new("x").class(Class::EVOLVE).limits(Limits::new().processes(100));
        policies.get(&spec.class).apply(&mut spec);
        assert_eq!(spec.limits.processes, Some(8));
        assert_eq!(spec.isolation.network, Network::Off);
        assert_eq!(spec.kill, KillScope::Tree);

        let before = Spec::new("x").limits(Limits::new().processes(100));
        let mut spec = before.clone();
        policies.get(&spec.class).apply(&mut spec);
        assert_eq!(spec, before);
    }

    #[test]
    fn of_two_tables_both_hold() {
        let files = |write: &str| Filesystem::Grants {
            read: ["/usr".into()].into(),
            write: [write.into()].into(),
        };
        let own = Policies::new()
            .class(Class::EVOLVE, Policy::new().executor("box").limits(Limits::new().processes(8)))
            .class(Class::USER_HOOK, Policy::new().refuse("no hooks here"))
            .other(
                Policy::new().isolation(Isolation::new().filesystem(files("/w"))).profile("own"),
            );
        let strict = Policy::new()
            .isolation(Isolation::new().network(Network::Off).filesystem(files("/w/sub")))
            .open_installations(InstallPlaces::default())
            .kill(KillScope::Tree)
            .profile("strict");
        let both = own.narrowed_by(&Policies::new().other(strict.clone()));

        let evolve = both.get(&Class::EVOLVE);
        assert_eq!(evolve.executor.as_deref(), Some("box"));
        assert_eq!((evolve.limits.processes, evolve.kill), (Some(8), Some(KillScope::Tree)));
        assert_eq!((&evolve.isolation, &evolve.installs), (&strict.isolation, &strict.installs));
        assert_eq!(both.get(&Class::USER_HOOK).refused.as_deref(), Some("no hooks here"));
        let other = both.get(&Class::PLUGIN_TOOL);
        let Filesystem::Grants { write, .. } = &other.isolation.filesystem else { panic!("paths") };
        assert_eq!(write.to_vec(), [Path::new("/w/sub")]);
        assert_eq!(other.profiles, ["own", "strict"]);
        assert_eq!(other.installs, None, "one of the two opens nothing beyond its grants");

        let once = Policies::new().other(strict.clone());
        let twice = once.narrowed_by(&once);
        let twice = twice.get(&Class::EVOLVE);
        assert_eq!(
            (&twice.installs, &*twice.profiles),
            (&strict.installs, &["strict".to_owned()][..])
        );
    }

    #[test]
    fn a_grant_takes_the_place_of_the_class_and_never_of_the_spec() {
        let paths = |read: &[&str], write: &[&str]| Filesystem::Grants {
            read: read.iter().map(Into::into).collect(),
            write: write.iter().map(Into::into).collect(),
        };
        let policy = Policy::new().limits(Limits::new().processes(8).open_files(64)).isolation(
            Isolation::new().network(Network::Off).filesystem(paths(&["/usr"], &["/work"])),
        );
        let grants = Grants::new()
            .limits(Limits::new().processes(32).memory_bytes(1 << 20))
            .network(Network::Host)
            .read("/srv/models")
            .write("/var/cache/p");

        let mut spec = Spec::new("x").grants(grants.clone());
        policy.apply(&mut spec);
        assert_eq!(spec.limits, Limits::new().processes(32).open_files(64).memory_bytes(1 << 20));
        assert_eq!(spec.isolation.network, Network::Host);
        let both = paths(&["/usr", "/srv/models"], &["/work", "/var/cache/p"]);
        assert_eq!(spec.isolation.filesystem, both);

        let own = Isolation::new().network(Network::Off).filesystem(paths(&["/usr/lib"], &[]));
        let mut spec =
            Spec::new("x").limits(Limits::new().processes(2)).isolation(own.clone()).grants(grants);
        policy.apply(&mut spec);
        assert_eq!(spec.limits.processes, Some(2));
        assert_eq!(spec.isolation, own);
    }

    #[test]
    fn a_grant_opens_what_it_names_and_a_denial_of_the_spec_stays() {
        let class = Isolation::new()
            .deny("/h/.aws")
            .deny("/h/.ssh")
            .local_sockets(LocalSockets::Off)
            .system_calls(SystemCalls::Restricted)
            .processes(Processes::Own);
        let policy = Policy::new().isolation(class);
        let grants = Grants::new()
            .read("/h/.aws")
            .write("/h")
            .local_sockets(LocalSockets::Host)
            .system_calls(SystemCalls::Host)
            .processes(Processes::Host);
        let mut spec = Spec::new("x").grants(grants.clone());
        policy.apply(&mut spec);
        assert_eq!(spec.isolation, Isolation::new().deny("/h/.ssh"));

        let own = Isolation::new().deny("/h/.aws");
        let mut spec = Spec::new("x").isolation(own.clone()).grants(grants);
        policy.apply(&mut spec);
        assert_eq!(spec.isolation, own.deny("/h/.ssh"));
    }

    #[test]
    fn what_a_class_keeps_unchanged_is_kept_in_granted_directories_too() {
        let settings = |dir: &str| {
            project_settings(Path::new(dir)).fold(Isolation::new(), |it, path| it.read_only(path))
        };
        let grants = Grants::new().read("/r").write("/w").write("/p/.git/hooks");
        let with = |class: Isolation| {
            let mut spec = Spec::new("x").grants(grants.clone());
            Policy::new().isolation(class).apply(&mut spec);
            spec.isolation
        };
        // What is granted by its own name is not kept.
        let more = ["/w", "/p/.git/hooks"]
            .map(settings)
            .iter()
            .fold(settings("/p"), |it, more| it.narrowed_by(more));
        let expected = more.read_only.iter().filter(|it| !it.ends_with("p/.git/hooks"));
        let expected = expected.fold(Isolation::new(), |it, path| it.read_only(path));
        assert_eq!(with(settings("/p")), expected);
        // A class that keeps nothing asks for no more than it did.
        assert_eq!(with(Isolation::new()), Isolation::new());
    }

    #[test]
    fn what_a_class_asks_for_is_shared_by_its_programs() {
        let class = Isolation::new().deny("/h/.ssh").filesystem(Filesystem::Grants {
            read: ["/usr".into()].into(),
            write: ["/w".into()].into(),
        });
        let policy = Policy::new().isolation(class.clone());
        let mut spec = Spec::new("x").grants(Grants::new().network(Network::Off).write("/more"));
        policy.apply(&mut spec);
        assert!(Arc::ptr_eq(&spec.isolation.denied, &class.denied));
        let (Filesystem::Grants { read, .. }, Filesystem::Grants { read: same, .. }) =
            (&spec.isolation.filesystem, &class.filesystem)
        else {
            panic!("paths are granted")
        };
        assert!(Arc::ptr_eq(read, same));
    }

    #[test]
    fn granted_paths_do_not_close_an_open_file_system() {
        let mut spec = Spec::new("x").grants(Grants::new().read("/srv"));
        Policy::new().apply(&mut spec);
        assert_eq!(spec.isolation, Isolation::new());

        let off = Grants::new().network(Network::Off);
        assert!(!off.is_empty() && Grants::new().is_empty());
        let mut spec = Spec::new("x").grants(off);
        Policy::new().apply(&mut spec);
        assert_eq!(spec.isolation.network, Network::Off);
    }
}
