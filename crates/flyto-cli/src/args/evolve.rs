//! What stands behind `flyto evolve`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};

use super::Common;

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto evolve propose first_words.json
  flyto evolve propose first_words.json --call '{\"text\": \"to be or not\", \"count\": 2}'
  flyto evolve list
  flyto evolve approve first_words-41c3bd1f2aa05e6d7788990011223344556677ab
  flyto evolve diff first_words 1 2
  flyto evolve rollback first_words 1

The store is the directory of --evolve, of FLYTO_EVOLVE, or of \"evolve\": {\"dir\"} in your configuration, else
~/.flyto/evolution. A model proposes by the tools `create_tool` and `update_tool`, which every command offers where
the store is used. Nothing is called before a person has approved exactly its text.

The exit code is 3 for a definition that cannot be one, 4 where there is no such tool or version, and 5 for a
proposal that was refused or denied, as one that holds a secret or is based on an older version.")]
pub(crate) struct Evolve {
    #[command(subcommand)]
    pub(crate) what: EvolveWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvolveWhat {
    /// Proposes a tool: checks it, shows it, and asks; without a terminal it waits for `approve`
    Propose(Propose),
    /// Lists tools with their states, and proposals that wait
    List(Plain),
    /// Shows a version of a tool, or a proposal that waits
    Show(Show),
    /// Shows what differs between two versions, field by field
    Diff(Diff),
    /// Lists the versions of a tool, the first one first
    History(Named),
    /// Shows a proposal that waits, or an edited file, and asks
    Approve(Approve),
    /// Denies a proposal that waits, or sets an edited file aside
    Deny(Deny),
    /// Records that a text that looks like a secret is none
    Acknowledge(Acknowledge),
    /// Runs a version over recorded calls, and shows where it delivers something else
    Replay(Replay),
    /// Removes the recorded calls of a tool, or has versions that are gone told no more
    Forget(Forget),
    /// Makes a version with the text of an earlier one
    Rollback(Rollback),
    /// Sets a tool aside: it cannot be called, and every version stays
    Archive(Named),
    /// Brings an archived tool back
    Restore(Named),
    /// Exempts a tool from every rule that sets tools aside
    Pin(Named),
    /// Takes the pin of a tool away
    Unpin(Named),
    /// Archives tools that agents made and that were not called for a long time
    Decay(Decay),
    /// Writes a version as one file for another store, or as an Agent Skills folder
    Export(Export),
    /// Proposes a tool that was exported, or an Agent Skills folder
    Import(Import),
    /// Lists what happened in the store, or checks that no record of it was changed or removed
    Events(Events),
    /// Tells how often each version was called, how it ended, and how long it took
    Stats(Stats),
}

impl Evolve {
    pub(super) fn common(&mut self) -> &mut Common {
        match &mut self.what {
            EvolveWhat::Propose(it) => &mut it.common,
            EvolveWhat::List(it) => &mut it.common,
            EvolveWhat::Show(it) => &mut it.common,
            EvolveWhat::Diff(it) => &mut it.common,
            EvolveWhat::History(it)
            | EvolveWhat::Archive(it)
            | EvolveWhat::Restore(it)
            | EvolveWhat::Pin(it)
            | EvolveWhat::Unpin(it) => &mut it.common,
            EvolveWhat::Forget(it) => &mut it.common,
            EvolveWhat::Approve(it) => &mut it.common,
            EvolveWhat::Deny(it) => &mut it.common,
            EvolveWhat::Acknowledge(it) => &mut it.common,
            EvolveWhat::Replay(it) => &mut it.common,
            EvolveWhat::Rollback(it) => &mut it.common,
            EvolveWhat::Decay(it) => &mut it.common,
            EvolveWhat::Export(it) => &mut it.common,
            EvolveWhat::Import(it) => &mut it.common,
            EvolveWhat::Events(it) => &mut it.common,
            EvolveWhat::Stats(it) => &mut it.common,
        }
    }
}

#[derive(Debug, Group)]
pub(crate) struct Plain {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Named {
    /// The name of the tool
    pub(crate) name: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Forget {
    /// The name of the tool
    pub(crate) name: String,
    /// Has versions whose files were removed from the history on purpose told no more; recorded calls stay
    ///
    /// A file that was lost can be put back from a copy instead. The log of events keeps the numbers.
    #[arg(long)]
    pub(crate) gone: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
Example of a definition:
  {\"name\": \"first_words\", \"description\": \"Returns the first words of a text.\",
   \"input_schema\": {\"type\": \"object\", \"properties\": {\"text\": {\"type\": \"string\"}}, \"required\": [\"text\"]},
   \"script\": \"tr -s '[:space:]' '\\\\n' <<< \\\"$TOOL_INPUT_TEXT\\\" | head -n 3\\n\", \"execution_type\": \"script\"}")]
pub(crate) struct Propose {
    /// The file with the definition as JSON; `-` reads it from stdin
    pub(crate) file: PathBuf,
    /// Makes it an update of version N, the last one that its author saw
    #[arg(long, value_name = "N")]
    pub(crate) base: Option<u64>,
    /// Says why both are needed, where a tool was said to be much like it
    #[arg(long, value_name = "TEXT")]
    pub(crate) distinct_because: Option<String>,
    /// Calls the tool with this input once its text is approved; the answer may be for this call only
    ///
    /// stdout is the tool's output, and the exit code that of the call. Without an approval it is 5. `-` reads the input from
    /// stdin.
    #[arg(long, value_name = "JSON")]
    pub(crate) call: Option<OsString>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
The exit code of --verify is 0 for a log that is as it was written, 8 for one that was changed, and 4 where there is none.")]
pub(crate) struct Events {
    /// Lists the events of this tool
    pub(crate) name: Option<String>,
    /// Lists the newest N events at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    /// Checks the whole log, and prints its head
    #[arg(long, conflicts_with_all = ["name", "limit"])]
    pub(crate) verify: bool,
    /// A head that was noted before: the log must still have that record; repeatable
    #[arg(long = "head", value_name = "SEQ:HASH", requires = "verify")]
    pub(crate) heads: Vec<flyto_audit::Head>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Show {
    /// The name of a tool, or the id of a proposal that waits
    pub(crate) name: String,
    /// Shows version N [default: the last one]
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    /// Runs the examples of what waits, and recorded calls, confined, as `approve` does before it asks
    #[arg(long, conflicts_with = "version")]
    pub(crate) run: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Diff {
    /// The name of the tool
    pub(crate) name: String,
    /// A version
    #[arg(value_name = "A")]
    pub(crate) from: u64,
    /// Another one
    #[arg(value_name = "B")]
    pub(crate) to: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
At a terminal, the proposal goes through all checks again, is shown, and is asked about. Elsewhere, read it by
`flyto evolve show ID` and give --yes with the id: the id has the hash of the text, and another text is refused.")]
pub(crate) struct Approve {
    /// The id of a proposal, or the name of its tool
    pub(crate) name: String,
    /// Approves without asking; needs the id
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Deny {
    /// The id of a proposal, or the name of its tool
    pub(crate) name: String,
    /// Records why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
It holds for this very text, in any tool of the store, and for no other text. The text itself is not recorded.")]
pub(crate) struct Acknowledge {
    /// The fingerprint of the text, as the refusal of a proposal names it
    pub(crate) fingerprint: String,
    /// The rule that found it, as the refusal names it
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: String,
    /// Why it is no secret
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
Calls are recorded where your configuration says `\"evolve\": {\"record_calls\": true}`. A script runs without network and
without your variables, in an empty directory; it can read the system's files (/usr, /etc), and none of your directory, of your
home directory or of /tmp. Where nothing can confine it, it does not run. The steps of a composite get what was recorded. A call that
the recorded version does not reproduce either says nothing, and is shown so. So is one for which the other version may deliver
something else only since it is confined.
`flyto evolve forget NAME` removes the recorded calls of a tool.")]
pub(crate) struct Replay {
    /// The name of the tool
    pub(crate) name: String,
    /// Runs version N [default: the last one]
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    /// Takes the last M recorded calls, at most 100
    #[arg(long, value_name = "M", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) calls: u8,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Rollback {
    /// The name of the tool
    pub(crate) name: String,
    /// The version whose text the next one has
    #[arg(value_name = "N")]
    pub(crate) version: u64,
    /// Shows what that version delivers for recorded calls, and changes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
A tool counts as used when it is called, saved or restored. What was adopted or imported, what is pinned, and what another
tool calls stays. An archived tool keeps every version, and `flyto evolve restore NAME` brings it back.")]
pub(crate) struct Decay {
    /// Shows what would be archived, and archives nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Shows a tool as stale after N days without use
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) stale_after: u32,
    /// Archives a tool after N days without use, and not before it is stale
    #[arg(long, value_name = "N", default_value_t = 90)]
    pub(crate) archive_after: u32,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Export {
    /// The name of the tool
    pub(crate) name: String,
    /// Exports version N [default: the last one]
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    /// Writes the file NAME.tool.json, or the folder of a skill, into DIR [default: a file to stdout]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Writes a file that `flyto evolve import` reads, or an Agent Skills folder, which needs --to
    #[arg(long = "as", value_name = "FORM", default_value = "file")]
    pub(crate) form: ExportForm,
    #[command(flatten)]
    common: Common,
}

/// What an exported version is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    File,
    Skill,
}

#[derive(Debug, Group)]
pub(crate) struct Import {
    /// The file that was exported, or a folder with SKILL.md; `-` reads a file from stdin
    pub(crate) file: PathBuf,
    /// Makes it an update of version N of the tool that is here
    #[arg(long, value_name = "N")]
    pub(crate) base: Option<u64>,
    /// Says why both are needed, where a tool was said to be much like it
    #[arg(long, value_name = "TEXT")]
    pub(crate) distinct_because: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct Stats {
    /// The name of the tool [default: all]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    common: Common,
}
