//! Finding the program, and saying why it did not start.
//!
//! A failed start is an error number, and several causes share each number: `ENOENT` is a missing
//! program, interpreter or working directory. [`explain_start`] looks at the files again to tell
//! which; the answer is a likely one, since they may have changed. [`preflight`] looks at the same
//! things before a start.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, FileType},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::FileTypeExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, open},
    io::Errno,
};

use super::system;
use crate::{ExecError, ExecErrorKind, Filesystem, Isolation, Spec, WordsTooLong};

/// The absolute path of the spec's program.
///
/// A name without a slash is looked up in the spec's `PATH`, whose relative and empty entries start
/// from the spec's working directory (POSIX.1-2024, 8.3). Paths are not looked at: the start itself
/// tells whether they are good.
///
/// Every backend that starts programs on this machine needs it, in any crate: the standard
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
    for candidate in candidates(spec, path, program) {
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

/// The files that a bare name may mean, in the order of the spec's `PATH`.
pub(super) fn candidates(spec: &Spec, path: &OsStr, name: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).map(move |dir| spec.working_dir.join(dir).join(name))
}

/// The program that a name without a slash means in the spec's `PATH`.
pub(super) fn look_up(spec: &Spec, name: &OsStr) -> Option<PathBuf> {
    candidates(spec, spec.env.get("PATH")?, name).find(|it| is_executable(it))
}

/// Whether a file is one that this user may execute.
pub(super) fn is_executable(file: &Path) -> bool {
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_ok() && file.is_file()
}

/// Says why `program` did not start: the system's error number alone does not tell a missing
/// program from a missing interpreter or working directory.
///
/// [`ExecErrorKind::Other`] where nothing tells more than the system did, with the system's error
/// as the cause.
#[must_use]
pub fn explain_start(spec: &Spec, program: &Path, err: io::Error) -> ExecError {
    let errno = err.raw_os_error().map(Errno::from_raw_os_error);
    if errno == Some(Errno::ACCESS)
        && let Some(path) = closed(&spec.isolation, program)
    {
        return closed_error(spec, program, &path);
    }
    let (kind, why) = match errno {
        Some(Errno::TOOBIG) => {
            let res = start_error(spec, ExecErrorKind::TooLong);
            return match words_too_long(spec, program) {
                Some(why) => res.with_source(why),
                None => res.with_source(err),
            };
        }
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
            // A socket cannot even be opened (open(2)).
            | Errno::NXIO,
        ) => look_closer(spec, program),
        Some(errno) if Some(errno) == system::BAD_INTERPRETER => look_closer(spec, program),
        _ => (ExecErrorKind::Other, None),
    };
    let res = start_error(spec, kind);
    match why {
        // The system calls it a lack of permission.
        Some(why) if kind == ExecErrorKind::IsDirectory || is_special(program) => {
            res.with_source(why)
        }
        Some(why) => res.with_source(format!("{why}: {err}")),
        None => res.with_source(err),
    }
}

/// The most bytes that this system takes of arguments and variables together, with a NUL and a pointer for each: it follows
/// the soft limit of the stack that this process has now. `None` where that is not known.
///
/// A program gets that limit from this process, unless its [`Limits`](crate::Limits) set another one.
#[must_use]
pub fn max_words_bytes() -> Option<u64> {
    system::max_words_bytes()
}

fn words_too_long(spec: &Spec, program: &Path) -> Option<WordsTooLong> {
    WordsTooLong::find(spec, program.as_os_str(), max_words_bytes()?)
}

/// What can be told before a start, and would keep the program from starting: a working directory, a
/// program or an interpreter that is not there or may not be used, arguments and variables that are too long.
///
/// It is what [`Executor::preflight`](crate::Executor::preflight) tells for programs on this machine.
///
/// # Errors
///
/// The kind that a start would most likely answer.
pub fn preflight(spec: &Spec) -> Result<(), ExecError> {
    // The same for a pinned program, whose file must be one that may be executed.
    let is_good = |program: &Path| {
        is_executable(program) && interpreter(program).is_none_or(|it| is_executable(&it))
    };
    let program = resolve_program(spec)?;
    if is_usable_dir(&spec.working_dir) && is_good(&program) {
        if let Some(path) = closed(&spec.isolation, &program) {
            return Err(closed_error(spec, &program, &path));
        }
        return match words_too_long(spec, &program) {
            Some(why) => Err(start_error(spec, ExecErrorKind::TooLong).with_source(why)),
            None => Ok(()),
        };
    }
    let (kind, why) = look_closer(spec, &program);
    let res = start_error(spec, kind);
    Err(match why {
        Some(why) => res.with_source(why),
        None => res,
    })
}

/// A file without which the program cannot start and that the isolation does not grant: the program, its interpreter,
/// or the loader of one of them. Links are followed as the kernel does it.
pub(super) fn closed(isolation: &Isolation, program: &Path) -> Option<PathBuf> {
    /// Interpreters of interpreters that the kernel follows (execve(2)).
    const MAX_INTERPRETERS: usize = 5;
    if isolation.filesystem == Filesystem::Host && isolation.denied.is_empty() {
        return None;
    }
    let mut next = program.to_owned();
    for _ in 0..MAX_INTERPRETERS {
        let real = next.canonicalize().ok()?;
        if !isolation.may_read(&real) {
            return Some(real);
        }
        next = interpreter(&real).or_else(|| loader(&real))?;
    }
    None
}

/// The error names the profile that closes the path, where the spec has one.
fn closed_error(spec: &Spec, program: &Path, path: &Path) -> ExecError {
    let is_program = program.canonicalize().is_ok_and(|it| it == path);
    let kind = match is_program {
        true => ExecErrorKind::NotExecutable,
        false => ExecErrorKind::BadInterpreter,
    };
    let by = match &*spec.profiles {
        [] => "the isolation closes".to_owned(),
        [profile] => format!("the sandbox profile {profile:?} closes"),
        profiles => format!("the sandbox profiles {} close", profiles.join(", ")),
    };
    let why = format!("{by} {path:?}");
    start_error(spec, kind).with_source(why)
}

/// Whether this user may change into it.
fn is_usable_dir(dir: &Path) -> bool {
    dir.is_dir() && accessat(CWD, dir, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Finds out what an error number leaves open: `ENOENT` is a missing program, working directory or interpreter.
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
        Ok(meta) if !meta.is_file() => {
            let what = what_it_is(meta.file_type());
            let why = format!("{shown} is {what}; write the path of an executable file");
            (ExecErrorKind::NotExecutable, Some(why))
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

/// Whether it is there and neither a regular file nor a directory.
fn is_special(program: &Path) -> bool {
    fs::metadata(program).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// What something is that is neither a regular file nor a directory, with its article.
fn what_it_is(kind: FileType) -> &'static str {
    if kind.is_socket() {
        "a socket"
    } else if kind.is_fifo() {
        "a named pipe"
    } else {
        "a device"
    }
}

/// Empty where the file cannot be read.
fn first_bytes(program: &Path) -> Vec<u8> {
    // The kernel looks at no more than 256 bytes of a script's first line (execve(2)).
    head(program, 256)
}

/// At most `n_bytes`; empty where the file cannot be read. Opening a named pipe does not wait for
/// its writer.
fn head(program: &Path, n_bytes: u64) -> Vec<u8> {
    let mut res = Vec::new();
    // A process with a lease on it (fcntl(2)) could keep us waiting for three quarters of a minute.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(file) = open(program, flags, Mode::empty()) {
        let _ = File::from(file).take(n_bytes).read_to_end(&mut res);
    }
    res
}

/// Whether this is a file that may be executed, and that no interpreter reads.
pub(super) fn is_binary(file: &Path) -> bool {
    is_executable(file) && is_elf(file)
}

/// By the first four bytes (elf(5)).
fn is_elf(program: &Path) -> bool {
    first_bytes(program).starts_with(b"\x7fELF")
}

/// The loader that a program of 64 bits names (elf(5), `PT_INTERP`).
fn loader(program: &Path) -> Option<PathBuf> {
    /// The program headers and the loader's name stand at the start of the file.
    const MAX_BYTES: u64 = 4096;
    const PT_INTERP: u64 = 3;
    let bytes = head(program, MAX_BYTES);
    let number = |at: usize, n_bytes: usize| {
        let field = bytes.get(at..at.checked_add(n_bytes)?)?;
        let number = field.iter().rev().fold(0_u64, |res, it| res << 8 | u64::from(*it));
        usize::try_from(number).ok()
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size, n_headers) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let header = (0..n_headers)
        .map_while(|it| start.checked_add(it.checked_mul(size)?))
        .find(|it| number(*it, 4).is_some_and(|it| it as u64 == PT_INTERP))?;
    let (at, n_bytes) = (number(header.checked_add(8)?, 8)?, number(header.checked_add(32)?, 8)?);
    let name = bytes.get(at..at.checked_add(n_bytes)?)?.split(|it| *it == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

/// What a script is run by.
///
/// By the first line, of which the kernel reads 256 bytes at most (execve(2)).
pub(super) enum Script {
    /// This program.
    Interpreter(PathBuf),
    /// A program that the first, which is env(1), looks up in `PATH`.
    LookedUp(PathBuf, OsString),
}

/// What the first line of a script says; `None` for what is no script.
pub(super) fn script(program: &Path) -> Option<Script> {
    let bytes = first_bytes(program);
    let line = bytes.strip_prefix(b"#!")?.split(|it| *it == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty());
    let interpreter = PathBuf::from(OsStr::from_bytes(words.next()?));
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Some(Script::Interpreter(interpreter));
    }
    let name = words.find(|it| !it.starts_with(b"-") && !it.contains(&b'='));
    Some(match name.filter(|it| !it.contains(&b'/')) {
        Some(name) => Script::LookedUp(interpreter, OsStr::from_bytes(name).to_owned()),
        None => Script::Interpreter(interpreter),
    })
}

/// The interpreter that a script's `#!` line names.
pub(super) fn interpreter(program: &Path) -> Option<PathBuf> {
    let bytes = first_bytes(program);
    let line = bytes.strip_prefix(b"#!")?.split(|it| *it == b'\n').next()?;
    // Blanks and tabs alone part the words; a carriage return is part of the name (execve(2)).
    let name = line.split(|it| matches!(it, b' ' | b'\t')).find(|it| !it.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

/// The error of a start, with the spec's program in its text.
pub(super) fn start_error(spec: &Spec, kind: ExecErrorKind) -> ExecError {
    ExecError::new(kind, format!("start {:?}", spec.program.as_os_str()))
}

/// The program runs, and this machine is too short of something to look after it.
pub(super) fn lost(spec: &Spec, doing: &str, err: io::Error) -> ExecError {
    ExecError::new(ExecErrorKind::Lost, format!("{doing} {:?}", spec.program.as_os_str()))
        .with_source(err)
}
