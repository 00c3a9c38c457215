//! A tool from an async function: derived schema, metadata, a structured result, and undo.
//!
//! `cargo run -p flyto-tools --example typed_tool`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex};

use flyto_tools::{
    AuditOperation, CallContext, Input, IntoToolResult, Json, Metadata, NativeTool, OutputChannel,
    Progress, Tool, ToolResult, UndoInfo,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

type Notes = Arc<Mutex<BTreeMap<String, String>>>;

#[derive(Deserialize, JsonSchema)]
struct SetNote {
    /// Name of the note.
    name: String,
    /// Its text. Without one, the note is removed.
    text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct NoteSet {
    /// How many notes there are now.
    n_notes: usize,
}

fn set_note(notes: Notes) -> Result<NativeTool, Box<dyn Error>> {
    let mut metadata = Metadata::new();
    metadata.title = Some("Set a note".into());
    metadata.destructive = Some(false);
    metadata.idempotent = Some(true);
    metadata.open_world = Some(false);
    metadata.audit_operation = Some(AuditOperation::EDIT);

    let tool = NativeTool::builder("set_note", "Writes, replaces or removes a note.")
        .metadata(metadata)
        .output::<NoteSet>()
        .run(move |ctx: CallContext, args: SetNote| {
            let notes = Arc::clone(&notes);
            async move {
                ctx.report(0.5, "writing");
                ctx.emit(OutputChannel::Output, args.name.as_bytes());
                let mut notes = notes.lock().map_err(|_| "the notes are lost")?;
                let former = match args.text {
                    Some(text) => notes.insert(args.name.clone(), text),
                    None => notes.remove(&args.name),
                };
                let result = Json(NoteSet { n_notes: notes.len() }).into_tool_result()?;
                // The inverse call travels in the same result.
                let what = format!("set {:?} back", args.name);
                let input = json!({"name": args.name, "text": former});
                Ok::<ToolResult, Box<dyn Error + Send + Sync>>(
                    result.with_undo(UndoInfo::new(what, "set_note", input)),
                )
            }
        })?;
    Ok(tool)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let notes = Notes::default();
    let tool = set_note(Arc::clone(&notes))?;
    println!("schema: {}", tool.input_schema());

    let ctx = CallContext::new().with_progress(|it: Progress| println!("progress: {it}"));
    let input = Input::parse(r#"{"name": "milk", "text": "buy two"}"#)?;
    let result = tool.execute(&ctx, input).await?;
    println!("result: {}", serde_json::to_string(&result)?);

    let bad = tool.execute(&ctx, json!({"name": 7}).into()).await?;
    println!("refused: {}", bad.output);

    let undo = result.undo.ok_or("a note that was set can be set back")?;
    println!("undo: {} with {}", undo.what, undo.input);
    tool.execute(&ctx, undo.input.into()).await?;
    println!("notes: {:?}", notes.lock().map_err(|_| "the notes are lost")?);
    Ok(())
}
