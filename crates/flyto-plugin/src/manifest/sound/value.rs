//! Values of keys.

use std::borrow::Cow;

use flyto_diagnostics::json::Scanner;

/// A text that is not blank.
pub(super) fn text(scanner: &mut Scanner<'_>) -> Option<String> {
    let is_blank =
        |it: &str| !it.starts_with(|c: char| c.is_ascii_graphic()) && it.trim().is_empty();
    scanner.string().filter(|it| !is_blank(it)).map(Cow::into_owned)
}

/// Takes the value of a key. Fails where there is none, and where the key was there before.
pub(super) fn set<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value?);
    Some(())
}
