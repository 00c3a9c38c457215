//! A verdict with its reasons.
//!
//! Read [`Decision`] first, then what it is made of: a [`Reason`] for each part of
//! the call, whose [`Subject`] says which part and whose [`Cause`] says what
//! decided about it, a [`Rule`] or a [`Standing`]. [`Danger`]s stand beside the
//! reasons: they are told to people, and those that decide have a reason of their
//! own.

use std::fmt;

use flyto_diagnostics::OneLine;
use flyto_tools::{Access, is_hidden};
use serde::Serialize;

use crate::{Rule, Verdict};

/// What was decided for a call, and why.
///
/// `Display` explains it in a few lines for people, the deciding reasons first; as
/// JSON it has every reason.
///
/// ```
/// use flyto_permission::{Request, Rules, Verdict};
/// use flyto_tools::ToolId;
///
/// let id = ToolId::parse("notes:add")?;
/// let decision = Rules::default().decide(&Request::new(&id));
/// assert_eq!(decision.verdict, Verdict::Ask);
/// assert_eq!(decision.to_string(), "ask: tool notes:add: no rule allows it; to allow it: notes:add");
/// # Ok::<(), flyto_tools::InvalidName>(())
/// ```
///
/// A decision holds no reference to the call and no secret of its own; it does hold
/// texts of the call, cut as [`Subject`] says, which a host that redacts its logs
/// redacts like any other text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The strongest verdict of all reasons. [`Verdict::Ask`] where there is no
    /// reason at all.
    pub verdict: Verdict,
    /// One for each part of the call that was judged, the strongest first. Reasons
    /// of one verdict are in the order in which they were found.
    pub reasons: Vec<Reason>,
    /// What people should know before they agree. They change no verdict; where one
    /// does ([`DangerKind::is_asked`]), a reason says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<Danger>,
}

impl Decision {
    /// Sorts the reasons, those of one verdict staying in their order, and takes out
    /// what was found twice.
    ///
    /// Each is compared with the first [`COMPARED`] of the others, so that the work is
    /// linear in their number.
    pub(crate) fn new(found: Vec<Reason>, dangers: Vec<Danger>) -> Self {
        const COMPARED: usize = 64;
        let mut reasons: Vec<Reason> = Vec::with_capacity(found.len());
        for it in found {
            if !reasons.iter().take(COMPARED).any(|known| *known == it) {
                reasons.push(it);
            }
        }
        reasons.sort_by_key(|it| std::cmp::Reverse(it.verdict));
        let verdict = reasons.first().map_or(Verdict::Ask, |it| it.verdict);
        Self { verdict, reasons, dangers }
    }

    /// The reasons that carry the verdict.
    ///
    /// Never empty where [`reasons`](Self::reasons) is not.
    pub fn deciding(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|it| it.verdict == self.verdict)
    }

    /// The first rule that carries the verdict; `None` where a default does.
    ///
    /// A rule of [`Cause::KeptOnly`] does not count: it would have allowed what is
    /// asked. Of several rules that carry the verdict it is the one of the first
    /// reason; [`deciding`](Self::deciding) has them all.
    #[must_use]
    pub fn rule(&self) -> Option<&Rule> {
        self.deciding().find_map(|it| match &it.cause {
            Cause::Rule { rule } | Cause::Possible { rule } => Some(rule),
            Cause::KeptOnly { .. } | Cause::Default { .. } => None,
        })
    }

    /// Whether the call is allowed, and every part of it by a rule that names
    /// exactly this ([`Rule::is_exact`]). A host may take that as the answer to a
    /// question that it would ask before each call.
    #[must_use]
    pub fn is_exactly_allowed(&self) -> bool {
        let is_exact = |it: &Reason| matches!(&it.cause, Cause::Rule { rule } if rule.is_exact());
        self.verdict == Verdict::Allow
            && !self.reasons.is_empty()
            && self.reasons.iter().all(is_exact)
    }

    /// Rules that would allow what is asked, in the order of the reasons. Empty
    /// where a part is denied, or none is suggested for it: what cannot be told and
    /// what is dangerous only a rule with the exact words of a command allows,
    /// which an operator writes.
    ///
    /// A host offers them as "always": each names the very words, path or host of
    /// the call, and nothing wider.
    ///
    /// ```
    /// use flyto_permission::{Request, Rules};
    /// use flyto_tools::{PermissionClass, Preview, ToolId};
    ///
    /// let id = ToolId::parse("shell:run")?;
    /// let preview = Preview::new().with_command_line(["sh", "-c", "make; ls 'a b'"]);
    /// let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
    /// let decision = Rules::default().decide(&request);
    /// # #[cfg(feature = "bash")]
    /// assert_eq!(decision.suggested_rules(), ["Bash(make)", "Bash(ls 'a b')"]);
    /// # Ok::<(), flyto_tools::InvalidName>(())
    /// ```
    #[must_use]
    pub fn suggested_rules(&self) -> Vec<&str> {
        let asked = || self.reasons.iter().filter(|it| it.verdict > Verdict::Allow);
        if !asked().all(|it| it.suggestion.is_some()) {
            return Vec::new();
        }
        let mut res: Vec<&str> = Vec::new();
        for rule in asked().filter_map(|it| it.suggestion.as_deref()) {
            if !res.contains(&rule) {
                res.push(rule);
            }
        }
        res
    }
}

/// Most reasons that `Display` writes out.
///
/// Of dangers as many are written out as well.
const MAX_LINES: usize = 6;

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_deciding = self.deciding().count();
        for (i, reason) in self.deciding().take(MAX_LINES).enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}: {reason}", self.verdict)?;
        }
        if n_deciding > MAX_LINES {
            write!(f, "\n… and {} more", n_deciding - MAX_LINES)?;
        }
        for danger in self.dangers.iter().take(MAX_LINES) {
            write!(f, "\ndanger: {danger}")?;
        }
        Ok(())
    }
}

/// Why a part of a call is judged as it is.
///
/// `Display` is one line: the part, what decided, and the rule that would allow it. A
/// rule with a character that cannot be seen, such as U+202E, is not in it: what a
/// person copies from a text would be another rule.
///
/// ```
/// use flyto_permission::{Cause, ClassTrust, Request, Rules, Standing, Subject, Verdict};
/// use flyto_tools::{PermissionClass, Preview, ToolId};
///
/// let id = ToolId::parse("net:get")?;
/// let preview = Preview::new().with_url("https://example.org/a?b");
/// let request = Request::new(&id)
///     .class(&PermissionClass::WEBFETCH)
///     .class_trust(ClassTrust::Named)
///     .preview(Some(&preview));
/// let decision = Rules::default().decide(&request);
/// let reason = &decision.reasons[0];
/// let Subject::Url { host, .. } = &reason.subject else { panic!("an address was judged") };
/// assert_eq!(host.as_deref(), Some("example.org"));
/// assert_eq!(reason.cause, Cause::Default { default: Standing::NoRule });
/// assert_eq!(reason.suggestion.as_deref(), Some("WebFetch(domain:example.org)"));
/// # Ok::<(), flyto_tools::InvalidName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// What follows for this part. The verdict of the whole call is the strongest
    /// of these.
    pub verdict: Verdict,
    /// The part.
    pub subject: Subject,
    /// What decided.
    pub cause: Cause,
    /// Text of a rule that would allow it, where there is one. It names this part
    /// and nothing wider, and it is read back as a rule. `None` for a part that is
    /// allowed already, and where no rule is known that would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Reason {
    /// Without a suggestion: [`suggest`](Self::suggest) adds one.
    pub(crate) fn new(verdict: Verdict, subject: Subject, cause: Cause) -> Self {
        Self { verdict, subject, cause, suggestion: None }
    }

    /// The verdict is the effect of the rule, so a rule that allows has to come
    /// from a layer that may ([`Cause::KeptOnly`] is for the others).
    pub(crate) fn rule(subject: Subject, rule: &Rule) -> Self {
        Self::new(rule.effect(), subject, Cause::Rule { rule: rule.clone() })
    }

    pub(crate) fn default(verdict: Verdict, subject: Subject, standing: Standing) -> Self {
        Self::new(verdict, subject, Cause::Default { default: standing })
    }

    pub(crate) fn suggest(mut self, rule: Option<String>) -> Self {
        self.suggestion = rule;
        self
    }
}

/// Whether texts for people show a character as it is. Others are shown by an escape,
/// which a rule does not have.
fn is_shown(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || !is_hidden(c) && c.escape_debug().len() == 1
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.cause)?;
        match self.suggestion.as_ref().filter(|it| it.chars().all(is_shown)) {
            Some(rule) => write!(f, "; to allow it: {rule}"),
            None => Ok(()),
        }
    }
}

/// A part of a call.
///
/// Texts are cut, to 120 bytes for commands and 512 for paths and addresses,
/// because a call can hold any amount of text and a decision is written to logs.
///
/// As JSON it has a `kind`: `tool`, `command`, `path` or `url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The tool as a whole.
    Tool {
        /// Its id.
        /// As a tool is registered: `plugin:tool`, or a bare name.
        name: String,
    },
    /// One command of a command line.
    Command {
        /// Its text, cut. For people: control characters are blanks, and a text
        /// that was cut ends in `…`.
        text: String,
    },
    /// A file or directory.
    Path {
        /// As the call names it. Before links are followed; `~` and relative paths
        /// are as they were written.
        path: String,
        /// Where it leads, where that is another place.
        #[serde(skip_serializing_if = "Option::is_none")]
        resolved: Option<String>,
        /// What would be done with it. [`Access::Read`] or [`Access::Write`] where
        /// rules were compared with it; a path that cannot be looked up has what
        /// the call declared.
        access: Access,
    },
    /// An address.
    Url {
        /// As the call names it, cut.
        url: String,
        /// Its host, where it has one. As the URL standard reads it: lower case,
        /// Punycode, IP addresses in one form. `None` for an address that cannot be
        /// read.
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { name } => write!(f, "tool {name}"),
            Self::Command { text } => write!(f, "`{text}`"),
            Self::Path { path, resolved, access } => {
                let access = match access {
                    Access::Read => "read",
                    Access::Write => "write",
                    _ => "use",
                };
                write!(f, "{access} {}", OneLine(path))?;
                match resolved {
                    Some(to) => write!(f, " (leads to {})", OneLine(to)),
                    None => Ok(()),
                }
            }
            Self::Url { url, host } => match host {
                Some(host) => write!(f, "host {host}"),
                None => write!(f, "address {}", OneLine(url)),
            },
        }
    }
}

/// What decided about a part.
///
/// As JSON it has a `kind`, and the rule with its text, effect, layer and place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// This rule names it.
    /// It asks, denies, or allows from a layer that may allow.
    Rule {
        /// The rule.
        rule: Rule,
    },
    /// This rule may name it: a word that is known only when the call runs decides
    /// that. It asks or denies. The verdict is [`Verdict::Ask`], also for a rule
    /// that denies.
    Possible {
        /// The rule.
        rule: Rule,
    },
    /// This rule would allow it, but comes from a layer that only narrows. A rule
    /// of a plugin, or of a project that is not trusted
    /// ([`trust_project`](crate::RulesBuilder::trust_project)).
    KeptOnly {
        /// The rule.
        rule: Rule,
    },
    /// No rule; a default of this crate.
    Default {
        /// Which.
        default: Standing,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { rule } => write!(f, "{rule}"),
            Self::Possible { rule } => write!(f, "may be what this rule names: {rule}"),
            Self::KeptOnly { rule } => {
                write!(
                    f,
                    "only the operator can allow it, and this rule is not the operator's: {rule}"
                )
            }
            Self::Default { default } => write!(f, "{default}"),
        }
    }
}

/// A default that decided.
///
/// As JSON it has a `name`, by which programs tell defaults apart; the text of
/// `Display` is for people and may change.
///
/// Defaults ask, but for three: [`ReadOnly`](Self::ReadOnly) and
/// [`InsideRoots`](Self::InsideRoots) allow, and [`Protected`](Self::Protected)
/// denies where keys are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// No rule allows it. For a tool, a command, a host or a file that a shell
    /// writes to.
    NoRule,
    /// Tools of class `readonly` are allowed. Only where the class is trusted: see
    /// [`ClassTrust`](crate::ClassTrust).
    ReadOnly,
    /// The path lies in an allowed root. By where it leads, after links are
    /// followed.
    InsideRoots,
    /// The path lies in no allowed root, and no rule allows it. For tools of class
    /// `file`.
    OutsideRoots,
    /// The path is one that is protected by itself: keys, system files, start
    /// files. A rule that allows opens it only if the plain part of its pattern
    /// names the place.
    Protected {
        /// Which place.
        place: &'static str,
    },
    /// The tool does not say what the call touches. Its command line, paths or
    /// addresses, as its class has them.
    Unpreviewed,
    /// It cannot be told what it is.
    /// Asked whatever the rules allow. Where one command holds what is unclear, a rule with its
    /// exact words answers for it.
    Unclear {
        /// Why not.
        /// For people; not stable.
        why: &'static str,
        /// The text near it, cut; may be empty.
        /// At most 40 bytes of a command line.
        near: String,
    },
    /// A variable is set that may change which programs run. Any whose name is not
    /// known to be harmless, as those of locale, terminal and verbosity are.
    Variable {
        /// Its name.
        variable: String,
    },
    /// It is too dangerous for a rule that does not name it exactly.
    Danger {
        /// Which danger.
        danger: DangerKind,
    },
    /// The host is this machine or its network, and no rule names it exactly. RFC
    /// 6890's addresses for private use, names without a dot, and `localhost`,
    /// `local`, `internal`, `lan`, `home`.
    LocalHost,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule => f.write_str("no rule allows it"),
            Self::ReadOnly => f.write_str("tools of class readonly are allowed"),
            Self::InsideRoots => f.write_str("it lies in an allowed directory"),
            Self::OutsideRoots => {
                f.write_str("it lies outside of the allowed directories, and no rule allows it")
            }
            Self::Protected { place } => write!(f, "{place} is protected"),
            Self::Unpreviewed => f.write_str(
                "the tool does not say what this call touches, and no rule allows the tool",
            ),
            Self::Unclear { why, near } if near.is_empty() => f.write_str(why),
            Self::Unclear { why, near } => write!(f, "{why}, at {near:?}"),
            Self::Variable { variable } => {
                write!(f, "the variable {variable} may change which programs run")
            }
            Self::Danger { danger } => {
                write!(f, "it {danger}, so only a rule with its exact words allows it")
            }
            Self::LocalHost => f.write_str(
                "it is this machine or its network, so only a rule with its exact name allows it",
            ),
        }
    }
}

/// Something in a call that people should know before they agree.
///
/// The list of dangers is not complete, and a command without one is not for that
/// reason safe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Danger {
    /// What it is.
    pub kind: DangerKind,
    /// The command, cut.
    /// At most 120 bytes and `…`.
    pub command: String,
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.command, self.kind)
    }
}

/// Kinds of dangers. The list is short on purpose: it informs, and rules decide.
///
/// A danger is found in what is known of the words, so a word in a variable can
/// hide one. That makes a warning less, and allows nothing: the command itself
/// still needs its rule.
///
/// ```
/// use flyto_permission::DangerKind;
///
/// assert_eq!(DangerKind::RemovesRecursively.to_string(), "removes files recursively");
/// assert!(DangerKind::PipesDownload.is_asked() && !DangerKind::RunsText.is_asked());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DangerKind {
    /// `rm -r`.
    RemovesRecursively,
    /// `rm -r` of `/`, of a home directory, or of a name that is known only when it
    /// runs. Added to [`RemovesRecursively`](Self::RemovesRecursively), which the
    /// same command has.
    RemovesEverything,
    /// `find -delete`.
    RemovesFound,
    /// A download that a shell or an interpreter runs. `curl … | sh`, and
    /// `sh -c "$(curl …)"`: curl, wget, fetch, nc and ncat count as downloads.
    PipesDownload,
    /// A command that runs with the rights of another user. `sudo`, `doas`, `su`,
    /// `pkexec`.
    OtherRights,
    /// `chmod -R` and its like.
    ChangesRights,
    /// `git reset --hard`, `git clean -f`, `git push --force`.
    DiscardsWork,
    /// An interpreter with a program as an argument.
    /// `python -c`, `perl -e`. The text of a shell (`sh -c`) is read and its commands judged, so it
    /// is none.
    RunsText,
    /// A write to a disk.
    /// `dd of=/dev/…` and `mkfs`.
    WritesDevice,
    /// `/dev/tcp`, which bash opens as a connection.
    Connects,
    /// A path in a place where keys and passwords are kept. `.ssh`, `.gnupg`,
    /// `.aws`, `.kube`, `.netrc`, `.git-credentials`, `/etc/shadow` and the like.
    TouchesKeys,
}

impl DangerKind {
    /// Whether it is asked even where a rule allows the command by its first words,
    /// or allows every command. A rule with all the words of the command answers
    /// for these too.
    #[must_use]
    pub fn is_asked(self) -> bool {
        match self {
            Self::RemovesEverything
            | Self::RemovesFound
            | Self::PipesDownload
            | Self::WritesDevice
            | Self::Connects
            | Self::TouchesKeys => true,
            Self::RemovesRecursively
            | Self::OtherRights
            | Self::ChangesRights
            | Self::DiscardsWork
            | Self::RunsText => false,
        }
    }
}

impl fmt::Display for DangerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RemovesRecursively => "removes files recursively",
            Self::RemovesEverything => "may remove a whole system or home directory",
            Self::RemovesFound => "removes every file it finds",
            Self::PipesDownload => "pipes a download into a shell or an interpreter",
            Self::OtherRights => "runs with the rights of another user",
            Self::ChangesRights => "changes the rights of files recursively",
            Self::DiscardsWork => "discards commits or changes",
            Self::RunsText => "runs program text that is given as an argument",
            Self::WritesDevice => "writes to a disk or another device",
            Self::Connects => "opens a network connection",
            Self::TouchesKeys => "touches a place where keys or passwords are kept",
        })
    }
}
