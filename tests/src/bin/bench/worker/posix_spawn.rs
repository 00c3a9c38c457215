//! The twin of `tests/bench/baseline.c`, for machines without a C compiler.

use std::{
    ffi::CString,
    io::{self, PipeReader, Read, Write, pipe},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    time::Instant,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
    sys::{
        signal::{SigSet, Signal},
        wait::{WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::{CHILD_PATH, calls::Watch};
use crate::{
    Result,
    job::{BYTES_PER_SECOND, GROWTH_BYTES, Job, REQUEST_BYTES, Sample},
    system,
};

/// Starts the child with `fds` as its first descriptors; without one, ours stays.
fn start(job: &Job, fds: [Option<BorrowedFd<'_>>; 3], argument: Option<&str>) -> Result<Pid> {
    let mut actions = PosixSpawnFileActions::init()?;
    for (fd, place) in fds.iter().zip(0..) {
        if let Some(fd) = fd {
            actions.add_dup2(fd.as_raw_fd(), place)?;
        }
    }
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    attributes.set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETPGROUP | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
    )?;
    let mut args = vec![CString::new(job.child.as_os_str().as_bytes())?];
    args.extend(argument.map(CString::new).transpose()?);
    let env = [CString::new(format!("PATH={CHILD_PATH}"))?];
    Ok(posix_spawn(job.child.as_path(), &actions, &attributes, &args, &env)?)
}

/// One call.
pub(super) fn call(job: &Job) -> Result {
    let (their_in, mut our_in) = pipe()?;
    let (our_out, their_out) = pipe()?;
    let (our_err, their_err) = pipe()?;
    let theirs = [their_in.as_fd(), their_out.as_fd(), their_err.as_fd()];
    let child = start(job, theirs.map(Some), None)?;
    drop((their_in, their_out, their_err));

    our_in.write_all(&[b'x'; REQUEST_BYTES])?;
    drop(our_in);

    let received = drain([our_out, our_err])?;
    let status = waitpid(child, None)?;
    if matches!(status, WaitStatus::Exited(_, 0)) && received == [REQUEST_BYTES, 0] {
        return Ok(());
    }
    Err(format!("the child answered {received:?} bytes, {status:?}").into())
}

/// Reads both streams to their end and counts.
fn drain(streams: [PipeReader; 2]) -> Result<[usize; 2]> {
    let mut open = streams.map(Some);
    let mut received = [0, 0];
    let mut reply = [0; 4096];
    while open.iter().any(Option::is_some) {
        let ready: Vec<usize> = {
            let (places, mut polled): (Vec<usize>, Vec<PollFd<'_>>) = open
                .iter()
                .enumerate()
                .filter_map(|(i, it)| Some((i, it.as_ref()?)))
                .map(|(i, it)| (i, PollFd::new(it.as_fd(), PollFlags::POLLIN)))
                .unzip();
            poll(&mut polled, PollTimeout::NONE)?;
            let is_ready = |it: &PollFd<'_>| it.revents().is_some_and(|it| !it.is_empty());
            places.into_iter().zip(&polled).filter(|it| is_ready(it.1)).map(|it| it.0).collect()
        };
        for i in ready {
            let n = open[i].as_mut().map_or(Ok(0), |it| it.read(&mut reply))?;
            received[i] += n;
            if n == 0 {
                open[i] = None;
            }
        }
    }
    Ok(received)
}

/// Sends requests to a child that stays and waits for as many bytes; all that are in flight go in one
/// write.
pub(super) fn pings(job: &Job) -> Result<Sample> {
    let (their_in, mut our_in) = pipe()?;
    let (mut our_out, their_out) = pipe()?;
    let child = start(job, [Some(their_in.as_fd()), Some(their_out.as_fd()), None], None)?;
    drop((their_in, their_out));
    let requests = vec![b'x'; job.in_flight * REQUEST_BYTES];
    let mut replies = vec![0; 64 * 1024];
    let mut ping = || -> Result {
        our_in.write_all(&requests)?;
        let mut received = 0;
        while received < requests.len() {
            match our_out.read(&mut replies)? {
                0 => return Err("the child ended".into()),
                n => received += n,
            }
        }
        Ok(())
    };
    for _ in 0..job.warm_up.div_ceil(job.in_flight) {
        ping()?;
    }
    let rounds = job.calls.div_ceil(job.in_flight);
    let watch = Watch::start()?;
    let mut latencies = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let sent = Instant::now();
        ping()?;
        latencies.push(sent.elapsed());
    }
    let res = watch.stop_after(latencies, rounds * job.in_flight)?;
    drop(our_in);
    waitpid(child, None)?;
    Ok(res)
}

/// Reads much output and throws it away.
pub(super) fn stream(job: &Job) -> Result<Sample> {
    let mut piece = vec![0; 64 * 1024];
    let before = system::Resident::now()?;
    let began = Instant::now();
    let (our_out, their_out) = pipe()?;
    let argument = job.bytes.to_string();
    let child = start(job, [None, Some(their_out.as_fd()), None], Some(&argument))?;
    drop(their_out);
    let received = count(our_out, &mut piece)?;
    let status = waitpid(child, None)?;
    let elapsed = began.elapsed();
    if !matches!(status, WaitStatus::Exited(_, 0)) || received != job.bytes {
        return Err(format!("the child sent {received} bytes, {status:?}").into());
    }
    Ok(Sample::default()
        .with(BYTES_PER_SECOND, received as f64 / elapsed.as_secs_f64())
        .with(GROWTH_BYTES, before.peak_growth()))
}

fn count(mut reader: PipeReader, piece: &mut [u8]) -> io::Result<u64> {
    let mut res = 0;
    loop {
        match reader.read(piece)? {
            0 => return Ok(res),
            n => res += n as u64,
        }
    }
}
