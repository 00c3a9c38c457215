//! What each class of program gets, by the configuration.
//!
//! [`Config::policies`] turns the profiles of a configuration into the [`Policies`] of a handle:
//! isolation and bounds for each class, and a reason where a class is refused. Links and
//! directories are looked at when a policy is made.
//!
//! This file puts sandbox strict, or any other profile, into force for the programs of a class. What the built-in
//! profiles allow and deny is decided by [`Profile::isolation`] in flyto-execenv.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use flyto_diagnostics::{Diagnostic, Findings, Location};
use flyto_execenv::{
    Class, Exposed, Filesystem, InstallPlaces, Isolation, KillScope, Limits, Policies, Policy,
    Profile, ProfilePlaces,
};

use flyto_plugin::{CLAUDE_MANIFEST_FILE, MANIFEST_FILE};

use super::{
    Config, Sandbox,
    sandbox::{CLASSES, SandboxProfile},
};
use crate::{
    codes,
    links::{self, Link},
    places::{Places, Surroundings},
};

impl Config {
    /// What each class of program gets at these places, by its profiles, and by what `kill` says of its backend.
    ///
    /// What a profile asks for and the backend lacks is a reason to refuse a call.
    ///
    /// Programs work on the current directory. `workspace` has the directory for temporary files
    /// (`$TMPDIR`, else `/tmp`), which other programs use as well; `strict` has none. A directory that lies
    /// behind a link, or has more in it than temporary files, is not granted;
    /// [`place_findings`](Self::place_findings) says so.
    ///
    /// A class is refused where `workspace` would make too much writable: in the home directory, a directory of the
    /// system, or above one of them (see [`Profile::exposed`]).
    pub(crate) fn policies(
        &self,
        kill: impl Fn(&Class) -> KillScope,
        surroundings: &Surroundings,
    ) -> Policies {
        let Sandbox { classes, other, .. } = &self.sandbox;
        let mut made: Vec<(&[SandboxProfile], Policy)> = Vec::new();
        for profiles in classes.values().chain([other]) {
            // Most often all classes have the same, which they share then.
            if made.iter().all(|it| it.0 != &**profiles) {
                made.push((profiles, self.policy(profiles, surroundings)));
            }
        }
        let installs = Arc::new(self.install_places(made.iter().map(|it| &it.1), surroundings));
        let policy = |profiles: &[SandboxProfile], class: &Class| {
            let policy = made.iter().find(|it| it.0 == profiles).map(|it| it.1.clone());
            let policy = policy.unwrap_or_default().kill(kill(class));
            // Also for a tool that asks for a profile where its class has none.
            policy.open_installations(Arc::clone(&installs))
        };
        let named = CLASSES.iter().map(|it| &it.1).chain(classes.keys());
        let res = named.fold(Policies::new(), |res, class| {
            res.class(class.clone(), policy(self.sandbox.profiles_of(class), class))
        });
        res.other(policy(other, &Class::new("other")))
    }

    /// What the profile of this name asks for at these places; `None` where there is none.
    pub(crate) fn profile_policy(&self, name: &str, surroundings: &Surroundings) -> Option<Policy> {
        Some(self.policy(&[self.sandbox.profile(name)?], surroundings))
    }

    /// What these profiles ask for together.
    fn policy(&self, profiles: &[SandboxProfile], surroundings: &Surroundings) -> Policy {
        let mut isolation = Isolation::new();
        let mut limits = Limits::new();
        for profile in profiles {
            let places = places(profile, surroundings);
            isolation = isolation.narrowed_by(&profile.isolation(&places));
            limits = limits.narrowed_by(&profile.limits);
        }
        if !isolation.is_none() {
            isolation = self.deciding_files().fold(isolation, Isolation::read_only);
            if let Some(copies) = self.endangered_copies(surroundings) {
                isolation = isolation.read_only(copies);
            }
        }
        let refused = refusal(profiles, &isolation, surroundings);
        let mut res = Policy::new().isolation(isolation).limits(limits);
        res.refused = refused;
        let names = profiles.iter().map(|it| &*it.name).filter(|it| *it != Profile::None.name());
        names.fold(res, Policy::profile)
    }

    /// Where programs are installed, and what a program of some class may write: what it leaves there opens nothing.
    fn install_places<'a>(
        &self,
        policies: impl Iterator<Item = &'a Policy>,
        surroundings: &Surroundings,
    ) -> InstallPlaces {
        let mut res = InstallPlaces::new(&surroundings.env);
        if let Some(home) = surroundings.home() {
            let real = links::real(home);
            res = if real == home { res } else { res.home(real) };
            res = res.home(home);
        }
        let by_profile = policies.flat_map(|it| match &it.isolation.filesystem {
            Filesystem::Grants { write, .. } => write.to_vec(),
            _ => Vec::new(),
        });
        let by_grant = self.plugins.grants.values().flat_map(|it| it.write.iter().cloned());
        let data = surroundings.places.plugin_data_dir.iter().cloned();
        by_profile.chain(by_grant).chain(data).fold(res, InstallPlaces::writable)
    }

    /// Files and directories that decide what a later call runs, and how: the configuration that was read, files with
    /// tool definitions, directories of plugins, the store of evolved tools. A program that is confined by them must not change them.
    fn deciding_files(&self) -> impl Iterator<Item = PathBuf> {
        let linked = self.plugins.plugin_dirs.iter().flat_map(|it| linked_plugins(it));
        let named = self.files.iter().chain(&self.exec_tools).chain(&self.plugins.plugin_dirs);
        let named = named.chain(&self.evolve.dir).cloned();
        let named = named.chain(linked);
        // As they are written, and where they lead.
        let all: BTreeSet<_> = named.flat_map(|it| [links::real(&it), it]).collect();
        all.into_iter().filter(|it| it.is_absolute() && !links::climbs(it))
    }

    /// What the profiles in use would grant and cannot, because a link leads there: the home directory, and that for
    /// temporary files.
    ///
    /// Warnings with the codes [`LINK`](codes::LINK) and [`TOO_WIDE`](codes::TOO_WIDE). Empty where
    /// no class runs under `workspace`.
    #[must_use]
    pub fn place_findings(&self, surroundings: &Surroundings) -> Findings {
        let mut res = Findings::new();
        if !self.sandbox.in_use().any(|it| it.extends == Profile::Workspace) {
            return res;
        }
        if let Some(Err(link)) = surroundings.home().map(links::home_dir) {
            res.push(not_granted("$HOME", "the home directory", &link));
        }
        let plain = places(&SandboxProfile::plain(Profile::Workspace), surroundings);
        let (place, dir) = temp_dir(surroundings);
        match links::granted_path(&dir, surroundings.home()) {
            Ok(dir) => {
                if let Some(exposed) = wide(&dir, &plain) {
                    let what = format!(
                        "the directory for temporary files {dir:?} is not granted: {exposed} would \
                         be writable"
                    );
                    let diag = Diagnostic::warning(codes::TOO_WIDE, Location::file(place), what);
                    res.push(diag.with_help("set TMPDIR to a directory of its own"));
                }
            }
            Err(link) => {
                res.push(not_granted(place, "the directory for temporary files", &link));
            }
        }
        let refused = || {
            let policies = self.policies(|_| KillScope::Group, surroundings);
            CLASSES.iter().find_map(|it| policies.get(&it.1).refused.clone())
        };
        // Most directories are narrow enough, which is sooner said than what each class gets.
        let is_wide = Profile::Workspace.exposed(&plain).is_some();
        if let Some(reason) = is_wide.then(refused).flatten() {
            let place = Location::file(surroundings.current_dir.display().to_string());
            let diag = Diagnostic::warning(codes::TOO_WIDE, place, reason);
            let diag = diag.with_reason("calls are refused here");
            res.push(diag.with_help("change to the directory of a project"));
        }
        res
    }
}

/// What every sandbox profile closes on this machine, whether it is there or not: secrets of the user, and what this
/// program keeps for itself. A profile that extends `none` closes nothing of it.
#[must_use]
pub fn closed_paths(surroundings: &Surroundings) -> Vec<PathBuf> {
    let plain = SandboxProfile::plain(Profile::Strict);
    plain.isolation(&places(&plain, surroundings)).denied.to_vec()
}

/// What links in a directory of plugins lead to: plugins that lie elsewhere, and manifests.
///
/// Two entries of a plugin can be links: its directory and its manifest. At most [`MAX_PLUGINS`]
/// entries are looked at.
fn linked_plugins(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().take(MAX_PLUGINS);
    let paths = entries.filter_map(|it| Some(it.ok()?.path()));
    let paths = paths.flat_map(|it| [it.join(MANIFEST_FILE), it.join(CLAUDE_MANIFEST_FILE), it]);
    paths.filter(|it| it.symlink_metadata().is_ok_and(|it| it.is_symlink()))
}

/// Entries of a directory of plugins that are looked at.
const MAX_PLUGINS: usize = 100_000;

/// Why programs under these profiles are not started: the current directory is too wide to be written.
fn refusal(
    profiles: &[SandboxProfile],
    isolation: &Isolation,
    surroundings: &Surroundings,
) -> Option<String> {
    let dir = &surroundings.current_dir;
    // Beside a stricter profile, what `workspace` opens stays closed.
    let Filesystem::Grants { write, .. } = &isolation.filesystem else { return None };
    if !write.contains(dir) {
        return None;
    }
    profiles.iter().find_map(|it| {
        let exposed = it.extends.exposed(&places(it, surroundings))?;
        let name = &it.name;
        Some(format!("in {dir:?}, the sandbox profile {name:?} would make {exposed} writable"))
    })
}

/// The places that a profile speaks of. What plugins lie in and keep is granted to each by itself.
///
/// The current directory has no links in it, as the system tells it (getcwd(3)).
fn places(profile: &SandboxProfile, surroundings: &Surroundings) -> ProfilePlaces {
    let res = ProfilePlaces::new(&surroundings.current_dir).environment(&surroundings.env);
    let mut res = res.system_secrets();
    if let Some(home) = &surroundings.places.home {
        res = match links::home_dir(home) {
            Ok(home) => res.home(home),
            // The secrets are closed also where nothing of the home directory is granted.
            Err(_) => res.secrets_of(home).secrets_of(links::real(home)),
        };
    }
    // What this program keeps for itself decides what later calls may do.
    let Places { state_dir, config_file, .. } = &surroundings.places;
    let own = state_dir.as_deref().into_iter().chain(config_file.as_deref().and_then(Path::parent));
    res = own.fold(res, ProfilePlaces::deny);
    if profile.extends == Profile::Workspace
        && let Ok(dir) = links::granted_path(&temp_dir(surroundings).1, surroundings.home())
        && wide(&dir, &res).is_none()
    {
        res = res.temp_dir(dir);
    }
    res
}

/// What a directory for temporary files would make writable beside them.
fn wide(dir: &Path, places: &ProfilePlaces) -> Option<Exposed> {
    let mut there = places.clone();
    there.working_dir = dir.to_owned();
    Profile::Workspace.exposed(&there)
}

/// The directory for temporary files, and what names it.
pub(super) fn temp_dir(surroundings: &Surroundings) -> (&'static str, PathBuf) {
    let named = surroundings.env.get("TMPDIR").map(PathBuf::from);
    match named.filter(|it| it.is_absolute()) {
        Some(dir) => ("$TMPDIR", dir),
        None => ("/tmp", "/tmp".into()),
    }
}

/// Names the link, and where it leads as the value to set.
fn not_granted(place: &str, what: &str, link: &Link) -> Diagnostic {
    let message = format!("{what} is not granted: {link}");
    let help = match &link.real {
        Some(real) => format!("set it to {real:?}"),
        None => "set it to a directory without a link on the way".to_owned(),
    };
    Diagnostic::warning(codes::LINK, Location::file(place), message).with_help(help)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use flyto_execenv::{Environment, Network};

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
            res.sandbox.narrow(&one);
        }
        res
    }

    fn writes(isolation: &Isolation) -> Vec<String> {
        let Filesystem::Grants { write, .. } = &isolation.filesystem else { return Vec::new() };
        let own = write.iter().filter(|it| !it.starts_with("/dev"));
        own.map(|it| it.display().to_string()).collect()
    }

    #[test]
    fn a_directory_behind_a_link_is_not_granted_and_that_is_said() {
        let dir = tempfile::tempdir().expect("there is room");
        let root = dir.path().canonicalize().expect("it is there");
        std::fs::create_dir_all(root.join("real/tmp")).expect("it is ours");
        std::os::unix::fs::symlink("real", root.join("home")).expect("it is ours");
        let at = |path: &str| root.join(path).display().to_string();
        let shown = |profile: &str, home: &str, tmp: &str| {
            let env = [("HOME", at(home)), ("TMPDIR", at(tmp))].into_iter().collect();
            let surroundings = Surroundings::new(env, "/w");
            let config = config(&[profile]);
            let policies = config.policies(|_| KillScope::Group, &surroundings);
            let isolation = &policies.get(&Class::PLUGIN_TOOL).isolation;
            let Filesystem::Grants { read, .. } = &isolation.filesystem else { panic!("paths") };
            let denied = |it: &str| isolation.denied.contains(&root.join(it).join(".ssh"));
            let found = config.place_findings(&surroundings);
            let places: Vec<_> = found.iter().map(|it| it.location.name().to_owned()).collect();
            (
                read.contains(&root.join(home)),
                writes(isolation).contains(&at(tmp)),
                denied(home) && denied("real"),
                places.join(" "),
            )
        };
        assert_eq!(shown("workspace", "real", "real/tmp"), (true, true, true, String::new()));
        let both = "$HOME $TMPDIR".to_owned();
        assert_eq!(shown("workspace", "home", "home/tmp"), (false, false, true, both));
        assert_eq!(shown("strict", "home", "home/tmp"), (false, false, true, String::new()));
    }

    /// Why `profiles` refuse programs in `dir`; empty where they do not.
    fn refused(profiles: &[&str], dir: &str) -> String {
        let surroundings = Surroundings { current_dir: dir.into(), ..surroundings() };
        let policies = config(profiles).policies(|_| KillScope::Group, &surroundings);
        policies.get(&Class::PLUGIN_TOOL).refused.clone().unwrap_or_default()
    }

    #[test]
    fn workspace_is_refused_where_it_would_open_more_than_a_project() {
        let home = "in \"/h\", the sandbox profile \"workspace\" would make the home directory \"/h\" writable";
        assert_eq!(refused(&["workspace"], "/h"), home);
        assert!(refused(&["none", "workspace"], "/").contains("\"/h\""));
        assert!(refused(&["workspace"], "/etc").contains("the system directory \"/etc\""));
        for (profiles, dir) in [
            (&["workspace"][..], "/h/project"),
            (&["strict"], "/h"),
            (&["none"], "/"),
            (&["workspace", "strict"], "/h"),
        ] {
            assert_eq!(refused(profiles, dir), "", "{profiles:?} in {dir}");
        }
        let mut own = config(&[]);
        let mut mine = SandboxProfile::plain(Profile::Workspace);
        mine.name = "mine".to_owned();
        own.sandbox.use_for_all(&mine);
        let here = Surroundings { current_dir: "/".into(), ..surroundings() };
        let policies = own.policies(|_| KillScope::Group, &here);
        let reason = policies.get(&Class::USER_HOOK).refused.clone().expect("it extends workspace");
        assert!(reason.contains("\"mine\""), "{reason}");
        let codes: Vec<_> = own.place_findings(&here).iter().map(|it| it.code).collect();
        assert_eq!(codes, [codes::TOO_WIDE]);
    }

    #[test]
    fn a_temporary_directory_that_is_more_than_that_is_not_granted() {
        let env: Environment = [("HOME", "/h/ada"), ("TMPDIR", "/h")].into_iter().collect();
        let surroundings = Surroundings::new(env, "/w");
        let config = config(&["workspace"]);
        let policies = config.policies(|_| KillScope::Group, &surroundings);
        assert_eq!(writes(&policies.get(&Class::PLUGIN_TOOL).isolation), ["/w"]);
        let findings = config.place_findings(&surroundings);
        let said: Vec<_> = findings.iter().map(|it| (it.code, it.location.name())).collect();
        assert_eq!(said, [(codes::TOO_WIDE, "$TMPDIR")]);
    }

    #[test]
    fn what_the_host_keeps_is_closed_wherever_it_lies() {
        let denied = |env: &[(&str, &str)]| {
            let surroundings = Surroundings::new(env.iter().copied().collect(), "/w");
            let policies = config(&["strict"]).policies(|_| KillScope::Group, &surroundings);
            policies.get(&Class::PLUGIN_TOOL).isolation.denied.to_vec()
        };
        let moved = denied(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c")]);
        for path in ["/s/flyto", "/c/flyto", "/h/.config/flyto", "/h/.local/state/flyto"] {
            assert!(moved.contains(&path.into()), "{path}");
        }
        // Places need not be those that the environment names.
        let mut own = Surroundings::new([("HOME", "/h")].into_iter().collect(), "/w");
        own.places.state_dir = Some("/own/state".into());
        own.places.config_file = Some("/own/config/file.json".into());
        let closed = closed_paths(&own);
        for path in ["/own/state", "/own/config"] {
            assert!(closed.contains(&path.into()), "{path}");
        }
        let usual = denied(&[("HOME", "/h")]);
        let listed: BTreeSet<_> = usual.iter().collect();
        assert_eq!(usual.len(), listed.len(), "none stands there twice");
    }

    #[test]
    fn copies_of_pinned_scripts_stay_as_they_are() {
        let read_only = |profile: &str, dir: &str| {
            let env: Environment = [("HOME", "/h")].into_iter().collect();
            let surroundings = Surroundings::new(env, dir);
            let policies = config(&[profile]).policies(|_| KillScope::Group, &surroundings);
            let isolation = policies.get(&Class::PLUGIN_TOOL).isolation.clone();
            isolation.read_only.contains(&PathBuf::from("/h/.cache/flyto/pinned"))
        };
        assert!(read_only("workspace", "/h/.cache"));
        assert!(read_only("strict", "/h/.cache/flyto"));
        // Elsewhere no program may write there.
        assert!(!read_only("workspace", "/h/project"));
        assert!(!read_only("none", "/h/.cache"));
    }

    #[test]
    fn profiles_have_their_places_and_further_ones_only_take() {
        let isolation = |profiles: &[&str]| {
            let policies = config(profiles).policies(|_| KillScope::Group, &surroundings());
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

    #[test]
    fn settings_are_kept_in_what_a_profile_opens_for_writing() {
        let mut sandbox = Sandbox::default();
        let mut profile = sandbox.profile("strict").expect("it is built in");
        profile.write = ["/m", "/m/.git/config"].map(PathBuf::from).into();
        sandbox.use_for_all(&profile);
        let config = Config { sandbox, ..Config::default() };
        let policies = config.policies(|_| KillScope::Group, &surroundings());
        let kept = &policies.get(&Class::EVOLVE).isolation.read_only;
        let has = |path: &str| kept.contains(&PathBuf::from(path));
        assert!(has("/m/.envrc") && has("/m/.git/hooks") && has("/w/.flyto"), "{kept:?}");
        // That is granted by its own name.
        assert!(!has("/m/.git/config"), "{kept:?}");
    }

    #[test]
    fn what_some_program_may_write_opens_no_installation() {
        let mut config = Config::default();
        let mut grant = flyto_plugin::Grant::new();
        grant.write.push("/granted".into());
        config.plugins.grants.insert("p".to_owned(), grant);
        let mut profile = config.sandbox.profile("strict").expect("it is there");
        profile.write.push("/written".into());
        config.sandbox.use_for_all(&profile);
        let env = [("HOME", "/not/there/h"), ("PATH", "/b")].into_iter().collect();
        let surroundings = Surroundings::new(env, "/w");
        let policies = config.policies(|_| KillScope::Group, &surroundings);
        let expect = ["/dev/full", "/dev/null", "/dev/zero", "/written", "/granted"]
            .into_iter()
            .chain(["/not/there/h/.local/share/flyto/plugins"])
            .fold(
                InstallPlaces::new(&surroundings.env).home("/not/there/h"),
                InstallPlaces::writable,
            );
        for class in [Class::EVOLVE, Class::new("hosts-own")] {
            assert_eq!(policies.get(&class).installs.as_deref(), Some(&expect));
        }
    }
}
