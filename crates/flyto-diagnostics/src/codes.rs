//! The codes of this crate: what can be wrong with any JSON text, and with any object that has
//! known keys.

use crate::code::{Code, CodeInfo};

/// The file cannot be read.
pub const UNREADABLE: Code = Code::new("F0001");
/// The bytes are not UTF-8.
pub const NOT_UTF8: Code = Code::new("F0002");
/// The text begins with a byte order mark.
pub const BYTE_ORDER_MARK: Code = Code::new("F0003");
/// There is nothing but white space.
pub const EMPTY_FILE: Code = Code::new("F0004");
/// Something stands where JSON has no place for it.
pub const UNEXPECTED: Code = Code::new("F0005");
/// A comment.
pub const COMMENT: Code = Code::new("F0006");
/// A comma behind the last item or member.
pub const TRAILING_COMMA: Code = Code::new("F0007");
/// A text without double quotes around it.
pub const QUOTES: Code = Code::new("F0008");
/// A word that JSON does not have.
pub const UNKNOWN_WORD: Code = Code::new("F0009");
/// A number that is written in a way JSON does not have.
pub const NUMBER: Code = Code::new("F0010");
/// A string with something in it that must be escaped, or is escaped wrongly.
pub const STRING: Code = Code::new("F0011");
/// A string, array or object without an end.
pub const UNCLOSED: Code = Code::new("F0012");
/// Something behind the end of the document.
pub const SECOND_DOCUMENT: Code = Code::new("F0013");
/// More nesting or more values than are read.
pub const TOO_BIG: Code = Code::new("F0014");
/// One key twice in an object.
pub const DUPLICATE_KEY: Code = Code::new("F0020");
/// A key that means nothing here.
pub const UNKNOWN_KEY: Code = Code::new("F0021");
/// A key that must be there and is not.
pub const MISSING_KEY: Code = Code::new("F0022");
/// A value of another type than the one that belongs there.
pub const WRONG_TYPE: Code = Code::new("F0023");
/// A value of the right type that is not one of those that are possible.
pub const BAD_VALUE: Code = Code::new("F0024");
/// Another spelling of a key, which works.
pub const OTHER_SPELLING: Code = Code::new("F0025");
/// Two keys of which an object may have one.
pub const EXCLUSIVE_KEYS: Code = Code::new("F0026");
/// More findings than are kept.
pub const MORE_FINDINGS: Code = Code::new("F0027");

/// Every code of this crate with its explanation.
pub const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        UNREADABLE,
        "the file cannot be read",
        "\
The system refused to hand over the file; its reason is part of the message. Check that the path is
spelt right, that it names a file and not a directory, and that the user who runs the program may
read it.
",
    ),
    CodeInfo::new(
        NOT_UTF8,
        "the text is not UTF-8",
        "\
JSON is written in UTF-8 (RFC 8259, section 8.1), and the file holds bytes that are none. The place
is the first such byte. Usually an editor saved the file in an older encoding, such as Latin-1, or
as UTF-16; open it there and save it as UTF-8. A string with arbitrary bytes has no JSON form; use
an encoding such as Base64 for it.
",
    ),
    CodeInfo::new(
        BYTE_ORDER_MARK,
        "the text begins with a byte order mark",
        "\
The file begins with the three bytes EF BB BF, an invisible mark that some editors write in front of
UTF-8 text. Texts exchanged as JSON must not have one (RFC 8259, section 8.1), and many programs
that read this file too would refuse it. Save the file as \"UTF-8\", not as \"UTF-8 with BOM\", or
remove the mark:

    tail -c +4 old.json > new.json
",
    ),
    CodeInfo::new(
        EMPTY_FILE,
        "the file is empty",
        "\
The file holds nothing, or white space only. That is not a JSON document, and it is often the trace
of a write that was interrupted, so it is not taken for an empty object. A document that says
nothing is written out.

Right:

    {}
",
    ),
    CodeInfo::new(
        UNEXPECTED,
        "unexpected text",
        "\
At this place JSON allows something else; the message says what. The mistake is often a little
earlier: a comma or colon that is missing, or a bracket that closes something else than it should.

Wrong:

    {\"name\": \"a\" \"version\": \"1\"}

Right:

    {\"name\": \"a\", \"version\": \"1\"}
",
    ),
    CodeInfo::new(
        COMMENT,
        "JSON has no comments",
        "\
JSON has no form of comment, neither `//` nor `/* */` nor `#`. Remove it, or keep the remark in a
place that is meant for text, such as a description.

Wrong:

    {
      // how long to wait
      \"timeout_seconds\": 5
    }

Right:

    {
      \"timeout_seconds\": 5
    }
",
    ),
    CodeInfo::new(
        TRAILING_COMMA,
        "a comma behind the last item",
        "\
Commas stand between items and between members, not behind the last one.

Wrong:

    [\"-l\", \"-a\",]

Right:

    [\"-l\", \"-a\"]
",
    ),
    CodeInfo::new(
        QUOTES,
        "text needs double quotes",
        "\
Keys and strings stand between double quotes, `\"`. Single quotes, typographic quotes and bare keys
belong to other languages. A single quote inside double quotes needs no escape.

Wrong:

    {name: 'it'}

Right:

    {\"name\": \"it\"}
",
    ),
    CodeInfo::new(
        UNKNOWN_WORD,
        "a word that JSON does not have",
        "\
The words of JSON are `true`, `false` and `null`, in lower case. Python's `True`, `False` and
`None`, and JavaScript's `undefined`, have these as their counterparts. `NaN` and `Infinity` have
no form in JSON: leave the value out, write `null`, or use a string. Any other word is a string and
needs double quotes.

Wrong:

    {\"read_only\": True}

Right:

    {\"read_only\": true}
",
    ),
    CodeInfo::new(
        NUMBER,
        "a number that JSON does not have",
        "\
A number is decimal: an optional minus sign, digits without a leading zero, and optionally a
fraction and an exponent, each with a digit at least. Other bases, a plus sign in front, digit
separators and a point at either end are not JSON. A number must also fit into a 64-bit floating
point number, so its size is at most about 1.8e308.

Wrong:

    [.5, 007, +1, 1_000]

Right:

    [0.5, 7, 1, 1000]
",
    ),
    CodeInfo::new(
        STRING,
        "a string with something that must be escaped",
        "\
In a string, line breaks, tabs and other control characters are written as escapes (`\\n`, `\\t`,
`\\u001b`), and a backslash begins one. The escapes are `\\\"`, `\\\\`, `\\/`, `\\b`, `\\f`, `\\n`, `\\r`,
`\\t` and `\\u` with four hexadecimal digits. A plain backslash, as in a Windows path or a regular
expression, is written twice. Characters above U+FFFF need two `\\u` escapes, a surrogate pair, or
none: they may stand in the text as they are.

Wrong:

    {\"pattern\": \"\\d+\"}

Right:

    {\"pattern\": \"\\\\d+\"}
",
    ),
    CodeInfo::new(
        UNCLOSED,
        "something is opened and not closed",
        "\
The text ends inside a string, an array or an object. The finding also shows where that was opened;
the innermost one is named, and the bracket that is really missing may belong to one further out.
A file that was cut off while it was written looks like this too.

Wrong:

    {\"args\": [\"-l\"

Right:

    {\"args\": [\"-l\"]}
",
    ),
    CodeInfo::new(
        SECOND_DOCUMENT,
        "text behind the end of the document",
        "\
A file holds one JSON value, and there is more text behind it. Several values go into an array. If
the file is meant to go on, a bracket is closed too early.

Wrong:

    {\"name\": \"a\"} {\"name\": \"b\"}

Right:

    [{\"name\": \"a\"}, {\"name\": \"b\"}]
",
    ),
    CodeInfo::new(
        TOO_BIG,
        "too deep or too many values",
        "\
Arrays and objects may be nested 128 deep, and a document may hold 1,000,000 values. Files that
people write stay far below both. The limits keep a file that is made to do harm from using up stack
and memory.
",
    ),
    CodeInfo::new(
        DUPLICATE_KEY,
        "a key occurs twice",
        "\
An object has the same key more than once. Programs disagree about which one counts (RFC 8259,
section 4), so neither is used. Remove one of them. Keys are compared after escapes are resolved:
`\"a\"` and `\"\\u0061\"` are the same key.

Wrong:

    {\"command\": \"ls\", \"command\": \"rm\"}

Right:

    {\"command\": \"ls\"}
",
    ),
    CodeInfo::new(
        UNKNOWN_KEY,
        "a key that means nothing here",
        "\
Nothing reads this key, so what it says has no effect. Mostly it is a slip of the pen, or a key that
belongs to an object further in or out. The rest of the object is used, except where passing over
the key would take a protection away: a grant to a plugin holds as a whole or not at all.

Wrong:

    {\"name\": \"a\", \"descripton\": \"b\"}

Right:

    {\"name\": \"a\", \"description\": \"b\"}
",
    ),
    CodeInfo::new(
        MISSING_KEY,
        "a key is missing",
        "\
The object cannot be used without this key. The place is the brace that opens the object.

Wrong:

    {\"description\": \"b\"}

Right:

    {\"name\": \"a\", \"description\": \"b\"}
",
    ),
    CodeInfo::new(
        WRONG_TYPE,
        "a value of another type",
        "\
The value is a string where a number belongs, or the like. Values are not converted: `\"30\"` is a
string and `30` a number. For a key that may be left out, `null` counts as left out.

Wrong:

    {\"name\": \"a\", \"timeout_seconds\": \"30\"}

Right:

    {\"name\": \"a\", \"timeout_seconds\": 30}
",
    ),
    CodeInfo::new(
        BAD_VALUE,
        "a value that is not possible here",
        "\
The type is right, but the value is not one of those that are possible: a negative number where
there is nothing below zero, or a word that is not among the choices. The message and the help say
what is possible.

Wrong:

    {\"name\": \"a\", \"mode\": \"fsat\"}

Right:

    {\"name\": \"a\", \"mode\": \"fast\"}
",
    ),
    CodeInfo::new(
        OTHER_SPELLING,
        "another spelling of a key",
        "\
The key is understood; it is the spelling that a related format, or an earlier version of this one,
uses. Write the spelling that the message names, so that everyone who reads the file finds it in
the documentation.

Wrong:

    {\"name\": \"a\", \"timeout_secs\": 5}

Right:

    {\"name\": \"a\", \"timeout_seconds\": 5}
",
    ),
    CodeInfo::new(
        EXCLUSIVE_KEYS,
        "keys that exclude each other",
        "\
The object has two keys that say the same thing, or that belong to two different forms. Which of
them was meant cannot be known, so neither is used. Remove one.

Wrong:

    {\"name\": \"a\", \"timeout_seconds\": 5, \"timeout_secs\": 10}

Right:

    {\"name\": \"a\", \"timeout_seconds\": 5}
",
    ),
    CodeInfo::new(
        MORE_FINDINGS,
        "more findings than are kept",
        "\
One piece of work, usually the reading of one file, had more findings than are kept. Those beyond
the limit are counted: errors among them are errors. Mend what is shown, then look again.
",
    ),
];
