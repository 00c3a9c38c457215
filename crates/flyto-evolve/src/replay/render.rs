//! A replay as text for a terminal.
//!
//! One line with the counts; a line for each call, with its time, the version that was recorded and the first 200 bytes of its
//! input; behind one that is different the places where it is, indented by two. The last lines say how many records cannot be
//! read, under which terms calls are equal, and that only what is delivered is compared. Texts of the tool are on one line, with hidden characters made visible.

use std::fmt;

use super::{Difference, DifferenceKind, Replay, ReplayCounts, ReplayOutcome};
use crate::review::one_line;

/// How much of an input is shown, in bytes.
const MAX_INPUT_BYTES: usize = 200;

impl fmt::Display for ReplayCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_equal, n_different, n_not_reproduced } = self;
        write!(f, "{n_equal} equal, {n_different} different, {n_not_reproduced} not reproduced")
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.version.map_or_else(|| "the proposal".into(), |it| format!("version {it}"));
        writeln!(f, "{what} over {} recorded calls: {}", self.calls.len(), self.counts())?;
        for it in &self.calls {
            let mut input = one_line(&it.input.to_string());
            if input.len() > MAX_INPUT_BYTES {
                input.truncate(input.floor_char_boundary(MAX_INPUT_BYTES));
                input.push('…');
            }
            write!(f, "{}, version {}, {input}: ", one_line(&it.at), it.version)?;
            match &it.outcome {
                ReplayOutcome::Equal => writeln!(f, "equal")?,
                ReplayOutcome::NotReproduced { why } => {
                    writeln!(f, "could not be reproduced: {}", one_line(why))?;
                }
                ReplayOutcome::Different { differences } => {
                    writeln!(f, "different")?;
                    differences.iter().try_for_each(|it| write!(f, "{it}"))?;
                }
            }
        }
        if self.n_unreadable > 0 {
            let (n, dir) = (self.n_unreadable, one_line(&self.tool));
            writeln!(f, "{n} more were left out: their files in calls/{dir} cannot be read")?;
        }
        if let Some(beyond) = &self.beyond
            && self.counts().n_equal > 0
        {
            writeln!(
                f,
                "equal without network, variables and files of the host; outside of a replay it may differ: {}",
                one_line(beyond)
            )?;
        }
        if !self.calls.is_empty() {
            // A tool may do something else where it is not replayed, and deliver the same.
            writeln!(f, "compared is what each call delivers, and nothing else that it does")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.pointer.is_empty() { "(root)" } else { &self.pointer };
        let at = one_line(at);
        if let Some(unified) = &self.unified {
            writeln!(f, "  {at}:")?;
            return unified.lines().try_for_each(|it| writeln!(f, "    {}", one_line(it)));
        }
        let text = |it: &Option<serde_json::Value>| {
            one_line(&it.as_ref().map(ToString::to_string).unwrap_or_default())
        };
        let (before, after) = (text(&self.before), text(&self.after));
        match self.kind {
            DifferenceKind::Added => writeln!(f, "  {at}: added {after}"),
            DifferenceKind::Removed => writeln!(f, "  {at}: removed {before}"),
            DifferenceKind::Changed => writeln!(f, "  {at}: {before} -> {after}"),
        }
    }
}
