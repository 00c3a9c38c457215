//! The parts of a call, judged.
//!
//! Each part gives one or more reasons, and the strongest verdict of all counts.
//! Rules that ask or deny are looked at first and for everything that the preview
//! names; what allows a part depends on the class.
//!
//! [`Judge`] gathers the reasons: `mod` what holds for the tool as a whole,
//! `command` for command lines, `program` for paths of programs, `argument` for
//! commands in their arguments, `word` for their words as paths and addresses, `input`
//! for the texts of an input, `reach` for wildcards
//! of the shell, `pattern` for those of programs, `file` for paths, `text` for texts
//! as paths, `escape` for texts without their escapes, `fetch` for addresses; `named` finds the rules for the tool itself,
//! `protected` has the places that need a rule of their own. A part of which nothing
//! can be told is asked, and so is a call without any reason.
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
mod escape;
mod fetch;
mod file;
mod input;
mod named;
mod pattern;
#[cfg(feature = "bash")]
mod program;
mod protected;
#[cfg(feature = "bash")]
mod reach;
#[cfg(feature = "bash")]
mod subcommand;
#[cfg(all(test, feature = "bash"))]
mod tests;
mod text;
#[cfg(feature = "bash")]
mod word;

use std::{cell::OnceCell, collections::HashSet, path::Path, sync::Arc};

use flyto_tools::PermissionClass;

use self::file::Purpose;
use crate::{
    Cause, Danger, Decision, Reason, Request, Standing, Subject, Verdict,
    index::{Hits, Index, Narrows, paths::Anchors},
    links::Links,
    location::{Starts, tidied},
    lookup::Lookup,
    steps::{MAX_STEPS, Steps},
};

/// Most parts of one preview that are judged: paths, addresses and words of its
/// command line together. A call with more is asked.
const MAX_PARTS: usize = 16 * 1024;

/// Why a call is asked about for which the [`Steps`] of a decision are too few.
const TOO_MUCH: &str = "there is too much in it to decide";

/// Work that one decision spends on paths: [`LOOK_UP`] for each that is looked up,
/// and one for each pattern without a directory that it is compared with. With
/// 1,000 such patterns these are 300 paths, without any 8,192.
const MAX_WORK: usize = 2 * 1024 * 1024;
/// How many reasons are compared with one in a step.
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
    /// A rule that allows every command line of this tool.
    #[cfg(feature = "bash")]
    blanket: Option<&'a crate::Rule>,
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
    /// The text that is looked at was read as a command line.
    is_line: bool,
    /// The line that is looked at runs one program, once.
    #[cfg(feature = "bash")]
    runs_once: bool,
    /// Directories in which the line that is looked at may be beside the one it starts
    /// in; `None` for any.
    #[cfg(feature = "bash")]
    directories: Option<Vec<String>>,
    /// Paths that a believed preview declares to be read, and that the input has once;
    /// listed when they are first needed.
    declared_reads: OnceCell<HashSet<String>>,
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
    /// As [`Class`](Self::Class), where its words were read, and what the shell makes
    /// of them when it runs is not known: a rule for every command answers for it.
    Evaluated,
    /// Only rules that ask or deny are compared with it.
    Guess,
}

/// Rules that narrow come first and for every class, then the class decides what
/// may allow. A call with more parts than [`MAX_PARTS`] allows is asked unread.
///
/// `narrower` has rules of which those that ask or deny hold as well.
pub(crate) fn decide(index: &Index, narrower: Option<&Index>, request: &Request<'_>) -> Decision {
    let dirs = [request.home, request.working_dir].map(|it| it.and_then(tidied));
    let of_program = request.preview.and_then(|it| it.working_dir.as_deref());
    let preview = of_program
        .and_then(|it| tidied(Path::new(it)))
        .and_then(|dir| Some(request.preview?.clone().with_working_dir(dir.to_string_lossy())));
    let request = Request {
        home: dirs[0].as_deref().or(request.home),
        working_dir: dirs[1].as_deref().or(request.working_dir),
        preview: preview.as_ref().or(request.preview),
        ..*request
    };
    decide_within(index, narrower, &request, &Steps::new(MAX_STEPS))
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
    let mut judge = Judge::new(index, request, of_tool);
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
    judge.narrow_from_working_dir();
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
    fn new(index: Lookup<'a>, request: &'a Request<'a>, of_tool: Hits<'a>) -> Self {
        Self {
            index,
            request,
            reasons: Vec::new(),
            firm: Vec::new(),
            unread: Vec::new(),
            dangers: Vec::new(),
            of_tool,
            #[cfg(feature = "bash")]
            blanket: None,
            starts: Starts::new(request),
            links: OnceCell::new(),
            #[cfg(feature = "bash")]
            seen: Default::default(),
            only_reads: false,
            is_line: false,
            #[cfg(feature = "bash")]
            runs_once: false,
            #[cfg(feature = "bash")]
            directories: Some(Vec::new()),
            declared_reads: OnceCell::new(),
            real_roots: None,
            work: MAX_WORK,
            #[cfg(feature = "bash")]
            entries: reach::MAX_ENTRIES,
        }
    }

    /// The input once more, where it goes to a program that starts in another directory
    /// and of which no command line is known: a server. It may read relative paths from
    /// its own directory, and from one that it is told.
    fn narrow_from_working_dir(&mut self) {
        let request = self.request;
        let is_told = request.preview.is_none_or(|it| it.command_line.is_some());
        if is_told || request.program_dir_text() == request.working_dir_text() {
            return;
        }
        let other = Request { preview: None, ..*request };
        let mut judge = Judge::new(self.index, &other, self.of_tool);
        judge.narrow();
        // Most of it was found before, and is told once.
        for it in judge.reasons {
            let is_told =
                self.steps().take(1 + self.firm.len() / COMPARED) && self.firm.contains(&it);
            if !is_told {
                self.firm.push(it);
            }
        }
        self.unread.extend(judge.unread);
        for it in judge.dangers {
            if !self.dangers.contains(&it) {
                self.dangers.push(it);
            }
        }
    }

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
        self.spend_work(LOOK_UP + n_patterns)
    }

    /// The same for work that looks no path up.
    fn spend_work(&mut self, cost: usize) -> bool {
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
                #[cfg(feature = "bash")]
                Source::Evaluated if let Some(rule) = self.blanket => {
                    res.push(Reason::rule(reason.subject, rule));
                }
                Source::Class | Source::Evaluated => res.push(self.by_author(reason)),
                Source::Guess => {}
            }
        }
        Decision::new(res, self.dangers)
    }
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
