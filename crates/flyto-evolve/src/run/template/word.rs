//! A word of a command, and faults of one.

use super::rendered::{Piece, TemplateFault};

type Res<T> = Result<T, TemplateFault>;

/// Stands in [`Word::text`] for what is known at run time only.
pub(super) const UNKNOWN: char = '\u{1}';

/// A word of a simple command.
#[derive(Debug, Default, Clone)]
pub(super) struct Word {
    /// What it means, with [`UNKNOWN`] for each value and expansion.
    pub(super) text: String,
    /// The text as written.
    pub(super) raw: String,
    /// The parameters whose values are in it.
    pub(super) values: Vec<String>,
    /// For each [`UNKNOWN`] of [`Self::text`], whether it is a placeholder.
    pub(super) placeholders: Vec<bool>,
    /// Whether bash may make other words of it: there is `$@`, or an expansion or a pattern without quotes.
    pub(super) is_split: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Word {
    /// Adds a part that is known at run time only.
    pub(super) fn unknown(&mut self, is_placeholder: bool) {
        self.text.push(UNKNOWN);
        self.placeholders.push(is_placeholder);
    }

    /// What it means, where that is known: it is one word, and no pattern.
    pub(super) fn fixed(&self) -> Option<&str> {
        (!self.is_split && !self.text.contains(UNKNOWN)).then_some(self.text.as_str())
    }

    /// The words that `xargs` appends to those of this program. A fault of them is told at the program.
    pub(super) fn appended(&self) -> Self {
        let text = UNKNOWN.to_string();
        let (raw, placeholders) = (self.raw.clone(), vec![false]);
        Self { text, raw, placeholders, is_split: true, start: self.start, ..Self::default() }
    }

    /// Whether its begin, or that of a word which bash makes of it, is known at run time only and is no placeholder: nothing
    /// looks at it before a program does. Placeholders in front of it may be empty.
    pub(super) fn begins_unseen(&self) -> bool {
        let n_begin = self.text.chars().take_while(|it| *it == UNKNOWN).count();
        self.placeholders[..n_begin].contains(&false)
            || (self.is_split && self.text.contains(UNKNOWN))
    }

    /// Whether it begins with a value, which may be empty.
    pub(super) fn begins_with_value(&self) -> bool {
        self.text.starts_with(UNKNOWN) && self.placeholders.first() == Some(&true)
    }

    /// What it is made of.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let mut values = self.values.iter();
        let mut res = Vec::new();
        let mut texts = self.text.split(UNKNOWN);
        let mut text = |res: &mut Vec<Piece>| {
            let text = texts.next().unwrap_or_default();
            if !text.is_empty() {
                res.push(Piece::Text(text.to_owned()));
            }
        };
        text(&mut res);
        for is_value in &self.placeholders {
            let name = if *is_value { values.next() } else { None };
            res.push(name.cloned().map_or(Piece::Unknown, Piece::Value));
            text(&mut res);
        }
        res
    }
}

/// `A=1`, `A+=1` and `A[i]=1`.
pub(super) fn is_assignment(raw: &str) -> bool {
    let rest = raw.trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
    let is_name = rest.len() < raw.len() && !raw.starts_with(|c: char| c.is_ascii_digit());
    is_name && (rest.starts_with(['=', '[']) || rest.starts_with("+="))
}

/// Refuses any value in a word.
pub(super) fn refuse(word: &Word, place: &str) -> Res<()> {
    match word.values.first() {
        Some(name) => Err(TemplateFault::code(word.start, name, place)),
        None => Ok(()),
    }
}

/// What a word means, which must be written here.
pub(super) fn fixed<'a>(word: &'a Word, place: &str) -> Res<&'a str> {
    refuse(word, place)?;
    let why = || at(word, &format!("stands {place}, and what it is shows at run time only"));
    word.fixed().ok_or_else(why)
}

/// Refuses a word that may become several, where those behind the first would have another meaning.
pub(super) fn one_word(word: &Word) -> Res<()> {
    match word.is_split {
        true => {
            Err(at(word, "may become several words: put it in double quotes, and `$@` is not one"))
        }
        false => Ok(()),
    }
}

/// A fault of a word.
///
/// The word is told as it was written, up to 60 bytes.
pub(super) fn at(word: &Word, what: &str) -> TemplateFault {
    /// How much of a word is told, in bytes.
    const MAX_SHOWN_BYTES: usize = 60;
    let end = word.raw.floor_char_boundary(MAX_SHOWN_BYTES);
    let more = if end < word.raw.len() { "…" } else { "" };
    TemplateFault::new(word.start, format!("`{}{more}` {what}", &word.raw[..end]))
}
