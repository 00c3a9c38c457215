//! What is known of a call that can be taken back.

use std::{path::PathBuf, time::SystemTime};

use flyto_tools::UndoInfo;
use serde::{Deserialize, Serialize};

use super::InverseTool;
use crate::clock;

/// A call that can be taken back, or was.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct UndoRecord {
    /// The id of the record: that of the call, with a number behind it where two calls had the same.
    pub id: String,
    /// The id of the tool that was called.
    pub tool: String,
    /// When the call ended.
    #[serde(serialize_with = "clock::serialize")]
    pub at: SystemTime,
    /// What takes it back.
    pub undo: UndoInfo,
    /// The record that the call itself took back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// What identifies the inverse tool; `None` where there was no such tool when the call ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inverse: Option<InverseTool>,
    /// What has become of it.
    #[serde(flatten)]
    pub state: UndoState,
    /// The name of its file.
    #[serde(skip)]
    pub(super) name: String,
}

/// What has become of a call that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UndoState {
    /// It can be undone.
    Open,
    /// The inverse call has begun, and its end is not recorded: it runs, or the process that made it has died.
    Begun {
        /// When.
        #[serde(rename = "changed_at", serialize_with = "clock::serialize")]
        at: SystemTime,
        /// The id of the inverse call.
        by: String,
    },
    /// It was undone.
    Undone {
        /// When.
        #[serde(rename = "changed_at", serialize_with = "clock::serialize")]
        at: SystemTime,
        /// The id of the inverse call.
        by: String,
    },
    /// The inverse call was ended early, so it may have done its work or not.
    Unsure {
        /// When.
        #[serde(rename = "changed_at", serialize_with = "clock::serialize")]
        at: SystemTime,
        /// The id of the inverse call.
        by: String,
        /// How the inverse call ended.
        why: String,
    },
}

/// All records of a store.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UndoList {
    /// The records, the latest call first.
    pub records: Vec<UndoRecord>,
    /// Files that have the name of a record and are none.
    pub unusable: Vec<UnusableRecord>,
}

/// A file that has the name of a record and is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnusableRecord {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// A record as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordFile {
    pub(super) call: String,
    tool: String,
    called_ms: u64,
    undo: UndoInfo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undoes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inverse: Option<InverseTool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<Mark>,
}

/// What was done with it since.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Mark {
    state: MarkState,
    at_ms: u64,
    by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MarkState {
    Begun,
    Undone,
    Unsure,
}

impl RecordFile {
    pub(super) fn new(
        id: &str,
        tool: &str,
        undo: &UndoInfo,
        undoes: Option<&str>,
        at: SystemTime,
    ) -> Self {
        Self {
            call: id.to_owned(),
            tool: tool.to_owned(),
            called_ms: clock::millis(at),
            undo: undo.clone(),
            undoes: undoes.map(str::to_owned),
            inverse: None,
            mark: None,
        }
    }

    pub(super) fn with_inverse(self, inverse: Option<InverseTool>) -> Self {
        Self { inverse, ..self }
    }

    /// What is written of a record.
    pub(super) fn of(record: &UndoRecord) -> Self {
        let UndoRecord { id, tool, at, undo, undoes, inverse, state, name: _ } = record;
        let mark = |state, at: &SystemTime, by: &str, why: &str| {
            Some(Mark { state, at_ms: clock::millis(*at), by: by.to_owned(), why: why.to_owned() })
        };
        let mark = match state {
            UndoState::Open => None,
            UndoState::Begun { at, by } => mark(MarkState::Begun, at, by, ""),
            UndoState::Undone { at, by } => mark(MarkState::Undone, at, by, ""),
            UndoState::Unsure { at, by, why } => mark(MarkState::Unsure, at, by, why),
        };
        let inverse = inverse.clone();
        Self { mark, inverse, ..Self::new(id, tool, undo, undoes.as_deref(), *at) }
    }

    pub(super) fn into_record(self, name: &str) -> UndoRecord {
        let Self { call, tool, called_ms, undo, undoes, inverse, mark } = self;
        let state = match mark {
            None => UndoState::Open,
            Some(Mark { state, at_ms, by, why }) => {
                let at = clock::from_millis(at_ms);
                match state {
                    MarkState::Begun => UndoState::Begun { at, by },
                    MarkState::Undone => UndoState::Undone { at, by },
                    MarkState::Unsure => UndoState::Unsure { at, by, why },
                }
            }
        };
        let at = clock::from_millis(called_ms);
        UndoRecord { id: call, tool, at, undo, undoes, inverse, state, name: name.to_owned() }
    }
}
