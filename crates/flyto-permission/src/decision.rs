//! A verdict with its reasons.

use std::fmt;

use flyto_tools::Access;
use serde::Serialize;

use crate::{Rule, Verdict};

/// What was decided for a call, and why.
///
/// `Display` explains it in a few lines for people, the deciding reasons first; as JSON it has every reason.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The strongest verdict of all reasons.
    pub verdict: Verdict,
    /// One for each part of the call that was judged, the strongest first.
    pub reasons: Vec<Reason>,
    /// What people should know before they agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dangers: Vec<Danger>,
}

impl Decision {
    pub(crate) fn new(mut reasons: Vec<Reason>, dangers: Vec<Danger>) -> Self {
        reasons.sort_by_key(|it| std::cmp::Reverse(it.verdict));
        let verdict = reasons.first().map_or(Verdict::Ask, |it| it.verdict);
        Self { verdict, reasons, dangers }
    }

    /// The reasons that carry the verdict.
    pub fn deciding(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|it| it.verdict == self.verdict)
    }

    /// The first rule that carries the verdict; `None` where a default does.
    #[must_use]
    pub fn rule(&self) -> Option<&Rule> {
        self.deciding().find_map(|it| match &it.cause {
            Cause::Rule { rule } | Cause::Possible { rule } => Some(rule),
            Cause::KeptOnly { .. } | Cause::Default { .. } => None,
        })
    }

    /// Whether the call is allowed, and every part of it by a rule that names exactly this
    /// ([`Rule::is_exact`]). A host may take that as the answer to a question that it would ask before each call.
    #[must_use]
    pub fn is_exactly_allowed(&self) -> bool {
        let is_exact = |it: &Reason| matches!(&it.cause, Cause::Rule { rule } if rule.is_exact());
        self.verdict == Verdict::Allow
            && !self.reasons.is_empty()
            && self.reasons.iter().all(is_exact)
    }

    /// Rules that would allow what is asked, in the order of the reasons. Empty where a part cannot
    /// be allowed by a rule: it is denied, or it cannot be told what it is.
    ///
    /// A host offers them as "always": each names the very words, path or host of the call, and
    /// nothing wider.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// What follows for this part.
    pub verdict: Verdict,
    /// The part.
    pub subject: Subject,
    /// What decided.
    pub cause: Cause,
    /// Text of a rule that would allow it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Reason {
    pub(crate) fn new(verdict: Verdict, subject: Subject, cause: Cause) -> Self {
        Self { verdict, subject, cause, suggestion: None }
    }

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

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.cause)?;
        match &self.suggestion {
            Some(rule) => write!(f, "; to allow it: {rule}"),
            None => Ok(()),
        }
    }
}

/// A part of a call.
///
/// Texts are cut, to 120 bytes for commands and 512 for paths and addresses, because a call can
/// hold any amount of text and a decision is written to logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The tool as a whole.
    Tool {
        /// Its id.
        name: String,
    },
    /// One command of a command line.
    Command {
        /// Its text, cut.
        text: String,
    },
    /// A file or directory.
    Path {
        /// As the call names it.
        path: String,
        /// Where it leads, where that is another place.
        #[serde(skip_serializing_if = "Option::is_none")]
        resolved: Option<String>,
        /// What would be done with it.
        access: Access,
    },
    /// An address.
    Url {
        /// As the call names it, cut.
        url: String,
        /// Its host, where it has one.
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
                write!(f, "{access} {path}")?;
                match resolved {
                    Some(to) => write!(f, " (leads to {to})"),
                    None => Ok(()),
                }
            }
            Self::Url { url, host } => match host {
                Some(host) => write!(f, "host {host}"),
                None => write!(f, "address {url}"),
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
    Rule {
        /// The rule.
        rule: Rule,
    },
    /// This rule may name it: a word that is known only when the call runs decides that.
    Possible {
        /// The rule.
        rule: Rule,
    },
    /// This rule would allow it, but comes from a layer that only narrows.
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
/// As JSON it has a `name`, by which programs tell defaults apart; the text of `Display` is for people and
/// may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// No rule allows it.
    NoRule,
    /// Tools of class `readonly` are allowed.
    ReadOnly,
    /// The path lies in an allowed root.
    InsideRoots,
    /// The path lies in no allowed root, and no rule allows it.
    OutsideRoots,
    /// The path is one that is protected by itself: keys, system files, start files.
    Protected {
        /// Which place.
        place: &'static str,
    },
    /// The tool does not say what the call touches.
    Unpreviewed,
    /// It cannot be told what it is.
    Unclear {
        /// Why not.
        why: &'static str,
        /// The text near it, cut; may be empty.
        near: String,
    },
    /// A variable is set that may change which programs run.
    Variable {
        /// Its name.
        variable: String,
    },
    /// It is too dangerous for a rule that does not name it exactly.
    Danger {
        /// Which danger.
        danger: DangerKind,
    },
    /// The host is this machine or its network, and no rule names it exactly.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Danger {
    /// What it is.
    pub kind: DangerKind,
    /// The command, cut.
    pub command: String,
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.command, self.kind)
    }
}

/// Kinds of dangers. The list is short on purpose: it informs, and rules decide.
///
/// A danger is found in what is known of the words, so a word in a variable can hide one. That
/// makes a warning less, and allows nothing: the command itself still needs its rule.
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
    /// `rm -r` of `/`, of a home directory, or of a name that is known only when it runs.
    RemovesEverything,
    /// `find -delete`.
    RemovesFound,
    /// A download that a shell or an interpreter runs.
    PipesDownload,
    /// A command that runs with the rights of another user.
    OtherRights,
    /// `chmod -R` and its like.
    ChangesRights,
    /// `git reset --hard`, `git clean -f`, `git push --force`.
    DiscardsWork,
    /// An interpreter with a program as an argument.
    RunsText,
    /// A write to a disk.
    WritesDevice,
    /// `/dev/tcp`, which bash opens as a connection.
    Connects,
    /// A path in a place where keys and passwords are kept.
    TouchesKeys,
}

impl DangerKind {
    /// Whether it is asked even where a rule allows the command by its first words, or allows
    /// every command. A rule with all the words of the command answers for these too.
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
