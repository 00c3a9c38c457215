//! The program under test: it does what it can so that something of it outlives its call.
//!
//! `tool MARKER KIND exit|stay HOST`. Once everything is in place it prints a line that begins with
//! `ready`; then it exits with 0, or stays until it is killed.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::exit,
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    sched::{CloneFlags, setns, unshare},
    sys::{
        ptrace,
        signal::{SigSet, Signal, kill, raise},
        stat::{Mode, umask},
        wait::waitpid,
    },
    unistd::{Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, getppid, setsid, setuid},
};

use crate::fork::{Side, child, end_this_thread, sibling, split};

/// The arguments after `tool`.
pub(crate) fn run(args: &[String]) -> ! {
    let [_marker, kind, ends, host] = args else { panic!("{args:?}") };
    let (mut arrived, arrive) = std::io::pipe().expect("descriptors");
    let mut said = String::new();
    let n_expected = begin(kind, host.parse().expect("a number"), &arrive, &mut said);
    drop(arrive);
    let mut here = vec![0; n_expected];
    arrived.read_exact(&mut here).expect("every process arrives");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready {said}").and_then(|()| stdout.flush()).expect("somebody listens");
    match (ends.as_str(), kind.as_str()) {
        ("exit", _) => exit(0),
        (_, "stopped") => {
            raise(Signal::SIGSTOP).expect("every process may");
            stay()
        }
        _ => stay(),
    }
}

/// What is forgotten goes by itself: everything here takes seconds, and hosts are given less.
const LIFE: Duration = Duration::from_secs(180);

fn stay() -> ! {
    thread::sleep(LIFE);
    exit(0)
}

/// Stays, out of sight of the reader of our streams, and tells that it does.
fn lurk(arrive: &std::io::PipeWriter) -> ! {
    let null = open("/dev/null", OFlag::O_RDWR, Mode::empty()).expect("every Linux has it");
    let _ = (dup2_stdin(&null), dup2_stdout(&null), dup2_stderr(&null));
    hold(arrive)
}

/// Stays with its streams, and tells that it does.
fn hold(arrive: &std::io::PipeWriter) -> ! {
    tell(arrive);
    stay()
}

fn tell(arrive: &std::io::PipeWriter) {
    nix::unistd::write(arrive, b"x").expect("the first process reads");
}

fn new_session() {
    setsid().expect("a child leads no process group");
}

/// Does it, and says how many processes will arrive.
fn begin(kind: &str, host: i32, arrive: &std::io::PipeWriter, said: &mut String) -> usize {
    let parent = getppid();
    match kind {
        "child" => {
            child(|| lurk(arrive));
            1
        }
        "holds the pipes" => {
            child(|| hold(arrive));
            1
        }
        "setsid" => {
            child(|| {
                new_session();
                lurk(arrive)
            });
            1
        }
        "double fork" => {
            child(|| {
                child(|| lurk(arrive));
            });
            1
        }
        "setsid, double fork" => {
            daemon(arrive);
            1
        }
        "daemon, closed pipes" => {
            child(|| {
                new_session();
                child(|| {
                    let _ = (chdir("/"), umask(Mode::empty()));
                    // The arrival is told over the one descriptor that is left, and that is closed.
                    for fd in 0..=2 {
                        let _ = nix::unistd::close(fd);
                    }
                    tell(arrive);
                    let _ = nix::unistd::close(arrive.as_raw_fd());
                    stay()
                });
            });
            1
        }
        "ignores signals" => {
            SigSet::all().thread_block().expect("a full set is a set");
            child(|| {
                new_session();
                lurk(arrive)
            });
            1
        }
        "stopped" => {
            child(|| {
                new_session();
                tell(arrive);
                raise(Signal::SIGSTOP).expect("every process may");
                stay()
            });
            1
        }
        "30 processes" => {
            SigSet::all().thread_block().expect("a full set is a set");
            forest(4, arrive);
            30
        }
        "user and PID namespace" => namespaces(arrive, said),
        "orphaned PID namespace" => orphaned_namespace(arrive, said),
        "first thread has ended" => {
            headless(arrive);
            1
        }
        "first thread has ended, kills its parent" => {
            headless(arrive);
            // It has arrived before it cannot any more: this process ends with its parent.
            wait_for_headless();
            said.push_str(&outcome(kill(parent, Signal::SIGKILL)));
            1
        }
        "takes its parent's descriptors" => {
            use rustix::process::{Pid, Resource, Rlimit, prlimit};
            daemon(arrive);
            let none = Rlimit { current: Some(0), maximum: Some(0) };
            let parent = Pid::from_raw(parent.as_raw());
            said.push_str(&outcome(prlimit(parent, Resource::Nofile, none)));
            1
        }
        "subreaper" => {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .expect("Linux 3.4");
            daemon(arrive);
            child(|| {
                new_session();
                let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
                daemon(arrive);
                lurk(arrive)
            });
            3
        }
        "from a thread" => {
            thread::scope(|scope| {
                scope.spawn(|| daemon(arrive)).join().expect("it does not panic");
            });
            // This one is the child of a thread that stays.
            let theirs = arrive.try_clone().expect("descriptors");
            thread::spawn(move || {
                child(|| {
                    new_session();
                    lurk(&theirs)
                });
                stay()
            });
            2
        }
        "child of the parent" => {
            sibling(|| {
                new_session();
                lurk(arrive)
            });
            1
        }
        "traced" => {
            traced(arrive);
            2
        }
        "another cgroup" => {
            said.push_str(&leave_cgroups());
            daemon(arrive);
            1
        }
        "another cgroup, kills its parent" => {
            said.push_str(&leave_cgroups());
            daemon(arrive);
            said.push_str(&outcome(kill(parent, Signal::SIGKILL)));
            1
        }
        "another user" => {
            let as_root = std::env::current_exe().expect("proc(5)").with_file_name("as-root");
            let marker = std::env::args().nth(2).expect("a marker");
            child(|| {
                let fd = rustix::io::dup(arrive).expect("descriptors");
                let number = fd.as_raw_fd().to_string();
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a hostile program runs what it likes"
                )]
                let err =
                    std::process::Command::new(as_root).args(["root", &marker, &number]).exec();
                panic!("{err}");
            });
            1
        }
        "attacks PID 1" => {
            // Elsewhere that would be the machine's.
            if parent.as_raw() == 1 {
                for signal in [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGTERM] {
                    said.push_str(&outcome(kill(parent, signal)));
                    said.push(' ');
                }
                said.push_str(&outcome(kill(Pid::from_raw(-1), Signal::SIGSTOP)));
                said.push_str(&outcome(ptrace::seize(parent, ptrace::Options::empty())));
            }
            daemon(arrive);
            1
        }
        "joins the host's namespace" => {
            let file = File::open(format!("/proc/{host}/ns/pid"));
            said.push_str(&match file {
                Ok(file) => outcome(setns(file.as_fd(), CloneFlags::CLONE_NEWPID)),
                Err(err) => outcome(Err::<(), _>(err)),
            });
            daemon(arrive);
            1
        }
        "kills its parent" => {
            child(|| lurk(arrive));
            said.push_str(&outcome(kill(parent, Signal::SIGKILL)));
            1
        }
        "kills its parent, setsid" => {
            daemon(arrive);
            said.push_str(&outcome(kill(parent, Signal::SIGKILL)));
            1
        }
        "stops its parent" => {
            daemon(arrive);
            said.push_str(&outcome(kill(parent, Signal::SIGSTOP)));
            1
        }
        "stops its parent again and again" => {
            use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
            let parent = Pid::from_raw(parent.as_raw()).expect("it has a number");
            // The number may be another process's once the parent has ended.
            let parent = pidfd_open(parent, PidfdFlags::empty()).expect("it is there");
            child(|| {
                new_session();
                let _ = pidfd_send_signal(&parent, Signal::STOP);
                tell(arrive);
                let lit = Instant::now();
                while lit.elapsed() < FUSE && pidfd_send_signal(&parent, Signal::STOP).is_ok() {}
                stay()
            });
            1
        }
        "traces its parent" => {
            daemon(arrive);
            let seized = ptrace::seize(parent, ptrace::Options::empty());
            said.push_str(&outcome(seized));
            if seized.is_ok() {
                said.push_str(&outcome(ptrace::interrupt(parent)));
            }
            1
        }
        "fork bomb" => {
            child(|| {
                tell(arrive);
                bomb(|| {})
            });
            1
        }
        "fork bomb, setsid" => {
            child(|| {
                tell(arrive);
                bomb(|| _ = setsid())
            });
            1
        }
        "fork and exit" => {
            child(|| {
                tell(arrive);
                chain(|| {})
            });
            1
        }
        "fork and exit, setsid" => {
            child(|| {
                tell(arrive);
                chain(|| _ = setsid())
            });
            1
        }
        _ => panic!("no kind {kind:?}"),
    }
}

fn outcome<T, E: Into<std::io::Error>>(of: Result<T, E>) -> String {
    match of {
        Ok(_) => "allowed".into(),
        Err(err) => {
            let err: std::io::Error = err.into();
            err.raw_os_error().map_or("refused".into(), |it| format!("{:?}", Errno::from_raw(it)))
        }
    }
}

fn daemon(arrive: &std::io::PipeWriter) {
    child(|| {
        new_session();
        child(|| lurk(arrive));
    });
}

/// Moves this process as far up as the system lets it, in the hierarchies where a backend makes cgroups
/// (cgroups(7)); says of each whether it did.
fn leave_cgroups() -> String {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut said = String::new();
    for (prefix, mount) in [("0::", "/sys/fs/cgroup/unified"), (":pids:", "/sys/fs/cgroup/pids")] {
        let Some((_, cgroup)) = own.lines().find_map(|it| it.split_once(prefix)) else { continue };
        let mount = Path::new(mount);
        let mount = if mount.exists() { mount } else { Path::new("/sys/fs/cgroup") };
        let mut above: Vec<_> = Path::new(cgroup).ancestors().skip(1).collect();
        above.reverse();
        let enter = |it: &Path| {
            let dir = mount.join(it.strip_prefix("/").unwrap_or(it));
            fs::write(dir.join("cgroup.procs"), "0")
        };
        let refused = above.iter().map(|it| enter(it)).take_while(Result::is_err).count();
        said.push_str(if refused < above.len() { "left" } else { "stays" });
        said.push(' ');
    }
    said
}

/// A tree of 2 + 4 + 8 + 16 processes, half of them in sessions of their own.
fn forest(depth: u32, arrive: &std::io::PipeWriter) {
    if depth == 0 {
        return;
    }
    for n in 0..2 {
        child(|| {
            if n == 0 {
                new_session();
            }
            forest(depth - 1, arrive);
            lurk(arrive)
        });
    }
}

fn namespaces(arrive: &std::io::PipeWriter, said: &mut String) -> usize {
    let (mut answer, tell_answer) = std::io::pipe().expect("descriptors");
    child(|| {
        new_session();
        let made = unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID);
        let mut tell_answer = tell_answer.try_clone().expect("descriptors");
        tell_answer.write_all(outcome(made).as_bytes()).expect("the first process reads");
        drop(tell_answer);
        child(|| {
            child(|| {
                new_session();
                lurk(arrive)
            });
            lurk(arrive)
        });
        lurk(arrive)
    });
    drop(tell_answer);
    // The others hold the pipe, so its end does not come.
    let mut text = [0; 16];
    let n = answer.read(&mut text).expect("a pipe");
    said.push_str(&String::from_utf8_lossy(&text[..n]));
    3
}

/// A process in a session of its own whose first thread has ended, while another one stays.
fn headless(arrive: &std::io::PipeWriter) {
    child(|| {
        new_session();
        let null = open("/dev/null", OFlag::O_RDWR, Mode::empty()).expect("every Linux has it");
        let _ = (dup2_stdin(&null), dup2_stdout(&null), dup2_stderr(&null));
        let arrive = arrive.try_clone().expect("descriptors");
        thread::spawn(move || {
            // Its number in a PID namespace is not that in /proc.
            while !is_zombie("self") {
                thread::yield_now();
            }
            tell(&arrive);
            stay()
        });
        end_this_thread()
    });
}

/// Waits until a child of this process has no first thread any more.
fn wait_for_headless() {
    let own = fs::read_to_string("/proc/thread-self/children").expect("proc(5)");
    while !own.split_whitespace().any(is_zombie) {
        thread::yield_now();
    }
}

fn is_zombie(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, it)| it.starts_with('Z'))
}

/// A PID namespace whose first process waits, when it is ended, for another one that its supervisor has to reap
/// (pid_namespaces(7)): both have lost their parent, which stayed outside.
fn orphaned_namespace(arrive: &std::io::PipeWriter, said: &mut String) -> usize {
    let (mut answer, mut tell_answer) = std::io::pipe().expect("descriptors");
    child(|| {
        new_session();
        let made = unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID);
        tell_answer.write_all(outcome(made).as_bytes()).expect("the first process reads");
        for _ in 0..2 {
            child(|| lurk(arrive));
        }
    });
    drop(tell_answer);
    let mut text = [0; 16];
    let n = answer.read(&mut text).expect("a pipe");
    said.push_str(&String::from_utf8_lossy(&text[..n]));
    2
}

/// One process that another one traces, which would have to let it go at its end.
fn traced(arrive: &std::io::PipeWriter) {
    child(|| {
        new_session();
        let tracee = child(|| {
            ptrace::traceme().expect("the parent may");
            raise(Signal::SIGSTOP).expect("every process may");
            lurk(arrive)
        });
        waitpid(tracee, None).expect("it stops");
        ptrace::setoptions(tracee, ptrace::Options::PTRACE_O_TRACEEXIT).expect("it is traced");
        ptrace::cont(tracee, None).expect("it is stopped");
        lurk(arrive)
    });
}

/// Bombs go out by themselves, should the process that is to end them be gone.
const FUSE: Duration = Duration::from_secs(20);

/// At its limit a bomb waits this long for a place: it is to try hard, not to keep the machine from work.
const BREATH: Duration = Duration::from_millis(1);

/// Makes processes that make processes, as fast as it can.
fn bomb(between: fn()) {
    let lit = Instant::now();
    while lit.elapsed() < FUSE {
        if let Side::Alone = split() {
            thread::sleep(BREATH);
        }
        between();
    }
}

/// Is gone at every look: each process makes the next one and ends.
fn chain(between: fn()) {
    let lit = Instant::now();
    while lit.elapsed() < FUSE {
        match split() {
            Side::Parent(_) => return,
            Side::Child => between(),
            Side::Alone => thread::sleep(BREATH),
        }
    }
}

/// A program that belongs to root and runs as root, whichever user starts it: `root MARKER DESCRIPTOR`.
pub(crate) fn root(args: &[String]) -> ! {
    let [_marker, descriptor] = args else { panic!("{args:?}") };
    // In a namespace that does not know root, this user stays what it is.
    let _ = setuid(nix::unistd::Uid::from_raw(0));
    let path = format!("/proc/self/fd/{descriptor}");
    let mut arrive = File::options().write(true).open(path).expect("it is open");
    arrive.write_all(b"x").expect("the first process reads");
    drop(arrive);
    stay()
}
