//! Clients of the era of handshakes over HTTP: each has a session with a name that cannot be guessed.
//!
//! A session holds what a connection over streams would: the terms, the calls in flight, the questions that wait. A client that goes
//! away without a word leaves it behind, so their number is bounded.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::random_name;
use crate::server::peer::{CallRoom, Session};

/// The sessions by their names.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Most of them.
    max: usize,
    /// Each with the time at which it was used last.
    open: Mutex<HashMap<String, (Arc<Session>, Instant)>>,
}

impl Sessions {
    /// None yet.
    pub(super) fn new(max: usize) -> Self {
        Self { max, open: Mutex::default() }
    }

    /// Opens one. Where there are too many, the one that was used least recently is closed, and its jobs are
    /// cancelled: its client opens a new one.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers.
    pub(super) fn open(&self, room: CallRoom) -> io::Result<(String, Arc<Session>)> {
        let (name, session) = (random_name::<16>()?, Session::lasting(Some(room)));
        let mut open = self.open_ones();
        while open.len() >= self.max.max(1)
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, used))| *used)
        {
            let oldest = oldest.0.clone();
            if let Some((session, _)) = open.remove(&oldest) {
                session.end();
            }
        }
        open.insert(name.clone(), (Arc::clone(&session), Instant::now()));
        Ok((name, session))
    }

    /// The session of this name, which counts as used.
    pub(super) fn get(&self, name: &str) -> Option<Arc<Session>> {
        let mut open = self.open_ones();
        let (session, used) = open.get_mut(name)?;
        *used = Instant::now();
        Some(Arc::clone(session))
    }

    /// Takes the session of this name out, which ends it.
    pub(super) fn remove(&self, name: &str) -> Option<Arc<Session>> {
        let (session, _) = self.open_ones().remove(name)?;
        session.end();
        Some(session)
    }

    fn open_ones(&self) -> MutexGuard<'_, HashMap<String, (Arc<Session>, Instant)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
