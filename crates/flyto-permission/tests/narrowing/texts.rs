//! Texts of an input, which may be paths.

use std::path::Path;

use flyto_permission::{ClassTrust, Decision, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::{Value, json};

use crate::calls::{check_input, check_script, denying};

/// A tool of a class without a check of its own, which gets this text as its input.
#[track_caller]
fn check_text(rules: &Rules, text: &str, expected: Verdict) {
    check_input(rules, &PermissionClass::GENERIC, json!({"path": text}), expected);
}

fn decided(rules: &Rules, text: &str) -> Decision {
    let id = ToolId::parse("p:t").expect("this is a name");
    let input = json!({ "path": text });
    rules.decide(&Request::new(&id).input(&input).class_trust(ClassTrust::Named))
}

#[test]
fn a_text_is_a_path_in_each_way_that_a_program_may_read_it() {
    let rules = denying("Read(/srv/secret/**)");
    let slashes = format!("{}srv/secret/k", "/".repeat(4200));
    for text in [
        "/srv/secret/k",
        "/srv/secret/k\n",
        "\n/srv/secret/k",
        " /srv/secret/k\t",
        "to= /srv/secret/k ",
        "/srv/secret/k\0.txt",
        &slashes,
        "file://localhost/srv/secret/k",
        "file:///srv/%73ecret/k",
        "FILE:/srv/secret/k?x",
        "url=file:///srv/secret/k#x",
        "file:///srv/a b/../secret/k",
        "x=file:///srv/<a>/../secret/k",
        "see file:///srv/secret/k for it",
        "file:///srv/a?b/../secret/k",
        "fi\nle:///srv/sec\tret/k",
        r"file:\\\srv\secret\k",
    ] {
        check_text(&rules, text, Verdict::Deny);
        // Of a word with blanks, parts are a guess.
        let is_word = !text.contains([' ', '<', '?']);
        if is_word && !text.contains(['\0', '\n', '\\']) && text.len() < 4096 {
            check_script(&rules, &format!("cat '{text}'"), Verdict::Deny);
        }
    }
    for text in ["~root/../srv/secret/k", "x y/../../../../srv/secret/k"] {
        check_text(&rules, text, Verdict::Ask);
    }
    // Parts of a text with blanks, quotes or brackets are a guess.
    for text in [
        "x, /srv/secret/k",
        "x /srv/secret/k",
        "/srv/a b.txt,/srv/secret/k",
        "x,/srv/secret/k,a b",
        "type=bind, src=/srv/secret/k",
        "x y, f:/srv/secret/k",
        "x,\n/srv/secret/k",
        "x\n  /srv/secret/k,\ny",
        "a, /srv/x y/../secret/k",
        "['/srv/secret/k']",
        r#"{"path": "/srv/secret/k"}"#,
        "[x](/srv/secret/k)",
        "import a from '../../../../srv/secret/k'",
    ] {
        check_text(&rules, text, Verdict::Ask);
    }
    // A command line is read as one, so its words are no guess.
    let line = json!({"command": "echo 'see /srv/secret/k'"});
    check_input(&rules, &PermissionClass::GENERIC, line, Verdict::Allow);
    check_input(
        &denying("Edit(Makefile)"),
        &PermissionClass::GENERIC,
        json!({"files": {"Makefile": "x"}}),
        Verdict::Ask,
    );
    let (source, data) = ("// A comment.\n".repeat(400), "/9j//4AAQ".repeat(600));
    for text in
        ["see /srv/secret/k\nand more", "~50 pieces", "~5/8", "a: b, file: c", &source, &data]
    {
        check_text(&rules, text, Verdict::Allow);
    }
}

#[test]
fn the_program_of_a_command_in_an_input_is_read() {
    let rules = denying("Edit(scripts/**)");
    let check =
        |input: Value, expected| check_input(&rules, &PermissionClass::GENERIC, input, expected);
    for command in ["scripts/run.sh", "./scripts/run.sh", "./scripts/run.sh --help"] {
        check(json!({"command": command}), Verdict::Allow);
        check(json!({"path": command}), Verdict::Deny);
    }
    check(json!({"command": "/home/ada/project/scripts/run.sh\n"}), Verdict::Allow);
    check(json!({"command": "scripts/run.sh --a=b\n"}), Verdict::Allow);
    check(json!({"command": "x file:///home/ada/project/scripts/run.sh"}), Verdict::Deny);
    check(json!({"command": ["./scripts/run.sh", "a"]}), Verdict::Allow);
    check(json!({"command": ["cp", "./scripts/run.sh"]}), Verdict::Deny);
    check(json!({"command": "echo a >scripts/run.sh"}), Verdict::Deny);
    // No option and no list of arguments is a program.
    check(json!({"command": ["--output=scripts/run.sh"]}), Verdict::Deny);
    check(json!({"command": "--output=scripts/run.sh"}), Verdict::Deny);
    check(json!({"command": "x # o=scripts/run.sh"}), Verdict::Deny);
    check(json!({"argv": ["scripts/run.sh"]}), Verdict::Deny);
    check(json!({"script_path": "scripts/run.sh"}), Verdict::Deny);
    check(json!({"command_file": "scripts/run.sh"}), Verdict::Deny);
    check_input(
        &denying("Read(scripts/**)"),
        &PermissionClass::GENERIC,
        json!({"command": "scripts/run.sh"}),
        Verdict::Deny,
    );
}

/// A server reads a relative path from its own directory, or from one that it is told.
#[test]
fn a_relative_path_is_compared_from_both_directories() {
    // A relative pattern would hold at both directories.
    let rules = denying("Read(/home/ada/project/secret/**)");
    let id = ToolId::parse("p:t").expect("this is a name");
    let preview = Preview::new().with_working_dir("/srv/server");
    let input = json!({"path": "secret/k"});
    let request = Request::new(&id).input(&input).preview(Some(&preview));
    let request = request.class_trust(ClassTrust::Named);
    let decision = rules.decide(&request.working_dir(Path::new("/home/ada/project")));
    assert_eq!(decision.verdict, Verdict::Deny, "{decision}");
    let elsewhere = denying("Read(/srv/server/secret/**)");
    let decision = elsewhere.decide(&request.working_dir(Path::new("/home/ada/project")));
    assert_eq!(decision.verdict, Verdict::Deny, "{decision}");
    // What holds for both is told once.
    let decision = denying("Read(/srv/x)").decide(
        &request.input(&json!({"path": "/srv/x"})).working_dir(Path::new("/home/ada/project")),
    );
    assert_eq!(decision.to_string().lines().count(), 1, "{decision}");
    // Also in what is only a part of a text, and in command lines.
    let long = format!("{}secret/k", "./".repeat(3000));
    for input in [
        json!({"command": "cat secret/k"}),
        json!({"command": "cat 'x,secret/k'"}),
        json!({"path": "a:secret/k"}),
        json!({ "path": long }),
    ] {
        let request = request.input(&input).working_dir(Path::new("/home/ada/project"));
        let decision = rules.decide(&request);
        assert_eq!(decision.verdict, Verdict::Deny, "{input}: {decision}");
    }
    // Protected places need no rule.
    let up = json!({"path": "../.bashrc"});
    let request = request.input(&up).home(Path::new("/home/ada"));
    let decision = denying("Bash(rm:*)").decide(&request.working_dir(Path::new("/home/ada/w")));
    assert_eq!(decision.verdict, Verdict::Ask, "{decision}");
}

/// Places of keys and of the system are protected from texts that look like a path, and from no others.
#[test]
fn ordinary_texts_name_no_protected_place() {
    let none = denying("Bash(rm:*)");
    let rules = denying("Read(/srv/secret/**)");
    for text in [
        "IdentityFile = ~/.ssh/id_ed25519",
        "see file:///home/ada/.ssh/config in the docs",
        "at Module (file:///usr/lib/node/loader.js:10:5)",
        "prefix=/usr/local\n",
        "let shell = /bin/sh",
        "src/lib.rs\nsrc/main.rs",
        "Host a\n IdentityFile = /srv/secret/k\n",
        "keep secret, please",
        "~alice/bob said hi",
        "import a from '../../../../srv/secret/k'\nimport b from 'c'\n",
        "see [guide](../../../../srv/secret/k.md)\n\nmore\n",
    ] {
        check_text(&none, text, Verdict::Allow);
        check_text(&rules, text, Verdict::Allow);
    }
}

#[test]
fn a_text_that_is_nothing_but_a_path_names_a_protected_place() {
    let none = denying("Bash(rm:*)");
    for text in ["~/.ssh/config\n", " ~/.ssh/config", "/etc/shadow\0.txt", "file:///etc/%73hadow"] {
        check_text(&none, text, Verdict::Deny);
    }
}

/// An address of a file without slashes is relative to some readers, and one from the root to others.
#[test]
fn an_address_of_a_file_may_have_no_slash() {
    let rules = denying("Read(/home/ada/project/secret/**)");
    for text in [
        "file:secret/k",
        "file:s%65cret/k",
        "file:./s%65cret%2fk?mode=ro",
        "file:home/ada/project/secret/k",
        "FILE:home/ada/project/%73ecret/k",
        r"file:home\ada\project\secret\k",
        "\tfi\nle:home/ada/project/secret/k",
    ] {
        check_text(&rules, text, Verdict::Deny);
    }
    check_script(&rules, "sqlite3 'file:secr%65t/db?mode=ro' .dump", Verdict::Deny);
    check_script(&rules, "node -p x file:home/ada/project/secret/k", Verdict::Deny);
    let none = denying("Bash(rm:*)");
    check_text(&none, "file:etc/shadow", Verdict::Deny);
    for text in ["profile:secret/k", "file: secret", "see file:line"] {
        check_text(&none, text, Verdict::Allow);
    }
    // curl makes other names of braces and brackets.
    // A list in braces is read.
    for (text, of_script) in [
        ("file:///home/ada/project/s[e-e]cret/k", Verdict::Ask),
        ("file:///home/ada/project/secre{t/k,x}", Verdict::Deny),
    ] {
        check_text(&rules, text, Verdict::Ask);
        check_script(&rules, &format!("curl -s '{text}'"), of_script);
    }
    check_script(&rules, "echo 'file:///a[b]'", Verdict::Allow);
}

/// Clients of databases open a file relative to where they run.
#[test]
fn an_address_without_a_host_may_be_relative() {
    let rules = denying("Read(/home/ada/project/secret/**)");
    for text in [
        "sqlite:///secret/k",
        "sqlite+aiosqlite:///secret/k?timeout=1",
        "SQLite:///./secret/k",
        "duckdb:///secret/k",
        "sqlite3://secret/k",
        "url=sqlite:///secret/k",
        "sqlite:////home/ada/project/secret/k",
    ] {
        check_text(&rules, text, Verdict::Deny);
        check_script(&rules, &format!("db '{text}'"), Verdict::Deny);
    }
    check_text(&rules, "see sqlite:///secret/k for it", Verdict::Ask);
    check_text(&denying("Read(secret/k)"), "sqlite:///secret/k?mode=ro", Verdict::Deny);
    for text in ["https://secret/k", "file:///secret/k", "sqlite:////secret/k", "sqlite://"] {
        check_text(&rules, text, Verdict::Allow);
    }
}

/// A program may read wildcards and braces in a text.
#[test]
fn a_wildcard_that_spells_a_place_is_asked() {
    let rules = denying("Read(/home/ada/project/secret/**)");
    let many = format!("s{}/k", "{e,x}".repeat(7));
    for text in [
        "s*/**",
        "secre[t]/k",
        "./s?cret/k",
        "**/secret/k",
        "*/secret",
        "--glob=s*/k",
        "a:s*/k",
        "/home/ada/project/s*/k",
        "{secret,x}/**",
        "s{ecret,x}/k",
        "s{x,e}{c,x}ret/*",
        &many,
    ] {
        check_text(&rules, text, Verdict::Ask);
    }
    // What a program finds by itself is not known by its words.
    let data = format!("{{{}}}", "1,".repeat(80));
    for text in [
        "*",
        "**/*",
        "**/*.rs",
        "*/k",
        "src/**/*.rs",
        "^s.*$",
        "[a-z]+/",
        "what?",
        "is s*/k one",
        "a[0]",
        "s[0]",
        "*/*",
        "{a,b}/x",
        "https://a.org/secret?x=*",
        &data,
    ] {
        check_text(&rules, text, Verdict::Allow);
    }
    for (rule, text, expected) in [
        ("Read(.env)", ".en?", Verdict::Ask),
        ("Read(.env)", "**/*.env", Verdict::Ask),
        ("Read(.env)", ".*", Verdict::Allow),
        ("Read(~/.ssh/**)", "~/.s*/id", Verdict::Ask),
        ("Edit(package-lock.json)", "pack*.json", Verdict::Ask),
        ("Edit(package-lock.json)", "**/*.json", Verdict::Allow),
        ("Read(*.pem)", "*.rs", Verdict::Allow),
        ("Read(src/**/*.pem)", "src/**/*.rs", Verdict::Allow),
    ] {
        check_text(&denying(rule), text, expected);
    }
}

#[test]
fn a_script_of_sed_opens_files() {
    let rules = denying("Read(/home/ada/project/secret/**)");
    for script in [
        "sed 'r secret/k' f",
        "sed 'rsecret/k' f",
        "sed '$rsecret/k' f",
        "sed -n '/fn/Rsecret/k' f",
        "sed 's/x/y/wsecret/new' f",
    ] {
        let id = ToolId::parse("p:t").expect("this is a name");
        let preview = Preview::new().with_command_line(["bash", "-c", script]);
        let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
        let request = request.working_dir(Path::new("/home/ada/project")).fixed(true);
        let decision = rules.decide(&request);
        assert!(decision.verdict > Verdict::Allow, "{script}: {decision}");
    }
    check_script(&rules, "sed 's/a/b/' f", Verdict::Allow);
}

/// A rule holds however the home directory is written.
#[test]
fn a_home_directory_has_one_form() {
    let rules = denying("Read(~/priv/**)");
    let id = ToolId::parse("p:t").expect("this is a name");
    let input = json!({"path": "/home/ada/priv/k"});
    let start = json!({"path": "/home/ada/.bashrc"});
    for home in ["/home/ada", "/home//ada", "//home/./ada", "/home/ada/.", "/home/ada//"] {
        let decide = |rules: &Rules, input: &Value| {
            let request = Request::new(&id).input(input).home(Path::new(home));
            rules.decide(&request.class_trust(ClassTrust::Named)).verdict
        };
        assert_eq!(decide(&rules, &input), Verdict::Deny, "{home}");
        assert_eq!(decide(&denying("Bash(rm:*)"), &start), Verdict::Ask, "{home}");
    }
}

/// What a text may be is bounded, however often it names the scheme of files.
#[test]
fn a_text_of_many_addresses_is_decided() {
    let rules = denying("Read(/srv/secret/**)");
    check_text(&rules, &"x file:\n".repeat(200_000), Verdict::Allow);
    check_text(&rules, &format!("file:///srv/secret/k {}", "file:".repeat(100_000)), Verdict::Deny);
    // What is not read of it is asked.
    let dots = "%2e/".repeat(2500);
    for text in [
        format!("file:///{dots}srv/secret/k"),
        format!("file:/{}srv/secret/k", "./".repeat(2500)),
        format!("{}file:///srv/secret/k", "file:///a ".repeat(64)),
        format!("file:///{}srv/secret/k", "\t".repeat(13_000)),
    ] {
        let shown = text.get(..20).unwrap_or_default();
        let decision = decided(&rules, &text);
        assert!(decision.verdict > Verdict::Allow, "{shown}: {decision}");
    }
}

/// A text may be data for a program that takes escapes off.
#[test]
fn escapes_hide_no_path() {
    let rules = denying("Read(/home/ada/project/secret/**)");
    for text in [
        r#"{"path":"secret\/k"}"#,
        r#"{"path": "secret\/k"}"#,
        r#"{"path": "\u0073ecret/k"}"#,
        r#"{"body":"{\"path\": \"secret\\/k\"}"}"#,
        r"x\nsecret/k\n",
        "secret%2Fk",
        "see secret%2Fk",
        "/api/files?path=secret%2Fk",
    ] {
        check_text(&rules, text, Verdict::Ask);
    }
    check_text(&rules, "%2Fhome%2Fada%2Fproject%2Fsecret%2Fk", Verdict::Deny);
    check_text(&denying("Read(.env)"), r#"{"p": "\u002eenv"}"#, Verdict::Ask);
    for text in ["secret%", r"\secret", "100%secret", "a%20secret", r"se\dcret/k"] {
        check_text(&rules, text, Verdict::Allow);
    }
    let none = denying("Bash(rm:*)");
    check_text(&none, "%2Fetc%2Fshadow", Verdict::Deny);
    check_text(&none, r"^\/etc\/shadow", Verdict::Allow);
    // Those of a command line are of its shell.
    let line = json!({"command": r"echo secret\/k"});
    check_input(&rules, &PermissionClass::GENERIC, line, Verdict::Allow);
}
