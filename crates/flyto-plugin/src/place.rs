//! Findings about a part of a value, or about a key.
//!
//! A finding of [`At`] stands at a whole value; these move it to the part that is wrong, so that
//! an editor underlines a name and not the object behind it.

use flyto_diagnostics::{At, Code, Diagnostic, Location, Severity, Span};

/// The finding, at another part of the same text.
///
/// Its JSON pointer stays.
pub(crate) fn moved(mut finding: Diagnostic, at: At<'_>, span: Span) -> Diagnostic {
    finding.location = Location::text(at.source(), span);
    finding
}

/// An error about a key of an object of names, rather than about its value.
///
/// The pointer is that of the value, and the place is the key. Where the object has no such key,
/// the place is the object.
pub(crate) fn about_key(
    object: At<'_>,
    key: &str,
    code: Code,
    what: impl Into<String>,
) -> Diagnostic {
    let finding = object.error(code, what).with_pointer(object.pointer().join(key));
    match object.value().member(key) {
        Some(member) => moved(finding, object, member.key.span),
        None => finding,
    }
}

/// The finding, as a warning.
///
/// For helpers that make errors only.
pub(crate) fn as_warning(mut finding: Diagnostic) -> Diagnostic {
    finding.severity = Severity::Warning;
    finding
}
