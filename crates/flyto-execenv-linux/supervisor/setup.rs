//! What is done once, before the first program.

use core::ffi::CStr;

use flyto_supervision::{Setup, SetupFlags, Stage};

use crate::{
    bare::{
        clone3,
        child::{Failed, close},
        sys::{self, Cookie, Errno, address, clone, errno, int, number},
    },
    cpu::CgroupTime,
    end::{children, for_each_child},
    memory::Pages,
    mounts, network,
    process::{self, ChildEnds, Descriptor},
    shared_memory,
    socket::Descriptors,
    tree,
    trial::{self, namespace, untrue},
};

/// What every program of this supervisor gets.
pub(crate) struct SupervisorContext {
    /// Tells that a child has ended.
    pub(crate) ends: ChildEnds,
    /// The list of the supervisor's children, where those are the programs. It is opened before the first
    /// program, so that the children are found also where another process of this user has taken the
    /// supervisor's right to open files (`RLIMIT_NOFILE`, prlimit(2)).
    pub(crate) children: Option<Descriptor>,
    /// Where each program runs in a PID namespace of its own: the stack of the namespace's first
    /// process.
    pub(crate) namespace: Option<Pages>,
    pub(crate) cookie: Cookie,
    /// A descriptor that is readable once the host has ended; -1 where there is none. The end of file
    /// on the socket says so too, unless the host has forked: then its copy keeps the socket open.
    pub(crate) host: i32,
    /// A Landlock ruleset that each program enters, nested in the supervisor's.
    pub(crate) inner_ruleset: Option<i32>,
    /// The cgroup of programs, as a descriptor of its directory.
    pub(crate) cgroup: Option<i32>,
    /// Its list of members, where programs put themselves into it.
    pub(crate) members: Option<Descriptor>,
    /// The file that kills what is in that cgroup; without that, the cgroup is one that programs are in
    /// with their supervisor.
    pub(crate) cgroup_kill: Option<i32>,
    /// What that cgroup counts, or the one that programs are in with their supervisor.
    pub(crate) cgroup_time: Option<CgroupTime>,
    /// The socket in the network namespace, until the host has it.
    pub(crate) listener: Option<Descriptor>,
    /// Shared memory of the programs' own.
    pub(crate) shared_memory: Option<shared_memory::Mounted>,
}

impl SupervisorContext {
    /// Whether to kill the programs' cgroup is to kill us as well.
    pub(crate) const fn is_in_cgroup(&self) -> bool {
        self.cgroup_kill.is_some() && self.cgroup.is_none()
    }

    pub(crate) const fn is_namespace(&self) -> bool {
        self.namespace.is_some()
    }
}

/// Bytes of stack for the first process of a namespace: it runs what the supervisor would.
const STACK_BYTES: usize = 256 * 1024;

const PR_SET_NO_NEW_PRIVS: usize = 38;
const PR_CAPBSET_DROP: usize = 24;
/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;
const SECCOMP_SET_MODE_FILTER: usize = 1;

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    instructions: u16,
    at: *const u8,
}

pub(crate) fn enter(
    setup: &Setup<'_>,
    descriptors: Descriptors,
    host: i32,
) -> Result<SupervisorContext, Failed> {
    trial::basics()?;
    let has = |flag| setup.flags.has(flag);
    let mut rest = descriptors.as_slice().iter().copied();
    let mut take = |flag| match has(flag) {
        true => {
            rest.next().map(Some).ok_or(Failed { stage: Stage::Message, errno: sys::errno::BADMSG })
        }
        false => Ok(None),
    };
    let failed = |stage| move |errno| Failed { stage, errno };
    let ruleset = take(SetupFlags::RULESET)?;
    let mut context = SupervisorContext {
        ends: ChildEnds::new().map_err(failed(Stage::Children))?,
        children: match has(SetupFlags::PID_NAMESPACE) {
            true => None,
            false => Some(children().map_err(failed(Stage::Children))?),
        },
        namespace: match has(SetupFlags::PID_NAMESPACE) {
            true => Some(Pages::new(STACK_BYTES).map_err(failed(Stage::Memory))?),
            false => None,
        },
        cookie: setup.cookie,
        host,
        inner_ruleset: take(SetupFlags::INNER_RULESET)?,
        cgroup: take(SetupFlags::CGROUP)?,
        members: None,
        cgroup_kill: take(SetupFlags::CGROUP_KILL)?,
        cgroup_time: None,
        listener: None,
        shared_memory: None,
    };
    let cpu_stat = take(SetupFlags::CPU_STAT)?;
    if let Some(kill) = context.cgroup_kill.filter(|_| context.is_in_cgroup()) {
        claim(kill).map_err(failed(Stage::Cgroup))?;
    }
    if has(SetupFlags::CLONE3_REFUSED) {
        clone3::refuse(errno::NOSYS);
        if let Some(dir) = context.cgroup {
            let members = clone3::members(dir).map_err(failed(Stage::Cgroup))?;
            // SAFETY: it was just opened, for this.
            context.members = Some(unsafe { Descriptor::new(members) });
        }
    }
    if has(SetupFlags::USER_NAMESPACE) {
        user_namespace(setup).map_err(failed(Stage::Namespace))?;
    }
    if has(SetupFlags::MOUNT_NAMESPACE) {
        mounts::leave(setup.mounts).map_err(failed(Stage::Mounts))?;
        if setup.shared_memory.size_bytes > 0 {
            let mounted = shared_memory::mount(setup.shared_memory);
            context.shared_memory = Some(mounted.map_err(failed(Stage::Mounts))?);
        }
    }
    if has(SetupFlags::NETWORK_NAMESPACE) {
        let before = namespace(c"/proc/self/ns/net").map_err(failed(Stage::Network))?;
        context.listener = Some(network::leave().map_err(failed(Stage::Network))?);
        if namespace(c"/proc/self/ns/net") == Ok(before) {
            return Err(untrue(Stage::Network));
        }
    }
    // Only from here on: the maps of a process that may not be looked into belong to root (proc(5)).
    process::close_to_debuggers();
    if has(SetupFlags::NO_NEW_PRIVS) {
        // SAFETY: numbers.
        unsafe { sys::numbers(number::PRCTL, &[PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]) }
            .map_err(failed(Stage::Privileges))?;
    }
    if has(SetupFlags::NO_CAPABILITIES) {
        no_capabilities().map_err(failed(Stage::Privileges))?;
    }
    if let Some(ruleset) = ruleset {
        if let Some(memory) = &context.shared_memory {
            memory.allow(ruleset, setup.shared_memory.rights).map_err(failed(Stage::Landlock))?;
        }
        // SAFETY: numbers; the descriptor is not used after that.
        unsafe {
            sys::numbers(number::LANDLOCK_RESTRICT_SELF, &[int(ruleset), 0])
                .map_err(failed(Stage::Landlock))?;
            close(ruleset);
        }
    }
    if !setup.filter.is_empty() {
        let instructions = u16::try_from(setup.filter.len() / 8).unwrap_or(u16::MAX);
        let program = Program { instructions, at: setup.filter.as_ptr() };
        // SAFETY: the kernel copies the instructions, of which there are that many.
        unsafe {
            let args = [SECCOMP_SET_MODE_FILTER, 0, address(&program), 0, 0, 0];
            sys::call(number::SECCOMP, args).map_err(failed(Stage::Filter))?;
        }
    }
    if context.namespace.is_none() && !(tree::is_proc_ours() && for_each_child(&context, |_| {})) {
        return Err(Failed { stage: Stage::Children, errno: sys::errno::NOENT });
    }
    trial::entered(setup, &context)?;
    if let Some(cpu_stat) = cpu_stat {
        let counts_supervisor = context.cgroup.is_none();
        context.cgroup_time =
            Some(CgroupTime::new(cpu_stat, counts_supervisor).map_err(failed(Stage::Cgroup))?);
    }
    descriptors.keep();
    Ok(context)
}

/// Claims the cgroup for as long as this process lives, by a lock that tells others its number (`F_GETLK`,
/// fcntl_locking(2)). A host that finds the cgroup abandoned lets its supervisor finish. The lock goes with the
/// process, and is neither a child's nor that of what a child executes.
fn claim(kill: i32) -> Result<(), Errno> {
    const F_SETLK: usize = 6;
    const F_WRLCK: u16 = 1;
    // `struct flock` of x86-64: a type and an origin of 16 bits, start, length, process. The whole file, from
    // its start on.
    let lock = [u64::from(F_WRLCK), 0, 0, 0];
    // SAFETY: the kernel reads the structure, which is on this frame.
    unsafe { sys::call(number::FCNTL, [int(kill), F_SETLK, address(&lock), 0, 0, 0]) }.map(drop)
}

/// Sees to it that no program has a capability: the bounding set is what root gets at an execution, the
/// inheritable set what a file adds to it (capabilities(7)). This process keeps its own, with which it
/// makes PID namespaces.
fn no_capabilities() -> Result<(), Errno> {
    let mut may_bound = true;
    for capability in 0..64 {
        // SAFETY: numbers.
        match unsafe { sys::numbers(number::PRCTL, &[PR_CAPBSET_DROP, capability, 0, 0, 0]) } {
            Ok(_) => {}
            // It was the last one before this.
            Err(errno::INVAL) => break,
            Err(errno::PERM) => {
                may_bound = false;
                break;
            }
            Err(errno) => return Err(errno),
        }
    }
    let header = [CAPABILITY_VERSION, 0];
    let mut sets = capabilities()?;
    (sets[2], sets[5]) = (0, 0);
    if !may_bound {
        // A user without that right has next to nothing, and an execution without new privileges adds
        // nothing to it.
        sets = [0; 6];
    }
    // SAFETY: the kernel reads eight numbers.
    unsafe {
        let args = [address(&header), address(&sets), 0, 0, 0, 0];
        sys::call(number::CAPSET, args).map(drop)
    }
}

/// What this process may do: twice three sets of 32 bits, effective, permitted, inheritable (capget(2)).
fn capabilities() -> Result<[u32; 6], Errno> {
    let header = [CAPABILITY_VERSION, 0];
    let mut sets = [0_u32; 6];
    // SAFETY: the kernel reads two numbers and writes six.
    unsafe {
        let args = [address(&header), address(sets.as_mut_ptr()), 0, 0, 0, 0];
        sys::call(number::CAPGET, args)?;
    }
    Ok(sets)
}

/// The capabilities that this process can make use of.
pub(crate) fn permitted() -> Result<[u32; 2], Errno> {
    capabilities().map(|it| [it[1], it[4]])
}

/// A user namespace in which this user is itself and no other user exists (user_namespaces(7)).
fn user_namespace(setup: &Setup<'_>) -> Result<(), Errno> {
    // SAFETY: a process with one thread.
    unsafe { sys::numbers(number::UNSHARE, &[clone::NEWUSER as usize])? };
    write(c"/proc/self/setgroups", b"deny")?;
    write(c"/proc/self/uid_map", setup.uid_map)?;
    write(c"/proc/self/gid_map", setup.gid_map)
}

fn write(path: &CStr, text: &[u8]) -> Result<(), Errno> {
    let file = Descriptor::open(path, process::O_WRONLY)?;
    file.write(text)
}
