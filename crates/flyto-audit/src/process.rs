//! The process that began a call.
//!
//! All of it is read from proc(5), and nothing is sent to a process. Where `/proc` hides the
//! processes of other users (mount option `hidepid`), one of those counts as ended.

use std::{borrow::Cow, fs, sync::OnceLock};

use serde::{Deserialize, Serialize};

/// What names a process beyond its number, which the system gives again: proc(5), `/proc/pid/stat`.
///
/// On systems other than Linux there is only the number, and nothing tells whether the process is alive.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Process {
    /// Its number.
    /// As the process itself sees it, in its own PID namespace.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did (field 22 of `/proc/pid/stat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The first eight digits of `/proc/sys/kernel/random/boot_id`, which is another one after each restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The PID namespace that the number is of (pid_namespaces(7)), by its inode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
}

impl Process {
    /// The calling process.
    ///
    /// ```
    /// let process = flyto_audit::Process::current();
    /// assert_eq!(process.pid, std::process::id());
    /// assert_ne!(process.is_alive(), Some(false));
    /// ```
    #[must_use]
    pub fn current() -> Self {
        Self::known().into_owned()
    }

    /// The calling process, without a copy of what is known of it since the first question.
    pub(crate) fn known() -> Cow<'static, Self> {
        static CURRENT: OnceLock<Process> = OnceLock::new();
        let current = CURRENT.get_or_init(Self::ask);
        // A fork is another process with the memory of the first one.
        if current.pid == std::process::id() {
            Cow::Borrowed(current)
        } else {
            Cow::Owned(Self::ask())
        }
    }

    fn ask() -> Self {
        let pid = std::process::id();
        let start = stat_of("self").map(|(_, start)| start);
        Self { pid, start, boot: boot().map(str::to_owned), pid_namespace: pid_namespace() }
    }

    /// Whether the process is still alive; `None` where that cannot be told: on another system or after a move to
    /// another PID namespace.
    ///
    /// A zombie (proc(5), state `Z`) counts as ended: it runs no code.
    #[must_use]
    pub fn is_alive(&self) -> Option<bool> {
        let (start, boot, namespace) =
            (self.start?, self.boot.as_ref()?, self.pid_namespace.as_ref()?);
        if boot != self::boot()? {
            return Some(false);
        }
        if *namespace != pid_namespace()? {
            return None;
        }
        // Neither `Z` (a zombie) nor `X` (dead) does anything any more.
        let found = stat_of(&self.pid.to_string());
        Some(found.is_some_and(|(state, it)| it == start && !matches!(state, b'Z' | b'X')))
    }
}

/// State and start time in `/proc/NAME/stat`.
///
/// `NAME` is a number or `self`; `None` where there is no such process, or no such file system.
fn stat_of(name: &str) -> Option<(u8, u64)> {
    let text = fs::read(format!("/proc/{name}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold blanks and parentheses.
    let after_name = memchr::memrchr(b')', &text)? + 1;
    let mut fields = std::str::from_utf8(&text[after_name..]).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// What [`Process::boot`] is for the running system.
///
/// Read once per process. `None` on systems without `/proc`.
pub(crate) fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        id.get(..8).map(str::to_owned)
    };
    BOOT.get_or_init(read).as_deref()
}

fn pid_namespace() -> Option<u64> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Process;

    #[test]
    fn another_process_with_the_number_is_not_the_one() {
        let current = Process::current();
        assert_eq!(current.is_alive(), Some(true));
        let earlier = Process { start: current.start.map(|it| it + 1), ..current.clone() };
        assert_eq!(earlier.is_alive(), Some(false));
        let restarted = Process { boot: Some("00000000".into()), ..current.clone() };
        assert_eq!(restarted.is_alive(), Some(false));
        let elsewhere = Process { pid_namespace: Some(1), ..current.clone() };
        assert_eq!(elsewhere.is_alive(), None);
        let unknown = Process { start: None, ..current };
        assert_eq!(unknown.is_alive(), None);
    }
}
