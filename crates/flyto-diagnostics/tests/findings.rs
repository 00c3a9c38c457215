//! Findings as values: their order, their severity, their serialised form.

use std::io;

use expect_test::expect;
use flyto_diagnostics::{At, Code, Diagnostic, Findings, Location, Severity, Source, Span, json};

const CODE: Code = Code::new("F9999");

#[test]
fn a_finding_is_one_line_whatever_it_quotes() {
    let source = Source::new("a\nb/\u{1b}[2J.json", "{}");
    let diag = Diagnostic::warning(CODE, Location::text(&source, Span::new(1, 2)), "no\r\nway");
    expect![[r"a\nb/\u{1b}[2J.json:1:2: warning[F9999]: no\r\nway"]].assert_eq(&diag.to_string());
}

#[test]
fn a_file_that_cannot_be_read_has_a_name_only() {
    let cause = io::Error::from(io::ErrorKind::PermissionDenied);
    let diag = Diagnostic::unreadable("dir/plugin.json", &cause);
    expect!["dir/plugin.json: error[F0001]: the file cannot be read: permission denied"]
        .assert_eq(&diag.to_string());
    assert_eq!((diag.location.place(), diag.location.source()), (None, None));
}

#[test]
fn findings_are_sorted_by_file_and_position() {
    let (a, b) = (Source::new("a", "0123456789"), Source::new("b", "0123456789"));
    let mut findings = Findings::new();
    let mut add = |location, message| findings.push(Diagnostic::note(CODE, location, message));
    add(Location::text(&b, Span::empty(1)), "5");
    add(Location::text(&a, Span::empty(9)), "4");
    add(Location::text(&a, Span::empty(3)), "2");
    add(Location::text(&a, Span::empty(3)), "3");
    add(Location::file("a"), "1");
    let recorded: Vec<_> = findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(recorded, ["5", "4", "2", "3", "1"]);
    let sorted: Vec<_> = findings.into_vec().into_iter().map(|it| it.message).collect();
    assert_eq!(sorted, ["1", "2", "3", "4", "5"]);
}

#[test]
fn warnings_become_errors_on_demand() {
    let mut findings = Findings::new();
    findings.push(Diagnostic::note(CODE, Location::file("f"), "n"));
    let mut more = Findings::new();
    more.push(Diagnostic::warning(CODE, Location::file("f"), "w"));
    findings.append(more);
    assert!(!findings.has_errors() && !findings.is_empty());
    findings.promote_warnings();
    assert!(findings.has_errors());
    let count = |severity| findings.count(severity);
    assert_eq!([Severity::Error, Severity::Warning, Severity::Note].map(count), [1, 0, 1]);
}

#[test]
fn beyond_a_limit_findings_are_counted() {
    let flood = |file: &str, n_errors: usize| {
        let mut findings = Findings::new();
        for _ in 0..Findings::MOST {
            findings.push(Diagnostic::note(CODE, Location::file(file), "n"));
        }
        assert!(!findings.has_errors());
        for _ in 0..n_errors {
            findings.push(Diagnostic::error(CODE, Location::file(file), "e"));
        }
        findings.push(Diagnostic::warning(CODE, Location::file(file), "w"));
        findings
    };
    let mut all = flood("b", 2);
    all.append(flood("a", 3));
    let n_counts =
        all.iter().filter(|it| it.code == flyto_diagnostics::codes::MORE_FINDINGS).count();
    assert_eq!(n_counts, 2);
    all.push(Diagnostic::note(CODE, Location::file("b"), "one more"));
    assert_eq!((all.count(Severity::Error), all.count(Severity::Warning)), (5, 2));
    all.promote_warnings();
    assert_eq!(all.count(Severity::Error), 7);
    let list = all.into_vec();
    assert_eq!(list.len(), 2 * Findings::MOST + 2);
    expect!["a: note[F0027]: there are more findings: 4 errors, 0 warnings, 0 notes"]
        .assert_eq(&list[Findings::MOST].to_string());
    expect!["b: note[F0027]: there are more findings: 3 errors, 0 warnings, 1 notes"]
        .assert_eq(&list[2 * Findings::MOST + 1].to_string());
}

#[test]
fn what_succeeds_is_taken_and_what_fails_is_recorded() {
    let mut findings = Findings::new();
    assert!(findings.take(json::parse(&Source::new("f", "1"))).is_ok());
    assert!(findings.is_empty());
    assert!(findings.take(json::parse(&Source::new("f", "x"))).is_err());
    assert_eq!(findings.count(Severity::Error), 1);
}

#[test]
fn the_serialised_form_is_stable() {
    let source = Source::new("ä.json", "{\n  \"naïve\": [\"x\"]\n}");
    let value = json::parse(&source).unwrap();
    let at = At::root(&source, &value);
    let item = at.at_pointer("/naïve/0").unwrap();
    let diag = item
        .warning(CODE, "what")
        .with_reason("why")
        .with_help("how")
        .with_suggestion(item.span(), "\"y\"")
        .with_related(at.location(), "here")
        .with_related(Location::file("other.json"), "there");
    expect![[r#"
        {
          "code": "F9999",
          "severity": "warning",
          "file": "ä.json",
          "line": 2,
          "column": 13,
          "end_line": 2,
          "end_column": 16,
          "byte_start": 15,
          "byte_end": 18,
          "pointer": "/naïve/0",
          "message": "what",
          "reason": "why",
          "help": "how",
          "suggestion": {
            "replacement": "\"y\"",
            "line": 2,
            "column": 13,
            "end_line": 2,
            "end_column": 16,
            "byte_start": 15,
            "byte_end": 18
          },
          "related": [
            {
              "message": "here",
              "file": "ä.json",
              "line": 1,
              "column": 1,
              "end_line": 3,
              "end_column": 2,
              "byte_start": 0,
              "byte_end": 21
            },
            {
              "message": "there",
              "file": "other.json",
              "line": null,
              "column": null,
              "end_line": null,
              "end_column": null,
              "byte_start": null,
              "byte_end": null
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&diag).unwrap());
    let bare = Diagnostic::error(CODE, Location::file("f"), "what");
    expect![[r#"{"code":"F9999","severity":"error","file":"f","line":null,"column":null,"end_line":null,"end_column":null,"byte_start":null,"byte_end":null,"pointer":null,"message":"what","reason":null,"help":null,"suggestion":null,"related":[]}"#]].assert_eq(&serde_json::to_string(&bare).unwrap());
}

#[test]
fn a_finding_shows_the_text_that_was_judged() {
    let diag = {
        let source = Source::new("f", "[1,]");
        json::parse(&source).unwrap_err()
    };
    let source = diag.location.source().expect("a finding keeps its text");
    assert_eq!((source.text(), source.name()), ("[1,]", "f"));
    assert_eq!(source.slice(diag.location.span().unwrap()), Some(","));
}
