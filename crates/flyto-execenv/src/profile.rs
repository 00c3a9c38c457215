//! Isolation under a name: the sandbox profiles `none`, `workspace` and `strict`.
//!
//! [`Profile::isolation`] decides what sandbox strict and the others allow and deny; a backend enforces it.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    Environment, Filesystem, Isolation, LocalSockets, Network, Processes, SharedMemory,
    SystemCalls,
    secrets::{self, Variables},
    system_secrets::{self, SYSTEM_SECRETS},
};

/// How much a program is cut off, under a name that configuration uses.
///
/// | | `none` | `workspace` | `strict` |
/// | --- | --- | --- | --- |
/// | system directories | as the user | read | read |
/// | home directory | as the user | read, but for [`SECRETS`](crate::SECRETS) | closed |
/// | working directory | as the user | write, but for [`PROJECT_SETTINGS`] | read; where a grant says write, but for [`PROJECT_SETTINGS`] |
/// | data directory | as the user | write, but for [`PROJECT_SETTINGS`] | write, but for [`PROJECT_SETTINGS`] |
/// | temporary directory | as the user | write | write |
/// | further directories of [`ProfilePlaces::read`] | as the user | read | read |
/// | network | as the machine | as the machine | off |
/// | named sockets | as the user | off | off |
/// | system calls | all | restricted | restricted |
/// | other processes | as the user | own tree only | own tree only |
/// | shared memory (`/dev/shm`) | as the user | its own, where the backend has one | none |
///
/// The home directory, and every directory on the way to a secret in it, may be closed to listing and
/// to new entries, also where it is the working directory; see [`Isolation::denied`].
///
/// Of [`PROJECT_SETTINGS`], what exists when a program starts can be read and not be changed; what does
/// not exist can be made (see [`Isolation::read_only`]). Only entries directly below the directory are
/// meant: a repository further down has the same files, and is not looked for.
///
/// What may be read is still read as the user: for root, that is also `/etc/shadow`, unless the places have
/// [`system_secrets`](ProfilePlaces::system_secrets). A program in `strict`
/// does best with a `HOME` of its own, such as the temporary directory: some, Git among them, end when
/// they may not look for their settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// No isolation at all.
    #[default]
    None,
    /// For tools that work on the files of a project: they see the system and the home directory, but
    /// not the secrets in it, and change nothing outside the project.
    Workspace,
    /// For programs that are not trusted.
    Strict,
}

/// The places on a machine that a [`Profile`] speaks of.
///
/// All are absolute, and no part of one is a link: a grant that leads elsewhere grants nothing (see
/// [`Filesystem::Grants`]).
///
/// ```
/// use flyto_execenv::{Network, Profile, ProfilePlaces};
///
/// let places = ProfilePlaces::new("/home/ada/project").home("/home/ada").temp_dir("/tmp/flyto-1");
/// assert_eq!(Profile::Strict.isolation(&places).network, Network::Off);
/// assert!(Profile::None.isolation(&places).is_none());
/// // A profile that would let a program write the whole home directory says so.
/// assert!(Profile::Workspace.exposed(&ProfilePlaces::new("/home/ada").home("/home/ada")).is_some());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfilePlaces {
    /// The home directory. Without one, nothing is granted in it.
    pub home: Option<PathBuf>,
    /// Further names of the home directory, in which nothing is granted and the same is denied as in
    /// [`home`](Self::home). They may be links: a denial closes what they lead to as well.
    pub secrets_of: Vec<PathBuf>,
    /// The directory whose files the program is to work on.
    pub working_dir: PathBuf,
    /// Where the program may keep what is to last.
    pub data_dir: Option<PathBuf>,
    /// Where the program may put what is not to last; best one that no other program uses.
    pub temp_dir: Option<PathBuf>,
    /// What else must be readable, such as the directory that the program lies in.
    pub read: Vec<PathBuf>,
    /// What else must be closed, such as what the caller keeps for itself.
    pub denied: Vec<PathBuf>,
    /// The variables that move secrets.
    variables: Variables,
}

impl ProfilePlaces {
    /// The working directory, and nothing else.
    #[must_use]
    pub fn new(working_dir: impl Into<PathBuf>) -> Self {
        Self {
            home: None,
            secrets_of: Vec::new(),
            working_dir: working_dir.into(),
            data_dir: None,
            temp_dir: None,
            read: Vec::new(),
            denied: Vec::new(),
            variables: Variables::default(),
        }
    }

    /// Sets the home directory.
    #[must_use]
    pub fn home(mut self, dir: impl Into<PathBuf>) -> Self {
        self.home = Some(dir.into());
        self
    }

    /// Adds a name of the home directory in which secrets are denied and nothing is granted.
    #[must_use]
    pub fn secrets_of(mut self, dir: impl Into<PathBuf>) -> Self {
        self.secrets_of.push(dir.into());
        self
    }

    /// Sets where the program may keep what is to last.
    #[must_use]
    pub fn data_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(dir.into());
        self
    }

    /// Sets where the program may put what is not to last.
    #[must_use]
    pub fn temp_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(dir.into());
        self
    }

    /// Adds a directory or file that must be readable.
    #[must_use]
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(path.into());
        self
    }

    /// Closes secrets also where variables of this environment move them, such as `GNUPGHOME` and `XDG_CONFIG_HOME`. Of
    /// the environment, only those variables are kept. Relative paths in them are meant below the working directory.
    #[must_use]
    pub fn environment(mut self, environment: &Environment) -> Self {
        self.variables = Variables::of(environment);
        self
    }

    /// Closes [`SYSTEM_SECRETS`] too, where this process can read one of them: for programs that run as this user, which
    /// is root then, mostly. Their directories, `/etc` among them, cannot be listed.
    #[must_use]
    pub fn system_secrets(mut self) -> Self {
        if system_secrets::can_read_any() {
            self.denied.extend(SYSTEM_SECRETS.iter().map(|(path, _)| PathBuf::from(path)));
        }
        self
    }

    /// Adds a path that must be closed.
    #[must_use]
    pub fn deny(mut self, path: impl Into<PathBuf>) -> Self {
        self.denied.push(path.into());
        self
    }
}

impl Profile {
    /// Every profile, from the most open to the strictest.
    pub const ALL: &[Self] = &[Self::None, Self::Workspace, Self::Strict];

    /// The name that configuration and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Workspace => "workspace",
            Self::Strict => "strict",
        }
    }

    /// The profile with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// What the profile would let a program write that no project has in it: the home directory, a directory of the
    /// system, or a file system of the kernel's. `None` where the working directory is narrow enough.
    ///
    /// Programs in [`Workspace`](Self::Workspace) may write the working directory. Where that is `/` or the home
    /// directory, they could write the start-up files of shells, other plugins, or the kernel's settings, and what they
    /// wrote would act outside of their isolation. A caller refuses the profile there.
    #[must_use]
    pub fn exposed(self, places: &ProfilePlaces) -> Option<Exposed> {
        match self {
            Self::Workspace => exposed(&places.working_dir, places),
            _ => None,
        }
    }

    /// What the profile asks for at these places.
    #[must_use]
    pub fn isolation(self, places: &ProfilePlaces) -> Isolation {
        let network = match self {
            Self::None => return Isolation::new(),
            Self::Workspace => Network::Host,
            Self::Strict => Network::Off,
        };
        // The rest says where secrets lie.
        let ProfilePlaces { home, working_dir, data_dir, temp_dir, read: more, denied, .. } =
            places;

        let mut read: Vec<_> = SYSTEM_READ.iter().map(PathBuf::from).collect();
        read.extend(more.iter().cloned());
        let mut write: Vec<_> = SYSTEM_WRITE.iter().map(PathBuf::from).collect();
        write.extend(data_dir.iter().chain(temp_dir).cloned());
        match self {
            Self::Workspace => {
                read.extend(WORKSPACE_READ.iter().map(PathBuf::from));
                write.extend(WORKSPACE_WRITE.iter().map(PathBuf::from));
                read.extend(home.iter().cloned());
                write.push(working_dir.clone());
            }
            _ => read.push(working_dir.clone()),
        }
        // Also where only a grant opens the working directory for writing.
        let kept = data_dir.iter().chain([working_dir]);
        let mut all = secret_places(places);
        for path in denied {
            if !all.contains(path) {
                all.push(path.clone());
            }
        }
        Isolation {
            network,
            local_sockets: LocalSockets::Off,
            filesystem: Filesystem::Grants { read: read.into(), write: write.into() },
            denied: all.into(),
            read_only: kept.flat_map(|it| project_settings(it)).collect(),
            system_calls: SystemCalls::Restricted,
            processes: Processes::Own,
            shared_memory: SharedMemory::Own,
        }
    }
}

/// What is too much to be written by a program that works on a project.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exposed {
    /// The home directory.
    Home(PathBuf),
    /// A directory of the system.
    System(PathBuf),
    /// A directory of the operator's in which shells look for programs.
    Programs(PathBuf),
    /// A directory in which Git keeps the hooks and settings of a repository.
    Repository(PathBuf),
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(path) => write!(f, "the home directory {path:?}"),
            Self::System(path) => write!(f, "the system directory {path:?}"),
            Self::Programs(path) => write!(f, "the directory of programs {path:?}"),
            Self::Repository(path) => write!(f, "the repository's own files in {path:?}"),
        }
    }
}

/// Where secrets lie at these places. A variable that would close a whole home directory or the system moves none.
fn secret_places(places: &ProfilePlaces) -> Vec<PathBuf> {
    let homes: BTreeSet<_> = places.home.iter().chain(&places.secrets_of).collect();
    let is_wide = |it: &Path| exposed(it, places).is_some();
    secrets::places(homes.into_iter(), &places.variables, &places.working_dir, is_wide)
}

/// What of these places lies in `dir`, or is it, that must not be written with it.
pub(crate) fn exposed(dir: &Path, places: &ProfilePlaces) -> Option<Exposed> {
    let homes = places.home.iter().chain(&places.secrets_of);
    if let Some(home) = homes.into_iter().find(|it| it.starts_with(dir)) {
        return Some(Exposed::Home(home.clone()));
    }
    let homes = places.home.iter().chain(&places.secrets_of);
    let programs = homes.flat_map(|home| USER_PROGRAMS.iter().map(|it| home.join(it)));
    // As it is written, and where it leads.
    let mut programs = programs.flat_map(|it| it.canonicalize().into_iter().chain([it]));
    if let Some(found) = programs.find(|it| it.starts_with(dir) || dir.starts_with(it)) {
        return Some(Exposed::Programs(found));
    }
    if let Some(repository) = dir.ancestors().find(|it| is_repository(it)) {
        return Some(Exposed::Repository(repository.to_owned()));
    }
    let is_in = |all: &[&str]| all.iter().any(|it| dir.starts_with(it));
    if (is_in(KERNEL) || is_in(SETTINGS)) && !is_in(PLACES_FOR_WORK) {
        return Some(Exposed::System(dir.to_owned()));
    }
    let system = ["/home", "/root"].iter().chain(SYSTEM_READ).chain(WORKSPACE_READ).map(Path::new);
    let mut held = system.filter(|it| it.starts_with(dir));
    held.next().map(|it| Exposed::System(it.to_owned()))
}

/// Whether Git keeps a repository in this directory, with hooks and settings (gitrepository-layout(5)).
fn is_repository(dir: &Path) -> bool {
    let has = |name: &str| dir.join(name).symlink_metadata().is_ok();
    dir.file_name().is_some_and(|it| it == ".git") || has("HEAD") && has("objects") && has("refs")
}

/// File systems through which the kernel and its devices are set (proc(5), sysfs(5)).
const KERNEL: &[&str] = &["/dev", "/proc", "/sys"];

/// What decides what a system starts, with all that lies below.
const SETTINGS: &[&str] = &["/boot", "/etc", "/usr", "/var/spool"];

/// What of these is for the work of users (hier(7)).
pub(crate) const PLACES_FOR_WORK: &[&str] = &["/dev/shm", "/usr/local/src", "/usr/src"];

/// Where shells look for programs of the operator, below the home directory (file-hierarchy(7)).
pub(crate) const USER_PROGRAMS: &[&str] = &[".local/bin", "bin"];

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What programs, libraries and runtimes read of a system (hier(7)).
const SYSTEM_READ: &[&str] = &[
    "/bin",
    "/etc",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/proc",
    "/run/current-system",
    "/sbin",
    "/usr",
    // What runtimes ask to find the number of processors, huge pages and their memory limit.
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/random",
    "/dev/urandom",
];

/// Devices that take everything and keep nothing.
const SYSTEM_WRITE: &[&str] = &["/dev/full", "/dev/null", "/dev/zero"];

/// Where names of hosts are resolved and certificates lie on some systems.
const WORKSPACE_READ: &[&str] =
    &["/run/NetworkManager", "/run/resolvconf", "/run/systemd/resolve", "/var/lib/ca-certificates"];

/// Memory that processes share by name (shm_overview(7)); locks of Python's `multiprocessing` are
/// there. By [`SharedMemory::Own`] it is not the one that other programs see.
const WORKSPACE_WRITE: &[&str] = &["/dev/shm"];

/// Entries of a directory with which a program that may write it has other programs run outside of its
/// sandbox, or opens that sandbox for its next call. [`Profile::Workspace`] and [`Profile::Strict`] keep those
/// that exist from being changed.
pub const PROJECT_SETTINGS: &[&str] = &[
    // What this workspace's own program reads: the sandbox of the next call is in it.
    ".flyto",
    // Programs that Git runs at a commit, a merge, a push (githooks(5)).
    ".git/hooks",
    // Names of programs that Git runs: `core.fsmonitor`, `core.pager`, `alias.*` (git-config(1)); and where
    // the hooks are. Where `.git` is a file, as in a worktree, it says where all of that is.
    ".git/config",
    // The same for one worktree, where `extensions.worktreeConfig` is set (git-worktree(1)).
    ".git/config.worktree",
    // Servers that agents start.
    ".mcp.json",
    // Hooks and permissions of agents.
    ".claude",
    ".codex",
    // Tasks that the editor starts when the directory is opened.
    ".vscode",
    // Shell text that direnv runs when a shell enters the directory.
    ".envrc",
];

/// The [`PROJECT_SETTINGS`] of a directory: what to add to [`Isolation::read_only`] for a directory that is
/// granted for writing beyond a profile.
pub fn project_settings(dir: &Path) -> impl Iterator<Item = PathBuf> {
    PROJECT_SETTINGS.iter().map(|it| dir.join(it))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_do_not_hide_what_a_directory_is() {
        let dir = tempfile::tempdir().expect("there is room");
        let root = dir.path().canonicalize().expect("it is there");
        for sub in ["home", "dot/bin", "git/objects", "git/refs", "git/hooks"] {
            std::fs::create_dir_all(root.join(sub)).expect("it is ours");
        }
        std::fs::write(root.join("git/HEAD"), "").expect("it is ours");
        std::os::unix::fs::symlink("../dot/bin", root.join("home/bin")).expect("it is ours");
        let exposed = |sub: &str| {
            let places = ProfilePlaces::new(root.join(sub)).home(root.join("home"));
            Profile::Workspace.exposed(&places)
        };
        assert_eq!(exposed("dot/bin"), Some(Exposed::Programs(root.join("dot/bin"))));
        assert_eq!(exposed("git/hooks"), Some(Exposed::Repository(root.join("git"))));
        assert_eq!(exposed("dot"), Some(Exposed::Programs(root.join("dot/bin"))));
        assert_eq!(exposed("other"), None);
    }

    #[test]
    fn a_profile_has_one_name() {
        for profile in Profile::ALL {
            assert_eq!(Profile::from_name(profile.name()), Some(*profile));
        }
        assert_eq!(Profile::from_name("Strict"), None);
    }

    fn places() -> ProfilePlaces {
        ProfilePlaces::new("/h/project")
            .home("/h")
            .data_dir("/h/.local/share/flyto/plugins/p")
            .temp_dir("/tmp/p")
            .read("/srv/tools")
    }

    #[test]
    fn a_working_directory_that_holds_more_than_a_project_is_named() {
        let check = |dir: &str, expect: &str| {
            let places = ProfilePlaces::new(dir).home("/home/ada").secrets_of("/h/link");
            let found = Profile::Workspace.exposed(&places).map(|it| it.to_string());
            assert_eq!(found.unwrap_or_default(), expect, "{dir}");
            assert_eq!(Profile::Strict.exposed(&places), None);
            assert_eq!(Profile::None.exposed(&places), None);
        };
        for dir in ["/", "/home", "/home/ada"] {
            check(dir, "the home directory \"/home/ada\"");
        }
        check("/h", "the home directory \"/h/link\"");
        for (dir, holds) in [
            ("/etc", "/etc"),
            ("/usr", "/usr"),
            ("/usr/lib", "/usr/lib"),
            ("/usr/local/bin", "/usr/local/bin"),
            ("/usr/libexec/x", "/usr/libexec/x"),
            ("/opt", "/opt"),
            ("/run", "/run/current-system"),
            ("/gnu", "/gnu/store"),
            ("/proc/sys/kernel", "/proc/sys/kernel"),
            ("/sys/kernel", "/sys/kernel"),
            ("/dev", "/dev"),
        ] {
            check(dir, &format!("the system directory {holds:?}"));
        }
        for (dir, holds) in [
            ("/home/ada/bin/x", "/home/ada/bin"),
            ("/home/ada/.local", "/home/ada/.local/bin"),
            ("/h/link/.local/bin", "/h/link/.local/bin"),
        ] {
            check(dir, &format!("the directory of programs {holds:?}"));
        }
        check("/w/.git/hooks", "the repository's own files in \"/w/.git\"");
        check("/root", "the system directory \"/root\"");
        for dir in [
            "/home/ada/code",
            "/home/eve",
            "/root/code",
            "/usr/src/app",
            "/opt/x",
            "/srv",
            "/tmp",
            "/dev/shm/x",
        ] {
            check(dir, "");
        }
        let places = ProfilePlaces::new("/");
        let home = Exposed::System("/home".into());
        assert_eq!(Profile::Workspace.exposed(&places), Some(home), "without a home directory");
    }

    /// What is asked for beyond the system's own directories; denials as their number.
    #[track_caller]
    fn check(profile: Profile, expect: Expect) {
        let isolation = profile.isolation(&places());
        assert_eq!(isolation.odd_path(), None);
        let Isolation {
            network,
            local_sockets,
            filesystem,
            denied,
            read_only,
            system_calls,
            processes,
            shared_memory,
        } = isolation;
        let mut keeps: Vec<_> =
            read_only.iter().filter_map(|it| it.to_str()?.strip_suffix("/.envrc")).collect();
        keeps.dedup();
        assert_eq!(read_only.len(), keeps.len() * PROJECT_SETTINGS.len());
        let filesystem = match filesystem {
            Filesystem::Host => "host".to_owned(),
            Filesystem::Grants { read, write } => {
                let (mut read, mut write) = (read.to_vec(), write.to_vec());
                read.retain(|it| !SYSTEM_READ.iter().any(|system| it.as_os_str() == *system));
                write.retain(|it| !SYSTEM_WRITE.iter().any(|system| it.as_os_str() == *system));
                format!("read {read:?}\nwrite {write:?}")
            }
        };
        let all_secrets = denied.len() == crate::SECRETS.len() && denied[0].ends_with(".ssh");
        expect.assert_eq(&format!(
            "{filesystem}\nsecrets denied: {all_secrets}\nsettings kept in {keeps:?}\nnetwork {network:?}, local sockets \
             {local_sockets:?}, system calls {system_calls:?}, processes {processes:?}, shared \
             memory {shared_memory:?}\n"
        ));
    }

    #[test]
    fn profiles_ask_for_what_their_table_says() {
        assert!(Profile::None.isolation(&places()).is_none());
        check(
            Profile::Workspace,
            expect![[r#"
                read ["/srv/tools", "/run/NetworkManager", "/run/resolvconf", "/run/systemd/resolve", "/var/lib/ca-certificates", "/h"]
                write ["/h/.local/share/flyto/plugins/p", "/tmp/p", "/dev/shm", "/h/project"]
                secrets denied: true
                settings kept in ["/h/.local/share/flyto/plugins/p", "/h/project"]
                network Host, local sockets Off, system calls Restricted, processes Own, shared memory Own
            "#]],
        );
        check(
            Profile::Strict,
            expect![[r#"
                read ["/srv/tools", "/h/project"]
                write ["/h/.local/share/flyto/plugins/p", "/tmp/p"]
                secrets denied: true
                settings kept in ["/h/.local/share/flyto/plugins/p", "/h/project"]
                network Off, local sockets Off, system calls Restricted, processes Own, shared memory Own
            "#]],
        );
    }

    #[test]
    fn a_place_that_is_not_there_is_not_named() {
        let isolation = Profile::Workspace.isolation(&ProfilePlaces::new("/w"));
        assert!(isolation.denied.is_empty());
        let Filesystem::Grants { write, .. } = isolation.filesystem else { panic!("not open") };
        assert_eq!(write.last(), Some(&PathBuf::from("/w")));
    }
}
