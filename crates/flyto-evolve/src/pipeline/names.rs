//! Whether a name is free, and is like no other.

use flyto_tools::{Owner, Registry};

use super::{Refusal, ToolBuilder};
use crate::{PROTECTED_NAMES, look_alike};

impl ToolBuilder {
    /// Whether a name is free here, and like no other. `own` are the names of this store.
    pub(super) fn check_name(&self, name: &str, own: &[String]) -> Result<(), Refusal> {
        let it = &self.inner;
        check(name, &it.registry, &it.owner, &it.protected, own)
    }
}

/// Compares a name with those of the host, of other owners, and of the tools that are there.
///
/// `protected_names` are those of tools that a host has beside the registry. `own` are the names of this store, with those of archived tools and of proposals that wait: a
/// name that looks like one of them is refused, the name itself is an update.
///
/// # Errors
///
/// [`Refusal::Protected`] for a name of the host or of another owner, and [`Refusal::LookAlike`]
/// for one that could be taken for another name.
fn check(
    name: &str,
    registry: &Registry,
    owner: &Owner,
    protected_names: &[String],
    own: &[String],
) -> Result<(), Refusal> {
    let protected = |holder: String| Refusal::Protected { name: name.to_owned(), holder };
    if PROTECTED_NAMES.contains(&name) || protected_names.iter().any(|it| it == name) {
        return Err(protected("a tool of the host".to_owned()));
    }
    let snapshot = registry.snapshot();
    if let Some(entry) = snapshot.get(name)
        && entry.owner() != owner
    {
        return Err(protected(format!("{}, of {}", entry.id(), entry.owner())));
    }
    let others = snapshot.iter().filter(|it| it.owner() != owner);
    let mut names: Vec<&str> = PROTECTED_NAMES.to_vec();
    names.extend(protected_names.iter().map(String::as_str));
    names.extend(others.clone().map(|it| it.id().as_str()));
    names.extend(others.clone().map(|it| it.wire_name()));
    names.extend(others.flat_map(|it| it.aliases()).map(|it| it.as_str()));
    names.extend(own.iter().map(String::as_str));
    match look_alike(name, names) {
        Some(found) => Err(Refusal::LookAlike { name: name.to_owned(), other: found.other }),
        None => Ok(()),
    }
}
