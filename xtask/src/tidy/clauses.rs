//! Each named clause in the docs of the executor contract has one conformance case, and the reverse.

use std::collections::BTreeMap;

use super::{Problem, TextFile};

/// Holds the docs of `Executor` and `Control`.
const CONTRACT: &str = "crates/flyto-execenv/src/traits.rs";
/// The module in which `const CASES` lists the cases.
const SUITE: &str = "crates/flyto-execenv/src/conformance";

pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let Some(contract) = files.iter().find(|it| it.path == CONTRACT) else {
        return vec![Problem::new(CONTRACT, 1, "the contract is gone: tell tidy/clauses.rs")];
    };
    let is_suite = |it: &&TextFile| {
        it.path.strip_prefix(SUITE).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let suite = files.iter().filter(is_suite).find_map(|it| Some((it, cases(&it.text)?)));
    let Some((suite, cases)) = suite else {
        return vec![Problem::new(SUITE, 1, "no file here has `const CASES`")];
    };
    compare(&contract.path, &clauses(&contract.text), &suite.path, &cases)
}

/// Names with their one-based lines, in the order of the file.
type Names = Vec<(String, usize)>;

fn compare(contract: &str, clauses: &Names, suite: &str, cases: &Names) -> Vec<Problem> {
    let mut res = Vec::new();
    for (path, names, others, missing) in [
        (contract, clauses, cases, format!("no case of this name in {suite}")),
        (suite, cases, clauses, format!("no clause of this name in {contract}")),
    ] {
        let mut seen = BTreeMap::new();
        for (name, line) in names {
            if let Some(first) = seen.insert(name, line) {
                let message = format!("`{name}` stands in line {first} already");
                res.push(Problem::new(path, *line, message));
            }
            if !others.iter().any(|(other, _)| other == name) {
                res.push(Problem::new(path, *line, format!("`{name}`: {missing}")));
            }
        }
    }
    if clauses.is_empty() {
        res.push(Problem::new(contract, 1, "no clause of the form \"- `name` — …\" in the docs"));
    }
    res
}

/// The names in doc lines of the form ``/// - `kebab-name` — …``.
fn clauses(text: &str) -> Names {
    let name_of = |line: &str| {
        let (name, rest) = line.trim().strip_prefix("/// - `")?.split_once('`')?;
        (is_kebab(name) && rest.trim_start().starts_with('—')).then(|| name.to_owned())
    };
    let lines = text.lines().enumerate();
    lines.filter_map(|(i, line)| Some((name_of(line)?, i + 1))).collect()
}

/// The kebab-case string literals of `const CASES`; `None` where there is no such list.
fn cases(text: &str) -> Option<Names> {
    let start = text.find("const CASES:")?;
    let start = start + text[start..].find('=')?;
    let end = text[start..].find("];").map_or(text.len(), |end| start + end);
    let mut line = 1 + text[..start].matches('\n').count();
    let mut res = Vec::new();
    for (i, piece) in text[start..end].split('"').enumerate() {
        // Every other piece stands between quotes.
        if i % 2 == 1 && is_kebab(piece) {
            res.push((piece.to_owned(), line));
        }
        line += piece.matches('\n').count();
    }
    Some(res)
}

fn is_kebab(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    name.contains('-') && name.split('-').all(is_part)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::shown, cases, clauses, compare};

    #[track_caller]
    fn check(contract: &str, suite: &str, expect: Expect) {
        let cases = cases(suite).expect("the suites below have a list");
        expect.assert_eq(&shown(&compare("doc.rs", &clauses(contract), "suite.rs", &cases)));
    }

    #[test]
    fn equal_lists_pass() {
        check(
            "/// - `argv-verbatim` — arguments arrive.\n/// - `Kind` — no clause\n///   - `x-y` of\n",
            "fn f() -> &str { \"not-here\" }\npub const CASES: &[Case] = &[\n    Case::new(\"argv-verbatim\", \"about it\"),\n];\nconst X: &str = \"nor-here\";",
            expect![""],
        );
    }

    #[test]
    fn both_sides_are_compared() {
        check(
            "/// - `a-1` — x\n/// - `b-2` — x\n    /// - `a-1` — x\n",
            "const CASES: [&str; 2] = [\n\"b-2\",\n\"c-3\"];",
            expect![[r#"
                doc.rs:1: `a-1`: no case of this name in suite.rs
                doc.rs:3: `a-1` stands in line 1 already
                doc.rs:3: `a-1`: no case of this name in suite.rs
                suite.rs:3: `c-3`: no clause of this name in doc.rs"#]],
        );
    }

    #[test]
    fn an_empty_contract_is_no_contract() {
        check(
            "/// Nothing.",
            "const CASES: &[&str] = &[];",
            expect![[r#"doc.rs:1: no clause of the form "- `name` — …" in the docs"#]],
        );
    }

    #[test]
    fn a_file_without_cases_is_no_suite() {
        assert_eq!(cases("const CASE: u8 = 1;"), None);
    }
}
