//! What a machine says about itself, as far as it decides what works.
//!
//! All that is read is a handful of files, most of them in `/proc`. [`Machine::of`] understands
//! their bytes, whatever machine they are of, so tests describe machines as data. Files that cannot
//! be read leave the default: nothing is known.

use std::{fs, path::Path};

use crate::kernel::is_at_least;

/// A machine, as this process sees it.
///
/// Public fields are for reports; the others are read by the search for causes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// The release of the kernel, such as `6.8.0-45-generic`.
    pub kernel: String,
    /// The architecture, such as `x86_64`.
    pub architecture: &'static str,
    /// The effective user.
    ///
    /// As geteuid(2) has it; 0 is root, also root of a user namespace.
    pub user: u32,
    /// What is unusual about the place: `container`, `gVisor`, `WSL 1`, `user namespace`, `chroot`.
    ///
    /// Empty on an ordinary machine.
    pub surroundings: Vec<&'static str>,
    /// The security modules that are in use, such as `landlock`, where the kernel tells.
    ///
    /// In the kernel's order (`/sys/kernel/security/lsm`). `None` where securityfs is not mounted,
    /// as in most containers.
    pub security_modules: Option<Vec<String>>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, of Ubuntu since 23.10.
    pub(super) apparmor_restricts_userns: bool,
    /// `kernel.unprivileged_userns_clone` is 0, a setting of Debian's kernels.
    pub(super) userns_clone_off: bool,
    /// `user.max_user_namespaces` (namespaces(7)); `None` where there is no such setting.
    pub(super) max_user_namespaces: Option<u64>,
    /// `user.max_net_namespaces`, likewise.
    pub(super) max_net_namespaces: Option<u64>,
    /// `vm.memfd_noexec`, since Linux 6.3: 2 forbids memory that can be executed.
    pub(super) memfd_noexec: Option<u64>,
    /// Programs of this process are filtered already (seccomp(2)).
    pub(super) is_filtered: bool,
    /// `NoNewPrivs` of proc_pid_status(5) is 1.
    pub(super) no_new_privs: bool,
    /// `/proc` is there.
    pub(super) has_proc: bool,
    /// … and is of another PID namespace than this process.
    pub(super) proc_is_foreign: bool,
    /// What `hidepid=` of `/proc` is (proc(5)), unless it hides nothing.
    pub(super) hidepid: Option<String>,
    /// `/proc` shows processes and nothing else.
    pub(super) proc_subset: bool,
    /// A hierarchy of version 2 is mounted, alone or beside those of version 1.
    pub(super) has_cgroup2: bool,
    /// … and those of version 1 are there, which have the controllers then.
    pub(super) has_cgroup1: bool,
    /// … and memory is bounded there, so that version 2 has no controller for it.
    pub(super) memory_in_cgroup1: bool,
    /// Something was mounted over control groups later.
    pub(super) cgroups_are_covered: bool,
    /// systemd manages this machine.
    pub(super) has_systemd: bool,
}

impl Machine {
    /// Reads what this machine says.
    ///
    /// Opens some fifteen small files and starts nothing.
    #[must_use]
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let mut res = Self::of(|path| fs::read(path).ok());
        res.kernel = uname.release().to_string_lossy().into_owned();
        res.user = rustix::process::geteuid().as_raw();
        let own = std::process::id().to_string();
        res.proc_is_foreign =
            fs::read_link("/proc/self").is_ok_and(|it| it.as_os_str() != own.as_str());
        // systemd's directory, and the file of containers, need not be readable.
        res.has_systemd = fs::exists("/run/systemd/system").unwrap_or(false);
        res
    }

    /// Understands what these files say.
    ///
    /// `read` gives the bytes of a file, or `None` where it cannot be read. The kernel's release
    /// and the user are those that the files say; [`read`](Self::read) replaces them by what the
    /// system says itself.
    pub(super) fn of(read: impl Fn(&str) -> Option<Vec<u8>>) -> Self {
        let text = |path: &str| read(path).map(|it| String::from_utf8_lossy(&it).trim().to_owned());
        let number = |path: &str| text(path).and_then(|it| it.parse::<u64>().ok());
        let kernel = text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let version = text("/proc/version").unwrap_or_default();
        let status = text("/proc/self/status").unwrap_or_default();
        let status_of = |name: &str| {
            status.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let mounts = text("/proc/self/mountinfo").unwrap_or_default();
        let mounts = mounts.lines().filter_map(Mount::of).collect::<Vec<_>>();
        // A later mount lies over an earlier one.
        let proc = mounts.iter().rfind(|it| it.point == "/proc" && it.kind == "proc");
        let option = |name: &str| proc.and_then(|it| it.option(name));
        let members = text("/proc/self/cgroup").unwrap_or_default();
        let modules = text("/sys/kernel/security/lsm");
        let uid_map = text("/proc/self/uid_map").unwrap_or_default();
        let uid_map = uid_map.split_whitespace().collect::<Vec<_>>();

        let in_container = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"]
            .into_iter()
            .any(|it| read(it).is_some())
            || ["docker", "kubepods", "libpod", "containerd", "lxc"]
                .into_iter()
                .any(|it| members.contains(it));
        let has_root = mounts.is_empty() || mounts.iter().any(|it| it.point == "/");
        // The kernel that gVisor says it is was built at this time, whatever its version.
        let gvisor = version.contains("gVisor") || version.contains("Jan 10 15:06:54 PST 2016");
        // Version 2 is a real kernel, and says "microsoft-standard".
        let wsl1 = kernel.contains("Microsoft") && !kernel.contains("WSL2");
        let surroundings = [
            (in_container, "container"),
            (gvisor, "gVisor"),
            (wsl1, "WSL 1"),
            (!uid_map.is_empty() && uid_map != ["0", "0", "4294967295"], "user namespace"),
            (!has_root, "chroot"),
        ];
        Self {
            kernel,
            architecture: std::env::consts::ARCH,
            user: status_of("Uid").and_then(effective).unwrap_or(0),
            surroundings: surroundings
                .into_iter()
                .filter_map(|(is, it)| is.then_some(it))
                .collect(),
            security_modules: modules.map(|it| it.split(',').map(str::to_owned).collect()),
            apparmor_restricts_userns: number(APPARMOR).is_some_and(|it| it > 0),
            userns_clone_off: number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0),
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            max_net_namespaces: number("/proc/sys/user/max_net_namespaces"),
            memfd_noexec: number("/proc/sys/vm/memfd_noexec"),
            is_filtered: status_of("Seccomp") == Some("2"),
            no_new_privs: status_of("NoNewPrivs") == Some("1"),
            has_proc: !status.is_empty(),
            proc_is_foreign: false,
            hidepid: option("hidepid").filter(|it| !["0", "off"].contains(it)).map(str::to_owned),
            proc_subset: option("subset") == Some("pid"),
            has_cgroup2: mounts.iter().any(|it| it.kind == "cgroup2"),
            has_cgroup1: mounts.iter().any(|it| it.kind == "cgroup"),
            memory_in_cgroup1: mounts.iter().any(|it| {
                it.kind == "cgroup" && it.options.split(',').any(|option| option == "memory")
            }),
            cgroups_are_covered: mounts.iter().enumerate().any(|(at, cgroup)| {
                let mut later = mounts.iter().skip(at + 1);
                let covers = |it: &Mount<'_>| {
                    it.kind != cgroup.kind && Path::new(cgroup.point).starts_with(it.point)
                };
                cgroup.kind.starts_with("cgroup") && later.any(covers)
            }),
            has_systemd: false,
        }
    }

    /// Whether this is among the [`surroundings`](Self::surroundings).
    pub(super) fn is_in(&self, place: &str) -> bool {
        self.surroundings.contains(&place)
    }

    /// Whether its kernel is at least of this release. One that cannot be read is new.
    pub(super) fn is_at_least(&self, release: (u32, u32)) -> bool {
        is_at_least(&self.kernel, release)
    }
}

/// Since Ubuntu 23.10; missing elsewhere.
const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/// The second of the four user ids of proc_pid_status(5).
fn effective(ids: &str) -> Option<u32> {
    ids.split_whitespace().nth(1)?.parse().ok()
}

/// A line of proc_pid_mountinfo(5).
///
/// What is needed of it: where it is mounted, the kind of its file system, and the options of its
/// superblock.
struct Mount<'a> {
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// `None` for a line in another format. The hyphen ends the optional fields before the kind.
    fn of(line: &'a str) -> Option<Self> {
        let (place, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        Some(Self {
            point: place.split(' ').nth(4)?,
            kind: file_system.next()?,
            options: file_system.nth(1).unwrap_or_default(),
        })
    }

    /// The value of an option such as `hidepid=2`.
    fn option(&self, name: &str) -> Option<&'a str> {
        self.options.split(',').find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }
}
