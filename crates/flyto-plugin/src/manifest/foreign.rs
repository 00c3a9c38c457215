//! Files of other kinds in the place of a manifest, and what can be made of them.
//!
//! A file under the name of a manifest that is something else would get a finding for every key
//! that it lacks. One finding that says what the file is helps more. Nothing of such a file is
//! loaded.

use flyto_diagnostics::{At, Diagnostic, Location, quoted};

use crate::codes;

/// The finding about a file that is no manifest and is known to be something else. The keys that
/// ZeptoClaw's channels, composed tools and configuration have tell.
/// A manifest with `tools`, `mcpServers` or `command` is never taken for something else,
/// whatever other keys it has. The checks run from the clearest key to the vaguest, and the
/// first that fits decides. The finding stands at that key.
pub(super) fn recognised(root: At<'_>) -> Option<Diagnostic> {
    let has = |key: &str| root.member(key).is_some_and(|it| !it.value().is_null());
    if has("tools") || has("mcpServers") || has("command") {
        return None;
    }
    let text = |key: &str| root.member(key).and_then(|it| it.value().as_str());
    let name = quoted(text("name").unwrap_or("…"));
    let (key, what, help) = if has("custom_tools") {
        let help = "write each of its entries as a tool of a plugin, with `{{name}}` in \"command\" \
                    where a value belongs and a JSON Schema as \"parameters\"";
        ("custom_tools", "this is a configuration with tools of its own", help.to_owned())
    } else if has("providers") {
        let help = "a provider of models has no tools; there is nothing here to load";
        ("providers", "this is a configuration with providers of models", help.to_owned())
    } else if has("plugins") && !has("name") {
        let help = "give it to `flyto --config`, or write it into the configuration of the host";
        ("plugins", "this is a configuration", help.to_owned())
    } else if text("binary").is_some() {
        let help = "a channel carries messages and has no tools; a program that carries out tools is \
                    declared with `\"execution\": \"binary\", \"binary\": {\"path\": …}, \"tools\": […]`";
        ("binary", "this is the manifest of a channel", help.to_owned())
    } else if has("action") {
        let help = format!(
            "instructions for a model are no program; write a command that carries them out: \
             `\"tools\": [{{\"name\": {name}, \"parameters\": {{…}}, \"command\": …}}]`"
        );
        ("action", "this is a tool composed of instructions", help)
    } else if has("parameters") || has("category") {
        let key = if has("parameters") { "parameters" } else { "category" };
        let help = format!(
            "put it into a plugin, and say what it runs: `{{\"name\": …, \"tools\": [{{\"name\": \
             {name}, \"parameters\": {{…}}, \"command\": …}}]}}`"
        );
        (key, "this is a tool without a command, and no plugin around it", help)
    } else {
        return None;
    };
    let place = root.value().member(key).map_or(root.span(), |it| it.key.span);
    Some(
        Diagnostic::error(codes::OTHER_FILE, Location::text(root.source(), place), what)
            .with_pointer(root.pointer().join(key))
            .with_reason("a plugin has a name and tools, each of which runs a program")
            .with_help(help),
    )
}
