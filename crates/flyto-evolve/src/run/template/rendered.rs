//! What comes of a command: its text for bash, or why there is none.

use std::ops::Range;

use super::super::variables::variable_name;

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
    pub(super) parameter: Option<String>,
}

impl TemplateFault {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into(), help: script("TOOL_INPUT_NAME"), parameter: None }
    }

    /// A placeholder where its value would be code; `place` follows the word "stands".
    pub(super) fn code(at: usize, name: &str, place: &str) -> Self {
        let variable = variable_name(name).unwrap_or_default();
        Self {
            at,
            what: format!("`{{{{.{name}}}}}` stands {place}, so the caller would decide what runs"),
            help: script(&variable),
            parameter: Some(name.to_owned()),
        }
    }

    /// Says what to write instead of a value, where the fault is one of a value.
    pub(super) fn with_help(mut self, help: impl FnOnce(&str) -> String) -> Self {
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
pub(super) struct Placeholder<'a> {
    pub(super) name: &'a str,
    pub(super) variable: String,
    pub(super) span: Range<usize>,
}

/// The longest name of a parameter in a placeholder, with blanks around it, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The placeholder that begins at this byte: `{{.name}}` with the name of a parameter, blanks allowed. Other text in
/// double braces belongs to other programs, such as `docker ps --format '{{json .}}'`.
pub(super) fn placeholder_at<'a>(
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
