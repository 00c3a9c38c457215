//! The codes of this crate, `F0401` to `F0499`: what can be wrong with a definition beyond JSON.
//!
//! `codes/CODE.md` explains each.

flyto_diagnostics::code_table! {
    /// The text holds something else than one definition.
    NO_DEFINITION = "F0401";
    /// The name cannot be that of a tool.
    BAD_NAME = "F0402";
    /// The schema of the input cannot be used.
    BAD_SCHEMA = "F0403";
    /// The text that the tool runs is missing, or cannot be run.
    BAD_BODY = "F0404";
    /// A part is larger than it may be.
    TOO_LARGE = "F0405";
    /// A parameter has no variable of its own.
    BAD_PARAMETER = "F0406";
    /// A placeholder stands where its value would be code.
    PLACEHOLDER = "F0407";
    /// An example cannot be run.
    BAD_EXAMPLE = "F0408";
    /// The steps of a composite cannot be run as declared.
    BAD_COMPOSITE = "F0409";
}
