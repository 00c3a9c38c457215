//! Inputs of calls.
//!
//! Each text of an input may be a path or an address, and one under a name such as
//! `command` a command line. It is a guess, so nothing is allowed by it: only rules
//! that ask or deny, and protected places, count.
//!
//! | in an input | is read as |
//! | --- | --- |
//! | a text | a path and an address, whole and in parts |
//! | a text under `command` and its like | a command line as well |
//! | a list under such a name | the words of one command, and each text with a blank a command line |
//! | a text or a list under `command`, `program` or `file` beside a member such as `args` | the first words of a command with those behind it |
//! | an object under such a name | parts of a command, each of which may be one |
//! | the name of a member | a path and an address; one that looks like neither is asked |

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use flyto_tools::{Access, PermissionClass};
use serde_json::Value;

use super::{Judge, Source, text};
#[cfg(feature = "bash")]
use crate::{Cause, Reason, Verdict};
use crate::{ClassTrust, index::Narrows};

/// Most values of an input that are looked at, for paths and addresses among them.
const MAX_VALUES: usize = 4096;

/// Most texts of an input that are read as command lines.
#[cfg(feature = "bash")]
const MAX_COMMANDS: usize = 64;

/// Words of the names of members that hold a program whose arguments stand in others.
///
/// `file` is that of `execFile(file, args)` in Node, `name` and `tool` those of lists of
/// calls. Each counts beside arguments alone, so a name of something else costs no more
/// than one more command that rules are compared with.
#[cfg(feature = "bash")]
const PROGRAM: &[&str] = &[
    "command",
    "cmd",
    "program",
    "executable",
    "exe",
    "exec",
    "bin",
    "binary",
    "file",
    "name",
    "tool",
];

/// Words of the names of those others.
#[cfg(feature = "bash")]
const ARGUMENTS: &[&str] =
    &["arg", "args", "argv", "arguments", "params", "parameters", "options", "flags", "subcommand"];

/// Most members of one object each of which may name the program of its arguments.
#[cfg(feature = "bash")]
const MAX_PROGRAMS: usize = 4;

/// How much of the name of a parameter is looked at, in characters.
const MAX_NAME: usize = 256;

impl<'a> Judge<'a> {
    /// Each text of an input, at any depth, may be a path or an address, also a
    /// name that looks like one. Nothing is allowed by it: it is a guess.
    ///
    /// The values wait in a list, so that a deep input takes no stack.
    ///
    /// Of an input with more values than [`MAX_VALUES`] the rest is not looked at,
    /// and asked where a rule could hold for it.
    pub(super) fn narrow_input(&mut self, input: &Value) {
        let mut todo = vec![("", input, false)];
        let mut n_values = 0;
        #[cfg(feature = "bash")]
        let mut n_commands = 0;
        while let Some((name, value, is_program)) = todo.pop() {
            n_values += 1;
            if !self.steps().take(1 + name.len().min(MAX_NAME)) {
                return;
            }
            if n_values > MAX_VALUES {
                let why = "its input holds more values than are looked at";
                let hides = Narrows { commands: false, ..Narrows::ANYTHING };
                return self.unclear((self.tool(), why, ""), hides, Source::Guess);
            }
            #[cfg(feature = "bash")]
            let holds = holds(name);
            #[cfg(feature = "bash")]
            let is_command = is_command(name);
            #[cfg(not(feature = "bash"))]
            let is_command = false;
            #[cfg(feature = "bash")]
            if holds != Holds::Other && matches!(value, Value::String(_) | Value::Array(_)) {
                n_commands += 1;
                if n_commands == MAX_COMMANDS + 1 {
                    let why = "its input holds more command lines than are read";
                    self.unclear((self.tool(), why, ""), Narrows::ANYTHING, Source::Guess);
                }
                if n_commands <= MAX_COMMANDS {
                    self.narrow_command_value(value, holds);
                }
            }
            match value {
                // The program of a command is read.
                Value::String(text) => {
                    #[cfg(feature = "bash")]
                    {
                        // Its words were compared one by one.
                        self.is_line = holds == Holds::Command;
                    }
                    match is_program || is_command {
                        true if begins_with_program(text) => {
                            self.narrow_text_value(name, text, Access::Read);
                        }
                        _ => self.narrow_text_value(name, text, Access::Unknown),
                    }
                    self.is_line = false;
                }
                // A list of words is one command, and its words are no commands by themselves; a list in it may be one.
                Value::Array(values) => {
                    let values = values.iter().take(MAX_VALUES).enumerate();
                    todo.extend(values.map(|(at, it)| match it {
                        Value::Array(_) | Value::Object(_) => (name, it, false),
                        _ => ("", it, is_command && at == 0),
                    }));
                }
                Value::Object(fields) => {
                    #[cfg(feature = "bash")]
                    if n_commands < MAX_COMMANDS {
                        n_commands += usize::from(self.narrow_split_command(fields));
                    }
                    let values = fields.iter().take(MAX_VALUES);
                    let values = values.map(|(of, it)| (&**of, it));
                    #[cfg(feature = "bash")]
                    let values = values.map(|(of, it)| (within(holds, of), it));
                    todo.extend(values.map(|(name, it)| (name, it, false)));
                    let names = fields.keys().take(MAX_VALUES - n_values.min(MAX_VALUES));
                    for name in names {
                        match name.contains(['/', '.', ':']) {
                            true => {
                                n_values += 1;
                                self.narrow_text_value("", name, Access::Unknown);
                            }
                            false => self.narrow_bare_name(name),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The name of a member that looks like no path and no address: most are words of a
    /// schema, so what a rule names is asked.
    fn narrow_bare_name(&mut self, name: &str) {
        if self.index.narrows_paths() && !name.is_empty() {
            self.narrow_guess(name);
        }
        self.narrow_bare_host(name);
    }

    /// A text under a name of an input.
    fn narrow_text_value(&mut self, name: &str, text: &str, access: Access) {
        if !self.steps().take_text(text) {
            return;
        }
        let access = match access {
            Access::Read => Access::Read,
            _ => self.declared_access(text),
        };
        self.narrow_path_value(text, access);
        let fetches = *self.request.class == PermissionClass::WEBFETCH;
        self.narrow_url(text, fetches || name.eq_ignore_ascii_case("url"));
        self.narrow_host_parts(text);
        if !self.is_line {
            self.narrow_hosts_in_text(text);
        }
    }

    /// What a call does with the path that a text names, where the preview declares the
    /// path once and the input has it once: another parameter with the same text may be
    /// written. The class has to be believed.
    pub(super) fn declared_access(&self, text: &str) -> Access {
        if self.request.class_trust != ClassTrust::Named {
            return Access::Unknown;
        }
        let declared = self.declared_reads.get_or_init(|| self.list_declared_reads());
        let is_declared = !declared.is_empty() && declared.contains(&*self.in_program_dir(text));
        if is_declared { Access::Read } else { Access::Unknown }
    }

    /// A text as a path of the preview, which names it from the directory of the program.
    fn in_program_dir<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.request.program_dir_text().filter(|_| !text.starts_with('/')) {
            Some(dir) => Cow::Owned(format!("{dir}/{text}")),
            None => Cow::Borrowed(text),
        }
    }

    fn list_declared_reads(&self) -> HashSet<String> {
        let paths = self.request.preview.map_or(&[][..], |it| &it.paths);
        let mut declared: HashMap<&str, Vec<Access>> = HashMap::new();
        for it in paths {
            declared.entry(&it.path).or_default().push(it.access);
        }
        let input = self.request.input.filter(|_| !paths.is_empty());
        let Some(texts) = input.map_or_else(|| Some(Vec::new()), texts_of) else {
            return HashSet::new();
        };
        let mut n_times: HashMap<Cow<'_, str>, usize> = HashMap::new();
        for text in texts {
            *n_times.entry(self.in_program_dir(text)).or_default() += 1;
        }
        let is_read = |it: &(&str, Vec<Access>)| {
            it.1 == [Access::Read] && n_times.get(it.0).is_none_or(|n_times| *n_times == 1)
        };
        declared.into_iter().filter(is_read).map(|it| it.0.to_owned()).collect()
    }

    /// A text that may be a path.
    pub(super) fn narrow_path_value(&mut self, text: &str, access: Access) {
        let n_parts = match self.index.narrows_paths() && !text.contains(char::is_whitespace) {
            true => text.matches(text::is_separator).count() + 1,
            // The whole, and what stands behind a sign.
            false => 3,
        };
        // Of a text with more, the parts are looked up, and not what they begin.
        let n_times = if n_parts > text::MAX_ENDS { 1 } else { n_parts };
        if self.steps().take_path(text, n_times) {
            self.narrow_possible_path(text, access);
        }
    }

    /// A program and its arguments in members of their own; whether there are such.
    #[cfg(feature = "bash")]
    fn narrow_split_command(&mut self, fields: &serde_json::Map<String, Value>) -> bool {
        if !self.index.narrows_programs() {
            return false;
        }
        let fields = || fields.iter().take(MAX_VALUES).map(|(name, it)| (words_of_name(name), it));
        let is_one_of = |words: &[String], names: &[&str]| {
            words.iter().any(|word| names.contains(&word.as_str()))
        };
        let arguments = fields().filter(|(name, _)| is_one_of(name, ARGUMENTS));
        let arguments: Vec<_> = arguments.filter_map(|(_, it)| words_of(it)).flatten().collect();
        if arguments.is_empty() {
            return false;
        }
        let is_program = |name: &[String]| is_one_of(name, PROGRAM) && !is_one_of(name, ARGUMENTS);
        let programs = fields().filter(|(name, _)| is_program(name));
        // One may be a part of an object, as in `{"command": {"program": "git"}, "args": ["push"]}`.
        let programs = programs.flat_map(|(_, it)| match it {
            Value::Object(parts) => {
                let parts = parts.iter().take(MAX_VALUES);
                let parts = parts.filter(|(name, _)| is_program(&words_of_name(name)));
                parts.map(|(_, it)| it).collect()
            }
            it => vec![it],
        });
        let programs: Vec<_> = programs.filter_map(words_of).take(MAX_PROGRAMS).collect();
        for program in &programs {
            let words = program.iter().chain(&arguments).map(|it| (*it).to_owned());
            self.narrow_words(&words.collect::<Vec<_>>());
        }
        !programs.is_empty()
    }

    /// A text that is probably a command line, a list of the words of one, or a
    /// list of several.
    #[cfg(feature = "bash")]
    fn narrow_command_value(&mut self, value: &Value, holds: Holds) {
        // A rule for every command is one for this as well.
        if let Some(rule) = self.index.any_command().narrowing() {
            let subject = self.tool();
            let reason = match holds {
                Holds::Command => Reason::rule(subject, rule),
                _ => Reason::new(Verdict::Ask, subject, Cause::Possible { rule: rule.clone() }),
            };
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
        match value {
            Value::String(text) => self.narrow_text(text, holds == Holds::Command),
            Value::Array(words) => {
                let texts = words.iter().filter_map(Value::as_str).map(str::to_owned);
                let words: Vec<_> = texts.collect();
                for text in words.iter().take(MAX_COMMANDS) {
                    if words.len() == 1 || text.contains(char::is_whitespace) {
                        self.narrow_text(text, holds == Holds::Command && words.len() == 1);
                    }
                }
                if !words.is_empty() {
                    self.narrow_words(&words);
                }
            }
            _ => {}
        }
    }
}

/// The texts of an input, names of members among them; `None` where it has more values
/// than [`MAX_VALUES`].
pub(super) fn texts_of(input: &Value) -> Option<Vec<&str>> {
    let mut todo = vec![input];
    let mut res = Vec::new();
    let mut n_values = 0;
    while let Some(value) = todo.pop() {
        n_values += 1;
        if n_values + todo.len() > MAX_VALUES {
            return None;
        }
        match value {
            Value::String(text) => res.push(&**text),
            Value::Array(values) => todo.extend(values.iter().take(MAX_VALUES)),
            Value::Object(fields) => {
                res.extend(fields.keys().take(MAX_VALUES).map(String::as_str));
                todo.extend(fields.values().take(MAX_VALUES));
            }
            _ => {}
        }
    }
    Some(res)
}

/// The words of a text, or of a list of texts; `None` of any other value.
#[cfg(feature = "bash")]
fn words_of(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(text.split_whitespace().collect()),
        Value::Array(list) => {
            Some(list.iter().take(MAX_VALUES).filter_map(Value::as_str).collect())
        }
        _ => None,
    }
}

/// What a parameter may hold, by its name.
#[cfg(feature = "bash")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A command line: what is not read of it is asked.
    Command,
    /// A command line, or a text of another kind.
    Code,
    Other,
}

/// What a parameter of this name holds, in any case of letters, also as a part of a
/// longer name: `shell_command`, `cmdline`, `runArgs`.
#[cfg(feature = "bash")]
fn holds(name: &str) -> Holds {
    // `description` holds `script`.
    let is_command = |it: &str| {
        ["command", "cmd", "argv"].iter().any(|name| it.contains(name)) || it.starts_with("script")
    };
    let is_code = |it: &str| {
        matches!(
            it,
            "arg"
                | "args"
                | "arguments"
                | "code"
                | "run"
                | "exec"
                | "shell"
                | "program"
                | "executable"
                | "exe"
        )
    };
    let mut res = Holds::Other;
    for word in words_of_name(name) {
        match &*word {
            it if is_command(it) => return Holds::Command,
            it if is_code(it) => res = Holds::Code,
            _ => {}
        }
    }
    res
}

/// The name by which a member is read: within a command, as in
/// `{"command": {"program": "rm"}}`, it may be a part of one, or all of it.
#[cfg(feature = "bash")]
fn within(of_parent: Holds, member: &str) -> &str {
    match of_parent {
        Holds::Command if holds(member) == Holds::Other => "script",
        Holds::Code if holds(member) == Holds::Other => "code",
        _ => member,
    }
}

/// Whether a parameter of this name holds a command, and not the path of a file with
/// one, as `script_path` does, nor its arguments alone.
#[cfg(feature = "bash")]
fn is_command(name: &str) -> bool {
    let name = words_of_name(name).concat();
    matches!(&*name, "command" | "commandline" | "cmd" | "cmdline" | "shellcommand")
}

/// Whether the first word of a command can be nothing but its program: it is no option,
/// and no part of it stands behind a separator.
fn begins_with_program(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    !word.starts_with('-') && !word.contains(text::is_separator)
}

/// The words of a name, in small letters: of `shell_command`, `run-args` and
/// `runArgs`.
#[cfg(feature = "bash")]
fn words_of_name(name: &str) -> Vec<String> {
    let mut res = vec![String::new()];
    let mut was_small = false;
    for it in name.chars().take(MAX_NAME) {
        if !it.is_alphanumeric() || (it.is_uppercase() && was_small) {
            res.push(String::new());
        }
        was_small = it.is_lowercase();
        if let Some(word) = res.last_mut().filter(|_| it.is_alphanumeric()) {
            word.extend(it.to_lowercase());
        }
    }
    res
}
