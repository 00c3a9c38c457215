//! The files in which other clients have their servers.

use flyto_mcp::import::{ClientFile, ClientFileContext, MAX_SERVER_BYTES, MAX_SERVERS};

/// Names of files that are read in different ways: TOML, and JSON with each way to write variables.
const FILES: [&str; 5] = [
    "/home/u/.codex/config.toml",
    "/project/.mcp.json",
    "/home/u/.gemini/settings.json",
    "/project/.cursor/mcp.json",
    "/project/.vscode/mcp.json",
];

/// The file in which another client has its servers. Each server is converted, as of a file of each client.
///
/// # Panics
///
/// A server is beyond the bounds that are stated for it.
pub fn client_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for file in FILES {
        let context = ClientFileContext::new(file, "/project/sub").home("/home/u");
        let Ok(read) = ClientFile::parse(&text, &context) else { continue };
        assert!(read.servers.len() <= MAX_SERVERS);
        for server in &read.servers {
            let Ok(imported) = server.convert() else { continue };
            assert!(imported.declaration.to_string().len() <= MAX_SERVER_BYTES);
            let notes = imported.notes.iter().map(|it| it.to_string().len());
            assert!(notes.sum::<usize>() <= MAX_SERVER_BYTES);
        }
    }
}
