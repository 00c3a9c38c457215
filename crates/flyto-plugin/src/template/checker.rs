//! What the rules and the lint share about one text: its words, and how a value in them is refused.

use std::ops::Range;

use super::{fault::Fault, refused, words::Word};
use crate::codes;

/// How many programs that the lint knows are looked at in one text: each can cost a look at all
/// words behind it.
const MOST_PROGRAMS: usize = 64;

/// Words that only some shells take for their own, and what to write instead: reserved words of
/// bash that POSIX has not (manual of bash, "Reserved Words"), and builtins after which a shell
/// reads other text differently.
const NOT_EVERYWHERE: &[(&str, &str)] = &[
    ("function", "write `name() {`"),
    ("coproc", "start it with `&`, or write a script"),
    ("select", "write `for`, or put the menu into a script"),
    ("[[", "write `[`"),
    ("]]", "write `[`"),
    ("alias", "write the command itself, or put it into a script"),
    ("shopt", "write the command itself, or put it into a script"),
];

/// The checks of one text.
pub(super) struct Checker<'a> {
    pub(super) text: &'a str,
    /// The first fault of those that count only beside a value, as the text is read before it is
    /// known to have one.
    pub(super) beside_value: Option<Box<Fault>>,
    n_programs: usize,
}

impl<'a> Checker<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, beside_value: None, n_programs: 0 }
    }

    /// The word as it is written.
    pub(super) fn raw(&self, word: &Word) -> &'a str {
        &self.text[word.span.clone()]
    }

    /// Refuses any placeholder in a word, as it stands in this place. A word without one passes.
    /// `{{x}}` in `help` becomes the placeholder.
    pub(super) fn refuse(&self, word: &Word, place: &str, help: &str) -> Result<(), Box<Fault>> {
        match &word.value {
            Some(span) => Err(self.value(span.clone(), place, help)),
            None => Ok(()),
        }
    }

    /// The fault of a placeholder in this place.
    pub(super) fn value(&self, span: Range<usize>, place: &str, help: &str) -> Box<Fault> {
        if let Some(fault) = &self.beside_value {
            return fault.clone();
        }
        let name = self.text[span.start + 2..span.end - 2].trim();
        let what = format!("`{{{{{name}}}}}` stands {place}");
        let help = Some(help.replace("{{x}}", &format!("{{{{{name}}}}}")));
        Box::new(Fault { code: codes::CODE_PLACEHOLDER, span, what, help, instead: None })
    }

    /// Notes what shells understand in different ways. The text is refused if there is a value in
    /// it, before this or behind.
    pub(super) fn refuse_beside_value(&mut self, fault: impl FnOnce() -> Box<Fault>) {
        self.beside_value.get_or_insert_with(fault);
    }

    /// Notes a word that means something to some shells only.
    pub(super) fn not_everywhere(&mut self, span: Range<usize>, word: &str, help: &str) {
        self.refuse_beside_value(|| {
            let fault = refused::NOT_EVERYWHERE.at(span, word);
            Box::new(Fault { help: Some(help.to_owned()), ..*fault })
        });
    }

    /// Refuses a value in the name of a program, and behind a name that may be empty.
    pub(super) fn refuse_program(&mut self, words: &[&mut Word]) -> Result<(), Box<Fault>> {
        let Some((program, args)) = words.split_first() else { return Ok(()) };
        let name = program.fixed(self.text).unwrap_or_default();
        if let Some((word, help)) = NOT_EVERYWHERE.iter().find(|(word, _)| *word == name) {
            self.not_everywhere(program.span.clone(), word, help);
        }
        let help = "write the program itself; hand the value over as an argument, as in \
                    `sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\"";
        self.refuse(program, "in the place of the program", help)?;
        // Even with quotes around it, the word is gone where `"$@"` is empty.
        if program.is_solid(self.text) {
            return Ok(());
        }
        let place = "behind a word that may be empty, so that its value would be the program";
        let help = "write the name of the program, or a part of its path, as in `\"$DIR/p\"`";
        args.iter().try_for_each(|it| self.refuse(it, place, help))
    }

    /// Counts one program that the lint knows, and fails beyond [`MOST_PROGRAMS`].
    pub(super) fn count_program(&mut self, program: &Word) -> Result<(), Box<Fault>> {
        self.n_programs += 1;
        if self.n_programs <= MOST_PROGRAMS {
            return Ok(());
        }
        let what = format!("{MOST_PROGRAMS} shells and programs that run others");
        Err(refused::TOO_MANY.at(program.span.clone(), &what))
    }
}
