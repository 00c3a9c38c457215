//! Files that were left behind: by an editor, a merge, a snapshot run, or a test that has gone.

use super::Problem;

const LEFTOVERS: &[&str] =
    &[".orig", ".rej", ".bak", ".swp", ".DS_Store", ".snap.new", ".pending-snap", ".pyc", "~"];

pub(super) fn check(paths: &[String]) -> Vec<Problem> {
    let mut res = Vec::new();
    for path in paths {
        if let Some(end) = LEFTOVERS.iter().find(|end| path.ends_with(*end)) {
            res.push(Problem::new(path, 1, format!("a leftover (`{end}`): delete it")));
        }
        if let Some(test) = source_of_regressions(path)
            && !paths.contains(&test)
        {
            let message = format!("belongs to {test}, which is gone: move it or delete it");
            res.push(Problem::new(path, 1, message));
        }
    }
    res
}

/// The source file whose failures proptest has recorded in `path`.
fn source_of_regressions(path: &str) -> Option<String> {
    if let Some(test) = path.strip_suffix(".proptest-regressions") {
        return Some(format!("{test}.rs"));
    }
    let (package, module) = path.split_once("/proptest-regressions/")?;
    Some(format!("{package}/src/{}.rs", module.strip_suffix(".txt")?))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::shown;

    #[track_caller]
    fn check(paths: &[&str], expect: Expect) {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        expect.assert_eq(&shown(&super::check(&paths)));
    }

    #[test]
    fn leftovers_are_found() {
        check(
            &["a/b.rs", "a/b.rs.orig", "README.md~"],
            expect![[r#"
            a/b.rs.orig:1: a leftover (`.orig`): delete it
            README.md~:1: a leftover (`~`): delete it"#]],
        );
    }

    #[test]
    fn regressions_have_a_source() {
        check(
            &[
                "crates/a/proptest-regressions/b/c.txt",
                "crates/a/src/b/c.rs",
                "crates/a/proptest-regressions/gone.txt",
                "crates/a/tests/kept.proptest-regressions",
                "crates/a/tests/kept.rs",
                "crates/a/tests/gone.proptest-regressions",
            ],
            expect![[r#"
                crates/a/proptest-regressions/gone.txt:1: belongs to crates/a/src/gone.rs, which is gone: move it or delete it
                crates/a/tests/gone.proptest-regressions:1: belongs to crates/a/tests/gone.rs, which is gone: move it or delete it"#]],
        );
    }
}
