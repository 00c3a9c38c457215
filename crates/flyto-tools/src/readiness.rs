//! Whether a program had been started before its call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Whether a process waited for the call, where a tool lets its program be started before.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_tools::Readiness;
///
/// let ready = Readiness::ready(Duration::from_secs(2));
/// assert_eq!(serde_json::to_string(&ready)?, r#"{"state":"ready","waited_seconds":2.0}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Readiness {
    /// A process had been started before the call, and loaded.
    Ready {
        /// From its start to the call.
        #[serde(rename = "waited_seconds", with = "crate::seconds")]
        waited: Duration,
        /// Processor time that it took until the call, which [`Execution::cpu`](crate::Execution::cpu) is without. `None`
        /// where this was not measured.
        #[serde(
            rename = "startup_cpu_seconds",
            default,
            skip_serializing_if = "Option::is_none",
            serialize_with = "crate::seconds::serialize_option",
            deserialize_with = "crate::seconds::deserialize_option"
        )]
        startup_cpu: Option<Duration>,
    },
    /// The call started its process.
    Cold {
        /// Why, in words.
        why: String,
        /// What its author can do about it; `None` where nothing is wrong with the program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        help: Option<String>,
    },
}

impl Readiness {
    /// A process that had waited this long.
    #[must_use]
    pub fn ready(waited: Duration) -> Self {
        Self::Ready { waited, startup_cpu: None }
    }

    /// A process that was started for the call, for this reason.
    #[must_use]
    pub fn cold(why: impl Into<String>) -> Self {
        Self::Cold { why: why.into(), help: None }
    }

    /// The word for it: `ready`, `cold`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready { .. } => "ready",
            Self::Cold { .. } => "cold",
        }
    }
}
