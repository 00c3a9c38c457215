//! How much work one check may still do, and the flag by which its caller abandons it.
//!
//! The validator's library has no place for a counter, so the budget of a check lies in a
//! thread-local variable: keywords of this crate find it there. Outside of [`Budget::during`] there
//! is none, and nothing is counted.

use std::cell::RefCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Steps of one check. A step is one state of an automaton for one byte of text, 15 ns in the slowest
/// engine, so a check ends after half a minute in the worst of cases.
pub(super) const MAX_STEPS: u64 = 2_000_000_000;
/// Steps that the walk which finds words for a refusal may take in any case.
const MIN_STEPS_OF_WORDS: u64 = 50_000_000;
/// How often that walk may do what the check did: a part is asked about once for each level above it.
const ROUNDS_OF_WORDS: u64 = 4;

/// What one check has done so far. The thread that checks and the caller share it.
///
/// `is_stopped` is set from outside, `is_spent` by the check itself. Either makes keywords answer
/// at once.
#[derive(Debug)]
pub(super) struct Budget {
    is_stopped: AtomicBool,
    is_spent: AtomicBool,
    /// Steps that there were at the start.
    all: u64,
    left: AtomicU64,
    /// JSON pointer to the keyword that was checked last.
    place: Mutex<Option<Arc<str>>>,
    /// Where the value lies in memory that it was checked against; never followed, only compared.
    value: AtomicUsize,
}

thread_local! {
    /// The budget of the check that runs in this thread.
    static CURRENT: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

impl Budget {
    /// All of the steps are left.
    pub(super) fn new(steps: u64) -> Arc<Self> {
        Arc::new(Self {
            is_stopped: AtomicBool::new(false),
            is_spent: AtomicBool::new(false),
            all: steps,
            left: AtomicU64::new(steps),
            place: Mutex::new(None),
            value: AtomicUsize::new(0),
        })
    }

    /// Runs `work` in this thread under this budget.
    ///
    /// A budget within another one takes its place until `work` has ended, also by a panic.
    pub(super) fn during<R>(self: &Arc<Self>, work: impl FnOnce() -> R) -> R {
        let _restore = Restore(CURRENT.replace(Some(Arc::clone(self))));
        work()
    }

    /// Ends the check: keywords answer at once from now on, and the verdict means nothing.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Leaves to the words of a refusal what they may take of the steps that are left.
    pub(super) fn limit_to_words(&self) {
        let taken = self.all.saturating_sub(self.left.load(Ordering::Relaxed));
        let most = taken.saturating_mul(ROUNDS_OF_WORDS).max(MIN_STEPS_OF_WORDS);
        self.left.fetch_min(most, Ordering::Relaxed);
    }

    /// Whether the steps did not suffice.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// The keyword that was checked last.
    ///
    /// A JSON pointer into the schema; `None` before the first keyword that counts.
    pub(super) fn place(&self) -> Option<Arc<str>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it is this part of a value that was checked last.
    pub(super) fn is_at(&self, part: &Value) -> bool {
        self.value.load(Ordering::Relaxed) == ptr::from_ref(part).addr()
    }

    fn is_over(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed) || self.is_spent()
    }

    fn exhaust(&self) {
        self.left.store(0, Ordering::Relaxed);
        self.is_spent.store(true, Ordering::Relaxed);
    }

    /// Whether the check may go on.
    fn spend(&self, steps: u64) -> bool {
        // One thread spends; the others stop it.
        match self.left.load(Ordering::Relaxed).checked_sub(steps) {
            Some(left) => self.left.store(left, Ordering::Relaxed),
            None => self.exhaust(),
        }
        !self.is_over()
    }
}

/// Puts back what was the budget of the thread.
struct Restore(Option<Arc<Budget>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

/// `default` where no check runs in this thread.
fn with_current<R>(default: R, ask: impl FnOnce(&Budget) -> R) -> R {
    CURRENT.with_borrow(|it| it.as_deref().map_or(default, ask))
}

/// Takes `steps` for the keyword at `place`, which checks `value`; false where the check is to end.
pub(super) fn spend_at(place: &Arc<str>, value: &Value, steps: u64) -> bool {
    with_current(true, |it| {
        if it.is_over() {
            return false;
        }
        *it.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(place));
        it.value.store(ptr::from_ref(value).addr(), Ordering::Relaxed);
        it.spend(steps)
    })
}

/// Takes `steps`; false where the check is to end.
pub(super) fn spend(steps: u64) -> bool {
    with_current(true, |it| it.spend(steps))
}

/// Says that a matcher reached a limit of its own.
pub(super) fn exhaust() {
    with_current((), Budget::exhaust);
}

/// Whether the check of this thread is to end.
pub(super) fn is_over() -> bool {
    with_current(false, Budget::is_over)
}
