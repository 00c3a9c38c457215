//! Clients of the era of handshakes over HTTP: each has a session with a name that cannot be guessed.
//!
//! A session holds what a connection over streams would: what was negotiated, the calls in flight, the questions that wait. A client that goes
//! away without a word leaves it behind, so their number is bounded.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::random_name;
use crate::server::peer::Session;

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

    /// Keeps one whose handshake is done, and gives its name. Where there are too many, it takes the place of that one of the
    /// [idle](is_idle) ones which was used least recently: its client opens a new one.
    ///
    /// # Errors
    ///
    /// None of them is idle, or the system gives no random numbers.
    pub(super) fn keep(&self, session: Arc<Session>) -> Result<String, String> {
        let name = random_name::<16>().map_err(|err| format!("failed to open a session: {err}"))?;
        let mut open = self.open_ones();
        while open.len() >= self.max.max(1) {
            let idle = open.iter().filter(|(_, (it, _))| is_idle(it));
            let Some((oldest, _)) = idle.min_by_key(|(_, (_, used))| *used) else {
                let max = self.max.max(1);
                let each = "each has calls, jobs or an open stream";
                return Err(format!("there are {max} sessions, which is the most, and {each}"));
            };
            let oldest = oldest.clone();
            if let Some((session, _)) = open.remove(&oldest) {
                session.end();
            }
        }
        open.insert(name.clone(), (session, Instant::now()));
        Ok(name)
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

/// Whether nothing is done for the client. What is done has the session, as calls and streams do, or its jobs.
fn is_idle(session: &Arc<Session>) -> bool {
    Arc::strong_count(session) == 1 && Arc::strong_count(&session.jobs) == 1
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;
    use crate::server::peer::CallRoom;

    fn session() -> Arc<Session> {
        Session::lasting(Some(CallRoom::new(1, &Arc::new(Semaphore::new(1)))))
    }

    #[test]
    fn only_an_idle_session_makes_room() {
        let sessions = Sessions::new(3);
        let names: Vec<_> = (0..3).map(|_| sessions.keep(session()).unwrap()).collect();
        // A call of the first, and a job of the second.
        let used = sessions.get(&names[0]).unwrap();
        let job = Arc::clone(&sessions.get(&names[1]).unwrap().jobs);
        let third = sessions.get(&names[2]).unwrap();
        assert!(sessions.keep(session()).unwrap_err().contains("there are 3 sessions"));
        assert!(!third.ended.is_cancelled());
        drop(third);
        let fourth = sessions.keep(session()).unwrap();
        let is_there = |name: &str| sessions.get(name).is_some();
        assert!(is_there(&names[0]) && is_there(&names[1]) && is_there(&fourth));
        assert!(!is_there(&names[2]) && !used.ended.is_cancelled());
        // The one that was used least recently.
        drop((used, job));
        assert!(is_there(&names[0]));
        sessions.keep(session()).unwrap();
        assert!(is_there(&names[0]) && !is_there(&names[1]));
    }
}
