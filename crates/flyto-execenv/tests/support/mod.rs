//! What the tests of the local backend share.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use flyto_execenv::{
    Chunk, ExecEnv, Outcome, Output, Program, RunOptions, Sha256, Spec, local::Local,
};
use sha2::Digest;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A backstop for broken code; no test compares times.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

pub(crate) fn env() -> ExecEnv {
    ExecEnv::new(Local::new())
}

/// A shell script with the usual programs on its `PATH`. It is bounded by [`GUARD`].
pub(crate) fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin").deadline(GUARD)
}

pub(crate) fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned()
}

/// Writes an executable file.
pub(crate) fn write_executable(path: &Path, content: impl AsRef<[u8]>) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, content).expect("the directory is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

/// Waits for a line of output that begins with `ready`, and gives the words after it.
pub(crate) async fn ready(chunks: &mut mpsc::Receiver<Chunk>) -> Vec<u32> {
    let mut seen = String::new();
    loop {
        let chunk = chunks.recv().await.expect("the program says that it is ready");
        seen.push_str(&String::from_utf8_lossy(&chunk.bytes));
        let line = seen.lines().find(|it| it.starts_with("ready"));
        // A line may come in pieces.
        if let Some(line) = line
            && seen.ends_with('\n')
        {
            return line.split(' ').skip(1).map(|it| it.parse().expect("a process id")).collect();
        }
    }
}

/// Runs `spec` until it is ready, then cancels it; gives the process ids that it named.
pub(crate) async fn cancelled(env: &ExecEnv, spec: Spec) -> (Outcome, Vec<u32>) {
    let cancel = CancellationToken::new();
    let (observer, mut chunks) = mpsc::channel(16);
    let options = RunOptions::new().cancel(cancel.clone()).observer(observer);
    let watch = async {
        let pids = ready(&mut chunks).await;
        cancel.cancel();
        while chunks.recv().await.is_some() {}
        pids
    };
    let (outcome, pids) = tokio::join!(env.run_with(spec, options), watch);
    (outcome.expect("it was started"), pids)
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
    state == Some(false)
}

/// Waits until none of the processes is alive.
#[track_caller]
pub(crate) fn assert_gone(pids: &[u32]) {
    assert!(!pids.is_empty(), "the program named its processes");
    let give_up = Instant::now() + GUARD;
    for pid in pids {
        while is_alive(*pid) {
            assert!(Instant::now() < give_up, "process {pid} is still alive");
            std::thread::yield_now();
        }
    }
}

/// Output kept up to `limit_bytes`.
pub(crate) fn captured(limit_bytes: u64) -> Output {
    Output::Captured(flyto_execenv::Capture::limit(limit_bytes))
}

pub(crate) fn sha256(content: impl AsRef<[u8]>) -> Sha256 {
    Sha256(sha2::Sha256::digest(content).into())
}

/// The program at `path`, which must hold `content`.
pub(crate) fn pinned(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Spec {
    let (path, sha256) = (path.as_ref().to_owned(), sha256(content));
    Spec::new(Program::Pinned { path, sha256 }).env_var("PATH", "/usr/bin:/bin").deadline(GUARD)
}

/// Whether memory can hold a program here: on Linux, unless the administrator forbids it.
pub(crate) fn has_executable_memory() -> bool {
    let forbidden = fs::read_to_string("/proc/sys/vm/memfd_noexec");
    cfg!(target_os = "linux") && !forbidden.is_ok_and(|it| it.trim() == "2")
}

/// The smallest program that exits with 42, without any library, for the machines that we know.
pub(crate) fn tiny_elf() -> Option<Vec<u8>> {
    let (machine, code): (u16, &[u8]) = if cfg!(target_arch = "x86_64") {
        // mov edi, 42; mov eax, 60; syscall
        (62, &[0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05])
    } else if cfg!(target_arch = "aarch64") {
        // mov x0, #42; mov x8, #93; svc #0
        (183, &[0x40, 0x05, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4])
    } else {
        return None;
    };
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + code.len() as u64;
    let mut res = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // The header (elf(5)): an executable, and where it begins and lists its one segment …
    let halves =
        |res: &mut Vec<u8>, of: &[u16]| of.iter().for_each(|it| res.extend(it.to_le_bytes()));
    let words =
        |res: &mut Vec<u8>, of: &[u64]| of.iter().for_each(|it| res.extend(it.to_le_bytes()));
    halves(&mut res, &[2, machine, 1, 0]);
    words(&mut res, &[BASE + HEADERS, 64, 0]);
    halves(&mut res, &[0, 0, 64, 56, 1, 0, 0, 0]);
    // … which is all of the file, to be read and executed.
    halves(&mut res, &[1, 0, 5, 0]);
    words(&mut res, &[0, BASE, BASE, size, size, 0x1000]);
    res.extend(code);
    Some(res)
}
