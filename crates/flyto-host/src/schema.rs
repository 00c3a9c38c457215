//! JSON Schemas of the files that people write, for editors.

use std::{borrow::Cow, collections::BTreeMap};

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
    /// Servers of the Model Context Protocol by name, whose tools are those of the host as well. A relative path of a program
    /// starts from this file's directory.
    #[schemars(rename = "mcpServers", schema_with = "servers")]
    servers: Option<Value>,
    /// Bytes of a result's text; more is cut in the middle, and kept whole in a file. The default
    /// is 65536.
    output_limit_bytes: Option<u64>,
    /// The profile under which programs run: of all classes, or class by class.
    sandbox: Option<Sandbox>,
    /// Which calls are allowed, asked first, or denied. Deny wins over ask, ask over allow.
    permissions: Option<Permissions>,
    /// What is recorded of calls, and how.
    audit: Option<Audit>,
    /// The store of tools that agents wrote at run time.
    evolve: Option<Evolve>,
    /// What becomes of secrets in results: `off`, `report`, `redact` (replaced), or `refuse` (the result is withheld).
    /// Without it, what a model called is redacted, and what the operator called is left as it is.
    output_guard: Option<OutputGuard>,
    /// A file with rules for secrets beside the built-in ones, in the form of `gitleaks.toml`. A relative path starts
    /// from this file's directory, `~` is the home directory.
    secret_rules: Option<String>,
}

/// What is recorded of calls, and how.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Audit {
    /// Whether calls are recorded. The default is true.
    enabled: Option<bool>,
    /// When records are forced onto the disk: `never` (the system does it), `batch`, or `each` before it counts.
    fsync: Option<Fsync>,
    /// What becomes of a call that cannot be recorded: `refuse` (the default) or `run`.
    on_failure: Option<OnFailure>,
    /// The input of a call in its record: its `digest` (the default), or in `full`, without what looks like a secret.
    inputs: Option<Inputs>,
    /// Days for which records are kept; without it, all are.
    keep_days: Option<u64>,
}

/// The store of tools that agents wrote at run time.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Evolve {
    /// Whether the store is used. The default is true.
    enabled: Option<bool>,
    /// Its directory. A relative path starts from this file's directory, `~` is the home directory. The default is
    /// `~/.flyto/evolution`, once it is there.
    dir: Option<String>,
    /// Whether calls are kept in the store without their secrets, for `flyto evolve replay`. The default is false.
    record_calls: Option<bool>,
    /// Whether `flyto serve` tells a model that a tool would help, where its calls are of one shape again and again. The
    /// default is false.
    hints: Option<bool>,
    /// Whether `flyto serve` asks the user of a client about a tool that is proposed in a call of that client. Otherwise each
    /// proposal waits for `flyto evolve approve`. The default is true.
    ask_client: Option<bool>,
}

/// When records are forced onto the disk.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum Fsync {
    /// When the system writes them.
    Never,
    /// Some at a time.
    Batch,
    /// Each, before it counts as written.
    Each,
}

/// What becomes of a call that cannot be recorded.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum OnFailure {
    /// It is refused.
    Refuse,
    /// It runs.
    Run,
}

/// The input of a call in its record.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum Inputs {
    /// Its SHA-256 and length.
    Digest,
    /// The text as well.
    Full,
}

/// What becomes of secrets in results.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum OutputGuard {
    /// Results are not looked at.
    Off,
    /// They are told and stay.
    Report,
    /// They are replaced.
    Redact,
    /// The result is withheld.
    Refuse,
}

/// Rules of permission, such as `Bash(git diff:*)`, `Read(src/**)`, `WebFetch(domain:example.org)`, `plugin:tool`,
/// `plugin:*`, `mcp__server__*`, `class:generic`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Permissions {
    /// What they name is allowed.
    #[schemars(inner(length(min = 1, max = 4096)))]
    allow: Option<Vec<String>>,
    /// What they name is asked first.
    #[schemars(inner(length(min = 1, max = 4096)))]
    ask: Option<Vec<String>>,
    /// What they name is denied, whatever other rules say.
    #[schemars(inner(length(min = 1, max = 4096)))]
    deny: Option<Vec<String>>,
}

/// The profile of all programs, or of each class of them.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "read by the derive only")]
enum Sandbox {
    /// The name of a profile: `none`, `workspace` or `strict`.
    All(BuiltIn),
    /// The names of profiles by class.
    ByClass(Classes),
}

/// A profile that is always there.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum BuiltIn {
    /// Nothing is cut off.
    None,
    /// Files of the project only, but for what is readable; no secrets.
    Workspace,
    /// For programs that are not trusted: no network, no home directory.
    Strict,
}

/// The profile of each class: `none`, `workspace`, `strict`, or one of `profiles`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Classes {
    /// Tools of plugins.
    plugin_tool: Option<String>,
    /// Hooks of plugins.
    plugin_hook: Option<String>,
    /// Servers of the Model Context Protocol.
    mcp_server: Option<String>,
    /// Tools of definition files.
    user_hook: Option<String>,
    /// Tools that an agent wrote at run time.
    evolve: Option<String>,
    /// Further profiles by name.
    profiles: Option<BTreeMap<String, OwnProfile>>,
}

/// A profile of one's own.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct OwnProfile {
    /// The profile that it extends. Default: `workspace`.
    extends: Option<BuiltIn>,
    /// Further absolute paths that may be read and executed, with what lies below them.
    #[schemars(inner(regex(pattern = r"^[~/][^\u0000]*$")))]
    read: Option<Vec<String>>,
    /// Further absolute paths that may be read and written.
    #[schemars(inner(regex(pattern = r"^[~/][^\u0000]*$")))]
    write: Option<Vec<String>>,
    /// Further absolute paths that are closed, whatever is granted.
    #[schemars(inner(regex(pattern = r"^[~/][^\u0000]*$")))]
    deny: Option<Vec<String>>,
    /// The network: `on`, `off`, or the hosts that may be reached.
    network: Option<Reach>,
    /// Upper bounds, as in a grant.
    limits: Option<Limits>,
}

/// The bounds of a grant: the definition comes with the schema of `plugins`.
struct Limits;

impl JsonSchema for Limits {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Limits".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::new_ref("#/$defs/Limits".to_owned())
    }
}

/// What may be reached.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "read by the derive only")]
enum Reach {
    /// All or nothing.
    OnOff(OnOff),
    /// Hosts such as `example.org`, `*.example.org` or `example.org:443`.
    Hosts(Vec<String>),
}

/// All or nothing.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum OnOff {
    /// Whatever the machine can reach.
    On,
    /// Nothing.
    Off,
}

fn servers(generator: &mut SchemaGenerator) -> Schema {
    part(flyto_plugin::schema::servers(), generator)
}

fn plugins(generator: &mut SchemaGenerator) -> Schema {
    part(flyto_plugin::schema::plugin_config(), generator)
}

/// A schema of its own as a part of the document.
fn part(schema: Value, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Schema::try_from(schema).unwrap_or_default();
    schema.remove("$schema");
    // References lead to the definitions of the whole document.
    if let Some(Value::Object(definitions)) = schema.remove("$defs") {
        generator.definitions_mut().extend(definitions);
    }
    schema
}
