//! Keys that are missing, unknown, doubled or spelt otherwise.

use expect_test::expect;
use flyto_diagnostics::{At, Findings, KnownNames, ObjectReader, Source, json};

use super::check;

#[test]
fn missing_keys() {
    check(
        "{}",
        |r| r.required_string("name").map(str::to_owned),
        expect![[r#"
        Reported(())
        f:1:1: error[F0022]: the key "name" is missing []
          help: add `"name": "…"`
    "#]],
    );
    check(
        "{}",
        |r| r.required_array("tools").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:1: error[F0022]: the key "tools" is missing []
          help: add `"tools": […]`
    "#]],
    );
    check(
        "{}",
        |r| r.required("any").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:1: error[F0022]: the key "any" is missing []
          help: add `"any": …`
    "#]],
    );
    check(
        r#"{"Name": "x"}"#,
        |r| r.required_string("name").map(str::to_owned),
        expect![[r#"
        Reported(())
        f:1:1: error[F0022]: the key "name" is missing []
          help: "Name" looks like it; write "name"
          f:1:2: this key is unknown
          suggested: "\"Name\"" -> "\"name\""
    "#]],
    );
    // A key that is known already is not taken for a slip.
    check(
        r#"{"names": "x"}"#,
        |r| {
            r.optional_string("names")?;
            r.required_string("name").map(str::to_owned)
        },
        expect![[r#"
            Reported(())
            f:1:1: error[F0022]: the key "name" is missing []
              help: add `"name": "…"`
        "#]],
    );
}

#[test]
fn keys_from_elsewhere_in_a_table() {
    let read = |r: &mut ObjectReader<'_, '_>| {
        r.suggest_for_each(&[("cwd", "work_dir"), ("cmd", "command")]);
        let _ = r.optional_string("command")?;
        // Asked for twice, and named once.
        let _ = r.optional_string("work_dir")?;
        let _ = r.optional_string("command")?;
        Ok(())
    };
    check(
        r#"{"cwd": "/", "other": 1}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "cwd" [/cwd]
          help: did you mean "work_dir"?
          suggested: "\"cwd\"" -> "\"work_dir\""
        f:1:14: warning[F0021]: unknown key "other" [/other]
          help: the keys here are "command", "work_dir"
    "#]],
    );
}

#[test]
fn unknown_keys() {
    let read = |r: &mut ObjectReader<'_, '_>| {
        r.suggest_for("cwd", "work_dir");
        r.allow("$schema");
        let _ = r.optional_string("name")?;
        let _ = r.optional_string("command")?;
        let _ = r.optional_string("work_dir")?;
        let _ = r.optional_u64("timeout_seconds")?;
        Ok(())
    };
    check(
        r#"{"comand": "ls"}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "comand" [/comand]
          help: did you mean "command"?
          suggested: "\"comand\"" -> "\"command\""
    "#]],
    );
    check(
        r#"{"workDir": "/"}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "workDir" [/workDir]
          help: did you mean "work_dir"?
          suggested: "\"workDir\"" -> "\"work_dir\""
    "#]],
    );
    check(
        r#"{"timeout": 1}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "timeout" [/timeout]
          help: did you mean "timeout_seconds"?
          suggested: "\"timeout\"" -> "\"timeout_seconds\""
    "#]],
    );
    check(
        r#"{"cwd": "/"}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "cwd" [/cwd]
          help: did you mean "work_dir"?
          suggested: "\"cwd\"" -> "\"work_dir\""
    "#]],
    );
    check(
        r#"{"command": "ls", "Command": "rm"}"#,
        read,
        expect![[r#"
        ()
        f:1:19: warning[F0021]: unknown key "Command" [/Command]
          help: "command" is there as well; remove this key
    "#]],
    );
    check(
        r#"{"homepage": "x", "$schema": "y"}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "homepage" [/homepage]
          help: the keys here are "name", "command", "work_dir", "timeout_seconds"
    "#]],
    );
    check(
        r#"{"a\n\u001b[31m": 1}"#,
        read,
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "a\n\u{1b}[31m" [/a
        [31m]
          help: the keys here are "name", "command", "work_dir", "timeout_seconds"
    "#]],
    );
    check(
        r#"{"name": 1, "x": 2}"#,
        |_| Ok(()),
        expect![[r#"
        ()
        f:1:2: warning[F0021]: unknown key "name" [/name]
          help: remove the key
        f:1:13: warning[F0021]: unknown key "x" [/x]
          help: remove the key
    "#]],
    );
}

#[test]
fn unknown_keys_like_a_name() {
    let like = |text: &str, n_most: usize| {
        let source = Source::new("f", text);
        let value = json::parse(&source).expect("JSON");
        let mut findings = Findings::new();
        let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings).unwrap();
        let _ = (reader.optional_string("task"), reader.optional_string("rules_file"));
        reader.allow("denied");
        let names = KnownNames::new(["ask", "deny", "rules"]);
        let like = reader.unknown_like(&names, n_most);
        let like: Vec<_> = like.iter().map(|it| format!("{}={}", it.0, it.1)).collect();
        like.join(" ")
    };
    assert_eq!(
        like(r#"{"deny": 1, "Asks": 1, "denny": 1, "x": 1}"#, 9),
        "deny=deny Asks=ask denny=deny"
    );
    // Known here, allowed, and nearer to what is known.
    assert_eq!(like(r#"{"task": "", "denied": 1, "tasks": 1, "rule_file": 1}"#, 9), "");
    assert_eq!(like(r#"{"rules": 1, "rule": 1, "ask": 1}"#, 2), "rules=rules rule=rules");
    assert_eq!(like(r#"{"deny": 1}"#, 0), "");
}

#[test]
fn many_unknown_keys_are_counted() {
    let members: Vec<_> = (0..100).map(|n| format!("\"unknown {n}\": 0")).collect();
    let text = format!("{{{}}}", members.join(", "));
    let source = Source::new("f", text);
    let value = json::parse(&source).unwrap();
    let mut findings = Findings::new();
    ObjectReader::new(At::root(&source, &value), &mut findings).unwrap().finish();
    let list = findings.into_vec();
    assert_eq!(list.len(), 17);
    expect!["f:1:264: warning[F0021]: 84 more keys of this object are unknown"]
        .assert_eq(&list[16].to_string());
}

#[test]
fn duplicate_keys() {
    check(
        r#"{"a": 1, "b": 2, "a": 3, "\u0061": 4}"#,
        |r| Ok((r.optional_u64("b")?, r.optional_u64("a")?)),
        expect![[r#"
            Reported(())
            f:1:18: error[F0020]: the key "a" occurs 3 times [/a]
              reason: programs disagree about which one counts, so none is used
              help: remove all but one
              f:1:2: it is here first
              f:1:26: it is here again
        "#]],
    );
    check(
        r#"{"m": {"A": "1", "A": "2"}}"#,
        |r| r.optional_string_map("m").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:18: error[F0020]: the key "A" occurs twice [/m/A]
          reason: programs disagree about which one counts, so none is used
          help: remove all but one
          f:1:8: it is here first
    "#]],
    );
    check(
        r#"{"schema": {"properties": {"a/b": {}, "a/b": {}}, "all": [{"x": 1, "x": 1}]}}"#,
        |r| r.optional_json("schema"),
        expect![[r#"
            Reported(())
            f:1:39: error[F0020]: the key "a/b" occurs twice [/schema/properties/a~1b]
              reason: programs disagree about which one counts, so none is used
              help: remove all but one
              f:1:28: it is here first
            f:1:68: error[F0020]: the key "x" occurs twice [/schema/all/0/x]
              reason: programs disagree about which one counts, so none is used
              help: remove all but one
              f:1:60: it is here first
        "#]],
    );
    // Also a key that is not asked for, and then once only.
    check(
        r#"{"x": 1, "x": 2}"#,
        |_| Ok(()),
        expect![[r#"
        ()
        f:1:10: error[F0020]: the key "x" occurs twice [/x]
          reason: programs disagree about which one counts, so none is used
          help: remove all but one
          f:1:2: it is here first
    "#]],
    );
}

#[test]
fn other_spellings() {
    let read = |r: &mut ObjectReader<'_, '_>| {
        r.also_spelled("work_dir", "working_dir");
        let dir = r.optional_string("work_dir")?.map(str::to_owned);
        Ok((dir, r.source_at("work_dir")))
    };
    check(
        r#"{"work_dir": "/a"}"#,
        read,
        expect![[r#"
        (Some("/a"), "\"/a\"")
    "#]],
    );
    check(
        r#"{"working_dir": "/a"}"#,
        read,
        expect![[r#"
        (Some("/a"), "\"/a\"")
        f:1:2: warning[F0025]: "working_dir" is another spelling of "work_dir" [/working_dir]
          help: write "work_dir"
          suggested: "\"working_dir\"" -> "\"work_dir\""
    "#]],
    );
    check(
        r#"{"working_dir": "/a", "work_dir": "/b"}"#,
        read,
        expect![[r#"
        Reported(())
        f:1:23: error[F0026]: "working_dir" and "work_dir" exclude each other [/work_dir]
          reason: "working_dir" is another spelling of "work_dir"
          help: remove one of them
          f:1:2: "working_dir" is here
    "#]],
    );
    check(
        r#"{"working_dir": null, "work_dir": "/b"}"#,
        read,
        expect![[r#"
        (Some("/b"), "\"/b\"")
    "#]],
    );
    check(
        r#"{"working_dir": 5}"#,
        read,
        expect![[r#"
        Reported(())
        f:1:2: warning[F0025]: "working_dir" is another spelling of "work_dir" [/working_dir]
          help: write "work_dir"
          suggested: "\"working_dir\"" -> "\"work_dir\""
        f:1:17: error[F0023]: "working_dir" must be a string, found the number 5 [/working_dir]
          help: write `"5"`
          suggested: "5" -> "\"5\""
    "#]],
    );
    check(
        r#"{"working_dir": "/a", "working_dir": "/b"}"#,
        read,
        expect![[r#"
        Reported(())
        f:1:2: warning[F0025]: "working_dir" is another spelling of "work_dir" [/working_dir]
          help: write "work_dir"
          suggested: "\"working_dir\"" -> "\"work_dir\""
        f:1:23: error[F0020]: the key "working_dir" occurs twice [/working_dir]
          reason: programs disagree about which one counts, so none is used
          help: remove all but one
          f:1:2: it is here first
    "#]],
    );
    check(
        r#"{"workingDir": "/a"}"#,
        read,
        expect![[r#"
        (None, "{\"workingDir\": \"/a\"}")
        f:1:2: warning[F0021]: unknown key "workingDir" [/workingDir]
          help: did you mean "work_dir"?
          suggested: "\"workingDir\"" -> "\"work_dir\""
    "#]],
    );
}

/// The text of a place, to see that a place follows the spelling.
trait SourceAt {
    fn source_at(&self, key: &str) -> String;
}

impl SourceAt for ObjectReader<'_, '_> {
    fn source_at(&self, key: &str) -> String {
        let at = self.at(key);
        at.source().slice(at.span()).expect("a place is in its text").to_owned()
    }
}

#[test]
fn keys_that_exclude_each_other() {
    let read = |r: &mut ObjectReader<'_, '_>| {
        let why = "the first belongs to templates, the second to argument lists";
        let res = r.exclusive("parameters", "args", why);
        let (one, two) = (r.optional("parameters").is_ok(), r.optional("args").is_ok());
        Ok((res, one, two))
    };
    check(
        r#"{"args": [], "parameters": {}}"#,
        read,
        expect![[r#"
        (Err(Reported(())), false, false)
        f:1:14: error[F0026]: "args" and "parameters" exclude each other [/parameters]
          reason: the first belongs to templates, the second to argument lists
          help: remove one of them
          f:1:2: "args" is here
    "#]],
    );
    check(
        r#"{"args": [], "parameters": null}"#,
        read,
        expect![[r#"
        (Ok(()), true, true)
    "#]],
    );
}
