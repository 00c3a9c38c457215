//! Signals, by number and by name.

use std::{borrow::Cow, fmt};

/// A signal by its number where the program ran.
///
/// The numbers of this crate's constants are the same on all Unix systems. 0 and numbers above
/// those of the system are no signals; a backend refuses to send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(pub i32);

impl Signal {
    /// Hang-up.
    pub const HUP: Self = Self(1);
    /// Interrupt, as from Ctrl-C.
    pub const INT: Self = Self(2);
    /// Kill; cannot be caught.
    pub const KILL: Self = Self(9);
    /// A request to end.
    ///
    /// What a grace begins with.
    pub const TERM: Self = Self(15);

    /// The signal's name, such as `SIGKILL`: signal(7), the numbers that Linux gives on most
    /// machines. Elsewhere only the numbers that POSIX fixes have names.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "SIGHUP",
            2 => "SIGINT",
            3 => "SIGQUIT",
            6 => "SIGABRT",
            9 => "SIGKILL",
            14 => "SIGALRM",
            15 => "SIGTERM",
            4 => "SIGILL",
            5 => "SIGTRAP",
            8 => "SIGFPE",
            11 => "SIGSEGV",
            13 => "SIGPIPE",
            #[cfg(target_os = "linux")]
            other => return linux_name(other),
            #[cfg(not(target_os = "linux"))]
            _ => return None,
        })
    }
}

/// The names that only Linux gives to these numbers.
#[cfg(target_os = "linux")]
const fn linux_name(number: i32) -> Option<&'static str> {
    Some(match number {
        7 => "SIGBUS",
        10 => "SIGUSR1",
        12 => "SIGUSR2",
        16 => "SIGSTKFLT",
        17 => "SIGCHLD",
        18 => "SIGCONT",
        19 => "SIGSTOP",
        20 => "SIGTSTP",
        21 => "SIGTTIN",
        22 => "SIGTTOU",
        23 => "SIGURG",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        26 => "SIGVTALRM",
        27 => "SIGPROF",
        28 => "SIGWINCH",
        29 => "SIGIO",
        30 => "SIGPWR",
        31 => "SIGSYS",
        _ => return None,
    })
}

impl Signal {
    /// The name that wire formats use: that of [`name`](Self::name) where there is one, else the number, as in
    /// `signal-34`. Numbers differ between systems, names do not: a signal sent as `SIGUSR1` arrives as what that is
    /// there.
    #[must_use]
    pub fn serial_name(self) -> Cow<'static, str> {
        match self.name() {
            Some(name) => name.into(),
            None => format!("signal-{}", self.0).into(),
        }
    }

    /// The signal of a [`serial_name`](Self::serial_name); `None` where this system has no such signal.
    ///
    /// ```
    /// use flyto_execenv::Signal;
    ///
    /// assert_eq!(Signal::from_serial_name("SIGTERM"), Some(Signal::TERM));
    /// assert_eq!(Signal::from_serial_name("signal-34"), Some(Signal(34)));
    /// ```
    #[must_use]
    pub fn from_serial_name(name: &str) -> Option<Self> {
        if let Some(number) = name.strip_prefix("signal-") {
            return number.parse().ok().filter(|it| (1..=LAST).contains(it)).map(Self);
        }
        (1..=LAST).map(Self).find(|it| it.name() == Some(name))
    }
}

/// The highest number that a system gives (signal(7): 64, MIPS has 127).
const LAST: i32 = 127;

impl fmt::Display for Signal {
    /// `signal 9, SIGKILL`; a number without a name stands alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "signal {}, {name}", self.0),
            None => write!(f, "signal {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_and_numbered() {
        assert_eq!(Signal::KILL.to_string(), "signal 9, SIGKILL");
        assert_eq!(Signal(64).to_string(), "signal 64");
    }

    #[test]
    fn serial_names_lead_back() {
        for number in 1..=LAST {
            let signal = Signal(number);
            assert_eq!(Signal::from_serial_name(&signal.serial_name()), Some(signal));
        }
        for odd in ["", "SIG", "sigkill", "9", "signal-", "signal-0", "signal--1", "signal-128"] {
            assert_eq!(Signal::from_serial_name(odd), None, "{odd}");
        }
    }
}
