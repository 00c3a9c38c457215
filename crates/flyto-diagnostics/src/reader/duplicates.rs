//! Keys that occur more than once in an object.

use crate::at::At;
use crate::codes;
use crate::diagnostic::{Diagnostic, Location};
use crate::findings::{Findings, Reported};
use crate::json::Member;
use crate::quote::quoted;

/// The most further places that one finding points to.
const MOST_PLACES: usize = 4;

/// What [`report`] found.
#[derive(Debug)]
pub(crate) struct Duplicates<'v> {
    /// The keys, each once, sorted: a hostile object may have very many.
    keys: Vec<&'v str>,
    /// There when there is a key.
    reported: Option<Reported>,
}

impl Duplicates<'_> {
    /// Passes if there are none.
    pub(crate) fn refuse(&self) -> Result<(), Reported> {
        self.reported.map_or(Ok(()), Err)
    }

    /// Passes if `key` is none of them.
    pub(crate) fn refuse_key(&self, key: &str) -> Result<(), Reported> {
        match self.keys.binary_search(&key) {
            Ok(_) => self.refuse(),
            Err(_) => Ok(()),
        }
    }
}

/// Records a finding for each key that occurs more than once in the object itself.
pub(crate) fn report<'v>(at: At<'v>, findings: &mut Findings) -> Duplicates<'v> {
    let mut members: Vec<&Member> = at.value().as_object().unwrap_or_default().iter().collect();
    // Stable, so that equal keys stay in the order of the text.
    members.sort_by(|a, b| a.key.value.cmp(&b.key.value));
    let groups = members.chunk_by(|a, b| a.key.value == b.key.value);
    let mut groups: Vec<_> = groups.filter(|group| group.len() > 1).collect();
    let keys = groups.iter().map(|group| group[0].key.value.as_str()).collect();
    groups.sort_by_key(|group| group[1].key.span.start);
    let mut reported = None;
    for group in groups.iter().take(super::MOST_FINDINGS) {
        reported = Some(findings.push(finding(at, group)));
    }
    if let Some(group) = groups.get(super::MOST_FINDINGS) {
        let n_more = groups.len() - super::MOST_FINDINGS;
        let what = format!("{n_more} more keys of this object occur more than once");
        let place = Location::text(at.source(), group[1].key.span);
        let more = Diagnostic::error(codes::DUPLICATE_KEY, place, what).with_pointer(at.pointer());
        findings.push(more);
    }
    Duplicates { keys, reported }
}

fn finding(at: At<'_>, group: &[&Member]) -> Diagnostic {
    let key = &group[0].key.value;
    let place = |member: &Member| Location::text(at.source(), member.key.span);
    let what = match group.len() {
        2 => format!("the key {} occurs twice", quoted(key)),
        n => format!("the key {} occurs {n} times", quoted(key)),
    };
    let mut res = Diagnostic::error(codes::DUPLICATE_KEY, place(group[1]), what)
        .with_pointer(at.pointer().join(key))
        .with_reason("programs disagree about which one counts, so none is used")
        .with_help("remove all but one")
        .with_related(place(group[0]), "it is here first");
    for member in group.iter().skip(2).take(MOST_PLACES) {
        res = res.with_related(place(member), "it is here again");
    }
    res
}
