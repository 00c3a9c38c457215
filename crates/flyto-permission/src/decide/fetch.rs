//! Addresses.
//!
//! Each address is judged by its host alone: scheme, port and path make no difference to a rule.
//! This machine and its network are asked unless a rule spells the host.

use super::{Judge, cut};
use crate::{
    Cause, Reason, Standing, Subject, Verdict,
    host::{self, Pattern},
    rule::Form,
};

impl Judge<'_> {
    /// A tool of class `webfetch`.
    ///
    /// Without an address in its preview it is judged by its name.
    pub(super) fn fetch(&mut self) {
        let urls = self.request.preview.map(|it| &it.urls).filter(|it| !it.is_empty());
        let Some(urls) = urls else { return self.whole(Standing::Unpreviewed) };
        for url in urls {
            self.judge_url(url);
        }
    }

    /// Only rules that ask or deny.
    ///
    /// An address that cannot be read has no host to compare; [`judge_url`](Self::judge_url) asks
    /// for it.
    pub(super) fn narrow_url(&mut self, url: &str) {
        let Ok(address) = host::read(url) else { return };
        let (wide, exact) = self.index.by_host(&address);
        for rule in [wide.narrowing(), exact.narrowing()].into_iter().flatten() {
            let subject = Subject::Url { url: cut(url), host: Some(address.host.clone()) };
            self.reasons.push(Reason::rule(subject, rule));
        }
    }

    /// Rules that narrow were looked at before.
    ///
    /// Allowed by a rule that spells the host, by a wider one or by one for the tool, in this
    /// order; a local host by the first alone.
    fn judge_url(&mut self, url: &str) {
        let address = match host::read(url) {
            Ok(it) => it,
            Err(why) => {
                return self.unclear(Subject::Url { url: cut(url), host: None }, why, "");
            }
        };
        let subject = Subject::Url { url: cut(url), host: Some(address.host.clone()) };
        if let Some(why) = address.unclear {
            return self.unclear(subject, why, "");
        }
        let (wide, exact) = self.index.by_host(&address);
        let suggestion = suggestion(&address.host);
        let allow = match address.is_local {
            true => exact.allow,
            false => exact.allow.or(wide.allow).or(self.of_tool.allow),
        };
        let kept = exact.kept.or(wide.kept);
        self.reasons.push(match (allow, kept) {
            (Some(rule), _) => Reason::rule(subject, rule),
            (None, Some(rule)) => {
                let cause = Cause::KeptOnly { rule: rule.clone() };
                Reason::new(Verdict::Ask, subject, cause).suggest(suggestion)
            }
            (None, None) => {
                let standing =
                    if address.is_local { Standing::LocalHost } else { Standing::NoRule };
                Reason::default(Verdict::Ask, subject, standing).suggest(suggestion)
            }
        });
    }
}

/// A rule that names this host. `None` where the host would be read as a pattern: the URL standard
/// takes a star for a character of a name.
fn suggestion(host: &str) -> Option<String> {
    let text = format!("WebFetch(domain:{host})");
    let exact = Form::Host(Pattern::Exact(host.to_owned()));
    Form::parse(&text).is_ok_and(|it| it == exact).then_some(text)
}
