//! How far a call has come, and its listeners.

use std::fmt;

use serde::Serialize;

/// How far a call has come.
///
/// ```
/// use flyto_tools::Progress;
///
/// let progress = Progress::new(0.25, "one file of four").expect("a number");
/// assert_eq!((progress.progress(), progress.detail()), (0.25, "one file of four"));
/// assert_eq!(Progress::new(7.0, "").map(|it| it.progress()), Some(1.0));
/// assert_eq!(Progress::new(f64::NAN, ""), None);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    progress: f64,
    detail: String,
}

impl Progress {
    /// Makes a report. A value outside of `0.0..=1.0` is moved to the nearer end; what is no
    /// number at all gives `None`, for there is nothing to show.
    #[must_use]
    pub fn new(progress: f64, detail: impl Into<String>) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, which prints without a sign.
        let progress = progress.clamp(0.0, 1.0) + 0.0;
        (!progress.is_nan()).then(|| Self { progress, detail: detail.into() })
    }

    /// The share that is done, within `0.0..=1.0`.
    #[must_use]
    pub fn progress(&self) -> f64 {
        self.progress
    }

    /// What is being done, for people; may be empty.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// `40% reading`, rounded down, so that 100 % means done.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.progress * 100.0).floor())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " {}", self.detail) }
    }
}

/// A listener for progress. Closures of one [`Progress`] are sinks.
///
/// The call waits while a sink runs, so a sink hands over and returns.
///
/// ```
/// use std::sync::mpsc;
///
/// use flyto_tools::{CallContext, Progress};
///
/// let (sender, receiver) = mpsc::channel();
/// let ctx = CallContext::new().with_progress(move |it: Progress| drop(sender.send(it)));
/// ctx.report(0.5, "half the files");
/// assert_eq!(receiver.recv().map(|it| it.detail().to_owned()), Ok("half the files".to_owned()));
/// ```
pub trait ProgressSink: Send + Sync + 'static {
    /// Takes a report. Reports of one call arrive in order, and may go backwards.
    fn report(&self, progress: Progress);
}

impl<F: Fn(Progress) + Send + Sync + 'static> ProgressSink for F {
    fn report(&self, progress: Progress) {
        self(progress);
    }
}
