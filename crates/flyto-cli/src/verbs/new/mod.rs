//! `new`: something to start from.

mod build; //     making a program of Rust source
mod templates; // what there is to start from
mod write; //     files get their place together

use std::io;
use std::path::{Path, PathBuf};

use flyto_plugin::{check_plugin_name, nearest_plugin_name};
use serde::Serialize;

use self::build::Built;
use self::templates::{File, Template, example};
use crate::args::{Lang, Lifetime, New, NewPlugin, NewWhat};
use crate::exit::Exit;
use crate::screen::look;
use crate::session::Session;
use crate::stop::Stop;
use crate::words::{command_line, one_line};

#[derive(Serialize)]
struct Document<'a> {
    plugin: &'a str,
    /// The directory that was written.
    path: String,
    files: Vec<&'static str>,
    /// Whether the program can be run; one that is not built yet cannot.
    runs: bool,
    /// Commands to type next.
    next: Vec<String>,
}

pub(super) fn run(args: &New, session: &Session) -> Result<Exit, Stop> {
    match &args.what {
        NewWhat::Plugin(args) => plugin(args, session),
    }
}

fn plugin(args: &NewPlugin, session: &Session) -> Result<Exit, Stop> {
    let name = &*args.name;
    check_name(name)?;
    let lifetime = args.lifetime.unwrap_or_default();
    let template = Template::of(args.lang, lifetime).ok_or_else(|| {
        Stop::usage("a shell script cannot serve a session")
            .with_help("take `--lang python`, `--lang node` or `--lang rust`")
    })?;
    let dir = args.dir.as_deref().unwrap_or(Path::new("")).join(name);
    if !write::is_free(&dir).map_err(|err| Stop::not_written(&dir, &err))? {
        return Err(taken(&dir));
    }
    let files = template.files(name, lifetime);
    write::write(&dir, &files).map_err(|err| match err.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => taken(&dir),
        _ => Stop::not_written(&dir, &err),
    })?;
    let runs = match args.lang {
        Lang::Rust if args.no_build => false,
        Lang::Rust => made(&dir, session)?,
        _ => true,
    };
    answer(args, &dir, &files, runs, session)?;
    Ok(Exit::Ok)
}

fn check_name(name: &str) -> Result<(), Stop> {
    let Err(fault) = check_plugin_name(name) else { return Ok(()) };
    let stop = Stop::usage(format!("the name {name:?} of a plugin {fault}"));
    Err(match nearest_plugin_name(name) {
        Some(better) => stop.with_help(format!("take {better}")),
        None => stop.with_help("a name is made of letters, digits and `-`, 64 at most"),
    })
}

fn taken(dir: &Path) -> Stop {
    Stop::usage(format!("there is something at {} already", dir.display()))
        .with_help("take another name or `--dir`; nothing is ever written over")
}

/// Builds the program where that is possible.
fn made(dir: &Path, session: &Session) -> Result<bool, Stop> {
    if session.screen.stderr.terminal {
        session.screen.note("building with cargo…");
    }
    let surroundings = session.surroundings()?;
    let built =
        build::build(&surroundings.current_dir.join(dir), surroundings.env, &session.screen)?;
    if built == Built::NoCargo {
        session.screen.note("there is no cargo in PATH, so nothing was built");
    }
    Ok(built == Built::Yes)
}

fn answer(
    args: &NewPlugin,
    dir: &Path,
    files: &[File],
    runs: bool,
    session: &Session,
) -> Result<(), Stop> {
    let screen = session.screen;
    let mut files: Vec<_> = files.iter().map(|it| it.path).collect();
    files.sort_unstable();
    let next = next(&args.name, dir, args.lifetime.unwrap_or_default(), runs);
    let path = dir.display().to_string();
    if screen.is_json() {
        return screen.document(&Document { plugin: &args.name, path, files, runs, next });
    }
    let path = screen.stdout.styled(look::NAME, one_line(&path));
    let mut text = format!("{path}: {}\n\nNext:\n", files.join(" "));
    for command in next {
        text.push_str(&format!("  {command}\n"));
    }
    screen.answer(text)
}

/// What to type next, from where the plugin was written.
fn next(name: &str, dir: &Path, lifetime: Lifetime, runs: bool) -> Vec<String> {
    // A path is no option, whatever it begins with.
    let dir = if dir.to_string_lossy().starts_with('-') {
        Path::new(".").join(dir)
    } else {
        PathBuf::from(dir)
    };
    let dir = dir.to_string_lossy();
    let (tool, input) = example(lifetime);
    let tool = format!("{name}:{tool}");
    let validate = command_line(["flyto", "validate", "--strict", &dir]);
    let call = command_line(["flyto", "--plugins", &dir, "call", &tool, input]);
    if runs {
        vec![validate, command_line(["flyto", "--plugins", &dir, "show", &tool]), call]
    } else {
        let build = format!("cargo {}", build::WORDS.join(" "));
        vec![format!("({} && {build})", command_line(["cd", &*dir])), validate, call]
    }
}
