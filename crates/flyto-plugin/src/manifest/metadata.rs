//! What a tool says about itself.
//!
//! A host's gates decide by these keys: the permission class, the hints, the checkpoint. None of
//! them changes how the program runs. What the author leaves out stays unknown (`None`), which a
//! gate judges by its own rules.

use flyto_diagnostics::{Diagnostic, ObjectReader, Reported, closest, codes::BAD_VALUE, quoted};
use flyto_tools::{AuditOperation, Metadata, PermissionClass};

use super::{field::non_blank, meant::flag};
use crate::{codes, names::NameKind};

/// The most aliases of one tool: 256, far more than a tool had under former names. A registry keeps
/// each of them for as long as the tool is there.
pub(crate) const MAX_ALIASES: usize = 256;

/// The classes of Flyto itself, in the order in which a help lists them.
pub(super) const CLASSES: [PermissionClass; 5] = [
    PermissionClass::BASH,
    PermissionClass::FILE,
    PermissionClass::WEBFETCH,
    PermissionClass::READONLY,
    PermissionClass::GENERIC,
];

/// Reads the keys that describe a tool. Defaults: the class `bash`, no checkpoint, no challenge,
/// and nothing known of the rest.
///
/// # Errors
///
/// [`Reported`] when one of them has a wrong type, an alias is no name of a tool, or there are more than
/// [`MAX_ALIASES`].
pub(super) fn read(reader: &mut ObjectReader<'_, '_>) -> Result<Metadata, Reported> {
    let title = non_blank(reader, "title");
    let aliases = aliases(reader);
    let search_hint = non_blank(reader, "search_hint");
    let permission_class = permission_class(reader);
    let audit_operation = non_blank(reader, "audit_operation");
    let concurrency_safe = flag(reader, "concurrency_safe");
    let read_only = flag(reader, "read_only");
    let destructive = flag(reader, "destructive");
    let idempotent = flag(reader, "idempotent");
    let open_world = flag(reader, "open_world");
    let requires_checkpoint = flag(reader, "requires_checkpoint");
    let requires_reverse_thinking = flag(reader, "requires_reverse_thinking");
    let version = non_blank(reader, "version");

    let mut res = Metadata::new();
    res.title = title?;
    res.aliases = aliases?;
    res.search_hint = search_hint?;
    res.permission_class = permission_class?;
    res.audit_operation = audit_operation?.map(AuditOperation::new);
    res.concurrency_safe = concurrency_safe?;
    res.read_only = read_only?;
    res.destructive = destructive?;
    res.idempotent = idempotent?;
    res.open_world = open_world?;
    res.requires_checkpoint = requires_checkpoint?.unwrap_or_default();
    res.requires_reverse_thinking = requires_reverse_thinking?.unwrap_or_default();
    res.version = version?;
    Ok(res)
}

/// Further names of the tool, within the plugin: at most [`MAX_ALIASES`]. All forms may have `-` in
/// them. Whether they are free is checked once all entries are read.
fn aliases(reader: &mut ObjectReader<'_, '_>) -> Result<Vec<String>, Reported> {
    let Some(names) = reader.optional_string_array("aliases")? else { return Ok(Vec::new()) };
    if let Some(first_beyond) = reader.at("aliases").item(MAX_ALIASES) {
        let what = format!("the tool has {} aliases, and {MAX_ALIASES} are the most", names.len());
        let help = "keep the names that callers still use";
        return Err(reader.push(first_beyond.error(BAD_VALUE, what).with_help(help)));
    }
    let mut failed = None;
    for (name, at) in names.iter().zip(reader.at("aliases").items()) {
        if let Err(fault) = NameKind::ArgvTool.check(name) {
            let what = format!("the alias {} {fault}", quoted(name));
            let help = format!("a name is made of {}", NameKind::ArgvTool.rule());
            failed = Some(reader.push(at.error(codes::BAD_TOOL_NAME, what).with_help(help)));
        }
    }
    failed.map_or_else(|| Ok(names.into_iter().map(ToOwned::to_owned).collect()), Err)
}

/// The class. Any name is accepted, since a host may know more of them than are known here. An
/// absent or empty text is `bash`.
fn permission_class(reader: &mut ObjectReader<'_, '_>) -> Result<PermissionClass, Reported> {
    let name = reader.optional_string("permission_class")?.unwrap_or_default();
    if name.is_empty() {
        return Ok(PermissionClass::BASH);
    }
    if let Some(class) = CLASSES.into_iter().find(|it| it.as_str() == name) {
        return Ok(class);
    }
    let unknown = unknown_class(reader, name);
    reader.push(unknown);
    Ok(PermissionClass::new(name.to_owned()))
}

/// A warning where a known class is near, for it is probably a slip; otherwise a note, since a
/// host may have the class.
fn unknown_class(reader: &ObjectReader<'_, '_>, name: &str) -> Diagnostic {
    let at = reader.at("permission_class");
    let known = CLASSES.iter().map(PermissionClass::as_str);
    let reason =
        "a host that does not know the class decides by its rules, and asks where none fits";
    match closest(name, known.clone()) {
        Some(near) => at
            .warning(
                codes::UNKNOWN_PERMISSION_CLASS,
                format!("the permission class {} is not known", quoted(name)),
            )
            .with_reason(reason)
            .with_help(format!("did you mean {}?", quoted(near)))
            .with_suggestion(at.span(), quoted(near)),
        None => {
            let known: Vec<_> = known.map(quoted).collect();
            at.note(
                codes::UNKNOWN_PERMISSION_CLASS,
                format!("the permission class {} is not one of Flyto's own", quoted(name)),
            )
            .with_reason(reason)
            .with_help(format!("its own are {}", known.join(", ")))
        }
    }
}
