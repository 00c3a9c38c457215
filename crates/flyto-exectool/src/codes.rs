//! The codes of this crate, `F0201` to `F0299`: what can be wrong with a definition beyond JSON.
//!
//! `codes/CODE.md` explains each.

flyto_diagnostics::code_table! {
    /// The file holds something else than one definition or an array of them.
    NO_DEFINITION = "F0201";
    /// The name cannot be that of a tool.
    BAD_NAME = "F0202";
    /// Two definitions of one file have the same name.
    DUPLICATE_NAME = "F0203";
    /// The command cannot be started by any system.
    BAD_COMMAND = "F0204";
    /// The command is probably a whole line of shell.
    COMMAND_LINE = "F0205";
    /// The schema of the input cannot be used.
    BAD_SCHEMA = "F0206";
    /// There is no description.
    NO_DESCRIPTION = "F0207";
    /// The time limit is negative.
    NEGATIVE_TIMEOUT = "F0208";
}
