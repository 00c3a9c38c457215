//! Each layer in use.
//!
//! Each function is one layer: it makes use of it in the smallest way that would show a fault, and
//! says by which means it works or what failed. Programs that are started run `/bin/sh` for
//! [`GUARD`] at most. Layers about the backend in use try [`Linux`] itself, others the single
//! mechanism.

use std::{
    error::Error, fs, io, net::TcpListener, os::fd::AsFd, path::Path, sync::Arc, thread,
    time::Duration,
};

use flyto_execenv::{
    Capability, Ending, ExecEnv, ExecError, Executor, Exit, Filesystem, Isolation, KillScope,
    LimitKind, Limits, LocalSockets, Network, Outcome, Processes, Spec, SystemCalls,
};

use super::Layer;
use crate::{
    KillMechanism, Linux,
    bare::{
        clone3, landlock,
        trial::{Deed, Walls, confined},
    },
    cgroup::{Cgroups, Finding, Leaf, Use},
    direct,
    enforcement::{LimitEnforcement, sees_trees},
    failure,
    sandbox::{
        Confinement, LANDLOCK_FILES, LANDLOCK_PORTS, LANDLOCK_SCOPES, Support, confine, cookie,
        needs_user_namespace,
    },
    supervised::{self, Kind, Pool},
};

/// What came of one layer, before its cause is looked for.
///
/// The text of `Works` and `Partly` says by which means, for [`State`](super::State).
#[derive(Debug)]
pub(super) enum Found {
    Works(String),
    Partly(String, Failure),
    Fails(Failure),
}

/// What failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// In words that follow "failed to".
    pub(super) tried: String,
    pub(super) errno: Option<i32>,
}

impl Failure {
    fn new(tried: impl Into<String>) -> Self {
        Self { tried: tried.into(), errno: None }
    }

    /// With the error number of the system, where the error has one.
    fn of(tried: impl Into<String>, err: &io::Error) -> Self {
        Self { tried: tried.into(), errno: err.raw_os_error() }
    }

    /// Why a program did not start.
    ///
    /// Walks the chain of causes for an error number. A call without effect has the cause
    /// [`failure::UNTRUE`], and gets 0.
    fn of_start(err: &ExecError) -> Self {
        let text = err.to_string();
        let tried = text.strip_prefix("failed to ").unwrap_or(&text).to_owned();
        let mut cause = err.source();
        let mut errno = None;
        while let Some(err) = cause {
            errno = errno.or(err.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error));
            errno = errno.or((err.to_string() == failure::UNTRUE).then_some(0));
            cause = err.source();
        }
        Self { tried, errno }
    }
}

impl From<Result<String, Failure>> for Found {
    fn from(res: Result<String, Failure>) -> Self {
        res.map_or_else(Self::Fails, Self::Works)
    }
}

/// How long one trial may take: 10 s. Each is done within some milliseconds unless the machine is at its
/// limits.
const GUARD: Duration = Duration::from_secs(10);

/// The program of trials.
///
/// Trials of whole trees are left out where it is not there, or not to be executed: that says nothing about the layers.
const SHELL: &str = "/bin/sh";

/// Tries every layer, in the order of [`Layer::ALL`]; `linux` is the backend that is used here.
///
/// One after the other. Cgroups are made once, and removed at the end.
pub(super) async fn all(linux: &Linux) -> Vec<(Layer, Found)> {
    let cgroups = Cgroups::probe();
    let mut res = Vec::with_capacity(Layer::ALL.len());
    for layer in Layer::ALL {
        let found = match layer {
            Layer::Threads => threads().into(),
            Layer::InProcessStart => in_process_start(),
            Layer::SealedMemory => sealed_memory().into(),
            Layer::Supervisor => supervisor(Kind::default()).into(),
            Layer::Proc => proc(),
            Layer::Subreaper => by_mechanism(KillMechanism::Subreaper, "a supervisor").await.into(),
            Layer::UserNamespace => user_namespace().into(),
            Layer::PidNamespace => pid_namespace().await.into(),
            Layer::CgroupKill => cgroup_kill(&cgroups).await.into(),
            Layer::CgroupProcesses => {
                let set = |leaf: &mut Leaf| leaf.set_processes(Some(64));
                cgroup_bound(&cgroups, Use::Processes, set).into()
            }
            Layer::CgroupMemory => {
                let set = |leaf: &mut Leaf| leaf.set_memory(Some(64 << 20));
                cgroup_bound(&cgroups, Use::Memory, set).into()
            }
            Layer::ProcessLimit => process_limit(linux).await.into(),
            Layer::MemoryLimit => memory_limit(linux).await.into(),
            Layer::CpuLimit => cpu_limit(linux).await.into(),
            Layer::LandlockFiles => landlock_files().into(),
            Layer::LandlockPorts => landlock_ports().into(),
            Layer::LandlockScopes => landlock_scopes().into(),
            Layer::ReadOnlyPaths => read_only_paths(),
            Layer::SystemCallFilter => system_call_filter().into(),
            Layer::NetworkOff => network_off().into(),
            Layer::NetworkHosts => network_hosts(linux).await.into(),
            Layer::Confined => all_isolation(linux).await.into(),
        };
        res.push((*layer, found));
    }
    res
}

/// The GNU C library makes threads by clone3(2), and by clone(2) only where that is refused with ENOSYS.
fn threads() -> Result<String, Failure> {
    let thread = thread::Builder::new().spawn(|| {});
    thread.map(|it| drop(it.join())).map_err(|err| Failure::of("make a thread", &err))?;
    Ok("made by the C library".into())
}

/// Partly where clone(2) has to stand in for clone3(2).
fn in_process_start() -> Found {
    let by = |call| format!("{call}, with the host's memory until the program is in place");
    match (direct::refusal(), clone3::refusal()) {
        (Some((tried, err)), _) => Found::Fails(Failure::of(tried, &err)),
        (None, None) => Found::Works(by("clone3")),
        (None, Some(errno)) => {
            let errno = i32::try_from(errno).ok();
            Found::Partly(by("clone"), Failure { tried: "make a process by clone3".into(), errno })
        }
    }
}

/// The supervisor's own image, which later layers execute.
fn sealed_memory() -> Result<String, Failure> {
    let tried = |err| Failure::of("make an executable file in memory", &err);
    supervised::image().map_err(tried)?;
    Ok("an executable file that cannot be changed".into())
}

/// Starts a supervisor of this kind and waits until it has entered what it is to enter.
///
/// Without control groups. The supervisor is let go at once.
fn supervisor(kind: Kind) -> Result<String, Failure> {
    match Pool::new(kind, Arc::new(Cgroups::none())).probe() {
        Ok(Ok(())) => Ok("started from memory, and answers".into()),
        Ok(Err(report)) => Err(Failure {
            tried: report.stage.what().to_owned(),
            errno: i32::try_from(report.errno).ok(),
        }),
        Err(err) => Err(Failure::of("start a supervisor", &err)),
    }
}

/// Partly where `/proc` hides processes of other users.
fn proc() -> Found {
    for file in ["/proc/self/stat", "/proc/thread-self/children"] {
        if let Err(err) = fs::read(file) {
            return Found::Fails(Failure::of(format!("read {file}"), &err));
        }
    }
    if let Err(err) = sees_trees() {
        return Found::Fails(Failure::of("find this process in /proc", &err));
    }
    let by = "lists children and what they use".to_owned();
    // What every user may read unless processes of others are hidden.
    match fs::read("/proc/1/status") {
        Ok(_) => Found::Works(by),
        Err(err) => Found::Partly(by, Failure::of("read /proc/1/status", &err)),
    }
}

/// `by` is the mechanism in words. Ends a real tree where there is a shell.
async fn by_mechanism(mechanism: KillMechanism, by: &str) -> Result<String, Failure> {
    let tried = |err| Failure::of(format!("end trees by {by}"), &err);
    let linux = Linux::with_mechanism(mechanism).map_err(tried)?;
    let is_tried = end_a_tree(&linux, Isolation::new()).await?;
    Ok(match is_tried {
        true => format!("{by}: ended a process that had left its session and its parent"),
        false => format!("{by}; not tried with a program, as {SHELL} cannot be executed"),
    })
}

/// Tried for root as well, which does not need it.
fn user_namespace() -> Result<String, Failure> {
    supervisor(Kind { user_namespace: true, ..Kind::default() })?;
    Ok("a supervisor makes its own".into())
}

/// For an ordinary user in a user namespace of its own.
async fn pid_namespace() -> Result<String, Failure> {
    let is_root = rustix::process::geteuid().is_root();
    supervisor(Kind { pid_namespace: true, user_namespace: !is_root, ..Kind::default() })?;
    by_mechanism(KillMechanism::PidNamespace, "a PID namespace").await
}

/// The directory that a purpose can use, or why it can use none.
fn finding(cgroups: &Cgroups, purpose: Use) -> Result<&Path, Failure> {
    let is_it = |it: &&Finding| it.purpose == purpose;
    match cgroups.findings().iter().find(is_it).map(|it| &it.found) {
        Some(Ok(path)) => Ok(path),
        Some(Err(refused)) => {
            let tried = format!("{} {}", refused.tried, refused.path.display());
            Err(Failure::of(tried, &refused.error))
        }
        None => Err(Failure::new("find control groups")),
    }
}

/// Where cgroups are made, in words.
fn place(home: &Path) -> String {
    let version = if home.join("cgroup.controllers").exists() { 2 } else { 1 };
    let above = home.parent().unwrap_or(home);
    format!("version {version}, below {}", above.display())
}

async fn cgroup_kill(cgroups: &Cgroups) -> Result<String, Failure> {
    let place = place(finding(cgroups, Use::Kill)?);
    by_mechanism(KillMechanism::Cgroup, "a control group").await?;
    Ok(place)
}

/// Makes a cgroup, sets a bound that is far above what is in it, and removes it.
fn cgroup_bound(
    cgroups: &Cgroups,
    purpose: Use,
    set: impl FnOnce(&mut Leaf) -> io::Result<()>,
) -> Result<String, Failure> {
    let home = finding(cgroups, purpose)?;
    let tried = |err| Failure::of(format!("set a bound below {}", home.display()), &err);
    let leaf = cgroups.leaf(1, true).map_err(tried)?;
    leaf.map_or(Ok(()), |mut it| set(&mut it)).map_err(tried)?;
    Ok(place(home))
}

/// By which means the backend keeps a bound.
pub(super) fn means(linux: &Linux, capability: Capability) -> Option<&'static str> {
    let all = linux.enforcement()?.declared();
    all.into_iter().find_map(|(it, means)| (it == capability).then_some(means))
}

/// Starts sixteen processes where eight may be: the script fails if the bound holds.
async fn process_limit(linux: &Linux) -> Result<String, Failure> {
    let tried = "bound the number of processes";
    let means = means(linux, Capability::ProcessLimit).ok_or_else(|| Failure::new(tried))?;
    // Twice as many as there may be.
    let script = "n=0; while [ $n -lt 16 ]; do sleep 60 >/dev/null 2>&1 & n=$((n+1)); done";
    let limits = Limits::new().processes(8);
    if let Some(outcome) = run(linux, script, |it| it.limits(limits)).await?
        && outcome.success()
    {
        return Err(Failure::new(tried));
    }
    Ok(means.into())
}

async fn memory_limit(linux: &Linux) -> Result<String, Failure> {
    let tried = "bound memory";
    let means = means(linux, Capability::MemoryLimit).ok_or_else(|| Failure::new(tried))?;
    if linux.enforcement().is_some_and(LimitEnforcement::has_memory_in_cgroup) {
        // Set already, for the control group's own check. The kernel writes a page to its log when
        // it ends a process for want of memory, so that is not tried.
        return Ok(means.into());
    }
    // Holds far more than it may, and waits to be found out. 3 says that it could not try.
    let script = "x=$(head -c 33554432 /dev/zero | tr '\\0' x); [ ${#x} -gt 9999999 ] || exit 3
        sleep 2";
    let limits = Limits::new().memory_bytes(8 << 20);
    match run(linux, script, |it| it.limits(limits)).await? {
        Some(outcome) if outcome.success() => Err(Failure::new(tried)),
        _ => Ok(means.into()),
    }
}

/// A bound of 1 ms for a loop without end.
async fn cpu_limit(linux: &Linux) -> Result<String, Failure> {
    let tried = "bound CPU time";
    let means = means(linux, Capability::CpuLimit).ok_or_else(|| Failure::new(tried))?;
    let limits = Limits::new().cpu_time(Duration::from_millis(1));
    match run(linux, "while :; do :; done", |it| it.limits(limits)).await? {
        Some(outcome) if outcome.ending != Ending::LimitReached(LimitKind::CpuTime) => {
            Err(Failure::new(tried))
        }
        _ => Ok(means.into()),
    }
}

/// Landlock's version, which must be this one at least.
///
/// # Errors
///
/// Landlock is not there, or older than `least`.
fn landlock_version(least: u32) -> Result<u32, Failure> {
    let tried = |err| Failure::of("ask Landlock for its version", &err);
    match landlock::ask_version().map_err(tried)? {
        version if version >= least => Ok(version),
        version => Err(Failure::new(format!("use Landlock {least}: this kernel has {version}"))),
    }
}

/// What keeps a program to this isolation where Landlock has this version.
fn walls(isolation: &Isolation, landlock: u32) -> Result<Confinement, Failure> {
    let support = Support {
        landlock,
        seccomp: true,
        pid_namespaces: true,
        network_namespaces: true,
        mount_namespaces: true,
    };
    let cookie = cookie().map_err(|err| Failure::of("get random numbers", &err))?;
    confine(isolation, &support, cookie).map_err(|err| Failure::of_start(&err))
}

/// Whether a process within these walls is refused this, with this error.
fn is_refused(walls: &Walls<'_>, deed: Deed, what: &str, errno: i32) -> Result<(), Failure> {
    let enter = match walls.ruleset {
        Some(_) => "enter a Landlock ruleset",
        None => "load a filter of system calls",
    };
    match confined(walls, deed).map_err(|err| Failure::of(enter, &err))? {
        Some(refused) if refused == errno => Ok(()),
        Some(other) => {
            let tried = format!("have a confined process refused to {what} in the expected way");
            Err(Failure { tried, errno: Some(other) })
        }
        None => {
            // The system has let the process enter, and keeps it from nothing.
            let tried = format!("keep a confined process from this: {what}");
            Err(Failure { tried, errno: Some(0) })
        }
    }
}

/// A ruleset that opens nothing; opening `/` must fail with `EACCES`.
fn landlock_files() -> Result<String, Failure> {
    let version = landlock_version(LANDLOCK_FILES)?;
    let nothing = Filesystem::Grants { read: [].into(), write: [].into() };
    let made = walls(&Isolation::new().filesystem(nothing), version)?;
    let walls = Walls { ruleset: made.ruleset.as_ref().map(AsFd::as_fd), ..Walls::default() };
    is_refused(&walls, Deed::OpenRoot, "open a directory", libc::EACCES)?;
    Ok(format!("Landlock {version}: refused a directory"))
}

/// Binding a port must fail with `EACCES`.
fn landlock_ports() -> Result<String, Failure> {
    let version = landlock_version(LANDLOCK_PORTS)?;
    let made = walls(&Isolation::new().network(Network::Off), version)?;
    let walls = Walls { ruleset: made.ruleset.as_ref().map(AsFd::as_fd), ..Walls::default() };
    is_refused(&walls, Deed::BindPort, "bind a port", libc::EACCES)?;
    Ok(format!("Landlock {version}: refused a port"))
}

/// A signal to the parent must fail with `EPERM`.
fn landlock_scopes() -> Result<String, Failure> {
    let version = landlock_version(LANDLOCK_SCOPES)?;
    let made = walls(&Isolation::new().processes(Processes::Own), version)?;
    let walls = Walls { ruleset: made.inner_ruleset.as_ref().map(AsFd::as_fd), ..Walls::default() };
    is_refused(&walls, Deed::SignalHost, "signal its parent", libc::EPERM)?;
    Ok(format!("Landlock {version}: refused a signal"))
}

/// Has a supervisor mount a directory that every machine has onto itself.
fn read_only_paths() -> Found {
    let version = match landlock_version(LANDLOCK_FILES) {
        Ok(version) => version,
        Err(failure) => return Found::Fails(failure),
    };
    let by_mounts = || {
        let confinement = walls(&Isolation::new().read_only("/proc"), version)?;
        let user_namespace = needs_user_namespace();
        supervisor(Kind { user_namespace, confinement, ..Kind::default() })
    };
    match by_mounts() {
        Ok(_) => Found::Works("read-only mounts in a mount namespace".into()),
        Err(failure) => Found::Partly(format!("Landlock {version} alone"), failure),
    }
}

/// personality(2) must fail with `EPERM`, as the filter answers.
fn system_call_filter() -> Result<String, Failure> {
    const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";
    fs::read(ACTIONS).map_err(|err| Failure::of(format!("read {ACTIONS}"), &err))?;
    let made = walls(&Isolation::new().system_calls(SystemCalls::Restricted), 0)?;
    let walls = Walls { filter: &made.filter, ..Walls::default() };
    is_refused(&walls, Deed::ChangeDomain, "change its execution domain", libc::EPERM)?;
    Ok("seccomp: refused personality".into())
}

/// socket(2) must fail with `EPERM`.
fn network_off() -> Result<String, Failure> {
    let made = walls(&Isolation::new().network(Network::Off), 0)?;
    let walls = Walls { filter: &made.filter, ..Walls::default() };
    is_refused(&walls, Deed::MakeSocket, "make a socket", libc::EPERM)?;
    Ok("seccomp: refused socket".into())
}

/// Asks the proxy for both of its arguments, and prints the first line of each answer. A shell has no
/// sockets; 4 says that neither program that may have them is there.
const ASK: &str = r#"listener=${http_proxy##*:}
    bash -c 'for to; do
        exec 3<>"/dev/tcp/127.0.0.1/$0" || exit
        printf "CONNECT %s HTTP/1.1\r\n\r\n" "$to" >&3 && read -r line <&3 && echo "$line"
    done' "$listener" "$@" 2>/dev/null && exit
    perl -MSocket -e 'my $listener = pack_sockaddr_in(shift, inet_aton("127.0.0.1"));
        for my $to (@ARGV) {
            socket(my $it, PF_INET, SOCK_STREAM, 0) && connect($it, $listener) or exit 4;
            syswrite $it, "CONNECT $to HTTP/1.1\r\n\r\n";
            print scalar <$it>;
        }' "$listener" "$@" 2>/dev/null || exit 4"#;

/// Two addresses of this machine, of which one is named.
///
/// The proxy must answer 200 for the named address, and 403 for the other one. No packet leaves
/// this machine.
async fn network_hosts(linux: &Linux) -> Result<String, Failure> {
    let network = |hosts| Isolation::new().network(Network::Hosts(hosts));
    let confinement = walls(&network(Vec::new()), 0)?;
    let pid_namespace = linux.mechanism() == KillMechanism::PidNamespace;
    let user_namespace = needs_user_namespace();
    supervisor(Kind { pid_namespace, user_namespace, confinement, ..Kind::default() })?;
    if !linux.capabilities().has(Capability::NetworkHosts) {
        return Err(Failure::new("limit a program to named hosts"));
    }
    let tried = |err| Failure::of("listen on 127.0.0.1", &err);
    // A connection is kept by the kernel until this goes.
    let listener = TcpListener::bind("127.0.0.1:0").map_err(tried)?;
    let named = listener.local_addr().map_err(tried)?;
    let other = format!("127.0.0.2:{}", named.port());
    let named = named.to_string();
    let pattern = named.parse().map_err(|_| Failure::new(format!("name the host {named}")))?;
    let script = format!("set -- {named} {other}\n{ASK}");
    let outcome = run(linux, &script, |it| it.isolation(network(vec![pattern]))).await?;
    let Some(outcome) = outcome.filter(|it| it.exit != Some(Exit::Code(4))) else {
        let why = "not tried with a connection, as there is neither bash nor perl";
        return Ok(format!("a network namespace and a proxy; {why}"));
    };
    let said = outcome.stdout.bytes();
    let said = String::from_utf8_lossy(&said);
    let mut said = said.lines().map(|it| it.split(' ').nth(1).unwrap_or_default());
    match (said.next(), said.next()) {
        (Some("200"), Some("403")) => {
            Ok("a network namespace; its proxy let through what was named".into())
        }
        (Some("200"), Some("200")) => {
            Err(Failure::new("keep a program from a host without a name"))
        }
        _ => Err(Failure::new("reach a named host by the proxy")),
    }
}

/// Everything that an isolation can ask for but named hosts, with the end of a tree.
async fn all_isolation(linux: &Linux) -> Result<String, Failure> {
    let files =
        Filesystem::Grants { read: ["/".into()].into(), write: ["/dev/null".into()].into() };
    let isolation = Isolation::new()
        .network(Network::Off)
        .local_sockets(LocalSockets::Off)
        .filesystem(files)
        .system_calls(SystemCalls::Restricted)
        .processes(Processes::Own);
    end_a_tree(linux, isolation).await?;
    Ok("files, network, sockets, system calls and processes".into())
}

/// Ends a tree of which one process has left its session and its parent; `false` where there is no
/// program to try it with.
async fn end_a_tree(linux: &Linux, isolation: Isolation) -> Result<bool, Failure> {
    // The line comes from the process that is to be ended, once it is where it should be. Without
    // setsid(1) it leaves its parent only.
    let script = "command -v setsid >/dev/null && s=setsid
        ($s sh -c 'echo; exec sleep 60 >/dev/null 2>&1' &) | read -r line";
    let Some(outcome) = run(linux, script, |it| it.isolation(isolation)).await? else {
        return Ok(false);
    };
    let is_ended = outcome.confirmed && outcome.leaked.is_some_and(|it| it > 0);
    match outcome.success() && is_ended {
        true => Ok(true),
        false if !outcome.success() => {
            Err(Failure::new(format!("run {SHELL} to its end: {:?}", outcome.ending)))
        }
        false => Err(Failure::new("end a process that had left its session and its parent")),
    }
}

/// Whether a file is there that this process may execute.
fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Runs a script and ends its tree; `None` where there is no shell.
///
/// # Errors
///
/// The script did not start. How it ended is the outcome.
async fn run(
    linux: &Linux,
    script: &str,
    with: impl FnOnce(Spec) -> Spec,
) -> Result<Option<Outcome>, Failure> {
    if !is_executable(Path::new(SHELL)) {
        return Ok(None);
    }
    let spec = Spec::new(SHELL)
        .args(["-c", script])
        .env_var("PATH", "/usr/local/bin:/usr/bin:/bin")
        .kill(KillScope::Tree)
        .deadline(GUARD);
    let outcome = ExecEnv::new(linux.clone()).run(with(spec)).await;
    outcome.map(Some).map_err(|err| Failure::of_start(&err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_cannot_be_executed_is_no_shell() {
        assert!(is_executable(Path::new(SHELL)));
        // Not even root executes a file without the right to.
        assert!(!is_executable(Path::new("/dev/null")));
        assert!(!is_executable(Path::new("/nonexistent")));
    }
}
