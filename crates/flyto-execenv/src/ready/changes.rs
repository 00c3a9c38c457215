//! Telling edits from what a program that waits writes itself.

use std::path::PathBuf;

use tokio::time::Instant;

use super::ColdStart;

/// How many processes in a row may be given up since something changed while they waited, until it is looked at whether they wrote
/// it: 8.
const EDITS: u32 = 8;

/// How many further ones have to be in vain, each after calls between which nothing changed without one: 3.
const TRIALS: u32 = 3;

/// Processes of one program in a row that were given up since something changed while they waited.
///
/// Most changes are edits, and after each the next process waits as well. But a program that writes what it is watched for would have
/// a process started in vain after every call. So after [`EDITS`] of them some calls are made without one. Where something changes
/// then too, no process of the program has done that, and all is as before. Where nothing does, and the next process is in vain
/// again, [`TRIALS`] times, the program writes itself.
#[derive(Default)]
pub(super) struct Changes {
    n_processes: u32,
    /// When the last change was found.
    last: Option<Instant>,
    /// After how many further calls no process is started.
    n_held_back: u32,
    /// Whether nothing has changed between calls without a process since the last one was in vain.
    is_quiet: bool,
}

impl Changes {
    /// Takes that a process which was started at `started` was given up; `true` where the program itself writes.
    pub(super) fn add(&mut self, started: Instant) -> bool {
        // One change gives up all that wait.
        if self.last.is_some_and(|last| started <= last) {
            return false;
        }
        self.last = Some(Instant::now());
        if self.n_processes < EDITS || self.is_quiet {
            self.n_processes += 1;
        }
        self.is_quiet = false;
        match self.n_processes.checked_sub(EDITS) {
            Some(TRIALS..) => return true,
            Some(n_trials) => self.n_held_back = 1 << n_trials,
            None => {}
        }
        false
    }

    /// Whether there are none.
    pub(super) fn is_none(&self) -> bool {
        self.n_processes == 0
    }

    /// Takes that nothing has changed from the end of a call to the next one, without a process.
    pub(super) fn is_quiet(&mut self) {
        self.is_quiet = true;
    }

    /// Why no process is started after this call.
    pub(super) fn hold_back(&mut self, why: &ColdStart) -> Option<ColdStart> {
        self.n_held_back = self.n_held_back.checked_sub(1)?;
        let (ColdStart::Changed(path) | ColdStart::HeldBack(path)) = why else { return None };
        Some(ColdStart::HeldBack(PathBuf::clone(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After each process, the calls without one.
    #[track_caller]
    fn check(is_quiet: bool, expect: &[u32]) {
        let mut changes = Changes::default();
        let mut found = Vec::new();
        for _ in 0..expect.len() {
            if changes.add(Instant::now()) {
                found.push(u32::MAX);
                continue;
            }
            assert!(!changes.add(changes.last.expect("one was given up")), "the same change");
            let why = ColdStart::Changed("/a".into());
            let n_calls = std::iter::from_fn(|| changes.hold_back(&why)).count();
            found.push(u32::try_from(n_calls).expect("few"));
            if is_quiet {
                changes.is_quiet();
            }
        }
        assert_eq!(found, expect);
    }

    #[test]
    fn a_program_that_writes_is_tried_less_and_less() {
        check(true, &[0, 0, 0, 0, 0, 0, 0, 1, 2, 4, u32::MAX]);
    }

    #[test]
    fn what_changes_without_a_process_is_no_proof() {
        check(false, &[0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    }
}
