//! Tools whose programs are started before their calls.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::client::Client;
use super::running::{survivors, watched};
use crate::live::wait_until;
use crate::place::Place;

/// A script that writes down its process, waits for its input, and tells both.
const SCRIPT: &str = "echo $$ >\"$PLUGIN_DATA/new\"; mv \"$PLUGIN_DATA/new\" \"$PLUGIN_DATA/pid\"\n\
                      input=$(cat); echo $$ $input";

/// A place with a plugin whose tool says `ready`, and files that are old enough to be trusted.
fn place(script: &str) -> Place {
    let place = Place::with_tools(&[("t", script, r#""ready": true"#)]);
    place.write("home/.config/flyto/config.json", r#"{"permissions": {"allow": ["p:*"]}}"#);
    settle(&place);
    place
}

fn settle(place: &Place) {
    for file in ["plugin.json", "t.sh"] {
        let file = place.path().join("plugins/p").join(file);
        let changed = fs::metadata(file).and_then(|it| it.modified()).unwrap();
        wait_until("it is old enough", || SystemTime::now() > changed + Duration::from_millis(200));
    }
}

/// The first word of what the tool prints: its process.
fn call(client: &mut Client) -> String {
    let called = json!({"name": "p__t", "arguments": {}});
    let result = client.result("tools/call", called);
    let text = result["content"][0]["text"].as_str().unwrap();
    text.split_whitespace().next().unwrap().to_owned()
}

/// The process that wrote itself down last, once that is none of these.
fn waiting(place: &Place, called: &HashSet<String>) -> String {
    let file = place.path().join("home/.local/share/flyto/plugins/p/pid");
    let last = || fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    let is_new = |it: &String| !it.is_empty() && !called.contains(it);
    wait_until("another process waits", || is_new(&last()));
    last()
}

#[test]
fn calls_after_the_first_are_served_by_processes_that_waited() {
    let place = place(SCRIPT);
    let mut client = Client::legacy(&place, &["--verbose"], &json!({}));
    let mut called = HashSet::from([call(&mut client)]);
    let mut waits = waiting(&place, &called);
    let mut n_served = 0;
    while n_served < 9 {
        let process = call(&mut client);
        assert!(called.insert(process.clone()), "a process served two calls");
        // A call that comes before the host knows that the process is there starts its own.
        if process == waits {
            n_served += 1;
            waits = waiting(&place, &called);
        }
    }
    let (status, _, stderr) = client.end();
    assert!(status.success(), "{stderr}");
    let started: Vec<_> = stderr.lines().filter(|it| it.starts_with("started")).collect();
    assert!(started[0].ends_with("cold: no process of it waited"), "{stderr}");
    assert_eq!(started.iter().filter(|it| it.contains(" ready, ")).count(), 9, "{stderr}");
}

#[test]
fn nothing_that_waits_takes_a_killed_host_for_a_call() {
    let place = place(&format!("{SCRIPT}; [ -n \"$input\" ] || : >\"$PLUGIN_DATA/empty\""));
    let mut client = Client::legacy(&place, &[], &json!({}));
    let called = HashSet::from([call(&mut client)]);
    let waits = watched(&[waiting(&place, &called)]);
    assert_eq!(waits.len(), 1);
    let host = Pid::from_raw(client.pid().cast_signed()).unwrap();
    kill_process(host, Signal::KILL).unwrap();
    assert_eq!(survivors(&waits), 0);
    assert!(!place.path().join("home/.local/share/flyto/plugins/p/empty").exists());
}

#[test]
fn a_call_alone_keeps_none() {
    let place = place(SCRIPT);
    let ran = place.call(&["p:t", "--verbose"]).run();
    assert_eq!(ran.code, Some(0));
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert!(!stderr.contains("started "), "{stderr}");
    let shown = place.flyto(&["--plugins", "plugins", "list", "--format", "json"]).run();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["tools"][0]["ready"], true);
    let shown = place.flyto(&["--plugins", "plugins", "show", "p:t"]).run();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("which a host may start before it"), "{shown}");
}
