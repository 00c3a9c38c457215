use expect_test::{Expect, expect};

use super::{cause::reason, *};

/// A machine of which these files tell something, beside what every Linux has.
fn machine(user: u32, kernel: &str, files: &[(&str, &str)]) -> Machine {
    let status =
        format!("Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nNoNewPrivs:\t0\nSeccomp:\t0\n");
    let usual = [
        ("/proc/sys/kernel/osrelease", kernel),
        ("/proc/version", "Linux version"),
        ("/proc/self/status", &*status),
        ("/proc/self/uid_map", "         0          0 4294967295\n"),
        ("/proc/self/cgroup", "0::/user.slice\n"),
        ("/proc/sys/user/max_user_namespaces", "30000\n"),
        ("/proc/sys/vm/memfd_noexec", "0\n"),
        ("/proc/self/mountinfo", MOUNTS),
    ];
    Machine::of(|path| {
        let found = files.iter().chain(&usual).find(|it| it.0 == path);
        found.filter(|it| it.1 != NOT_THERE).map(|it| it.1.as_bytes().to_vec())
    })
}

/// Stands for a file that is not there.
const NOT_THERE: &str = "\0";

const MOUNTS: &str = "22 27 0:21 / / rw - ext4 /dev/vda rw
23 22 0:22 / /proc rw,relatime - proc proc rw
24 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
";

/// Both versions, as older systems have them.
const HYBRID: &str = "22 27 0:21 / / rw - ext4 /dev/vda rw
23 22 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw
24 23 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
25 23 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
";

const DOCKER: &[(&str, &str)] =
    &[("/.dockerenv", ""), ("/proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nSeccomp:\t2\n")];

#[track_caller]
fn check(layer: Layer, errno: i32, machine: &Machine, expect: Expect) {
    let errno = (errno != 0).then_some(errno);
    let (cause, fix) = reason(layer, false, errno, machine);
    expect.assert_eq(&format!("{cause}\n{fix}"));
}

#[test]
fn user_namespaces_are_forbidden_in_many_ways() {
    let with = |files| machine(1000, "6.8.0-45-generic", files);
    let apparmor = with(&[("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n")]);
    let clone_off = with(&[("/proc/sys/kernel/unprivileged_userns_clone", "0")]);
    let none = with(&[("/proc/sys/user/max_user_namespaces", "0\n")]);
    let chroot = with(&[("/proc/self/mountinfo", "23 22 0:22 / /proc rw - proc proc rw\n")]);
    let layer = Layer::UserNamespace;
    check(
        layer,
        libc::EACCES,
        &apparmor,
        expect![[r#"
        AppArmor takes all capabilities from user namespaces of ordinary users
        sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"#]],
    );
    check(
        Layer::PidNamespace,
        libc::EPERM,
        &apparmor,
        expect![[r#"
        AppArmor takes all capabilities from user namespaces of ordinary users
        sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"#]],
    );
    check(
        layer,
        libc::EPERM,
        &clone_off,
        expect![[r#"
        kernel.unprivileged_userns_clone is 0: only root makes user namespaces
        sysctl -w kernel.unprivileged_userns_clone=1"#]],
    );
    check(
        layer,
        libc::ENOSPC,
        &none,
        expect![[r#"
        user.max_user_namespaces is 0
        sysctl -w user.max_user_namespaces=15000"#]],
    );
    check(
        layer,
        libc::ENOSPC,
        &with(&[]),
        expect![[r#"
        as many namespaces are nested or in use as there may be
        run it outside of one: sysctl user.max_user_namespaces shows the bound"#]],
    );
    check(
        layer,
        libc::EPERM,
        &with(DOCKER),
        expect![[r#"
        a filter of system calls is on this process, and refuses clone and unshare with CLONE_NEWUSER, as Docker's does
        start the container with a seccomp profile that allows clone and unshare with CLONE_NEWUSER: docker run --security-opt seccomp=PROFILE.json"#]],
    );
    check(
        layer,
        libc::EPERM,
        &chroot,
        expect![[r#"
        the root directory is not that of the mount namespace (chroot)
        use pivot_root in place of chroot, or a container"#]],
    );
    check(
        layer,
        libc::EINVAL,
        &with(&[]),
        expect![[r#"
        the kernel was built without these namespaces (CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS)
        use a kernel that has them"#]],
    );
    check(
        Layer::PidNamespace,
        libc::EPERM,
        &machine(0, "6.8", &[]),
        expect![[r#"
        root has no CAP_SYS_ADMIN here
        run it as an ordinary user, or with that capability: docker run --cap-add SYS_ADMIN"#]],
    );
    // What holds for ordinary users is no reason for root.
    let root = machine(
        0,
        "6.8",
        &[
            ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
            ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ],
    );
    check(
        Layer::PidNamespace,
        libc::EPERM,
        &root,
        expect![[r#"
        root has no CAP_SYS_ADMIN here
        run it as an ordinary user, or with that capability: docker run --cap-add SYS_ADMIN"#]],
    );
}

#[test]
fn named_hosts_need_a_network_namespace() {
    let none = [("/proc/sys/user/max_net_namespaces", "0\n")];
    let layer = Layer::NetworkHosts;
    check(
        layer,
        libc::ENOSPC,
        &machine(0, "6.8", &none),
        expect![[r#"
        user.max_net_namespaces is 0
        sysctl -w user.max_net_namespaces=15000"#]],
    );
    check(
        layer,
        0,
        &machine(1000, "6.8", &[("/proc/self/status", NOT_THERE)]),
        expect![[r#"
        /proc is not mounted
        mount -t proc proc /proc"#]],
    );
}

#[test]
fn programs_do_not_start_for_these_reasons() {
    let noexec = machine(1000, "6.8", &[("/proc/sys/vm/memfd_noexec", "2\n")]);
    check(
        Layer::SealedMemory,
        libc::EACCES,
        &noexec,
        expect![[r#"
        vm.memfd_noexec is 2: nothing in memory may be executed
        sysctl -w vm.memfd_noexec=0"#]],
    );
    check(
        Layer::Supervisor,
        libc::EACCES,
        &noexec,
        expect![[r#"
        vm.memfd_noexec is 2: nothing in memory may be executed
        sysctl -w vm.memfd_noexec=0"#]],
    );
    check(
        Layer::InProcessStart,
        libc::ENOSYS,
        &machine(1000, "6.8", DOCKER),
        expect![[r#"
        a filter of system calls is on this process, and refuses calls that start programs (clone, close_range), as Docker's does
        start the container with a seccomp profile that allows calls that start programs (clone, close_range): docker run --security-opt seccomp=PROFILE.json"#]],
    );
    check(
        Layer::InProcessStart,
        libc::ENOSYS,
        &machine(1000, "5.2.0", &[]),
        expect![[r#"
        the kernel is older than 5.11
        use Linux 5.11 or later"#]],
    );
    check(
        Layer::Supervisor,
        libc::EAGAIN,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        this user may have no further process
        end what is not needed, or raise the bound: ulimit -a shows it"#]],
    );
    check(
        Layer::Supervisor,
        libc::EIO,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        not known; the system says EIO
        look for a denial in the kernel's log: journalctl -k --grep 'denied|seccomp|apparmor'"#]],
    );
}

#[test]
fn without_clone3_programs_start_all_the_same() {
    let partly =
        |machine: &Machine| reason(Layer::InProcessStart, true, Some(libc::ENOSYS), machine);
    let (cause, fix) = partly(&machine(1000, "6.8", DOCKER));
    expect![[r#"
        a filter of system calls is on this process, and refuses clone3, as Docker's does
        start the container with a seccomp profile that allows clone3: docker run --security-opt seccomp=PROFILE.json"#]]
    .assert_eq(&format!("{cause}\n{fix}"));
    let (cause, _) = partly(&machine(1000, "6.8", &[]));
    assert_eq!(cause, "not known; the system says ENOSYS");
}

#[test]
fn what_stands_in_for_a_kernel_is_named() {
    let gvisor = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n";
    let gvisor = machine(0, "4.4.0", &[("/proc/version", gvisor)]);
    check(
        Layer::LandlockFiles,
        libc::ENOSYS,
        &gvisor,
        expect![[r#"
        gVisor stands in for the kernel, and does not have this
        run it on the machine's own kernel: docker run --runtime=runc"#]],
    );
    check(
        Layer::Supervisor,
        libc::EINVAL,
        &machine(1000, "4.4.0-19041-Microsoft", &[]),
        expect![[r#"
        WSL 1 stands in for the kernel, and does not have this
        move the distribution to WSL 2: wsl.exe --set-version NAME 2"#]],
    );
    let wsl2 = machine(1000, "5.15.153.1-microsoft-standard-WSL2", &[]);
    assert_eq!(wsl2.surroundings, [""; 0]);
}

#[test]
fn control_groups_are_missing_read_only_or_of_another_user() {
    let with = |mounts| machine(1000, "6.8", &[("/proc/self/mountinfo", mounts)]);
    let version_1 = with(
        "22 27 0:21 / / rw - ext4 x rw\n24 22 0:23 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
    );
    check(
        Layer::CgroupKill,
        0,
        &version_1,
        expect![[r#"
        control groups are those of version 1, which cannot end a cgroup at once
        start the kernel with systemd.unified_cgroup_hierarchy=1"#]],
    );
    let hybrid = with(HYBRID);
    check(
        Layer::CgroupMemory,
        libc::ENOENT,
        &hybrid,
        expect![[r#"
        memory belongs to control groups of version 1, which end one process of a cgroup
        start the kernel with systemd.unified_cgroup_hierarchy=1"#]],
    );
    let none = with("22 27 0:21 / / rw - ext4 x rw\n");
    check(
        Layer::CgroupProcesses,
        0,
        &none,
        expect![[r#"
        no control groups are mounted
        mount -t cgroup2 none /sys/fs/cgroup"#]],
    );
    check(
        Layer::CgroupKill,
        libc::EROFS,
        &with(MOUNTS),
        expect![[r#"
        control groups are mounted read-only, as in most containers
        make them writable: docker run --security-opt writable-cgroups=true, or mount /sys/fs/cgroup rw"#]],
    );
    check(
        Layer::CgroupMemory,
        libc::ENOENT,
        &with(MOUNTS),
        expect![[r#"
        this controller is not handed down to the cgroup of this process
        start it in a unit with Delegate=yes and DelegateSubgroup=main (systemd.exec(5))"#]],
    );
    check(
        Layer::CgroupKill,
        libc::EACCES,
        &with(MOUNTS),
        expect![[r#"
        this process's control group is not delegated to its user
        let root make a cgroup, give it to this user (chown), and start flyto in it"#]],
    );
    let systemd = Machine { has_systemd: true, ..with(MOUNTS) };
    check(
        Layer::CgroupKill,
        libc::EACCES,
        &systemd,
        expect![[r#"
        this process's control group is not delegated to its user
        start it in a cgroup of its own: systemd-run --user --scope -p Delegate=yes flyto"#]],
    );
    check(
        Layer::CgroupKill,
        libc::ENOENT,
        &machine(1000, "5.10.0", &[]),
        expect![[r#"
        the kernel is older than 5.14
        use Linux 5.14 or later"#]],
    );
    check(
        Layer::ProcessLimit,
        0,
        &machine(0, "6.8", &[]),
        expect![[r#"
        the kernel bounds root's processes by control groups only, and there are none
        run it as an ordinary user, or where control groups can be made"#]],
    );
    check(
        Layer::ProcessLimit,
        0,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        it is made of layers of which one fails
        see to those first"#]],
    );
}

#[test]
fn landlock_is_off_too_old_or_refused() {
    let lsm = [("/sys/kernel/security/lsm", "lockdown,capability,yama,apparmor\n")];
    let layer = Layer::LandlockFiles;
    check(
        layer,
        libc::EOPNOTSUPP,
        &machine(1000, "6.8", &lsm),
        expect![[r#"
        Landlock is not among the security modules in use
        start the kernel with lsm=landlock,lockdown,capability,yama,apparmor"#]],
    );
    check(
        layer,
        libc::EOPNOTSUPP,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        Landlock is not among the security modules in use
        add landlock to lsm= on the kernel's command line"#]],
    );
    check(
        layer,
        libc::ENOSYS,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        the kernel was built without Landlock (CONFIG_SECURITY_LANDLOCK)
        use a kernel that has it"#]],
    );
    check(
        layer,
        libc::ENOSYS,
        &machine(1000, "5.10", DOCKER),
        expect![[r#"
        the kernel is older than 6.2
        use Linux 6.2 or later"#]],
    );
    check(
        layer,
        libc::EPERM,
        &machine(1000, "6.8", DOCKER),
        expect![[r#"
        a filter of system calls is on this process, and refuses landlock_create_ruleset and the other calls of Landlock, as Docker's does
        start the container with a seccomp profile that allows landlock_create_ruleset and the other calls of Landlock: docker run --security-opt seccomp=PROFILE.json"#]],
    );
    check(
        Layer::LandlockScopes,
        0,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        the kernel is older than 6.12
        use Linux 6.12 or later"#]],
    );
}

#[test]
fn proc_is_missing_or_hides_something() {
    let none = machine(1000, "6.8", &[("/proc/self/status", NOT_THERE)]);
    check(
        Layer::Proc,
        libc::ENOENT,
        &none,
        expect![[r#"
        /proc is not mounted
        mount -t proc proc /proc"#]],
    );
    check(
        Layer::SystemCallFilter,
        libc::ENOENT,
        &none,
        expect![[r#"
        /proc is not mounted
        mount -t proc proc /proc"#]],
    );
    let foreign = Machine { proc_is_foreign: true, ..machine(1000, "6.8", &[]) };
    check(
        Layer::Supervisor,
        libc::ENOENT,
        &foreign,
        expect![[r#"
        /proc is of another PID namespace, and has other numbers for processes
        mount -t proc proc /proc"#]],
    );
    let mounted = |options: &str| {
        let mounts =
            format!("22 27 0:21 / / rw - ext4 x rw\n23 22 0:22 / /proc rw - proc proc {options}\n");
        machine(1000, "6.8", &[("/proc/self/mountinfo", &mounts)])
    };
    check(
        Layer::Proc,
        libc::ENOENT,
        &mounted("rw,gid=4,hidepid=invisible"),
        expect![[r#"
        /proc is mounted with hidepid=invisible, which hides programs of other users
        mount -o remount,hidepid=0 /proc"#]],
    );
    check(
        Layer::Proc,
        libc::ENOENT,
        &mounted("rw,hidepid=off"),
        expect![[r#"
        the kernel was built without lists of children (CONFIG_PROC_CHILDREN)
        use a kernel that has them"#]],
    );
    check(
        Layer::SystemCallFilter,
        libc::ENOENT,
        &mounted("rw,subset=pid"),
        expect![[r#"
        /proc is mounted with subset=pid, and tells nothing about the kernel
        mount /proc without that option"#]],
    );
    check(
        Layer::NetworkOff,
        libc::EINVAL,
        &machine(1000, "6.8", &[]),
        expect![[r#"
        the kernel was built without filters of system calls (CONFIG_SECCOMP_FILTER)
        use a kernel that has them"#]],
    );
}

#[test]
fn a_machine_is_read_from_its_files() {
    let container = machine(
        1000,
        "6.8",
        &[
            ("/proc/self/cgroup", "0::/kubepods/besteffort/pod1\n"),
            ("/proc/self/uid_map", "0 100000 65536\n"),
        ],
    );
    assert_eq!(container.surroundings, ["container", "user namespace"]);
    assert_eq!((container.user, &*container.kernel), (1000, "6.8"));
    // A later mount lies over an earlier one.
    let twice = "22 27 0:21 / / rw - ext4 x rw
23 22 0:22 / /proc rw - proc proc rw,hidepid=2
24 23 0:23 / /proc rw shared:1 - proc proc rw\n";
    assert_eq!(machine(0, "6.8", &[("/proc/self/mountinfo", twice)]).hidepid, None);
    for (kernel, is) in [("5.10.0", false), ("5.11.0-rc1", true), ("6.1", true), ("?", true)] {
        assert_eq!(machine(0, kernel, &[]).is_at_least((5, 11)), is, "{kernel}");
    }
}

#[tokio::test]
async fn what_is_declared_is_what_was_found_to_work() {
    let linux = Linux::new();
    let found = examine(&linux).await;
    let layers: Vec<_> = found.checks.iter().map(|it| it.layer).collect();
    assert_eq!(layers, Layer::ALL);
    assert_eq!(found.mechanism, linux.mechanism());
    for (layer, capability) in [
        (Layer::ProcessLimit, Capability::ProcessLimit),
        (Layer::MemoryLimit, Capability::MemoryLimit),
        (Layer::CpuLimit, Capability::CpuLimit),
        (Layer::LandlockFiles, Capability::FilesystemGrants),
        (Layer::SystemCallFilter, Capability::SystemCallFilter),
        (Layer::NetworkOff, Capability::NetworkOff),
        (Layer::NetworkHosts, Capability::NetworkHosts),
    ] {
        let check = found.check(layer).expect("it was tried");
        let works = !matches!(check.state, State::Fails(_));
        assert_eq!(works, linux.capabilities().has(capability), "{check:?}");
    }
    let mechanism = match found.mechanism {
        KillMechanism::Cgroup => Layer::CgroupKill,
        KillMechanism::PidNamespace => Layer::PidNamespace,
        KillMechanism::Subreaper => Layer::Subreaper,
        KillMechanism::Group => return assert!(!found.serves_by_default()),
    };
    let check = found.check(mechanism).expect("it was tried");
    assert!(matches!(check.state, State::Works { .. }), "{check:?}");
}

#[tokio::test]
async fn an_ordinary_user_is_told_what_is_found() {
    let test = "examine::tests::an_ordinary_user_is_told_what_is_found";
    if !crate::ordinary::is_ordinary(test).await {
        return;
    }
    for check in examine(&Linux::for_one_call()).await.checks {
        if let State::Fails(it) | State::Partly { trouble: it, .. } = &check.state {
            let said = [&it.tried, &it.cause, &it.fix, &it.instead];
            assert!(said.into_iter().all(|it| !it.is_empty()), "{check:?}");
        }
    }
}
