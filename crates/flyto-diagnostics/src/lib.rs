#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod at; //        a value together with its text
mod code; //      names for kinds of findings
pub mod codes; // the names this crate gives
mod diagnostic; // one finding
#[cfg(feature = "files")]
pub mod files; //  reading files without trusting them
mod findings; //  many of them
pub mod json; //  text to values that know where they stand
mod pointer; //   paths into a document
mod quote;
mod reader; //    reading objects with known keys
mod similar; //   did you mean
mod source; //    a named text, spans and places in it //     showing what somebody else wrote

pub use at::At;
pub use code::{Code, CodeInfo};
pub use diagnostic::{Diagnostic, Location, Related, Severity, Suggestion};
pub use findings::{Findings, Reported};
pub use pointer::{InvalidPointer, Pointer};
pub use quote::quoted;
pub use reader::ObjectReader;
pub use similar::closest;
pub use source::{Place, Source, Span};
