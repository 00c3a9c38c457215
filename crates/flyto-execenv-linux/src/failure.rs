//! Why a program did not start, from the stage where it failed.

use std::{io, path::Path};

use flyto_execenv::{ExecError, ExecErrorKind, Spec, local::explain_start};
use flyto_supervision::Stage;

/// The error of a start that failed at `stage` with this error number. Nothing ran.
pub(crate) fn of_stage(spec: &Spec, program: &Path, stage: Stage, errno: u32) -> ExecError {
    let err = io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(i32::MAX));
    match stage {
        Stage::Exec => explain_start(spec, program, err),
        Stage::Dir => {
            let why = format!("its working directory is {}: {err}", spec.working_dir.display());
            let what = format!("start {:?}", spec.program.as_os_str());
            ExecError::new(ExecErrorKind::BadWorkingDir, what).with_source(why)
        }
        _ => failed(spec, kind_of(&err), stage).with_source(err),
    }
}

/// The error of a start that failed before there was anything to start.
pub(crate) fn of_host(spec: &Spec, err: io::Error) -> ExecError {
    let what = format!("start {:?}", spec.program.as_os_str());
    ExecError::new(kind_of(&err), what).with_source(err)
}

fn failed(spec: &Spec, kind: ExecErrorKind, stage: Stage) -> ExecError {
    let program = spec.program.as_os_str();
    ExecError::new(kind, format!("start {program:?}: could not {}", stage.what()))
}

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
