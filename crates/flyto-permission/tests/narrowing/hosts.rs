//! Texts of an input, which may be addresses.

use flyto_permission::{ClassTrust, Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};
use serde_json::{Value, json};

use crate::calls::{check_input, check_script, denying};

#[track_caller]
fn check_text(rules: &Rules, text: &str, expected: Verdict) {
    check_input(rules, &PermissionClass::GENERIC, json!({ "x": text }), expected);
}

#[test]
fn a_host_is_found_at_each_place_of_a_text() {
    let rules = denying("WebFetch(domain:evil.org)");
    for text in [
        "postgresql://evil.org,good.org/db",
        "postgresql://good.org,evil.org/db",
        "http://evil.org,http://good.org",
        "see http://evil.org, thanks",
        "(http://evil.org)",
        "[x](http://evil.org)",
        "http://evil.org!",
        "{u:http://evil.org}",
        "url=http://evil.org&b=1",
        "http://evil.org、x",
        "“http://evil.org”",
        "http://x、evil.org",
        "evil.org\n",
        " evil.org",
        "evil.org:80\n",
        "evil\u{3002}org",
        "ht\ttp://evil.org",
        "http://ev\til.org",
        "http:\\\\evil.org",
    ] {
        check_text(&rules, text, Verdict::Deny);
    }
    // In a text of several words a host is a guess.
    for text in ["good.org, evil.org", "evil.org; x", "x evil.org y", "a\nevil.org\nb"] {
        check_text(&rules, text, Verdict::Ask);
    }
    check_input(
        &rules,
        &PermissionClass::GENERIC,
        json!({"hosts": {"evil.org": 1}}),
        Verdict::Deny,
    );
    for text in ["http://good.org/x?u=evil.org", "medevil.org", "evil.org.good.org, x", "evil, org"]
    {
        check_text(&rules, text, Verdict::Allow);
    }
    check_script(&rules, "psql postgresql://evil.org,good.org/db", Verdict::Deny);
    let local = denying("WebFetch(domain:127.0.0.1)");
    for text in ["http://0x7f.1,good.org", "x://2130706433;"] {
        check_text(&local, text, Verdict::Deny);
    }
    check_text(&local, "ping 0x7f.1 now", Verdict::Ask);
    let name = json!({"hosts": {"localhost": 1}});
    let localhost = denying("WebFetch(domain:localhost)");
    check_input(&localhost, &PermissionClass::GENERIC, name, Verdict::Ask);
}

#[test]
fn an_ipv6_address_is_found_beside_other_characters() {
    let rules = denying("WebFetch(domain:[2001:db8::1])");
    for text in [
        "2001:db8::1",
        "2001:DB8:0:0::1",
        "a.org,2001:db8::1",
        "(2001:db8::1)",
        "tcp://[2001:db8::1]:80",
        "mongodb://[2001:db8::2]:1,[2001:db8::1]:1/db",
        "a.org:80:2001:db8::1",
        "TCP6:[2001:db8::1]:80",
    ] {
        check_text(&rules, text, Verdict::Deny);
    }
    for text in ["at 2001:db8::1.", "at (2001:db8::1)", "x: [2001:db8::1]:80; y", "2001:db8::1: no"]
    {
        check_text(&rules, text, Verdict::Ask);
    }
    for text in ["std::db8::1", "2001:db8::1f", "x2001:db8::1", "at 2001:db8::1:1", "12:30:45"] {
        check_text(&rules, text, Verdict::Allow);
    }
}

/// A text may be data for a program that takes escapes off.
#[test]
fn escapes_hide_no_host() {
    let rules = denying("WebFetch(domain:evil.org)");
    for text in [
        r#"{"url":"http:\/\/evil.org\/x"}"#,
        r#"{"url": "http:\/\/evil.org\/x"}"#,
        r#"{"body":"{\"url\":\"http:\\/\\/evil.org\"}"}"#,
        r#"{"host":"\u0065vil\u002eorg"}"#,
        r"x\nevil.org\ny",
        "http%3A%2F%2Fevil.org",
        "http%253A%252F%252Fevil.org%252Fx",
        "see http%3A%2F%2Fevil.org, please",
        "https://good.org/?next=http%3A%2F%2Fevil.org",
        "//evil.org/x.js hello",
        r#"<script src="//evil.org/x.js"></script>"#,
        "a ///evil.org/x",
    ] {
        check_text(&rules, text, Verdict::Ask);
    }
    for text in [
        r#"{"url":"http:\/\/good.org\/evil.org"}"#,
        "https://good.org/?next=https%3A%2F%2F%5Bx",
        r"/https?:\/\/[^\s]+/",
        r"C:\new\evil.orgs",
        "a // evil, org",
        "100%evil",
    ] {
        check_text(&rules, text, Verdict::Allow);
    }
    let all = denying("WebFetch");
    check_text(&all, r#"{"url":"http:\/\/good.org"}"#, Verdict::Ask);
    check_text(&all, r"a\/b c%20d", Verdict::Allow);
}

/// What a rule that allows one host says of a call that may reach others.
#[test]
fn a_rule_that_allows_a_host_allows_no_other() {
    let mut rules = Rules::builder();
    let text = "WebFetch(domain:good.org)";
    rules.add(Layer::Operator, Verdict::Allow, text, Place::default()).expect("this is a rule");
    let rules = rules.build();
    let check = |url: &str, other: Value, expected| {
        let id = ToolId::parse("p:t").expect("this is a name");
        let preview = Preview::new().with_url(url);
        let input = json!({"url": url, "other": other});
        let request = Request::new(&id)
            .class(&PermissionClass::WEBFETCH)
            .class_trust(ClassTrust::Named)
            .input(&input)
            .preview(Some(&preview));
        let decision = rules.decide(&request);
        assert_eq!(decision.verdict, expected, "{input}: {decision}");
        let text = decision.to_string();
        assert!(!text.contains("domain:good.org,"), "a rule for no host: {text}");
    };
    for url in [
        "http://good.org/",
        "http://good.org:81/a,b",
        "https://good.org/web/https://a.org",
        "http://good.org/?u=http://a.org",
    ] {
        check(url, json!("GET"), Verdict::Allow);
    }
    for url in [
        "http://good.org,http://evil.org",
        "http://good.org/,http://evil.org/",
        "http://good.org/;http://evil.org",
        "http://good.org,evil.org/",
        "http://good.org&evil.org/",
    ] {
        check(url, json!(null), Verdict::Ask);
    }
    for other in
        ["ftp://evil.org", "ws://evil.org", "//evil.org", "ht\ttp://evil.org", " http:evil.org"]
    {
        check("http://good.org/", json!([other]), Verdict::Ask);
    }
    check("http://good.org/", json!("see ftp://evil.org, a: b"), Verdict::Allow);
}
