//! Keys of rules of permission where no such rule is read.
//!
//! A rule that is not read would not hold, so a key that looks like one of those is no warning, as an unknown key is
//! elsewhere in a manifest: it costs the plugin, or the server in whose declaration it stands. `allow` is none of them:
//! without it a call is asked.

use std::sync::LazyLock;

use flyto_diagnostics::{
    At, Diagnostic, KnownNames, ObjectReader, Reported, codes::UNKNOWN_KEY, quoted,
};

use crate::{codes, place::about_key};

/// The key of rules, in each format that has it.
pub(super) const KEY: &str = "permissions";

/// Why a mistake is an error.
pub(super) const NOT_READ: &str = "a rule that is not read would not hold";

/// The keys that are meant.
static NAMES: LazyLock<KnownNames<'static>> =
    LazyLock::new(|| KnownNames::new([KEY, "ask", "deny"]));

/// Further names of theirs that no likeness of letters leads to: `params` is as near to `permissions` as `perms`.
const OTHERS: [(&str, &str); 3] = [("perm", KEY), ("perms", KEY), ("denied", "deny")];

/// How many keys of one object are refused. Their plugin does not load, so that the others need no finding.
const MOST_REFUSED: usize = 32;

/// Where an object stands that has such keys.
#[derive(Clone, Copy)]
pub(super) enum Standing {
    /// Where rules are read.
    Head,
    /// Within an entry of `tools`, where a text under `permission` is a class.
    Tool,
    /// At another place. The text says where rules belong.
    Elsewhere(&'static str),
}

/// What to do with rules in a tool, and in a section of a plugin.
pub(super) const AT_HEAD: &str = "rules stand beside \"name\" and \"tools\" of the plugin: `\"permissions\": {\"deny\": [\"PLUGIN:TOOL\"]}`";

/// Refuses the unknown keys that look like those of rules. Called when every key that is known there was asked for.
///
/// # Errors
///
/// [`Reported`] where there is one.
pub(super) fn refuse(
    reader: &mut ObjectReader<'_, '_>,
    standing: Standing,
) -> Result<(), Reported> {
    if reader.knows_all() {
        return Ok(());
    }
    let root = reader.at("");
    let mut found = reader.unknown_like(&NAMES, MOST_REFUSED);
    // A reader gives the place of the object for a key that is not there.
    found.extend(OTHERS.into_iter().filter(|it| reader.at(it.0).span() != root.span()));
    let mut res = Ok(());
    for (key, meant) in found {
        let is_text = root.member(key).is_some_and(|it| it.value().as_str().is_some());
        if matches!(standing, Standing::Tool) && meant == KEY && key != KEY && is_text {
            continue;
        }
        reader.allow(key);
        res = Err(reader.push(finding(root, key, meant, standing)));
    }
    res
}

fn finding(root: At<'_>, key: &str, meant: &str, standing: Standing) -> Diagnostic {
    let diag = match key == KEY {
        true => {
            let at = root.member(key).unwrap_or(root);
            at.error(codes::MISPLACED, "\"permissions\" has no place here")
        }
        false => {
            let what = format!("the key {} is unknown", quoted(key));
            about_key(root, key, UNKNOWN_KEY, what)
        }
    };
    let diag = diag.with_reason(NOT_READ);
    let written = root.value().member(key).map_or(root.span(), |it| it.key.span);
    match standing {
        Standing::Head if meant == KEY => {
            diag.with_help(format!("write {}", quoted(KEY))).with_suggestion(written, quoted(KEY))
        }
        Standing::Head => diag.with_help(format!("write {} within {}", quoted(meant), quoted(KEY))),
        Standing::Tool => diag.with_help(AT_HEAD),
        Standing::Elsewhere(help) => diag.with_help(help),
    }
}
