//! The head of a `SKILL.md`: the part of YAML that names and descriptions need, and no more.
//!
//! What is read is `key: value` at the first column, with a value that is plain, in quotes, or a block (`|`, `>`). Lines below
//! a key that is not asked for are passed over. Anchors, aliases, tags and merge keys are refused wherever they begin a value,
//! so nothing is ever expanded, and the work is that of reading the lines once.

use std::collections::BTreeMap;

/// The longest head that is read, in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// The most keys of a head.
const MAX_KEYS: usize = 64;

/// The values of `name` and `description`, and what stands behind the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
}

/// Reads the head of a text; the error says what is wrong, with the line counted from 1.
pub(super) fn parse(text: &str) -> Result<FrontMatter, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate();
    if lines.next().map(|it| it.1.trim_end()) != Some("---") {
        return Err("line 1: a skill begins with a line `---`".to_owned());
    }
    let mut head = Vec::new();
    let mut n_bytes = 0;
    let mut is_closed = false;
    for (index, line) in lines {
        n_bytes += line.len() + 1;
        if n_bytes > MAX_BYTES {
            return Err(format!("line {}: the head has more than {MAX_BYTES} bytes", index + 1));
        }
        let line = line.trim_end();
        is_closed = line == "---";
        if is_closed {
            break;
        }
        head.push((index + 1, line));
    }
    if !is_closed {
        return Err("the head is not closed: a line `---` ends it".to_owned());
    }
    let mut values = members(&head)?;
    let mut take = |key: &str| {
        let value = values.remove(key).filter(|it| !it.trim().is_empty());
        value.ok_or_else(|| format!("the head has no {key:?}"))
    };
    Ok(FrontMatter { name: take("name")?, description: take("description")? })
}

/// The values of `name` and `description`. Other keys are looked at for what is refused, and not kept.
///
/// Each line at the first column is a key; what stands further to the right belongs to the key
/// above. A key that stands twice is a fault, since readers differ in which one counts.
fn members(head: &[(usize, &str)]) -> Result<BTreeMap<String, String>, String> {
    let mut res = BTreeMap::new();
    let mut keys = Vec::new();
    let mut at = 0;
    while let Some(&(number, line)) = head.get(at) {
        at += 1;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let told = |what: &str| format!("line {number}: {what}");
        let Some((key, value)) = line.split_once(':') else {
            return Err(told("a line of the head is `key: value`"));
        };
        let is_key = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        if key.is_empty() || !key.chars().all(is_key) {
            return Err(told("a key of the head has letters, digits, `-` and `_`"));
        }
        if keys.contains(&key) {
            return Err(told(&format!("the key {key:?} stands twice")));
        }
        if keys.len() >= MAX_KEYS {
            return Err(told(&format!("the head has more than {MAX_KEYS} keys")));
        }
        keys.push(key);
        if !value.is_empty() && !value.starts_with(' ') {
            return Err(told("a blank stands behind the `:` of a key"));
        }
        // What belongs to the key stands further to the right.
        let end = head[at..].iter().position(|it| !it.1.is_empty() && !it.1.starts_with(' '));
        let below = &head[at..end.map_or(head.len(), |it| at + it)];
        at += below.len();
        refuse_references(number, value)?;
        for (number, line) in below {
            refuse_references(*number, line.split_once(": ").map_or(line, |it| it.1))?;
        }
        if matches!(key, "name" | "description") {
            let value = scalar(value.trim(), below).map_err(|what| told(&what))?;
            res.insert(key.to_owned(), value);
        }
    }
    Ok(res)
}

/// What refers to other values, or has them made: no part of what is read.
fn refuse_references(number: usize, value: &str) -> Result<(), String> {
    let value = value.trim_start().trim_start_matches("- ");
    match value.chars().next() {
        Some(found @ ('&' | '*' | '!')) => {
            Err(format!("line {number}: anchors, aliases and tags ({found}) are not read"))
        }
        _ if value.starts_with("<<:") => Err(format!("line {number}: merge keys are not read")),
        _ => Ok(()),
    }
}

/// The text that a value is.
///
/// | form | what is read |
/// | --- | --- |
/// | plain | the words up to a comment, lines joined by blanks |
/// | double quotes | as JSON, whose escapes are a part of those of YAML |
/// | single quotes | two quotes stand for one |
/// | `|` | the lines as they are, without their common indent |
/// | `>` | the lines joined by blanks |
fn scalar(value: &str, below: &[(usize, &str)]) -> Result<String, String> {
    let lines = || below.iter().map(|it| it.1.trim());
    match value.chars().next() {
        Some(style @ ('|' | '>')) => {
            let indent = |line: &str| line.len() - line.trim_start().len();
            let filled = below.iter().filter(|it| !it.1.is_empty());
            let least = filled.map(|it| indent(it.1)).min().unwrap_or(0);
            let text = below.iter().map(|it| it.1.get(least..).unwrap_or_default());
            let joiner = if style == '|' { "\n" } else { " " };
            Ok(text.collect::<Vec<_>>().join(joiner).trim().to_owned())
        }
        Some('"') => {
            let whole = std::iter::once(value).chain(lines()).collect::<Vec<_>>().join(" ");
            // The escapes of JSON are those of YAML as well.
            serde_json::from_str(&whole).map_err(|err| format!("a text in quotes: {err}"))
        }
        Some('\'') => {
            let whole = std::iter::once(value).chain(lines()).collect::<Vec<_>>().join(" ");
            let inner = whole.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
            let is_whole = |it: &&str| !it.replace("''", "").contains('\'');
            let inner = inner.filter(is_whole).ok_or("a text in quotes does not end")?;
            Ok(inner.replace("''", "'"))
        }
        Some('[' | '{') => Err("a text is expected, and found is a collection".to_owned()),
        _ => {
            let words = std::iter::once(value).chain(lines()).filter(|it| !it.is_empty());
            let text = words.collect::<Vec<_>>().join(" ");
            // A comment of YAML ends a plain text.
            Ok(text.split(" #").next().unwrap_or_default().trim().to_owned())
        }
    }
}

/// A head that [`parse`] reads as these texts.
pub(super) fn to_text(members: &[(&str, String)], metadata: &[(&str, String)]) -> String {
    let quoted = |it: &str| serde_json::Value::from(it).to_string();
    let mut res = "---\n".to_owned();
    for (key, value) in members {
        res.push_str(&format!("{key}: {}\n", quoted(value)));
    }
    res.push_str("metadata:\n");
    for (key, value) in metadata {
        res.push_str(&format!("  {key}: {}\n", quoted(value)));
    }
    res + "---\n"
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(head: &str, expect: Expect) {
        let read = parse(&format!("---\n{head}\n---\nbody\n"));
        expect.assert_eq(&match read {
            Ok(it) => format!("{:?} {:?}", it.name, it.description),
            Err(why) => why,
        });
    }

    #[test]
    fn names_and_descriptions_are_read_in_each_form() {
        check(
            "name: now\ndescription: The time: now. # soon",
            expect![[r#""now" "The time: now.""#]],
        );
        check("description: 'It''s'\nname: \"a\\u0062\"", expect![[r#""ab" "It's""#]]);
        check(
            "name: n\nlicense: MIT\nmetadata:\n  a: b\n  c: d\ndescription: >-\n  one\n  two\nallowed-tools: Read",
            expect![[r#""n" "one two""#]],
        );
        check(
            "name: n\ndescription: |\n  one\n    two\n\n  three",
            expect![[r#""n" "one\n  two\n\nthree""#]],
        );
        check("name: n\ndescription: one\n  two", expect![[r#""n" "one two""#]]);
    }

    #[test]
    fn what_is_no_head_is_told_with_its_line() {
        check("name: n", expect![[r#"the head has no "description""#]]);
        check(
            "name: n\nname: m\ndescription: d",
            expect![[r#"line 3: the key "name" stands twice"#]],
        );
        check(
            "name: &a [x]\ndescription: *a",
            expect!["line 2: anchors, aliases and tags (&) are not read"],
        );
        check(
            "metadata:\n  a: &x [\"lol\"]\n  b: [*x, *x]\nname: n\ndescription: d",
            expect!["line 3: anchors, aliases and tags (&) are not read"],
        );
        check(
            "name: !!python/object x\ndescription: d",
            expect!["line 2: anchors, aliases and tags (!) are not read"],
        );
        check(
            "<<: *a\nname: n\ndescription: d",
            expect!["line 2: a key of the head has letters, digits, `-` and `_`"],
        );
        check(
            "name: [n]\ndescription: d",
            expect!["line 2: a text is expected, and found is a collection"],
        );
        check("name: 'n\ndescription: d", expect!["line 2: a text in quotes does not end"]);
        check("\tname: n", expect!["line 2: a key of the head has letters, digits, `-` and `_`"]);
        assert_eq!(parse("name: n").unwrap_err(), "line 1: a skill begins with a line `---`");
        assert_eq!(
            parse("---\nname: n\n").unwrap_err(),
            "the head is not closed: a line `---` ends it"
        );
        let long = format!("---\n{}---\n", "a: b\n".repeat(10_000));
        assert_eq!(parse(&long).unwrap_err(), "line 3278: the head has more than 16384 bytes");
        let many: String = (0..100).map(|it| format!("k{it}: v\n")).collect();
        check(&many, expect!["line 66: the head has more than 64 keys"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(name in "[a-z]{1,5}", description in "\\PC{0,20}[\"'\n:#&*x]{1,5}") {
            let members = [("name", name.clone()), ("description", description.clone())];
            let text = to_text(&members, &[("a", description.clone())]) + "body\n---\n";
            prop_assert_eq!(parse(&text), match description.trim().is_empty() {
                true => Err("the head has no \"description\"".to_owned()),
                false => Ok(FrontMatter { name, description }),
            });
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(---\n)?([a&*:|>'\" \n-]{0,40}\n)*(---\n)?") {
            drop(parse(&text));
        }
    }
}
