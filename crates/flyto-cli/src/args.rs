//! What stands on the command line.

pub(crate) mod audit; // the options of `audit`
pub(crate) mod evolve; // the options of `evolve`
mod export; // the options of `export`
mod hidden; // errors without the verbs that no help shows
mod import; // the options of `import`
mod install; // the options of `install`
mod jobs; // the options of `jobs`
mod presets; // what is seen in a line that cannot be read
mod serve; // the options of `serve`
pub(crate) mod servers; // the options of `servers`
mod times; // how times are written
mod undo; // the options of `undo`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{
    Args as Group, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    ValueEnum,
};
use flyto_tools::export::Format as Shape;

pub(crate) use self::export::Export;
pub(crate) use self::import::Import;
pub(crate) use self::install::{Client, Install};
pub(crate) use self::jobs::{Jobs, JobsOutput, JobsRemove, JobsResult, JobsWhat, KeepJob};
pub(crate) use self::presets::Presets;
pub(crate) use self::serve::Serve;
use self::times::seconds;
pub(crate) use self::undo::Undo;

/// Runs programs as typed tools.
#[derive(Debug, Parser)]
#[command(
    name = "flyto",
    version,
    about = "Runs programs as typed tools: with a schema, a deadline and clean-up",
    after_help = AFTER_HELP,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Args {
    /// Options before the verb; [`Args::parse_from`] adds those behind it.
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const AFTER_HELP: &str = "\
Examples:
  flyto --plugins plugins list
  flyto --plugins plugins call text-stats:count text='a stitch in time' top:=3
  flyto validate plugins/text-stats
  flyto --config flyto.json show text-stats:count --as mcp

Options may stand before or behind the verb. A source flag takes the place of the configured
sources of its kind; blocks and grants of the configuration hold all the same.

Exit codes:
    0  ok
    1  the tool failed; also an exec tool whose program is missing, and a tool whose variable is not set
    2  the command line is wrong
    3  the input breaks the tool's schema, or `validate` found errors
    4  no such tool, file or code
    5  not allowed: a stage refused, the plugin is blocked, or `workspace` would open too much
    6  the call timed out
    7  the call could not be tried: the program of a plugin missing, backend unreachable
    8  `audit verify` found that the log was changed
   69  `doctor` found that this machine lacks something that every tool needs by default
   70  a fault of this program
   74  the answer or a file could not be written, as on a full disk; a closed stdout is no error
   75  the job still runs, so it has no result yet
  130  interrupted by Ctrl-C (131 by Ctrl-\\, 143 by SIGTERM, 129 by SIGHUP)

With `--format json`, the answer is one JSON document on stdout, and an error is one JSON document
on stderr: {\"error\": {\"kind\", \"message\", \"exit_code\", \"help\", \"findings\"}}.";

// Options of every verb. No doc comment: it would take the place of the verb's own line in the help.
#[derive(Clone, Debug, Default, Group)]
pub(crate) struct Common {
    /// Takes plugins from DIR; repeatable
    ///
    /// DIR is a plugin itself, or holds one directory for each plugin. Plugins count as enabled
    /// then, and those of the configuration are left out.
    #[arg(long, value_name = "DIR", help_heading = "Sources")]
    pub(crate) plugins: Vec<PathBuf>,
    /// Takes exec tools from FILE; repeatable
    ///
    /// Those of the configuration are left out then. Also known as `--tools-schema`.
    #[arg(long, value_name = "FILE", alias = "tools-schema", help_heading = "Sources")]
    pub(crate) exec_tools: Vec<PathBuf>,
    /// Takes the tools that agents wrote from the store in DIR, and keeps new ones there
    ///
    /// The store of the configuration is left out then. DIR need not exist yet.
    #[arg(long, value_name = "DIR", help_heading = "Sources")]
    pub(crate) evolve: Option<PathBuf>,
    /// Reads the configuration from FILE
    ///
    /// The user's own (`$XDG_CONFIG_HOME/flyto/config.json`) and the project's
    /// (`.flyto/config.json`) are not read then.
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    pub(crate) config: Option<PathBuf>,
    /// Answers for people, or as one JSON document [default: human]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<Format>,
    /// Colours: `auto` is on a terminal, unless `NO_COLOR` is set [default: auto]
    #[arg(long, value_enum, value_name = "WHEN", help_heading = "Output")]
    pub(crate) color: Option<When>,
    /// Says nothing but the answer and errors
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Says more: what ran, how long, under which limits; `-vv` times each stage of a call
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Output")]
    pub(crate) verbose: u8,
}

impl Common {
    /// Adds the options that stand behind the verb. Where an option takes one value, the later one
    /// counts.
    fn add(&mut self, behind: Self) {
        let Self { plugins, exec_tools, evolve, config, format, color, quiet, verbose } = behind;
        self.plugins.extend(plugins);
        self.exec_tools.extend(exec_tools);
        self.evolve = evolve.or(self.evolve.take());
        self.config = config.or(self.config.take());
        self.format = format.or(self.format);
        self.color = color.or(self.color);
        self.quiet |= quiet;
        self.verbose = self.verbose.saturating_add(verbose);
    }
}

/// The options of a verb are built once the line names it: those of all verbs would be a third of the
/// instructions of `flyto call`.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Verb {
    /// Lists tools, and says what did not load
    List(List),
    /// Shows a tool: schema, metadata, what it runs and what it gets
    Show(Show),
    /// Calls a tool and prints its output
    Call(Call),
    /// Offers the tools to clients of the Model Context Protocol
    Serve(Serve),
    /// Shows the servers whose tools are used here, and approves what they changed
    Servers(servers::Servers),
    /// Prints the tools in the shape that an API takes, as JSON
    Export(Export),
    /// Adds `flyto serve` to the configuration of an MCP client, such as Claude Code
    Install(Install),
    /// Adds the servers of another MCP client to the configuration
    Import(Import),
    /// Checks manifests, exec-tool files and configurations, and points at each mistake
    Validate(Validate),
    /// Prints the JSON Schema of a kind of file, for editors
    Schema(Schema),
    /// Shows the configuration that holds, and where each value comes from
    Config(Config),
    /// Tells what the rules of permission say of a call
    Permission(Permission),
    /// Shows the log of calls, and checks that it is as it was written
    Audit(audit::Audit),
    /// Tools that agents write: proposes, shows, approves, takes back
    Evolve(evolve::Evolve),
    /// Records that you trust the content of a project's configuration
    Trust(Trust),
    /// Writes something new to start from
    New(New),
    /// Checks which process controls and sandboxes work here, and suggests fixes
    Doctor(Doctor),
    /// Explains the code of a finding
    Explain(Explain),
    /// Prints a completion script for a shell
    Completions(Completions),
    /// Lists calls in the background, shows them, cancels them
    Jobs(Jobs),
    /// Undoes calls, the latest or those that are named
    Undo(Undo),
    /// Makes the call of a job; `call --background` starts it
    #[command(hide = true)]
    KeepJob(KeepJob),
}

impl Verb {
    /// The profile that a call is to run under.
    pub(crate) fn sandbox(&self) -> Option<String> {
        match self {
            Self::Call(it) => it.sandbox.clone(),
            Self::KeepJob(it) => it.sandbox.clone(),
            _ => None,
        }
    }

    fn common(&mut self) -> &mut Common {
        match self {
            Self::List(it) => &mut it.common,
            Self::Show(it) => &mut it.common,
            Self::Call(it) => &mut it.common,
            Self::Serve(it) => &mut it.common,
            Self::Servers(it) => it.common(),
            Self::Export(it) => &mut it.common,
            Self::Install(it) => &mut it.common,
            Self::Import(it) => &mut it.common,
            Self::Validate(it) => &mut it.common,
            Self::Schema(it) => &mut it.common,
            Self::Config(Config { what: ConfigWhat::Show(it) }) => &mut it.common,
            Self::Permission(Permission { what: PermissionWhat::Test(it) }) => &mut it.common,
            Self::Audit(it) => it.common(),
            Self::Evolve(it) => it.common(),
            Self::Trust(it) => &mut it.common,
            Self::New(New { what: NewWhat::Plugin(it) }) => &mut it.common,
            Self::Doctor(it) => &mut it.common,
            Self::Explain(it) => &mut it.common,
            Self::Completions(it) => &mut it.common,
            Self::Jobs(it) => it.common(),
            Self::Undo(it) => &mut it.common,
            Self::KeepJob(it) => &mut it.common,
        }
    }
}

#[derive(Debug, Group)]
#[command(after_help = "\
With --watch, each change of a plugin, an exec-tool file or the store of evolved tools is one line:
`+` it is new, `~` it has changed, `-` it is gone, `!` an edit cannot be used, and the last good
version is kept if there is one. With --format json, each line is one document. Ctrl-C ends it, which
a shell reports as 130. The configuration is read once, at the start.")]
pub(crate) struct List {
    /// Lists the tools that fit these words, best first
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Shows every problem in full, with its place, and the plugins that are not loaded
    #[arg(long)]
    pub(crate) problems: bool,
    /// Shows the names under which models and MCP clients know the tools
    #[arg(long)]
    pub(crate) wire: bool,
    /// Goes on, and tells what changes as it changes
    #[arg(long, conflicts_with = "words")]
    pub(crate) watch: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Show {
    /// Id, alias or wire name
    pub(crate) name: String,
    /// Prints the tool in the shape that an API takes, as JSON
    #[arg(long = "as", value_name = "SHAPE", value_parser = shape())]
    pub(crate) shape: Option<Shape>,
    #[command(flatten)]
    common: Common,
}

// The words that say what a tool is given. No doc comment, as for `Common`.
#[derive(Debug, Group)]
pub(crate) struct InputWords {
    /// Input: `key=text`, or `key:=JSON` for numbers, booleans, arrays and objects
    ///
    /// Keys are taken literally; a dot in a key does not nest. A pair that begins with `-` stands
    /// behind `--`.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<OsString>,
    /// The whole input as JSON, passed on byte for byte; `-` reads it from stdin
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    pub(crate) json: Option<OsString>,
}

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto call text-stats:count text='a stitch in time' top:=3
  flyto call text-stats:count --json '{\"path\": \"/etc/hosts\"}'
  jq -n '{text: \"piped\"}' | flyto call text-stats:count --json -
  flyto call text-stats:count text=x --dry-run

stdout is the tool's output and nothing else, also when the call fails. What the tool says on stderr
beside it follows on stderr, unless --quiet.

With --dry-run the exit code is 5 for a call that would be refused, 3 for an input that breaks the
schema, and else that of the call where a problem is shown that would keep it from starting.")]
pub(crate) struct Call {
    /// Id, alias or wire name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) input: InputWords,
    /// Shows what would run, and runs nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Runs the program under this sandbox profile, whatever the configuration says
    ///
    /// `none`, `workspace`, `strict`, or a profile of the configuration's own.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) sandbox: Option<String>,
    /// Gives the call SECONDS at most; the tool's own limit holds if it is shorter
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub(crate) timeout: Option<std::time::Duration>,
    /// Cuts the middle out of an output that is longer than BYTES, as for a model
    ///
    /// Without it, and where neither FLYTO_OUTPUT_LIMIT nor the configuration limits it, everything
    /// is printed.
    #[arg(long, value_name = "BYTES")]
    pub(crate) output_limit: Option<u64>,
    /// Prints the id of a job at once, and makes the call in the background; see `flyto jobs`
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) background: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Validate {
    /// Plugin directories, directories of plugins, manifests, exec-tool files, configurations
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Makes every warning an error
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Schema {
    /// The kind of file
    #[arg(value_enum)]
    pub(crate) kind: SchemaKind,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) what: ConfigWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigWhat {
    /// Shows each value that holds
    Show(ConfigShow),
}

#[derive(Debug, Group)]
pub(crate) struct ConfigShow {
    /// Shows what set each value: a file and the line, a variable, an option, or nothing (`default`)
    #[arg(long)]
    pub(crate) origin: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Permission {
    #[command(subcommand)]
    pub(crate) what: PermissionWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionWhat {
    /// Decides a call as for a model, says which rule decides, and calls nothing
    Test(PermissionTest),
}

#[derive(Debug, Group)]
#[command(after_help = "\
Example:
  flyto permission test shell:run command='git diff | head'

The exit code is 0 for a call that is allowed, and 5 for one that is denied, asked first, or held by a checkpoint
that no rule releases: for a model it would not run without an answer. `flyto call` by name is the operator's
yes to a question, not to a checkpoint. An input that breaks the schema of the tool is told, and changes
neither the decision nor the exit code.")]
pub(crate) struct PermissionTest {
    /// Id, alias or wire name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) input: InputWords,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
A project's .flyto/config.json only narrows your own configuration until you trust its content. This command
shows which of its keys would allow more, and records that you trust exactly this content. When the file
changes, it only narrows again, beside what narrows in the content that you trusted.

Read the file before you trust it. The exit code is 3 for a file that is broken or behind a link, and 4
for one that is not there.")]
pub(crate) struct Trust {
    /// The project's directory [default: the nearest one that has a .flyto/config.json]
    pub(crate) dir: Option<PathBuf>,
    /// Lists what you trust, and whether it has changed
    #[arg(long, conflicts_with_all = ["dir", "remove"])]
    pub(crate) list: bool,
    /// Takes trust back
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct New {
    #[command(subcommand)]
    pub(crate) what: NewWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NewWhat {
    /// Writes a plugin that runs at once: a manifest, a program and a README
    Plugin(NewPlugin),
}

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto new plugin word-tools --lang python
  flyto new plugin word-tools --lang rust --lifetime session --dir ~/.flyto/plugins

sh and python tools read their input as JSON from stdin and print the result. node and rust ones, and
all with --lifetime session, are binary plugins: requests and replies are JSON-RPC, a line each.")]
pub(crate) struct NewPlugin {
    /// The plugin's name, and that of the directory: letters, digits and `-`
    pub(crate) name: String,
    /// The language of the program
    #[arg(long, value_enum)]
    pub(crate) lang: Lang,
    /// How long a process lives [default: call]
    #[arg(long, value_enum, value_name = "LIFETIME")]
    pub(crate) lifetime: Option<Lifetime>,
    /// Writes the plugin's directory into DIR, which is made if need be [default: .]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Leaves the building of a Rust program to you
    #[arg(long)]
    pub(crate) no_build: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    Sh,
    Python,
    Node,
    Rust,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lifetime {
    /// Every call has a process of its own
    #[default]
    Call,
    /// One process serves all calls
    Session,
}

#[derive(Debug, Group)]
#[command(after_help = "\
Every layer is tried by using it: processes are started, refused and ended. Exit code 69 says that tools
cannot have here what they have by default: their trees ended, and bounds kept. A layer that does not
work need not matter for that; `instead` says what stands in for it. With --verbose it lists the secrets that every
sandbox profile closes, those that are on this machine first.")]
pub(crate) struct Doctor {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Explain {
    /// The code, such as F0101
    pub(crate) code: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Human,
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// `plugin.json`
    Plugin,
    /// A file of exec tools
    ExecTool,
    /// `config.json`
    Config,
}

impl Args {
    /// Reads a command line. The first word is the program itself.
    pub(crate) fn parse_words(words: &[OsString]) -> Result<Self, clap::Error> {
        let color = match Presets::of(words).color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        let mut command = Self::command().color(color);
        let matches = command.try_get_matches_from_mut(words);
        let matches = matches.map_err(|err| hidden::without_hidden(&command, err))?;
        let mut res = Self::from_arg_matches(&matches).map_err(|err| err.format(&mut command))?;
        let behind = std::mem::take(res.verb.common());
        res.common.add(behind);
        Ok(res)
    }
}

/// The shapes in which a tool can be handed over, by their names.
fn shape() -> impl TypedValueParser<Value = Shape> {
    let names = Shape::ALL.iter().map(|it| it.as_str());
    PossibleValuesParser::new(names).try_map(|it| it.parse::<Shape>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        Args::parse_words(&words)
    }

    #[test]
    fn the_definition_holds_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_options_of_a_verb_wait_until_a_line_names_it() {
        let command = Args::command();
        let mut built = command.clone();
        built.build();
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            let has_options = verb.get_arguments().next().is_some() || verb.has_subcommands();
            assert!(!has_options, "the options of `{name}` are built at each start");
            let built = built.find_subcommand(name).unwrap();
            assert!(built.get_arguments().next().is_some(), "{name}");
            // A doc comment of its options would replace it.
            assert_eq!(built.get_about(), verb.get_about(), "{name}");
            assert_eq!(built.get_long_about(), verb.get_long_about(), "{name}");
        }
    }

    #[test]
    fn options_stand_on_either_side_of_the_verb() {
        let args = parse("flyto --plugins a -q list --plugins b --format json -v").unwrap();
        let common = args.common;
        assert_eq!(common.plugins, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(common.format, Some(Format::Json));
        assert!(common.quiet && common.verbose == 1);
        let args = parse("flyto --config a --color never list --config b").unwrap();
        assert_eq!(args.common.config, Some(PathBuf::from("b")));
        assert_eq!(args.common.color, Some(When::Never));
    }

    #[test]
    fn pairs_keep_what_looks_like_an_option() {
        let args = parse("flyto call p:t n:=-1 a=-rf --timeout 1.5 -- -x=1 --y=2").unwrap();
        let Verb::Call(call) = args.verb else { panic!("another verb") };
        assert_eq!(call.input.pairs, ["n:=-1", "a=-rf", "-x=1", "--y=2"]);
        assert_eq!(call.timeout, Some(std::time::Duration::from_millis(1500)));
        let args = parse("flyto call p:t --json -5").unwrap();
        let Verb::Call(call) = args.verb else { panic!("another verb") };
        assert_eq!(call.input.json, Some("-5".into()));
    }
}
