//! A file with a user's own rules for secrets.

use expect_test::{Expect, expect};

use crate::{World, check_unusable};

const RULES: &str = "[[rules]]\nid = \"acme\"\nregex = '''acme_[0-9a-f]{16}'''\n";

#[test]
fn a_file_of_rules_is_read_from_beside_the_configuration() {
    let world = World::new()
        .user(r#"{"secret_rules": "rules.toml"}"#)
        .file("home/.config/flyto/rules.toml", RULES);
    let (config, findings) = world.load();
    assert_eq!(findings, "");
    let rules = config.secret_rules.expect("it is named");
    assert!(rules.path().ends_with("home/.config/flyto/rules.toml"), "{rules:?}");
    assert_eq!(config.origins["secret_rules"].to_string(), {
        let file = world.dir.path().join("home/.config/flyto/config.json");
        file.display().to_string()
    });
}

#[test]
fn rules_that_cannot_be_read_are_not_passed_over() {
    let world = |text: &str| {
        World::new().user(r#"{"secret_rules": "~/rules.toml"}"#).file("home/rules.toml", text)
    };
    #[track_caller]
    fn check(world: &World, expect: Expect) {
        expect.assert_eq(&world.without_dir(&world.load().1));
    }
    check(
        &world("[[rules]\n"),
        expect![
            "DIR/home/rules.toml:1:9: error[F0321]: failed to read the rules: unclosed array table, expected `]`"
        ],
    );
    check(
        &world(&RULES.replace("acme_[", "acme_([")),
        expect![[
            r#"DIR/home/rules.toml:2:7: error[F0321]: failed to read the rule "acme": its key "regex" is no pattern that Rust's regex crate takes: regex parse error: error: unclosed group"#
        ]],
    );
    check_unusable(&World::new().user(r#"{"secret_rules": "none.toml"}"#), "no such file");
    check_unusable(&World::new().user(r#"{"secret_rules": 1}"#), "F0023");
    check_unusable(&World::new().user(r#"{"secret_rule": "rules.toml"}"#), "secret_rules");
}

#[test]
fn a_project_that_is_not_trusted_names_no_rules() {
    let world = World::new()
        .user("{}")
        .project(r#"{"secret_rules": "rules.toml"}"#)
        .file("home/project/.flyto/rules.toml", "no rules");
    let (config, findings) = world.load();
    assert_eq!(config.secret_rules, None);
    assert!(findings.contains("F0301") && !findings.contains("error"), "{findings}");
}
