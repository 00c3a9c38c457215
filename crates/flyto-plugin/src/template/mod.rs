//! Commands with placeholders: what they say, and what runs when values are put in.
//!
//! A text is taken apart once, when it is read ([`text`]); what its words are for is settled then, too
//! ([`roles`], which knows [`programs`] that run code). Where both are clear at a glance ([`plain`]), it
//! waits for the first call. A call only fills in values ([`fill`]).

mod fault;
mod fill;
mod interpreters;
mod options;
mod plain;
mod programs;
mod roles;
mod special;
mod text;
mod variables;
mod wrappers;

use std::{ops::Range, sync::OnceLock};

use flyto_tools::Input;
use serde_json::Value;

pub use self::fault::TemplateError;
use self::text::{Placeholder, Taken};
pub(crate) use self::{fault::Fault, fill::Refusal};

/// A command line in which `{{name}}` stands for a parameter.
///
/// A value becomes a part of exactly one word, byte for byte, whatever it contains and whatever
/// quotes are around its placeholder. A text that a shell would only split into words runs without
/// one. A text that needs a shell is handed to `sh -c`, and the values are its positional parameters:
/// no value is ever part of a text that is read as code.
///
/// [`ToolDef::template`](crate::ToolDef::template) makes a tool of it.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    /// Empty until somebody looks where the text is plain.
    taken: OnceLock<Taken>,
}

/// What runs for one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

impl Template {
    /// Reads a command. What stands in double braces is a placeholder if it looks like a name
    /// (letters, digits, `_` and `-`) or is that of a parameter; anything else is text.
    pub(crate) fn read(text: &str, is_declared: &dyn Fn(&str) -> bool) -> Result<Self, Box<Fault>> {
        if plain::is_plain(text, is_declared) {
            return Ok(Self { text: text.to_owned(), taken: OnceLock::new() });
        }
        Self::take_apart(text, is_declared)
    }

    fn take_apart(text: &str, is_declared: &dyn Fn(&str) -> bool) -> Result<Self, Box<Fault>> {
        let taken = taken(text, is_declared)?;
        Ok(Self { text: text.to_owned(), taken: OnceLock::from(taken) })
    }

    fn taken(&self) -> &Taken {
        // All names in a plain text look like names, so none needs to be declared.
        let plain = || taken(&self.text, &|_| false).expect("a plain text has no fault");
        self.taken.get_or_init(plain)
    }

    /// Whether nobody had to take the text apart so far: it holds plain words and placeholders of
    /// declared parameters, and needs no shell.
    pub(crate) fn is_plain(&self) -> bool {
        self.taken.get().is_none()
    }

    /// Whether there is a placeholder with this name.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        match self.taken.get() {
            Some(taken) => taken.params.iter().any(|it| it == name),
            None => plain::mentions(&self.text, name),
        }
    }

    /// The command as it is written.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.text
    }

    /// The names that placeholders have, each once, in the order of the command.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        &self.taken().params
    }

    /// Whether the command is run by a shell.
    #[must_use]
    pub fn uses_shell(&self) -> bool {
        self.taken.get().is_some_and(|it| it.live)
    }

    /// The program that is started; nothing where the shell decides.
    #[must_use]
    pub fn program(&self) -> Option<String> {
        if self.is_plain() {
            return plain::words(&self.text).next().map(ToOwned::to_owned);
        }
        if self.uses_shell() { None } else { self.words().next()?.fixed() }
    }

    fn words(&self) -> impl Iterator<Item = &text::Word> {
        self.taken().items.iter().filter_map(|it| match it {
            text::Item::Word(word) => Some(word),
            text::Item::Gap(..) => None,
        })
    }

    /// The bytes of the program's name.
    pub(crate) fn program_span(&self) -> Range<usize> {
        self.words().next().map_or(0..self.text.len(), |it| it.span.clone())
    }

    /// Every placeholder: its name, its bytes, and whether there are blanks within its braces.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = (&str, Range<usize>, bool)> {
        let each = |it: &'_ Placeholder| it.span.clone();
        self.taken().placeholders.iter().map(move |it| (it.name.as_str(), each(it), it.spaced))
    }

    /// The words that would run, with the placeholders as they are written.
    pub(crate) fn as_written(&self) -> Vec<String> {
        if self.uses_shell() {
            return ["sh", "-c", &self.text].map(str::to_owned).into();
        }
        let words = self.words().map(|word| {
            let parts = word.parts.iter().map(|it| match it {
                text::Part::Literal { cooked, .. } => cooked.clone(),
                text::Part::Value { param, .. } => {
                    format!("{{{{{}}}}}", self.taken().params[*param])
                }
                text::Part::Expansion(span) | text::Part::Substitution(span, _) => {
                    self.text[span.clone()].to_owned()
                }
            });
            parts.collect()
        });
        words.collect()
    }

    /// Puts in the values of a call. `schema` describes the parameters.
    pub(crate) fn fill(&self, schema: &Value, input: &Input) -> Result<Filled, Vec<Refusal>> {
        fill::fill(&self.text, self.taken(), schema, input)
    }
}

/// Takes a text apart and settles what its words are for.
fn taken(text: &str, is_declared: &dyn Fn(&str) -> bool) -> Result<Taken, Box<Fault>> {
    let mut taken = text::take_apart(text, is_declared)?;
    roles::assign(text, &mut taken)?;
    Ok(taken)
}

/// Equal when the texts are, and say the same.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
            && (self.is_plain() && other.is_plain() || self.taken() == other.taken())
    }
}

impl Eq for Template {}
