//! The head of a `SKILL.md`: the part of YAML that names and descriptions need, and no more.
//!
//! What is read is `key: value` at the first column, with a value that is plain, in quotes, or a block (`|`, `>`). The value of
//! a key that is not asked for is passed over, whatever it is. An anchor, an alias or a tag is refused where a value that is
//! asked for begins with it, so nothing is ever expanded, and the work is that of reading the lines once.

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

/// The values of `name` and `description`. Those of other keys are passed over.
///
/// Each line at the first column is a key; what stands further to the right belongs to the key
/// above, and so do the elements of a list (`- `). A key that stands twice is a fault, since readers differ in which one counts.
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
        let is_below =
            |line: &str| line.is_empty() || line.starts_with([' ', '#']) || is_element(line);
        let below = head[at..].iter().take_while(|it| is_below(it.1)).count();
        let below = &head[at..at + below];
        at += below.len();
        if matches!(key, "name" | "description") {
            let value = scalar(value.trim(), below).map_err(|what| told(&what))?;
            res.insert(key.to_owned(), value);
        }
    }
    Ok(res)
}

/// Whether a line begins an element of a list.
fn is_element(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

/// The text that a value is.
///
/// | form | what is read |
/// | --- | --- |
/// | plain | the words up to a comment, lines joined by blanks |
/// | double quotes | as JSON, whose escapes are a part of those of YAML |
/// | single quotes | two quotes stand for one |
/// | `|` | the lines as they are, without their common indent |
/// | `>` | the lines joined by blanks; an empty line, and one that is indented further, stays a line |
///
/// A comment may stand behind quotes, and on lines of its own at the first column.
fn scalar(value: &str, below: &[(usize, &str)]) -> Result<String, String> {
    let below: Vec<&str> = below.iter().map(|it| it.1).filter(|it| !it.starts_with('#')).collect();
    let lines = || below.iter().map(|it| it.trim());
    let whole = || std::iter::once(value).chain(lines()).collect::<Vec<_>>().join(" ");
    match value.chars().next() {
        Some(style @ ('|' | '>')) => {
            let indent = |line: &str| line.len() - line.trim_start().len();
            let filled = below.iter().filter(|it| !it.is_empty());
            let least = filled.map(|it| indent(it)).min().unwrap_or(0);
            let text = below.iter().map(|it| it.get(least..).unwrap_or_default());
            let text = text.collect::<Vec<_>>();
            let text = if style == '|' { text.join("\n") } else { folded(&text) };
            Ok(text.trim().to_owned())
        }
        Some('"') => {
            let whole = whole();
            // The escapes of JSON are those of YAML as well.
            let mut reader = serde_json::Deserializer::from_str(&whole).into_iter::<String>();
            let text = reader.next().unwrap_or_else(|| Ok(String::new()));
            let text = text.map_err(|err| format!("a text in quotes: {err}"))?;
            only_a_comment(&whole[reader.byte_offset()..]).map(|()| text)
        }
        Some('\'') => {
            let whole = whole();
            let mut text = String::new();
            let mut rest = &whole[1..];
            loop {
                let (before, behind) =
                    rest.split_once('\'').ok_or("a text in quotes does not end")?;
                text.push_str(before);
                // Two of them stand for one.
                match behind.strip_prefix('\'') {
                    Some(behind) => {
                        text.push('\'');
                        rest = behind;
                    }
                    None => return only_a_comment(behind).map(|()| text),
                }
            }
        }
        Some(found @ ('&' | '*' | '!')) => {
            Err(format!("anchors, aliases and tags ({found}) are not read"))
        }
        Some('[' | '{') => Err(COLLECTION.to_owned()),
        None if lines().any(is_element) => Err(COLLECTION.to_owned()),
        _ => {
            let words = std::iter::once(value).chain(lines()).filter(|it| !it.is_empty());
            let text = words.collect::<Vec<_>>().join(" ");
            // A comment of YAML ends a plain text.
            Ok(text.split(" #").next().unwrap_or_default().trim().to_owned())
        }
    }
}

const COLLECTION: &str = "a text is expected, and found is a collection";

/// The lines of a block `>` as one text ("YAML 1.2.2", section 8.1.3).
fn folded(lines: &[&str]) -> String {
    let mut res = String::new();
    let (mut n_empty, mut was_indented) = (0, false);
    for line in lines {
        if line.is_empty() {
            n_empty += 1;
            continue;
        }
        let is_indented = line.starts_with(' ');
        let stays = is_indented || was_indented;
        match n_empty + usize::from(stays) {
            _ if res.is_empty() => {}
            0 => res.push(' '),
            n => res.push_str(&"\n".repeat(n)),
        }
        res.push_str(line);
        (n_empty, was_indented) = (0, is_indented);
    }
    res
}

/// What may stand behind a text in quotes.
fn only_a_comment(rest: &str) -> Result<(), String> {
    let trimmed = rest.trim_start();
    let is_comment = trimmed.len() < rest.len() && trimmed.starts_with('#');
    match trimmed.is_empty() || is_comment {
        true => Ok(()),
        false => Err("something stands behind a text in quotes".to_owned()),
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
        check("name: n\ndescription: |\n  one\n# two\n", expect![[r#""n" "one""#]]);
        check(
            "name: \"n\" # now\nallowed-tools:\n- Read\n- Bash\n# more\ndescription: 'd' # soon",
            expect![[r#""n" "d""#]],
        );
        check(
            "name: n\ndescription: |\n  * one\n  * two: &c.\npattern: |\n  *.py",
            expect![[r#""n" "* one\n* two: &c.""#]],
        );
        check(
            "name: n\ndescription: >\n  one\n  two\n\n  three\n    four\n  five",
            expect![[r#""n" "one two\nthree\n  four\nfive""#]],
        );
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
            "metadata:\n  a: &x [\"lol\"]\n  b: [*x, *x]\nname: n\ndescription: *x",
            expect!["line 6: anchors, aliases and tags (*) are not read"],
        );
        check(
            "name: \"n\" x\ndescription: d",
            expect!["line 2: something stands behind a text in quotes"],
        );
        check(
            "name: 'n'x\ndescription: d",
            expect!["line 2: something stands behind a text in quotes"],
        );
        check(
            "name:\n- n\ndescription: d",
            expect!["line 2: a text is expected, and found is a collection"],
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
