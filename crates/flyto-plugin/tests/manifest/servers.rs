//! Servers that a manifest declares.

use std::{fmt::Write as _, time::Duration};

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_execenv::Environment;
use flyto_plugin::{Depth, LoadOptions, Loaded, Transport, load_source};

use crate::{common, plugin_dir};

/// Checks the servers of a manifest that offers nothing else, on a host with a variable `TOKEN`.
#[track_caller]
fn check(servers: &str, expect: Expect) {
    let host: Environment = [("TOKEN", "t"), ("EMPTY", "")].into_iter().collect();
    let text = format!("{{\"name\": \"p\", \"mcpServers\":\n{servers}}}");
    check_text(&text, LoadOptions::new().env(host), &expect);
}

#[track_caller]
fn check_text(text: &str, options: LoadOptions, expect: &Expect) {
    let dir = plugin_dir();
    let Loaded { plugin, findings, .. } =
        load_source(&Source::new("plugin.json", text), dir.path(), &options);
    let mut res = common::show(&findings);
    match plugin {
        None => res += "no plugin\n",
        Some(plugin) => {
            for server in &plugin.manifest().servers {
                let kind = match &server.transport {
                    Transport::Stdio { args, .. } => format!("program, {} args", args.len()),
                    Transport::Http { kind, headers, .. } => {
                        format!("{kind:?}, {} headers", headers.len())
                    }
                    other => format!("{other:?}"),
                };
                // Ten names are as many as a reader of the expectation looks at.
                let mut reads: Vec<_> = server.reads().into_iter().collect();
                let n_more = reads.len().saturating_sub(10);
                reads.truncate(10);
                let more = if n_more == 0 { String::new() } else { format!(" and {n_more} more") };
                let ready = if server.is_ready() { "ready" } else { "not ready" };
                writeln!(res, "{}: {kind}, reads {reads:?}{more}, {ready}", server.name)
                    .expect("a string");
            }
        }
    }
    expect.assert_eq(&res.replace(dir.path().to_str().expect("UTF-8"), "DIR"));
}

#[test]
fn a_server_whose_confinement_is_not_read_is_left_out() {
    check(
        r#"{"a": {"command": "./run.sh", "sandbox": "strict"},
            "b": {"command": "./run.sh", "network": "off", "limits": {}}, "c": {"command": "./run.sh"}}"#,
        expect![[r#"
            2:31: error[F0166]: "sandbox" of a server is not read
                at /mcpServers/a/sandbox
                because a rule that is not read would not hold
                help: servers are confined by the operator: `{"sandbox": {"mcp_server": "strict"}}` in the configuration
            3:42: error[F0166]: "network" of a server is not read
                at /mcpServers/b/network
                because a rule that is not read would not hold
                help: servers are confined by the operator: `{"sandbox": {"mcp_server": "strict"}}` in the configuration
            3:60: error[F0166]: "limits" of a server is not read
                at /mcpServers/b/limits
                because a rule that is not read would not hold
                help: servers are confined by the operator: `{"sandbox": {"mcp_server": "strict"}}` in the configuration
            c: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn what_is_in_order_has_no_finding() {
    check(
        r#"{"a": {"command": "${PLUGIN_ROOT}/server", "args": ["--token", "${TOKEN}", "$$x"],
                "env": {"URL": "${NONE:-http://localhost}", "DATA": "$PLUGIN_DATA"}, "cwd": "sub"},
            "b_1": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "c": {"url": "http://localhost:${EMPTY}80"},
            "d": {"type": "stdio", "command": "./run.sh", "disabled": false}}"#,
        expect![[r#"
            a: program, 3 args, reads ["NONE", "PLUGIN_DATA", "PLUGIN_ROOT", "TOKEN"], ready
            b_1: Streamable, 1 headers, reads ["TOKEN"], ready
            c: Streamable, 0 headers, reads ["EMPTY"], ready
            d: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn a_plugin_may_have_both() {
    check_text(
        r#"{"name": "p", "mcpServers": {"a": {"command": "node"}, "b": "node"},
            "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#,
        LoadOptions::new(),
        &expect![[r#"
            1:61: error[F0023]: the server "b" must be an object, found the string "node"
                at /mcpServers/b
                help: write `{"command": …, "args": […]}`
            a: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn headers_that_cannot_be_sent_cost_their_server() {
    check(
        r#"{"case": {"url": "https://example.org", "headers": {"Authorization": "a", "x": "1", "authorization": "b"}},
            "length": {"url": "https://example.org", "headers": {"Content-Length": "5"}},
            "chunks": {"url": "https://example.org", "headers": {"transfer-encoding": "chunked", "HOST": "a"}},
            "own": {"url": "https://example.org", "headers": {"Content-type": "text/plain", "X-A": "1"}}}"#,
        expect![[r#"
            2:85: error[F0164]: the header authorization stands here as Authorization already
                at /mcpServers/case/headers/authorization
                because upper and lower case are the same in names of headers
                help: remove one of the two
            3:66: error[F0164]: the header Content-Length is about the connection and cannot be set
                at /mcpServers/length/headers/Content-Length
                help: remove it; the client sends what the connection needs
            4:66: error[F0164]: the header transfer-encoding is about the connection and cannot be set
                at /mcpServers/chunks/headers/transfer-encoding
                help: remove it; the client sends what the connection needs
            4:98: error[F0164]: the header HOST is about the connection and cannot be set
                at /mcpServers/chunks/headers/HOST
                help: remove it; the client sends what the connection needs
            5:63: warning[F0164]: the header Content-type has no effect here
                at /mcpServers/own/headers/Content-type
                because the protocol says what it holds in each message
                help: remove it
            own: Streamable, 1 headers, reads [], ready
        "#]],
    );
}

#[test]
fn a_bad_server_costs_itself() {
    check(
        r#"{"a b": {"command": "x"},
            "twice": {"command": "x"}, "twice": {"command": "y"},
            "line": {"command": "npx -y @example/server"},
            "array": {"command": ["npx", "-y"]},
            "none": {"args": ["x"]},
            "empty": {"command": " "},
            "both": {"command": "x", "url": "https://example.org"},
            "kind": {"type": "ws", "url": "wss://example.org"},
            "url": {"url": "example.org/mcp"},
            "header": {"url": "https://example.org", "headers": {"A B": "x", "C": "a\nb"}},
            "open": {"command": "x", "args": ["${", "${input:token}"]},
            "env": {"command": "x", "env": {"PLUGIN_ROOT": "/x"}},
            "good": {"command": "x"}}"#,
        expect![[r#"
            2:2: error[F0160]: the name "a b" of a server holds ' '
                at /mcpServers/a b
                help: a name is made of letters, digits, `_` and `-`, a letter or digit first
                "a b" -> "a-b"
            3:40: error[F0020]: the key "twice" occurs twice
                at /mcpServers/twice
                because programs disagree about which one counts, so none is used
                help: remove all but one
                3:13: it is here first
            4:33: error[F0112]: "npx -y @example/server" is a command line, and no program has that name
                at /mcpServers/line/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "npx", "args": ["-y", "@example/server"]`
                "npx -y @example/server" -> "npx", "args": ["-y", "@example/server"]
            5:34: error[F0023]: "command" must be a string, found an array
                at /mcpServers/array/command
                because "command" is one program and "args" are its arguments
                help: write `"command": "npx", "args": ["-y"]`
                ["npx", "-y"] -> "npx", "args": ["-y"]
            6:21: error[F0022]: the key "command" is missing
                at /mcpServers/none
                help: add `"command": "…"`
            7:34: error[F0024]: "command" is empty
                at /mcpServers/empty/command
                help: write the name of a program, or the path of one
            8:38: error[F0026]: "command" and "url" exclude each other
                at /mcpServers/both/url
                because a server is either a program that is started or one that is reached over HTTP
                help: remove one of them
                8:22: "command" is here
            9:30: error[F0024]: "type" must be one of "stdio", "http", "streamable-http", "sse", found the string "ws"
                at /mcpServers/kind/type
                help: write "stdio" or "http" or "streamable-http" or "sse"
            10:28: error[F0163]: "example.org/mcp" is no address of a server
                at /mcpServers/url/url
                help: write an address such as `https://example.org/mcp`
            11:66: error[F0164]: "A B" is no name of a header
                at /mcpServers/header/headers/A B
                help: a name is made of letters, digits and `-`
            11:85: error[F0164]: the value of the header C holds a control character
                at /mcpServers/header/headers/C
                help: remove it
            12:48: error[F0118]: `${` in argument 1 is not closed
                at /mcpServers/open/args/0
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            12:54: error[F0118]: `${input:token}` in argument 2 names no variable
                at /mcpServers/open/args/1
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            13:45: error[F0117]: PLUGIN_ROOT is set by the host
                at /mcpServers/env/env/PLUGIN_ROOT
                help: use ${PLUGIN_ROOT} in the value of another variable, or read it as it is
            good: program, 0 args, reads [], ready
        "#]],
    );
}

#[test]
fn times_of_calls() {
    let text = r#"{"name": "p", "mcpServers": {
        "a": {"command": "x", "timeout_seconds": 600},
        "b": {"command": "x"}
    }}"#;
    let loaded = load_source(&Source::new("plugin.json", text), "/p", &LoadOptions::new());
    let plugin = loaded.plugin.expect("its head is in order");
    let times: Vec<_> = plugin.manifest().servers.iter().map(|it| it.timeout).collect();
    assert_eq!(times, [Some(Duration::from_secs(600)), None]);
    check(
        r#"{"a": {"command": "x", "timeout_seconds": 0}, "b": {"command": "x", "timeout_seconds": "1 min"},
            "c": {"command": "x", "timeout_seconds": 604801}}"#,
        expect![[r#"
            2:43: error[F0024]: a call needs more than 0 s
                at /mcpServers/a/timeout_seconds
                help: write how many seconds one call may take, or leave the key out
            2:88: error[F0023]: "timeout_seconds" must be a whole number of seconds, found the string "1 min"
                at /mcpServers/b/timeout_seconds
                help: write 60
                "1 min" -> 60
            3:54: error[F0024]: "timeout_seconds" is at most 604800 s, found the number 604801
                at /mcpServers/c/timeout_seconds
                help: the unit is seconds, not milliseconds
        "#]],
    );
}

#[test]
fn what_other_programs_write() {
    check(
        r#"{"a": {"command": "x", "environment": {"A": "b"}, "timeout": 60, "alwaysLoad": true},
            "b": {"command": "x", "envs": {"A": "b"}, "autoApprove": [], "disabled": true},
            "c": {"httpUrl": "https://example.org", "type": "http"},
            "d": {"url": "http://example.org/sse", "type": "sse"},
            "e": {"command": "x", "args": ["${env:TOKEN}"]},
            "f": {"command": "x", "env": {"T": "{env:TOKEN}"}, "args": ["--t={env:TOKEN}"]}}"#,
        expect![[r#"
            2:24: warning[F0021]: unknown key "environment"
                at /mcpServers/a/environment
                help: did you mean "env"?
                "environment" -> "env"
            2:51: warning[F0162]: "timeout" of a server has no effect here
                at /mcpServers/a/timeout
                help: write "timeout_seconds": how many seconds one call may take
            2:66: warning[F0162]: "alwaysLoad" of a server has no effect here
                at /mcpServers/a/alwaysLoad
                help: when tools are loaded is the host's to say; remove the key
            3:35: warning[F0021]: unknown key "envs"
                at /mcpServers/b/envs
                help: did you mean "env"?
                "envs" -> "env"
            3:55: warning[F0162]: "autoApprove" of a server has no effect here
                at /mcpServers/b/autoApprove
                help: what may be called without asking is the operator's to say; remove the key
            3:74: warning[F0162]: the server is switched off by "disabled" and left out
                at /mcpServers/b/disabled
                help: remove the key to declare the server, or remove the server
            4:18: error[F0022]: the key "url" is missing
                at /mcpServers/c
                help: add `"url": "…"`
            4:19: warning[F0021]: unknown key "httpUrl"
                at /mcpServers/c/httpUrl
                help: did you mean "url"?
                "httpUrl" -> "url"
            5:26: warning[F0163]: what is sent to "http://example.org/sse" can be read on its way
                at /mcpServers/d/url
                help: write `https://`, unless the server runs on this machine
            5:60: warning[F0162]: "sse" is the older of two ways over HTTP
                at /mcpServers/d/type
                help: write "http" if the server knows the one in use
            6:45: error[F0118]: `${env:TOKEN}` in argument 1 names no variable
                at /mcpServers/e/args/0
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
                ${env:TOKEN} -> ${TOKEN}
            7:78: warning[F0118]: "{env:TOKEN}" stays as it is
                at /mcpServers/f/args/0
                help: a variable of the host is written `${TOKEN}`
                {env:TOKEN} -> ${TOKEN}
            a: program, 0 args, reads [], ready
            d: Sse, 0 headers, reads [], ready
            f: program, 1 args, reads [], ready
        "#]],
    );
}

#[test]
fn a_variable_that_is_not_set_keeps_a_server_from_starting() {
    let servers = r#"{"a": {"command": "x", "args": ["$NONE", "${OTHER}"], "env": {"E": "${NONE}"}},
                      "b": {"command": "${CLAUDE_PLUGIN_ROOT}/server"}, "c": {"command": "x", "args": ["$EMPTY"]}}"#;
    check(
        servers,
        expect![[r#"
            2:7: warning[F0161]: the server "a" needs variables that are not set: NONE (used in args, E), OTHER (used in args)
                at /mcpServers/a
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            3:28: warning[F0161]: the server "b" needs a variable that is not set: CLAUDE_PLUGIN_ROOT (used in command)
                at /mcpServers/b
                because it is not started without them
                help: write `${PLUGIN_ROOT}` in place of `${CLAUDE_PLUGIN_ROOT}`
            a: program, 2 args, reads ["NONE", "OTHER"], not ready
            b: program, 0 args, reads ["CLAUDE_PLUGIN_ROOT"], not ready
            c: program, 1 args, reads ["EMPTY"], ready
        "#]],
    );
    let text = format!("{{\"name\": \"p\", \"mcpServers\":\n{servers}}}");
    // The host is not known.
    check_text(
        &text,
        LoadOptions::new(),
        &expect![[r#"
        a: program, 2 args, reads ["NONE", "OTHER"], ready
        b: program, 0 args, reads ["CLAUDE_PLUGIN_ROOT"], ready
        c: program, 1 args, reads ["EMPTY"], ready
    "#]],
    );
    let full = LoadOptions::new().env(Environment::new()).depth(Depth::Full);
    check_text(
        &text,
        full,
        &expect![[r#"
            2:7: error[F0161]: the server "a" needs variables that are not set: NONE (used in args, E), OTHER (used in args)
                at /mcpServers/a
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            3:28: error[F0161]: the server "b" needs a variable that is not set: CLAUDE_PLUGIN_ROOT (used in command)
                at /mcpServers/b
                because it is not started without them
                help: write `${PLUGIN_ROOT}` in place of `${CLAUDE_PLUGIN_ROOT}`
            3:78: error[F0161]: the server "c" needs a variable that is not set: EMPTY (used in args)
                at /mcpServers/c
                because it is not started without them
                help: set them for the host, or write a default: `${NAME:-default}`
            a: program, 2 args, reads ["NONE", "OTHER"], not ready
            b: program, 0 args, reads ["CLAUDE_PLUGIN_ROOT"], not ready
            c: program, 1 args, reads ["EMPTY"], not ready
        "#]],
    );
}

#[test]
fn a_long_list_of_variables_that_are_not_set_is_counted() {
    let args: Vec<_> = (0..5000).map(|it| format!("\"$N{it:04}\"")).collect();
    let servers = format!(r#"{{"a": {{"command": "x", "args": [{}]}}}}"#, args.join(", "));
    check(
        &servers,
        expect![[r#"
        2:7: warning[F0161]: the server "a" needs variables that are not set: N0000 (used in args), N0001 (used in args), N0002 (used in args), N0003 (used in args), N0004 (used in args), N0005 (used in args), N0006 (used in args), N0007 (used in args), N0008 (used in args), N0009 (used in args) and 4990 more
            at /mcpServers/a
            because it is not started without them
            help: set them for the host, or write a default: `${NAME:-default}`
        a: program, 5000 args, reads ["N0000", "N0001", "N0002", "N0003", "N0004", "N0005", "N0006", "N0007", "N0008", "N0009"] and 4990 more, not ready
    "#]],
    );
}
