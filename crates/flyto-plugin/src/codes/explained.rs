//! What is to be said about each code.

use flyto_diagnostics::CodeInfo;

use crate::codes;

/// The codes up to [`codes::NEVER_MATCHES`] with their explanations.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        codes::BAD_PLUGIN_NAME,
        "the name cannot be that of a plugin",
        "\
The name of a plugin has 1 to 64 characters: ASCII letters, digits and `-`, a letter or a digit
first. It stands before the names of its tools, as in `git-info:recent_log`, in file names and in
configurations, where other characters mean something. Letters that only look like ASCII ones are
refused, so that no plugin can pass for another. A manifest without a usable name is not loaded.

Wrong:

    {\"name\": \"git_info\", \"tools\": […]}

Right:

    {\"name\": \"git-info\", \"tools\": […]}
",
    ),
    CodeInfo::new(
        codes::BAD_TOOL_NAME,
        "the name cannot be that of a tool",
        "\
The name of a tool has 1 to 64 characters: ASCII letters, digits, `_` and `-`, a letter first. A
tool of a template or binary plugin has no `-` in its name. The same holds for `aliases`. Models
and their services call a tool by this name, and most of them accept no other characters. The name
is written without the plugin's, which is put before it.

Wrong:

    {\"name\": \"text-stats:count words\", \"command\": \"./count.py\"}

Right:

    {\"name\": \"count_words\", \"command\": \"./count.py\"}
",
    ),
    CodeInfo::new(
        codes::DUPLICATE_TOOL,
        "two tools of one plugin share a name",
        "\
A name stands for one tool. Of two equal names the first stays and the other tool is not loaded. A
name in `aliases` yields to the name of any tool of the plugin.

Wrong:

    {\"tools\": [{\"name\": \"list\", \"command\": \"ls\"}, {\"name\": \"list\", \"command\": \"find\"}]}

Right:

    {\"tools\": [{\"name\": \"list\", \"command\": \"ls\"}, {\"name\": \"find\", \"command\": \"find\"}]}
",
    ),
    CodeInfo::new(
        codes::BLANK,
        "a text that is blank",
        "\
The text is empty or holds blanks only, where it should say something. A version is refused then;
other texts count as left out. Leave the key out if there is nothing to say.

Wrong:

    {\"name\": \"clock\", \"version\": \" \"}

Right:

    {\"name\": \"clock\", \"version\": \"1.0.0\"}
",
    ),
    CodeInfo::new(
        codes::NOTHING_OFFERED,
        "the plugin offers nothing",
        "\
A plugin declares at least one tool in `tools`, or one server in `mcpServers`. Without either
there is nothing to load.

Wrong:

    {\"name\": \"clock\", \"tools\": []}

Right:

    {\"name\": \"clock\", \"tools\": [{\"name\": \"now\", \"description\": \"…\", \"command\": \"date\"}]}
",
    ),
    CodeInfo::new(
        codes::FLAT,
        "a tool where the plugin belongs",
        "\
The manifest has a `command` of its own and no `tools`. A manifest describes a plugin, and what it
runs stands in the entries of `tools`; each has a name, a description and a command. Some
descriptions of the format show a single tool without anything around it. It is read as a plugin
with that one tool, and its name as the name of both: `github_pr` becomes `github-pr:github_pr`.

Wrong:

    {\"name\": \"now\", \"command\": \"date\"}

Right:

    {\"name\": \"clock\", \"tools\": [{\"name\": \"now\", \"description\": \"…\", \"command\": \"date\"}]}
",
    ),
    CodeInfo::new(
        codes::UNUSED_BINARY,
        "`binary` without `execution`",
        "\
The section `binary` describes the one program of a binary plugin, and is read only when the
manifest says `\"execution\": \"binary\"`. Without that, each tool has a command of its own.

Wrong:

    {\"name\": \"solver\", \"binary\": {\"path\": \"bin/solver\"}, \"tools\": […]}

Right:

    {\"name\": \"solver\", \"execution\": \"binary\", \"binary\": {\"path\": \"bin/solver\"}, \"tools\": […]}
",
    ),
    CodeInfo::new(
        codes::BINARY_PATH,
        "the program lies outside of the plugin",
        "\
The program of a binary plugin is part of the plugin. Its path is relative, and leads from the
plugin's directory to a file within it, also when all links on the way are followed. This is looked at
again at every call.

Wrong:

    {\"path\": \"/usr/local/bin/solver\"}

Right:

    {\"path\": \"bin/solver\"}
",
    ),
    CodeInfo::new(
        codes::COMMAND_LINE,
        "a command line where a program belongs",
        "\
`command` is one program: a name that is looked up in `PATH`, or a path. Its arguments stand in
`args`, one string each. No shell takes a line apart, so blanks and quotes in an argument stay
what they are. A line that needs a shell (pipes, redirections, variables, patterns) names the
shell.

Wrong:

    {\"command\": \"git status --porcelain\"}

Right:

    {\"command\": \"git\", \"args\": [\"status\", \"--porcelain\"]}
    {\"command\": \"sh\", \"args\": [\"-c\", \"uptime | cut -d, -f1\"]}
",
    ),
    CodeInfo::new(
        codes::PLACEHOLDER,
        "a placeholder that stays as it is",
        "\
Nothing is put into the command or the arguments of a tool that has no `parameters`: its program
reads the input as JSON from stdin. `{{name}}` in `args` reaches the program as it is, which is
only reported where the input has a property of that name.

Wrong:

    {\"command\": \"python3\", \"args\": [\"search.py\", \"{{word}}\"]}

Right:

    {\"command\": \"python3\", \"args\": [\"search.py\"]}

and in the program:

    word = json.load(sys.stdin)[\"word\"]
",
    ),
    CodeInfo::new(
        codes::NO_PROGRAM,
        "the program is not there or cannot be run",
        "\
The file that `command` stands for does not exist, is a directory, or may not be executed. A name
without a slash is looked up in `PATH` and nowhere else, also when a file of that name lies in the
plugin's directory; a relative path with a slash is taken from the tool's working directory, which
is the plugin's unless `work_dir` says otherwise. This is a warning, since the file may come
later, or lie where another backend runs it.

Wrong:

    {\"command\": \"count.py\"}

Right:

    {\"command\": \"./count.py\"}

A script is made executable with `chmod +x count.py`, and begins with a line such as
`#!/usr/bin/env python3`.
",
    ),
    CodeInfo::new(
        codes::NUL,
        "a NUL character",
        "\
Programs, arguments, variables and paths are handed over as texts that end at a NUL character, so
none can hold one. What stands behind it would be lost in silence.

Wrong:

    {\"command\": \"grep\", \"args\": [\"a\\u0000b\"]}

Right:

    {\"command\": \"grep\", \"args\": [\"-P\", \"a\\\\x00b\"]}
",
    ),
    CodeInfo::new(
        codes::BAD_VARIABLE,
        "the name cannot be that of a variable",
        "\
The name of an environment variable is not empty and holds neither `=` nor a NUL character.

Wrong:

    {\"env\": {\"LC_ALL=C\": \"\"}}

Right:

    {\"env\": {\"LC_ALL\": \"C\"}}
",
    ),
    CodeInfo::new(
        codes::RESERVED_VARIABLE,
        "a variable that the host sets itself",
        "\
Every program of a plugin sees `PLUGIN_ROOT`, the plugin's directory, and `PLUGIN_DATA`, a
directory for what outlives a call. Neither a manifest nor a grant can set them. The value of
another variable can use them.

Wrong:

    {\"env\": {\"PLUGIN_ROOT\": \"/opt/notes\"}}

Right:

    {\"env\": {\"NOTES_TEMPLATES\": \"${PLUGIN_ROOT}/templates\"}}
",
    ),
    CodeInfo::new(
        codes::BAD_REFERENCE,
        "a reference to a variable that cannot be read",
        "\
In the value of a declared variable, `${NAME}` and `$NAME` stand for a variable of the host, and
`${NAME:-default}` for the default where that is unset or empty. A name is made of letters, digits
and `_`, no digit first. `$$` is a dollar; so is any other `$` that begins none of these. A `${`
that is not closed, or holds something else, is refused, because it was meant to be one of them.

Wrong:

    {\"env\": {\"NOTES_DIR\": \"${env:HOME}/notes\"}}

Right:

    {\"env\": {\"NOTES_DIR\": \"${HOME}/notes\"}}
",
    ),
    CodeInfo::new(
        codes::BAD_SCHEMA,
        "a schema that cannot be used",
        "\
`input_schema` and `output_schema` are JSON Schemas, draft 2020-12 unless `$schema` says
otherwise. The root describes an object: the input of a call always is one, and clients of the
Model Context Protocol refuse a result or a tool whose schema says something else. A schema that
breaks its own rules would let anything pass, or nothing.

Wrong:

    {\"type\": \"object\", \"properties\": {\"word\": {\"type\": \"str\", \"required\": true}}}

Right:

    {\"type\": \"object\", \"properties\": {\"word\": {\"type\": \"string\"}}, \"required\": [\"word\"]}
",
    ),
    CodeInfo::new(
        codes::SCHEMA_REFERENCE,
        "a schema that refers outside of itself",
        "\
A `$ref` leads to a part of the same schema. Schemas are never fetched, neither from the network
nor from a file, so that a manifest means the same everywhere and reading one reaches nowhere.

Wrong:

    {\"properties\": {\"word\": {\"$ref\": \"https://example.org/word.json\"}}}

Right:

    {\"properties\": {\"word\": {\"$ref\": \"#/$defs/word\"}}, \"$defs\": {\"word\": {\"type\": \"string\"}}}
",
    ),
    CodeInfo::new(
        codes::NO_DESCRIPTION,
        "a tool without a description",
        "\
A model decides by the description whether to call a tool, and how. A tool without one works, and
is chosen by luck. Say in a sentence or two what it does, what it returns and when to use it.

Wrong:

    {\"name\": \"count\", \"command\": \"./count.py\"}

Right:

    {\"name\": \"count\", \"description\": \"Counts lines and words of a text.\", \"command\": \"./count.py\"}
",
    ),
    CodeInfo::new(
        codes::UNKNOWN_PERMISSION_CLASS,
        "an unknown permission class",
        "\
`permission_class` says which check decides about a call. Flyto's own classes are `bash`, `file`,
`webfetch`, `readonly` and `generic`; the default is `bash`. A host may know further ones. Where
it does not, its rules decide, and it asks where none fits. A name that is near to a known one is
reported as a warning, any other as a note.

Wrong:

    {\"permission_class\": \"read_only\"}

Right:

    {\"permission_class\": \"readonly\"}
",
    ),
    CodeInfo::new(
        codes::NO_WORKING_DIR,
        "the working directory is not there",
        "\
A program starts in the plugin's directory, or in `work_dir`, which is absolute or taken from the
plugin's directory. It must be there when the tool is called. This is a warning, since it may come
later.

Wrong:

    {\"command\": \"./run.sh\", \"work_dir\": \"~/notes\"}

Right:

    {\"command\": \"./run.sh\", \"work_dir\": \"scripts\"}
",
    ),
    CodeInfo::new(
        codes::NO_TIMEOUT,
        "a time of zero or less",
        "\
`timeout_seconds` is how long a call may take. Zero or less stands for the default of 30 seconds,
not for a call without an end: every call has one. Write the number of seconds that the tool needs
at most, up to one week.

Wrong:

    {\"timeout_seconds\": 0}

Right:

    {\"timeout_seconds\": 600}
",
    ),
    CodeInfo::new(
        codes::BAD_DIGEST,
        "a digest that is none",
        "\
`sha256` is the SHA-256 digest of the program's file as 64 hexadecimal digits, in either case.
Only a file with that digest is run. A text that stands for a digest to be filled in later
protects nothing and is refused.

Wrong:

    {\"command\": \"./count.py\", \"sha256\": \"a1b2c3d4e5f6...\"}

Right:

    sha256sum count.py

and the 64 digits that it prints as the value.
",
    ),
    CodeInfo::new(
        codes::UNDO_TOOL,
        "what takes a call back is no tool of the plugin",
        "\
`undo` names the tool that takes a call back when it is called with the same input. It is a tool
of the same plugin, named without the plugin's name, and it must be loaded itself. Otherwise the
entry has no effect.

Wrong:

    {\"name\": \"create_note\", \"command\": \"./create.py\", \"undo\": {\"tool\": \"notes:delete\"}}

Right:

    {\"name\": \"create_note\", \"command\": \"./create.py\", \"undo\": {\"tool\": \"delete_note\"}}
    {\"name\": \"delete_note\", \"command\": \"./delete.py\"}
",
    ),
    CodeInfo::new(
        codes::BINARY_COMMAND,
        "a tool of a binary plugin has a command of its own",
        "\
A plugin that says `\"execution\": \"binary\"` has one program that carries out all its tools. It gets
no arguments; the name of the tool and the input are in the request that it reads from stdin. A
`command` or `args` of a tool would never be run, so the tool is not loaded. An empty `command`, which
some writers of manifests put there, is left alone.

Wrong:

    {\"execution\": \"binary\", \"binary\": {…}, \"tools\": [{\"name\": \"solve\", \"command\": \"bin/solve\"}]}

Right:

    {\"execution\": \"binary\", \"binary\": {\"path\": \"bin/solve\"}, \"tools\": [{\"name\": \"solve\"}]}
",
    ),
    CodeInfo::new(
        codes::UNUSED_IDLE_TIMEOUT,
        "an idle time of a program that is never idle",
        "\
`idle_timeout_secs` says after how long without a call the program of a session is asked to stop.
Without `\"lifetime\": \"session\"` a program is started for each call and ends with it, so the time has
no effect.

Wrong:

    {\"path\": \"bin/solver\", \"idle_timeout_secs\": 60}

Right:

    {\"path\": \"bin/solver\", \"lifetime\": \"session\", \"idle_timeout_secs\": 60}
",
    ),
    CodeInfo::new(
        codes::OTHER_DIGEST,
        "the file that must run has another digest",
        "\
`sha256` names the bytes that must run, and the file of the program has others: it was built anew, or
somebody changed it. A call would be refused. `flyto validate` looks, and shows both digests. Where the
file is as it should be, write the digest that it has.

    sha256sum count.py

prints it.
",
    ),
    CodeInfo::new(
        codes::DUPLICATE_PLUGIN,
        "two plugins share a name",
        "\
Two directories hold a plugin with the same name. Directories are searched in the order in which
they are configured, and each of them by file name; the first plugin stays and the other is not
loaded. The finding shows both. Rename one of them in its manifest, remove it, or block the name
if neither is wanted. The name in the manifest counts, not that of the directory.
",
    ),
    CodeInfo::new(
        codes::NO_MANIFEST,
        "there is no manifest",
        "\
A plugin is a directory with a file `plugin.json`. The path that is given leads to no such
directory and to no manifest, or `plugin.json` is a link that leads nowhere.
",
    ),
    CodeInfo::new(
        codes::UNREADABLE_DIR,
        "a directory cannot be read",
        "\
The system refused to list a directory in which plugins are searched; its reason is part of the
message. What could be listed is loaded, and so are the plugins of all other directories. A
directory that does not exist is no problem and not reported.
",
    ),
    CodeInfo::new(
        codes::KEPT,
        "the last good version is in use",
        "\
The manifest of a plugin was edited while the plugin was in use, and the edit cannot be used: the
head of the manifest has an error, or an error in the entry of a tool would take a tool away that
could be used before. So the version before the edit stays in use; the other findings about the file
say what to mend. The mended file takes effect at once. After a restart the broken file counts as it
is. To take a plugin out of use, remove it or block its name.
",
    ),
    CodeInfo::new(
        codes::NEVER_MATCHES,
        "a name that no plugin can have",
        "\
The lists of allowed and blocked plugins, and the grants, name plugins exactly as their manifests
do. There are no patterns, and the name of a plugin is made of letters, digits and `-`. This entry
can never match one, so it has no effect; in a list of blocked plugins that is more than was
meant.

Wrong:

    {\"plugins\": {\"blocked_plugins\": [\"git-*\"]}}

Right:

    {\"plugins\": {\"blocked_plugins\": [\"git-info\", \"git-tools\"]}}
",
    ),
];
