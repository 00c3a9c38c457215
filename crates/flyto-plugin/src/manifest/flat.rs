//! A manifest that is one tool, with nothing around it.
//!
//! Some descriptions of ZeptoClaw's format show a tool alone. Such a file loads, with one
//! warning that shows the whole manifest in its right form. The tool is read by the same code as
//! an entry of `tools`.

use std::sync::Arc;

use flyto_diagnostics::{At, Diagnostic, Findings, Location, Reported, quoted};

use super::{
    def::{Manifest, Read, RefusedTool, ToolForm},
    form::Execution,
    meant,
    place::Place,
    tool::{self, Refused, Standing},
};
use crate::{codes, names::NameKind};

/// Whether the manifest is one: it has a command of its own, and offers nothing else.
///
/// A key whose value is `null` counts as absent.
pub(super) fn is_flat(root: At<'_>) -> bool {
    let has = |key: &str| root.member(key).is_some_and(|it| !it.value().is_null());
    has("command") && !has("tools") && !has("mcpServers")
}

/// Reads it as a plugin with that one tool. The name is made into one for each of the two, since
/// the rules for them differ: `github_pr` is the tool `github_pr` of the plugin `github-pr`.
/// # Errors
///
/// [`Reported`] when there is no name, or none that a plugin could have. A tool that cannot be
/// used does not fail it: the plugin then has no tool and one refused entry.
pub(super) fn read(
    root: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Read, Reported> {
    // The tool reads all keys of the manifest, and tells what is wrong with each.
    findings.push(whole(root));
    let form = ToolForm::of(root, &Execution::Command);
    let tool = tool::read(root, form, Standing::Alone, None, place, findings);
    let Some(at) = root.member("name").filter(|it| it.value().as_str().is_some()) else {
        return Err(tool.err().map_or_else(|| findings.push(no_name(root)), Refused::reported));
    };
    if let Err(Refused::Plugin(reported)) = tool {
        return Err(reported);
    }
    let written = at.value().as_str().unwrap_or_default();
    let name = plugin_name(written);
    if let Err(fault) = NameKind::Plugin.check(&name) {
        let what = format!("the name {} of a plugin {fault}", quoted(written));
        let rule = format!("a name is made of {}", NameKind::Plugin.rule());
        return Err(findings.push(at.error(codes::BAD_PLUGIN_NAME, what).with_help(rule)));
    }
    if let Some(diagnostic) = root.member("author").and_then(meant::author) {
        findings.push(diagnostic);
    }

    let text = |key: &str| {
        let text = root.member(key).and_then(|it| it.value().as_str());
        text.filter(|it| !it.trim().is_empty()).map(ToOwned::to_owned)
    };
    let refused = tool.is_err().then(|| RefusedTool {
        name: Some(written.to_owned()),
        form,
        span: root.span(),
    });
    let tools: Vec<_> = tool.ok().into_iter().collect();
    let manifest = Manifest {
        name,
        version: text("version"),
        description: text("description"),
        author: text("author"),
        servers: Vec::new(),
        rules: Arc::default(),
        tools,
    };
    Ok(Read {
        name: at.span(),
        tools: manifest.tools.iter().map(|_| root.span()).collect(),
        refused: refused.into_iter().collect(),
        manifest,
    })
}

/// The name of the plugin: as it is written, or as near to it as the rules allow.
/// A text that cannot be mended comes back as it is, and fails the check of its caller.
pub(super) fn plugin_name(written: &str) -> String {
    let mended = NameKind::Plugin.check(written).is_err().then(|| NameKind::Plugin.mended(written));
    mended.flatten().unwrap_or_else(|| written.to_owned())
}

/// The finding where `name` is absent or no string, and the tool has not said so.
fn no_name(root: At<'_>) -> Diagnostic {
    root.error(flyto_diagnostics::codes::MISSING_KEY, "the key \"name\" is missing")
}

/// The warning that shows the manifest as it is meant to be written.
///
/// The suggestion replaces the whole text of the object: `$schema`, `version`, `author` and `permissions` stay
/// outside, `execution` and `binary` go, every other key moves into the tool, each as it is
/// written.
fn whole(root: At<'_>) -> Diagnostic {
    let written = root.member("name").and_then(|it| it.value().as_str()).unwrap_or("…");
    let name = plugin_name(written);
    let tool = NameKind::OtherTool;
    let key = root.value().member("command").map_or(root.span(), |it| it.key.span);
    let what = "the manifest is one tool, with no plugin around it";
    let place = Location::text(root.source(), key);
    let mut outer = vec![format!("\"name\": {}", quoted(&name))];
    let mut inner = Vec::new();
    for member in root.value().as_object().unwrap_or_default() {
        let text = |span| root.source().slice(span).unwrap_or_default();
        let whole = format!("{}: {}", text(member.key.span), text(member.value.span));
        match &*member.key.value {
            "name" => {
                let written = member.value.as_str().unwrap_or_default();
                let mended = tool.check(written).is_err().then(|| tool.mended(written)).flatten();
                inner.push(format!("\"name\": {}", quoted(mended.as_deref().unwrap_or(written))));
            }
            "$schema" | "version" | "author" | "permissions" => outer.push(whole),
            "execution" | "binary" => {}
            _ => inner.push(whole),
        }
    }
    let meant = format!("{{{}, \"tools\": [{{{}}}]}}", outer.join(", "), inner.join(", "));
    Diagnostic::warning(codes::FLAT, place, what)
        .with_pointer(root.pointer().join("command"))
        .with_reason("a manifest describes a plugin, and what it runs stands in \"tools\"")
        .with_help(format!(
            "write `{{\"name\": {}, \"tools\": [{{\"name\": …, \"command\": …}}]}}`",
            quoted(&name)
        ))
        .with_suggestion(root.span(), meant)
}
