//! Calls in the background: each is owned by a process of its own, the job's worker.
//!
//! A job is a directory below `jobs` in the user's state directory, with mode 0700. The caller makes it with
//! [`JobStore::create`] and starts the worker; the worker takes it with [`JobWorker::take`], makes the call, and
//! records its end. Any process of the user reads it: [`JobStore::list`], [`JobStore::find`].
//!
//! | file | content | written by |
//! | --- | --- | --- |
//! | `request.json` | the tool and the time of the request | the caller |
//! | `input` | the input, byte for byte | the caller |
//! | `lock` | nothing; the worker holds the lock on it | the caller |
//! | `control` | a FIFO by which a cancellation reaches the worker | the caller |
//! | `status.json` | the worker's process id, the latest progress, how the job ended | the worker |
//! | `stdout`, `stderr` | the output so far, 8 MiB of each at most | the worker |
//! | `result.json` | what came of the call; its presence means that the job has ended | the worker |
//! | `log` | what the worker itself said on its standard error | the worker |
//!
//! Each JSON file is replaced in one step, so a reader sees a former or a new state, whole.
//!
//! **The lock says whether a worker lives**, not a process id, which the system gives to another process later. The
//! caller takes the lock and hands the open file down to the worker, so that there is no moment without it; the kernel
//! releases it when the worker ends, however it ends. So a job whose lock is free and that has no result is
//! [lost](JobState::Lost): its worker was killed, or the machine was restarted. The tool of a killed worker is ended by
//! the backend, as the tool of any host that dies.
//!
//! A server that keeps the calls of its clients is the worker of each: it has one [`JobWorker`] for each job.
//!
//! A job runs on this machine: locks of a state directory on a network file system are known on the other machines only
//! where that file system says so.
//!
//! ```
//! use flyto_host::{
//!     Places,
//!     jobs::{JobEnd, JobState, JobStore, JobWorker},
//! };
//! use flyto_tools::Input;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let store = JobStore::new(dir.path().join("jobs"));
//! let new = store.create("text-stats:count", &Input::parse(r#"{"text": "a b"}"#)?)?;
//! let id = new.id().clone();
//!
//! // A program hands the lock to the process of the worker, which begins like this.
//! let worker = JobWorker::take(&store, &id, new.lock()?)?;
//! drop(new);
//! assert_eq!(worker.request().tool, "text-stats:count");
//! assert_eq!(store.find(id.as_str())?.state, JobState::Running);
//!
//! // It makes the call under the context that it is given, and records what came of it.
//! let ctx = worker.context(flyto_tools::CallContext::new());
//! ctx.report(0.5, "half the files");
//! worker.end(&JobEnd::new(0, "{\"output\": \"2 words\"}"))?;
//! assert_eq!(store.find(id.as_str())?.state, JobState::Ended);
//! # Ok(()) }
//! ```

mod clean; //  what is kept for how long
mod create; // a job before its worker has it
mod id; //     the names of jobs
mod job; //    what is known of a job
mod output;
mod worker; // the process that owns the call // the output so far

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

pub use self::{
    create::NewJob,
    id::JobId,
    job::{Job, JobList, JobProgress, JobState, UnusableJob},
    output::MAX_OUTPUT_BYTES,
    worker::{JobEnd, JobRequest, JobWorker},
};
pub use crate::clock::text as time_text;
use crate::{disk, places::Places};

/// Jobs that have ended are kept for 7 days.
pub const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Most jobs that are kept; of more, those that ended first are removed. Jobs that run are never removed.
pub const MAX_JOBS: usize = 1000;

/// The longest result that is read: 512 MiB, beyond what a host keeps in memory of one call.
const MAX_RESULT_BYTES: u64 = 512 << 20;

/// Between two attempts to reach a worker that does not listen yet.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// How long a worker may take to listen: 10 s, long beyond its first instructions on a loaded machine.
const WORKER_START: Duration = Duration::from_secs(10);

mod names {
    pub(super) const REQUEST: &str = "request.json";
    pub(super) const INPUT: &str = "input";
    pub(super) const LOCK: &str = "lock";
    pub(super) const CONTROL: &str = "control";
    pub(super) const STATUS: &str = "status.json";
    pub(super) const RESULT: &str = "result.json";
    pub(super) const LOG: &str = "log";
    /// Room on the disk for a short result, where there is none for the whole.
    pub(super) const RESERVE: &str = "reserve";
    pub(super) const STDOUT: &str = "stdout";
    pub(super) const STDERR: &str = "stderr";
    /// What a directory is called before it is a job, and after.
    pub(super) const NEW: &str = ".new-";
    pub(super) const GONE: &str = ".gone-";
}

/// The jobs of one user: a directory with one directory for each.
///
/// The store holds nothing in memory: any number of processes use it at the same time. See the
/// [module](self) for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStore {
    dir: PathBuf,
}

/// Why something cannot be done with a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// No job has an id that begins like this.
    #[error("there is no job {id:?}")]
    NotFound {
        /// What was asked for.
        id: String,
    },
    /// Several jobs have an id that begins like this.
    #[error("the ids of {n} jobs begin with {id:?}")]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// How many jobs it may mean.
        n: usize,
    },
    /// The job runs, so it cannot be removed.
    #[error("the job {id} still runs")]
    Running {
        /// Its id.
        id: JobId,
    },
    /// The job has no result.
    #[error("the job {id} has no result")]
    NoResult {
        /// Its id.
        id: JobId,
    },
    /// What lies in the place of the job is none: a file is missing, torn, or was changed by hand.
    #[error("failed to read the job {id}: {why}")]
    Unusable {
        /// Its id.
        id: JobId,
        /// Which file, and what is wrong with it.
        why: String,
    },
    /// The file system refused.
    #[error("failed to {what}")]
    Io {
        /// What was being done: `write the request of a job`.
        what: String,
        /// Why it cannot be done.
        source: io::Error,
    },
}

impl JobError {
    fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

/// Which output of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JobStream {
    /// What the tool printed as its result.
    Stdout,
    /// What it said beside it.
    Stderr,
}

impl JobStore {
    /// The store of one user: `jobs` below the state directory. `None` where the user has none.
    #[must_use]
    pub fn of(places: &Places) -> Option<Self> {
        Some(Self::new(places.state_dir.as_ref()?.join("jobs")))
    }

    /// A store in this directory, which need not be there.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every job, the newest first, and each entry of the directory that is none.
    ///
    /// A job whose files are missing, torn or changed by hand is listed with what is wrong. A job that is
    /// removed meanwhile is left out.
    ///
    /// # Errors
    ///
    /// [`JobError::Io`] where the directory cannot be read. One that is not there has no jobs.
    pub fn list(&self) -> Result<JobList, JobError> {
        let mut res = JobList::default();
        for name in self.names()? {
            match JobId::parse(&name) {
                Some(id) => match self.read(&id) {
                    Ok(job) => res.jobs.push(job),
                    Err(JobError::NotFound { .. }) => {}
                    Err(JobError::Unusable { why, .. }) => {
                        res.unusable.push(UnusableJob { name, why });
                    }
                    Err(err) => res.unusable.push(UnusableJob { name, why: err.to_string() }),
                },
                None => {
                    let why = "its name is no id of a job".to_owned();
                    res.unusable.push(UnusableJob { name, why });
                }
            }
        }
        res.jobs.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id)));
        res.unusable.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(res)
    }

    /// The job of this id, or the only one whose id begins like this.
    ///
    /// # Errors
    ///
    /// [`JobError::NotFound`], also for a text that cannot be an id, [`JobError::Ambiguous`], and
    /// [`JobError::Unusable`] where its files do not make a job.
    pub fn find(&self, id: &str) -> Result<Job, JobError> {
        self.read(&self.resolve(id)?)
    }

    /// The whole id for the beginning of one, also of a job whose files cannot be used.
    ///
    /// # Errors
    ///
    /// [`JobError::NotFound`], [`JobError::Ambiguous`]; [`JobError::Io`] where the directory cannot be read.
    pub fn resolve(&self, id: &str) -> Result<JobId, JobError> {
        let not_found = || JobError::NotFound { id: id.to_owned() };
        if !id::is_prefix(id) {
            return Err(not_found());
        }
        let names = self.names()?.into_iter().filter(|it| it.starts_with(id));
        let mut ids = names.filter_map(|it| JobId::parse(&it));
        let first = ids.next().ok_or_else(not_found)?;
        match ids.count() {
            0 => Ok(first),
            n => Err(JobError::Ambiguous { id: id.to_owned(), n: n + 1 }),
        }
    }

    /// What came of a job: the document that its worker [recorded](JobEnd).
    ///
    /// # Errors
    ///
    /// [`JobError::NoResult`] where there is none, because the job runs or was lost; [`JobError::Unusable`] where it
    /// is longer than 512 MiB or no UTF-8.
    pub fn result(&self, id: &JobId) -> Result<String, JobError> {
        let bytes = match disk::read(&self.path(id, names::RESULT), MAX_RESULT_BYTES) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                return Err(JobError::NoResult { id: id.clone() });
            }
            read => read.map_err(|err| unusable(id, names::RESULT, &err))?,
        };
        String::from_utf8(bytes).map_err(|err| unusable(id, names::RESULT, &err))
    }

    /// The input that a job was asked with, where it is at most so long; without its secrets once a worker has the job.
    ///
    /// # Errors
    ///
    /// [`JobError::Unusable`] where it is missing, longer, or no UTF-8.
    pub fn input(&self, id: &JobId, max_bytes: u64) -> Result<String, JobError> {
        let bytes = disk::read(&self.path(id, names::INPUT), max_bytes);
        let bytes = bytes.map_err(|err| unusable(id, names::INPUT, &err))?;
        String::from_utf8(bytes).map_err(|err| unusable(id, names::INPUT, &err))
    }

    /// The output of a job so far, to be read from its beginning. Reading to the end and again later follows it.
    ///
    /// # Errors
    ///
    /// [`JobError::Unusable`] where there is no such file.
    pub fn output(&self, id: &JobId, stream: JobStream) -> Result<File, JobError> {
        let name = match stream {
            JobStream::Stdout => names::STDOUT,
            JobStream::Stderr => names::STDERR,
        };
        disk::open(&self.path(id, name)).map_err(|err| unusable(id, name, &err))
    }

    /// Asks the worker of a job to cancel its call, and says whether there was one to ask. The tool gets its grace;
    /// [`wait`](Self::wait) waits for the end.
    ///
    /// The request goes through a FIFO in the job's directory, so it reaches this worker or none. A worker that was just
    /// started is given 10 s until it listens.
    ///
    /// # Errors
    ///
    /// [`JobError::Unusable`] where there is no FIFO or no lock; [`JobError::Io`] where the worker does not listen
    /// in time.
    pub fn cancel(&self, id: &JobId) -> Result<bool, JobError> {
        let path = self.path(id, names::CONTROL);
        let lock = self.lock_file(id)?;
        let is_fifo = fs::symlink_metadata(&path).map(|it| it.file_type().is_fifo());
        match is_fifo {
            Ok(true) => {}
            Ok(false) => {
                let err = io::Error::new(io::ErrorKind::InvalidData, "it is no FIFO");
                return Err(unusable(id, names::CONTROL, &err));
            }
            Err(err) => return Err(unusable(id, names::CONTROL, &err)),
        }
        let mut options = File::options();
        // Without a reader this fails at once, with ENXIO (fifo(7)).
        options.write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
        let start = Instant::now();
        loop {
            if !disk::is_locked(&lock).map_err(|err| unusable(id, names::LOCK, &err))? {
                return Ok(false);
            }
            let sent = options.open(&path).and_then(|mut fifo| fifo.write_all(&[worker::CANCEL]));
            let Err(err) = sent else { return Ok(true) };
            if start.elapsed() >= WORKER_START {
                return Err(JobError::io(format!("reach the worker of the job {id}"), err));
            }
            thread::sleep(RETRY_PAUSE);
        }
    }

    /// Waits until the worker of a job has ended, at most so long, and says whether it has.
    ///
    /// A thread waits for the lock; where the time is over, it stays behind until the worker ends.
    ///
    /// # Errors
    ///
    /// [`JobError::Unusable`] where the job has no lock; [`JobError::Io`] where the system has no thread.
    pub fn wait(&self, id: &JobId, timeout: Option<Duration>) -> Result<bool, JobError> {
        let lock = self.lock_file(id)?;
        let (sender, released) = mpsc::channel();
        let waiting = move || drop(sender.send(lock.lock_shared().and_then(|()| lock.unlock())));
        let thread = thread::Builder::new().name("job".to_owned()).spawn(waiting);
        thread.map_err(|err| JobError::io("wait for a job", err))?;
        let released = match timeout {
            Some(timeout) => match released.recv_timeout(timeout) {
                Err(mpsc::RecvTimeoutError::Timeout) => return Ok(false),
                res => res.map_err(io::Error::other),
            },
            None => released.recv().map_err(io::Error::other),
        };
        released.flatten().map_err(|err| unusable(id, names::LOCK, &err))?;
        Ok(true)
    }

    /// The names in the directory, without those of directories that are being made or removed.
    fn names(&self) -> Result<Vec<String>, JobError> {
        let failed = |err| JobError::io(format!("list the jobs in {:?}", self.dir), err);
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(err) => return Err(failed(err)),
        };
        let mut res = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                res.push(name);
            }
        }
        Ok(res)
    }

    /// The lock of a job, opened.
    fn lock_file(&self, id: &JobId) -> Result<File, JobError> {
        match disk::open(&self.path(id, names::LOCK)) {
            Err(_) if !self.has(id) => Err(JobError::NotFound { id: id.to_string() }),
            lock => lock.map_err(|err| unusable(id, names::LOCK, &err)),
        }
    }

    fn has(&self, id: &JobId) -> bool {
        fs::symlink_metadata(self.dir.join(id.as_str())).is_ok()
    }

    fn path(&self, id: &JobId, name: &str) -> PathBuf {
        self.dir.join(id.as_str()).join(name)
    }
}

fn unusable(id: &JobId, file: &str, why: &dyn std::fmt::Display) -> JobError {
    JobError::Unusable { id: id.clone(), why: format!("{file}: {why}") }
}

#[cfg(test)]
mod tests;
