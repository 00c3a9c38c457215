//! Why a proposal is refused, and what to write instead.

use std::{error::Error, fmt};

use flyto_diagnostics::{Diagnostic, Severity};
use flyto_tools::RegistryError;
use serde::Serialize;

use crate::{ExampleOutcome, FieldDiff, SecretFinding, StepFault, StoreError};

/// A step of the way of a proposal, in their order: what costs little comes first.
///
/// They are ordered, so a caller can say how far a proposal came:
///
/// ```
/// use flyto_evolve::Stage;
///
/// assert!(Stage::Definition < Stage::Secrets && Stage::Secrets < Stage::Approval);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// How much a session may propose and have.
    Limits,
    /// The definition is read.
    Definition,
    /// Its name is compared with those that are taken.
    Name,
    /// Its base is compared with the version that is there.
    Base,
    /// bash reads the text without running it; the steps of a composite are compared with their tools.
    Syntax,
    /// It is compared with the tools that are there.
    Duplicate,
    /// It is looked through for secrets.
    Secrets,
    /// Its examples are run.
    Examples,
    /// A person is asked.
    Approval,
    /// It is saved and registered.
    Save,
}

/// Why a proposal is refused. Nothing of it is left behind.
///
/// `Display` is one line of what is wrong; [`advice`](Self::advice) tells the agent what to do instead. Neither holds a secret:
/// what was found is told by its rule, its place and its first characters. [`stage`](Self::stage) says how far it came.
///
/// ```
/// use flyto_evolve::{Refusal, Stage};
///
/// let refusal = Refusal::Exists { name: "now".into(), version: 3 };
/// assert_eq!(refusal.stage(), Stage::Base);
/// assert_eq!(refusal.to_string(), "there is a tool \"now\", at version 3");
/// assert!(refusal.advice().contains("with the base version 3"));
/// ```
///
/// | step | refusals |
/// | --- | --- |
/// | [`Limits`](Stage::Limits) | `SessionLimit`, `ProposalLimit`, `StoreFull` |
/// | [`Definition`](Stage::Definition) | `Invalid`, `Unsupported` |
/// | [`Name`](Stage::Name) | `Protected`, `LookAlike` |
/// | [`Base`](Stage::Base) | `Exists`, `NoSuchTool`, `Conflict` |
/// | [`Syntax`](Stage::Syntax) | `Syntax`, `NoBash`, `Steps` |
/// | [`Duplicate`](Stage::Duplicate) | `Duplicate` |
/// | [`Secrets`](Stage::Secrets) | `Secret`, `Unscanned` |
/// | [`Examples`](Stage::Examples) | `ExampleFailed` |
/// | [`Approval`](Stage::Approval) | `Denied`, `NotApproved` |
/// | [`Save`](Stage::Save) | `Store`, `Registry` |
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The session has as many tools as it may have, with those that wait for a person.
    SessionLimit {
        /// How many.
        limit: u32,
        /// How many of them wait.
        n_waiting: u32,
    },
    /// The session has proposed as often as it may.
    ProposalLimit {
        /// How often.
        limit: u32,
    },
    /// The store holds as many tools that can be called as it may.
    StoreFull {
        /// How many.
        limit: usize,
    },
    /// The definition cannot be one.
    Invalid {
        /// What is wrong, with places.
        findings: Vec<Diagnostic>,
    },
    /// The host makes no tools of this type: it gave no [`ToolCaller`](flyto_tools::ToolCaller) for the steps of composites.
    Unsupported {
        /// The type.
        execution_type: &'static str,
    },
    /// The steps of a composite do not fit the tools that they call, or the composite claims to be safer than they are.
    Steps {
        /// What is wrong, with places.
        faults: Vec<StepFault>,
    },
    /// The name is one of the host's, or belongs to another owner.
    Protected {
        /// The name.
        name: String,
        /// Which tool has it, for people.
        holder: String,
    },
    /// The name could be taken for another one: they differ in case, in `-` and `_`, or in characters of like shape.
    LookAlike {
        /// The name.
        name: String,
        /// The other one.
        other: String,
    },
    /// There is a tool of this name, and the proposal is not based on it.
    Exists {
        /// The name.
        name: String,
        /// Its version.
        version: u64,
    },
    /// There is no tool of this name to update.
    NoSuchTool {
        /// The name.
        name: String,
    },
    /// The tool changed since the version on which the proposal is based: another session or process was faster. The
    /// difference to the version that is there is told, so that the author can propose it again.
    Conflict {
        /// The name.
        name: String,
        /// The version on which the proposal is based; `None` where the tool was to be new.
        base: Option<u64>,
        /// The version that the tool has.
        current: u64,
        /// What the proposal changes in that one.
        diff: Vec<FieldDiff>,
    },
    /// bash cannot read the text.
    Syntax {
        /// What bash says, with lines of the text.
        message: String,
    },
    /// bash could not be asked.
    NoBash {
        /// Why.
        why: String,
    },
    /// There is such a tool already.
    Duplicate {
        /// Its name.
        twin: String,
        /// Whether both run the same text; else they are alike.
        is_same: bool,
    },
    /// Something in it looks like a secret. A person may acknowledge a finding by its fingerprint
    /// ([`Store::acknowledge`](crate::Store::acknowledge)); an agent cannot.
    Secret {
        /// What, and where; the secret itself is not in it.
        findings: Vec<SecretFinding>,
    },
    /// It could not be looked through for secrets.
    Unscanned {
        /// Why.
        why: String,
    },
    /// An example does not give what is expected. It was run where it could reach nothing, so an example that needs the
    /// network or a file of the user fails: leave it out.
    ExampleFailed {
        /// How all of them went.
        outcomes: Vec<ExampleOutcome>,
    },
    /// A person said no, or said so twice before to this very text.
    Denied {
        /// The reason, in the words of the person.
        reason: String,
    },
    /// There is no approver, or it failed.
    NotApproved {
        /// Why.
        why: String,
    },
    /// The store could not be read, or could not save it. `Display` is that of the error.
    Store(Box<StoreError>),
    /// The registry did not take it.
    Registry(Box<RegistryError>),
}

impl Refusal {
    /// The step at which it was refused.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::SessionLimit { .. } | Self::ProposalLimit { .. } | Self::StoreFull { .. } => {
                Stage::Limits
            }
            Self::Invalid { .. } | Self::Unsupported { .. } => Stage::Definition,
            Self::Protected { .. } | Self::LookAlike { .. } => Stage::Name,
            Self::Exists { .. } | Self::NoSuchTool { .. } | Self::Conflict { .. } => Stage::Base,
            Self::Syntax { .. } | Self::NoBash { .. } | Self::Steps { .. } => Stage::Syntax,
            Self::Duplicate { .. } => Stage::Duplicate,
            Self::Secret { .. } | Self::Unscanned { .. } => Stage::Secrets,
            Self::ExampleFailed { .. } => Stage::Examples,
            Self::Denied { .. } | Self::NotApproved { .. } => Stage::Approval,
            Self::Store(err)
                if matches!(**err, StoreError::Waiting { .. } | StoreError::Full { .. }) =>
            {
                Stage::Limits
            }
            Self::Store(_) | Self::Registry(_) => Stage::Save,
        }
    }

    /// What the author does instead, in one sentence or more; empty where there is nothing to do.
    ///
    /// ```
    /// use flyto_evolve::{Refusal, Stage};
    ///
    /// let refusal = Refusal::SessionLimit { limit: 10, n_waiting: 0 };
    /// assert_eq!(refusal.to_string(), "this session has made 10 tools, and that is the most");
    /// assert_eq!(refusal.advice(), "use the tools that are there, or ask the user");
    /// assert_eq!(refusal.stage(), Stage::Limits);
    /// ```
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::SessionLimit { .. } | Self::ProposalLimit { .. } => {
                "use the tools that are there, or ask the user".into()
            }
            Self::StoreFull { .. } => {
                "update a tool that is there, or ask the user to archive one".into()
            }
            Self::Invalid { findings } => {
                let help = findings.iter().filter_map(|it| it.help.as_deref());
                help.collect::<Vec<_>>().join("; ")
            }
            Self::Unsupported { .. } => "write a script that does the steps".into(),
            Self::Steps { faults } => {
                let help: Vec<&str> = faults.iter().map(|it| it.help.as_str()).collect();
                help.join("; ")
            }
            Self::Protected { .. } | Self::LookAlike { .. } => {
                "choose a name that says what the tool does and is like no other".into()
            }
            Self::Exists { name, version } => {
                format!(
                    "to change it, propose an update of {name:?} with the base version {version}; else choose another name"
                )
            }
            Self::NoSuchTool { .. } => "create it, without a base version".into(),
            Self::Conflict { name, current, .. } => {
                format!(
                    "read version {current} of {name:?}, and propose your change again with the base version {current}"
                )
            }
            Self::Syntax { .. } => "correct the text and propose it again".into(),
            Self::NoBash { .. } => String::new(),
            Self::Duplicate { twin, is_same: true } => format!("call {twin:?}"),
            Self::Duplicate { twin, is_same: false } => {
                format!(
                    "call {twin:?}, or propose an update of it; where both are needed, say why in \"distinct_because\""
                )
            }
            Self::Secret { findings } => {
                let told = told(findings).into_iter();
                let mut advice: Vec<String> =
                    told.map(|it| format!("{}: {}", it.place(), it.advice())).collect();
                advice.dedup();
                advice.join("; ")
            }
            Self::Unscanned { .. } => "make the definition shorter".into(),
            Self::ExampleFailed { .. } => {
                "correct the script or the example and propose it again; examples run for at most 10 s, without network and \
                 without the user's files: leave out one that needs more"
                    .into()
            }
            Self::Denied { .. } => "do what the reason says, or go on without the tool".into(),
            Self::NotApproved { .. } | Self::Store(_) | Self::Registry(_) => String::new(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionLimit { limit, n_waiting: 0 } => {
                write!(f, "this session has made {limit} tools, and that is the most")
            }
            Self::SessionLimit { limit, n_waiting } => write!(
                f,
                "this session may make {limit} tools, and {n_waiting} of them wait for a person"
            ),
            Self::ProposalLimit { limit } => {
                write!(f, "this session has proposed {limit} times, and that is the most")
            }
            Self::StoreFull { limit } => write!(f, "there are {limit} tools, and that is the most"),
            Self::Invalid { findings } => {
                f.write_str("the definition cannot be used: ")?;
                let errors =
                    findings.iter().filter(|it| it.severity == Severity::Error).map(|it| match it
                        .pointer
                        .as_ref()
                        .map(ToString::to_string)
                        .filter(|at| !at.is_empty())
                    {
                        Some(at) => format!("{at}: {}", it.message),
                        None => it.message.clone(),
                    });
                f.write_str(&errors.collect::<Vec<_>>().join("; "))
            }
            Self::Unsupported { execution_type } => {
                write!(f, "this host makes no tools of the type {execution_type:?}")
            }
            Self::Steps { faults } => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                f.write_str(&faults.join("; "))
            }
            Self::Protected { name, holder } => write!(f, "the name {name:?} is that of {holder}"),
            Self::LookAlike { name, other } => {
                write!(f, "the name {name:?} could be taken for {other:?}")
            }
            Self::Exists { name, version } => {
                write!(f, "there is a tool {name:?}, at version {version}")
            }
            Self::NoSuchTool { name } => write!(f, "there is no tool {name:?} to update"),
            Self::Conflict { name, base, current, .. } => {
                let base =
                    base.map_or_else(|| "no version".to_owned(), |it| format!("version {it}"));
                write!(
                    f,
                    "the tool {name:?} is at version {current}, and the proposal is based on {base}"
                )
            }
            Self::Syntax { message } => {
                write!(f, "bash cannot read the text: {}", message.trim_end())
            }
            Self::NoBash { why } => {
                write!(f, "bash could not be asked whether it can read the text: {why}")
            }
            Self::Duplicate { twin, is_same: true } => {
                write!(f, "the tool {twin:?} runs the same text")
            }
            Self::Duplicate { twin, is_same: false } => {
                write!(f, "the tool {twin:?} is much like it")
            }
            Self::Secret { findings } => {
                f.write_str("it holds what looks like a secret: ")?;
                let told = told(findings).into_iter();
                let found: Vec<String> =
                    told.map(|it| format!("{}, {}", it.place(), it.found)).collect();
                f.write_str(&found.join("; "))
            }
            Self::Unscanned { why } => {
                write!(f, "it could not be looked through for secrets: {why}")
            }
            Self::ExampleFailed { outcomes } => {
                let failed = outcomes.iter().enumerate().filter_map(|(index, it)| {
                    Some(format!(
                        "example {index}: {}, got {}",
                        it.problem.as_ref()?,
                        quoted(&it.output, it.omitted_bytes)
                    ))
                });
                f.write_str(&failed.collect::<Vec<_>>().join("; "))
            }
            Self::Denied { reason } => write!(f, "denied: {reason}"),
            Self::NotApproved { why } => write!(f, "not approved: {why}"),
            Self::Store(err) => write!(f, "{err}"),
            Self::Registry(_) => f.write_str("failed to register the tool"),
        }
    }
}

/// Bytes of an output that are quoted: 256. An author sees by them what is wrong. The text was approved by no person, and
/// whatever it could read of the machine must not come back through its output.
const QUOTED_BYTES: usize = 256;

/// The beginning of an output, of which so many bytes are left out already.
fn quoted(output: &str, omitted_bytes: u64) -> String {
    let end = output.floor_char_boundary(QUOTED_BYTES);
    match (output.len() - end) as u64 + omitted_bytes {
        0 => format!("{output:?}"),
        more => format!("{:?} and {more} more bytes", &output[..end]),
    }
}

/// The findings without those that overlap with one of a higher tier in the same text, or with an earlier one of the
/// same tier: `api_key=AKIA…` is a token in an assignment, and in it a key of a known format.
///
/// For people only: each finding has a fingerprint of its own, which is acknowledged by itself.
fn told(findings: &[SecretFinding]) -> Vec<&SecretFinding> {
    let mut res: Vec<&SecretFinding> = Vec::new();
    for it in findings {
        let overlaps = |other: &&&SecretFinding| {
            let (a, b) = (&it.found.span, &other.found.span);
            it.pointer == other.pointer && a.start < b.end && b.start < a.end
        };
        if res.iter().any(|other| overlaps(&other) && other.found.tier >= it.found.tier) {
            continue;
        }
        res.retain(|other| !overlaps(&other));
        res.push(it);
    }
    res
}

impl Error for Refusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(err) => err.source(),
            Self::Registry(err) => Some(&**err),
            _ => None,
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(err: StoreError) -> Self {
        Self::Store(Box::new(err))
    }
}

#[cfg(test)]
mod tests {
    use flyto_security::{Fingerprint, SecretMatch, Tier};

    use super::*;

    #[test]
    fn findings_that_overlap_are_told_once() {
        let finding = |pointer: &str, rule: &str, tier, span| {
            let found =
                SecretMatch::new(rule, rule, tier, span, b"0123456789abcdef", Fingerprint([0; 32]));
            SecretFinding::new(pointer.to_owned(), found)
        };
        let findings = vec![
            finding("/script", "assigned-token", Tier::Ask, 8..102),
            finding("/script", "aws-access-key-id", Tier::Block, 8..28),
            finding("/script", "assigned-token", Tier::Ask, 20..40),
            finding("/script", "assigned-password", Tier::Ask, 110..120),
            finding("/description", "assigned-token", Tier::Ask, 8..28),
        ];
        let refusal = Refusal::Secret { findings };
        let text = refusal.to_string();
        assert_eq!(text.matches("/script, ").count(), 2, "{text}");
        assert!(text.contains("(aws-access-key-id, block)"), "{text}");
        assert!(text.contains("(assigned-password, ask)"), "{text}");
        assert_eq!(text.matches("/description, ").count(), 1, "{text}");
    }
}
