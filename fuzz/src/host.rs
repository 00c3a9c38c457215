//! The files that a host keeps of jobs, of calls that can be undone, and of trust.
//!
//! A program of the same user may have written them.

use std::{fs, path::Path};

use flyto_execenv::Environment;
use flyto_host::{Places, TrustStore, jobs::JobStore, undo::UndoStore};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What a job has for its id.
const JOB: &str = "0123456789ab";

/// The files of a job, with a NUL byte between them: `request.json`, `status.json`, `result.json`.
///
/// # Panics
///
/// The job is neither listed nor told as one that cannot be used.
pub fn job(bytes: &[u8]) {
    let temp = tempfile::tempdir().expect("a directory for the files");
    let dir = temp.path().join(JOB);
    fs::create_dir(&dir).expect("the directory is ours");
    fs::write(dir.join("lock"), "").expect("the file is ours");
    let names = ["request.json", "status.json", "result.json"];
    for (name, content) in names.iter().zip(bytes.splitn(names.len(), |it| *it == 0)) {
        fs::write(dir.join(name), content).expect("the file is ours");
    }
    let store = JobStore::new(temp.path());
    let list = store.list().expect("the directory can be read");
    assert_eq!(list.jobs.len() + list.unusable.len(), 1);
    for job in &list.jobs {
        let _ = (job.duration(), store.result(&job.id), store.find(job.id.as_str()));
    }
}

/// The record of a call that can be undone.
///
/// # Panics
///
/// The record is neither listed nor told as one that cannot be used.
pub fn undo(bytes: &[u8]) {
    let temp = tempfile::tempdir().expect("a directory for the file");
    // A record counts where its name has the hash of its call.
    let record: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let call = record["call"].as_str().unwrap_or_default();
    let name = format!("{:019}-{}.json", 1, &hash(call.as_bytes())[..16]);
    fs::write(temp.path().join(name), bytes).expect("the file is ours");
    let store = UndoStore::new(temp.path());
    let list = store.list().expect("the directory can be read");
    assert_eq!(list.records.len() + list.unusable.len(), 1);
    if !list.records.is_empty() {
        store.find(call).expect("a record that is listed is found");
    }
    let _ = store.latest();
}

/// The record of a project that is trusted, as it is and with the digest of its content.
///
/// # Panics
///
/// The record is neither listed nor told as one that cannot be used.
pub fn trust(bytes: &[u8]) {
    check_trust(bytes);
    if let Ok(mut record @ Value::Object(_)) = serde_json::from_slice::<Value>(bytes) {
        let digest = hash(record["content"].as_str().unwrap_or_default().as_bytes());
        record["sha256"] = digest.into();
        check_trust(record.to_string().as_bytes());
    }
}

fn check_trust(bytes: &[u8]) {
    let temp = tempfile::tempdir().expect("a directory for the file");
    let env: Environment = [("XDG_STATE_HOME", temp.path().as_os_str())].into_iter().collect();
    let dir = temp.path().join("flyto/trust");
    fs::create_dir_all(&dir).expect("the directory is ours");
    let project = Path::new("/project");
    let name = hash(project.as_os_str().as_encoded_bytes());
    fs::write(dir.join(name).with_extension("json"), bytes).expect("the file is ours");
    let store = TrustStore::of(&Places::from_env(&env)).expect("there is a state directory");
    let (found, bad) = store.list().expect("the directory can be read");
    assert_eq!(found.len() + bad.len(), 1);
    found.iter().for_each(|it| drop(it.day()));
    let _ = store.find(project);
}

/// The SHA-256 in hexadecimal digits.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect()
}
