//! The codes of this crate, `F0201` to `F0299`: what can be wrong with a definition beyond JSON.

use flyto_diagnostics::{Code, CodeInfo};

/// The file holds something else than one definition or an array of them.
pub const NO_DEFINITION: Code = Code::new("F0201");
/// The name cannot be that of a tool.
pub const BAD_NAME: Code = Code::new("F0202");
/// Two definitions of one file have the same name.
pub const DUPLICATE_NAME: Code = Code::new("F0203");
/// The command cannot be started by any system.
pub const BAD_COMMAND: Code = Code::new("F0204");
/// The command is probably a whole line of shell.
pub const COMMAND_LINE: Code = Code::new("F0205");
/// The schema of the input cannot be used.
pub const BAD_SCHEMA: Code = Code::new("F0206");
/// There is no description.
pub const NO_DESCRIPTION: Code = Code::new("F0207");

/// Every code of this crate with its explanation.
pub const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        NO_DEFINITION,
        "the file holds no definition",
        "\
A file of exec tools holds one definition, which is an object, or an array of definitions. The array
may be empty. There is no object around the array.

Wrong:

    {\"tools\": [{\"name\": \"kernel\", \"exec\": [\"uname\", \"-r\"]}]}

Right:

    [{\"name\": \"kernel\", \"exec\": [\"uname\", \"-r\"]}]
",
    ),
    CodeInfo::new(
        BAD_NAME,
        "the name cannot be that of a tool",
        "\
A tool is called by its name, on a command line and by a model. The name therefore is not empty and
holds no white space and no control characters. It holds no colon either, and no two underscores in
a row, because these stand between the name of a plugin and the name of its tool: `git-info:log`, or
`git-info__log` where a colon is not possible. Letters, digits, `_` and `-` reach every model
unchanged; a name with other characters is shown to a model in a form without them.

Wrong:

    {\"name\": \"stock level\", \"exec\": [\"stock\"]}

Right:

    {\"name\": \"stock_level\", \"exec\": [\"stock\"]}
",
    ),
    CodeInfo::new(
        DUPLICATE_NAME,
        "two tools of one file have the same name",
        "\
Two definitions in the array have the same name, so a call could not say which of the two it means.
Mostly one is a copy of the other that was meant to get a name of its own. As with every error, no
tool of the file is used until it is corrected.

Wrong:

    [{\"name\": \"free\", \"exec\": [\"df\"]}, {\"name\": \"free\", \"exec\": [\"free\"]}]

Right:

    [{\"name\": \"disk\", \"exec\": [\"df\"]}, {\"name\": \"memory\", \"exec\": [\"free\"]}]
",
    ),
    CodeInfo::new(
        BAD_COMMAND,
        "the command cannot be started",
        "\
`exec` is the program and its fixed arguments, one string each. The first one names the program, so
there must be one and it must not be empty. No string may hold a NUL character: the system ends
arguments at the first one, so the program would see less than the file says.

Wrong:

    {\"name\": \"kernel\", \"exec\": []}

Right:

    {\"name\": \"kernel\", \"exec\": [\"uname\", \"-r\"]}
",
    ),
    CodeInfo::new(
        COMMAND_LINE,
        "the program looks like a whole command line",
        "\
The first string of `exec` is the name of a program. It is not taken apart and no shell reads it, so
a program of the name \"uname -r\", with the blank, would be looked for. Write each argument as a
string of its own. Where a shell is wanted, name it. The input of a call never becomes part of the
command; the program reads it from its standard input.

Wrong:

    {\"name\": \"kernel\", \"exec\": [\"uname -r\"]}

Right:

    {\"name\": \"kernel\", \"exec\": [\"uname\", \"-r\"]}
    {\"name\": \"users\", \"exec\": [\"sh\", \"-c\", \"who | wc -l\"]}
",
    ),
    CodeInfo::new(
        BAD_SCHEMA,
        "the schema of the input cannot be used",
        "\
`input_schema` is a JSON Schema (draft 2020-12, unless its `$schema` names another one) of the
object that a call passes in. It is an object, its root `type` is `object` where it has one, and it
compiles: keywords have values that they can have, references lead to another place in the same
schema, and patterns have neither look-around nor back-references. Nothing is ever fetched from
another file or from the web. One tool with a broken schema makes the services behind many models
refuse the whole request, with all the tools that are in it. A tool that takes no input needs no
`input_schema`.

Wrong:

    {\"name\": \"stock\", \"exec\": [\"stock\"], \"input_schema\": {\"type\": \"text\"}}

Right:

    {\"name\": \"stock\", \"exec\": [\"stock\"], \"input_schema\": {
      \"type\": \"object\",
      \"properties\": {\"article\": {\"type\": \"string\"}}
    }}
",
    ),
    CodeInfo::new(
        NO_DESCRIPTION,
        "the tool has no description",
        "\
A model reads the description to decide when to call a tool, and often has nothing else to go by.
The tool works without one, but will be called too seldom or for the wrong purpose. Say what it
does, what it returns, and in which unit or format.

Wrong:

    {\"name\": \"stock\", \"exec\": [\"stock\"]}

Right:

    {\"name\": \"stock\", \"exec\": [\"stock\"],
     \"description\": \"Returns how many pieces of an article are in the warehouse.\"}
",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_this_crates_and_is_explained_once() {
        for info in CODES {
            assert!(info.code.as_str().starts_with("F02"), "{}", info.code);
            assert!(!info.title.ends_with('.') && !info.title.is_empty(), "{}", info.code);
            assert!(info.explanation.lines().all(|line| line.chars().count() <= 100));
        }
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
    }
}
