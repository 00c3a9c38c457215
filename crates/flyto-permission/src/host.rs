//! Addresses, and patterns of hosts.
//!
//! Rules name hosts, calls name addresses. Both go through the [`url`] crate, so
//! that one host has one form however it is written (`0x7f.1`, `BÜCHER.example`),
//! and a rule is compared with what a browser would connect to. Nothing is looked
//! up: a name that leads to an address of the local network is not found here; only
//! what connects can see that.

use url::{Host, Url};

/// Longest address that is read, in bytes.
///
/// Longer ones are asked.
const MAX_BYTES: usize = 8 * 1024;

/// A host as programs that follow the [URL standard](https://url.spec.whatwg.org/)
/// see it: small letters, Punycode, IP addresses in one form, without a dot at the
/// end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// IPv6 addresses stand in brackets.
    pub(crate) host: String,
    /// This machine, its network, or a name that only such networks use. A rule has
    /// to name such a host exactly: `WebFetch` and `domain:*` do not allow it.
    pub(crate) is_local: bool,
    /// `*.` patterns are not tried for it.
    pub(crate) is_ip: bool,
    /// Why programs may read the address differently, where they may. Such an
    /// address is asked whatever the rules allow; rules that deny its host hold.
    pub(crate) unclear: Option<&'static str>,
}

/// Reads an address. `Err`: why it has no host that a rule could name.
///
/// Only `http` and `https` are read. User names and odd characters are no error:
/// they make the address [`unclear`](Address::unclear).
pub(crate) fn read(text: &str) -> Result<Address, &'static str> {
    if text.len() > MAX_BYTES {
        return Err("the address is too long to be read");
    }
    let url = Url::parse(text).map_err(|_| "it is no address that can be read")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("the address is neither http nor https");
    }
    let host = url.host().ok_or("the address has no host")?;
    let mut res = address(&host);
    // What parsers disagree about. `http://good.org\@bad.org` has either host.
    res.unclear = if text.contains(['\\', '\t', '\n', '\r', ' ']) || text.contains(char::is_control)
    {
        Some("the address holds characters that programs read differently")
    } else if !url.username().is_empty() || url.password().is_some() {
        Some("the address holds a user name, which can pass for a host")
    } else if is_list(text) {
        Some("the address holds characters of no host, and may be a list of several")
    } else {
        None
    };
    Ok(res)
}

/// Whether a program may take a text for several addresses: its host holds characters
/// that are of no name, or another address stands behind a comma or the like.
///
/// The URL standard takes `good.org,evil.org` for one host, which is no name of the DNS
/// (RFC 1123, section 2.1); clients of databases take it for two. An address in the path
/// or the query of another, as archives and redirections have it, is a part of that.
fn is_list(text: &str) -> bool {
    let behind = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = behind.split(['/', '?', '#']).next().unwrap_or(behind);
    let is_odd = |it: char| {
        it.is_ascii_punctuation() && !matches!(it, '-' | '_' | '.' | ':' | '[' | ']' | '%')
    };
    let scheme = |it: &str| {
        let start =
            it.trim_end_matches(|it: char| it.is_ascii_alphanumeric() || "+-.".contains(it));
        start.ends_with([',', ';', '|', '(', '['])
    };
    host.contains(is_odd) || behind.match_indices("://").any(|(at, _)| scheme(&behind[..at]))
}

/// Whether a text begins with a scheme and two slashes, or with the slashes, as some
/// programs read it: without tabs and line breaks, and with `\` for `/`.
pub(crate) fn begins_as_address(text: &str) -> bool {
    const MAX_SCHEME: usize = 16;
    let letters = text.trim_start().chars().filter(|it| !matches!(it, '\t' | '\n' | '\r'));
    let letters = letters.map(|it| if it == '\\' { '/' } else { it });
    let start: String = letters.take(MAX_SCHEME + "://".len()).collect();
    let (scheme, _) = start.split_once("//").unwrap_or(("-", ""));
    scheme.is_empty()
        || has_web_scheme(&start)
        || scheme.strip_suffix(':').is_some_and(|it| {
            it.starts_with(|it: char| it.is_ascii_alphabetic())
                && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it))
        })
}

/// Reads the host that stands behind the scheme of an address, whatever the scheme;
/// what follows the host may be of any length. `Err`: why it has no host that a
/// rule could name.
pub(crate) fn read_behind_scheme(rest: &str) -> Result<Address, &'static str> {
    let rest = &rest[..rest.floor_char_boundary(MAX_BYTES)];
    let rest = rest.trim_start_matches(['/', '\\']);
    if rest.is_empty() {
        return Err("the address has no host");
    }
    if let Some(ip) = ipv6(rest) {
        return Ok(address(&Host::Ipv6(ip)));
    }
    let url =
        Url::parse(&format!("http://{rest}")).map_err(|_| "it is no address that can be read")?;
    let mut res = address(&url.host().ok_or("the address has no host")?);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if rest[..end].contains(['@', '\\']) {
        res.unclear = Some("the address holds a user name, which can pass for a host");
    }
    Ok(res)
}

/// The IPv6 address that a text is, behind the last `@` and up to a slash: also with a
/// zone (`fe80::1%eth0`), and in brackets, whatever stands behind them
/// (`[2001:db8::1]:file` for `scp`).
pub(crate) fn ipv6(text: &str) -> Option<std::net::Ipv6Addr> {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let authority = text[..end].rsplit('@').next()?;
    let ip = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => authority,
    };
    if ip.bytes().filter(|it| *it == b':').count() < 2 {
        return None;
    }
    ip.split('%').next()?.parse().ok()
}

/// The IPv6 addresses that stand in a text behind a character of no name, or behind a
/// port and a colon: in `TCP6:[2001:db8::1]:80`, `("2001:db8::1", 80)` and
/// `a.org:80:2001:db8::1`.
pub(crate) fn ipv6_in(text: &str) -> impl Iterator<Item = Address> {
    /// As many colons as an address has at most, and the one before it.
    const MAX_COLONS: usize = 10;
    let is_of_word = |it: char| it.is_alphanumeric() || matches!(it, ':' | '.' | '-' | '_');
    let words = text.split(move |it| !is_of_word(it)).filter(|it| it.contains(':'));
    words.flat_map(|word| {
        let word = word.trim_end_matches('.');
        // One colon at the end is of the sentence.
        let word = word.strip_suffix(':').filter(|it| !it.ends_with(':')).unwrap_or(word);
        let behind = word.rmatch_indices(':').map(|(at, _)| &word[at + 1..]);
        let ips = behind.take(MAX_COLONS).chain([word]).filter_map(ipv6);
        ips.map(|it| address(&Host::Ipv6(it)))
    })
}

/// Whether a text starts with a scheme that names a host also without slashes:
/// `http:example.org`.
pub(crate) fn has_web_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    ["http", "https", "ws", "wss", "ftp"].iter().any(|it| it.eq_ignore_ascii_case(scheme))
}

/// The host that a text without a scheme starts with, behind the last `@` of it, in
/// its one form.
///
/// `None` where it takes the `url` crate to tell: characters beyond those of plain
/// names, and numbers, which may be an IP address.
pub(crate) fn plain_name(text: &str) -> Option<std::borrow::Cow<'_, str>> {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let authority = &text[..end];
    let name = authority.rsplit('@').next().unwrap_or(authority);
    if ipv6(name).is_some() {
        return None;
    }
    let name = name.split(':').next().unwrap_or(name).trim_end_matches('.');
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    let last = name.rsplit('.').next().unwrap_or(name);
    if !name.bytes().all(is_plain) || last.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    Some(match name.bytes().any(|it| it.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    })
}

/// Most hosts that braces and brackets of one text stand for.
const MAX_EXPANDED: usize = 64;

/// The hosts that a program which expands braces and brackets of an address by
/// itself, as curl does, may find in a text: `good.org` and `evil.org` in
/// `{good,evil}.org`, `evil.org` in `[e-e]vil.org`. `None` for more than
/// [`MAX_EXPANDED`] in what has the form of an address: behind a scheme, with `@` or a
/// dot before its first slash. `[a-z][a-z]` is most likely a pattern.
///
/// Looked at are the text, what stands behind each `://` and, before the first
/// slash, behind each `=`. What curl expands is a list in braces, none in another,
/// and a range in brackets ([curl(1)], URL). A text that holds a character of no
/// host, such as `{"a": 1}`, is none.
///
/// [curl(1)]: https://curl.se/docs/manpage.html
pub(crate) fn expanded(text: &str) -> Option<Vec<String>> {
    const MAX_STARTS: usize = 64;
    if !text.contains(['{', '[']) {
        return Some(Vec::new());
    }
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let values = text[..end].match_indices('=').map(|(at, _)| at + 1);
    let addresses = text.match_indices("://").map(|(at, sign)| at + sign.len());
    let is_of_address =
        |it: char| matches!(it, '.' | '@' | '%' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}');
    let mut starts = std::iter::once(0).chain(values).chain(addresses);
    let mut res = Vec::new();
    for at in starts.by_ref().take(MAX_STARTS) {
        let start = &text[at..];
        // A slash in braces may end one of the hosts.
        let authority = match start.contains('{') {
            true => start,
            false => start.split(['/', '?', '#']).next().unwrap_or(start),
        };
        match expanded_at(start) {
            Some(hosts) => res.extend(hosts),
            None if has_web_scheme(start)
                || text[..at].ends_with('/')
                || authority.contains(is_of_address) =>
            {
                return None;
            }
            None => {}
        }
        if res.len() > MAX_EXPANDED {
            return None;
        }
    }
    starts.next().is_none().then_some(res)
}

/// The hosts of an address that starts here.
fn expanded_at(text: &str) -> Option<Vec<String>> {
    let text = text.trim_start().trim_start_matches(['"', '\'']);
    let text = match has_web_scheme(text) {
        true => text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches('/'),
        false => text.strip_prefix("//").unwrap_or(text),
    };
    let is_of_host =
        |it: char| !it.is_whitespace() && !it.is_control() && !"\"'`$()<>|^*;&!=+,{}".contains(it);
    let mut res = vec![String::new()];
    let mut expands = false;
    let mut rest = text;
    while let Some(it) = rest.chars().next() {
        let behind = &rest[it.len_utf8()..];
        let group = match it {
            '/' | '?' | '#' => break,
            '\\' => {
                rest = behind.strip_prefix(['{', '}', '[', ']']).unwrap_or(behind);
                continue;
            }
            '{' => behind.split_once('}').filter(|(inner, _)| !inner.contains('{')),
            '[' => behind.split_once(']'),
            _ => None,
        };
        let cases = group.and_then(|(inner, _)| match it {
            '{' => Some(inner.split(',').map(str::to_owned).collect()),
            _ => range(inner),
        });
        match (group, cases) {
            (Some((_, behind)), Some(cases)) => {
                let n_cases: usize = Vec::len(&cases);
                if n_cases.saturating_mul(res.len()) > MAX_EXPANDED {
                    return None;
                }
                let all =
                    res.iter().flat_map(|it| cases.iter().map(move |case| format!("{it}{case}")));
                res = all.collect();
                expands = true;
                rest = behind;
            }
            _ if is_of_host(it) => {
                res.iter_mut().for_each(|host| host.push(it));
                rest = behind;
            }
            // A quote may end what is meant as one address: `url="a.org"`.
            _ if matches!(it, '"' | '\'' | ')' | '>') || it.is_whitespace() => break,
            _ => return Some(Vec::new()),
        }
    }
    Some(if expands { res } else { Vec::new() })
}

/// What a range of curl stands for: `a-z`, `1-10`, `001-010`, with `:STEP` behind it.
/// `None` for any other text in brackets.
fn range(text: &str) -> Option<Vec<String>> {
    let range = text.split_once(':').map_or(text, |(range, _)| range);
    let (first, last) = range.split_once('-')?;
    let one = |it: &str| {
        let mut bytes = it.bytes();
        bytes.next().filter(|it| it.is_ascii_alphabetic() && bytes.next().is_none())
    };
    if let (Some(first), Some(last)) = (one(first), one(last)) {
        return Some((first..=last).map(|it| char::from(it).to_string()).collect());
    }
    let number =
        |it: &str| it.parse::<u32>().ok().filter(|_| it.bytes().all(|it| it.is_ascii_digit()));
    let (from, to) = (number(first)?, number(last)?);
    let n_digits = first.len();
    // One more than the bound tells that there are too many.
    Some((from..=to).take(MAX_EXPANDED + 1).map(|it| format!("{it:0n_digits$}")).collect())
}

/// The host in its one form. Dots at the end are taken off, since both spellings
/// lead to one place; an IPv6 address that leads to an IPv4 one is that one.
fn address(host: &Host<&str>) -> Address {
    let (text, is_local, is_ip) = match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_owned();
            let last = name.rsplit('.').next().unwrap_or("");
            let is_local = matches!(last, "localhost" | "local" | "internal" | "lan" | "home")
                || !name.contains('.');
            (name, is_local, false)
        }
        Host::Ipv4(ip) => (ip.to_string(), is_local_v4(*ip), true),
        Host::Ipv6(ip) => match mapped(*ip) {
            Some(ip) => (ip.to_string(), is_local_v4(ip), true),
            None => {
                let is_of_network =
                    ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_multicast();
                // `::a.b.c.d` leads nowhere any more, and is taken for what it led to.
                let is_local = is_of_network || ip.to_ipv4().is_some_and(is_local_v4);
                (format!("[{ip}]"), is_local || ip.is_loopback() || ip.is_unspecified(), true)
            }
        },
    };
    Address { host: text, is_local, is_ip, unclear: None }
}

/// The IPv4 address to which an IPv6 one leads: `::ffff:a.b.c.d` ([RFC 4291](https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2),
/// section 2.5.5.2), which a system connects to as that, and `64:ff9b::a.b.c.d`
/// ([RFC 6052](https://www.rfc-editor.org/rfc/rfc6052#section-2.1), section 2.1), which a gateway does.
fn mapped(ip: std::net::Ipv6Addr) -> Option<std::net::Ipv4Addr> {
    let [a, b, c, d] = [12, 13, 14, 15].map(|it| ip.octets()[it]);
    let is_translated = ip.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    ip.to_ipv4_mapped().or_else(|| is_translated.then(|| [a, b, c, d].into()))
}

/// [RFC 6890](https://www.rfc-editor.org/rfc/rfc6890): everything that is not on
/// the internet.
fn is_local_v4(ip: std::net::Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_unspecified()
        || ip.is_broadcast()
        || ip.is_multicast()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
}

/// What `domain:` names.
///
/// Kept in the form of [`Address::host`], so that comparing is comparing texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// `*`.
    All,
    /// This host.
    /// A port cannot be named: a rule holds for each.
    Exact(String),
    /// `*.`: every host below this one, not itself.
    Below(String),
}

impl Pattern {
    /// Reads what stands behind `domain:`.
    ///
    /// What no host can hold (`/`, `@`, `:`, `%`, a star inside) is refused before
    /// the `url` crate reads it, which would take part of it for something else.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const WHAT: &str = "this is no name of a host";
        if text == "*" {
            return Ok(Self::All);
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let is_ipv6 = name.starts_with('[') && name.ends_with(']');
        let odd = |it: char| it.is_whitespace() || it.is_control() || "/\\@?#*%".contains(it);
        let is_empty_part = name.starts_with('.') || name.contains("..");
        if name.contains(odd) || is_empty_part || (name.contains(':') && !is_ipv6) {
            return Err(WHAT);
        }
        let url = Url::parse(&format!("http://{name}/")).map_err(|_| WHAT)?;
        let address = address(&url.host().ok_or(WHAT)?);
        match (below, address.is_ip) {
            (true, true) => Err("an IP address has no hosts below it"),
            (true, false) => Ok(Self::Below(address.host)),
            (false, _) => Ok(Self::Exact(address.host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match read(text) {
            Ok(it) => format!(
                "{}{}{}",
                it.host,
                if it.is_local { " local" } else { "" },
                if it.unclear.is_some() { " unclear" } else { "" }
            ),
            Err(why) => format!("error: {why}"),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn one_host_has_one_form() {
        check("https://EXAMPLE.org:8443/x", "example.org");
        check("https://example.org./x", "example.org");
        check("https://bücher.example/", "xn--bcher-kva.example");
        check("https://xn--bcher-kva.example/", "xn--bcher-kva.example");
        check("http://0x7f.1/", "127.0.0.1 local");
        check("http://2130706433/", "127.0.0.1 local");
        check("http://0177.0.0.1/", "127.0.0.1 local");
        check("http://[::ffff:10.0.0.1]/", "10.0.0.1 local");
        check("http://[::ffff:808:808]/", "8.8.8.8");
        check("http://[64:ff9b::169.254.169.254]/", "169.254.169.254 local");
        check("http://[64:ff9b::1:808:808]/", "[64:ff9b::1:808:808]");
        check("http://[::10.0.0.1]/", "[::a00:1] local");
        check("http://[::1]/", "[::1] local");
        check("http://169.254.169.254/latest", "169.254.169.254 local");
        check("http://8.8.8.8/", "8.8.8.8");
        check("https://example%2eorg/", "example.org");
    }

    #[test]
    fn what_programs_read_differently_is_unclear() {
        check("https://example.org@evil.test/", "evil.test unclear");
        check("https://example.org\\@evil.test/", "example.org unclear");
        check("https://exa\tmple.org/", "example.org unclear");
    }

    #[test]
    fn other_schemes_are_refused() {
        check("file:///etc/passwd", "error: the address is neither http nor https");
        check("example.org", "error: it is no address that can be read");
        check("https://", "error: it is no address that can be read");
    }
}
