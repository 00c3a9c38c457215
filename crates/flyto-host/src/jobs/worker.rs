//! The process that owns the call of a job.
//!
//! Two threads stand beside the call: one waits for a cancellation at the FIFO, the other writes the progress, at
//! most ten times a second. Both end with the worker.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use flyto_execenv::Environment;
use flyto_tools::{CallContext, CallId, CancellationToken, Input, OutputChunk, Progress};

use super::{
    JobError, JobId, JobStore,
    job::{ProgressPart, RequestFile, StatusFile},
    names,
    output::Recorded,
    unusable,
};
use crate::{
    HostGuard, clock, disk,
    replace::{Flush, replace},
    secrets::Secrets,
};

/// The longest input that is read: 512 MiB, beyond what any front takes.
const MAX_INPUT_BYTES: u64 = 512 << 20;

/// Room that is kept on the disk for a short result.
pub(super) const RESERVE_BYTES: usize = 4096;

/// Between two writes of the progress: a reader that looks more often than ten times a second is no person.
const PERIOD: Duration = Duration::from_millis(100);

/// What comes through the FIFO.
pub(super) const CANCEL: u8 = b'c';
const STOP: u8 = b'q';

/// What a job is to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobRequest {
    /// The name of the tool, as the caller wrote it.
    pub tool: String,
    /// The input.
    pub input: Input,
}

/// What came of a job, as its worker records it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobEnd {
    /// The exit code for a program that shows the result.
    pub exit_code: u8,
    /// The result as JSON, in the form that the host chooses.
    pub document: String,
}

impl JobEnd {
    /// An exit code and a document.
    #[must_use]
    pub fn new(exit_code: u8, document: impl Into<String>) -> Self {
        Self { exit_code, document: document.into() }
    }
}

/// The part of a worker's process that keeps the job: it holds the lock, listens for a cancellation, writes progress
/// and output, and records the end. See the [module](super) for an example.
///
/// Dropping it without [`end`](Self::end) leaves the job without a result: it is lost.
#[derive(Debug)]
pub struct JobWorker {
    id: JobId,
    dir: PathBuf,
    request: JobRequest,
    cancellation: CancellationToken,
    shared: Arc<WorkerState>,
    /// One listens to the FIFO, one records the progress.
    threads: Vec<JoinHandle<()>>,
    /// Our own end of the FIFO: with it, a reader sees no end of file when another writer goes.
    control: File,
    /// Closed last, with the value: then the job has no worker.
    _lock: File,
}

/// What the recorder writes.
#[derive(Debug)]
struct WorkerState {
    status_file: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
    output: Recorded,
}

#[derive(Debug, Default)]
struct State {
    status: StatusFile,
    /// Whether something has changed since the last write.
    is_dirty: bool,
    has_ended: bool,
}

impl JobWorker {
    /// Takes a job over: holds its lock from now on, says in its status that this process keeps it, and listens for a
    /// cancellation.
    ///
    /// What looks like a secret in the input is replaced in its file, by the rules of `flyto-security`, the values of this
    /// process's variables with secret names, and the names of members. [`request`](Self::request) has the input as it is.
    ///
    /// `lock` is what [`NewJob::lock`](super::NewJob::lock) gave, handed down by the caller.
    ///
    /// # Errors
    ///
    /// [`JobError::Running`] where another process holds the lock; [`JobError::Unusable`] where `lock` is another
    /// file, where a worker has had the job before, or where a file of it cannot be read; [`JobError::Io`] where the
    /// system has no thread or no room.
    pub fn take(store: &JobStore, id: &JobId, lock: OwnedFd) -> Result<Self, JobError> {
        let dir = store.dir().join(id.as_str());
        let lock = File::from(lock);
        hold(&dir, id, &lock)?;
        for name in [names::STATUS, names::RESULT] {
            if fs::symlink_metadata(dir.join(name)).is_ok() {
                return Err(unusable(id, name, &"it is there: the job has had a worker before"));
            }
        }
        let request = read_request(&dir, id)?;
        hide_secrets(&dir, request.input.as_str())
            .map_err(|err| unusable(id, names::INPUT, &err))?;
        let status = StatusFile { worker_pid: Some(std::process::id()), ..StatusFile::default() };
        let shared = Arc::new(WorkerState {
            status_file: dir.join(names::STATUS),
            output: Recorded::open(&dir).map_err(|err| unusable(id, names::STDOUT, &err))?,
            state: Mutex::new(State { status, ..State::default() }),
            changed: Condvar::new(),
        });
        let failed = |what: &str| {
            let what = format!("{what} the job {id}");
            move |err| JobError::io(what, err)
        };
        let (listening, control) =
            open_fifo(&dir).map_err(|err| unusable(id, names::CONTROL, &err))?;
        let cancellation = CancellationToken::new();
        let token = cancellation.clone();
        let listener = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || listen(listening, &token))
            .map_err(failed("listen for a cancellation of"))?;
        // From here on, dropping the value ends both threads.
        let mut worker = Self {
            id: id.clone(),
            dir,
            request,
            cancellation,
            shared,
            threads: vec![listener],
            control,
            _lock: lock,
        };
        worker.shared.write().map_err(failed("record the worker of"))?;
        let shared = Arc::clone(&worker.shared);
        let recorder = thread::Builder::new().name("progress".to_owned());
        let recorder = recorder.spawn(move || shared.record());
        worker.threads.push(recorder.map_err(failed("record the progress of"))?);
        Ok(worker)
    }

    /// The job's id.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// What the job is to do.
    #[must_use]
    pub fn request(&self) -> &JobRequest {
        &self.request
    }

    /// Cancelled when the job is; a worker that gets a signal cancels it itself.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// The context for the call of the job: its id is the job's, its cancellation the worker's, and its
    /// progress and output are recorded.
    ///
    /// The first 8 MiB of each stream are kept while it runs, of a tool that says `stream` and of any other. What the disk refuses is dropped and counted; it fails no
    /// call.
    #[must_use]
    pub fn context(&self, ctx: CallContext) -> CallContext {
        let id = CallId::new(self.id.as_str()).expect("digits are printable");
        let (progress, output) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        ctx.with_id(id)
            .with_cancellation(self.cancellation.clone())
            .with_progress(move |it: Progress| progress.progress(&it))
            .with_all_output(move |it: OutputChunk<'_>| output.output(it))
    }

    /// Records what came of the call. From then on the job has ended, also after a loss of power; its lock is released.
    ///
    /// # Errors
    ///
    /// [`JobError::Io`] where the result cannot be written. Then the job is lost;
    /// [`end_or`](Self::end_or) has room for a short result.
    pub fn end(self, end: &JobEnd) -> Result<(), JobError> {
        self.write_end(end).map_err(|err| self.not_recorded(err))
    }

    /// The same; where the result cannot be written, as on a full disk, with the shorter one that `short` makes of the
    /// reason. There is room for 4096 bytes of it, which were taken when the job was made.
    ///
    /// # Errors
    ///
    /// [`JobError::Io`] where the short one cannot be written either, or is longer.
    pub fn end_or(
        self,
        end: &JobEnd,
        short: impl FnOnce(&io::Error) -> JobEnd,
    ) -> Result<(), JobError> {
        let Err(err) = self.write_end(end) else { return Ok(()) };
        let short = short(&err);
        let written = self.write_reserve(short.document.as_bytes());
        if written.is_ok() && self.write_status(&short).is_err() {
            // It has the exit code of the result that could not be written. Removing needs no room.
            let _ = fs::remove_file(&self.shared.status_file);
        }
        written.map_err(|err| self.not_recorded(err))
    }

    fn not_recorded(&self, err: io::Error) -> JobError {
        JobError::io(format!("record the result of the job {}", self.id), err)
    }

    /// The status first: it counts once the result is there.
    fn write_end(&self, end: &JobEnd) -> io::Result<()> {
        self.shared.stop();
        // Without it the job has ended all the same, and its exit code is in the result.
        let _ = self.write_status(end);
        replace(&self.dir.join(names::RESULT), end.document.as_bytes(), Flush::Now)?;
        let _ = fs::remove_file(self.dir.join(names::RESERVE));
        Ok(())
    }

    fn write_status(&self, end: &JobEnd) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.status.ended_ms = Some(clock::millis(SystemTime::now()));
        state.status.exit_code = Some(end.exit_code);
        drop(state);
        self.shared.write()
    }

    /// Writes a result over the bytes that were kept free for it.
    fn write_reserve(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > RESERVE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let path = self.dir.join(names::RESERVE);
        let mut file = File::options().write(true).open(&path)?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()?;
        fs::rename(path, self.dir.join(names::RESULT))
    }
}

impl Drop for JobWorker {
    fn drop(&mut self) {
        self.shared.stop();
        let _ = self.control.write_all(&[STOP]);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Checks that `lock` is the job's, and holds it.
fn hold(dir: &Path, id: &JobId, lock: &File) -> Result<(), JobError> {
    let refused = |why: &dyn std::fmt::Display| unusable(id, names::LOCK, why);
    let file = match fs::symlink_metadata(dir.join(names::LOCK)) {
        Err(_) if fs::symlink_metadata(dir).is_err() => {
            return Err(JobError::NotFound { id: id.to_string() });
        }
        file => file.map_err(|err| refused(&err))?,
    };
    let own = lock.metadata().map_err(|err| refused(&err))?;
    if (file.dev(), file.ino()) != (own.dev(), own.ino()) {
        return Err(refused(&"the worker was not given the lock of this job"));
    }
    // Through the same open file this is held already; through another one it may be free or not.
    match lock.try_lock() {
        Ok(()) => Ok(()),
        Err(fs::TryLockError::WouldBlock) => Err(JobError::Running { id: id.clone() }),
        Err(fs::TryLockError::Error(err)) => Err(refused(&err)),
    }
}

fn read_request(dir: &Path, id: &JobId) -> Result<JobRequest, JobError> {
    let read = |name: &str| {
        let bytes = disk::read(&dir.join(name), MAX_INPUT_BYTES);
        bytes.map_err(|err| unusable(id, name, &err))
    };
    let request: RequestFile = serde_json::from_slice(&read(names::REQUEST)?)
        .map_err(|err| unusable(id, names::REQUEST, &err))?;
    let text = String::from_utf8(read(names::INPUT)?);
    let text = text.map_err(|err| unusable(id, names::INPUT, &err))?;
    let input = match text.is_empty() {
        true => Input::empty(),
        false => Input::parse(text).map_err(|err| unusable(id, names::INPUT, &err))?,
    };
    Ok(JobRequest { tool: request.tool, input })
}

/// Replaces what looks like a secret in the file with the input: the call has it in memory, and a proposal that is refused
/// for a secret must not be on the disk afterwards.
fn hide_secrets(dir: &Path, input: &str) -> io::Result<()> {
    static SECRETS: LazyLock<Secrets> =
        LazyLock::new(|| Secrets::new(Arc::new(HostGuard::new(Environment::ambient()))));
    let shown = SECRETS.redacted(input);
    match shown == input {
        true => Ok(()),
        // Removing needs no room on the disk.
        false => {
            let path = dir.join(names::INPUT);
            replace(&path, shown.as_bytes(), Flush::Later).or_else(|_| fs::remove_file(&path))
        }
    }
}

/// Opens both ends of the FIFO, so that neither waits for a process that opens the other (fifo(7)).
fn open_fifo(dir: &Path) -> io::Result<(File, File)> {
    let path = dir.join(names::CONTROL);
    let mut at_once = File::options();
    at_once.read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    let first = at_once.open(&path)?;
    let writer = File::options().write(true).open(&path)?;
    let reader = File::open(&path)?;
    drop(first);
    Ok((reader, writer))
}

/// Cancels the call when that is asked for. Bytes without a meaning are passed over.
fn listen(mut fifo: File, cancellation: &CancellationToken) {
    let mut byte = [0];
    loop {
        match fifo.read(&mut byte) {
            Ok(0) => return,
            Ok(_) if byte[0] == STOP => return,
            Ok(_) if byte[0] == CANCEL => cancellation.cancel(),
            Err(err) if err.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

impl WorkerState {
    fn progress(&self, progress: &Progress) {
        let mut state = self.lock();
        state.status.progress = Some(ProgressPart {
            progress: progress.progress(),
            detail: progress.detail().to_owned(),
            at_ms: clock::millis(SystemTime::now()),
        });
        state.is_dirty = true;
        self.changed.notify_all();
    }

    fn output(&self, chunk: OutputChunk<'_>) {
        let dropped_bytes = self.output.take(chunk.channel, chunk.bytes);
        let mut state = self.lock();
        if state.status.dropped_bytes != dropped_bytes {
            state.status.dropped_bytes = dropped_bytes;
            state.is_dirty = true;
            self.changed.notify_all();
        }
    }

    /// Writes what changes until the job ends.
    fn record(&self) {
        let mut state = self.lock();
        while !state.has_ended {
            if !state.is_dirty {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_dirty = false;
            drop(state);
            // A full disk may have room later. What is written at the end does not depend on this.
            let _ = self.write();
            let pause = self.changed.wait_timeout_while(self.lock(), PERIOD, |it| !it.has_ended);
            state = pause.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn write(&self) -> io::Result<()> {
        // Held while it is written: the last writer counts.
        let state = self.lock();
        let text = serde_json::to_vec_pretty(&state.status)?;
        replace(&self.status_file, &text, Flush::Later)
    }

    fn stop(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
