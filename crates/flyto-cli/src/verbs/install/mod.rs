//! `install`: adds `flyto serve` to the configuration of an MCP client.

mod places; // which file which client reads

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use flyto_mcp::import::MAX_FILE_BYTES;
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
            _ => "`--print` prints what belongs into it",
        };
        Stop::new(Why::Broken, format!("{} {}", place.file.display(), tame(&why.to_string())))
            .with_help(help)
    };
    let before = read(&place.file)?;
    let Some(after) = place.form.with(&before, &server).map_err(stop)? else {
        return told(args, session, &place.file, None, false);
    };
    write(&place.file, &after)
        .map_err(|err| Stop::new(Why::OutputLost, format!("{}: {err}", place.file.display())))?;
    told(args, session, &place.file, None, true)
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

/// The bytes of a file, and none where there is no file; of one that is too long a byte more than it may have.
fn read(file: &Path) -> Result<Vec<u8>, Stop> {
    let failed = |err: io::Error| {
        Stop::new(Why::Failed, format!("failed to read {}: {err}", file.display()))
    };
    let open = match fs::File::open(file) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        open => open.map_err(failed)?,
    };
    let mut bytes = Vec::new();
    open.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Replaces the file in one step, or makes it with its directory. A link leads to the file that is replaced.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let file = match fs::canonicalize(file) {
        Ok(file) => file,
        Err(_) => {
            fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
            file.to_owned()
        }
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let new = file.with_file_name(format!(".{name}.flyto-{}", std::process::id()));
    let written = (|| {
        let mut res = fs::File::options().write(true).create_new(true).open(&new)?;
        if let Ok(old) = fs::metadata(&file) {
            res.set_permissions(old.permissions())?;
        }
        res.write_all(text.as_bytes())?;
        res.sync_all()?;
        fs::rename(&new, &file)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
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
