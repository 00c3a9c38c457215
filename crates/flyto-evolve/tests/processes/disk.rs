//! Disks without space.

use std::{path::Path, process::Command};

use crate::{child, program};

/// RLIMIT_FSIZE (setrlimit(2)) stands in for the end of the disk wherever there is a shell. Its signal is ignored, as
/// a program that wants the error has to.
pub(crate) fn size_limit(dir: &Path) {
    let script = r#"trap "" XFSZ; ulimit -f 64; exec "$@""#;
    let mut shell = program("sh");
    shell.args(["-c", script, "sh"]);
    let last = filled(shell, dir).unwrap_or_else(|err| panic!("{err}"));
    // 64 blocks of 512 B, or of 1,024 B in some shells.
    assert!((5..70).contains(&last), "{last} versions");
}

/// A file system of 400 KiB. What mounts it is of [`mounting`].
pub(crate) fn full(dir: &Path) {
    let script = r#"mount -t tmpfs -o size=400k,mode=700 tmpfs "$1" && shift && exec "$@""#;
    let mut unshare = mounting().expect("without it, the trial is left out");
    unshare.args(["sh", "-c", script, "sh"]).arg(dir);
    let last = filled(unshare, dir).unwrap_or_else(|err| panic!("{err}"));
    assert!((5..60).contains(&last), "{last} versions");
}

/// unshare(1) with what lets a command mount file systems here: as root, or in a user namespace of its own.
pub(crate) fn mounting() -> Option<Command> {
    let unshare = |flags: &[&str]| {
        let mut res = program("unshare");
        res.arg("--mount").args(flags);
        res
    };
    [&[][..], &["--map-root-user"]].into_iter().find_map(|flags| {
        let can_mount = unshare(flags).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
        can_mount.is_ok_and(|it| it.status.success()).then(|| unshare(flags))
    })
}

/// Runs `fill` behind another command, and returns how many versions there was room for.
fn filled(mut around: Command, dir: &Path) -> Result<u64, String> {
    let task = child("fill", dir);
    let output = around.arg(task.get_program()).args(task.get_args()).output();
    let output = output.map_err(|err| err.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(|err| format!("{err}"))
}
