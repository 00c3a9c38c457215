//! Whether a program may be started before its call.

use flyto_diagnostics::{ObjectReader, Reported};

use super::{
    binary::BinaryDef,
    def::{Lifetime, ToolForm},
    meant,
};
use crate::codes;

/// Reads `ready`. Where no process is started for each call, or none reads its input, it is a warning and has no effect.
///
/// # Errors
///
/// [`Reported`] when it is no truth value.
pub(super) fn read(
    reader: &mut ObjectReader<'_, '_>,
    form: ToolForm,
    binary: Option<&BinaryDef>,
) -> Result<bool, Reported> {
    if meant::flag(reader, "ready")? != Some(true) {
        return Ok(false);
    }
    let lifetime = binary.map(|it| it.lifetime);
    let why = match (form, lifetime) {
        (ToolForm::Template, _) => "a template has its values in its arguments, and reads nothing",
        (_, Some(Lifetime::Session { .. })) => "the process of a session stays between calls",
        _ => return Ok(true),
    };
    let diag = reader.at("ready").warning(codes::UNUSED_READY, "`\"ready\": true` has no effect");
    reader.push(diag.with_reason(why).with_help("remove it"));
    Ok(false)
}
