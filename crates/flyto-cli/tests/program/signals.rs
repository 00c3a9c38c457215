//! Signals that the tests were started to ignore.

use std::fs;
use std::sync::Once;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Those that tests send to the program.
const SENT: [Signal; 8] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::XCPU,
];

/// Lets programs that are started from now on die of the signals that tests send, also where this
/// process ignores them: a shell has Ctrl-C ignored in what it starts in the background, and `nohup`
/// the end of its terminal. What is ignored is inherited, and the program leaves it so.
///
/// A handler is not inherited (execve(2)), so each of them gets one that does nothing. Signals that
/// this process does not ignore are left alone: they are to end it as ever.
pub(crate) fn stop_ignoring() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mask = ignored();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _in_runtime = runtime.enter();
        for it in SENT.into_iter().filter(|it| mask & bit(*it) != 0) {
            // The handler stays when no part listens any more.
            let _ = signal(SignalKind::from_raw(it.as_raw())).unwrap();
        }
    });
}

/// The line `SigIgn:` of proc_pid_status(5); none where there is no such file.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    mask.map_or(0, |it| u64::from_str_radix(it.trim(), 16).unwrap())
}

fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}

#[test]
fn none_of_them_is_ignored_any_more() {
    stop_ignoring();
    assert!(SENT.into_iter().all(|it| ignored() & bit(it) == 0));
}
