//! Which tools are no longer used: a pure rule.

use std::time::Duration;

use serde::Serialize;

/// After how long a tool that is not used is told as stale, and is archived.
///
/// ```
/// use std::time::Duration;
///
/// let policy = flyto_evolve::DecayPolicy::default();
/// assert_eq!(policy.archive_after, Duration::from_secs(90 * 24 * 60 * 60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecayPolicy {
    /// From when on it is told: 30 days.
    pub stale_after: Duration,
    /// From when on it is archived: 90 days.
    pub archive_after: Duration,
}

/// A day, without leap seconds.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for DecayPolicy {
    fn default() -> Self {
        Self { stale_after: 30 * DAY, archive_after: 90 * DAY }
    }
}

impl DecayPolicy {
    /// With other times. A tool is never archived before it is stale, so that the second time is at least the first one.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use flyto_evolve::DecayPolicy;
    ///
    /// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    /// let policy = DecayPolicy::new(60 * DAY, 14 * DAY);
    /// assert_eq!(policy.archive_after, 60 * DAY);
    /// // Unless it is set: told after 30 days, archived after 90.
    /// assert_eq!(DecayPolicy::default(), DecayPolicy::new(30 * DAY, 90 * DAY));
    /// ```
    #[must_use]
    pub fn new(stale_after: Duration, archive_after: Duration) -> Self {
        Self { stale_after, archive_after: archive_after.max(stale_after) }
    }
}

/// What the rule looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedTool {
    /// The name.
    pub name: String,
    /// The last moment at which it was called, saved or restored, in milliseconds since 1970.
    pub last_touched_ms: i64,
    /// Whether an agent made it. What a person wrote or adopted does not decay.
    pub is_made_by_agent: bool,
    /// Whether a person pinned it.
    pub is_pinned: bool,
    /// Whether another tool calls it.
    pub is_needed: bool,
}

/// What becomes of a tool that is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decay {
    /// It is told, and stays.
    Stale,
    /// It is archived, and can be restored.
    Archive,
}

/// One tool that is not used, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DecayStep {
    /// The name.
    pub name: String,
    /// What becomes of it.
    pub decay: Decay,
    /// For how many whole days it was not used.
    pub unused_days: u64,
}

/// What the rule says of tools at a moment, in milliseconds since 1970. The same arguments give the same answer; a clock
/// that went backwards makes no tool older.
///
/// ```
/// use std::time::Duration;
/// use flyto_evolve::{Decay, DecayPolicy, UsedTool, decay};
///
/// let day_ms = 24 * 60 * 60 * 1000;
/// let tool = UsedTool {
///     name: "old".into(),
///     last_touched_ms: 0,
///     is_made_by_agent: true,
///     is_pinned: false,
///     is_needed: false,
/// };
/// let steps = decay(40 * day_ms, &[tool], &DecayPolicy::default());
/// assert_eq!((steps[0].decay, steps[0].unused_days), (Decay::Stale, 40));
/// ```
#[must_use]
pub fn decay(now_ms: i64, tools: &[UsedTool], policy: &DecayPolicy) -> Vec<DecayStep> {
    let mut res = Vec::new();
    for it in tools.iter().filter(|it| it.is_made_by_agent && !it.is_pinned && !it.is_needed) {
        let unused = u64::try_from(now_ms.saturating_sub(it.last_touched_ms)).unwrap_or(0);
        let unused = Duration::from_millis(unused);
        let decay = match unused {
            _ if unused >= policy.archive_after => Decay::Archive,
            _ if unused >= policy.stale_after => Decay::Stale,
            _ => continue,
        };
        res.push(DecayStep {
            name: it.name.clone(),
            decay,
            unused_days: unused.as_secs() / DAY.as_secs(),
        });
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_agent_made_and_no_tool_needs_decays() {
        let day = i64::try_from(DAY.as_millis()).unwrap();
        let tool = |days: i64, is_made_by_agent, is_pinned, is_needed| UsedTool {
            name: format!("t{days}"),
            last_touched_ms: 100 * day - days * day,
            is_made_by_agent,
            is_pinned,
            is_needed,
        };
        let tools = [
            tool(29, true, false, false),
            tool(30, true, false, false),
            tool(90, true, false, false),
            tool(91, false, false, false),
            tool(92, true, true, false),
            tool(93, true, false, true),
            tool(-5, true, false, false),
        ];
        let steps = decay(100 * day, &tools, &DecayPolicy::default());
        let found: Vec<_> =
            steps.iter().map(|it| (it.name.as_str(), it.decay, it.unused_days)).collect();
        assert_eq!(found, [("t30", Decay::Stale, 30), ("t90", Decay::Archive, 90)]);
    }
}
