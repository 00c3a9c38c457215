//! Each code of a finding has its Markdown file, each such file has its code, and all have one shape.
//!
//! A table of codes is a file `codes.rs` with rows such as `NO_EGGS = "F0101";`, and the explanations
//! lie beside it as `codes/F0101.md`. The compiler reports a file that is missing; it cannot report one
//! that is left over.

use std::collections::BTreeMap;

use super::{Problem, TextFile};

/// The longest line of prose, in characters; a terminal shows it unwrapped.
const MAX_WIDTH: usize = 100;

pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let mut res = Vec::new();
    // Each code with the table that has it: a code means one thing in the whole workspace.
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for table in files.iter().filter(|it| it.path.ends_with("/src/codes.rs")) {
        let rows = rows(&table.text);
        if !rows.is_sorted_by(|(a, _), (b, _)| a < b) {
            res.push(Problem::new(&table.path, 1, "the codes are not in order, each once"));
        }
        let dir = table.path.trim_end_matches(".rs");
        for (code, line) in &rows {
            if let Some(other) = known.insert(code, &table.path) {
                let message = format!("{other} has {code} too: a code means one thing for ever");
                res.push(Problem::new(&table.path, *line, message));
            }
            if !files.iter().any(|it| it.path == format!("{dir}/{code}.md")) {
                let message = format!("{code} is not explained: write {dir}/{code}.md");
                res.push(Problem::new(&table.path, *line, message));
            }
        }
        let own_files = files.iter().filter_map(|it| {
            Some((it, it.path.strip_prefix(dir)?.strip_prefix('/')?.strip_suffix(".md")?))
        });
        for (file, name) in own_files {
            if !rows.iter().any(|(code, _)| *code == name) {
                let message = format!("{} has no code {name}: delete the file", table.path);
                res.push(Problem::new(&file.path, 1, message));
            }
            check_text(file, &mut res);
        }
    }
    if known.is_empty() {
        let message = "no table of codes is found any more: mend this check";
        res.push(Problem::new("xtask/src/tidy/codes.rs", 1, message));
    }
    res
}

/// The codes of a table with their one-based lines.
fn rows(text: &str) -> Vec<(&str, usize)> {
    let row = |(i, line)| {
        let line: &str = line;
        let (_, code) = line.trim().split_once(" = \"")?;
        Some((code.strip_suffix("\";")?, i + 1))
    };
    text.lines().enumerate().filter_map(row).collect()
}

fn check_text(file: &TextFile, res: &mut Vec<Problem>) {
    let mut report = |line, message: &str| res.push(Problem::new(&file.path, line, message));
    let (title, explanation) = file.text.split_once('\n').unwrap_or((&file.text, ""));
    if title.len() < 4 || !title.starts_with("# ") || title.ends_with('.') {
        report(1, "the first line is `# ` and a few words without a full stop");
    }
    // A code that is explained in one sentence has nothing to explain.
    if explanation.matches(['.', ':', ';']).count() < 2 || !explanation.ends_with('\n') {
        report(
            2,
            "several sentences and a line end: what is wrong, why, and what to write instead",
        );
    }
    for (i, line) in file.text.lines().enumerate() {
        // An example is indented, and stands as it would in a file.
        if !line.starts_with("    ") && line.chars().count() > MAX_WIDTH {
            report(i + 1, "longer than a terminal is wide: break it at 100 characters");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::{TextFile, shown};

    const TABLE: &str = "flyto_diagnostics::code_table! {\n    /// No eggs.\n    NO_EGGS = \"F0101\";\n    /// No flour.\n    NO_FLOUR = \"F0102\";\n}\n";
    const GOOD: &str = "# no eggs\n\nA cake needs eggs. Buy some.\n";

    #[track_caller]
    fn check(files: &[(&str, &str)], expect: Expect) {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile { path: (*path).into(), text: (*text).into() })
            .collect();
        expect.assert_eq(&shown(&super::check(&files)));
    }

    #[test]
    fn a_code_has_a_file_and_a_file_a_code() {
        check(
            &[
                ("a/src/codes.rs", TABLE),
                ("a/src/codes/F0101.md", GOOD),
                ("a/src/codes/F0102.md", GOOD),
            ],
            expect![""],
        );
        check(
            &[
                ("a/src/codes.rs", TABLE),
                ("a/src/codes/F0101.md", GOOD),
                ("a/src/codes/F0103.md", GOOD),
            ],
            expect![[r#"
                a/src/codes.rs:5: F0102 is not explained: write a/src/codes/F0102.md
                a/src/codes/F0103.md:1: a/src/codes.rs has no code F0103: delete the file"#]],
        );
    }

    #[test]
    fn a_code_is_declared_once_and_in_order() {
        check(
            &[
                ("a/src/codes.rs", "A = \"F0102\";\nB = \"F0101\";"),
                ("a/src/codes/F0101.md", GOOD),
                ("a/src/codes/F0102.md", GOOD),
                ("b/src/codes.rs", "A = \"F0102\";"),
                ("b/src/codes/F0102.md", GOOD),
            ],
            expect![[r#"
                a/src/codes.rs:1: the codes are not in order, each once
                b/src/codes.rs:1: a/src/codes.rs has F0102 too: a code means one thing for ever"#]],
        );
    }

    #[test]
    fn an_explanation_explains() {
        let long = format!("# a.\n\n{}\n\n    {}", "x".repeat(101), "x".repeat(101));
        check(
            &[("a/src/codes.rs", "A = \"F0101\";"), ("a/src/codes/F0101.md", &long)],
            expect![[r#"
                a/src/codes/F0101.md:1: the first line is `# ` and a few words without a full stop
                a/src/codes/F0101.md:2: several sentences and a line end: what is wrong, why, and what to write instead
                a/src/codes/F0101.md:3: longer than a terminal is wide: break it at 100 characters"#]],
        );
    }

    #[test]
    fn a_check_without_tables_checks_nothing() {
        check(
            &[("a/src/lib.rs", "")],
            expect![
                "xtask/src/tidy/codes.rs:1: no table of codes is found any more: mend this check"
            ],
        );
    }
}
