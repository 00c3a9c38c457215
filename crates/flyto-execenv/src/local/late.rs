//! Waking tasks a moment from now, many at the price of one.
//!
//! The runtime has timers, but one that is the next of all to expire costs a short call dearly: each time
//! the event loop waits, it is written into the clock's hardware, and taken out again when something else
//! came first. On a virtual machine both go through the hypervisor, and are a tenth of a call. Here a
//! thread sleeps once for all calls of a millisecond, as long as there are many.
//!
//! One thread for the whole process, `flyto-late`. It exists as long as tasks come in quick
//! succession, and ends after [`LINGER`] without any. Callers that get no [`Alarm`] use a timer of
//! their runtime.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::{Duration, Instant},
};

/// How long tasks wait to be woken: 1 ms.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// How long the thread stays when there is no task to wake: 20 ms.
const LINGER: Duration = Duration::from_millis(20);

/// Tasks that come in a row, with less than [`LINGER`] from one to the next, before there is a thread: 16, of
/// some eight calls. To start one costs more than a timer or two.
const MANY: u32 = 16;

/// A thread that is late by as much as this, 100 ms, may not be there: a fork of this process has none. Two do no
/// harm.
const PATIENCE: Duration = Duration::from_millis(100);

/// The waker; `None` once cancelled.
type Slot = Arc<Mutex<Option<Waker>>>;

/// A task that will be woken, unless this is dropped before.
///
/// Dropping it cancels the wake-up.
#[derive(Debug)]
pub(super) struct Alarm(Slot);

impl Alarm {
    /// Whether it is this task that will be woken.
    pub(super) fn wakes(&self, waker: &Waker) -> bool {
        lock(&self.0).as_ref().is_some_and(|it| it.will_wake(waker))
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // A runtime would start a second thread for a task that is woken in vain.
        let unused = lock(&self.0).take();
        drop(unused);
    }
}

/// The slot is whole between any two statements that change it.
fn lock(slot: &Slot) -> MutexGuard<'_, Option<Waker>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tasks are in the order of their times, since all wait equally long.
struct Late {
    /// The first is the next.
    tasks: VecDeque<(Instant, Slot)>,
    /// When the thread looks again at the latest, where there is one.
    next_look: Option<Instant>,
    /// When a task came that found no thread, and how many came in that row.
    asked: Option<(Instant, u32)>,
}

static LATE: Mutex<Late> =
    Mutex::new(Late { tasks: VecDeque::new(), next_look: None, asked: None });
/// Tells the thread that the list is no longer empty.
static CAME: Condvar = Condvar::new();

fn late() -> MutexGuard<'static, Late> {
    LATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes a task once [`PAUSE`] has passed since `now`, and before twice as much has. `None` where a timer is to
/// do it: there are few such tasks, or the system is at its limits and has no thread for them.
pub(super) fn wake_after(now: Instant, waker: &Waker) -> Option<Alarm> {
    let mut late = late();
    if late.next_look.is_none_or(|it| now > it + PATIENCE) {
        let row = late.asked.filter(|(at, _)| now < *at + LINGER).map_or(1, |(_, row)| row + 1);
        late.asked = Some((now, row));
        if row < MANY {
            return None;
        }
        if thread::Builder::new().name("flyto-late".into()).spawn(wake_all).is_err() {
            return None;
        }
        late.next_look = Some(now);
    }
    let was_empty = late.tasks.is_empty();
    let slot = Arc::new(Mutex::new(Some(waker.clone())));
    late.tasks.push_back((now + PAUSE, Arc::clone(&slot)));
    drop(late);
    if was_empty {
        CAME.notify_one();
    }
    Some(Alarm(slot))
}

/// The body of the thread. Tasks are woken outside of the lock.
fn wake_all() {
    let mut late = late();
    loop {
        if late.tasks.is_empty() {
            late.next_look = Some(Instant::now() + LINGER);
            let waited = CAME.wait_timeout(late, LINGER).unwrap_or_else(PoisonError::into_inner);
            late = waited.0;
            if waited.1.timed_out() && late.tasks.is_empty() {
                late.next_look = None;
                return;
            }
        } else {
            late.next_look = Some(Instant::now() + PAUSE);
            drop(late);
            thread::sleep(PAUSE);
            let now = Instant::now();
            late = self::late();
            let n_due = late.tasks.partition_point(|(due, _)| *due <= now);
            let due: Vec<_> = late.tasks.drain(..n_due).collect();
            // A task that is woken may want the lock.
            drop(late);
            due.iter().filter_map(|(_, slot)| lock(slot).take()).for_each(Waker::wake);
            late = self::late();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, task::Wake};

    use super::*;

    /// A waker that sends the time at which it is called.
    struct TimedWaker(mpsc::Sender<Instant>);

    impl Wake for TimedWaker {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(Instant::now());
        }
    }

    #[test]
    fn a_task_is_woken_and_not_too_early_also_after_the_thread_has_gone() {
        let (sender, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(TimedWaker(sender)));
        for _ in 0..2 {
            let now = Instant::now();
            while wake_after(now, &waker).is_none() {}
            let alarm = || wake_after(now, &waker).expect("there is a thread");
            let _alarms = [alarm(), alarm(), alarm()];
            drop(alarm());
            // A thread that seems not to be there gets a second one, and no task is forgotten for that.
            while wake_after(now + 2 * PATIENCE, &waker).is_none() {}
            // On a loaded machine the time may be over before it was dropped.
            let is_dropped_before = Instant::now() < now + PAUSE;
            for _ in 0..3 {
                let at = woken.recv_timeout(Duration::from_secs(60)).expect("it is woken");
                assert!(at >= now + PAUSE);
            }
            while late().next_look.is_some() {
                thread::yield_now();
            }
            let n_others = woken.try_iter().count();
            assert!(n_others == 0 || !is_dropped_before, "the fourth was dropped");
        }
    }
}
