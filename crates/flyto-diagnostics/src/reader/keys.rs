//! The keys that readers ask for, recorded so that a test can compare them with a schema.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::pointer::Pointer;

use super::ObjectReader;

thread_local! {
    /// What the readers of this thread asked for; `None` while nothing is recorded.
    static RECORD: RefCell<Option<Vec<ObjectKeys>>> = const { RefCell::new(None) };
}

/// The keys that one [`ObjectReader`] knew when it was finished.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectKeys {
    /// The object.
    pub pointer: Pointer,
    /// The keys that were asked for.
    pub asked: BTreeSet<&'static str>,
    /// The keys that were accepted without being read, see [`ObjectReader::allow`], and other
    /// spellings of keys, which give a warning.
    pub allowed: BTreeSet<String>,
}

/// Runs `read` and tells which keys the readers of this thread asked for meanwhile, in the order in
/// which they were finished.
///
/// A schema that is published for a format names its keys, and the code that reads the format names
/// them too. A test compares the two lists, and so neither gets a key that the other lacks.
///
/// ```
/// use flyto_diagnostics::{At, Findings, ObjectReader, Source, json, recorded_keys};
///
/// let source = Source::new("tool.json", r#"{"name": "list"}"#);
/// let value = json::parse(&source)?;
/// let (_, keys) = recorded_keys(|| {
///     let mut findings = Findings::new();
///     let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
///     let _ = reader.required_string("name");
///     let _ = reader.optional_u64("timeout_seconds");
///     reader.finish();
///     Ok::<_, flyto_diagnostics::Reported>(())
/// });
/// assert_eq!(Vec::from_iter(&keys[0].asked), [&"name", &"timeout_seconds"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn recorded_keys<T>(read: impl FnOnce() -> T) -> (T, Vec<ObjectKeys>) {
    let before = RECORD.replace(Some(Vec::new()));
    let res = read();
    (res, RECORD.replace(before).unwrap_or_default())
}

impl ObjectReader<'_, '_> {
    /// Adds the keys of this object to the record, where there is one.
    pub(super) fn record_keys(&self) {
        RECORD.with_borrow_mut(|record| {
            if let Some(record) = record {
                record.push(ObjectKeys {
                    pointer: self.at.pointer(),
                    asked: self.known.iter().copied().collect(),
                    allowed: self.allowed.iter().map(|it| it.0.to_owned()).collect(),
                });
            }
        });
    }
}
