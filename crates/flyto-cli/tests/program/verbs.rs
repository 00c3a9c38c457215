//! The verbs about files and words, and what holds for every verb.

use expect_test::expect;

use crate::place::Place;
use crate::tools::{place, words};

#[test]
fn a_profile_that_a_tool_asks_for_is_checked() {
    let place = Place::new();
    let config = |text: &str| place.write("home/.config/flyto/config.json", text);
    let tool = r#"{"name": "t", "description": "d", "command": "true", "sandbox": "lab"}"#;
    place.write("asks/plugin.json", &format!("{{\"name\": \"asks\", \"tools\": [\n{tool}]}}"));
    place.flyto(&["validate", "asks"]).check(expect![[r#"
        exit code 0
        -- stdout
        warning[F0312]: the tool "t" asks for the sandbox profile "lab", which is not there
         --> asks/plugin.json:2:65
          |
        2 | {"name": "t", "description": "d", "command": "true", "sandbox": "lab"}]}
          |                                                                 ^^^^^
          |
          = note: each call of it is refused
          = help: there are workspace, strict

        -- stderr
        ok: 1 warning in 1 plugin
    "#]]);
    assert_eq!(place.flyto(&["validate", "asks", "--strict"]).run().code, Some(3));
    config(r#"{"sandbox": {"profiles": {"lab": {}}}}"#);
    assert_eq!(place.flyto(&["validate", "asks", "--strict"]).run().code, Some(0));
    config(r#"{"sandbox": {"profiles": {"lab": []}}}"#);
    place.flyto(&["validate", "asks"]).check(expect![[r#"
        exit code 0
        -- stderr
        your configuration cannot be used, so the sandbox profiles that tools ask for are not checked; `flyto config show` says why
        ok: no findings in 1 plugin
    "#]]);
    assert_eq!(place.flyto(&["validate", "asks", "--config", "none"]).run().code, Some(4));
}

/// Whether variables or arguments are too long for a start: `validate` tells it, and a call cannot be tried.
#[test]
fn what_no_start_takes_is_told_before_and_at_a_call() {
    let check = |tool: &str, message: &str, cause: &str| {
        let place = Place::new();
        let manifest = format!(
            r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "true", {tool}}}]}}"#
        );
        place.write("plugins/p/plugin.json", &manifest);
        let told = place.flyto(&["validate", "plugins", "--format", "json"]).run();
        assert_eq!(told.code, Some(0));
        let finding = &told.json()["findings"][0];
        assert_eq!([&finding["code"], &finding["severity"]], ["F0024", "warning"], "{finding}");
        let found = finding["message"].as_str().unwrap();
        assert!(found.contains(message), "{found}");
        let called = place.flyto(&["--plugins", "plugins", "call", "p:t"]).run();
        assert_eq!(called.code, Some(7), "{}", called.shown());
        assert!(called.stderr().contains(cause), "{}", called.shown());
        let dry = place.flyto(&["--plugins", "plugins", "call", "p:t", "--dry-run"]).run();
        assert_eq!(dry.code, Some(7));
    };
    // Each is short enough, and all of them are more than any system takes, by what stands around each.
    let value = "v".repeat(104_850);
    let many: Vec<_> = (0..60).map(|it| format!(r#""BIG_{it}": "{value}""#)).collect();
    let env = format!(r#""env": {{{}}}"#, many.join(", "));
    check(&env, ", the variables have ", "; shorten the variables, ");
    let args = format!(r#""args": [{}]"#, vec![format!("\"{value}\""); 60].join(", "));
    check(&args, "; shorten the arguments, ", "; shorten the arguments, ");
    // One is too long with its name, and each word of its value is not.
    let long = format!(r#""env": {{"A": "$HOME{}"}}"#, "/".repeat(131_069));
    check(
        &long,
        "the variable A would have more than 131071 bytes",
        "A would have more than 131071 bytes",
    );
}

#[test]
fn validate_points_at_mistakes() {
    let place = place();
    place.write(
        "bad.json",
        "{\n  \"name\": \"bad\",\n  \"tools\": [\n    {\n      \"name\": \"t\",\n      \"description\": \"x\",\n      \"comand\": \"true\"\n    }\n  ]\n}\n",
    );
    place.write(
        "odd/plugin.json",
        "{\n  \"name\": \"odd\",\n  \"tools\": [{\"name\": \"t\", \"description\": \"x\", \"command\": \"sh\", \"read_olny\": true}]\n}\n",
    );
    place.flyto(&["validate", "plugins", "tools.json"]).check(expect![[r#"
        exit code 0
        -- stderr
        ok: no findings in 1 plugin, 1 exec-tool file
    "#]]);
    place.flyto(&["validate", "bad.json"]).check(expect![[r#"
        exit code 3
        -- stdout
        error[F0022]: the key "command" is missing
         --> bad.json:4:5
          |
        4 |     {
          |     ^
        ...
        7 |       "comand": "true"
          |       -------- this key is unknown
          |
          = at: /tools/0
        help: "comand" looks like it; write "command"
          |
        7 |       "command": "true"
          |           +

        -- stderr
        failed: 1 error in 1 plugin
    "#]]);
    place.flyto(&["validate", "odd"]).check(expect![[r#"
        exit code 0
        -- stdout
        warning[F0021]: unknown key "read_olny"
         --> odd/plugin.json:3:64
          |
        3 |   "tools": [{"name": "t", "description": "x", "command": "sh", "read_olny": true}]
          |                                                                ^^^^^^^^^^^
          |
          = at: /tools/0/read_olny
        help: did you mean "read_only"?
          |
        3 -   "tools": [{"name": "t", "description": "x", "command": "sh", "read_olny": true}]
        3 +   "tools": [{"name": "t", "description": "x", "command": "sh", "read_only": true}]
          |

        -- stderr
        ok: 1 warning in 1 plugin
    "#]]);
    place.flyto(&["validate", "odd", "--strict", "-q"]).check(expect![[r#"
        exit code 3
        -- stdout
        error[F0021]: unknown key "read_olny"
         --> odd/plugin.json:3:64
          |
        3 |   "tools": [{"name": "t", "description": "x", "command": "sh", "read_olny": true}]
          |                                                                ^^^^^^^^^^^
          |
          = at: /tools/0/read_olny
        help: did you mean "read_only"?
          |
        3 -   "tools": [{"name": "t", "description": "x", "command": "sh", "read_olny": true}]
        3 +   "tools": [{"name": "t", "description": "x", "command": "sh", "read_only": true}]
          |

    "#]]);
    place.flyto(&["validate", "nowhere"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no file or directory nowhere
    "#]]);
    let json = place.flyto(&["validate", "bad.json", "odd", "--format", "json"]).run();
    assert_eq!((json.code, &json.json()["ok"]), (Some(3), &false.into()));
    assert_eq!(json.json()["findings"].as_array().unwrap().len(), 2);
}

#[test]
fn schemas_are_json_schemas() {
    let place = Place::new();
    for kind in ["plugin", "exec-tool", "config"] {
        let ran = place.flyto(&["schema", kind]).run();
        assert_eq!(ran.code, Some(0), "{kind}");
        assert!(ran.json()["$schema"].is_string(), "{kind}");
    }
}

#[test]
fn explain_tells_more() {
    let place = Place::new();
    place.flyto(&["explain", "f0007"]).check(expect![[r#"
        exit code 0
        -- stdout
        F0007: a comma behind the last item

        Commas stand between items and between members, not behind the last one.

        Wrong:

            ["-l", "-a",]

        Right:

            ["-l", "-a"]
    "#]]);
    place.flyto(&["explain", "F00007"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no code "F00007"
          help: did you mean F0007?
    "#]]);
    place.flyto(&["explain", "nonsense"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no code "nonsense"
          help: a code is the letter F and four digits, such as F0101
    "#]]);
}

#[test]
fn completions_name_the_verbs() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.flyto(&["completions", shell]).run();
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(
            ran.stdout().contains("validate") && ran.stdout().contains("exec-tools"),
            "{shell}"
        );
    }
}

#[test]
fn help_fits_a_page() {
    let place = Place::new();
    let help = |words: &[&str]| {
        // The lines between two paragraphs have blanks in them.
        let lines: Vec<_> =
            place.flyto(words).run().stdout().lines().map(|it| it.trim_end().to_owned()).collect();
        lines.join("\n")
    };
    expect![[r#"
        Runs programs as typed tools: with a schema, a deadline and clean-up

        Usage: flyto [OPTIONS] <COMMAND>

        Commands:
          list         Lists tools, and says what did not load
          show         Shows a tool: schema, metadata, what it runs and what it gets
          call         Calls a tool and prints its output
          serve        Offers the tools to clients of the Model Context Protocol
          servers      Shows the servers whose tools are used here, and approves what they changed
          export       Prints the tools in the shape that an API takes, as JSON
          install      Adds `flyto serve` to the configuration of an MCP client, such as Claude Code
          import       Adds the servers of another MCP client to the configuration
          validate     Checks manifests, exec-tool files and configurations, and points at each mistake
          schema       Prints the JSON Schema of a kind of file, for editors
          config       Shows the configuration that holds, and where each value comes from
          permission   Tells what the rules of permission say of a call
          audit        Shows the log of calls, and checks that it is as it was written
          evolve       Tools that agents write: proposes, shows, approves, takes back
          trust        Records that you trust the content of a project's configuration
          new          Writes something new to start from
          doctor       Checks which process controls and sandboxes work here, and suggests fixes
          explain      Explains the code of a finding
          completions  Prints a completion script for a shell
          jobs         Lists calls in the background, shows them, cancels them
          undo         Undoes calls, the latest or those that are named

        Options:
          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version

        Sources:
              --plugins <DIR>
                  Takes plugins from DIR; repeatable

                  DIR is a plugin itself, or holds one directory for each plugin. Plugins count as enabled
                  then, and those of the configuration are left out.

              --exec-tools <FILE>
                  Takes exec tools from FILE; repeatable

                  Those of the configuration are left out then. Also known as `--tools-schema`.

              --evolve <DIR>
                  Takes the tools that agents wrote from the store in DIR, and keeps new ones there

                  The store of the configuration is left out then. DIR need not exist yet.

              --config <FILE>
                  Reads the configuration from FILE

                  The user's own (`$XDG_CONFIG_HOME/flyto/config.json`) and the project's
                  (`.flyto/config.json`) are not read then.

        Output:
              --format <FORMAT>
                  Answers for people, or as one JSON document [default: human]

                  [possible values: human, json]

              --color <WHEN>
                  Colours: `auto` is on a terminal, unless `NO_COLOR` is set [default: auto]

                  [possible values: auto, always, never]

          -q, --quiet
                  Says nothing but the answer and errors

          -v, --verbose...
                  Says more: what ran, how long, under which limits; `-vv` times each stage of a call

        Examples:
          flyto --plugins plugins list
          flyto --plugins plugins call text-stats:count text='a stitch in time' top:=3
          flyto validate plugins/text-stats
          flyto --config flyto.json show text-stats:count --as mcp

        Options may stand before or behind the verb. A source flag takes the place of the configured
        sources of its kind; blocks and grants of the configuration hold all the same.

        Exit codes:
            0  ok
            1  the tool failed; also an exec tool whose program is missing, and a tool whose variable is not
            set
            2  the command line is wrong
            3  the input breaks the tool's schema, or `validate` found errors
            4  no such tool, file or code
            5  not allowed: a stage refused, the plugin is blocked, or `workspace` would open too much
            6  the call timed out
            7  the call could not be tried: the program of a plugin missing, backend unreachable
            8  `audit verify` found that the log was changed
           69  `doctor` found that this machine lacks something that every tool needs by default
           70  a fault of this program
           74  the answer or a file could not be written, as on a full disk; a closed stdout is no error
           75  the job still runs, so it has no result yet
          130  interrupted by Ctrl-C (131 by Ctrl-\, 143 by SIGTERM, 129 by SIGHUP)

        With `--format json`, the answer is one JSON document on stdout, and an error is one JSON document
        on stderr: {"error": {"kind", "message", "exit_code", "help", "findings"}}."#]].assert_eq(&help(&["--help"]));
    expect![[r#"
        Calls a tool and prints its output

        Usage: flyto call [OPTIONS] <NAME> [KEY=VALUE]...

        Arguments:
          <NAME>
                  Id, alias or wire name

          [KEY=VALUE]...
                  Input: `key=text`, or `key:=JSON` for numbers, booleans, arrays and objects

                  Keys are taken literally; a dot in a key does not nest. A pair that begins with `-` stands
                  behind `--`.

        Options:
              --json <JSON>
                  The whole input as JSON, passed on byte for byte; `-` reads it from stdin

              --dry-run
                  Shows what would run, and runs nothing

              --sandbox <PROFILE>
                  Runs the program under this sandbox profile, whatever the configuration says

                  `none`, `workspace`, `strict`, or a profile of the configuration's own.

              --timeout <SECONDS>
                  Gives the call SECONDS at most; the tool's own limit holds if it is shorter

              --output-limit <BYTES>
                  Cuts the middle out of an output that is longer than BYTES, as for a model

                  Without it, and where neither FLYTO_OUTPUT_LIMIT nor the configuration limits it,
                  everything is printed.

              --background
                  Prints the id of a job at once, and makes the call in the background; see `flyto jobs`

          -h, --help
                  Print help (see a summary with '-h')

        Sources:
              --plugins <DIR>
                  Takes plugins from DIR; repeatable

                  DIR is a plugin itself, or holds one directory for each plugin. Plugins count as enabled
                  then, and those of the configuration are left out.

              --exec-tools <FILE>
                  Takes exec tools from FILE; repeatable

                  Those of the configuration are left out then. Also known as `--tools-schema`.

              --evolve <DIR>
                  Takes the tools that agents wrote from the store in DIR, and keeps new ones there

                  The store of the configuration is left out then. DIR need not exist yet.

              --config <FILE>
                  Reads the configuration from FILE

                  The user's own (`$XDG_CONFIG_HOME/flyto/config.json`) and the project's
                  (`.flyto/config.json`) are not read then.

        Output:
              --format <FORMAT>
                  Answers for people, or as one JSON document [default: human]

                  [possible values: human, json]

              --color <WHEN>
                  Colours: `auto` is on a terminal, unless `NO_COLOR` is set [default: auto]

                  [possible values: auto, always, never]

          -q, --quiet
                  Says nothing but the answer and errors

          -v, --verbose...
                  Says more: what ran, how long, under which limits; `-vv` times each stage of a call

        Examples:
          flyto call text-stats:count text='a stitch in time' top:=3
          flyto call text-stats:count --json '{"path": "/etc/hosts"}'
          jq -n '{text: "piped"}' | flyto call text-stats:count --json -
          flyto call text-stats:count text=x --dry-run

        stdout is the tool's output and nothing else, also when the call fails. What the tool says on stderr
        beside it follows on stderr, unless --quiet.

        With --dry-run the exit code is 5 for a call that would be refused, 3 for an input that breaks the
        schema, and else that of the call where a problem is shown that would keep it from starting."#]].assert_eq(&help(&["call", "--help"]));
    assert_eq!(
        place.flyto(&["--version"]).run().stdout(),
        concat!("flyto ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(place.flyto(&[]).run().code, Some(2));
}

#[test]
fn every_answer_can_be_json() {
    let place = place();
    for verb in [
        &["list"][..],
        &["list", "--problems"],
        &["list", "words"],
        &["show", "p:count"],
        &["call", "kernel"],
        &["call", "kernel", "--dry-run"],
        &["validate", "plugins"],
        &["schema", "plugin"],
        &["explain", "F0001"],
        &["completions", "bash"],
        &["audit", "list"],
        &["audit", "verify"],
    ] {
        let ran = place.flyto(&words(&[verb, &["--format", "json"]].concat())).run();
        assert_eq!(ran.code, Some(0), "{verb:?}");
        assert!(ran.json().is_object(), "{verb:?}");
        assert_eq!(ran.stderr(), "", "{verb:?}");
    }
}

#[test]
fn a_configuration_that_cannot_be_used_stops_everything() {
    let place = place();
    place.write("broken.json", "{\"plugins\": {\"enabled\": true,}}");
    place.flyto(&["--config", "broken.json", "list"]).check(expect![[r#"
        exit code 3
        -- stderr
        error[F0007]: a comma behind the last member of an object
         --> DIR/broken.json:1:29
          |
        1 | {"plugins": {"enabled": true,}}
          |                             ^
          |
        help: remove the comma
          |
        1 - {"plugins": {"enabled": true,}}
        1 + {"plugins": {"enabled": true}}
          |

        error: the configuration cannot be used
    "#]]);
    // A directory in the place of a file cannot be read by any user.
    place.flyto(&["--config", "plugins", "list"]).check(expect![[r#"
        exit code 3
        -- stderr
        error[F0001]: the file cannot be read: it is a directory
        --> DIR/plugins

        error: the configuration cannot be used
    "#]]);
    place.write("home/.config/flyto/config.json", "{\"plugins\": 3}");
    place.flyto(&["list"]).check(expect![[r#"
        exit code 3
        -- stderr
        error[F0023]: "plugins" must be an object, found the number 3
         --> DIR/home/.config/flyto/config.json:1:13
          |
        1 | {"plugins": 3}
          |             ^
          |
          = at: /plugins

        error: the configuration cannot be used
    "#]]);
}

#[test]
fn colour_is_on_demand() {
    let place = place();
    let has_colour = |flyto: crate::place::Flyto<'_>| flyto.run().stdout().contains('\u{1b}');
    let list = |more: &[&str]| place.flyto(&words(&[&["list"], more].concat()));
    assert!(!has_colour(list(&[])));
    assert!(has_colour(list(&["--color", "always"])));
    assert!(!has_colour(list(&["--color", "never"])));
    // A request for colours on the command line is meant.
    assert!(has_colour(list(&["--color", "always"]).env("NO_COLOR", "1")));
    let error = place.flyto(&["nonsense", "--color", "always"]).run();
    assert!(error.stderr().contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let place = place();
    for verb in [
        &["list"][..],
        &["show", "p:count"],
        &["call", "kernel"],
        &["--help"],
        &["schema", "plugin"],
    ] {
        let mut child = place.flyto(&words(verb)).start();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{verb:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{verb:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let place = place();
    for verb in [&["list"][..], &["--help"], &["list", "-h"], &["--version"]] {
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
            // Only some systems have a device that is always full.
            return;
        };
        let flyto = place.flyto(&words(verb)).command(|it| {
            it.stdout(full);
        });
        flyto.check(expect![[r#"
            exit code 74
            -- stderr
            error: stdout cannot be written: No space left on device (os error 28)
        "#]]);
    }
}

#[test]
fn a_removed_directory_stops_only_verbs_that_need_one() {
    let place = place();
    let run = |verb: &[&str]| {
        let gone = r#"mkdir gone && cd gone && rmdir ../gone && exec "$@""#;
        place.flyto(verb).started_by(gone).run()
    };
    for verb in [&["explain", "F0001"][..], &["schema", "plugin"], &["completions", "bash"]] {
        let ran = run(verb);
        assert_eq!((ran.code, ran.stderr()), (Some(0), String::new()), "{verb:?}");
    }
    for verb in [&["list"][..], &["validate", "x"], &["call", "x"], &["show", "x"]] {
        expect![[r#"
            exit code 7
            -- stderr
            error: the current directory cannot be told: No such file or directory (os error 2)
              help: change to a directory that is there
        "#]]
        .assert_eq(&run(verb).shown());
    }
}

#[test]
fn the_end_of_a_file_has_its_true_place() {
    let place = Place::new();
    for (text, line, column) in
        [("{\"name\": \"p\"", 1, 13), ("{\n", 1, 2), ("[\"\u{e4}\u{1f980}\",", 1, 7), ("", 1, 1)]
    {
        place.write("plugin.json", text);
        let ran = place.flyto(&["validate", "plugin.json", "--format", "json"]).run();
        let finding = &ran.json()["findings"][0];
        // White space at the end is no part of what is missing.
        let end = text.trim_end().len();
        assert_eq!(
            (&finding["byte_start"], &finding["byte_end"]),
            (&end.into(), &end.into()),
            "{finding}"
        );
        let place = ["line", "column", "end_line", "end_column"].map(|it| finding[it].as_u64());
        assert_eq!(place, [line, column, line, column].map(Some), "{finding}");
    }
}
