//! Supervisors that wait for their next program, of all pools of a backend.
//!
//! All pools of a backend share one list, so that its bound holds for all of them. Supervisors are
//! dropped outside of the lock, since their end takes time.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::supervisor::Supervisor;

/// Supervisors kept for later calls: 64 in all pools together, more than are in flight on machines of up
/// to four CPUs by default. One has some 100 KiB of memory.
const MAX_IDLE: usize = 64;

/// How long an idle one is kept: 60 s. No clock rings for that: it is looked at when another one
/// is given back, so that a host without calls keeps those that it has.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// How many idle ones are ended when another one is given back: 2, so that no call pays
/// for a burst of an hour ago, and there are soon none left.
///
/// A bound on the work of one call; the bound [`MAX_IDLE`] is kept at once.
const ENDED_AT_ONCE: usize = 2;

/// Which pool.
///
/// Unique within the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolId(u64);

impl PoolId {
    /// One that no pool of this process has had.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Those that wait, the one that waits longest at the front.
///
/// `T` is a supervisor; tests put numbers in its place.
#[derive(Debug)]
pub(crate) struct Idle<T = Supervisor>(Mutex<VecDeque<Waiting<T>>>);

/// A supervisor without a program, and since when it waits.
#[derive(Debug)]
struct Waiting<T> {
    pool: PoolId,
    since: Instant,
    supervisor: T,
}

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Idle<T> {
    /// The list is whole between any two statements that change it, so a panic elsewhere while it
    /// was locked does no harm.
    fn all(&self) -> MutexGuard<'_, VecDeque<Waiting<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one of a pool that was used last: what it needs is still in the caches.
    ///
    /// `None` where no supervisor of this pool waits.
    pub(super) fn take(&self, pool: PoolId) -> Option<T> {
        let mut all = self.all();
        let at = all.iter().rposition(|it| it.pool == pool)?;
        all.remove(at).map(|it| it.supervisor)
    }

    /// Keeps one. Those that it takes the place of, and some of the idle ones, are what is
    /// returned: to be dropped, which ends them.
    #[must_use]
    pub(super) fn put(&self, pool: PoolId, supervisor: T, now: Instant) -> Vec<T> {
        let mut all = self.all();
        all.push_back(Waiting { pool, since: now, supervisor });
        let is_old = |it: &Waiting<T>| now.saturating_duration_since(it.since) > MAX_WAIT;
        let n_old = all.iter().take(ENDED_AT_ONCE).filter(|it| is_old(it)).count();
        let n = n_old.max(all.len().saturating_sub(MAX_IDLE));
        all.drain(..n).map(|it| it.supervisor).collect()
    }

    /// Those of a pool that is no more.
    #[must_use]
    pub(super) fn take_all(&self, pool: PoolId) -> Vec<T> {
        let mut all = self.all();
        let (these, others) = all.drain(..).partition(|it| it.pool == pool);
        *all = others;
        let these: VecDeque<_> = these;
        these.into_iter().map(|it| it.supervisor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_used_comes_first() {
        let (idle, now) = (Idle::default(), Instant::now());
        let (a, b) = (PoolId::new(), PoolId::new());
        for (pool, supervisor) in [(a, 1), (b, 2), (a, 3), (b, 4)] {
            assert!(idle.put(pool, supervisor, now).is_empty());
        }
        assert_eq!((idle.take(a), idle.take(a), idle.take(a)), (Some(3), Some(1), None));
        assert_eq!((idle.take_all(a), idle.take_all(b)), (vec![], vec![2, 4]));
        assert_eq!(idle.take(b), None);
    }

    #[test]
    fn one_bound_holds_for_all_pools() {
        let (idle, now) = (Idle::default(), Instant::now());
        let pools: Vec<_> = (0..4).map(|_| PoolId::new()).collect();
        let mut ended = Vec::new();
        for n in 0..MAX_IDLE + 3 {
            ended.extend(idle.put(pools[n % 4], n, now));
        }
        assert_eq!(ended, [0, 1, 2]);
        let left: usize = pools.iter().map(|it| idle.take_all(*it).len()).sum();
        assert_eq!(left, MAX_IDLE);
    }

    #[test]
    fn unneeded_supervisors_go_two_at_a_time() {
        let (idle, begin, pool) = (Idle::default(), Instant::now(), PoolId::new());
        for n in 0..5 {
            assert!(idle.put(pool, n, begin).is_empty());
        }
        assert!(idle.put(pool, 5, begin + MAX_WAIT).is_empty());
        let later = begin + MAX_WAIT + Duration::from_millis(1);
        let next = || idle.put(pool, idle.take(pool).expect("there are some"), later);
        assert_eq!([next(), next(), next(), next()], [vec![0, 1], vec![2, 3], vec![4], vec![]]);
    }
}
