//! The guard that looks for secrets in what a tool gives, and in inputs that are recorded.

use std::sync::{Arc, OnceLock};

use flyto_execenv::Environment;
use flyto_program::chain;
pub use flyto_security::SecretMatch;
use flyto_security::{
    DefaultGuard, ScanError, SecretGuard, Tier, redact, redact_bytes, redact_named,
};
use flyto_tools::{Block, ToolError, ToolResult};
use serde::Serialize;
use serde_json::Value;

use crate::config::SecretRules;

/// What becomes of secrets in the result of a call, the laxest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OutputGuard {
    /// Results are not looked at.
    Off,
    /// They stay, and [`CallReport::secrets`](crate::stages::CallReport::secrets) has them.
    Report,
    /// Each is replaced by what it was, such as `[redacted: github-token, 40 characters]`.
    Redact,
    /// The result is withheld. The tool has run.
    Refuse,
}

/// What came of a tool that was executed.
pub(crate) type Outcome = Result<ToolResult, ToolError>;

/// The same, with what was found in it.
pub(crate) type Looked = (Outcome, Vec<FoundSecret>);

/// [`FoundSecret::part`] of a secret in an error.
const ERROR: &str = "error";

/// How many bytes [`Secrets::look`] scans.
pub(crate) fn scanned_bytes(outcome: &Outcome) -> usize {
    let result = match outcome {
        Ok(result) => result,
        Err(err) => return err.chain().len(),
    };
    let mut res = result.output.len() + result.raw.as_ref().map_or(0, Vec::len);
    if let Some(it) = &result.execution {
        let texts = it.command_line.iter().chain(&it.stdout).chain(&it.stderr);
        res += texts.map(String::len).sum::<usize>();
    }
    let mut counted = Counted(0);
    // It writes to memory only, so it does not fail.
    if let Some(data) = &result.data {
        let _ = serde_json::to_writer(&mut counted, data);
    }
    if !result.blocks.is_empty() {
        let _ = serde_json::to_writer(&mut counted, &result.blocks);
    }
    res + counted.0
}

/// Counts what is written to it.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A secret in a result, or in the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundSecret {
    /// Where in the result: `output`, `command_line`, `stdout`, `stderr`, `data`, `blocks`. `error` is the text that says why a
    /// tool could not be tried, with its causes.
    pub part: &'static str,
    /// What was found. The secret itself is not in it.
    pub found: SecretMatch,
}

/// The guard of a host that is given no other one: the rules of [`flyto_security`], and the values of those variables that
/// look like secrets. It is made when something is first scanned.
///
/// ```
/// use flyto_host::HostGuard;
/// use flyto_security::SecretGuard as _;
///
/// let env = [("DEPLOY_TOKEN", "correct-horse-7-battery"), ("HOME", "/home/ada")].into_iter().collect();
/// let found = HostGuard::new(env).scan("mail", b"the word is correct-horse-7-battery")?;
/// assert_eq!(found[0].label, "value of the variable DEPLOY_TOKEN");
/// # Ok::<(), flyto_security::ScanError>(())
/// ```
pub struct HostGuard {
    env: Environment,
    rules: Option<SecretRules>,
    guard: OnceLock<DefaultGuard>,
}

impl HostGuard {
    /// A guard that knows the values of these variables: those that programs of the host may see, which are
    /// [`Surroundings::env`](crate::Surroundings::env).
    #[must_use]
    pub fn new(env: Environment) -> Self {
        Self { env, rules: None, guard: OnceLock::new() }
    }

    /// The same with a user's own rules.
    #[must_use]
    pub fn with_rules(self, rules: SecretRules) -> Self {
        Self { rules: Some(rules), ..self }
    }
}

impl SecretGuard for HostGuard {
    fn scan(&self, location: &str, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
        let guard = self.guard.get_or_init(|| {
            let values = self.env.iter();
            let values = values.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
            let builder = DefaultGuard::builder().env_values(values);
            self.rules.iter().fold(builder, |res, it| it.add_to(res)).build()
        });
        guard.scan(location, content)
    }

    fn is_quick(&self) -> bool {
        self.rules.is_none()
    }
}

impl std::fmt::Debug for HostGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment holds what must not be shown.
        f.debug_struct("HostGuard").finish_non_exhaustive()
    }
}

/// What has more bytes, in all its texts together, is looked at on a thread of its own.
const AT_ONCE_BYTES: usize = 128 * 1024;

/// A guard, and what a host does with what it finds.
#[derive(Debug, Clone)]
pub(crate) struct Secrets(Arc<dyn SecretGuard>);

impl Secrets {
    pub(crate) fn new(guard: Arc<dyn SecretGuard>) -> Self {
        Self(guard)
    }

    /// Whether so many bytes may be looked at where others wait for it.
    pub(crate) fn is_quick_with(&self, bytes: usize) -> bool {
        bytes <= AT_ONCE_BYTES && self.0.is_quick()
    }

    /// The matches that count: what is sure, and what the text itself calls a secret.
    fn scan(&self, part: &str, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
        let mut found = self.0.scan(part, content)?;
        found.retain(|it| it.tier >= Tier::Ask);
        Ok(found)
    }

    /// An input without what looks like a secret, and without the values of members whose names say that they are
    /// secrets; a note in its place where it cannot be scanned.
    pub(crate) fn redacted(&self, text: &str) -> String {
        match self.scan("input", text.as_bytes()) {
            Ok(found) => redact_named(text, &found),
            Err(err) => format!("[{err}]"),
        }
    }

    /// The words of a tool about its progress, with what looks like a secret replaced, or empty where it is to be withheld.
    pub(crate) fn detail(&self, text: &str, redacts: bool) -> String {
        match self.scan("progress", text.as_bytes()) {
            Ok(found) if found.is_empty() => text.to_owned(),
            Ok(found) if redacts => redact(text, &found),
            Ok(_) | Err(_) => String::new(),
        }
    }

    /// A text for the one who decides about a call, without the secrets that are sure. One in which a shell would read more
    /// than a word stays, and so does what only may be a secret: neither may hide what runs.
    pub(crate) fn for_question(&self, text: &str) -> Result<String, ScanError> {
        let mut found = self.scan("question", text.as_bytes())?;
        let is_word = |it: &str| !it.contains(|it| "$`;&|<>(){}\"'*?!#".contains(it));
        found.retain(|it| it.tier >= Tier::Block && text.get(it.span.clone()).is_some_and(is_word));
        Ok(if found.is_empty() { text.to_owned() } else { redact(text, &found) })
    }

    /// Looks at each text of what came of a tool, and replaces what was found where `redacts` says so.
    pub(crate) fn look(&self, outcome: Outcome, redacts: bool) -> Result<Looked, ScanError> {
        match outcome {
            Ok(result) => self.look_at_result(result, redacts).map(|(it, found)| (Ok(it), found)),
            Err(err) => self.look_at_error(err, redacts).map(|(it, found)| (Err(it), found)),
        }
    }

    /// The causes become one text where something is replaced in them: a program that looks for a type among them
    /// finds it no more.
    fn look_at_error(
        &self,
        err: ToolError,
        redacts: bool,
    ) -> Result<(ToolError, Vec<FoundSecret>), ScanError> {
        let message = err.to_string();
        let causes = std::error::Error::source(&err).map(chain);
        let mut found = self.scan(ERROR, message.as_bytes())?;
        let mut in_causes = match &causes {
            Some(causes) => self.scan(ERROR, causes.as_bytes())?,
            None => Vec::new(),
        };
        let mut res = err;
        if redacts && !(found.is_empty() && in_causes.is_empty()) {
            res = ToolError::new(res.kind(), redact(&message, &found));
            if let Some(causes) = causes {
                res = res.with_source(redact(&causes, &in_causes));
            }
        }
        found.append(&mut in_causes);
        let found = found.into_iter().map(|found| FoundSecret { part: ERROR, found });
        Ok((res, found.collect()))
    }

    fn look_at_result(
        &self,
        mut result: ToolResult,
        redacts: bool,
    ) -> Result<(ToolResult, Vec<FoundSecret>), ScanError> {
        let mut all = Vec::new();
        let mut look = |part: &'static str, text: &mut String| -> Result<(), ScanError> {
            let found = self.scan(part, text.as_bytes())?;
            if redacts && !found.is_empty() {
                *text = redact(text, &found);
            }
            all.extend(found.into_iter().map(|found| FoundSecret { part, found }));
            Ok(())
        };
        look("output", &mut result.output)?;
        if let Some(execution) = &mut result.execution {
            for word in &mut execution.command_line {
                look("command_line", word)?;
            }
            if let Some(text) = &mut execution.stdout {
                look("stdout", text)?;
            }
            if let Some(text) = &mut execution.stderr {
                look("stderr", text)?;
            }
        }
        if let Some(data) = &mut result.data {
            // As one text, since the name of a member says what its value is.
            let before = data.to_string();
            let mut text = before.clone();
            look("data", &mut text)?;
            if text != before {
                // Where a mark stands across texts, they are no JSON any more.
                *data = text.parse().unwrap_or_else(|_| Value::String(text));
            }
        }
        if !result.blocks.is_empty() {
            let before = serde_json::json!(result.blocks).to_string();
            let mut text = before.clone();
            look("blocks", &mut text)?;
            if text != before {
                // A line of the text stands for each, also for one that is none any more.
                let left: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
                result.blocks = left.iter().filter_map(|it| Block::read(it).ok()).collect();
            }
        }
        if let Some(raw) = &mut result.raw {
            let found = self.scan("output", raw)?;
            if redacts && !found.is_empty() {
                *raw = redact_bytes(raw, &found);
            }
        }
        Ok((result, all))
    }
}
