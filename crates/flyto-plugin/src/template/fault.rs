//! What is wrong with the text of a template.
//!
//! A fault is not yet a finding: it knows bytes of the command, and not where the command
//! stands. The loader makes a finding of it, [`TemplateError`] an error for a host without a
//! manifest. Every text that is shown is here, one function for each.

use std::{error::Error, fmt, ops::Range};

use flyto_diagnostics::{Code, quoted};
use flyto_program::MAX_ARGUMENT_BYTES;

use crate::codes;

/// One thing that is wrong with a text, at some of its bytes.
/// The texts follow the style of a finding: lower case, no full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// One of `F0150` to `F0152`, or the general code of a bad value.
    pub(crate) code: Code,
    /// The bytes of the text that it is about.
    pub(crate) span: Range<usize>,
    /// What is wrong, in one line.
    pub(crate) what: String,
    /// Why it is refused, where that is not plain.
    pub(crate) reason: Option<&'static str>,
    /// What to write instead, in words.
    pub(crate) help: Option<String>,
    /// What could stand there instead.
    pub(crate) instead: Option<String>,
}

impl Fault {
    fn new(code: Code, span: Range<usize>, what: impl Into<String>) -> Self {
        Self { code, span, what: what.into(), reason: None, help: None, instead: None }
    }

    fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn instead(mut self, text: impl Into<String>) -> Self {
        self.instead = Some(text.into());
        self
    }

    /// `a && b`, `a; b`, `a | b`.
    /// Also for `;` and `|` within an expansion outside of quotes.
    pub(super) fn operator(span: Range<usize>, operator: &str) -> Self {
        Self::new(
            codes::SHELL_OPERATOR,
            span,
            format!("`{operator}` outside of quotes joins commands, and a template is one command"),
        )
        .because("what runs besides the program would be neither shown nor judged")
        .help(
            "quote it if the program is to see it; for several commands, write a script or \
             `sh -c '…' _ {{name}}`, where the value is \"$1\"",
        )
    }

    /// The old way to write `$(…)`, in which escapes differ from shell to shell.
    pub(super) fn backtick(at: usize) -> Self {
        Self::new(
            codes::SHELL_OPERATOR,
            at..at + 1,
            "a backtick runs a command of its own, and a template is one command",
        )
        .because("what runs besides the program would be neither shown nor judged")
        .help("write `\\`` or put it in single quotes if the program is to see it")
    }

    /// Text that is not understood, or that not every `sh` understands alike.
    pub(super) fn syntax(span: Range<usize>, what: impl Into<String>) -> Self {
        Self::new(codes::TEMPLATE_SYNTAX, span, what)
    }

    /// A quote, a bracket or a substitution that goes to the end of the text.
    pub(super) fn unclosed(span: Range<usize>, opening: &str) -> Self {
        Self::syntax(span, format!("`{opening}` is not closed"))
    }

    /// A `)` with no `(` before it.
    pub(super) fn unopened(at: usize) -> Self {
        Self::syntax(at..at + 1, "`)` closes nothing").help(
            "quote it if the program is to see it; the patterns of `case` belong in a script, as \
             `;;` ends its branches",
        )
    }

    /// Quotes, escapes or substitutions within `${…}` or `$((…))`.
    pub(super) fn intricate(span: Range<usize>, what: &str) -> Self {
        Self::syntax(span, format!("quotes or expansions within `{what}` are not read here"))
            .help("write it in a script, or in `sh -c '…' _ {{name}}`, where the value is \"$1\"")
    }

    /// `<<`, whose text would stand on further lines.
    pub(super) fn heredoc(span: Range<usize>) -> Self {
        Self::syntax(span, "a template has no here-documents")
            .help("keep the text in a file of the plugin, or print it with `printf`")
    }

    /// `> (`, `<(`, and a redirection at the end of a command.
    pub(super) fn no_target(span: Range<usize>) -> Self {
        Self::syntax(span, "a file must follow, and something else does")
            .because("`<(` and `>(` run a command in some shells, and are an error in others")
            .help("write the name of a file; for what a command prints, write `$(command)`")
    }

    /// `>&-p`.
    pub(super) fn not_closed(span: Range<usize>) -> Self {
        Self::syntax(span, "text right behind `&-` is a word of its own in some shells")
            .help("put a blank behind the `-`")
    }

    /// `&>`.
    pub(super) fn both_streams(span: Range<usize>) -> Self {
        Self::syntax(span, "`&>` ends a command in some shells, and is a redirection in others")
            .help("write `>file 2>&1`")
    }

    /// `a=(b)`, `!(a)`.
    pub(super) fn parenthesis(at: usize) -> Self {
        Self::syntax(
            at..at + 1,
            "`(` right behind a word begins an array or a pattern in some shells",
        )
        .help("quote it if the program is to see it; put a blank in front of a group")
    }

    /// A word that only some shells take for one of their own.
    pub(super) fn not_everywhere(span: Range<usize>, word: &str) -> Self {
        let help = match word {
            "function" => "write `name() {`",
            "[[" | "]]" => "write `[`",
            "select" => "write `for`, or put the menu into a script",
            "coproc" => "start it with `&`, or write a script",
            "alias" | "shopt" => "write the command itself, or put it into a script",
            "time" => "write the program behind it, as in `time -p program`",
            _ => "write a variable for each, or put the text into a script",
        };
        let what =
            format!("`{word}` means something to some shells only, and a value stands in the text");
        Self::syntax(span, what).help(help)
    }

    /// `{name}>`.
    pub(super) fn named_stream(span: Range<usize>) -> Self {
        Self::syntax(
            span,
            "braces in front of `>` or `<` name a variable in some shells, and are an \
                            argument in others",
        )
        .help(
            "write the number of the stream, as in `3>`; put a blank behind the braces if the \
                 program is to see them",
        )
    }

    /// A backslash at the end of a line, within a word.
    pub(super) fn continued(span: Range<usize>) -> Self {
        Self::syntax(span, "the line is continued in the middle of a word")
            .help("put a blank in front of the backslash, or join the lines")
            .instead("")
    }

    /// `$'…'` and `$"…"`.
    pub(super) fn dollar_quote(span: Range<usize>) -> Self {
        Self::syntax(span, "`$` in front of a quote means something else in each shell")
            .help("write the characters themselves within the quotes; `\\$` is a dollar")
    }

    /// `$[…]`.
    pub(super) fn bracket(span: Range<usize>) -> Self {
        Self::syntax(span, "`$[` calculates in some shells and is text in others")
    }

    /// `${!a}`, `${ a }`.
    pub(super) fn not_plain(span: Range<usize>) -> Self {
        Self::syntax(span, "`${` without the name of a variable means something else in each shell")
            .help("write `${name}`; for what a command prints, write `$(command)`")
    }

    /// `{a,b}`, `{1..3}`.
    pub(super) fn braces(span: Range<usize>) -> Self {
        Self::syntax(span, "braces with `,` or `..` are several words in some shells, and a value stands in the text")
            .help("quote them if the program is to see them; else write each word")
    }

    /// `$((…) …)`: a command in parentheses, to a shell that looks for the end.
    pub(super) fn not_calculated(span: Range<usize>) -> Self {
        Self::syntax(span, "`$((` begins a calculation, and this one ends as a command does")
            .help("put a blank between the parentheses")
    }

    /// `${{name}}`.
    pub(super) fn dollar(span: Range<usize>, name: &str) -> Self {
        Self::syntax(span, format!("`${{{{{name}}}}}` is no placeholder"))
            .help(format!(
                "write `{{{{{name}}}}}`; for a dollar in front of it, `'$'{{{{{name}}}}}`"
            ))
            .instead(format!("{{{{{name}}}}}"))
    }

    /// `\{{name}}`.
    pub(super) fn backslash(span: Range<usize>, name: &str) -> Self {
        Self::syntax(span, format!("a backslash in front of `{{{{{name}}}}}`"))
            .because("a value is always one literal word, and needs no escape")
            .help("remove it; `\\\\` is a backslash, and `'{''{'` are two braces")
            .instead(format!("{{{{{name}}}}}"))
    }

    /// A text without a word, or whose program is the empty word.
    pub(super) fn too_long(n_bytes: usize) -> Self {
        let what =
            format!("the command has {n_bytes} bytes, and at most {MAX_ARGUMENT_BYTES} can be run");
        Self::new(flyto_diagnostics::codes::BAD_VALUE, 0..n_bytes, what)
            .because("a shell gets it as one argument, which the system bounds (execve(2))")
            .help("put it into a script of the plugin")
    }

    pub(super) fn empty(span: Range<usize>) -> Self {
        Self::new(flyto_diagnostics::codes::BAD_VALUE, span, "the command names no program")
            .help("write the command line that runs, such as `git -C {{path}} status`")
    }

    /// A placeholder where its value would be taken for code.
    /// `place` follows the words "stands", such as "in the place of the program".
    pub(super) fn place(span: Range<usize>, name: &str, place: &str, help: String) -> Self {
        Self::new(codes::CODE_PLACEHOLDER, span, format!("`{{{{{name}}}}}` stands {place}"))
            .because("the caller that gives the value would decide what runs")
            .help(help)
    }
}

/// Why a command is no template.
///
/// Shows what is wrong, where, and what to write.
///
/// The text of the error shows the command, cut after 60 characters. It is for the author of a
/// tool, and no call ever has it.
///
/// ```
/// use flyto_plugin::{ToolDef, codes};
/// use serde_json::json;
///
/// let err = ToolDef::template("two", "make && make install", json!({})).unwrap_err();
/// assert_eq!(err.code(), codes::SHELL_OPERATOR);
/// assert_eq!(err.span(), 5..7);
/// assert!(err.help().is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    fault: Box<Fault>,
    command: String,
}

impl TemplateError {
    pub(crate) fn new(command: &str, fault: Box<Fault>) -> Self {
        Self { fault, command: command.to_owned() }
    }

    /// The finding that a manifest with this command would get.
    #[must_use]
    pub fn code(&self) -> Code {
        self.fault.code
    }

    /// The bytes of the command that it is about.
    ///
    /// The text is the one that the constructor was given.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.fault.span.clone()
    }

    /// What to write instead, in words.
    ///
    /// In English, in one line; `None` where there is nothing better to say than what is wrong.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.fault.help.as_deref()
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, command } = self;
        let what = &fault.what;
        write!(
            f,
            "failed to read the command {}: {what} (byte {})",
            quoted(command),
            fault.span.start
        )?;
        match &fault.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl Error for TemplateError {}
