//! Finding the program, and saying why it did not start.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, open},
    io::Errno,
};

use crate::{ExecError, ExecErrorKind, Spec};

/// The absolute path of the spec's program.
///
/// A name without a slash is looked up in the spec's `PATH`, whose relative and empty entries start
/// from the spec's working directory (POSIX.1-2024, 8.3). Paths are not looked at: the start itself
/// tells whether they are good.
///
/// Every backend that starts programs on this machine needs it, whoever wrote it: the standard
/// library would look in the host's `PATH`, and would fork to do so.
///
/// # Errors
///
/// [`ExecErrorKind::ProgramNotFound`] or [`ExecErrorKind::NotExecutable`].
pub fn resolve_program(spec: &Spec) -> Result<PathBuf, ExecError> {
    let program = spec.program.as_os_str();
    if program.as_bytes().contains(&b'/') {
        return Ok(spec.working_dir.join(program));
    }
    let refuse = |kind, why: String| Err(start_error(spec, kind).with_source(why));
    let Some(path) = spec.env.get("PATH") else {
        let why = "it is a bare name, and the program's environment has no PATH";
        return refuse(ExecErrorKind::ProgramNotFound, why.to_owned());
    };
    let mut not_executable = None;
    for dir in std::env::split_paths(path) {
        let candidate = spec.working_dir.join(dir).join(program);
        if is_executable(&candidate) {
            return Ok(candidate);
        }
        if not_executable.is_none() && candidate.is_file() {
            not_executable = Some(candidate);
        }
    }
    match not_executable {
        Some(file) => {
            refuse(ExecErrorKind::NotExecutable, format!("{} is not executable", file.display()))
        }
        None => refuse(
            ExecErrorKind::ProgramNotFound,
            format!("no such program in PATH={}", path.display()),
        ),
    }
}

pub(super) fn is_executable(file: &Path) -> bool {
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_ok() && file.is_file()
}

/// Says why `program` did not start: the system's error number alone does not tell a missing
/// program from a missing interpreter or working directory.
#[must_use]
pub fn explain_start(spec: &Spec, program: &Path, err: io::Error) -> ExecError {
    let errno = err.raw_os_error().map(Errno::from_raw_os_error);
    let (kind, why) = match errno {
        Some(Errno::TOOBIG) => (ExecErrorKind::TooLong, None),
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::TXTBSY) => {
            (ExecErrorKind::Exhausted, None)
        }
        Some(
            Errno::NOENT
            | Errno::ACCESS
            | Errno::PERM
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::NOEXEC
            | Errno::ISDIR
            | Errno::LIBBAD,
        ) => look_closer(spec, program),
        _ => (ExecErrorKind::Other, None),
    };
    let res = start_error(spec, kind);
    match why {
        // The system calls it a lack of permission.
        Some(why) if kind == ExecErrorKind::IsDirectory => res.with_source(why),
        Some(why) => res.with_source(format!("{why}: {err}")),
        None => res.with_source(err),
    }
}

/// What can be told before a start, and would keep the program from starting: a working directory, a
/// program or an interpreter that is not there or may not be used.
///
/// It is what [`Executor::foresee`](crate::Executor::foresee) tells for programs on this machine.
///
/// # Errors
///
/// The kind that a start would most likely answer.
pub fn foresee(spec: &Spec) -> Result<(), ExecError> {
    // The same for a pinned program, whose file must be one that may be executed.
    let is_good = |program: &Path| {
        is_executable(program) && interpreter(program).is_none_or(|it| is_executable(&it))
    };
    let program = resolve_program(spec)?;
    if is_usable_dir(&spec.working_dir) && is_good(&program) {
        return Ok(());
    }
    let (kind, why) = look_closer(spec, &program);
    let res = start_error(spec, kind);
    Err(match why {
        Some(why) => res.with_source(why),
        None => res,
    })
}

fn is_usable_dir(dir: &Path) -> bool {
    dir.is_dir() && accessat(CWD, dir, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

fn look_closer(spec: &Spec, program: &Path) -> (ExecErrorKind, Option<String>) {
    let dir = &spec.working_dir;
    if !is_usable_dir(dir) {
        let why = format!("its working directory is {}", dir.display());
        return (ExecErrorKind::BadWorkingDir, Some(why));
    }
    let shown = program.display();
    match fs::metadata(program) {
        Err(err) if err.kind() == io::ErrorKind::PermissionDenied => {
            (ExecErrorKind::NotExecutable, Some(format!("{shown} cannot be reached")))
        }
        Err(_) => (ExecErrorKind::ProgramNotFound, Some(format!("looked for {shown}"))),
        Ok(meta) if meta.is_dir() => {
            (ExecErrorKind::IsDirectory, Some(format!("{shown} is a directory")))
        }
        Ok(_) if !is_executable(program) => {
            (ExecErrorKind::NotExecutable, Some(format!("{shown} lacks the right to execute")))
        }
        Ok(_) => match interpreter(program) {
            Some(interpreter) if interpreter.as_os_str().as_bytes().ends_with(b"\r") => {
                let why = format!("the first line of {shown} ends in CR LF; save it with LF");
                (ExecErrorKind::BadInterpreter, Some(why))
            }
            Some(interpreter) if !is_executable(&interpreter) => {
                let interpreter = interpreter.display();
                let why = format!("the first line of {shown} names the interpreter {interpreter}");
                (ExecErrorKind::BadInterpreter, Some(why))
            }
            Some(_) => (ExecErrorKind::NotExecutable, None),
            None if is_elf(program) => {
                let why =
                    format!("{shown} was built for another machine, or its loader is missing");
                (ExecErrorKind::BadInterpreter, Some(why))
            }
            None => {
                let why = format!("{shown} is no program and has no `#!` line");
                (ExecErrorKind::NotExecutable, Some(why))
            }
        },
    }
}

fn first_bytes(program: &Path) -> Vec<u8> {
    // The kernel looks at no more than 256 bytes of a script's first line (execve(2)).
    let mut res = Vec::new();
    // Who has a lease on it (fcntl(2)) could keep us waiting for three quarters of a minute.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(file) = open(program, flags, Mode::empty()) {
        let _ = File::from(file).take(256).read_to_end(&mut res);
    }
    res
}

fn is_elf(program: &Path) -> bool {
    first_bytes(program).starts_with(b"\x7fELF")
}

/// The interpreter that a script's `#!` line names.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let bytes = first_bytes(program);
    let line = bytes.strip_prefix(b"#!")?.split(|it| *it == b'\n').next()?;
    // Blanks and tabs alone part the words; a carriage return is part of the name (execve(2)).
    let name = line.split(|it| matches!(it, b' ' | b'\t')).find(|it| !it.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

pub(super) fn start_error(spec: &Spec, kind: ExecErrorKind) -> ExecError {
    ExecError::new(kind, format!("start {:?}", spec.program.as_os_str()))
}

/// The program runs, and this machine is too short of something to look after it.
pub(super) fn lost(spec: &Spec, doing: &str, err: io::Error) -> ExecError {
    ExecError::new(ExecErrorKind::Lost, format!("{doing} {:?}", spec.program.as_os_str()))
        .with_source(err)
}
