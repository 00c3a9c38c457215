//! What a text is refused for, whatever its programs are.
//!
//! `{}` stands for the part of the text that is at fault. The files `codes/F0150.md` to
//! `codes/F0152.md` tell more.

use std::ops::Range;

use flyto_diagnostics::{Code, codes::BAD_VALUE};

use super::fault::Fault;
use crate::codes::{SHELL_OPERATOR, TEMPLATE_SYNTAX};

/// One reason to refuse a text: the code, what is wrong, and what to write instead, where that is
/// not plain.
pub(super) struct Refused(Code, &'static str, &'static str);

impl Refused {
    /// The fault at some bytes of the text.
    pub(super) fn at(&self, span: Range<usize>, part: &str) -> Box<Fault> {
        let help = Some(self.2.replace("{}", part)).filter(|it| !it.is_empty());
        Box::new(Fault {
            code: self.0,
            span,
            what: self.1.replace("{}", part),
            help,
            instead: None,
        })
    }

    /// The fault, and what can be written in the place of its bytes.
    pub(super) fn instead(&self, span: Range<usize>, part: &str, text: String) -> Box<Fault> {
        Box::new(Fault { instead: Some(text), ..*self.at(span, part) })
    }
}

/// Text that is not understood, or that not every `sh` understands alike.
const fn syntax(what: &'static str, help: &'static str) -> Refused {
    Refused(TEMPLATE_SYNTAX, what, help)
}

macro_rules! table {
    ($($name:ident = $refused:expr;)*) => { $(pub(super) const $name: Refused = $refused;)* };
}

table! {
    EMPTY = Refused(
        BAD_VALUE, "the command names no program",
        "write the command line that runs, such as `git -C {{path}} status`");
    LONG = Refused(
        BAD_VALUE, "the command has {} bytes, more than the system lets an argument be (execve(2))",
        "put it into a script of the plugin");
    OPERATOR = Refused(
        SHELL_OPERATOR, "`{}` outside of quotes joins commands, and a template is one command",
        "quote it if the program is to see it; for several commands, write a script or \
         `sh -c '…' _ {{name}}`, where the value is \"$1\"");
    BACKTICK = Refused(
        SHELL_OPERATOR, "a backtick runs a command of its own, and a template is one command",
        "write `\\`` or put it in single quotes if the program is to see it");
    UNCLOSED = syntax("`{}` is not closed", "");
    UNOPENED = syntax(
        "`)` closes nothing",
        "quote it if the program is to see it; the patterns of `case` belong in a script, as \
         `;;` ends its branches");
    DOUBLE_PARENTHESIS = syntax("`((` means something else in each shell", "");
    TOO_MANY = syntax("the command has more than {}", "");
    OUR_NAME = syntax(
        "`{}` begins the names of variables in which values travel to the shell", "");
    COMMENT = syntax(
        "`{{{}}}` stands in a comment, which is not run",
        "quote the `#` if the program is to see it");
    HEREDOC = syntax(
        "a template has no here-documents",
        "keep the text in a file of the plugin, or print it with `printf`");
    NO_TARGET = syntax(
        "a file must follow, and something else does",
        "write the name of a file; for what a command prints, write `$(command)`");
    NOT_CLOSED = syntax(
        "text right behind `&-` is a word of its own in some shells",
        "put a blank behind the `-`");
    BOTH_STREAMS = syntax(
        "`&>` ends a command in some shells, and is a redirection in others",
        "write `>file 2>&1`");
    NAMED_STREAM = syntax(
        "braces in front of `>` or `<` name a variable in some shells, and are an argument in others",
        "write the number of the stream, as in `3>`; put a blank behind the braces if the program \
         is to see them");
    PARENTHESIS = syntax(
        "`(` right behind a word begins an array or a pattern in some shells",
        "quote it if the program is to see it; put a blank in front of a group");
    CONTINUED = syntax(
        "the line is continued in the middle of a word",
        "put a blank in front of the backslash, or join the lines");
    DOLLAR_QUOTE = syntax(
        "`$` in front of a quote means something else in each shell",
        "write the characters themselves within the quotes; `\\$` is a dollar");
    BRACKET = syntax("`$[` calculates in some shells and is text in others", "");
    NOT_PLAIN = syntax(
        "`${` without the name of a variable means something else in each shell",
        "write `${name}`; for what a command prints, write `$(command)`");
    NOT_CALCULATED = syntax(
        "`$((` begins a calculation, and this one ends as a command does",
        "put a blank between the parentheses");
    INTRICATE = syntax(
        "quotes or expansions within `{}` are not read here",
        "write it in a script, or in `sh -c '…' _ {{name}}`, where the value is \"$1\"");
    DOLLAR = syntax(
        "`${{{}}}` is no placeholder",
        "write `{{{}}}`; for a dollar in front of it, `'$'{{{}}}`");
    BACKSLASH = syntax(
        "a backslash in front of `{{{}}}`",
        "remove it; `\\\\` is a backslash, and `'{''{'` are two braces");
    NOT_EVERYWHERE = syntax(
        "`{}` means something to some shells only, and a value stands in the text", "");
    BRACES = syntax(
        "braces with `,` or `..` are several words in some shells, and a value stands in the text",
        "quote them if the program is to see them; else write each word");
}
