//! What a call would touch, known without making it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::ToolErrorKind;

/// What a call would touch, as far as the tool can tell from the input alone.
///
/// Read by permission checks, dry runs and checkpoints. Texts are for people and rules; a name
/// that is not UTF-8 is given with replacement characters.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_tools::{Access, Preview};
///
/// let preview = Preview::new()
///     .with_command_line(["git", "clone", "https://example.org/a.git"])
///     .with_url("https://example.org/a.git")
///     .with_path("a", Access::Write)
///     .with_deadline(Duration::from_secs(60));
/// assert_eq!(serde_json::to_value(&preview)?["deadline_seconds"], 60.0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Preview {
    /// The program and its arguments, each one word as the program would get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_line: Option<Vec<String>>,
    /// Files and directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathUse>,
    /// Addresses that would be fetched or written to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Names of the environment variables that would be handed over; never their values.
    #[serde(skip_serializing_if = "is_empty", serialize_with = "shared_list")]
    pub env_names: Arc<[String]>,
    /// Directory in which the program would start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// How long the tool itself would allow the call to take.
    #[serde(
        rename = "deadline_seconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::seconds::serialize_option"
    )]
    pub deadline: Option<Duration>,
    /// What the program would read on its standard input. `None`: nothing.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared_text")]
    pub stdin: Option<Arc<str>>,
    /// What would keep the call from starting, as far as is known: a variable without a value, a
    /// program that is not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// What would keep a call from starting. Serialised as its text.
///
/// ```
/// use flyto_tools::{Preview, Problem, ProblemKind, ToolErrorKind};
///
/// let kind = ProblemKind::Error(ToolErrorKind::ProgramMissing);
/// let preview = Preview::new().with_problem(Problem::new(kind, "\"wc\" is not there"));
/// assert_eq!(preview.problems[0].kind, kind);
/// assert_eq!(serde_json::to_value(&preview)?["problems"][0], "\"wc\" is not there");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What the call would give in place of a result of the program.
    pub kind: ProblemKind,
    /// For people.
    pub text: String,
}

/// What a call with a [`Problem`] would give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A result that is [`Failure::BadInput`](crate::Failure::BadInput).
    BadInput,
    /// A result that is another failure, such as [`Failure::Environment`](crate::Failure::Environment).
    Failed,
    /// A [`ToolError`](crate::ToolError) of this kind.
    Error(ToolErrorKind),
}

impl Problem {
    /// What the call would give, and the reason for people.
    #[must_use]
    pub fn new(kind: ProblemKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl Preview {
    /// Touches nothing, as far as it says: a list that stays empty means that the tool knows of nothing, and
    /// [`Tool::preview`](crate::Tool::preview) gives `None` where it cannot say.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the program and its arguments.
    #[must_use]
    pub fn with_command_line<T: Into<String>>(
        mut self,
        words: impl IntoIterator<Item = T>,
    ) -> Self {
        self.command_line = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a file or directory.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>, access: Access) -> Self {
        self.paths.push(PathUse::new(path, access));
        self
    }

    /// Adds an address, as the call would use it.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<String>) -> Self {
        self.urls.push(url.into());
        self
    }

    /// Sets the names of the environment variables.
    #[must_use]
    pub fn with_env_names<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.env_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the directory in which the program would start.
    #[must_use]
    pub fn with_working_dir(mut self, dir: impl Into<String>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// Sets how long the tool would allow the call to take.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets what the program would read on its standard input.
    #[must_use]
    pub fn with_stdin(mut self, text: impl Into<Arc<str>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Adds something that would keep the call from starting.
    #[must_use]
    pub fn with_problem(mut self, problem: Problem) -> Self {
        self.problems.push(problem);
        self
    }
}

/// A file or directory, and what a call would do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PathUse {
    /// The path as the call would use it: absolute, or relative to the working directory.
    pub path: String,
    /// What the call would do with it.
    pub access: Access,
}

impl PathUse {
    /// A file or directory, and what a call would do with it.
    #[must_use]
    pub fn new(path: impl Into<String>, access: Access) -> Self {
        Self { path: path.into(), access }
    }
}

/// What a call would do with a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Access {
    /// Look at it.
    Read,
    /// Create, change or remove it.
    Write,
    /// The tool cannot say; count it as both.
    Unknown,
}

fn is_empty(list: &Arc<[String]>) -> bool {
    list.is_empty()
}

fn shared_list<S: Serializer>(list: &Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
    (**list).serialize(serializer)
}

fn shared_text<S: Serializer>(text: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_preview_reads_as_data() {
        let preview = Preview::new()
            .with_command_line(["wc", "-w"])
            .with_path("/tmp/a", Access::Read)
            .with_url("https://example.com/")
            .with_env_names(["PATH"])
            .with_working_dir("/tmp")
            .with_deadline(Duration::from_millis(1500))
            .with_stdin("{}")
            .with_problem(Problem::new(ProblemKind::Failed, "TOKEN has no value"));
        expect![[r#"
            {
              "command_line": [
                "wc",
                "-w"
              ],
              "paths": [
                {
                  "path": "/tmp/a",
                  "access": "read"
                }
              ],
              "urls": [
                "https://example.com/"
              ],
              "env_names": [
                "PATH"
              ],
              "working_dir": "/tmp",
              "deadline_seconds": 1.5,
              "stdin": "{}",
              "problems": [
                "TOKEN has no value"
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&preview).unwrap());
        assert_eq!(serde_json::to_string(&Preview::new()).unwrap(), "{}");
    }
}
