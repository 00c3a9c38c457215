//! What people are told about text that is not JSON.

mod limits;
mod literals;
mod structure;

use expect_test::Expect;
use flyto_diagnostics::{Diagnostic, Source, json};

/// Shows the finding, and what comes of following its suggestion.
#[track_caller]
fn check(text: &str, expect: Expect) {
    let source = Source::new("f", text);
    let diag = json::parse(&source).expect_err("the text is not JSON");
    expect.assert_eq(&show(&diag));
}

fn show(diag: &Diagnostic) -> String {
    let mut res = format!("{diag}\n");
    if let Some(reason) = &diag.reason {
        res.push_str(&format!("reason: {reason}\n"));
    }
    if let Some(help) = &diag.help {
        res.push_str(&format!("help: {help}\n"));
    }
    for related in &diag.related {
        res.push_str(&format!("{}: {}\n", related.location, related.message));
    }
    if let Some(suggestion) = &diag.suggestion {
        let mut text =
            diag.location.source().expect("suggestions are about a text").text().to_owned();
        text.replace_range(suggestion.span.range(), &suggestion.replacement);
        let verdict = match json::parse(&Source::new("f", text.as_str())) {
            Ok(_) => "JSON".to_owned(),
            Err(next) => next.to_string(),
        };
        res.push_str(&format!("suggested: {text:?} -> {verdict}\n"));
    }
    res
}
