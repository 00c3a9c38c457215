//! Here-documents: where their bodies end, and what bash runs in them.
//!
//! Bash finds the end before it looks at what is in the body, so a quote or a parenthesis that stays open there reaches no further:
//!
//! | text | body |
//! | --- | --- |
//! | `<<E` | up to the line `E`; expansions count, and a line end behind a backslash does not |
//! | `<<'E'` | the same, and nothing in it counts |
//! | `<<-E` | the same, without the tabs in front of each line |
//! | `$(cat <<E` … `E)` | up to a line that begins with `E` and has a parenthesis |

use super::Scan;

impl Scan<'_> {
    /// The bodies of the here-documents of the line before. Where the word at the end had no quotes, bash runs substitutions in
    /// them.
    pub(super) fn here_documents(&mut self) {
        for here in std::mem::take(&mut self.here) {
            let begin = self.at;
            let mut line = begin;
            let (body, end) = loop {
                let next = self.line_end(line, here.is_quoted);
                let text = self.cut(line..next);
                let n_tabs = text.len() - text.trim_start_matches('\t').len();
                let text = if here.is_indented { &text[n_tabs..] } else { &text };
                let rest = text.strip_prefix(here.end.as_str());
                // The parenthesis of `$(` ends it as well.
                if rest.is_some_and(|it| self.n_substitutions > 0 && it.contains(')')) {
                    break (line, next - rest.map_or(0, str::len));
                }
                if rest == Some("") {
                    break (line, next);
                }
                if next == self.text.len() {
                    break (next, next);
                }
                line = next + 1;
            };
            if !here.is_quoted {
                self.limited(body, |it| it.expansions());
            }
            self.at = end;
            self.at += usize::from(self.next() == Some('\n'));
        }
    }

    /// Where the line ends that begins here, in bytes of the text, with those that a backslash at its end takes into it.
    fn line_end(&mut self, begin: usize, is_quoted: bool) -> usize {
        let mut at = begin;
        loop {
            let line = self.text[at..].split('\n').next().unwrap_or_default();
            let end = at + line.len();
            let n_backslashes = line.len() - line.trim_end_matches('\\').len();
            if is_quoted || n_backslashes.is_multiple_of(2) || end == self.text.len() {
                return end;
            }
            self.joins.insert(end - 1);
            at = end + 1;
        }
    }

    /// The body of a here-document, in which only expansions count.
    fn expansions(&mut self) {
        self.skip_joins();
        while let Some(next) = self.next() {
            match next {
                '$' | '`' | '\\' => self.piece(next, true),
                _ => drop(self.step()),
            }
        }
    }
}
