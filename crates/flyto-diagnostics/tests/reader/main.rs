//! What people are told about an object that is read by its known keys.

mod keys;
mod values;

use expect_test::Expect;
use flyto_diagnostics::{At, Findings, ObjectReader, Reported, Source, json};

/// Reads `text`, shows what the reading gave and what was found.
#[track_caller]
fn check<T: std::fmt::Debug>(
    text: &str,
    read: impl for<'v> FnOnce(&mut ObjectReader<'v, '_>) -> Result<T, Reported>,
    expect: Expect,
) {
    let source = Source::new("f", text);
    let value = json::parse(&source).expect("the texts here are JSON");
    let mut findings = Findings::new();
    let mut res = String::new();
    if let Ok(mut reader) = ObjectReader::new(At::root(&source, &value), &mut findings) {
        match read(&mut reader) {
            Ok(read) => res.push_str(&format!("{read:?}\n")),
            Err(reported) => res.push_str(&format!("{reported:?}\n")),
        }
        reader.finish();
    }
    show(&mut res, findings);
    expect.assert_eq(&res);
}

fn show(res: &mut String, findings: Findings) {
    for diag in findings.into_vec() {
        let pointer = diag.pointer.as_ref().expect("what is read has a path");
        res.push_str(&format!("{diag} [{pointer}]\n"));
        if let Some(reason) = &diag.reason {
            res.push_str(&format!("  reason: {reason}\n"));
        }
        if let Some(help) = &diag.help {
            res.push_str(&format!("  help: {help}\n"));
        }
        for related in &diag.related {
            res.push_str(&format!("  {}: {}\n", related.location, related.message));
        }
        if let Some(it) = &diag.suggestion {
            let source = diag.location.source().expect("suggestions are about a text");
            let old = source.slice(it.span).expect("spans lie on character boundaries");
            res.push_str(&format!("  suggested: {old:?} -> {:?}\n", it.replacement));
        }
    }
}
