//! The file that a tool runs, as far as it can be seen when the manifest is read.
//!
//! What is seen here may change before the first call, or lie on another machine, so a program
//! that is missing is a warning. One thing is an error: a file whose digest is not the demanded
//! one.

use std::{
    borrow::Cow,
    ffi::OsStr,
    fs::{self, Metadata},
    io::Read as _,
    path::{Path, PathBuf},
};

use flyto_diagnostics::{At, Diagnostic, quoted};
use flyto_execenv::{Declared, Sha256};
use serde_json::Value;
use sha2::Digest as _;

use super::place::Place;
use crate::{codes, files, options::Depth};

/// Where a program is looked for.
/// The same rule as at a start: a text with `/` is a path from the directory in which the tool
/// starts, any other is a name for the `PATH`.
pub(super) struct Looks<'a> {
    /// The directory in which it starts; `None` where that could not be read.
    pub(super) start_dir: Option<Cow<'a, Path>>,
    /// The declared variables, among which may be a `PATH`.
    /// `None` where they could not be read; then the `PATH` is not known.
    pub(super) env: Option<&'a Declared>,
    pub(super) place: Place<'a>,
}

impl Looks<'_> {
    /// Whether there is a file that `command` stands for.
    /// `false` also where that is not known.
    pub(super) fn is_there(&self, command: &str) -> bool {
        if command.contains('/') {
            self.resolved(command).is_some_and(|it| it.is_file())
        } else {
            self.found_in_path(command).unwrap_or(false)
        }
    }

    /// The path of a command with `/` in it; `None` where the start directory is not known.
    fn resolved(&self, command: &str) -> Option<PathBuf> {
        Some(self.start_dir.as_ref()?.join(command))
    }

    /// Whether a name is that of a program in the `PATH` that the tool will have; `None` where
    /// that is not known.
    fn found_in_path(&self, name: &str) -> Option<bool> {
        self.in_path(name).map(|it| it.is_some())
    }

    /// The file that `command` stands for, where that is known.
    ///
    /// It need not exist where the command is a path.
    pub(super) fn file(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') { self.resolved(command) } else { self.in_path(command).flatten() }
    }

    /// The outer `None`: not known, because no `PATH` was given, the tool declares its own, or
    /// its directory could not be read. The inner one: no executable file of that name. Relative
    /// entries of the `PATH` start in the tool's directory.
    fn in_path(&self, name: &str) -> Option<Option<PathBuf>> {
        let declares_path = self.env?.iter().any(|(name, _)| name == "PATH");
        let path = self.place.options.path.as_deref().filter(|_| !declares_path)?;
        let start_dir = self.start_dir.as_ref()?;
        Some(std::env::split_paths(path).map(|dir| start_dir.join(dir).join(name)).find(|file| {
            fs::metadata(file).is_ok_and(|it| it.is_file() && files::is_executable(&it))
        }))
    }
}

/// A warning when the program is not there, or cannot be run. It may come later, or lie where
/// another backend runs it, so this is never an error.
/// A path is always looked at. A bare name is looked up at [`Depth::Full`] only, or where it has
/// an extension, as `run.sh` does.
pub(super) fn check(at: At<'_>, command: &str, looks: &Looks<'_>) -> Option<Diagnostic> {
    let full = looks.place.options.depth == Depth::Full;
    if command.contains('/') {
        let dir = looks.start_dir.as_ref()?;
        return match looks.place.seen.metadata_in(dir, Path::new(command)) {
            Some(metadata) => cannot_run(at, command, dir, &metadata),
            None => Some(missing(at, command, &dir.join(command))),
        };
    }
    // A script that is called by its bare name is a frequent slip, and its name shows it.
    if full || Path::new(command).extension().is_some() {
        let missing = looks.found_in_path(command) == Some(false);
        if missing && looks.resolved(command).is_some_and(|it| it.is_file()) {
            return Some(needs_dot_slash(at, command));
        }
        if missing && full {
            let what = format!("the program {} is not in the PATH", quoted(command));
            let help = "install it, or write the path of the program";
            return Some(at.warning(codes::NO_PROGRAM, what).with_help(help));
        }
    }
    None
}

/// A warning when the program of a command that starts in a session's directory cannot be there:
/// one with its whole path, or a bare name.
/// A relative path leads into a directory that only the session knows, and is not looked at.
pub(super) fn check_installed(at: At<'_>, command: &str, place: Place<'_>) -> Option<Diagnostic> {
    let path = Path::new(command);
    if path.is_absolute() {
        return match place.seen.metadata(path) {
            Some(metadata) => cannot_run(at, command, Path::new(""), &metadata),
            None => Some(missing(at, command, path)),
        };
    }
    if place.options.depth != Depth::Full || command.contains('/') {
        return None;
    }
    let looks = Looks { start_dir: Some(place.dir.into()), env: Some(&Declared::new()), place };
    if looks.found_in_path(command) == Some(false) {
        let what = format!("the program {} is not in the PATH", quoted(command));
        let help = "install it, or write the path of the program; a program of the plugin is \
                    `\"$PLUGIN_ROOT/run.sh\"`";
        return Some(at.warning(codes::NO_PROGRAM, what).with_help(help));
    }
    None
}

/// Whether an executable file is at the path `command`, from `dir` on, so that neither [`check`] nor [`check_installed`]
/// has a warning.
pub(super) fn is_runnable(command: &str, dir: &Path, place: Place<'_>) -> bool {
    let metadata = place.seen.metadata_in(dir, Path::new(command));
    metadata.is_some_and(|it| files::other_kind(&it).is_none() && files::is_executable(&it))
}

/// A warning where something is at the path `command`, from `dir` on, that is no executable file.
fn cannot_run(at: At<'_>, command: &str, dir: &Path, metadata: &Metadata) -> Option<Diagnostic> {
    let Some(kind) = files::other_kind(metadata) else {
        let is_executable = files::is_executable(metadata);
        return (!is_executable).then(|| not_executable(at, command, &dir.join(command)));
    };
    let what = format!("{} is {kind}", quoted(command));
    let help = match metadata.is_dir() {
        true => "write the path of a file in it, or the name of a program in the PATH",
        false => "write the path of an executable file, or the name of a program in the PATH",
    };
    Some(at.warning(codes::NO_PROGRAM, what).with_help(help))
}

/// A warning about the file `path`, which is written as `program`, with the command that helps.
pub(super) fn not_executable(at: At<'_>, program: &str, path: &Path) -> Diagnostic {
    let what = format!("the program {} is not executable", quoted(program));
    let path = plain(path);
    let help = format!("chmod +x {}", shell_word(path.as_os_str()));
    at.warning(codes::NO_PROGRAM, what).with_help(help)
}

/// A warning where nothing is at `path`, which is what `command` leads to.
fn missing(at: At<'_>, command: &str, path: &Path) -> Diagnostic {
    let what = format!("the program {} is not there", quoted(command));
    let diag = at.warning(codes::NO_PROGRAM, what);
    if Path::new(command).is_absolute() {
        return diag;
    }
    let diag = diag.with_reason(looked_for_at(path));
    if command.starts_with("~/") {
        diag.with_help("`~` is not expanded here; write the whole path")
    } else {
        diag.with_help("a relative path is taken from the working directory of the tool")
    }
}

/// A warning about a bare name that is no program, where a file of that name lies in the start
/// directory.
fn needs_dot_slash(at: At<'_>, command: &str) -> Diagnostic {
    let better = format!("./{command}");
    let what = format!("{} is looked up in the PATH, where it is not", quoted(command));
    at.warning(codes::NO_PROGRAM, what)
        .with_help(format!("write {} for the file in the working directory", quoted(&better)))
        .with_suggestion(at.span(), Value::from(better).to_string())
}

/// Where something was looked for that is not there: the whole path, however long, as its end is
/// what counts.
pub(super) fn looked_for_at(path: &Path) -> String {
    format!("it is looked for at {:?}", plain(path))
}

/// The finding that a file which must have one digest has another. A call would be refused, too, and
/// is, without this look: reading every file would cost more than finding all plugins.
/// `None` at [`Depth::Quick`], and where the file is not there or cannot be read. The file is
/// read in pieces of 64 KiB.
pub(super) fn other_digest(
    at: At<'_>,
    file: &Path,
    wanted: Sha256,
    place: Place<'_>,
) -> Option<Diagnostic> {
    if place.options.depth != Depth::Full || !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut hasher = sha2::Sha256::new();
    let mut content = fs::File::open(file).ok()?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match content.read(&mut piece).ok()? {
            0 => break,
            n_bytes => hasher.update(&piece[..n_bytes]),
        }
    }
    let got = Sha256(hasher.finalize().into());
    if got == wanted {
        return None;
    }
    let file = plain(file);
    let name = quoted(&file.file_name().unwrap_or_default().to_string_lossy());
    let what = format!("the SHA-256 of {name} is {got} where {wanted} is demanded");
    let help = format!("`sha256sum {}` prints the one it has", shell_word(file.as_os_str()));
    Some(at.error(codes::OTHER_DIGEST, what).with_help(help))
}

/// The path without `.`s, which it loses when it is taken apart and put together.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// A path as one word of a shell.
/// For a help that is copied to a terminal. Bytes that are no UTF-8 are lost.
pub(super) fn shell_word(path: &OsStr) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
