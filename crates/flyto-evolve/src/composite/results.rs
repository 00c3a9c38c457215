//! What steps gave: kept as text, and taken apart only for what looks into it.
//!
//! JSON that was taken apart has up to seventy times the size of its text: `{"":{}}` is 7 bytes, and a map with one entry. So
//! what is kept is the text, and a bound of its own holds for how much of it is taken apart at once.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicUsize, Ordering},
};

use flyto_tools::Omitted;
use serde_json::Value;

/// The most bytes of results that are taken apart at once: 2 MiB of text, which two of the largest results have.
const MAX_PARSED_BYTES: usize = 2 * 1024 * 1024;

/// What a step gave, under `/steps/ID`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepValue {
    pub(super) status: Value,
    pub(super) is_error: Value,
    pub(super) truncated: Value,
    /// Missing where the step was skipped.
    pub(super) text: Option<Value>,
    /// Missing where the step was skipped or failed.
    pub(super) output: Option<Output>,
    /// How much of it is missing; no reference reaches it.
    pub(super) omitted: Option<Omitted>,
}

/// The output of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Output {
    /// Its text, as it is.
    Text,
    /// The JSON that its text is.
    JsonText,
    /// Data beside the text, as JSON.
    Data(String),
}

impl StepValue {
    /// The text as it is.
    pub(super) fn text(&self) -> &str {
        self.text.as_ref().and_then(Value::as_str).unwrap_or_default()
    }

    /// The output as JSON; `None` where it is a text or missing.
    pub(super) fn json(&self) -> Option<&str> {
        match self.output.as_ref()? {
            Output::Text => None,
            Output::JsonText => Some(self.text()),
            Output::Data(json) => Some(json),
        }
    }

    /// The output as JSON, without white space; `None` where it is missing.
    pub(super) fn compact(&self) -> Option<String> {
        match self.output.as_ref()? {
            Output::Data(json) => Some(json.clone()),
            Output::Text | Output::JsonText => Some(self.output()?.to_string()),
        }
    }

    /// The output, taken apart.
    pub(super) fn output(&self) -> Option<Value> {
        match self.output.as_ref()? {
            Output::Text => self.text.clone(),
            Output::JsonText | Output::Data(_) => serde_json::from_str(self.json()?).ok(),
        }
    }

    /// What a person is shown of it, where that has no more than so many bytes; the error is that it has more.
    pub(super) fn shown(&self, most: usize) -> Option<Result<(Value, usize), ()>> {
        let n_bytes = self.json().unwrap_or_else(|| self.text()).len();
        if n_bytes > most {
            return Some(Err(()));
        }
        self.output().or_else(|| self.text.clone()).map(|it| Ok((it, n_bytes)))
    }
}

/// Results that were taken apart last, for the steps that look into them again.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    entries: Mutex<Vec<Entry>>,
    /// The bytes of all texts that were taken apart.
    n_bytes: AtomicUsize,
}

/// One result. It is found by where it lies, and nothing else lies there while there is a reference to it, be it a weak one.
#[derive(Debug)]
struct Entry {
    of: Weak<StepValue>,
    n_bytes: usize,
    value: Arc<Value>,
}

impl Parsed {
    /// The bytes of all texts that were read so far, those counted anew that were read again.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed)
    }

    /// Counts a text that is read.
    pub(super) fn count(&self, text: &str) {
        self.n_bytes.fetch_add(text.len(), Ordering::Relaxed);
    }

    /// A part of the output of a step, taken apart, or what keeps it from that.
    ///
    /// It is not kept: a part is made for the input of one call, which has a bound of its own.
    pub(super) fn part(&self, json: &str) -> Result<Value, String> {
        self.count(json);
        serde_json::from_str(json)
            .map_err(|err| format!("the output of a step cannot be looked into: {err}"))
    }

    /// The output of a step, taken apart, or what keeps it from that.
    ///
    /// The caller knows that the output is JSON. What was not looked into for the longest time makes room.
    pub(super) fn get(&self, step: &Arc<StepValue>) -> Result<Arc<Value>, String> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let of = Arc::downgrade(step);
        if let Some(at) = entries.iter().position(|it| it.of.ptr_eq(&of)) {
            entries[at..].rotate_left(1);
        } else {
            let json = step.json().unwrap_or("null");
            entries.retain(|it| it.of.strong_count() > 0);
            let n_bytes = json.len();
            while entries.iter().map(|it| it.n_bytes).sum::<usize>() + n_bytes > MAX_PARSED_BYTES
                && !entries.is_empty()
            {
                entries.remove(0);
            }
            let value = Arc::new(self.part(json)?);
            entries.push(Entry { of, n_bytes, value });
        }
        let last = entries.last().map(|it| Arc::clone(&it.value));
        Ok(last.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: String) -> Arc<StepValue> {
        let (status, text) = ("done".into(), Some(text.into()));
        let (is_error, truncated) = (false.into(), false.into());
        let output = Some(Output::JsonText);
        Arc::new(StepValue { status, is_error, truncated, text, output, omitted: None })
    }

    #[test]
    fn what_was_not_looked_into_for_the_longest_time_makes_room() {
        let parsed = Parsed::default();
        let steps: Vec<_> = (0..5)
            .map(|it| step(format!("[{it},\"{}\"]", "x".repeat(MAX_PARSED_BYTES / 4 - 9))))
            .collect();
        let first = parsed.get(&steps[0]).unwrap();
        for it in &steps[1..4] {
            parsed.get(it).unwrap();
        }
        assert!(Arc::ptr_eq(&first, &parsed.get(&steps[0]).unwrap()), "it is taken apart once");
        let second = parsed.get(&steps[1]).unwrap();
        assert_eq!(parsed.get(&steps[4]).unwrap()[0], 4);
        assert!(Arc::ptr_eq(&first, &parsed.get(&steps[0]).unwrap()));
        assert!(Arc::ptr_eq(&second, &parsed.get(&steps[1]).unwrap()));
        assert_eq!(parsed.entries.lock().unwrap().len(), 4);
        assert_eq!(parsed.get(&steps[2]).unwrap()[0], 2);
        // A result that is gone is not kept for another one.
        drop(steps);
        assert_eq!(parsed.get(&step("[7]".to_owned())).unwrap()[0], 7);
        assert_eq!(parsed.entries.lock().unwrap().len(), 1);
    }

    #[test]
    fn what_is_nested_too_deep_is_an_error() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(Parsed::default().get(&step(deep)).is_err());
    }
}
