//! What is measured: `ExecEnv` with the local backend, and all that is on by default.

use std::{
    fs,
    time::{Duration, Instant},
};

use bytes::Bytes;
use flyto_execenv::{Capture, ExecEnv, Output, Program, Sha256, Spec, local::Local};
use sha2::Digest;
use tokio::runtime::Runtime;

use super::CHILD_PATH;
use crate::{
    Result,
    job::{BYTES_PER_SECOND, GROWTH_BYTES, Job, REQUEST_BYTES, Sample},
    system,
};

/// Far beyond any call here; the clock runs all the same.
const DEADLINE: Duration = Duration::from_secs(30);

/// Output before the measured one.
const SMALL_BYTES: u64 = 1024 * 1024;

static REQUEST: [u8; REQUEST_BYTES] = [b'x'; REQUEST_BYTES];

/// One call with a deadline, bounded capture and a group kill.
pub(super) async fn call(env: ExecEnv, program: Program) -> Result {
    let spec = Spec::new(program)
        .env_var("PATH", CHILD_PATH)
        .stdin_bytes(Bytes::from_static(&REQUEST))
        .deadline(DEADLINE);
    let outcome = env.run(spec).await?;
    let is_complete = outcome.stdout.head.len() == REQUEST_BYTES && outcome.stderr.total_bytes == 0;
    if outcome.success() && is_complete {
        return Ok(());
    }
    Err(format!("the child answered {outcome:?}").into())
}

/// The handle of a host.
pub(super) fn env() -> ExecEnv {
    ExecEnv::new(Local::new())
}

/// The child as it is now, and no other bytes.
pub(super) fn pinned(job: &Job) -> Result<Program> {
    let sha256 = Sha256(sha2::Sha256::digest(fs::read(&job.child)?).into());
    Ok(Program::Pinned { path: job.child.clone(), sha256 })
}

/// Captures much output, keeping `limit_bytes` or the default of it.
pub(super) fn stream(job: &Job, runtime: &Runtime, limit_bytes: Option<u64>) -> Result<Sample> {
    let env = env();
    let capture = limit_bytes.map_or_else(Capture::default, Capture::limit);
    let spec = |n_bytes: u64, capture: Capture| {
        Spec::new(job.child.as_os_str())
            .arg(n_bytes.to_string())
            .env_var("PATH", CHILD_PATH)
            .stdout(Output::Captured(capture))
            .deadline(10 * DEADLINE)
    };
    // Small, and all the same more than is kept: it goes through all the code of the large one.
    let (small, large) =
        (spec(SMALL_BYTES, Capture::limit(SMALL_BYTES / 8)), spec(job.bytes, capture));
    let n_bytes = job.bytes;
    let task = runtime.spawn(async move {
        // What a first call sets up, and the pages of its code, are not the stream's.
        env.run(small).await?;
        let before = system::Resident::now()?;
        let began = Instant::now();
        let outcome = env.run(large).await?;
        let elapsed = began.elapsed();
        let growth = before.peak_growth();
        if !outcome.success() || outcome.stdout.total_bytes != n_bytes {
            let what = format!("the child sent {} bytes", outcome.stdout.total_bytes);
            return Err(what.into());
        }
        Ok(Sample::default()
            .with(BYTES_PER_SECOND, n_bytes as f64 / elapsed.as_secs_f64())
            .with(GROWTH_BYTES, growth))
    });
    runtime.block_on(task)?
}
