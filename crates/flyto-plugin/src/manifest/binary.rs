//! The section about a plugin's one program.

use std::path::{Component, Path};

use flyto_diagnostics::{At, Diagnostic, ObjectReader, Reported, quoted};

use super::tool::{refuse_nul, sha256};
use crate::codes;

/// Checks `binary`, without which a binary plugin cannot be used at all. What it says is used by
/// nobody yet.
pub(super) fn check(reader: &mut ObjectReader<'_, '_>) -> Result<(), Reported> {
    let at = reader.required_object("binary")?;
    let mut reader = ObjectReader::new(at, reader.findings())?;
    let path = reader.required_string("path").and_then(|path| check_path(&mut reader, path));
    let protocol = reader.optional_one_of("protocol", &[("jsonrpc", ())]);
    reader.also_spelled("timeout_secs", "timeout_seconds");
    let timeout = reader.optional_u64("timeout_secs");
    let digest = sha256(&mut reader);
    let lifetime = reader.optional_one_of("lifetime", &[("call", ()), ("session", ())]);
    reader.suggest_for("command", "path");
    reader.suggest_for("file", "path");
    reader.finish();
    path?;
    protocol?;
    timeout?;
    digest?;
    lifetime?;
    Ok(())
}

fn check_path(reader: &mut ObjectReader<'_, '_>, path: &str) -> Result<(), Reported> {
    let at = reader.at("path");
    if let Err(diagnostic) = refuse_nul(at, "\"path\"") {
        return Err(reader.push(diagnostic));
    }
    path_fault(at, path).map_or(Ok(()), |diagnostic| Err(reader.push(diagnostic)))
}

fn path_fault(at: At<'_>, path: &str) -> Option<Diagnostic> {
    let why = if path.trim().is_empty() {
        "is blank"
    } else if Path::new(path).is_absolute() {
        "is absolute"
    } else if Path::new(path).components().any(|it| it == Component::ParentDir) {
        "leaves the plugin's directory"
    } else {
        return None;
    };
    let what = format!("the path {} of the program {why}", quoted(path));
    let help = "write the path of a file within the plugin's directory, such as `bin/tool`";
    Some(at.error(codes::BINARY_PATH, what).with_help(help))
}
