//! Plain words: a sentence names the process, the caller or the operator, and no pronoun in its place.
//!
//! [`check`] counts such pronouns in comments, in texts of the programs and in papers, and [`doc_ratios`] tells
//! how much of a crate is documentation.

use super::{Problem, TextFile, parent, relative};
use crate::{
    metadata::Metadata,
    rust_source::{code_only, comments, is_word, strings},
};

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
            "{} role pronouns in {n_words} words of comments, texts and papers, at most {n_allowed}",
            found.len()
        )
    }
}

/// Counts the pronouns in the comments of Rust files and in the names of their functions, which are sentences where
/// they are those of tests; in the string literals of files that are no tests; and in the prose of Markdown files.
pub(super) fn check(files: &[TextFile]) -> Count {
    let mut res = Count { n_words: 0, found: Vec::new() };
    for file in files {
        if file.is_rust() {
            res.add_names(file);
            for (offset, comment) in comments(&file.text) {
                let first = file.line_of(offset);
                for (i, line) in comment.lines().enumerate() {
                    res.add(file, first + i, line);
                }
            }
            for (offset, text) in strings(untested(file)) {
                // A single word is a name or a key.
                let lines = text.lines().enumerate().filter(|_| text.contains(char::is_whitespace));
                let first = file.line_of(offset);
                lines.for_each(|(i, line)| res.add(file, first + i, &line.replace("\\n", " ")));
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

/// The text of a file up to its tests; nothing of a file that is for tests.
fn untested(file: &TextFile) -> &str {
    let is_test = |part: &str| matches!(part, "tests" | "tests.rs" | "fixtures" | "benches");
    if file.path.split('/').any(is_test) { "" } else { before_tests(&file.text) }
}

/// The text up to its module of tests.
pub(super) fn before_tests(text: &str) -> &str {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    &text[..end]
}

impl Count {
    /// Counts the words in the names of functions; a name of one word is no sentence.
    fn add_names(&mut self, file: &TextFile) {
        let code = code_only(&file.text);
        for (at, keyword) in code.match_indices("fn ") {
            let name =
                code[at + keyword.len()..].split(|it: char| !it.is_alphanumeric() && it != '_');
            let name = name.take(1).filter(|it| it.contains('_')).collect::<String>();
            if at == 0 || !is_word(code.as_bytes()[at - 1]) {
                self.add(file, file.line_of(at), &name.replace('_', " "));
            }
        }
    }

    /// Counts one line of prose; what stands in backticks is a name.
    fn add(&mut self, file: &TextFile, line: usize, text: &str) {
        for prose in text.split('`').step_by(2) {
            let words = prose.split(|it: char| !it.is_alphabetic() && it != '\'');
            for word in words.filter(|it| !it.is_empty()) {
                self.n_words += 1;
                // Also where it is quoted, possessive or short for two words: `who's`.
                let bare = word.trim_matches('\'').split('\'').next().unwrap_or_default();
                if PRONOUNS.contains(&bare.to_lowercase().as_str()) {
                    let message = format!("`{word}` names no role: write which process or person");
                    self.found.push(Problem::new(&file.path, line, message));
                }
            }
        }
    }
}

/// Lines of documentation for each 100 lines of code that a published library has at least.
const MIN_DOC_LINES: usize = 30;

/// How much of each library is documentation: the path of its root, its name, and lines for each 100 of code.
#[derive(Debug)]
pub(super) struct DocRatios(Vec<(String, String, usize)>);

impl DocRatios {
    /// The libraries that say too little.
    pub(super) fn problems(&self) -> impl Iterator<Item = Problem> {
        self.0.iter().filter(|it| it.2 < MIN_DOC_LINES).map(|(root, _, ratio)| {
            let what = format!(
                "{ratio} lines of documentation for each 100 of code, and {MIN_DOC_LINES} are the \
                 least: say units, bounds and errors of what is public"
            );
            Problem::new(root, 1, what)
        })
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let each: Vec<_> =
            self.0.iter().map(|(_, name, ratio)| format!("{name} {ratio}")).collect();
        format!("doc lines for each 100 of code (at least {MIN_DOC_LINES}): {}", each.join(" "))
    }
}

/// Counts for each library that is published. What is there for tests counts as neither, [`TEST_KITS`] included.
pub(super) fn doc_ratios(metadata: &Metadata, files: &[TextFile]) -> DocRatios {
    let mut res = Vec::new();
    for package in metadata.packages.iter().filter(|it| it.publishable()) {
        let Some(library) = package.targets.iter().find(|it| it.is_kind("lib")) else { continue };
        let root = relative(&library.src_path);
        let ratio = doc_ratio(parent(&root), files);
        res.push((root, package.name.clone(), ratio));
    }
    DocRatios(res)
}

/// Lines of documentation for each 100 of code in a directory of sources.
fn doc_ratio(dir: &str, files: &[TextFile]) -> usize {
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
    (n_docs * 100_usize).checked_div(n_code).unwrap_or(MIN_DOC_LINES)
}

/// Lines of documentation and lines of code.
fn lines(text: &str) -> (usize, usize) {
    let mut res = (0, 0);
    for line in before_tests(text).lines().map(str::trim) {
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
        DocRatios, WORDS_PER_PRONOUN, check, doc_ratio, lines,
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
            "/// Nobody waits.\nfn who() {} fn a_call_whom() {} // \"someone\" calls\nconst A: &str = \"who\";\n/* Two\nlines: whom? */",
            expect![[r#"
                4 role pronouns in 10 words of comments, texts and papers, at most 0
                a.rs:2: `whom` names no role: write which process or person
                a.rs:1: `Nobody` names no role: write which process or person
                a.rs:2: `someone` names no role: write which process or person
                a.rs:5: `whom` names no role: write which process or person"#]],
        );
    }

    #[test]
    fn texts_are_counted_outside_of_tests() {
        let text = "f(\"a comment,\\nwhich \\\n  nobody reads\\nwhom\", r#\"of `who` and who\"#, \"nobody\");\n#[cfg(test)]\nmod tests {\n\"who is it\"}";
        check_file(
            "src/a.rs",
            text,
            expect![[r#"
                3 role pronouns in 10 words of comments, texts and papers, at most 0
                src/a.rs:2: `nobody` names no role: write which process or person
                src/a.rs:2: `whom` names no role: write which process or person
                src/a.rs:2: `who` names no role: write which process or person"#]],
        );
        check_file(
            "src/a/tests.rs",
            text,
            expect![[r#"
            0 role pronouns in 0 words of comments, texts and papers, at most 0
        "#]],
        );
    }

    #[test]
    fn possessives_are_counted() {
        check_file(
            "a.md",
            "Nobody's, the operator's, 'who' and who's.",
            expect![[r#"
            3 role pronouns in 6 words of comments, texts and papers, at most 0
            a.md:1: `Nobody's` names no role: write which process or person
            a.md:1: `'who'` names no role: write which process or person
            a.md:1: `who's` names no role: write which process or person"#]],
        );
    }

    #[test]
    fn names_and_examples_in_papers_are_free() {
        check_file(
            "a.md",
            "The user `nobody`.\n```sh\nwho | wc -l\n```\nWhoever it is.",
            expect![[r#"
                1 role pronouns in 5 words of comments, texts and papers, at most 0
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
                1 role pronouns in 5001 words of comments, texts and papers, at most 1
            "#]],
        );
    }

    #[test]
    fn a_library_that_says_too_little_is_a_problem() {
        let file = |n_docs: usize| {
            let text = "/// Says.\n".repeat(n_docs) + &"let x = 1;\n".repeat(100);
            [TextFile { path: "c/src/lib.rs".into(), text }]
        };
        let ratio = |n_docs| doc_ratio("c/src", &file(n_docs));
        let ratios = DocRatios(vec![
            ("c/src/lib.rs".into(), "c".into(), ratio(30)),
            ("d/src/lib.rs".into(), "d".into(), ratio(29)),
        ]);
        assert_eq!(ratios.line(), "doc lines for each 100 of code (at least 30): c 30 d 29");
        expect!["d/src/lib.rs:1: 29 lines of documentation for each 100 of code, and 30 are the least: say units, bounds and errors of what is public"]
            .assert_eq(&shown(&ratios.problems().collect::<Vec<_>>()));
    }

    #[test]
    fn tests_are_neither_docs_nor_code() {
        let text = "//! Docs.\n\n// A comment.\n/// Docs.\nfn f() {}\n#[cfg(test)]\nmod tests {\n/// x\nfn g() {}\n}";
        assert_eq!(lines(text), (2, 1));
    }
}
