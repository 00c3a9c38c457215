//! `install`: adds `flyto serve` to the configuration of an MCP client.

mod places; // which file which client reads

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use flyto_diagnostics::files::{self, ReadError};
use flyto_mcp::install::{InstallError, ServerEntry};
use serde::Serialize;

use self::places::Place;
use crate::args::{Client, Install};
use crate::exit::{Exit, Why};
use crate::session::Session;
use crate::stop::Stop;
use crate::words::{one_line, tame};

#[derive(Serialize)]
struct Document<'a> {
    file: String,
    name: &'a str,
    /// What belongs into the file, where it is printed only.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'a str>,
    /// Whether the file was changed.
    is_changed: bool,
}

pub(super) fn run(args: &Install, session: &Session) -> Result<Exit, Stop> {
    if args.client == Client::Gemini && args.name.contains('_') {
        // Its rules split the name of a tool at the first `_` behind that of the server.
        return Err(Stop::usage("Gemini CLI takes no name of a server with `_`")
            .with_help("take another `--name`"));
    }
    let surroundings = session.surroundings()?;
    let place = Place::of(args.client, args.project, &surroundings)?;
    let server = server(args, session, &surroundings.current_dir)?;
    if args.print {
        let only = place.form.only(&server);
        return told(args, session, &place.file, Some(&only), false);
    }
    let stop = |why: InstallError| {
        let help = match why {
            InstallError::OtherServer { .. } => "take it out, or take another `--name`",
            _ => PRINT_HELP,
        };
        Stop::new(Why::Broken, format!("{} {}", place.file.display(), tame(&why.to_string())))
            .with_help(help)
    };
    let with_server = |before: &[u8]| place.form.with(before, &server).map_err(stop);
    let is_changed = match with_server(&read(&place.file)?)? {
        // Nothing is written, so nothing is locked.
        None => false,
        Some(_) => change(&place.file, with_server)?,
    };
    told(args, session, &place.file, None, is_changed)
}

/// What helps where the file cannot be changed.
const PRINT_HELP: &str = "`--print` prints what belongs into it";

/// How often a change begins anew because another program, such as the client, wrote the file meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// Replaces a file by what `with` makes of its bytes; false where that is nothing. No change that another process makes
/// meanwhile is lost: other `flyto install` wait for a lock, and what another program wrote is read anew before the file
/// is replaced.
fn change(file: &Path, with: impl Fn(&[u8]) -> Result<Option<String>, Stop>) -> Result<bool, Stop> {
    let lost = |err: io::Error| Stop::not_written(file, &err).with_help(PRINT_HELP);
    let file = &*flyto_host::file_behind_links(file).map_err(lost)?;
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir).map_err(lost)?;
    }
    let _lock = flyto_host::lock_config_file(file).map_err(|err| {
        Stop::new(Why::Failed, format!("failed to lock {}: {err}", file.display()))
            .with_help(PRINT_HELP)
    })?;
    for _ in 0..MAX_ATTEMPTS {
        let before = read(file)?;
        let Some(after) = with(&before)? else { return Ok(false) };
        let new = NewFile::write(file, &after).map_err(lost)?;
        if read(file)? == before {
            return new.put_in_place().map(|()| true).map_err(lost);
        }
    }
    let what = "another program writes it again and again";
    let help = "end the client, then install again";
    Err(lost(io::Error::new(io::ErrorKind::ResourceBusy, what)).with_help(help))
}

/// What the client starts: this program with the sources that were named.
fn server(args: &Install, session: &Session, dir: &Path) -> Result<ServerEntry, Stop> {
    let text = |word: OsString| {
        word.into_string().map_err(|word| {
            Stop::usage(format!("{word:?} is no UTF-8, which the files of clients are"))
        })
    };
    let command = match args.project {
        true => "flyto".to_owned(),
        false => text(std::env::current_exe().map_err(Stop::internal)?.into_os_string())?,
    };
    let mut words = Vec::new();
    for word in session.source_words() {
        let word = text(word)?;
        let Some((option, path)) = word.split_once('=') else {
            words.push(word);
            continue;
        };
        // The store of evolved tools is made when there is one.
        if option != "--evolve" && matches!(dir.join(path).try_exists(), Ok(false)) {
            let path = plain(&dir.join(path)).display().to_string();
            session.screen.note(format_args!(
                "there is no {} now; the server that the client starts needs it",
                one_line(&path)
            ));
        }
        words.push(match args.project {
            true => word,
            // The client starts it in a directory of its own.
            false => format!("{option}={}", plain(&dir.join(path)).display()),
        });
    }
    words.push("serve".to_owned());
    Ok(ServerEntry::new(&args.name, command).args(words))
}

/// An absolute path without `.` and `..`. Where a link on the way gives `..` another meaning, links are resolved as well.
fn plain(path: &Path) -> PathBuf {
    let mut res = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(res.pop()),
            component => res.push(component),
        }
    }
    match (fs::canonicalize(path), fs::canonicalize(&res)) {
        (Ok(real), Ok(there)) if real == there => res,
        (Ok(real), _) => real,
        _ => res,
    }
}

/// The bytes of a regular file, and none where there is no file. Nothing else is waited for.
fn read(file: &Path) -> Result<Vec<u8>, Stop> {
    let (why, what) = match files::read(file) {
        Ok(bytes) => return Ok(bytes),
        Err(ReadError::Missing) => return Ok(Vec::new()),
        Err(ReadError::TooLarge) => {
            (Why::Broken, format!("{} is longer than 16 MiB", file.display()))
        }
        Err(err) => (Why::Failed, format!("failed to read {}: {err}", file.display())),
    };
    Err(Stop::new(why, what).with_help(PRINT_HELP))
}

/// A file with the new text beside the one that it is to replace; removed where it is dropped before that.
struct NewFile {
    path: PathBuf,
    /// What it replaces.
    target: PathBuf,
}

impl NewFile {
    /// Writes the text, with the rights of the file that is there, and waits until it is on the disk.
    fn write(file: &Path, text: &str) -> io::Result<Self> {
        let target = file.to_owned();
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.flyto-{}", std::process::id()));
        let mut open = fs::File::options().write(true).create_new(true).open(&path)?;
        let res = Self { path, target };
        if let Ok(old) = fs::metadata(&res.target) {
            open.set_permissions(old.permissions())?;
        }
        open.write_all(text.as_bytes())?;
        open.sync_all()?;
        Ok(res)
    }

    /// Replaces the file in one step.
    fn put_in_place(self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After the rename there is none.
        let _ = fs::remove_file(&self.path);
    }
}

/// Says what was done, and what the client does with it.
fn told(
    args: &Install,
    session: &Session,
    file: &Path,
    entry: Option<&str>,
    is_changed: bool,
) -> Result<Exit, Stop> {
    let (screen, name) = (session.screen, &*args.name);
    let path = file.display().to_string();
    if screen.is_json() {
        screen.document(&Document { file: path, name, entry, is_changed })?;
        return Ok(Exit::Ok);
    }
    let path = one_line(&path);
    match entry {
        Some(entry) => {
            screen.note(format_args!("this belongs into {path}"));
            screen.answer(entry)?;
        }
        None if is_changed => screen.answer(format!("{path}: {name} is there now\n"))?,
        None => screen.answer(format!("{path}: {name} was there before\n"))?,
    }
    if is_changed {
        screen.note(next(args));
    }
    Ok(Exit::Ok)
}

/// How the user checks that the client has the server.
fn next(args: &Install) -> &'static str {
    match args.client {
        Client::ClaudeCode if args.project => {
            "`claude` asks whether you trust it when it is started in this directory"
        }
        Client::ClaudeCode => "`claude mcp list` shows it as connected",
        Client::Codex if args.project => {
            "`codex mcp list` shows it in this directory, once Codex trusts the project"
        }
        Client::Codex => "`codex mcp list` shows it",
        Client::Gemini => {
            "`gemini mcp list` shows it as connected, in a folder that Gemini CLI trusts"
        }
        Client::Vscode => "VS Code asks whether it is trusted when it is started first",
        Client::Cursor => "the settings of Cursor show it under its tools",
    }
}
