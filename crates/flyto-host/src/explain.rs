//! What each code of a finding means.

use flyto_diagnostics::CodeInfo;

use crate::codes;

/// Every code that a finding of these crates can have, in order.
///
/// The tables of diagnostics in general come first, then those of plugins, of exec tools and of
/// this crate. Codes do not repeat.
pub fn all_codes() -> impl Iterator<Item = &'static CodeInfo> {
    [
        flyto_diagnostics::codes::CODES,
        flyto_plugin::codes::CODES,
        flyto_exectool::codes::CODES,
        codes::CODES,
    ]
    .into_iter()
    .flatten()
}

/// The explanation of a code, such as `F0101`.
///
/// ```
/// let info = flyto_host::explain("f0101").expect("a code of a finding");
/// assert_eq!(info.title, "the name cannot be that of a plugin");
/// assert!(flyto_host::explain("F9999").is_none());
/// ```
#[must_use]
pub fn explain(code: &str) -> Option<&'static CodeInfo> {
    all_codes().find(|it| it.code.as_str().eq_ignore_ascii_case(code))
}
