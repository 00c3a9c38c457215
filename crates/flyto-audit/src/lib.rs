#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. What a record is:
mod hash; //      the hash that chains records
mod head;
mod line; //      a record as bytes
mod process; //   the process that began a call
mod record; //    a record as readers get it
mod timestamp; // moments //      the end of the chain, kept beside it

// how files are read and written:
mod files; // which files there are
mod lines; // lines in bounded memory
mod sys; //   one directory, as the system gives it

// and what a user does with it.
mod error;
mod filter;
mod follow;
mod log;
mod reader;
mod verify;

pub use error::AuditError;
pub use files::MAX_FILES;
pub use filter::Filter;
pub use follow::{Cancel, Follow};
pub use hash::{ChainHash, InvalidHash};
pub use head::{Head, InvalidHead};
pub use line::{MAX_BODY_DEPTH, MAX_RECORD_BYTES};
pub use log::{Begun, Fsync, Keep, Log, MAX_EVENT_BYTES, MAX_ID_BYTES, Options, Size};
pub use process::Process;
pub use reader::{Reader, Records};
pub use record::Record;
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use verify::{
    Finding, FindingKind, OpenCall, Verification, VerifyOptions, verify, verify_with,
};
