//! What is recorded of calls, and how: the section `audit` of a configuration.

use std::time::Duration;

use flyto_audit::{Fsync, Keep, Options};
use flyto_diagnostics::{At, Findings, ObjectReader, Reported};

/// How calls are recorded.
///
/// ```
/// use flyto_host::{Config, OnUnrecorded};
///
/// let mut config = Config::default();
/// assert!(config.audit.is_enabled && !config.audit.has_inputs);
/// assert_eq!(config.audit.on_failure, OnUnrecorded::Refuse);
/// config.audit.has_inputs = true;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditConfig {
    /// Whether calls are recorded at all: in `audit` below [`Places::state_dir`](crate::Places::state_dir), where the
    /// user has one.
    ///
    /// Default: `true`.
    pub is_enabled: bool,
    /// When records are forced onto the disk, for the end of power; the end of the process loses none in any case.
    ///
    /// Default: [`Fsync::Never`].
    pub fsync: Fsync,
    /// What becomes of a call that cannot be recorded.
    ///
    /// Default: [`OnUnrecorded::Refuse`].
    pub on_failure: OnUnrecorded,
    /// Whether records have the input of a call, without what looks like a secret, beside its digest.
    ///
    /// Default: `false`.
    pub has_inputs: bool,
    /// Days for which records are kept. Whole files of them are removed, and the log says so.
    ///
    /// Default: `None`, all.
    pub keep_days: Option<u64>,
}

/// What becomes of a call that cannot be recorded, such as on a full disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnrecorded {
    /// It is refused.
    #[default]
    Refuse,
    /// It runs.
    Run,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            is_enabled: true,
            fsync: Fsync::Never,
            on_failure: OnUnrecorded::Refuse,
            has_inputs: false,
            keep_days: None,
        }
    }
}

impl AuditConfig {
    /// How the log is written.
    pub(crate) fn options(&self) -> Options {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let days = self.keep_days.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let keep = days.map_or(Keep::All, |it| Keep::For(DAY.saturating_mul(it)));
        Options::default().with_fsync(self.fsync).with_keep(keep)
    }

    /// Takes the values of those keys that are in `set`.
    pub(super) fn take(&mut self, other: &Self, set: impl Fn(&'static str) -> bool) {
        if set("audit.enabled") {
            self.is_enabled = other.is_enabled;
        }
        if set("audit.fsync") {
            self.fsync = other.fsync;
        }
        if set("audit.on_failure") {
            self.on_failure = other.on_failure;
        }
        if set("audit.inputs") {
            self.has_inputs = other.has_inputs;
        }
        if set("audit.keep_days") {
            self.keep_days = other.keep_days;
        }
    }

    /// Reads the value of `audit`.
    pub(super) fn read(at: At<'_>, findings: &mut Findings) -> Result<Self, Reported> {
        let mut res = Self::default();
        let mut reader = ObjectReader::new(at, findings)?;
        let enabled = reader.optional_bool("enabled");
        let fsync = reader.optional_one_of(
            "fsync",
            &[("never", Fsync::Never), ("batch", Fsync::Batch), ("each", Fsync::Each)],
        );
        let on_failure = reader.optional_one_of(
            "on_failure",
            &[("refuse", OnUnrecorded::Refuse), ("run", OnUnrecorded::Run)],
        );
        let inputs = reader.optional_one_of("inputs", &[("digest", false), ("full", true)]);
        let keep_days = reader.optional_u64("keep_days");
        reader.refuse_unknown("a setting of the log that is not read would not hold")?;
        res.is_enabled = enabled?.unwrap_or(res.is_enabled);
        res.fsync = fsync?.unwrap_or(res.fsync);
        res.on_failure = on_failure?.unwrap_or(res.on_failure);
        res.has_inputs = inputs?.unwrap_or(res.has_inputs);
        res.keep_days = keep_days?;
        Ok(res)
    }
}

/// The keys of the section, each with its name in [`FileConfig::set`](super::file::FileConfig::set).
pub(super) const KEYS: [(&str, &str); 5] = [
    ("enabled", "audit.enabled"),
    ("fsync", "audit.fsync"),
    ("on_failure", "audit.on_failure"),
    ("inputs", "audit.inputs"),
    ("keep_days", "audit.keep_days"),
];
