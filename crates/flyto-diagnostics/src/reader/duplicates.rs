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
#[derive(Debug, Default)]
pub(crate) struct Duplicates<'v> {
    /// The keys, each once, sorted: a hostile object may have very many.
    keys: Vec<&'v str>,
    /// There when there is a key.
    reported: Option<Reported>,
}

impl Duplicates<'_> {
    /// Passes if there are none.
    pub(super) fn refuse(&self) -> Result<(), Reported> {
        self.reported.map_or(Ok(()), Err)
    }

    /// Passes if `key` is none of them.
    #[inline]
    pub(crate) fn refuse_key(&self, key: &str) -> Result<(), Reported> {
        if self.keys.is_empty() {
            return Ok(());
        }
        match self.keys.binary_search(&key) {
            Ok(_) => self.refuse(),
            Err(_) => Ok(()),
        }
    }
}

/// How many signatures there are.
const N_SIGNATURES: usize = 64;

/// What the keys of an object are like, so that a key is found, or known not to be there, without a
/// look at all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signatures {
    /// Which signatures the keys have, one bit each.
    some: u64,
    /// Which signatures further keys have, one bit each.
    more: u64,
    /// The first member with each signature, as far as they are counted.
    first: [u8; N_SIGNATURES],
}

impl Signatures {
    const NONE: Self = Self { some: 0, more: 0, first: [0; N_SIGNATURES] };

    #[inline]
    fn of(key: &str) -> usize {
        let ([first, ..], [.., last]) = (key.as_bytes(), key.as_bytes()) else { return 0 };
        (7 * usize::from(*first) + 11 * usize::from(*last) + 3 * key.len()) % N_SIGNATURES
    }

    /// Whether a member may have the key. No is certain.
    #[inline]
    pub(crate) fn may_have(&self, key: &str) -> bool {
        self.some >> Self::of(key) & 1 != 0
    }

    /// The first member that has the key.
    #[inline]
    pub(crate) fn find(&self, key: &str, members: &[Member<'_>]) -> Option<usize> {
        let signature = Self::of(key);
        if self.some >> signature & 1 == 0 {
            return None;
        }
        let first = usize::from(self.first[signature]);
        if members[first].key.value == key {
            return Some(first);
        }
        let has_more = self.more >> signature & 1 != 0;
        has_more.then(|| members.iter().position(|it| it.key.value == key)).flatten()
    }
}

/// Up to here keys that might be equal are compared one by one.
const FEW: usize = 64;

/// The signatures of the keys, and whether a key may occur more than once.
fn signatures(members: &[Member<'_>]) -> (Signatures, bool) {
    let mut res = Signatures::NONE;
    let mut repeats = false;
    for (n_before, member) in members.iter().enumerate() {
        let key = &member.key.value;
        let signature = Signatures::of(key);
        let bit = 1 << signature;
        if res.some & bit == 0 && n_before <= FEW {
            res.first[signature] = n_before as u8;
        } else {
            let same = |before: &Member<'_>| before.key.value == *key;
            repeats |= n_before > FEW || members[..n_before].iter().any(same);
            res.more |= bit;
        }
        res.some |= bit;
    }
    (res, repeats)
}

/// Records a finding for each key that occurs more than once in the object itself.
pub(crate) fn report<'v>(at: At<'v>, findings: &mut Findings) -> (Duplicates<'v>, Signatures) {
    let members = at.value().as_object().unwrap_or_default();
    let (signatures, repeats) = signatures(members);
    let duplicates = if repeats { find(at, members, findings) } else { Duplicates::default() };
    (duplicates, signatures)
}

/// The same where no key is looked for afterwards.
pub(crate) fn refuse(at: At<'_>, findings: &mut Findings) -> Result<(), Reported> {
    let members = at.value().as_object().unwrap_or_default();
    match may_repeat(members) {
        true => find(at, members, findings).refuse(),
        false => Ok(()),
    }
}

/// Up to here all keys are compared with each other: most have another length, which costs less than a signature.
const VERY_FEW: usize = 6;

/// Whether a key may occur more than once. No is certain.
fn may_repeat(members: &[Member<'_>]) -> bool {
    if members.len() <= VERY_FEW {
        let is_repeated = |(at, it): (usize, &Member<'_>)| {
            members[..at].iter().any(|before| before.key.value == it.key.value)
        };
        return members.iter().enumerate().any(is_repeated);
    }
    let mut some = 0_u64;
    members.iter().enumerate().any(|(n_before, member)| {
        let bit = 1 << Signatures::of(&member.key.value);
        let is_like_another = some & bit != 0;
        some |= bit;
        let same = |before: &Member<'_>| before.key.value == member.key.value;
        is_like_another && (n_before > FEW || members[..n_before].iter().any(same))
    })
}

fn find<'v>(at: At<'v>, members: &'v [Member<'v>], findings: &mut Findings) -> Duplicates<'v> {
    let mut members: Vec<&Member<'_>> = members.iter().collect();
    // Stable, so that equal keys stay in the order of the text.
    members.sort_by(|a, b| a.key.value.cmp(&b.key.value));
    let groups = members.chunk_by(|a, b| a.key.value == b.key.value);
    let mut groups: Vec<_> = groups.filter(|group| group.len() > 1).collect();
    let keys = groups.iter().map(|group| &*group[0].key.value).collect();
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

fn finding(at: At<'_>, group: &[&Member<'_>]) -> Diagnostic {
    let key = &group[0].key.value;
    let place = |member: &Member<'_>| Location::text(at.source(), member.key.span);
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
