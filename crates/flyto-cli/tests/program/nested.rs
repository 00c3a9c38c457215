//! A configuration that names this program as a server of itself, behind commands that hand no variable on.

use std::fs;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::json;

use crate::place::Place;
use crate::serve::client::Client;
use crate::serve::running::survivors;

/// Where the script ends a chain, should nothing else.
const GUARD: usize = 6;

/// A place whose server `own` is a script: it notes its number and its depth in the file `chain`, and then does `how`. There `$@`
/// stands for this program in an environment of its own, with a directory for the state of each process.
fn place(how: &str, verb: &str) -> Place {
    let place = Place::with_tools(&[("echo", "cat", "")]);
    let dir = place.path().display();
    let script = format!(
        "cd {dir}; [ $DEPTH -lt {GUARD} ] || exit 1; DEPTH=$((DEPTH + 1)); echo $$ $DEPTH >>chain; \
         set -- DEPTH=$DEPTH PATH=$PATH HOME={dir}/home XDG_STATE_HOME=$(mktemp -d -p {dir}/states) \
         {} --plugins {dir}/plugins {verb}; {how}",
        env!("CARGO_BIN_EXE_flyto")
    );
    place.write("chain", "");
    place.write("states/none", "");
    let own = json!({
        "command": "sh",
        "args": ["-c", script.replace('$', "$$")],
        "env": {"DEPTH": "${DEPTH:-0}"},
    });
    let config = json!({"mcpServers": {"own": own}});
    place.write("home/.config/flyto/config.json", &config.to_string());
    place
}

/// Serves until the client has had its list. The names of the tools, and how deep servers were started one by the other.
fn chain(place: &Place) -> (Vec<String>, usize) {
    let mut client = Client::legacy(place, &[], &json!({}));
    let listed = client.result("tools/list", json!({}));
    let names = listed["tools"].as_array().unwrap().iter();
    let names = names.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    let text = fs::read_to_string(place.path().join("chain")).unwrap();
    let lines: Vec<_> = text.lines().map(|it| it.split_once(' ').unwrap()).collect();
    // One that ended by itself is no survivor.
    let open = |it: &(&str, &str)| {
        pidfd_open(Pid::from_raw(it.0.parse().unwrap()).unwrap(), PidfdFlags::empty()).ok()
    };
    let servers: Vec<_> = lines.iter().filter_map(open).collect();
    client.end();
    assert_eq!(survivors(&servers), 0);
    (names, lines.iter().map(|it| it.1.parse().unwrap()).max().unwrap())
}

#[test]
fn a_server_of_itself_ends_below_two_others() {
    for how in [
        "exec env -i \"$@\"",
        "env -i \"$@\"; exit",
        "exec setsid -w env -i \"$@\"",
        // An orphan, whose parent is the supervisor then.
        "(env -i \"$@\" <&3 &) 3<&0; sleep 1000",
    ] {
        let place = place(how, "serve --no-jobs");
        let (names, depth) = chain(&place);
        // One below another serves its tools and starts servers, the one below that serves its tools only.
        assert_eq!(names, ["own__own__p__echo", "own__p__echo", "p__echo"], "{how}");
        assert_eq!(depth, 2, "{how}");
    }
}

#[test]
fn other_verbs_of_a_server_end_the_chain_as_well() {
    for verb in ["list", "call own:x", "servers"] {
        let place = place("exec env -i \"$@\"", verb);
        let (names, depth) = chain(&place);
        assert_eq!(names, ["p__echo"], "{verb}");
        assert_eq!(depth, 2, "{verb}");
    }
}
