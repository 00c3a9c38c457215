//! What the guard reports, for texts as agents write them. Tokens are put together here, so that none stands in a file.

use expect_test::{Expect, expect};
use flyto_security::{
    DefaultGuard, Fingerprint, RulesError, ScanError, SecretGuard, SecretMatch, Tier, redact,
    redact_bytes,
};

const KEY: &[u8] = b"a key for tests, the same each time";

/// A made-up GitHub token.
fn token() -> String {
    ["ghp", "a8Kd03mZq7Lw2Xc9Vb4Nt6Rj1Hf5Ps0Yg3Ue"].join("_")
}

fn guard() -> DefaultGuard {
    DefaultGuard::builder().fingerprint_key(KEY).build()
}

fn scan(text: &str) -> Vec<SecretMatch> {
    guard().scan("test", text.as_bytes()).expect("the text is short")
}

/// `§` in `text` stands for a token; the matches, one a line, and the redacted text.
#[track_caller]
fn check(text: &str, expect: Expect) {
    let text = text.replace('§', &token());
    let found = scan(&text);
    let mut shown: Vec<String> = found.iter().map(SecretMatch::to_string).collect();
    shown.push(redact(&text, &found));
    let shown = shown.join("\n");
    assert!(!shown.contains(&token()[6..]), "a part of the token is shown: {shown}");
    expect.assert_eq(&shown);
}

#[test]
fn a_token_is_found_where_scripts_have_one() {
    check(
        "export GITHUB_TOKEN=§\n./run.sh",
        expect![[r#"
        line 1: GitHub token (github-token, block): ghp_… (40 characters)
        export GITHUB_TOKEN=[redacted: github-token, 40 characters]
        ./run.sh"#]],
    );
    check(
        "T=\"${GITHUB_TOKEN:-§}\"",
        expect![[r#"
        line 1: GitHub token (github-token, block): ghp_… (40 characters)
        T="${GITHUB_TOKEN:-[redacted: github-token, 40 characters]}""#]],
    );
    check(
        "curl -d \"{\\\"token\\\":\\\"§\\\"}\" https://a.example",
        expect![[r#"
        line 1: GitHub token (github-token, block): ghp_… (40 characters)
        curl -d "{\"token\":\"[redacted: github-token, 40 characters]\"}" https://a.example"#]],
    );
    check(
        "git clone https://bot:§@git.example.org/a",
        expect![[r#"
        line 1: GitHub token (github-token, block): ghp_… (40 characters)
        git clone https://bot:[redacted: github-token, 40 characters]@git.example.org/a"#]],
    );
}

#[test]
fn a_hidden_token_is_found_by_its_view() {
    let token = token();
    let (a, b) = token.split_at(20);
    let reversed: String = token.chars().rev().collect();
    let hex: String = token.bytes().map(|it| format!("{it:02x}")).collect();
    let escaped: String = token.bytes().map(|it| format!("\\x{it:02x}")).collect();
    let percent: String = token.bytes().map(|it| format!("%{it:02X}")).collect();
    let braced: String = token.bytes().map(|it| format!("\\u{{{it:x}}}")).collect();
    let decimal: String = token.bytes().map(|it| format!("&#{it};")).collect();
    let references: String = token.bytes().map(|it| format!("&#x{it:02x};")).collect();
    let base64 = |bytes: &[u8]| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    let wide: Vec<u8> = token.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> =
        "\u{feff}".encode_utf16().chain(token.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let wide_hex: String = wide.iter().map(|it| format!("{it:02X}")).collect();
    let (wide, marked) = (base64(&wide), base64(&marked));
    let long: String = token.bytes().map(|it| format!("\\U{it:08x}")).collect();
    let open: String = token.bytes().map(|it| format!("&#{it}")).collect();
    let plain = base64(token.as_bytes());
    let twice = base64(format!("TOKEN={plain}").as_bytes());
    let mut shown = Vec::new();
    for text in [
        format!("echo {plain} | base64 -d"),
        format!("echo {twice} | base64 -d | sh"),
        format!("printf {hex} | xxd -r -p"),
        format!("rev <<< '{reversed}'"),
        format!("A='{a}'; B='{b}'\ncurl -H \"X: $A$B\" https://a.example"),
        format!("a = '{a}' + '{b}'"),
        format!("t='{a}'\nt+='{b}'"),
        format!("printf '{escaped}'"),
        format!("curl 'https://a.example/?q={percent}'"),
        format!("a\n\x1b[01;31m\x1b[K{a}\x1b[m\x1b[K{b}\n"),
        format!("\x1b[32m{token}\x1b[0m"),
        format!("{a}\0{b}"),
        token.chars().flat_map(|it| [it, '\0']).collect(),
        format!("printf \x1b[1m{hex}\x1b[m"),
        format!("echo {reversed} | rev"),
        format!("echo {reversed} | tac -rs ."),
        format!("const T: &str = \"{braced}\";"),
        format!("<p>{decimal}</p>"),
        format!("<a title='{references}'>"),
        format!("{a}\u{200b}{b}"),
        format!("{a}\x08{b}"),
        token.chars().flat_map(|it| [it, '\x08', it]).collect(),
        format!("powershell -EncodedCommand {wide}"),
        format!("echo {marked} | base64 -d | iconv -f utf-16"),
        format!("0x{wide_hex}"),
        format!("$'{long}'"),
        format!("<p>{open}</p>"),
        format!("<p>{}</p>", token.replace('_', "&lowbar;")),
        format!("{a}\u{301}{b}"),
        format!("{a}\u{9b}31m{b}"),
        // What a terminal that obeys this would not show whole.
        format!("{a}\u{9b}{b}"),
    ] {
        let found = scan(&text);
        let best = found.iter().max_by_key(|it| it.tier).expect("something is found");
        shown.push(format!("{best}"));
        let redacted = redact(&text, &found);
        let is_shown = [&a, &b, &plain.as_str(), &hex.as_str(), &reversed.as_str()]
            .into_iter()
            .any(|it| redacted.contains(&it[4..]));
        assert!(!is_shown, "{redacted}");
    }
    expect![[r#"
        line 1: GitHub token (github-token, block, base64): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, base64): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, hex): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, reversed): ghp_… (40 characters)
        line 2: GitHub token (github-token, block, joined): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, joined): ghp_… (40 characters)
        line 2: GitHub token (github-token, block, joined): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, escapes): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, percent): ghp_… (40 characters)
        line 2: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, hex): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, reversed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, reversed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, escapes): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, references): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, references): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, base64): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, base64): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, hex): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, escapes): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, references): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, references): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)
        line 1: GitHub token (github-token, block, displayed): ghp_… (40 characters)"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn a_token_is_found_as_a_shell_puts_it_together() {
    let token = token();
    let (a, b) = token.split_at(12);
    let (c, d) = b.split_at(1);
    for text in [
        format!("g\"h\"{}", &token[2..]),
        format!("curl -H X-Token:{a}'{b}' https://a.example"),
        format!("export T={a}\"{c}\"''{d}; run"),
        format!("echo {a}\\{b} | tool"),
        format!("T={a}\\\n{b}\nrun"),
        format!("T=$(printf \"%s%s\" {a} {b})"),
        format!("printf %s '{a}' {c} \"{d}\" >f"),
        format!("printf -- '%s' {a} {b}"),
        format!("\"Bearer {a}\"{b}"),
    ] {
        let found = scan(&text);
        let best = found.iter().max_by_key(|it| it.tier).expect("something is found");
        assert_eq!((&*best.rule, best.tier), ("github-token", Tier::Block), "{text}: {best}");
        let redacted = redact(&text, &found);
        assert!(!redacted.contains(&b[4..]) && !redacted.contains(&d[4..]), "{redacted}");
    }
    // The escapes of JSON are no part of a token.
    let found = scan(&format!("{{\"script\": \"echo {token}\\nexport {a}'{b}'\\n\"}}"));
    assert!(
        found.iter().all(|it| it.rule != "github-token" || it.length == token.len()),
        "{found:?}"
    );
    // What a shell keeps apart is no token.
    for text in
        [format!("run {a} '{b}'"), format!("run {a}\n\"{b}\""), format!("printf '%d%s' {a} {b}")]
    {
        assert!(scan(&text).iter().all(|it| it.rule != "github-token"), "{text}");
    }
}

#[test]
fn references_and_placeholders_are_no_secrets() {
    for value in [
        "$TOKEN",
        "${TOKEN}",
        "${TOKEN:-}",
        "$(cat ~/.token)",
        "{{ token }}",
        "${{ secrets.TOKEN }}",
        "<YOUR_TOKEN>",
        "%TOKEN%",
        "changeme",
        "your-token-here",
        "********",
        "xxxxxxxxxxxxxxxxxxxx",
        "REDACTED",
        "example-token",
    ] {
        for text in [
            format!("export GITHUB_TOKEN={value}"),
            format!("curl -H \"Authorization: Bearer {value}\" https://a.example"),
            format!("tool --api-key={value} --password '{value}'"),
            format!("git clone https://bot:{value}@git.example.org/a"),
            format!("{{\"password\": \"{value}\"}}"),
            format!("curl -u bot:{value} https://a.example"),
        ] {
            assert_eq!(scan(&text), [], "{text}");
        }
    }
}

#[test]
fn passwords_of_commands_are_found() {
    let secret = ["S3cret", "Passw0rd"].concat();
    for text in [
        format!("mysql -u root -p{secret} db"),
        format!("mysql --password={secret} db"),
        format!("sshpass -p {secret} ssh host"),
        format!("curl -u admin:{secret} https://a.org"),
        format!("curl --user=admin:{secret} https://a.org"),
        // Behind letters of other options, and for a proxy.
        format!("curl -fsSLu admin:{secret} https://a.org"),
        format!("/usr/bin/curl -sU admin:{secret} https://a.org"),
        format!("curl -U admin:{secret} https://a.org"),
        // As a call has it in JSON.
        format!(r#"{{"command":"curl --user \"admin:{secret}\" https://a.org"}}"#),
        format!(r#"{{"argv":["mysql","-p{secret}","db"]}}"#),
        format!(r#"["curl", "-u", "admin:{secret}"]"#),
        format!(r#"["curl","-su","admin:{secret}"]"#),
    ] {
        let found = guard().scan("t", text.as_bytes()).unwrap();
        let spans: Vec<_> = found.iter().map(|it| &text[it.span.clone()]).collect();
        assert_eq!(spans, [secret.as_str()], "{text}");
    }
    for text in [
        "curl -su admin https://a.org".to_owned(),
        "curl -su \"$USER:$PASS\" https://a.org".to_owned(),
        // The letter is the value of another option.
        format!("curl -ou admin:{secret}"),
        format!("tar -su admin:{secret}"),
        r#"["docker","run","-p","8080:8080","mysql"]"#.to_owned(),
        // The program is in another member.
        format!(r#"{{"args":["-u","admin:{secret}"],"command":"curl"}}"#),
    ] {
        assert_eq!(scan(&text), [], "{text}");
    }
}

#[test]
fn digests_and_paths_are_no_tokens() {
    let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    for text in [
        format!("sha256sum -c <<< '{digest}  a.tar.gz'"),
        format!("docker pull ghcr.io/a/b@sha256:{digest}"),
        format!("git checkout {}", &digest[..40]),
        "curl -LO https://dl.example.org/v1.86/tool-x86_64-unknown-linux-musl.tar.gz".to_owned(),
        "aws s3 cp s3://logs-40/c5245fae-dc2f-4477-a31e-9bf510859e2d.json .".to_owned(),
        "openssl enc -aes-256-cbc -pass env:BACKUP_PASS -in f".to_owned(),
    ] {
        assert_eq!(scan(&text), [], "{text}");
    }
}

#[test]
fn a_private_key_is_one_match() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let dashes = "-----";
    let body = [line; 12].join("\n");
    let key = format!("{dashes}BEGIN PRIVATE KEY{dashes}\n{body}\n{dashes}END PRIVATE KEY{dashes}");
    let found = scan(&format!("cat > key.pem <<EOF\n{key}\nEOF"));
    let rules: Vec<(&str, Tier, usize)> =
        found.iter().map(|it| (it.rule.as_str(), it.tier, it.line)).collect();
    assert_eq!(rules, [("private-key", Tier::Block, 2)]);
    // In a sentence about keys there is none.
    assert_eq!(scan(&format!("grep -l '{dashes}BEGIN PRIVATE KEY{dashes}' *.pem")), []);
    // A key begins behind a few lines of headers; what stands further on is none.
    let keys_behind = |headers: &str| {
        let text = format!("{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{headers}\n{body}");
        scan(&text).iter().filter(|it| it.rule == "private-key").count()
    };
    assert_eq!(keys_behind("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n"), 1);
    assert_eq!(keys_behind(&"a few words on keys.\n".repeat(150)), 0);
}

#[test]
fn a_private_key_of_ssh2_is_one_match() {
    let line = "P2/56wAAAgIAAAAmZGwtbW9kcHtzaWdue2RzYS1uaXN0LXNoYTF9LGRoe3BsYWlufX0AAA";
    let body = [line; 8].join("\n");
    let head = "Subject: ada\nComment: \"2048-bit rsa, made by ada\"";
    for label in ["SSH2 ENCRYPTED PRIVATE KEY", "SSH2 PRIVATE KEY"] {
        let key = format!("---- BEGIN {label} ----\n{head}\n{body}\n---- END {label} ----");
        let text = format!("# key\n{key}\nend");
        let found = scan(&text);
        let rules: Vec<(&str, Tier, usize)> =
            found.iter().map(|it| (it.rule.as_str(), it.tier, it.line)).collect();
        assert_eq!(rules, [("private-key", Tier::Block, 2)], "{label}");
        assert!(!redact(&text, &found).contains(line), "{label}");
        assert_eq!(scan(&format!("grep -l '---- BEGIN {label} ----' *")), []);
    }
    let public = format!("---- BEGIN SSH2 PUBLIC KEY ----\n{line}\n---- END SSH2 PUBLIC KEY ----");
    assert!(scan(&public).iter().all(|it| it.rule != "private-key"));
}

#[test]
fn a_known_value_is_found_whatever_it_looks_like() {
    let guard = DefaultGuard::builder()
        .env_values([
            ("DB_PASSWORD", "plain words here"),
            ("LANG", "en_US.UTF-8"),
            ("API_TOKEN", "short"),
            ("PWD", "/home/user/project"),
        ])
        .build();
    assert_eq!(guard.n_known_values(), 1);
    let found =
        guard.scan("x", b"echo plain words here; cd /home/user/project; echo short en_US.UTF-8");
    let found = found.expect("the text is short");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].rule.as_str(), found[0].span.clone()), ("known-value", 5..21));
    assert_eq!(found[0].advice(), "read it from the environment: \"$DB_PASSWORD\"");
    assert!(!format!("{guard:?} {found:?}").contains("words here"));
}

#[test]
fn an_acknowledged_secret_is_left_out_and_another_is_not() {
    let text = format!("T={}", token());
    let fingerprint = scan(&text)[0].fingerprint;
    let other = text.replace("Zq7", "Zq8");
    let guard = DefaultGuard::builder().fingerprint_key(KEY).allow(fingerprint).build();
    assert_eq!(guard.scan("x", text.as_bytes()), Ok(vec![]));
    assert_eq!(guard.scan("x", other.as_bytes()).map(|it| it.len()), Ok(1));
    assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
    assert!("not one".parse::<Fingerprint>().is_err());
    // Another key gives other fingerprints.
    let stranger = DefaultGuard::builder().allow(fingerprint).build();
    assert_eq!(stranger.scan("x", text.as_bytes()).map(|it| it.len()), Ok(1));
}

#[test]
fn a_content_that_is_too_large_is_an_error() {
    let guard = DefaultGuard::builder().max_bytes(10).build();
    assert_eq!(guard.scan("a", b"0123456789"), Ok(vec![]));
    let err = guard.scan("tools/a.json#/script", b"0123456789a").expect_err("it is too large");
    assert!(matches!(err, ScanError::TooLarge { bytes: 11, max_bytes: 10, .. }));
    expect!["failed to scan tools/a.json#/script for secrets: it has 11 bytes, more than 10; shorten it, or raise the bound of the guard"]
        .assert_eq(&err.to_string());
}

const RULES: &str = r#"
title = "rules of a firm"
[[rules]]
id = "firm-token"
description = "Token of the firm."
regex = '''(?i)firm_([a-z0-9]{12})\b'''
keywords = ["firm_"]
entropy = 2.5
[rules.allowlist]
stopwords = ["demo"]
[[rules]]
id = "firm-note"
regex = '''ticket{[0-9]{6}'''
tier = "note"
[[rules.allowlists]]
paths = ['''^docs/''']
"#;

#[test]
fn a_users_rules_are_taken() {
    let guard = DefaultGuard::builder().gitleaks_toml(RULES).expect("the rules are right").build();
    assert_eq!(guard.n_user_rules(), 2);
    let rules = |location: &str, text: &str| -> Vec<String> {
        let found = guard.scan(location, text.as_bytes()).expect("the text is short");
        let own = found.iter().filter(|it| it.rule.starts_with("firm"));
        own.map(|it| format!("{} {} {:?}", it.rule, it.tier, it.span)).collect()
    };
    assert_eq!(rules("a.sh", "x FIRM_a1b2c3d4e5f6"), ["firm-token block 7..19"]);
    assert_eq!(rules("a.sh", "x firm_demo1b2c3d4e"), [""; 0]);
    assert_eq!(rules("a.sh", "x firm_aaaaaaaaaaaa"), [""; 0]);
    // Go's regexp takes a brace that opens no repetition as a brace.
    assert_eq!(rules("a.sh", "see ticket{123456"), ["firm-note note 4..17"]);
    assert_eq!(rules("docs/a.md", "see ticket{123456"), [""; 0]);
}

#[test]
fn wrong_rules_are_refused_with_their_place() {
    let refused =
        |text: &str| DefaultGuard::builder().gitleaks_toml(text).expect_err("the rules are wrong");
    let err = refused("[[rules]]\nid = \"a\"\nregex = '(b'");
    assert!(matches!(&err, RulesError::Pattern { rule, key: "regex", .. } if rule == "a"));
    expect![[r#"failed to read the rule "a": its key "regex" is no pattern that Rust's regex crate takes"#]]
        .assert_eq(&err.to_string());
    assert!(matches!(refused("[[rules]]\nid = 1"), RulesError::Syntax(_)));
    assert!(matches!(refused(&" ".repeat(5 << 20)), RulesError::TooLarge { .. }));
    assert!(matches!(
        refused(&"[[rules]]\nid=\"a\"\n".repeat(5000)),
        RulesError::TooMany { max: 4096 }
    ));
    let keywords: Vec<_> = (0..20_000).map(|it| format!("'k{it}'")).collect();
    let rule = format!("[[rules]]\nid='a'\nregex='x'\nkeywords=[{}]", keywords.join(","));
    assert!(matches!(refused(&rule), RulesError::TooManyKeywords { max: 8192 }));

    // Each `\w` takes 6 kB to read.
    let long = format!("[[rules]]\nid='b'\nregex='{}'", "a".repeat(20_000));
    expect![[r#"failed to read the rule "b": its key "regex" has a pattern of 20000 bytes, more than 16384; split it"#]]
        .assert_eq(&refused(&long).to_string());
    let classes = r"\w[^a]\p{L}".repeat(1000);
    let wide = format!("[[rules]]\nid='c'\nregex='x'\nallowlist.regexes=['{classes}']\n");
    expect![[r#"failed to read the rule "c": the rules up to it have more than 16384 classes such as \w or [^a]; leave some out"#]]
        .assert_eq(&refused(&wide.repeat(6)).to_string());
    assert!(DefaultGuard::builder().gitleaks_toml(&wide.repeat(5)).is_ok());
}

#[test]
fn a_pattern_that_is_too_large_fails_the_scan() {
    let rules = "[[rules]]\nid = \"huge\"\nregex = '(?:\\w{1000}){1000}'";
    let guard = DefaultGuard::builder().gitleaks_toml(rules).expect("it is a pattern").build();
    let err = guard.scan("a", b"text").expect_err("it cannot be compiled");
    assert!(matches!(err, ScanError::RuleTooLarge { rule, .. } if rule == "huge"));
}

#[test]
fn redaction_copes_with_spans_of_another_text() {
    let found = scan(&format!("T={} and more", token()));
    assert_eq!(redact("", &found), "");
    assert_eq!(redact("äöü", &found), "ä[redacted: github-token, 40 characters]");
    assert_eq!(
        redact_bytes(b"\xff\xfe\xfd", &found),
        b"\xff\xfe[redacted: github-token, 40 characters]"
    );
}
