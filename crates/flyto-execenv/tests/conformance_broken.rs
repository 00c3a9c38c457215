//! The suite itself under test: a backend with one fault breaks the clauses of that fault and no others.

#![cfg(all(unix, feature = "local", feature = "conformance"))]

mod broken;
