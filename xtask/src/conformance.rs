//! `conformance`: runs the executor contract on each backend of `flyto-execenv` and counts cases.
//!
//! A backend is a test target `conformance_NAME`, or an example that carries tests.

use crate::{
    metadata::{Metadata, Target},
    process::cargo,
    stop::Stop,
    test::{self, Counts},
};

const PACKAGE: &str = "flyto-execenv";
const PREFIX: &str = "conformance_";

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    let metadata = Metadata::load()?;
    let known: Vec<Backend<'_>> =
        metadata.package(PACKAGE)?.targets.iter().filter_map(Backend::of).collect();
    if known.is_empty() {
        return Err(Stop::failed(format!("{PACKAGE} has no test target `{PREFIX}…`")));
    }
    if let Some(name) = args.iter().find(|name| !known.iter().any(|it| it.name == **name)) {
        let known: Vec<&str> = known.iter().map(|it| it.name).collect();
        let known = known.join(", ");
        return Err(Stop::usage(format!("there is no backend `{name}`; there are {known}")));
    }
    let mut rows = Vec::new();
    for backend in &known {
        if args.is_empty() || args.iter().any(|it| it == backend.name) {
            let Backend { name, target } = backend;
            let command = cargo(&format!("test -p {PACKAGE} --all-features {target}"));
            rows.push((*name, test::count(command)?));
        }
    }
    print!("{}", table(&rows));
    if rows.iter().all(|(_, counts)| counts.failed == 0) { Ok(()) } else { Err(Stop::Reported) }
}

/// One backend and the flags that choose its tests.
struct Backend<'a> {
    name: &'a str,
    target: String,
}

impl<'a> Backend<'a> {
    fn of(target: &'a Target) -> Option<Self> {
        let full = &target.name;
        if target.is_kind("test") {
            let name = full.strip_prefix(PREFIX)?;
            Some(Self { name, target: format!("--test {full}") })
        } else {
            let carries_tests = target.is_kind("example") && target.test;
            carries_tests.then(|| Self { name: full, target: format!("--example {full}") })
        }
    }
}

fn table(rows: &[(&str, Counts)]) -> String {
    let width = rows.iter().map(|(backend, _)| backend.len()).max().unwrap_or(0).max(7);
    let mut res = format!("{:<width$}  cases  passed  failed  skipped\n", "backend");
    for (backend, Counts { passed, failed, skipped }) in rows {
        let cases = passed + failed + skipped;
        res.push_str(&format!(
            "{backend:<width$}  {cases:>5}  {passed:>6}  {failed:>6}  {skipped:>7}\n"
        ));
    }
    res
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::table;
    use crate::test::Counts;

    #[test]
    fn each_backend_has_a_row() {
        let rows = [
            ("local", Counts { passed: 30, failed: 0, skipped: 0 }),
            ("scripted_elsewhere", Counts { passed: 9, failed: 1, skipped: 2 }),
        ];
        expect![[r#"
            backend             cases  passed  failed  skipped
            local                  30      30       0        0
            scripted_elsewhere     12       9       1        2
        "#]]
        .assert_eq(&table(&rows));
    }
}
