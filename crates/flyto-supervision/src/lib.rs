//! What a host and the supervisor of its programs say to each other.
//!
//! Numbers are little-endian. Each message is one record; the first byte says which. Lengths are
//! checked on reading, so that a supervisor can be given any bytes: what is no record is `None`.
//!
//! | from | record | when |
//! | --- | --- | --- |
//! | host | [`Setup`] | once, first |
//! | supervisor | [`Report`] of kind `Ready` or `Failed` | its answer |
//! | host | [`Start`] | for each program |
//! | host | [`Order`] | while it runs |
//! | supervisor | [`Report`] of another kind | see [`ReportKind`] |
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

use core::ffi::CStr;

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

mod report;

pub use self::report::{REPORT_BYTES, Reached, Report, ReportKind, Stage};

/// The files of this crate, by their names beside each other: a build script compiles a supervisor from them, with
/// `rustc` alone.
pub const SOURCES: [(&str, &str); 2] =
    [("lib.rs", include_str!("lib.rs")), ("report.rs", include_str!("report.rs"))];

/// The records' version, in the first message: both sides are built together.
pub const VERSION: u8 = 1;

const SETUP: u8 = 1;
const START: u8 = 2;
const ORDER: u8 = 3;

/// Reads numbers and texts one after the other.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length and as many bytes.
    fn blob(&mut self) -> Option<&'a [u8]> {
        let n = self.u32()?;
        self.bytes(usize::try_from(n).ok()?)
    }
}

#[cfg(feature = "alloc")]
fn put_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    // A record is far smaller than 4 GiB; one that is not would be refused by the reader.
    let n = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&n.to_le_bytes());
    out.extend_from_slice(bytes);
}

macro_rules! flags {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $flag:ident = $bit:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl $name {
            /// None of them.
            pub const NONE: Self = Self(0);
            $($(#[$doc])* pub const $flag: Self = Self(1 << $bit);)*

            /// Whether all of `other` are set.
            #[must_use]
            pub const fn has(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// These and `other`.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// These, and `other` where `wanted`.
            #[must_use]
            pub const fn with_if(self, wanted: bool, other: Self) -> Self {
                if wanted { self.with(other) } else { self }
            }
        }
    };
}

flags! {
    /// What holds for every program of a supervisor.
    SetupFlags {
        /// The supervisor makes a user namespace of its own, with the maps of [`Setup`]: processes
        /// are counted for it alone then, and namespaces can be made in it (user_namespaces(7)).
        USER_NAMESPACE = 0,
        /// Each program runs in a PID namespace with an init of the supervisor's (pid_namespaces(7)).
        PID_NAMESPACE = 1,
        /// Programs gain no privileges by execution (`PR_SET_NO_NEW_PRIVS`, prctl(2)).
        NO_NEW_PRIVS = 2,
        /// The message carries a Landlock ruleset to enter (landlock(7)).
        RULESET = 3,
        /// The message carries a Landlock ruleset that each program enters, nested in the first.
        INNER_RULESET = 4,
        /// The message carries a cgroup to start each program in (cgroups(7)).
        CGROUP = 5,
        /// The message carries the file that kills that cgroup; without [`CGROUP`](Self::CGROUP), the one
        /// that the supervisor is in and its programs with it, which it kills when its host is gone.
        CGROUP_KILL = 6,
        /// Programs have no capabilities, also those of root (capabilities(7)). With `NO_NEW_PRIVS` they
        /// gain none either.
        NO_CAPABILITIES = 7,
        /// The supervisor and its programs live in a network namespace of their own, where nothing is but
        /// the loopback interface (network_namespaces(7)). The report of kind `Ready` carries a socket
        /// that listens there, on [`PROXY_PORT`] of 127.0.0.1: what comes in through it is all that comes
        /// out of the namespace.
        NETWORK_NAMESPACE = 8,
        /// The host was refused clone3(2), and the supervisor makes its processes by clone(2). A program
        /// enters its cgroup by itself then, which needs a file of that to be open before any Landlock
        /// ruleset is entered.
        CLONE3_REFUSED = 9,
        /// The supervisor and its programs live in a mount namespace of their own (mount_namespaces(7)), with
        /// the mounts of [`Setup::mounts`] and [`Setup::shared_memory`].
        MOUNT_NAMESPACE = 10,
        /// The ruleset closes the root directory to listing, by which the supervisor tries it.
        ROOT_IS_CLOSED = 11,
        /// The ruleset leaves `/proc` unwritten, by which the supervisor tries it.
        PROC_IS_READ_ONLY = 12,
        /// The message carries `cpu.stat` of the cgroup that programs are in, with their supervisor unless there is
        /// [`CGROUP`](Self::CGROUP): what the kernel counts there is the CPU time of the tree (cgroups(7)).
        CPU_STAT = 13,
    }
}

/// The port on which programs in a network namespace of their own reach the host: 880, one of those that
/// need a capability to listen on (ip(7)), so that no program takes it or stands in for the host.
pub const PROXY_PORT: u16 = 880;

/// An option of prctl(2) that no kernel knows. A filter of [`Setup::filter`] answers it with [`FILTER_ERRNO`] where the
/// next argument is that of both numbers of [`Setup::cookie`] which one of them has alone (exclusive or). By that the
/// supervisor tries whether its own filter is in force, and not one around it.
pub const FILTER_QUESTION: u32 = 0x464c_5954;

/// The answer to [`FILTER_QUESTION`]: `ENOANO`, which the kernel says to no process.
pub const FILTER_ERRNO: u32 = 55;

/// What a supervisor does once, before its first program.
///
/// The descriptors that its flags name go with it, in the order of the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup<'a> {
    /// What holds for every program.
    pub flags: SetupFlags,
    /// What is written to `/proc/self/uid_map`.
    pub uid_map: &'a [u8],
    /// What is written to `/proc/self/gid_map`.
    pub gid_map: &'a [u8],
    /// The system call filter that the supervisor and its programs live with: instructions of eight
    /// bytes in the order of the machine (seccomp(2)); empty for none.
    pub filter: &'a [u8],
    /// Two numbers that the supervisor gives to each clone3(2) and clone(2) in arguments that the kernel
    /// does not look at, for a filter that lets no other one through.
    pub cookie: [u64; 2],
    /// What is mounted onto itself in a mount namespace, one after the other, as [`SelfMount::write`] appends
    /// it.
    pub mounts: &'a [u8],
    /// Shared memory of the programs' own.
    pub shared_memory: SharedMemory,
}

/// A file system in memory that a supervisor mounts on `/dev/shm` (shm_overview(7), tmpfs(5)). Once a program has left
/// something in it, the supervisor takes no other one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedMemory {
    /// The most that files in it can hold; 0 is no such file system.
    pub size_bytes: u64,
    /// What the Landlock ruleset opens of it, as `LANDLOCK_ACCESS_FS_*`.
    pub rights: u64,
}

/// A file or directory that a supervisor mounts onto itself (mount_namespaces(7)), so that it can neither be
/// removed nor renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfMount<'a> {
    /// Whether it cannot be changed, with what lies below.
    pub read_only: bool,
    /// The device and the number of the inode that is there (stat(2)): the supervisor refuses another one.
    pub device: u64,
    /// The number of the inode.
    pub inode: u64,
    /// Where it is: absolute, and without a link in it.
    pub path: &'a CStr,
}

impl<'a> SelfMount<'a> {
    /// Reads those that [`SelfMount::write`] appended; the last one is `None` where something else follows.
    pub fn all(bytes: &'a [u8]) -> impl Iterator<Item = Option<Self>> {
        let mut rest = Some(Reader { rest: bytes });
        core::iter::from_fn(move || {
            let mut reader = rest.take_if(|it| !it.rest.is_empty())?;
            let res = Self::next(&mut reader);
            rest = res.is_some().then_some(reader);
            Some(res)
        })
    }

    fn next(reader: &mut Reader<'a>) -> Option<Self> {
        let read_only = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (device, inode) = (reader.u64()?, reader.u64()?);
        let path = CStr::from_bytes_until_nul(reader.rest).ok()?;
        reader.bytes(path.to_bytes_with_nul().len())?;
        Some(Self { read_only, device, inode, path })
    }

    /// Appends it.
    #[cfg(feature = "alloc")]
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.read_only));
        out.extend_from_slice(&self.device.to_le_bytes());
        out.extend_from_slice(&self.inode.to_le_bytes());
        out.extend_from_slice(self.path.to_bytes_with_nul());
    }
}

impl<'a> Setup<'a> {
    /// Reads a record.
    #[must_use]
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let mut reader = Reader { rest: record };
        if reader.array()? != [SETUP, VERSION] {
            return None;
        }
        let res = Self {
            flags: SetupFlags(reader.u32()?),
            uid_map: reader.blob()?,
            gid_map: reader.blob()?,
            filter: reader.blob()?,
            cookie: [reader.u64()?, reader.u64()?],
            mounts: reader.blob()?,
            shared_memory: SharedMemory { size_bytes: reader.u64()?, rights: reader.u64()? },
        };
        SelfMount::all(res.mounts).all(|it| it.is_some()).then_some(res)
    }

    /// Appends the record.
    #[cfg(feature = "alloc")]
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[SETUP, VERSION]);
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        put_blob(out, self.uid_map);
        put_blob(out, self.gid_map);
        put_blob(out, self.filter);
        for half in self.cookie {
            out.extend_from_slice(&half.to_le_bytes());
        }
        put_blob(out, self.mounts);
        out.extend_from_slice(&self.shared_memory.size_bytes.to_le_bytes());
        out.extend_from_slice(&self.shared_memory.rights.to_le_bytes());
    }
}

flags! {
    /// How a program is started.
    StartFlags {
        /// A report of kind `Started` is sent once the program's image is in place.
        REPORT_START = 0,
        /// The program leads a session of its own, else a process group of its own.
        NEW_SESSION = 1,
        /// A fourth descriptor holds the program's image: it runs in place of the path.
        IMAGE = 2,
        /// The last descriptor is the other end of the program's stdin. The supervisor keeps it open until it is ordered to
        /// send `SIGCONT` to the whole tree, with which a host begins the call: a host that is killed before that is not
        /// taken for the end of the input. The signal goes to what is stopped alone then, and the bound on CPU time is one on what
        /// is used from there on.
        HELD_INPUT = 3,
    }
}

/// A bound of setrlimit(2), soft and hard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bound {
    /// Which resource, as setrlimit(2) numbers it.
    pub resource: u32,
    /// The bound that signals or errors come from.
    pub soft: u64,
    /// The bound up to which the program may raise it.
    pub hard: u64,
}

/// Bounds that one record can carry: as many as setrlimit(2) has resources.
pub const MAX_BOUNDS: usize = 16;

/// One program to run. Its stdin, stdout and stderr go with the message, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start<'a> {
    /// How it is started.
    pub flags: StartFlags,
    /// CPU time of the whole tree, in nanoseconds; more ends it. 0 is no bound.
    pub cpu_ns: u64,
    /// Memory of the whole tree, in bytes; more ends it: what is resident, or in files in memory that are open, or in
    /// System V segments. 0 is no bound.
    pub memory_bytes: u64,
    /// Time until the supervisor ends the tree without being told to, in nanoseconds from the receipt of the
    /// record: a second clock for a host that is stopped at the deadline. 0 is none.
    pub deadline_ns: u64,
    /// Milliseconds between asking and killing, where the supervisor ends the tree at the deadline.
    pub grace_ms: u32,
    /// Bounds of each process, [`Start::n_bounds`] of them.
    pub bounds: [Bound; MAX_BOUNDS],
    /// How many of `bounds` count.
    pub n_bounds: usize,
    /// How many arguments `text` holds, with the program's own name.
    pub n_args: usize,
    /// How many variables `text` holds.
    pub n_env: usize,
    /// The working directory, the program's path, the arguments and the environment, each ended by a
    /// NUL byte.
    pub text: &'a [u8],
}

impl<'a> Start<'a> {
    /// Reads a record. Its text holds as many NUL-terminated pieces as the counts say.
    #[must_use]
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let mut reader = Reader { rest: record };
        if reader.u8()? != START {
            return None;
        }
        let flags = StartFlags(reader.u32()?);
        let cpu_ns = reader.u64()?;
        let memory_bytes = reader.u64()?;
        let deadline_ns = reader.u64()?;
        let grace_ms = reader.u32()?;
        let n_bounds = usize::from(reader.u8()?);
        let mut bounds = [Bound::default(); MAX_BOUNDS];
        for bound in bounds.get_mut(..n_bounds)? {
            *bound = Bound { resource: reader.u32()?, soft: reader.u64()?, hard: reader.u64()? };
        }
        let n_args = usize::try_from(reader.u32()?).ok()?;
        let n_env = usize::try_from(reader.u32()?).ok()?;
        let text = reader.rest;
        let n_pieces = n_args.checked_add(n_env)?.checked_add(2)?;
        let is_whole =
            text.last() == Some(&0) && text.iter().filter(|it| **it == 0).count() == n_pieces;
        is_whole.then_some(Self {
            flags,
            cpu_ns,
            memory_bytes,
            deadline_ns,
            grace_ms,
            bounds,
            n_bounds,
            n_args,
            n_env,
            text,
        })
    }

    /// Appends everything up to the text, of which the counts speak; the text follows, written by the
    /// caller.
    #[cfg(feature = "alloc")]
    pub fn write_head(&self, out: &mut Vec<u8>) {
        out.push(START);
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        out.extend_from_slice(&self.cpu_ns.to_le_bytes());
        out.extend_from_slice(&self.memory_bytes.to_le_bytes());
        out.extend_from_slice(&self.deadline_ns.to_le_bytes());
        out.extend_from_slice(&self.grace_ms.to_le_bytes());
        let bounds = self.bounds.get(..self.n_bounds).unwrap_or(&self.bounds);
        out.push(u8::try_from(bounds.len()).unwrap_or(u8::MAX));
        for bound in bounds {
            out.extend_from_slice(&bound.resource.to_le_bytes());
            out.extend_from_slice(&bound.soft.to_le_bytes());
            out.extend_from_slice(&bound.hard.to_le_bytes());
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        out.extend_from_slice(&count(self.n_args));
        out.extend_from_slice(&count(self.n_env));
    }
}

/// What a host asks while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Sends a signal to the program, or to its whole tree.
    Signal {
        /// The signal's number.
        signal: u32,
        /// Whether descendants get it too.
        to_tree: bool,
    },
    /// Ends the whole tree. With a grace it is asked first, and given that time in milliseconds. The
    /// answer is a report of kind `Ended`.
    End {
        /// Milliseconds between asking and killing; 0 kills at once.
        grace_ms: u32,
    },
}

/// Bytes of an [`Order`].
pub const ORDER_BYTES: usize = 10;

impl Order {
    /// Reads a record.
    #[must_use]
    pub fn read(record: &[u8]) -> Option<Self> {
        let mut reader = Reader { rest: record };
        if reader.u8()? != ORDER {
            return None;
        }
        let (kind, a, b) = (reader.u8()?, reader.u32()?, reader.u32()?);
        match kind {
            1 => Some(Self::Signal { signal: a, to_tree: b != 0 }),
            2 => Some(Self::End { grace_ms: a }),
            _ => None,
        }
    }

    /// The record.
    #[must_use]
    pub fn to_bytes(self) -> [u8; ORDER_BYTES] {
        let (kind, a, b) = match self {
            Self::Signal { signal, to_tree } => (1, signal, u32::from(to_tree)),
            Self::End { grace_ms } => (2, grace_ms, 0),
        };
        let mut res = [0; ORDER_BYTES];
        res[0] = ORDER;
        res[1] = kind;
        res[2..6].copy_from_slice(&a.to_le_bytes());
        res[6..].copy_from_slice(&b.to_le_bytes());
        res
    }
}
