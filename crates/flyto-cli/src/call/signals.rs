//! Ctrl-C and its relatives during a call.
//!
//! The first signal takes the call back, so that the tool is ended with everything it started and
//! what it printed is still shown. The second one does not wait for that: the call is dropped, which
//! kills; Ctrl-\ does so at the first time. When there is no call, a signal ends the program at once.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::Poll;
use std::thread;

use flyto_tools::CancellationToken;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use super::live::Live;
use crate::exit::{Ending, Exit};

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

    /// Says that the call is over; from now on a signal ends the program. Gives the number of the
    /// first signal where the program is to end at once, because a second one has come before.
    pub(super) fn call_ended(&self) -> Option<u8> {
        let mut state = self.state();
        state.call_ended = true;
        state.first.filter(|_| state.is_killed)
    }

    /// The number of the first signal that cancelled the call.
    pub(super) fn first(&self) -> Option<u8> {
        self.state().first
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
        // This is not waited for any more once the listening has begun.
        let _ = ready.send(res);
    }

    fn take(&self, number: u8) {
        let mut state = self.state();
        if state.call_ended || state.is_killed {
            // After the call nothing is left to clean up; before its end, even dropping it has not
            // ended it.
            let ending = Ending::Killed(state.first.unwrap_or(number));
            std::process::exit(Exit::of(&ending).code().into());
        }
        let is_first = state.first.is_none();
        if is_first {
            state.first = Some(number);
            self.cancellation.cancel();
            self.live.release();
        }
        if !is_first || number == self::number(QUIT) {
            state.is_killed = true;
            self.kill.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signals that would end the program and leave the tool behind.
pub(crate) struct Kinds(Vec<(u8, Signal)>);

/// Lets a write beyond the largest size of a file fail from now on; without a handler, it kills.
pub(super) fn fail_large_writes(ignored: Ignored) -> io::Result<()> {
    let file_size = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    if !ignored.contains(file_size) {
        // The handler stays when no part of the program listens any more.
        let _ = signal(file_size)?;
    }
    Ok(())
}

impl Kinds {
    /// Takes all of them but those that the program was started to ignore: `nohup` does so
    /// with SIGHUP, and a shell script with Ctrl-C for what runs in its background.
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = Ignored::of_this_process();
        fail_large_writes(ignored)?;
        let kinds = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            QUIT,
            SignalKind::user_defined1(),
            SignalKind::user_defined2(),
            SignalKind::alarm(),
            SignalKind::from_raw(rustix::process::Signal::XCPU.as_raw()),
        ];
        let taken = kinds.into_iter().filter(|it| !ignored.contains(*it));
        let res: io::Result<_> = taken.map(|it| Ok((number(it), signal(it)?))).collect();
        res.map(Self)
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            for (number, signal) in &mut self.0 {
                if let Poll::Ready(Some(())) = signal.poll_recv(cx) {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Ctrl-\: the user has no patience.
const QUIT: SignalKind = SignalKind::quit();

fn number(kind: SignalKind) -> u8 {
    u8::try_from(kind.as_raw_value()).unwrap_or(crate::exit::SIGINT)
}

/// The signals that a process ignores: bit 0 stands for the signal 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ignored(u64);

impl Ignored {
    /// Those of this process. Where the system does not tell (it does on Linux), there are none.
    pub(super) fn of_this_process() -> Self {
        std::fs::read_to_string("/proc/self/status").map_or(Self(0), |it| Self::of_status(&it))
    }

    /// Reads the line `SigIgn:` of proc_pid_status(5).
    fn of_status(text: &str) -> Self {
        let mask = text.lines().find_map(|it| it.strip_prefix("SigIgn:"));
        Self(mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0))
    }

    fn contains(self, kind: SignalKind) -> bool {
        let bit = u32::from(number(kind)).checked_sub(1).and_then(|it| 1_u64.checked_shl(it));
        bit.is_some_and(|it| self.0 & it != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let ignored = Ignored::of_status("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n");
        assert_eq!(ignored, Ignored(0x1001));
        assert!(ignored.contains(SignalKind::hangup()));
        assert!(!ignored.contains(SignalKind::interrupt()));
        assert!(!ignored.contains(SignalKind::terminate()));
        assert_eq!(Ignored::of_status("Name:\tflyto\n"), Ignored(0));
    }
}
