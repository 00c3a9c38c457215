//! What can be wrong with a configuration, explained.

use flyto_diagnostics::{Code, CodeInfo};

/// A project's file asks for more than the user allows.
pub const UNTRUSTED: Code = Code::new("F0301");
/// A path that is neither absolute nor can be made so.
pub const NO_HOME: Code = Code::new("F0302");
/// A variable of the environment that cannot be read.
pub const BAD_VARIABLE: Code = Code::new("F0303");
/// A tool whose name is taken.
pub const NAME_TAKEN: Code = Code::new("F0304");
/// A file that is none of those that Flyto knows.
pub const UNKNOWN_FILE: Code = Code::new("F0305");
/// Files of which the system does not report changes.
pub const NOT_WATCHED: Code = Code::new("F0306");
/// A file of which the last good version stays in use.
pub const FILE_KEPT: Code = Code::new("F0307");
/// A grant for a plugin that is not there.
pub const NOBODY_GRANTED: Code = Code::new("F0308");
/// A server that a plugin declares and that is not started.
pub const SERVER_NOT_STARTED: Code = Code::new("F0309");
/// A section of a configuration that belongs to another program.
pub const FOREIGN_SECTION: Code = Code::new("F0310");
/// A plugin that is blocked or allowed and not there.
pub const NOBODY_LISTED: Code = Code::new("F0311");
/// A sandbox profile that is not there.
pub const UNKNOWN_PROFILE: Code = Code::new("F0312");
/// A sandbox profile that cannot mean what it says.
pub const BAD_PROFILE: Code = Code::new("F0313");
/// A granted path with a link on the way.
pub const LINK: Code = Code::new("F0314");
/// A key of former versions that trusted directories.
pub const TRUSTED_DIRS: Code = Code::new("F0315");
/// A project's file that is not what the operator trusted.
pub const CHANGED: Code = Code::new("F0316");
/// A project's file that cannot be read whole.
pub const BROKEN_PROJECT: Code = Code::new("F0317");
/// A record of trust that cannot be read.
pub const BAD_RECORD: Code = Code::new("F0318");
/// A place in which `workspace` would make too much writable.
pub const TOO_WIDE: Code = Code::new("F0319");

/// Every code of this crate with its explanation.
pub const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        UNTRUSTED,
        "a project's configuration asks for more than it may",
        "\
The file `.flyto/config.json` comes with a project, and a project may come from another author. So it can
only narrow what your own configuration allows: switch plugins off, block some, allow fewer, lower a
limit. What would widen it (more plugin directories, more tools, grants) is left out until you trust
the content of the file. Read the file first: the tools that it brings run with your rights. Then run

    flyto trust /home/ada/projects/site

which shows what the file allows beyond narrowing, and records that you trust exactly this content. `flyto trust
--list` shows what you trust, and `flyto trust --remove DIR` takes trust back.
",
    ),
    CodeInfo::new(
        NO_HOME,
        "a path starts with `~`, and the home directory is not known",
        "\
A path in the configuration starts with `~`, which stands for a home directory. The environment has
no HOME with an absolute path, or there is no user of the name behind the `~`. Write the path out,
such as `/home/ada/.flyto/plugins`. Of `plugin_dirs`, only the entry itself is passed over.
",
    ),
    CodeInfo::new(
        BAD_VARIABLE,
        "a variable of the environment has a value that means nothing",
        "\
Flyto reads a few variables whose names begin with FLYTO_. FLYTO_PLUGINS and FLYTO_EXEC_TOOLS hold
paths with colons between them, FLYTO_CONFIG holds one path, FLYTO_OUTPUT_LIMIT a number of bytes
such as 65536. A variable that is set but empty counts as not set.
",
    ),
    CodeInfo::new(
        NAME_TAKEN,
        "two tools want one name",
        "\
A tool's name, and each of its aliases, leads to one tool. The tool that was there first keeps the
name; the other is left out, never put in its place. Plugins come before definition files, directories
and files in the order in which they are given, plugins of one directory in the order of their names.

Rename one of the two, or block the plugin that you do not want:

    { \"plugins\": { \"blocked_plugins\": [\"other-plugin\"] } }
",
    ),
    CodeInfo::new(
        UNKNOWN_FILE,
        "the file is none of those that Flyto reads",
        "\
Flyto tells what a file is by its content: a manifest has `tools` or `mcpServers`, a tool definition
has `exec` (or is an array of such objects), a configuration has `plugins`, `exec_tools`,
`output_limit_bytes` or `sandbox`. A directory is a plugin if it holds a `plugin.json`, or a
directory of plugins. The file has none of these keys.
",
    ),
    CodeInfo::new(
        NOT_WATCHED,
        "the system does not report changes of some files",
        "\
A host that watches its sources asks the system to report changes: on Linux with inotify, one watch for
each plugin directory and each plugin in it. The system has a limit for the watches of a user and one
for the programs that watch. Where it is reached, the host looks at all files every two seconds
instead: nothing is missed, but an edit takes effect later, and looking costs some time.

See the limits, and raise them, with

    sysctl fs.inotify.max_user_watches fs.inotify.max_user_instances
    sudo sysctl fs.inotify.max_user_watches=524288

A line in a file of /etc/sysctl.d keeps the value. Or name directories with fewer plugins.
",
    ),
    CodeInfo::new(
        FILE_KEPT,
        "an edited file cannot be used, and its last good version stays in use",
        "\
A running host has looked again at a file of tool definitions that was edited, and something in it is
wrong; the other findings about the file say what. Until that is mended, the tools are those of the last
version that was in order, so that an edit which is not finished yet takes nothing away. A host that
starts now knows no such version, and refuses the file.
",
    ),
    CodeInfo::new(
        NOBODY_GRANTED,
        "a grant for a plugin that is not there",
        "\
`plugins.grants` names a plugin that none of the searched directories holds, so the grant has no
effect. Most often the name is misspelt, and the plugin lacks what it was to get. The name is the one
that the manifest gives, which need not be that of the directory.

Wrong, for the plugin `git-info`:

    { \"plugins\": { \"grants\": { \"gitinfo\": { \"env\": [\"GITHUB_TOKEN\"] } } } }

Right:

    { \"plugins\": { \"grants\": { \"git-info\": { \"env\": [\"GITHUB_TOKEN\"] } } } }
",
    ),
    CodeInfo::new(
        SERVER_NOT_STARTED,
        "a server is declared and not started",
        "\
The plugin declares a server of the Model Context Protocol. Its declaration is checked, and this
program starts no servers, so the tools of the server are not there. The tools that the plugin
declares itself are not affected. A client of the protocol, such as an editor, can start the server
with the command and the variables of the manifest.
",
    ),
    CodeInfo::new(
        FOREIGN_SECTION,
        "a section that belongs to another program",
        "\
The configuration has a section that ZeptoClaw knows and Flyto does not: `custom_tools`, commands with
placeholders, or `providers`, programs that speak for a model. It is passed over. A custom tool becomes
a tool of a plugin, whose parameters are a JSON Schema.

Wrong:

    { \"custom_tools\": [{ \"name\": \"lines\", \"command\": \"wc -l {{file}}\" }] }

Right, in a `plugin.json`:

    { \"name\": \"mine\", \"tools\": [{ \"name\": \"lines\", \"description\": \"Counts lines.\",
      \"parameters\": { \"type\": \"object\", \"properties\": { \"file\": { \"type\": \"string\" } } },
      \"command\": \"wc -l {{file}}\" }] }
",
    ),
    CodeInfo::new(
        NOBODY_LISTED,
        "a plugin is blocked or allowed that is not there",
        "\
`plugins.blocked_plugins` or `plugins.allowed_plugins` names a plugin that none of the searched
directories holds. Where the name is misspelt, a plugin is in use that you meant to block, or one that
you meant to allow is kept out. The name is the one that the manifest gives, which need not be that of
the directory. A name that is there for a plugin to come may stay.

Wrong, for the plugin `git-info`:

    { \"plugins\": { \"blocked_plugins\": [\"gitinfo\"] } }

Right:

    { \"plugins\": { \"blocked_plugins\": [\"git-info\"] } }
",
    ),
    CodeInfo::new(
        UNKNOWN_PROFILE,
        "a sandbox profile that is not there",
        "\
`sandbox` names a profile, for all programs or for one class of them. Everybody has `none`, which cuts
nothing off, `workspace` and `strict`; further ones stand under `profiles` of the same section, and
extend one of these three. Since a protection that is not understood would not hold, the configuration
is not used.

Wrong:

    { \"sandbox\": \"workspce\" }

Right:

    { \"sandbox\": { \"plugin_tool\": \"workspace\" } }
",
    ),
    CodeInfo::new(
        BAD_PROFILE,
        "a sandbox profile cannot mean what it says",
        "\
A profile of one's own has a name of its own, absolute paths without `..` (`~` is the home directory),
and hosts such as `example.org`, `*.example.org` or `example.org:443`. One that extends `none` leaves
all files open, so that `read` and `write` would say nothing there.

Wrong:

    { \"sandbox\": { \"profiles\": { \"mine\": { \"extends\": \"none\", \"read\": [\"data\"] } } } }

Right:

    { \"sandbox\": { \"profiles\": { \"mine\": { \"extends\": \"strict\", \"read\": [\"/srv/data\"] } } } }
",
    ),
    CodeInfo::new(
        LINK,
        "a granted path goes through a link, and grants nothing",
        "\
A path that a profile or a grant opens has a symbolic link on the way, or is one. A tool that may write the
directory of the link can replace the link, so that the next call would grant what the tool chose: `/`,
say. So a path with a link in it grants nothing, and the call goes on without it. The finding names the link
and where it leads; write that path.

Wrong, where /srv/models is a link to /data/models:

    { \"sandbox\": { \"profiles\": { \"mine\": { \"read\": [\"/srv/models\"] } } } }

Right:

    { \"sandbox\": { \"profiles\": { \"mine\": { \"read\": [\"/data/models\"] } } } }

The same holds for TMPDIR and for HOME, which `workspace` grants. One kind of link is followed: on the way to the home
directory of a user who is not root, a link that belongs to root in directories that only root may
write, such as /home on some systems. `deny` closes both a link and what it leads to.
",
    ),
    CodeInfo::new(
        TRUSTED_DIRS,
        "the key \"trusted_dirs\" has no effect",
        "\
A configuration could list directories in `trusted_dirs`, whose projects were trusted whatever their
`.flyto/config.json` said. A tool that works on a project can write that file, so it could free the next call
from its sandbox. Trust is of content now: remove the key, and run, for each of the projects,

    flyto trust DIR

after reading its `.flyto/config.json`.
",
    ),
    CodeInfo::new(
        CHANGED,
        "a trusted project's configuration has changed, or is gone",
        "\
You have trusted the content of a project's `.flyto/config.json`, and the file has another content now, is gone, or
is reached through a link. Every process that can write the project can do that, a tool of yours included. So the
file only narrows, and what narrows in the content that you trusted holds beside it: a sandbox, blocked plugins,
lower limits. Nothing that you trusted becomes looser.

Read the file. If you want what it says, run `flyto trust DIR`; if the project needs no configuration any
more, run `flyto trust --remove DIR`.
",
    ),
    CodeInfo::new(
        BROKEN_PROJECT,
        "a project's configuration cannot be read whole",
        "\
Something is wrong with the `.flyto/config.json` of a project; the other findings about the file say what. It stops no
call, since a project may come from another author. What can be read of it narrows. Where its `sandbox`, or the
whole file, cannot be read, programs run under the profile `workspace` at least, because the file may have asked for it.

`flyto validate FILE` shows each mistake with its place.
",
    ),
    CodeInfo::new(
        BAD_RECORD,
        "a record of trust cannot be read",
        "\
`flyto trust` keeps a record for each project below the state directory, `~/.local/state/flyto/trust` unless
XDG_STATE_HOME says otherwise. The one of this project cannot be read, or was changed by something else.
What it trusted is not known, so the project only narrows, and programs run under `workspace` at least.

Read the project's file, then run `flyto trust DIR` to write the record anew, or `flyto trust --remove DIR`.
",
    ),
    CodeInfo::new(
        TOO_WIDE,
        "the profile \"workspace\" would make too much writable here",
        "\
Under the profile `workspace`, and under one that extends it, a program may write the current directory. Where that
is `/`, the home directory, a directory of the system such as /etc or /usr, or a directory above one of
them, a program could write start-up files of shells, other plugins, or settings of the kernel, and what it
wrote would act outside of its sandbox. So calls are refused there, with exit code 5. What lies below is fine:
/home/ada/code, /usr/src/app, /opt/x.

Change to the directory of a project. Or use the profile `strict`, or one that extends it and has `write`:

    { \"sandbox\": { \"profiles\": { \"mine\": { \"extends\": \"strict\", \"write\": [\"~/out\"] } } } }

The same holds for TMPDIR, which `workspace` does not make writable where it is such a directory.
",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_explained() {
        assert!(CODES.is_sorted_by(|a, b| a.code < b.code));
        assert!(CODES.iter().all(|it| it.explanation.len() > 100));
    }
}
