//! The codes of this crate: what can be wrong with any JSON text, and with any object that has
//! known keys.
//!
//! `codes/CODE.md` explains each.

crate::code_table! {
    /// The file cannot be read.
    UNREADABLE = "F0001";
    /// The bytes are not UTF-8.
    NOT_UTF8 = "F0002";
    /// The text begins with a byte order mark.
    BYTE_ORDER_MARK = "F0003";
    /// There is nothing but white space.
    EMPTY_FILE = "F0004";
    /// Something stands where JSON has no place for it.
    UNEXPECTED = "F0005";
    /// A comment.
    COMMENT = "F0006";
    /// A comma behind the last item or member.
    TRAILING_COMMA = "F0007";
    /// A text without double quotes around it.
    QUOTES = "F0008";
    /// A word that JSON does not have.
    UNKNOWN_WORD = "F0009";
    /// A number that is written in a way JSON does not have.
    NUMBER = "F0010";
    /// A string with something in it that must be escaped, or is escaped wrongly.
    STRING = "F0011";
    /// A string, array or object without an end.
    UNCLOSED = "F0012";
    /// Something behind the end of the document.
    SECOND_DOCUMENT = "F0013";
    /// More nesting or more values than are read.
    TOO_BIG = "F0014";
    /// One key twice in an object.
    DUPLICATE_KEY = "F0020";
    /// A key that means nothing here.
    UNKNOWN_KEY = "F0021";
    /// A key that must be there and is not.
    MISSING_KEY = "F0022";
    /// A value of another type than the one that belongs there.
    WRONG_TYPE = "F0023";
    /// A value of the right type that is not one of those that are possible.
    BAD_VALUE = "F0024";
    /// Another spelling of a key, which works.
    OTHER_SPELLING = "F0025";
    /// Two keys of which an object may have one.
    EXCLUSIVE_KEYS = "F0026";
    /// More findings than are kept.
    MORE_FINDINGS = "F0027";
}
