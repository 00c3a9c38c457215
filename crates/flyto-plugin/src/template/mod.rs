//! Commands with placeholders: what they say, and what runs when values are put in.
//!
//! A text is parsed when it is read ([`parse`]). The words of each command in it are checked: by
//! rules that hold for every command ([`rules`]), and by what is known of common programs
//! ([`lint`]). A call does the same and fills in values ([`fill`]): between calls the text alone is
//! kept, since its parts take many times its bytes.
//!
//! Parsing knows the rules, the rules know the lint, and all of them the [`checker`] of one text.
//!
//! Every value stands in one word as data, and there are three fences for that: `parse` refuses
//! text that shells read in different ways, `rules` refuses values where a program or a variable
//! is named, and [`fill`] moves values through variables where a shell runs. `lint` is a help
//! and no fence.

mod checker; // what the checks of one text share
mod fault; //   what is wrong with a text
mod fill; //    values in their places
mod lint; //    what is known of common programs
mod parse; //   the text as words
mod refused; // what no text may have
mod rules; //   what no value may be
mod words; //   what a text consists of

use std::{borrow::Cow, collections::BTreeSet, ops::Range};

use flyto_program::MAX_ARGUMENT_BYTES;
use flyto_tools::Input;
use serde_json::Value;

pub use self::fault::TemplateError;
use self::words::{Parsed, Placeholder};
pub(crate) use self::{
    fault::Fault,
    fill::{Filled, Refusal},
};

/// A command line in which `{{name}}` stands for a parameter.
///
/// A value becomes a part of exactly one word, byte for byte, whatever it contains and whatever
/// quotes are around its placeholder. A text that a shell would only split into words runs without
/// one. A text that needs a shell is handed to `sh -c`, and the values are in variables of the
/// shell whose names begin with `flyto_value_`: no value is ever part of a text that is read as
/// code, and the positional parameters are empty.
///
/// [`ToolDef::template`](crate::ToolDef::template) makes a tool of it.
/// ```
/// use flyto_plugin::{Invocation, ToolDef};
/// use serde_json::json;
///
/// let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
/// let tool = ToolDef::template("log", "git -C {{path}} log", parameters)?;
/// let Invocation::Template(template) = &tool.invocation else { panic!("it is one") };
/// assert_eq!(template.parameters(), ["path"]);
/// assert_eq!(template.program(), Some("git"));
/// assert!(!template.uses_shell());
/// # Ok::<(), flyto_plugin::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    /// The names of the placeholders, each once.
    params: Vec<String>,
    needs_shell: bool,
    program: Option<String>,
}

/// A template that was just read, with all that was found in its text.
///
/// The parts of a text take up to fifty times its bytes, so they are worked out anew for each call.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) template: Template,
    /// Its names are in the template.
    parsed: Parsed,
}

impl Template {
    /// Reads a command. What stands in double braces is a placeholder if it looks like a name
    /// (letters, digits, `_` and `-`) or is that of a parameter; anything else is text.
    /// `is_declared` tells the names of parameters. The first fault is returned, which may be that
    /// the text is longer than any argument ([`MAX_ARGUMENT_BYTES`]).
    pub(crate) fn read(
        text: &str,
        is_declared: &dyn Fn(&str) -> bool,
    ) -> Result<Reading, Box<Fault>> {
        if text.len() > MAX_ARGUMENT_BYTES {
            return Err(refused::LONG.at(0..text.len(), &text.len().to_string()));
        }
        let mut parsed = parse::parse(text, is_declared)?;
        let params = std::mem::take(&mut parsed.params);
        let first = || parsed.words.first()?.fixed(text).map(Cow::into_owned);
        let template = Self {
            text: text.to_owned(),
            params,
            needs_shell: parsed.needs_shell,
            program: if parsed.needs_shell { None } else { first() },
        };
        Ok(Reading { template, parsed })
    }

    /// The command as it is written.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.text
    }

    /// The names that placeholders have, each once, in the order of the command.
    ///
    /// Also those that no parameter has; at most 1024.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        &self.params
    }

    /// Whether the command is run by a shell.
    ///
    /// Known from the text: no value of a call changes it.
    #[must_use]
    pub fn uses_shell(&self) -> bool {
        self.needs_shell
    }

    /// The program that is started; nothing where the shell decides.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// What the text consists of, as it was when it was read: the same names are placeholders.
    fn parsed(&self) -> Result<Parsed, Box<Fault>> {
        let names: BTreeSet<&str> = self.params.iter().map(String::as_str).collect();
        parse::parse(&self.text, &|name| names.contains(name))
    }

    /// The words that would run, with the placeholders as they are written.
    /// For a preview of a call whose values are missing or wrong.
    pub(crate) fn as_written(&self) -> Vec<String> {
        let Some(parsed) = self.parsed().ok().filter(|it| !it.needs_shell) else {
            return ["sh", "-c", &self.text].map(str::to_owned).into();
        };
        let Filled { program, args } = fill::as_written(&self.text, &parsed);
        [program].into_iter().chain(args).collect()
    }

    /// Puts in the values of a call. `schema` describes the parameters.
    /// Fails with every value that cannot stand in its place, not only the first.
    pub(crate) fn fill(&self, schema: &Value, input: &Input) -> Result<Filled, Vec<Refusal>> {
        let parsed = self.parsed().map_err(|fault| vec![Refusal::of_command(fault.what)])?;
        fill::fill(&self.text, &parsed, schema, input)
    }
}

impl Reading {
    /// The bytes of the program's name.
    pub(crate) fn program_span(&self) -> Range<usize> {
        self.parsed.words.first().map_or(0..self.template.text.len(), |it| it.span.clone())
    }

    /// Every placeholder: its name, its bytes, and whether there are blanks within its braces.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = (&str, Range<usize>, bool)> {
        let params = &self.template.params;
        let name = |it: &Placeholder| params.get(it.param).map_or("", |name| name);
        self.parsed.placeholders.iter().map(move |it| (name(it), it.span.clone(), it.spaced))
    }
}
