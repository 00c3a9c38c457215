//! What a tool says about itself, beside its schema.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a tool declares about itself.
///
/// A property that is not declared is `None`, which is another thing than a declared `false`.
/// Readers use the methods: each gives the conservative reading of a gap. `read_only` and
/// `destructive` inform people and clients; permission is decided by
/// [`permission_class`](Self::permission_class).
///
/// ```
/// use flyto_tools::{Metadata, PermissionClass};
///
/// let mut metadata = Metadata::new();
/// assert!(!metadata.is_destructive() && metadata.counts_as_destructive());
/// metadata.destructive = Some(false);
/// metadata.permission_class = PermissionClass::READONLY;
/// assert!(!metadata.counts_as_destructive());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Metadata {
    /// Name for people. Without one, they see the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Calls may run beside each other and beside calls of other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency_safe: Option<bool>,
    /// Calls change nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Calls may do what cannot be taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second call with the same input changes nothing further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Calls reach beyond this machine: the web, a chat, an account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
    /// Which permission check applies.
    #[serde(skip_serializing_if = "PermissionClass::is_undeclared")]
    pub permission_class: PermissionClass,
    /// How a call is filed in the audit log. Without one, the log goes by the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_operation: Option<AuditOperation>,
    /// A call waits for a person's or program's release, and is refused where it cannot be given.
    #[serde(skip_serializing_if = "is_false")]
    pub requires_checkpoint: bool,
    /// A call is challenged (what is assumed, what could fail) before it runs, where the host has
    /// a way to do so.
    #[serde(skip_serializing_if = "is_false")]
    pub requires_reverse_thinking: bool,
    /// Further names, usually former ones. They live in the same name space as the names of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Three to ten words that a search should find the tool by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_hint: Option<String>,
    /// Where the tool comes from.
    pub origin: Origin,
    /// Version of the tool, in whatever form its source counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Metadata {
    /// Nothing declared. Fields are public: a tool sets those that it knows about itself, and a field that stays
    /// `None` is read with care by the methods.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            title: None,
            concurrency_safe: None,
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            permission_class: PermissionClass::UNDECLARED,
            audit_operation: None,
            requires_checkpoint: false,
            requires_reverse_thinking: false,
            aliases: Vec::new(),
            search_hint: None,
            origin: Origin::Native,
            version: None,
        }
    }

    /// Nothing declared, as a constant: what a tool has that says nothing about itself. Read through the methods,
    /// it is the most careful answer to each question.
    #[must_use]
    pub fn undeclared() -> &'static Self {
        static UNDECLARED: Metadata = Metadata::new();
        &UNDECLARED
    }

    /// True only where declared.
    #[must_use]
    pub fn is_concurrency_safe(&self) -> bool {
        self.concurrency_safe == Some(true)
    }

    /// True only where declared.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only == Some(true)
    }

    /// What people are shown: true only where declared. Where safety is derived from it, use
    /// [`counts_as_destructive`](Self::counts_as_destructive).
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.destructive == Some(true)
    }

    /// What safety is derived from: true unless declared otherwise.
    #[must_use]
    pub fn counts_as_destructive(&self) -> bool {
        self.destructive != Some(false)
    }

    /// True only where declared.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent == Some(true)
    }

    /// True unless declared otherwise: where an unknown tool reaches is not known.
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.open_world != Some(false)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Which permission check applies to a tool: one of the constants, or a name that a host knows.
///
/// ```
/// use flyto_tools::PermissionClass;
///
/// assert_eq!(PermissionClass::new("bash"), PermissionClass::BASH);
/// assert!(PermissionClass::new("").is_undeclared());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct PermissionClass(Cow<'static, str>);

impl PermissionClass {
    /// Runs commands: the command line is taken apart and each part judged.
    pub const BASH: Self = Self(Cow::Borrowed("bash"));
    /// Touches files: paths are judged.
    pub const FILE: Self = Self(Cow::Borrowed("file"));
    /// Fetches from the web: domains are judged.
    pub const WEBFETCH: Self = Self(Cow::Borrowed("webfetch"));
    /// Reads only: allowed where its author is trusted.
    pub const READONLY: Self = Self(Cow::Borrowed("readonly"));
    /// Judged by rules alone.
    pub const GENERIC: Self = Self(Cow::Borrowed("generic"));
    /// None was declared.
    pub const UNDECLARED: Self = Self(Cow::Borrowed("undeclared"));

    /// Makes a class of any name. The empty name is [`PermissionClass::UNDECLARED`].
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        if name.is_empty() { Self::UNDECLARED } else { Self(name) }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether no class was declared.
    #[must_use]
    pub fn is_undeclared(&self) -> bool {
        *self == Self::UNDECLARED
    }
}

impl Default for PermissionClass {
    fn default() -> Self {
        Self::UNDECLARED
    }
}

impl From<String> for PermissionClass {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for PermissionClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a call is filed in the audit log: one of the constants, or any other word.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AuditOperation(Cow<'static, str>);

impl AuditOperation {
    /// Creates or sends something: a file, a row, a message.
    pub const WRITE: Self = Self(Cow::Borrowed("write"));
    /// Changes something that exists.
    pub const EDIT: Self = Self(Cow::Borrowed("edit"));
    /// Looks at something.
    pub const READ: Self = Self(Cow::Borrowed("read"));
    /// Runs a command.
    pub const EXECUTE: Self = Self(Cow::Borrowed("execute"));
    /// Removes something.
    pub const DELETE: Self = Self(Cow::Borrowed("delete"));
    /// Any other call.
    pub const INVOKE: Self = Self(Cow::Borrowed("invoke"));

    /// Makes an operation of any name.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AuditOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a tool comes from. `Display` gives it in a few words for people.
///
/// ```
/// use flyto_tools::Origin;
///
/// let origin = Origin::Plugin { plugin: "git-info".to_owned() };
/// let written = serde_json::to_string(&origin)?;
/// assert_eq!(written, r#"{"kind":"plugin","plugin":"git-info"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// Written in Rust, part of the host.
    #[default]
    Native,
    /// Declared by a plugin.
    Plugin {
        /// Name of the plugin.
        plugin: String,
    },
    /// Declared by a definition file.
    ExecFile {
        /// Path of the file, for people.
        path: String,
    },
    /// Written at run time, and approved.
    Evolved {
        /// Number of the approved version.
        version: u64,
    },
    /// Imported from a Model Context Protocol server.
    McpServer {
        /// Name of the server in the configuration.
        server: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Plugin { plugin } => write!(f, "plugin {plugin}"),
            Self::ExecFile { path } => write!(f, "file {path}"),
            Self::Evolved { version } => write!(f, "evolved, version {version}"),
            Self::McpServer { server } => write!(f, "MCP server {server}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(metadata: &Metadata, expect: Expect) {
        let json = serde_json::to_string(metadata).unwrap();
        assert_eq!(serde_json::from_str::<Metadata>(&json).unwrap(), *metadata);
        expect.assert_eq(&format!(
            "{json}\nparallel={} read_only={} destructive={} counts_as_destructive={} \
             idempotent={} open_world={}\n",
            metadata.is_concurrency_safe(),
            metadata.is_read_only(),
            metadata.is_destructive(),
            metadata.counts_as_destructive(),
            metadata.is_idempotent(),
            metadata.is_open_world(),
        ));
    }

    #[test]
    fn undeclared_metadata_is_read_conservatively() {
        check(
            Metadata::undeclared(),
            expect![[r#"
            {"origin":{"kind":"native"}}
            parallel=false read_only=false destructive=false counts_as_destructive=true idempotent=false open_world=true
        "#]],
        );
        assert_eq!(Metadata::default(), Metadata::new());
    }

    #[test]
    fn declarations_hold() {
        let mut metadata = Metadata::new();
        metadata.read_only = Some(true);
        metadata.open_world = Some(false);
        metadata.permission_class = PermissionClass::new("database");
        metadata.audit_operation = Some(AuditOperation::READ);
        metadata.origin = Origin::Plugin { plugin: "csv".into() };
        check(
            &metadata,
            expect![[r#"
                {"read_only":true,"open_world":false,"permission_class":"database","audit_operation":"read","origin":{"kind":"plugin","plugin":"csv"}}
                parallel=false read_only=true destructive=false counts_as_destructive=true idempotent=false open_world=false
            "#]],
        );
        metadata.destructive = Some(true);
        check(
            &metadata,
            expect![[r#"
            {"read_only":true,"destructive":true,"open_world":false,"permission_class":"database","audit_operation":"read","origin":{"kind":"plugin","plugin":"csv"}}
            parallel=false read_only=true destructive=true counts_as_destructive=true idempotent=false open_world=false
        "#]],
        );
    }

    #[test]
    fn an_empty_class_is_an_undeclared_one() {
        assert!(PermissionClass::new("").is_undeclared());
        assert_eq!(serde_json::from_str::<PermissionClass>("\"\"").unwrap().as_str(), "undeclared");
    }
}
