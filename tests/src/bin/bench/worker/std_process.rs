//! The standard library's processes.

use std::{
    io::Write,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use nix::unistd::geteuid;

use crate::{
    Result,
    job::{Job, REQUEST_BYTES},
    programs::program,
};

/// One call with `posix_spawn(3)`, which the library takes by itself.
pub(super) fn call(job: &Job) -> Result {
    finish(program(job.child.as_os_str()))
}

/// One call with `fork(2)`, which the library falls back to where a user is set, be it our own.
pub(super) fn forking_call(job: &Job) -> Result {
    let mut command = program(job.child.as_os_str());
    command.uid(geteuid().as_raw());
    finish(command)
}

/// One call of the child in bubblewrap, with what bounds it elsewhere: it ends with its parent and all
/// its descendants, sees the file system read-only, and has no network.
pub(super) fn bubblewrap_call(job: &Job) -> Result {
    let mut command = program(BUBBLEWRAP.as_ref());
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    command.args(["--unshare-all", "--die-with-parent", "--"]).arg(&job.child);
    finish(command)
}

/// Where distributions install bubblewrap.
pub(super) const BUBBLEWRAP: &str = "/usr/bin/bwrap";

fn finish(mut command: Command) -> Result {
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // The request fits into the pipe, so writing it does not wait for the child.
    let mut stdin = child.stdin.take().ok_or("stdin is piped")?;
    stdin.write_all(&[b'x'; REQUEST_BYTES])?;
    drop(stdin);
    let output = child.wait_with_output()?;
    if output.status.success() && output.stdout.len() == REQUEST_BYTES && output.stderr.is_empty() {
        return Ok(());
    }
    Err(format!("the child answered {output:?}").into())
}
