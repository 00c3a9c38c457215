//! What the text of a template consists of.
//!
//! Between words stand blanks, comments and operators of the shell, which take no value. Every byte
//! of a word belongs to one part, so that what a shell is to see can be put together from the
//! pieces as they were written.

use std::{borrow::Cow, ops::Range};

use smallvec::SmallVec;

/// What the variables of the shell that hold values are called, each with a number behind it.
pub(super) const VARIABLE: &str = "flyto_value_";

/// What the text says.
///
/// The rules have marked its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// In the order of the text, without those in substitutions.
    pub(super) words: Vec<Word>,
    /// The names of the placeholders, each once.
    pub(super) params: Vec<String>,
    /// Each occurrence, in the order of the text.
    pub(super) placeholders: SmallVec<[Placeholder; 4]>,
    /// Something in it is done by a shell only.
    pub(super) needs_shell: bool,
}

/// A placeholder as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// The number of its name.
    pub(super) param: usize,
    pub(super) span: Range<usize>,
    /// There are blanks within the braces.
    pub(super) spaced: bool,
}

/// One word as the shell sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its bytes in the text, with quotes.
    pub(super) span: Range<usize>,
    /// In the order of the text; a word without quotes and values has one.
    pub(super) parts: SmallVec<[Part; 1]>,
    /// The first placeholder in the word, also within a command in it.
    pub(super) value: Option<Range<usize>>,
    /// It belongs to a redirection, and no program gets it.
    pub(super) redirects: bool,
    /// A call fails when a value in it is missing, rather than leave the word out.
    pub(super) needed: bool,
    /// A `--` stands before it, so that nothing in it is taken for an option.
    pub(super) after_dashes: bool,
}

/// Spans are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text that is written as in `raw`, quotes included. A program gets it as `cooked`, where that
    /// differs.
    Literal { raw: Range<usize>, cooked: Option<Box<str>> },
    /// The value of a placeholder.
    Value { param: usize, quote: Quote, span: Range<usize> },
    /// A variable or a calculation, which only a shell can replace.
    Expansion(Range<usize>),
    /// `$(…)`: the span with both parentheses, and what is between them.
    Substitution(Range<usize>, Vec<Word>),
}

/// The quotes around a placeholder.
///
/// A value is put in differently in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    None,
    Single,
    Double,
}

impl Part {
    /// What a program gets of text that is always the same.
    pub(super) fn literal<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        match self {
            Self::Literal { raw, cooked } => Some(cooked.as_deref().unwrap_or(&text[raw.clone()])),
            _ => None,
        }
    }

    /// The number of the parameter whose value it is.
    pub(super) fn param(&self) -> Option<usize> {
        match self {
            Self::Value { param, .. } => Some(*param),
            _ => None,
        }
    }
}

impl Word {
    /// The text of it that is the same for all calls.
    pub(super) fn literals<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        self.parts.iter().filter_map(|it| it.literal(text))
    }

    /// The word, if nothing in it changes from call to call.
    pub(super) fn fixed<'a>(&'a self, text: &'a str) -> Option<Cow<'a, str>> {
        match &self.parts[..] {
            [only] => only.literal(text).map(Cow::Borrowed),
            parts if parts.iter().any(|it| it.literal(text).is_none()) => None,
            _ => Some(Cow::Owned(self.literals(text).collect())),
        }
    }

    /// The text before anything that changes from call to call.
    pub(super) fn lead<'a>(&'a self, text: &'a str) -> &'a str {
        self.parts.first().and_then(|it| it.literal(text)).unwrap_or_default()
    }

    /// The path of a program as it is written: its end where a directory changes from call to
    /// call, and what is left where its expansions are empty.
    pub(super) fn path<'a>(&'a self, text: &'a str) -> Option<Cow<'a, str>> {
        let last = self.parts.iter().rev().map(|it| it.literal(text)).find(|it| *it != Some(""));
        let end = last.flatten().filter(|it| it.contains('/')).map(Cow::Borrowed);
        let left = || self.value.is_none().then(|| self.literals(text).collect());
        self.fixed(text).or(end).or_else(left)
    }

    /// Whether it holds a character of its own, so that no expansion takes the word away.
    /// `~` may be replaced by nothing.
    pub(super) fn is_solid(&self, text: &str) -> bool {
        self.literals(text).any(|it| !matches!(it, "" | "~"))
    }

    /// Whether the word may be gone where a program gets its arguments, and the next one takes
    /// its place: it consists of expansions, without quotes or with `@` in them.
    pub(super) fn may_vanish(&self, text: &str) -> bool {
        if self.is_solid(text) || self.parts.iter().any(|it| it.param().is_some()) {
            return false;
        }
        let raw = &text[self.span.clone()];
        !raw.starts_with(['"', '\'']) || raw.contains('@')
    }
}

/// Whether a shell takes a word as it is written for an assignment, such as `A=1`, and in some
/// `A+=1` and `A[i]=1`. Judged by the text alone: the name is letters, digits and `_`, and no digit
/// first.
pub(super) fn is_assignment(raw: &str) -> bool {
    let rest = raw.trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
    let is_name = rest.len() < raw.len() && !raw.starts_with(|c: char| c.is_ascii_digit());
    is_name && (rest.starts_with(['=', '[']) || rest.starts_with("+="))
}
