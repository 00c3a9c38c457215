//! Findings as people see them.

use expect_test::Expect;
use flyto_diagnostics::{Diagnostic, Findings, Source};
use flyto_exectool::load;

/// One finding as its line, then what it says beside it.
fn shown(diagnostic: &Diagnostic) -> String {
    let mut res = format!("{diagnostic}\n");
    if let Some(pointer) = &diagnostic.pointer {
        res += &format!("  at: {pointer}\n");
    }
    if let Some(help) = &diagnostic.help {
        res += &format!("  help: {help}\n");
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        res += &format!("  write: {}\n", suggestion.replacement);
    }
    for related in &diagnostic.related {
        res += &format!("  {}: {}\n", related.location, related.message);
    }
    res
}

pub(crate) fn all_shown(findings: Findings) -> String {
    findings.into_vec().iter().map(shown).collect()
}

/// Loads a text and compares what was found.
#[track_caller]
pub(crate) fn check(text: &str, expect: Expect) {
    let loaded = load(&Source::new("t.json", text));
    assert_eq!(loaded.tools.is_none(), loaded.findings.has_errors());
    expect.assert_eq(&all_shown(loaded.findings));
}
