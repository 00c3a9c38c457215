//! Which jobs are kept, and removing the others.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use super::{JobError, JobId, JobStore, KEEP, MAX_JOBS, names, unusable};
use crate::disk;

/// How long a directory may be in the making, or in removal: an hour. What is older was left by a process that died.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);

impl JobStore {
    /// Removes a job that has ended or was lost, also one whose files cannot be used.
    ///
    /// # Errors
    ///
    /// [`JobError::NotFound`], [`JobError::Running`]; [`JobError::Io`] where the file system refuses.
    pub fn remove(&self, id: &JobId) -> Result<(), JobError> {
        let failed = |err| JobError::io(format!("remove the job {id}"), err);
        let dir = self.dir.join(id.as_str());
        match self.lock_file(id).map(|lock| disk::is_locked(&lock)) {
            Ok(Ok(true)) => return Err(JobError::Running { id: id.clone() }),
            Ok(Ok(false)) => {}
            Ok(Err(err)) => return Err(unusable(id, names::LOCK, &err)),
            // No worker can hold a lock that is not there.
            Err(JobError::Unusable { .. }) => {}
            Err(err) => return Err(err),
        }
        let gone = self.dir.join(format!("{}{id}-{}", names::GONE, std::process::id()));
        fs::rename(&dir, &gone).map_err(failed)?;
        remove_all(&gone).map_err(failed)
    }

    /// Removes jobs that ended more than [`KEEP`] ago, and beyond [`MAX_JOBS`] those that changed longest ago. Jobs that
    /// run stay. What cannot be removed stays as well, for the next time.
    ///
    /// It costs one look at each job's directory.
    pub fn clean(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let now = SystemTime::now();
        let age = |it| now.duration_since(it).unwrap_or_default();
        let mut jobs = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let (name, Some(changed)) = (entry.file_name(), disk::modified(&path)) else {
                continue;
            };
            let name = name.to_string_lossy();
            if let Some(id) = JobId::parse(&name) {
                // A worker changes a name in the directory whenever it writes a state.
                jobs.push((changed, id));
            } else if (name.starts_with(names::NEW) || name.starts_with(names::GONE))
                && age(changed) > LEFT_BEHIND
            {
                let _ = remove_all(&path);
            }
        }
        let n_more = jobs.len().saturating_sub(MAX_JOBS - 1);
        jobs.sort();
        let mut n_removed = 0;
        for (changed, id) in jobs {
            let is_old = age(changed) > KEEP;
            if !is_old && n_removed >= n_more {
                break;
            }
            if self.remove(&id).is_ok() {
                n_removed += 1;
            }
        }
    }
}

/// Removes a directory with what is in it, or a file in its place.
fn remove_all(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}
