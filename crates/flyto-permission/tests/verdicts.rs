//! The table of command lines: each with its rules and the verdict that must follow. `about` says why, where the line does
//! not.

#![cfg(feature = "bash")]

use std::collections::BTreeMap;
use std::path::Path;

use flyto_permission::{Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::Value;

const TABLE: &str = include_str!("verdicts.jsonl");

fn texts(case: &Value, key: &str) -> Vec<String> {
    let list = case.get(key).and_then(Value::as_array).into_iter().flatten();
    list.map(|it| it.as_str().expect("rules are texts").to_owned()).collect()
}

fn rules(case: &Value) -> Rules {
    let mut res = Rules::builder();
    for (key, effect) in [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)]
    {
        for text in texts(case, key) {
            res.add(Layer::Operator, effect, &text, Place::new("table", 1, 1, ""))
                .expect("the rules of the table are rules");
        }
    }
    res.build()
}

#[test]
fn every_line_of_the_table_has_its_verdict() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let id = ToolId::parse("shell:run").unwrap();
    for (i, line) in TABLE.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let known = ["expect", "line", "allow", "ask", "deny", "about"];
        let unknown: Vec<_> =
            case.as_object().unwrap().keys().filter(|it| !known.contains(&it.as_str())).collect();
        assert!(unknown.is_empty(), "line {}: unknown keys {unknown:?}", i + 1);
        let expected = case["expect"].as_str().unwrap();
        let preview = Preview::new()
            .with_command_line(["bash", "-c", case["line"].as_str().unwrap()])
            .with_working_dir("/project");
        let request = Request::new(&id)
            .class(&PermissionClass::BASH)
            .preview(Some(&preview))
            .home(Path::new("/home/ada"));
        let decision = rules(&case).decide(&request);
        if decision.verdict.to_string() != expected {
            wrong.push(format!("line {}: {line}\n  {decision}", i + 1));
        }
        *counts.entry(expected.to_owned()).or_default() += 1;
    }
    let n_cases: usize = counts.values().sum();
    println!("{n_cases} command lines: {counts:?}, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_cases >= 150);
}
