//! What running processes have used: not told here.

use rustix::process::Pid;

use crate::Usage;

/// What a process and its descendants have used so far. This system has no portable way to tell.
#[must_use]
pub fn usage_so_far(_process: Pid, _is_counted: bool) -> Usage {
    Usage::unknown()
}

/// Bytes of memory that a process and its descendants hold. This system has no portable way to tell.
#[must_use]
pub fn memory_held(_process: Pid, _is_counted: bool) -> Option<u64> {
    None
}

/// Whether a process or one of its descendants is stopped, or may be: this system has no portable way to tell.
pub(super) fn may_be_stopped(_process: Pid) -> bool {
    true
}
