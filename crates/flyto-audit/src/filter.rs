//! Which records a reader is interested in.
//!
//! A filter is asked twice for each line: [`Filter::may_match`] before the body is read, by the
//! members that every line has, and [`Filter::matches`] after it. So a reader that looks for one
//! call parses no other body.

use std::time::Duration;

use serde_json::Value;

use crate::{Record, Timestamp, line::Line};

/// How far the clocks of writers may have gone back: 1 h. A reader looks at records so much outside of a time span
/// before it takes the others for outside as well.
pub(crate) const CLOCK_SLACK: Duration = Duration::from_secs(3600);

/// Which records a reader gives: those that fulfil all that is set.
///
/// ```
/// use flyto_audit::Filter;
/// use serde_json::json;
///
/// let filter = Filter::default()
///     .with_event("begin")
///     .with_since("2026-01-31T00:00:00Z".parse()?)
///     .with_field("tool", json!("sort"))
///     .with_field("/usage/files", json!(3));
/// assert_eq!(filter.fields.len(), 2);
/// # Ok::<(), flyto_audit::InvalidTimestamp>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Filter {
    /// Not before this moment.
    /// `None` for no bound. A reader stops an hour outside of the span: see
    /// [`Reader::records`](crate::Reader::records).
    pub since: Option<Timestamp>,
    /// Not after this moment.
    /// `None` for no bound.
    pub until: Option<Timestamp>,
    /// Of this call.
    /// Byte for byte; `None` for all, with those that have no id.
    pub id: Option<String>,
    /// Of this event.
    /// Byte for byte; `None` for all.
    pub event: Option<String>,
    /// With these values in the body: the name of a member, or a JSON Pointer (RFC 6901), which begins with `/`.
    /// All of them have to be there. Values are equal as JSON: `1` is not `1.0`, and the order of
    /// members does not count.
    pub fields: Vec<(String, Value)>,
}

impl Filter {
    /// Sets the first moment.
    #[must_use]
    pub fn with_since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }

    /// Sets the last moment.
    #[must_use]
    pub fn with_until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    /// Sets the call.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the event.
    #[must_use]
    pub fn with_event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// Adds a value that the body has.
    ///
    /// A member whose name begins with `/` is reached by a pointer alone: `/~1name` (RFC 6901,
    /// section 3).
    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>, value: Value) -> Self {
        self.fields.push((field.into(), value));
        self
    }

    /// Whether a record fulfils all that is set.
    #[must_use]
    pub fn matches(&self, record: &Record) -> bool {
        let Self { since: _, until: _, id, event, fields } = self;
        self.is_within(record.at)
            && id.as_ref().is_none_or(|it| *it == record.id)
            && event.as_ref().is_none_or(|it| *it == record.event)
            && fields.iter().all(|(field, value)| {
                let found = match field.starts_with('/') {
                    true => record.body.pointer(field),
                    false => record.body.get(field),
                };
                found == Some(value)
            })
    }

    /// Whether a record may match, by what is known before its body is read.
    pub(crate) fn may_match(&self, line: &Line<'_>) -> bool {
        self.is_within(line.at)
            && self.id.as_ref().is_none_or(|it| *it == line.id)
            && self.event.as_ref().is_none_or(|it| *it == line.event)
    }

    /// Both ends are part of the span.
    fn is_within(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|it| it <= at) && self.until.is_none_or(|it| at <= it)
    }
}
