//! Runs a test of this program once more, below a supervisor that is confined.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, IoSlice, PipeReader, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::symlink},
    },
    path::{Path, PathBuf},
};

use flyto_execenv::Isolation;
use flyto_supervision::{
    Order, REPORT_BYTES, Report, ReportKind, Setup, SetupFlags, Start, StartFlags,
};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::fcntl_dupfd_cloexec,
    net::{
        AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        SocketFlags, SocketType, recv, send, sendmsg, socketpair,
    },
    process::{WaitId, WaitIdOptions},
};

use super::{
    Closed, Confinement, Support,
    bpf::{Load, Node},
    confine, cookie, needs_user_namespace,
    seccomp::own_question,
};
use crate::{bare::host, ordinary::is_ordinary};

static SUPERVISOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));

/// The variable that tells a test that it is inside, and where its directory is.
pub(crate) const INSIDE: &str = "FLYTO_TEST_INSIDE";
/// The variable that names the first process.
pub(super) const HOST: &str = "FLYTO_TEST_HOST";

/// Whether this is inside, where clone3(2) is told not to be there. Outside, the test with this path is run
/// inside.
pub(crate) fn is_without_clone3(test: &str) -> bool {
    is_under(test, libc::SYS_clone3, Node::Errno(libc::ENOSYS as u16))
}

/// Whether this is inside, where a filter gives this answer to a system call. Outside, the test with this path is
/// run inside.
pub(super) fn is_under(test: &str, call: libc::c_long, answer: Node) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    // The outermost supervisor tries its filter.
    let prctl = libc::SYS_prctl as u32;
    let answered = match call {
        libc::SYS_prctl => Node::equal(prctl, own_question([0; 2], answer), Node::Allow),
        _ => {
            let others = Node::equal(prctl, own_question([0; 2], Node::Allow), Node::Allow);
            Node::equal(call as u32, answer, others)
        }
    };
    let filter = Node::load(Load::Number, answered).assemble();
    let confinement = Confinement { filter, no_new_privs: true, ..Confinement::default() };
    Confined::start(test, Path::new("/"), &confinement).passes();
    false
}

/// A test's own directory: `read` and `write`, with something in them, and `outside`.
pub(crate) struct Scene {
    dir: PathBuf,
    /// The process that runs the tests.
    pub(super) host: i32,
}

impl Scene {
    /// Inside, the directory of this test. Outside, the test with this path is run inside, as the user
    /// of the tests and, for root, once more as an ordinary user; then there is nothing else to do.
    pub(crate) async fn enter(test: &str, isolation: impl Fn(&Path) -> Isolation) -> Option<Self> {
        Self::enter_as(test, Support::probe(), isolation).await
    }

    /// As [`Scene::enter`], on a machine with this support.
    pub(super) async fn enter_as(
        test: &str,
        support: Support,
        isolation: impl Fn(&Path) -> Isolation,
    ) -> Option<Self> {
        if let Some(dir) = env::var_os(INSIDE) {
            let host = env::var(HOST).ok().and_then(|it| it.parse().ok()).expect("it is set");
            return Some(Self { dir: dir.into(), host });
        }
        let dir = tempfile::tempdir().expect("there is room");
        let dir = dir.path().canonicalize().expect("it is there");
        let subs = ["read/secret", "read/other", "write", "outside", "home/.ssh", "home/project"];
        for sub in subs {
            fs::create_dir_all(dir.join(sub)).expect("it is ours");
        }
        let read = ["read/file", "read/secret/key", "read/other/file"];
        for file in
            read.iter().chain(&["outside/file", "home/file", "home/.ssh/key", "home/.npmrc"])
        {
            fs::write(dir.join(file), file).expect("it is ours");
        }
        symlink(dir.join("outside"), dir.join("read/link")).expect("it is ours");
        let isolation = isolation(&dir);
        let confinement = confine(&isolation, &support, cookie().expect("there is chance"));
        let confinement = confinement.expect("this machine confines programs");
        Confined::start(test, &dir, &confinement).passes();
        is_ordinary(test).await;
        None
    }

    /// Where something of it is.
    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.dir.join(below)
    }
}

/// A test that runs confined.
pub(super) struct Confined {
    socket: OwnedFd,
    output: PipeReader,
    supervisor: OwnedFd,
}

impl Confined {
    /// Starts the test with this path; `dir` is its directory.
    pub(super) fn start(test: &str, dir: &Path, confinement: &Confinement) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let (socket, its) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a pair");
        // The places up to 3 are taken in a child.
        let above = |file: OwnedFd| fcntl_dupfd_cloexec(file, 4).expect("there is a place");
        let null = above(File::open("/dev/null").expect("it is there").into());
        let mut image: File =
            above(memfd_create("supervisor", MemfdFlags::CLOEXEC).expect("memory")).into();
        image.write_all(SUPERVISOR).expect("there is memory");
        let (_, pidfd) = host::supervisor(
            image.as_fd(),
            (above(its).as_fd(), null.as_fd()),
            crate::bare::child::ProcessGroup::Session,
            None,
            None,
        )
        .expect("it starts");

        let mut record = Vec::new();
        let same = |id: u32| format!("{id} {id} 1");
        let uid_map = same(rustix::process::geteuid().as_raw());
        let gid_map = same(rustix::process::getegid().as_raw());
        // Root can make namespaces in the one it has.
        let needs_namespaces = confinement.pid_namespace || confinement.makes_mounts();
        let user_namespace = needs_namespaces && needs_user_namespace();
        let setup = Setup {
            flags: SetupFlags::NONE
                .with_if(user_namespace, SetupFlags::USER_NAMESPACE)
                .with_if(confinement.pid_namespace, SetupFlags::PID_NAMESPACE)
                .with_if(confinement.no_new_privs, SetupFlags::NO_NEW_PRIVS)
                .with_if(confinement.no_capabilities, SetupFlags::NO_CAPABILITIES)
                .with_if(confinement.ruleset.is_some(), SetupFlags::RULESET)
                .with_if(confinement.inner_ruleset.is_some(), SetupFlags::INNER_RULESET)
                .with_if(confinement.makes_mounts(), SetupFlags::MOUNT_NAMESPACE)
                .with_if(confinement.closes == Some(Closed::Root), SetupFlags::ROOT_IS_CLOSED)
                .with_if(
                    confinement.closes == Some(Closed::ProcWrites),
                    SetupFlags::PROC_IS_READ_ONLY,
                ),
            uid_map: uid_map.as_bytes(),
            gid_map: gid_map.as_bytes(),
            filter: &confinement.filter,
            cookie: confinement.cookie,
            mounts: &confinement.mounts,
            shared_memory: confinement.shared_memory.unwrap_or_default(),
        };
        setup.write(&mut record);
        let rulesets = confinement.ruleset.iter().chain(&confinement.inner_ruleset);
        tell(&socket, &record, &rulesets.map(AsFd::as_fd).collect::<Vec<_>>());
        assert_eq!(hear(&socket).kind, ReportKind::Ready, "{confinement:?}");

        let (output, writer) = io::pipe().expect("a pipe");
        let writer = above(writer.into());
        let program = env::current_exe().expect("it runs");
        let args =
            ["tests", "--exact", test, "--nocapture", "--test-threads=1"].map(OsString::from);
        let env = [(INSIDE, dir.into()), (HOST, OsString::from(std::process::id().to_string()))];
        record.clear();
        let start = Start {
            flags: StartFlags::NEW_SESSION,
            cpu_ns: 0,
            memory_bytes: 0,
            deadline_ns: 0,
            grace_ms: 0,
            bounds: Default::default(),
            n_bounds: 0,
            n_args: args.len(),
            n_env: env.len(),
            text: &[],
        };
        start.write_head(&mut record);
        for piece in ["/".as_bytes(), program.as_os_str().as_bytes()] {
            record.extend_from_slice(piece);
            record.push(0);
        }
        for arg in &args {
            record.extend_from_slice(arg.as_bytes());
            record.push(0);
        }
        for (name, value) in &env {
            record.extend_from_slice(name.as_bytes());
            record.push(b'=');
            record.extend_from_slice(value.as_bytes());
            record.push(0);
        }
        tell(&socket, &record, &[null.as_fd(), writer.as_fd(), writer.as_fd()]);
        drop(writer);
        Self { socket, output, supervisor: pidfd }
    }

    /// Reads what it prints up to `process N.`; gives the number.
    pub(super) fn printed_number(&mut self) -> u32 {
        let mut text = String::new();
        loop {
            let mut byte = [0];
            let n = self.output.read(&mut byte).expect("a pipe can be read");
            assert!(n > 0, "{text}");
            text.push(char::from(byte[0]));
            let number = text.split_once("process ").and_then(|it| it.1.strip_suffix('.'));
            if let Some(number) = number.and_then(|it| it.parse().ok()) {
                return number;
            }
        }
    }

    /// Ends it and what it started, with so much time between asking and killing.
    pub(super) fn ask(&self, grace_ms: u32) {
        let end = Order::End { grace_ms };
        send(&self.socket, &end.to_bytes(), SendFlags::NOSIGNAL).expect("it lives");
    }

    /// Waits for its end: what it printed last, and how it ended.
    pub(super) fn end(mut self) -> (String, Report) {
        let mut text = Vec::new();
        self.output.read_to_end(&mut text).expect("a pipe can be read");
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut report = hear(&self.socket);
        if report.kind == ReportKind::Exited {
            self.ask(0);
            report = Report { status: report.status, ..hear(&self.socket) };
        }
        assert!(report.kind == ReportKind::Ended && report.confirmed, "{report:?}\n{text}");
        drop(self.socket);
        rustix::process::waitid(WaitId::PidFd(self.supervisor.as_fd()), WaitIdOptions::EXITED)
            .expect("our child");
        (text, report)
    }

    /// Waits for its end, which is good.
    pub(super) fn passes(self) {
        let (output, report) = self.end();
        assert!(report.status == 0 && output.contains("1 passed"), "{report:?}\n{output}");
    }
}

fn tell(socket: &OwnedFd, record: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    }
    sendmsg(socket, &[IoSlice::new(record)], &mut control, SendFlags::NOSIGNAL).expect("it lives");
}

fn hear(socket: &OwnedFd) -> Report {
    let mut record = [0; REPORT_BYTES];
    let (_, n) = recv(socket, &mut record, RecvFlags::empty()).expect("a socket can be read");
    Report::read(&record[..n]).expect("it is a record")
}
