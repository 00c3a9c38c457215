//! Each value with its place, and the paths and files that grants name.

use super::*;

#[test]
fn each_value_has_its_place() {
    let user = "{\n\"plugins\": {\"enabled\": true, \"blocked_plugins\": [\"a\",\n\"b\"],\n\
                \"grants\": {\"notes\": {\"env\": [\"X\"]}}},\n\"output_limit_bytes\": 100}";
    let project = "{\"plugins\": {\"blocked_plugins\": [\"c\"]},\n\"sandbox\": \"strict\",\n\
                   \"output_limit_bytes\": 50}";
    let mut world = World::new().user(user).project(project).variable("FLYTO_PLUGINS", "/p:/q");
    world.flags.exec_tools.push("/t.json".into());
    let (config, _) = world.load();
    let dir = world.dir.path().canonicalize().expect("it is there").display().to_string();
    let mut shown = String::new();
    for it in config.values() {
        let origin = it.origin.map_or("default".to_owned(), |it| it.to_string());
        let line = it.place.and_then(|it| it.place()).map_or(String::new(), |it| format!(":{it}"));
        shown += &format!("{} = {} {}{line}\n", it.key, it.value, origin.replace(&dir, "DIR"));
    }
    expect![[r#"
        plugins.enabled = true $FLYTO_PLUGINS
        plugins.plugin_dirs[0] = "/p" $FLYTO_PLUGINS
        plugins.plugin_dirs[1] = "/q" $FLYTO_PLUGINS
        plugins.allowed_plugins = [] default
        plugins.blocked_plugins[0] = "a" DIR/home/.config/flyto/config.json:2:50
        plugins.blocked_plugins[1] = "b" DIR/home/.config/flyto/config.json:3:1
        plugins.blocked_plugins[0] = "c" DIR/home/project/.flyto/config.json:1:34
        plugins.strict_env = false default
        plugins.grants.notes.env[0] = "X" DIR/home/.config/flyto/config.json:4:30
        plugins.ready.processes = 8 default
        plugins.ready.idle_seconds = 300 default
        plugins.ready.memory_bytes = 536870912 default
        exec_tools[0] = "/t.json" --exec-tools
        mcpServers = {} default
        output_limit_bytes = 50 DIR/home/project/.flyto/config.json:3:23
        sandbox = "strict" DIR/home/project/.flyto/config.json:2:12
        permissions.allow = [] default
        permissions.ask = [] default
        permissions.deny = [] default
        audit.enabled = true default
        audit.fsync = "never" default
        audit.on_failure = "refuse" default
        audit.inputs = "digest" default
        audit.keep_days = null default
        evolve.enabled = true default
        evolve.dir = "~/.flyto/evolution" default
        evolve.record_calls = false default
        evolve.hints = false default
        evolve.ask_client = true default
        output_guard = null default
        secret_rules = null default
    "#]]
    .assert_eq(&shown);
}

#[test]
fn processes_that_wait_are_bounded() {
    let ready = r#"{"plugins": {"ready": {"processes": 2, "idle_seconds": 60}}}"#;
    let (config, said) = World::new().user(ready).load();
    let expect = ReadyOptions::new().processes(2).idle(Duration::from_secs(60));
    assert_eq!((config.plugins.ready, said.as_str()), (expect, ""));
    // A project that is not trusted sets nothing of it.
    let (config, said) = World::new().project(ready).load();
    assert_eq!(config.plugins.ready, ReadyOptions::new());
    assert!(said.contains("plugins.ready"), "{said}");
}

#[track_caller]
fn check_grants_file(world: &World, file: &str) {
    let (config, _) = world.load();
    let path = config.grants_file.expect("there is a home");
    assert_eq!(path, world.dir.path().join(file));
}

#[test]
fn grants_belong_into_the_file_that_counts() {
    const USERS: &str = "home/.config/flyto/config.json";
    const PROJECTS: &str = "home/project/.flyto/config.json";
    let grants = r#"{"plugins": {"grants": {}}}"#;
    check_grants_file(&World::new(), USERS);
    check_grants_file(&World::new().user("{}").project(grants), USERS);
    check_grants_file(&World::new().project("{}").trusted(), USERS);
    check_grants_file(&World::new().project(grants).trusted(), PROJECTS);
    let named = World::new().user(grants).variable("FLYTO_CONFIG", "$DIR/other.json");
    check_grants_file(&named.file("other.json", "{}"), "other.json");
}

/// The paths that the user's file grants, and what is said about them.
fn granted(world: &World, profile: &str, grant: &str) -> String {
    let text = format!(
        r#"{{"sandbox": {{"profiles": {{"mine": {{{profile}}}}}, "plugin_tool": "mine"}},
            "plugins": {{"grants": {{"p": {{{grant}}}}}}}}}"#
    );
    let file = world.dir.path().join("home/.config/flyto/config.json");
    fs::create_dir_all(file.parent().expect("below the directory")).expect("created");
    let root = world.dir.path().display().to_string();
    fs::write(file, text.replace("$DIR", &root)).expect("written");
    let (config, findings) = world.load();
    let mine = config.sandbox.profile("mine").expect("it is there");
    let grant = &config.plugins.grants["p"];
    let lists = [&mine.read, &mine.write, &mine.deny, &grant.read, &grant.write];
    format!("{lists:?}\n{findings}").replace(&root, "$DIR")
}

#[test]
fn a_link_in_a_granted_path_grants_nothing_and_is_told() {
    let world = World::new();
    let home = world.dir.path().join("home");
    fs::create_dir(home.join("data")).expect("created");
    std::os::unix::fs::symlink("/", home.join("out")).expect("made");
    std::os::unix::fs::symlink("data", home.join("in")).expect("made");
    let shown = granted(
        &world,
        r#""read": ["~/in/a", "/usr"], "write": ["~/data", "~/out"], "deny": ["~/in"]"#,
        r#""read": ["$DIR/home/in", "~/data"], "write": ["~/out/etc"]"#,
    );
    expect![[r#"
        [["/usr"], ["$DIR/home/data"], ["$DIR/home/in"], ["$DIR/home/data"], []]
        $DIR/home/.config/flyto/config.json:1:45: warning[F0314]: "$DIR/home/in/a" grants nothing: "$DIR/home/in" is a link to "data"
        $DIR/home/.config/flyto/config.json:1:84: warning[F0314]: "$DIR/home/out" grants nothing: "$DIR/home/out" is a link to "/"
        $DIR/home/.config/flyto/config.json:2:51: warning[F0314]: "$DIR/home/in" grants nothing: "$DIR/home/in" is a link to "data"
        $DIR/home/.config/flyto/config.json:2:99: warning[F0314]: "$DIR/home/out/etc" grants nothing: "$DIR/home/out" is a link to "/""#]].assert_eq(&shown);
}
