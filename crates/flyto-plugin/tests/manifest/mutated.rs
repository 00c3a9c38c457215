//! Real manifests with bytes changed, as an editor, a merge or a hostile author leaves them.

use std::{fs, path::Path, sync::LazyLock};

use flyto_diagnostics::{Diagnostic, Findings, Source, json};
use flyto_plugin::{Depth, LoadOptions, check_plugin_name, check_tool_name, load_source};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

/// The manifests of the sample plugins, and those with a mistake.
static MANIFESTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut res = Vec::new();
    let mut dirs = ["plugins", "bad/plugin", "hostile"].map(|it| fixtures.join(it)).to_vec();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("the samples are there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.file_name().is_some_and(|it| it == "plugin.json") {
                res.push(fs::read(path).expect("it can be read"));
            }
        }
    }
    assert!(res.len() > 30, "{} manifests", res.len());
    // The order of a directory is no order.
    res.sort();
    res
});

/// What may come in the place of a few bytes.
const PIECES: &[&str] = &[
    "",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "{{",
    "}}",
    "{{x}}",
    "$(",
    "${",
    "`",
    "'",
    "|",
    "null",
    "-1",
    "1e999",
    "\n",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
    "\\u0000",
    "\\ud800",
    "//",
    "../",
    "\"name\":",
    "\"tools\":[",
    "\"command\":\"sh -c {{x}}\",",
    "ü",
    "字",
];

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![
        4 => select(PIECES).prop_map(|it| it.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ];
    let change = (any::<Index>(), 0usize..12, bytes);
    (select(MANIFESTS.as_slice()), vec(change, 1..4)).prop_map(|(mut text, changes)| {
        for (at, n_bytes, new) in changes {
            let at = at.index(text.len() + 1);
            let end = text.len().min(at + n_bytes);
            text.splice(at..end, new);
        }
        text
    })
}

/// Every place that a finding names is one of its text, and its words can be printed.
fn can_be_drawn(finding: &Diagnostic, source: &Source) -> Result<(), TestCaseError> {
    let related = finding.related.iter().map(|it| &it.location);
    for location in related.chain([&finding.location]) {
        prop_assert_eq!(location.name(), source.name());
        prop_assert!(location.span().is_none_or(|it| source.slice(it).is_some()), "{:?}", finding);
    }
    if let Some(suggestion) = &finding.suggestion {
        prop_assert!(source.slice(suggestion.span).is_some(), "{:?}", finding);
    }
    prop_assert!(!finding.to_string().contains(char::is_control), "{:?}", finding);
    Ok(())
}

proptest! {
    #[test]
    fn what_is_left_of_a_manifest_is_sound_or_explained(bytes in mutated()) {
        let text = String::from_utf8(bytes.clone());
        let source = match Source::from_bytes("plugin.json", bytes) {
            Ok(source) => source,
            Err(finding) => {
                let valid = text.expect_err("only what is no text is refused").utf8_error().valid_up_to();
                prop_assert!(!finding.to_string().contains(char::is_control));
                prop_assert_eq!(finding.location.span().map(|it| it.range().start), Some(valid));
                return Ok(());
            }
        };
        let options = LoadOptions::new().depth(Depth::Full).path("/bin:/usr/bin");
        let loaded = load_source(&source, "/no/such/directory", &options);
        let again = load_source(&source, "/no/such/directory", &options);
        prop_assert_eq!(&loaded.plugin, &again.plugin);
        // One more says that there are more.
        prop_assert!(loaded.findings.iter().count() <= Findings::MOST + 1);
        for finding in &loaded.findings {
            can_be_drawn(finding, &source)?;
        }
        let Some(plugin) = &loaded.plugin else {
            prop_assert!(loaded.findings.has_errors());
            return Ok(());
        };
        let document = json::parse(&source).expect("a plugin has been read from it").to_json();
        // The name of a tool without a plugin around it may be one that no plugin can have.
        let is_lone_tool = document["tools"].is_null();
        prop_assert_eq!(check_plugin_name(plugin.name()), Ok(()));
        prop_assert!(is_lone_tool || document["name"] == plugin.name(), "{}", plugin.name());
        prop_assert!(plugin.refused().is_empty() || loaded.findings.has_errors());
        prop_assert!(plugin.refused().iter().all(|it| source.slice(it.span).is_some()));
        for tool in plugin.tools() {
            prop_assert_eq!(check_tool_name(&tool.name), Ok(()));
            prop_assert!(!tool.timeout.is_zero());
            // A tool is one that the text declares.
            let mut declared = document["tools"].as_array().into_iter().flatten();
            let is_declared = declared.any(|it| it["name"] == tool.name.as_str());
            let is_document = is_lone_tool && document["name"] == tool.name.as_str();
            // A lone tool gets a name that can be used, and a finding says so.
            let is_mended = is_lone_tool && !loaded.findings.is_empty();
            prop_assert!(is_declared || is_document || is_mended, "{}", tool.name);
        }
    }
}
