#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// A text and what is said about it.
mod code;
pub mod codes;
mod diagnostic;
mod findings;
mod pointer;
mod source;

// From text to values, and from values to what a program wants.
mod at;
pub mod json;
mod reader;

// Words for people.
mod quote;
mod similar;

#[cfg(feature = "files")]
pub mod files;

pub use at::{At, MAX_ENTRIES};
pub use code::{Code, CodeInfo};
pub use diagnostic::{Diagnostic, Location, Related, Severity, Suggestion};
pub use findings::{Findings, Reported};
pub use pointer::{InvalidPointer, Pointer};
pub use quote::{OneLine, quoted};
pub use reader::{ObjectKeys, ObjectReader, recorded_keys};
pub use similar::{KnownNames, closest};
pub use source::{Place, Source, Span};
