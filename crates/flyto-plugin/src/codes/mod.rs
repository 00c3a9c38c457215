//! The codes of this crate: what can be wrong with a plugin beyond its JSON. They are `F0101` to
//! `F0199`.

mod explained; // the text for each, up to `NEVER_MATCHES`
mod further; //   and from there on

use flyto_diagnostics::{Code, CodeInfo};

/// Every code of this crate with its explanation, in order.
pub const CODES: &[CodeInfo] = &{
    const FIRST: &[CodeInfo] = explained::CODES;
    const SECOND: &[CodeInfo] = further::CODES;
    let mut res = [FIRST[0]; FIRST.len() + SECOND.len()];
    let mut at = 0;
    while at < res.len() {
        res[at] = if at < FIRST.len() { FIRST[at] } else { SECOND[at - FIRST.len()] };
        at += 1;
    }
    res
};

/// The name cannot be that of a plugin.
pub const BAD_PLUGIN_NAME: Code = Code::new("F0101");
/// The name cannot be that of a tool.
pub const BAD_TOOL_NAME: Code = Code::new("F0102");
/// Two tools of one plugin share a name.
pub const DUPLICATE_TOOL: Code = Code::new("F0103");
/// A text says nothing.
pub const BLANK: Code = Code::new("F0104");
/// A plugin without tools and servers.
pub const NOTHING_OFFERED: Code = Code::new("F0105");
/// The manifest is one tool with nothing around it, and is read as a plugin with that tool.
pub const FLAT: Code = Code::new("F0106");
/// A section for a binary plugin in a plugin that is none.
pub const UNUSED_BINARY: Code = Code::new("F0107");
/// The program of a binary plugin is not within its directory.
pub const BINARY_PATH: Code = Code::new("F0108");
/// A command line where a program belongs.
pub const COMMAND_LINE: Code = Code::new("F0112");
/// A placeholder that nothing is put into.
pub const PLACEHOLDER: Code = Code::new("F0113");
/// The program of a tool is not there, or cannot be run.
pub const NO_PROGRAM: Code = Code::new("F0114");
/// A NUL character where the system ends a text.
pub const NUL: Code = Code::new("F0115");
/// The name cannot be that of a variable.
pub const BAD_VARIABLE: Code = Code::new("F0116");
/// A variable that the host sets itself.
pub const RESERVED_VARIABLE: Code = Code::new("F0117");
/// A reference to a variable that cannot be read.
pub const BAD_REFERENCE: Code = Code::new("F0118");
/// A schema that cannot be used.
pub const BAD_SCHEMA: Code = Code::new("F0119");
/// A schema that refers to something that is not in it.
pub const SCHEMA_REFERENCE: Code = Code::new("F0120");
/// A tool without a description.
pub const NO_DESCRIPTION: Code = Code::new("F0121");
/// A permission class that is not one of Flyto's own.
pub const UNKNOWN_PERMISSION_CLASS: Code = Code::new("F0122");
/// The working directory is not there.
pub const NO_WORKING_DIR: Code = Code::new("F0123");
/// A time of zero or less, which stands for the default.
pub const NO_TIMEOUT: Code = Code::new("F0124");
/// A digest that is none.
pub const BAD_DIGEST: Code = Code::new("F0125");
/// What takes a call back is no tool of the plugin.
pub const UNDO_TOOL: Code = Code::new("F0126");
/// A tool of a binary plugin has a command of its own.
pub const BINARY_COMMAND: Code = Code::new("F0127");
/// An idle time of a program that is never idle.
pub const UNUSED_IDLE_TIMEOUT: Code = Code::new("F0128");
/// The file that must run has another digest.
pub const OTHER_DIGEST: Code = Code::new("F0129");
/// Two plugins share a name.
pub const DUPLICATE_PLUGIN: Code = Code::new("F0130");
/// There is no manifest.
pub const NO_MANIFEST: Code = Code::new("F0133");
/// A directory of plugins cannot be read.
pub const UNREADABLE_DIR: Code = Code::new("F0134");
/// An edit cannot be used, and the version before it stays in use.
pub const KEPT: Code = Code::new("F0138");
/// A name in the configuration that no plugin can have.
pub const NEVER_MATCHES: Code = Code::new("F0140");
/// A key of the configuration that was meant to be one that protects.
pub const MISSPELT_LIST: Code = Code::new("F0141");
/// A path in a grant that is relative, or whose `~` stands for nothing.
pub const GRANTED_PATH: Code = Code::new("F0142");
/// A directory of plugins that cannot be meant as it is written.
pub const PLUGIN_DIR: Code = Code::new("F0143");
/// A template that is more than one command.
pub const SHELL_OPERATOR: Code = Code::new("F0150");
/// A placeholder whose value would decide what runs.
pub const CODE_PLACEHOLDER: Code = Code::new("F0151");
/// A template that cannot be taken apart.
pub const TEMPLATE_SYNTAX: Code = Code::new("F0152");
/// A placeholder that names no parameter.
pub const UNDECLARED_PARAMETER: Code = Code::new("F0153");
/// A placeholder with blanks within its braces.
pub const SPACED_PLACEHOLDER: Code = Code::new("F0154");
/// A parameter that the command never uses.
pub const UNUSED_PARAMETER: Code = Code::new("F0155");
/// The name cannot be that of a server.
pub const BAD_SERVER_NAME: Code = Code::new("F0160");
/// A server needs variables that are not set.
pub const SERVER_UNSET: Code = Code::new("F0161");
/// A key of other programs that has no effect.
pub const FOREIGN_KEY: Code = Code::new("F0162");
/// The address of a server is none, or gives something away.
pub const SERVER_ADDRESS: Code = Code::new("F0163");
/// A header that cannot be sent.
pub const BAD_HEADER: Code = Code::new("F0164");
/// A path of a plugin leads out of its directory.
pub const LEAVES_PLUGIN: Code = Code::new("F0165");
/// Something that belongs to another place of the format.
pub const MISPLACED: Code = Code::new("F0166");
/// A file that belongs to another part of another program.
pub const OTHER_FILE: Code = Code::new("F0167");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_with_what_is_wrong_and_what_is_right() {
        for (at, info) in CODES.iter().enumerate() {
            let code = info.code.as_str();
            assert!(code.starts_with("F01"), "{code}");
            assert!(CODES[..at].iter().all(|it| it.code < info.code), "{code} is out of order");
            assert!(!info.title.ends_with('.') && info.explanation.ends_with('\n'), "{code}");
            // Several sentences.
            assert!(info.explanation.matches(['.', ':', ';']).count() >= 2, "{code}");
        }
    }

    #[test]
    fn every_constant_is_in_the_table() {
        // The pattern below is no match, as its quote is escaped.
        let n_declared = include_str!("mod.rs").matches("Code::new(\"F").count();
        assert_eq!(CODES.len(), n_declared);
    }
}
