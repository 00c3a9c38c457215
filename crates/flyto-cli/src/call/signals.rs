//! Ctrl-C and its relatives during a call.
//!
//! The first signal takes the call back, so that the tool is ended with everything it started and
//! what it printed is still shown. The second one does not wait for that: the call is dropped, which
//! kills. When there is no call, a signal ends the program at once.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use flyto_tools::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use super::live::Live;
use crate::exit::Exit;

/// What the signals so far have come to.
#[derive(Debug)]
pub(super) struct Signals {
    cancellation: CancellationToken,
    live: Live,
    /// Completes the wait of [`Signals::kill`].
    kill: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the first signal.
    first: Option<u8>,
    is_killed: bool,
    call_ended: bool,
}

impl Signals {
    /// Listens from now on, in a thread of its own: the one that makes the call may be waiting for a
    /// reader.
    ///
    /// # Errors
    ///
    /// The system has no thread or no descriptor left.
    pub(super) fn listen(cancellation: CancellationToken, live: Live) -> io::Result<Arc<Self>> {
        let (kill, state) = (Notify::new(), Mutex::default());
        let signals = Arc::new(Self { cancellation, live, kill, state });
        let (ready, is_ready) = mpsc::channel();
        let listener = Arc::clone(&signals);
        thread::Builder::new().name("signals".to_owned()).spawn(move || listener.run(&ready))?;
        is_ready.recv().map_err(io::Error::other)??;
        Ok(signals)
    }

    /// Completes when the call is to be killed without delay.
    pub(super) async fn kill(&self) {
        while !self.state().is_killed {
            self.kill.notified().await;
        }
    }

    /// Says that the call is over; from now on a signal ends the program. Gives the way in which the
    /// program is to end at once, because a second signal has come before.
    pub(super) fn call_ended(&self) -> Option<Exit> {
        let mut state = self.state();
        state.call_ended = true;
        state.first.filter(|_| state.is_killed).map(Exit::Signal)
    }

    /// How the program ends because of a call that was taken back.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.state().first.map(Exit::Signal)
    }

    fn run(&self, ready: &mpsc::Sender<io::Result<()>>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let res: io::Result<()> = runtime.and_then(|runtime| {
            runtime.block_on(async {
                let mut kinds = Kinds::new()?;
                let _ = ready.send(Ok(()));
                loop {
                    self.take(kinds.next().await);
                }
            })
        });
        // Nobody waits for this any more once the listening has begun.
        let _ = ready.send(res);
    }

    fn take(&self, number: u8) {
        let mut state = self.state();
        if state.call_ended || state.is_killed {
            // After the call nothing is left to clean up; before its end, even dropping it has not
            // ended it.
            std::process::exit(Exit::Signal(state.first.unwrap_or(number)).code().into());
        }
        if state.first.is_none() {
            state.first = Some(number);
            self.cancellation.cancel();
            self.live.release();
        } else {
            state.is_killed = true;
            self.kill.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signals by which people and systems ask a program to end.
struct Kinds {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Kinds {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        let kind = tokio::select! {
            Some(()) = self.interrupt.recv() => SignalKind::interrupt(),
            Some(()) = self.terminate.recv() => SignalKind::terminate(),
            Some(()) = self.hang_up.recv() => SignalKind::hangup(),
            else => pending().await,
        };
        u8::try_from(kind.as_raw_value()).unwrap_or(crate::exit::SIGINT)
    }
}
