//! Addresses of servers.
//!
//! An address is looked at by its text: no name is resolved, and no connection is opened.

use flyto_diagnostics::{At, Diagnostic, quoted};

use crate::codes;

/// What is wrong with an address that holds no reference to a variable: it is no address, or has
/// a password in it, which is an error; or it is not protected on its way, which is a warning
/// unless `strict`. The first fault is returned. A user name in front of `@` is refused with or
/// without a password.
pub(super) fn fault(at: At<'_>, text: &str, strict: bool) -> Option<Diagnostic> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let is_http = scheme.eq_ignore_ascii_case("http");
    if !is_http && !scheme.eq_ignore_ascii_case("https") || authority.is_empty() {
        let what = format!("{} is no address of a server", quoted(text));
        let diag = at.error(codes::SERVER_ADDRESS, what);
        return Some(diag.with_help("write an address such as `https://example.org/mcp`"));
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let what = format!("the address {} holds a blank or a control character", quoted(text));
        return Some(at.error(codes::SERVER_ADDRESS, what).with_help("remove it"));
    }
    if authority.contains('@') {
        let diag = at.error(codes::SERVER_ADDRESS, "the address holds the name of a user");
        let help = "put the credentials into \"headers\", from a variable of the host";
        return Some(diag.with_help(help));
    }
    if is_http && !is_loopback(authority) {
        let what = format!("what is sent to {} can be read on its way", quoted(text));
        let diag = match strict {
            true => at.error(codes::SERVER_ADDRESS, what),
            false => at.warning(codes::SERVER_ADDRESS, what),
        };
        return Some(diag.with_help("write `https://`, unless the server runs on this machine"));
    }
    None
}

/// Whether a host, perhaps with a port, is this machine.
/// `localhost`, 127.0.0.0/8 and `[::1]`. A name that only resolves to such an address is not.
fn is_loopback(authority: &str) -> bool {
    if let Some(v6) = authority.strip_prefix('[') {
        return v6.split_once(']').is_some_and(|it| it.0 == "::1");
    }
    let host = authority.rsplit_once(':').map_or(authority, |it| it.0);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use flyto_diagnostics::{Source, json};

    use super::*;

    #[track_caller]
    fn check(url: &str, expect: Expect) {
        let source = Source::new("x", serde_json::Value::from(url).to_string());
        let root = json::parse(&source).expect("JSON");
        let found = fault(At::root(&source, &root), url, false);
        expect.assert_eq(&found.map_or_else(|| "ok".to_owned(), |it| it.to_string()));
    }

    #[test]
    fn addresses() {
        check("https://example.org", expect!["ok"]);
        check("HTTPS://example.org:8443/mcp?x=1#y", expect!["ok"]);
        check("http://localhost:8080/mcp", expect!["ok"]);
        check("http://127.0.0.1", expect!["ok"]);
        check("http://[::1]:80/", expect!["ok"]);
        check(
            "http://127.example.org/",
            expect![[
                r#"x:1:1: warning[F0163]: what is sent to "http://127.example.org/" can be read on its way"#
            ]],
        );
        check(
            "http://localhost.example.org",
            expect![[
                r#"x:1:1: warning[F0163]: what is sent to "http://localhost.example.org" can be read on its way"#
            ]],
        );
        check(
            "http://localhost:80@example.org/",
            expect!["x:1:1: error[F0163]: the address holds the name of a user"],
        );
        check(
            "example.org/mcp",
            expect![[r#"x:1:1: error[F0163]: "example.org/mcp" is no address of a server"#]],
        );
        check(
            "https:///mcp",
            expect![[r#"x:1:1: error[F0163]: "https:///mcp" is no address of a server"#]],
        );
        check(
            "ws://example.org",
            expect![[r#"x:1:1: error[F0163]: "ws://example.org" is no address of a server"#]],
        );
        check(
            "https://example.org/a b",
            expect![[
                r#"x:1:1: error[F0163]: the address "https://example.org/a b" holds a blank or a control character"#
            ]],
        );
    }
}
