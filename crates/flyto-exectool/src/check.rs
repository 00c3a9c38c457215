//! What a definition must fulfil, from a file or from code. Faults are words that follow a name of the part.
//!
//! The same functions serve both sources, so that a definition of a file and one of a host are
//! refused for the same reasons. Nothing here looks at the machine: whether the program exists
//! shows when a call starts it.

use std::ffi::{OsStr, OsString};

use flyto_execenv::{Environment, Spec, WordsTooLong};
use flyto_tools::{InvalidNameKind, SchemaError, ToolId};
use serde_json::Value;

/// Looks at the name by which a tool is to be called.
///
/// A colon has a reason of its own, since [`ToolId::parse`] takes what stands before it for the name
/// of a plugin; the rest is what that function refuses.
pub(crate) fn name(name: &str) -> Result<(), &'static str> {
    if name.contains(':') {
        return Err("holds a colon, which stands between a plugin and its tool");
    }
    // Asked here and not only when the tool is registered, so that the file's author hears of it.
    ToolId::parse(name).map(drop).map_err(|err| match err.why {
        InvalidNameKind::Empty => "is empty",
        InvalidNameKind::Blank => "holds white space or a control character",
        InvalidNameKind::TooLong => "is longer than 256 bytes",
        InvalidNameKind::Separator => "holds `__`, which stands between a plugin and its tool",
        _ => "cannot be that of a tool",
    })
}

/// What is wrong with the words of a command, and which of them is wrong.
pub(crate) struct CommandFault {
    /// The string that is at fault; `None` where there is none at all.
    pub(crate) index: Option<usize>,
    /// In words that follow "the command".
    pub(crate) why: &'static str,
}

/// Looks at the program and its arguments. Each becomes a string of execve(2), which ends at a NUL character; the
/// first names a program and cannot be empty.
///
/// Stops at the first fault. The bound on a string is
/// [`MAX_ARGUMENT_BYTES`](flyto_program::MAX_ARGUMENT_BYTES); the sum of all strings has none here:
/// [`StartBounds`] know it, and the system refuses what is too long for it when the program starts.
pub(crate) fn command<'a>(words: impl Iterator<Item = &'a OsStr>) -> Result<(), CommandFault> {
    let mut n_words = 0;
    for (index, word) in words.enumerate() {
        n_words += 1;
        if index == 0 && word.is_empty() {
            return Err(CommandFault {
                index: Some(0),
                why: "begins with an empty string, which names no program",
            });
        }
        if word.len() > flyto_program::MAX_ARGUMENT_BYTES {
            return Err(CommandFault {
                index: Some(index),
                why: "is longer than 131071 bytes, the most that a program can get as one argument",
            });
        }
        if word.as_encoded_bytes().contains(&0) {
            return Err(CommandFault {
                index: Some(index),
                why: "holds a NUL character, at which the system would cut it off",
            });
        }
    }
    if n_words == 0 {
        Err(CommandFault { index: None, why: "is empty, and its first string names the program" })
    } else {
        Ok(())
    }
}

/// What the system has for the words of any program of a file.
#[derive(Clone, Copy)]
pub(crate) struct StartBounds<'a> {
    /// What every program sees.
    pub(crate) env: &'a Environment,
    /// The most bytes of arguments and variables together.
    pub(crate) max_bytes: u64,
}

impl StartBounds<'_> {
    /// What is too long for any start of a command that passed [`command`].
    pub(crate) fn too_long(self, command: &[OsString]) -> Option<WordsTooLong> {
        let (program, args) = command.split_first()?;
        let spec = Spec::new(program).args(args).env(self.env.clone());
        WordsTooLong::find(&spec, program, self.max_bytes)
    }
}

/// What is wrong with a schema, at which of its places, and what to write there.
///
/// The reader of a file turns the pointer into a line and a column; a host that makes a definition by itself is
/// given the pointer.
pub(crate) struct SchemaFault {
    /// JSON Pointer into the schema.
    pub(crate) pointer: String,
    pub(crate) why: String,
    pub(crate) help: Option<&'static str>,
}

/// Looks at the schema of the input; `compiles` tells whether a call could be checked with it.
///
/// A reader of files passes the check of its [`SchemaChecker`](flyto_tools::SchemaChecker), which
/// bounds the work on all schemas of one file; a host passes [`compile`](flyto_tools::compile()),
/// which bounds one schema.
pub(crate) fn schema(
    schema: &Value,
    compiles: impl FnOnce(&Value) -> Result<(), SchemaError>,
) -> Result<(), SchemaFault> {
    let fault = |pointer: &str, why: String| {
        Err(SchemaFault { pointer: pointer.to_owned(), why, help: None })
    };
    let Some(root) = schema.as_object() else {
        return fault("", "is no object".to_owned());
    };
    // Model services accept nothing else as the input of a tool.
    if let Some(kind) = root.get("type")
        && kind != "object"
    {
        return fault("/type", format!("has the root type {kind}, and a call passes in an object"));
    }
    compiles(schema).map_err(|err| SchemaFault {
        why: format!("cannot be used: {}", err.why),
        help: Some(err.kind.help()),
        pointer: err.pointer,
    })
}
