//! One word of a command line, as far as it is known before the line runs.
//!
//! The invariant: where [`Word::literal`] gives a text, the program gets exactly
//! that word, but for a tilde at its start, which rules read as the shell does.
//! Everything that the shell works out (expansions, globs, braces) makes it
//! unknown, and what splits it makes [`Word::may_split`] true as well.

/// A word after quote removal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    /// What is known of the text; expansions are left out.
    text: String,
    /// Some of it is known only when the line runs.
    unknown: bool,
    /// Bytes of `text` before the first part that is not known; all of it where
    /// there is none.
    n_leading: Option<usize>,
    /// It may become several words, or none.
    splits: bool,
    /// Something other than a wildcard makes it unknown.
    expands: bool,
    /// It starts with a tilde that the shell replaces with a home directory.
    tilde: bool,
    /// Something in it is quoted or escaped.
    quoted: bool,
    /// It is one process substitution and nothing else.
    process: bool,
    /// What the shell replaces, by the byte of `text` before which it stands.
    marks: Vec<(usize, Mark)>,
}

/// Something in a word that the shell replaces. [`Word::cases`](super::cases) reads
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// The value of a variable. `in_loop`: a loop around it goes over words with
    /// it.
    Variable { name: Box<str>, quoted: bool, in_loop: bool },
    /// The lines of a here-document, by its number, as one word.
    Document { slot: usize },
    /// Digits, or nothing.
    Number,
    /// Any text.
    Unknown,
    /// From here on nothing is known.
    Rest,
    /// The next character is a wildcard.
    Wildcard,
    /// The next character opens a brace.
    Open,
    /// The next character is a comma in a brace.
    Comma,
    /// The next character closes a brace.
    Close,
}

impl Word {
    /// A word that no shell reads.
    pub(crate) fn literal_of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The text, where all of it is known. A quoted tilde is another text than a
    /// tilde, and rules cannot say so: such a word counts as not known.
    pub(crate) fn literal(&self) -> Option<&str> {
        let hidden_tilde = self.text.starts_with('~') && !self.tilde && self.quoted;
        (!self.unknown && !hidden_tilde).then_some(&*self.text)
    }

    /// The text as it is known, for people and for finding dangers.
    pub(crate) fn known_text(&self) -> &str {
        &self.text
    }

    /// What the word surely starts with: the text before its first part that is not
    /// known.
    ///
    /// Of several words that it becomes, the first starts with it.
    pub(crate) fn leading(&self) -> &str {
        let n_leading = self.n_leading.unwrap_or(self.text.len());
        self.text.get(..n_leading).unwrap_or_default()
    }

    /// Whether the word may be one of these, or start as it, once all of it is
    /// known.
    ///
    /// A word that may split holds any other word as well.
    pub(crate) fn may_start_with(&self, wanted: &str) -> bool {
        let leading = self.leading();
        match self.literal() {
            Some(text) => text.starts_with(wanted),
            None => self.splits || leading.starts_with(wanted) || wanted.starts_with(leading),
        }
    }

    /// Whether only wildcards make it unknown: it fits its text, read as a glob.
    pub(crate) fn is_only_glob(&self) -> bool {
        self.unknown && !self.expands
    }

    /// Whether the word may become several words, or none.
    pub(crate) fn may_split(&self) -> bool {
        self.splits
    }

    /// Whether the word is a pipe to a command and nothing else.
    pub(crate) fn is_process(&self) -> bool {
        self.process
    }

    /// Whether a part was quoted.
    pub(crate) fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// Takes what the shell would know away: another program replaces part of the
    /// word.
    ///
    /// The text stays for people and for dangers. `start` is the byte at which that
    /// part begins.
    pub(crate) fn forget(&mut self, start: usize) {
        self.expands = true;
        self.unknown_from(start);
        self.marks.retain(|(at, _)| *at < start);
        self.marks.push((start, Mark::Rest));
    }

    /// Takes away what a tilde stands for, where the shell replaces one: at the start,
    /// and behind `=` and `:` of a word that looks like an assignment.
    pub(super) fn forget_tilde(&mut self) {
        let within = || ["=~", ":~"].iter().filter_map(|it| self.text.find(it)).min();
        let start = if self.tilde { Some(0) } else { within().map(|it| it + 1) };
        if let Some(start) = start {
            self.forget(start);
        }
    }

    /// The here-documents whose lines are a part of it, by their numbers.
    pub(crate) fn documents(&self) -> impl Iterator<Item = usize> + '_ {
        self.marks.iter().filter_map(|(_, mark)| match mark {
            Mark::Document { slot } => Some(*slot),
            _ => None,
        })
    }

    /// What the shell replaces, in the order of the text.
    pub(super) fn marks(&self) -> &[(usize, Mark)] {
        &self.marks
    }

    /// Notes what stands before the next character, or is that character.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.marks.push((self.text.len(), mark));
    }

    /// A character as the program gets it, after quote removal.
    pub(super) fn push(&mut self, it: char) {
        self.text.push(it);
    }

    /// Also for empty quotes, which make a word that is empty.
    pub(super) fn quote(&mut self) {
        self.quoted = true;
    }

    pub(super) fn set_tilde(&mut self) {
        self.tilde = true;
    }

    pub(super) fn set_process(&mut self) {
        self.process = true;
    }

    /// An expansion whose result is one word at most.
    ///
    /// Without quotes it may be several, or none.
    pub(super) fn expansion(&mut self, quoted: bool) {
        self.expansion_of(Mark::Unknown, quoted);
    }

    /// An expansion of which more is known.
    pub(super) fn expansion_of(&mut self, mark: Mark, quoted: bool) {
        self.mark(mark);
        self.expansion_from(self.text.len(), quoted);
    }

    /// An expansion that starts at a byte of the text so far, as that of a brace
    /// does.
    pub(super) fn expansion_from(&mut self, start: usize, quoted: bool) {
        self.expands = true;
        self.unknown_from(start);
        self.splits |= !quoted;
    }

    /// A wildcard that stands for names of files.
    pub(super) fn wildcard(&mut self) {
        self.mark(Mark::Wildcard);
        self.unknown_from(self.text.len());
        self.splits = true;
    }

    fn unknown_from(&mut self, start: usize) {
        self.unknown = true;
        self.n_leading = Some(self.n_leading.map_or(start, |it| it.min(start)));
    }
}
