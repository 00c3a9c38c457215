//! Which source of configuration wins, and what a project may do.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use expect_test::{Expect, expect};
use flyto_execenv::{Class, Environment, ReadyOptions};
use flyto_host::{
    Config, Flags, ReviewError, Surroundings, TrustStore, load_config, review_project,
    validate_path,
};
use flyto_plugin::Verdict;
use tempfile::TempDir;

mod secret_rules; // a user's own rules for secrets
mod servers; // programs and addresses whose tools are used
mod values; // values with their places, and what grants name

/// A home with a user's file, and a project with one of its own below it.
struct World {
    dir: TempDir,
    env: Environment,
    flags: Flags,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().join("home");
        fs::create_dir_all(home.join("project/.flyto")).expect("created");
        fs::create_dir_all(home.join("project/src/deep")).expect("created");
        let env = [("HOME", home.as_os_str())].into_iter().collect();
        Self { dir, env, flags: Flags::default() }
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("below the directory")).expect("created");
        fs::write(path, text.replace("$DIR", &self.dir.path().display().to_string()))
            .expect("written");
        self
    }

    fn user(self, text: &str) -> Self {
        self.file("home/.config/flyto/config.json", text)
    }

    fn project(self, text: &str) -> Self {
        self.file("home/project/.flyto/config.json", text)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.env.set(name, value.replace("$DIR", &self.dir.path().display().to_string()));
        self
    }

    fn load(&self) -> (Config, String) {
        let current = self.dir.path().join("home/project/src/deep");
        let surroundings = Surroundings::new(self.env.clone(), current);
        let (config, findings) = load_config(&surroundings, &self.flags)
            .unwrap_or_else(|err| (Config::default(), err.findings));
        let shown: Vec<String> = findings.into_vec().iter().map(|it| it.to_string()).collect();
        (config, shown.join("\n"))
    }

    /// A text with `DIR` in place of the directory.
    fn without_dir(&self, text: &str) -> String {
        let dir = self.dir.path();
        let real = dir.canonicalize().expect("it is there");
        [&*real, dir]
            .iter()
            .fold(text.to_owned(), |it, dir| it.replace(&dir.display().to_string(), "DIR"))
    }

    fn project_dir(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join("home/project")
    }

    fn trust_store(&self) -> TrustStore {
        let surroundings = Surroundings::new(self.env.clone(), "/");
        TrustStore::of(&surroundings.places).expect("there is a home")
    }

    /// Trusts the project with the content that it has.
    fn trusted(self) -> Self {
        let dir = self.project_dir();
        let content = fs::read_to_string(dir.join(".flyto/config.json")).expect("it is there");
        self.trust_store().trust(&dir, &content).expect("recorded");
        self
    }

    /// The profiles of tools of plugins, and the codes of what is said.
    #[track_caller]
    fn check_sandbox(&self, expect: &str) {
        let surroundings =
            Surroundings::new(self.env.clone(), self.dir.path().join("home/project/src/deep"));
        let res = load_config(&surroundings, &self.flags);
        let (config, findings) = res.expect("a project stops no calls");
        let profiles = config.sandbox.profiles_of(&Class::PLUGIN_TOOL).iter();
        let names: Vec<_> = profiles.map(|it| &*it.name).filter(|it| *it != "none").collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
        let codes: Vec<_> = findings.iter().map(|it| it.code.as_str()).collect();
        assert_eq!(format!("{names}: {}", codes.join(" ")).trim_end(), expect);
    }

    #[track_caller]
    fn check(&self, expect: Expect) {
        let (config, findings) = self.load();
        let paths = |paths: &[std::path::PathBuf]| {
            paths.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        let mut lines = vec![
            format!("plugins {} in {}", config.plugins.enabled, paths(&config.plugins.plugin_dirs)),
            format!("allowed {:?}", config.plugins.allowed_plugins),
            format!("blocked {:?}", config.plugins.blocked_plugins),
            format!("exec tools {}", paths(&config.exec_tools)),
            format!("output limit {}", config.output_limit_bytes),
        ];
        lines.extend(config.origins.iter().map(|(key, origin)| format!("{key} <- {origin}")));
        lines.push(findings);
        let text = lines.join("\n").replace(&self.dir.path().display().to_string(), "$DIR");
        expect.assert_eq(text.trim_end());
    }
}

#[test]
fn without_any_file_plugins_are_off() {
    World::new().check(expect![[r#"
        plugins false in $DIR/home/.flyto/plugins $DIR/home/.zeptoclaw/plugins
        allowed {}
        blocked {}
        exec tools 
        output limit 65536"#]]);
}

#[test]
fn the_users_file_is_read_and_its_paths_start_from_it() {
    World::new()
        .user(
            r#"{"plugins": {"enabled": true, "plugin_dirs": ["~/mine", "rel", "/abs"]},
                "exec_tools": ["tools.json"], "output_limit_bytes": 100}"#,
        )
        .check(expect![[r#"
            plugins true in $DIR/home/mine $DIR/home/.config/flyto/rel /abs
            allowed {}
            blocked {}
            exec tools $DIR/home/.config/flyto/tools.json
            output limit 100
            exec_tools <- $DIR/home/.config/flyto/config.json
            output_limit_bytes <- $DIR/home/.config/flyto/config.json
            plugins.enabled <- $DIR/home/.config/flyto/config.json
            plugins.plugin_dirs <- $DIR/home/.config/flyto/config.json"#]]);
}

#[test]
fn an_untrusted_project_only_narrows() {
    World::new()
        .user(
            r#"{"plugins": {"enabled": true, "plugin_dirs": ["/mine"], "blocked_plugins": ["x"],
                "allowed_plugins": ["a", "b"]}, "output_limit_bytes": 100}"#,
        )
        .project(
            r#"{"plugins": {"plugin_dirs": ["/theirs"], "blocked_plugins": ["y"],
                "allowed_plugins": ["b", "c"], "grants": {"b": {"env": ["TOKEN"]}}},
                "exec_tools": ["evil.json"], "output_limit_bytes": 50}"#,
        )
        .check(expect![[r#"
            plugins true in /mine
            allowed {"a", "b"}
            blocked {"a", "x", "y"}
            exec tools 
            output limit 50
            output_limit_bytes <- $DIR/home/project/.flyto/config.json
            plugins.allowed_plugins <- $DIR/home/project/.flyto/config.json
            plugins.blocked_plugins <- $DIR/home/project/.flyto/config.json
            plugins.enabled <- $DIR/home/.config/flyto/config.json
            plugins.plugin_dirs <- $DIR/home/.config/flyto/config.json
            $DIR/home/project/.flyto/config.json:1:29: warning[F0301]: "plugins.plugin_dirs" of an untrusted project is left out: it can only narrow
            $DIR/home/project/.flyto/config.json:2:58: warning[F0301]: "plugins.grants" of an untrusted project is left out: it can only narrow
            $DIR/home/project/.flyto/config.json:3:31: warning[F0301]: "exec_tools" of an untrusted project is left out: it can only narrow"#]]);
}

#[test]
fn an_untrusted_project_cannot_empty_the_list_of_allowed_plugins() {
    let world = || {
        World::new()
            .user(r#"{"plugins": {"enabled": true, "allowed_plugins": ["a"]}}"#)
            .project(r#"{"plugins": {"enabled": true, "allowed_plugins": ["b"]}, "output_limit_bytes": 9999999}"#)
    };
    let mut with_flag = world();
    with_flag.flags.plugins.push("/plugins".into());
    for world in [world(), world().variable("FLYTO_PLUGINS", "/plugins"), with_flag] {
        let (config, findings) = world.load();
        // No plugin is on both lists, so none may be used, whichever source named the directories.
        for name in ["a", "b", "c"] {
            assert_ne!(config.plugins.filter().judge(name), Verdict::Pass, "{name}");
        }
        assert_eq!(config.output_limit_bytes, 65536);
        assert!(findings.contains("plugins.enabled") && findings.contains("output_limit_bytes"));
    }
}

#[test]
fn a_file_that_cannot_be_reached_is_an_error_and_not_absent() {
    let world = World::new();
    let file = world.dir.path().join("home/.config/flyto/config.json");
    fs::create_dir_all(file.parent().expect("below the directory")).expect("created");
    std::os::unix::fs::symlink("nowhere", &file).expect("made");
    check_unusable(&world, "config.json: error[F0001]");

    let world = World::new();
    let dir = world.dir.path().join("home/project/.flyto");
    std::os::unix::fs::symlink("nowhere", dir.join("config.json")).expect("made");
    assert!(world.load().1.contains("F0001"));
}

#[test]
fn a_trusted_project_wins_over_the_user() {
    World::new()
        .user(r#"{"plugins": {"plugin_dirs": ["/mine"]}}"#)
        .project(r#"{"plugins": {"enabled": true, "plugin_dirs": ["../plugins"]}}"#)
        .trusted()
        .check(expect![[r#"
            plugins true in $DIR/home/project/.flyto/../plugins
            allowed {}
            blocked {}
            exec tools 
            output limit 65536
            plugins.enabled <- $DIR/home/project/.flyto/config.json
            plugins.plugin_dirs <- $DIR/home/project/.flyto/config.json"#]]);
}

#[test]
fn a_list_of_directories_trusts_none() {
    let trusts = r#"{"trusted_dirs": ["$DIR/home/project", "."], "plugins": {"enabled": true}}"#;
    for world in [World::new().user(trusts).project("{}"), World::new().project(trusts)] {
        let (config, findings) = world.load();
        assert_eq!(config.plugins.enabled, world.dir.path().join("home/.config").exists());
        assert!(
            findings.contains(r#"warning[F0315]: the key "trusted_dirs" has no effect"#),
            "{findings}"
        );
    }
}

#[test]
fn a_trusted_project_that_has_changed_only_narrows() {
    let strict = r#"{"sandbox": "strict", "plugins": {"enabled": true, "blocked_plugins": ["x"]}}"#;
    let users = r#"{"sandbox": "workspace", "plugins": {"enabled": false}}"#;
    let world = || World::new().user(users).project(strict).trusted();
    world().check_sandbox("strict:");
    // A tool rewrites the file, breaks it, takes it away, or puts another one in between.
    world().project(r#"{"sandbox": "none"}"#).check_sandbox("workspace strict: F0316");
    world().project(&format!("{strict} ")).check_sandbox("workspace strict: F0316 F0301");
    world().project("{").check_sandbox("workspace strict: F0316 F0317 F0012");
    world()
        .file("home/project/src/.flyto/config.json", r#"{"sandbox": "none"}"#)
        .check_sandbox("workspace strict:");

    let gone = world();
    fs::remove_dir_all(gone.project_dir().join(".flyto")).expect("it is ours");
    gone.check_sandbox("workspace strict: F0316");
    let (config, findings) = gone.load();
    assert_eq!(config.plugins.filter().judge("x"), Verdict::Blocked);
    assert!(!config.plugins.enabled, "only what narrows goes on to hold");
    assert!(findings.contains("is gone since it was trusted on 20"), "{findings}");

    let removed = world().project(r#"{"sandbox": "none"}"#);
    assert!(removed.trust_store().remove(&removed.project_dir()).expect("removed"));
    removed.check_sandbox("workspace:");
}

#[test]
fn a_trusted_project_behind_a_link_only_narrows() {
    let world = World::new().project(r#"{"plugins": {"enabled": true}}"#).trusted();
    assert!(world.load().0.plugins.enabled);
    let dir = world.project_dir();
    fs::create_dir(dir.join("evil")).expect("created");
    fs::rename(dir.join(".flyto"), dir.join("evil/.flyto")).expect("renamed");
    std::os::unix::fs::symlink("evil/.flyto", dir.join(".flyto")).expect("made");
    assert!(!world.load().0.plugins.enabled);
    world.check_sandbox("none: F0316 F0301");
}

#[test]
fn a_record_that_cannot_be_read_loosens_nothing() {
    let world = World::new().project(r#"{"sandbox": "none"}"#).trusted();
    world.check_sandbox("none:");
    let dir = world.dir.path().join("home/.local/state/flyto/trust");
    let entry = fs::read_dir(dir).expect("there is one").next().expect("one").expect("one");
    fs::write(entry.path(), "{").expect("it is ours");
    world.check_sandbox("workspace: F0318");
}

#[test]
fn what_can_be_read_of_a_broken_project_narrows() {
    let world = |text: &str| World::new().user(r#"{"plugins": {"enabled": true}}"#).project(text);
    world(r#"{"sandbox": "strict", "exec_tools": 5}"#).check_sandbox("strict: F0317 F0023");
    world(r#"{"sandbox": "strikt"}"#).check_sandbox("workspace: F0317 F0312");
    world(r#"{"sandbox": 5}"#).check_sandbox("workspace: F0317 F0023");
    world(r#"{"sandbx": "strict"}"#).check_sandbox("workspace: F0317 F0141");
    world("[]").check_sandbox("workspace: F0317 F0023");
    world("").check_sandbox("workspace: F0317 F0004");
    world(r#"{"sandbox": "strict", "plugins": {"grants": 5}}"#)
        .check_sandbox("strict: F0317 F0023");

    let text = r#"{"plugins": {"grants": 5, "blocked_plugins": ["x", 1], "allowed_plugins": ["y", "x"],
        "strict_env": true}}"#;
    let (config, _) = world(text).load();
    let judge = |name| config.plugins.filter().judge(name);
    assert_eq!(
        [judge("x"), judge("y"), judge("z")],
        [Verdict::Blocked, Verdict::Pass, Verdict::NotAllowed]
    );
    assert!(config.plugins.strict_env && config.plugins.enabled);
    let (config, _) = world(r#"{"plugins": {"grants": 5, "enabled": false}}"#).load();
    assert!(!config.plugins.enabled);

    let dangling = world("{}");
    let file = dangling.project_dir().join(".flyto/config.json");
    fs::remove_file(&file).expect("it is ours");
    std::os::unix::fs::symlink("nowhere", &file).expect("made");
    dangling.check_sandbox("workspace: F0317 F0001");
}

#[test]
fn a_review_shows_what_a_project_would_widen() {
    let review = |user: &str, project: &str| {
        let world = World::new().user(user).project(project);
        let surroundings = Surroundings::new(world.env.clone(), world.dir.path());
        match review_project(&world.project_dir(), &surroundings) {
            Ok(it) => format!("{:?}", it.widens),
            Err(err) => format!("{err:?}").split('(').next().expect("a name").to_owned(),
        }
    };
    assert_eq!(review("{}", r#"{"sandbox": "strict", "output_limit_bytes": 1}"#), "[]");
    let text = r#"{"plugins": {"grants": {"a": {"env": ["B"]}}, "blocked_plugins": ["c"],
        "enabled": true}, "exec_tools": ["d"], "sandbox": "none"}"#;
    expect![[r#"[("exec_tools", "[\"d\"]"), ("plugins.enabled", "true"), ("plugins.grants", "{\"a\": {\"env\": [\"B\"]}}")]"#]].assert_eq(&review("{}", text));
    let user = r#"{"sandbox": "workspace", "plugins": {"blocked_plugins": ["e"]}}"#;
    expect![[r#"[("exec_tools", "[\"d\"]"), ("plugins.blocked_plugins", "[\"c\"]"), ("plugins.enabled", "true"), ("plugins.grants", "{\"a\": {\"env\": [\"B\"]}}"), ("sandbox", "\"none\"")]"#]].assert_eq(&review(user, text));
    assert_eq!(review("{}", "{"), "Broken");

    let world = World::new();
    let surroundings = Surroundings::new(world.env.clone(), world.dir.path());
    let project = world.project_dir();
    let review = || review_project(&project, &surroundings);
    assert!(matches!(review(), Err(ReviewError::Missing(_))));
    fs::write(project.join("real.json"), "{}").expect("written");
    let link = project.join(".flyto/config.json");
    std::os::unix::fs::symlink("../real.json", &link).expect("made");
    assert!(matches!(review(), Err(ReviewError::Link(it)) if it == link));
}

#[test]
fn variables_win_over_files_and_flags_over_variables() {
    let mut world = World::new()
        .user(r#"{"exec_tools": ["/user.json"], "output_limit_bytes": 1, "plugins": {"blocked_plugins": ["x"]}}"#)
        .variable("FLYTO_PLUGINS", "/a:b")
        .variable("FLYTO_EXEC_TOOLS", "/v.json")
        .variable("FLYTO_OUTPUT_LIMIT", "2");
    world.flags.exec_tools.push("/f.json".into());
    world.flags.output_limit_bytes = Some(3);
    world.check(expect![[r#"
        plugins true in /a $DIR/home/project/src/deep/b
        allowed {}
        blocked {"x"}
        exec tools /f.json
        output limit 3
        exec_tools <- --exec-tools
        output_limit_bytes <- --output-limit
        plugins.blocked_plugins <- $DIR/home/.config/flyto/config.json
        plugins.enabled <- $FLYTO_PLUGINS
        plugins.plugin_dirs <- $FLYTO_PLUGINS"#]]);
}

#[test]
fn a_named_file_is_read_in_place_of_user_and_project() {
    let mut world = World::new()
        .user(r#"{"output_limit_bytes": 1}"#)
        .project(r#"{"output_limit_bytes": 2}"#)
        .file("named.json", r#"{"output_limit_bytes": 3}"#)
        .variable("FLYTO_CONFIG", "$DIR/named.json");
    assert_eq!(world.load().0.output_limit_bytes, 3);

    world.flags.config = Some(world.dir.path().join("missing.json"));
    let (_, findings) = world.load();
    assert!(findings.contains("there is no such file"), "{findings}");
}

#[track_caller]
fn check_unusable(world: &World, part: &str) {
    let surroundings = Surroundings::new(world.env.clone(), Path::new("/"));
    let err = load_config(&surroundings, &world.flags).expect_err("it cannot be used");
    let findings = err.findings;
    assert!(findings.iter().any(|it| it.to_string().contains(part)), "{findings:?}");
}

#[test]
fn a_configuration_that_is_half_understood_is_not_to_be_used() {
    check_unusable(&World::new().user("{"), "config.json:1:2: error[F0012]");
    check_unusable(&World::new().user(r#"{"plugins": {"blocked_plugins": "x"}}"#), "F0023");
    check_unusable(&World::new().user(r#"{"exec_tools": ["~nobody-here/x"]}"#), "F0302");
    check_unusable(&World::new().variable("FLYTO_OUTPUT_LIMIT", "many"), "F0303");
}

#[test]
fn a_directory_of_plugins_without_a_meaning_costs_itself() {
    let world = World::new().user(
        r#"{"plugins": {"enabled": true, "plugin_dirs": ["/a", "~/b", "~nobody-here/x", "/c"],
            "blocked_plugins": ["x"]}}"#,
    );
    let surroundings = Surroundings::new(world.env.clone(), Path::new("/"));
    let res = load_config(&surroundings, &world.flags);
    let (config, findings) = res.expect("it is in order");
    let home = world.dir.path().join("home");
    assert_eq!(config.plugins.plugin_dirs, [Path::new("/a"), &home.join("b"), Path::new("/c")]);
    assert_eq!(config.plugins.filter().judge("x"), Verdict::Blocked);
    assert!(!findings.has_errors());
    let [finding] = &findings.into_vec()[..] else { panic!("one finding") };
    assert_eq!(finding.pointer.as_ref().map(|it| it.as_str()), Some("/plugins/plugin_dirs/2"));
    assert_eq!(finding.help.as_deref(), Some("write the path out"));
    assert_eq!(finding.code.as_str(), "F0302");
}

#[test]
fn a_misspelt_section_does_not_let_a_block_go() {
    let (_, findings) = World::new().user(r#"{"plugin": {"blocked_plugins": ["x"]}}"#).load();
    assert!(findings.contains("error[F0141]"), "{findings}");
}

/// What is said of a user's configuration: severity, code, place and help of each finding.
#[track_caller]
fn check_keys(text: &str, expect: Expect) {
    let (_, findings) = World::new().user(text).load();
    let lines = findings.lines().filter_map(|it| it.split_once("config.json:"));
    let lines: Vec<_> = lines.map(|it| it.1).collect();
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn a_key_under_which_a_rule_may_stand_is_an_error() {
    // Beside the sections: what is near to a section, or to a key of one.
    check_keys(
        r#"{"sanbox": "strict"}"#,
        expect![[r#"1:2: error[F0141]: unknown key "sanbox", which looks like "sandbox""#]],
    );
    check_keys(
        r#"{"plugin": {"enabled": true}}"#,
        expect![[r#"1:2: error[F0141]: unknown key "plugin", which looks like "plugins""#]],
    );
    check_keys(
        r#"{"blocked_plugin": ["x"]}"#,
        expect![[
            r#"1:2: error[F0141]: unknown key "blocked_plugin", which looks like "blocked_plugins""#
        ]],
    );
    check_keys(
        r#"{"blocked_plugins": ["x"], "strictEnv": true}"#,
        expect![[r#"
        1:2: error[F0141]: unknown key "blocked_plugins"
        1:28: error[F0141]: unknown key "strictEnv", which looks like "strict_env""#]],
    );
    check_keys(r#"{"permissions": {"deny": ["Bash"]}}"#, expect![""]);
    check_keys(
        r#"{"user_hook": "strict", "network": "off", "memory_bytes": 1, "record_calls": true}"#,
        expect![[r#"
            1:2: error[F0141]: unknown key "user_hook"
            1:25: error[F0141]: unknown key "network"
            1:43: error[F0141]: unknown key "memory_bytes"
            1:62: error[F0141]: unknown key "record_calls""#]],
    );
    // Within them: every key that is not known.
    check_keys(
        r#"{"plugins": {"blocked_plugin": ["x"]}}"#,
        expect![[r#"1:14: error[F0021]: unknown key "blocked_plugin""#]],
    );
    check_keys(
        r#"{"plugins": {"colour": "red"}}"#,
        expect![[r#"1:14: error[F0021]: unknown key "colour""#]],
    );
    check_keys(
        r#"{"plugins": {"grants": {"p": {"envv": ["X"]}}}}"#,
        expect![[r#"1:31: error[F0021]: unknown key "envv""#]],
    );
    check_keys(
        r#"{"sandbox": {"plugin_tools": "strict"}}"#,
        expect![[r#"1:14: error[F0021]: unknown key "plugin_tools""#]],
    );
}

#[test]
fn other_unknown_keys_are_warnings() {
    check_keys(
        r#"{"colour": "red", "output_limit": 5}"#,
        expect![[r#"
            1:2: warning[F0021]: unknown key "colour"
            1:19: warning[F0021]: unknown key "output_limit""#]],
    );
}

#[test]
fn a_configuration_needs_no_section() {
    for text in ["{}", r#"{"$schema": "x"}"#, r#"{"sandbox": "strict"}"#, r#"{"plugins": null}"#] {
        let world = World::new().user(text);
        let (config, findings) = world.load();
        assert_eq!(findings, "", "{text}");
        assert!(!config.plugins.enabled);
        let surroundings = Surroundings::new(world.env.clone(), Path::new("/"));
        let file = world.dir.path().join("home/.config/flyto/config.json");
        let checked = validate_path(&file, &surroundings).expect("it is there");
        assert_eq!(
            (checked.checked[0].1, checked.findings.is_empty()),
            ("configuration", true),
            "{text}"
        );
    }
}

/// What is made of an entry takes many times its bytes.
#[test]
fn lists_have_so_many_entries_at_most() {
    let n = flyto_diagnostics::MAX_ENTRIES + 1;
    let rules: Vec<_> = (0..n).map(|it| format!("\"Bash(a{it})\"")).collect();
    let grants: Vec<_> = (0..n).map(|it| format!("\"a{it}\": {{}}")).collect();
    for text in [
        format!("{{\"permissions\": {{\"allow\": [{}]}}}}", rules.join(",")),
        format!("{{\"plugins\": {{\"blocked_plugins\": [{}]}}}}", rules.join(",")),
        format!("{{\"plugins\": {{\"grants\": {{{}}}}}}}", grants.join(",")),
    ] {
        let world = World::new().user(&text);
        let surroundings = Surroundings::new(world.env.clone(), world.dir.path());
        let err = load_config(&surroundings, &world.flags).expect_err("too many");
        let shown: Vec<_> = err.findings.iter().map(ToString::to_string).collect();
        let [first, ..] = &shown[..] else { panic!("{shown:?}") };
        assert!(first.contains("error[F0014]: there are 10001 entries"), "{first}");
    }
}

/// A file of exec tools is checked with the variables and the bound of the surroundings.
#[test]
fn a_command_that_no_start_takes_is_told() {
    let world = World::new();
    let file = world.dir.path().join("tools.json");
    let word = "x".repeat(1000);
    let text = format!(r#"{{"name": "t", "description": "d", "exec": ["true", "{word}"]}}"#);
    fs::write(&file, text).expect("written");
    let check = |max_words_bytes| {
        let mut surroundings = Surroundings::new(world.env.clone(), world.dir.path());
        surroundings.max_words_bytes = max_words_bytes;
        let checked = validate_path(&file, &surroundings).expect("it is there");
        checked.findings.iter().map(|it| format!("{} {}", it.code, it.location)).collect::<Vec<_>>()
    };
    assert!(check(None).is_empty());
    let found = check(Some(1000));
    assert_eq!(found, [format!("F0024 {}:1:43", file.display())]);
}
