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
    ("struct told", "name what it does, such as `CallReporter`"),
    ("struct terms", "name what it holds, such as `Negotiated`"),
    ("struct site", "name what it holds, such as `SupervisorContext`"),
    ("killrung", "`KillMechanism`"),
    ("rung", "`mechanism`"),
    ("born", "`cloned`, `started`; of a file: `created`"),
    ("birth", "`clone`, `start`; of a file: `creation`"),
    ("door", "name the type or function, such as `ProxyListener`"),
    ("foresee", "`preflight`"),
    ("foresees", "`preflight`"),
    ("foreseen", "`preflight`"),
];

/// Where "group" says which kind it is, since both kinds are spoken of.
const OF_BOTH_GROUPS: &[&str] =
    &["crates/flyto-execenv-linux/", "crates/flyto-supervision/", "docs/linux.md", "SECURITY.md"];

/// What stands before "group" there: the kind, a name of the public API or of the system, the group of a file
/// or of a key.
const BEFORE_GROUP: &[&str] = &[
    "process ",
    "process_",
    "process-",
    "control ",
    "control_",
    "killmechanism::",
    "killscope::",
    "self::",
    "runs no supervisor. ", // a variant under its documentation
    "`",
    "\"",
    "exit_",
    "oom.",
    "oom_",
    "clear-",
    "set-",
    "mode, ",
    "given to another ",
    "as its owner or as its ",
    "begin with a key of another ",
];

/// Finds them. A changelog tells of things that have gone, and this file lists them.
pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let is_checked =
        |it: &&TextFile| !it.path.ends_with("CHANGELOG.md") && !it.path.ends_with("/phrases.rs");
    files.iter().filter(is_checked).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Problem> {
    let (text, starts) = joined(&file.text);
    // A name may be a phrase too. Offsets stay.
    let words = text.replace('_', " ");
    let mut res = Vec::new();
    for (phrase, instead) in PHRASES {
        for (at, _) in words.match_indices(phrase) {
            let (before, after) = (&words[..at], &words[at + phrase.len()..]);
            if before.ends_with(char::is_alphabetic) || after.starts_with(char::is_alphabetic) {
                continue;
            }
            let line = starts.partition_point(|start| *start <= at);
            let message = format!("`{phrase}` is not plain: {instead}");
            res.push(Problem::new(&file.path, line, message));
        }
    }
    if OF_BOTH_GROUPS.iter().any(|it| file.path.starts_with(it)) {
        for at in unnamed_groups(&text) {
            let line = starts.partition_point(|start| *start <= at);
            let message = "say which group: `pgrp` or process group, `cgroup` or control group";
            res.push(Problem::new(&file.path, line, message));
        }
    }
    res
}

/// Where "group" stands for a group of either kind.
fn unnamed_groups(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices("group").map(|(at, _)| at).filter(|at| {
        let (before, after) = (&text[..*at], &text[at + "group".len()..]);
        let after = after.strip_prefix('s').unwrap_or(after);
        !before.ends_with(char::is_alphabetic)
            && !after.starts_with(char::is_alphabetic)
            && !BEFORE_GROUP.iter().any(|it| before.ends_with(it))
    })
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
            "/// It leaves\n/// nobody.\nstruct Graveyard;\nfn is_foreseen_and_was_kept_from() {}\nf(\"a.org was \\\n   kept from b\");",
            expect![[r#"
                a.rs:4: `was kept from` is not plain: `blocked … from connecting to …: host not allowed`
                a.rs:5: `was kept from` is not plain: `blocked … from connecting to …: host not allowed`
                a.rs:1: `leaves nobody` is not plain: name what is not left, such as a supervisor
                a.rs:3: `graveyard` is not plain: `reaper`
                a.rs:4: `foreseen` is not plain: `preflight`"#]],
        );
    }

    #[test]
    fn a_group_has_a_kind_where_there_are_two() {
        let text = "fn kill_group() {}\n/// A process\n/// group, control groups, a cgroup and\n/// its group.\nlet groups = KillScope::Group;";
        check_text(
            "crates/flyto-execenv-linux/src/a.rs",
            text,
            expect![[r#"
                crates/flyto-execenv-linux/src/a.rs:1: say which group: `pgrp` or process group, `cgroup` or control group
                crates/flyto-execenv-linux/src/a.rs:4: say which group: `pgrp` or process group, `cgroup` or control group
                crates/flyto-execenv-linux/src/a.rs:5: say which group: `pgrp` or process group, `cgroup` or control group"#]],
        );
        check_text("crates/flyto-cli/src/a.rs", text, expect![""]);
    }

    #[test]
    fn parts_of_words_and_what_has_gone_pass() {
        check_text("a.md", "Years near a wrung, indoors.", expect![""]);
        check_text("CHANGELOG.md", "- `foresee` is `preflight`.", expect![""]);
    }
}
