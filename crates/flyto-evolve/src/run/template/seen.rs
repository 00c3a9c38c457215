//! What the commands of a text do together, and what each of them may name.

use std::collections::{BTreeMap, HashSet};

use super::{
    rendered::{MayBeOption, TemplateFault},
    word::{UNKNOWN, Word, at, fixed},
};

type Res<T> = Result<T, TemplateFault>;

/// The most words that are looked at, and bytes of code among them. A word counts for each program of which it may be one: a
/// long option of a wrapper may have the next word for its value, or it is the program.
const MAX_STEPS: usize = 500_000;

/// What the commands of a text do together.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How many programs stand around the one that is looked at.
    pub(super) n_around: usize,
    /// See [`MAX_STEPS`].
    n_steps: usize,
    /// How deep code stands in code.
    pub(super) depth: usize,
    /// Variables that the text exports.
    pub(super) exported: HashSet<String>,
    /// Variables that get what is known at run time only.
    pub(super) made: Vec<(String, TemplateFault)>,
    /// The command that is looked at, by its place in the order in which they end.
    pub(super) command: usize,
    /// How many commands there were.
    pub(super) n_commands: usize,
    /// The commands with a value in their words or their redirections.
    pub(super) with_values: Vec<usize>,
    /// Whether the command is one among others within the words of one.
    pub(super) is_within: bool,
    /// Where the text has a file of code run, and by which command; `None` is one within the words of another.
    pub(super) files: Vec<(Option<usize>, TemplateFault)>,
    /// Whether a command changes the directory, or where files are looked for.
    pub(super) moves: bool,
    /// The first file of code whose place depends on these.
    pub(super) relative_file: Option<TemplateFault>,
    /// Whether bash writes a file.
    pub(super) writes: bool,
    /// The commands whose program is none of [`WRITES_NOTHING`](super::lint::WRITES_NOTHING).
    pub(super) may_write: Vec<usize>,
    /// Words that begin with a value, by their place.
    pub(super) options: BTreeMap<usize, MayBeOption>,
}

/// What ends the options of a program.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ends {
    /// The word `--`.
    Dashes,
    /// The same, and behind the name of a shell or an interpreter another one.
    OwnDashes,
    Never,
}

impl Seen {
    /// Counts so many words, or bytes of code, behind this word.
    ///
    /// # Errors
    ///
    /// There are more than are looked at.
    pub(super) fn look(&mut self, n: usize, word: &Word) -> Res<()> {
        self.n_steps = self.n_steps.saturating_add(n + 1);
        match self.n_steps > MAX_STEPS {
            true => Err(at(word, "stands among too many words that may each be a program")),
            false => Ok(()),
        }
    }

    /// The rules that concern several commands, once all of them are seen, and the words that begin with a value.
    ///
    /// The order of the commands does not count, since a loop may run the first one again, and `&` two at a time.
    ///
    /// # Errors
    ///
    /// The fault of the first variable that breaks rule 3, else of the first file that breaks rule 5.
    pub(super) fn finish(self) -> Res<Vec<MayBeOption>> {
        let Self { with_values, writes, files, exported, made, may_write, options, .. } = self;
        if let Some(fault) = self.relative_file.filter(|_| self.moves) {
            return Err(fault);
        }
        if let Some((_, fault)) = made.into_iter().find(|(name, _)| exported.contains(name)) {
            return Err(fault);
        }
        let is_other =
            |own: Option<usize>| with_values.iter().chain(&may_write).any(|it| Some(*it) != own);
        match files.into_iter().find(|(own, _)| writes || is_other(*own)) {
            Some((_, fault)) => Err(fault),
            None => Ok(options.into_values().collect()),
        }
    }
}

/// Whether further words of a command come from the input of the program that starts it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Input {
    Own,
    /// As `xargs` has it.
    Words,
}

/// The name of a program without its directory, its kind of build, and its version.
pub(super) fn base_name(path: &str) -> &str {
    let mut name = path.rsplit('/').next().unwrap_or_default();
    for kind in [".exe", "-dbg", "-static"] {
        name = name.strip_suffix(kind).unwrap_or(name);
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if plain.is_empty() { name } else { plain }
}

/// Whether a path may lead to a stream or to another program: below `/proc` and `/dev`, also by a relative way.
pub(super) fn is_device(path: &str) -> bool {
    path.split('/').any(|it| matches!(it, "proc" | "dev" | "fd"))
}

/// A file whose content is run. It must not be what the text itself writes.
pub(super) fn file_of_code(path: &str, word: &Word, seen: &mut Seen) -> Res<()> {
    if path.is_empty() || path == "-" || is_device(path) {
        return Err(at(word, "has the input run, which holds the values"));
    }
    let fault = TemplateFault {
        help: "run it by a text with this command alone, or make it a script (execution_type \"script\")".to_owned(),
        ..at(
            word,
            "is a file that is run, and another command has a value or may write a file, which may be that one",
        )
    };
    if !path.starts_with('/') {
        seen.relative_file.get_or_insert_with(|| TemplateFault {
            help: "name the file from the root on, or leave the directory and PATH as they are".to_owned(),
            ..at(word, "is a file that is run, and the text changes where it is looked for: in /dev, it may be the input")
        });
    }
    let is_within = seen.is_within || seen.depth > 0;
    seen.files.push(((!is_within).then_some(seen.command), fault));
    Ok(())
}

/// What is wrong with a variable of [`has_text_run`].
pub(super) const TEXT_RUN: &str =
    "is a variable whose text bash runs, or reads options and files of code from";

/// Whether bash runs the text of a variable, or a file that it names (bash(1), "Shell Variables").
pub(super) fn has_text_run(name: &str) -> bool {
    // `ENV` is read by interactive shells alone.
    const NAMES: &[&str] = &["SHELLOPTS", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4"];
    name.starts_with("BASH") || NAMES.contains(&name)
}

/// A variable that gets what is known at run time only.
///
/// By convention the names of variables in the environment are in upper case (POSIX, XBD 8.1), so one in lower case is
/// new, and bash hands it to no program unless the text exports it.
pub(super) fn variable(word: &Word, seen: &mut Seen) -> Res<()> {
    own(fixed(word, "where a variable is named")?, word, seen)
}

/// Takes the name of a variable which only this text reads.
///
/// Whether the text exports it shows at the end alone, so the name is kept for [`Seen::finish`]. What the environment of
/// the host exports is not known here: a few names are refused that it often has, which is a help and no promise.
///
/// # Errors
///
/// A fault with the name in lower case as the help, or for a name that bash or a program reads.
pub(super) fn own(name: &str, word: &Word, seen: &mut Seen) -> Res<()> {
    /// Variables in lower case that bash itself reads.
    const OF_BASH: &[&str] = &["histchars", "auto_resume"];
    let is_lower = name.starts_with(|it: char| it == '_' || it.is_ascii_lowercase())
        && name.chars().all(|it| it == '_' || it.is_ascii_lowercase() || it.is_ascii_digit());
    if !is_lower {
        let what = "gets what is known at run time only, and a program may read it";
        let help = match word.values.first() {
            Some(value) => {
                format!(
                    "write the name in lower case, as in `{}={{{{.{value}}}}}`",
                    name.to_lowercase()
                )
            }
            None => format!("write the name in lower case: `{}`", name.to_lowercase()),
        };
        return Err(TemplateFault { help, ..at(word, what) });
    }
    if OF_BASH.contains(&name) || name.ends_with("_proxy") || name.starts_with("npm_") {
        return Err(at(
            word,
            "gets what is known at run time only, and bash or a program reads it",
        ));
    }
    let fault = at(word, "gets what is known at run time only, and the text exports it");
    seen.made.push((name.to_owned(), fault));
    Ok(())
}

/// An assignment: of a fixed text to any variable, and of any other to one of this text's own. Whether it is of the latter
/// kind, which no program may get.
pub(super) fn assignment(word: &Word, seen: &mut Seen) -> Res<bool> {
    let name = word.text.split('=').next().unwrap_or_default();
    if name.contains('[') {
        return Err(at(word, "has an index, which bash calculates"));
    }
    if has_text_run(name.trim_end_matches('+')) {
        return Err(at(word, TEXT_RUN));
    }
    seen.moves |= name.trim_end_matches('+') == "PATH";
    let is_made = word.text.contains(UNKNOWN);
    if is_made {
        own(name.trim_end_matches('+'), word, seen)?;
    }
    Ok(is_made)
}
