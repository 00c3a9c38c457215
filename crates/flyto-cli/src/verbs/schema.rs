//! `schema`: what editors check files against.

use crate::args::{Schema, SchemaKind};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;

pub(super) fn run(args: &Schema, session: &Session) -> Result<Exit, Stop> {
    let schema = match args.kind {
        SchemaKind::Plugin => flyto_host::schema::plugin(),
        SchemaKind::ExecTool => flyto_host::schema::exec_tool(),
        SchemaKind::Config => flyto_host::schema::config(),
    };
    session.screen.document(&schema)?;
    Ok(Exit::Ok)
}
