//! Servers of the Model Context Protocol in a configuration.

use expect_test::expect;
use flyto_host::ConfigServer;
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
