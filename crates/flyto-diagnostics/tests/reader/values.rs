//! Values of the right and of the wrong type.

use expect_test::expect;
use flyto_diagnostics::{At, Findings, MAX_ENTRIES, ObjectReader, Source, json};

use super::check;

#[test]
fn what_fits_is_read_without_a_word() {
    check(
        r#"{"s": "x", "b": true, "u": 3e1, "i": -4.0, "f": 1.5, "o": {}, "a": [1], "n": null,
            "list": ["p", "q"], "map": {"k": "v", "": "w"}, "json": {"z": [1, null]}, "mode": "b"}"#,
        |r| {
            let strings = (r.required_string("s")?.to_owned(), r.optional_string("n")?.is_none());
            let numbers = (r.optional_u64("u")?, r.optional_i64("i")?, r.optional_f64("f")?);
            let parts = (
                r.required_object("o")?.members().len(),
                r.required_array("a")?.items().len(),
                r.optional_object("absent")?.is_none(),
            );
            let list = r.required_string_array("list")?.concat();
            let map = format!("{:?}", r.optional_string_map("map")?);
            let json = r.optional_json("json")?.map(|it| it.to_string());
            let mode = r.optional_one_of("mode", &[("a", 1), ("b", 2)])?;
            Ok((strings, r.optional_bool("b")?, numbers, parts, list, map, json, mode))
        },
        expect![[r#"
            (("x", true), Some(true), (Some(30), Some(-4), Some(1.5)), (0, 1, true), "pq", "Some([(\"k\", \"v\"), (\"\", \"w\")])", Some("{\"z\":[1,null]}"), Some(2))
        "#]],
    );
}

#[test]
fn null_counts_as_left_out() {
    check(
        r#"{"s": null, "u": null, "a": null, "json": null}"#,
        |r| {
            let any = r.optional("s")?.map(|at| at.value().describe());
            let typed = (r.optional_string("s")?.is_some(), r.optional_u64("u")?);
            let list = r.optional_string_array("a")?.is_some();
            Ok((any, typed, list, r.optional_json("json")?))
        },
        expect![[r#"
            (Some("null"), (false, None), false, Some(Null))
        "#]],
    );
    check(
        r#"{"s": null}"#,
        |r| r.required_string("s").map(str::to_owned),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "s" must be a string, found null [/s]
    "#]],
    );
}

#[test]
fn wrong_types() {
    check(
        r#"{"s": 1.50}"#,
        |r| r.required_string("s").map(str::to_owned),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "s" must be a string, found the number 1.50 [/s]
          help: write `"1.50"`
          suggested: "1.50" -> "\"1.50\""
    "#]],
    );
    check(
        r#"{"s": ["x"]}"#,
        |r| r.required_string("s").map(str::to_owned),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "s" must be a string, found an array [/s]
    "#]],
    );
    check(
        r#"{"b": "True"}"#,
        |r| r.optional_bool("b"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "b" must be `true` or `false`, found the string "True" [/b]
          help: write `true`
          suggested: "\"True\"" -> "true"
    "#]],
    );
    check(
        r#"{"b": 1}"#,
        |r| r.optional_bool("b"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "b" must be `true` or `false`, found the number 1 [/b]
    "#]],
    );
    check(
        r#"{"u": "30"}"#,
        |r| r.optional_u64("u"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "u" must be a whole number that is not negative, found the string "30" [/u]
          help: write `30`
          suggested: "\"30\"" -> "30"
    "#]],
    );
    check(
        r#"{"f": "30s"}"#,
        |r| r.optional_f64("f"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "f" must be a number, found the string "30s" [/f]
    "#]],
    );
    check(
        r#"{"a": "ls"}"#,
        |r| r.optional_array("a").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "a" must be an array, found the string "ls" [/a]
          help: write `["ls"]`
          suggested: "\"ls\"" -> "[\"ls\"]"
    "#]],
    );
    check(
        r#"{"a": "ls"}"#,
        |r| r.required_string_array("a").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "a" must be an array of strings, found the string "ls" [/a]
          help: write `["ls"]`
          suggested: "\"ls\"" -> "[\"ls\"]"
    "#]],
    );
    check(
        r#"{"o": []}"#,
        |r| r.required_object("o").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "o" must be an object, found an array [/o]
    "#]],
    );
    check(
        r#"{"m": "A=1"}"#,
        |r| r.optional_string_map("m").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:7: error[F0023]: "m" must be an object of strings, found the string "A=1" [/m]
    "#]],
    );
    check(
        "[]",
        |_| Ok(()),
        expect![[r#"
        f:1:1: error[F0023]: the document must be an object, found an array []
    "#]],
    );
}

#[test]
fn wrong_numbers() {
    check(
        r#"{"u": -1}"#,
        |r| r.optional_u64("u"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0024]: "u" must be a whole number that is not negative, found the number -1 [/u]
    "#]],
    );
    check(
        r#"{"u": 1.5}"#,
        |r| r.optional_u64("u"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0024]: "u" must be a whole number that is not negative, found the number 1.5 [/u]
    "#]],
    );
    check(
        r#"{"u": 18446744073709551615}"#,
        |r| r.optional_u64("u"),
        expect![[r#"
        Some(18446744073709551615)
    "#]],
    );
    check(
        r#"{"u": 18446744073709551616}"#,
        |r| r.optional_u64("u"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0024]: "u" must be a whole number that is not negative, found the number 18446744073709551616 [/u]
          help: write digits only, in the range 0 to 18446744073709551615
    "#]],
    );
    check(
        r#"{"i": -9223372036854775809}"#,
        |r| r.optional_i64("i"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0024]: "i" must be a whole number, found the number -9223372036854775809 [/i]
          help: write digits only, in the range -9223372036854775808 to 9223372036854775807
    "#]],
    );
    check(
        r#"{"i": 1e300}"#,
        |r| r.optional_i64("i"),
        expect![[r#"
        Reported(())
        f:1:7: error[F0024]: "i" must be a whole number, found the number 1e300 [/i]
          help: write digits only, in the range -9223372036854775808 to 9223372036854775807
    "#]],
    );
}

#[test]
fn wrong_items() {
    check(
        r#"{"a": ["x", 1, "y", null]}"#,
        |r| r.required_string_array("a").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:13: error[F0023]: "a[1]" must be a string, found the number 1 [/a/1]
          help: write `"1"`
          suggested: "1" -> "\"1\""
        f:1:21: error[F0023]: "a[3]" must be a string, found null [/a/3]
    "#]],
    );
    check(
        r#"{"m": {"A": 1, "B": "x"}}"#,
        |r| r.optional_string_map("m").map(|_| ()),
        expect![[r#"
        Reported(())
        f:1:13: error[F0023]: "A" must be a string, found the number 1 [/m/A]
          help: write `"1"`
          suggested: "1" -> "\"1\""
    "#]],
    );
    let many = format!(r#"{{"a": [{}0]}}"#, "0,".repeat(1000));
    let source = Source::new("f", many);
    let value = json::parse(&source).unwrap();
    let mut findings = Findings::new();
    let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings).unwrap();
    assert!(reader.required_string_array("a").is_err());
    assert_eq!(findings.iter().count(), 16);
}

#[test]
fn one_of_a_few_words() {
    let modes = [("filesystem_read", 1), ("filesystem_write", 2), ("shell", 3)];
    check(
        r#"{"mode": "Shell"}"#,
        |r| r.optional_one_of("mode", &modes),
        expect![[r#"
        Reported(())
        f:1:10: error[F0024]: "mode" must be one of "filesystem_read", "filesystem_write", "shell", found the string "Shell" [/mode]
          help: did you mean "shell"?
          suggested: "\"Shell\"" -> "\"shell\""
    "#]],
    );
    check(
        r#"{"mode": "fs"}"#,
        |r| r.optional_one_of("mode", &modes),
        expect![[r#"
        Reported(())
        f:1:10: error[F0024]: "mode" must be one of "filesystem_read", "filesystem_write", "shell", found the string "fs" [/mode]
          help: write "filesystem_read" or "filesystem_write" or "shell"
    "#]],
    );
    check(
        r#"{"mode": 3}"#,
        |r| r.optional_one_of("mode", &modes),
        expect![[r#"
        Reported(())
        f:1:10: error[F0023]: "mode" must be a string, found the number 3 [/mode]
          help: write `"3"`
          suggested: "3" -> "\"3\""
    "#]],
    );
    check(
        r#"{"mode": "rpc"}"#,
        |r| r.optional_one_of("mode", &[("jsonrpc", ())]),
        expect![[r#"
        Reported(())
        f:1:10: error[F0024]: "mode" must be "jsonrpc", found the string "rpc" [/mode]
          help: write "jsonrpc"
    "#]],
    );
}

#[test]
fn a_bad_part_costs_itself_only() {
    let text = r#"{"tools": [{"name": "a"}, {"nam": "b"}, 7, {"name": "d", "args": [1]}]}"#;
    check(
        text,
        |r| {
            let mut names = Vec::new();
            for tool in r.required_array("tools")?.items() {
                let Ok(mut reader) = ObjectReader::new(tool, r.findings()) else { continue };
                let name = reader.required_string("name");
                let args = reader.optional_string_array("args");
                reader.finish();
                if let (Ok(name), Ok(_)) = (name, args) {
                    names.push(name.to_owned());
                }
            }
            Ok(names)
        },
        expect![[r#"
            ["a"]
            f:1:27: error[F0022]: the key "name" is missing [/tools/1]
              help: "nam" looks like it; write "name"
              f:1:28: this key is unknown
              suggested: "\"nam\"" -> "\"name\""
            f:1:41: error[F0023]: "tools[2]" must be an object, found the number 7 [/tools/2]
            f:1:67: error[F0023]: "args[0]" must be a string, found the number 1 [/tools/3/args/0]
              help: write `"1"`
              suggested: "1" -> "\"1\""
        "#]],
    );
    check(
        "{\"a\": [[0, {\"b\": [\"x\"]}]]}",
        |r| {
            let at = r.at("a").at_pointer("/0/1").unwrap();
            let mut reader = ObjectReader::new(at, r.findings())?;
            reader.optional_u64("b").map(|_| ())
        },
        expect![[r#"
            Reported(())
            f:1:2: warning[F0021]: unknown key "a" [/a]
              help: remove the key
            f:1:18: error[F0023]: "b" must be a whole number that is not negative, found an array [/a/0/1/b]
        "#]],
    );
}

#[test]
fn entries_have_a_limit() {
    let array = |n: usize| format!("{{\"k\": [{}]}}", vec!["1"; n].join(","));
    let read = |text: &str| {
        let source = Source::new("f", text);
        let value = json::parse(&source).expect("JSON");
        let mut findings = Findings::new();
        let mut reader =
            ObjectReader::new(At::root(&source, &value), &mut findings).expect("an object");
        let n = reader.optional_array("k").map(|it| it.map_or(0, |it| it.items().len()));
        reader.finish();
        (n, findings.into_vec().first().map(ToString::to_string))
    };
    assert_eq!(read(&array(MAX_ENTRIES)), (Ok(MAX_ENTRIES), None));
    let (n, shown) = read(&array(MAX_ENTRIES + 1));
    assert!(n.is_err());
    expect!["f:1:20008: error[F0014]: there are 10001 entries, and 10000 are the most"]
        .assert_eq(&shown.expect("a finding"));
    let members: Vec<_> = (0..=MAX_ENTRIES).map(|it| format!("\"{it}\": \"\"")).collect();
    check(
        &format!("{{\"k\": {{{}}}}}", members.join(",")),
        |reader| reader.optional_string_map("k").map(|it| it.is_some()),
        expect![[r#"
            Reported(())
            f:1:108907: error[F0014]: there are 10001 entries, and 10000 are the most [/k/10000]
              help: remove those that are not needed, or put them into several files
        "#]],
    );
}
