//! How a call is taken back.

use flyto_diagnostics::{ObjectReader, Reported};

use super::{def::UndoDef, field::non_blank};

/// Reads `undo`. Whether the plugin has the tool that it names is known once all are read.
/// # Errors
///
/// [`Reported`] when `tool` is missing, and where a value is no string. A blank description is
/// replaced by a sentence with the name of the tool.
pub(super) fn read(reader: &mut ObjectReader<'_, '_>) -> Result<Option<UndoDef>, Reported> {
    let Some(at) = reader.optional_object("undo")? else { return Ok(None) };
    let mut reader = ObjectReader::new(at, reader.findings())?;
    let tool = reader.required_string("tool");
    let description = non_blank(&mut reader, "description");
    reader.suggest_for("what", "description");
    reader.suggest_for("name", "tool");
    reader.finish();
    let tool = tool?;
    let description = description?;
    let description = description.unwrap_or_else(|| format!("call {tool} with the same input"));
    Ok(Some(UndoDef::new(tool, description)))
}
