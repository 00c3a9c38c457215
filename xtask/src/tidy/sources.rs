//! What source text must not hold.

use super::{Problem, TextFile, parent, relative};
use crate::{
    metadata::Metadata,
    rust_source::{code_only, find_word},
};

/// A file longer than this holds a second idea that wants a file of its own.
const MAX_LINES: usize = 600;

/// Code that is not meant to stay.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("dbg!", "a debugging aid: take it out"),
    ("#[ignore", "a test that never runs shows nothing: repair it or delete it"),
];

/// The files and directories that may say `unsafe`; each is small and has a `SAFETY:` sentence per
/// block.
const UNSAFE_PLACES: &[&str] = &[
    // Programs under measurement that have no runtime, so that its start-up is not measured.
    "tests/probe-static/",
    // Counts forks with pthread_atfork(3), which no crate offers as a safe call.
    "crates/flyto-execenv/tests/local_forks.rs",
    // What the kernel is asked for and no crate can ask it: starting a program in the host's memory.
    "crates/flyto-execenv-linux/src/bare/",
    // Forks, as hostile programs do.
    "crates/flyto-execenv-linux/tests/escapes/fork.rs",
    // A program that is linked with no library at all.
    "crates/flyto-execenv-linux/supervisor/",
];

/// Text that means something on one machine only: where a developer's tree or notes happen to lie.
/// Each entry is cut in two, so that this list does not find itself.
const FOREIGN: &[&str] = &[concat!("/wor", "k/"), concat!(".libr", "ary")];

pub(super) fn check(metadata: &Metadata, files: &[TextFile]) -> Vec<Problem> {
    let mut res = Vec::new();
    for file in files {
        check_words(file, &mut res);
        if file.is_rust() {
            check_rust(file, UNSAFE_PLACES, &mut res);
        }
    }
    for place in UNSAFE_PLACES {
        if files.iter().any(|it| it.path.starts_with(place)) {
            continue;
        }
        let message = format!("UNSAFE_PLACES lists {place}, which is gone");
        res.push(Problem::new("xtask/src/tidy/sources.rs", 1, message));
    }
    for package in &metadata.packages {
        for root in package.targets.iter().filter(|it| it.is_library_or_program()) {
            let path = relative(&root.src_path);
            // A file with `unsafe` beside the root is part of it, and lifts the ban.
            if UNSAFE_PLACES.iter().any(|it| it.starts_with(parent(&path))) {
                continue;
            }
            let text = files.iter().find(|it| it.path == path).map_or("", |it| &it.text);
            if !code_only(text).contains("#![forbid(unsafe_code)]") {
                res.push(Problem::new(&path, 1, "say `#![forbid(unsafe_code)]`"));
            }
        }
    }
    res
}

fn check_words(file: &TextFile, res: &mut Vec<Problem>) {
    for word in FOREIGN {
        for (at, _) in file.text.match_indices(word) {
            let message = format!("`{word}` means nothing on another machine");
            res.push(Problem::new(&file.path, file.line_of(at), message));
        }
    }
}

fn check_rust(file: &TextFile, unsafe_places: &[&str], res: &mut Vec<Problem>) {
    let n_lines = file.text.lines().count();
    if n_lines > MAX_LINES {
        let message = format!("{n_lines} lines, at most {MAX_LINES}: look for the second idea");
        res.push(Problem::new(&file.path, n_lines, message));
    }
    let may_be_unsafe = unsafe_places.iter().any(|place| file.path.starts_with(place));
    let mut is_unsafe = false;
    for (i, line) in code_only(&file.text).lines().enumerate() {
        for (word, advice) in UNFINISHED {
            if find_word(line, word).is_some() {
                res.push(Problem::new(&file.path, i + 1, format!("`{word}`: {advice}")));
            }
        }
        // The first place of a file is enough to find the others.
        if !may_be_unsafe && !is_unsafe && find_word(line, "unsafe").is_some() {
            is_unsafe = true;
            let message = "`unsafe` outside UNSAFE_PLACES in xtask/src/tidy/sources.rs: use a safe \
                           call, or list the file there and say why in the commit";
            res.push(Problem::new(&file.path, i + 1, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{
        super::{TextFile, shown},
        FOREIGN, MAX_LINES, check_rust, check_words,
    };

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let file = TextFile { path: "src/a.rs".into(), text: text.into() };
        let mut res = Vec::new();
        check_rust(&file, &["src/allowed.rs"], &mut res);
        check_words(&file, &mut res);
        expect.assert_eq(&shown(&res));
    }

    #[test]
    fn unfinished_code_is_found() {
        check(
            "fn f() {\n    todo!()\n}\n#[ignore = \"slow\"]\nfn g() { dbg!(1); }",
            expect![[r##"
            src/a.rs:2: `todo!`: finish it, or leave it out
            src/a.rs:4: `#[ignore`: a test that never runs shows nothing: repair it or delete it
            src/a.rs:5: `dbg!`: a debugging aid: take it out"##]],
        );
    }

    #[test]
    fn prose_and_strings_are_free() {
        check(
            "// todo! unsafe\nconst A: &str = \"dbg! unsafe\";\n#![forbid(unsafe_code)]",
            expect![""],
        );
    }

    #[test]
    fn unsafe_has_its_places() {
        check(
            "fn f() { unsafe { g() } }",
            expect![
                "src/a.rs:1: `unsafe` outside UNSAFE_PLACES in xtask/src/tidy/sources.rs: use a safe call, or list the file there and say why in the commit"
            ],
        );
        let file = TextFile { path: "src/allowed.rs".into(), text: "unsafe fn f() {}".into() };
        let mut res = Vec::new();
        check_rust(&file, &["src/allowed.rs"], &mut res);
        assert_eq!(res, []);
    }

    #[test]
    fn long_files_are_found() {
        check(&"\n".repeat(MAX_LINES), expect![""]);
        check(
            &"\n".repeat(MAX_LINES + 1),
            expect!["src/a.rs:601: 601 lines, at most 600: look for the second idea"],
        );
    }

    #[test]
    fn words_of_one_machine_are_found() {
        for word in FOREIGN {
            let file = TextFile { path: "README.md".into(), text: format!("a\nb {word}c") };
            let mut res = Vec::new();
            check_words(&file, &mut res);
            assert_eq!(res.len(), 1, "{word}");
            assert_eq!(res[0].line, 2, "{word}");
        }
    }
}
