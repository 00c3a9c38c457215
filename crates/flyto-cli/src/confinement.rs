//! What holds for a program while it runs.

use std::path::{Path, PathBuf};

use flyto_execenv::{Isolation, KillScope, Limits};
use flyto_host::Confinement;
use serde::Serialize;

use crate::tool_details::{isolation, isolation_document, limits, limits_document};
use crate::words::one_line;

/// What holds for a program, in a JSON document.
#[derive(Debug, Serialize)]
pub(crate) struct ConfinementDocument<'a> {
    backend: &'a str,
    /// The profiles that it runs under; `none` where there is none.
    sandbox: &'a [String],
    /// `leader`, `group` or `tree`.
    kill: &'static str,
    /// As in a manifest; bounds that do not hold are left out.
    #[serde(serialize_with = "limits_document")]
    limits: &'a Limits,
    /// Those of them that the backend keeps by itself.
    #[serde(serialize_with = "limits_document")]
    default_limits: &'a Limits,
    #[serde(serialize_with = "isolation_document")]
    isolation: &'a Isolation,
    /// What the program was installed with, which it can read; also in `isolation`.
    opened: &'a [PathBuf],
    /// A file without which the program does not start, and which the profile closes.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<&'a Path>,
}

impl<'a> ConfinementDocument<'a> {
    pub(crate) fn of(it: &'a Confinement) -> Self {
        let Confinement { backend, sandbox, kill, limits, default_limits, .. } = it;
        let Confinement { isolation, opened, closed, .. } = it;
        let (kill, closed) = (kill.name(), closed.as_deref());
        Self { backend, sandbox, kill, limits, default_limits, isolation, opened, closed }
    }
}

/// The same for people.
pub(crate) fn facts(it: &Confinement) -> Vec<(&'static str, String)> {
    let or = |text: String, other: &str| if text.is_empty() { other.into() } else { text };
    let ended = match it.kill {
        KillScope::Leader => "the program alone",
        KillScope::Group => "its process group",
        _ => "every descendant",
    };
    let asked_for = it.limits.without(&it.default_limits);
    let by_default = limits(&it.default_limits);
    let by_default = (!by_default.is_empty())
        .then(|| format!("{by_default} (by default; one more gets EAGAIN)"));
    let bounds = [limits(&asked_for)].into_iter().filter(|it| !it.is_empty()).chain(by_default);
    let bounds = bounds.collect::<Vec<_>>().join(", ");
    let path = |it: &Path| one_line(&it.to_string_lossy());
    let opened = it.opened.iter().map(|it| format!("{} (the program's installation)", path(it)));
    let opened = opened.collect::<Vec<_>>().join("\n");
    let mut res = vec![
        ("backend", one_line(&it.backend)),
        ("ended", format!("{ended}, with the call")),
        ("sandbox", one_line(&it.sandbox.join(", "))),
        ("limits", or(bounds, "none but the deadline")),
        ("isolation", or(isolation(&it.isolation), "none")),
    ];
    if !opened.is_empty() {
        res.push(("opened", opened));
    }
    if let Some(closed) = &it.closed {
        res.push(("closed", format!("{} (without it, the program does not start)", path(closed))));
    }
    res
}
