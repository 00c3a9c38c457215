//! Arithmetic: `((…))`, `$((…))`, `$[…]`, subscripts and slices.
//!
//! The shell reads an expression as in C (bash manual, "Shell Arithmetic"):
//! numbers, names of variables, operators. A name stands for the text in its
//! variable, which is an expression again, and a subscript in that text may hold
//! `$(…)`: with `v='x[$(rm y)]'`, `((v))` runs `rm y`. So an expression of numbers
//! alone is read exactly, and each name in one is noted. Substitutions in it run
//! before it is evaluated, and are read like any others.
//!
//! What a name holds comes from the line, where a text between quotes would have to
//! begin a substitution ([`Analysis::is_read`](super::Analysis::is_read)), or from
//! elsewhere: a file, the environment, the output of a program.

use super::{
    Word,
    parse::{Parsed, Parser},
};

impl Parser<'_> {
    /// An expression up to `end`, which closes it. Names are noted: the shell
    /// evaluates what they hold, and runs commands in it. Substitutions are read.
    ///
    /// Quotes and backslashes stop the reading, since shells differ in what they
    /// mean there.
    pub(super) fn arithmetic(&mut self, end: &str) -> Parsed {
        self.deeper(|it| it.expression(end))
    }

    /// Reads up to `end`, counting brackets within; on `Err` it stays at what it
    /// did not read.
    ///
    /// | stands in it | becomes |
    /// | --- | --- |
    /// | digits, operators, brackets, blanks | nothing |
    /// | a name, a subscript | a note: its text is evaluated |
    /// | `$#`, `$?`, `$$`, `${#x}`, `$((…))` | nothing: these are numbers |
    /// | any other `$…` or a backquote | a note, and its commands are read |
    fn expression(&mut self, end: &str) -> Parsed {
        const EVALUATES: &str = "arithmetic with more than numbers";
        let mut n_open = 0_usize;
        let mut ignored = Word::default();
        loop {
            if n_open == 0 && self.take(end) {
                return Ok(());
            }
            match self.peek() {
                Some(b')' | b']' | b'}') if n_open == 0 => {
                    return Err(self.unclear("a bracket that is not closed"));
                }
                Some(b')' | b']') => n_open -= 1,
                Some(b'(') => n_open += 1,
                Some(b'[') => {
                    self.note(EVALUATES);
                    n_open += 1;
                }
                Some(b'$') => {
                    let is_number = matches!(self.byte(1), Some(b'#' | b'?' | b'$'))
                        || self.at("$((")
                        || self.at("${#");
                    if !is_number {
                        self.note(EVALUATES);
                    }
                    self.dollar(&mut ignored, true)?;
                    continue;
                }
                Some(b'`') => {
                    self.note(EVALUATES);
                    self.backquotes(&mut ignored, true)?;
                    continue;
                }
                Some(it) if it.is_ascii_alphabetic() || it == b'_' => self.note(EVALUATES),
                Some(it) if it.is_ascii_digit() => {}
                Some(
                    b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'='
                    | b'!' | b'&' | b'|' | b'^' | b'~' | b'?' | b':' | b';' | b'#' | b',',
                ) => {}
                _ => return Err(self.unclear(EVALUATES)),
            }
            self.pos += 1;
        }
    }
}
