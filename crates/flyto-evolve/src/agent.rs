//! Tools by which an agent makes tools.
//!
//! They are native tools like others, and know nothing that a host could not do: what they propose goes to
//! [`ToolBuilder::apply`](crate::ToolBuilder::apply). A refusal is a result and no error, since the agent can react to it; its
//! data has the stage and the advice for programs.

use std::{collections::BTreeMap, sync::Arc};

use flyto_tools::{
    AuditOperation, CallContext, Failure, Metadata, NativeTool, NativeToolError, PermissionClass,
    Tool, ToolError, ToolResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de};
use serde_json::{Map, Value, json};

use crate::{Applied, Found, Proposal, Refusal, Stage, ToolBuilder, ToolUsage, pipeline::Denial};

/// The longest answer of `list_tools` and `search_tools`, in bytes: descriptions are left out beyond it, names never.
const MAX_LIST_BYTES: usize = 16 * 1024;

/// The names of [`agent_tools`], by which an agent makes and finds others.
pub const AGENT_TOOLS: [&str; 4] = ["create_tool", "update_tool", "list_tools", "search_tools"];

/// The most tools that a search gives.
const MAX_FOUND: usize = 20;

/// `create_tool`, `update_tool`, `list_tools` and `search_tools` for the agent of a session, to be registered by the host.
///
/// What the first two propose goes through all checks and to the approver; a refusal is a result that tells the agent what
/// to write instead. None of them acknowledges a finding or approves anything.
///
/// Where a person is asked later, the agent is told that its proposal waits. What became of it is told by these:
///
/// - the next `create_tool` or `update_tool` of the session tells each proposal that a person denied since, with the reason;
///   its data has them as `denials`.
/// - `list_tools` tells all proposals of the session that were denied after they had waited.
/// - a tool that was approved is in `list_tools`, as soon as the host has loaded it.
///
/// ```
/// # use std::sync::Arc;
/// # use flyto_evolve::{HostContext, Store, ToolBuilder, agent_tools};
/// # use flyto_execenv::{Environment, ExecEnv, local::Local};
/// # let host = HostContext::new(Environment::new(), "/tmp");
/// # let registry = Arc::new(flyto_tools::Registry::new());
/// # let builder = ToolBuilder::builder(Store::new("/nonexistent"), ExecEnv::new(Local::new()), host, Arc::clone(&registry)).build();
/// for tool in agent_tools(&builder, "session-7")? {
///     registry.register("host", tool)?;
/// }
/// assert!(registry.get("create_tool").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// None that a caller could cause: the names and the types are fixed.
pub fn agent_tools(
    builder: &ToolBuilder,
    session: &str,
) -> Result<Vec<Arc<dyn Tool>>, NativeToolError> {
    let (session, of) = (Arc::<str>::from(session), |it: &ToolBuilder| it.clone());
    let (create_in, update_in, list_in, search_in) =
        (of(builder), of(builder), of(builder), of(builder));
    let by = Arc::clone(&session);
    let create = NativeTool::builder(
        "create_tool",
        "Creates a tool that can be called at once, after a person approved it. Write one for what will be needed again, \
         and search for an existing one first. A script runs in bash: parameters are in $TOOL_INPUT_NAME (upper case, `-` \
         becomes `_`), the whole input is JSON on stdin, secrets are read from environment variables.",
    )
    .metadata(changing())
    .run(move |call, input: CreateTool| {
        let (builder, by) = (create_in.clone(), Arc::clone(&by));
        async move { apply(&builder, &call, input.proposal(&by)).await }
    })?;
    let update = NativeTool::builder(
        "update_tool",
        "Replaces a tool that was created before by a new version, after a person approved the difference. Give the whole \
         definition, and the version that it is based on as list_tools tells it.",
    )
    .metadata(changing())
    .run(move |call, input: UpdateTool| {
        let (builder, by) = (update_in.clone(), Arc::clone(&session));
        async move {
            let proposal = input.definition.proposal(&by).based_on(input.base_version);
            apply(&builder, &call, proposal).await
        }
    })?;
    let list = NativeTool::builder(
        "list_tools",
        "Lists the tools that were created, with their versions. With a name, gives the whole definition of one.",
    )
    .metadata(reading())
    .run(move |_, input: ListTools| {
        let builder = list_in.clone();
        async move { list(&builder, input).await }
    })?;
    let search = NativeTool::builder(
        "search_tools",
        "Finds tools of any kind by a few words about what they do.",
    )
    .metadata(reading())
    .run(move |_, input: SearchTools| {
        let builder = search_in.clone();
        async move {
            let mut found = builder.search(&input.query, MAX_FOUND);
            // The agent knows these, and their descriptions speak of all that tools do.
            found.sort_by_key(|it| AGENT_TOOLS.contains(&&*it.name));
            listed(found)
        }
    })?;
    Ok(vec![Arc::new(create), Arc::new(update), Arc::new(list), Arc::new(search)])
}

/// The definition of a tool, as an agent writes it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateTool {
    /// By what it is called: a letter, then letters, digits, `_` and `-`, at most 64.
    name: String,
    /// What it does and what it returns. Tools are chosen by this text.
    description: String,
    /// JSON Schema of the input: an object with its properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_schema: Option<Map<String, Value>>,
    /// `script`, `command` or `composite`. It may be left out, since it follows from the key that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution_type: Option<String>,
    /// The script that bash runs. Either this or `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    /// One command line for bash, in which `{{.name}}` is the value of a parameter as one literal word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Steps that call other tools, instead of a script: `{"steps": [STEP, …], "output": VALUE, "timeout_ms": N}`, 32 steps
    /// at most. Without `"output"`, that of the last step is delivered. `"destructive": true` says that calls destroy something.
    ///
    /// A STEP is `{"id": ID, "tool": NAME, "with": {…}}`, and may have these keys as well:
    /// `"after": [ID, …]` (steps that it waits for, beside those that it refers to);
    /// `"when": CONDITION` (else it is skipped);
    /// `"for_each": LIST` (one call for each item), with `"max_items"` (100, at most 1000) and `"max_parallel"` (1, at most 8);
    /// `"retry": {"times": 1 to 5, "delay_ms": N}`; `"timeout_ms": N` for one call; `"version": N` of a created tool;
    /// `"on_error": "stop" | "continue" | "undo"` (`stop`: no further step, and nothing is undone; `undo`: those that are done
    /// are undone in reverse, as after a time limit); `"undo": {"tool": NAME, "with": {…}}` (the call that takes it back).
    ///
    /// In `with`, `for_each`, `output` and conditions, a value is JSON, in which an object with one of these keys is looked up:
    /// `{"$ref": POINTER}`, `{"$concat": [a, b, …]}` (one text), `{"$default": [a, b]}` (b where a is missing or null). `$$ref` is
    /// the key `$ref` itself. A POINTER is `/input/NAME`, `/item` and `/index` in a step with `for_each`, or
    /// `/steps/ID/output` of an earlier step (also `text`, `status`, `is_error`, `truncated`); parts follow, as in
    /// `/steps/ID/output/files/0`. The output of a step with `when` or `"on_error": "continue"` needs a `$default`.
    ///
    /// A CONDITION is one of `{"exists": a}`, `{"not_empty": a}`, `{"equals": [a, b]}`, `{"in": [a, list]}`, `{"less": [a, b]}`,
    /// `{"not": c}`, `{"all": [c, …]}`, `{"any": [c, …]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    composite: Option<Map<String, Value>>,
    /// How long a call may take, in seconds: 60 unless set, at most 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u64>,
    /// Why the tool is needed; a person reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rationale: Option<String>,
    /// Words by which it is found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Whether calls may run beside each other.
    #[serde(default)]
    concurrency_safe: bool,
    /// Whether calls change nothing.
    #[serde(default)]
    read_only: bool,
    /// Calls with what is expected of them. They are run before a person is asked, without network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    examples: Vec<ExampleInput>,
    /// Why both are needed, where a tool was said to be much like it.
    #[serde(default, skip_serializing)]
    distinct_because: Option<String>,
}

/// A call with what is expected of it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExampleInput {
    /// The input of the call.
    input: Map<String, Value>,
    /// The whole text of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Texts that occur in the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contains: Vec<String>,
    /// Whether the call fails.
    #[serde(default)]
    is_error: bool,
}

/// A new version of a tool.
#[derive(Debug, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct UpdateTool {
    /// The version that it is based on.
    base_version: u64,
    #[schemars(flatten)]
    definition: CreateTool,
}

/// By hand, since a flattened member would take every key: a mistyped one would be dropped without a word.
impl<'de> Deserialize<'de> for UpdateTool {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const BASE: &str = "base_version";
        let mut members = Map::deserialize(deserializer)?;
        let base = members.remove(BASE).ok_or_else(|| de::Error::missing_field(BASE))?;
        let base_version = serde_json::from_value(base).map_err(de::Error::custom)?;
        let definition =
            serde_json::from_value(Value::Object(members)).map_err(de::Error::custom)?;
        Ok(Self { base_version, definition })
    }
}

/// Which tools are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTools {
    /// The tool whose whole definition is given.
    #[serde(default)]
    name: Option<String>,
}

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchTools {
    /// A few words about what the tool does.
    query: String,
}

impl CreateTool {
    /// The proposal that the input is: the same text as in a file.
    fn proposal(&self, by: &str) -> Proposal {
        let mut res = Proposal::new(json!(self).to_string(), by);
        res.distinct_because.clone_from(&self.distinct_because);
        res
    }
}

/// The metadata of a tool that changes what tools there are.
fn changing() -> Metadata {
    let mut res = Metadata::new();
    res.permission_class = PermissionClass::GENERIC;
    res.audit_operation = Some(AuditOperation::WRITE);
    res.destructive = Some(false);
    res.read_only = Some(false);
    res
}

/// The metadata of a tool that only tells.
fn reading() -> Metadata {
    let mut res = Metadata::new();
    res.permission_class = PermissionClass::READONLY;
    res.audit_operation = Some(AuditOperation::READ);
    (res.read_only, res.concurrency_safe, res.open_world) = (Some(true), Some(true), Some(false));
    res
}

/// Has a proposal go through the pipeline, and tells a model what came of it. A refusal is a failed result, with what to write
/// instead.
async fn apply(builder: &ToolBuilder, call: &CallContext, proposal: Proposal) -> ToolResult {
    let res = match builder.apply_within(call, proposal).await {
        Ok(Applied::Saved(version)) => {
            let def = &version.definition;
            let text = format!(
                "{} is saved as version {} and can be called now",
                def.signature(),
                version.number
            );
            let data = json!({"status": "saved", "name": def.name, "version": version.number, "sha256": def.hash()});
            ToolResult::text(text).with_data(data)
        }
        Ok(Applied::Once { name }) => {
            let text = format!("{name} can be called now, in this session only");
            ToolResult::text(text).with_data(json!({"status": "once", "name": name}))
        }
        Ok(Applied::Staged { id }) => {
            let command = builder.command();
            let text = format!(
                "the proposal waits for a person as {id:?}; go on without the tool, and tell the user that `{command} \
                 approve {id}` shows it and asks"
            );
            ToolResult::text(text).with_data(json!({"status": "staged", "id": id}))
        }
        Err(refusal) => refused(&refusal),
    };
    with_denials(res, builder.denials(false))
}

/// A result that also says which proposals a person denied after they had waited.
fn with_denials(mut res: ToolResult, denials: Vec<Denial>) -> ToolResult {
    for Denial { id, reason, .. } in &denials {
        let why = reason.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        if !res.output.ends_with('\n') {
            res.output.push('\n');
        }
        res.output.push_str(&format!("the proposal {id:?} was denied{why}\n"));
    }
    if let (false, Some(Value::Object(data))) = (denials.is_empty(), &mut res.data) {
        data.insert("denials".to_owned(), json!(denials));
    }
    res
}

/// A refusal as the agent reads it.
///
/// What went wrong comes first, then what to write instead. A denial is told as one, so that a host
/// does not take it for a fault of the agent.
fn refused(refusal: &Refusal) -> ToolResult {
    let (stage, advice) = (refusal.stage(), refusal.advice());
    let why = flyto_program::chain(refusal);
    let text = if advice.is_empty() { why.clone() } else { format!("{why}\nwhat to do: {advice}") };
    let failure = match stage {
        Stage::Approval => Failure::Denied,
        _ => Failure::reported(),
    };
    ToolResult::failed(failure, text)
        .with_data(json!({"status": "refused", "stage": stage, "why": why, "advice": advice}))
}

/// Tells of all tools, or of one with its text and its versions.
///
/// # Errors
///
/// [`ToolError`] where the store cannot be read.
async fn list(builder: &ToolBuilder, input: ListTools) -> Result<ToolResult, ToolError> {
    let Some(name) = input.name else {
        let tools = builder.tools();
        builder.learn_answers().await;
        // Without statistics, the tools are there all the same.
        let usage = builder.blocking(|store| store.usage()).await.unwrap_or_default();
        let failing = failing(&tools, &usage);
        let mut res = listed(tools);
        res.output.push_str(&failing);
        return Ok(with_denials(res, builder.denials(true)));
    };
    let read = {
        let name = name.clone();
        builder.blocking(move |store| store.last(&name)).await
    };
    Ok(match read {
        Ok(Some(version)) => {
            let text = version.definition.file_text();
            ToolResult::text(text)
                .with_data(json!({"version": version.number, "status": version.status}))
        }
        Ok(None) => ToolResult::failed(
            Failure::reported(),
            format!("there is no tool {name:?} that was created"),
        ),
        Err(refusal) => refused(&refusal),
    })
}

/// A line for each tool whose last calls failed, so that its author can propose another version.
fn failing(tools: &[Found], usage: &BTreeMap<String, ToolUsage>) -> String {
    let mut res = String::new();
    for it in tools {
        let used = it.version.and_then(|version| usage.get(&it.name)?.get(&version));
        if let Some(used) = used.filter(|it| it.is_failing()) {
            let why = used.last_failure.as_deref().unwrap_or("unknown");
            res.push_str(&format!(
                "the last {} calls of {} failed ({why}): where its text is the reason, update_tool mends it\n",
                used.n_failures_in_a_row, it.name
            ));
        }
    }
    res
}

/// One line a tool, within the bound.
///
/// Beyond the bound, descriptions are left out and never names, and the text says how many: a tool
/// that an agent cannot see is a tool that it makes again.
fn listed(found: Vec<Found>) -> ToolResult {
    let mut text = String::new();
    let mut n_bare = 0;
    for Found { name, version, description } in &found {
        let version = version.map(|it| format!(" (version {it})")).unwrap_or_default();
        let description = description.lines().next().unwrap_or_default();
        if text.len() + name.len() + description.len() < MAX_LIST_BYTES {
            text.push_str(&format!("{name}{version}: {description}\n"));
        } else {
            n_bare += 1;
            text.push_str(&format!("{name}{version}\n"));
        }
    }
    if found.is_empty() {
        text.push_str("none\n");
    }
    if n_bare > 0 {
        text.push_str(&format!(
            "the descriptions of {n_bare} tools are left out: search_tools finds them\n"
        ));
    }
    ToolResult::text(text).with_data(json!(found))
}
