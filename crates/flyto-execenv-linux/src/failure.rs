//! Why a program did not start, from the stage where it failed.
//!
//! A supervisor and a direct child report the same: the [`Stage`] at which a start failed and the
//! system's error number (errno(3)). This module turns both into an [`ExecError`]. An error number
//! of 0 means that a trial found a call without effect.

use std::{io, path::Path};

use flyto_execenv::{ExecError, ExecErrorKind, Spec, local::explain_start};
use flyto_supervision::Stage;

/// Why a supervisor is not used whose trial of what it had entered failed.
pub(crate) const UNTRUE: &str = "the system answered success and did nothing, as under a filter of system calls \
     that answers in the kernel's place (SECCOMP_RET_ERRNO with 0); run outside of that filter";

/// The error of a start that failed at `stage` with this error number. Nothing ran.
///
/// [`ExecErrorKind::Unsupported`] where the machine does not let a program enter what the spec asks
/// for, [`ExecErrorKind::Exhausted`] where the system is short of something,
/// [`ExecErrorKind::BadWorkingDir`] for the working directory, and what [`explain_start`] finds for
/// the program's own file.
pub(crate) fn of_stage(spec: &Spec, program: &Path, stage: Stage, errno: u32) -> ExecError {
    if errno == 0 {
        return failed(spec, ExecErrorKind::Unsupported, stage).with_source(UNTRUE);
    }
    let err = io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(i32::MAX));
    match stage {
        Stage::Exec => explain_start(spec, program, err),
        Stage::Dir => {
            let why = format!("its working directory is {}: {err}", spec.working_dir.display());
            let what = format!("start {:?}", spec.program.as_os_str());
            ExecError::new(ExecErrorKind::BadWorkingDir, what).with_source(why)
        }
        _ if is_forbidden(stage, &err) => {
            failed(spec, ExecErrorKind::Unsupported, stage).with_source(err)
        }
        _ => failed(spec, kind_of(&err), stage).with_source(err),
    }
}

/// Whether this machine does not let a supervisor enter what it is to enter, rather than fail to at this moment.
///
/// The same stage with another error number, such as `ENOMEM` or `ENOSPC`, may succeed later.
fn is_forbidden(stage: Stage, err: &io::Error) -> bool {
    let enters = matches!(
        stage,
        Stage::Namespace
            | Stage::Mounts
            | Stage::Network
            | Stage::Children
            | Stage::Filter
            | Stage::Landlock
            | Stage::Privileges
    );
    let forbidden = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL, libc::ENOENT];
    enters && err.raw_os_error().is_some_and(|it| forbidden.contains(&it))
}

/// The error of a start that failed before there was anything to start.
///
/// [`ExecErrorKind::Exhausted`] where this process is short of something, else
/// [`ExecErrorKind::Other`].
pub(crate) fn of_host(spec: &Spec, err: io::Error) -> ExecError {
    let what = format!("start {:?}", spec.program.as_os_str());
    ExecError::new(kind_of(&err), what).with_source(err)
}

/// An error of this kind that names the program and, in words, what could not be done.
fn failed(spec: &Spec, kind: ExecErrorKind, stage: Stage) -> ExecError {
    let program = spec.program.as_os_str();
    ExecError::new(kind, format!("start {program:?}: could not {}", stage.what()))
}

/// [`ExecErrorKind::Exhausted`] for a lack of processes, memory, descriptors or socket buffers, for
/// which a retry may help; else [`ExecErrorKind::Other`].
fn kind_of(err: &io::Error) -> ExecErrorKind {
    match rustix::io::Errno::from_io_error(err) {
        Some(
            rustix::io::Errno::AGAIN
            | rustix::io::Errno::NOMEM
            | rustix::io::Errno::MFILE
            | rustix::io::Errno::NFILE
            | rustix::io::Errno::NOBUFS
            | rustix::io::Errno::TOOMANYREFS,
        ) => ExecErrorKind::Exhausted,
        _ => ExecErrorKind::Other,
    }
}
