//! `flyto list` and `flyto show`.

use expect_test::expect;
use serde_json::json;

use crate::place::Place;

pub(crate) fn place() -> Place {
    let place = Place::with_tools(&[
        (
            "count",
            "wc -w",
            r#""title": "Count words", "read_only": true, "concurrency_safe": true,
            "permission_class": "readonly", "search_hint": "word length", "aliases": ["wc"]"#,
        ),
        ("wipe", "true", r#""destructive": true, "env": {"MODE": "${MODE:-fast}"}"#),
    ]);
    place.write(
        "tools.json",
        r#"[{"name": "kernel", "description": "The kernel's name.", "exec": ["uname"]}]"#,
    );
    place
}

const SOURCES: [&str; 4] = ["--plugins", "plugins", "--exec-tools", "tools.json"];

pub(crate) fn words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&SOURCES[..], words].concat()
}

#[test]
fn list_shows_the_tools() {
    let place = place();
    place.flyto(&words(&["list"])).check(expect![[r#"
        exit code 0
        -- stdout
        NAME     CLASS     TRAITS                 DESCRIPTION
        kernel   generic   -                      The kernel's name.
        p:count  readonly  read-only, concurrent  The tool count.
        p:wipe   bash      destructive            The tool wipe.
    "#]]);
    place.flyto(&words(&["list", "--wire"])).check(expect![[r#"
        exit code 0
        -- stdout
        NAME     WIRE NAME  CLASS     TRAITS                 DESCRIPTION
        kernel   kernel     generic   -                      The kernel's name.
        p:count  p__count   readonly  read-only, concurrent  The tool count.
        p:wipe   p__wipe    bash      destructive            The tool wipe.
    "#]]);
    place.flyto(&words(&["list", "words"])).check(expect![[r#"
        exit code 0
        -- stdout
        NAME     CLASS     TRAITS                 DESCRIPTION
        p:count  readonly  read-only, concurrent  The tool count.
    "#]]);
    place.flyto(&words(&["list", "zebra"])).check(expect![[r#"
        exit code 0
        -- stderr
        none of 3 tools fits
    "#]]);
    Place::new().flyto(&["list"]).check(expect![[r#"
        exit code 0
        -- stderr
        there are no tools; `--plugins DIR` and `--exec-tools FILE` add some
        plugins are switched off; `--plugins DIR` or `"enabled": true` in the configuration switches them on
    "#]]);
}

#[test]
fn list_tells_of_problems() {
    let place = place();
    place.write(
        "plugins/broken/plugin.json",
        "{\n  \"name\": \"broken\",\n  \"tools\": [{\"name\": \"t\"}]\n}\n",
    );
    place.flyto(&words(&["list"])).check(expect![[r#"
        exit code 0
        -- stdout
        NAME     CLASS     TRAITS                 DESCRIPTION
        kernel   generic   -                      The kernel's name.
        p:count  readonly  read-only, concurrent  The tool count.
        p:wipe   bash      destructive            The tool wipe.
        -- stderr
        1 error, 1 warning; --problems shows them
    "#]]);
    place.flyto(&words(&["list", "-q"])).check(expect![[r#"
        exit code 0
        -- stdout
        NAME     CLASS     TRAITS                 DESCRIPTION
        kernel   generic   -                      The kernel's name.
        p:count  readonly  read-only, concurrent  The tool count.
        p:wipe   bash      destructive            The tool wipe.
    "#]]);
    place.flyto(&words(&["list", "--problems"])).check(expect![[r#"
        exit code 0
        -- stdout
        warning[F0121]: the tool "t" has no description
         --> DIR/plugins/broken/plugin.json:3:13
          |
        3 |   "tools": [{"name": "t"}]
          |             ^^^^^^^^^^^^^
          |
          = at: /tools/0
          = note: a model chooses a tool by its description
          = help: say in a sentence or two what the tool does and when to use it

        error[F0022]: the key "command" is missing
         --> DIR/plugins/broken/plugin.json:3:13
          |
        3 |   "tools": [{"name": "t"}]
          |             ^
          |
          = at: /tools/0
          = help: add `"command": "…"`

        PLUGIN  STATE               DIRECTORY
        broken  loaded with errors  DIR/plugins/broken
        -- stderr
        1 error, 1 warning
    "#]]);
    place.write("config.json", r#"{"plugins": {"blocked_plugins": ["p", "broken"]}}"#);
    place.flyto(&words(&["list", "--config", "config.json"])).check(expect![[r#"
        exit code 0
        -- stdout
        NAME    CLASS    TRAITS  DESCRIPTION
        kernel  generic  -       The kernel's name.
        -- stderr
        the plugin broken is blocked
        the plugin p is blocked
    "#]]);
    let problems = ["list", "--problems", "--config", "config.json"];
    place.flyto(&words(&problems)).check(expect![[r#"
        exit code 0
        -- stdout
        PLUGIN  STATE    DIRECTORY
        broken  blocked  DIR/plugins/broken
        p       blocked  DIR/plugins/p
    "#]]);
    place.write("config.json", r#"{"plugins": {"plugin_dirs": ["plugins"]}}"#);
    place.flyto(&["--config", "config.json", "list", "--problems"]).check(expect![[r#"
        exit code 0
        -- stdout
        PLUGIN  STATE     DIRECTORY
        broken  disabled  DIR/plugins/broken
        p       disabled  DIR/plugins/p
        -- stderr
        there are no tools; `--plugins DIR` and `--exec-tools FILE` add some
        plugins are switched off; `--plugins DIR` or `"enabled": true` in the configuration switches them on
    "#]]);
    Place::with_tools(&[("t", "true", "")])
        .flyto(&["--plugins", "plugins", "list", "--problems"])
        .check(expect![[r#"
            exit code 0
            -- stderr
            no findings
        "#]]);
}

#[test]
fn show_tells_everything_about_a_tool() {
    let place = place();
    place.flyto(&words(&["show", "p:count"])).check(expect![[r#"
        exit code 0
        -- stdout
        p:count  Count words

        The tool count.

        from         plugin p in DIR/plugins/p
        wire name    p__count
        aliases      p:wc
        form         argv; one process for each call
        runs         sh count.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
        deadline     30 s
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        granted      nothing
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/home/.config/flyto/config.json
        class        readonly
        read-only    yes
        destructive  undeclared, counts as yes
        concurrent   yes
        idempotent   undeclared, counts as no
        open world   undeclared, counts as yes
        search hint  word length

        input schema
        {
          "type": "object",
          "properties": {},
          "additionalProperties": true
        }
    "#]]);
    place.flyto(&words(&["show", "p__wipe"])).check(expect![[r#"
        exit code 0
        -- stdout
        p:wipe

        The tool wipe.

        from         plugin p in DIR/plugins/p
        wire name    p__wipe
        form         argv; one process for each call
        runs         sh wipe.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                     MODE (declared, reads MODE)
        deadline     30 s
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        granted      nothing
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/home/.config/flyto/config.json
        class        bash
        read-only    undeclared, counts as no
        destructive  yes
        concurrent   undeclared, counts as no
        idempotent   undeclared, counts as no
        open world   undeclared, counts as yes

        input schema
        {
          "type": "object",
          "properties": {},
          "additionalProperties": true
        }
    "#]]);
    place.flyto(&words(&["show", "kernel"])).check(expect![[r#"
        exit code 0
        -- stdout
        kernel

        The kernel's name.

        from         exec-tool file DIR/tools.json
        wire name    kernel
        runs         uname
        in           DIR
        environment  HOME PATH
        deadline     30 s
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        class        generic
        read-only    undeclared, counts as no
        destructive  undeclared, counts as yes
        concurrent   undeclared, counts as no
        idempotent   undeclared, counts as no
        open world   undeclared, counts as yes
        audited as   execute

        input schema
        {
          "type": "object",
          "properties": {}
        }
    "#]]);
    place.flyto(&words(&["show", "kernl"])).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no tool "kernl"
          help: did you mean kernel?
    "#]]);
}

#[test]
fn show_exports_a_tool() {
    let place = place();
    for shape in ["mcp", "openai", "openai-chat", "anthropic", "gemini"] {
        let ran = place.flyto(&words(&["show", "p:count", "--as", shape])).run();
        assert_eq!(ran.code, Some(0), "{shape}");
        assert!(ran.json().to_string().contains("\"p__count\""), "{shape}");
    }
}

#[test]
fn a_finding_is_in_a_document_once() {
    let place = Place::new();
    place.write("plugins/b/plugin.json", r#"{"name": "b", "tools": {}}"#);
    let list = place.flyto(&["--plugins", "plugins", "list", "--format", "json"]).run().json();
    assert_eq!(list["findings"].as_array().map(Vec::len), Some(1), "{list}");
    assert!(list["report"].is_object() && list["report"]["findings"].is_null(), "{list}");
}

#[test]
fn the_current_directory_is_shown_without_a_dot() {
    let place = Place::new();
    let list = place.flyto(&["--plugins", ".", "list", "--format", "json"]).run().json();
    let dir = list["report"]["plugin_dirs"][0]["path"].as_str().unwrap_or_default();
    assert_eq!(std::path::Path::new(dir), place.path().canonicalize().unwrap(), "{list}");
    assert!(!dir.ends_with('.'), "{dir}");
}

#[test]
fn findings_that_are_only_counted_are_told() {
    let place = Place::new();
    let keys: Vec<String> =
        (0..1001).map(|n| format!(r#"{{"name": "t{n}", "nonsense": 1}}"#)).collect();
    let text = format!(r#"{{"name": "p", "tools": [{}]}}"#, keys.join(","));
    place.write("plugins/p/plugin.json", &text);
    for words in [&["validate", "plugins/p"][..], &["--plugins", "plugins", "list", "--problems"]] {
        let ran = place.flyto(words).run();
        assert!(ran.stdout().contains("note[F0027]: there are more findings: "), "{words:?}");
    }
}

#[test]
fn a_rule_that_denies_no_tool_is_told() {
    let place = Place::with_tools(&[("t", "true", "")]);
    let rules = r#"{"allow": ["x:y"], "ask": ["p:*", "q:*"], "deny": ["p:t", "p__tt", "class:bsh", "mcp__s__*", "Bash(rm:*)"]}"#;
    place.write("home/.config/flyto/config.json", &format!("{{\"permissions\": {rules}}}"));
    for words in
        [&["--plugins", "plugins", "list"][..], &["--plugins", "plugins", "list", "--problems"]]
    {
        let told = place.flyto(words).run().stderr();
        let told: Vec<_> = told.lines().filter(|it| it.contains("of this rule: ")).collect();
        let rules: Vec<_> = told.iter().filter_map(|it| it.split("rule: ").nth(1)).collect();
        let rules: Vec<_> = rules.iter().filter_map(|it| it.split(" (").next()).collect();
        assert_eq!(rules, ["q:*", "p__tt", "class:bsh"], "{told:?}");
    }
}

#[test]
fn a_rule_that_names_no_tool_is_told() {
    let place = Place::with_tools(&[("t", "true", "")]);
    let rules = json!({"deny": ["p:dorp", "class:bsh", "p:t", "Bash(rm:*)", "create_tool"]});
    place.write("home/.config/flyto/config.json", &json!({"permissions": rules}).to_string());
    let ran = place.flyto(&["--plugins", "plugins", "list"]).run();
    let told = "no tool of this list has the name or class of this rule: ";
    let stderr = ran.stderr();
    let told: Vec<_> = stderr.lines().filter_map(|it| it.split_once(told)).collect();
    let told: Vec<_> = told.iter().map(|it| it.1.split(' ').next().unwrap()).collect();
    // The last one is for a tool that comes with a store of evolved tools.
    assert_eq!(told, ["p:dorp", "class:bsh"], "{}", ran.shown());
}

#[test]
fn a_directory_of_plugins_that_is_not_there_is_told() {
    let place = Place::new();
    place.flyto(&["list"]).env("FLYTO_PLUGINS", "gone").check(expect![[r#"
        exit code 0
        -- stderr
        there are no tools; `--plugins DIR` and `--exec-tools FILE` add some
        $FLYTO_PLUGINS: there is no directory "DIR/gone"
        1 warning; --problems shows them
    "#]]);
    let config = r#"{"plugins": {"enabled": true, "plugin_dirs": ["gone", "plugins"]}}"#;
    let config = place.write("c.json", config);
    place.plugin("p", &[("t", "true", "")]);
    place.flyto(&["--config", config.to_str().unwrap(), "list", "--problems"]).check(expect![[
        r#"
        exit code 0
        -- stdout
        warning[F0323]: there is no directory "DIR/gone"
         --> DIR/c.json:1:47
          |
        1 | {"plugins": {"enabled": true, "plugin_dirs": ["gone", "plugins"]}}
          |                                               ^^^^^^
          |
          = help: make it, or name the directory that holds the plugins

        -- stderr
        1 warning
    "#
    ]]);
    place.write("gone/README", "");
    let ran = place.flyto(&["--config", "c.json", "list"]).run();
    assert_eq!(ran.stderr(), "");
}

#[test]
fn a_source_of_another_kind_is_an_error_of_the_command_line() {
    let place = Place::with_tools(&[("t", "echo ran", "")]);
    place.flyto(&["--plugins", "plugins/p/plugin.json", "list"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: plugins/p/plugin.json is no directory
          help: `--plugins` takes the directory of a plugin, or one that holds plugins
    "#]]);
    place.flyto(&["--exec-tools", "plugins", "list"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: plugins is a directory
          help: `--exec-tools` takes a file of definitions; `--plugins DIR` uses plugins
    "#]]);
}
