//! `[[ … ]]`, the conditional command of bash.
//!
//! A shell of POSIX takes `[[` for the name of a program, and what stands between for
//! its words, so operators in it are noted where such a shell may read the text.

use super::parse::{Parsed, Parser};

impl Parser<'_> {
    /// `[[ … ]]`. Numbers are compared by evaluating both sides, which can run
    /// commands.
    ///
    /// `<` and `>` compare texts there and are no redirections.
    pub(super) fn test_command(&mut self) -> Parsed {
        const EVALUATED: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "=~"];
        loop {
            let start = self.pos;
            self.skip_lines()?;
            if self.text[start..self.pos].contains('\n') {
                self.note_dialect();
            }
            if self.take_reserved("]]") {
                return Ok(());
            }
            let is_operator = ["&&", "||", "(", ")"].iter().any(|it| self.take(it));
            let compares = matches!(self.peek(), Some(b'<' | b'>')) && self.byte(1) != Some(b'(');
            if is_operator || compares {
                self.note_dialect();
            }
            if is_operator {
                continue;
            }
            if compares {
                self.pos += 1;
                continue;
            }
            let word = self.some_word()?;
            if EVALUATED.contains(&word.known_text()) {
                self.note("a comparison that evaluates its sides");
            }
        }
    }
}
