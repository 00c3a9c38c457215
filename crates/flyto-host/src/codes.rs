//! The codes of this crate, `F0301` to `F0399`: what can be wrong with a configuration.
//!
//! `codes/CODE.md` explains each.
//!
//! Programs match on codes, since messages may be reworded.

flyto_diagnostics::code_table! {
    /// A project's file asks for more than the user allows.
    UNTRUSTED = "F0301";
    /// A path that is neither absolute nor can be made so.
    NO_HOME = "F0302";
    /// A variable of the environment that cannot be read.
    BAD_VARIABLE = "F0303";
    /// A tool whose name is taken.
    NAME_TAKEN = "F0304";
    /// A file that is none of those that Flyto knows.
    UNKNOWN_FILE = "F0305";
    /// Files of which the system does not report changes.
    NOT_WATCHED = "F0306";
    /// A file of which the last good version stays in use.
    FILE_KEPT = "F0307";
    /// A grant for a plugin that is not there.
    UNKNOWN_GRANTED = "F0308";
    /// A server that a plugin declares and that is not started.
    SERVER_NOT_STARTED = "F0309";
    /// A section of a configuration that belongs to another program.
    FOREIGN_SECTION = "F0310";
    /// A plugin that is blocked or allowed and not there.
    UNKNOWN_LISTED = "F0311";
    /// A sandbox profile that is not there.
    UNKNOWN_PROFILE = "F0312";
    /// A sandbox profile that cannot mean what it says.
    BAD_PROFILE = "F0313";
    /// A granted path with a link on the way.
    LINK = "F0314";
    /// A key of former versions that trusted directories.
    TRUSTED_DIRS = "F0315";
    /// A project's file that is not what the operator trusted.
    CHANGED = "F0316";
    /// A project's file that cannot be read whole.
    BROKEN_PROJECT = "F0317";
    /// A record of trust that cannot be read.
    BAD_RECORD = "F0318";
    /// A place in which `workspace` would make too much writable.
    TOO_WIDE = "F0319";
    /// A rule of permission that cannot be read.
    BAD_RULE = "F0320";
    /// A file of secret rules that cannot be used.
    BAD_SECRET_RULES = "F0321";
    /// A program that says `ready` and cannot be started before its calls.
    NOT_READY = "F0322";
    /// A directory of plugins that is not there.
    NO_PLUGIN_DIR = "F0323";
}
