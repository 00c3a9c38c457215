//! `import`: servers of the Model Context Protocol from the file of another client.

mod insert; // a text with more servers
mod own; //    this program among the servers

use std::collections::HashSet;
use std::fmt::Display;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flyto_diagnostics::files::{self, ReadError};
use flyto_mcp::import::{
    ClientFile, ClientFileContext, ClientServer, ImportedVariables, MAX_FILE_BYTES,
};
use flyto_security::{DefaultGuard, SecretGuard as _, redact};
use serde::Serialize;
use serde_json::{Map, Value};

use self::own::Own;

use crate::args::Import;
use crate::commands::by_flyto;
use crate::exit::{Exit, Why};
use crate::session::Session;
use crate::stop::Stop;
use crate::words::{counted, one_line, tame};

/// What came of the servers of a file.
#[derive(Debug, Default, Serialize)]
struct Document {
    /// The configuration.
    file: String,
    /// The servers that it did not have.
    added: Map<String, Value>,
    /// The names of those that it had, just like that.
    unchanged: Vec<String>,
    left_out: Vec<LeftOut>,
    /// What is to be known of those that are added.
    notes: Vec<String>,
    /// Whether the configuration was written.
    is_changed: bool,
}

/// A server that was not added.
#[derive(Debug, Serialize)]
struct LeftOut {
    name: String,
    why: String,
}

/// What helps where the configuration cannot be changed.
const PRINT_HELP: &str = "`--print` shows what would be added";

pub(super) fn run(args: &Import, session: &Session) -> Result<Exit, Stop> {
    let surroundings = session.surroundings()?;
    let named = session.named_config().map(|it| surroundings.current_dir.join(it));
    let target = named.or_else(|| surroundings.places.config_file.clone()).ok_or_else(|| {
        Stop::new(Why::Failed, "there is no home directory with a configuration")
            .with_help("set HOME, or name a file by `--config`")
    })?;
    let from = surroundings.current_dir.join(&args.file);
    let text = read(&from)?
        .ok_or_else(|| Stop::new(Why::Missing, format!("there is no file {}", from.display())))?;
    let broken = |file: &Path, why: String| {
        Stop::new(Why::Broken, format!("{} {}", file.display(), tame(&why)))
    };
    let context = ClientFileContext::new(&from, &surroundings.current_dir);
    let context = match surroundings.env.get("HOME") {
        Some(home) => context.home(home),
        None => context,
    };
    let found = ClientFile::parse(&text, &context).map_err(|why| {
        Stop::new(Why::Broken, format!("{}: {}", from.display(), tame(&why.to_string())))
    })?;
    // Until the new text is there, no other process reads the old one to add to it.
    let _lock = match args.print {
        true => None,
        false => Some(flyto_host::lock_config_file(&target).map_err(|err| {
            Stop::new(Why::Failed, format!("failed to lock {}: {err}", target.display()))
                .with_help(PRINT_HELP)
        })?),
    };
    let before = read(&target)?.unwrap_or_else(|| "{\n}\n".to_owned());
    let there = insert::servers(&before).map_err(|why| broken(&target, why))?;
    let own = Own::new(surroundings.env.get("PATH").unwrap_or_default());
    let mut document = Document { file: target.display().to_string(), ..Document::default() };
    let mut variables = ImportedVariables::of(&found.servers);
    let in_file: HashSet<String> = found.servers.iter().map(ClientServer::name).collect();
    let others = there.iter().filter(|(name, _)| !in_file.contains(*name));
    others.for_each(|(_, it)| variables.keep_those_of(it));
    for it in &found.servers {
        let name = it.name();
        let added = match it.convert_beside(&mut variables) {
            _ if it.is_enabled() && own.is_started_by(it) => {
                Err("it is this program, which needs no server for its own tools".to_owned())
            }
            Err(why) => Err(why.to_string()),
            Ok(it) => match there.get(&name) {
                Some(former) if *former == it.declaration => {
                    document.unchanged.push(name);
                    continue;
                }
                Some(_) => Err("the configuration has another server of this name".to_owned()),
                None if document.added.contains_key(&name) => {
                    Err("another server of the file has this name here".to_owned())
                }
                None => Ok(it),
            },
        };
        match added {
            Err(why) => document.left_out.push(LeftOut { name, why }),
            Ok(made) => {
                document.notes.extend(made.notes.iter().map(|it| format!("{name}: {it}")));
                if own::seems_behind(it) {
                    let note =
                        "it seems to run this program, which needs no server for its own tools";
                    document.notes.push(format!("{name}: {note}"));
                }
                document.added.insert(name, made.declaration);
            }
        }
    }
    document.notes.extend(
        found
            .repeated
            .iter()
            .map(|it| format!("the file has {it} more than once, and the last one counts")),
    );
    document.notes.extend(found.other_projects.iter().map(|dir| {
        format!("the servers of the project {dir} are not read; `flyto import` in that directory reads them")
    }));
    // A reason may quote what was not to be copied.
    let guard = DefaultGuard::default();
    let left_out = document.left_out.iter_mut().flat_map(|it| [&mut it.name, &mut it.why]);
    for text in left_out.chain(&mut document.notes) {
        *text = match guard.scan("import", text.as_bytes()) {
            Ok(found) => redact(text, &found),
            Err(_) => "it cannot be told whether this holds a secret".to_owned(),
        };
    }
    if !document.added.is_empty() && !args.print {
        let text = insert::with(&before, &document.added).map_err(|why| broken(&target, why))?;
        let lost = |err| Stop::not_written(&target, &err).with_help(PRINT_HELP);
        let file = flyto_host::file_behind_links(&target).map_err(lost)?;
        flyto_host::replace_file(&file, text.as_bytes()).map_err(lost)?;
        document.is_changed = true;
    }
    told(&document, session)
}

/// The text of a regular file; `None` where there is none. Nothing else is waited for, but for a stream that was handed over as
/// a descriptor: `/dev/stdin`, and what a shell has for `<(…)`.
fn read(file: &Path) -> Result<Option<String>, Stop> {
    let failed = |why: &dyn Display| {
        Stop::new(Why::Failed, format!("failed to read {}: {why}", file.display()))
    };
    let too_long = || Stop::new(Why::Broken, format!("{} is longer than 16 MiB", file.display()));
    let bytes = match is_descriptor(file) {
        true => {
            let mut bytes = Vec::new();
            let open = fs::File::open(file).map_err(|err| failed(&err))?;
            open.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|err| failed(&err))?;
            bytes
        }
        false => match files::read(file) {
            Err(ReadError::Missing) => return Ok(None),
            Err(ReadError::TooLarge) => return Err(too_long()),
            read => read.map_err(|err| failed(&err))?,
        },
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_long());
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(&"it is not UTF-8"))?;
    Ok(Some(text))
}

/// Whether a path leads to a descriptor of this process.
fn is_descriptor(file: &Path) -> bool {
    file == Path::new("/dev/stdin")
        || ["/dev/fd", "/proc/self/fd"].iter().any(|it| file.starts_with(it))
}

/// Shows what is added, line by line.
fn told(document: &Document, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    if screen.is_json() {
        screen.document(document)?;
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    if !document.added.is_empty() {
        text.push_str(&format!("{}: \"mcpServers\"\n", one_line(&document.file)));
        let shown = serde_json::to_string_pretty(&document.added).map_err(Stop::internal)?;
        for line in shown.lines().filter(|it| !matches!(*it, "{" | "}")) {
            text.push_str(&format!("+ {}\n", tame(line)));
        }
    }
    screen.answer(text)?;
    for it in &document.left_out {
        screen.note(format_args!(
            "the server {} is left out: {}",
            one_line(&it.name),
            tame(&it.why)
        ));
    }
    for note in &document.notes {
        screen.note(tame(note));
    }
    match (document.added.len(), document.is_changed) {
        (0, _) if document.left_out.is_empty() => screen.note("there is nothing to add"),
        (0, _) => {}
        (n, true) => {
            let (n_servers, connect) = (counted(n, "server"), by_flyto(["servers"]));
            screen.note(format_args!("{n_servers} added; {connect} connects to each"));
        }
        (_, false) => screen.note("nothing was written"),
    }
    Ok(Exit::Ok)
}
