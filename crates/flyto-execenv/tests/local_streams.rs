//! Streams of programs on this machine: large, slow, held open, spilled.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{fs, time::Duration};

use flyto_execenv::{
    Capture, Chunk, Ending, Exit, LimitKind, Limits, Output, RunOptions, Spec, Stdin, Stream,
};
use support::{assert_gone, captured, env, sh, text};
use tokio::sync::mpsc;

const MIB: usize = 1024 * 1024;

fn pattern(n: usize) -> Vec<u8> {
    // 251 is prime, so that no buffer size hides a shift.
    let mut res = (0..251).collect::<Vec<u8>>().repeat(n / 251 + 1);
    res.truncate(n);
    res
}

#[tokio::test]
async fn sixty_four_mebibytes_pass_through_a_slow_reader() {
    let input = pattern(64 * MIB);
    let slow = "dd bs=4096 count=1 2>/dev/null; sleep 1; exec cat";
    let spec = sh(slow).stdin_bytes(input.clone()).stdout(captured(input.len() as u64));
    let outcome = env().run(spec).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
    assert!(*outcome.stdout.bytes() == input, "the bytes arrive unchanged");
}

#[tokio::test]
async fn all_output_passes_to_a_slow_observer() {
    let input = pattern(16 * MIB);
    let (observer, mut chunks) = mpsc::channel::<Chunk>(1);
    let spec = Spec::new("/bin/cat").stdin_bytes(input.clone()).stdout(captured(1000));
    let env = env();
    let watch = async {
        let (mut seen, mut next) = (Vec::new(), 0);
        while let Some(chunk) = chunks.recv().await {
            assert_eq!((chunk.stream, chunk.sequence), (Stream::Stdout, next));
            assert!(!chunk.bytes.is_empty());
            next += 1;
            seen.extend_from_slice(&chunk.bytes);
            // Others run first each time: the program waits for us and not the other way round.
            tokio::task::yield_now().await;
        }
        seen
    };
    let (outcome, seen) =
        tokio::join!(env.run_with(spec, RunOptions::new().observer(observer)), watch);
    let outcome = outcome.expect("it runs");
    assert!(seen == input, "the observer gets everything");
    assert_eq!(outcome.stdout.total_bytes, input.len() as u64);
    assert_eq!(outcome.stdout.bytes().len(), 1000);
}

#[tokio::test]
async fn an_observer_that_goes_away_does_not_stop_capture() {
    let (observer, chunks) = mpsc::channel(1);
    drop(chunks);
    let spec = sh("echo one; echo two");
    let outcome = env().run_with(spec, RunOptions::new().observer(observer)).await;
    assert_eq!(text(&outcome.expect("it runs")), "one\ntwo\n");
}

#[tokio::test]
async fn a_held_pipe_is_reported_and_its_holders_are_counted_and_ended() {
    let spec = sh("sleep 100 & a=$!; sleep 100 & echo kept $a $!");
    let outcome = env().run(spec).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
    assert_eq!((outcome.pipe_held, outcome.leaked, outcome.confirmed), (true, Some(2), true));
    let printed = text(&outcome);
    let pids: Vec<u32> = printed.split_whitespace().skip(1).flat_map(str::parse).collect();
    assert_eq!(pids.len(), 2, "{printed}");
    assert_gone(&pids);
}

#[tokio::test]
async fn a_leaker_that_prints_without_end_is_bounded_and_cut_off() {
    // The leader's own line goes where the chatter does not.
    let spec = sh("yes chatter 2>&1 & echo $! >&2").stdout(captured(1000));
    let outcome = env().run(spec).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
    assert_eq!((outcome.pipe_held, outcome.leaked), (true, Some(1)));
    assert_eq!(outcome.stdout.bytes().len(), 1000);
    assert!(outcome.stdout.total_bytes > 1000);
    let pid = String::from_utf8_lossy(&outcome.stderr.bytes()).trim_end().parse();
    assert_gone(&[pid.expect("a process id")]);
}

#[tokio::test]
async fn a_leaker_on_stderr_alone_is_a_held_pipe_as_well() {
    let outcome = env().run(sh("sleep 100 >/dev/null & echo kept")).await.expect("it runs");
    assert_eq!((outcome.pipe_held, outcome.leaked), (true, Some(1)));
    let closed = "sleep 100 >/dev/null 2>&1 & echo kept";
    let outcome = env().run(sh(closed)).await.expect("it runs");
    assert_eq!((outcome.pipe_held, outcome.leaked), (false, Some(1)));
}

#[tokio::test]
async fn the_output_limit_counts_both_streams() {
    let limited = |bytes| Limits::new().output_bytes(bytes);
    let two_streams = || sh("printf 12345; printf 12345 >&2");
    let within = env().run(two_streams().limits(limited(10))).await.expect("it runs");
    assert_eq!(within.ending, Ending::Exited(Exit::Code(0)));
    let beyond = env().run(two_streams().limits(limited(9))).await.expect("it runs");
    assert_eq!(beyond.ending, Ending::LimitReached(LimitKind::Output));

    let endless = env().run(sh("yes").limits(limited(100_000))).await.expect("it runs");
    assert_eq!(endless.ending, Ending::LimitReached(LimitKind::Output));
    assert!(endless.stdout.total_bytes > 100_000);
    assert!(endless.confirmed);
}

#[tokio::test]
async fn discarded_output_blocks_no_process() {
    let loud = "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; exit 3";
    let both = sh(loud).stdout(Output::Null).stderr(Output::Null);
    let merged = sh(loud).stdout(Output::Null).merge_stderr();
    for spec in [both, merged] {
        let outcome = env().run(spec).await.expect("it runs");
        assert_eq!(outcome.ending, Ending::Exited(Exit::Code(3)));
        assert_eq!((outcome.stdout.total_bytes, outcome.stderr.total_bytes), (0, 0));
    }
}

#[tokio::test]
async fn input_of_any_size_arrives() {
    // Around what one pipe holds, where the way of feeding changes.
    for n in [0, 1, 65_535, 65_536, 65_537, 200_000] {
        let input = pattern(n);
        let outcome = env().run(Spec::new("/bin/cat").stdin_bytes(input.clone())).await;
        assert!(*outcome.expect("it runs").stdout.bytes() == input, "{n} bytes");
    }
}

/// Runs `head -c` with a spill file, which holds everything or names its error.
async fn spilled(path: &std::path::Path, n: usize) -> flyto_execenv::Outcome {
    let capture = Capture::limit(1000).spill_to(path);
    let spec = Spec::new("/usr/bin/head").args(["-c", &n.to_string(), "/dev/zero"]);
    let outcome = env().run(spec.stdout(Output::Captured(capture))).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
    assert_eq!(outcome.stdout.total_bytes, n as u64);
    assert_eq!(outcome.stdout.bytes().len(), n.min(1000));
    outcome
}

#[tokio::test]
async fn a_spill_file_holds_the_whole_stream() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("missing/whole");
    assert_eq!(spilled(&path, 1000).await.stdout.whole(), None);
    assert!(!dir.path().join("missing").exists(), "nothing was left out");
    assert_eq!(spilled(&path, 3 * MIB).await.stdout.whole(), Some(&*path));
    let mode = |path: &std::path::Path| {
        let meta = fs::metadata(path).expect("it was made");
        (meta.is_dir(), meta.permissions().mode() & 0o777)
    };
    assert_eq!(fs::metadata(&path).expect("it was made").len(), 3 * MIB as u64);
    assert_eq!((mode(&path), mode(&dir.path().join("missing"))), ((false, 0o600), (true, 0o700)));
}

#[tokio::test]
async fn a_spill_file_that_cannot_be_written_does_not_disturb_the_run() {
    use std::io::ErrorKind as K;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "mine").expect("written");
    let check = async |path: &std::path::Path, kind| {
        let outcome = spilled(path, MIB).await;
        let spill = outcome.stdout.spill.as_ref().expect("it was asked for");
        assert_eq!(spill.error.as_ref().map(std::io::Error::kind), Some(kind));
        assert_eq!(outcome.stdout.whole(), None);
    };
    check(&file.join("below/whole"), K::NotADirectory).await;
    check(&file, K::AlreadyExists).await;
    assert_eq!(fs::read(&file).expect("still there"), b"mine");

    // A full disk, where this user may mount one.
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).expect("a directory");
    let mount = Spec::new("/bin/mount").args(["-t", "tmpfs", "-o", "size=64k", "flyto-test"]);
    let mounted = env().run(mount.arg(disk.as_os_str())).await;
    if !mounted.is_ok_and(|it| it.success()) {
        println!("skipped the full disk: no right to mount a file system here");
        return;
    }
    let outcome = spilled(&disk.join("whole"), MIB).await;
    let unmounted = env().run(Spec::new("/bin/umount").arg(disk.as_os_str())).await;
    assert!(unmounted.is_ok_and(|it| it.success()), "what was mounted is unmounted");
    let spill = outcome.stdout.spill.as_ref().expect("it was asked for");
    assert_eq!(spill.error.as_ref().map(std::io::Error::kind), Some(K::StorageFull));
}

#[tokio::test]
async fn a_program_that_never_reads_ends_by_its_deadline() {
    let spec = sh("exec sleep 100").stdin(Stdin::Bytes(pattern(MIB).into()));
    let outcome = env().run(spec.deadline(Duration::from_millis(100))).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::TimedOut);
    assert!(outcome.confirmed);
}
