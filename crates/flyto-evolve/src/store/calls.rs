//! Calls that were recorded, so that another version can be run over them.
//!
//! Recording is the host's choice ([`Builder::record_calls`](crate::Builder::record_calls)), and off unless it is made. What
//! is kept went through the secret guard first. Each call is one file, `calls/NAME/TIME-RANDOM.json`, and each tool has a
//! bound on their number: the oldest is removed first. A killed process leaves no half of a record; the end of power may.

use flyto_tools::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Store, StoreError, TEMP, random_name, temp_of};
use crate::{DefinitionHash, definition::file_name_fault};

/// The most calls of one tool that can be kept.
pub const MAX_RECORDED_CALLS: usize = 100;
/// The largest record of one call, in bytes as JSON: 1 MiB.
pub const MAX_RECORDED_BYTES: usize = 1024 * 1024;

/// The directory of recorded calls, within the store.
const CALLS: &str = "calls";

/// How much of calls is recorded.
///
/// A call that is larger than the bound is not kept at all, since half of a call cannot be run again. At the defaults a tool
/// takes 1.25 MiB at most, and the 200 tools of a full store take 250 MiB.
///
/// A record is written whole or not at all where the process is killed. It is not forced onto the disk, so the end of power
/// may take the last ones.
///
/// ```
/// use flyto_evolve::CallRecording;
///
/// let recording = CallRecording::default().n_calls(5).max_bytes(16 * 1024);
/// assert_eq!((recording.n_calls, recording.max_bytes), (5, 16 * 1024));
/// // Both have a bound.
/// assert_eq!(CallRecording::default().n_calls(1_000_000).n_calls, 100);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallRecording {
    /// How many calls of each tool are kept, the last ones: 20, and at most [`MAX_RECORDED_CALLS`].
    pub n_calls: usize,
    /// The largest record that is kept, in bytes as JSON: 64 KiB, and at most [`MAX_RECORDED_BYTES`].
    pub max_bytes: usize,
}

impl Default for CallRecording {
    fn default() -> Self {
        Self { n_calls: 20, max_bytes: 64 * 1024 }
    }
}

impl CallRecording {
    /// Sets how many calls of each tool are kept, from 1 to [`MAX_RECORDED_CALLS`].
    #[must_use]
    pub fn n_calls(mut self, n_calls: usize) -> Self {
        self.n_calls = n_calls.clamp(1, MAX_RECORDED_CALLS);
        self
    }

    /// Sets the largest record that is kept, in bytes, up to [`MAX_RECORDED_BYTES`].
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes.min(MAX_RECORDED_BYTES);
        self
    }
}

/// One call that was recorded: what went in, what the steps of a composite gave, and what came out.
///
/// Secrets in it are replaced by `[redacted: RULE, N characters]`; [`redacted`](Self::redacted) says where. A call whose
/// input or steps were changed that way is kept for people, and is not run again.
///
/// ```
/// use flyto_evolve::Store;
///
/// # let temp = tempfile::tempdir()?;
/// let store = Store::new(temp.path().join("evolution"));
/// for call in store.calls("count_lines", 5)? {
///     println!("{} version {}: {}", call.at, call.version, call.result.text);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedCall {
    /// By what it is named in the store: its time in milliseconds since 1970, and a random part.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The version that was called.
    pub version: u64,
    /// The hash of the definition that was called.
    pub sha256: DefinitionHash,
    /// When the call ended, in RFC 3339.
    pub at: String,
    /// The input.
    pub input: Value,
    /// The calls of a composite, in the order in which they ended; none for a script or a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RecordedStep>,
    /// What came out.
    pub result: Delivered,
    /// JSON Pointers into the record, of the texts from which a secret was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<String>,
}

/// What a call delivered: its exit, its text and its data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delivered {
    /// The text of the result.
    pub text: String,
    /// The structured result, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why the call failed; `None` for one that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// One call that a composite made for a step or for its undo; the last one where it was retried.
///
/// With `for_each` there is one for each item, and the whole record of a call has one bound for all
/// of them. What a step gave is kept as the steps behind it saw it: cut to
/// [`MAX_STEP_BYTES`](crate::MAX_STEP_BYTES), and parsed where it is JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedStep {
    /// The id of the step.
    pub step: String,
    /// The place of the item, counted from 0, where the step has `for_each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// Whether it took the step back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_undo: bool,
    /// The tool that was called.
    pub tool: String,
    /// What it was called with.
    pub input: Value,
    /// The text of its result, or of the error where there was none.
    pub text: String,
    /// Its output as the steps behind it saw it; `None` for a failure, and where it is the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed; `None` for one that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Whether the host made no call of it, because a rule denied it, say: there is an error, and no result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_refused: bool,
    /// Whether the result was longer than what is kept of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
}

impl Store {
    /// The last `n_calls` recorded calls of a tool, the oldest first. None were recorded, and the tool is not there: both
    /// give an empty list. A file that cannot be read is left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] where the directory cannot be read, and [`StoreError::InvalidName`].
    pub fn calls(&self, name: &str, n_calls: usize) -> Result<Vec<RecordedCall>, StoreError> {
        Ok(self.calls_read(name, n_calls)?.0)
    }

    /// The same, and how many files were left out.
    pub(crate) fn calls_read(
        &self,
        name: &str,
        n_calls: usize,
    ) -> Result<(Vec<RecordedCall>, usize), StoreError> {
        let dir = calls_of(name)?;
        let mut res = Vec::new();
        let mut n_unreadable = 0;
        for file in self.told("list", &dir, self.files().names(&dir))?.iter().rev() {
            if res.len() >= n_calls.min(MAX_RECORDED_CALLS) {
                break;
            }
            let Some(id) = file.strip_suffix(".json").filter(|_| !file.starts_with(TEMP)) else {
                continue;
            };
            let read = self.files().read(&format!("{dir}/{file}"), MAX_RECORDED_BYTES as u64);
            if matches!(read, Ok(None)) {
                continue; // Another process removed it as one of the oldest.
            }
            let call = read.ok().flatten().and_then(|it| serde_json::from_slice(&it).ok());
            match call.filter(|it: &RecordedCall| it.id == id && it.tool == name) {
                Some(call) => res.push(call),
                None => n_unreadable += 1,
            }
        }
        res.reverse();
        Ok((res, n_unreadable))
    }

    /// Removes all recorded calls of a tool. Gives how many there were.
    ///
    /// ```
    /// use flyto_evolve::Store;
    ///
    /// # let temp = tempfile::tempdir()?;
    /// let store = Store::new(temp.path().join("evolution"));
    /// assert_eq!(store.forget_calls("count_lines")?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`calls`](Self::calls), and [`StoreError::Locked`].
    pub fn forget_calls(&self, name: &str) -> Result<usize, StoreError> {
        let dir = calls_of(name)?;
        let _lock = self.lock()?;
        let files = self.told("list", &dir, self.files().names(&dir))?;
        for file in &files {
            let path = format!("{dir}/{file}");
            self.told("remove", &path, self.files().remove(&path))?;
        }
        Ok(files.len())
    }

    /// Keeps a call, and removes the oldest beyond `n_calls`.
    ///
    /// It does not wait for the disk: a record is no promise, and a forced write takes longer than most calls. After the
    /// end of power the last records may be missing or torn, and [`calls`](Self::calls) leaves a torn one out.
    pub(crate) fn keep_call(&self, call: &RecordedCall, n_calls: usize) -> Result<(), StoreError> {
        let dir = calls_of(&call.tool)?;
        let text = serde_json::to_string(call).expect("all its keys are texts");
        let _lock = self.lock()?;
        for dir in [CALLS, &dir] {
            self.told("make the directory", dir, self.files().make_dir(dir))?;
        }
        let mut files = self.told("list", &dir, self.files().names(&dir))?;
        // With the lock held, what another writer was writing is left over.
        let n_left_over = files.iter().filter(|it| it.starts_with(TEMP)).count();
        files.sort_by_key(|it| !it.starts_with(TEMP));
        let n_kept = files.len() - n_left_over;
        let n_too_many = (n_kept + 1).saturating_sub(n_calls.clamp(1, MAX_RECORDED_CALLS));
        for file in files.iter().take(n_left_over + n_too_many) {
            let path = format!("{dir}/{file}");
            self.told("remove", &path, self.files().remove(&path))?;
        }
        let (temp, path) = (temp_of(&dir), format!("{dir}/{}.json", call.id));
        let written = self.files().write_unsynced(&temp, text.as_bytes());
        let moved = written.and_then(|()| self.files().rename(&temp, &path));
        if moved.is_err() {
            drop(self.files().remove(&temp));
        }
        self.told("write", &path, moved)
    }
}

impl RecordedCall {
    /// A name for a call that ends now. Names sort by their time.
    pub(crate) fn new_id() -> String {
        let ms = flyto_audit::Timestamp::now().unix_ms().max(0);
        format!("{ms:013}-{}", random_name())
    }
}

fn calls_of(name: &str) -> Result<String, StoreError> {
    match file_name_fault(name) {
        Some(why) => Err(StoreError::InvalidName { name: name.to_owned(), why }),
        None => Ok(format!("{CALLS}/{name}")),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io, sync::Arc, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::store::{DEFAULT_LOCK_WAIT, Disk, Files};

    /// A disk that is never waited for.
    #[derive(Debug)]
    struct NoWait(Disk);

    impl Files for NoWait {
        fn make_dir(&self, dir: &str) -> io::Result<()> {
            self.0.make_dir(dir)
        }
        fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
            self.0.read(path, max_bytes)
        }
        fn names(&self, dir: &str) -> io::Result<Vec<String>> {
            self.0.names(dir)
        }
        fn write_new(&self, path: &str, _: &[u8]) -> io::Result<()> {
            Err(io::Error::other(format!("{path} is to be forced onto the disk")))
        }
        fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
            self.0.write_unsynced(path, bytes)
        }
        fn link(&self, from: &str, to: &str) -> io::Result<()> {
            self.0.link(from, to)
        }
        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.0.rename(from, to)
        }
        fn remove(&self, path: &str) -> io::Result<()> {
            self.0.remove(path)
        }
        fn sync_dir(&self, dir: &str) -> io::Result<()> {
            Err(io::Error::other(format!("{dir} is to be forced onto the disk")))
        }
        fn lock(&self, wait: Duration) -> io::Result<Option<File>> {
            self.0.lock(wait)
        }
    }

    #[test]
    fn a_recorded_call_waits_for_no_disk_and_a_torn_one_is_left_out() {
        let temp = tempfile::tempdir().unwrap();
        // The directories of a store are on the disk before the first version is.
        drop(Store::new(temp.path()).lock().unwrap());
        let files = Arc::new(NoWait(Disk::new(temp.path())));
        let store = Store::with_files(temp.path().to_owned(), files, DEFAULT_LOCK_WAIT);
        for n in 1..=3 {
            let call = json!({
                "id": format!("{n}"), "tool": "t", "version": 1, "sha256": "0".repeat(64),
                "at": "2026-01-01T00:00:00Z", "input": n, "result": {"text": "ok"},
            });
            store.keep_call(&serde_json::from_value(call).unwrap(), 2).unwrap();
        }
        std::fs::write(temp.path().join("calls/t/4.json"), b"{\"id\": \"4\",").unwrap();
        let inputs = store.calls("t", 10).unwrap().into_iter().map(|it| it.input);
        assert_eq!(inputs.collect::<Vec<_>>(), [json!(2), json!(3)]);
        assert_eq!(store.calls_read("t", 10).unwrap().1, 1);
    }
}
