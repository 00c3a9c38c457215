//! Inputs of calls.
//!
//! Each text of an input may be a path or an address, and one under a name such as
//! `command` a command line. It is a guess, so nothing is allowed by it: only rules
//! that ask or deny, and protected places, count.

use flyto_tools::{Access, PermissionClass};
use serde_json::Value;

use super::{Judge, Source, file};
use crate::{ClassTrust, index::Narrows};

/// Most values of an input that are looked at, for paths and addresses among them.
const MAX_VALUES: usize = 4096;

/// Most texts of an input that are read as command lines.
#[cfg(feature = "bash")]
const MAX_COMMANDS: usize = 64;

/// How much of the name of a parameter is looked at, in characters.
const MAX_NAME: usize = 256;
/// How many texts are compared with one in a step.
const COMPARED: usize = 8;

impl<'a> Judge<'a> {
    /// Each text of an input, at any depth, may be a path or an address, also a
    /// name that looks like one. Nothing is allowed by it: it is a guess.
    ///
    /// The values wait in a list, so that a deep input takes no stack.
    ///
    /// Of an input with more values than [`MAX_VALUES`] the rest is not looked at,
    /// and asked where a rule could hold for it.
    pub(super) fn narrow_input(&mut self, input: &Value) {
        let mut todo = vec![("", input, Access::Unknown)];
        let mut n_values = 0;
        #[cfg(feature = "bash")]
        let mut n_commands = 0;
        while let Some((name, value, access)) = todo.pop() {
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
            // The program of a command is read.
            #[cfg(feature = "bash")]
            let access = if is_command(name) { Access::Read } else { access };
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
                Value::String(text) => self.narrow_text_value(name, text, access),
                // A list of words is one command, and its words are no commands by themselves; a list in it may be one.
                Value::Array(values) => {
                    let values = values.iter().take(MAX_VALUES).enumerate();
                    todo.extend(values.map(|(at, it)| match it.is_array() {
                        true => (name, it, access),
                        false => ("", it, if at == 0 { access } else { Access::Unknown }),
                    }));
                }
                Value::Object(fields) => {
                    let values = fields.iter().take(MAX_VALUES);
                    todo.extend(values.map(|(name, it)| (&**name, it, Access::Unknown)));
                    let names = fields.keys().take(MAX_VALUES - n_values.min(MAX_VALUES));
                    for name in names.filter(|it| it.contains(['/', '.', ':'])) {
                        n_values += 1;
                        self.narrow_text_value("", name, Access::Unknown);
                    }
                }
                _ => {}
            }
        }
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
    }

    /// What a call does with the path that a text names, where the preview declares the path once and the input
    /// has it once: another parameter with the same text may be written. The class has to be believed.
    pub(super) fn declared_access(&mut self, text: &str) -> Access {
        let request = self.request;
        let paths = request.preview.map_or(&[][..], |it| &it.paths);
        if request.class_trust != ClassTrust::Named || paths.is_empty() {
            return Access::Unknown;
        }
        let steps = self.steps();
        if !steps.take(1 + paths.len() / COMPARED) {
            return Access::Unknown;
        }
        let dir = request.program_dir_text();
        let is_same = |path: &str, text: &str| {
            let below = dir.and_then(|dir| path.strip_prefix(dir)?.strip_prefix('/'));
            path == text || below == Some(text)
        };
        let mut declared = paths.iter().filter(|it| is_same(&it.path, text));
        let is_read = declared.next().is_some_and(|it| it.access == Access::Read);
        if !is_read || declared.next().is_some() {
            return Access::Unknown;
        }
        let texts = self.texts.get_or_init(|| request.input.map_or_else(Vec::new, texts_of));
        if !steps.take(1 + texts.len() / COMPARED) {
            return Access::Unknown;
        }
        match texts.iter().filter(|it| is_same(text, it) || is_same(it, text)).count() {
            1 => Access::Read,
            _ => Access::Unknown,
        }
    }

    /// A text that may be a path.
    pub(super) fn narrow_path_value(&mut self, text: &str, access: Access) {
        let n_parts = match self.index.narrows_paths() && !text.contains(char::is_whitespace) {
            true => text.matches(file::is_separator).count() + 1,
            // The whole, and what stands behind a sign.
            false => file::N_COUNTED,
        };
        // Of a text with more, the parts are looked up, and not what they begin.
        let n_times = if n_parts > file::MAX_ENDS { 1 } else { n_parts };
        if self.steps().take_path(text, n_times) {
            self.narrow_possible_path(text, access);
        }
    }

    /// A text that is probably a command line, a list of the words of one, or a
    /// list of several.
    #[cfg(feature = "bash")]
    fn narrow_command_value(&mut self, value: &Value, holds: Holds) {
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

/// The texts of an input, of which [`MAX_VALUES`] values are looked at; none of one with more.
fn texts_of(input: &Value) -> Vec<&str> {
    let mut todo = vec![input];
    let mut res = Vec::new();
    let mut n_values = 0;
    while let Some(value) = todo.pop() {
        n_values += 1;
        if n_values > MAX_VALUES {
            return Vec::new();
        }
        match value {
            Value::String(text) => res.push(&**text),
            Value::Array(values) => todo.extend(values.iter().take(MAX_VALUES)),
            Value::Object(fields) => todo.extend(fields.values().take(MAX_VALUES)),
            _ => {}
        }
    }
    res
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
    let is_code =
        |it: &str| matches!(it, "arg" | "args" | "arguments" | "code" | "run" | "exec" | "shell");
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

/// Whether a parameter of this name holds a command, and not the path of a file with one, as `script_path` does.
#[cfg(feature = "bash")]
fn is_command(name: &str) -> bool {
    let words = words_of_name(name);
    let is_one = |it: &String| matches!(&**it, "command" | "cmd" | "cmdline" | "argv");
    words.last().is_some_and(is_one)
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
