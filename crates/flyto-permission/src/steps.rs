//! The work of one decision, counted.
//!
//! A decision runs to its end: no deadline and no cancellation reaches it. Its bounds
//! on texts, words, rules and paths multiply, so it also counts what it does, in steps
//! of 40 to 80 ns: an entry of an index that is looked up, a dozen characters that are
//! read. When they are spent, what was found counts, the rest is not looked at, and the
//! call is asked about.

use std::cell::Cell;

/// Most steps of one decision: about 40 ms. A call that a person writes takes a few hundred.
pub(crate) const MAX_STEPS: usize = 512 * 1024;

/// Steps for one part of a path that is looked up: a system call.
const PART: usize = 16;
/// Most parts of one path that are looked up.
const MAX_PARTS: usize = 512;
/// How many bytes of a text are looked through in a step, for paths and addresses.
const LOOKED_THROUGH: usize = 16;
/// How many bytes of a command line are read in a step.
#[cfg(feature = "bash")]
const READ: usize = 2;
/// Steps for a command that was found in one.
#[cfg(feature = "bash")]
const COMMAND: usize = 16;

/// What is left of the steps of a decision; `None` once more were asked for than there were.
#[derive(Debug)]
pub(crate) struct Steps(Cell<Option<usize>>);

impl Steps {
    pub(crate) fn new(n_steps: usize) -> Self {
        Self(Cell::new(Some(n_steps)))
    }

    /// Counts steps before they are made. `false`: there are not as many, and none from now on.
    pub(crate) fn take(&self, n_steps: usize) -> bool {
        let left = self.0.get().and_then(|it| it.checked_sub(n_steps));
        self.0.set(left);
        left.is_some()
    }

    /// Counts those of a path that is looked up `n_times`, a part of it or all.
    pub(crate) fn take_path(&self, path: &str, n_times: usize) -> bool {
        let n_parts = path.bytes().filter(|it| *it == b'/').count() + 1;
        self.take(PART * n_parts.min(MAX_PARTS) * n_times)
    }

    /// Counts those of a text of which each part may be a path or an address.
    pub(crate) fn take_text(&self, text: &str) -> bool {
        let n_parts = text.bytes().filter(u8::is_ascii_punctuation).count();
        self.take(1 + text.len() / LOOKED_THROUGH + 2 * n_parts)
    }

    /// Counts those of a command line of so many bytes that is read.
    #[cfg(feature = "bash")]
    pub(crate) fn take_line(&self, n_bytes: usize) -> bool {
        self.take(1 + n_bytes / READ)
    }

    /// Counts those of a command that is compared with rules.
    #[cfg(feature = "bash")]
    pub(crate) fn take_command(&self) -> bool {
        self.take(COMMAND)
    }

    /// Whether there are none any more, so that something was not looked at.
    pub(crate) fn are_spent(&self) -> bool {
        self.0.get().is_none()
    }

    /// How many there are.
    pub(crate) fn left(&self) -> usize {
        self.0.get().unwrap_or_default()
    }
}

/// Called where work is made, by its size in parts that tests count: what was counted
/// before it is compared with this.
pub(crate) fn made(n_parts: usize) {
    #[cfg(test)]
    tests::N_MADE.with(|it| it.set(it.get() + n_parts));
    let _ = n_parts;
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// What [`made`] was told on this thread.
        pub(crate) static N_MADE: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn none_are_left_once_too_many_were_asked_for() {
        let steps = Steps::new(5);
        assert!(steps.take(3) && !steps.are_spent());
        assert!(steps.take(2) && !steps.are_spent());
        assert_eq!(steps.left(), 0);
        assert!(!steps.take(1) && steps.are_spent() && !steps.take(0));
        let steps = Steps::new(5);
        assert!(!steps.take(6) && !steps.take(1));
    }
}
