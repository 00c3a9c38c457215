//! The codes of this crate: what can be wrong with a plugin beyond its JSON. They are `F0101` to
//! `F0199`; `codes/CODE.md` explains each.

flyto_diagnostics::code_table! {
    /// The name cannot be that of a plugin.
    BAD_PLUGIN_NAME = "F0101";
    /// The name cannot be that of a tool.
    BAD_TOOL_NAME = "F0102";
    /// Two tools of one plugin share a name.
    DUPLICATE_TOOL = "F0103";
    /// A text says nothing.
    BLANK = "F0104";
    /// A plugin without tools and servers.
    NOTHING_OFFERED = "F0105";
    /// The manifest is one tool with nothing around it, and is read as a plugin with that tool.
    FLAT = "F0106";
    /// A section for a binary plugin in a plugin that is none.
    UNUSED_BINARY = "F0107";
    /// The program of a binary plugin is not within its directory.
    BINARY_PATH = "F0108";
    /// A command line where a program belongs.
    COMMAND_LINE = "F0112";
    /// A placeholder that nothing is put into.
    PLACEHOLDER = "F0113";
    /// The program of a tool is not there, or cannot be run.
    NO_PROGRAM = "F0114";
    /// A NUL character where the system ends a text.
    NUL = "F0115";
    /// The name cannot be that of a variable.
    BAD_VARIABLE = "F0116";
    /// A variable that the host sets itself.
    RESERVED_VARIABLE = "F0117";
    /// A reference to a variable that cannot be read.
    BAD_REFERENCE = "F0118";
    /// A schema that cannot be used.
    BAD_SCHEMA = "F0119";
    /// A schema that refers to something that is not in it.
    SCHEMA_REFERENCE = "F0120";
    /// A tool without a description.
    NO_DESCRIPTION = "F0121";
    /// A permission class that is not one of Flyto's own.
    UNKNOWN_PERMISSION_CLASS = "F0122";
    /// The working directory is not there.
    NO_WORKING_DIR = "F0123";
    /// A time of zero or less, which stands for the default.
    NO_TIMEOUT = "F0124";
    /// A digest that is none.
    BAD_DIGEST = "F0125";
    /// What takes a call back is no tool of the plugin.
    UNDO_TOOL = "F0126";
    /// A tool of a binary plugin has a command of its own.
    BINARY_COMMAND = "F0127";
    /// An idle time of a program that is never idle.
    UNUSED_IDLE_TIMEOUT = "F0128";
    /// The file that must run has another digest.
    OTHER_DIGEST = "F0129";
    /// Two plugins share a name.
    DUPLICATE_PLUGIN = "F0130";
    /// There is no manifest.
    NO_MANIFEST = "F0133";
    /// A directory of plugins cannot be read.
    UNREADABLE_DIR = "F0134";
    /// An edit cannot be used, and the version before it stays in use.
    KEPT = "F0138";
    /// A name in the configuration that no plugin can have.
    NEVER_MATCHES = "F0140";
    /// A key of the configuration that was meant to be one that protects.
    MISSPELT_LIST = "F0141";
    /// A path in a grant that is relative, or whose `~` stands for nothing.
    GRANTED_PATH = "F0142";
    /// A directory of plugins that cannot be meant as it is written.
    PLUGIN_DIR = "F0143";
    /// A template that is more than one command.
    SHELL_OPERATOR = "F0150";
    /// A placeholder whose value would decide what runs.
    CODE_PLACEHOLDER = "F0151";
    /// A template that cannot be taken apart.
    TEMPLATE_SYNTAX = "F0152";
    /// A placeholder that names no parameter.
    UNDECLARED_PARAMETER = "F0153";
    /// A placeholder with blanks within its braces.
    SPACED_PLACEHOLDER = "F0154";
    /// A parameter that the command never uses.
    UNUSED_PARAMETER = "F0155";
    /// The name cannot be that of a server.
    BAD_SERVER_NAME = "F0160";
    /// A server needs variables that are not set.
    SERVER_UNSET = "F0161";
    /// A key of other programs that has no effect.
    FOREIGN_KEY = "F0162";
    /// The address of a server is none, or gives something away.
    SERVER_ADDRESS = "F0163";
    /// A header that cannot be sent.
    BAD_HEADER = "F0164";
    /// A path of a plugin leads out of its directory.
    LEAVES_PLUGIN = "F0165";
    /// Something that belongs to another place of the format.
    MISPLACED = "F0166";
    /// A file that belongs to another part of another program.
    OTHER_FILE = "F0167";
}
