//! Isolation that a spec asks for. Each part is required once it is asked for.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use crate::HostPattern;

/// What the program may reach on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// Whatever the machine can reach.
    #[default]
    Host,
    /// The hosts that these patterns name, and nothing else: no other host, and no local socket of another
    /// program. Demands [`Capability::NetworkHosts`](crate::Capability::NetworkHosts).
    ///
    /// A name is no way to what lies inside of a private network, whatever address it has: addresses of
    /// this machine, of private networks and of a cloud's own services are reached only where a pattern
    /// names the address. A backend may reach hosts in a way of its own, such as a proxy that it tells the
    /// program of in its environment.
    Hosts(Vec<HostPattern>),
    /// Nothing: no host, not this one either, and no local socket of another program. Demands
    /// [`Capability::NetworkOff`](crate::Capability::NetworkOff).
    Off,
}

impl Network {
    /// The stricter of two. Where both name hosts, a host must be named by both.
    ///
    /// ```
    /// use flyto_execenv::Network;
    ///
    /// let named = Network::Hosts(vec!["example.org".parse()?]);
    /// assert_eq!(named.narrowed_by(&Network::Host), named);
    /// assert_eq!(named.narrowed_by(&Network::Off), Network::Off);
    /// # Ok::<(), flyto_execenv::HostPatternError>(())
    /// ```
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Host, it) | (it, Self::Host) => it.clone(),
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::Hosts(a), Self::Hosts(b)) => {
                let mut res = Vec::new();
                for both in a.iter().flat_map(|a| b.iter().filter_map(|b| a.common(b))) {
                    if !res.contains(&both) {
                        res.push(both);
                    }
                }
                Self::Hosts(res)
            }
        }
    }
}

/// What the program may reach through sockets with a name on this machine (unix(7)).
///
/// Behind such sockets sit services that act with the rights of the user, or with more: a container
/// engine, a service manager, a key agent. What they do for a program happens outside its isolation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LocalSockets {
    /// Whatever the user may reach.
    #[default]
    Host,
    /// None. Pairs of connected sockets, with which a program talks to its own children, stay. Demands
    /// [`Capability::LocalSocketsOff`](crate::Capability::LocalSocketsOff).
    Off,
}

/// What the program may reach in the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filesystem {
    /// Whatever the user may reach.
    #[default]
    Host,
    /// The listed paths and what lies below them. Beside them, a backend may leave readable what the
    /// system tells every program about itself and its processes, such as `/proc`; nothing else.
    /// Demands [`Capability::FilesystemGrants`](crate::Capability::FilesystemGrants).
    ///
    /// A path that does not exist when the program starts grants nothing. One that is a link grants
    /// nothing by itself: where it leads must be granted.
    ///
    /// This is about what is in files and directories. **What is known about a file may stay open to be
    /// changed**, granted or not, if its directory can be reached and the user may change it: its mode
    /// (chmod(2)), its group, its times and its extended attributes. So a program cannot read a secret of its
    /// user's, but can let other users of the machine read it, or take the user's own access to a file
    /// until its mode is set back. Only the owner of a file sets its mode (and root).
    ///
    /// It may stay open to be read as well: that a file exists, its size and times, its extended attributes, and by
    /// watches (inotify(7)) the names of files that are made, changed or removed in a directory.
    Grants {
        /// Paths that may be read and executed.
        read: Arc<[PathBuf]>,
        /// Paths that may be read, executed and written.
        write: Arc<[PathBuf]>,
    },
}

/// Which system calls the program may make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SystemCalls {
    /// All that the user may make.
    #[default]
    Host,
    /// Those of ordinary programs: files, processes, threads, memory, time, sockets. What administers
    /// the machine, makes namespaces, traces processes, loads code into the kernel or goes round other
    /// isolation fails. Demands
    /// [`Capability::SystemCallFilter`](crate::Capability::SystemCallFilter).
    ///
    /// A mode with a set-user-ID or set-group-ID bit is refused (inode(7)): otherwise a program could leave a
    /// file that another user of the machine executes with the rights of this user. A new file in a
    /// directory with the set-group-ID bit gets the directory's group as ever.
    ///
    /// Leases of files are refused (fcntl(2)): otherwise a program could keep others waiting that open a file
    /// of this user.
    Restricted,
}

/// What the program may do to processes outside its own tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Processes {
    /// Whatever the user may do.
    #[default]
    Host,
    /// It can neither signal nor trace them, nor read their memory, environment and open files, nor
    /// bound them, nor choose their priority, their scheduling and their processors. So it can neither
    /// end nor put off those that watch over it, and ending its tree holds against a hostile program
    /// too. Demands [`Capability::ProcessIsolation`](crate::Capability::ProcessIsolation).
    ///
    /// Neither can it reach shared memory, semaphores and message queues that processes find by a number or by a name
    /// (sysvipc(7), mq_overview(7)): it could read and change what outside processes keep there, and what it made
    /// would outlive its tree. Shared memory with a name in the file system, as in `/dev/shm` (shm_overview(7)), is
    /// bounded by [`Filesystem`] and [`SharedMemory`].
    ///
    /// A backend may have to take more to keep this: a thread may choose its own priority and be refused
    /// where it names itself, or another of its tree, by number. The program may be refused System V IPC and POSIX
    /// message queues of its own, as on a system without them (`ENOSYS`).
    ///
    /// What the system lets a user tune by writing files, such as `/proc/PID/oom_score_adj` of the user's
    /// own processes (proc(5)), is bounded by [`Filesystem`]: grants that leave `/proc` unwritten close it.
    /// That they exist, and their command lines, may stay visible. What others can be made to do is
    /// not bounded by this but by [`LocalSockets`] and [`Filesystem`]: a service manager behind a
    /// socket starts programs for every caller, and a shell runs what its start-up file says.
    Own,
}

/// What the program shares memory through by name (shm_overview(7)): on Linux, files in `/dev/shm`, where locks of
/// Python's `multiprocessing` are as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SharedMemory {
    /// The directory that all processes of the machine share, as far as [`Filesystem`] grants it.
    #[default]
    Host,
    /// One of its own, which is empty when the program starts and gone after its tree has ended. Demands
    /// [`Capability::OwnSharedMemory`](crate::Capability::OwnSharedMemory).
    ///
    /// The program has it where [`Filesystem`] lets it write the directory of the machine, and that is not denied.
    /// Its size is bounded by the backend, which may offer none at all: then names cannot be made. Paths granted
    /// below the directory of the machine are granted as ever; there may be none of its own beside them.
    Own,
}

/// How far the program is cut off from the machine it runs on.
///
/// Lists of paths are shared, not copied: a call gets those of its class at the price of a counter.
///
/// A program that is cut off from anything has no privileges beyond those of its user, and gains none
/// by executing another: set-user-ID programs run as what the caller is.
///
/// ```
/// use flyto_execenv::{Capability, Filesystem, Isolation, Network, Spec};
///
/// let isolation = Isolation::new()
///     .network(Network::Off)
///     .filesystem(Filesystem::Grants {
///         read: ["/usr".into(), "/lib".into()].into(),
///         write: ["/home/ada/project".into()].into(),
///     })
///     .deny("/home/ada/project/.env");
/// let required = Spec::new("make").isolation(isolation).requirements();
/// assert!(required.contains(&Capability::NetworkOff));
/// assert!(required.contains(&Capability::FilesystemGrants));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Isolation {
    /// The network.
    pub network: Network,
    /// Named sockets of this machine.
    pub local_sockets: LocalSockets,
    /// The file system.
    pub filesystem: Filesystem,
    /// Paths that may not be read, executed or written with what lies below them, whatever is granted.
    /// Each is absolute, and need not exist. One at least demands
    /// [`Capability::FilesystemDenials`](crate::Capability::FilesystemDenials).
    ///
    /// A backend may have to take more to keep this: the directories on the way to a denied path may
    /// be closed to listing and to new entries. What is not taken: that a path exists, its size and its
    /// times may stay visible, and its mode, group, times and extended attributes may stay open to be
    /// changed by a program of its owner, as [`Filesystem::Grants`] says.
    pub denied: Arc<[PathBuf]>,
    /// Paths that cannot be changed, removed, replaced or renamed, with what lies below them, whatever is
    /// granted; whether they can be read is as granted. Each is absolute, and need not exist. One at least
    /// demands [`Capability::FilesystemReadOnly`](crate::Capability::FilesystemReadOnly).
    ///
    /// This holds for what exists when the program starts; what does not exist then can be made. Where
    /// something on the way to a path is no directory, that cannot be changed in its place: with `.git/config`
    /// in the list, a file `.git`. A path that is a link stands for where it leads; the link itself may stay
    /// open to be replaced. So may another hard link to the same file.
    ///
    /// A backend may have to take more to keep this: in the directories on the way to such a path, new
    /// entries may be refused. What may not be taken: mode, group, times and extended attributes may stay
    /// open to be changed by a program of the owner, as [`Filesystem::Grants`] says; and a path that a
    /// process outside replaces while the program runs may be open until the next start.
    pub read_only: Arc<[PathBuf]>,
    /// System calls.
    pub system_calls: SystemCalls,
    /// Other processes.
    pub processes: Processes,
    /// Memory that is shared by name.
    pub shared_memory: SharedMemory,
}

impl Isolation {
    /// None at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the program may reach on the network.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets what the program may reach through named sockets.
    #[must_use]
    pub fn local_sockets(mut self, local_sockets: LocalSockets) -> Self {
        self.local_sockets = local_sockets;
        self
    }

    /// Sets what the program may reach in the file system.
    #[must_use]
    pub fn filesystem(mut self, filesystem: Filesystem) -> Self {
        self.filesystem = filesystem;
        self
    }

    /// Adds a path that is denied, whatever is granted.
    #[must_use]
    pub fn deny(mut self, path: impl Into<PathBuf>) -> Self {
        self.denied = self.denied.iter().cloned().chain([path.into()]).collect();
        self
    }

    /// Adds a path that cannot be changed, whatever is granted.
    #[must_use]
    pub fn read_only(mut self, path: impl Into<PathBuf>) -> Self {
        self.read_only = self.read_only.iter().cloned().chain([path.into()]).collect();
        self
    }

    /// Sets which system calls the program may make.
    #[must_use]
    pub fn system_calls(mut self, system_calls: SystemCalls) -> Self {
        self.system_calls = system_calls;
        self
    }

    /// Sets what the program may do to other processes.
    #[must_use]
    pub fn processes(mut self, processes: Processes) -> Self {
        self.processes = processes;
        self
    }

    /// Sets what the program shares memory through.
    #[must_use]
    pub fn shared_memory(mut self, shared_memory: SharedMemory) -> Self {
        self.shared_memory = shared_memory;
        self
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The stricter of two, field by field. Where both grant paths, a path must lie under a grant of
    /// both; what either denies is denied, and what either keeps read-only stays so.
    ///
    /// Paths are compared as they are written. That is right because a grant that leads elsewhere
    /// through a link grants nothing by itself, and one with `..` in it is refused.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let Self {
            network,
            local_sockets,
            filesystem,
            denied,
            read_only,
            system_calls,
            processes,
            shared_memory,
        } = other;
        Self {
            network: self.network.narrowed_by(network),
            local_sockets: self.local_sockets.max(*local_sockets),
            filesystem: self.filesystem.narrowed_by(filesystem),
            denied: either(&self.denied, denied),
            read_only: either(&self.read_only, read_only),
            system_calls: self.system_calls.max(*system_calls),
            processes: self.processes.max(*processes),
            shared_memory: self.shared_memory.max(*shared_memory),
        }
    }

    /// The first path that could mean something else than it says: a relative one, one with `..`, or
    /// one that no system can hold. [`Spec::check`](crate::Spec::check) refuses it in a spec; a backend
    /// that keeps paths refuses it wherever it came from.
    #[must_use]
    pub fn odd_path(&self) -> Option<&Path> {
        let (read, write): (&[_], &[_]) = match &self.filesystem {
            Filesystem::Host => (&[], &[]),
            Filesystem::Grants { read, write } => (read, write),
        };
        let is_odd = |path: &&PathBuf| {
            !path.is_absolute()
                || path.components().any(|it| it == Component::ParentDir)
                || path.as_os_str().as_encoded_bytes().contains(&0)
        };
        let all = read.iter().chain(write).chain(self.denied.iter()).chain(self.read_only.iter());
        all.into_iter().find(is_odd).map(PathBuf::as_path)
    }
}

impl Filesystem {
    fn narrowed_by(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Host, it) | (it, Self::Host) => it.clone(),
            (
                Self::Grants { read: read_a, write: write_a },
                Self::Grants { read: read_b, write: write_b },
            ) => {
                let all = |read: &[PathBuf], write: &[PathBuf]| [read, write].concat();
                Self::Grants {
                    read: common(&all(read_a, write_a), &all(read_b, write_b)),
                    write: common(write_a, write_b),
                }
            }
        }
    }
}

/// What is in one of two lists, or in both.
fn either(a: &Arc<[PathBuf]>, b: &Arc<[PathBuf]>) -> Arc<[PathBuf]> {
    match (a.is_empty(), b.is_empty()) {
        // What a class asks for is shared by all its programs.
        (true, _) => Arc::clone(b),
        (_, true) => Arc::clone(a),
        // Two profiles of one host deny the same, as a rule.
        (false, false) if a == b => Arc::clone(b),
        (false, false) => {
            let known: HashSet<_> = a.iter().collect();
            let more = b.iter().filter(|it| !known.contains(it));
            a.iter().chain(more).cloned().collect()
        }
    }
}

/// The deeper path of each pair in which one contains the other.
fn common(a: &[PathBuf], b: &[PathBuf]) -> Arc<[PathBuf]> {
    let mut res: Vec<PathBuf> = Vec::new();
    for one in a {
        for two in b {
            let deeper = match (one.starts_with(two), two.starts_with(one)) {
                (true, _) => one,
                (false, true) => two,
                (false, false) => continue,
            };
            if !res.contains(deeper) {
                res.push(deeper.clone());
            }
        }
    }
    res.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(read: &[&str], write: &[&str]) -> Filesystem {
        Filesystem::Grants {
            read: read.iter().map(PathBuf::from).collect(),
            write: write.iter().map(PathBuf::from).collect(),
        }
    }

    #[test]
    fn grants_narrow_to_what_both_allow() {
        let check = |a: Filesystem, b: Filesystem, expect: Filesystem| {
            let narrowed =
                Isolation::new().filesystem(a).narrowed_by(&Isolation::new().filesystem(b));
            assert_eq!(narrowed.filesystem, expect);
        };
        check(Filesystem::Host, grants(&["/a"], &[]), grants(&["/a"], &[]));
        check(grants(&["/a"], &[]), grants(&["/a/b", "/c"], &[]), grants(&["/a/b"], &[]));
        check(grants(&[], &["/w"]), grants(&["/w/x"], &[]), grants(&["/w/x"], &[]));
        check(grants(&["/a"], &[]), grants(&["/b"], &[]), grants(&[], &[]));
    }

    #[test]
    fn hosts_narrow_to_what_both_name() {
        let hosts = |all: &[&str]| {
            Network::Hosts(all.iter().map(|it| it.parse().expect("a pattern")).collect())
        };
        let check = |a: Network, b: Network, expect: Network| {
            assert_eq!(a.narrowed_by(&b), expect);
            assert_eq!(b.narrowed_by(&a), expect);
        };
        check(Network::Host, Network::Host, Network::Host);
        check(Network::Host, hosts(&["a.org"]), hosts(&["a.org"]));
        check(Network::Off, hosts(&["a.org"]), Network::Off);
        check(Network::Off, Network::Host, Network::Off);
        check(
            hosts(&["*.a.org:443", "b.org"]),
            hosts(&["x.a.org", "b.org:80", "c.org"]),
            hosts(&["x.a.org:443", "b.org:80"]),
        );
        check(hosts(&["a.org"]), hosts(&["b.org"]), hosts(&[]));
    }

    #[test]
    fn the_stricter_of_each_field_holds_and_lists_add_up() {
        let a = Isolation::new()
            .deny("/a")
            .deny("/b")
            .read_only("/r")
            .system_calls(SystemCalls::Restricted)
            .local_sockets(LocalSockets::Off);
        let b = Isolation::new().deny("/b").deny("/c").read_only("/s").processes(Processes::Own);
        let both = Isolation::new()
            .deny("/a")
            .deny("/b")
            .deny("/c")
            .read_only("/r")
            .read_only("/s")
            .system_calls(SystemCalls::Restricted)
            .local_sockets(LocalSockets::Off)
            .processes(Processes::Own);
        assert_eq!(a.narrowed_by(&b), both);
        assert_eq!(both.narrowed_by(&Isolation::new()), both);
        assert_eq!(Isolation::new().narrowed_by(&both), both);
        assert!(!both.is_none() && Isolation::new().is_none());
    }

    #[test]
    fn a_path_that_could_mean_something_else_is_odd() {
        let odd = |it: Isolation| it.odd_path().map(Path::to_owned);
        assert_eq!(odd(Isolation::new().deny("/a/.b")), None);
        assert_eq!(odd(Isolation::new().deny("/a/../b")), Some("/a/../b".into()));
        assert_eq!(odd(Isolation::new().deny("a")), Some("a".into()));
        assert_eq!(odd(Isolation::new().read_only("/a/../b")), Some("/a/../b".into()));
        let granted = Isolation::new().filesystem(grants(&["/a"], &["/b\0"]));
        assert_eq!(odd(granted), Some("/b\0".into()));
    }
}
