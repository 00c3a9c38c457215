//! `doctor`: what it tells of any machine, and of one where something is out of reach.

use expect_test::expect;
use serde_json::Value;

use crate::place::{Place, Ran};

/// The checks of a JSON answer, by the names of their layers.
fn check_of(ran: &Ran, layer: &str) -> Value {
    let all = ran.json();
    let found = all["checks"].as_array().unwrap().iter().find(|it| it["layer"] == layer);
    found.unwrap_or_else(|| panic!("{layer} is missing: {all:#}")).clone()
}

#[test]
fn every_layer_is_told_whatever_the_machine_has() {
    let place = Place::new();
    let ran = place.flyto(&["doctor"]).run();
    let text = ran.stdout();
    // States and means differ between machines.
    let table =
        text.lines().skip_while(|it| !it.starts_with("LAYER")).take_while(|it| !it.is_empty());
    let names: Vec<_> = table.filter_map(|it| it.split(' ').next()).collect();
    expect![[r#"
        LAYER
        in-process-start
        sealed-memory
        supervisor
        proc
        subreaper
        user-namespace
        pid-namespace
        cgroup-kill
        cgroup-processes
        cgroup-memory
        process-limit
        memory-limit
        landlock-files
        landlock-ports
        landlock-scopes
        system-call-filter
        network-off
        confined-program"#]]
    .assert_eq(&names.join("\n"));
    assert!(text.starts_with("kernel  Linux "), "{text}");
    assert!(text.trim_end().lines().last().unwrap().starts_with("Trees are "), "{text}");
    assert_eq!(ran.stderr(), "");
}

#[test]
fn as_json_it_is_one_document_and_the_exit_code_says_the_same() {
    let place = Place::new();
    let ran = place.flyto(&["doctor", "--format", "json"]).run();
    let all = ran.json();
    let code = if all["ok"] == true { 0 } else { 69 };
    assert_eq!(ran.code, Some(code), "{all:#}");
    assert_eq!(all["ok"], all["missing"].as_array().unwrap().is_empty());
    for check in all["checks"].as_array().unwrap() {
        let has = |key: &str| check[key].as_str().is_some_and(|it| !it.is_empty());
        let is_told = ["tried", "cause", "fix", "instead"].into_iter().all(has);
        match check["state"].as_str().unwrap() {
            "works" => assert!(has("by") && check.get("cause").is_none(), "{check:#}"),
            "partly" => assert!(has("by") && is_told, "{check:#}"),
            _ => assert!(is_told && check.get("by").is_none(), "{check:#}"),
        }
    }
}

/// In a mount namespace of its own, control groups are out of sight.
#[test]
fn a_layer_that_is_out_of_reach_has_a_cause_and_a_fix() {
    let place = Place::new();
    let map = if rustix::process::geteuid().is_root() { "" } else { "-r" };
    let script = format!(
        "exec unshare {map} -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"' sh \"$@\""
    );
    let ran = place.flyto(&["doctor", "--format", "json"]).started_by(&script).run();
    if !ran.stderr().is_empty() {
        println!("skipped: no mount namespace can be made here: {}", ran.stderr());
        return;
    }
    let check = check_of(&ran, "cgroup-kill");
    assert_eq!(check["state"], "fails", "{check:#}");
    if check["errno_name"] == "ENOENT" {
        expect!["something is mounted over the control groups"]
            .assert_eq(check["cause"].as_str().unwrap());
        expect!["take it away, or mount them again: mount -t cgroup2 none /sys/fs/cgroup"]
            .assert_eq(check["fix"].as_str().unwrap());
    }
    assert_ne!(ran.json()["ends_trees_by"], "cgroup");
}
