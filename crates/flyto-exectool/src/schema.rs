//! The JSON Schema of a file of definitions, for editors.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The JSON Schema (draft 2020-12) of a file of definitions.
///
/// It accepts what loads without any finding, warnings included, so that an editor that knows it
/// underlines a misspelt key. A missing description is accepted too: the key is optional, and the
/// loader warns. What a schema cannot say is left to the loader: names that occur twice,
/// and an `input_schema` that does not compile.
#[must_use]
pub fn exec_tool() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>().into()
}

/// A file of exec tools: one definition, or an array of definitions.
#[derive(JsonSchema)]
#[schemars(untagged, title = "Flyto exec tools")]
#[expect(dead_code, reason = "read by the derive only")]
enum File {
    One(Definition),
    Many(Vec<Definition>),
}

/// A tool: a command that is fixed here. The input of a call arrives on its standard input, and
/// what it prints is the result.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Definition {
    /// Where the schema of this file lies, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// By what the tool is called: no white space, no colon, no `__`.
    #[schemars(
        length(min = 1, max = 256),
        regex(pattern = r"^[^\s:\u0000-\u001f\u007f-\u009f]*$")
    )]
    #[schemars(extend("not" = {"pattern": "__"}))]
    name: String,
    /// What the tool does, what it returns, and when to use it. A model chooses tools by this text.
    #[schemars(regex(pattern = r"\S"))]
    description: Option<String>,
    /// JSON Schema of the input. Default: any object without declared properties.
    #[schemars(extend("properties" = {"type": {"const": "object"}}))]
    input_schema: Option<Map<String, Value>>,
    /// The program and its fixed arguments, one string each. No shell reads them. A program without
    /// a slash is looked up in the `PATH` of the host, a relative path is taken from its current
    /// directory.
    #[schemars(length(min = 1), inner(regex(pattern = r"^[^\u0000]*$")))]
    #[schemars(extend("prefixItems" = [
        {"type": "string", "minLength": 1, "pattern": r"^[^\u0000]*$"}
    ]))]
    exec: Vec<String>,
    /// How long a call may take, in seconds. Default, also for 0: 30.
    #[schemars(range(min = 0))]
    timeout_seconds: Option<i64>,
    /// Seconds between asking the program to end and killing it, at the time limit. Default: 0,
    /// which kills at once.
    grace_seconds: Option<u64>,
    /// `mcp`: the program prints `{"content": […]}`, a list of blocks of the Model Context Protocol such as text and images.
    #[schemars(with = "Option<String>", extend("enum" = ["mcp", null]))]
    content: (),
    /// The program does nothing but load before it reads its input, so that a host may start it before a call. Each
    /// process serves one call.
    ready: Option<bool>,
}
