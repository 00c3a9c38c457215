//! The parts of a call, judged.
//!
//! Each part gives one or more reasons, and the strongest verdict of all counts. Rules that ask or deny are
//! looked at first and for everything that the preview names; what allows a part depends on the class.
//!
//! [`Judge`] gathers the reasons: `mod` what holds for the tool as a whole, `command` for command
//! lines, `argument` for commands in their arguments, `file` for paths, `fetch` for addresses; `protected` has the places that need a rule of
//! their own. A part of which nothing can be told is asked, and so is a call without any reason.
//!
//! Rules that ask or deny are not led around:
//!
//! - They hold for the preview and for each text of the input, whatever the class of the tool.
//! - What a part hides, because it was not read, is asked where such a rule could hold for it ([`Narrows`]). A rule that
//!   allows the tool by its name does not answer for it.
//! - What they name is compared in every form that a program could open: as it is written and as it leads, with any
//!   scheme, in any case.
//!
//! [`Narrows`]: crate::rules::Narrows

#[cfg(feature = "bash")]
mod argument;
#[cfg(feature = "bash")]
mod command;
mod fetch;
mod file;
mod protected;
#[cfg(feature = "bash")]
mod reach;

use flyto_tools::{PermissionClass, ToolId};
use serde_json::Value;

use self::file::Purpose;
use crate::{
    Cause, ClassTrust, Danger, Decision, Reason, Request, Standing, Subject, Verdict,
    location::Starts,
    rules::{Hits, Index, paths::Anchors},
};

/// Most parts of one preview that are judged: paths, addresses and words of its command line
/// together. A call with more is asked.
const MAX_PARTS: usize = 16 * 1024;

/// Most values of an input that are looked at, for paths and addresses among them.
const MAX_VALUES: usize = 4096;

/// Gathers the reasons of one decision.
///
/// It lives for one decision, and reads nothing but links of the file system.
pub(crate) struct Judge<'a> {
    pub(crate) index: &'a Index,
    pub(crate) request: &'a Request<'a>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) dangers: Vec<Danger>,
    /// What rules say of the tool as a whole.
    pub(crate) of_tool: Hits<'a>,
    /// Where relative paths start.
    pub(crate) starts: Starts<'a>,
    /// Words that were looked up as paths before.
    /// With what was found: whether the word leads to a place of keys.
    pub(crate) seen: std::collections::HashMap<String, bool>,
    /// Where the roots lead; filled in when it is first needed.
    pub(crate) real_roots: Option<Vec<String>>,
    /// Part of a command line could not be read.
    pub(crate) is_unread: bool,
}

/// Rules that narrow come first and for every class, then the class decides what may allow. A call
/// with more parts than [`MAX_PARTS`] allows is asked unread.
pub(crate) fn decide<'a>(index: &'a Index, request: &'a Request<'a>) -> Decision {
    let of_tool = of_tool(index, request);
    let mut judge = Judge {
        index,
        request,
        reasons: Vec::new(),
        dangers: Vec::new(),
        of_tool,
        starts: Starts::new(request.working_dir_text(), request.home_text()),
        seen: std::collections::HashMap::new(),
        real_roots: None,
        is_unread: false,
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
        judge.unclear(judge.tool(), why, "");
        return judge.finish();
    }
    judge.narrow();
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
    judge.finish()
}

/// Rules that name the tool or its class.
///
/// Names that the plugin chose, and a class that it declares without being trusted, count only for
/// rules that ask or deny.
fn of_tool<'a>(index: &'a Index, request: &Request<'_>) -> Hits<'a> {
    let mut res = index.by_name(request.id.as_str());
    let merge = |res: &mut Hits<'a>, other: Hits<'a>| {
        res.deny = res.deny.or(other.deny);
        res.ask = res.ask.or(other.ask);
        res.allow = res.allow.or(other.allow);
        res.kept = res.kept.or(other.kept);
    };
    // `mcp__a__b` names the tool `b` of a server `a`, and as a wire name also `a__b` of a plugin `mcp`.
    if let (Some("mcp"), Some((server, tool))) =
        (request.id.owner(), request.id.tool().split_once("__"))
        && let Ok(id) = ToolId::with_owner(server, tool)
    {
        merge(&mut res, index.by_name(id.as_str()).without_allow());
    }
    for alias in request.aliases {
        let hits = index.by_name(alias);
        merge(
            &mut res,
            match request.class_trust {
                ClassTrust::Named => hits,
                ClassTrust::Unnamed => hits.without_allow(),
            },
        );
    }
    // `class:a` names a class, and reads as the tool `a` of a plugin `class`: it narrows both.
    if request.id.owner() == Some("class") {
        merge(&mut res, index.by_class(request.id.tool()).without_allow());
    }
    merge(&mut res, index.by_class(request.effective_class().as_str()));
    if request.effective_class() != request.class {
        merge(&mut res, index.by_class(request.class.as_str()).without_allow());
    }
    res
}

impl<'a> Judge<'a> {
    /// The subject of reasons about the call as a whole.
    pub(crate) fn tool(&self) -> Subject {
        Subject::Tool { name: self.request.id.as_str().to_owned() }
    }

    /// `near` is the text at which the reading stopped; empty where there is none to show.
    pub(crate) fn unclear(&mut self, subject: Subject, why: &'static str, near: &str) {
        const MAX: usize = 40;
        let near = near[..near.floor_char_boundary(MAX)].to_owned();
        let standing = Standing::Unclear { why, near };
        self.reasons.push(Reason::default(Verdict::Ask, subject, standing));
    }

    /// As they are written; where they lead is looked up by `file`.
    pub(crate) fn anchors(&self) -> Anchors<'a> {
        Anchors {
            home: self.request.home_text(),
            working_dir: self.request.working_dir_text(),
            roots: &self.index.roots,
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
    /// `None` where the id itself would be read as another form, such as a tool called `Bash`.
    pub(crate) fn tool_rule(&self) -> Option<String> {
        crate::Rule::for_tool(self.request.id)
    }

    /// Rules that ask or deny hold for everything that a call touches, whatever its class.
    fn narrow(&mut self) {
        if let Some(preview) = self.request.preview {
            for it in &preview.paths {
                self.judge_path(&it.path, it.access, Purpose::Narrow);
            }
            for url in &preview.urls {
                self.narrow_url(url, true);
            }
            self.narrow_command_line(preview.command_line.as_deref().unwrap_or_default());
        }
        // A program with fixed arguments has what a model writes on its stdin, which no preview takes apart.
        // Any text in it may be a path or an address. It is a guess, so nothing is allowed by it.
        let Some(input) = self.request.input else { return };
        self.narrow_input(input);
        #[cfg(feature = "bash")]
        for name in ["command", "cmd", "script"] {
            match input.get(name) {
                Some(Value::String(text)) => self.narrow_text(text),
                Some(Value::Array(words)) => {
                    let words = words.iter().map(|it| it.as_str().map(str::to_owned));
                    if let Some(words) =
                        words.collect::<Option<Vec<_>>>().filter(|it| !it.is_empty())
                    {
                        self.narrow_words(&words);
                    }
                }
                _ => {}
            }
        }
    }

    /// Each word may be a path or an address. Of class `bash`, commands and paths are judged with all rules.
    fn narrow_command_line(&mut self, words: &[String]) {
        for word in words.iter().skip(1) {
            self.narrow_url(word, false);
        }
        if *self.request.effective_class() == PermissionClass::BASH {
            return;
        }
        for word in words.iter().skip(1) {
            self.narrow_possible_path(word);
        }
        #[cfg(feature = "bash")]
        if !words.is_empty() {
            self.narrow_words(words);
        }
    }

    /// Each text of an input, at any depth, may be a path or an address. Nothing is allowed by it: it is a guess.
    ///
    /// The values wait in a list, so that a deep input takes no stack.
    ///
    /// Of an input with more values than [`MAX_VALUES`] the rest is not looked at, and asked where a rule could hold for it.
    fn narrow_input(&mut self, input: &Value) {
        let mut todo = vec![("", input)];
        let mut n_values = 0;
        while let Some((name, value)) = todo.pop() {
            n_values += 1;
            if n_values > MAX_VALUES {
                if self.index.narrows.paths || self.index.narrows.hosts {
                    let why = "its input holds more values than are looked at";
                    self.unclear(self.tool(), why, "");
                }
                return;
            }
            match value {
                Value::String(text) => {
                    self.narrow_possible_path(text);
                    let fetches = *self.request.class == PermissionClass::WEBFETCH;
                    self.narrow_url(text, fetches || name == "url");
                }
                Value::Array(values) => {
                    todo.extend(values.iter().take(MAX_VALUES).map(|it| (name, it)));
                }
                Value::Object(fields) => {
                    todo.extend(fields.iter().take(MAX_VALUES).map(|(name, it)| (&**name, it)));
                }
                _ => {}
            }
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
            self.answer_for_author();
        }
        #[cfg(not(feature = "bash"))]
        {
            let near = words.first().map_or("", String::as_str);
            let subject = Subject::Command { text: cut(near) };
            self.unclear(subject, "this build does not read command lines", "");
        }
    }

    /// A rule that allows the tool answers for each part of a fixed command line that no rule names, and is what would
    /// allow it: the same words in another directory may be another program. It does not answer for what was not read, where
    /// that may be what another rule asks or denies.
    #[cfg(feature = "bash")]
    fn answer_for_author(&mut self) {
        if !self.request.is_fixed {
            return;
        }
        let (rule, suggestion) = (self.of_tool.allow, self.tool_rule());
        let narrows = self.index.narrows.commands || self.index.narrows.paths;
        let hides = self.is_unread && narrows;
        let is_default = |it: &&mut Reason| match &it.cause {
            Cause::Default { default: Standing::Unclear { .. } } => !hides,
            Cause::Default { .. } => true,
            _ => false,
        };
        for reason in self.reasons.iter_mut().filter(is_default) {
            match rule {
                Some(rule) => *reason = Reason::rule(reason.subject.clone(), rule),
                None => reason.suggestion.clone_from(&suggestion),
            }
        }
    }

    /// Such a call may run anything: only a rule for the tool, or `Bash` for every command, allows
    /// it.
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

    fn finish(self) -> Decision {
        Decision::new(self.reasons, self.dangers)
    }
}

/// A path or an address for people, to 512 bytes at most.
fn cut(text: &str) -> String {
    const MAX: usize = 512;
    text[..text.floor_char_boundary(MAX)].to_owned()
}
