//! The findings of one piece of work.

use crate::diagnostic::{Diagnostic, Severity};

/// Collects findings while something is read.
///
/// Readers take `&mut Findings` and go on after a finding, so that one run shows all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    list: Vec<Diagnostic>,
}

/// Says that the reason for a failure has been recorded as a finding, so nobody needs to say it
/// again. Only [`Findings::push`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

impl std::fmt::Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed for the reasons given in the findings")
    }
}

impl std::error::Error for Reported {}

impl Findings {
    /// No findings yet.
    pub const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// Records a finding.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) -> Reported {
        self.list.push(diagnostic.into());
        Reported(())
    }

    /// Records the finding of something that failed, and passes on what succeeded.
    ///
    /// # Errors
    ///
    /// [`Reported`] in place of the finding.
    pub fn take<T>(&mut self, res: Result<T, impl Into<Diagnostic>>) -> Result<T, Reported> {
        res.map_err(|diagnostic| self.push(diagnostic))
    }

    /// Adds the findings of another piece of work behind these.
    pub fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many there are of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|it| it.severity == severity).count()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Makes every warning an error, for those who want none. Notes stay notes.
    pub fn promote_warnings(&mut self) {
        for diagnostic in &mut self.list {
            if diagnostic.severity == Severity::Warning {
                diagnostic.severity = Severity::Error;
            }
        }
    }

    /// The findings in the order in which they were recorded.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The findings sorted by file name, then by position. Findings about a file as a whole come
    /// before those in its text; equal places keep the order of recording.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        let start = |it: &Diagnostic| it.location.span().map(|span| span.start);
        self.list.sort_by(|a, b| {
            let by_name = a.location.name().cmp(b.location.name());
            by_name.then_with(|| start(a).cmp(&start(b)))
        });
        self.list
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Extend<Diagnostic> for Findings {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        self.list.extend(iter);
    }
}
