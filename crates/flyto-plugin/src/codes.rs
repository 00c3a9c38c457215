//! The codes of this crate: what can be wrong with a plugin beyond its JSON. They are `F0101` to
//! `F0199`; `codes/CODE.md` explains each.
//!
//! A reader of a report starts from the severity. An error costs the part that the line below
//! names: a key, a tool, a server, a plugin, or the `plugins` object of a configuration. After a
//! warning or a note the part is used. Codes are never given a second meaning; a gap in the
//! numbers is a code that went.
//!
//! ```
//! use flyto_plugin::codes;
//!
//! let info = codes::CODES.iter().find(|it| it.code == codes::COMMAND_LINE);
//! assert_eq!(info.expect("it has a file").code.to_string(), "F0112");
//! ```

flyto_diagnostics::code_table! {
    /// The name cannot be that of a plugin.
    ///
    /// Error; the plugin is not loaded. The rule is
    /// [`check_plugin_name`](crate::check_plugin_name); a manifest of the format Agent Plugins
    /// has small letters, digits, `-` and `.` instead.
    BAD_PLUGIN_NAME = "F0101";
    /// The name cannot be that of a tool.
    ///
    /// Error; costs the tool. An alias has to keep the rule of
    /// [`check_tool_name`](crate::check_tool_name), and a wrong one costs its tool as well.
    BAD_TOOL_NAME = "F0102";
    /// Two tools of one plugin share a name.
    ///
    /// Error; costs the later entry. An alias must differ from every name and every other alias
    /// of the plugin.
    DUPLICATE_TOOL = "F0103";
    /// A text says nothing.
    ///
    /// Error for the `version` of a plugin. Warning for a text of a tool, such as `title`, which
    /// then counts as left out.
    BLANK = "F0104";
    /// A plugin without tools and servers.
    ///
    /// Error; the plugin is not loaded. Where the keys for both are missing, the code is
    /// [`MISSING_KEY`](flyto_diagnostics::codes::MISSING_KEY).
    NOTHING_OFFERED = "F0105";
    /// The manifest is one tool with nothing around it, and is read as a plugin with that tool.
    ///
    /// Warning, with the whole manifest as it should be written as the suggestion.
    FLAT = "F0106";
    /// A section for a binary plugin in a plugin that is none.
    ///
    /// Warning; the section `binary` is not read without `"execution": "binary"`.
    UNUSED_BINARY = "F0107";
    /// The program of a binary plugin is not within its directory.
    ///
    /// Error; the plugin is not loaded. The path is blank, absolute, climbs above the directory
    /// with `..`, or leaves it by a symbolic link.
    BINARY_PATH = "F0108";
    /// A command line where a program belongs.
    ///
    /// Error; costs the tool, or the server. Only a text with blanks that names no existing file
    /// gets it.
    COMMAND_LINE = "F0112";
    /// A placeholder that nothing is put into.
    ///
    /// Error in `command` of an argv tool. Warning in `args`, and only where the name is a
    /// property of `input_schema`.
    PLACEHOLDER = "F0113";
    /// The program of a tool is not there, or cannot be run.
    ///
    /// Always a warning: the program may be built or installed later, or lie on the machine of
    /// another backend.
    NO_PROGRAM = "F0114";
    /// A NUL character where the system ends a text.
    ///
    /// Error; costs the part that holds it. Arguments, variables and paths are C strings
    /// (execve(2)).
    NUL = "F0115";
    /// The name cannot be that of a variable.
    ///
    /// Error for a name that is empty or holds `=` or NUL. Any other name passes.
    BAD_VARIABLE = "F0116";
    /// A variable that the host sets itself.
    ///
    /// Error for [`PLUGIN_ROOT`](crate::PLUGIN_ROOT) and [`PLUGIN_DATA`](crate::PLUGIN_DATA), in
    /// `env` and in a grant.
    RESERVED_VARIABLE = "F0117";
    /// A reference to a variable that cannot be read.
    ///
    /// Error for `${` without its `}` or with no name in it. Warning for `{env:NAME}` in a value
    /// of a server, which is taken literally.
    BAD_REFERENCE = "F0118";
    /// A schema that cannot be used.
    ///
    /// Error; costs the tool. Warning where the root names no type, or where `parameters` is
    /// `null` or `true`.
    BAD_SCHEMA = "F0119";
    /// A schema that refers to something that is not in it.
    ///
    /// Error; costs the tool. No schema is ever fetched, from a file or from the network.
    SCHEMA_REFERENCE = "F0120";
    /// A tool without a description.
    ///
    /// Warning; the tool is loaded with the blank text.
    NO_DESCRIPTION = "F0121";
    /// A permission class that is not one of Flyto's own.
    ///
    /// Warning where the name is near to a known one, else a note. The class is used as it is
    /// written.
    UNKNOWN_PERMISSION_CLASS = "F0122";
    /// The working directory is not there.
    ///
    /// Warning: the directory may be created before the first call.
    NO_WORKING_DIR = "F0123";
    /// A time of zero or less, which stands for the default.
    ///
    /// Warning; [`DEFAULT_TIMEOUT`](crate::DEFAULT_TIMEOUT) holds, and for an idle time
    /// [`DEFAULT_IDLE`](crate::DEFAULT_IDLE).
    NO_TIMEOUT = "F0124";
    /// A digest that is none.
    ///
    /// Error for a text other than 64 hexadecimal digits, for a tool of a binary plugin that
    /// names another digest than its plugin, and for a template that a shell runs.
    BAD_DIGEST = "F0125";
    /// What takes a call back is no tool of the plugin.
    ///
    /// Error; the tool is loaded without its `undo`. An alias does not count as a name here.
    UNDO_TOOL = "F0126";
    /// A tool of a binary plugin has a command of its own.
    ///
    /// Error; costs the tool. A blank `command` and an empty `args` pass.
    BINARY_COMMAND = "F0127";
    /// An idle time of a program that is never idle.
    ///
    /// Warning for `idle_timeout_secs` without `"lifetime": "session"`.
    UNUSED_IDLE_TIMEOUT = "F0128";
    /// The file that must run has another digest.
    ///
    /// Error, and only at [`Depth::Full`](crate::Depth::Full): reading every program would cost
    /// more than finding all plugins. A call is refused by the backend in any case.
    OTHER_DIGEST = "F0129";
    /// Two plugins share a name.
    ///
    /// Error; the one that is found later is refused. The first place is a related location.
    DUPLICATE_PLUGIN = "F0130";
    /// There is no manifest.
    ///
    /// Error from [`load`](crate::load()). A `plugin.json` that is a link to nothing gets it in a
    /// search, too; a directory without the file is no plugin there, and no finding.
    NO_MANIFEST = "F0133";
    /// A directory of plugins cannot be read.
    ///
    /// Error; the plugins that were listed before the failure stay.
    UNREADABLE_DIR = "F0134";
    /// An edit cannot be used, and the version before it stays in use.
    ///
    /// Note beside the errors of the edit; see [`PluginState::Kept`](crate::PluginState::Kept).
    KEPT = "F0138";
    /// A name in the configuration that no plugin can have.
    ///
    /// Warning: a name in `allowed_plugins`, `blocked_plugins` or `grants` that breaks the rule
    /// of [`check_plugin_name`](crate::check_plugin_name).
    NEVER_MATCHES = "F0140";
    /// A key of the configuration that was meant to be one that protects.
    ///
    /// Error of a host's configuration. The crate of the host reports it; no code here does.
    MISSPELT_LIST = "F0141";
    /// A path in a grant that is relative, or whose `~` stands for nothing.
    ///
    /// Error; the whole `plugins` object is refused.
    GRANTED_PATH = "F0142";
    /// A directory of plugins that cannot be meant as it is written.
    ///
    /// Warning for an empty text and for one that names a variable, as `$HOME/plugins` does. The
    /// path is used as it is written.
    PLUGIN_DIR = "F0143";
    /// A template that is more than one command.
    ///
    /// Error; costs the tool. `&&`, `||`, `;`, `|` outside of quotes, and a backtick outside of
    /// single quotes.
    SHELL_OPERATOR = "F0150";
    /// A placeholder whose value would decide what runs.
    ///
    /// Error; costs the tool. The help shows how to hand the value over as an argument instead.
    CODE_PLACEHOLDER = "F0151";
    /// A template that cannot be taken apart.
    ///
    /// Error; costs the tool. Also for text that POSIX shells read in different ways.
    TEMPLATE_SYNTAX = "F0152";
    /// A placeholder that names no parameter.
    ///
    /// Warning; a call may still pass the value, and without one the word is left out.
    UNDECLARED_PARAMETER = "F0153";
    /// A placeholder with blanks within its braces.
    ///
    /// Warning; the placeholder works.
    SPACED_PLACEHOLDER = "F0154";
    /// A parameter that the command never uses.
    ///
    /// Warning; the tool is loaded.
    UNUSED_PARAMETER = "F0155";
    /// The name cannot be that of a server.
    ///
    /// Error; costs the server. A name is 1 to 64 letters, digits, `_` and `-`, a letter or
    /// digit first.
    BAD_SERVER_NAME = "F0160";
    /// A server needs variables that are not set.
    ///
    /// Warning at [`Depth::Quick`](crate::Depth::Quick), error at
    /// [`Depth::Full`](crate::Depth::Full). The server stays in the manifest and is not
    /// [ready](crate::ServerDef::is_ready).
    SERVER_UNSET = "F0161";
    /// A key of other programs that has no effect.
    ///
    /// Warning. Two of these keys have an effect: `"disabled": true` and `"enabled": false`
    /// leave the server out.
    FOREIGN_KEY = "F0162";
    /// The address of a server is none, or gives something away.
    ///
    /// Error; costs the server. Plain `http` to another machine is a warning in `mcpServers` and
    /// an error in `mcp.json`; a header in `mcp.json` that looks like a secret is a warning.
    SERVER_ADDRESS = "F0163";
    /// A header that cannot be sent.
    ///
    /// Error; costs the server. The name must be a token of HTTP (RFC 9110, section 5.6.2), and
    /// the value free of control characters but the tab.
    BAD_HEADER = "F0164";
    /// A path of a plugin leads out of its directory.
    ///
    /// Error; only a manifest of the format Agent Plugins and its `mcp.json` are held to this.
    LEAVES_PLUGIN = "F0165";
    /// Something that belongs to another place of the format.
    ///
    /// Warning for a key at the top of an Agent Plugins manifest that belongs to an extension or
    /// to `mcp.json`. Error for an extension whose name is no domain, and for rules of permission anywhere but beside the tools:
    /// the plugin is not loaded, or the server in which they stand.
    MISPLACED = "F0166";
    /// A file that belongs to another part of another program.
    ///
    /// Error; the plugin is not loaded.
    OTHER_FILE = "F0167";
    /// A program that cannot be started before its call says that it may.
    ///
    /// Warning for `"ready": true` of a template, which reads no input, and of a plugin with
    /// `"lifetime": "session"`.
    UNUSED_READY = "F0168";
    /// A rule of permission of a plugin cannot hold.
    ///
    /// Error; the plugin is not loaded, since a rule that is not read would not hold. The text is no rule, names
    /// tools of another plugin, or stands under `allow`; there are too many; or the program that loads the plugin
    /// decides no calls by rules.
    PLUGIN_RULE = "F0169";
    /// A rule of permission of a plugin names none of its tools.
    ///
    /// Warning; the rule holds for no call. Told of names alone, of a tool and of a server: which tools a server offers is known only
    /// when it is connected to.
    UNMATCHED_RULE = "F0170";
    /// A schema that not every client takes.
    ///
    /// Warning where a manifest is checked in full. An output schema is kept from clients; with a choice at the root of an input
    /// schema the tool is offered as it is.
    UNPORTABLE_SCHEMA = "F0171";
}
