//! The findings of one piece of work.

use std::fmt;

use crate::codes;
use crate::diagnostic::{Diagnostic, Location, Severity};

/// Collects findings while something is read.
///
/// Readers take `&mut Findings` and go on after a finding, so that one run shows all of them. A file
/// made to do harm could have a finding every few bytes, so beyond [`Findings::MOST`] findings are
/// only counted; use one `Findings` for each file, and [`append`](Self::append) to gather them.
///
/// ```
/// use flyto_diagnostics::{Code, Diagnostic, Findings, Location, Reported, Severity};
///
/// const NOT_A_NUMBER: Code = Code::new("F9001");
///
/// fn read(text: &str, findings: &mut Findings) -> Result<u8, Reported> {
///     let wrong = |_| Diagnostic::error(NOT_A_NUMBER, Location::file("a"), "not a number");
///     findings.take(text.parse().map_err(wrong))
/// }
///
/// let mut findings = Findings::new();
/// assert_eq!(read("7", &mut findings), Ok(7));
/// // The error says no more than that the reason is among the findings.
/// assert!(read("x", &mut findings).is_err());
/// assert_eq!(findings.count(Severity::Error), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    list: Vec<Diagnostic>,
    /// How many of `list` were pushed, and not appended.
    n_pushed: usize,
    left_out: Vec<LeftOut>,
}

/// Findings that were counted only.
#[derive(Clone, Debug, PartialEq)]
struct LeftOut {
    /// Where the finding that tells of them is in the list.
    at: usize,
    /// The file in which the first of them is.
    file: String,
    n_errors: usize,
    n_warnings: usize,
    n_notes: usize,
}

/// Says that the reason for a failure has been recorded as a finding, so that no caller says it
/// again. Only [`Findings::push`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed for the reasons given in the findings")
    }
}

impl std::error::Error for Reported {}

impl Findings {
    /// How many findings are kept of those that are pushed.
    pub const MOST: usize = 1000;

    /// No findings yet.
    pub const fn new() -> Self {
        Self { list: Vec::new(), n_pushed: 0, left_out: Vec::new() }
    }

    /// Records a finding, or counts it where there are [`MOST`](Self::MOST) already. What is returned is for a
    /// function that fails because of it.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) -> Reported {
        let diagnostic = diagnostic.into();
        if self.n_pushed < Self::MOST {
            self.list.push(diagnostic);
        } else {
            if self.n_pushed == Self::MOST {
                let left_out = LeftOut::new(self.list.len(), diagnostic.location.name());
                self.list.push(left_out.diagnostic());
                self.left_out.push(left_out);
            }
            self.count_one(diagnostic.severity);
        }
        self.n_pushed += 1;
        Reported(())
    }

    fn count_one(&mut self, severity: Severity) {
        if let Some(left_out) = self.left_out.last_mut() {
            *left_out.count_mut(severity) += 1;
            self.list[left_out.at] = left_out.diagnostic();
        }
    }

    /// Counts a finding of this severity where findings are [only counted](Self::is_full), so that what it would
    /// say need not be worked out. `None` where it is still to be [pushed](Self::push).
    ///
    /// ```
    /// use flyto_diagnostics::{Code, Diagnostic, Findings, Location, Severity};
    ///
    /// let mut findings = Findings::new();
    /// let mut n_built = 0;
    /// for _ in 0..5_000 {
    ///     if findings.count_only(Severity::Warning).is_none() {
    ///         n_built += 1;
    ///         findings.push(Diagnostic::warning(Code::new("F9001"), Location::file("a"), "odd"));
    ///     }
    /// }
    /// assert_eq!(findings.count(Severity::Warning), 5_000);
    /// // One more than are kept: it names the file in which the others are.
    /// assert_eq!(n_built, Findings::MOST + 1);
    /// ```
    pub fn count_only(&mut self, severity: Severity) -> Option<Reported> {
        if self.n_pushed <= Self::MOST {
            return None;
        }
        self.n_pushed += 1;
        self.count_one(severity);
        Some(Reported(()))
    }

    /// Whether further findings are only counted. What costs time to say about one can be left out then, such as which
    /// name was meant.
    pub fn is_full(&self) -> bool {
        self.n_pushed >= Self::MOST
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
        let n_before = self.list.len();
        self.list.extend(other.list);
        // In front, because `push` goes on counting in the last one.
        let left_out = other.left_out.into_iter().map(|it| LeftOut { at: n_before + it.at, ..it });
        self.left_out.splice(0..0, left_out);
    }

    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many there are of one severity, those that are only counted included.
    pub fn count(&self, severity: Severity) -> usize {
        let is_kept = |it: &&Diagnostic| it.severity == severity && !is_count(it);
        let n_kept = self.list.iter().filter(is_kept).count();
        n_kept + self.left_out.iter().map(|it| it.count(severity)).sum::<usize>()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Makes every warning an error, for callers that accept none. Notes stay notes.
    pub fn promote_warnings(&mut self) {
        for diagnostic in &mut self.list {
            if diagnostic.severity == Severity::Warning {
                diagnostic.severity = Severity::Error;
            }
        }
        for left_out in &mut self.left_out {
            left_out.n_errors += std::mem::take(&mut left_out.n_warnings);
            self.list[left_out.at] = left_out.diagnostic();
        }
    }

    /// The findings that were kept, in the order in which they were recorded. Where some were only
    /// counted, one behind the last that was kept says how many (`F0027`).
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The findings sorted by file name, then by position. Findings about a file as a whole come
    /// before those in its text; equal places keep the order of recording. Where findings were only
    /// counted, one at the end of the file says how many (`F0027`).
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        let start = |it: &Diagnostic| it.location.span().map(|span| span.start);
        self.list.sort_by(|a, b| {
            let by_name = a.location.name().cmp(b.location.name());
            let at_end = is_count(a).cmp(&is_count(b));
            by_name.then(at_end).then_with(|| start(a).cmp(&start(b)))
        });
        self.list
    }
}

/// Whether a finding says how many others were only counted.
fn is_count(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == codes::MORE_FINDINGS
}

impl LeftOut {
    fn new(at: usize, file: &str) -> Self {
        Self { at, file: file.to_owned(), n_errors: 0, n_warnings: 0, n_notes: 0 }
    }

    fn count(&self, severity: Severity) -> usize {
        match severity {
            Severity::Error => self.n_errors,
            Severity::Warning => self.n_warnings,
            Severity::Note => self.n_notes,
        }
    }

    fn count_mut(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.n_errors,
            Severity::Warning => &mut self.n_warnings,
            Severity::Note => &mut self.n_notes,
        }
    }

    fn diagnostic(&self) -> Diagnostic {
        let Self { file, n_errors, n_warnings, n_notes, .. } = self;
        let what = format!(
            "there are more findings: {n_errors} errors, {n_warnings} warnings, {n_notes} notes"
        );
        Diagnostic::note(codes::MORE_FINDINGS, Location::file(file.as_str()), what)
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
