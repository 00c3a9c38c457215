//! One finding, as a value.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::code::Code;
use crate::pointer::Pointer;
use crate::quote::OneLine;
use crate::source::{Place, Source, Span};

/// What is wrong, where, why, and what to write instead.
///
/// `Display` gives one line, `file:line:column: error[F0101]: message`, with control characters
/// escaped. Everything a renderer needs to draw the place with a caret is inside: see
/// [`Location::source`].
///
/// The serialised form is an object with these keys, all of them always there:
///
/// | key | value |
/// | --- | --- |
/// | `code` | the code, such as `"F0101"` |
/// | `severity` | `"error"`, `"warning"` or `"note"` |
/// | `file` | the name of the text |
/// | `line`, `column`, `end_line`, `end_column` | first character and the one behind the last, from 1; `null` without a place |
/// | `byte_start`, `byte_end` | the same as byte offsets from 0; `null` without a place |
/// | `pointer` | JSON Pointer to the value that is meant; `null` where there is none, as in a syntax error |
/// | `message` | what is wrong |
/// | `reason` | why it is wrong, or `null` |
/// | `help` | what to do, or `null` |
/// | `suggestion` | an object with `replacement` and the six place keys of the text to replace, or `null` |
/// | `related` | an array of objects with `message`, `file` and the six place keys |
///
/// ```
/// use flyto_diagnostics::{Code, Diagnostic, Location, Source, Span};
///
/// const NO_EGGS: Code = Code::new("F9001");
///
/// let source = Source::new("cake.json", "{\n  \"eggs\": 0\n}");
/// let zero = Span::new(12, 13);
/// let finding = Diagnostic::error(NO_EGGS, Location::text(&source, zero), "a cake needs eggs")
///     .with_reason("nothing else binds the flour")
///     .with_help("take two")
///     .with_suggestion(zero, "2");
/// assert_eq!(finding.to_string(), "cake.json:2:11: error[F9001]: a cake needs eggs");
/// let written = serde_json::to_value(&finding)?;
/// assert_eq!((&written["line"], &written["suggestion"]["replacement"]), (&2.into(), &"2".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Which kind of finding this is.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// Where it is.
    pub location: Location,
    /// The path to the value that is meant, where the text could be read that far.
    pub pointer: Option<Pointer>,
    /// What is wrong: one sentence in lower case without a full stop.
    pub message: String,
    /// Why it is wrong, where that is not plain from the message.
    pub reason: Option<String>,
    /// What to do about it, in words.
    pub help: Option<String>,
    /// What to write instead, ready to be applied.
    pub suggestion: Option<Suggestion>,
    /// Further places that explain this one.
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// A finding because of which something was not accepted.
    pub fn error(code: Code, location: Location, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, location, message.into())
    }

    /// A finding about something that was accepted and is probably not what was meant.
    pub fn warning(code: Code, location: Location, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, location, message.into())
    }

    /// Something worth knowing that needs no change.
    pub fn note(code: Code, location: Location, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, location, message.into())
    }

    /// The finding that the file `name` cannot be read, with code `F0001` and the error that the
    /// system gave.
    pub fn unreadable(name: impl Into<String>, cause: &dyn std::error::Error) -> Self {
        let message = format!("the file cannot be read: {cause}");
        Self::error(crate::codes::UNREADABLE, Location::file(name), message)
    }

    pub(crate) fn new(severity: Severity, code: Code, location: Location, message: String) -> Self {
        Self {
            code,
            severity,
            location,
            pointer: None,
            message,
            reason: None,
            help: None,
            suggestion: None,
            related: Vec::new(),
        }
    }

    /// Names the value that is meant.
    #[must_use]
    pub fn with_pointer(mut self, pointer: Pointer) -> Self {
        self.pointer = Some(pointer);
        self
    }

    /// Says why it is wrong.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what to write at `span` of the same text. Has an effect only where the finding has a
    /// text.
    #[must_use]
    pub fn with_suggestion(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.suggestion = Some(Suggestion { span, replacement: replacement.into() });
        self
    }

    /// Points to a further place.
    #[must_use]
    pub fn with_related(mut self, location: Location, message: impl Into<String>) -> Self {
        self.related.push(Related { message: message.into(), location });
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, location, message, .. } = self;
        write!(f, "{location}: {severity}[{code}]: {}", OneLine(message))
    }
}

/// A finding may travel as an error; it has no source, its text says it all.
impl std::error::Error for Diagnostic {}

impl From<Box<Diagnostic>> for Diagnostic {
    fn from(boxed: Box<Diagnostic>) -> Self {
        *boxed
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// Something was not accepted.
    Error,
    /// It was accepted, and is probably not what was meant.
    Warning,
    /// Worth knowing; nothing needs to change.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// Where a finding is.
///
/// ```
/// use flyto_diagnostics::{Location, Source, Span};
///
/// let source = Source::new("a.json", "[1,\n2]");
/// assert_eq!(Location::text(&source, Span::new(4, 5)).to_string(), "a.json:2:1");
/// assert_eq!(Location::file("gone.json").to_string(), "gone.json");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// In a file as a whole, by the name shown to people: it could not be read, or the finding is
    /// about its absence.
    File(String),
    /// In a text that was read.
    Text {
        /// The text.
        source: Source,
        /// The part of it that is meant.
        span: Span,
    },
}

impl Location {
    /// A file as a whole.
    pub fn file(name: impl Into<String>) -> Self {
        Self::File(name.into())
    }

    /// A part of a text. The text is shared, not copied.
    pub fn text(source: &Source, span: Span) -> Self {
        Self::Text { source: source.clone(), span }
    }

    /// The name of the file or text.
    pub fn name(&self) -> &str {
        match self {
            Self::File(name) => name,
            Self::Text { source, .. } => source.name(),
        }
    }

    /// The text, where there is one.
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::File(_) => None,
            Self::Text { source, .. } => Some(source),
        }
    }

    /// The part of the text that is meant.
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::File(_) => None,
            Self::Text { span, .. } => Some(*span),
        }
    }

    /// Line and column of the first character; `None` for a file as a whole.
    pub fn place(&self) -> Option<Place> {
        Some(self.source()?.place(self.span()?.start))
    }

    /// Line and column behind the last character; `None` for a file as a whole.
    pub fn end_place(&self) -> Option<Place> {
        Some(self.source()?.place(self.span()?.end))
    }
}

/// `file:line:column`, or the name alone.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", OneLine(self.name()))?;
        self.place().map_or(Ok(()), |place| write!(f, ":{place}"))
    }
}

/// A change to the text of a finding that probably makes it right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What to replace; empty to insert.
    pub span: Span,
    /// What to put there; empty to remove.
    pub replacement: String,
}

/// A further place that explains a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What is there.
    pub message: String,
    /// Where it is.
    pub location: Location,
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let suggestion = self.suggestion.as_ref().zip(self.location.source());
        let wire = wire::Diagnostic {
            code: self.code,
            severity: self.severity,
            file: self.location.name(),
            position: wire::Position::of(&self.location),
            pointer: self.pointer.as_ref(),
            message: &self.message,
            reason: self.reason.as_deref(),
            help: self.help.as_deref(),
            suggestion: suggestion.map(|(it, source)| wire::Suggestion {
                replacement: &it.replacement,
                position: wire::Position::of(&Location::text(source, it.span)),
            }),
            related: self.related.iter().map(wire::Related::of).collect(),
        };
        wire.serialize(serializer)
    }
}

/// The serialised form, apart from the values so that the two can change one at a time.
mod wire {
    use serde::Serialize;

    use super::{Code, Location, Pointer, Severity};

    #[derive(Serialize)]
    pub(super) struct Diagnostic<'a> {
        pub(super) code: Code,
        pub(super) severity: Severity,
        pub(super) file: &'a str,
        #[serde(flatten)]
        pub(super) position: Position,
        pub(super) pointer: Option<&'a Pointer>,
        pub(super) message: &'a str,
        pub(super) reason: Option<&'a str>,
        pub(super) help: Option<&'a str>,
        pub(super) suggestion: Option<Suggestion<'a>>,
        pub(super) related: Vec<Related<'a>>,
    }

    #[derive(Serialize)]
    pub(super) struct Suggestion<'a> {
        pub(super) replacement: &'a str,
        #[serde(flatten)]
        pub(super) position: Position,
    }

    #[derive(Serialize)]
    pub(super) struct Related<'a> {
        message: &'a str,
        file: &'a str,
        #[serde(flatten)]
        position: Position,
    }

    impl<'a> Related<'a> {
        pub(super) fn of(related: &'a super::Related) -> Self {
            Self {
                message: &related.message,
                file: related.location.name(),
                position: Position::of(&related.location),
            }
        }
    }

    #[derive(Serialize)]
    pub(super) struct Position {
        line: Option<usize>,
        column: Option<usize>,
        end_line: Option<usize>,
        end_column: Option<usize>,
        byte_start: Option<usize>,
        byte_end: Option<usize>,
    }

    impl Position {
        pub(super) fn of(location: &Location) -> Self {
            let (place, end) = (location.place(), location.end_place());
            Self {
                line: place.map(|it| it.line),
                column: place.map(|it| it.column),
                end_line: end.map(|it| it.line),
                end_column: end.map(|it| it.column),
                byte_start: location.span().map(|it| it.start),
                byte_end: location.span().map(|it| it.end),
            }
        }
    }
}
