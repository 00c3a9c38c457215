//! Servers of the Model Context Protocol in a configuration.

use expect_test::expect;
use flyto_host::{ConfigServer, Surroundings, validate_path};
use serde_json::json;

use crate::World;

fn names(servers: &[ConfigServer]) -> Vec<&str> {
    servers.iter().map(|it| it.def.name.as_str()).collect()
}

#[test]
fn a_server_that_cannot_be_used_costs_itself() {
    let servers = json!({"mcpServers": {
        "a": {"command": "a-mcp"},
        "b": {"command": ""},
        "c": {"url": "http://"},
        "d": {"url": "https://example.org/mcp"},
    }});
    let world = World::new().user(&servers.to_string());
    let (config, findings) = world.load();
    assert_eq!(names(&config.servers), ["a", "d"]);
    expect![[r#"
        DIR/home/.config/flyto/config.json:1:55: warning[F0024]: "command" is empty
        DIR/home/.config/flyto/config.json:1:70: warning[F0163]: "http://" is no address of a server"#]].assert_eq(&world.without_dir(&findings));
}

#[test]
fn a_project_that_is_not_trusted_declares_none() {
    let user = json!({"mcpServers": {"a": {"command": "a-mcp"}}});
    let project = json!({"mcpServers": {"a": {"command": "evil"}, "b": {"command": "evil"}}});
    let world = World::new().user(&user.to_string()).project(&project.to_string());
    let (config, findings) = world.load();
    assert_eq!(names(&config.servers), ["a"]);
    assert!(config.servers[0].file.ends_with("home/.config/flyto/config.json"));
    expect![[r#"DIR/home/project/.flyto/config.json:1:15: warning[F0301]: "mcpServers" of an untrusted project is left out: it can only narrow"#]].assert_eq(&world.without_dir(&findings));
}

/// The servers of a configuration are checked with the variables and the bound of the surroundings.
#[test]
fn a_server_that_no_start_takes_is_told() {
    let big = "x".repeat(1000);
    let server = |arg: &str| json!({"mcpServers": {"a": {"command": "a-mcp", "args": [arg]}}});
    let check = |arg: &str, max_words_bytes| {
        let mut world = World::new().user(&server(arg).to_string());
        world.env.set("BIG", &big);
        let file = world.dir.path().join("home/.config/flyto/config.json");
        let mut surroundings = Surroundings::new(world.env.clone(), world.dir.path());
        surroundings.max_words_bytes = max_words_bytes;
        let checked = validate_path(&file, &surroundings).expect("it is there");
        let shown = checked.findings.iter().map(|it| {
            let reason = it.reason.as_deref().unwrap_or_default();
            format!("{:?} {} {}: {reason}", it.severity, it.code, it.location)
        });
        world.without_dir(&shown.collect::<String>())
    };
    assert_eq!(check("$BIG", None), "");
    expect!["Warning F0024 DIR/home/.config/flyto/config.json:1:46: it cannot be started"]
        .assert_eq(&check("$BIG", Some(1000)));
    // It stays, as it would at a start.
    expect![
        "Warning F0161 DIR/home/.config/flyto/config.json:1:20: it is not started without them"
    ]
    .assert_eq(&check("$NONE", None));
}
