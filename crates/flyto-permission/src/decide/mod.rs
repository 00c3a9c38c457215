//! The parts of a call, judged.
//!
//! Each part gives one or more reasons, and the strongest verdict of all counts.
//! Rules that ask or deny are looked at first and for everything that the preview
//! names; what allows a part depends on the class.
//!
//! [`Judge`] gathers the reasons: `mod` what holds for the tool as a whole,
//! `command` for command lines, `argument` for commands in their arguments, `word`
//! for their words as paths and addresses, `reach` for wildcards, `file` for paths,
//! `fetch` for addresses; `named` finds the rules for the tool itself, `protected`
//! has the places that need a rule of their own.
//! A part of which nothing can be told is asked, and so is a call without any
//! reason.
//!
//! Rules that ask or deny are not led around:
//!
//! - They hold for the preview and for each text of the input, whatever the class of the tool.
//! - What a part hides, because it was not read, is asked where such a rule could hold for it ([`Narrows`]). A rule that
//!   allows the tool by its name does not answer for it. [`Judge::unclear`] is the one way to say that a part was not
//!   read, and [`Judge::finish`] the one place that says what follows.
//! - What they name is compared in every form that a program could open: as it is written and as it leads, with any
//!   scheme, in any case.
//!
//! [`Narrows`]: crate::index::Narrows

#[cfg(feature = "bash")]
mod argument;
#[cfg(feature = "bash")]
mod command;
mod fetch;
mod file;
mod named;
mod protected;
#[cfg(feature = "bash")]
mod reach;
#[cfg(feature = "bash")]
mod subcommand;
#[cfg(all(test, feature = "bash"))]
mod tests;
#[cfg(feature = "bash")]
mod word;

use std::{cell::OnceCell, sync::Arc};

use flyto_tools::{Access, PermissionClass};
use serde_json::Value;

use self::file::Purpose;
use crate::{
    Cause, ClassTrust, Danger, Decision, Reason, Request, Standing, Subject, Verdict,
    index::{Hits, Index, Narrows, paths::Anchors},
    links::Links,
    location::Starts,
    lookup::Lookup,
    steps::{MAX_STEPS, Steps},
};

/// Most parts of one preview that are judged: paths, addresses and words of its
/// command line together. A call with more is asked.
const MAX_PARTS: usize = 16 * 1024;

/// Why a call is asked about for which the [`Steps`] of a decision are too few.
const TOO_MUCH: &str = "there is too much in it to decide";

/// Most values of an input that are looked at, for paths and addresses among them.
const MAX_VALUES: usize = 4096;

/// Most texts of an input that are read as command lines.
#[cfg(feature = "bash")]
const MAX_COMMANDS: usize = 64;

/// How much of the name of a parameter is looked at, in characters.
const MAX_NAME: usize = 256;

/// Work that one decision spends on paths: [`LOOK_UP`] for each that is looked up,
/// and one for each pattern without a directory that it is compared with. With
/// 1,000 such patterns these are 300 paths, without any 8,192.
const MAX_WORK: usize = 2 * 1024 * 1024;
/// How many texts are compared with one in a step.
const COMPARED: usize = 8;
/// What following the links of a path costs, in comparisons of patterns.
const LOOK_UP: usize = 256;

/// Gathers the reasons of one decision.
///
/// It lives for one decision, and reads nothing but links and names of the file
/// system.
pub(crate) struct Judge<'a> {
    pub(crate) index: Lookup<'a>,
    pub(crate) request: &'a Request<'a>,
    pub(crate) reasons: Vec<Reason>,
    /// What was found of the whole call before its class was judged: no rule for
    /// the tool answers for it.
    firm: Vec<Reason>,
    unread: Vec<Unread>,
    pub(crate) dangers: Vec<Danger>,
    /// What rules say of the tool as a whole.
    pub(crate) of_tool: Hits<'a>,
    /// Where relative paths start.
    pub(crate) starts: Starts<'a>,
    /// What rules, and what protected places name through links; looked up when it
    /// is first needed.
    links: OnceCell<(Vec<Arc<Links>>, Arc<Links>)>,
    /// Words that were looked up as paths before, those that may name another path
    /// first. With what was found: whether the word leads to a place of keys.
    #[cfg(feature = "bash")]
    seen: [std::collections::HashMap<String, bool>; 2],
    /// What is looked at is read, and not written, as the program of a command is.
    only_reads: bool,
    /// The line that is looked at runs one program, once.
    #[cfg(feature = "bash")]
    runs_once: bool,
    /// The texts of the input, listed when they are first needed.
    texts: OnceCell<Vec<&'a str>>,
    /// Where the roots lead; filled in when it is first needed.
    pub(crate) real_roots: Option<Vec<String>>,
    /// What is left of [`MAX_WORK`].
    work: usize,
    /// What is left of [`reach::MAX_ENTRIES`].
    #[cfg(feature = "bash")]
    entries: usize,
}

/// A part that was not read.
#[derive(Debug)]
struct Unread {
    reason: Reason,
    /// What it may be.
    hides: Narrows,
    source: Source,
}

/// Where a part that was not read comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// It has to be judged for the class of the tool: it is asked, unless a rule
    /// for the tool answers for a fixed command line.
    Class,
    /// Only rules that ask or deny are compared with it.
    Guess,
}

/// Rules that narrow come first and for every class, then the class decides what
/// may allow. A call with more parts than [`MAX_PARTS`] allows is asked unread.
///
/// `narrower` has rules of which those that ask or deny hold as well.
pub(crate) fn decide<'a>(
    index: &'a Index,
    narrower: Option<&'a Index>,
    request: &'a Request<'a>,
) -> Decision {
    decide_within(index, narrower, request, &Steps::new(MAX_STEPS))
}

/// The same with these steps, which say afterwards how many it took.
fn decide_within<'a>(
    index: &'a Index,
    narrower: Option<&'a Index>,
    request: &'a Request<'a>,
    steps: &'a Steps,
) -> Decision {
    let index = Lookup::new(index, narrower, steps);
    let of_tool = named::of_tool(index, request);
    let mut judge = Judge {
        index,
        request,
        reasons: Vec::new(),
        firm: Vec::new(),
        unread: Vec::new(),
        dangers: Vec::new(),
        of_tool,
        starts: Starts::new(request),
        links: OnceCell::new(),
        #[cfg(feature = "bash")]
        seen: Default::default(),
        only_reads: false,
        #[cfg(feature = "bash")]
        runs_once: false,
        texts: OnceCell::new(),
        real_roots: None,
        work: MAX_WORK,
        #[cfg(feature = "bash")]
        entries: reach::MAX_ENTRIES,
    };
    if let Some(rule) = of_tool.narrowing() {
        let subject = judge.tool();
        judge.reasons.push(Reason::rule(subject, rule));
    }
    let class = request.effective_class();
    let n_parts = request.preview.map_or(0, |it| {
        it.paths.len() + it.urls.len() + it.command_line.as_ref().map_or(0, Vec::len)
    });
    if n_parts > MAX_PARTS {
        let why = "the call touches more than can be judged";
        judge.firm.push(unclear(judge.tool(), why, ""));
        return judge.finish();
    }
    judge.narrow();
    judge.firm = std::mem::take(&mut judge.reasons);
    match class.as_str() {
        _ if *class == PermissionClass::BASH => judge.bash(),
        _ if *class == PermissionClass::FILE => judge.file(),
        _ if *class == PermissionClass::WEBFETCH => judge.fetch(),
        _ if *class == PermissionClass::READONLY => {
            let subject = judge.tool();
            judge.reasons.push(match of_tool.allow {
                Some(rule) => Reason::rule(subject, rule),
                None => Reason::default(Verdict::Allow, subject, Standing::ReadOnly),
            });
        }
        _ => judge.whole(Standing::NoRule),
    }
    if steps.are_spent() {
        let part = (judge.tool(), TOO_MUCH, "");
        judge.unclear(part, Narrows::ANYTHING, Source::Guess);
    }
    judge.finish()
}

impl<'a> Judge<'a> {
    /// The subject of reasons about the call as a whole.
    pub(crate) fn tool(&self) -> Subject {
        Subject::Tool { name: self.request.id.as_str().to_owned() }
    }

    /// Says that a part was not read, and what it may be.
    ///
    /// `near` is the text at which the reading stopped; empty where there is none
    /// to show.
    pub(crate) fn unclear(
        &mut self,
        (subject, why, near): (Subject, &'static str, &str),
        hides: Narrows,
        source: Source,
    ) {
        self.unread.push(Unread { reason: unclear(subject, why, near), hides, source });
    }

    /// Whether there is work left to look one more path up, `n` times with all
    /// patterns without a directory. The first time there is none, the rest is told
    /// to be unread.
    fn spend(&mut self, n_patterns: usize) -> bool {
        if self.steps().are_spent() {
            return false;
        }
        let cost = LOOK_UP + n_patterns;
        if self.work >= cost {
            self.work -= cost;
            return true;
        }
        if self.work > 0 {
            self.work = 0;
            let why = "the call names more paths than are compared with rules";
            self.unclear((self.tool(), why, ""), Narrows::PATHS, Source::Guess);
        }
        false
    }

    /// What is left of the work of the decision.
    pub(crate) fn steps(&self) -> &'a Steps {
        self.index.steps()
    }

    /// As they are written; where they lead is looked up by `file`.
    pub(crate) fn anchors(&self) -> Anchors<'a> {
        Anchors {
            home: self.request.home_text(),
            working_dir: self.request.working_dir_text(),
            program_dir: self.request.program_dir_text(),
            roots: self.index.roots(),
        }
    }

    /// The tool as a whole, by its name and class.
    ///
    /// `standing` is the default where no rule names it.
    fn whole(&mut self, standing: Standing) {
        let subject = self.tool();
        let reason = match (self.of_tool.allow, self.of_tool.kept) {
            (Some(rule), _) => Reason::rule(subject, rule),
            (None, Some(rule)) => {
                let cause = Cause::KeptOnly { rule: rule.clone() };
                Reason::new(Verdict::Ask, subject, cause).suggest(self.tool_rule())
            }
            (None, None) => {
                Reason::default(Verdict::Ask, subject, standing).suggest(self.tool_rule())
            }
        };
        self.reasons.push(reason);
    }

    /// A rule that names this tool.
    ///
    /// `None` where the id itself would be read as another form, such as a tool
    /// called `Bash`.
    pub(crate) fn tool_rule(&self) -> Option<String> {
        crate::Rule::for_tool(self.request.id)
    }

    /// Rules that ask or deny hold for everything that a call touches, whatever its
    /// class.
    fn narrow(&mut self) {
        if let Some(preview) = self.request.preview {
            for it in &preview.paths {
                if !self.steps().take_path(&it.path, 1) {
                    return;
                }
                self.judge_path(&it.path, it.access, Purpose::Narrow);
            }
            for url in &preview.urls {
                if !self.steps().take_text(url) {
                    return;
                }
                self.narrow_url(url, true);
            }
            self.narrow_command_line(preview.command_line.as_deref().unwrap_or_default());
        }
        // A program with fixed arguments has what a model writes on its stdin, which no preview takes apart.
        // Any text in it may be a path or an address. It is a guess, so nothing is allowed by it.
        if let Some(input) = self.request.input {
            self.narrow_input(input);
        }
    }

    /// Each word may be a path or an address. Of class `bash`, commands and paths
    /// are judged with all rules.
    fn narrow_command_line(&mut self, words: &[String]) {
        for word in words.iter().skip(1) {
            if !self.steps().take_text(word) {
                return;
            }
            self.narrow_url(word, false);
            self.narrow_host_parts(word);
        }
        if *self.request.effective_class() == PermissionClass::BASH {
            return;
        }
        for word in words.iter().skip(1) {
            let access = self.declared_access(word);
            self.narrow_path_value(word, access);
        }
        #[cfg(feature = "bash")]
        if !words.is_empty() {
            self.narrow_words(words);
        }
    }

    /// Each text of an input, at any depth, may be a path or an address, also a
    /// name that looks like one. Nothing is allowed by it: it is a guess.
    ///
    /// The values wait in a list, so that a deep input takes no stack.
    ///
    /// Of an input with more values than [`MAX_VALUES`] the rest is not looked at,
    /// and asked where a rule could hold for it.
    fn narrow_input(&mut self, input: &Value) {
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
    fn declared_access(&mut self, text: &str) -> Access {
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
    fn narrow_path_value(&mut self, text: &str, access: Access) {
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

    /// A tool of class `bash`, or one of a laxer class that is not trusted.
    fn bash(&mut self) {
        let Some(words) = self.request.preview.and_then(|it| it.command_line.as_ref()) else {
            return self.bash_without_words();
        };
        #[cfg(feature = "bash")]
        {
            self.judge_words(words);
        }
        #[cfg(not(feature = "bash"))]
        {
            let near = words.first().map_or("", String::as_str);
            let subject = Subject::Command { text: cut(near) };
            let why = "this build does not read command lines";
            self.unclear((subject, why, ""), Narrows::ANYTHING, Source::Class);
        }
    }

    /// A rule that allows the tool answers for each part of a fixed command line
    /// that no rule names, and is what would allow it: the same words in another
    /// directory may be another program.
    fn by_author(&self, reason: Reason) -> Reason {
        let is_fixed =
            self.request.is_fixed && *self.request.effective_class() == PermissionClass::BASH;
        if !is_fixed || !matches!(reason.cause, Cause::Default { .. }) {
            return reason;
        }
        match self.of_tool.allow {
            Some(rule) => Reason::rule(reason.subject, rule),
            None => reason.suggest(self.tool_rule()),
        }
    }

    /// Such a call may run anything: only a rule for the tool, or `Bash` for every
    /// command, allows it.
    fn bash_without_words(&mut self) {
        let any = self.index.any_command();
        let subject = self.tool();
        if let Some(rule) = any.narrowing() {
            self.reasons.push(Reason::rule(subject, rule));
        } else if let (None, Some(rule)) = (self.of_tool.allow, any.allow) {
            self.reasons.push(Reason::rule(subject, rule));
        } else {
            self.whole(Standing::Unpreviewed);
        }
    }

    /// Joins all reasons.
    ///
    /// What was not read is asked where a rule that asks or denies could hold for
    /// it. Only else does a rule for the tool answer for it, and only for what its
    /// author wrote; the reasons of [`narrow`](Self::narrow) no rule answers for.
    fn finish(mut self) -> Decision {
        let of_class = std::mem::take(&mut self.reasons);
        let mut res = std::mem::take(&mut self.firm);
        res.extend(of_class.into_iter().map(|it| self.by_author(it)));
        for Unread { reason, hides, source } in std::mem::take(&mut self.unread) {
            match source {
                _ if self.index.narrows().overlaps(hides) => res.push(reason),
                Source::Class => res.push(self.by_author(reason)),
                Source::Guess => {}
            }
        }
        Decision::new(res, self.dangers)
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

/// A part that cannot be told, asked.
fn unclear(subject: Subject, why: &'static str, near: &str) -> Reason {
    const MAX: usize = 40;
    let near = near[..near.floor_char_boundary(MAX)].to_owned();
    Reason::default(Verdict::Ask, subject, Standing::Unclear { why, near })
}

/// A path or an address for people, to 512 bytes at most.
fn cut(text: &str) -> String {
    const MAX: usize = 512;
    text[..text.floor_char_boundary(MAX)].to_owned()
}
