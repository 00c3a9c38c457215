//! Servers that were never connected to and were not ready in time: what is kept of that for later processes.
//!
//! A program that lists tools is run often, and a server that hangs is not to cost each run its time. So the first failure
//! by time is kept beside the pins, and the programs that only list do not try again until the declaration is another one.
//! A failure that shows at once costs nothing, and is not kept.

use std::{
    fs::File,
    io::{self, Read as _},
};

use flyto_host::DeclaredServer;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{definition::hex, pins::PinStore};

/// Bytes of a file: more than a name, a path and a sentence have.
const MAX_BYTES: u64 = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Late {
    /// For people.
    server: String,
    declared_in: String,
    /// SHA-256 of the declaration: it may hold a secret.
    declaration: String,
    problem: String,
}

impl PinStore {
    /// Why a server with this very declaration was not ready in time; `None` where that is not known.
    pub(super) fn load_late(&self, declared: &DeclaredServer) -> Option<String> {
        let mut text = Vec::new();
        let file = File::open(self.late_file(declared)).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        // A damaged file costs one more attempt.
        let late: Late = serde_json::from_slice(&text).ok()?;
        (late.declaration == digest(declared)).then_some(late.problem)
    }

    /// Keeps that a server was not ready in time. Where that cannot be written, the next process tries again.
    pub(super) fn save_late(&self, declared: &DeclaredServer, problem: &str) {
        let late = Late {
            server: declared.name().to_owned(),
            declared_in: declared.file().display().to_string(),
            declaration: digest(declared),
            problem: problem.to_owned(),
        };
        if let Ok(mut text) = serde_json::to_vec_pretty(&late) {
            text.push(b'\n');
            let _ = flyto_host::replace_file(&self.late_file(declared), &text);
        }
    }

    /// Forgets it, after a connection.
    ///
    /// # Errors
    ///
    /// The file is there, and cannot be removed.
    pub(super) fn forget_late(&self, declared: &DeclaredServer) -> io::Result<()> {
        match std::fs::remove_file(self.late_file(declared)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
            _ => Ok(()),
        }
    }

    fn late_file(&self, declared: &DeclaredServer) -> std::path::PathBuf {
        self.file(declared.name(), declared.file()).with_extension("late.json")
    }
}

fn digest(declared: &DeclaredServer) -> String {
    hex(&Sha256::digest(format!("{:?}", declared.transport())))
}
