//! Command lines where a program belongs, and what was probably meant.
//!
//! Other formats write a whole command line in one text. The findings here show that line in the
//! form that this format has, ready to be copied: as `command` and `args`, or as a template.
//! Nothing here decides what runs: a line that is misread costs a poor suggestion.

use flyto_diagnostics::{At, Diagnostic, quoted};
use serde_json::Value;

use crate::codes;

/// The finding that `command`, which holds blanks or `{{`, names no program.
/// The caller has looked before: no file has that name. `args` is the place of the arguments,
/// where the tool has some.
pub(super) fn not_a_program(at: At<'_>, command: &str, args: Option<At<'_>>) -> Diagnostic {
    if command.contains("{{") {
        return template(at, command, args);
    }
    let has_args = args.is_some();
    let what = format!("{} is a command line, and no program has that name", quoted(command));
    let diag = at.error(codes::COMMAND_LINE, what).with_reason(
        "\"command\" is one program and \"args\" are its arguments; no shell is involved",
    );
    let (program, args) = match plain_words(command) {
        Some(mut words) if !words.is_empty() => (words.remove(0), words),
        _ => ("sh".to_owned(), vec!["-c".to_owned(), command.to_owned()]),
    };
    let meant = format!("{}, \"args\": {}", Value::from(program), spaced(&args));
    if has_args {
        let first = "put these in front of the arguments that are there";
        diag.with_help(format!("write `\"command\": {meant}`, and {first}"))
    } else {
        diag.with_help(format!("write `\"command\": {meant}`")).with_suggestion(at.span(), meant)
    }
}

/// The finding about a placeholder in `command` of an argv tool, with the tool as a template as
/// help.
fn template(at: At<'_>, command: &str, args: Option<At<'_>>) -> Diagnostic {
    let what = format!("{} has a placeholder, and nothing is put into a command", quoted(command));
    at.error(codes::PLACEHOLDER, what)
        .with_reason("the program of this form reads the input as JSON from stdin")
        .with_help(format!("take it from there; {}", as_template(command, args)))
}

/// What the tool would be as a template: its keys, with the command line in one piece.
/// A leading `./` becomes `"$PLUGIN_ROOT/…"`, because a template starts in the session's
/// directory.
pub(super) fn as_template(command: &str, args: Option<At<'_>>) -> String {
    let mut line = match command.strip_prefix("./") {
        Some(file) => format!("\"$PLUGIN_ROOT/{file}\""),
        None => command.to_owned(),
    };
    for arg in args.iter().flat_map(|it| it.items()) {
        line += " ";
        line += &word(arg.value().as_str().unwrap_or("…"));
    }
    format!(
        "or write a template, which has \"parameters\" in place of \"input_schema\", no \"args\", and \
         starts where the session works: `\"parameters\": {{…}}, \"command\": {}`",
        Value::from(line)
    )
}

/// An array of strings with a blank behind each comma, as people write it.
///
/// Each item is a JSON string, with its escapes.
pub(super) fn spaced(array: &[impl AsRef<str>]) -> String {
    let items: Vec<_> = array.iter().map(|it| Value::from(it.as_ref()).to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// A text as one word of a template, in which placeholders stay what they are.
/// Anything but letters, digits and a few signs is put in single quotes.
pub(super) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%={}".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The words of a line that a shell would only split; `None` where it would do more.
/// More is: expansions, patterns, redirections, several commands, assignments, comments, quotes
/// that are not closed, and escapes within double quotes. An empty line has no words.
pub(super) fn plain_words(line: &str) -> Option<Vec<String>> {
    let mut res = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => res.extend(word.take()),
            '\'' => {
                let (quoted, rest) = chars.as_str().split_once('\'')?;
                word.get_or_insert_default().push_str(quoted);
                chars = rest.chars();
            }
            '"' => {
                let (quoted, rest) = chars.as_str().split_once('"')?;
                if quoted.contains(['$', '`', '\\']) {
                    return None;
                }
                word.get_or_insert_default().push_str(quoted);
                chars = rest.chars();
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            // An assignment in front of the program, and a comment or home directory at the start of
            // a word, are the shell's too.
            '=' if res.is_empty() => return None,
            '#' | '~' if word.is_none() => return None,
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '[' | '{' | '\n'
            | '\r' => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    res.extend(word);
    Some(res)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Expect) {
        expect.assert_eq(&format!("{:?}", plain_words(line)));
    }

    #[test]
    fn lines_that_need_no_shell() {
        check("git status  --porcelain", expect![[r#"Some(["git", "status", "--porcelain"])"#]]);
        check(
            r#"grep -e 'a b' "c d" e\ f ''"#,
            expect![[r#"Some(["grep", "-e", "a b", "c d", "e f", ""])"#]],
        );
        check("a --b=c x~ #", expect!["None"]);
        check("a --b=c x~#", expect![[r#"Some(["a", "--b=c", "x~#"])"#]]);
    }

    #[test]
    fn lines_that_need_one() {
        for line in
            ["a | b", "a && b", "a > b", "echo $HOME", "X=1 a", "a *", "a ~/b", "a 'b", r#"a "$b""#]
        {
            assert_eq!(plain_words(line), None, "{line}");
        }
    }
}
