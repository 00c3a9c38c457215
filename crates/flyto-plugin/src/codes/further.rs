//! What is to be said about the codes behind `NEVER_MATCHES`.

use flyto_diagnostics::CodeInfo;

use crate::codes;

/// Those codes with their explanations.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        codes::MISSPELT_LIST,
        "a protection under a misspelt key",
        "\
`allowed_plugins` and `blocked_plugins` keep plugins out, `strict_env` keeps variables from them,
and `grants` bounds them. The section has a key that looks like one of these and is none, so what it
says would be passed over and not hold. Elsewhere an unknown key is a warning; here, as within a
grant, it is an error, and the configuration is not used until it is mended.

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
        codes::PLUGIN_DIR,
        "a directory of plugins that cannot be meant",
        "\
An entry of `plugin_dirs` is empty, or holds the name of a variable. Of a path in the configuration,
only `~` and `~user` at its beginning are expanded; anything else is taken as it is written, so that
the directories do not change with the environment of whoever starts the program.

Wrong:

    {\"plugins\": {\"plugin_dirs\": [\"$HOME/plugins\"]}}

Right:

    {\"plugins\": {\"plugin_dirs\": [\"~/plugins\"]}}
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
program itself, nor part of an assignment or a calculation of the shell. These rules hold for every
command. For common programs, a value is also refused where they would run it: the code behind `sh -c`,
`python -c`, `perl -e`, `node -e` and the like, the program of `awk`, the script of `sed`, the program
behind `env`, `sudo`, `xargs` and `find -exec`, anything behind `eval`. Hand it over as an argument, and
read it in the code. A program that is not known here is not looked at.

Wrong:

    {\"command\": \"sh -c 'wc -l {{file}} | cut -d\\\" \\\" -f1'\"}

Right:

    {\"command\": \"sh -c 'wc -l \\\"$1\\\" | cut -d\\\" \\\" -f1' _ {{file}}\"}
",
    ),
    CodeInfo::new(
        codes::TEMPLATE_SYNTAX,
        "a template that cannot be parsed",
        "\
The `command` of a tool with `parameters` is parsed as a POSIX shell does it, so that a value
stays one word whatever quotes are around its placeholder. A quote without its end, and what shells
understand in different ways, is refused. Longer code belongs in a script of the plugin.

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
    CodeInfo::new(
        codes::BAD_SERVER_NAME,
        "the name cannot be that of a server",
        "\
The name of a server has 1 to 64 characters: ASCII letters, digits, `_` and `-`, a letter or a digit
first. It stands before the names of its tools, and models accept no other characters there. The
server is left out; the rest of the plugin loads.

Wrong:

    {\"mcpServers\": {\"ticket system\": {\"command\": \"./server.py\"}}}

Right:

    {\"mcpServers\": {\"ticket-system\": {\"command\": \"./server.py\"}}}
",
    ),
    CodeInfo::new(
        codes::SERVER_UNSET,
        "a server needs variables that are not set",
        "\
`${NAME}` in the declaration of a server is a variable of the host. One is not set and has no
default, so the server would get an empty value or the text itself, and it is not started. `${NAME}`
may also be `PLUGIN_ROOT` and `PLUGIN_DATA`, the directories of the plugin. When a plugin is loaded
this is a warning, since the variable may be set tomorrow; `flyto validate` calls it an error.

Wrong, where `TICKETS_URL` may be unset:

    {\"env\": {\"URL\": \"${TICKETS_URL}\"}}

Right:

    {\"env\": {\"URL\": \"${TICKETS_URL:-http://localhost:8080}\"}}
",
    ),
    CodeInfo::new(
        codes::FOREIGN_KEY,
        "something that other programs know",
        "\
The declaration of a server has a key or a value that belongs to another program. What it decides
there is decided elsewhere here, or is out of date, and the message says where. A server that is
switched off with `disabled` or `enabled` is left out.

Wrong:

    {\"command\": \"./server.py\", \"timeout\": 60000, \"autoApprove\": [\"search\"]}

Right:

    {\"command\": \"./server.py\"}
",
    ),
    CodeInfo::new(
        codes::SERVER_ADDRESS,
        "an address that cannot be used, or gives something away",
        "\
`url` is the address of a server that is reached over HTTP: it begins with `https://`, or with
`http://` where the server runs on this machine. A name or a password within it would end up in logs
and is refused; `headers` are the place for it, with a variable of the host as the value.

Wrong:

    {\"type\": \"http\", \"url\": \"https://ada:secret@example.org/mcp\"}

Right:

    {\"type\": \"http\", \"url\": \"https://example.org/mcp\",
     \"headers\": {\"Authorization\": \"Bearer ${TICKETS_TOKEN}\"}}
",
    ),
    CodeInfo::new(
        codes::BAD_HEADER,
        "a header that cannot be sent",
        "\
The name of a header is made of letters, digits and a few signs such as `-`, and its value is one
line. A line end in it would begin another header.

Wrong:

    {\"headers\": {\"Authorization:\": \"Bearer x\"}}

Right:

    {\"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}}
",
    ),
    CodeInfo::new(
        codes::LEAVES_PLUGIN,
        "a path leads out of the plugin",
        "\
A manifest of the format Agent Plugins names files and directories of its own only. After all links
are resolved they lie in the plugin's directory, or in the one for its data.

Wrong:

    {\"type\": \"stdio\", \"command\": \"./../server\"}

Right:

    {\"type\": \"stdio\", \"command\": \"./bin/server\"}

The same holds for the `command` and the working directory of a tool in the extension `dev.flyto`. The
bare name of a program, such as `node`, is looked up in the `PATH` as ever.
",
    ),
    CodeInfo::new(
        codes::MISPLACED,
        "something that belongs elsewhere",
        "\
A manifest whose `$schema` is that of Agent Plugins 1.0.0 has a closed top level: tools stand in the
extension `dev.flyto`, with the same keys as in a manifest of Flyto's own, and servers in a file
`mcp.json` beside it. The names of extensions are domains written backwards. A key that the format
does not know is passed over.

Wrong:

    {\"$schema\": \"…/1.0.0/plugin.schema.json\", \"name\": \"clock\", \"tools\": […]}

Right:

    {\"$schema\": \"…/1.0.0/plugin.schema.json\", \"name\": \"clock\",
     \"extensions\": {\"dev.flyto\": {\"tools\": […]}}}
",
    ),
    CodeInfo::new(
        codes::OTHER_FILE,
        "a file that is no manifest of a plugin",
        "\
The file looks like something that ZeptoClaw keeps beside its plugins: a channel, a tool composed of
instructions, a list of tools or of model providers from its configuration, or one tool without its
command. A plugin is a directory with a `plugin.json` that has a name and tools, each of which runs a
program. The message says what can be made of the file.

Wrong:

    {\"name\": \"gcal\", \"description\": \"Google Calendar\", \"parameters\": {}}

Right:

    {\"name\": \"gcal\", \"tools\": [{\"name\": \"gcal\", \"description\": \"Google Calendar\",
      \"parameters\": {}, \"command\": \"gcal-cli agenda\"}]}
",
    ),
];
