//! Which configuration holds, and where each value comes from.

use expect_test::expect;

use crate::place::Place;

#[test]
fn each_value_is_shown_with_file_and_line() {
    let place = Place::new();
    place.write(
        "c.json",
        "{\n  \"plugins\": {\n    \"blocked_plugins\": [\"a\",\n      \"b\"]\n  },\n  \"sandbox\": {\"user_hook\": \"strict\"}\n}",
    );
    let words = ["config", "show", "--origin", "--config", "c.json"];
    let shown = place.flyto(&words).env("FLYTO_OUTPUT_LIMIT", "100").run().shown();
    let shown = shown.replace(place.path().to_str().unwrap(), "DIR");
    expect![[r#"
        exit code 0
        -- stdout
        KEY                         VALUE                   ORIGIN
        plugins.enabled             false                   default
        plugins.plugin_dirs[0]      "~/.flyto/plugins"      default
        plugins.plugin_dirs[1]      "~/.zeptoclaw/plugins"  default
        plugins.allowed_plugins     []                      default
        plugins.blocked_plugins[0]  "a"                     DIR/c.json:3
        plugins.blocked_plugins[1]  "b"                     DIR/c.json:4
        plugins.strict_env          false                   default
        plugins.grants              {}                      default
        plugins.ready.processes     8                       default
        plugins.ready.idle_seconds  300                     default
        plugins.ready.memory_bytes  536870912               default
        exec_tools                  []                      default
        mcpServers                  {}                      default
        output_limit_bytes          100                     $FLYTO_OUTPUT_LIMIT
        sandbox.user_hook           "strict"                DIR/c.json:6
        permissions.allow           []                      default
        permissions.ask             []                      default
        permissions.deny            []                      default
        audit.enabled               true                    default
        audit.fsync                 "never"                 default
        audit.on_failure            "refuse"                default
        audit.inputs                "digest"                default
        audit.keep_days             null                    default
        evolve.enabled              true                    default
        evolve.dir                  "~/.flyto/evolution"    default
        evolve.record_calls         false                   default
        evolve.hints                false                   default
        evolve.ask_client           true                    default
        output_guard                null                    default
        secret_rules                null                    default
    "#]]
    .assert_eq(&shown);

    let plain = place.flyto(&["config", "show", "--config", "c.json"]).run();
    assert!(!plain.stdout().contains("c.json"), "{}", plain.shown());

    let json =
        place.flyto(&["config", "show", "--origin", "--config", "c.json", "--format", "json"]);
    let document = json.run().json();
    let values = document["values"].as_array().unwrap();
    let hook = values.iter().find(|it| it["key"] == "sandbox.user_hook").unwrap();
    assert_eq!((&hook["value"], &hook["line"]), (&"strict".into(), &6.into()), "{hook}");
}

#[test]
fn nothing_runs_under_rules_that_were_not_read() {
    let place = Place::new();
    let place = &place;
    for text in [
        r#"{"blocked_plugin": ["p"]}"#,
        r#"{"plugins": {"blocked": ["p"]}}"#,
        r#"{"sanbox": "strict"}"#,
        r#"{"plugins": {"grants": {"p": {"envv": ["X"]}}}}"#,
    ] {
        place.write("c.json", text);
        for words in [&["list"][..], &["call", "p:t"], &["config", "show"]] {
            let ran = place.flyto(&[words, &["--config", "c.json"]].concat()).run();
            assert_eq!(ran.code, Some(3), "{text}: {}", ran.shown());
        }
    }
}

#[test]
fn a_configuration_that_a_variable_names_and_that_is_not_there_is_told() {
    let place = Place::new();
    place.flyto(&["list"]).env("FLYTO_CONFIG", "nowhere.json").check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no file or directory nowhere.json
          help: it is named by the variable FLYTO_CONFIG
    "#]]);
    // A flag goes first.
    place.write("config.json", "{}");
    let ran = place.flyto(&["list", "--config", "config.json"]).env("FLYTO_CONFIG", "nowhere.json");
    assert_eq!(ran.run().code, Some(0));
}
