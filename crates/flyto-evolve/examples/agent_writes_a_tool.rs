//! A scripted model writes a tool, a scripted person approves it, and the next call uses it.
//!
//! `cargo run -p flyto-evolve --example agent_writes_a_tool`

use std::sync::Arc;

use flyto_evolve::{
    Answer, Approver, ApproverError, Decision, HostContext, Review, Store, ToolBuilder, agent_tools,
};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::{CallContext, Input, Registry};
use serde_json::{Value, json};

/// Prints what a person would read, and says yes.
#[derive(Debug)]
struct Person;

#[async_trait::async_trait]
impl Approver for Person {
    #[expect(clippy::print_stdout, reason = "it is what the example shows")]
    async fn review(&self, review: &Review) -> Result<Decision, ApproverError> {
        println!("--- a person reads:\n{review}---");
        Ok(Decision::new(Answer::Save, "ada"))
    }
}

/// What a model would send, one call after the other.
fn calls() -> [(&'static str, Value); 4] {
    let definition = |script: &str| {
        json!({
            "name": "longest_line",
            "description": "Returns the longest line of a text.",
            "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "script": script,
            "rationale": "the user asks for it for the third time",
        })
    };
    [
        ("search_tools", json!({"query": "longest line"})),
        // A token in the script is refused, and the answer says what to write instead.
        (
            "create_tool",
            definition(&format!(
                "curl -H 'Authorization: ghp_{}' https://example.org",
                "a8Kd93jsLq0ZxW4nTy7RbVc2MfHg51UeQp6J"
            )),
        ),
        (
            "create_tool",
            definition(
                "awk '{ if (length > n) { n = length; longest = $0 } } END { print longest }' <<< \"$TOOL_INPUT_TEXT\"",
            ),
        ),
        ("longest_line", json!({"text": "a\nthe longest line\n$(halt)"})),
    ]
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is an example")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let registry = Arc::new(Registry::new());
    let host = HostContext::new(Environment::ambient(), dir.path());
    let store = Store::new(dir.path().join("evolution"));
    let builder =
        ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::clone(&registry))
            .approver(Arc::new(Person))
            .build();
    for tool in agent_tools(&builder, "session-7")? {
        registry.register("host", tool)?;
    }
    for (name, input) in calls() {
        // A host looks the name up for each call, so a tool is there in the turn in which it was made.
        let entry = registry.get(name).ok_or("the model calls a tool that is not there")?;
        let result = entry.tool().execute(&CallContext::new(), Input::from_value(input)).await?;
        println!("{name} -> {}", result.output.trim_end());
    }
    Ok(())
}
