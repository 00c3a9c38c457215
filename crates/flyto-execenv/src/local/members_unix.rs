//! Where process groups cannot be listed, only whether one is empty can be told.

use rustix::process::{Pid, test_kill_process_group};

/// How many processes of `group` are alive; `None` where that cannot be counted.
pub(super) fn alive_in(group: Pid) -> Option<u32> {
    test_kill_process_group(group).is_err().then_some(0)
}
