//! What one tool is: the definition, whether it was read from a file or made by a host.

use std::{
    ffi::{OsStr, OsString},
    time::Duration,
};

use flyto_tools::compile;
use serde_json::{Value, json};

use crate::check;

/// How long a call may take when the definition does not say: 30 s, which files written for other
/// hosts count on.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// One tool: a name, a command that is fixed, and what a call may pass to it.
///
/// Every value of this type is usable: it has a name that can be called, a command that a system
/// can start, and a schema that compiles. A file is one source of definitions; a host makes others:
///
/// ```
/// use std::time::Duration;
///
/// use flyto_exectool::{DefinitionError, ExecToolDef};
/// use serde_json::json;
///
/// let stock = ExecToolDef::new("stock", ["stock-level", "--json"])?
///     .with_description("Returns how many pieces of an article are in the warehouse.")
///     .with_input_schema(json!({
///         "type": "object",
///         "properties": {"article": {"type": "string"}},
///         "required": ["article"]
///     }))?
///     .with_timeout(Duration::from_secs(10));
/// assert_eq!(stock.program(), "stock-level");
///
/// let err = ExecToolDef::new("stock level", ["stock-level"]);
/// assert!(matches!(err, Err(DefinitionError::InvalidName { .. })));
/// # Ok::<(), DefinitionError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ExecToolDef {
    name: String,
    description: String,
    input_schema: Value,
    program: OsString,
    args: Vec<OsString>,
    timeout: Duration,
    grace: Duration,
    is_ready: bool,
    prints_blocks: bool,
    file: Option<String>,
}

/// Why a definition cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name cannot be called.
    #[error("failed to define the tool {name:?}: the name {why}")]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it, in words that follow "the name".
        why: &'static str,
    },
    /// The command cannot be started.
    #[error("failed to define the tool {name:?}: the command {why}")]
    InvalidCommand {
        /// The name of the tool.
        name: String,
        /// What is wrong with the command, in words that follow "the command".
        why: &'static str,
    },
    /// The schema of the input cannot be used.
    #[error("failed to define the tool {name:?}: the schema of its input {why} (at {pointer:?})")]
    InvalidSchema {
        /// The name of the tool.
        name: String,
        /// JSON Pointer into the schema.
        pointer: String,
        /// What is wrong there, in words that follow "the schema of its input".
        why: String,
    },
}

impl ExecToolDef {
    /// A tool without description that accepts any object, has [`DEFAULT_TIMEOUT`] and no grace.
    ///
    /// `exec` is the program and its fixed arguments. A program without a slash is looked up in the
    /// host's `PATH`, a relative path is taken from the host's current directory.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::InvalidName`] when the name is empty, has more than 256 bytes, or holds
    /// white space, a control character, a colon or `__`; [`DefinitionError::InvalidCommand`] when
    /// there is no program, its name is empty, or a string holds a NUL character or has more than
    /// 131,071 bytes.
    pub fn new(
        name: impl Into<String>,
        exec: impl IntoIterator<Item: Into<OsString>>,
    ) -> Result<Self, DefinitionError> {
        let name = name.into();
        let exec: Vec<OsString> = exec.into_iter().map(Into::into).collect();
        if let Err(why) = check::name(&name) {
            return Err(DefinitionError::InvalidName { name, why });
        }
        if let Err(fault) = check::command(exec.iter().map(OsString::as_os_str)) {
            return Err(DefinitionError::InvalidCommand { name, why: fault.why });
        }
        Ok(Self::from_checked(name, exec))
    }

    /// The same for a name and a command that were found good.
    ///
    /// [`new`](Self::new) and the reader of files have both called [`check::command`] by then, so
    /// the program is there.
    pub(crate) fn from_checked(name: String, exec: Vec<OsString>) -> Self {
        let mut words = exec.into_iter();
        Self {
            name,
            description: String::new(),
            input_schema: json!({"type": "object", "properties": {}}),
            program: words.next().expect("a command that was checked has a program"),
            args: words.collect(),
            timeout: DEFAULT_TIMEOUT,
            grace: Duration::ZERO,
            is_ready: false,
            prints_blocks: false,
            file: None,
        }
    }

    /// Sets what the tool does and when to use it. A model chooses tools by this text.
    ///
    /// Without one it is empty, which a file is warned of and a host is not.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the JSON Schema of the input.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::InvalidSchema`] when it is no object, has another root type than
    /// `object`, or does not compile.
    pub fn with_input_schema(self, schema: Value) -> Result<Self, DefinitionError> {
        check::schema(&schema, |it| compile(it).map(drop)).map_err(|fault| {
            DefinitionError::InvalidSchema {
                name: self.name.clone(),
                pointer: fault.pointer,
                why: fault.why,
            }
        })?;
        Ok(self.with_checked_schema(schema))
    }

    /// The same for a schema that was found good.
    pub(crate) fn with_checked_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }

    /// Sets how long a call may take; zero is [`DEFAULT_TIMEOUT`], as in a file.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = if timeout.is_zero() { DEFAULT_TIMEOUT } else { timeout };
        self
    }

    /// Sets the time between asking the program to end (SIGTERM) and killing it, at its deadline and when the
    /// call is cancelled. Zero, the default, kills at once.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Says that the program does nothing but load before it reads its input, so that a host may start it before a call.
    /// Each process serves one call, and one whose program, or an argument that is the path of a file, has changed serves
    /// none; see [`Spec::ready`](flyto_execenv::Spec::ready). By default each call starts its own.
    #[must_use]
    pub fn with_ready(mut self) -> Self {
        self.is_ready = true;
        self
    }

    /// Says that the program prints a list of blocks of the Model Context Protocol, such as text and images:
    /// `{"content": […]}`. See [`Content`](flyto_tools::Content). By default no output is taken for one.
    #[must_use]
    pub fn with_blocks(mut self) -> Self {
        self.prints_blocks = true;
        self
    }

    /// Says which file the definition is from, for people. Nothing is read from it.
    #[must_use]
    pub fn with_file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// The name by which it is called: not empty, 256 bytes at most, without white space, colon or `__`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tool does and when to use it; may be empty.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON Schema of the input: an object that compiles, whose root describes an object.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// The program: a name that is looked up in the host's `PATH`, or a path.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Its fixed arguments, byte for byte; no shell reads them.
    #[must_use]
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// How long a call may take; never zero.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The time between asking the program to end and killing it; zero kills at once.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Whether a host may start the program before a call.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Whether the program prints a list of blocks.
    #[must_use]
    pub fn prints_blocks(&self) -> bool {
        self.prints_blocks
    }

    /// The file it is from, as shown to people; `None` for a definition that a host made.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }
}
