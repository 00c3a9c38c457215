//! Commands with placeholders: `{{.name}}` becomes the variable of a parameter, quoted for its context.
//!
//! A value is never part of the text that bash reads. [`parse`] reads what of bash's grammar it knows exactly, and
//! refuses the rest where there are placeholders; [`lint`] refuses a placeholder where bash, or a program that it starts,
//! would take the value for code. A text without placeholders is not looked at.
//!
//! Where the code argument of a common program is concerned, the tables refuse what those of template tools in a manifest
//! refuse. They differ on purpose in two points. This text is for bash alone and a person reads it, so operators and
//! compound commands are read and not refused. It runs with the environment of the user, so a value is no file of a script
//! either, and no argument of `make` and of the builtins that load code.

mod lint;
mod parse;

use std::ops::Range;

use super::variables::variable_name;

/// A command as bash gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The text.
    pub(crate) text: String,
    /// Parameters whose values begin a word, so that a program may read them as options.
    pub(crate) may_be_options: Vec<String>,
}

/// Why a command cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFault {
    /// The byte of the text at which it shows.
    pub(crate) at: usize,
    pub(crate) what: String,
    pub(crate) help: String,
}

impl TemplateFault {
    fn new(at: usize, what: impl Into<String>) -> Self {
        let help =
            "make it a tool of the type \"script\", which reads \"$TOOL_INPUT_NAME\"".to_owned();
        Self { at, what: what.into(), help }
    }

    /// A placeholder where its value would be code; `place` follows the word "stands".
    fn code(at: usize, name: &str, place: &str) -> Self {
        let help = format!(
            "hand the value over as an argument, as in `bash -c '… \"$1\"' _ {{{{.{name}}}}}`, where it is \"$1\""
        );
        Self {
            at,
            what: format!("`{{{{.{name}}}}}` stands {place}, so the caller would decide what runs"),
            help,
        }
    }
}

/// A placeholder in a text.
struct Placeholder<'a> {
    name: &'a str,
    variable: String,
    span: Range<usize>,
}

/// The longest name of a parameter in a placeholder, with blanks around it, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The placeholder that begins at this byte: `{{.name}}` with the name of a parameter, blanks allowed. Other text in
/// double braces belongs to other programs, such as `docker ps --format '{{.Names}}'`.
fn placeholder_at<'a>(
    text: &'a str,
    at: usize,
    is_parameter: &dyn Fn(&str) -> bool,
) -> Option<Placeholder<'a>> {
    let inside = text.get(at..)?.strip_prefix("{{")?;
    let close = inside.as_bytes().windows(2).take(MAX_NAME_BYTES).position(|it| it == b"}}")?;
    let name = inside[..close].trim_matches([' ', '\t']).strip_prefix('.')?;
    let variable = variable_name(name).filter(|_| is_parameter(name))?;
    Some(Placeholder { name, variable, span: at..at + close + 4 })
}

/// The text that bash gets for a command; time is linear in it.
pub(crate) fn render(
    text: &str,
    is_parameter: impl Fn(&str) -> bool,
) -> Result<Rendered, TemplateFault> {
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        at += found;
        if placeholder_at(text, at, &is_parameter).is_some() {
            return parse::Parser::new(text, &is_parameter).run();
        }
        at += 1;
    }
    Ok(Rendered { text: text.to_owned(), may_be_options: Vec::new() })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let res = render(text, |it| matches!(it, "x" | "y" | "dry-run"));
        expect.assert_eq(&res.map_or_else(|err| format!("{}: {}", err.at, err.what), |it| it.text));
    }

    #[test]
    fn a_placeholder_is_quoted_for_its_context() {
        check("wc -l {{.x}}", expect![[r#"wc -l "$TOOL_INPUT_X""#]]);
        check("wc -l {{ .dry-run }}z", expect![[r#"wc -l "$TOOL_INPUT_DRY_RUN"z"#]]);
        check(r#"echo "a {{.x}}b""#, expect![[r#"echo "a ${TOOL_INPUT_X}b""#]]);
        check("echo 'a {{.x}} b'", expect![[r#"echo 'a '"$TOOL_INPUT_X"' b'"#]]);
        check(
            r#"echo "$(cat {{.x}} | tr a b)""#,
            expect![[r#"echo "$(cat "$TOOL_INPUT_X" | tr a b)""#]],
        );
        check("cat <<< {{.x}} > {{.y}}", expect![[r#"cat <<< "$TOOL_INPUT_X" > "$TOOL_INPUT_Y""#]]);
        check(
            "cd {{.x}} && make 2>&1 | tail # {{.x}}",
            expect![[r#"cd "$TOOL_INPUT_X" && make 2>&1 | tail # {{.x}}"#]],
        );
        check(
            "for f in {{.x}} *.c; do cc {{.y}} \"$f\"; done",
            expect![[r#"for f in "$TOOL_INPUT_X" *.c; do cc "$TOOL_INPUT_Y" "$f"; done"#]],
        );
        check("bash -c 'wc \"$1\"' _ {{.x}}", expect![[r#"bash -c 'wc "$1"' _ "$TOOL_INPUT_X""#]]);
        check(
            "diff <(sort {{.x}}) <(sort {{.y}})",
            expect![[r#"diff <(sort "$TOOL_INPUT_X") <(sort "$TOOL_INPUT_Y")"#]],
        );
        check(
            "[ {{.x}} = yes ] && (cd /; ls {{.y}})",
            expect![[r#"[ "$TOOL_INPUT_X" = yes ] && (cd /; ls "$TOOL_INPUT_Y")"#]],
        );
    }

    #[test]
    fn texts_of_other_programs_stay() {
        check("docker ps --format '{{.Names}}'", expect!["docker ps --format '{{.Names}}'"]);
        check("echo {{x}} `date` $((1+1))", expect!["echo {{x}} `date` $((1+1))"]);
        check(
            "docker ps --format '{{.Names}}' -f {{.x}}",
            expect![[r#"docker ps --format '{{.Names}}' -f "$TOOL_INPUT_X""#]],
        );
    }

    #[test]
    fn a_placeholder_that_would_be_code_is_refused() {
        let code = [
            "{{.x}} a",
            "A={{.x}} ls",
            "A={{.x}}",
            "eval {{.x}}",
            "bash -c {{.x}}",
            "timeout --signal KILL 5 {{.x}}",
            "sudo --user bob {{.x}}",
            "time -p {{.x}}",
            "time -- {{.x}}",
            "jobs -x {{.x}}",
            "bash -c -- {{.x}}",
            "bash -c -x +e {{.x}}",
            "sh -ec 'a {{.x}}'",
            "bash {{.x}}",
            "python3 -c \"print({{.x}})\"",
            "sudo {{.x}}",
            "nice -n 5 {{.x}}",
            "sudo -u bob {{.x}}",
            "env A=1 {{.x}}",
            "xargs {{.x}}",
            "xargs -n 1 sh -c {{.x}}",
            "timeout 5 {{.x}}",
            "timeout 5 bash -c {{.x}}",
            "ssh host ls {{.x}}",
            "awk {{.x}} f",
            "sed -e {{.x}} f",
            "sed p -e {{.x}}",
            "find . -exec {{.x}} \\;",
            "find . -exec sh -c {{.x}} \\;",
            "export {{.x}}",
            "read {{.x}}",
            "unset {{.x}}",
            "printf -v {{.x}} 1",
            "printf {{.x}}",
            "test -v {{.x}}",
            "[ {{.x}} {{.y}} ]",
            "[[ a -eq {{.x}} ]]",
            "for {{.x}} in a; do :; done",
            "$CMD {{.x}}",
            "2>/dev/null eval {{.x}}",
            "docker exec c sh -c {{.x}}",
            "if {{.x}}; then :; fi",
            "! {{.x}}",
            "a; {{.x}}",
            "a | {{.x}}",
            "a && {{.x}}",
            "(a; {{.x}})",
            "\"$({{.x}})\"",
            "echo >&{{.x}}",
            "make {{.x}}",
            "git -c {{.x}} log",
            "command eval {{.x}}",
            "\\eval {{.x}}",
            "'eval' {{.x}}",
            "/bin/bash -c {{.x}}",
            "time {{.x}}",
            "perl -pe {{.x}} f",
            "node --eval {{.x}}",
            "env -S {{.x}}",
            ". {{.x}}",
            "source {{.x}}",
            "trap {{.x}} EXIT",
            "coproc {{.x}}",
        ];
        for text in code {
            let found = render(text, |it| matches!(it, "x" | "y"));
            let fault = found.expect_err(text);
            assert!(fault.what.contains("so the caller would decide"), "{text}: {}", fault.what);
        }
    }

    #[test]
    fn what_is_not_read_exactly_is_refused() {
        for text in [
            "echo `cat {{.x}}`",
            "echo $(( {{.x}} + 1 ))",
            "(( {{.x}} ))",
            "echo ${A:-{{.x}}}",
            "cat << E\n{{.x}}\nE",
            "echo \\{{.x}}",
            "echo ${{.x}}",
            "echo $'{{.x}}'",
            "echo $\"{{.x}}\"",
            "a=({{.x}})",
            "f() { ls {{.x}}; }",
            "case {{.x}} in a) ls;; esac",
            "echo 'a {{.x}}",
            "echo \"{{.x}}",
            "echo $(ls {{.x}}",
            "ls {{.x}} )",
            "echo $[{{.x}}]",
            "echo @(a|{{.x}})",
            "{fd}> {{.x}} ls",
            "function f { ls {{.x}}; }",
        ] {
            assert!(render(text, |it| it == "x").is_err(), "{text}");
        }
    }

    #[test]
    fn values_that_programs_may_read_as_options_are_told() {
        let res = render("rm {{.x}} -- {{.y}}; ls a{{.y}}", |it| matches!(it, "x" | "y")).unwrap();
        assert_eq!(res.may_be_options, ["x"]);
    }
}
