//! A review as text for a terminal.
//!
//! Everything is shown, and nothing is folded or cut: a person that has read it has read what runs. Of the output of an example
//! the first 4 KiB are shown, and a line tells how much is left out. Lines that begin with `!`
//! want a second look. Characters that a terminal would act on are written as escapes. A text of the author begins no line:
//! the lines of the differences have ` `, `-` or `+` in front, further lines of an output stand to the right, and all else
//! has one line.

use std::fmt;

use super::{
    ExampleReport, FieldDiff, Review, ToolChange, diff::unchanged, visible, visible::one_line,
};

impl fmt::Display for Review {
    /// In this order: the signature with both versions, by which author and with which hash; the
    /// differences; what the text was seen to do; what wants a second look; notes and tools that
    /// are like it; what recorded calls show; the examples with their outputs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.map_or_else(|| "new".to_owned(), |it| format!("version {it}"));
        let tool = one_line(&self.signature);
        writeln!(f, "{tool}, {from} -> version {}", self.to)?;
        writeln!(f, "proposed by {}, sha256 {}", one_line(&self.proposed_by), self.sha256.short())?;
        if let Some(from) = &self.imported_from {
            writeln!(f, "imported from {}", one_line(from))?;
        }
        if self.is_edited {
            writeln!(f, "edited by a person in this decision")?;
        }
        match (self.diff.as_slice(), self.from) {
            ([], Some(from)) => {
                writeln!(f, "the text is that of version {from}:")?;
                unchanged(&self.definition).iter().try_for_each(|it| field(f, it, ""))?;
            }
            (diff, _) => diff.iter().try_for_each(|it| field(f, it, ""))?,
        }
        writeln!(f)?;
        let facts = &self.facts;
        for (what, found) in [
            ("commands", &facts.commands),
            ("addresses", &facts.urls),
            ("variables read", &facts.env_names),
            ("files written", &facts.written_paths),
            ("values that may be read as options", &facts.may_be_options),
        ] {
            if !found.is_empty() {
                writeln!(f, "{what}: {}", one_line(&found.join(", ")))?;
            }
        }
        for (is_claimed, what) in [
            (facts.claims_read_only, "calls change nothing"),
            (facts.claims_concurrency_safe, "calls may run beside each other"),
        ] {
            if is_claimed {
                writeln!(f, "the author says that {what}")?;
            }
        }
        for it in &facts.dangers {
            writeln!(f, "! {}", one_line(it))?;
        }
        for it in &self.secrets {
            writeln!(f, "! looks like a secret: {}", one_line(&it.to_string()))?;
        }
        for it in &self.hidden_characters {
            writeln!(
                f,
                "! {} character {} in {}, line {}",
                it.kind,
                it.code_point,
                one_line(&it.pointer),
                it.line
            )?;
        }
        for it in &self.notes {
            writeln!(f, "note: {}", one_line(it))?;
        }
        for called in &self.calls {
            let changed = self.tool_changes.iter().find(|it| it.name == called.name);
            match changed {
                None => writeln!(f, "calls {called}")?,
                Some(it) => writeln!(f, "! calls {called}, changed since {}", it.since)?,
            }
            for danger in called.facts.iter().flat_map(|it| &it.dangers) {
                writeln!(f, "! {} {}", one_line(&called.name), one_line(danger))?;
            }
            changed.map_or(Ok(()), |it| changes(f, it))?;
        }
        for it in self.tool_changes.iter().filter(|it| it.is_gone) {
            let name = one_line(&it.name);
            writeln!(f, "! calls no run-time tool {name} any more, since {}", it.since)?;
        }
        if !self.similar.is_empty() {
            writeln!(f, "like it: {}", one_line(&self.similar.join(", ")))?;
        }
        if let Some(replay) = &self.replay {
            write!(f, "{replay}")?;
        }
        match &self.examples {
            ExampleReport::None => writeln!(f, "examples: none"),
            ExampleReport::Untested { why } => writeln!(f, "examples: untested, {}", one_line(why)),
            ExampleReport::Ran { outcomes } => {
                writeln!(
                    f,
                    "examples: {} passed",
                    outcomes.iter().filter(|it| it.problem.is_none()).count()
                )?;
                for it in outcomes {
                    // Its further lines stand to the right, where no line of the review begins.
                    let output = visible(it.output.trim_end());
                    writeln!(
                        f,
                        "  {} -> {}",
                        one_line(&it.input.to_string()),
                        output.replace('\n', "\n     ")
                    )?;
                    if it.omitted_bytes > 0 {
                        writeln!(
                            f,
                            "  ! {} more bytes of the output are not shown",
                            it.omitted_bytes
                        )?;
                    }
                    if let Some(problem) = &it.problem {
                        writeln!(f, "  ! {}", one_line(problem))?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// One field, below its name and what it is a field of.
fn field(f: &mut fmt::Formatter<'_>, it: &FieldDiff, of: &str) -> fmt::Result {
    writeln!(f, "\n{}{of}:\n{}", one_line(&it.field), it.unified.trim_end_matches('\n'))
}

/// What changed in a tool below a composite.
fn changes(f: &mut fmt::Formatter<'_>, it: &ToolChange) -> fmt::Result {
    let whole = if it.is_whole { ", all of it" } else { "" };
    let of = format!(" of {}{whole}", one_line(&it.name));
    it.diff.iter().try_for_each(|it| field(f, it, &of))?;
    writeln!(f)
}
