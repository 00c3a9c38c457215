//! Confinement, tried from inside.

mod leases;
mod read_only;
mod set_id;
mod shared;
mod untrue;

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{MetadataExt, PermissionsExt, chown, symlink},
            net::{SocketAddr, UnixDatagram, UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
};

use expect_test::{Expect, expect};
use flyto_execenv::{Filesystem, Profile, ProfilePlaces, SYSTEM_SECRETS, SharedMemory};
use rustix::{
    fs::{
        AtFlags, CWD, Timespec, Timestamps, XattrFlags, getxattr, inotify, listxattr, setxattr,
        utimensat,
    },
    process::{Pid, Signal},
};

use super::{
    inside::{Confined, HOST, INSIDE, Scene},
    *,
};
use crate::bare::attempt::without_buffers;

/// What the test program itself needs.
fn itself() -> Vec<PathBuf> {
    let program = env::current_exe().expect("it runs").canonicalize().expect("it is there");
    let system = ["/bin", "/lib", "/lib64", "/usr", "/etc"].map(PathBuf::from);
    system.into_iter().chain([program]).collect()
}

fn errno<T: std::fmt::Debug>(res: io::Result<T>) -> i32 {
    res.expect_err("it is refused").raw_os_error().expect("the system refuses it")
}

#[tokio::test]
async fn files_are_those_granted() {
    let isolation = |dir: &Path| {
        let read = itself().into_iter().chain([dir.join("read")]).collect();
        let grants = Filesystem::Grants { read, write: [dir.join("write")].into() };
        Isolation::new().filesystem(grants).deny(dir.join("read/secret"))
    };
    let test = "sandbox::tests::files_are_those_granted";
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    let read = |path| fs::read_to_string(scene.path(path));

    assert_eq!(read("read/file").expect("it is granted"), "read/file");
    assert_eq!(read("read/other/file").expect("it is granted"), "read/other/file");
    assert_eq!(fs::read_dir(scene.path("read/other")).expect("it is granted").count(), 1);
    fs::write(scene.path("write/new"), "new").expect("it is granted");
    fs::create_dir(scene.path("write/dir")).expect("it is granted");
    fs::rename(scene.path("write/new"), scene.path("write/dir/new")).expect("it is granted");

    assert_eq!(errno(read("outside/file")), libc::EACCES);
    assert_eq!(errno(read("read/link/file")), libc::EACCES);
    assert_eq!(errno(read("read/secret/key")), libc::EACCES);
    assert_eq!(errno(fs::read_dir(scene.path("read/secret"))), libc::EACCES);
    assert_eq!(errno(fs::read_dir(scene.path("outside"))), libc::EACCES);
    // On the way to what is denied.
    assert_eq!(errno(fs::read_dir(scene.path("read"))), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("read/file"), "")), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("read/new"), "")), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("outside/new"), "")), libc::EACCES);
    assert_eq!(errno(fs::remove_file(scene.path("read/file"))), libc::EACCES);
    let truncated = File::options().write(true).truncate(true).open(scene.path("read/other/file"));
    assert_eq!(errno(truncated), libc::EACCES);
    // Out of, and into, where it may write.
    let there = scene.path("write/there");
    let across = [libc::EACCES, libc::EXDEV];
    assert!(across.contains(&errno(fs::rename(scene.path("read/secret"), &there))));
    assert!(across.contains(&errno(fs::hard_link(scene.path("read/secret/key"), &there))));
    assert!(across.contains(&errno(fs::rename(scene.path("write/dir"), scene.path("read/dir")))));
    symlink(scene.path("outside"), &there).expect("a link can be made");
    assert_eq!(errno(read("write/there/file")), libc::EACCES);
    // What stays possible, as it is documented.
    assert_eq!(fs::metadata(scene.path("outside/file")).expect("it is there").len(), 12);
}

#[tokio::test]
async fn what_is_denied_is_closed_in_an_open_file_system() {
    let isolation = |dir: &Path| Isolation::new().deny(dir.join("read/secret"));
    let test = "sandbox::tests::what_is_denied_is_closed_in_an_open_file_system";
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    let read = |path| fs::read_to_string(scene.path(path));
    assert_eq!(read("outside/file").expect("it is open"), "outside/file");
    assert_eq!(read("read/link/file").expect("it is open"), "outside/file");
    fs::write(scene.path("write/new"), "new").expect("it is open");
    fs::write(scene.path("read/other/file"), "new").expect("it is open");
    assert!(fs::read_dir("/usr").expect("it is open").count() > 1);
    assert_eq!(errno(read("read/secret/key")), libc::EACCES);
    assert_eq!(errno(fs::remove_file(scene.path("read/secret/key"))), libc::EACCES);
    assert_eq!(errno(fs::rename(scene.path("read/secret"), scene.path("write/it"))), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("read/new"), "")), libc::EACCES);
}

#[tokio::test]
async fn without_a_network_there_are_pairs_only() {
    let isolation = |_: &Path| Isolation::new().network(Network::Off);
    let test = "sandbox::tests::without_a_network_there_are_pairs_only";
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    assert_eq!(errno(TcpListener::bind("127.0.0.1:0")), libc::EPERM);
    assert_eq!(errno(TcpStream::connect("[::1]:1")), libc::EPERM);
    assert_eq!(errno(UdpSocket::bind("127.0.0.1:0")), libc::EPERM);
    assert_eq!(errno(UnixListener::bind(scene.path("write/socket"))), libc::EPERM);
    assert_eq!(errno(UnixStream::connect(scene.path("write/socket"))), libc::EPERM);
    assert_eq!(errno(UnixDatagram::pair()), libc::EPERM);
    // AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK
    for family in [16, 17, 38, 40] {
        let refused = without_buffers(libc::SYS_socket, &[family, libc::SOCK_RAW as u32, 0]);
        assert_eq!(refused, libc::EPERM as u32, "family {family}");
    }
    assert_eq!(without_buffers(libc::SYS_io_uring_setup, &[]), libc::ENOSYS as u32);
    let (mut one, mut other) = UnixStream::pair().expect("pairs stay");
    one.write_all(b"hi").expect("they are connected");
    let mut text = [0; 2];
    other.read_exact(&mut text).expect("they are connected");
    assert_eq!(&text, b"hi");
}

#[tokio::test]
async fn local_sockets_are_closed_beside_an_open_network() {
    let isolation = |_: &Path| Isolation::new().local_sockets(LocalSockets::Off);
    let test = "sandbox::tests::local_sockets_are_closed_beside_an_open_network";
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    assert_eq!(errno(UnixStream::connect(scene.path("write/socket"))), libc::EPERM);
    assert_eq!(errno(UnixDatagram::unbound()), libc::EPERM);
    let listener = TcpListener::bind("127.0.0.1:0").expect("the network is open");
    TcpStream::connect(listener.local_addr().expect("it has one")).expect("the network is open");
}

#[tokio::test]
async fn system_calls_are_those_of_ordinary_programs() {
    let isolation = |_: &Path| Isolation::new().system_calls(SystemCalls::Restricted);
    let test = "sandbox::tests::system_calls_are_those_of_ordinary_programs";
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    for (number, name) in seccomp::tests::REFUSED_NUMBERS {
        let refused = without_buffers((*number).into(), &[]);
        assert_eq!(refused, libc::EPERM as u32, "{name}");
    }
    for number in [libc::SYS_clone3, libc::SYS_io_uring_setup, 470, 1000] {
        assert_eq!(without_buffers(number, &[]), libc::ENOSYS as u32, "call {number}");
    }
    let new_user = libc::CLONE_NEWUSER as u32;
    assert_eq!(without_buffers(libc::SYS_unshare, &[new_user]), libc::EPERM as u32);
    assert_eq!(without_buffers(libc::SYS_clone, &[new_user]), libc::EPERM as u32);
    assert_eq!(without_buffers(libc::SYS_ioctl, &[0, 0x5412]), libc::EPERM as u32);
    // What ordinary programs do.
    std::thread::spawn(|| ()).join().expect("there are threads");
    TcpListener::bind("127.0.0.1:0").expect("there is a network");
    UnixListener::bind(scene.path("write/socket")).expect("there are sockets");
    fs::read_dir(scene.path("outside")).expect("there are files");
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let isolation = |_: &Path| Isolation::new().processes(Processes::Own);
    let test = "sandbox::tests::other_processes_are_out_of_reach";
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    let supervisor = rustix::process::getppid().expect("it is there");
    let host = Pid::from_raw(scene.host).expect("it is a process");
    for other in [supervisor, host] {
        let number = other.as_raw_nonzero().get() as u32;
        let killed = rustix::process::kill_process(other, Signal::KILL);
        assert_eq!(killed, Err(rustix::io::Errno::PERM), "{other:?}");
        let stopped = without_buffers(libc::SYS_tkill, &[number, 19]);
        assert_eq!(stopped, libc::EPERM as u32, "{other:?}");
        // PTRACE_ATTACH, PTRACE_SEIZE
        for request in [16, 0x4206] {
            let traced = without_buffers(libc::SYS_ptrace, &[request, number]);
            assert_eq!(traced, libc::EPERM as u32, "{other:?}");
        }
        for file in ["environ", "mem", "maps", "auxv"] {
            let read = fs::read(format!("/proc/{number}/{file}"));
            assert_eq!(errno(read), libc::EACCES, "{other:?} {file}");
        }
        let files = fs::read_dir(format!("/proc/{number}/fd")).into_iter().flatten().flatten();
        assert_eq!(files.filter(|it| fs::read_link(it.path()).is_ok()).count(), 0, "{other:?}");
        // RLIMIT_CPU, to what is at an address where nothing is: it is refused before that is read.
        let bounded = without_buffers(libc::SYS_prlimit64, &[number, 0, 1]);
        assert_eq!(bounded, libc::EPERM as u32, "{other:?}");
        for (call, args, _) in scheduling(number) {
            assert_eq!(without_buffers(call, &args), libc::EPERM as u32, "{other:?} call {call}");
        }
    }
    // Process groups and users are others too: PRIO_PGRP, PRIO_USER; IOPRIO_WHO_PGRP, IOPRIO_WHO_USER.
    for (call, which) in [(libc::SYS_setpriority, [1, 2]), (libc::SYS_ioprio_set, [2, 3])] {
        for which in which {
            let refused = without_buffers(call, &[which, 0, UNCHANGED_IO]);
            assert_eq!(refused, libc::EPERM as u32, "call {call} for {which}");
        }
    }
    // Its own are not.
    for (call, args, answer) in scheduling(0) {
        assert_eq!(without_buffers(call, &args), answer as u32, "call {call}");
    }
    rustix::process::test_kill_process(rustix::process::getpid()).expect("it is its own");
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    rustix::process::setrlimit(rustix::process::Resource::Nofile, files).expect("it is its own");
    fs::read("/proc/self/environ").expect("it is its own");
}

/// Best effort, level 4 (ioprio_set(2)): the default of every process. To setpriority(2) it is the lowest priority.
const UNCHANGED_IO: u32 = 2 << 13 | 4;

/// Calls that make a process wait for others, with arguments that change nothing; and what comes of them
/// where they are not refused: those with a buffer complain that there is none.
fn scheduling(process: u32) -> [(libc::c_long, Vec<u32>, i32); 6] {
    // SCHED_IDLE
    let idle = 5;
    let nice = rustix::process::getpriority_process(None).expect("it is its own") as u32;
    [
        (libc::SYS_setpriority, vec![0, process, nice], 0),
        (libc::SYS_ioprio_set, vec![1, process, UNCHANGED_IO], 0),
        (libc::SYS_sched_setscheduler, vec![process, idle], libc::EINVAL),
        (libc::SYS_sched_setparam, vec![process], libc::EINVAL),
        (libc::SYS_sched_setattr, vec![process], libc::EINVAL),
        // A set without processors.
        (libc::SYS_sched_setaffinity, vec![process, 0], libc::EINVAL),
    ]
}

#[test]
fn behind_the_filter_stands_a_second_wall() {
    let test = "sandbox::tests::behind_the_filter_stands_a_second_wall";
    if env::var_os(INSIDE).is_none() {
        let isolation = Isolation::new().processes(Processes::Own).network(Network::Off);
        let made = confine(&isolation, &Support::probe(), [1, 2]);
        let made = made.expect("this machine confines programs");
        let confinement = Confinement { filter: Vec::new(), ..made };
        let _listener = UnixListener::bind_addr(&abstract_name(std::process::id())).expect("free");
        Confined::start(test, Path::new("/"), &confinement).passes();
        return;
    }
    let host = env::var(HOST).ok().and_then(|it| it.parse().ok()).expect("it is set");
    assert_eq!(errno(UnixStream::connect_addr(&abstract_name(host))), libc::EPERM);
    assert_eq!(errno(TcpListener::bind("127.0.0.1:0")), libc::EACCES);
    assert_eq!(errno(TcpStream::connect("127.0.0.1:1")), libc::EACCES);
}

fn abstract_name(host: u32) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("flyto-test-{host}")).expect("a short name")
}

#[tokio::test]
async fn where_signals_have_no_scope_a_namespace_keeps_them() {
    let support = Support { landlock: 5, pid_namespaces: true, ..Support::probe() };
    let isolation = |_: &Path| Isolation::new().processes(Processes::Own);
    let test = "sandbox::tests::where_signals_have_no_scope_a_namespace_keeps_them";
    let Some(scene) = Scene::enter_as(test, support, isolation).await else { return };
    let number = u32::try_from(scene.host).expect("it is a process");
    // The host has no number in here, whatever `/proc` shows.
    let host = Pid::from_raw(scene.host).expect("it is a process");
    assert_eq!(rustix::process::test_kill_process(host), Err(rustix::io::Errno::SRCH));
    for file in ["environ", "mem", "maps"] {
        assert_eq!(errno(fs::read(format!("/proc/{number}/{file}"))), libc::EACCES, "{file}");
    }
}

/// A profile, with a home directory of its own.
fn profile(profile: Profile, dir: &Path) -> Isolation {
    profile.isolation(&places(dir))
}

fn places(dir: &Path) -> ProfilePlaces {
    let program = env::current_exe().expect("it runs").canonicalize().expect("it is there");
    ProfilePlaces::new(dir.join("home/project"))
        .home(dir.join("home"))
        .temp_dir(dir.join("write"))
        .read(program)
}

#[tokio::test]
async fn in_a_workspace_secrets_are_closed_and_the_project_is_open() {
    let test = "sandbox::tests::in_a_workspace_secrets_are_closed_and_the_project_is_open";
    let isolation = |dir: &Path| profile(Profile::Workspace, dir);
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    let read = |path| fs::read_to_string(scene.path(path));
    assert_eq!(read("home/file").expect("it is granted"), "home/file");
    for secret in ["home/.ssh/key", "home/.npmrc"] {
        assert_eq!(errno(read(secret)), libc::EACCES, "{secret}");
    }
    assert_eq!(errno(fs::write(scene.path("home/.ssh/authorized_keys"), "")), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("home/file"), "")), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("home/.bashrc"), "")), libc::EACCES);
    assert_eq!(errno(read("outside/file")), libc::EACCES);
    for path in ["home/project/new", "write/new", "/dev/null"] {
        fs::write(scene.path(path), "new").expect("it is granted");
    }
    // From one granted directory to another.
    fs::rename(scene.path("write/new"), scene.path("home/project/new")).expect("it is granted");
    assert_eq!(fs::read_dir(scene.path("home/project")).expect("it is granted").count(), 1);
    TcpListener::bind("127.0.0.1:0").expect("there is a network");
    // By these every process of the user can be tuned that is no supervisor.
    for file in ["oom_score_adj", "autogroup"] {
        let tuned = fs::write(format!("/proc/{}/{file}", scene.host), "0");
        assert_eq!(errno(tuned), libc::EACCES, "{file}");
    }
    assert_eq!(errno(UnixListener::bind(scene.path("write/socket"))), libc::EPERM);
    assert_eq!(without_buffers(libc::SYS_ptrace, &[]), libc::EPERM as u32);
}

#[tokio::test]
async fn in_a_strict_profile_the_project_is_read_and_nothing_is_sent() {
    let test = "sandbox::tests::in_a_strict_profile_the_project_is_read_and_nothing_is_sent";
    let isolation = |dir: &Path| profile(Profile::Strict, dir);
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    assert_eq!(errno(fs::read(scene.path("home/file"))), libc::EACCES);
    assert_eq!(errno(fs::write(scene.path("home/project/new"), "")), libc::EACCES);
    assert_eq!(fs::read_dir(scene.path("home/project")).expect("it is granted").count(), 0);
    fs::write(scene.path("write/new"), "new").expect("it is granted");
    assert_eq!(errno(TcpListener::bind("127.0.0.1:0")), libc::EPERM);
}

async fn check_system_secrets(test: &str, kind: Profile) {
    let isolation = |dir: &Path| kind.isolation(&places(dir).system_secrets());
    let Some(_scene) = Scene::enter(test, isolation).await else { return };
    for (path, _) in SYSTEM_SECRETS {
        assert!(fs::File::open(path).is_err(), "{path}");
    }
    fs::read("/etc/passwd").expect("it is granted");
}

#[tokio::test]
async fn in_a_strict_profile_root_does_not_read_the_shadow_files() {
    let test = "sandbox::tests::in_a_strict_profile_root_does_not_read_the_shadow_files";
    check_system_secrets(test, Profile::Strict).await;
}

#[tokio::test]
async fn in_a_workspace_root_does_not_read_the_shadow_files() {
    let test = "sandbox::tests::in_a_workspace_root_does_not_read_the_shadow_files";
    check_system_secrets(test, Profile::Workspace).await;
}

/// What Landlock does not bound, as [`Filesystem::Grants`] and [`Isolation::denied`] say: the day a kernel
/// bounds it, they can promise more.
#[tokio::test]
async fn what_is_known_about_a_closed_file_can_still_be_changed_by_its_owner() {
    let test =
        "sandbox::tests::what_is_known_about_a_closed_file_can_still_be_changed_by_its_owner";
    let isolation = |dir: &Path| {
        profile(Profile::Strict, dir).deny(dir.join("home/.ssh")).deny(dir.join("outside"))
    };
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    for file in ["home/.ssh/key", "home/file", "outside/file"] {
        let file = scene.path(file);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).expect("it is not bounded");
        let gid = rustix::process::getegid().as_raw();
        chown(&file, None, Some(gid)).expect("it is not bounded");
        let epoch = Timespec { tv_sec: 0, tv_nsec: 0 };
        let times = Timestamps { last_access: epoch, last_modification: epoch };
        utimensat(CWD, &file, &times, AtFlags::empty()).expect("it is not bounded");
        // Not every file system has attributes.
        let attribute = setxattr(&file, "user.flyto", b"1", XattrFlags::empty());
        assert!(matches!(attribute, Ok(()) | Err(rustix::io::Errno::OPNOTSUPP)), "{attribute:?}");
        let known = fs::metadata(&file).expect("that can be asked");
        assert_eq!((known.mode() & 0o777, known.mtime()), (0o604, 0), "{}", file.display());
        // What is in it stays closed, however its mode is.
        assert_eq!(errno(fs::read(&file)), libc::EACCES, "{}", file.display());
        assert_eq!(errno(fs::write(&file, "")), libc::EACCES, "{}", file.display());
    }
}

/// What a program learns of files that are closed to it: attributes, and the names of files that come and go or
/// change. Landlock has no right for any of it, and the filter sees no paths; inotify(7) is what development servers and
/// `tail -f` need for files of their own.
#[tokio::test]
async fn names_and_attributes_of_closed_files_are_seen() {
    let test = "sandbox::tests::names_and_attributes_of_closed_files_are_seen";
    let isolation = |dir: &Path| {
        profile(Profile::Strict, dir).deny(dir.join("home/.ssh")).deny(dir.join("outside"))
    };
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    for dir in ["home/.ssh", "outside"] {
        let dir = scene.path(dir);
        assert_eq!(errno(fs::read_dir(&dir)), libc::EACCES, "{}", dir.display());
        let name = if dir.ends_with("outside") { "file" } else { "key" };
        let file = dir.join(name);
        assert_eq!(errno(fs::read(&file)), libc::EACCES, "{}", file.display());

        // FIXME: a program is told the names of files in a directory that it may not list.
        let queue = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK);
        let queue = queue.expect("a program watches its own files");
        let watch = inotify::add_watch(&queue, &dir, inotify::WatchFlags::ATTRIB);
        watch.expect("it is not bounded");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).expect("it is not bounded");
        let mut space = [std::mem::MaybeUninit::uninit(); 512];
        let mut events = inotify::Reader::new(&queue, &mut space);
        let event = events.next().expect("there is an event");
        assert_eq!(event.file_name().and_then(|it| it.to_str().ok()), Some(name));

        // FIXME: a program reads attributes of a file that it may not read. Not every file system has some.
        let attribute = setxattr(&file, "user.flyto", b"1", XattrFlags::empty());
        if attribute != Err(rustix::io::Errno::OPNOTSUPP) {
            let mut value = [0; 8];
            assert_eq!(getxattr(&file, "user.flyto", &mut value[..]), Ok(1));
            let mut names = [0; 64];
            let n = listxattr(&file, &mut names[..]).expect("it is not bounded");
            assert!(names[..n].ends_with(b"user.flyto\0"));
        }
        // FIXME: a program learns size and times of a file that it may not read.
        assert!(fs::metadata(&file).expect("it is not bounded").len() > 0);
    }
    // fanotify_init: an ordinary user may watch files with it since Linux 5.13.
    assert_eq!(without_buffers(libc::SYS_fanotify_init, &[0x200, 0]), libc::EPERM as u32);
}

/// A process that asks to be traced stops when it executes a program and at every signal, and its parent is told
/// as if it had ended.
#[test]
fn a_program_that_wants_to_be_traced_has_not_ended() {
    let test = "sandbox::tests::a_program_that_wants_to_be_traced_has_not_ended";
    if env::var_os(INSIDE).is_none() {
        let mut confined = Confined::start(test, Path::new("/"), &Confinement::default());
        let stat = format!("/proc/{}/stat", confined.printed_number());
        let is_stopped = || fs::read_to_string(&stat).is_ok_and(|it| it.contains(") t "));
        while !is_stopped() {
            std::thread::yield_now();
        }
        confined.ask(50);
        let (_, report) = confined.end();
        assert_eq!(report.status, libc::SIGKILL as u32, "{report:?}");
        return;
    }
    const TRACE_ME: u32 = 0;
    println!("process {}.", std::process::id());
    assert_eq!(without_buffers(libc::SYS_ptrace, &[TRACE_ME]), 0);
    #[expect(clippy::disallowed_methods, reason = "it takes the place of this process")]
    let mut program = std::process::Command::new("/bin/sh");
    panic!("{}", program.exec());
}

#[test]
fn what_is_declared_is_what_can_be_made() {
    let check = |support: Support, expect: Expect| {
        let names: Vec<_> = support.capabilities().map(Capability::name).collect();
        expect.assert_eq(&names.join(" "));
        for (isolation, capability) in [
            (Isolation::new().network(Network::Off), Capability::NetworkOff),
            (Isolation::new().local_sockets(LocalSockets::Off), Capability::LocalSocketsOff),
            (Isolation::new().deny("/nowhere"), Capability::FilesystemDenials),
            (Isolation::new().read_only("/nowhere"), Capability::FilesystemReadOnly),
            (Isolation::new().shared_memory(SharedMemory::Own), Capability::OwnSharedMemory),
            (Isolation::new().system_calls(SystemCalls::Restricted), Capability::SystemCallFilter),
            (Isolation::new().processes(Processes::Own), Capability::ProcessIsolation),
            (Isolation::new().network(Network::Hosts(Vec::new())), Capability::NetworkHosts),
        ] {
            let declared = support.capabilities().any(|it| it == capability);
            match confine(&isolation, &support, [1, 2]) {
                Ok(made) => {
                    assert!(declared && made.no_new_privs && made.no_capabilities, "{made:?}");
                }
                Err(err) => {
                    assert!(!declared && err.kind() == ExecErrorKind::Unsupported, "{err:?}");
                }
            }
        }
    };
    let with = |landlock, seccomp, pid_namespaces| Support {
        landlock,
        seccomp,
        pid_namespaces,
        network_namespaces: false,
        mount_namespaces: true,
    };
    check(with(0, false, true), expect![""]);
    let means = [(1, false), (1, true), (5, true), (6, false), (6, true)];
    assert_eq!(
        means.map(|(landlock, namespaces)| with(landlock, true, namespaces).process_isolation()),
        [
            None,
            Some("pid-namespace"),
            Some("pid-namespace"),
            Some("landlock-scope"),
            Some("landlock-scope")
        ]
    );
    check(with(0, true, true), expect!["network-off local-sockets-off system-call-filter"]);
    check(
        with(7, false, true),
        expect!["filesystem-grants filesystem-denials filesystem-read-only own-shared-memory"],
    );
    check(
        with(2, true, true),
        expect!["network-off local-sockets-off system-call-filter process-isolation"],
    );
    check(
        with(5, true, false),
        expect![
            "network-off local-sockets-off system-call-filter filesystem-grants filesystem-denials filesystem-read-only own-shared-memory"
        ],
    );
    check(
        with(5, true, true),
        expect![
            "network-off local-sockets-off system-call-filter filesystem-grants filesystem-denials filesystem-read-only own-shared-memory process-isolation"
        ],
    );
    check(
        Support { network_namespaces: true, ..with(0, true, false) },
        expect!["network-off network-hosts local-sockets-off system-call-filter"],
    );
    check(Support { network_namespaces: true, ..with(0, false, false) }, expect![""]);
    check(
        with(6, true, false),
        expect![
            "network-off local-sockets-off system-call-filter filesystem-grants filesystem-denials filesystem-read-only own-shared-memory process-isolation"
        ],
    );
}

#[test]
fn nothing_asked_for_confines_nothing() {
    let made = confine(&Isolation::new(), &Support::default(), [1, 2]).expect("nothing is asked");
    assert!(!made.no_new_privs && !made.no_capabilities && made.filter.is_empty());
    assert!(made.ruleset.is_none() && made.inner_ruleset.is_none() && !made.pid_namespace);
}

#[test]
fn what_keeps_a_tree_cannot_be_denied_its_sight() {
    for path in ["/", "/proc", "/proc/1"] {
        let err = confine(&Isolation::new().deny(path), &Support::probe(), [1, 2]);
        assert_eq!(err.expect_err("refused").kind(), ExecErrorKind::Unsupported, "{path}");
    }
}

#[tokio::test]
async fn a_confined_program_has_no_privileges() {
    let isolation = |_: &Path| Isolation::new().system_calls(SystemCalls::Restricted);
    let test = "sandbox::tests::a_confined_program_has_no_privileges";
    let Some(_) = Scene::enter(test, isolation).await else { return };
    let status = fs::read_to_string("/proc/self/status").expect("it is readable");
    let line = |name: &str| {
        let line = status.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
        line.expect("it is there").trim().to_owned()
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(line(set), "0000000000000000", "{set}");
    }
    assert_eq!(line("NoNewPrivs"), "1");
    assert_eq!(line("Seccomp"), "2");
}

#[test]
fn a_path_that_could_mean_something_else_is_refused() {
    for path in ["home/.ssh", "/home/../etc"] {
        let err = confine(&Isolation::new().deny(path), &Support::probe(), [1, 2]);
        assert_eq!(err.expect_err("refused").kind(), ExecErrorKind::InvalidSpec, "{path}");
    }
}
