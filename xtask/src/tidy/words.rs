//! Plain words: a comment names the process, the caller or the operator, and no pronoun in its place.
//!
//! [`check`] counts such pronouns in comments and papers, and [`doc_ratios`] tells how much of a crate is
//! documentation.

use std::fmt::Write as _;

use super::{Problem, TextFile, parent, relative};
use crate::{metadata::Metadata, rust_source::comments};

/// Words that stand for a role without naming it.
const PRONOUNS: &[&str] = &[
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "nobody",
    "somebody",
    "someone",
    "who",
    "whoever",
    "whom",
    "whomever",
];

/// One such pronoun in so many words is the most: 0.2 in 1,000. Some stay, such as a user whose name
/// is one.
const WORDS_PER_PRONOUN: usize = 5000;

/// Modules of a library that tests are made of, which few of its users read.
const TEST_KITS: &[&str] = &["conformance/", "scripted/"];

/// What a count of pronouns came to.
#[derive(Debug)]
pub(super) struct Count {
    n_words: usize,
    /// One for each pronoun.
    found: Vec<Problem>,
}

impl Count {
    /// The pronouns, where there are too many of them.
    pub(super) fn problems(&self) -> Vec<Problem> {
        if self.found.len() * WORDS_PER_PRONOUN > self.n_words {
            self.found.clone()
        } else {
            Vec::new()
        }
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let Self { n_words, found } = self;
        let n_allowed = n_words / WORDS_PER_PRONOUN;
        format!(
            "{} role pronouns in {n_words} words of comments and papers, at most {n_allowed}",
            found.len()
        )
    }
}

/// Counts the pronouns in the comments of Rust files and in the prose of Markdown files.
pub(super) fn check(files: &[TextFile]) -> Count {
    let mut res = Count { n_words: 0, found: Vec::new() };
    for file in files {
        if file.is_rust() {
            for (offset, comment) in comments(&file.text) {
                let first = file.line_of(offset);
                for (i, line) in comment.lines().enumerate() {
                    res.add(file, first + i, line);
                }
            }
        } else if file.path.ends_with(".md") {
            let mut in_block = false;
            for (i, line) in file.text.lines().enumerate() {
                if line.trim_start().starts_with("```") {
                    in_block = !in_block;
                } else if !in_block {
                    res.add(file, i + 1, line);
                }
            }
        }
    }
    res
}

impl Count {
    /// Counts one line of prose; what stands in backticks is a name.
    fn add(&mut self, file: &TextFile, line: usize, text: &str) {
        for prose in text.split('`').step_by(2) {
            let words = prose.split(|it: char| !it.is_alphabetic() && it != '\'');
            for word in words.filter(|it| !it.is_empty()) {
                self.n_words += 1;
                if PRONOUNS.contains(&word.to_lowercase().as_str()) {
                    let message = format!("`{word}` names no role: write which process or person");
                    self.found.push(Problem::new(&file.path, line, message));
                }
            }
        }
    }
}

/// Lines of documentation for each 100 lines of code, for each library that is published: one line for
/// people. What is there for tests counts as neither, [`TEST_KITS`] included.
pub(super) fn doc_ratios(metadata: &Metadata, files: &[TextFile]) -> String {
    let mut res = "doc lines for each 100 of code (reach: 30):".to_owned();
    for package in metadata.packages.iter().filter(|it| it.publishable()) {
        let Some(library) = package.targets.iter().find(|it| it.is_kind("lib")) else { continue };
        let root = relative(&library.src_path);
        let dir = parent(&root);
        let is_source = |it: &&TextFile| {
            let rest = it.path.strip_prefix(dir).and_then(|it| it.strip_prefix('/'));
            let is_part = |rest: &str| {
                !rest.contains("tests") && !TEST_KITS.iter().any(|kit| rest.starts_with(kit))
            };
            it.is_rust() && rest.is_some_and(is_part)
        };
        let (mut n_docs, mut n_code) = (0, 0);
        for file in files.iter().filter(is_source) {
            let (docs, code) = lines(&file.text);
            n_docs += docs;
            n_code += code;
        }
        let ratio = (n_docs * 100_usize).checked_div(n_code).unwrap_or(0);
        write!(res, " {} {ratio}", package.name).expect("a string takes all");
    }
    res
}

/// Lines of documentation and lines of code.
fn lines(text: &str) -> (usize, usize) {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let mut res = (0, 0);
    for line in text[..end].lines().map(str::trim) {
        if line.starts_with("///") || line.starts_with("//!") {
            res.0 += 1;
        } else if !line.is_empty() && !line.starts_with("//") {
            res.1 += 1;
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{
        super::{TextFile, shown},
        WORDS_PER_PRONOUN, check, lines,
    };

    #[track_caller]
    fn check_file(path: &str, text: &str, expect: Expect) {
        let count = check(&[TextFile { path: path.into(), text: text.into() }]);
        expect.assert_eq(&format!("{}\n{}", count.line(), shown(&count.problems())));
    }

    #[test]
    fn comments_are_counted_and_code_is_not() {
        check_file(
            "a.rs",
            "/// Nobody waits.\nfn who() {} // \"someone\" calls\nconst A: &str = \"// who\";\n/* Two\nlines: whom? */",
            expect![[r#"
                3 role pronouns in 7 words of comments and papers, at most 0
                a.rs:1: `Nobody` names no role: write which process or person
                a.rs:2: `someone` names no role: write which process or person
                a.rs:5: `whom` names no role: write which process or person"#]],
        );
    }

    #[test]
    fn names_and_examples_in_papers_are_free() {
        check_file(
            "a.md",
            "The user `nobody`.\n```sh\nwho | wc -l\n```\nWhoever it is.",
            expect![[r#"
                1 role pronouns in 5 words of comments and papers, at most 0
                a.md:5: `Whoever` names no role: write which process or person"#]],
        );
    }

    #[test]
    fn few_of_them_pass() {
        let text = format!("who {}", "word ".repeat(WORDS_PER_PRONOUN));
        check_file(
            "a.md",
            &text,
            expect![[r#"
                1 role pronouns in 5001 words of comments and papers, at most 1
            "#]],
        );
    }

    #[test]
    fn tests_are_neither_docs_nor_code() {
        let text = "//! Docs.\n\n// A comment.\n/// Docs.\nfn f() {}\n#[cfg(test)]\nmod tests {\n/// x\nfn g() {}\n}";
        assert_eq!(lines(text), (2, 1));
    }
}
