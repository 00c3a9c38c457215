//! Addresses.
//!
//! Each address is judged by its host alone: scheme, port and path make no
//! difference to a rule. This machine and its network are asked unless a rule
//! spells the host.
//!
//! In texts, hosts are looked for by rules that ask or deny:
//!
//! | of a text | verdict where a rule names the host |
//! | --- | --- |
//! | what stands behind `://`, and each host of a list there | that of the rule |
//! | without blanks: each part between characters of no name | that of the rule |
//! | with blanks: the same | ask |
//! | without its escapes (`http:\/\/HOST`, `http%3A%2F%2FHOST`) | ask |
//! | the path and the query of an address | none |
//! | a host with braces or brackets, which curl expands | ask, where a rule names one of them, or they are many |

use super::{Judge, Source, cut, escape::unescaped, input::texts_of};
use crate::{
    Cause, Reason, Rule, Standing, Subject, Verdict,
    host::{self, Address, Pattern},
    index::Narrows,
    rule::Form,
};

/// Most addresses of one text that are read.
const MAX_ADDRESSES: usize = 64;
/// Longest text of which the host is looked for behind tabs and line breaks, and longest list of hosts.
const MAX_TIDIED_BYTES: usize = 8 * 1024;
/// Steps for a host that takes a reader of addresses to tell.
const READ: usize = 8;
/// How far behind the dash of `-sxHOST` the value of an option may start.
const MAX_LETTERS: usize = 8;

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
        // A text that begins as an address of another form is one that no rule was compared with.
        let Some(texts) = self.request.input.map(texts_of) else { return };
        let Some(texts) = texts else {
            let part = (self.tool(), "its input holds more values than are looked at", "");
            return self.unclear(part, Narrows::HOSTS, Source::Class);
        };
        for text in texts.into_iter().filter(|it| host::begins_as_address(it)) {
            if !urls.iter().any(|it| it == text) {
                let subject = Subject::Url { url: cut(text), host: None };
                let why = "it may be an address, and is none that begins with http: or https:";
                self.unclear((subject, why, ""), Narrows::HOSTS, Source::Class);
            }
        }
    }

    /// Only rules that ask or deny: at each address in a text, with any scheme or
    /// none. One that cannot be read is asked.
    ///
    /// `is_address` says that the text is meant as one address. Else a text without
    /// a scheme counts where it has no blank, and only for rules that spell its
    /// host or one above it: a rule for every host is none against every word.
    pub(super) fn narrow_url(&mut self, text: &str, is_address: bool) {
        if !self.index.narrows().hosts {
            return;
        }
        let text = text.trim();
        // Readers of addresses leave tabs and line breaks out (URL Standard, section 4.4).
        if text.len() <= MAX_TIDIED_BYTES && text.contains(['\t', '\n', '\r']) {
            let tidied = text.replace(['\t', '\n', '\r'], "");
            if !tidied.contains(char::is_whitespace) {
                self.narrow_tidied_url(&tidied, is_address);
            }
        }
        self.narrow_tidied_url(text, is_address);
    }

    fn narrow_tidied_url(&mut self, text: &str, is_address: bool) {
        // Most words have no colon, and need no search for a scheme.
        let addressed = if text.bytes().any(|it| it == b':') { text } else { "" };
        let starts = addressed.match_indices("://").map(|(at, sign)| at + sign.len());
        let mut starts = starts.peekable();
        if starts.peek().is_none() {
            let value = text.split_once('=').map(|(_, value)| value);
            for text in [Some(text), value].into_iter().flatten() {
                self.narrow_plain_url(text, is_address);
            }
            return;
        }
        for (n, start) in starts.enumerate() {
            let rest = &text[start..];
            let end =
                rest.find(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | '<' | '>'));
            let rest = &rest[..end.unwrap_or(rest.len())];
            if n == MAX_ADDRESSES {
                return self.unread_url(text, "it holds more addresses than are read", "");
            }
            match host::read_behind_scheme(rest) {
                Ok(address) => self.narrow_host(text, &address, true),
                Err(_) if rest.is_empty() || text[..start].ends_with("file://") => {}
                Err(why) => self.unread_url(text, why, rest),
            }
            // A list of hosts, or what stands around an address in a text.
            let hosts = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            let hosts = &hosts[..hosts.floor_char_boundary(MAX_TIDIED_BYTES)];
            if hosts.contains(is_beside_host) {
                self.narrow_ipv6_in(text, hosts);
                for host in hosts.split(is_beside_host).filter(|it| !it.is_empty()) {
                    self.narrow_plain_url(host, false);
                }
            }
        }
    }

    /// A text without `://`: a program that connects may take a host for an
    /// address, and `http:host` has no slashes.
    fn narrow_plain_url(&mut self, text: &str, is_address: bool) {
        // Slashes alone end a pattern of sed: `s/[a-z]//`.
        let is_bare = text.bytes().all(|it| it == b'/');
        if !is_address && (is_bare || text.contains(char::is_whitespace)) {
            return;
        }
        let is_explicit = is_address || text.starts_with("//") || host::has_web_scheme(text);
        if let Some(name) = host::plain_name(text).filter(|_| !is_explicit) {
            let found = self.index.narrowing_host(name.as_ref());
            if let Some(rule) = found {
                let subject = Subject::Url { url: cut(text), host: Some(name.into_owned()) };
                self.reasons.push(Reason::rule(subject, rule));
            }
            return;
        }
        if !is_explicit && text.starts_with(['/', '.', '~', '-']) {
            return;
        }
        match host::read(text).or_else(|_| host::read_behind_scheme(text)) {
            Ok(address) => self.narrow_host(text, &address, is_explicit),
            Err(why) if is_explicit && !text.is_empty() => self.unread_url(text, why, ""),
            Err(_) => {}
        }
    }

    /// A word of a command: as an address, and its parts as hosts.
    #[cfg(feature = "bash")]
    pub(super) fn narrow_word_hosts(&mut self, text: &str) {
        self.narrow_url(text, false);
        self.narrow_host_parts(text);
    }

    /// A text with blanks, such as a script of another language, or with escapes: a host
    /// that it mentions is asked.
    pub(super) fn narrow_hosts_in_text(&mut self, text: &str) {
        if !self.index.narrows().hosts {
            return;
        }
        // Several readings name the same.
        let mut rules: Vec<Rule> = Vec::new();
        if text.trim().contains(char::is_whitespace) {
            self.find_mentioned_hosts(text, &mut rules);
        }
        // No host holds a blank, so words without an escape are the same without it.
        let is_escaped = |it: &&str| it.contains(['\\', '%']);
        let escaped: Vec<&str> = text.split_whitespace().filter(is_escaped).collect();
        for reading in unescaped(&escaped.join(" ")) {
            if !self.steps().take_text(&reading) {
                break;
            }
            self.find_guessed_url(&reading, &mut rules);
            self.find_mentioned_hosts(&reading, &mut rules);
        }
        for rule in rules {
            let subject = Subject::Url { url: cut(text), host: None };
            self.reasons.push(Reason::new(Verdict::Ask, subject, Cause::Possible { rule }));
        }
    }

    /// Adds the rules for a reading of a text that may be an address. What cannot be
    /// read of it is not asked.
    fn find_guessed_url(&mut self, reading: &str, rules: &mut Vec<Rule>) {
        let (n_reasons, n_unread) = (self.reasons.len(), self.unread.len());
        self.narrow_url(reading, false);
        self.unread.truncate(n_unread);
        for it in self.reasons.split_off(n_reasons) {
            if let Cause::Rule { rule } = it.cause
                && !rules.contains(&rule)
            {
                rules.push(rule);
            }
        }
    }

    /// Adds the rules for the hosts that a text mentions, each once.
    ///
    /// The text is parted at each character that no name of a host has.
    fn find_mentioned_hosts(&self, text: &str, rules: &mut Vec<Rule>) {
        let index = self.index;
        let mut add = |rule: Option<&Rule>| {
            rules.extend(rule.filter(|it| !rules.contains(it)).cloned());
        };
        for address in host::ipv6_in(text) {
            if !self.steps().take(READ) {
                return;
            }
            add(index.narrowing_host(&address.host));
        }
        for part in text.split(|it: char| it.is_whitespace() || is_beside_host(it)) {
            // An address without its scheme begins with two slashes.
            let part = part.strip_prefix("//").map_or(part, |it| it.trim_start_matches('/'));
            if part.is_empty() || part.starts_with(['/', '.', '~', '-']) {
                continue;
            }
            if !self.steps().take(1) {
                return;
            }
            add(match host::plain_name(part) {
                Some(name) => index.narrowing_host(name.as_ref()),
                // Numbers and other letters take more to read.
                None if !self.steps().take(READ) => return,
                None => host::read_behind_scheme(part)
                    .ok()
                    .and_then(|it| index.narrowing_host(&it.host)),
            });
        }
    }

    /// A word that may be a host, and most likely is none: what a rule names is asked.
    ///
    /// For names of members of an input, as in `{"localhost": 1}`.
    pub(super) fn narrow_bare_host(&mut self, word: &str) {
        if !self.index.narrows().hosts {
            return;
        }
        let name = host::plain_name(word);
        if let Some(rule) = name.and_then(|it| self.index.narrowing_host(it.as_ref())) {
            let subject = Subject::Url { url: cut(word), host: None };
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, subject, cause));
        }
    }

    /// A text of which a program may make hosts that are not written in it: what a rule
    /// names of them is asked.
    #[cfg(feature = "bash")]
    pub(super) fn narrow_expanding_host(&mut self, text: &str) {
        let Some(hosts) = host::expanded(text) else {
            let why = "a program may expand braces and brackets in its host";
            return self.unread_url(text, why, "");
        };
        for it in hosts {
            if !self.steps().take(READ) {
                return;
            }
            let rule = match host::plain_name(&it) {
                Some(name) => self.index.narrowing_host(name.as_ref()),
                None => {
                    let address = host::read_behind_scheme(&it).ok();
                    address.and_then(|it| self.index.narrowing_host(&it.host))
                }
            };
            if let Some(rule) = rule {
                let subject = Subject::Url { url: cut(text), host: None };
                let cause = Cause::Possible { rule: rule.clone() };
                self.reasons.push(Reason::new(Verdict::Ask, subject, cause));
            }
        }
    }

    /// The parts of a text without blanks, each of which may be a host: `a=b=HOST`,
    /// `a:HOST:b`, `-xHOST`. Rules that spell a host, or one above it, count.
    pub(super) fn narrow_host_parts(&mut self, text: &str) {
        if !self.index.narrows().hosts {
            return;
        }
        let text = text.trim();
        let is_short_option = text.starts_with('-') && !text.starts_with("--");
        let has_parts = is_short_option || text.contains(is_beside_host);
        if !has_parts || text.contains(char::is_whitespace) {
            return;
        }
        let mut found: Vec<&str> = Vec::new();
        for part in text.split(',') {
            // What stands behind a scheme was read as an address.
            let part = part.split_once("://").map_or(part, |(before, _)| before);
            found.extend(part.split(is_beside_host));
        }
        if is_short_option {
            let first = text.split(is_beside_host).next().unwrap_or(text);
            let starts = first.char_indices().map(|(at, _)| at).skip(2).take(MAX_LETTERS);
            found.extend(starts.map(|at| &first[at..]));
            // A value that is an IPv6 address begins with a colon, or with letters of a name.
            let starts = text.char_indices().map(|(at, _)| at).skip(2).take(MAX_LETTERS);
            found.extend(starts.map(|at| &text[at..]).filter(|it| host::ipv6(it).is_some()));
        }
        found.retain(|it| it.len() < text.len() && !it.is_empty());
        found.sort_unstable();
        found.dedup();
        for part in found {
            self.narrow_plain_url(part, false);
        }
        // What is one address was read as such.
        if host::ipv6(text).is_none() {
            let before = text.split_once("://").map_or(text, |(before, _)| before);
            self.narrow_ipv6_in(text, before);
        }
    }

    /// The IPv6 addresses in a part of a text without blanks, which hold what parts names.
    fn narrow_ipv6_in(&mut self, text: &str, part: &str) {
        for address in host::ipv6_in(part) {
            if !self.steps().take(READ) {
                return;
            }
            self.narrow_host(text, &address, false);
        }
    }

    /// An address, or a text with one, of which the host cannot be told.
    fn unread_url(&mut self, text: &str, why: &'static str, near: &str) {
        let subject = Subject::Url { url: cut(text), host: None };
        self.unclear((subject, why, near), Narrows::HOSTS, Source::Guess);
    }

    /// `is_address` says that the host is meant as one; else only rules that spell
    /// a host, or one above it, count.
    fn narrow_host(&mut self, url: &str, address: &Address, is_address: bool) {
        let (wide, exact) = self.index.by_host(address);
        let (wide, exact) = match is_address {
            true => (wide.narrowing(), exact.narrowing()),
            false => (None, self.index.narrowing_host(&address.host)),
        };
        for rule in [wide, exact].into_iter().flatten() {
            let subject = Subject::Url { url: cut(url), host: Some(address.host.clone()) };
            self.reasons.push(Reason::rule(subject, rule));
        }
        if let Some(why) = address.unclear.filter(|_| is_address) {
            self.unread_url(url, why, "");
        }
    }

    /// Rules that narrow were looked at before.
    ///
    /// Allowed by a rule that spells the host, by a wider one or by one for the
    /// tool, in this order; a local host by the first alone.
    fn judge_url(&mut self, url: &str) {
        let address = match host::read(url) {
            Ok(it) => it,
            Err(why) => {
                let subject = Subject::Url { url: cut(url), host: None };
                return self.unclear((subject, why, ""), Narrows::HOSTS, Source::Class);
            }
        };
        let subject = Subject::Url { url: cut(url), host: Some(address.host.clone()) };
        if let Some(why) = address.unclear {
            return self.unclear((subject, why, ""), Narrows::HOSTS, Source::Class);
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

/// Characters between which a program may look for a host in a text: those of no
/// name. Three more dots part the labels of a name ([UTS 46]).
///
/// [UTS 46]: https://www.unicode.org/reports/tr46/#Notation
fn is_beside_host(it: char) -> bool {
    let is_of_name = it.is_alphanumeric()
        || matches!(it, '-' | '_' | '.' | '/' | '%' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}');
    !is_of_name
}

/// A rule that names this host. `None` where the host would be read as a pattern:
/// the URL standard takes a star for a character of a name.
fn suggestion(host: &str) -> Option<String> {
    let text = format!("WebFetch(domain:{host})");
    let exact = Form::Host(Pattern::Exact(host.to_owned()));
    Form::parse(&text).is_ok_and(|it| it == exact).then_some(text)
}
