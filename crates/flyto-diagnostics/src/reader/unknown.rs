//! Keys that were not asked for.

use std::{borrow::Cow, cell::LazyCell};

use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::json::{Spanned, string_literal};
use crate::quote::quoted;
use crate::similar::{KnownNames, Tolerance, nearest};

use super::{MOST_FINDINGS, ObjectReader, Reported};

impl<'v> ObjectReader<'v, '_> {
    /// Refuses every key that was not asked for (`F0021`), where passing over one is no small matter:
    /// `why` says so, a sentence in lower case without a full stop. Otherwise as
    /// [`finish`](Self::finish).
    ///
    /// ```
    /// # use flyto_diagnostics::{At, Findings, ObjectReader, Source, json};
    /// # let source = Source::new("rules.json", r#"{"memory_byte": 1024}"#);
    /// # let value = json::parse(&source)?;
    /// # let mut findings = Findings::new();
    /// # let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
    /// let limit = reader.optional_u64("memory_bytes");
    /// assert_eq!(limit, Ok(None));
    /// assert!(reader.refuse_unknown("a limit that is not read would not hold").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Reported`] when there is such a key.
    pub fn refuse_unknown(mut self, why: &str) -> Result<(), Reported> {
        self.report_unknown(Some(why)).map_or(Ok(()), Err)
    }

    /// The keys that were not asked for and look like one of `names`, each with that name, in the order of the text;
    /// the first `n_most` of them. A key that looks more like one that was asked for is none of them.
    ///
    /// For keys that a reader does not know here and must not pass over. Called when every key was asked for; it
    /// reports nothing.
    ///
    /// ```
    /// # use flyto_diagnostics::{At, Findings, KnownNames, ObjectReader, Source, json};
    /// # let source = Source::new("tool.json", r#"{"commnd": "ls", "denny": []}"#);
    /// # let value = json::parse(&source)?;
    /// # let mut findings = Findings::new();
    /// # let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
    /// let command = reader.optional_string("command");
    /// let guarded = KnownNames::new(["ask", "deny"]);
    /// assert_eq!(reader.unknown_like(&guarded, 8), [("denny", "deny")]);
    /// # reader.finish();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn unknown_like(
        &self,
        names: &KnownNames<'static>,
        n_most: usize,
    ) -> Vec<(&'v str, &'static str)> {
        let all = LazyCell::new(|| names.with(self.known.iter().copied()));
        let like = |name: &'v Spanned<Cow<'v, str>>| {
            // Nearly every key is known, and to be found alike costs far more.
            if self.is_known(&name.value) {
                return None;
            }
            let near = names.closest(&name.value)?;
            (all.closest(&name.value) == Some(near)).then_some((&*name.value, near))
        };
        self.not_asked().filter_map(like).take(n_most).collect()
    }

    /// Reports the keys that were not asked for: errors where a reason is given, else warnings.
    pub(super) fn report_unknown(&mut self, why: Option<&str>) -> Option<Reported> {
        self.record_keys();
        let as_meant = |mut finding: Diagnostic| match why {
            Some(why) => {
                finding.severity = Severity::Error;
                finding.with_reason(why)
            }
            None => finding,
        };
        let mut last = None;
        let unknown: Vec<_> = self.not_asked().filter(|name| !self.is_known(&name.value)).collect();
        for name in unknown.iter().take(MOST_FINDINGS) {
            let severity = if why.is_some() { Severity::Error } else { Severity::Warning };
            last = self.findings.count_only(severity).or_else(|| {
                let finding = as_meant(self.unknown(name));
                Some(self.findings.push(finding))
            });
        }
        if let Some(name) = unknown.get(MOST_FINDINGS) {
            let n_more = unknown.len() - MOST_FINDINGS;
            let what = format!("{n_more} more keys of this object are unknown");
            let more = self.about_key(Severity::Warning, name, codes::UNKNOWN_KEY, what);
            last = Some(self.findings.push(as_meant(more.with_pointer(self.at.pointer()))));
        }
        last
    }

    /// Whether every key of the object was asked for, so that none is unknown. `false` is no answer: a key that is
    /// [allowed](Self::allow) counts as one that was not, and so does one beyond the first 64.
    ///
    /// ```
    /// # use flyto_diagnostics::{At, Findings, ObjectReader, Source, json};
    /// # let source = Source::new("tool.json", r#"{"name": "list"}"#);
    /// # let value = json::parse(&source)?;
    /// # let mut findings = Findings::new();
    /// # let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
    /// assert!(!reader.knows_all());
    /// let name = reader.required_string("name");
    /// assert!(reader.knows_all());
    /// # reader.finish();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn knows_all(&self) -> bool {
        self.asked.count_ones() as usize == self.members.len()
    }

    /// The keys that may be unknown: of the first 64 members those that were not asked for, and all others.
    fn not_asked(&self) -> impl Iterator<Item = &'v Spanned<Cow<'v, str>>> {
        let was_asked = |at: u32| self.asked & 1_u64.checked_shl(at).unwrap_or_default() != 0;
        let members = if self.knows_all() { &[] } else { self.members };
        let rest = (0..).zip(members).filter(move |(at, _)| !was_asked(*at));
        rest.map(|(_, member)| &member.key)
    }

    fn is_known(&self, name: &str) -> bool {
        self.known.contains(&name)
            || self.is_allowed(name)
            // It has a finding already.
            || self.refused.iter().any(|it| it.0 == name)
            || self.duplicates.refuse_key(name).is_err()
    }

    fn unknown(&self, name: &Spanned<Cow<'_, str>>) -> Diagnostic {
        let what = format!("unknown key {}", quoted(&name.value));
        let warning = self.about_key(Severity::Warning, name, codes::UNKNOWN_KEY, what);
        let mut hints = self.hints.iter().chain(self.hint_table);
        let hint = hints.find(|hint| hint.0 == name.value).map(|hint| hint.1);
        let near = || {
            // A slip in another spelling is near to that one, and means the key.
            let spellings = self.allowed.iter().filter_map(|(name, key)| Some((*name, (*key)?)));
            let names = self.known.iter().copied().chain(spellings.clone().map(|it| it.0));
            let near = nearest(&name.value, names, Tolerance::Words)?;
            let known = self.known.iter().copied().find(|it| *it == near);
            known.or_else(|| spellings.clone().find(|it| it.0 == near).map(|it| it.1))
        };
        match hint.or_else(near) {
            Some(near) if self.name_of(near).is_none() => warning
                .with_help(format!("did you mean {}?", quoted(near)))
                .with_suggestion(name.span, string_literal(near)),
            Some(near) => {
                warning.with_help(format!("{} is there as well; remove this key", quoted(near)))
            }
            None if self.known.is_empty() => warning.with_help("remove the key"),
            None => {
                let first = |(at, key)| !self.known[..at].contains(key);
                let known = self.known.iter().enumerate().filter(|it| first(*it));
                let known: Vec<_> = known.map(|(_, key)| quoted(key)).collect();
                warning.with_help(format!("the keys here are {}", known.join(", ")))
            }
        }
    }
}
