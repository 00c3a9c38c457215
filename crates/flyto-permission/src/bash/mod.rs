//! Command lines, taken apart into the commands they run.
//!
//! The grammar is that of
//! [bash](https://www.gnu.org/software/bash/manual/html_node/Shell-Syntax.html),
//! read by recursive descent in one pass without backtracking. Whatever is outside
//! of the part that is read exactly is unclear, and the line is asked. Where it is
//! known where such a part ends (arithmetic with variables, indirect expansion,
//! `coproc`, subscripts), the reading goes on behind it, else it stops. What was
//! read is still compared with rules that deny.
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
//! A word that is known only when the line runs is kept as such ([`Word::literal`]
//! gives `None`). Rules that allow never match it, rules that deny may, and then
//! the line is asked.
//!
//! Bounds, over all texts within one line: [`MAX_BYTES`] bytes, [`MAX_DEPTH`]
//! levels, [`MAX_ITEMS`] words and commands.
//!
//! Time and memory are linear in the text: what is read a second time, such as the
//! text of `sh -c`, counts against [`MAX_BYTES`] once more.

mod argument;
mod arithmetic;
mod cases;
mod conditional;
mod danger;
mod expand;
mod heredoc;
mod moves;
mod parse;
mod redirect;
mod simple;
mod unwrap;
mod variables;
mod word;

use flyto_tools::Access;

pub(crate) use argument::{Argument, MAX_VALUES, behind_letter, tokens};
pub(crate) use cases::{Case, Known};
pub(crate) use danger::find_dangers;
pub(crate) use unwrap::names_stream;
pub(crate) use word::Word;

/// Longest text that is read, in bytes, also with all texts in it that are
/// themselves command lines.
///
/// Linux takes arguments of twice that; a longer line is asked.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// How deep commands may lie in each other: far above what is written by hand, far
/// below what a stack of 2 MiB holds.
///
/// It counts commands within commands, expansions, function bodies and texts within
/// texts together.
const MAX_DEPTH: usize = 40;
/// Most commands and words in one line.
const MAX_ITEMS: usize = 16 * 1024;

/// What a command line was found to run.
///
/// Commands that were read before an unclear place are in it too: rules that deny
/// are compared with them.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// In the order in which their ends were read: a command in a substitution
    /// stands before the one around it, one in the text of `sh -c` behind it.
    pub(crate) commands: Vec<Command>,
    /// Why part of it could not be read, or must be asked whatever the rules say.
    pub(crate) unclear: Vec<Unclear>,
    /// Commands by pipeline and place in it, as ranges of `commands`.
    pub(crate) pipelines: Vec<Vec<std::ops::Range<usize>>>,
    /// Commands of each `<(…)`, whose output another command reads as a file; as ranges
    /// of `commands`.
    read_by_others: Vec<std::ops::Range<usize>>,
    /// Loops over words, as they are written.
    loops: Vec<Loop>,
    /// Variables that an expansion sets, as `${x:=y}` does.
    assigned: Vec<String>,
    /// Lines of here-documents by number; `None` where they hold an expansion, or
    /// are not read yet.
    heredocs: Vec<Option<String>>,
    /// A text between quotes holds what begins a substitution, so a command that
    /// evaluates texts may run it.
    quotes_substitution: bool,
    /// A name may stand for other commands than the program that is called so.
    defines_functions: bool,
    /// Bytes of all texts that were read, for [`MAX_BYTES`].
    n_bytes: usize,
    /// Words and commands, for [`MAX_ITEMS`].
    n_items: usize,
}

/// Something that is asked whatever is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unclear {
    /// In words that can stand behind a colon.
    pub(crate) why: &'static str,
    /// The text near it, cut.
    pub(crate) near: String,
    /// Index of the command whose exact rule would answer for it.
    pub(crate) command: Option<usize>,
    /// The reading went on behind it: what is not known is what the shell makes of this
    /// part when the line runs.
    pub(crate) is_read: bool,
}

impl Unclear {
    /// Keeps at most 40 bytes of `near`, cut at a character.
    fn new(why: &'static str, near: &str) -> Self {
        let end = near.floor_char_boundary(40);
        Self { why, near: near[..end].to_owned(), command: None, is_read: false }
    }
}

/// `for NAME in WORDS`; `None` where the words are not written down.
#[derive(Debug)]
struct Loop {
    name: String,
    words: Option<Vec<Word>>,
}

/// One simple command.
///
/// Redirections of a compound command become a command without words.
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
    /// Also files that `find -fprint` writes.
    pub(crate) redirects: Vec<Redirect>,
    /// The last redirection of it counts.
    pub(crate) stdin: Stdin,
    /// Texts of the line that it may read, of any descriptor.
    pub(crate) inputs: Vec<Input>,
    /// The command in whose words this one stands as text, if it does.
    pub(crate) parent: Option<usize>,
    /// Commands in substitutions within this one. As a range of
    /// [`Analysis::commands`].
    pub(crate) contains: std::ops::Range<usize>,
    /// Words that are a text which is read by itself. They are not looked up as
    /// paths.
    pub(crate) script: std::ops::Range<usize>,
    /// What is known of the program that runs in the end.
    habits: argument::Habits,
    /// What it prints is its own text, and goes to a program that may run it.
    pub(crate) feeds_runner: bool,
    /// In how many texts of other commands this one stands.
    depth: usize,
    /// It may run more than once, or at another time than where it stands.
    repeated: bool,
    /// The shell that reads the text in which this one stands.
    dialect: Dialect,
    /// Changes of directory that it makes, for itself or for what follows.
    moves: Vec<moves::Move>,
    /// The directory may have been changed before. One change of directory counts
    /// for all commands of the line, since a function may run what stands before it
    /// once more. Where it leads, [`Analysis::directories`] says.
    pub(crate) moved: bool,
    /// The text, cut, for people.
    pub(crate) text: String,
}

/// Which shell reads a text. What only bash reads as it is read here is noted in a text
/// for another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Dialect {
    /// A shell that is called `bash`.
    Bash,
    /// Any: `sh` is dash on one system and bash on another.
    #[default]
    Any,
}

/// Where in the words of a command a program starts.
///
/// A rule covers a level where its words reach the program that starts there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) start: usize,
    /// A rule must cover it. False for programs such as `nice` that only run
    /// another.
    pub(crate) needs_rule: bool,
}

/// A file that the shell opens for a command.
///
/// Descriptors (`2>&1`) are none.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) target: Word,
    pub(crate) access: Access,
}

/// What a command reads on its standard input.
///
/// It matters for a shell without arguments, which runs what it reads.
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

/// A text of the line that a command may read, as a list of files or addresses.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// A here-string.
    Word { word: Word, is_stdin: bool },
    /// A here-document, by number.
    Heredoc { slot: usize, is_stdin: bool },
}

impl Input {
    /// Whether it is the standard input.
    fn is_stdin(&self) -> bool {
        match self {
            Self::Word { is_stdin, .. } | Self::Heredoc { is_stdin, .. } => *is_stdin,
        }
    }
}

impl Analysis {
    /// Whether one program runs, once, so that nothing in the line makes a file
    /// before another part of it reads that file.
    pub(crate) fn runs_once(&self) -> bool {
        let acts =
            |it: &&Command| it.levels.iter().any(|it| it.needs_rule) || !it.redirects.is_empty();
        let is_repeated = |it: &Command| it.repeated || it.more_from.is_some();
        self.commands.iter().filter(acts).count() == 1
            && !self.commands.iter().any(is_repeated)
            && self.unclear.is_empty()
    }

    /// Whether all that it says of an unclear part was read, so that what is not known
    /// of it comes from elsewhere: from the environment, a file or what a program
    /// prints.
    pub(crate) fn is_read(&self, unclear: &Unclear) -> bool {
        unclear.is_read && !self.quotes_substitution
    }

    /// Whether a name of a command may stand for a function of the line.
    pub(crate) fn defines_functions(&self) -> bool {
        self.defines_functions
    }

    /// Takes away what tildes stand for, where the line may set the variables that say so.
    fn forget_tildes(&mut self) {
        if !self.may_set(moves::OF_TILDE) {
            return;
        }
        for command in &mut self.commands {
            command.words.iter_mut().for_each(Word::forget_tilde);
            command.redirects.iter_mut().for_each(|it| it.target.forget_tilde());
            for input in &mut command.inputs {
                if let Input::Word { word, .. } = input {
                    word.forget_tilde();
                }
            }
        }
    }

    /// Notes where the line may set a variable that lets wildcards stand for other
    /// names, hidden ones among them (bash(1), Pathname Expansion).
    fn note_globbing(&mut self) {
        if self.may_set(&["GLOBIGNORE", "BASHOPTS", "SHELLOPTS"]) {
            let why = "it sets a variable that changes what wildcards stand for";
            self.unclear.push(Unclear::new(why, ""));
        }
    }

    /// Whether a rule with the words of `command` from `start` on, of which it names
    /// `n_words`, may name another file: a program by a relative path, or a script as in
    /// `bash ./run.sh`, from a directory that the rule does not name.
    ///
    /// An argument counts as a path where it says so, by `./` or `../`: `origin/main` may
    /// be a branch.
    pub(crate) fn is_elsewhere(&self, command: &Command, start: usize, n_words: usize) -> bool {
        if !command.moved {
            return false;
        }
        let is_relative = |it: &Level| {
            let program = command.words[it.start].known_text();
            program.contains('/') && !program.starts_with(['/', '~'])
        };
        let moves = |it: &Command| !it.moves.is_empty();
        // What moves behind a command that runs once comes too late for it.
        let at = self.commands.iter().position(|it| std::ptr::eq(it, command));
        let before = at.filter(|_| !command.repeated).unwrap_or(self.commands.len());
        let by_other = self.commands.iter().enumerate().any(|(i, it)| {
            moves(it) && Some(i) != at && (i < before || it.repeated || it.parent != command.parent)
        });
        // A rule with all words of `env -C DIR ./run` names the directory.
        let by_itself = moves(command) && command.levels.first().is_some_and(|it| it.start < start);
        let named = start..start + n_words;
        let has_path = || {
            let words = command.words.get(named.clone()).unwrap_or_default();
            words.iter().any(|it| ["./", "../"].iter().any(|dir| it.known_text().starts_with(dir)))
        };
        let runs_path =
            || command.levels.iter().any(|it| named.contains(&it.start) && is_relative(it));
        (by_other || by_itself) && (runs_path() || has_path())
    }

    /// The lines of a here-document; `None` where they are known only when the line
    /// runs.
    pub(crate) fn heredoc(&self, slot: usize) -> Option<&str> {
        self.heredocs.get(slot)?.as_deref()
    }
}

impl Command {
    /// The program and its arguments at a level.
    ///
    /// Empty where `start` is behind the last word.
    pub(crate) fn words_from(&self, start: usize) -> &[Word] {
        self.words.get(start..).unwrap_or_default()
    }

    /// Start of the program that runs in the end.
    ///
    /// An index of `words`; behind the assignments where no level is known.
    pub(crate) fn innermost(&self) -> usize {
        self.levels.last().map_or(self.n_assignments, |it| it.start)
    }
}

/// Takes a text apart that a shell would get.
///
/// It may be for any shell. Never fails: what cannot be read is in [`Analysis::unclear`].
pub(crate) fn analyse_text(text: &str) -> Analysis {
    let mut res = Analysis::default();
    if let Err(unclear) = parse::read(text, &mut res, parse::Context::default()) {
        res.unclear.push(unclear);
    }
    unwrap::unwrap_all(&mut res);
    res.forget_tildes();
    res.note_globbing();
    res
}

/// Takes words apart that a program gets as they are: a shell with a text is read
/// as that text.
///
/// No word is expanded and none is an operator. Never fails, as [`analyse_text`].
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
    res.commands = vec![Command { words, text: cut(&text), ..Command::default() }];
    unwrap::unwrap_all(&mut res);
    res.forget_tildes();
    res.note_globbing();
    res
}

/// The name of a program without its directory.
pub(crate) fn base_name(program: &str) -> &str {
    match program.bytes().rposition(|it| it == b'/') {
        Some(at) => &program[at + 1..],
        None => program,
    }
}

/// A text cut for people, without line breaks.
///
/// At most 120 bytes and `…`; control characters become blanks, so that a text
/// cannot draw over a terminal.
fn cut(text: &str) -> String {
    const MAX: usize = 120;
    let text = text.trim();
    let end = text.floor_char_boundary(MAX);
    let is_plain = text.as_bytes()[..end].iter().all(|it| matches!(it, b' '..=b'~'));
    let mut res: String = match is_plain {
        true => text[..end].to_owned(),
        false => text[..end].chars().map(|it| if it.is_control() { ' ' } else { it }).collect(),
    };
    if end < text.len() {
        res.push('…');
    }
    res
}
