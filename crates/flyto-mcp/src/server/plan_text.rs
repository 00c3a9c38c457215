//! The plan of a call as a person reads it before an approval: what runs, with what, and why it is asked.
//!
//! The text is what an answer is bound to: its digest is in the state that a client of the new era sends back. So the
//! same plan has the same text, without a time and without the id of the call. A value has 2,000 bytes of it at most,
//! and of a kind there are 20 values at most; paths and addresses beyond that are counted.

use std::fmt::Write as _;

use flyto_host::stages::Question;
use flyto_tools::Access;

use super::seal::canonical;

/// Most bytes of one fact. Of a longer one, both ends are shown, and how much is between them.
const MAX_FACT_BYTES: usize = 2000;
/// Most lines of the reason, and most paths, addresses and rules.
const MAX_ITEMS: usize = 20;

/// The text of a question. No value in it can make a line of its own, or hide what stands beside it.
pub(crate) fn plan_text(question: &Question<'_>, session_rules: &[String]) -> String {
    let call = question.call;
    let mut res = format!("flyto asks before this call of {}", shown(call.entry().id().as_str()));
    let _ = write!(res, " ({}).", shown(&call.entry().tool().metadata().origin.to_string()));
    let mut fact = |name: &str, value: &str| {
        let _ = write!(res, "\n{name}: {value}");
    };
    if let Some(preview) = &call.prepared().outline().preview {
        if let Some(words) = &preview.command_line {
            let words: Vec<_> = words.iter().map(|it| word(it)).collect();
            fact("runs", &shown(&words.join(" ")));
        }
        if let Some(dir) = &preview.working_dir {
            fact("in", &shown(dir));
        }
        for used in preview.paths.iter().take(MAX_ITEMS) {
            let access = match used.access {
                Access::Read => "reads",
                Access::Write => "writes",
                _ => "touches",
            };
            fact(access, &shown(&used.path));
        }
        for url in preview.urls.iter().take(MAX_ITEMS) {
            fact("reaches", &shown(url));
        }
        let n_more = preview.paths.len().saturating_sub(MAX_ITEMS)
            + preview.urls.len().saturating_sub(MAX_ITEMS);
        if n_more > 0 {
            fact("and", &format!("{n_more} further paths and addresses"));
        }
    }
    fact("input", &shown(&canonical(call.input().as_str())));
    for line in question.why.lines().take(MAX_ITEMS) {
        fact("because", &shown(line));
    }
    for rule in session_rules.iter().take(MAX_ITEMS) {
        fact("rule for this session", &shown(rule));
    }
    res
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

/// A value on one line. What a screen would obey or show as nothing is escaped; of a long value, the middle is counted.
fn shown(text: &str) -> String {
    let cut = |it: &str| it.chars().map(visible).collect::<String>();
    if text.len() <= MAX_FACT_BYTES {
        return cut(text);
    }
    let head = &text[..text.floor_char_boundary(MAX_FACT_BYTES / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_FACT_BYTES / 2)..];
    let n_left_out = text.len() - head.len() - tail.len();
    format!("{} … {n_left_out} bytes are not shown … {}", cut(head), cut(tail))
}

/// A character as it is where it is printed, else its escape.
fn visible(it: char) -> String {
    match it {
        '"' | '\'' | '\\' => it.to_string(),
        it => it.escape_debug().to_string(),
    }
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
}
