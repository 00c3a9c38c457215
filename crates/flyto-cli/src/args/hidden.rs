//! Errors of clap without the verbs that no help shows.

use clap::Command;
use clap::error::{ContextKind, ContextValue};

/// The same error without hidden verbs: clap lists and suggests them like the others.
pub(super) fn without_hidden(command: &Command, mut err: clap::Error) -> clap::Error {
    let hidden: Vec<_> = command.get_subcommands().filter(|it| it.is_hide_set()).collect();
    for kind in [ContextKind::ValidSubcommand, ContextKind::SuggestedSubcommand] {
        let Some(ContextValue::Strings(names)) = err.get(kind) else { continue };
        let mut names = names.clone();
        names.retain(|name| hidden.iter().all(|it| it.get_name() != name));
        if names.is_empty() {
            err.remove(kind);
        } else {
            err.insert(kind, ContextValue::Strings(names));
        }
    }
    err
}
