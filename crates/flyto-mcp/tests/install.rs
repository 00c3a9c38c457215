//! A server that is added to the files of clients.

use expect_test::{Expect, expect};
use flyto_mcp::import::{ClientFile, ClientFileContext, MAX_FILE_BYTES};
use flyto_mcp::install::{InstallError, ServerEntry, ServerFile};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const STRICT: ServerFile =
    ServerFile::Json { key: "mcpServers", has_type: true, has_comments: false };
const COMMENTED: ServerFile =
    ServerFile::Json { key: "mcpServers", has_type: false, has_comments: true };
const FILES: [ServerFile; 3] = [STRICT, COMMENTED, ServerFile::Toml];

fn entry() -> ServerEntry {
    ServerEntry::new("flyto", "/bin/flyto").args(["serve"])
}

#[track_caller]
fn check(file: ServerFile, text: &str, expect: Expect) {
    let shown = match file.with(text.as_bytes(), &entry()) {
        Ok(Some(text)) => text,
        Ok(None) => "nothing to add\n".to_owned(),
        Err(why) => format!("{why}\n"),
    };
    expect.assert_eq(&shown);
}

#[test]
fn a_member_is_laid_out_as_its_neighbours() {
    check(
        COMMENTED,
        "{}",
        expect![[r#"
        {
          "mcpServers": {
            "flyto": {
              "command": "/bin/flyto",
              "args": [
                "serve"
              ]
            }
          }
        }"#]],
    );
    check(
        COMMENTED,
        "{\"a\": 1}\n",
        expect![[r#"
        {"a": 1, "mcpServers": {"flyto": {"command": "/bin/flyto", "args": ["serve"]}}}
    "#]],
    );
    check(
        COMMENTED,
        "{\"mcpServers\": {}}\n",
        expect![[r#"
        {"mcpServers": {
          "flyto": {
            "command": "/bin/flyto",
            "args": [
              "serve"
            ]
          }
        }}
    "#]],
    );
    check(
        COMMENTED,
        "{\n\t\"mcpServers\": {\n\t\t\"b\": {\"command\": \"y\"}\n\t}\n}\n",
        expect![[r#"
            {
            	"mcpServers": {
            		"b": {"command": "y"},
            		"flyto": {
            			"command": "/bin/flyto",
            			"args": [
            				"serve"
            			]
            		}
            	}
            }
        "#]],
    );
    check(
        COMMENTED,
        "{\n    \"mcpServers\": {\n    },\n    \"b\": 1\n}\n",
        expect![[r#"
        {
            "mcpServers": {
                "flyto": {
                    "command": "/bin/flyto",
                    "args": [
                        "serve"
                    ]
                }
            },
            "b": 1
        }
    "#]],
    );
    check(
        STRICT,
        "{\n  \"mcpServers\": {\"b\": {\"command\": \"y\"}}\n}",
        expect![[r#"
        {
          "mcpServers": {"b": {"command": "y"}, "flyto": {"type": "stdio", "command": "/bin/flyto", "args": ["serve"]}}
        }"#]],
    );
    let lines = "{\r\n  \"a\": 1\r\n}\r\n";
    let res = COMMENTED.with(lines.as_bytes(), &entry()).unwrap().unwrap();
    assert_eq!(res.matches("\r\n").count(), res.matches('\n').count(), "{res:?}");
}

#[test]
fn comments_stay_where_they_are() {
    check(
        COMMENTED,
        "{ // mine\n}\n",
        expect![[r#"
            { // mine
              "mcpServers": {
                "flyto": {
                  "command": "/bin/flyto",
                  "args": [
                    "serve"
                  ]
                }
              }
            }
        "#]],
    );
    check(
        COMMENTED,
        "// of ours\n{\n  \"mcpServers\": {\n    \"b\": {\"url\": \"http://x\"}, // its, own\n  }, /* , */\n}\n",
        expect![[r#"
            // of ours
            {
              "mcpServers": {
                "b": {"url": "http://x"}, // its, own
                "flyto": {
                  "command": "/bin/flyto",
                  "args": [
                    "serve"
                  ]
                }
              }, /* , */
            }
        "#]],
    );
    check(
        COMMENTED,
        "{\n  \"a\": 1 // one\n}\n",
        expect![[r#"
            {
              "a": 1, // one
              "mcpServers": {
                "flyto": {
                  "command": "/bin/flyto",
                  "args": [
                    "serve"
                  ]
                }
              }
            }
        "#]],
    );
    // What its client does not read is not for us to change.
    check(
        STRICT,
        "{\n  \"a\": 1 // one\n}\n",
        expect![[r#"
        is not read as JSON: JSON has no comments (line 2)
    "#]],
    );
    check(
        STRICT,
        "{\n  \"a\": 1,\n}\n",
        expect![[r#"
        is not read as JSON: a comma behind the last member of an object (line 2)
    "#]],
    );
}

#[test]
fn a_table_stands_at_the_end() {
    check(
        ServerFile::Toml,
        "model = 'm'",
        expect![[r#"
        model = 'm'

        [mcp_servers.flyto]
        command = "/bin/flyto"
        args = ["serve"]
    "#]],
    );
    check(
        ServerFile::Toml,
        "# mine\n[mcp_servers.other]\ncommand = 'x' # its own\n",
        expect![[r##"
            # mine
            [mcp_servers.other]
            command = 'x' # its own

            [mcp_servers.flyto]
            command = "/bin/flyto"
            args = ["serve"]
        "##]],
    );
    let odd = ServerEntry::new("a.b \"c\"", "/bin/\u{7f}\\").args(["é\n"]);
    let text = ServerFile::Toml.with(b"a = 1\n", &odd).unwrap().unwrap();
    let table: toml::Table = text.parse().unwrap();
    let server = &table["mcp_servers"]["a.b \"c\""];
    assert_eq!(server["command"].as_str(), Some("/bin/\u{7f}\\"));
    assert_eq!(server["args"][0].as_str(), Some("é\n"));
}

#[test]
fn what_cannot_be_changed_safely_is_an_error() {
    for (file, text, expect) in [
        (STRICT, "[]", expect!["is no object"]),
        (STRICT, "{\"mcpServers\": []}", expect![[r#"has a "mcpServers" that is no object"#]]),
        (
            STRICT,
            "{\"mcpServers\": {}, \"mcp\\u0053ervers\": {}}",
            expect![[r#"has "mcpServers" twice"#]],
        ),
        (
            STRICT,
            "{\"mcpServers\": {\"flyto\": 1, \"flyto\": 2}}",
            expect![[r#"has "flyto" twice"#]],
        ),
        (
            STRICT,
            "{\"mcpServers\": {\"flyto\": {\"command\": \"x\"}}}",
            expect![[r#"has another server "flyto""#]],
        ),
        (
            STRICT,
            "{\n\"a\": }",
            expect!["is not read as JSON: expected a value after the colon, found `}` (line 2)"],
        ),
        (
            ServerFile::Toml,
            "mcp_servers = { other = { command = 'x' } }\n",
            expect![[r#"has "mcp_servers" in a form to which no table can be added"#]],
        ),
        (
            ServerFile::Toml,
            "mcp_servers = 1\n",
            expect![[r#"has "mcp_servers" in a form to which no table can be added"#]],
        ),
        (
            ServerFile::Toml,
            "[mcp_servers.flyto]\ncommand = 'x'\n",
            expect![[r#"has another server "flyto""#]],
        ),
        (
            ServerFile::Toml,
            "a = 1\nmodel = \n",
            expect![
                "is not read as TOML: string values must be quoted, expected literal string (line 2)"
            ],
        ),
    ] {
        let err = file.with(text.as_bytes(), &entry()).unwrap_err();
        expect.assert_eq(&err.to_string());
    }
    for file in FILES {
        assert_eq!(file.with(b"\xff", &entry()), Err(InstallError::NotUtf8));
        let long = vec![b' '; MAX_FILE_BYTES as usize + 1];
        assert_eq!(file.with(&long, &entry()), Err(InstallError::TooLong));
    }
}

/// Each takes about a second in a debug build, and no stack that grows with the file.
#[test]
fn hostile_files_cost_no_more_than_their_bytes() {
    let n = 1 << 18;
    for text in [
        "[".repeat(n),
        "{\"a\":".repeat(n),
        "/*".repeat(n),
        "{\"a\":1,//\n".repeat(n / 4),
        format!("{{{}", "\"a\": [],]".repeat(n / 8)),
        format!("{{\"a\": 1{}}}", ", /* x */ ".repeat(n / 8)),
        format!("{{{}\"b\": 1}}", "\"a\": 1, ".repeat(n / 16)),
        "a.".repeat(n),
        format!("{} = 1", vec!["a"; n / 4].join(".")),
        format!("[{}]", vec!["a"; n / 4].join(".")),
        format!("a = {}", "[".repeat(n)),
        format!("a = {}", "{b=".repeat(n)),
        "[[a]]\n".repeat(n / 8),
        (0..n / 32).map(|it| format!("[t.a{it}]\n")).collect(),
    ] {
        let started = std::time::Instant::now();
        for file in FILES {
            drop(file.with(text.as_bytes(), &entry()));
        }
        let wall = started.elapsed();
        assert!(wall.as_secs() < 20, "{:?} took {wall:?}", &text[..20]);
    }
}

/// Checks that the changed text is the former one with a comma at most and one piece more.
#[track_caller]
fn check_kept(before: &str, after: &str) {
    let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let at = differ(before, after);
    let (mut left, mut rest) = (&before[at..], &after[at..]);
    if !rest.ends_with(left) {
        let behind = rest.strip_prefix(b",").expect("a comma");
        let at = differ(left, behind);
        (left, rest) = (&left[at..], &behind[at..]);
    }
    assert!(rest.ends_with(left), "{left:?} {rest:?}");
}

/// A value, with the blanks and comments of `gaps` between its tokens in turn.
fn rendered(value: &Value, gaps: &mut dyn Iterator<Item = &String>, last_commas: bool) -> String {
    let mut gap = |res: &mut String| res.push_str(gaps.next().map_or("", |it| it));
    fn render(
        value: &Value,
        gap: &mut dyn FnMut(&mut String),
        last_commas: bool,
        res: &mut String,
    ) {
        gap(res);
        let (open, close, items): (_, _, Vec<(Option<&String>, &Value)>) = match value {
            Value::Object(it) => ('{', '}', it.iter().map(|(key, it)| (Some(key), it)).collect()),
            Value::Array(it) => ('[', ']', it.iter().map(|it| (None, it)).collect()),
            plain => {
                res.push_str(&plain.to_string());
                return gap(res);
            }
        };
        res.push(open);
        let n_items = items.len();
        for (at, (key, item)) in items.into_iter().enumerate() {
            if let Some(key) = key {
                gap(res);
                res.push_str(&Value::from(key.as_str()).to_string());
                gap(res);
                res.push(':');
            }
            render(item, gap, last_commas, res);
            if at + 1 < n_items || last_commas {
                res.push(',');
            }
        }
        gap(res);
        res.push(close);
        gap(res);
    }
    let mut res = String::new();
    render(value, &mut gap, last_commas, &mut res);
    res
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/*,{}\"\\\\é\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop_oneof!["[a-z/,\"]{0,3}", Just("mcpServers".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

/// A file of a client: an object that may have servers.
fn any_file() -> impl Strategy<Value = Map<String, Value>> {
    let servers = prop::collection::vec(("[a-f]{1,2}", any_value()), 0..3);
    let servers = prop::option::of(servers.prop_map(|it| it.into_iter().collect::<Map<_, _>>()));
    let others = || prop::collection::vec(("[a-f]{1,3}", any_value()), 0..3);
    (others(), servers, others()).prop_map(|(before, servers, after)| {
        let mut res: Map<_, _> = before.into_iter().collect();
        res.extend(servers.map(|it| ("mcpServers".to_owned(), Value::Object(it))));
        res.extend(after);
        res
    })
}

/// What a file with the server means, by what it meant before.
fn with_server(file: &Map<String, Value>, has_type: bool) -> Value {
    let mut res = file.clone();
    let servers = res.entry("mcpServers").or_insert_with(|| json!({}));
    servers["flyto"] = match has_type {
        true => json!({"type": "stdio", "command": "/bin/flyto", "args": ["serve"]}),
        false => json!({"command": "/bin/flyto", "args": ["serve"]}),
    };
    res.into()
}

proptest! {
    #[test]
    fn a_json_file_keeps_its_bytes(
        file in any_file(),
        gaps in prop::collection::vec("[ \t]{0,2}|\r?\n {0,4}|\n\t", 1..8),
        mark in "\u{feff}?",
    ) {
        let value = Value::Object(file.clone());
        let text = rendered(&value, &mut gaps.iter().cycle(), false);
        for (strict, has_type) in [(STRICT, true), (COMMENTED, false)] {
            let text = format!("{mark}{text}");
            let after = strict.with(text.as_bytes(), &entry()).expect("it is in order").expect("new");
            check_kept(&text, &after);
            let read: Value = serde_json::from_str(&after[mark.len()..]).expect("it is JSON");
            prop_assert_eq!(read, with_server(&file, has_type));
            prop_assert_eq!(strict.with(after.as_bytes(), &entry()), Ok(None));
        }
    }

    #[test]
    fn a_file_with_comments_keeps_its_bytes(
        file in any_file(),
        gaps in prop::collection::vec("[ \t]{0,2}|\n {0,4}|//[a-z,\"/{}é]{0,4}\r?\n|/\\*[a-z,\"{}\n]{0,4}\\*/", 1..8),
        last_commas: bool,
    ) {
        let value = Value::Object(file.clone());
        let text = rendered(&value, &mut gaps.iter().cycle(), last_commas);
        let after = COMMENTED.with(text.as_bytes(), &entry()).expect("it is in order").expect("new");
        check_kept(&text, &after);
        prop_assert_eq!(COMMENTED.with(after.as_bytes(), &entry()), Ok(None));
        // What another reader of such files finds.
        let read = ClientFile::parse(&after, &ClientFileContext::new("/p/.mcp.json", "/p")).expect("it has servers");
        let names: Vec<_> = read.servers.iter().map(|it| it.name()).collect();
        let expected = with_server(&file, false);
        let expected: Vec<_> = expected["mcpServers"].as_object().expect("one").keys().collect();
        prop_assert_eq!(names.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_toml_file_keeps_its_bytes(
        lines in prop::collection::vec(prop_oneof![
            "# [a-z\\[\"]{0,5}", "[a-c]\\.[a-f] = [1-9]", "\\[[a-c]\\]", "\\[mcp_servers\\.[a-f]\\]", "\\[\\[[d-e]\\]\\]",
            "[g-p] = \"\"\"\\[mcp_servers\n\"\"\"", "[q-z] = \\{ a = 1 \\}", "",
        ], 0..8),
        newline in "\r?\n",
        end in "\n?",
    ) {
        let text = lines.join(&newline) + &end;
        let Ok(before) = text.parse::<toml::Table>() else { return Ok(()) };
        let after = ServerFile::Toml.with(text.as_bytes(), &entry()).expect("it is in order").expect("new");
        if !text.trim().is_empty() {
            prop_assert!(after.starts_with(&text));
        }
        let mut read: toml::Table = after.parse().expect("it is TOML");
        let servers = read["mcp_servers"].as_table_mut().expect("a table");
        let added = servers.remove("flyto").expect("it is there");
        prop_assert_eq!(added["command"].as_str(), Some("/bin/flyto"));
        if servers.is_empty() && !before.contains_key("mcp_servers") {
            read.remove("mcp_servers");
        }
        prop_assert_eq!(read, before);
        prop_assert_eq!(ServerFile::Toml.with(after.as_bytes(), &entry()), Ok(None));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64), text in ".{0,64}") {
        for file in FILES {
            for bytes in [&bytes[..], text.as_bytes()] {
                if let Ok(Some(after)) = file.with(bytes, &entry()) {
                    prop_assert_eq!(file.with(after.as_bytes(), &entry()), Ok(None));
                }
            }
        }
    }
}
