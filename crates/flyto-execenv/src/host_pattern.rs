//! Which hosts a program may reach, by name.

use std::{error::Error, fmt, net::IpAddr, str::FromStr};

/// A pattern of host names, with a port or for all of them.
///
/// | pattern | names |
/// | --- | --- |
/// | `example.org` | this host |
/// | `*.example.org` | every host below it, at any depth; not `example.org` |
/// | `10.0.0.7`, `[2001:db8::1]` | this address, where a program asks for it by number |
/// | `example.org:443` | one port of it |
///
/// Letters are compared without case, and a dot at the end says nothing.
///
/// ```
/// use flyto_execenv::HostPattern;
/// # fn main() -> Result<(), flyto_execenv::HostPatternError> {
/// let pattern: HostPattern = "*.example.org:443".parse()?;
/// assert!(pattern.matches("API.example.org", 443));
/// assert!(!pattern.matches("example.org", 443));
/// assert!("*.org.*".parse::<HostPattern>().is_err());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    hosts: Hosts,
    port: Option<u16>,
}

/// Names are in lower case and without a dot at their end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hosts {
    Address(IpAddr),
    Name(String),
    /// The name without the star and its dot.
    Below(String),
}

/// A text is no [`HostPattern`].
///
/// `Display` names the text and the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPatternError {
    text: String,
    why: &'static str,
}

impl fmt::Display for HostPatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to read the host {:?}: {}", self.text, self.why)
    }
}

impl Error for HostPatternError {}

/// The longest name of a host, in bytes (RFC 1035, section 2.3.4, without the final dot).
const MAX_NAME_BYTES: usize = 253;
/// The longest part of it between two dots (RFC 1035, section 2.3.4).
const MAX_LABEL_BYTES: usize = 63;

impl HostPattern {
    /// Whether the pattern names this host and port. An address is written as in `10.0.0.7` or
    /// `2001:db8::1`.
    #[must_use]
    pub fn matches(&self, host: &str, port: u16) -> bool {
        if self.port.is_some_and(|it| it != port) {
            return false;
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match &self.hosts {
            Hosts::Address(address) => host.parse() == Ok(*address),
            Hosts::Name(name) => host == *name,
            Hosts::Below(name) => is_below(&host, name),
        }
    }

    /// The port, where the pattern names one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The pattern of the hosts that both name.
    ///
    /// `None` where no host is named by both. Used where a policy narrows a spec.
    pub(crate) fn common(&self, other: &Self) -> Option<Self> {
        let hosts = match (&self.hosts, &other.hosts) {
            (a, b) if a == b => a,
            (it @ (Hosts::Name(deep) | Hosts::Below(deep)), Hosts::Below(name))
                if is_below(deep, name) =>
            {
                it
            }
            (Hosts::Below(name), it @ (Hosts::Name(deep) | Hosts::Below(deep)))
                if is_below(deep, name) =>
            {
                it
            }
            _ => return None,
        };
        let port = match (self.port, other.port) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        Some(Self { hosts: hosts.clone(), port })
    }
}

/// Whether a host lies below a name: `a.example.org` below `example.org`, and not that name itself.
fn is_below(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|it| it.len() > 1 && it.ends_with('.'))
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        let refuse = |why| HostPatternError { text: text.to_owned(), why };
        let (host, port) = split_port(text).map_err(refuse)?;
        let port = match port {
            None => None,
            Some(port) => match port.parse() {
                Ok(port @ 1..) if port_is_plain(text) => Some(port),
                _ => return Err(refuse("a port is a number from 1 to 65535")),
            },
        };
        if let Ok(address) = host.parse() {
            return Ok(Self { hosts: Hosts::Address(address), port });
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let hosts = match host.strip_prefix("*.") {
            Some(name) => Hosts::Below(checked(name).map_err(refuse)?),
            None => Hosts::Name(checked(&host).map_err(refuse)?),
        };
        Ok(Self { hosts, port })
    }
}

/// `u16` reads `+443` as well.
fn port_is_plain(text: &str) -> bool {
    text.rsplit(':').next().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()))
}

/// Splits off a port, behind the bracket of an IPv6 address too.
///
/// The text after the colon is not looked at here.
///
/// # Errors
///
/// What is wrong with the brackets.
fn split_port(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("the bracket is not closed")?;
        if host.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("brackets hold an IPv6 address");
        }
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("after the bracket comes a port, as in `[::1]:443`"),
        };
    }
    if text.parse::<IpAddr>().is_ok() {
        return Ok((text, None));
    }
    Ok(text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))))
}

/// A name in lower case, if it can be that of a host.
///
/// # Errors
///
/// Which rule the name breaks, in words.
fn checked(name: &str) -> Result<String, &'static str> {
    let is_label = |it: &str| {
        (1..=MAX_LABEL_BYTES).contains(&it.len())
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
    };
    if name.contains('*') {
        return Err("a star stands for all of the front, as in `*.example.org`");
    }
    if name.len() > MAX_NAME_BYTES || !name.split('.').all(is_label) {
        return Err("a host is a name such as `example.org`, or an address");
    }
    // Such a name is read as an address by some programs and as a name by others.
    if name.rsplit('.').next().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit())) {
        return Err("an IPv4 address is four numbers up to 255");
    }
    Ok(name.to_owned())
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            Hosts::Address(address) => write!(f, "{address}")?,
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Below(name) => write!(f, "*.{name}")?,
        }
        self.port.map_or(Ok(()), |it| write!(f, ":{it}"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        match text.parse::<HostPattern>() {
            Ok(pattern) => {
                let shown = pattern.to_string();
                assert_eq!(shown.parse(), Ok(pattern), "what is shown can be read");
                expect.assert_eq(&shown);
            }
            Err(err) => expect.assert_eq(err.why),
        }
    }

    #[test]
    fn patterns_are_read() {
        check("Example.ORG.", expect!["example.org"]);
        check("*.example.org:443", expect!["*.example.org:443"]);
        check("localhost", expect!["localhost"]);
        check("10.0.0.7:80", expect!["10.0.0.7:80"]);
        check("2001:DB8::1", expect!["[2001:db8::1]"]);
        check("[2001:db8::1]:443", expect!["[2001:db8::1]:443"]);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let name = || expect!["a host is a name such as `example.org`, or an address"];
        check("", name());
        check("a..b", name());
        check("https://a.org", expect!["a port is a number from 1 to 65535"]);
        check("a.org/x", name());
        check("*", expect!["a star stands for all of the front, as in `*.example.org`"]);
        check("a.*.org", expect!["a star stands for all of the front, as in `*.example.org`"]);
        check("a.org:0", expect!["a port is a number from 1 to 65535"]);
        check("a.org:+1", expect!["a port is a number from 1 to 65535"]);
        check("1.2.3.256", expect!["an IPv4 address is four numbers up to 255"]);
        check("[::1", expect!["the bracket is not closed"]);
        check("[a.org]", expect!["brackets hold an IPv6 address"]);
        check("[::1]443", expect!["after the bracket comes a port, as in `[::1]:443`"]);
        check(&format!("{}.org", "a".repeat(64)), name());
    }

    #[test]
    fn a_pattern_names_what_it_says() {
        let check = |pattern: &str, host: &str, port, expect| {
            let pattern: HostPattern = pattern.parse().expect("a pattern");
            assert_eq!(pattern.matches(host, port), expect, "{pattern} {host} {port}");
        };
        check("example.org", "EXAMPLE.org.", 1, true);
        check("example.org", "www.example.org", 1, false);
        check("*.example.org", "a.b.example.org", 1, true);
        check("*.example.org", "example.org", 1, false);
        check("*.example.org", ".example.org", 1, false);
        check("*.example.org", "badexample.org", 1, false);
        check("example.org:443", "example.org", 80, false);
        check("2001:db8::1", "2001:0db8:0::1", 80, true);
        check("10.0.0.7", "10.0.0.8", 80, false);
    }
}
