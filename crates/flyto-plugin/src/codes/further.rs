//! What is to be said about the codes behind `NEVER_MATCHES`.

use flyto_diagnostics::CodeInfo;

use crate::codes;

/// Those codes with their explanations.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        codes::MISSPELT_LIST,
        "a list of plugins under a misspelt key",
        "\
`allowed_plugins` and `blocked_plugins` keep plugins out. The section has a key that looks like one
of them and is none, so its names would be passed over and the plugins used. Elsewhere an unknown
key is a warning; here it is an error, and the configuration is not used until it is mended.

Wrong:

    {\"plugins\": {\"enabled\": true, \"block_plugins\": [\"git-tools\"]}}

Right:

    {\"plugins\": {\"enabled\": true, \"blocked_plugins\": [\"git-tools\"]}}
",
    ),
    CodeInfo::new(
        codes::GRANTED_PATH,
        "a granted path that is not absolute",
        "\
`read` and `write` of a grant are paths that a plugin may use, with all that lies below them. They
are absolute, so that they mean the same wherever a program runs; `~` and `~user` stand for home
directories.

Wrong:

    {\"grants\": {\"notes\": {\"write\": [\"notes\"]}}}

Right:

    {\"grants\": {\"notes\": {\"write\": [\"~/notes\"]}}}
",
    ),
    CodeInfo::new(
        codes::SHELL_OPERATOR,
        "a template that is more than one command",
        "\
The `command` of a tool with `parameters` is one command. `&&`, `||`, `;`, `|` and backticks outside
of quotes would run others besides, which nobody is shown and no rule judges. Within quotes, or
behind a backslash, they reach the program as they are. Several commands go into a script of the
plugin, or into the code of a shell that gets the values as arguments.

Wrong:

    {\"command\": \"grep -c {{word}} notes.txt | head -1\"}

Right:

    {\"command\": \"sh -c 'grep -c -- \\\"$1\\\" notes.txt | head -1' _ {{word}}\"}
",
    ),
    CodeInfo::new(
        codes::CODE_PLACEHOLDER,
        "a placeholder whose value would decide what runs",
        "\
A value is data: one word, or a part of one, that a program gets as an argument. It cannot be the
program itself, nor stand in text that an interpreter runs: the code behind `sh -c`, `python -c`,
`perl -e`, `node -e` and the like, the program of `awk`, anything behind `eval`, and what a shell
calculates. Whoever gives the value would decide what runs. Hand it over as an argument, and read
it in the code.

Wrong:

    {\"command\": \"sh -c 'wc -l {{file}} | cut -d\\\" \\\" -f1'\"}

Right:

    {\"command\": \"sh -c 'wc -l \\\"$1\\\" | cut -d\\\" \\\" -f1' _ {{file}}\"}
",
    ),
    CodeInfo::new(
        codes::TEMPLATE_SYNTAX,
        "a template that cannot be taken apart",
        "\
The `command` of a tool with `parameters` is taken apart as a POSIX shell does it, so that a value
stays one word whatever quotes are around its placeholder. A quote without its end, and what shells
understand in different ways, is refused, and so is what would mix up the values: they travel as
the positional parameters of the shell, so `$1`, `shift` and functions mean something else. Longer
code belongs in a script of the plugin.

Wrong:

    {\"command\": \"echo ${{amount}}\"}

Right:

    {\"command\": \"echo '$'{{amount}}\"}
",
    ),
    CodeInfo::new(
        codes::UNDECLARED_PARAMETER,
        "a placeholder that names no parameter",
        "\
`{{name}}` in `command` stands for a parameter, and `parameters` declares none of that name. A model
does not know that it could give a value, and without one the word is left out of the command. Most
often the name is misspelt. Double braces that a program is to see are parted by quotes.

Wrong:

    {\"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {}}}, \"command\": \"ls {{paht}}\"}

Right:

    {\"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {}}}, \"command\": \"ls {{path}}\"}
",
    ),
    CodeInfo::new(
        codes::SPACED_PLACEHOLDER,
        "a placeholder with blanks within its braces",
        "\
A placeholder is a name in double braces, without blanks. With blanks it works here, and stays as it
is in other programs that read the same manifests.

Wrong:

    {\"command\": \"ls {{ path }}\"}

Right:

    {\"command\": \"ls {{path}}\"}
",
    ),
    CodeInfo::new(
        codes::UNUSED_PARAMETER,
        "a parameter that the command never uses",
        "\
`parameters` declares a parameter that has no place in `command`. The program of a template reads
nothing on stdin, so whatever a model gives for it is lost. Put `{{name}}` where the value belongs, or
remove the parameter.

Wrong:

    {\"parameters\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}, \"command\": \"head notes.txt\"}

Right:

    {\"parameters\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}, \"command\": \"head -n {{n}} notes.txt\"}
",
    ),
];
