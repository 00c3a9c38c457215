//! `doctor`: what it tells of any machine, and of one where something is out of reach.

use expect_test::{Expect, expect};
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
        threads
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
        cpu-limit
        landlock-files
        landlock-ports
        landlock-scopes
        read-only-paths
        system-call-filter
        network-off
        network-hosts
        confined-program"#]]
    .assert_eq(&names.join("\n"));
    assert!(text.starts_with("kernel  Linux "), "{text}");
    assert!(text.trim_end().lines().last().unwrap().starts_with("Trees are "), "{text}");
    assert_eq!(ran.stderr(), "");
}

#[test]
fn the_closed_paths_of_this_machine_come_first() {
    let place = Place::new();
    place.write("home/.ssh/id", "secret");
    place.write("keys/pubring.kbx", "secret");
    let keys = place.path().join("keys");
    let doctor = |more: &[&str]| {
        let words = [&["doctor", "--verbose"], more].concat();
        place.flyto(&words).env("GNUPGHOME", keys.to_str().unwrap()).run()
    };
    let document = doctor(&["--format", "json"]).json();
    let closed = document["closed"].as_array().unwrap();
    let there: Vec<_> = closed.iter().map(|it| it["exists"].as_bool().unwrap()).collect();
    assert!(there.is_sorted_by(|a, b| a >= b), "{there:?}");
    // The system has secrets of its own, such as `/etc/shadow`, which differ from machine to machine.
    let n_there = there.iter().filter(|it| **it).count();
    let own = place.path().to_str().unwrap();
    let names = closed[..n_there].iter().map(|it| it["path"].as_str().unwrap());
    let names: Vec<_> = names.filter_map(|it| it.strip_prefix(own)).collect();
    assert_eq!(names, ["/home/.ssh", "/keys"]);
    let text = doctor(&[]).stdout();
    assert!(text.contains(&format!("closed by every sandbox profile: {n_there} of ")), "{text}");
    assert!(text.contains("home/.gnupg (not there)"), "{text}");
    assert!(!place.flyto(&["doctor"]).run().stdout().contains(".gnupg"));
}

#[test]
fn as_json_it_is_one_document_and_the_exit_code_says_the_same() {
    let place = Place::new();
    let ran = place.flyto(&["doctor", "--format", "json"]).run();
    let all = ran.json();
    let code = if all["ok"] == true { 0 } else { 69 };
    assert_eq!(ran.code, Some(code), "{all:#}");
    assert_eq!(all["ok"], all["missing"].as_array().unwrap().is_empty());
    // The backend takes a scope where there is one.
    let has_scopes = check_of(&ran, "landlock-scopes")["state"] == "works";
    let by_scope = all["isolates_processes_by"] == "landlock-scope";
    assert!(by_scope == has_scopes || all["ends_trees_by"] == "group", "{all:#}");
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

/// In namespaces of their own, things can be taken away.
#[track_caller]
fn check_without(take_away: &str, layer: &str, expect: Expect) {
    let place = Place::new();
    let map = if rustix::process::geteuid().is_root() { "" } else { "-r" };
    let script = format!(
        "exec unshare {map} -m -p -f --kill-child --mount-proc sh -c '{take_away} && exec \"$@\"' \
         sh \"$@\""
    );
    let ran = place.flyto(&["doctor", "--format", "json"]).started_by(&script).run();
    if !ran.stderr().is_empty() {
        #[expect(clippy::print_stdout, reason = "whoever runs the tests is told what was left out")]
        {
            println!("skipped: this cannot be taken away here: {}", ran.stderr());
        }
        return;
    }
    let check = check_of(&ran, layer);
    let said = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    expect.assert_eq(&[said("state"), said("cause"), said("fix")].join("\n"));
}

#[test]
fn a_layer_that_is_taken_away_has_a_cause_and_a_fix() {
    check_without(
        "mount -t tmpfs none /sys/fs/cgroup",
        "cgroup-kill",
        expect![[r#"
        fails
        something is mounted over the control groups
        take it away, or mount them again: mount -t cgroup2 none /sys/fs/cgroup"#]],
    );
    check_without(
        "echo 2 > /proc/sys/vm/memfd_noexec",
        "supervisor",
        expect![[r#"
        fails
        vm.memfd_noexec is 2: nothing in memory may be executed
        sysctl -w vm.memfd_noexec=0"#]],
    );
    check_without(
        "mount -t tmpfs none /proc",
        "subreaper",
        expect![[r#"
        fails
        /proc is not mounted
        mount -t proc proc /proc"#]],
    );
}
