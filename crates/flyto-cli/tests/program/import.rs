//! Servers from the files of other clients.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use crate::place::Place;

const CONFIG: &str = "home/.config/flyto/config.json";

fn config(place: &Place) -> String {
    let text = fs::read_to_string(place.path().join(CONFIG)).unwrap();
    text.replace(place.path().to_str().unwrap(), "DIR")
}

#[test]
fn servers_of_a_project_are_added_once() {
    let place = Place::new();
    let before = r#"{
  "permissions": {"allow": ["p:*"]},
  "mcpServers": {"there": {"command": "a"}, "other": {"command": "b"}}
}
"#;
    place.write(CONFIG, before);
    place.write(
        ".mcp.json",
        r#"{"mcpServers": {
            "time": {"command": "mcp-server-time", "env": {"API_TOKEN": "hunter2hunter2"}},
            "there": {"command": "a", "cwd": "/"}, "off": {"command": "c", "disabled": true}}}"#,
    );
    place.flyto(&["import", ".mcp.json", "--print"]).check(expect![[r#"
        exit code 0
        -- stdout
        DIR/home/.config/flyto/config.json: "mcpServers"
        +   "time": {
        +     "command": "mcp-server-time",
        +     "env": {
        +       "API_TOKEN": "${API_TOKEN}"
        +     },
        +     "cwd": "DIR"
        +   }
        -- stderr
        the server there is left out: the configuration has another server of this name
        the server off is left out: it is switched off
        time: a secret is not copied; set the variable API_TOKEN
        nothing was written
    "#]]);
    assert_eq!(config(&place), before);
    place.flyto(&["import", ".mcp.json"]).check(expect![[r#"
        exit code 0
        -- stdout
        DIR/home/.config/flyto/config.json: "mcpServers"
        +   "time": {
        +     "command": "mcp-server-time",
        +     "env": {
        +       "API_TOKEN": "${API_TOKEN}"
        +     },
        +     "cwd": "DIR"
        +   }
        -- stderr
        the server there is left out: the configuration has another server of this name
        the server off is left out: it is switched off
        time: a secret is not copied; set the variable API_TOKEN
        1 server added; `flyto servers` connects to each
    "#]]);
    expect![[r#"
        {
          "permissions": {"allow": ["p:*"]},
          "mcpServers": {
            "time": {
              "command": "mcp-server-time",
              "env": {
                "API_TOKEN": "${API_TOKEN}"
              },
              "cwd": "DIR"
            },"there": {"command": "a"}, "other": {"command": "b"}}
        }
    "#]]
    .assert_eq(&config(&place));
    place.flyto(&["import", ".mcp.json", "--format", "json"]).check(expect![[r#"
        exit code 0
        -- stdout
        {
          "file": "DIR/home/.config/flyto/config.json",
          "added": {},
          "unchanged": [
            "time"
          ],
          "left_out": [
            {
              "name": "there",
              "why": "the configuration has another server of this name"
            },
            {
              "name": "off",
              "why": "it is switched off"
            }
          ],
          "notes": [],
          "is_changed": false
        }
    "#]]);
}

#[test]
fn files_of_other_clients_are_read() {
    let place = Place::new();
    place.write(
        "home/.codex/config.toml",
        "model = \"x\"\n[mcp_servers.a]\ncommand = \"c\"\nargs = [\"$1\"]\ntool_timeout_sec = 60\n",
    );
    place.write(
        "home/.gemini/settings.json",
        r#"{"mcpServers": {"b": {"httpUrl": "https://a.org/$X", "trust": true}}}"#,
    );
    place.write(".vscode/mcp.json", "{\n// ours\n\"servers\": {\"c\": {\"type\": \"stdio\", \"command\": \"${workspaceFolder}/c\"},}}");
    place.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"d": {"url": "https://a.org", "headers": {"X": "${env:Y}"}}}}"#,
    );
    for file in [
        "home/.codex/config.toml",
        "home/.gemini/settings.json",
        ".vscode/mcp.json",
        "home/.cursor/mcp.json",
    ] {
        assert_eq!(place.flyto(&["import", file]).run().code, Some(0), "{file}");
    }
    expect![[r#"
        {
          "mcpServers": {
            "d": {
              "url": "https://a.org",
              "headers": {
                "X": "${Y}"
              }
            },
            "c": {
              "command": "DIR/c",
              "cwd": "DIR"
            },
            "b": {
              "url": "https://a.org/$X"
            },
            "a": {
              "command": "c",
              "args": [
                "$$1"
              ],
              "timeout_seconds": 60
            }
          }
        }
    "#]]
    .assert_eq(&config(&place));
    assert_eq!(place.flyto(&["validate", CONFIG]).run().code, Some(0));
}

#[test]
fn a_directory_of_a_project_stays_where_it_was() {
    let place = Place::new();
    let gemini = r#"{"mcpServers": {"a": {"command": "x", "cwd": "./sub"}}}"#;
    place.write("project/.gemini/settings.json", gemini);
    place.write("project/.codex/config.toml", "[mcp_servers.b]\ncommand = \"./bin/y\"\n");
    place.write("home/.gemini/settings.json", gemini);
    let added = |file: &str| {
        let ran = place.flyto(&["import", file, "--print", "--format", "json"]).run();
        ran.json().to_string().replace(place.path().to_str().unwrap(), "DIR")
    };
    assert!(added("project/.gemini/settings.json").contains("DIR/project/./sub"));
    assert!(added("project/.codex/config.toml").contains("DIR/project/./bin/y"));
    // A file of the user's own belongs to no project.
    assert!(added("home/.gemini/settings.json").contains("is relative"));
}

#[test]
fn servers_of_the_current_project_are_read_from_the_file_of_claude() {
    let place = Place::new();
    let dir = |name: &str| place.path().join(name).display().to_string();
    let servers = |command: &str| serde_json::json!({"mcpServers": {"a": {"command": command}}});
    let mut file = servers("of-the-user");
    file["mcpServers"]["b"] = serde_json::json!({"command": "b"});
    file["projects"] = serde_json::json!({
        dir(""): servers("of-the-project"),
        dir("other"): servers("of-another"),
    });
    // Claude Code writes no slash at the end.
    let text = file
        .to_string()
        .replace(&format!("{}\"", dir("")), &format!("{}\"", place.path().display()));
    place.write("home/.claude.json", &text);
    place.flyto(&["import", "home/.claude.json"]).check(expect![[r#"
        exit code 0
        -- stdout
        DIR/home/.config/flyto/config.json: "mcpServers"
        +   "a": {
        +     "command": "of-the-project",
        +     "cwd": "DIR"
        +   },
        +   "b": {
        +     "command": "b"
        +   }
        -- stderr
        the servers of the project DIR/other are not read; `flyto import` in that directory reads them
        2 servers added; `flyto servers` connects to each
    "#]]);
}

#[test]
fn what_install_wrote_is_not_imported() {
    let place = Place::new();
    let file = "home/.cursor/mcp.json";
    assert_eq!(place.flyto(&["install", "cursor"]).run().code, Some(0));
    place.flyto(&["import", file]).check(expect![[r#"
        exit code 0
        -- stderr
        the server flyto is left out: it is this program, which needs no server for its own tools
    "#]]);
    assert!(!place.exists(CONFIG));
    // The same by another name, and a server that is another program.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_flyto"), place.path().join("tools")).unwrap();
    let own = place.path().join("tools").display().to_string();
    let servers = serde_json::json!({"mcpServers": {
        "own": {"command": own, "args": ["--plugins", "x", "serve"]},
        "other": {"command": "mcp", "args": ["serve"]},
    }});
    place.write("other.json", &servers.to_string());
    let imported = place.flyto(&["import", "other.json", "--format", "json"]).run().json();
    assert_eq!(imported["left_out"][0]["name"], "own", "{imported}");
    assert_eq!(imported["added"]["other"]["command"], "mcp", "{imported}");
}

/// The second one took the place of the first one, without a word.
#[test]
fn servers_that_have_one_name_here_are_not_mixed_up() {
    let place = Place::new();
    let servers =
        r#"{"mcpServers": {"my server": {"command": "a"}, "my.server": {"command": "b"}}}"#;
    place.write("a.json", servers);
    place.flyto(&["import", "a.json", "--print"]).check(expect![[r#"
        exit code 0
        -- stdout
        DIR/home/.config/flyto/config.json: "mcpServers"
        +   "my-server": {
        +     "command": "a"
        +   }
        -- stderr
        the server my-server is left out: another server of the file has this name here
        my-server: its name in the file is "my server"
        nothing was written
    "#]]);
}

#[test]
fn reasons_and_notes_hide_secrets() {
    let place = Place::new();
    let token = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
    let servers = serde_json::json!({
        "a": {"command": format!("./{token}")},
        "b": {"command": "x", "disabled_tools": [token]},
        "c": {"url": "https://a.org", token: 1},
        "d": {"url": format!("ftp://a.org?x={token}")},
        token: {"command": "x"},
        "e": {"command": "x", "args": [1], "cwd": format!("~{token}/x")},
        "f": {"command": "x", "cwd": format!("~{token}")},
        "g": {"url": format!("ftp://{token}")},
        "h": {"command": "x", "env": {token: [1]}},
    });
    let file = serde_json::json!({"mcpServers": servers, "projects": {format!("/{token}"): {"mcpServers": {"x": {}}}}});
    place.write("home/.claude.json", &file.to_string());
    let ran = place.flyto(&["import", "home/.claude.json", "--print"]).run();
    let shown = ran.shown();
    assert!(!shown.contains(&token[4..]), "{shown}");
    place.flyto(&["import", "home/.claude.json", "--print"]).check(expect![[r#"
        exit code 0
        -- stdout
        DIR/home/.config/flyto/config.json: "mcpServers"
        +   "a": {
        +     "command": "${A_COMMAND}"
        +   },
        +   "b": {
        +     "command": "x"
        +   },
        +   "c": {
        +     "url": "https://a.org"
        +   },
        +   "d": {
        +     "url": "${D_URL}"
        +   },
        +   "f": {
        +     "command": "x",
        +     "cwd": "${F_CWD}"
        +   },
        +   "g": {
        +     "url": "${G_URL}"
        +   }
        -- stderr
        the server server is left out: its name looks like a secret, which is not copied
        the server e is left out: an argument is no text
        the server h is left out: [redacted: github-token, 40 characters] in "env" is no text
        a: a secret is not copied; set the variable A_COMMAND
        b: the client does not offer [redacted: github-token, 40 characters], and here all tools are offered; to deny them, add {"permissions":{"deny":["mcp__b__[redacted: github-token, 40 characters]"]}} to the configuration
        c: left out: [redacted: github-token, 40 characters]
        d: a secret is not copied; set the variable D_URL
        f: a secret is not copied; set the variable F_CWD
        g: a secret is not copied; set the variable G_URL
        the servers of the project /[redacted: github-token, 40 characters] are not read; `flyto import` in that directory reads them
        nothing was written
    "#]]);
}

#[test]
fn what_stands_in_a_file_more_than_once_is_told() {
    let place = Place::new();
    place.write(
        ".mcp.json",
        "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}}",
    );
    place.flyto(&["import", ".mcp.json", "--print"]).check(expect![[r#"
        exit code 0
        -- stdout
        DIR/home/.config/flyto/config.json: "mcpServers"
        +   "a": {
        +     "command": "y",
        +     "cwd": "DIR"
        +   }
        -- stderr
        the file has /mcpServers/a more than once, and the last one counts
        nothing was written
    "#]]);
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let place = Place::new();
    let fifo = place.path().join("fifo.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    place.flyto(&["import", "fifo.json"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: failed to read DIR/fifo.json: it is a pipe
    "#]]);
    place.flyto(&["import", "home"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: failed to read DIR/home: it is a directory
    "#]]);
    place.flyto(&["import", "/dev/zero"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: failed to read /dev/zero: it is a device
    "#]]);
    // A configuration neither.
    place.write("a.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    place.flyto(&["--config", "fifo.json", "import", "a.json"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: failed to read DIR/fifo.json: it is a pipe
    "#]]);
    // A stream that is open already is read to its end.
    let ran = place
        .flyto(&["import", "/dev/stdin", "--print", "--format", "json"])
        .stdin(br#"{"mcpServers": {"a": {"command": "x"}}}"#)
        .run();
    assert_eq!(ran.json()["added"]["a"]["command"], "x");
}

#[test]
fn a_link_to_a_file_that_is_missing_stays() {
    let place = Place::new();
    fs::create_dir(place.path().join("dotfiles")).unwrap();
    fs::create_dir_all(place.path().join(CONFIG).parent().unwrap()).unwrap();
    let link = place.path().join(CONFIG);
    std::os::unix::fs::symlink(place.path().join("dotfiles/flyto.json"), &link).unwrap();
    place.write("a.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    assert_eq!(place.flyto(&["import", "a.json"]).run().code, Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(config(&place).contains("\"a\""));
    fs::remove_dir_all(place.path().join("dotfiles")).unwrap();
    place.flyto(&["import", "a.json"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: failed to lock DIR/home/.config/flyto/config.json: a link leads to DIR/dotfiles/flyto.json, whose directory is missing
          help: `--print` shows what would be added
    "#]]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// The lock is one of the directory, which the first of them makes.
#[test]
fn first_imports_at_once_keep_what_each_of_them_adds() {
    let place = Place::new();
    let names: Vec<_> = (0..8).map(|it| format!("s{it}")).collect();
    for name in &names {
        place.write(
            &format!("{name}.json"),
            &format!(r#"{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}"#),
        );
    }
    let started: Vec<_> =
        names.iter().map(|it| place.flyto(&["import", &format!("{it}.json")]).start()).collect();
    for mut child in started {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let config: serde_json::Value = serde_json::from_str(&config(&place)).unwrap();
    assert!(names.iter().all(|it| config["mcpServers"].get(it).is_some()), "{config}");
}

#[test]
fn a_lock_that_another_process_holds_is_told() {
    let place = Place::new();
    place.write("a.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    place.write(CONFIG, "{}");
    let dir = fs::File::open(place.path().join(CONFIG).parent().unwrap()).unwrap();
    dir.lock().unwrap();
    // What is shown only is written by no process.
    assert_eq!(place.flyto(&["import", "a.json", "--print"]).run().code, Some(0));
    place.flyto(&["import", "a.json"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: failed to lock DIR/home/.config/flyto/config.json: another process holds its directory's lock for 5s
          help: `--print` shows what would be added
    "#]]);
    assert_eq!(config(&place), "{}");
}

#[test]
fn what_is_no_file_of_servers_says_so() {
    let place = Place::new();
    place.write("a.json", "{\"x\": 1}");
    place.write("b.json", "{");
    place.write("c.toml", "= 1");
    for file in ["a.json", "b.json", "c.toml", "none.json"] {
        let ran = place.flyto(&["import", file]).run();
        assert_eq!(ran.code, Some(if file == "none.json" { 4 } else { 3 }), "{}", ran.shown());
    }
    place.flyto(&["import", "a.json"]).check(expect![[r#"
        exit code 3
        -- stderr
        error: DIR/a.json: no servers: neither mcpServers, servers nor mcp_servers
    "#]]);
    assert!(!place.exists(CONFIG));
}

#[test]
fn a_variable_stands_for_one_secret_in_all_servers() {
    let place = Place::new();
    let server = |token: &str| json!({"command": "sh", "env": {"API_TOKEN": token}});
    let servers = json!({
        "a": server("tok-0123456789abcdef"),
        "b": server("tok-fedcba9876543210"),
        "c": server("tok-0123456789abcdef"),
        "d": {"command": "sh", "env": {"OTHER_TOKEN": "tok-00112233445566aa"}},
        "e": {"command": "sh", "args": ["${OTHER_TOKEN}"]},
    });
    place.write("other.json", &json!({"mcpServers": servers}).to_string());
    let ran = place.flyto(&["import", "other.json"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let config: Value = serde_json::from_str(&config(&place)).unwrap();
    let token = |name: &str, variable: &str| config["mcpServers"][name]["env"][variable].clone();
    assert_eq!(token("a", "API_TOKEN"), "${API_TOKEN}");
    assert_eq!(token("b", "API_TOKEN"), "${API_TOKEN_2}");
    assert_eq!(token("c", "API_TOKEN"), "${API_TOKEN}");
    assert_eq!(token("d", "OTHER_TOKEN"), "${OTHER_TOKEN_2}");
    assert!(ran.shown().contains("b: a secret is not copied; set the variable API_TOKEN_2"));
    // One of another file stands for another secret as well.
    let other = json!({"mcpServers": {"z": server("tok-zzzzzzzzzzzzzzzz")}});
    place.write("z.json", &other.to_string());
    let ran = place.flyto(&["import", "z.json"]).run();
    assert!(ran.shown().contains("set the variable API_TOKEN_3"), "{}", ran.shown());
    let config: Value = serde_json::from_str(&self::config(&place)).unwrap();
    // Again, nothing is another one.
    let again = place.flyto(&["import", "z.json"]).run();
    assert_eq!(again.code, Some(0), "{}", again.shown());
    let again = place.flyto(&["import", "other.json"]).run();
    assert_eq!(again.code, Some(0), "{}", again.shown());
    assert_eq!(serde_json::from_str::<Value>(&self::config(&place)).unwrap(), config);
}
