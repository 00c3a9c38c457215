//! The input of a call, from the words of a command line.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;

use flyto_diagnostics::{At, Diagnostic, Findings, Source, json, quoted};
use flyto_tools::{Input, InputError};
use serde_json::Value;

use crate::args::InputWords;
use crate::exit::Why;
use crate::stop::Stop;
use crate::words;

/// Puts the input together. `stdin` is read for `--json -` alone.
///
/// With `--json`, the input is the text byte for byte; with pairs, numbers keep their spelling.
pub(crate) fn input(args: &InputWords, stdin: impl Read) -> Result<Input, Stop> {
    match &args.json {
        None => of_pairs(&args.pairs),
        Some(_) if !args.pairs.is_empty() => {
            Err(Stop::usage("the input is given twice: by --json and by pairs")
                .with_help("put everything into --json, or leave --json out"))
        }
        Some(text) => of_option("--json", text, stdin),
    }
}

/// The input that an option has as JSON, byte for byte; `-` reads it from `stdin`.
pub(super) fn of_option(option: &str, text: &OsStr, stdin: impl Read) -> Result<Input, Stop> {
    if text == "-" {
        return of_json("stdin", read(stdin, MAX_STDIN_BYTES)?);
    }
    let text = text.to_str().ok_or_else(|| Stop::usage(format!("{option} is not UTF-8")))?;
    of_json(option, text.to_owned())
}

/// The longest input that is read, far beyond any that a tool is made for: something that never ends
/// is to fail before the memory does.
const MAX_STDIN_BYTES: u64 = 256 << 20;

fn read(stdin: impl Read, max_bytes: u64) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    stdin
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|err| Stop::usage(format!("stdin cannot be read: {err}")))?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("the input on stdin is longer than {}", words::bytes(max_bytes));
        return Err(Stop::usage(message).with_help(
            "give the tool the name of a file, if it takes one, instead of the content",
        ));
    }
    String::from_utf8(bytes).map_err(|err| {
        let finding = Source::from_bytes("stdin", err.into_bytes()).err();
        Stop::usage("the input on stdin is not UTF-8").with_findings(finding.map(|it| *it))
    })
}

fn of_json(name: &str, text: String) -> Result<Input, Stop> {
    if text.trim_ascii().is_empty() {
        let option = if name == "--call" { name } else { "--json" };
        return Err(Stop::usage(format!("the input of {name} is empty"))
            .with_help(format!("write {{}} for an input without values, or leave {option} out")));
    }
    // The text is needed again only to show what is wrong with it.
    Input::parse(&*text).map_err(|err| bad_json(name, text, &err))
}

fn of_pairs(pairs: &[impl AsRef<OsStr>]) -> Result<Input, Stop> {
    let mut text = String::from("{");
    let mut keys = BTreeSet::new();
    for pair in pairs {
        let pair = pair.as_ref();
        let shown = pair.to_string_lossy();
        let pair = pair
            .to_str()
            .ok_or_else(|| Stop::usage(format!("the argument {} is not UTF-8", quoted(&shown))))?;
        let (key, value) = pair.split_once('=').ok_or_else(|| no_pair(pair))?;
        let (key, is_json) = match key.strip_suffix(':') {
            Some(key) => (key, true),
            None => (key, false),
        };
        if key.is_empty() {
            return Err(Stop::usage(format!("the argument {} has no key", quoted(pair)))
                .with_help("write key=text or key:=JSON"));
        }
        if !keys.insert(key) {
            return Err(Stop::usage(format!("the key {} is given twice", quoted(key)))
                .with_help(format!("for an array, write {key}:='[…]'")));
        }
        if keys.len() > 1 {
            text.push(',');
        }
        text.push_str(&Value::from(key).to_string());
        text.push(':');
        if is_json {
            if let Err(err) = Input::parse(value) {
                return Err(bad_json(&format!("the value of {key}"), value.to_owned(), &err)
                    .with_help(format!("for the text as it is, write {key}=…")));
            }
            text.push_str(value);
        } else {
            text.push_str(&Value::from(value).to_string());
        }
    }
    text.push('}');
    // Each value was read by itself, and all together may still be too many.
    Input::parse(&*text).map_err(|err| bad_json("the input", text, &err))
}

fn no_pair(word: &str) -> Stop {
    let stop = Stop::usage(format!("the argument {} is no pair of key and value", quoted(word)));
    if word.trim_start().starts_with(['{', '[']) {
        stop.with_help("for an input as JSON, write --json before it")
    } else {
        stop.with_help("write key=text, or key:=JSON for numbers, booleans, arrays and objects")
    }
}

/// Says what is wrong with a text that is no input, and shows where.
fn bad_json(name: &str, text: String, err: &InputError) -> Stop {
    if let InputError::TooManyValues { .. } = err {
        let help = "give the tool the name of a file, if it takes one, instead of the content";
        return Stop::new(Why::Broken, format!("{name}: {err}")).with_help(help);
    }
    let source = Source::new(name, text);
    let mut findings = Findings::new();
    match json::parse(&source) {
        Ok(value) => {
            // What follows from it is the error that is at hand.
            let _ = At::root(&source, &value).refuse_duplicate_keys(&mut findings);
        }
        Err(finding) => {
            findings.push(finding);
        }
    }
    let findings: Vec<Diagnostic> = findings.into_vec();
    // The two readers agree about what JSON is, but not about how large it may be.
    let message =
        if findings.is_empty() { err.to_string() } else { format!("{name} is not usable JSON") };
    Stop::new(Why::Usage, message).with_findings(findings)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::screen::Page;

    #[track_caller]
    fn check(words: &[&str], expect: Expect) {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        expect.assert_eq(&shown(of_pairs(&words)));
    }

    #[track_caller]
    fn check_json(text: &str, expect: Expect) {
        expect.assert_eq(&shown(of_json("--json", text.into())));
    }

    fn shown(res: Result<Input, Stop>) -> String {
        match res {
            Ok(input) => input.as_str().to_owned(),
            Err(Stop::Error(trouble)) => trouble.text(Page::default()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn pairs_are_strings_or_json() {
        check(&[], expect!["{}"]);
        check(&["a=1", "b:=1", "c=", "d:=\"x\""], expect![[r#"{"a":"1","b":1,"c":"","d":"x"}"#]]);
        check(
            &["a==b", "b:c=d", "e.f=g", "h=:=i"],
            expect![[r#"{"a":"=b","b:c":"d","e.f":"g","h":":=i"}"#]],
        );
        check(&["n:=-1", "r=-rf"], expect![[r#"{"n":-1,"r":"-rf"}"#]]);
    }

    #[test]
    fn numbers_keep_their_spelling() {
        check(
            &["a:=1.50", "b:= 1e400"],
            expect![[r#"
                error[F0010]: the number 1e400 is too large
                 --> the value of b:1:2
                  |
                1 |  1e400
                  |  ^^^^^
                  |
                  = help: the size of a number is at most about 1.8e308

                error: the value of b is not usable JSON
                  help: for the text as it is, write b=…
            "#]],
        );
        check(
            &["a:=12345678901234567890123", "b:={ \"x\" : [ ] }"],
            expect![[r#"{"a":12345678901234567890123,"b":{ "x" : [ ] }}"#]],
        );
    }

    #[test]
    fn values_are_literal() {
        check(
            &["a='; touch pwned", "b=$(id)\n`id`", "c={{x}}"],
            expect![[r#"{"a":"'; touch pwned","b":"$(id)\n`id`","c":"{{x}}"}"#]],
        );
    }

    #[test]
    fn what_is_no_pair_is_explained() {
        check(
            &["foo"],
            expect![[r#"
            error: the argument "foo" is no pair of key and value
              help: write key=text, or key:=JSON for numbers, booleans, arrays and objects
        "#]],
        );
        check(
            &["{\"a\": 1}"],
            expect![[r#"
            error: the argument "{\"a\": 1}" is no pair of key and value
              help: for an input as JSON, write --json before it
        "#]],
        );
        check(
            &["=x"],
            expect![[r#"
            error: the argument "=x" has no key
              help: write key=text or key:=JSON
        "#]],
        );
        check(
            &[":=1"],
            expect![[r#"
            error: the argument ":=1" has no key
              help: write key=text or key:=JSON
        "#]],
        );
        check(
            &["a=1", "a:=2"],
            expect![[r#"
            error: the key "a" is given twice
              help: for an array, write a:='[…]'
        "#]],
        );
    }

    #[test]
    fn broken_json_has_a_place() {
        check(
            &["a:=tru"],
            expect![[r#"
                error[F0009]: "tru" is not a word of JSON
                 --> the value of a:1:1
                  |
                1 | tru
                  | ^^^
                  |
                help: write `true`
                  |
                1 | true
                  |    +

                error: the value of a is not usable JSON
                  help: for the text as it is, write a=…
            "#]],
        );
        check(
            &["a:={\"x\": 1, \"x\": 2}"],
            expect![[r#"
                error[F0020]: the key "x" occurs twice
                 --> the value of a:1:10
                  |
                1 | {"x": 1, "x": 2}
                  |  ---     ^^^
                  |  |
                  |  it is here first
                  |
                  = at: /x
                  = note: programs disagree about which one counts, so none is used
                  = help: remove all but one

                error: the value of a is not usable JSON
                  help: for the text as it is, write a=…
            "#]],
        );
        check_json(
            "{\"a\": 1,}",
            expect![[r#"
                error[F0007]: a comma behind the last member of an object
                 --> --json:1:8
                  |
                1 | {"a": 1,}
                  |        ^
                  |
                help: remove the comma
                  |
                1 - {"a": 1,}
                1 + {"a": 1}
                  |

                error: --json is not usable JSON
            "#]],
        );
        check_json(
            "{\"a\": 1} 2",
            expect![[r#"
                error[F0013]: expected the end of the file, found the number 2
                 --> --json:1:10
                  |
                1 | {"a": 1} 2
                  |        - ^
                  |        |
                  |        the document ends here
                  |
                  = help: a file holds one JSON value; put several into an array, as in `[…, …]`

                error: --json is not usable JSON
            "#]],
        );
        check_json(
            " \n",
            expect![[r#"
            error: the input of --json is empty
              help: write {} for an input without values, or leave --json out
        "#]],
        );
    }

    #[test]
    fn json_passes_byte_for_byte() {
        for text in [" {\"b\":  1.50,\"a\":\"\\u0000\"}\n", "[ ]", "5"] {
            assert_eq!(shown(of_json("--json", text.into())), text);
        }
    }

    #[test]
    fn stdin_has_an_end() {
        assert_eq!(read(&b"[1]"[..], 3).unwrap(), "[1]");
        expect![[r#"
            error: the input on stdin is longer than 2.0 KiB
              help: give the tool the name of a file, if it takes one, instead of the content
        "#]]
        .assert_eq(&shown(read(std::io::repeat(b' '), 2048).and_then(|it| of_json("stdin", it))));
    }

    #[test]
    fn stdin_must_be_text() {
        let args = |json: &str, pairs: &[&str]| {
            let words =
                ["flyto", "call", "t", "--json", json].into_iter().chain(pairs.iter().copied());
            let words: Vec<OsString> = words.map(Into::into).collect();
            match crate::args::Args::parse_words(&words).unwrap().verb {
                crate::args::Verb::Call(call) => call.input,
                other => panic!("{other:?}"),
            }
        };
        expect![[r#"
            error[F0002]: byte 0xFF is not UTF-8
             --> stdin:1:8
              |
            1 | {"a": "�"}
              |        ^
              |
              = help: save the file as UTF-8

            error: the input on stdin is not UTF-8
        "#]]
        .assert_eq(&shown(input(&args("-", &[]), &b"{\"a\": \"\xff\"}"[..])));
        expect!["{}"].assert_eq(&shown(input(&args("-", &[]), &b"{}"[..])));
        expect![[r#"
            error: the input is given twice: by --json and by pairs
              help: put everything into --json, or leave --json out
        "#]]
        .assert_eq(&shown(input(&args("{}", &["a=b"]), &b""[..])));
    }
}
