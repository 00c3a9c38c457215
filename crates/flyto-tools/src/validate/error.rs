//! Why a schema cannot be used.

use super::show;

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to use the schema: at {}: {}", show::pointer(pointer), show::escaped(why))]
#[non_exhaustive]
pub struct SchemaError {
    /// JSON pointer to the place in the schema; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub kind: SchemaErrorKind,
    /// The same for people.
    pub why: String,
}

/// What is wrong with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// A keyword has a value that it cannot have.
    Invalid,
    /// `$schema` names no known dialect. Known are the drafts 4, 6, 7, 2019-09 and 2020-12.
    UnknownDialect,
    /// A reference leads nowhere, or out of the schema: nothing is fetched.
    Reference,
    /// A regular expression is none, very large, or has what the engines here do not know: names of groups
    /// in back-references are not among it. In the names of `patternProperties`, also one with look-around
    /// or back-references.
    Pattern,
    /// The schema leads back to itself without going into the value.
    Circular,
    /// Checking against it could take time or stack without measure.
    TooLarge,
}

impl SchemaErrorKind {
    /// What the author of the schema can do about it, in the words of a help text.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::Invalid | Self::UnknownDialect => {
                "write JSON Schema 2020-12, or name another dialect in \"$schema\""
            }
            Self::Reference => "refer to a place in the same schema, as `#/$defs/NAME` does",
            Self::Pattern => {
                "write a pattern of ECMA-262 without what is named; a large one needs fewer repetitions"
            }
            Self::Circular => {
                "put the reference below \"properties\" or \"items\", where it describes a part of the value"
            }
            Self::TooLarge => {
                "describe a part of it in words, in a \"description\", and let the program check that part"
            }
        }
    }
}
