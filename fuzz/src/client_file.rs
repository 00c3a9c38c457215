//! The files in which other clients have their servers.

use flyto_mcp::import::{ClientFile, ClientFileContext, MAX_SERVER_BYTES, MAX_SERVERS};
use flyto_mcp::install::{ServerEntry, ServerFile};
use serde_json::Value;

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

/// The files to which a server is added, in each format.
const INSTALLED: [ServerFile; 3] = [
    ServerFile::Json { key: "mcpServers", has_type: true, has_comments: false },
    ServerFile::Json { key: "servers", has_type: true, has_comments: true },
    ServerFile::Toml,
];

/// The file of another client, to which a server is added.
///
/// # Panics
///
/// A byte of the file is another one afterwards, the file says another thing beside the server, or the server is added twice.
pub fn install(bytes: &[u8]) {
    let server = ServerEntry::new("flyto", "/usr/bin/flyto").args(["--plugins=/p", "serve"]);
    for file in INSTALLED {
        let Ok(Some(after)) = file.with(bytes, &server) else { continue };
        assert_eq!(file.with(after.as_bytes(), &server), Ok(None), "it is there now");
        let text = std::str::from_utf8(bytes).expect("it was read");
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            assert_eq!(after, file.only(&server));
            continue;
        }
        assert!(is_kept(bytes, after.as_bytes()), "a comma is added, and one piece");
        if let ServerFile::Json { key, has_comments: false, .. } = file {
            same_but(key, text, &after);
        }
    }
}

/// Whether a text is a former one with a comma at most and one piece more.
fn is_kept(before: &[u8], after: &[u8]) -> bool {
    let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let at = differ(before, after);
    let (left, rest) = (&before[at..], &after[at..]);
    rest.ends_with(left)
        || rest.strip_prefix(b",").is_some_and(|rest| {
            let at = differ(left, rest);
            rest[at..].ends_with(&left[at..])
        })
}

/// Compares two texts of JSON, the second of which has a server more under `key`.
fn same_but(key: &str, before: &str, after: &str) {
    let value = |text: &str| serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'));
    // A text that is deeper than the other reader goes is not compared.
    let (Ok(before), Ok(mut after)) = (value(before), value(after)) else { return };
    let servers = after[key].as_object_mut().expect("an object of servers");
    servers.remove("flyto").expect("it is there");
    let is_new = servers.is_empty() && before.get(key).is_none();
    if is_new {
        after.as_object_mut().expect("an object").remove(key);
    }
    assert_eq!(before, after);
}
