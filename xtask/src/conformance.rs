//! `conformance`: runs the executor contract on each backend of `flyto-execenv` and counts clauses.
//!
//! A backend is a test target `conformance_NAME`.

use crate::{
    metadata::Metadata,
    process::cargo,
    stop::Stop,
    test::{self, Counts},
};

const PACKAGE: &str = "flyto-execenv";
const PREFIX: &str = "conformance_";

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    let metadata = Metadata::load()?;
    let targets = metadata.package(PACKAGE)?.targets.iter();
    let known: Vec<&str> = targets
        .filter(|it| it.kind.iter().any(|kind| kind == "test"))
        .filter_map(|it| it.name.strip_prefix(PREFIX))
        .collect();
    if known.is_empty() {
        return Err(Stop::failed(format!("{PACKAGE} has no test target `{PREFIX}…`")));
    }
    if let Some(name) = args.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(Stop::usage(format!("there is no backend `{name}`; there are {known}")));
    }
    let chosen = known.into_iter().filter(|it| args.is_empty() || args.iter().any(|a| a == it));
    let mut rows = Vec::new();
    for backend in chosen {
        let target = format!("test -p {PACKAGE} --all-features --test {PREFIX}{backend}");
        rows.push((backend, test::count(cargo(&target))?));
    }
    print!("{}", table(&rows));
    if rows.iter().all(|(_, counts)| counts.failed == 0) { Ok(()) } else { Err(Stop::Reported) }
}

fn table(rows: &[(&str, Counts)]) -> String {
    let width = rows.iter().map(|(backend, _)| backend.len()).max().unwrap_or(0).max(7);
    let mut res = format!("{:<width$}  clauses  passed  failed  skipped\n", "backend");
    for (backend, Counts { passed, failed, skipped }) in rows {
        let clauses = passed + failed + skipped;
        res.push_str(&format!(
            "{backend:<width$}  {clauses:>7}  {passed:>6}  {failed:>6}  {skipped:>7}\n"
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
            backend             clauses  passed  failed  skipped
            local                    30      30       0        0
            scripted_elsewhere       12       9       1        2
        "#]]
        .assert_eq(&table(&rows));
    }
}
