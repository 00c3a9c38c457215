//! The guard that looks for secrets in what a tool gives, and in inputs that are recorded.

use std::sync::{Arc, OnceLock};

use flyto_execenv::Environment;
pub use flyto_security::SecretMatch;
use flyto_security::{
    DefaultGuard, ScanError, SecretGuard, Tier, redact, redact_bytes, redact_named,
};
use flyto_tools::ToolResult;
use serde::Serialize;
use serde_json::Value;

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

/// A secret in a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundSecret {
    /// Where in the result: `output`, `command_line`, `stdout`, `stderr`, `data`.
    pub part: &'static str,
    /// What was found. The secret itself is not in it.
    pub found: SecretMatch,
}

/// The guard, made when it is first needed. It knows the values of the host's variables that look like secrets.
pub(crate) struct Secrets {
    env: Environment,
    custom: Option<Arc<dyn SecretGuard>>,
    guard: OnceLock<Arc<dyn SecretGuard>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment holds what must not be shown.
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    pub(crate) fn new(env: Environment, custom: Option<Arc<dyn SecretGuard>>) -> Self {
        Self { env, custom, guard: OnceLock::new() }
    }

    fn guard(&self) -> &dyn SecretGuard {
        &**self.guard.get_or_init(|| match &self.custom {
            Some(guard) => Arc::clone(guard),
            None => {
                let values = self.env.iter();
                let values =
                    values.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
                Arc::new(DefaultGuard::builder().env_values(values).build())
            }
        })
    }

    /// The matches that count: what is sure, and what the text itself calls a secret.
    fn scan(&self, part: &str, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
        let mut found = self.guard().scan(part, content)?;
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

    /// Looks at each text of a result, and replaces what was found where `redacts` says so.
    pub(crate) fn look(
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
        if let Some(raw) = &mut result.raw {
            let found = self.scan("output", raw)?;
            if redacts && !found.is_empty() {
                *raw = redact_bytes(raw, &found);
            }
        }
        Ok((result, all))
    }
}
