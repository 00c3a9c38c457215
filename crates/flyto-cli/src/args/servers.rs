//! What stands behind `flyto servers`.

use clap::{Args as Group, Subcommand};

use super::Common;

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto servers
  flyto servers show time
  flyto servers approve time
  flyto servers approve time get_current_time --yes

Servers of the Model Context Protocol stand under \"mcpServers\" in the configuration and in manifests of plugins.
Their tools are called like any other: `flyto call time:get_current_time timezone=UTC`.

What a server offers when it is first connected to is kept, in the state directory of flyto. A tool that is new
later, or declared in another way, is held back until you approve it.")]
pub(crate) struct Servers {
    #[command(subcommand)]
    pub(crate) what: Option<ServersWhat>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersWhat {
    /// Connects to every server, and tells the state of each
    List(ServersList),
    /// Connects to one server, and shows its tools and what is held back
    Show(ServersShow),
    /// Shows what is held back, and asks whether it may be used
    Approve(ServersApprove),
}

#[derive(Debug, Group)]
pub(crate) struct ServersList {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct ServersShow {
    /// The name of the server
    pub(crate) name: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct ServersApprove {
    /// The name of the server
    pub(crate) name: String,
    /// The tool, by the name that the server has for it; without one, all of them
    pub(crate) tool: Option<String>,
    /// Approves without a question
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    common: Common,
}

impl Servers {
    pub(super) fn common(&mut self) -> &mut Common {
        match &mut self.what {
            None => &mut self.common,
            Some(ServersWhat::List(it)) => &mut it.common,
            Some(ServersWhat::Show(it)) => &mut it.common,
            Some(ServersWhat::Approve(it)) => &mut it.common,
        }
    }
}
