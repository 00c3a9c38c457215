//! Commands of which nothing need be settled before they are called.
//!
//! Most commands are plain words and placeholders. What they say is clear at a glance, and most of
//! them are found and never called, so they are taken apart when somebody calls.

use super::{
    programs::{self, Runs},
    roles, special, text,
};

/// The longest text that is looked at here.
const MOST_BYTES: usize = 1024;

/// Whether a text is made of plain words and of placeholders for parameters, has nothing that a shell
/// would have to do, and nothing that runs the value of a placeholder as code. What this lets pass
/// has no fault.
pub(super) fn is_plain(text: &str, is_declared: &dyn Fn(&str) -> bool) -> bool {
    let mut words = words(text);
    let Some(program) = words.next() else { return false };
    text.len() <= MOST_BYTES
        && !program.contains('=')
        && program.bytes().all(is_literal)
        && !roles::is_shells_own(program)
        && !programs::runs_behind_dashes(file_name(program))
        && match programs::of(file_name(program)) {
            Runs::Itself => true,
            Runs::Git => special::runs_git_only(words.clone()),
            _ => false,
        }
        && words.all(|word| match word.bytes().all(is_literal) {
            true => !programs::takes_code(file_name(word)),
            false => is_filled(word, is_declared),
        })
}

/// Whether a word has, beside plain text, placeholders for parameters.
fn is_filled(word: &str, is_declared: &dyn Fn(&str) -> bool) -> bool {
    let mut rest = word;
    while let Some(stop) = rest.bytes().position(|it| !is_literal(it)) {
        let Some(inside) = rest[stop..].strip_prefix("{{") else { return false };
        let end = inside.bytes().position(|it| it == b'}').unwrap_or(inside.len());
        let (name, after) = inside.split_at(end);
        let Some(after) = after.strip_prefix("}}") else { return false };
        if !text::is_name(name) || !is_declared(name) {
            return false;
        }
        rest = after;
    }
    true
}

/// The words of a plain text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split([' ']).filter(|it| !it.is_empty())
}

/// Whether a plain text has a placeholder with this name.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(brace) = rest.iter().position(|it| *it == b'{') {
        rest = &rest[brace + 1..];
        if rest.strip_prefix(name.as_bytes()).is_some_and(|it| it.first() == Some(&b'}')) {
            return true;
        }
    }
    false
}

/// The characters that every shell takes as they are, wherever they stand in a word.
const LITERALS: [bool; 256] = {
    let mut res = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        res[byte] = (byte as u8).is_ascii_alphanumeric()
            || matches!(
                byte as u8,
                b'-' | b'_' | b'.' | b'/' | b':' | b'=' | b',' | b'@' | b'%' | b'+'
            );
        byte += 1;
    }
    res
};

fn is_literal(byte: u8) -> bool {
    LITERALS[usize::from(byte)]
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Template;
    use super::*;

    const NAMES: [&str; 3] = ["a", "long-name_2", "sh"];

    fn is_declared(name: &str) -> bool {
        NAMES.contains(&name)
    }

    #[track_caller]
    fn check(text: &str, expect: bool) {
        assert_eq!(is_plain(text, &is_declared), expect, "{text}");
        if expect {
            agrees(text);
        }
    }

    /// What is said of a plain text at a glance is what comes of taking it apart.
    #[track_caller]
    fn agrees(text: &str) {
        let plain = Template::read(text, &is_declared).expect("plain");
        let glance = (plain.is_plain(), plain.uses_shell(), plain.program());
        let mentioned = NAMES.map(|it| plain.mentions(it));
        let taken = Template::take_apart(text, &is_declared).expect("without a fault");
        assert_eq!(glance, (true, taken.uses_shell(), taken.program()), "{text}");
        assert_eq!(mentioned, NAMES.map(|it| taken.mentions(it)), "{text}");
        assert!(taken.placeholders().all(|(name, _, spaced)| is_declared(name) && !spaced));
        assert_eq!(plain, taken, "{text}");
    }

    #[test]
    fn plain_words_with_declared_placeholders_are_plain() {
        check("darcs -R {{a}} log --user={{long-name_2}} -- .", true);
        check("kubectl exec c -- {{a}}", false);
        check("hg -R {{a}} log", false);
        check("ls rsync {{a}}", false);
        check("  /usr/bin/echo   {{a}}{{sh}}/x ", true);
        check("{{a}} x", false);
        check("x {{b}}", false);
        check("x {{ a }}", false);
        check("x {{a}}}", false);
        check("x {{{a}}}", false);
        check("x '{{a}}'", false);
        check("A=b x", false);
        check("cd {{a}}", false);
        check("env x {{a}}", false);
        check("sh -c {{a}}", false);
        check("docker exec {{a}} /bin/sh -c {{a}}", false);
        check("docker --with=/bin/python3 {{a}}", false);
        check("git -C {{a}} log -n {{sh}} --author={{a}} -- .", true);
        check("git -C", true);
        check("git {{a}}", false);
        check("git -C {{a}} -c {{a}} log", false);
        check("git log --{{a}}", false);
        check("git log --upload-pack {{a}}", false);
        check("git log --upl={{a}}", false);
        check("git log --to-cmd={{a}}", false);
        check("git log ext::{{a}}", false);
        check("git clone -u {{a}}", false);
        check("git bisect run {{a}}", false);
        check("x *", false);
        check("x ~", false);
        check("x\t{{a}}", false);
        check("", false);
    }

    proptest! {
        #[test]
        fn what_is_plain_has_no_fault(
            words in prop::collection::vec(
                prop_oneof![
                    "[a-z=./{}:~-]{1,5}",
                    "(--[a-z]{1,3}=|/)?[{]{2}(a|long-name_2|sh|b)[}]{2}[a-z/]{0,2}",
                    "(/bin/)?(sh|env|git|python3[.]12|find|cd|if|case|eval|xargs|-c|-e|--|[.]|:)",
                ],
                0..6,
            )
        ) {
            let text = words.join(" ");
            if is_plain(&text, &is_declared) {
                agrees(&text);
            }
        }

        #[test]
        fn what_is_plain_to_git_has_no_fault(
            words in prop::collection::vec(
                prop_oneof![
                    "(-C|--|-[cnxO]|ext::|--(exec|config|author|upl|to-cmd|git-dir)=?)?([{]{2}a[}]{2})?",
                    "(log|tag|clone|grep|rebase|bisect|run|submodule|config)",
                ],
                0..6,
            )
        ) {
            let text = format!("git {}", words.join(" "));
            if is_plain(&text, &is_declared) {
                agrees(&text);
            }
        }
    }
}
