//! Redirections.
//!
//! A file that is written needs a rule that allows it; roots do not count.
//! Descriptors are passed over, here-documents are left to `heredoc`; a target that
//! is not known is kept as such, and asked where it is written to.

use flyto_tools::Access;

use super::{
    Command, Input, Redirect, Stdin, Word,
    parse::{Parsed, Parser},
};

impl Parser<'_> {
    /// Reads one redirection, if one starts here.
    ///
    /// `false` where none starts; nothing is taken then. The longest operator
    /// counts, so the list has it first.
    pub(super) fn redirect(&mut self, command: &mut Command) -> Parsed<bool> {
        const OPERATORS: &[&str] =
            &["<<<", "<<-", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">"];
        let rest = &self.text.as_bytes()[self.pos..];
        let n_digits = rest.iter().take_while(|it| it.is_ascii_digit()).count();
        let behind = &rest[n_digits..];
        let operator = OPERATORS.iter().find(|it| {
            behind.starts_with(it.as_bytes()) && (n_digits == 0 || !it.starts_with('&'))
        });
        let Some(operator) = operator else { return Ok(false) };
        if operator.len() == 1 && behind.get(1) == Some(&b'(') {
            return match n_digits {
                // A process substitution, which is a word.
                0 => Ok(false),
                _ => Err(self.unclear("a number before a process substitution")),
            };
        }
        let number = std::str::from_utf8(&rest[..n_digits]).unwrap_or_default();
        let is_stdin = number.is_empty() || number.trim_start_matches('0').is_empty();
        self.pos += n_digits + operator.len();
        if operator.starts_with("<<") && *operator != "<<<" {
            let slot = self.heredoc(*operator == "<<-")?;
            command.inputs.push(Input::Heredoc { slot, is_stdin });
            if is_stdin {
                command.stdin = Stdin::Heredoc(slot);
            }
            return Ok(true);
        }
        self.skip_blanks()?;
        let target = self.some_word()?;
        if operator.starts_with('<') && is_stdin {
            command.stdin = match (*operator, target.literal()) {
                ("<<<", Some(text)) => Stdin::Text(text.to_owned()),
                _ => Stdin::Unknown,
            };
        }
        if operator.starts_with('&') {
            // `&` ends a command in a shell of POSIX: what follows the target is another one.
            self.skip_blanks()?;
            if !matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')')) {
                self.note_dialect();
            }
        }
        let access = match *operator {
            "<<<" => {
                command.inputs.push(Input::Word { word: target, is_stdin });
                return Ok(true);
            }
            "<&" | ">&" if is_descriptor(&target) => return Ok(true),
            "<&" => return Err(self.unclear("a file descriptor that is not a number")),
            "<" => Access::Read,
            "<>" => Access::Unknown,
            _ => Access::Write,
        };
        if !target.is_process() {
            command.redirects.push(Redirect { target, access });
        }
        Ok(true)
    }
}

/// `1`, `-` or `1-`, as behind `>&`.
fn is_descriptor(word: &Word) -> bool {
    word.literal().is_some_and(|it| {
        let number = it.strip_suffix('-').unwrap_or(it);
        !it.is_empty() && number.bytes().all(|it| it.is_ascii_digit())
    })
}
