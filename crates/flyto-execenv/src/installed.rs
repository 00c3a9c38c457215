//! What a program was installed with, for an isolation that would close it.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use crate::{
    Environment, Filesystem, Isolation,
    profile::{PLACES_FOR_WORK, USER_PROGRAMS},
};

/// What a backend opens, beyond the grants, so that a program can start and find its own files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installed {
    /// Paths that can be read and executed: the installations of the program and of its interpreter. Empty where the
    /// grants cover them. No part of one is a link.
    pub opened: Vec<PathBuf>,
    /// A file without which the program does not start and which stays closed: the program itself, its interpreter or
    /// its loader.
    pub closed: Option<PathBuf>,
}

impl Installed {
    /// Adds what is opened to the paths that may be read.
    pub fn open(&self, isolation: &mut Isolation) {
        if let Filesystem::Grants { read, .. } = &mut isolation.filesystem
            && !self.opened.is_empty()
        {
            *read = read.iter().chain(&self.opened).cloned().collect();
        }
    }
}

/// What the operator's surroundings say about installed programs.
///
/// An [`Executor`](crate::Executor) that runs programs on this machine opens, for reading and executing, what the
/// program of a call and its interpreter were installed with. The choice is the operator's, and what a plugin's author
/// or a confined program can write must not widen it:
///
/// | what leads to a program | what is opened |
/// | --- | --- |
/// | a name that is found in a directory of the operator's `PATH` | the file, and the installation `P` of `P/bin/NAME` |
/// | an absolute path or a `#!` line of such a program | the same |
/// | any other path, which a manifest or its program names | an installation in a directory of [`INSTALLERS`] |
/// | a link, a `#!` line or a `pyvenv.cfg` in a directory of the system, of [`INSTALLERS`], or in `~/bin` or `~/.local/bin` | what it leads to |
/// | one elsewhere, which a confined program can have made | an installation in a directory of [`INSTALLERS`] |
/// | one where a confined program may write now | nothing |
///
/// `P` counts as an installation where it holds `lib`, `lib64`, `libexec`, `share`, `include`, `pyvenv.cfg` or
/// `conda-meta`; beside `shims`, also `versions` or `installs`. The directory of `bin` may also be `sbin`, `libexec` or
/// `shims`. `P` of a virtual environment adds the installation that its `pyvenv.cfg` names. Every link on the way is
/// a step of its own: both its place and its target count.
///
/// Never opened are `/`, top directories of the system such as `/var`, a home directory, a directory above one, and
/// an installation in which something is denied, but for those of [`INSTALLERS`]. What is denied stays closed.
/// Without a known home directory, files are opened and no installations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallPlaces {
    homes: Vec<PathBuf>,
    path: Vec<PathBuf>,
    variables: BTreeMap<&'static str, PathBuf>,
    writable: Vec<PathBuf>,
}

impl InstallPlaces {
    /// The directories of `PATH` in the operator's environment, and where its variables move what [`INSTALLERS`] name.
    #[must_use]
    pub fn new(environment: &Environment) -> Self {
        let path = environment.get("PATH").map(|it| std::env::split_paths(it).collect::<Vec<_>>());
        let path = path.unwrap_or_default().into_iter().filter(|it| it.is_absolute()).collect();
        let places =
            INSTALLERS.iter().flat_map(|it| [it.root].into_iter().chain(it.needs.iter().copied()));
        let moved = places.filter_map(|it| {
            let value = PathBuf::from(environment.get(it.moved?)?);
            let is_plain =
                value.is_absolute() && value.components().all(|it| it != Component::ParentDir);
            is_plain.then_some((it.moved?, value))
        });
        Self { path, variables: moved.collect(), ..Self::default() }
    }

    /// Adds a name of the home directory.
    #[must_use]
    pub fn home(mut self, dir: impl Into<PathBuf>) -> Self {
        self.homes.push(dir.into());
        self
    }

    /// Adds a path that some confined program may write, of this class or of another.
    #[must_use]
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }
}

#[cfg_attr(not(all(feature = "local", unix)), expect(dead_code, reason = "a backend asks"))]
impl InstallPlaces {
    /// Whether the operator's `PATH` has this directory.
    pub(crate) fn is_in_path(&self, dir: &Path) -> bool {
        self.path.iter().any(|it| it == dir)
    }

    /// Whether a confined program may change what is at this path.
    pub(crate) fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|it| path.starts_with(it))
    }

    /// Whether no confined program can have made what is at this path: no profile opens it for writing (see
    /// [`Profile::exposed`](crate::Profile::exposed)).
    pub(crate) fn is_vouched_for(&self, path: &Path) -> bool {
        let is_in = |all: &[&str]| all.iter().any(|it| path.starts_with(it));
        let is_top = path.parent().is_some_and(|it| it.parent().is_none());
        let own =
            || self.homes.iter().flat_map(|home| USER_PROGRAMS.iter().map(|it| home.join(it)));
        is_top
            || is_in(VOUCHED_FOR) && !is_in(PLACES_FOR_WORK)
            || own().any(|it| path.starts_with(it))
    }

    /// Whether a directory has so much in it that it is no installation.
    pub(crate) fn is_wide(&self, dir: &Path) -> bool {
        let is_top = dir.parent().is_none() || WIDE.iter().any(|it| dir == Path::new(it));
        is_top || self.homes.is_empty() || self.homes.iter().any(|it| it.starts_with(dir))
    }

    /// Where something of an installer may lie.
    pub(crate) fn places(&self, place: InstallerPlace) -> impl Iterator<Item = PathBuf> {
        let moved = place.moved.and_then(|it| self.variables.get(it)).cloned();
        moved.into_iter().chain(self.homes.iter().map(move |it| it.join(place.below_home)))
    }
}

/// Directories of the system, of which [`Profile::exposed`](crate::Profile::exposed) keeps programs.
const VOUCHED_FOR: &[&str] = &["/usr", "/gnu/store", "/nix/store", "/run/current-system"];

/// Top directories that hold what many programs keep (hier(7)).
const WIDE: &[&str] = &[
    "/boot", "/dev", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/srv", "/sys", "/tmp",
    "/var", "/var/lib", "/var/tmp",
];

/// A program that installs others below the home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installer {
    /// Where it keeps what it installs.
    pub root: InstallerPlace,
    /// The directory below the root with programs that look for another program in the root when they run.
    pub shims: Option<&'static str>,
    /// What those need beside the root.
    pub needs: &'static [InstallerPlace],
    /// Where it is documented.
    pub source: &'static str,
}

/// A path of an [`Installer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallerPlace {
    /// Its usual place below the home directory.
    pub below_home: &'static str,
    /// The variable that moves it.
    pub moved: Option<&'static str>,
}

const fn at(below_home: &'static str, moved: &'static str) -> InstallerPlace {
    InstallerPlace { below_home, moved: Some(moved) }
}

const fn usual(below_home: &'static str) -> InstallerPlace {
    InstallerPlace { below_home, moved: None }
}

const fn installer(
    root: InstallerPlace,
    shims: Option<&'static str>,
    source: &'static str,
) -> Installer {
    Installer { root, shims, needs: &[], source }
}

/// Version managers whose programs start under every profile. A convenience, not a promise: one that is not here, or
/// keeps its files elsewhere in its next version, needs a grant.
#[rustfmt::skip] // One row a line reads as the table it is.
pub const INSTALLERS: &[Installer] = &[
    installer(at(".pyenv", "PYENV_ROOT"), Some("shims"), "https://github.com/pyenv/pyenv#environment-variables"),
    installer(at(".rbenv", "RBENV_ROOT"), Some("shims"), "https://github.com/rbenv/rbenv#environment-variables"),
    installer(at(".nodenv", "NODENV_ROOT"), Some("shims"), "https://github.com/nodenv/nodenv#environment-variables"),
    Installer {
        needs: &[usual(".tool-versions")],
        ..installer(at(".asdf", "ASDF_DATA_DIR"), Some("shims"), "https://asdf-vm.com/manage/configuration.html")
    },
    installer(at(".local/share/mise", "MISE_DATA_DIR"), Some("shims"), "https://mise.jdx.dev/directories.html"),
    installer(at(".volta", "VOLTA_HOME"), Some("bin"), "https://docs.volta.sh/advanced/installers"),
    Installer {
        needs: &[at(".rustup", "RUSTUP_HOME")],
        ..installer(at(".cargo", "CARGO_HOME"), Some("bin"), "https://rust-lang.github.io/rustup/environment-variables.html")
    },
    installer(at(".rustup", "RUSTUP_HOME"), None, "https://rust-lang.github.io/rustup/environment-variables.html"),
    installer(at(".nvm", "NVM_DIR"), None, "https://github.com/nvm-sh/nvm#installing-and-updating"),
    installer(at(".local/share/uv/python", "UV_PYTHON_INSTALL_DIR"), None, "https://docs.astral.sh/uv/reference/storage/"),
    installer(at(".local/share/uv/tools", "UV_TOOL_DIR"), None, "https://docs.astral.sh/uv/reference/storage/"),
    installer(at(".local/share/pipx", "PIPX_HOME"), None, "https://pipx.pypa.io/stable/reference/environment-variables/"),
    installer(usual("miniconda3"), None, "https://www.anaconda.com/docs/getting-started/miniconda/install"),
    installer(usual("anaconda3"), None, "https://www.anaconda.com/docs/getting-started/anaconda/install"),
    installer(usual("miniforge3"), None, "https://github.com/conda-forge/miniforge"),
    installer(at("micromamba", "MAMBA_ROOT_PREFIX"), None, "https://mamba.readthedocs.io/en/latest/user_guide/micromamba.html"),
    installer(at(".sdkman/candidates", "SDKMAN_CANDIDATES_DIR"), None, "https://sdkman.io/usage"),
];

impl Isolation {
    /// Whether a file at this path, which has no links in it, may be read.
    #[cfg_attr(not(all(feature = "local", unix)), expect(dead_code, reason = "a backend asks"))]
    pub(crate) fn may_read(&self, path: &Path) -> bool {
        let is_granted = match &self.filesystem {
            Filesystem::Host => true,
            Filesystem::Grants { read, write } => {
                read.iter().chain(write.iter()).any(|it| path.starts_with(it))
            }
        };
        is_granted && !self.is_denied(path)
    }

    /// Whether a path lies in one that is closed to the program, whatever installed it.
    pub(crate) fn is_denied(&self, path: &Path) -> bool {
        self.denied.iter().any(|it| path.starts_with(it))
    }
}
