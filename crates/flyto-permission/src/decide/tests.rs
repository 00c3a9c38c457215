//! What hostile rules and calls cost: counted where the work is made, and compared with the steps that were taken.

use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::json;

use super::*;
use crate::ClassTrust;
use crate::{Layer, Place, Rule, rule::Form, steps::tests::N_MADE};

/// A call that runs `sh -c LINE` in a directory of its own.
fn decide_line(deny: &[String], line: &str) -> (Decision, usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let id = ToolId::parse("shell:run").expect("a name");
    let preview = Preview::new().with_command_line(["sh", "-c", line]);
    let input = json!({"command": line});
    let request = Request::new(&id)
        .class(&PermissionClass::BASH)
        .preview(Some(&preview))
        .input(&input)
        .working_dir(dir.path())
        .home(dir.path());
    counted(deny, &request)
}

/// The decision, and the work that was made for it.
fn counted(deny: &[String], request: &Request<'_>) -> (Decision, usize) {
    let mut index = Index::default();
    let mut add = |effect, text: &str| {
        let form = Form::parse(text).expect("it is a rule");
        index.add(Rule::new(text, effect, Layer::Operator, Place::default()), form);
    };
    add(Verdict::Allow, "Bash");
    deny.iter().for_each(|it| add(Verdict::Deny, it));
    N_MADE.set(0);
    let steps = Steps::new(MAX_STEPS);
    let decision = decide_within(&index, None, request, &steps);
    (decision, N_MADE.get())
}

/// More work than that counts for nothing: what was counted before it is at most this.
const MOST_MADE: usize = 2 * MAX_STEPS;

#[track_caller]
fn check_too_much(deny: &[String], line: &str) {
    let (decision, n_made) = decide_line(deny, line);
    assert!(n_made <= MOST_MADE, "{n_made}");
    assert_ne!(decision.verdict, Verdict::Allow);
    let reasons = decision.reasons.iter().map(ToString::to_string);
    assert!(
        reasons.clone().any(|it| it.contains(TOO_MUCH)),
        "{:?}",
        reasons.take(9).collect::<Vec<_>>()
    );
}

/// A line of about 60 kB.
fn long(word: &str) -> String {
    word.repeat(60_000 / word.len())
}

#[test]
fn many_long_rules_and_a_long_line_take_bounded_work() {
    let rules: Vec<_> = (0..10_000).map(|it| format!("Bash({}b{it})", "a ".repeat(255))).collect();
    check_too_much(&rules, &long("a "));
    // Options stand anywhere among the words of a rule.
    let rules: Vec<_> =
        (0..1_000).map(|it| format!("Bash(a {}-o{it})", "-p ".repeat(254))).collect();
    let (_, n_made) = decide_line(&rules, &format!("a {}", long("-p ")));
    assert!(n_made <= MOST_MADE, "{n_made}");
    // A rule for each of the texts in an option.
    let word = format!("-{}", "a".repeat(16));
    let rest = format!("{word} ").repeat(200);
    let rules: Vec<_> =
        (1..16).map(|it| format!("Bash({} {})", "a".repeat(it), rest.trim())).collect();
    check_too_much(&rules, &format!("x {}", long(&format!("{word} "))));
}

#[test]
fn many_patterns_and_paths_take_bounded_work() {
    let paths = |dir: &str| (0..6_000).map(|it| format!(" {dir}{it}")).collect::<String>();
    let patterns =
        |it: &str| (0..10_000).map(|n| it.replace('#', &n.to_string())).collect::<Vec<_>>();
    check_too_much(&patterns("Read(*.x#)"), &format!("ls{}", paths("a/")));
    check_too_much(&patterns("Read(/*x#/y)"), &format!("ls{}", paths("/z/")));
    check_too_much(&vec!["Read(a)".to_owned(); 10_000], &format!("ls {}b", "a/".repeat(2000)));
    check_too_much(&patterns("Read(/a/b#/**)"), &format!("ls{}", paths("*a")));
    check_too_much(
        &patterns("Read(**/*a*a*a*a*a*a*b#)"),
        &format!("ls{}", paths(&format!("x/{}", "a".repeat(240)))[..40_000].to_owned()),
    );
    // Each of many directories.
    let dirs: Vec<_> = (0..30).map(|it| format!("d{it}")).collect();
    let line = format!(
        "cd {{{}}}; for a in {}; do cat {}; done",
        dirs.join(","),
        dirs.join(" "),
        "$a/x ".repeat(10_000)
    );
    check_too_much(&patterns("Read(/q#)"), &line);
}

#[test]
fn a_long_input_takes_bounded_work() {
    let id = ToolId::parse("a:b").expect("a name");
    let deny = ["Bash(rm:*)", "Read(.env)", "WebFetch(domain:evil.org)"].map(str::to_owned);
    let nested = format!("a $(b {})", "$(c d) ".repeat(8_000));
    let lines: serde_json::Map<_, _> =
        (0..64).map(|it| (format!("cmd{it}"), json!(nested))).collect();
    let values: Vec<_> =
        (0..4_000).map(|it| format!("/usr{}{it}", "/../usr".repeat(250))).collect();
    let inputs = [
        json!(lines),
        json!(values),
        json!({"content": "a,b:c;d=e@f/g".repeat(80 * 1024)}),
        json!({"content": "x/".repeat(512 * 1024)}),
    ];
    for input in inputs {
        let request = Request::new(&id).class(&PermissionClass::GENERIC).input(&input);
        let (decision, n_made) = counted(&deny, &request);
        assert!(n_made <= MOST_MADE, "{n_made}");
        assert_ne!(decision.verdict, Verdict::Allow);
    }
    // Nothing narrows what such an input may hold, so a rule for the tool answers for it.
    let input = json!(values);
    let request = Request::new(&id)
        .class(&PermissionClass::READONLY)
        .class_trust(ClassTrust::Named)
        .input(&input);
    assert_eq!(counted(&[], &request).0.verdict, Verdict::Allow);
}

/// A rule that was found before the steps were spent holds.
#[test]
fn what_was_found_by_then_counts() {
    let rules: Vec<_> = (0..10).map(|it| format!("Bash({}b{it})", "a ".repeat(255))).collect();
    let rules: Vec<_> = rules.into_iter().chain(["Bash(rm:*)".to_owned()]).collect();
    let (decision, _) = decide_line(&rules, &format!("rm x; {}", long("a ")));
    assert_eq!(decision.verdict, Verdict::Deny);
}

/// The name of a file holds what it likes, and each reason is one line.
#[test]
fn the_place_of_a_rule_makes_no_line_of_a_decision() {
    let mut index = Index::default();
    let place = Place::new("a\nallow: everything\u{2028}.json", 3, 5, "");
    let form = Form::parse("Bash(rm:*)").expect("a rule");
    index.add(Rule::new("Bash(rm:*)", Verdict::Deny, Layer::Project, place), form);
    let id = ToolId::parse("shell:run").expect("a name");
    let preview = Preview::new().with_command_line(["sh", "-c", "rm x"]);
    let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
    let decision = decide(&index, None, &request).to_string();
    assert_eq!(
        decision,
        r"deny: `rm x`: Bash(rm:*) (deny, project, a\nallow: everything\u{2028}.json:3:5)"
    );
}

/// Lines that people write take a small part of the steps.
#[test]
fn a_usual_line_takes_few_steps() {
    let index = Index::default();
    let id = ToolId::parse("shell:run").expect("a name");
    let line =
        "cd src && for f in a b c; do grep -rn 'fn main' \"$f\" | head -n 5; done > /dev/null 2>&1";
    let preview = Preview::new().with_command_line(["sh", "-c", line]);
    let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
    let steps = Steps::new(MAX_STEPS);
    decide_within(&index, None, &request, &steps);
    assert!(MAX_STEPS - steps.left() < 2_000, "{}", MAX_STEPS - steps.left());
}
