//! JSON Schemas of the files that people write, for editors.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of a configuration.
#[must_use]
pub fn config() -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Config>();
    // A part with a schema of its own counts as required, whatever its type.
    schema.remove("required");
    schema.into()
}

/// The JSON Schema of a plugin's manifest.
#[must_use]
pub fn plugin() -> Value {
    flyto_plugin::schema::plugin()
}

/// The JSON Schema of a file with tool definitions.
#[must_use]
pub fn exec_tool() -> Value {
    flyto_exectool::schema::exec_tool()
}

/// The configuration of Flyto.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "Flyto configuration")]
#[expect(dead_code, reason = "read by the derive only")]
struct Config {
    /// Where the schema of this file lies, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// Plugins: whether they are used, where they lie, which of them, and what they get.
    #[schemars(schema_with = "plugins")]
    plugins: Option<Value>,
    /// Files with tool definitions. A relative path starts from this file's directory, `~` is the
    /// home directory.
    exec_tools: Option<Vec<String>>,
    /// Bytes of a result's text; more is cut in the middle, and kept whole in a file. The default
    /// is 65536.
    output_limit_bytes: Option<u64>,
    /// Directories whose projects may do more than narrow this configuration with a
    /// `.flyto/config.json` of their own. Only the user's own file can list them.
    trusted_dirs: Option<Vec<String>>,
}

fn plugins(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Schema::try_from(flyto_plugin::schema::plugin_config()).unwrap_or_default();
    schema.remove("$schema");
    // References lead to the definitions of the whole document.
    if let Some(Value::Object(definitions)) = schema.remove("$defs") {
        generator.definitions_mut().extend(definitions);
    }
    schema
}
