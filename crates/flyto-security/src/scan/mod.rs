//! One scan: a text, and the pieces that come out of it when it is decoded.
//!
//! Each piece is looked at in the same way:
//!
//! 1. values that the guard was given, and a user's rules;
//! 2. formats: an automaton finds their literal parts, and a pattern runs at such a place only, over at most some
//!    hundred bytes;
//! 3. words that a secret stands beside (`token`, `://`, ` -u`): a parser of a few lines each looks for the value;
//! 4. runs of characters that tokens are made of: each is decoded where it can be, and what comes of it is a piece
//!    again; a run with no better name may be `opaque`.
//!
//! Time is linear in the content. A step from a literal looks at a bounded number of bytes; where that bound is more
//! than some hundred (keys, tokens of many parts, long values), what was looked at once is skipped. Decoded text is
//! shorter than its source and is decoded at most [`MAX_DEPTH`] times; joined text has at most four times the bytes
//! of the content. A content with control sequences or NUL bytes is looked at once more without them.

use std::{borrow::Cow, ops::Range};

pub(crate) use self::names::Hides;
use crate::{
    DefaultGuard, ScanError, SecretMatch, Tier, View,
    catalogue::{Cue, Format, catalogue},
    literal::{distinct, is_stand_in},
};

mod assignment; // `password = …`, `--token …`
mod credentials; // `https://user:password@host`, `curl -u user:password`
mod displayed; //  colours and NUL bytes within a token
mod joined; //     `$A$B`, `"a" + "b"`
mod keys; //       `-----BEGIN PRIVATE KEY-----`
mod names; //      which names are those of secrets
mod opaque; //     what has no name and looks like a token
mod views; //      Base64, hexadecimal digits, escapes
mod words; //      `gh'p'_…`, `gh\p_…`, `printf %s%s …`

/// How often what was decoded is decoded once more.
///
/// A text that is Base64 within Base64 is read; a third layer is not.
const MAX_DEPTH: u8 = 2;

/// Rules that know where a secret stands, and not what it is.
///
/// A match of a named format goes before one of these: [`rank`].
#[rustfmt::skip] // A list reads best as one.
const GENERIC: &[&str] = &[
    "assigned-password", "assigned-token", "assigned-key", "url-password", "command-password", "stdin-password",
    "basic-authorization", "bearer-token",
];

/// A format that reaches further is looked for once in a word, so that hostile text costs no more than other text.
const LONG_REACH: usize = 500;

/// A text to look at.
///
/// Everything that is found in it has the span of [`outer`](Self::outer), or its own in the content
/// itself.
struct Piece<'t> {
    text: &'t [u8],
    /// The last step that led to the text.
    view: View,
    /// Where the content has it, encoded; `None` for the content itself.
    outer: Option<Range<usize>>,
    /// How often it was decoded: 0 is the content.
    depth: u8,
}

/// What something is, before it becomes a match.
///
/// Its bytes are hashed and forgotten in [`Scan::add`].
struct Finding<'a> {
    rule: &'a str,
    label: Cow<'a, str>,
    tier: Tier,
    /// Which variable usually has such a secret.
    variable: Option<&'a str>,
    /// In the piece.
    /// An empty one is dropped.
    secret: Range<usize>,
}

/// What a text is seen to do with its parts.
struct Verbs {
    /// It turns something round.
    reverses: bool,
    /// It may put words together by `printf`.
    prints: bool,
}

/// A scan under way.
///
/// It is made for one content, and used up by [`run`](Self::run).
pub(crate) struct Scan<'g> {
    guard: &'g DefaultGuard,
    location: &'g str,
    found: Vec<SecretMatch>,
}

impl<'g> Scan<'g> {
    pub(crate) fn new(guard: &'g DefaultGuard, location: &'g str) -> Self {
        Self { guard, location, found: Vec::new() }
    }

    /// # Errors
    ///
    /// [`ScanError::RuleTooLarge`], of a user's rule. The size was checked before.
    pub(crate) fn run(mut self, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
        let piece = Piece { text: content, view: View::AsWritten, outer: None, depth: 0 };
        self.look_at(&piece)?;
        self.displayed(content)?;
        Ok(finish(self.found, content))
    }

    /// Finds everything in a piece, and in what it decodes to.
    ///
    /// The order does not matter for what is reported, since [`finish`] sorts it.
    fn look_at(&mut self, piece: &Piece<'_>) -> Result<(), ScanError> {
        let text = piece.text;
        for (name, secret) in self.guard.known.find(text) {
            let label = Cow::Owned(format!("value of the variable {name}"));
            let variable = Some(name);
            self.add(
                piece,
                Finding { rule: "known-value", label, tier: Tier::Block, variable, secret },
            );
        }
        for hit in self.guard.user_rules.scan(self.location, text)? {
            let label = Cow::Borrowed(hit.label);
            let (tier, secret) = (hit.tier, hit.secret);
            self.add(piece, Finding { rule: hit.rule, label, tier, variable: None, secret });
        }
        self.formats(piece);
        let verbs = self.cues(piece);
        self.runs(piece, verbs.reverses)?;
        let mut seams = Vec::new();
        if piece.depth < MAX_DEPTH {
            seams = self.escaped(piece)?;
        }
        if piece.depth == 0 {
            self.joined(piece, seams, verbs.prints)?;
        }
        Ok(())
    }

    /// Tokens of named formats.
    ///
    /// A format whose literal stands within its own last token is not looked for again there.
    fn formats(&mut self, piece: &Piece<'_>) {
        let text = piece.text;
        // A format, and where the last look for it ended: what is before that was seen.
        let mut seen: (usize, usize) = (usize::MAX, 0);
        for (i, at) in catalogue().literals(text) {
            if seen.0 == i && at.start < seen.1 {
                continue;
            }
            let format = &catalogue().formats[i];
            if let Some(secret) = token_at(format, text, &at) {
                seen = (i, secret.end);
                self.add(piece, named(format, secret));
            } else if format.reach > LONG_REACH {
                // What is no token from here on is none from further inside the same word.
                let rest = &text[at.end..text.len().min(at.end + format.reach)];
                let is_part = |it: &&u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
                seen = (i, at.end + rest.iter().take_while(is_part).count());
            }
        }
    }

    /// Secrets beside words that tell of one; returns what else the text is seen to do.
    ///
    /// Parsers look to both sides of a word, a bounded number of bytes.
    fn cues(&mut self, piece: &Piece<'_>) -> Verbs {
        let mut res = Verbs { reverses: false, prints: false };
        // What is before these offsets was seen with an earlier word.
        let (mut names_end, mut keys_end, mut letters_end) = (0, 0, 0);
        for (cue, at) in catalogue().cues(piece.text) {
            match cue {
                Cue::Name if at.start >= names_end => names_end = self.assignment(piece, at),
                Cue::Key if at.start >= keys_end => keys_end = self.key(piece, at),
                Cue::Name | Cue::Key => {}
                Cue::Scheme => self.scheme(piece, at),
                Cue::Url => self.url(piece, at),
                Cue::Option => self.option(piece, at),
                Cue::Client => letters_end = self.letters(piece, at, letters_end),
                Cue::Stdin => self.stdin(piece, at),
                Cue::Reversal => res.reverses = true,
                Cue::Command => res.reverses |= is_command(piece.text, at),
                Cue::Print => res.prints = true,
            }
        }
        res
    }

    /// Looks at what a part of a piece decodes to.
    ///
    /// `span` is where `piece` has the encoded form. Of nested forms the outermost span is kept.
    fn decoded(
        &mut self,
        piece: &Piece<'_>,
        span: Range<usize>,
        view: View,
        text: &[u8],
    ) -> Result<(), ScanError> {
        let outer = Some(piece.outer.clone().unwrap_or(span));
        self.look_at(&Piece { text, view, outer, depth: piece.depth + 1 })
    }

    /// Makes the match: the sample, the length and the fingerprint are those of the decoded bytes.
    fn add(&mut self, piece: &Piece<'_>, finding: Finding<'_>) {
        let Finding { rule, label, tier, variable, secret } = finding;
        let bytes = &piece.text[secret.clone()];
        if bytes.is_empty() {
            return;
        }
        let span = piece.outer.clone().unwrap_or(secret);
        let fingerprint = self.guard.key.of(bytes);
        let it = SecretMatch::new(rule, label, tier, span, bytes, fingerprint);
        self.found.push(it.in_view(piece.view).with_variable(variable));
    }
}

/// Whether a word may be a command: `rev` of `| rev`, `/usr/bin/rev;` and `$(rev)`, and not of `rev-parse` and `prev`.
fn is_command(text: &[u8], at: Range<usize>) -> bool {
    let is_part = |it: &u8| !it.is_ascii() || it.is_ascii_alphanumeric() || b"_-.:=".contains(it);
    let before = at.start.checked_sub(1).and_then(|it| text.get(it));
    !before.is_some_and(is_part) && !text.get(at.end).is_some_and(is_part)
}

/// A finding with the texts of its format.
fn named(format: &'static Format, secret: Range<usize>) -> Finding<'static> {
    Finding {
        rule: &format.id,
        label: Cow::Borrowed(&format.label),
        tier: format.tier,
        variable: format.variable.as_deref(),
        secret,
    }
}

/// The token of `format` whose literal part is at `at`.
///
/// `None` where it begins or ends within a word, has too few different bytes, or is a placeholder.
fn token_at(format: &Format, text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    // A cheap look before the patterns run: most literals stand inside a word.
    if !format.has_before() && !is_start(text, at.start) {
        return None;
    }
    let token = format.token(text, at.clone())?;
    if !is_start(text, token.start) || text.get(token.end).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let rest = [&text[token.start..at.start], &text[at.end..token.end]].concat();
    if distinct(&rest) < format.min_distinct || is_stand_in(&rest) {
        return None;
    }
    // The name of a value is no part of the secret: `AccountKey=`.
    let is_name = text[at.clone()].ends_with(b"=") || text[at.clone()].ends_with(b" ");
    Some(if is_name { at.end..token.end } else { token })
}

/// Whether a token may begin at `at`: not within a word, unless the letter before is part of an escape.
///
/// `\n`, `\r`, `\t` and `%XX` before it are taken for escapes.
fn is_start(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(3)..at];
    match before {
        [.., b'\\', b'n' | b'r' | b't'] | [b'%', _, _] => true,
        [.., it] => !it.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// Puts matches in order, leaves out those that a better one says already, and counts lines.
///
/// Matches with nearly the same span become the one that says more; its span covers both where the
/// one that it replaces asks or stops.
fn finish(mut found: Vec<SecretMatch>, content: &[u8]) -> Vec<SecretMatch> {
    found.iter_mut().for_each(|it| widen(&mut it.span, content));
    found.sort_by_key(|it| {
        (it.span.start, std::cmp::Reverse(it.span.end), std::cmp::Reverse(it.tier))
    });
    let mut res: Vec<SecretMatch> = Vec::with_capacity(found.len());
    for it in found {
        let Some(last) = res.last_mut().filter(|last| it.span.start < last.span.end) else {
            res.push(it);
            continue;
        };
        // What a better match holds says nothing more: the lines of a key.
        if it.span.end <= last.span.end && rank(&it) < rank(last) {
            continue;
        }
        if !is_same(&last.span, &it.span) {
            res.push(it);
            continue;
        }
        // Of two named formats the one whose literal stands further back says more.
        let is_equal = it.span == last.span;
        let (new, old) = (rank(&it), rank(last));
        if new > old || (new == old && is_equal) {
            // What a person would be asked about stays covered.
            let asked = (last.tier >= Tier::Ask).then(|| last.span.clone());
            *last = it;
            if let Some(asked) = asked {
                last.span = last.span.start.min(asked.start)..last.span.end.max(asked.end);
            }
        }
    }
    let (mut line, mut at) = (1, 0);
    for it in &mut res {
        let start = it.span.start.clamp(at, content.len());
        line += memchr::memchr_iter(b'\n', &content[at..start]).count();
        at = start;
        it.line = line;
    }
    res
}

/// Widens a span to whole characters where the content is UTF-8: a value that is cut at a bound may
/// end within one. In other contents it becomes at most three bytes longer on each side.
fn widen(span: &mut Range<usize>, content: &[u8]) {
    let is_inside = |at: usize| content.get(at).is_some_and(|it| it & 0b1100_0000 == 0b1000_0000);
    span.start -= (0..3.min(span.start)).take_while(|n| is_inside(span.start - n)).count();
    span.end += (0..3).take_while(|n| is_inside(span.end + n)).count();
}

/// How much a match says: its tier, then whether its rule knows the format.
fn rank(it: &SecretMatch) -> (Tier, u8) {
    let knows = match it.rule.as_str() {
        "opaque" => 0,
        it if GENERIC.contains(&it) => 1,
        _ => 2,
    };
    (it.tier, knows)
}

/// Whether two spans overlap and are nearly one.
///
/// They share at least half of the shorter one, and the longer one has at most 64 bytes more than
/// they share.
fn is_same(a: &Range<usize>, b: &Range<usize>) -> bool {
    let common = a.end.min(b.end).saturating_sub(a.start.max(b.start));
    common > 0 && (common * 2 >= a.len().min(b.len())) && a.len().max(b.len()) <= common + 64
}
