//! Commands with placeholders: `{{.name}}` becomes the variable of a parameter, quoted for its context.
//!
//! A value is never part of the text that bash reads. [`parse`] reads what of bash's grammar it knows exactly, and
//! refuses the rest where there are placeholders. [`lint`] and [`builtins`] keep every command of such a text to closed rules, by
//! which the bash that reads the text takes a value for the text of one word or quoted string, and never for code. A property
//! test runs texts through bash to show that.
//!
//! What a program makes of its words, its input and its variables is another matter. For those in [`programs`] and the modules
//! beside it there is a lint against mistakes: it refuses what is in no shape that it knows, and no list of programs is
//! ever finished. An author who means to hide code can, as in a script, so a person reads the text and approves it. A text without
//! placeholders is not looked at.
//!
//! Where the code argument of a common program is concerned, the tables refuse what those of template tools in a manifest
//! refuse. They differ on purpose in two points. This text is for bash alone and a person reads it, so operators and
//! compound commands are read and not refused. It runs with the environment of the user, so a value is no file of a script
//! either, and no argument of `make` and of the builtins that load code.

mod builtins;
mod find;
mod git;
mod interpreters;
mod lint;
mod parse;
mod programs;
mod shells;
mod wrappers;

use std::ops::Range;

use super::variables::variable_name;

/// A command as bash gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The text.
    pub(crate) text: String,
    /// Words that begin with a value, so that a program may read them as options.
    pub(crate) may_be_options: Vec<MayBeOption>,
}

impl Rendered {
    /// Parameters whose values begin a word that a program may read as an option, in the order of the words.
    pub(crate) fn option_names(&self) -> Vec<String> {
        let mut res: Vec<String> = Vec::new();
        for word in &self.may_be_options {
            let begin = word.pieces.iter().map_while(|it| match it {
                Piece::Value(name) => Some(name),
                _ => None,
            });
            for name in begin {
                if !res.contains(name) {
                    res.push(name.clone());
                }
            }
        }
        res
    }
}

/// A word that begins with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MayBeOption {
    /// What it is made of; the first one is a value.
    pub(crate) pieces: Vec<Piece>,
    /// Whether an option of the program is code, or runs a program, so that no schema lets it be one.
    pub(crate) is_code: bool,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The value of a parameter.
    Value(String),
    /// What is written in the text.
    Text(String),
    /// An expansion or a substitution.
    Unknown,
}

/// Why a command cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFault {
    /// The byte of the text at which it shows.
    pub(crate) at: usize,
    pub(crate) what: String,
    pub(crate) help: String,
    /// The parameter whose value would be code, where it is one.
    parameter: Option<String>,
}

impl TemplateFault {
    fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into(), help: script("TOOL_INPUT_NAME"), parameter: None }
    }

    /// A placeholder where its value would be code; `place` follows the word "stands".
    fn code(at: usize, name: &str, place: &str) -> Self {
        let variable = variable_name(name).unwrap_or_default();
        Self {
            at,
            what: format!("`{{{{.{name}}}}}` stands {place}, so the caller would decide what runs"),
            help: script(&variable),
            parameter: Some(name.to_owned()),
        }
    }

    /// Says what to write instead of a value, where the fault is one of a value.
    fn with_help(mut self, help: impl FnOnce(&str) -> String) -> Self {
        if let Some(parameter) = &self.parameter {
            self.help = help(parameter);
        }
        self
    }
}

/// That a script does what a command with placeholders cannot.
fn script(variable: &str) -> String {
    format!("make it a script (execution_type \"script\"), which reads \"${variable}\"")
}

/// A placeholder in a text.
struct Placeholder<'a> {
    name: &'a str,
    variable: String,
    span: Range<usize>,
}

/// The longest name of a parameter in a placeholder, with blanks around it, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The placeholder that begins at this byte: `{{.name}}` with the name of a parameter, blanks allowed. Other text in
/// double braces belongs to other programs, such as `docker ps --format '{{json .}}'`.
fn placeholder_at<'a>(
    text: &'a str,
    at: usize,
    is_parameter: &dyn Fn(&str) -> bool,
) -> Option<Placeholder<'a>> {
    let inside = text.get(at..)?.strip_prefix("{{")?;
    let close = inside.as_bytes().windows(2).take(MAX_NAME_BYTES).position(|it| it == b"}}")?;
    let name = inside[..close].trim_matches([' ', '\t']).strip_prefix('.')?;
    let variable = variable_name(name).filter(|_| is_parameter(name))?;
    Some(Placeholder { name, variable, span: at..at + close + 4 })
}

/// The text that bash gets for a command. Its time has a bound: see [`lint`].
pub(crate) fn render(
    text: &str,
    is_parameter: impl Fn(&str) -> bool,
) -> Result<Rendered, TemplateFault> {
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        at += found;
        if placeholder_at(text, at, &is_parameter).is_some() {
            return parse::Parser::new(text, &is_parameter).run();
        }
        at += 1;
    }
    Ok(Rendered { text: text.to_owned(), may_be_options: Vec::new() })
}

#[cfg(test)]
mod tests;
