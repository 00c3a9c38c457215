//! A mutex whose wait has a bound.
//!
//! flock(2) does not keep the threads of one process apart that share an open file, so they go
//! through this first.

use std::{
    ops::{Deref, DerefMut},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// Lets one thread at a time have a value. std's mutex cannot be waited for with a bound.
#[derive(Debug)]
pub(super) struct Gate<T> {
    place: Mutex<Place<T>>,
    is_back: Condvar,
}

#[derive(Debug)]
struct Place<T> {
    /// `None` while a thread has it.
    value: Option<T>,
    /// Threads that wait for it. Without one, giving it back wakes none, which costs a system call.
    n_waiting: usize,
}

impl<T> Gate<T> {
    pub(super) fn new(value: T) -> Self {
        let place = Place { value: Some(value), n_waiting: 0 };
        Self { place: Mutex::new(place), is_back: Condvar::new() }
    }

    /// Waits for the value; `None` where that takes until `deadline`.
    ///
    /// The value goes to whichever thread takes it first: there is no queue.
    pub(super) fn enter(&self, deadline: Instant) -> Option<Entered<'_, T>> {
        let mut place = self.place();
        loop {
            if let Some(value) = place.value.take() {
                return Some(Entered { gate: self, value: Some(value) });
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            place.n_waiting += 1;
            let waited = self.is_back.wait_timeout(place, left);
            place = waited.unwrap_or_else(PoisonError::into_inner).0;
            place.n_waiting -= 1;
        }
    }

    /// No code runs under the mutex that could panic and leave the value in disorder.
    ///
    /// So a poisoned mutex is used as it is.
    fn place(&self) -> MutexGuard<'_, Place<T>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value, which goes back when this is dropped.
#[derive(Debug)]
pub(super) struct Entered<'g, T> {
    gate: &'g Gate<T>,
    /// `None` only while this is dropped.
    value: Option<T>,
}

const TAKEN: &str = "the value leaves only in `drop`";

impl<T> Deref for Entered<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect(TAKEN)
    }
}

impl<T> DerefMut for Entered<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(TAKEN)
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        let mut place = self.gate.place();
        place.value = self.value.take();
        let is_waited_for = place.n_waiting > 0;
        drop(place);
        if is_waited_for {
            self.gate.is_back.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::Gate;

    #[test]
    fn a_value_that_is_out_is_waited_for_up_to_the_deadline() {
        let gate = Gate::new(1);
        let mut first = gate.enter(Instant::now()).unwrap();
        assert!(gate.enter(Instant::now()).is_none());
        *first += 1;
        drop(first);
        assert_eq!(*gate.enter(Instant::now()).unwrap(), 2);
    }
}
