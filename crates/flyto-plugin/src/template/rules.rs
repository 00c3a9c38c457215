//! The rules that hold for every command, whatever its programs are: a value is no program and sets no variable.
//!
//! What known programs do with their words is [`lint`](super::lint)'s.
//!
//! After [`check`] every word is marked: whether it can be left out when its value is missing,
//! and whether a `--` protects it. A call relies on both marks.

use std::ops::Range;

use super::{
    fault::Fault,
    fill::VARIABLE,
    lint::Lint,
    words::{Gap, Item, Parsed, Part, Word},
};

/// Reserved words of shells that a command may follow (POSIX XCU 2.4).
const KEYWORDS: &[&str] =
    &["!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until"];

/// Reserved words of bash that POSIX has not (manual of bash, "Reserved Words"), but for `time`, and builtins after
/// which a shell reads other text differently.
const NOT_EVERYWHERE: &[&str] = &["function", "coproc", "select", "[[", "]]", "alias", "shopt"];

/// What exists in a shell only: its other reserved words, special builtins (POSIX XCU 2.15), builtins that have an
/// effect on the shell alone, and those that bash adds.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    "function", "coproc", "for", "select", "case", "esac", "in", "[[", ":", ".", "break", "continue", "eval", "exec", "exit", "export",
    "readonly", "return", "set", "shift", "times", "trap", "unset", "alias", "bg", "cd", "command", "fc", "fg",
    "getopts", "hash", "jobs", "read", "type", "ulimit", "umask", "unalias", "wait", "source", "let", "declare",
    "typeset", "local", "builtin", "mapfile", "readarray", "shopt", "pushd", "popd", "dirs", "disown",
];

/// Which lengths the words above have, one bit each, by their first byte.
const LENGTHS: [u16; 128] = {
    let mut res = [0; 128];
    let (mut list, mut at) = (KEYWORDS, 0);
    loop {
        if at < list.len() {
            let word = list[at].as_bytes();
            res[word[0] as usize] |= 1 << word.len();
            at += 1;
        } else if list.len() == KEYWORDS.len() {
            (list, at) = (BUILTINS, 0);
        } else {
            break res;
        }
    }
};

/// Whether a word as it is written means something to a shell itself.
fn is_shells_own(word: &str) -> bool {
    let [first, ..] = *word.as_bytes() else { return false };
    let lengths = LENGTHS.get(usize::from(first)).copied().unwrap_or_default();
    let may_be = word.len() < 16 && lengths >> word.len() & 1 != 0;
    may_be && (is_keyword(word) || BUILTINS.contains(&word))
}

/// Whether a shell reads a command behind this word.
fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Refuses placeholders whose values would decide what runs, and marks words that cannot be left out and words that
/// a `--` protects.
/// Sets `needs_shell` where the first word means something to a shell only.
///
/// # Errors
///
/// A fault where there is no program, where a value would be code, and where the text uses a
/// name that begins with [`VARIABLE`].
pub(super) fn check(text: &str, parsed: &mut Parsed) -> Result<(), Box<Fault>> {
    let first = parsed.items.iter().find_map(|it| match it {
        Item::Word(word) => Some(word),
        Item::Gap(..) => None,
    });
    let Some(first) = first else { return Err(Fault::empty(0..text.len()).into()) };
    // Most texts have no `_` at all.
    if let Some(at) = memchr::memchr(b'_', text.as_bytes()).and_then(|_| text.find(VARIABLE)) {
        let span = at..at + VARIABLE.len();
        let what = format!(
            "`{VARIABLE}` begins the names of variables in which values travel to the shell"
        );
        return Err(Fault::syntax(span, what).into());
    }
    let raw = &text[first.span.clone()];
    let cooked = first.fixed(text).unwrap_or_default();
    parsed.needs_shell |=
        is_shells_own(raw) || cooked != raw && is_shells_own(&cooked) || is_assignment(raw);
    let has_values = !parsed.placeholders.is_empty();
    let mut checker = Checker { text, params: &parsed.params, has_values, lint: Lint::default() };
    checker.commands(&mut parsed.items)
}

/// What the checks of one text share.
pub(super) struct Checker<'a> {
    pub(super) text: &'a str,
    /// The names of placeholders, for messages.
    params: &'a [String],
    /// There are placeholders, so that a shell must not read the text in another way.
    has_values: bool,
    lint: Lint,
}

impl Checker<'_> {
    /// Splits items into simple commands and checks each. Commands in substitutions come first,
    /// since they are part of a word.
    fn commands(&mut self, items: &mut [Item]) -> Result<(), Box<Fault>> {
        let mut words: Vec<&mut Word> = Vec::with_capacity(items.len());
        // A redirection came, and its target did not yet.
        let mut redirect: Option<(Gap, Range<usize>)> = None;
        // Where the last word and the last `&` end.
        let (mut word_end, mut background_end) = (None, None);
        let mut items = items.iter_mut().peekable();
        while let Some(item) = items.next() {
            if let (Some((_, pending)), Item::Gap(_, span)) = (&redirect, &*item) {
                return Err(Fault::no_target(pending.start..span.end).into());
            }
            match item {
                Item::Word(word) => {
                    for part in &mut word.parts {
                        if let Part::Substitution(_, items) = part {
                            self.commands(items)?;
                        }
                    }
                    word_end = Some(word.span.end);
                    match redirect.take() {
                        Some((gap, _)) => self.target(word, gap)?,
                        None => words.push(word),
                    }
                }
                Item::Gap(gap @ (Gap::Redirect | Gap::Duplicate), span) => {
                    if let Some(before) = words.last().filter(|it| it.span.end == span.start) {
                        if let Some(span) = self.named_stream(before) {
                            return Err(Fault::named_stream(span).into());
                        }
                        // Digits right before it name the descriptor, and are no word.
                        if self.is_number(before) {
                            words.pop();
                        }
                    }
                    if background_end == Some(span.start) {
                        return Err(Fault::both_streams(span.start - 1..span.end).into());
                    }
                    redirect = Some((*gap, span.clone()));
                }
                Item::Gap(
                    gap @ (Gap::Newline | Gap::Background | Gap::Open | Gap::Close),
                    span,
                ) => {
                    let is_function = matches!(items.peek(), Some(Item::Gap(Gap::Close, _)));
                    if *gap == Gap::Open && word_end == Some(span.start) && !is_function {
                        return Err(Fault::parenthesis(span.start).into());
                    }
                    background_end = (*gap == Gap::Background).then_some(span.end);
                    self.command(&mut words)?;
                    words.clear();
                }
            }
        }
        match redirect {
            Some((_, span)) => Err(Fault::no_target(span).into()),
            None => self.command(&mut words),
        }
    }

    /// The word as it is written.
    fn raw(&self, word: &Word) -> &str {
        &self.text[word.span.clone()]
    }

    /// Whether it is digits only.
    fn is_number(&self, word: &Word) -> bool {
        self.raw(word).bytes().all(|it| it.is_ascii_digit())
    }

    /// `{name}`, as some shells have it in front of a redirection.
    fn named_stream(&self, word: &Word) -> Option<Range<usize>> {
        let name = self.raw(word).strip_prefix('{')?.strip_suffix('}')?;
        (!name.contains(['{', '}', ','])).then(|| word.span.clone())
    }

    /// The target of a redirection: a file may be a value, the number of a stream may not. It
    /// cannot be left out in either case.
    fn target(&self, word: &mut Word, gap: Gap) -> Result<(), Box<Fault>> {
        if gap == Gap::Duplicate {
            let help = "write the number of the stream, as in `2>&1`";
            self.refuse(word, "where a stream is named", help)?;
            let raw = self.raw(word);
            if raw.len() > 1 && raw.starts_with('-') {
                return Err(Fault::not_closed(word.span.clone()).into());
            }
        }
        word.needed = true;
        Ok(())
    }

    /// Refuses any placeholder in a word.
    /// A word without one passes.
    pub(super) fn refuse(&self, word: &Word, place: &str, help: &str) -> Result<(), Box<Fault>> {
        let Some((param, span)) = word.value() else { return Ok(()) };
        let name = &self.params[param];
        let help = help.replace("{{x}}", &format!("{{{{{name}}}}}"));
        Err(Fault::place(span, name, place, help).into())
    }

    /// Looks at one simple command, or at the beginning of a compound one.
    /// Keywords and assignments in front are passed over; a value in an assignment is refused.
    fn command(&mut self, words: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut at = 0;
        while let Some((first, after)) = words[at.min(words.len())..].split_first() {
            match self.raw(first) {
                "for" => {
                    let help = "write a name of your own";
                    let name = after.first();
                    name.map_or(Ok(()), |it| self.refuse(it, "where a variable is named", help))?;
                    // Without `in`, a command may follow on the same line.
                    if after.get(1).is_some_and(|it| self.raw(it) == "in") {
                        return Ok(());
                    }
                    at += 1;
                }
                raw if is_keyword(raw) => {}
                raw if is_assignment(raw) => {
                    let help = "set the variable under \"env\" in the manifest, or hand the value over as an \
                                argument, as in `sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\"";
                    self.refuse(first, "in an assignment to a variable of the shell", help)?;
                    self.refuse_index(first)?;
                }
                "time" => {
                    self.refuse_timed(after)?;
                    return self.program(&mut words[at..]);
                }
                _ => return self.program(&mut words[at..]),
            }
            at += 1;
        }
        Ok(())
    }

    /// Refuses `a[…]=`: a shell with arrays reads up to the bracket, across blanks.
    fn refuse_index(&self, word: &Word) -> Result<(), Box<Fault>> {
        let raw = self.raw(word);
        let begins = raw.find(['[', '=']).filter(|it| raw[*it..].starts_with('['));
        match begins.filter(|_| self.has_values) {
            Some(_) => Err(Fault::not_everywhere(word.span.clone(), raw).into()),
            None => Ok(()),
        }
    }

    /// `time` is a reserved word of some shells, and a program for others. Both read a program behind it, where
    /// no other reserved word and no assignment stands there.
    fn refuse_timed(&self, after: &[&mut Word]) -> Result<(), Box<Fault>> {
        let first = after.iter().find(|it| !matches!(self.raw(it), "-p" | "--"));
        let differs = |raw| is_shells_own(raw) || is_assignment(raw) || raw == "time";
        match first.filter(|it| self.has_values && differs(self.raw(it))) {
            Some(word) => Err(Fault::not_everywhere(word.span.clone(), "time").into()),
            None => Ok(()),
        }
    }

    /// Looks at a program and its words.
    /// The rules for its name, then the table of known programs.
    fn program(&mut self, words: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let Some((program, _)) = words.split_first() else { return Ok(()) };
        if program.fixed(self.text).is_some_and(|it| it.is_empty()) {
            return Err(Fault::empty(program.span.clone()).into());
        }
        self.refuse_program(words)?;
        let mut lint = std::mem::take(&mut self.lint);
        let res = lint.check(self, words);
        self.lint = lint;
        res
    }

    /// Refuses a value in the name of a program, and behind a name that may be empty.
    pub(super) fn refuse_program(&self, words: &[&mut Word]) -> Result<(), Box<Fault>> {
        let Some((program, args)) = words.split_first() else { return Ok(()) };
        let name = program.fixed(self.text).unwrap_or_default();
        if self.has_values && NOT_EVERYWHERE.contains(&&*name) {
            return Err(Fault::not_everywhere(program.span.clone(), &name).into());
        }
        let help = "write the program itself; hand the value over as an argument, as in \
                    `sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\"";
        self.refuse(program, "in the place of the program", help)?;
        // Even with quotes around it, the word is gone where `"$@"` is empty.
        if program.is_solid(self.text) {
            return Ok(());
        }
        let place = "behind a word that may be empty, so that its value would be the program";
        let help = "write the name of the program, or a part of its path, as in `\"$DIR/p\"`";
        args.iter().try_for_each(|it| self.refuse(it, place, help))
    }
}

/// Whether a shell takes a word as it is written for an assignment, such as `A=1`, and in some `A+=1` and `A[i]=1`.
/// Judged by the text alone: the name is letters, digits and `_`, and no digit first.
pub(super) fn is_assignment(raw: &str) -> bool {
    let rest = raw.trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
    let is_name = rest.len() < raw.len() && !raw.starts_with(|c: char| c.is_ascii_digit());
    is_name && (rest.starts_with(['=', '[']) || rest.starts_with("+="))
}

/// Marks the words behind `--`.
/// For programs that take `--` as the end of options; the words are those behind the program.
pub(super) fn mark_dashes(text: &str, words: &mut [&mut Word]) {
    let mut after_dashes = false;
    let mut is_value = false;
    for word in words {
        word.after_dashes = after_dashes;
        let fixed = word.fixed(text);
        // Behind these letters of grep and others, `--` is a value.
        after_dashes |= fixed.as_deref() == Some("--") && !is_value;
        if !word.may_vanish(text) {
            is_value = matches!(fixed.as_deref(), Some("-e" | "-f"));
        }
    }
}
