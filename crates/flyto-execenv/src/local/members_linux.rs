//! Counting the members of a process group in proc(5).

use std::fs;

use rustix::process::Pid;

/// How many processes of `group` are alive; `None` where that cannot be counted. Zombies are not
/// alive: they wait for their parent and hold nothing.
///
/// The whole of `/proc` is read, about 10 µs for each process of the machine, which is why this is
/// asked only where a signal has found the group not empty.
pub(super) fn alive_in(group: Pid) -> Option<u32> {
    let alive = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter(|it| it.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
        .filter_map(|it| fs::read(it.path().join("stat")).ok())
        .filter(|stat| is_alive_in(stat, group))
        .count();
    u32::try_from(alive).ok()
}

/// Reads `pid (name) state ppid pgrp …`; the name may hold anything, also a closing parenthesis.
///
/// A line in another format counts as not alive.
fn is_alive_in(stat: &[u8], group: Pid) -> bool {
    let Some(close) = stat.iter().rposition(|it| *it == b')') else { return false };
    let mut fields = stat[close + 1..].split(u8::is_ascii_whitespace).filter(|it| !it.is_empty());
    let (Some(state), Some(pgrp)) = (fields.next(), fields.nth(1)) else { return false };
    let is_zombie = matches!(state, b"Z" | b"X" | b"x");
    !is_zombie && pgrp == group.as_raw_nonzero().to_string().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stat: &str, expect: bool) {
        let group = Pid::from_raw(42).expect("above zero");
        assert_eq!(is_alive_in(stat.as_bytes(), group), expect, "{stat}");
    }

    #[test]
    fn the_state_and_the_group_count() {
        check("7 (sh) S 1 42 42 0 -1 4194304", true);
        check("7 (sh) Z 1 42 42 0 -1 4194304", false);
        check("7 (sh) S 1 421 42 0 -1 4194304", false);
        check("7 (a) Z 1 42 (b) T 1 42 42", true);
        check("7 (sh", false);
        check("", false);
    }

    #[test]
    fn this_process_is_alive_in_its_own_group() {
        assert!(alive_in(rustix::process::getpgrp()) >= Some(1));
    }
}
