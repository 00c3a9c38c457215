//! The options of `install`.

use clap::{Args as Group, ValueEnum};

use super::Common;

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto install claude-code --plugins ~/plugins
  flyto install vscode --project
  flyto install codex --print

The client starts `flyto serve` with the sources that are named here. The rest of its file stays as it is. A different
server of the same name is an error, and is kept. Installing the same server twice changes nothing.")]
pub(crate) struct Install {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: Client,
    /// Prints the entry and its file, and writes nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Writes the client's file of this directory, in place of the user's own
    ///
    /// The command is `flyto`, without a directory, and paths stay relative: other users may share the file.
    #[arg(long)]
    pub(crate) project: bool,
    /// Name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "flyto", value_parser = server_name)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(super) common: Common,
}

/// A program that starts servers of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// VS Code
    Vscode,
    /// Cursor
    Cursor,
}

/// Reads a name of a server: letters, digits, `_` and `-`.
fn server_name(text: &str) -> Result<String, String> {
    let is_legal = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    match (1..=32).contains(&text.len()) && text.bytes().all(is_legal) {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 32 letters, digits, `_` and `-`".to_owned()),
    }
}
