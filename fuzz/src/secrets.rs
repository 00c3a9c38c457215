//! The scan for secrets, and what it takes out of a text.

use std::sync::LazyLock;

use flyto_security::{DefaultGuard, SecretGuard, redact, redact_bytes};

/// A guard with a value and a rule of a user.
static GUARD: LazyLock<DefaultGuard> = LazyLock::new(|| {
    let rules = "[[rules]]\nid = 'acme'\nregex = 'acme_([a-z]{4,})'\nkeywords = ['acme']\n";
    DefaultGuard::builder()
        .known_values([("KNOWN", "a1B2-c3D4-e5F6")])
        .gitleaks_toml(rules)
        .expect("these are rules")
        .fingerprint_key(&[7; 32])
        .build()
});

/// A content that is scanned, and a file of rules.
///
/// # Panics
///
/// A span is empty, lies outside of the content, or begins or ends within a character of a text; a
/// line is a wrong one; or a text and its bytes are redacted differently.
pub fn secrets(bytes: &[u8]) {
    let found = GUARD.scan("input", bytes).expect("the input is short");
    assert!(found.is_sorted_by_key(|it| it.span.start));
    for it in &found {
        assert!(it.span.start < it.span.end && it.span.end <= bytes.len(), "{it:?}");
        let before = &bytes[..it.span.start];
        assert_eq!(it.line, 1 + before.iter().filter(|it| **it == b'\n').count());
    }
    let redacted = redact_bytes(bytes, &found);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    assert!(found.iter().all(|it| text.get(it.span.clone()).is_some()), "{found:?}");
    assert_eq!(redact(text, &found).into_bytes(), redacted);
    drop(DefaultGuard::builder().gitleaks_toml(text));
}
