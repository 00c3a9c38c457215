//! From what failed to the likely cause and to what helps.
//!
//! One error number has many causes: what a machine says about itself tells them apart. All of this is
//! a function of data, so each cause is tested without such a machine.
//!
//! Two functions lead in: [`reason`] says why a layer fails and what helps, [`instead`] what the
//! backend does meanwhile. Both are asked only where a layer failed or works in part, and neither
//! reads anything of the system: a [`Machine`] has it all.
//!
//! A reason is the likely one. Where nothing matches, it says so and names the kernel's log. Causes
//! that hold for every layer come first: a call without effect, a lack of resources, a stand-in for
//! the kernel.

use flyto_execenv::Capability;

use super::{Layer, Machine, errno_name, trials::means};
use crate::{KillMechanism, Linux};

/// A cause, and what helps.
///
/// One sentence without its full stop, and a command or a sentence.
type Reason = (String, String);

/// Both texts are shown to the operator as they are.
fn because(cause: impl Into<String>, fix: impl Into<String>) -> Reason {
    (cause.into(), fix.into())
}

/// Layers without which this one cannot work.
///
/// Where one of these failed before, its cause is that of this layer too. They come before it in
/// [`Layer::ALL`].
pub(super) const fn needs(layer: Layer) -> &'static [Layer] {
    match layer {
        Layer::Supervisor => &[Layer::SealedMemory],
        Layer::Subreaper | Layer::MemoryLimit | Layer::CpuLimit => {
            &[Layer::Supervisor, Layer::Proc]
        }
        Layer::UserNamespace | Layer::PidNamespace | Layer::CgroupKill | Layer::ProcessLimit => {
            &[Layer::Supervisor]
        }
        Layer::ReadOnlyPaths => &[Layer::Supervisor, Layer::LandlockFiles],
        Layer::NetworkHosts => &[Layer::Supervisor, Layer::SystemCallFilter],
        Layer::Confined => {
            &[Layer::Supervisor, Layer::LandlockFiles, Layer::SystemCallFilter, Layer::NetworkOff]
        }
        _ => &[],
    }
}

/// Layers that do the same on their way: where both fail with the same error, it is for the same reason.
///
/// They count only where both failures have an error number, and the same one.
pub(super) const fn resembles(layer: Layer) -> &'static [Layer] {
    match layer {
        Layer::InProcessStart | Layer::SealedMemory | Layer::Proc => &[],
        Layer::UserNamespace | Layer::PidNamespace => &[Layer::InProcessStart, Layer::Proc],
        Layer::ReadOnlyPaths | Layer::NetworkHosts => {
            &[Layer::InProcessStart, Layer::UserNamespace, Layer::PidNamespace]
        }
        _ => &[Layer::InProcessStart],
    }
}

/// Why a layer fails, or works in part only, with this error number on this machine, most likely; and what
/// helps.
///
/// `errno` is `None` where a trial failed without an error of the system, and 0 where a call had no
/// effect.
pub(super) fn reason(
    layer: Layer,
    is_partly: bool,
    errno: Option<i32>,
    machine: &Machine,
) -> Reason {
    let not_known = || {
        let said = errno.map_or_else(|| "nothing".to_owned(), shown);
        because(
            format!("not known; the system says {said}"),
            "look for a denial in the kernel's log: journalctl -k --grep 'denied|seccomp|apparmor'",
        )
    };
    untrue(errno)
        .or_else(|| exhausted(errno))
        .or_else(|| another_kernel(machine))
        .or_else(|| match layer {
            Layer::Threads => (errno == Some(libc::EPERM)).then(|| no_clone3(machine)).flatten(),
            Layer::SealedMemory => sealed_memory(errno, machine),
            Layer::InProcessStart if is_partly => no_clone3(machine),
            // It needs no system call that could fail, but a bound on the number of processes.
            Layer::Subreaper if errno.is_none() => {
                proc(machine).or_else(|| process_limit(errno, machine))
            }
            Layer::InProcessStart | Layer::Supervisor | Layer::Subreaper => {
                sealed_memory(errno, machine)
                    .or_else(|| start(errno, machine))
                    .or_else(|| proc(machine))
            }
            Layer::Proc => proc(machine).or_else(|| no_list_of_children(errno)),
            Layer::UserNamespace | Layer::PidNamespace => {
                sealed_memory(errno, machine).or_else(|| namespaces(errno, machine))
            }
            Layer::CgroupKill | Layer::CgroupProcesses | Layer::CgroupMemory => {
                cgroups(layer, errno, machine)
            }
            Layer::ProcessLimit => process_limit(errno, machine),
            Layer::NetworkHosts if !machine.has_proc => proc(machine),
            Layer::MemoryLimit | Layer::CpuLimit | Layer::NetworkHosts | Layer::Confined
                if errno.is_none() =>
            {
                Some(depends())
            }
            Layer::NetworkHosts => network_hosts(errno, machine),
            Layer::ReadOnlyPaths => proc(machine).or_else(|| namespaces(errno, machine)),
            Layer::LandlockFiles => landlock(errno, machine, "6.2"),
            Layer::LandlockPorts => landlock(errno, machine, "6.7"),
            Layer::LandlockScopes => landlock(errno, machine, "6.12"),
            Layer::SystemCallFilter
            | Layer::NetworkOff
            | Layer::MemoryLimit
            | Layer::CpuLimit
            | Layer::Confined => filter(errno, machine),
        })
        .unwrap_or_else(not_known)
}

/// The name of the error number, else the system's text for it.
fn shown(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    errno_name(errno).map_or(text, str::to_owned)
}

/// A trial showed that a call had no effect which the system says it has made.
fn untrue(errno: Option<i32>) -> Option<Reason> {
    (errno == Some(0)).then(|| {
        because(
            "a filter of system calls answers success without making the call (SECCOMP_RET_ERRNO with 0)",
            "run outside of that filter, or have it answer EPERM or ENOSYS",
        )
    })
}

/// A lack of processes, memory or descriptors, which says nothing about the layer.
fn exhausted(errno: Option<i32>) -> Option<Reason> {
    let what = match errno? {
        libc::EAGAIN => "this user may have no further process",
        libc::ENOMEM | libc::ENOBUFS => "there is no memory left",
        libc::EMFILE | libc::ENFILE => "there is no place for a further descriptor",
        _ => return None,
    };
    Some(because(what, "end what is not needed, or raise the bound: ulimit -a shows it"))
}

/// A kernel that is none.
///
/// Their answers to single calls tell nothing about Linux.
fn another_kernel(machine: &Machine) -> Option<Reason> {
    if machine.is_in("gVisor") {
        let cause = "gVisor stands in for the kernel, and does not have this";
        return Some(because(
            cause,
            "run it on the machine's own kernel: docker run --runtime=runc",
        ));
    }
    let cause = "WSL 1 stands in for the kernel, and does not have this";
    let fix = "move the distribution to WSL 2: wsl.exe --set-version NAME 2";
    machine.is_in("WSL 1").then(|| because(cause, fix))
}

/// The sysctl is `vm.memfd_noexec` (Linux 6.3); with 2 the kernel refuses every memfd that can be
/// executed.
fn sealed_memory(errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    let is_forbidden = matches!(errno?, libc::EACCES | libc::EPERM);
    let cause = "vm.memfd_noexec is 2: nothing in memory may be executed";
    (is_forbidden && machine.memfd_noexec? >= 2)
        .then(|| because(cause, "sysctl -w vm.memfd_noexec=0"))
}

/// What Docker and engines with its profile allow no process to call.
///
/// `what` are the calls that it refuses, in words.
fn container_filter(what: &str) -> Reason {
    because(
        format!(
            "a filter of system calls is on this process, and refuses {what}, as Docker's does"
        ),
        format!(
            "start the container with a seccomp profile that allows {what}: \
            docker run --security-opt seccomp=PROFILE.json"
        ),
    )
}

/// Why a process cannot be started with shared memory. 5.11 is the first Linux with all calls that
/// it needs.
fn start(errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    match errno? {
        // Without clone3 alone there is clone.
        libc::ENOSYS | libc::EPERM if machine.is_filtered => {
            Some(container_filter("calls that start programs (clone, close_range)"))
        }
        libc::ENOSYS | libc::EINVAL if !machine.is_at_least((5, 11)) => Some(old("5.11")),
        _ => None,
    }
}

/// Known only where a filter of system calls is on this process.
fn no_clone3(machine: &Machine) -> Option<Reason> {
    machine.is_filtered.then(|| container_filter("clone3"))
}

/// `least` is the first release that has what is missing.
fn old(least: &str) -> Reason {
    because(format!("the kernel is older than {least}"), format!("use Linux {least} or later"))
}

/// In the order in which one hides the other: not mounted, of another namespace, mounted with
/// `hidepid`.
fn proc(machine: &Machine) -> Option<Reason> {
    if !machine.has_proc {
        return Some(because("/proc is not mounted", "mount -t proc proc /proc"));
    }
    if machine.proc_is_foreign {
        return Some(because(
            "/proc is of another PID namespace, and has other numbers for processes",
            "mount -t proc proc /proc",
        ));
    }
    machine.hidepid.as_ref().map(|it| {
        because(
            format!("/proc is mounted with hidepid={it}, which hides programs of other users"),
            "mount -o remount,hidepid=0 /proc",
        )
    })
}

/// `/proc/PID/task/TID/children` (proc_tid_children(5)).
fn no_list_of_children(errno: Option<i32>) -> Option<Reason> {
    let cause = "the kernel was built without lists of children (CONFIG_PROC_CHILDREN)";
    (errno == Some(libc::ENOENT)).then(|| because(cause, "use a kernel that has them"))
}

/// Settings of the machine are looked at before error numbers, since `EPERM` is the answer to
/// several of them. Root needs no user namespace, so those of ordinary users do not matter to it.
fn namespaces(errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    let is_root = machine.user == 0;
    let is_forbidden = matches!(errno?, libc::EPERM | libc::EACCES);
    if machine.max_user_namespaces == Some(0) && (!is_root || errno == Some(libc::ENOSPC)) {
        let cause = "user.max_user_namespaces is 0";
        return Some(because(cause, "sysctl -w user.max_user_namespaces=15000"));
    }
    if is_forbidden && machine.userns_clone_off && !is_root {
        let cause = "kernel.unprivileged_userns_clone is 0: only root makes user namespaces";
        return Some(because(cause, "sysctl -w kernel.unprivileged_userns_clone=1"));
    }
    if is_forbidden && machine.apparmor_restricts_userns && !is_root {
        let cause = "AppArmor takes all capabilities from user namespaces of ordinary users";
        let fix = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
        return Some(because(cause, fix));
    }
    match errno? {
        libc::ENOSPC | libc::EUSERS => Some(because(
            "as many namespaces are nested or in use as there may be",
            "run it outside of one: sysctl user.max_user_namespaces shows the bound",
        )),
        libc::EPERM | libc::EACCES | libc::ENOSYS if machine.is_filtered => {
            Some(container_filter("clone and unshare with CLONE_NEWUSER"))
        }
        libc::EPERM if machine.is_in("chroot") => Some(because(
            "the root directory is not that of the mount namespace (chroot)",
            "use pivot_root in place of chroot, or a container",
        )),
        libc::EPERM if is_root => Some(because(
            "root has no CAP_SYS_ADMIN here",
            "run it as an ordinary user, or with that capability: docker run --cap-add SYS_ADMIN",
        )),
        libc::EINVAL | libc::ENOSYS => Some(because(
            "the kernel was built without these namespaces (CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS)",
            "use a kernel that has them",
        )),
        _ => None,
    }
}

/// The bound on network namespaces is one of its own; all else is as for other namespaces.
fn network_hosts(errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    let is_full = matches!(errno?, libc::ENOSPC | libc::EUSERS);
    if is_full && machine.max_net_namespaces == Some(0) {
        let cause = "user.max_net_namespaces is 0";
        return Some(because(cause, "sysctl -w user.max_net_namespaces=15000"));
    }
    namespaces(errno, machine)
}

/// What helps where control groups of version 1 have the controllers.
const UNIFIED: &str = "start the kernel with systemd.unified_cgroup_hierarchy=1";

/// Whether cgroups are mounted, and which version, is decided first: an error number means something
/// else in each of these cases.
fn cgroups(layer: Layer, errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    if !machine.has_proc {
        return proc(machine);
    }
    if machine.cgroups_are_covered {
        return Some(because(
            "something is mounted over the control groups",
            "take it away, or mount them again: mount -t cgroup2 none /sys/fs/cgroup",
        ));
    }
    let needs_2 = layer != Layer::CgroupProcesses;
    if layer == Layer::CgroupMemory && machine.memory_in_cgroup1 {
        let cause =
            "memory belongs to control groups of version 1, which end one process of a cgroup";
        return Some(because(cause, UNIFIED));
    }
    if !machine.has_cgroup2 && (needs_2 || !machine.has_cgroup1) {
        return Some(match (machine.has_cgroup1, machine.is_in("container")) {
            (false, true) => because(
                "the container does not show its control groups",
                "start the container with /sys/fs/cgroup mounted, and writable",
            ),
            (false, false) => {
                because("no control groups are mounted", "mount -t cgroup2 none /sys/fs/cgroup")
            }
            (true, _) => because(
                "control groups are those of version 1, which cannot end a cgroup at once",
                UNIFIED,
            ),
        });
    }
    match errno? {
        libc::EROFS => Some(because(
            "control groups are mounted read-only, as in most containers",
            "make them writable: docker run --security-opt writable-cgroups=true, or mount \
             /sys/fs/cgroup rw",
        )),
        libc::EACCES | libc::EPERM => {
            let fix = match machine.has_systemd {
                true => {
                    "start it in a cgroup of its own: systemd-run --user --scope -p Delegate=yes \
                         flyto"
                }
                false => {
                    "let root make a cgroup, give it to this user (chown), and start flyto in it"
                }
            };
            Some(because("this process's control group is not delegated to its user", fix))
        }
        libc::ENOENT if layer == Layer::CgroupKill && !machine.is_at_least((5, 14)) => {
            Some(old("5.14"))
        }
        libc::ENOENT => Some(because(
            "this controller is not handed down to the cgroup of this process",
            "start it in a unit with Delegate=yes and DelegateSubgroup=main (systemd.exec(5))",
        )),
        _ => None,
    }
}

/// Without an error number the bound was not there at all, or did not hold.
fn process_limit(errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    match (errno, machine.user) {
        (None, 0) => Some(because(
            "the kernel bounds root's processes by control groups only, and there are none",
            "run it as an ordinary user, or where control groups can be made",
        )),
        (None, _) => Some(depends()),
        _ => None,
    }
}

/// For layers that are made of others and say nothing by themselves.
fn depends() -> Reason {
    because("it is made of layers of which one fails", "see to those first")
}

/// `since` is the release of Linux that brought the version which the layer needs.
fn landlock(errno: Option<i32>, machine: &Machine, since: &str) -> Option<Reason> {
    match errno {
        None => Some(old(since)),
        Some(libc::EOPNOTSUPP) => {
            let rest = machine.security_modules.as_deref().unwrap_or_default().join(",");
            let fix = match rest.as_str() {
                "" => "add landlock to lsm= on the kernel's command line".to_owned(),
                rest => format!("start the kernel with lsm=landlock,{rest}"),
            };
            Some(because("Landlock is not among the security modules in use", fix))
        }
        Some(libc::ENOSYS | libc::EPERM) if machine.is_filtered && machine.is_at_least((5, 13)) => {
            Some(container_filter("landlock_create_ruleset and the other calls of Landlock"))
        }
        Some(libc::ENOSYS) if !machine.is_at_least((5, 13)) => Some(old(since)),
        Some(libc::ENOSYS) => Some(because(
            "the kernel was built without Landlock (CONFIG_SECURITY_LANDLOCK)",
            "use a kernel that has it",
        )),
        _ => None,
    }
}

/// Filters are asked about through `/proc` first, so that its absence looks like theirs.
fn filter(errno: Option<i32>, machine: &Machine) -> Option<Reason> {
    match errno? {
        libc::ENOENT if !machine.has_proc => proc(machine),
        libc::ENOENT if machine.proc_subset => Some(because(
            "/proc is mounted with subset=pid, and tells nothing about the kernel",
            "mount /proc without that option",
        )),
        libc::ENOENT | libc::EINVAL | libc::ENOSYS => Some(because(
            "the kernel was built without filters of system calls (CONFIG_SECCOMP_FILTER)",
            "use a kernel that has them",
        )),
        libc::EPERM | libc::EACCES if machine.is_filtered => Some(container_filter("seccomp")),
        _ => None,
    }
}

/// What happens where a layer fails, or works in part only, with this backend.
///
/// The texts are whole clauses without a full stop; `linux` decides which, as its mechanism and its
/// means differ.
pub(super) fn instead(layer: Layer, is_partly: bool, linux: &Linux) -> String {
    let trees = match linux.mechanism() {
        KillMechanism::Group => {
            "trees are not ended, only processes that stay in the process group"
        }
        KillMechanism::Subreaper => "trees are ended by their supervisor",
        KillMechanism::PidNamespace => "trees are ended by a PID namespace",
        KillMechanism::Cgroup => "trees are ended by a control group",
    };
    let bounded = |what, capability| match means(linux, capability) {
        Some(means) => format!("{what} is bounded: {means}"),
        None => format!("{what} is not bounded; a call that asks for that is refused"),
    };
    match layer {
        Layer::InProcessStart if is_partly => {
            "clone does the same: a start takes more system calls, and a program enters its control \
             group by itself"
        }
        Layer::Threads => "no call can be made",
        Layer::InProcessStart => "programs start by posix_spawn",
        Layer::SealedMemory | Layer::Supervisor => {
            "only process groups are ended; bounds and isolation are refused"
        }
        Layer::Proc if is_partly => "programs of other users in a tree do not count in its bounds",
        Layer::Proc => {
            "a supervisor finds no process; a call that asks for bounds that it would watch is refused"
        }
        Layer::UserNamespace => "only root has PID namespaces",
        Layer::Subreaper | Layer::PidNamespace | Layer::CgroupKill => trees,
        Layer::ProcessLimit if means(linux, Capability::ProcessLimit).is_some() => {
            "a fork bomb is stopped by nothing but the bounds of its user"
        }
        Layer::MemoryLimit if means(linux, Capability::MemoryLimit).is_some() => {
            "a tree can take all memory that its user may have"
        }
        Layer::CpuLimit if means(linux, Capability::CpuLimit).is_some() => {
            "a tree can compute until its deadline"
        }
        Layer::CpuLimit => return bounded("CPU time", Capability::CpuLimit),
        Layer::CgroupProcesses | Layer::ProcessLimit => {
            return bounded("the number of processes", Capability::ProcessLimit);
        }
        Layer::CgroupMemory | Layer::MemoryLimit => {
            return bounded("memory", Capability::MemoryLimit);
        }
        Layer::LandlockFiles
        | Layer::LandlockPorts
        | Layer::LandlockScopes
        | Layer::ReadOnlyPaths
        | Layer::SystemCallFilter
        | Layer::NetworkOff
        | Layer::NetworkHosts
        | Layer::Confined
            if linux.mechanism() == KillMechanism::Group =>
        {
            "a call that asks for isolation is refused"
        }
        Layer::LandlockFiles => "a call that asks for bounds on files is refused",
        Layer::LandlockPorts => "the filter of system calls alone keeps a program from the network",
        Layer::LandlockScopes => {
            "a PID namespace keeps a program to its own processes, else a call that asks is refused"
        }
        Layer::ReadOnlyPaths if is_partly => {
            "Landlock keeps them, and nothing new can be made in the directories on the way to them: \
             git commit fails, for example. Python's multiprocessing fails as well: there is no shared memory"
        }
        Layer::ReadOnlyPaths => "a call that asks for it is refused",
        Layer::SystemCallFilter | Layer::NetworkOff | Layer::NetworkHosts | Layer::Confined => {
            "a call that asks for it is refused"
        }
    }
    .to_owned()
}
