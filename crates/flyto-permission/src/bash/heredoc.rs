//! Here-documents: lines behind the command that reads them.
//!
//! The lines start behind the next line end that is not quoted, and end at a line
//! that is the delimiter. With a quoted delimiter they are text; else substitutions
//! in them run.
//!
//! Their text is kept, because a shell may read it as commands (`sh <<EOF`). Lines
//! that are expanded are known only where nothing in them was.

use super::parse::{Parsed, Parser};

/// A here-document whose lines are still to come.
///
/// It waits in [`Parser::heredocs`](super::parse::Parser) until the next line end.
#[derive(Debug)]
pub(super) struct Pending {
    delimiter: String,
    /// The delimiter was quoted, so nothing in the lines is expanded.
    quoted: bool,
    /// `<<-`: tabs at the start of lines do not count.
    strip_tabs: bool,
    /// Its place in [`Analysis::heredocs`](super::Analysis).
    slot: usize,
}

impl Parser<'_> {
    /// Reads the delimiter behind `<<`; gives the number of the document.
    ///
    /// An expansion in the delimiter, or a line end, makes it unclear.
    pub(super) fn heredoc(&mut self, strip_tabs: bool) -> Parsed<usize> {
        self.skip_blanks()?;
        let start = self.pos;
        let word = self.some_word()?;
        // `$'E'` is `E` in bash, and `$E` in another shell.
        if self.text[start..self.pos].contains('$') {
            return Err(self.unclear("a here-document whose delimiter is not plain"));
        }
        let Some(delimiter) = word.literal() else {
            return Err(self.unclear("a here-document whose delimiter is not plain"));
        };
        if delimiter.contains('\n') {
            return Err(self.unclear("a here-document whose delimiter is not plain"));
        }
        let slot = self.out.heredocs.len();
        self.out.heredocs.push(None);
        let delimiter = delimiter.to_owned();
        self.heredocs.push(Pending { delimiter, quoted: word.is_quoted(), strip_tabs, slot });
        Ok(slot)
    }

    /// Reads the lines of all documents that wait for a line end.
    ///
    /// Called behind the line end. One whose delimiter does not come is unclear, as
    /// bash would warn of it.
    pub(super) fn read_heredocs(&mut self) -> Parsed {
        for pending in std::mem::take(&mut self.heredocs) {
            let start = self.pos;
            let end = loop {
                let rest = &self.text[self.pos..];
                if rest.is_empty() {
                    self.pos = start;
                    return Err(self.unclear("a here-document that does not end"));
                }
                let (line, skipped) = match rest.split_once('\n') {
                    Some((line, _)) => (line, line.len() + 1),
                    None => (rest, rest.len()),
                };
                let line_start = self.pos;
                self.pos += skipped;
                let line = if pending.strip_tabs { line.trim_start_matches('\t') } else { line };
                if line == pending.delimiter {
                    break line_start;
                }
            };
            let body = &self.text[start..end];
            if pending.quoted {
                self.look_at_quoted(body);
                self.out.heredocs[pending.slot] = Some(body.to_owned());
            } else {
                if body.contains("\\\n") {
                    return Err(self.unclear("a continued line in a here-document"));
                }
                let context = self.context;
                let mut inner = Parser::new(body, self.out, context)?;
                inner.context.depth += 1;
                let is_known = inner.expand_body()?;
                if !is_known {
                    self.look_at_quoted(body);
                }
                if is_known {
                    self.out.heredocs[pending.slot] = Some(body.to_owned());
                }
            }
        }
        Ok(())
    }

    /// For the end of a text or a substitution, behind which no lines follow.
    pub(super) fn no_open_heredoc(&self) -> Parsed {
        match self.heredocs.is_empty() {
            true => Ok(()),
            false => Err(self.unclear("a here-document that does not end")),
        }
    }
}
