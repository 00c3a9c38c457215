//! `evolve export` and `import`: tools from and to other stores.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flyto_evolve::{SkillError, Version, export_skill, import_skill};
use serde::Serialize;

use super::decide::{apply, place, read};
use crate::args::evolve::{Export, ExportForm, Import};
use crate::evolve::person;
use crate::exit::{Exit, Why};
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
    let screen = session.screen;
    let path = match (args.form, &args.to) {
        (ExportForm::File, None) => {
            // The document is JSON in any case, byte for byte.
            screen.lines_of_json(&flyto_evolve::export(&version))?;
            return Ok(Exit::Ok);
        }
        (ExportForm::File, Some(dir)) => write_file(&version, dir)?,
        (ExportForm::Skill, Some(dir)) => write_skill(&version, dir)?,
        (ExportForm::Skill, None) => {
            let stop = Stop::usage("a skill is a folder, and no directory for it is named");
            return Err(stop.with_help("name one by `--to DIR`"));
        }
    };
    let shown = one_line(&path.to_string_lossy());
    if screen.is_json() {
        let (name, version) = (&*version.definition.name, version.number);
        let file = path.to_string_lossy().into_owned();
        screen.document(&Exported { name, version, file })?;
    } else {
        screen.answer(format!("{shown}\n"))?;
    }
    Ok(Exit::Ok)
}

/// Writes the file of a version into a directory.
fn write_file(version: &Version, dir: &Path) -> Result<PathBuf, Stop> {
    let path = dir.join(format!("{}.tool.json", version.definition.name));
    let text = flyto_evolve::export(version);
    let written = File::create_new(&path).and_then(|mut it| it.write_all(text.as_bytes()));
    written.map_err(|err| not_written(&path, &err))?;
    Ok(path)
}

/// Writes the Agent Skills folder of a version into a directory.
fn write_skill(version: &Version, dir: &Path) -> Result<PathBuf, Stop> {
    export_skill(version, dir).map_err(|err| match &err {
        SkillError::Exists { path } => not_written(path, &io::ErrorKind::AlreadyExists.into()),
        SkillError::Io { path, source, .. } => not_written(path, source),
        _ => Stop::new(Why::Broken, chain(&err)),
    })
}

fn not_written(path: &Path, err: &io::Error) -> Stop {
    let shown = one_line(&path.to_string_lossy());
    match err.kind() {
        io::ErrorKind::AlreadyExists => Stop::usage(format!("{shown} is there already"))
            .with_help("remove it, or name another directory"),
        io::ErrorKind::NotFound => {
            let dir = one_line(&path.parent().unwrap_or(path).to_string_lossy());
            let what = format!("{shown} cannot be written, since there is no directory {dir}");
            Stop::new(Why::Missing, what).with_help("make it, or name another one")
        }
        _ => Stop::not_written(path, err),
    }
}

pub(super) fn import(args: &Import, session: &Session) -> Result<Exit, Stop> {
    let by = person(session.env());
    let mut proposal = if args.file.is_dir() {
        import_skill(&args.file, &by).map_err(|err| Stop::new(Why::Broken, chain(&err)))?
    } else {
        let from = place(&args.file);
        flyto_evolve::import(&read(&args.file)?, &from, &by).map_err(|err| {
            let from = one_line(&from);
            Stop::new(Why::Broken, format!("{from} cannot be imported: {}", chain(&err)))
                .with_help("`export` writes such files; `propose` takes a definition")
        })?
    };
    if !proposal.left_out.is_empty() {
        let names: Vec<String> = proposal.left_out.iter().map(|it| one_line(it)).collect();
        session.screen.note(format_args!(
            "left out of {}: {}; they are no part of the tool, which runs without them",
            one_line(&place(&args.file)),
            names.join(", ")
        ));
    }
    proposal.base = args.base;
    proposal.distinct_because.clone_from(&args.distinct_because);
    apply(proposal, "import", session)
}
