//! What one tool is: the definition, whether an agent proposed it or it was read from a file.

mod canonical;
mod check;
mod name;
mod read;
mod texts;

use std::time::Duration;

use serde_json::{Value, json};

pub use canonical::{DefinitionHash, InvalidDefinitionHash};
pub(crate) use canonical::{pretty, sorted};
pub(crate) use check::{Fault, placeholder_names};
pub use name::{LookAlike, PROTECTED_NAMES, look_alike};
pub(crate) use name::{file_name_fault, tool_name_fault};
pub(crate) use read::parse_stored;
pub use read::{Parsed, parse, parse_proposal};

/// The longest text of a definition that is read, in bytes: 512 KiB, which holds every part at its bound with all of
/// its characters escaped.
pub const MAX_DEFINITION_BYTES: usize = 512 * 1024;
/// The longest script or command of a proposal, in bytes: 64 KiB, some 2,000 lines.
pub const MAX_SCRIPT_BYTES: usize = 64 * 1024;
/// The longest description of a proposal, in bytes: what model services take.
pub const MAX_DESCRIPTION_BYTES: usize = 1024;
/// The longest rationale of a proposal, in bytes.
pub const MAX_RATIONALE_BYTES: usize = 4096;
/// The most parameters of a proposal.
pub const MAX_PARAMETERS: usize = 20;
/// The most tags of a proposal; each has at most 64 bytes.
pub const MAX_TAGS: usize = 16;
/// The most examples of a proposal.
pub const MAX_EXAMPLES: usize = 5;
/// How long a call may take where the definition does not say: 60 s.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest that a definition may ask for: 600 s.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// One tool that was written at run time.
///
/// The fields are those of the file, and any value of them is kept; [`parse_proposal`] says which of them an agent may
/// propose. A host makes definitions by [`script`](Self::script) and [`command`](Self::command):
///
/// ```
/// use flyto_evolve::ToolDefinition;
/// use serde_json::json;
///
/// let def = ToolDefinition::script("count_lines", "Counts the lines of a file.", "wc -l < \"$TOOL_INPUT_PATH\"\n")
///     .with_input_schema(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}));
/// assert_eq!(def.timeout_seconds, 60);
/// // The version is the store's to count, so it is no part of what is approved.
/// assert_eq!(def.hash(), def.clone().with_version(7).hash());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// By what the tool is called.
    pub name: String,
    /// What the tool does and when to use it. A model chooses tools by this text.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: Value,
    /// What runs.
    pub body: Body,
    /// How long a call may take, in seconds: 1 to 600.
    pub timeout_seconds: u64,
    /// The number of this version; 0 before the store gave it one.
    pub version: u64,
    /// When this version was made, in RFC 3339; empty where that is not known.
    pub created_at: String,
    /// By which session, agent or person it was made; empty where that is not known.
    pub created_by: String,
    /// Why the agent made the tool.
    pub rationale: String,
    /// Words by which the tool is found.
    pub tags: Vec<String>,
    /// The author says that calls may run beside each other.
    pub concurrency_safe: bool,
    /// The author says that calls change nothing.
    pub read_only: bool,
    /// Calls with what is expected of them.
    pub examples: Vec<Example>,
}

/// What a tool runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// A script for bash. It reads its parameters from `TOOL_INPUT_*`.
    Script(String),
    /// A command for bash, in which `{{.name}}` is the value of a parameter.
    Command(String),
    /// A pipeline of other tools, as it stands in the file: see [`CompositeTool`](crate::CompositeTool).
    Composite(Value),
}

impl Body {
    /// The value of `execution_type`: `script`, `command` or `composite`, which is also the key of the text.
    #[must_use]
    pub const fn execution_type(&self) -> &'static str {
        match self {
            Self::Script(_) => "script",
            Self::Command(_) => "command",
            Self::Composite(_) => "composite",
        }
    }

    /// The text for bash; `None` for a composite.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Script(text) | Self::Command(text) => Some(text),
            Self::Composite(_) => None,
        }
    }
}

/// A call with what is expected of it: a test of the tool, and help for the model.
///
/// ```
/// use flyto_evolve::Example;
/// use serde_json::json;
///
/// let example = Example::new(json!({"text": "b\na\n"})).expecting_output("a\nb\n");
/// assert!(!example.is_error);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Example {
    /// The input of the call, an object.
    pub input: Value,
    /// The whole text of the result. Newlines at the end do not count.
    pub output: Option<String>,
    /// Texts that occur in the result.
    pub contains: Vec<String>,
    /// Whether the call fails.
    pub is_error: bool,
}

impl Example {
    /// A call that succeeds with any text.
    #[must_use]
    pub fn new(input: Value) -> Self {
        Self { input, output: None, contains: Vec::new(), is_error: false }
    }

    /// Sets the whole text that is expected.
    #[must_use]
    pub fn expecting_output(mut self, output: impl Into<String>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Adds a text that has to occur.
    #[must_use]
    pub fn expecting_text(mut self, text: impl Into<String>) -> Self {
        self.contains.push(text.into());
        self
    }

    /// Expects that the call fails.
    #[must_use]
    pub fn expecting_error(mut self) -> Self {
        self.is_error = true;
        self
    }
}

impl ToolDefinition {
    /// A tool that runs a script; everything else is as in a file that does not say it.
    ///
    /// The script gets each parameter as a variable, `TOOL_INPUT_` and its name in upper case with
    /// `_` for `-`, and the whole input as JSON on standard input. It has 64 KiB at most where it
    /// is proposed.
    ///
    /// ```
    /// use flyto_evolve::ToolDefinition;
    ///
    /// let def = ToolDefinition::script("shout", "Capitals.", "tr a-z A-Z <<< \"$TOOL_INPUT_TEXT\"\n")
    ///     .with_timeout_seconds(5);
    /// assert_eq!((def.timeout().as_secs(), def.version), (5, 0));
    /// assert_eq!(def.body.execution_type(), "script");
    /// ```
    #[must_use]
    pub fn script(
        name: impl Into<String>,
        description: impl Into<String>,
        script: impl Into<String>,
    ) -> Self {
        Self::new(name.into(), description.into(), Body::Script(script.into()))
    }

    /// A tool that runs a command with placeholders.
    ///
    /// `{{.name}}` becomes the value of the parameter as one literal word, quoted for the place
    /// where it stands: without quotes, in single or in double quotes, in a substitution. A schema that lists no parameter takes
    /// any name; one that lists some has to list this one. Where a
    /// value would be read as code, as behind `bash -c` or in arithmetic, the command is refused
    /// when it is proposed.
    ///
    /// ```
    /// use flyto_evolve::{ToolDefinition, parse_proposal};
    /// use flyto_diagnostics::Source;
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    /// let def = ToolDefinition::command("lines", "Counts the lines of a file.", "wc -l -- {{.path}}")
    ///     .with_input_schema(schema.clone());
    /// assert!(parse_proposal(&Source::new("a", def.file_text())).definition.is_some());
    ///
    /// let code = ToolDefinition::command("run", "Runs a text.", "bash -c {{.path}}").with_input_schema(schema);
    /// assert!(parse_proposal(&Source::new("b", code.file_text())).definition.is_none());
    /// ```
    #[must_use]
    pub fn command(
        name: impl Into<String>,
        description: impl Into<String>,
        command: impl Into<String>,
    ) -> Self {
        Self::new(name.into(), description.into(), Body::Command(command.into()))
    }

    /// A tool that calls other tools, declared as `steps` and `output`.
    ///
    /// `composite` is an object with these keys:
    ///
    /// | key | value |
    /// | --- | --- |
    /// | `steps` | a list of 1 to 32 steps |
    /// | `output` | what the tool delivers, a value; the output of the last step without it |
    /// | `timeout_ms` | the time of a whole call, up to 600 s; also bounded by `timeout_seconds` |
    /// | `destructive` | the claim that calls destroy something, or nothing |
    ///
    /// A step:
    ///
    /// | key | value |
    /// | --- | --- |
    /// | `id` | 1 to 64 letters, digits, `_` and `-`, by which others refer to it |
    /// | `tool` | the name of the tool that is called |
    /// | `version` | the version that a run-time tool has to have |
    /// | `with` | the input, a value that gives an object; `{}` without it |
    /// | `after` | ids of steps that have to be over, beside those that it refers to |
    /// | `when` | a condition; where it does not hold, the step is skipped |
    /// | `for_each` | a value that gives a list: the step is called once for each item |
    /// | `max_items` | how many items it may have: 100, at most 1000 |
    /// | `max_parallel` | how many items run beside each other: 1, at most 8 |
    /// | `retry` | `{"times": 2, "delay_ms": 500}`: 5 times and 60 s at most |
    /// | `timeout_ms` | the time of one call |
    /// | `on_error` | `stop`, `continue`, or `undo`, which takes back what was completed |
    /// | `undo` | `{"tool": …, "with": …}`, the call that takes the step back |
    ///
    /// A value is JSON in which an object with one of these keys alone is an expression; everything
    /// else stands for itself, and a key that begins with `$$` means one `$`:
    ///
    /// | expression | gives |
    /// | --- | --- |
    /// | `{"$ref": "/input/a/0"}` | the value at a JSON Pointer, with its type |
    /// | `{"$concat": [a, b]}` | a text: texts as they are, other values as compact JSON |
    /// | `{"$default": [a, b]}` | `b` where `a` is missing or null |
    ///
    /// A pointer begins with `/input`, `/item`, `/index` or `/steps/ID`, and a step has `output`,
    /// `text`, `status`, `is_error` and `truncated`. A condition is an object with one key:
    /// `exists` and `not_empty` of a value, `equals`, `in` and `less` of a list of two, `not` of a
    /// condition, `all` and `any` of a list of them.
    ///
    /// ```
    /// use flyto_evolve::{ToolDefinition, parse_proposal};
    /// use serde_json::json;
    ///
    /// let def = ToolDefinition::composite("notes", "Writes the log of a repository into a file.", json!({
    ///     "steps": [
    ///         {"id": "log", "tool": "git_log", "with": {"dir": {"$ref": "/input/dir"}, "limit": 50}},
    ///         {"id": "save", "tool": "write_file",
    ///          "with": {"path": "NOTES.md", "text": {"$concat": ["# log\n", {"$ref": "/steps/log/text"}]}},
    ///          "when": {"not_empty": {"$ref": "/steps/log/text"}},
    ///          "undo": {"tool": "delete_file", "with": {"path": "NOTES.md"}}},
    ///     ],
    ///     "output": {"$default": [{"$ref": "/steps/save/output"}, "nothing to say"]},
    /// }));
    /// let source = flyto_diagnostics::Source::new("notes.json", def.file_text());
    /// assert!(parse_proposal(&source).definition.is_some());
    /// ```
    #[must_use]
    pub fn composite(
        name: impl Into<String>,
        description: impl Into<String>,
        composite: Value,
    ) -> Self {
        Self::new(name.into(), description.into(), Body::Composite(composite))
    }

    fn new(name: String, description: String, body: Body) -> Self {
        Self {
            name,
            description,
            input_schema: any_object(),
            body,
            timeout_seconds: DEFAULT_TIMEOUT.as_secs(),
            version: 0,
            created_at: String::new(),
            created_by: String::new(),
            rationale: String::new(),
            tags: Vec::new(),
            concurrency_safe: false,
            read_only: false,
            examples: Vec::new(),
        }
    }

    /// Sets the JSON Schema of the input.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }

    /// Sets how long a call may take, in seconds.
    #[must_use]
    pub fn with_timeout_seconds(mut self, seconds: u64) -> Self {
        self.timeout_seconds = seconds;
        self
    }

    /// Sets why the tool was made.
    #[must_use]
    pub fn with_rationale(mut self, rationale: impl Into<String>) -> Self {
        self.rationale = rationale.into();
        self
    }

    /// Sets the words by which the tool is found.
    #[must_use]
    pub fn with_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the number of the version.
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Sets by which session, agent or person it was made.
    #[must_use]
    pub fn with_created_by(mut self, by: impl Into<String>) -> Self {
        self.created_by = by.into();
        self
    }

    /// Adds a call with what is expected of it.
    #[must_use]
    pub fn with_example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }

    /// How long a call may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// The names of the parameters that the schema lists, in its order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let properties = self.input_schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(|it| it.keys().map(String::as_str))
    }

    /// Whether `{{.name}}` in a command is the value of a parameter: the schema lists it, or lists none and takes any.
    pub(crate) fn is_parameter(&self, name: &str) -> bool {
        let takes_any = || {
            self.parameters().next().is_none()
                && self.input_schema.get("additionalProperties") != Some(&Value::Bool(false))
        };
        self.parameters().any(|it| it == name) || takes_any()
    }

    /// Whether a call with this input fails by the tool's own fault, if it fails: a person approved the input as one that
    /// succeeds, or there is none and the schema names no parameter.
    pub(crate) fn has_to_work_with(&self, input: &Value) -> bool {
        let is_empty = input.as_object().is_some_and(serde_json::Map::is_empty);
        (is_empty && self.parameters().next().is_none())
            || self.examples.iter().any(|it| !it.is_error && it.input == *input)
    }

    /// As a call: `count_lines(path: string, limit?: integer)`.
    ///
    /// Types are those of the schema; a parameter without one is `any`, and `?` marks what may be
    /// left out.
    ///
    /// ```
    /// use flyto_evolve::ToolDefinition;
    /// use serde_json::json;
    ///
    /// let def = ToolDefinition::script("head", "The first lines.", "head\n").with_input_schema(json!({
    ///     "type": "object",
    ///     "properties": {"limit": {"type": ["integer", "null"]}, "path": {"type": "string"}, "x": {}},
    ///     "required": ["path"],
    /// }));
    /// assert_eq!(def.signature(), "head(limit?: integer | null, path: string, x?: any)");
    /// ```
    #[must_use]
    pub fn signature(&self) -> String {
        let required = self.input_schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(name)));
        let parameters: Vec<String> = self
            .parameters()
            .map(|name| {
                let kind = match &self.input_schema["properties"][name]["type"] {
                    Value::String(kind) => kind.clone(),
                    Value::Array(kinds) => {
                        let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                        kinds.join(" | ")
                    }
                    _ => "any".to_owned(),
                };
                let mark = if is_required(name) { "" } else { "?" };
                format!("{name}{mark}: {kind}")
            })
            .collect();
        format!("{}({})", self.name, parameters.join(", "))
    }

    /// The same without what editors and systems write differently: ends of lines, blanks at the end.
    #[must_use]
    pub(crate) fn normalised(mut self) -> Self {
        let unix = |text: &str| {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            text.replace("\r\n", "\n")
        };
        match &mut self.body {
            Body::Script(text) => {
                *text = unix(text);
                // One newline at the end, as editors leave it: texts that differ in that are the same tool.
                let end = text.trim_end_matches(['\n', ' ', '\t']).len();
                if end > 0 {
                    text.truncate(end);
                    text.push('\n');
                }
            }
            Body::Command(text) => *text = unix(text).trim_end_matches('\n').to_owned(),
            Body::Composite(_) => {}
        }
        self.description = self.description.trim().replace("\r\n", "\n");
        self.rationale = self.rationale.trim().replace("\r\n", "\n");
        self
    }
}

/// The schema of a tool that lists no parameters.
pub(crate) fn any_object() -> Value {
    json!({"type": "object", "properties": {}})
}
