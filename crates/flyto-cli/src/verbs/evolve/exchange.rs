//! `evolve export` and `import`: tools from and to other stores.

use std::fs::File;
use std::io::{self, Write as _};

use serde::Serialize;

use super::decide::{apply, read};
use crate::args::evolve::{Export, Import};
use crate::evolve::person;
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::words::one_line;

#[derive(Serialize)]
struct Exported<'a> {
    name: &'a str,
    version: u64,
    file: String,
}

pub(super) fn export(args: &Export, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let version = super::version(&store, &args.name, args.version)?;
    let text = flyto_evolve::export(&version);
    let screen = session.screen;
    let Some(dir) = &args.to else {
        // The document is JSON in any case, byte for byte.
        screen.lines_of_json(&text)?;
        return Ok(Exit::Ok);
    };
    let path = dir.join(format!("{}.tool.json", version.definition.name));
    let shown = one_line(&path.to_string_lossy());
    let written = File::create_new(&path).and_then(|mut it| it.write_all(text.as_bytes()));
    written.map_err(|err| match err.kind() {
        io::ErrorKind::AlreadyExists => {
            Stop::new(Exit::NotAllowed, format!("{shown} is there already"))
                .with_help("remove it, or name another directory")
        }
        io::ErrorKind::NotFound => {
            Stop::new(Exit::NotFound, format!("there is no directory for {shown}"))
        }
        _ => Stop::new(Exit::OutputLost, format!("failed to write {shown}: {err}")),
    })?;
    if screen.is_json() {
        let (name, version) = (&*version.definition.name, version.number);
        let file = path.to_string_lossy().into_owned();
        screen.document(&Exported { name, version, file })?;
    } else {
        screen.answer(format!("{shown}\n"))?;
    }
    Ok(Exit::Ok)
}

pub(super) fn import(args: &Import, session: &Session) -> Result<Exit, Stop> {
    let text = read(&args.file)?;
    let from = match args.file.as_os_str() == "-" {
        true => "stdin".to_owned(),
        false => args.file.to_string_lossy().into_owned(),
    };
    let imported = flyto_evolve::import(&text, &from, &person(session.env()));
    let mut proposal = imported.map_err(|err| {
        let from = one_line(&from);
        Stop::new(Exit::Invalid, format!("{from} cannot be imported: {}", chain(&err)))
            .with_help("`flyto evolve export` writes such files; `propose` takes a definition")
    })?;
    proposal.base = args.base;
    apply(proposal, session)
}
