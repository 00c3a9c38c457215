//! A file of servers beside a manifest.

use std::path::{Path, PathBuf};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, ObjectReader, Reported, json};

use super::def::ServerDef;
use crate::{
    codes,
    files::{self, Unread},
    manifest::{place::Place, within::stays_within},
};

/// The servers of a file.
/// The manifest needs `was_there`, because a file with errors still offers something.
#[derive(Default)]
pub(in crate::manifest) struct Beside {
    /// Those that can be used, in the order of the text.
    pub(in crate::manifest) servers: Vec<ServerDef>,
    /// Whether there is a file that declares any, right or wrong.
    pub(in crate::manifest) was_there: bool,
    /// Rules of permission stand beside the servers, where none is read. They may be about any tool of the plugin, which
    /// cannot be used then.
    pub(in crate::manifest) unread_rules: Option<Reported>,
}

impl Beside {
    /// Reads a file in the plugin's directory, where there is one, and has `read` take its servers from the object that
    /// it holds, and tell of rules beside them. One that cannot be used costs its servers alone.
    ///
    /// A file that is absent is no finding. A link that leads out of the plugin's directory is not followed.
    pub(super) fn read(
        path: &Path,
        place: Place<'_>,
        findings: &mut Findings,
        read: impl FnOnce(
            At<'_>,
            ObjectReader<'_, '_>,
        ) -> (Result<Vec<ServerDef>, Reported>, Result<(), Reported>),
    ) -> Self {
        let nothing = Self { was_there: true, ..Self::default() };
        // Without the `.` of `./.mcp.json`.
        let file: PathBuf = place.dir.join(path).components().collect();
        let source = match files::read_source(&file) {
            Ok(source) => source,
            Err(Unread::Missing) => return Self::default(),
            Err(Unread::Found(diagnostic)) => {
                findings.push(diagnostic);
                return nothing;
            }
        };
        if !stays_within(place.dir, &file) {
            let what = "the file is a link that leads out of the plugin's directory";
            let at = Location::file(file.display().to_string());
            findings.push(Diagnostic::error(codes::LEAVES_PLUGIN, at, what));
            return nothing;
        }
        let root = match json::parse(&source) {
            Ok(root) => root,
            Err(diagnostic) => {
                findings.push(diagnostic);
                return nothing;
            }
        };
        let root = At::root(&source, &root);
        let Ok(reader) = ObjectReader::new(root, findings) else { return nothing };
        let (servers, unread_rules) = read(root, reader);
        let (servers, unread_rules) = (servers.unwrap_or_default(), unread_rules.err());
        Self { servers, was_there: true, unread_rules }
    }
}
