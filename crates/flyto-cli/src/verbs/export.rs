//! `export`: tools in the shape that an API takes.

use flyto_tools::{DescribeContext, Entry, export::export};

use crate::args::Export;
use crate::exit::{Exit, Why};
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::words::tame;

pub(super) fn run(args: &Export, session: &Session) -> Result<Exit, Stop> {
    let loaded = session.load_with_servers()?;
    let tools = loaded.host.registry().snapshot();
    let entries: Vec<Entry> = match &args.names[..] {
        [] => tools.iter().cloned().collect(),
        names => names.iter().map(|it| loaded.find(it)).collect::<Result<_, _>>()?,
    };
    let exported = export(&entries, args.shape, &DescribeContext::new().with_tools(tools));
    // A tool that was asked for by name is not left out.
    if let Some(err) = exported.refused.first().filter(|_| !args.names.is_empty()) {
        return Err(Stop::new(Why::Broken, chain(err)));
    }
    let screen = session.screen;
    screen.document(&exported.tools)?;
    for err in &exported.refused {
        screen.note(tame(&chain(err)));
    }
    Ok(Exit::Ok)
}
