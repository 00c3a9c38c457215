//! `completions`: a script that lets a shell complete command lines.

use clap::CommandFactory as _;
use serde::Serialize;

use crate::args::{Args, Completions};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;

#[derive(Serialize)]
struct Document {
    shell: String,
    script: String,
}

pub(super) fn run(args: &Completions, session: &Session) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "flyto", &mut script);
    if session.screen.is_json() {
        let script = String::from_utf8_lossy(&script).into_owned();
        session.screen.document(&Document { shell: args.shell.to_string(), script })?;
    } else {
        session.screen.output(&*script)?;
    }
    Ok(Exit::Ok)
}
