//! Probe programs, end-to-end tests and benchmarks.
//!
//! `src/bin/probe.rs` is the program under test that misbehaves on request; `tests/fixtures/` runs
//! the cases that `fixtures/README.md` explains; `src/bin/bench/` holds the benchmarks, which
//! `tests/bench/README.md` explains.

#![forbid(unsafe_code)]
