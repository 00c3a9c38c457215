//! Programs as children of the host itself, for specs that ask for no more than a process group.
//!
//! The child shares the host's memory until its program is in place, as with vfork(2), so nothing is
//! copied but the table of descriptors. Unlike posix_spawn(3) it starts without signal handlers and
//! comes with a pidfd, which saves the 64 system calls that reset the handlers one by one.
//!
//! This is the fast way: no message to another process, and the descriptors of the program are set
//! up by the child itself. It ends a process group and not a tree. [`works`] tells whether the
//! machine allows it; where it does not, [`Local`](flyto_execenv::local::Local) starts programs.

mod bounds;
mod leader;
#[cfg(test)]
mod tests;

use std::{
    io,
    os::fd::AsFd,
    path::Path,
    sync::{Arc, OnceLock},
};

use flyto_execenv::{
    ExecError, ExecErrorKind, KillScope, Output, Running, Spec,
    local::{BUSY_FILE_WAITS, GroupControl, HostEnds, PinnedImage, Streams},
};
use flyto_supervision::{Bound, Stage};

pub(crate) use self::bounds::bounds_of;
use self::leader::DirectChild;
use crate::{
    bare::{
        child::{Failed, ProcessGroup},
        program::{self, Request, Started, Strings},
        sys::errno,
    },
    failure,
    supervised::orphans,
};

/// Starts `program`, which `spec` resolved to, or the image of it that was pinned.
///
/// A file that is open for writing elsewhere (`ETXTBSY`, execve(2)) is tried again after the pauses
/// of [`BUSY_FILE_WAITS`]: a fork of another thread may hold it for a moment.
///
/// # Errors
///
/// Nothing runs: those of [`failure::of_stage`] and [`failure::of_host`]. Where the program runs
/// and its pipes cannot be watched, [`ExecErrorKind::Lost`]; the program is ended then.
pub(crate) async fn start(
    spec: &Spec,
    program: &Path,
    image: Option<Arc<PinnedImage>>,
    bounds: &[Bound],
) -> Result<Running, ExecError> {
    let mut waits = BUSY_FILE_WAITS.iter();
    loop {
        match spawn(spec, program, image.as_deref(), bounds) {
            Ok((started, host)) => return watch(started, host, spec, image),
            Err(Trouble::Host(err)) => return Err(failure::of_host(spec, err)),
            Err(Trouble::Child(Failed { stage, errno })) => match waits.next() {
                Some(wait) if (stage, errno) == (Stage::Exec, errno::TXTBSY) => {
                    tokio::time::sleep(*wait).await;
                }
                _ => return Err(failure::of_stage(spec, program, stage, errno)),
            },
        }
    }
}

/// Whether programs can be started this way: the kernel may be too old, and a container's filter of
/// system calls may not let it pass. It is tried once.
///
/// A lack of processes or memory proves nothing, counts as yes, and is not remembered.
pub(crate) fn works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    if let Some(works) = WORKS.get() {
        return *works;
    }
    match try_out() {
        Err(Trouble::Child(Failed { stage: Stage::Clone, errno: errno::AGAIN | errno::NOMEM }))
        | Err(Trouble::Host(_)) => true, // Nothing was learnt; the start itself tells what is short.
        res => *WORKS.get_or_init(|| res.is_ok()),
    }
}

/// Why programs cannot be started this way, now: what failed, in words, and the system's reason.
#[cfg(feature = "examine")]
pub(crate) fn refusal() -> Option<(String, io::Error)> {
    match try_out() {
        Ok(()) => None,
        Err(Trouble::Host(err)) => Some(("open its streams".to_owned(), err)),
        Err(Trouble::Child(Failed { stage, errno })) => {
            Some((stage.what().to_owned(), io::Error::from_raw_os_error(errno.cast_signed())))
        }
    }
}

/// Starts a program and goes all the way to its working directory, which is none.
fn try_out() -> Result<(), Trouble> {
    let nowhere = Spec::new("/").working_dir("/dev/null/none").stdout(Output::Null);
    match spawn(&nowhere.merge_stderr(), Path::new("/"), None, &[]) {
        Err(Trouble::Child(Failed { stage: Stage::Dir, .. })) => Ok(()),
        Err(trouble) => Err(trouble),
        // A kernel that runs a directory is none to rely on.
        Ok(_) => Err(Trouble::Child(Failed { stage: Stage::Dir, errno: 0 })),
    }
}

/// Why nothing runs.
enum Trouble {
    /// This process is short of something.
    ///
    /// The start was not tried.
    Host(io::Error),
    /// The child got as far as this stage and has ended.
    Child(Failed),
}

/// Opens the streams and starts the program once. The thread is blocked until the program's image
/// is in place or the child has failed, as with vfork(2).
fn spawn(
    spec: &Spec,
    program: &Path,
    image: Option<&PinnedImage>,
    bounds: &[Bound],
) -> Result<(Started, HostEnds), Trouble> {
    let Streams { child, host } = Streams::open(spec).map_err(Trouble::Host)?;
    let copy = image.filter(|it| it.fd().is_none()).map(|it| it.paths().0);
    let strings = Strings::new(
        copy.as_deref().unwrap_or(program).as_os_str(),
        spec.working_dir.as_os_str(),
        std::iter::once(spec.program.as_os_str()).chain(spec.args.iter().map(|it| it.as_os_str())),
        || spec.env.iter(),
    );
    let request = Request {
        strings: &strings,
        image: image.and_then(PinnedImage::fd),
        streams: child.each_ref().map(AsFd::as_fd),
        pgrp: if spec.kill == KillScope::Leader { ProcessGroup::Stay } else { ProcessGroup::Own },
        bounds,
    };
    let started =
        orphans::start(|| program::start(&request), |it| it.pid).map_err(Trouble::Child)?;
    Ok((started, host))
    // Our copies of the program's ends go here.
}

/// Registers the program's end and its pipes with the runtime.
///
/// Must run in a Tokio runtime with I/O enabled.
fn watch(
    started: Started,
    host: HostEnds,
    spec: &Spec,
    image: Option<Arc<PinnedImage>>,
) -> Result<Running, ExecError> {
    // From here on the control kills and reaps the program, also when the next lines fail.
    let leader = DirectChild::new(started, &spec.limits);
    let mut running = Running::new(GroupControl::new(leader, spec, image)?);
    host.attach(&mut running).map_err(|err| {
        let what = format!("watch the pipes of {:?}", spec.program.as_os_str());
        ExecError::new(ExecErrorKind::Lost, what).with_source(err)
    })?;
    Ok(running)
}
