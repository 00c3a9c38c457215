//! Command lines, taken apart into the commands they run.
//!
//! The grammar is that of [bash](https://www.gnu.org/software/bash/manual/html_node/Shell-Syntax.html),
//! read by recursive descent in one pass without backtracking. Whatever is outside of the part that
//! is read exactly (arithmetic with variables, indirect expansion, `coproc`, …) stops the reading,
//! and the line is asked. What was read before that is still compared with rules that deny.
//!
//! A text goes through two steps:
//!
//! 1. `parse` reads commands, `simple` and `redirect` their words and files, `expand` and `heredoc`
//!    what stands in quotes, substitutions and documents. Each simple command, wherever it stands, becomes
//!    one [`Command`] in a flat list: every one of them has to be allowed, so their order of running
//!    does not matter.
//! 2. `unwrap` looks at each command for programs that run others. `env git diff` is one command
//!    with two levels; `sh -c TEXT` adds the commands in the text to the list.
//!
//! A word that is known only when the line runs is kept as such ([`Word::literal`] gives `None`). Rules
//! that allow never match it, rules that deny may, and then the line is asked.
//!
//! Bounds, over all texts within one line: [`MAX_BYTES`] bytes, [`MAX_DEPTH`] levels,
//! [`MAX_ITEMS`] words and commands.

mod danger;
mod expand;
mod heredoc;
mod parse;
mod redirect;
mod simple;
mod unwrap;
mod variables;
mod word;

use flyto_tools::Access;

pub(crate) use danger::find_dangers;
pub(crate) use word::Word;

/// Longest text that is read, in bytes, also with all texts in it that are themselves command lines.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// How deep commands may lie in each other: far above what is written by hand, far below what a
/// stack of 2 MiB holds.
const MAX_DEPTH: usize = 40;
/// Most commands and words in one line.
const MAX_ITEMS: usize = 16 * 1024;

/// What a command line was found to run.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) commands: Vec<Command>,
    /// Why part of it could not be read, or must be asked whatever the rules say.
    pub(crate) unclear: Vec<Unclear>,
    /// Commands by pipeline and place in it, as ranges of `commands`.
    pub(crate) pipelines: Vec<Vec<std::ops::Range<usize>>>,
    heredocs: Vec<Option<String>>,
    n_bytes: usize,
    n_items: usize,
}

/// Something that is asked whatever is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unclear {
    pub(crate) why: &'static str,
    /// The text near it, cut.
    pub(crate) near: String,
    /// Index of the command whose exact rule would answer for it.
    pub(crate) command: Option<usize>,
}

impl Unclear {
    fn new(why: &'static str, near: &str) -> Self {
        let end = near.floor_char_boundary(40);
        Self { why, near: near[..end].to_owned(), command: None }
    }
}

/// One simple command.
#[derive(Debug, Default)]
pub(crate) struct Command {
    /// Assignments before the command, then its words.
    pub(crate) words: Vec<Word>,
    /// How many of `words` are assignments.
    pub(crate) n_assignments: usize,
    /// Starts of the programs in `words`: the first, then what it runs, and so on.
    pub(crate) levels: Vec<Level>,
    /// Indices of words that set a variable which may change what runs.
    pub(crate) risky: Vec<usize>,
    /// From this word on, further words are appended that are not known.
    pub(crate) more_from: Option<usize>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) stdin: Stdin,
    /// The command in whose words this one stands as text, if it does.
    pub(crate) parent: Option<usize>,
    /// Commands in substitutions within this one.
    pub(crate) contains: std::ops::Range<usize>,
    /// Words that are a text which is read by itself.
    pub(crate) script: std::ops::Range<usize>,
    /// In how many texts of other commands this one stands.
    depth: usize,
    /// The directory may have been changed before.
    pub(crate) moved: bool,
    /// The text, cut, for people.
    pub(crate) text: String,
}

/// Where in the words of a command a program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) start: usize,
    /// A rule must cover it. False for programs such as `nice` that only run another.
    pub(crate) needs_rule: bool,
}

/// A file that the shell opens for a command.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) target: Word,
    pub(crate) access: Access,
}

/// What a command reads on its standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// Nothing that the line says.
    #[default]
    Inherited,
    /// A pipe, a file or an expansion.
    Unknown,
    /// A here-string.
    Text(String),
    /// A here-document, by number.
    Heredoc(usize),
}

impl Command {
    /// The program and its arguments at a level.
    pub(crate) fn words_from(&self, start: usize) -> &[Word] {
        self.words.get(start..).unwrap_or_default()
    }

    /// Start of the program that runs in the end.
    pub(crate) fn innermost(&self) -> usize {
        self.levels.last().map_or(self.n_assignments, |it| it.start)
    }
}

/// Takes a text apart that a shell would get.
pub(crate) fn analyse_text(text: &str) -> Analysis {
    let mut res = Analysis::default();
    if let Err(unclear) = parse::read(text, &mut res, parse::Context::default()) {
        res.unclear.push(unclear);
    }
    unwrap::unwrap_all(&mut res);
    res
}

/// Takes words apart that a program gets as they are: a shell with a text is read as that text.
pub(crate) fn analyse_words(words: &[String]) -> Analysis {
    let mut res = Analysis::default();
    let n_bytes: usize = words.iter().map(String::len).sum();
    if n_bytes > MAX_BYTES || words.len() > MAX_ITEMS {
        res.unclear.push(Unclear::new("the command line is too long to be read", ""));
        return res;
    }
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    let words = words.iter().map(|it| Word::literal_of(it.as_str())).collect();
    res.commands.push(Command { words, text: cut(&text), ..Command::default() });
    unwrap::unwrap_all(&mut res);
    res
}

/// A text cut for people, without line breaks.
fn cut(text: &str) -> String {
    const MAX: usize = 120;
    let text = text.trim();
    let end = text.floor_char_boundary(MAX);
    let mut res: String =
        text[..end].chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    if end < text.len() {
        res.push('…');
    }
    res
}
