//! `doctor`, on a system of which nothing is known.

use crate::exit::{Exit, Why};
use crate::session::Session;
use crate::stop::Stop;

pub(super) fn run(_: &Session) -> Result<Exit, Stop> {
    let stop = Stop::new(Why::Failed, "only Linux can be examined");
    Err(stop
        .with_help("on this system a call ends with its process group, and nothing is confined"))
}
