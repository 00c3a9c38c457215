#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. What callers hold:
mod fingerprint; // which secret it is, without saying what it is
mod found; //     a match, and why a scan fails
mod guard; //     the trait, and the guard of this crate
mod named; //     values of JSON whose names say that they are secrets
mod redact; //    a text without its secrets

// what is looked for,
mod catalogue; // the rules of `rules.toml`
mod gitleaks; //  a user's rules
mod known; //     values that the caller has

// and how.
mod literal; //   is a value a secret, a reference or a placeholder?
mod scan;

#[cfg(test)]
mod rule_tests; // the examples of the rules

pub use found::{Fingerprint, InvalidFingerprint, ScanError, SecretMatch, Tier, View};
pub use gitleaks::RulesError;
pub use guard::{Builder, DEFAULT_MAX_BYTES, DefaultGuard, SecretGuard};
pub use named::redact_named;
pub use redact::{redact, redact_bytes};
