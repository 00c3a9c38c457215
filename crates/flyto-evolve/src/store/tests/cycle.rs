//! Composites that would call each other, saved by writers that do not know of each other.

use serde_json::json;

use super::*;

/// An approved composite that calls one tool.
fn calls(name: &str, tool: &str, base: Option<u64>) -> NewVersion {
    let steps = json!({"steps": [{"id": "only", "tool": tool}]});
    let def = ToolDefinition::composite(name, "Tests.", steps);
    let approval = Approval::now("ada", def.hash());
    NewVersion::new(def, base, Change::Created).approved(approval)
}

#[track_caller]
fn check(res: Result<Version, StoreError>, expect: Expect) {
    expect.assert_eq(&res.expect_err("they call each other").to_string());
}

#[test]
fn no_change_has_composites_call_each_other() {
    let (_temp, store) = store();
    store.commit(calls("a", "b", None)).unwrap();
    check(
        store.commit(calls("b", "a", None)),
        expect![
            "the tools call each other: b -> a -> b; change or archive one of the others first"
        ],
    );
    assert!(store.last("b").unwrap().is_none());
    // What is set aside calls nothing, and does not come back by any way.
    store.archive("a", "ada").unwrap();
    store.commit(calls("b", "a", None)).unwrap();
    let back = "the tools call each other: a -> b -> a; change or archive one of the others first";
    assert_eq!(store.restore("a", "ada").unwrap_err().to_string(), back);
    assert_eq!(store.roll_back("a", 1, "ada").unwrap_err().to_string(), back);
    // A script with that name ends it.
    store.commit(new("a", "date\n", Some(2))).unwrap();
    assert_eq!(store.load().unwrap().active.len(), 2);
}
