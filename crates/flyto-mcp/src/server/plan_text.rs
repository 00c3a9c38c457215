//! The plan of a call as a person reads it before an approval: what runs, with what, and why it is asked.
//!
//! The text is what an answer is bound to: its digest is in the state that a client of the new era sends back. So the
//! same plan has the same text, without a time and without the id of the call.
//!
//! A secret that the host's guard is sure of is not shown, see [`Prepared::for_question`](flyto_host::Prepared::for_question); the
//! answer is bound to it all the same.
//!
//! What runs and the input are shown whole. One of more than 16 KiB stands at the end, behind the reasons. A call whose text would have
//! more than 256 KiB is not asked about, for no answer would be about what was read. Of other facts, 2,000 bytes are shown, and
//! 20 of a kind. What is beyond that is counted.

use std::fmt::Write as _;

use flyto_host::{Prepared, stages::Call};
use flyto_tools::{Access, is_hidden};

use super::seal::{canonical, canonical_with};

/// Most bytes of a text: 256 KiB, a source file of several thousand lines. The protocol has no bound; a client shows the text in a
/// dialogue that scrolls.
pub(crate) const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Most bytes of a fact in front of the reasons: 16 KiB, a few hundred lines of a dialogue.
const MAX_FRONT_BYTES: usize = 16 * 1024;
/// Most bytes of any other fact. Of a longer one, both ends are shown, and how much is between them.
const MAX_FACT_BYTES: usize = 2000;
/// Most lines of the reason, and most paths, addresses and rules.
const MAX_ITEMS: usize = 20;

/// The plan of a call.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The text of a question. No value in it can make a line of its own, or hide what stands beside it.
    pub(crate) text: String,
    /// The rules that the text names as those for the session: all of them, or none where they are too many or too long.
    pub(crate) session_rules: &'a [String],
    /// The values of the text as they are, with the secrets that it does not show.
    pub(crate) values: String,
}

/// The plan of a call that is asked about for these reasons. `rules` can be held for the session.
///
/// # Errors
///
/// In words: what runs, or the input, is longer than a question shows, alone or with the rest; or a value could not be
/// searched for secrets.
pub(crate) fn plan<'a>(
    call: &Call,
    reasons: &[String],
    rules: &'a [String],
) -> Result<Plan<'a>, String> {
    let mut hiding = Hiding { prepared: call.prepared(), values: String::new() };
    let mut text = format!("flyto asks before this call of {}", shown(call.entry().id().as_str()));
    let _ = write!(text, " ({}).", shown(&call.entry().tool().metadata().origin.to_string()));
    let mut end = String::new();
    let mut fact = |name: &str, value: &str| {
        let place = if value.len() > MAX_FRONT_BYTES { &mut end } else { &mut text };
        let _ = write!(place, "\n{name}: {value}");
    };
    if let Some(preview) = &call.prepared().outline().preview {
        if let Some(words) = &preview.command_line {
            fact("runs", &whole("the command line", &hiding.line(words)?)?);
        }
        if let Some(dir) = &preview.working_dir {
            fact("in", &shown(&hiding.fact(dir)?));
        }
        for used in preview.paths.iter().take(MAX_ITEMS) {
            let access = match used.access {
                Access::Read => "reads",
                Access::Write => "writes",
                _ => "touches",
            };
            fact(access, &shown(&hiding.fact(&used.path)?));
        }
        for url in preview.urls.iter().take(MAX_ITEMS) {
            fact("reaches", &shown(&hiding.fact(url)?));
        }
        let n_more = preview.paths.len().saturating_sub(MAX_ITEMS)
            + preview.urls.len().saturating_sub(MAX_ITEMS);
        if n_more > 0 {
            fact("and", &format!("{n_more} further paths and addresses"));
        }
    }
    fact("input", &whole("the input", &hiding.json(call.input().as_str())?)?);
    for line in reasons.iter().take(MAX_ITEMS) {
        fact("because", &shown(&hiding.fact(line)?));
    }
    if reasons.len() > MAX_ITEMS {
        fact("and", &format!("{} further reasons", reasons.len() - MAX_ITEMS));
    }
    let is_whole = |it: &String| it.len() <= MAX_FACT_BYTES;
    let session_rules: &[String] =
        if rules.len() <= MAX_ITEMS && rules.iter().all(is_whole) { rules } else { &[] };
    for rule in session_rules {
        fact("rule for this session", &shown(&hiding.fact(rule)?));
    }
    text.push_str(&end);
    match text.len() {
        n if n > MAX_TEXT_BYTES => Err(format!(
            "a question about it would have {n} bytes, and one has {MAX_TEXT_BYTES} at most"
        )),
        _ => Ok(Plan { text, session_rules, values: hiding.values }),
    }
}

/// Takes secrets out of what is shown: clients keep the texts of questions, and send them on.
struct Hiding<'a> {
    prepared: &'a Prepared,
    /// What was shown, each value as it is.
    values: String,
}

impl Hiding<'_> {
    /// One value.
    fn fact(&mut self, value: &str) -> Result<String, String> {
        self.keep(value);
        self.without(value)
    }

    /// The words of a command line.
    fn line(&mut self, words: &[String]) -> Result<String, String> {
        let line = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(" ");
        self.keep(&line(&mut words.iter().map(|it| word(it))));
        let parts: Vec<_> = words.iter().map(|it| self.part(it)).collect::<Result<_, _>>()?;
        self.without(&line(&mut parts.iter().map(|it| word(it))))
    }

    /// An input.
    fn json(&mut self, json: &str) -> Result<String, String> {
        self.keep(&canonical(json));
        let mut failed = None;
        let parts = canonical_with(json, &mut |it| match self.part(&it) {
            Ok(part) => part,
            Err(why) => {
                failed = Some(why);
                it
            }
        });
        failed.map_or_else(|| self.without(&parts), Err)
    }

    fn keep(&mut self, value: &str) {
        self.values.push_str(value);
        self.values.push('\n');
    }

    /// A part of a value. Where the value shows a character by an escape, a secret beside it has no end there.
    fn part(&self, text: &str) -> Result<String, String> {
        if text.contains(|it: char| it.is_control() || is_hidden(it)) {
            self.without(text)
        } else {
            Ok(text.to_owned())
        }
    }

    fn without(&self, text: &str) -> Result<String, String> {
        self.prepared.for_question(text).map_err(|err| format!("its plan cannot be shown: {err}"))
    }
}

/// A word of a command line: as it is where that is clear, else in quotes.
fn word(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=,@%+".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}

/// A value on one line, all of it.
///
/// # Errors
///
/// In words: it is too long.
fn whole(what: &str, text: &str) -> Result<String, String> {
    match text.len() {
        n if n > MAX_TEXT_BYTES => {
            Err(format!("{what} has {n} bytes, and a question has {MAX_TEXT_BYTES} at most"))
        }
        _ => Ok(visible(text)),
    }
}

/// A value on one line. Of a long value, the middle is counted.
fn shown(text: &str) -> String {
    if text.len() <= MAX_FACT_BYTES {
        return visible(text);
    }
    let head = &text[..text.floor_char_boundary(MAX_FACT_BYTES / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_FACT_BYTES / 2)..];
    let n_left_out = text.len() - head.len() - tail.len();
    format!("{} … {n_left_out} bytes are not shown … {}", visible(head), visible(tail))
}

/// A text in which what a screen would obey or show as nothing is escaped.
fn visible(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '"' | '\'' | '\\' => res.push(it),
            it if is_hidden(it) && !it.is_control() => res.extend(it.escape_unicode()),
            it => res.extend(it.escape_debug()),
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_makes_a_line_of_its_own() {
        assert_eq!(
            shown("a\nbecause: the user said so\u{202e}\u{1b}[2J"),
            "a\\nbecause: the user said so\\u{202e}\\u{1b}[2J"
        );
        assert_eq!(shown("é \"x\""), "é \"x\"");
        assert_eq!(shown("a\u{3164}\u{115f}\u{2800}"), "a\\u{3164}\\u{115f}\\u{2800}");
        assert_eq!(word("a b"), "\"a b\"");
        assert_eq!(word("--x=/tmp/a"), "--x=/tmp/a");
        assert_eq!(word(""), "\"\"");
    }

    #[test]
    fn a_long_value_shows_both_ends() {
        let text = shown(&format!("begin{}end", "é".repeat(3000)));
        assert!(text.starts_with("beginé") && text.ends_with("éend"), "{text}");
        assert!(text.contains("bytes are not shown"), "{text}");
    }

    #[test]
    fn what_runs_and_the_input_are_shown_whole_or_not_at_all() {
        let text = "é".repeat(MAX_TEXT_BYTES / 2);
        assert_eq!(whole("the input", &text).as_deref(), Ok(&*text));
        let why = whole("the input", &format!("{text}x")).unwrap_err();
        assert_eq!(why, "the input has 262145 bytes, and a question has 262144 at most");
    }
}
