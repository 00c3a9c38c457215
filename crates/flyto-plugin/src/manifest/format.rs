//! Which format a manifest has.

use flyto_diagnostics::{At, Findings, Reported};

use super::{claude, conformant, def::Read, dialect::Dialect, flat, foreign, head, place::Place};

/// Reads a whole manifest.
/// The format is told in this order: Claude Code by the place of the file, Agent Plugins by its `$schema`, a single tool by its
/// `command`, a file of another kind, and then the native format.
///
/// # Errors
///
/// [`Reported`] when the plugin cannot be used at all. Tools and servers that cannot be used are
/// left out of the result and do not fail it.
pub(crate) fn read(
    root: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Read, Reported> {
    if place.dialect == Dialect::Claude {
        return claude::read(root, place, findings);
    }
    if conformant::is_conformant(root) {
        return conformant::read(root, place, findings);
    }
    if flat::is_flat(root) {
        return flat::read(root, place, findings);
    }
    if let Some(diagnostic) = foreign::recognised(root) {
        return Err(findings.push(diagnostic));
    }
    head::read(root, place, findings)
}

/// The name that a plugin goes by, told from a manifest without reading the rest of it.
/// A search asks the filter about it first: a blocked plugin is not read any further. The name
/// may break the rules; `None` where there is no text under `name`.
pub(crate) fn declared_name(root: At<'_>) -> Option<String> {
    let written = root.member("name")?.value().as_str()?;
    Some(if conformant::is_conformant(root) {
        conformant::id(written)
    } else if flat::is_flat(root) {
        flat::plugin_name(written)
    } else {
        written.to_owned()
    })
}
