//! JSON Schemas of what people write, for editors.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::manifest::{MAX_ALIASES, MAX_RULE_BYTES, MAX_RULES};

/// The JSON Schema (draft 2020-12) of a `plugin.json`.
///
/// It accepts what loads without a finding, so that an editor that knows it underlines a misspelt
/// key. What a schema cannot say is left to the loader: names that occur twice, programs that are
/// not there, an `input_schema` that does not compile.
#[must_use]
pub fn plugin() -> Value {
    of::<Plugin>()
}

/// The JSON Schema (draft 2020-12) of the `plugins` object of a configuration.
#[must_use]
pub fn plugin_config() -> Value {
    of::<PluginConfig>()
}

/// The JSON Schema (draft 2020-12) of servers by name, as they stand under `mcpServers` of a manifest and of a
/// configuration.
#[must_use]
pub fn servers() -> Value {
    let mut res = of::<BTreeMap<String, Server>>();
    res["propertyNames"] = serde_json::json!({ "pattern": SERVER_NAME });
    res
}

/// What the name of a server is made of.
const SERVER_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().into()
}

/// A plugin: a directory with this file and the programs that its tools run.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    title = "Flyto plugin",
    extend("anyOf" = [
        { "required": ["tools"], "properties": { "tools": { "type": "array", "minItems": 1 } } },
        { "required": ["mcpServers"], "properties": {
            "mcpServers": { "type": "object", "minProperties": 1 }
        } }
    ]),
    extend("if" = {
        "required": ["execution"], "properties": { "execution": { "const": "binary" } }
    }),
    extend("then" = {
        "required": ["binary"],
        "properties": { "binary": { "type": "object" }, "tools": { "items": {
            "not": { "required": ["parameters", "input_schema"] },
            "properties": {
                "name": { "pattern": "^[^-]*$" },
                "command": { "pattern": "^\\s*$" },
                "args": { "maxItems": 0 },
                "work_dir": false,
                "timeout_seconds": false
            }
        } } },
        "if": { "properties": { "binary": {
            "required": ["lifetime"], "properties": { "lifetime": { "const": "session" } }
        } } },
        "then": { "properties": { "tools": { "items": { "properties": {
            "ready": { "enum": [false, null] }
        } } } } }
    }),
    extend("else" = { "properties": { "binary": { "const": null }, "tools": { "items": {
        "required": ["command"],
        "properties": {
            "command": { "type": "string", "pattern": "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$" }
        },
        "if": { "required": ["parameters"] },
        "then": { "properties": {
            "name": { "pattern": "^[^-]*$" },
            "args": false, "input_schema": false, "work_dir": false, "timeout_seconds": false,
            "ready": { "enum": [false, null] }
        } },
        "else": { "properties": { "working_dir": false, "timeout_secs": false } }
    } } } })
)]
#[expect(dead_code, reason = "read by the derive only")]
struct Plugin {
    /// Where the schema of this file lies, for editors.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// The name, which stands before the names of the tools: letters, digits and `-`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$"))]
    name: String,
    /// The version, in whatever form you count.
    #[schemars(regex(pattern = r"\S"))]
    version: Option<String>,
    /// What the plugin is for, for people.
    description: Option<String>,
    /// The author.
    author: Option<String>,
    /// How tools are run: each has a command of its own, or `binary` has the one program of all.
    /// Default: `command`.
    execution: Option<Execution>,
    /// The program that carries out all tools, where `execution` is `binary`.
    binary: Option<Binary>,
    /// Servers of the Model Context Protocol, by name. A host that speaks the protocol starts them.
    #[schemars(rename = "mcpServers", extend("propertyNames" = {
        "pattern": SERVER_NAME
    }))]
    mcp_servers: Option<BTreeMap<String, Server>>,
    /// The tools. A plugin has at least one tool or one server.
    tools: Option<Vec<Tool>>,
    /// Rules of permission for calls of the tools, beside those of the operator: they can ask or deny, and never
    /// allow.
    permissions: Option<Permissions>,
}

/// What is asked first and what is refused of the plugin's own tools: `NAME:TOOL`, `NAME:*`, `class:bash`,
/// `Bash(git push:*)`, `Read(~/.ssh/**)`, `WebFetch(domain:example.org)`. Together at most 256.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Permissions {
    /// Calls that a person is asked about first.
    #[schemars(
        length(max = MAX_RULES),
        inner(length(min = 1, max = MAX_RULE_BYTES)),
        extend("type" = "array")
    )]
    ask: Option<Vec<String>>,
    /// Calls that are refused.
    #[schemars(
        length(max = MAX_RULES),
        inner(length(min = 1, max = MAX_RULE_BYTES)),
        extend("type" = "array")
    )]
    deny: Option<Vec<String>>,
}

/// How tools are run.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum Execution {
    /// Each tool has a command of its own.
    Command,
    /// One program carries out all tools.
    Binary,
}

/// A program that reads requests in JSON-RPC 2.0 from stdin, one a line, and answers on stdout.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("if" = {
        "not": { "required": ["lifetime"], "properties": { "lifetime": { "const": "session" } } }
    }),
    extend("then" = { "properties": { "idle_timeout_secs": { "const": null } } })
)]
#[expect(dead_code, reason = "read by the derive only")]
struct Binary {
    /// The program: the path of a file within the plugin's directory.
    #[schemars(
        regex(pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"),
        extend("not" = { "pattern": "^/|(^|/)\\.\\.(/|$)" })
    )]
    path: String,
    /// What the program speaks: `jsonrpc`, and nothing else so far.
    #[schemars(extend("enum" = ["jsonrpc", null]))]
    protocol: Option<String>,
    /// How many seconds a call may take, up to one week, whatever its tool says. Default: what the
    /// tool says.
    #[schemars(range(min = 1, max = 604_800))]
    timeout_secs: Option<u64>,
    /// The SHA-256 digest of the program's file as 64 hexadecimal digits.
    #[schemars(regex(pattern = r"^[0-9A-Fa-f]{64}$"))]
    sha256: Option<String>,
    /// How long one process lives: for one `call` (the default), or for a `session` of many.
    lifetime: Option<Lifetime>,
    /// How many seconds the process of a session is kept without a call, up to one week. Default: 300.
    #[schemars(range(min = 1, max = 604_800))]
    idle_timeout_secs: Option<u64>,
}

/// How long one process of a binary plugin lives.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum Lifetime {
    /// For one call.
    Call,
    /// For calls of all tools, until no call has come for a while.
    Session,
}

/// A server: a program that is started, with `command`, or one that is reached over HTTP, with
/// `url`. In every value `${NAME}` is a variable of the host, or `PLUGIN_ROOT` or `PLUGIN_DATA`, and
/// `${NAME:-default}` the default where that is unset or empty.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("oneOf" = [
    { "required": ["command"], "properties": { "url": false, "headers": false } },
    { "required": ["url"], "properties": {
        "command": false, "args": false, "env": false, "cwd": false
    } }
]))]
#[expect(dead_code, reason = "read by the derive only")]
struct Server {
    /// How it is reached. Default: by what else is there.
    #[schemars(rename = "type")]
    kind: Option<ServerType>,
    /// The program: a name that is looked up in `PATH`, or a path from the plugin's directory.
    #[schemars(regex(pattern = r"\S"))]
    command: Option<String>,
    /// The arguments of the program, one string each.
    args: Option<Vec<String>>,
    /// Variables for the program.
    #[schemars(extend("propertyNames" = {
        "pattern": "^[^=\\u0000]+$",
        "not": { "enum": ["PLUGIN_ROOT", "PLUGIN_DATA"] }
    }))]
    env: Option<BTreeMap<String, String>>,
    /// The directory in which the program starts. Default: the plugin's.
    cwd: Option<String>,
    /// The address.
    #[schemars(regex(pattern = r"\S"))]
    url: Option<String>,
    /// Headers of every request.
    headers: Option<BTreeMap<String, String>>,
    /// How many seconds one call of its tools may take, up to one week. Default: what the host gives.
    #[schemars(range(min = 1, max = 604_800))]
    timeout_seconds: Option<u64>,
    /// Switched on and off by other programs; `true` leaves the server out.
    #[schemars(extend("const" = false))]
    disabled: Option<bool>,
    /// Switched on and off by other programs; `false` leaves the server out.
    #[schemars(extend("const" = true))]
    enabled: Option<bool>,
}

/// How a server is reached.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "read by the derive only")]
enum ServerType {
    /// Over stdin and stdout of a program.
    Stdio,
    /// Over HTTP.
    Http,
    /// Over HTTP, by another name.
    StreamableHttp,
}

/// A program that reads the input of a call as JSON from stdin and prints the result on stdout. An
/// exit code other than 0 says that the call failed, and stderr says why. With `parameters`, the
/// command is a line in which `{{name}}` stands for a parameter.
#[derive(JsonSchema)]
#[schemars(
    deny_unknown_fields,
    extend("not" = { "required": ["content", "output_schema"], "properties": {
        "content": { "const": "mcp" }, "output_schema": { "type": "object" }
    } })
)]
#[expect(dead_code, reason = "read by the derive only")]
struct Tool {
    /// The name within the plugin: letters, digits, `_` and `-`, a letter first.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"))]
    name: String,
    /// What the tool does, what it returns, and when to use it. A model chooses tools by this text.
    #[schemars(regex(pattern = r"\S"))]
    description: String,
    /// The program: a name that is looked up in `PATH`, or a path such as `./run.sh`, which is taken
    /// from the working directory. No shell is involved. With `parameters`: a command line. In a binary
    /// plugin: none.
    command: Option<String>,
    /// The arguments of the program, one string each.
    #[schemars(inner(regex(pattern = r"^[^\u0000]*$")))]
    args: Option<Vec<String>>,
    /// JSON Schema of the input. Default: any object. Of the classes `file` and `webfetch`, rules judge the texts that it
    /// marks: `"x-flyto-path": "read"` or `"write"` is a path, the format `uri` or `uri-reference` an address.
    #[schemars(with = "Option<ObjectSchema>")]
    input_schema: (),
    /// JSON Schema of the input; each property is a parameter, which `{{name}}` in `command` stands
    /// for. `x-flyto-dash` in that of a parameter lets its values begin with `-`.
    #[schemars(with = "Option<Parameters>")]
    parameters: (),
    /// JSON Schema of the result, for a program that prints JSON.
    #[schemars(with = "Option<ObjectSchema>")]
    output_schema: (),
    /// `mcp`: the program prints `{"content": […]}`, a list of blocks of the Model Context Protocol such as text and images. In a
    /// binary plugin it answers with `content` in the place of `output`.
    #[schemars(extend("enum" = ["mcp", null]))]
    content: Option<String>,
    /// Variables for the program. `${NAME}` in a value is a variable of the host, and
    /// `${NAME:-default}` the default where that is unset or empty.
    #[schemars(extend("propertyNames" = {
        "pattern": "^[^=\\u0000]+$",
        "not": { "enum": ["PLUGIN_ROOT", "PLUGIN_DATA"] }
    }))]
    env: Option<BTreeMap<String, String>>,
    /// The directory in which the program starts, as a path from the plugin's. Default: the
    /// plugin's own.
    work_dir: Option<String>,
    /// With `parameters`, or in a binary plugin: the directory in which the program starts, as a path from the session's.
    /// Default: the session's own.
    working_dir: Option<String>,
    /// How many seconds a call may take, up to one week. Default: 30.
    #[schemars(range(min = 1, max = 604_800))]
    timeout_seconds: Option<u64>,
    /// With `parameters`, or in a binary plugin: how many seconds a call may take, up to one week. Default: 30.
    #[schemars(range(min = 1, max = 604_800))]
    timeout_secs: Option<u64>,
    /// What kind of tool it is, which decides about a call as `permission_class` does.
    #[schemars(extend("enum" = [
        "filesystem_read", "filesystem_write", "network_read", "network_write", "shell", "hardware",
        "memory", "messaging", "destructive", null
    ]))]
    category: Option<String>,
    /// Seconds between asking the program to end and killing it, up to 600. Default: 0, which kills
    /// at once.
    #[schemars(range(max = 600))]
    grace_seconds: Option<u64>,
    /// Upper bounds for the program. The operator's may be tighter.
    limits: Option<Limits>,
    /// What the program may reach on the network at most: `off`, or some hosts. The operator may allow less.
    network: Option<LessNetwork>,
    /// The sandbox profile for the program, beside those of the operator: `workspace`, `strict`, or one of the operator's
    /// own.
    #[schemars(regex(pattern = r"\S"))]
    sandbox: Option<String>,
    /// The SHA-256 digest of the program's file as 64 hexadecimal digits.
    #[schemars(regex(pattern = r"^[0-9A-Fa-f]{64}$"))]
    sha256: Option<String>,
    /// Shows lines of stdout as they come, and takes lines `::progress 0.4 text` on stderr as
    /// progress.
    stream: Option<bool>,
    /// The program does nothing but load before it reads its input, so that a host may start it before a call. Each
    /// process serves one call.
    ready: Option<bool>,
    /// How a call is taken back.
    undo: Option<Undo>,
    /// Which check decides about a call: `bash` (the default), `file`, `webfetch`, `readonly`,
    /// `generic`, or one that the host knows.
    permission_class: Option<String>,
    /// How a call is filed in the audit log: `write`, `edit`, `read`, `execute`, `delete`, `invoke`,
    /// or another word.
    audit_operation: Option<String>,
    /// Calls may run beside each other and beside calls of other tools.
    concurrency_safe: Option<bool>,
    /// Calls change nothing.
    read_only: Option<bool>,
    /// Calls may do what cannot be taken back.
    destructive: Option<bool>,
    /// A second call with the same input changes nothing further.
    idempotent: Option<bool>,
    /// Calls reach beyond this machine.
    open_world: Option<bool>,
    /// A call waits for a release.
    requires_checkpoint: Option<bool>,
    /// A call is challenged before it runs.
    requires_reverse_thinking: Option<bool>,
    /// The name for people.
    #[schemars(regex(pattern = r"\S"))]
    title: Option<String>,
    /// Further names within the plugin.
    #[schemars(length(max = MAX_ALIASES), inner(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")))]
    aliases: Option<Vec<String>>,
    /// A few words that a search should find the tool by.
    #[schemars(regex(pattern = r"\S"))]
    search_hint: Option<String>,
    /// The version of the tool. Default: the plugin's.
    #[schemars(regex(pattern = r"\S"))]
    version: Option<String>,
}

/// A JSON Schema whose root describes an object.
#[derive(JsonSchema)]
#[schemars(transparent, extend("properties" = { "type": { "const": "object" } }, "required" = ["type"]))]
#[expect(dead_code, reason = "read by the derive only")]
struct ObjectSchema(Map<String, Value>);

/// A JSON Schema of parameters; without a type it describes an object.
#[derive(JsonSchema)]
#[schemars(transparent, extend("properties" = { "type": { "const": "object" } }))]
#[expect(dead_code, reason = "read by the derive only")]
struct Parameters(Map<String, Value>);

/// Upper bounds for a program. One that the backend cannot keep makes a call fail before anything
/// starts.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Limits {
    /// Seconds of processor time.
    #[schemars(range(min = 1))]
    cpu_seconds: Option<u64>,
    /// Memory in bytes.
    #[schemars(range(min = 1))]
    memory_bytes: Option<u64>,
    /// Processes and threads alive at once.
    #[schemars(range(min = 1))]
    processes: Option<u64>,
    /// Size in bytes of any one file that is written.
    #[schemars(range(min = 1))]
    file_size_bytes: Option<u64>,
    /// Open files of one process.
    #[schemars(range(min = 1))]
    open_files: Option<u64>,
    /// Bytes of stdout and stderr together, after which the program is ended.
    #[schemars(range(min = 1))]
    output_bytes: Option<u64>,
}

/// How a call is taken back: by calling another tool with the same input.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Undo {
    /// The name of a tool of the same plugin.
    tool: String,
    /// What taking it back does, for people.
    #[schemars(regex(pattern = r"\S"))]
    description: Option<String>,
}

/// What the operator decides about plugins.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "Flyto plugin settings")]
#[expect(dead_code, reason = "read by the derive only")]
struct PluginConfig {
    /// Whether plugins are used at all. Default: `false`.
    enabled: Option<bool>,
    /// Where plugins are searched. A relative path starts from this file's directory, `~` and `~user` stand for home
    /// directories. Default: `["~/.flyto/plugins", "~/.zeptoclaw/plugins"]`.
    plugin_dirs: Option<Vec<String>>,
    /// The only plugins that are used; all where the list is empty.
    allowed_plugins: Option<Vec<PluginName>>,
    /// Plugins that are never used, also when they are allowed.
    blocked_plugins: Option<Vec<PluginName>>,
    /// What plugins get beyond what every plugin gets, by name.
    grants: Option<BTreeMap<PluginName, Grant>>,
    /// Whether a variable of the host that a manifest reads must be granted, too. Default: `false`.
    strict_env: Option<bool>,
    /// How many processes of tools that say `ready` may wait for a call. 0 of any of the bounds keeps none.
    ready: Option<ReadyBounds>,
}

/// The bounds on all processes that wait for a call, those of exec tools included.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct ReadyBounds {
    /// How many may wait. Default: 8.
    processes: Option<u64>,
    /// How many seconds one may wait. Default: 300.
    idle_seconds: Option<u64>,
    /// Bytes of memory of all of them. Default: 536,870,912.
    memory_bytes: Option<u64>,
}

/// The name of a plugin, as its manifest writes it.
#[derive(JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(transparent)]
struct PluginName(#[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$"))] String);

/// What one plugin gets beyond what every plugin gets.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive only")]
struct Grant {
    /// Names of variables of the host that its programs see.
    #[schemars(inner(regex(pattern = r"^[^=\u0000]+$")))]
    env: Option<Vec<String>>,
    /// Upper bounds in place of those that every plugin has.
    limits: Option<Limits>,
    /// What its programs reach on the network, whatever other plugins may: `on`, `off`, or some hosts.
    network: Option<GrantedNetwork>,
    /// Absolute paths that its programs may read and execute, with what lies below them; `~` and
    /// `~user` stand for home directories.
    #[schemars(inner(regex(pattern = r"^[~/][^\u0000]*$")))]
    read: Option<Vec<String>>,
    /// Absolute paths that its programs may read and write, with what lies below them.
    #[schemars(inner(regex(pattern = r"^[~/][^\u0000]*$")))]
    write: Option<Vec<String>>,
}

/// What may be reached.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "read by the derive only")]
enum GrantedNetwork {
    /// All or nothing.
    OnOff(OnOff),
    /// Hosts such as `example.org`, `*.example.org` or `example.org:443`.
    Hosts(Vec<String>),
}

/// What may be reached at most.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "read by the derive only")]
enum LessNetwork {
    /// Nothing.
    Off(Off),
    /// Hosts such as `example.org`, `*.example.org` or `example.org:443`.
    Hosts(Vec<String>),
}

/// Nothing.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum Off {
    /// No network.
    Off,
}

/// Yes or no.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "read by the derive only")]
enum OnOff {
    /// Yes.
    On,
    /// No.
    Off,
}
