//! The definitions of imported tools that the operator knows.
//!
//! A server says itself what its tools are, and may say another thing tomorrow: a description that was harmless when it was read is
//! then an instruction to the model. So the definitions of a server are kept when it is first connected to, and a tool that is
//! new or declared in another way is not used until the operator approves it.
//!
//! One file a server, in a directory of the user's state: readable JSON, replaced in one step.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::definition::Definition;
use crate::Revision;

/// Bytes of a file of pins, at most. A list of tools has 8 MiB; the indentation of a deep one may be longer than its text, so that it is
/// written without.
const MAX_BYTES: u64 = 64 << 20;

/// The version of the format.
const FORMAT: u32 = 1;

/// The directory with the pins of one user.
#[derive(Debug, Clone)]
pub(super) struct PinStore(PathBuf);

/// The pinned tools of one server, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Pins {
    pub(super) tools: BTreeMap<String, Definition>,
    /// The version that the server had; empty where it had none.
    pub(super) version: String,
    /// The revision that was agreed on last; `None` in a file of a former version.
    pub(super) revision: Option<Revision>,
}

/// What tells two states of a file apart without reading it: a file that is replaced is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    n_bytes: u64,
    #[cfg(unix)]
    inode: u64,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    /// For people.
    server: String,
    declared_in: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    revision: String,
    tools: Vec<Value>,
}

impl PinStore {
    pub(super) fn new(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    /// The file of a server: its name and what declares it make it. A server of another project is another one, and 128 bits
    /// of the digest keep a path from being made that names the file of another.
    pub(super) fn file(&self, server: &str, declared_in: &Path) -> PathBuf {
        let digest = Sha256::digest(format!("{server}\0{}", declared_in.display()));
        let digest: String = digest[..16].iter().map(|it| format!("{it:02x}")).collect();
        self.0.join(format!("{server}-{digest}.json"))
    }

    /// The pins of a server; `None` where it was never connected to.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is damaged. Then none of its tools can be used: what was known is not known any more.
    pub(super) fn load(&self, server: &str, declared_in: &Path) -> io::Result<Option<Pins>> {
        let mut text = Vec::new();
        match File::open(self.file(server, declared_in)) {
            Ok(file) => file.take(MAX_BYTES).read_to_end(&mut text)?,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(err),
        };
        let stored: Stored = serde_json::from_slice(&text)?;
        if stored.format != FORMAT {
            let what = format!("its format {} is not known here", stored.format);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let tools = stored.tools.into_iter().map(|it| match Definition::read(it) {
            Ok(tool) => Ok((tool.name.clone(), tool)),
            Err(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
        });
        Ok(Some(Pins {
            tools: tools.collect::<io::Result<_>>()?,
            version: stored.version,
            revision: Revision::parse(&stored.revision),
        }))
    }

    /// The state of the file of a server; `None` where there is none.
    pub(super) fn stamp(&self, server: &str, declared_in: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(self.file(server, declared_in)).ok()?;
        Some(Stamp {
            modified: metadata.modified().ok(),
            n_bytes: metadata.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&metadata),
        })
    }

    /// The directory.
    pub(super) fn dir(&self) -> &Path {
        &self.0
    }

    /// Keeps the pins of a server in place of those that were there.
    ///
    /// # Errors
    ///
    /// The file cannot be written. What was there is still there.
    pub(super) fn save(&self, server: &str, declared_in: &Path, pins: &Pins) -> io::Result<()> {
        let stored = Stored {
            format: FORMAT,
            server: server.to_owned(),
            declared_in: declared_in.display().to_string(),
            version: pins.version.clone(),
            revision: pins.revision.map(|it| it.to_string()).unwrap_or_default(),
            tools: pins.tools.values().map(Definition::to_value).collect(),
        };
        let mut text = serde_json::to_vec_pretty(&stored)?;
        text.push(b'\n');
        if text.len() as u64 > MAX_BYTES {
            text = serde_json::to_vec(&stored)?;
        }
        flyto_host::replace_file(&self.file(server, declared_in), &text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pins_are_there_again_and_damage_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = PinStore::new(dir.path().join("mcp"));
        let file = Path::new("/etc/flyto.json");
        assert_eq!(store.load("s", file).expect("none"), None);
        let tool = json!({"name": "a", "description": "d", "inputSchema": {"type": "object"}});
        let tool = Definition::read(tool).expect("in order");
        let tools = [("a".to_owned(), tool)].into_iter().collect();
        let revision = Some(Revision::LATEST_LEGACY);
        let pins = Pins { tools, version: "1".to_owned(), revision };
        store.save("s", file, &pins).expect("written");
        assert_eq!(store.load("s", file).expect("read"), Some(pins));
        assert_eq!(store.load("s", Path::new("/other.json")).expect("none"), None);
        for text in ["", "{}", r#"{"format": 2, "server": "s", "declared_in": "", "tools": []}"#] {
            fs::write(store.file("s", file), text).expect("written");
            store.load("s", file).expect_err(text);
        }
    }

    #[test]
    fn a_deep_list_can_be_read_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = PinStore::new(dir.path().join("mcp"));
        let mut deep = json!(vec![1; 100_000]);
        for _ in 0..90 {
            deep = json!([deep]);
        }
        // With indentation, each takes 19 MB.
        let tool = |name: &&str| {
            let schema = json!({"type": "object", "examples": deep});
            Definition::read(json!({"name": name, "inputSchema": schema})).expect("in order")
        };
        let tools = ["a", "b", "c", "d"].iter().map(|it| (it.to_string(), tool(it))).collect();
        let pins = Pins { tools, ..Pins::default() };
        let file = Path::new("/etc/flyto.json");
        store.save("s", file, &pins).expect("written");
        assert_eq!(store.load("s", file).expect("read"), Some(pins));
    }
}
