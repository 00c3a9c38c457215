//! How findings are shown in snapshots.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod tree; // directories full of plugins

use flyto_diagnostics::{Findings, Location};

/// One finding a line or more: place, severity and message, then what else it says, indented.
pub(crate) fn show(findings: &Findings) -> String {
    let mut res = String::new();
    for finding in findings.clone().into_vec() {
        res += &place(&finding.location);
        res += &format!("{}[{}]: {}\n", finding.severity, finding.code, finding.message);
        if let Some(pointer) = finding.pointer.filter(|it| !it.as_str().is_empty()) {
            res += &format!("    at {pointer}\n");
        }
        if let Some(reason) = finding.reason {
            res += &format!("    because {reason}\n");
        }
        if let Some(help) = finding.help {
            res += &format!("    help: {help}\n");
        }
        if let Some(suggestion) = finding.suggestion {
            let source = finding.location.source().expect("a text");
            let old = source.slice(suggestion.span).expect("within the text");
            res += &format!("    {old} -> {}\n", suggestion.replacement);
        }
        for related in finding.related {
            let there = &related.location;
            let file = if there.name() == finding.location.name() { "" } else { there.name() };
            let colon = if file.is_empty() { "" } else { ":" };
            res += &format!("    {file}{colon}{}{}\n", place(there), related.message);
        }
    }
    res
}

fn place(location: &Location) -> String {
    location.place().map_or_else(|| format!("{}: ", location.name()), |it| format!("{it}: "))
}
