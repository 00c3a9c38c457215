//! The examples of the rules, which stand beside them.

use crate::{
    DefaultGuard, SecretGuard,
    catalogue::{Catalogue, catalogue},
};

/// Numbers that look random and are the same each time.
struct Digits(u64);

impl Digits {
    fn below(&mut self, n: usize) -> usize {
        // Constants of Knuth's MMIX generator; the high bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn of(&mut self, alphabet: &str, n: usize) -> String {
        let alphabet = alphabet.as_bytes();
        let mut res: String =
            (0..n).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect();
        // A token does not end in what a sentence may end in.
        while res.ends_with(['-', '_', '+', '/']) {
            res.pop();
            res.push('7');
        }
        res
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

/// Puts made-up characters in the place of `{an:36}` and the like.
fn fill(text: &str, digits: &mut Digits) -> String {
    let mut res = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        res.push_str(before);
        let end = from.find('}').unwrap_or(from.len() - 1);
        let (class, n) = from[1..end].split_once(':').unwrap_or((&from[1..end], "0"));
        let alphabet = match class {
            "an" => [LOWER, UPPER, DIGITS].concat(),
            "low" => [LOWER, DIGITS].concat(),
            "lower" => LOWER.to_owned(),
            "UP" => [UPPER, DIGITS].concat(),
            "hex" => "0123456789abcdef".to_owned(),
            "dig" => DIGITS.to_owned(),
            "b64" => [LOWER, UPPER, DIGITS, "+/"].concat(),
            "url" => [LOWER, UPPER, DIGITS, "-_"].concat(),
            "B32" => [UPPER, "234567"].concat(),
            "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
            "uuid" => {
                let parts = [8, 4, 4, 4, 12].map(|n| digits.of("0123456789abcdef", n));
                res.push_str(&parts.join("-"));
                rest = &from[end + 1..];
                continue;
            }
            // Part of the example itself: `${T:-…}`.
            _ => {
                res.push('{');
                rest = &from[1..];
                continue;
            }
        };
        res.push_str(&digits.of(&alphabet, n.parse().expect("a number stands behind the colon")));
        rest = &from[end + 1..];
    }
    res + rest
}

/// Problems of one rule's examples.
fn problems(guard: &DefaultGuard, id: &str, hits: &[String], misses: &[String]) -> Vec<String> {
    let mut res = Vec::new();
    if hits.is_empty() || misses.is_empty() {
        res.push(format!("{id} has no example of both kinds"));
    }
    let examples = hits.iter().map(|it| (it, true)).chain(misses.iter().map(|it| (it, false)));
    for (example, expected) in examples {
        for seed in 0..5 {
            let text = fill(example, &mut Digits(seed * 1000 + example.len() as u64));
            let found = guard.scan(id, text.as_bytes()).expect("an example is short");
            let rules: Vec<&str> = found.iter().map(|it| it.rule.as_str()).collect();
            if rules.contains(&id) != expected {
                res.push(format!("{id}: {text:?} has {rules:?}"));
                break;
            }
        }
    }
    res
}

#[test]
fn examples_hold() {
    let guard = DefaultGuard::default();
    let Catalogue { formats, assigned, .. } = catalogue();
    let mut res = Vec::new();
    for it in formats {
        res.extend(problems(&guard, &it.id, &it.hits, &it.misses));
    }
    for it in assigned {
        res.extend(problems(&guard, &it.id, &it.hits, &it.misses));
    }
    assert!(res.is_empty(), "{} problems:\n{}", res.len(), res.join("\n"));
}

#[test]
fn the_rules_are_in_form() {
    let Catalogue { formats, assigned, .. } = catalogue();
    assert!(formats.len() + assigned.len() >= 150);
    let heads = formats.iter().map(|it| (&it.id, &it.label, &it.docs));
    let heads = heads.chain(assigned.iter().map(|it| (&it.id, &it.label, &it.docs)));
    let mut ids = std::collections::BTreeSet::new();
    for (id, label, docs) in heads {
        assert!(ids.insert(id), "{id} stands there twice");
        let is_id =
            id.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
        assert!(is_id && !label.is_empty() && docs.starts_with("https://"), "{id}");
    }
    for it in formats {
        let (_, _, prefixes) = it.patterns();
        assert!(!prefixes.is_empty() && prefixes.iter().all(|it| !it.is_empty()), "{}", it.id);
        assert!(it.reach <= 8192, "{}: a longer reach costs too much on hostile text", it.id);
    }
    for it in assigned {
        let is_flat = |name: &String| {
            !name.is_empty()
                && name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        };
        assert!(it.names.iter().all(is_flat), "{}", it.id);
    }
}
