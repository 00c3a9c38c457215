//! Paths that have to stay in the plugin's directory.
//!
//! Two looks are needed: the text of a path must not climb out, and what it leads to must lie
//! inside once links are resolved. Both tell what is so now. A path is looked at again where a
//! program starts.

use std::path::{Component, Path};

use flyto_diagnostics::{At, Diagnostic, quoted};

use super::place::Place;
use crate::codes;

/// What to write in place of such a path.
const HELP: &str = "name a file or a directory within it, without links that lead elsewhere";

/// The finding that a path leads out of the plugin's directory, by its text or by a link.
/// `path` is relative to the plugin's directory.
pub(super) fn leaves(at: At<'_>, path: &Path, place: Place<'_>) -> Option<Diagnostic> {
    if descends(path) && stays_within(place.dir, &place.dir.join(path)) {
        return None;
    }
    let text = at.value().as_str().unwrap_or_default();
    let what = format!("{} leads out of the plugin's directory", quoted(text));
    Some(at.error(codes::LEAVES_PLUGIN, what).with_help(HELP))
}

/// The same for a path of a tool, whose relative ones start from `base` below the plugin's directory.
///
/// `base` is `None` where the path starts from a directory that only the session knows. Its text has
/// to stay below that, and links cannot be looked at.
pub(super) fn tool_leaves(
    at: At<'_>,
    base: Option<&Path>,
    path: &Path,
    place: Place<'_>,
) -> Option<Diagnostic> {
    let whole = base.unwrap_or(Path::new("")).join(path);
    if descends(&whole) && (base.is_none() || stays_within(place.dir, &place.dir.join(&whole))) {
        return None;
    }
    let text = at.value().as_str().unwrap_or_default();
    let what = format!("{} leads out of the plugin's directory", quoted(text));
    let diag = at.error(codes::LEAVES_PLUGIN, what);
    let reason = "no path in a manifest of this format may";
    Some(diag.with_reason(reason).with_help(HELP))
}

/// Whether a path is relative, and no step of it is above where it starts: `bin/../run` is within.
pub(super) fn descends(path: &Path) -> bool {
    let mut depth = 0_usize;
    path.components().all(|it| match it {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir => depth.checked_sub(1).map(|it| depth = it).is_some(),
        Component::RootDir | Component::Prefix(_) => false,
    })
}

/// Whether a path lies in a directory once its links are resolved. Of a path that is not there, its
/// nearest directory that is counts.
/// `true` where the directory itself cannot be resolved: there is nothing to leave.
pub(super) fn stays_within(dir: &Path, path: &Path) -> bool {
    let real = path.ancestors().find_map(|it| it.canonicalize().ok());
    match (dir.canonicalize(), real) {
        (Ok(dir), Some(path)) => path.starts_with(dir),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_counts() {
        let check =
            |path: &str, expect: bool| assert_eq!(descends(path.as_ref()), expect, "{path}");
        check("", true);
        check("./run.sh", true);
        check("sub/../run.sh", true);
        check("bin/../bin/run", true);
        check("sub/../../run.sh", false);
        check("../plugin/run.sh", false);
        check("/bin/sh", false);
    }
}
