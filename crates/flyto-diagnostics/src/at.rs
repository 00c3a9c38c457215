//! A value together with the text it stands in.

use crate::code::Code;
use crate::codes;
use crate::diagnostic::{Diagnostic, Location};
use crate::findings::{Findings, Reported};
use crate::json::{Node, Value};
use crate::pointer::Pointer;
use crate::source::{Source, Span};

/// A value, its document and its text: all that a finding about the value needs.
///
/// It is three references, so it is copied freely; the path to the value is worked out when a
/// finding asks for it.
///
/// ```
/// use flyto_diagnostics::{At, Code, Source, json};
///
/// const BAD_PORT: Code = Code::new("F9001");
///
/// let source = Source::new("server.json", r#"{"ports": [80, 99999]}"#);
/// let value = json::parse(&source)?;
/// let at = At::root(&source, &value).member("ports").and_then(|it| it.item(1)).expect("it is there");
/// let finding = at.error(BAD_PORT, "a port is at most 65535");
/// assert_eq!(finding.to_string(), "server.json:1:16: error[F9001]: a port is at most 65535");
/// assert_eq!(at.pointer().as_str(), "/ports/1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct At<'v> {
    source: &'v Source,
    root: &'v Value<'v>,
    value: &'v Value<'v>,
}

/// How many entries an array or an object of a file may have where its entries are read one by one: 10,000, far
/// beyond what people write.
///
/// What is made of an entry takes up to a hundred times its bytes, so a bound on bytes alone would let a file of
/// 16 MiB take a gigabyte. [`ObjectReader`](crate::ObjectReader) holds every array and object that it gives to this bound, and
/// [`At::refuse_many`] is for others. JSON that is passed on as it is has no such bound.
pub const MAX_ENTRIES: usize = 10_000;

impl<'v> At<'v> {
    /// The root of a document: `root` is what [`parse`](crate::json::parse) made of `source`.
    pub const fn root(source: &'v Source, root: &'v Value<'v>) -> Self {
        Self { source, root, value: root }
    }

    /// The value.
    pub const fn value(self) -> &'v Value<'v> {
        self.value
    }

    /// The text.
    pub const fn source(self) -> &'v Source {
        self.source
    }

    /// The part of the text that is the value.
    pub const fn span(self) -> Span {
        self.value.span
    }

    /// The path to the value. Worked out anew at each call, in steps that grow with the depth of the value.
    pub fn pointer(self) -> Pointer {
        self.root.pointer_to(self.value.span)
    }

    /// The value of the member `key`, if this is an object that has it; the last one, if the key
    /// occurs twice.
    pub fn member(self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.to(value))
    }

    /// The item at `index`, counted from 0, if this is an array that long.
    pub fn item(self, index: usize) -> Option<Self> {
        self.value.as_array()?.get(index).map(|value| self.to(value))
    }

    /// The items, if this is an array; otherwise nothing.
    pub fn items(self) -> impl ExactSizeIterator<Item = Self> {
        self.value.as_array().unwrap_or_default().iter().map(move |value| self.to(value))
    }

    /// The members with their keys in the order of the text, if this is an object; otherwise nothing.
    pub fn members(self) -> impl ExactSizeIterator<Item = (&'v str, Self)> {
        let members = self.value.as_object().unwrap_or_default().iter();
        members.map(move |member| (&*member.key.value, self.to(&member.value)))
    }

    /// Refuses an array or an object of more than [`MAX_ENTRIES`] entries, at the first one beyond.
    ///
    /// # Errors
    ///
    /// [`Reported`] where there are more (`F0014`).
    pub fn refuse_many(self, findings: &mut Findings) -> Result<(), Reported> {
        self.too_many().map_or(Ok(()), |it| Err(findings.push(it)))
    }

    /// The finding that there are more entries than may be.
    pub(crate) fn too_many(self) -> Option<Diagnostic> {
        let first_beyond = self
            .item(MAX_ENTRIES)
            .or_else(|| self.members().nth(MAX_ENTRIES).map(|(_, value)| value))?;
        let n_entries = self.items().len() + self.members().len();
        let what = format!("there are {n_entries} entries, and {MAX_ENTRIES} are the most");
        let help = "remove those that are not needed, or put them into several files";
        Some(first_beyond.error(codes::TOO_BIG, what).with_help(help))
    }

    /// The value that a JSON Pointer (RFC 6901) leads to from here; `None` where it leads nowhere, or is none. So
    /// the place that other code names, such as a validator of schemas, becomes a place in the text.
    pub fn at_pointer(self, pointer: &str) -> Option<Self> {
        self.value.get_pointer(pointer).map(|value| self.to(value))
    }

    /// An error about this value.
    pub fn error(self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.location(), message).with_pointer(self.pointer())
    }

    /// A warning about this value.
    pub fn warning(self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(code, self.location(), message).with_pointer(self.pointer())
    }

    /// A note about this value.
    pub fn note(self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::note(code, self.location(), message).with_pointer(self.pointer())
    }

    /// Where the value stands.
    pub fn location(self) -> Location {
        Location::text(self.source, self.value.span)
    }

    /// Refuses every key that occurs twice in this value or within it. For parts of a document that
    /// are passed on as they are, such as a schema; [`ObjectReader`](crate::ObjectReader) checks
    /// the objects that it reads.
    ///
    /// # Errors
    ///
    /// [`Reported`] when there is such a key (`F0020`).
    pub fn refuse_duplicate_keys(self, findings: &mut Findings) -> Result<(), Reported> {
        let mut res = Ok(());
        match &self.value.node {
            Node::Object(members) => {
                res = crate::reader::duplicates::refuse(self, findings);
                for member in members.iter().filter(|it| it.value.has_parts()) {
                    res = self.to(&member.value).refuse_duplicate_keys(findings).and(res);
                }
            }
            Node::Array(items) => {
                for item in items.iter().filter(|it| it.has_parts()) {
                    res = self.to(item).refuse_duplicate_keys(findings).and(res);
                }
            }
            _ => {}
        }
        res
    }

    /// The whole document.
    pub(crate) const fn document(self) -> &'v Value<'v> {
        self.root
    }

    pub(crate) const fn to(self, value: &'v Value<'v>) -> Self {
        Self { value, ..self }
    }
}
