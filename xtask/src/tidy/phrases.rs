//! Phrases that were replaced by plain ones, so that they do not come back.

use super::{Problem, TextFile};

/// What not to write, in lower case, and what to write instead.
///
/// A closed list: each row stood in this repository once. A phrase is found across line breaks, in comments,
/// texts and names alike.
const PHRASES: &[(&str, &str)] = &[
    ("what tools are run with", "say which process controls and sandboxes"),
    ("known to have ended", "`processes started by … may still be running`"),
    ("was kept from", "`blocked … from connecting to …: host not allowed`"),
    ("is to be woken", "name the waker"),
    ("once that is of no use", "say `once cancelled`"),
    ("of whoever loses its own", "say `subreaper`: orphans are re-parented to it"),
    ("no child left is the proof", "say that an empty child list proves that the tree is gone"),
    ("leaves nobody", "name what is not left, such as a supervisor"),
    ("nothing that was theirs", "name what is not left, such as a cgroup"),
    ("ear", "say what it reads, such as `ResponseReader`"),
    ("graveyard", "`reaper`"),
    ("killrung", "`KillMechanism`"),
    ("rung", "`mechanism`"),
    ("door", "name the type or function, such as `ProxyListener`"),
    ("foresee", "`preflight`"),
    ("foresees", "`preflight`"),
    ("foreseen", "`preflight`"),
];

/// Finds them. A changelog tells of things that have gone, and this file lists them.
pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let is_checked =
        |it: &&TextFile| !it.path.ends_with("CHANGELOG.md") && !it.path.ends_with("/phrases.rs");
    files.iter().filter(is_checked).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Problem> {
    let (text, starts) = joined(&file.text);
    let mut res = Vec::new();
    for (phrase, instead) in PHRASES {
        for (at, _) in text.match_indices(phrase) {
            let (before, after) = (&text[..at], &text[at + phrase.len()..]);
            if before.ends_with(char::is_alphabetic) || after.starts_with(char::is_alphabetic) {
                continue;
            }
            let line = starts.partition_point(|start| *start <= at);
            let message = format!("`{phrase}` is not plain: {instead}");
            res.push(Problem::new(&file.path, line, message));
        }
    }
    res
}

/// The text in lower case as one line, without what begins a comment and ends an unfinished line of a
/// string; and where in it each line starts.
fn joined(text: &str) -> (String, Vec<usize>) {
    let mut res = String::with_capacity(text.len());
    let mut starts = Vec::new();
    for line in text.lines() {
        starts.push(res.len());
        let line = line.trim_start().trim_start_matches(['/', '!', '#', '>']);
        res.push_str(&line.trim_end_matches('\\').trim().to_lowercase());
        res.push(' ');
    }
    (res, starts)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{
        super::{TextFile, shown},
        PHRASES, check,
    };

    #[track_caller]
    fn check_text(path: &str, text: &str, expect: Expect) {
        let file = TextFile { path: path.into(), text: text.into() };
        expect.assert_eq(&shown(&check(&[file])));
    }

    #[test]
    fn each_phrase_is_found() {
        for (phrase, _) in PHRASES {
            let file = TextFile { path: "a.md".into(), text: format!("x {phrase}.") };
            assert_eq!(check(&[file]).len(), 1, "{phrase}");
        }
    }

    #[test]
    fn phrases_are_found_in_comments_texts_and_names() {
        check_text(
            "a.rs",
            "/// It leaves\n/// nobody.\nstruct Graveyard;\nfn is_foreseen() {}\nf(\"a.org was \\\n   kept from b\");",
            expect![[r#"
                a.rs:5: `was kept from` is not plain: `blocked … from connecting to …: host not allowed`
                a.rs:1: `leaves nobody` is not plain: name what is not left, such as a supervisor
                a.rs:3: `graveyard` is not plain: `reaper`
                a.rs:4: `foreseen` is not plain: `preflight`"#]],
        );
    }

    #[test]
    fn parts_of_words_and_what_has_gone_pass() {
        check_text("a.md", "Years near a wrung, indoors.", expect![""]);
        check_text("CHANGELOG.md", "- `foresee` is `preflight`.", expect![""]);
    }
}
