//! What stands behind `flyto audit`.

use std::time::Duration;

use clap::{Args as Group, Subcommand, ValueEnum};
use flyto_audit::{Head, Timestamp};

use super::Common;
use super::times::with_unit;

#[derive(Debug, Group)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) what: AuditWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditWhat {
    /// Lists calls, the newest last
    List(AuditList),
    /// Shows the records of a call, whole
    Show(AuditShow),
    /// Checks that no record was changed or removed, and prints the head to note elsewhere
    Verify(AuditVerify),
    /// Prints records as they stand in the log, one JSON document a line
    Export(AuditExport),
    /// Prints new records as they come
    Follow(AuditFollow),
}

impl Audit {
    pub(super) fn common(&mut self) -> &mut Common {
        match &mut self.what {
            AuditWhat::List(it) => &mut it.common,
            AuditWhat::Show(it) => &mut it.common,
            AuditWhat::Verify(it) => &mut it.common,
            AuditWhat::Export(it) => &mut it.common,
            AuditWhat::Follow(it) => &mut it.common,
        }
    }
}

/// Which calls are meant: those that fit all of these.
#[derive(Clone, Debug, Default, Group)]
pub(crate) struct Which {
    /// Calls of this tool, by either form of its name; `plugin:*` stands for all tools of a plugin
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Calls whose id is this one, or begins so
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Calls that ended so, or did not end
    #[arg(long, value_enum, value_name = "OUTCOME")]
    pub(crate) outcome: Option<Outcome>,
    /// Calls that began then or later: as in RFC 3339, or so long ago (`90s`, `15m`, `2h`, `3d`)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Timestamp>,
    /// Calls that began then or before
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Timestamp>,
}

/// How a call ended. The names are those of the records and of `--format json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The tool gave a result
    Ok,
    /// The tool failed
    Failed,
    /// A stage refused the call
    Refused,
    /// Nothing was started
    #[value(alias = "not-tried")]
    NotTried,
    /// The host gave the call up
    Dropped,
    /// The call has not ended, and its process is alive
    Running,
    /// The call has no end, and its process is not known to be alive
    #[value(alias = "no-end")]
    NoEnd,
}

impl Outcome {
    /// The name in records and documents.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::NotTried => "not_tried",
            Self::Dropped => "dropped",
            Self::Running => "running",
            Self::NoEnd => "no_end",
        }
    }
}

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto audit list --since 2h
  flyto audit list --tool 'deploy:*' --outcome refused
  flyto audit list --since 2026-01-31T00:00:00Z --until 2026-02-01T00:00:00Z --limit 1000

Times are in UTC. `no end` says that the process of a call was killed before it could record an end.")]
pub(crate) struct AuditList {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Lists the newest N calls at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct AuditShow {
    /// The id of the call, or its beginning where no other id begins so
    pub(crate) id: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
The exit code is 0 for a log that is as it was written, 8 for one that was changed, and 4 where there is none.

A program that can write to the log's directory can write the whole log anew. Note the head that this command prints
where that program cannot write, and give it to --head later.")]
pub(crate) struct AuditVerify {
    /// A head that was noted before: the log must still have that record; repeatable
    #[arg(long = "head", value_name = "SEQ:HASH")]
    pub(crate) heads: Vec<Head>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  flyto audit export >log.jsonl
  flyto audit export --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z | gzip >january.jsonl.gz
  flyto audit export --tool 'deploy:*' | jq .body

With --tool, --id or --outcome, both records of each call that fits are printed. Without them, all records of the time
are, those as well that the log writes of itself: so their chain of hashes can be checked elsewhere.

The lines are those of the log, byte for byte, but on a terminal.")]
pub(crate) struct AuditExport {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
Records of every process are printed, from now on. With --format json, each is the line of the log. Ctrl-C ends it,
which a shell reports as 130.")]
pub(crate) struct AuditFollow {
    /// Calls of this tool that begin from now on, by either form of its name; `plugin:*` stands for all tools of a plugin
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Calls whose id is this one, or begins so
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Which {
    /// Whether it is about more than the time.
    pub(crate) fn chooses_calls(&self) -> bool {
        self.tool.is_some() || self.id.is_some() || self.outcome.is_some()
    }
}

/// Reads a time as in RFC 3339, or a time before the present one.
fn time(text: &str) -> Result<Timestamp, String> {
    let ago = || Duration::try_from_secs_f64(with_unit(text)?).ok();
    text.parse().ok().or_else(|| Some(Timestamp::now().earlier_by(ago()?))).ok_or_else(|| {
        "expected a time such as 2026-01-31T12:00:00Z, or one ago such as 90s, 15m, 2h or 3d"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_moments_or_so_long_ago() {
        let at = time("2026-01-31T12:00:00+01:00").unwrap();
        assert_eq!(at.to_string(), "2026-01-31T11:00:00.000Z");
        let now = Timestamp::now();
        for (text, seconds) in [("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259_200)] {
            let at = time(text).unwrap();
            assert!(at.later_by(Duration::from_secs(seconds)) >= now, "{text}");
            assert!(at < now, "{text}");
        }
        for bad in ["", "2", "h", "-2h", "2y", "nan", "1e300d", "2026-01-31", "tomorrow"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn outcomes_are_written_as_they_are_shown() {
        for it in Outcome::value_variants() {
            assert_eq!(Outcome::from_str(it.as_str(), false), Ok(*it));
        }
    }
}
