//! The files in which clients look for servers.

use std::path::PathBuf;

use flyto_host::Surroundings;
use flyto_mcp::install::ServerFile;

use crate::args::Client;
use crate::exit::Why;
use crate::stop::Stop;

/// A file of a client.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    pub(super) form: ServerFile,
}

impl Place {
    /// The file of a client, as its documentation names it:
    /// [Claude Code](https://code.claude.com/docs/en/mcp),
    /// [Codex](https://developers.openai.com/codex/mcp),
    /// [Gemini CLI](https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md),
    /// [VS Code](https://code.visualstudio.com/docs/copilot/customization/mcp-servers),
    /// [Cursor](https://cursor.com/docs/context/mcp).
    ///
    /// # Errors
    ///
    /// There is no home directory.
    pub(super) fn of(
        client: Client,
        is_project: bool,
        surroundings: &Surroundings,
    ) -> Result<Self, Stop> {
        let env = &surroundings.env;
        let json = |key, has_type, has_comments| ServerFile::Json { key, has_type, has_comments };
        let form = match client {
            Client::ClaudeCode | Client::Cursor => json("mcpServers", true, false),
            Client::Gemini => json("mcpServers", false, true),
            Client::Vscode => json("servers", true, true),
            Client::Codex => ServerFile::Toml,
        };
        if is_project {
            let file = match client {
                Client::ClaudeCode => ".mcp.json",
                Client::Gemini => ".gemini/settings.json",
                Client::Vscode => ".vscode/mcp.json",
                Client::Cursor => ".cursor/mcp.json",
                Client::Codex => ".codex/config.toml",
            };
            return Ok(Self { file: surroundings.current_dir.join(file), form });
        }
        let dir = |name: &str| env.get(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let home = dir("HOME").ok_or_else(|| {
            Stop::new(Why::Failed, "there is no home directory").with_help("set HOME")
        })?;
        let file = match client {
            Client::ClaudeCode => dir("CLAUDE_CONFIG_DIR").unwrap_or(home).join(".claude.json"),
            Client::Codex => {
                dir("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml")
            }
            Client::Gemini => home.join(".gemini/settings.json"),
            Client::Vscode if cfg!(target_os = "macos") => {
                home.join("Library/Application Support/Code/User/mcp.json")
            }
            Client::Vscode => dir("XDG_CONFIG_HOME")
                .unwrap_or_else(|| home.join(".config"))
                .join("Code/User/mcp.json"),
            Client::Cursor => home.join(".cursor/mcp.json"),
        };
        Ok(Self { file, form })
    }
}
