//! Tokio's processes, as a careful host would use them without `ExecEnv`.

use std::{process::Stdio, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
    try_join,
};

use crate::{
    Result,
    job::{Job, REQUEST_BYTES},
};

/// One call: killed when dropped, in a group of its own; no deadline and no bound on output.
pub(super) async fn call(job: Arc<Job>) -> Result {
    #[expect(clippy::disallowed_methods, reason = "this is what an `ExecEnv` is compared with")]
    let mut command = Command::new(&job.child);
    command.process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().ok_or("stdin is piped")?;
    let mut stdout = child.stdout.take().ok_or("stdout is piped")?;
    let mut stderr = child.stderr.take().ok_or("stderr is piped")?;

    let feed = async move { stdin.write_all(&[b'x'; REQUEST_BYTES]).await };
    let (mut reply, mut complaint) = (Vec::new(), Vec::new());
    let (status, ..) = try_join!(
        child.wait(),
        feed,
        stdout.read_to_end(&mut reply),
        stderr.read_to_end(&mut complaint),
    )?;
    if status.success() && reply.len() == REQUEST_BYTES && complaint.is_empty() {
        return Ok(());
    }
    Err(format!("the child answered {} bytes, {status}", reply.len()).into())
}
