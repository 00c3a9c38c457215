//! A task that is polled again at once where it wakes itself.
//!
//! hyper's connection hands the body of a request and its end over to the service in the same task, and wakes that task each time. A
//! runtime of several threads puts a task that wakes itself behind all others and wakes another thread to take it, so that each request
//! would change threads. Here such a wake costs one more poll.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Polls in a row, at most. Then the other tasks of the runtime are polled first.
const MAX_POLLS: usize = 8;

const WAITING: u8 = 0;
const POLLED: u8 = 1;
/// Polled, and woken meanwhile.
const WOKEN: u8 = 2;

/// A future whose wakes of itself stay with it.
pub(super) struct OwnWakes<F> {
    future: Pin<Box<F>>,
    state: Arc<State>,
    waker: Waker,
}

struct State {
    is: AtomicU8,
    /// Wakes the task while the future waits.
    task: Mutex<Waker>,
}

impl<F: Future> OwnWakes<F> {
    pub(super) fn new(future: F) -> Self {
        let task = Mutex::new(Waker::noop().clone());
        let state = Arc::new(State { is: AtomicU8::new(WAITING), task });
        Self { future: Box::pin(future), waker: Arc::clone(&state).into(), state }
    }
}

impl<F: Future> Future for OwnWakes<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.state.task().clone_from(cx.waker());
        for _ in 0..MAX_POLLS {
            this.state.is.store(POLLED, Ordering::SeqCst);
            let res = this.future.as_mut().poll(&mut Context::from_waker(&this.waker));
            // A wake from here on wakes the task.
            let woken = this.state.is.swap(WAITING, Ordering::SeqCst) == WOKEN;
            if res.is_ready() || !woken {
                return res;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl State {
    fn task(&self) -> std::sync::MutexGuard<'_, Waker> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let (order, failed) = (Ordering::SeqCst, Ordering::SeqCst);
        if self.is.compare_exchange(POLLED, WOKEN, order, failed) == Err(WAITING) {
            self.task().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, sync::atomic::AtomicUsize};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// How often the task is woken by a future that wakes itself so often, in one poll of the task.
    fn wakes(mut n_times: usize) -> (Poll<()>, usize) {
        let count = Arc::new(Count::default());
        let mut future = OwnWakes::new(poll_fn(move |cx| {
            if n_times == 0 {
                return Poll::Ready(());
            }
            n_times -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let waker = Waker::from(Arc::clone(&count));
        let res = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        (res, count.0.load(Ordering::SeqCst))
    }

    #[test]
    fn a_wake_of_itself_is_one_more_poll() {
        assert_eq!(wakes(MAX_POLLS - 1), (Poll::Ready(()), 0));
        // The others come first then.
        assert_eq!(wakes(MAX_POLLS), (Poll::Pending, 1));
    }

    #[test]
    fn a_wake_from_outside_wakes_the_task() {
        let count = Arc::new(Count::default());
        let mut inner = None;
        let mut future = OwnWakes::new(poll_fn(|cx| {
            inner = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let waker = Waker::from(Arc::clone(&count));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        drop(future);
        inner.expect("it was polled").wake();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
    }
}
