//! Probe programs and end-to-end tests.
