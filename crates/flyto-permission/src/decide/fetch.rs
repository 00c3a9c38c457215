//! Addresses.
//!
//! Each address is judged by its host alone: scheme, port and path make no difference to a rule.
//! This machine and its network are asked unless a rule spells the host.

use super::{Judge, cut};
use crate::{
    Cause, Reason, Standing, Subject, Verdict,
    host::{self, Address, Pattern},
    rule::Form,
};

/// Most addresses of one text that are read.
const MAX_ADDRESSES: usize = 64;

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

    /// Only rules that ask or deny: at each address in a text, with any scheme or none. One that cannot be read is asked.
    ///
    /// `is_address` says that the text is meant as one address. Else a text without a scheme counts where it has no blank, and
    /// only for rules that spell its host or one above it: a rule for every host is none against every word.
    pub(super) fn narrow_url(&mut self, text: &str, is_address: bool) {
        if !self.index.narrows.hosts {
            return;
        }
        let mut starts = text.match_indices("://").map(|(at, sign)| at + sign.len()).peekable();
        if starts.peek().is_none() {
            // A program that connects may take a host for an address. `http:host` has no slashes.
            let read = host::read(text).or_else(|_| host::read_behind_scheme(text));
            if let Ok(address) = read
                && (is_address || !text.contains(char::is_whitespace))
            {
                self.narrow_host(text, &address, is_address);
            }
            return;
        }
        let mut n = 0;
        for start in starts {
            n += 1;
            let rest = &text[start..];
            let end =
                rest.find(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | '<' | '>'));
            let rest = &rest[..end.unwrap_or(rest.len())];
            match host::read_behind_scheme(rest) {
                _ if n > MAX_ADDRESSES => {
                    let why = "it holds more addresses than are read";
                    return self.unclear(Subject::Url { url: cut(text), host: None }, why, "");
                }
                Ok(address) => self.narrow_host(text, &address, true),
                Err(why) => self.unclear(Subject::Url { url: cut(text), host: None }, why, rest),
            }
        }
    }

    /// `is_address` says that the host is meant as one; else only rules that spell a host, or one above it, count.
    fn narrow_host(&mut self, url: &str, address: &Address, is_address: bool) {
        let (wide, exact) = self.index.by_host(address);
        let wide = wide.narrowing().filter(|_| is_address || address.host.contains('.'));
        for rule in [wide, exact.narrowing()].into_iter().flatten() {
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
