//! The options of `import`.

use std::path::PathBuf;

use clap::Args as Group;

use super::Common;

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto import .mcp.json
  flyto import ~/.codex/config.toml --print
  flyto import ~/.gemini/settings.json

FILE is a file in which Claude Code, Codex, Gemini CLI, VS Code or Cursor has its servers of the Model Context Protocol.
They are added to \"mcpServers\" of your configuration; what stands there is never changed. A secret is not copied:
in its place stands a variable, and a note says which one to set.")]
pub(crate) struct Import {
    /// The file of the client
    pub(crate) file: PathBuf,
    /// Shows what would be added, and writes nothing
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(super) common: Common,
}
