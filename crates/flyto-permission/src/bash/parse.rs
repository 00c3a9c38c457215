//! Lists, pipelines and compound commands: chapter 2.10 of [POSIX], and bash's
//! additions.
//!
//! Reserved words count only where a command can start, and only unquoted, as the
//! standard has it. A text that bash refuses may be read here: bash then runs
//! nothing of it, so nothing is overlooked. The other way round must not happen,
//! which `tests/against_bash.rs` tries.
//!
//! [POSIX]: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
//!
//! [`Parser`] goes over the bytes once and never back, but for `time`, whose
//! options are looked at first. Each function begins at [`Parser::pos`] and leaves
//! it behind what it read; on `Err` it stays at the unclear place.

use super::{Analysis, Command, Dialect, MAX_BYTES, MAX_DEPTH, MAX_ITEMS, Unclear, cut, variables};
use crate::steps::made;

/// `Err` is the unclear place; commands that end before it are in [`Parser::out`].
pub(super) type Parsed<T = ()> = Result<T, Unclear>;

/// What surrounds a text.
///
/// Copied for each text within a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context {
    /// How deep the text lies, up to [`MAX_DEPTH`].
    pub(super) depth: usize,
    /// Standard input is a pipe.
    pub(super) piped: bool,
    /// The command that holds the text as a word.
    pub(super) parent: Option<usize>,
    /// It may run more than once, or at another time than where it stands: a loop,
    /// a function.
    pub(super) repeated: bool,
    /// Who reads it.
    pub(super) dialect: Dialect,
}

/// Reads a whole text. On `Err`, the commands before the unclear place are in
/// `out`.
pub(super) fn read(text: &str, out: &mut Analysis, context: Context) -> Parsed {
    let mut parser = Parser::new(text, out, context)?;
    parser.list()?;
    match parser.peek() {
        None => parser.no_open_heredoc(),
        Some(_) => Err(parser.unclear("this stands where no command can")),
    }
}

/// A place in a text, and what was found so far.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    /// In bytes; always at the start of a character where a function begins.
    pub(super) pos: usize,
    pub(super) out: &'a mut Analysis,
    pub(super) context: Context,
    /// Those whose lines are still to come, in their order.
    pub(super) heredocs: Vec<super::heredoc::Pending>,
    /// Variables of the `for` loops around this place.
    pub(super) loops: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    /// # Errors
    ///
    /// The bytes of all texts, or the depth, are over their bounds; a NUL, at which
    /// the system would end the text.
    pub(super) fn new(text: &'a str, out: &'a mut Analysis, context: Context) -> Parsed<Self> {
        made(text.len() / 2);
        out.n_bytes = out.n_bytes.saturating_add(text.len());
        if out.n_bytes > MAX_BYTES {
            return Err(Unclear::new("the command line is too long to be read", ""));
        }
        if context.depth > MAX_DEPTH {
            return Err(Unclear::new("commands lie too deep in each other", text));
        }
        if text.contains('\0') {
            return Err(Unclear::new("a NUL byte", ""));
        }
        Ok(Self { text, pos: 0, out, context, heredocs: Vec::new(), loops: Vec::new() })
    }

    /// With the text from here on, cut.
    pub(super) fn unclear(&self, why: &'static str) -> Unclear {
        Unclear::new(why, self.text.get(self.pos..).unwrap_or(""))
    }

    /// Notes an unclear place at which the reading goes on: what stands behind it
    /// is compared with rules that deny.
    ///
    /// One reason of each kind is kept for each text.
    pub(super) fn note(&mut self, why: &'static str) {
        self.note_once(why, true);
    }

    fn note_once(&mut self, why: &'static str, is_read: bool) {
        let command = self.context.parent;
        // Those of one text stand behind each other.
        let mut of_text = self.out.unclear.iter().rev().take_while(|it| it.command == command);
        if !of_text.any(|it| it.why == why) {
            let unclear = Unclear { command, is_read, ..self.unclear(why) };
            self.out.unclear.push(unclear);
        }
    }

    /// Notes a place that another shell than bash may read as other commands, in a text
    /// that one may get.
    pub(super) fn note_dialect(&mut self) {
        if self.context.dialect == Dialect::Any {
            self.note_once("what shells other than bash read in another way", false);
        }
    }

    /// `None` behind the end.
    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.pos + ahead).copied()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    pub(super) fn at(&self, text: &str) -> bool {
        self.text.as_bytes()[self.pos..].starts_with(text.as_bytes())
    }

    /// Passes over `text`, if it stands here.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let res = self.at(text);
        if res {
            self.pos += text.len();
        }
        res
    }

    /// Reads what may run more than once.
    ///
    /// Whether what surrounds it does is as before where it fails, too.
    fn repeated<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outer = std::mem::replace(&mut self.context.repeated, true);
        let res = read(self);
        self.context.repeated = outer;
        res
    }

    /// Counts one command or word.
    pub(super) fn count(&mut self) -> Parsed {
        self.out.n_items += 1;
        if self.out.n_items > MAX_ITEMS {
            return Err(self.unclear("the command line has too many parts"));
        }
        Ok(())
    }

    /// Goes one level down for `read`.
    ///
    /// The depth is as before where it fails, too.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.context.depth >= MAX_DEPTH {
            return Err(self.unclear("commands lie too deep in each other"));
        }
        self.context.depth += 1;
        let res = read(self);
        self.context.depth -= 1;
        res
    }

    /// Skips blanks and a comment.
    pub(super) fn skip_blanks(&mut self) -> Parsed {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.byte(1) == Some(b'\n') => {
                    // The shell joins the lines before it looks for words and operators: only
                    // beside a blank is that the same as a blank.
                    let before = self.pos.checked_sub(1).map(|it| self.text.as_bytes()[it]);
                    let is_blank = |it| matches!(it, None | Some(b' ' | b'\t' | b'\n'));
                    if !is_blank(before) && !is_blank(self.byte(2)) {
                        return Err(self.unclear("a line that is continued inside a word"));
                    }
                    self.pos += 2;
                }
                Some(b'#') => {
                    let rest = &self.text.as_bytes()[self.pos..];
                    self.pos += rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len());
                }
                _ => return Ok(()),
            }
        }
    }

    /// Skips blanks, comments and line ends; here-documents start behind a line
    /// end.
    pub(super) fn skip_lines(&mut self) -> Parsed {
        loop {
            self.skip_blanks()?;
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.pos += 1;
            self.read_heredocs()?;
        }
    }

    /// The next word if it is written without quotes and expansions, as reserved
    /// words are.
    ///
    /// Takes nothing. `None` where a quote or an expansion is part of the word,
    /// since then it is no reserved word.
    pub(super) fn plain_word(&self) -> Option<&'a str> {
        let rest = &self.text[self.pos..];
        let end = rest
            .bytes()
            .position(|it| is_meta(it) || matches!(it, b'\'' | b'"' | b'\\' | b'$' | b'`'))
            .unwrap_or(rest.len());
        let whole = rest.as_bytes().get(end).is_none_or(|it| is_meta(*it));
        (whole && end > 0).then(|| &rest[..end])
    }

    fn at_reserved(&self, word: &str) -> bool {
        self.plain_word() == Some(word)
    }

    /// Passes over the word, if it stands here.
    pub(super) fn take_reserved(&mut self, word: &str) -> bool {
        let res = self.at_reserved(word);
        if res {
            self.pos += word.len();
        }
        res
    }

    /// Line ends before it are skipped.
    fn expect_reserved(&mut self, word: &str) -> Parsed {
        self.skip_lines()?;
        match self.take_reserved(word) {
            true => Ok(()),
            false => Err(self.unclear("a compound command that does not end")),
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Parsed {
        match self.take(text) {
            true => Ok(()),
            false => Err(self.unclear("a bracket that is not closed")),
        }
    }

    /// Commands up to the end, a closing bracket or a reserved word that ends them.
    ///
    /// What ends it is left to the caller, which knows whether it fits.
    pub(super) fn list(&mut self) -> Parsed {
        loop {
            self.skip_lines()?;
            let ends = matches!(self.peek(), None | Some(b')'))
                || self.at(";;")
                || self.at(";&")
                || self.plain_word().is_some_and(ends_list);
            if ends {
                return Ok(());
            }
            self.and_or()?;
            self.skip_blanks()?;
            match self.peek() {
                Some(b';') if matches!(self.byte(1), Some(b';' | b'&')) => return Ok(()),
                Some(b';' | b'&') => self.pos += 1,
                Some(b'\n') => {}
                _ => return Ok(()),
            }
        }
    }

    /// Both sides count as run.
    fn and_or(&mut self) -> Parsed {
        loop {
            self.pipeline()?;
            self.skip_blanks()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    /// Notes which commands stand side by side, for [`danger`](super::danger). `|&`
    /// is a pipe as `|` is.
    fn pipeline(&mut self) -> Parsed {
        loop {
            self.skip_blanks()?;
            if self.take_reserved("!") {
                continue;
            }
            if !self.at_reserved("time") {
                break;
            }
            // `time -f` is a program; `time` and `time -p` are the shell's.
            let before = self.pos;
            self.pos += "time".len();
            self.skip_blanks()?;
            if self.take_reserved("-p") {
                self.skip_blanks()?;
            }
            if self.peek() == Some(b'-') {
                self.pos = before;
                break;
            }
        }
        let piped = self.context.piped;
        let mut parts = Vec::new();
        let res = loop {
            let first = self.out.commands.len();
            if let Err(err) = self.command() {
                break Err(err);
            }
            parts.push(first..self.out.commands.len());
            self.skip_blanks()?;
            if self.at("||") || !self.take("|") {
                break Ok(());
            }
            self.take("&");
            self.context.piped = true;
            self.skip_lines()?;
        };
        self.context.piped = piped;
        if parts.len() > 1 {
            self.out.pipelines.push(parts);
        }
        res
    }

    /// Counts as one item and one level.
    pub(super) fn command(&mut self) -> Parsed {
        self.count()?;
        self.deeper(|it| {
            it.skip_blanks()?;
            match it.compound()? {
                true => it.redirects_of_compound(),
                false => it.simple(),
            }
        })
    }

    /// Reads a compound command, if one starts here.
    ///
    /// `false` where a simple command starts instead; nothing is taken then.
    pub(super) fn compound(&mut self) -> Parsed<bool> {
        if self.at("((") {
            // Two subshells in a shell of POSIX.
            self.note_dialect();
            self.pos += 2;
            self.arithmetic("))")?;
            return Ok(true);
        }
        if self.take("(") {
            self.list()?;
            self.expect(")")?;
            return Ok(true);
        }
        let Some(word) = self.plain_word() else { return Ok(false) };
        if ends_list(word) {
            return Err(self.unclear("this stands where no command can"));
        }
        let read: fn(&mut Self) -> Parsed = match word {
            "{" => |it| {
                it.list()?;
                it.expect_reserved("}")
            },
            "if" => Self::if_command,
            "while" | "until" => |it| {
                it.repeated(|it| {
                    it.list()?;
                    it.do_group()
                })
            },
            "for" => |it| it.for_command(true),
            "select" => |it| it.for_command(false),
            "case" => Self::case_command,
            "function" => Self::function_keyword,
            "[[" => Self::test_command,
            "coproc" => Self::coproc_command,
            _ => return Ok(false),
        };
        self.pos += word.len();
        read(self)?;
        Ok(true)
    }

    /// All branches count as run.
    fn if_command(&mut self) -> Parsed {
        self.list()?;
        self.expect_reserved("then")?;
        self.list()?;
        loop {
            self.skip_lines()?;
            if self.take_reserved("elif") {
                self.list()?;
                self.expect_reserved("then")?;
                self.list()?;
            } else if self.take_reserved("else") {
                self.list()?;
            } else {
                return self.expect_reserved("fi");
            }
        }
    }

    fn do_group(&mut self) -> Parsed {
        self.expect_reserved("do")?;
        self.list()?;
        self.expect_reserved("done")
    }

    /// A loop over a variable such as `PATH` is unclear.
    ///
    /// `takes_words` is false for `select`, where the variable may be empty as
    /// well.
    fn for_command(&mut self, takes_words: bool) -> Parsed {
        self.skip_blanks()?;
        if self.take("((") {
            // Three expressions, which are read as one.
            self.arithmetic("))")?;
            self.skip_blanks()?;
            self.take(";");
            self.skip_lines()?;
            return self.loop_body();
        }
        let name = self.plain_word().filter(|it| variables::is_name(it));
        let Some(name) = name else { return Err(self.unclear("a loop without a plain name")) };
        if !variables::is_harmless_inside(name) {
            self.note("a loop over a variable that may change what runs");
        }
        self.pos += name.len();
        self.skip_lines()?;
        let mut words = None;
        if self.take_reserved("in") {
            let words = words.insert(Vec::new());
            loop {
                self.skip_blanks()?;
                if matches!(self.peek(), None | Some(b';' | b'\n')) {
                    break;
                }
                words.push(self.some_word()?);
            }
        }
        // Without words it goes over the positional parameters.
        let words = words.filter(|_| takes_words);
        self.out.loops.push(super::Loop { name: name.to_owned(), words });
        self.skip_blanks()?;
        self.take(";");
        self.skip_lines()?;
        self.loops.push(name);
        let res = self.loop_body();
        self.loops.pop();
        res
    }

    /// `do …; done`, or `{ …; }`, which bash takes as well.
    fn loop_body(&mut self) -> Parsed {
        self.repeated(|it| {
            if !it.take_reserved("{") {
                return it.do_group();
            }
            it.list()?;
            it.expect_reserved("}")
        })
    }

    /// `coproc`, with a name where a compound command follows. Its command reads
    /// from a pipe.
    fn coproc_command(&mut self) -> Parsed {
        self.note("`coproc` starts a command beside the line");
        self.skip_blanks()?;
        let piped = std::mem::replace(&mut self.context.piped, true);
        let name = self.plain_word().filter(|it| variables::is_name(it) && !starts_compound(it));
        let behind =
            name.map(|it| self.text[self.pos + it.len()..].trim_start_matches([' ', '\t']));
        let is_named = behind.is_some_and(|it| {
            let end = it.find([' ', '\t', '\n', ';', '&', '|', '<', '>']).unwrap_or(it.len());
            it.starts_with('(') || starts_compound(&it[..end])
        });
        if let Some(name) = name.filter(|_| is_named) {
            self.pos += name.len();
        }
        let res = self.command();
        self.context.piped = piped;
        res
    }

    /// Patterns are words, whose substitutions run; all branches count as run.
    fn case_command(&mut self) -> Parsed {
        self.skip_blanks()?;
        self.some_word()?;
        self.expect_reserved("in")?;
        loop {
            self.skip_lines()?;
            if self.take_reserved("esac") {
                return Ok(());
            }
            self.take("(");
            loop {
                self.skip_blanks()?;
                self.some_word()?;
                self.skip_blanks()?;
                if !self.take("|") {
                    break;
                }
            }
            self.expect(")")?;
            self.list()?;
            self.skip_lines()?;
            if !self.take(";;&") && !self.take(";;") && !self.take(";&") {
                return self.expect_reserved("esac");
            }
        }
    }

    /// The name may be that of any command: what the body runs is judged, calls of
    /// the name too.
    fn function_keyword(&mut self) -> Parsed {
        self.skip_blanks()?;
        let Some(name) = self.plain_word() else {
            return Err(self.unclear("a function without a plain name"));
        };
        self.pos += name.len();
        self.skip_blanks()?;
        if self.take("(") {
            self.skip_blanks()?;
            self.expect(")")?;
        }
        self.function_body()
    }

    /// The body counts as run: which call would reach it is not followed.
    pub(super) fn function_body(&mut self) -> Parsed {
        self.out.defines_functions = true;
        self.skip_lines()?;
        self.repeated(|it| {
            it.deeper(|it| match it.compound()? {
                true => it.redirects_of_compound(),
                false => Err(it.unclear("a function without a body in brackets")),
            })
        })
    }

    /// `{ …; } > file`. They become a command of their own, without words.
    fn redirects_of_compound(&mut self) -> Parsed {
        let mut command = Command::default();
        let start = self.pos;
        loop {
            self.skip_blanks()?;
            if !self.redirect(&mut command)? {
                break;
            }
        }
        let ends = matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')'))
            || self.plain_word().is_some_and(ends_list);
        if !ends {
            return Err(self.unclear("this stands where no command can"));
        }
        if !command.redirects.is_empty() || !command.inputs.is_empty() {
            command.text = cut(&self.text[start..self.pos]);
            command.parent = self.context.parent;
            command.repeated = self.context.repeated;
            let n = self.out.commands.len();
            command.contains = n..n;
            self.out.commands.push(command);
        }
        Ok(())
    }
}

/// Characters that end a word.
pub(super) fn is_meta(it: u8) -> bool {
    matches!(it, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Reserved words that start a compound command.
fn starts_compound(word: &str) -> bool {
    matches!(word, "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[")
}

/// Reserved words that cannot start a command.
fn ends_list(word: &str) -> bool {
    matches!(word, "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}")
}
