//! The official conformance suite, for the newest revision of each era.
//!
//! Scenarios that are expected to fail stand in a file for each revision, with the reason. The suite fails for one that fails beside
//! those, and for one of them that passes.

use super::{
    Place, Row,
    install::{NODE, node},
    server::Server,
};
use crate::stop::Stop;

/// The revisions with their eras.
const REVISIONS: [(&str, &str); 2] = [("2025-11-25", "legacy"), ("2026-07-28", "modern")];

/// The suite's script.
const SCRIPT: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// A row for each revision.
pub(super) fn rows(place: &Place) -> Result<Vec<Row>, Stop> {
    let dir = NODE.dir(place);
    let home = place.home("conformance")?;
    let server = Server::start(place, &home)?;
    let row = |(revision, era): (&str, &'static str)| {
        let expected = place.fixtures.join(format!("expected-failures-{revision}.yaml"));
        let mut suite = node(&dir, SCRIPT);
        suite.args(["server", "--url", &server.url, "--requirements", revision]);
        suite.arg("--expected-failures").arg(expected);
        suite.arg("--output-dir").arg(place.dir.join("conformance").join(revision));
        eprintln!("$ conformance server --requirements {revision}");
        let output = suite.output().map_err(|err| Stop::because("start the suite", &err))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            println!("{text}");
        }
        let result = summary(&text);
        let exercised = format!("all scenarios of a server of {revision}");
        let result = if output.status.success() { Ok(result) } else { Err(result) };
        Ok(Row { peer: NODE.shown("conformance"), era, exercised, result })
    };
    REVISIONS.into_iter().map(row).collect()
}

/// How many scenarios passed, and how many checks: the suite's own count.
fn summary(text: &str) -> String {
    let lines = || text.lines().map(str::trim_start);
    let n = |mark: &str| {
        let is_scenario = |it: &&str| it.starts_with(mark) && it.contains(" passed, ");
        lines().filter(is_scenario).count()
    };
    let total = lines().find_map(|it| it.strip_prefix("Total: ")).unwrap_or("no total");
    format!("{} of {} scenarios; checks: {total}", n("✓"), n("✓") + n("✗"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_the_suites_own() {
        let text = "✓ a: 2 passed, 0 failed\n✗ b: 1 passed, 1 failed\n\nTotal: 3 passed, 1 failed\n  ✗ b (pending)\n";
        assert_eq!(summary(text), "1 of 2 scenarios; checks: 3 passed, 1 failed");
    }
}
