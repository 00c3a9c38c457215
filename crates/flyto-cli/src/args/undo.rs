//! The options of `undo`.

use clap::Args as Group;

use super::Common;

#[derive(Debug, Group)]
#[command(after_help = "\
Without CALL, the latest call is undone that can be, unless a later one may have been undone: then name one.
Several are undone in the reverse order of their calls, and the first that is not undone ends it. CALL is
the id of a call, or the beginning of one if no other call's begins like that; `call` tells it.

Undoing is a call of the inverse tool that the result names, and goes through all stages. Exit code 5: the call was undone
already, or may have been: an undoing was interrupted, and no call is undone twice. Else it is that of the inverse call.

Calls can be undone for 30 days, and 1,000 are kept.")]
pub(crate) struct Undo {
    /// The ids of calls
    #[arg(value_name = "CALL")]
    pub(crate) calls: Vec<String>,
    /// Lists the calls that can be undone, and those that were
    #[arg(long, conflicts_with = "calls")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(super) common: Common,
}
