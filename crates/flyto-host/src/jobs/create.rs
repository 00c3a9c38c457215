//! A job before its worker has it.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::{fd::OwnedFd, unix::fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use flyto_tools::Input;
use nix::sys::stat::Mode;

use super::{JobError, JobId, JobStore, job::RequestFile, names, worker::RESERVE_BYTES};
use crate::{
    clock, disk,
    permission::Caller,
    replace::{Flush, replace},
};

/// Ids that are tried before it is an error that all are taken.
const MAX_ATTEMPTS: u32 = 16;

/// A job whose worker has not been started yet.
///
/// Its lock is held as long as this value lives, so that no process takes the job for a lost one. The worker gets an
/// open file of the [`lock`](Self::lock), which shares it; then this value is dropped. Where the worker cannot be
/// started, [`discard`](Self::discard) removes the job.
#[derive(Debug)]
pub struct NewJob {
    id: JobId,
    dir: PathBuf,
    lock: File,
}

impl JobStore {
    /// Makes a job: its directory with everything that the worker needs, readable by the user only. It is in the
    /// store whole or not at all.
    ///
    /// Jobs beyond the bounds are [removed](Self::clean) first. The job is the operator's; see
    /// [`create_for`](Self::create_for).
    ///
    /// # Errors
    ///
    /// [`JobError::Io`]: a directory or a file cannot be made or written, as on a full disk. Then nothing stays.
    pub fn create(&self, tool: &str, input: &Input) -> Result<NewJob, JobError> {
        self.create_for(tool, input, Caller::Operator)
    }

    /// The same on behalf of this caller, which [`Job::caller`](super::Job) tells later: a program that lets a model follow
    /// jobs shows it those of models.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create).
    pub fn create_for(
        &self,
        tool: &str,
        input: &Input,
        caller: Caller,
    ) -> Result<NewJob, JobError> {
        let failed = |err| JobError::io(format!("record a job in {:?}", self.dir), err);
        disk::private_dir(&self.dir).map_err(failed)?;
        self.clean();
        let mut attempts = 0;
        loop {
            let id = JobId::next();
            let new = self.dir.join(format!("{}{id}", names::NEW));
            let dir = self.dir.join(id.as_str());
            let made = fill(&new, tool, input, caller).and_then(|lock| {
                // It fails where a job has this id, since its directory is not empty (rename(2)).
                fs::rename(&new, &dir)?;
                Ok(NewJob { id, dir, lock })
            });
            let err = match made {
                Ok(job) => return Ok(job),
                Err(err) => err,
            };
            let _ = fs::remove_dir_all(&new);
            attempts += 1;
            let is_taken = matches!(
                err.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
            );
            if !is_taken || attempts == MAX_ATTEMPTS {
                return Err(failed(err));
            }
        }
    }
}

/// Writes what a job begins with, and takes its lock.
fn fill(dir: &Path, tool: &str, input: &Input, caller: Caller) -> io::Result<File> {
    DirBuilder::new().mode(0o700).create(dir)?;
    let lock = disk::new_file(&dir.join(names::LOCK))?;
    lock.try_lock()?;
    nix::unistd::mkfifo(&dir.join(names::CONTROL), Mode::S_IRUSR | Mode::S_IWUSR)?;
    for name in [names::STDOUT, names::STDERR, names::LOG] {
        disk::new_file(&dir.join(name))?;
    }
    disk::new_file(&dir.join(names::RESERVE))?.write_all(&[b' '; RESERVE_BYTES])?;
    disk::new_file(&dir.join(names::INPUT))?.write_all(input.as_str().as_bytes())?;
    let request = RequestFile {
        tool: tool.to_owned(),
        created_ms: clock::millis(SystemTime::now()),
        is_of_agent: caller == Caller::Agent,
    };
    let request = serde_json::to_vec_pretty(&request)?;
    replace(&dir.join(names::REQUEST), &request, Flush::Later)?;
    Ok(lock)
}

impl NewJob {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The lock for the worker: another descriptor of the same open file. The lock is free when all of them are closed.
    ///
    /// # Errors
    ///
    /// There is no descriptor left.
    pub fn lock(&self) -> io::Result<OwnedFd> {
        Ok(self.lock.try_clone()?.into())
    }

    /// A file for what the worker says on its standard error.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn log(&self) -> io::Result<OwnedFd> {
        Ok(File::options().append(true).open(self.dir.join(names::LOG))?.into())
    }

    /// Removes the job, because there is no worker for it.
    pub fn discard(self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
