//! `install`: the files of clients.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::place::{Place, Ran};

/// The clients, each with the user's file and the project's.
const CLIENTS: [(&str, &str, &str); 5] = [
    ("claude-code", "home/.claude.json", ".mcp.json"),
    ("codex", "home/.codex/config.toml", ".codex/config.toml"),
    ("gemini", "home/.gemini/settings.json", ".gemini/settings.json"),
    ("vscode", "home/.config/Code/User/mcp.json", ".vscode/mcp.json"),
    ("cursor", "home/.cursor/mcp.json", ".cursor/mcp.json"),
];

#[track_caller]
fn install(place: &Place, words: &[&str]) -> Ran {
    let ran = place.flyto(&[&["install"], words].concat()).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    ran
}

fn read(place: &Place, path: &str) -> String {
    fs::read_to_string(place.path().join(path)).unwrap()
}

fn value(place: &Place, path: &str) -> Value {
    serde_json::from_str(&read(place, path)).unwrap()
}

#[test]
fn each_client_gets_the_server_once() {
    let place = Place::new();
    let plugins = place.path().join("some plugins").display().to_string();
    for (client, file, _) in CLIENTS {
        let words = [client, "--plugins", "some plugins", "--format", "json"];
        assert_eq!(install(&place, &words).json()["is_changed"], true);
        let text = read(&place, file);
        assert!(text.contains(&format!("--plugins={plugins}")) && text.contains("serve"), "{text}");
        assert!(text.contains(env!("CARGO_BIN_EXE_flyto")), "{text}");
        assert_eq!(install(&place, &words).json()["is_changed"], false);
        assert_eq!(read(&place, file), text);
        // A server of that name that starts something else is not ours to change.
        let ran = place.flyto(&["install", client]).run();
        assert_eq!(ran.code, Some(3), "{}", ran.shown());
        assert!(ran.stderr().contains("has another server \"flyto\""), "{}", ran.shown());
        assert_eq!(read(&place, file), text);
        install(&place, &[client, "--name", "more"]);
        assert!(read(&place, file).contains("more"));
    }
}

#[test]
fn a_directory_that_is_not_there_is_told() {
    let place = Place::new();
    place.flyto(&["install", "cursor", "--plugins", "sub/.././nope"]).check(expect_test::expect![
        [r#"
        exit code 0
        -- stdout
        DIR/home/.cursor/mcp.json: flyto is there now
        -- stderr
        there is no DIR/nope now; the server that the client starts needs it
        the settings of Cursor show it under its tools
    "#]
    ]);
    let plugins = place.path().join("nope").display().to_string();
    let text = read(&place, "home/.cursor/mcp.json");
    assert!(text.contains(&format!("--plugins={plugins}\"")), "{text}");
    // A link gives `..` another meaning.
    fs::create_dir_all(place.path().join("far/plugins")).unwrap();
    fs::create_dir_all(place.path().join("far/sub")).unwrap();
    std::os::unix::fs::symlink("far/sub", place.path().join("link")).unwrap();
    install(&place, &["gemini", "--plugins", "link/../plugins"]);
    let real = fs::canonicalize(place.path().join("far/plugins")).unwrap();
    let text = read(&place, "home/.gemini/settings.json");
    assert!(text.contains(&format!("--plugins={}\"", real.display())), "{text}");
}

#[test]
fn a_project_names_the_program_and_not_where_it_lies() {
    let place = Place::new();
    for (client, _, file) in CLIENTS {
        let words = ["install", client, "--project", "--plugins", "p"];
        let ran = place.flyto(&words).run();
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        if client == "codex" {
            expect_test::expect![[r#"
                [mcp_servers.flyto]
                command = "flyto"
                args = ["--plugins=p", "serve"]
            "#]]
            .assert_eq(&read(&place, file));
            continue;
        }
        let file = value(&place, file);
        let servers = file.get("servers").or(file.get("mcpServers")).unwrap();
        assert_eq!(servers["flyto"]["command"], "flyto");
        assert_eq!(servers["flyto"]["args"], json!(["--plugins=p", "serve"]));
    }
}

#[test]
fn what_is_in_a_file_stays() {
    let place = Place::new();
    let claude =
        r#"{"zeta": 1.50, "mcpServers": {"other": {"command": "x"}}, "alpha": [12345678901234]}"#;
    let path = place.write("home/.claude.json", claude);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    install(&place, &["claude-code"]);
    let file = value(&place, "home/.claude.json");
    assert_eq!(file["mcpServers"]["flyto"]["type"], "stdio");
    let (before, after) = claude.split_once(r#"}}, "alpha""#).unwrap();
    let text = read(&place, "home/.claude.json");
    assert!(text.starts_with(before) && text.ends_with(after), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let codex = "# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = 'x' # its own\n";
    place.write("home/.codex/config.toml", codex);
    install(&place, &["codex"]);
    let text = read(&place, "home/.codex/config.toml");
    let added = text.strip_prefix(codex).unwrap();
    let program = env!("CARGO_BIN_EXE_flyto");
    assert_eq!(
        added,
        format!("\n[mcp_servers.flyto]\ncommand = \"{program}\"\nargs = [\"serve\"]\n")
    );
    // What is left beside a file would be read by some clients as well.
    let names = fs::read_dir(place.path().join("home/.codex")).unwrap().count();
    assert_eq!(names, 1);
}

#[test]
fn comments_stay() {
    let place = Place::new();
    let text = "{\n  // mine\n  \"servers\": {},\n}\n";
    let file = "home/.config/Code/User/mcp.json";
    place.write(file, text);
    let words = ["vscode", "--format", "json"];
    assert_eq!(install(&place, &words).json()["is_changed"], true);
    let text = read(&place, file).replace(env!("CARGO_BIN_EXE_flyto"), "PROGRAM");
    expect_test::expect![[r#"
        {
          // mine
          "servers": {
            "flyto": {
              "type": "stdio",
              "command": "PROGRAM",
              "args": [
                "serve"
              ]
            }
          },
        }
    "#]]
    .assert_eq(&text);
    assert_eq!(install(&place, &words).json()["is_changed"], false);
}

#[test]
fn a_link_leads_to_the_file_that_changes() {
    let place = Place::new();
    let file = place.write("dotfiles/mcp.json", "{}");
    fs::create_dir(place.path().join("home/.cursor")).unwrap();
    let link = place.path().join("home/.cursor/mcp.json");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    install(&place, &["cursor"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(value(&place, "dotfiles/mcp.json")["mcpServers"]["flyto"].is_object());
}

#[test]
fn a_link_to_a_file_that_is_missing_stays() {
    let place = Place::new();
    fs::create_dir(place.path().join("dotfiles")).unwrap();
    fs::create_dir(place.path().join("home/.cursor")).unwrap();
    let link = place.path().join("home/.cursor/mcp.json");
    std::os::unix::fs::symlink("../../dotfiles/mcp.json", &link).unwrap();
    install(&place, &["cursor"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(value(&place, "dotfiles/mcp.json")["mcpServers"]["flyto"].is_object());
    fs::remove_dir_all(place.path().join("dotfiles")).unwrap();
    place.flyto(&["install", "cursor"]).check(expect_test::expect![[r#"
        exit code 74
        -- stderr
        error: failed to write DIR/home/.cursor/mcp.json: a link leads to DIR/home/.cursor/../../dotfiles/mcp.json, whose directory is missing
          help: `--print` prints what belongs into it
    "#]]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn what_cannot_be_changed_safely_is_left_as_it_is() {
    let place = Place::new();
    for (client, file, text) in [
        ("claude-code", "home/.claude.json", "{\n  // mine\n}"),
        ("gemini", "home/.gemini/settings.json", "[]"),
        ("cursor", "home/.cursor/mcp.json", r#"{"mcpServers": []}"#),
        ("codex", "home/.codex/config.toml", "mcp_servers = { other = { command = 'x' } }\n"),
        ("codex", "home/.codex/config.toml", "model = \n"),
    ] {
        place.write(file, text);
        let ran = place.flyto(&["install", client]).run();
        assert_eq!(ran.code, Some(3), "{client}: {}", ran.shown());
        assert!(ran.stderr().contains("`--print`"), "{}", ran.shown());
        assert_eq!(read(&place, file), text);
    }
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let place = Place::new();
    let dir = place.path().join("home/.cursor");
    fs::create_dir(&dir).unwrap();
    let fifo = dir.join("mcp.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    place.flyto(&["install", "cursor"]).check(expect_test::expect![[r#"
        exit code 7
        -- stderr
        error: failed to read DIR/home/.cursor/mcp.json: it is a pipe
          help: `--print` prints what belongs into it
    "#]]);
}

#[test]
fn a_file_that_is_too_long_is_told() {
    let place = Place::new();
    let file = place.write("home/.claude.json", "");
    fs::File::options().write(true).open(file).unwrap().set_len((16 << 20) + 1).unwrap();
    place.flyto(&["install", "claude-code"]).check(expect_test::expect![[r#"
        exit code 3
        -- stderr
        error: DIR/home/.claude.json is longer than 16 MiB
          help: `--print` prints what belongs into it
    "#]]);
}

#[test]
fn printing_writes_nothing() {
    let place = Place::new();
    for (client, file, _) in CLIENTS {
        let ran = install(&place, &[client, "--print", "--name", "mine"]);
        assert!(ran.stdout().contains("mine"), "{}", ran.shown());
        assert!(ran.stderr().contains(file.rsplit('/').next().unwrap()), "{}", ran.shown());
        assert!(!place.exists(file));
    }
    let ran = install(&place, &["vscode", "--print", "--project", "--plugins", "p"]);
    expect_test::expect![[r#"
        {
          "servers": {
            "flyto": {
              "type": "stdio",
              "command": "flyto",
              "args": [
                "--plugins=p",
                "serve"
              ]
            }
          }
        }
    "#]]
    .assert_eq(&ran.stdout());
    for words in [["codex", "--name", "a.b"], ["gemini", "--name", "a_b"]] {
        let ran = place.flyto(&[&["install"][..], &words].concat()).run();
        assert_eq!(ran.code, Some(2), "{}", ran.shown());
    }
}

#[test]
fn the_commands_of_the_readme_lead_to_a_server() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    let plugins = place.path().join("plugins").display().to_string();
    let readme = include_str!("../../../../README.md");
    let mut sections = readme.split("\n## ");
    let section = sections.find(|it| it.starts_with("Using the tools from an agent")).unwrap();
    let commands = section.lines().filter_map(|it| it.strip_prefix("$ flyto install "));
    let commands: Vec<Vec<String>> = commands
        .map(|it| it.split(' ').map(|it| it.replace("~/plugins", &plugins)).collect())
        .collect();
    let clients: Vec<_> = commands.iter().map(|it| &*it[0]).collect();
    assert_eq!(clients, CLIENTS.map(|(client, ..)| client));
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        install(&place, &words);
    }
    // What the client starts then is a server with the tools.
    let server = &value(&place, "home/.cursor/mcp.json")["mcpServers"]["flyto"];
    assert_eq!(server["command"], env!("CARGO_BIN_EXE_flyto"));
    let words: Vec<&str> =
        server["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let ran = place.flyto(&words).stdin(format!("{list}\n").as_bytes()).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout().contains("\"p__t\""), "{}", ran.shown());
}

/// Both read the file before one of them has written it: without a lock one of the two servers is lost.
#[test]
fn two_installs_at_once_keep_what_each_of_them_adds() {
    for (client, file, _) in CLIENTS {
        for round in 0..8 {
            let place = Place::new();
            if round % 2 == 0 {
                install(&place, &[client, "--name", "first"]);
            }
            let start = |name: &str| {
                let gate = place.path().join(name);
                rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
                let flyto = place.flyto(&["install", client, "--name", name]);
                let child = flyto.started_by(&format!("read -r _ <{name}; exec \"$@\"")).start();
                // To open it waits until the shell reads from it, which waits until it is closed.
                (child, fs::File::options().write(true).open(&gate).unwrap())
            };
            let [left, right] = ["left", "right"].map(start);
            let started = [left.0, right.0];
            drop([left.1, right.1]);
            for child in started {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            let text = read(&place, file);
            assert!(text.contains("left") && text.contains("right"), "{client}: {text}");
            assert_eq!(text.contains("first"), round % 2 == 0, "{client}: {text}");
            let dir = place.path().join(file);
            let names: Vec<_> = fs::read_dir(dir.parent().unwrap())
                .unwrap()
                .map(|it| it.unwrap().file_name().into_string().unwrap())
                .filter(|it| it.contains(".flyto-"))
                .collect();
            assert!(names.is_empty(), "{names:?}");
        }
    }
}

/// In /proc no file can be made, by no user.
#[cfg(target_os = "linux")]
#[test]
fn a_home_that_cannot_be_written_is_told_with_a_way_round() {
    let place = Place::new();
    place.flyto(&["install", "cursor"]).env("HOME", "/proc").check(expect_test::expect![[r#"
        exit code 74
        -- stderr
        error: failed to write /proc/.cursor/mcp.json: No such file or directory (os error 2)
          help: `--print` prints what belongs into it
    "#]]);
    place.write("mcp.json", r#"{"mcpServers": {"time": {"command": "t"}}}"#);
    place.flyto(&["import", "mcp.json"]).env("HOME", "/proc").check(expect_test::expect![[r#"
        exit code 7
        -- stderr
        error: failed to lock /proc/.config/flyto/config.json: No such file or directory (os error 2)
          help: `--print` shows what would be added
    "#]]);
}
