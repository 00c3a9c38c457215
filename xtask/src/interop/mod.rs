//! `interop`: the program against the clients and the servers of others.
//!
//! Each peer is installed below `target/interop`, once for each version that is named here. What was exercised with it, and
//! what came of it, is a row of the table at the end. It needs npm, Python 3 and a network. `.ci/run` runs `python` and `inspector`,
//! the fast parts, before the tests, and has installed their packages meanwhile with `--install`. A part whose packages cannot be
//! installed is left out, and says so; under CI that is a failure.

use std::{cell::Cell, path::PathBuf};

use self::install::Packages;
use crate::{
    process::{cargo, root, run as run_program},
    stop::Stop,
};

mod agents; //      programs for agents, into which the server is installed
mod clients; //     clients that call tools
mod conformance; // the official suite
mod install; //     what is used, with its versions
mod server; //      the program under test
mod servers; //     servers whose tools the program uses

/// One thing that was exercised with a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// The program, with its version.
    peer: String,
    /// Which messages were spoken: `legacy` up to 2025-11-25, `modern` from 2026-07-28 on.
    era: &'static str,
    /// What was done.
    exercised: String,
    /// `Ok` with what is worth telling, or what came instead.
    result: Result<String, String>,
}

/// One part of this chore.
struct Part {
    name: &'static str,
    /// What it runs.
    about: &'static str,
    packages: &'static [&'static Packages],
    /// Exercises what is installed.
    rows: fn(&Place) -> Result<Vec<Row>, Stop>,
}

impl Part {
    fn run(&self, place: &Place) -> Result<Vec<Row>, Stop> {
        self.install(place)?;
        (self.rows)(place)
    }

    fn install(&self, place: &Place) -> Result<(), Stop> {
        self.packages.iter().try_for_each(|it| it.install(place))
    }
}

/// Every part, the cheapest first. Those that are not [`LARGE`] run by default.
const PARTS: &[Part] = &[
    Part {
        name: "inspector",
        about: "the official inspector calls tools of `flyto serve`",
        packages: &[&install::NODE],
        rows: clients::inspector,
    },
    Part {
        name: "python",
        about: "the Python SDK and fastmcp call tools of `flyto serve`",
        packages: &[&install::PYTHON],
        rows: clients::python,
    },
    Part {
        name: "servers",
        about: "`flyto` calls tools of public servers",
        packages: &[&install::NODE_SERVERS, &install::PYTHON_SERVERS],
        rows: servers::rows,
    },
    Part {
        name: "conformance",
        about: "the official suite of the protocol, both eras",
        packages: &[&install::NODE],
        rows: conformance::rows,
    },
    Part {
        name: "agents",
        about: "Claude Code, Gemini CLI and Codex after `flyto install`",
        packages: &[&install::AGENTS],
        rows: agents::rows,
    },
];

/// Programs of several hundred MB, which run only where they are named.
const LARGE: &[&str] = &["agents"];

/// The option that installs the packages of parts and runs nothing.
const INSTALL: &str = "--install";

/// Where things are.
#[derive(Debug)]
struct Place {
    /// `target/interop`.
    dir: PathBuf,
    /// The program under test.
    flyto: PathBuf,
    /// Its tools, what its rules allow, and scripts that use them.
    fixtures: PathBuf,
    /// Whether packages could not be installed.
    lacks_packages: Cell<bool>,
}

impl Place {
    /// The words behind the program that serve over stdio.
    const SERVE: [&str; 5] = ["serve", "--heartbeat", "0.05", "--task-after", "0.3"];

    /// A home of its own for a peer, so that none of the user's files is read or written. The configuration in it has the
    /// fixtures for tools.
    fn home(&self, name: &str) -> Result<PathBuf, Stop> {
        let dir = self.dir.join("homes").join(name);
        let config = dir.join(".config/flyto");
        let failed = |err| Stop::because(format!("make {config:?}"), &err);
        std::fs::create_dir_all(&config).map_err(failed)?;
        let read = |name: &str| std::fs::read_to_string(self.fixtures.join(name));
        let rules = read("rules.json").map_err(failed)?;
        let mut settings: serde_json::Value = serde_json::from_str(&rules)
            .map_err(|err| Stop::because("read the rules of the fixtures", &err))?;
        settings["exec_tools"] = serde_json::json!([self.fixtures.join("conformance.json")]);
        std::fs::write(config.join("config.json"), settings.to_string()).map_err(failed)?;
        Ok(dir)
    }
}

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    if args.iter().any(|it| ["help", "--help", "-h"].contains(&it.as_str())) {
        println!("{}", usage());
        return Ok(());
    }
    let (install, args): (Vec<_>, Vec<_>) = args.iter().partition(|it| *it == INSTALL);
    if let Some(unknown) = args.iter().find(|it| !PARTS.iter().any(|part| part.name == **it)) {
        let known: Vec<_> = PARTS.iter().map(|it| it.name).collect();
        let known = known.join(", ");
        return Err(Stop::usage(format!("there is no part `{unknown}`; there are {known}")));
    }
    let is_wanted = |part: &&Part| match args.is_empty() {
        true => !LARGE.contains(&part.name),
        false => args.iter().any(|it| *it == part.name),
    };
    let place = Place {
        dir: root().join("target/interop"),
        flyto: root().join("target/debug/flyto"),
        fixtures: root().join("fixtures/mcp"),
        lacks_packages: Cell::new(false),
    };
    if !install.is_empty() {
        return PARTS.iter().filter(is_wanted).try_for_each(|it| it.install(&place));
    }
    // The features of the tests, so that nothing is compiled twice.
    run_program(cargo("build --quiet --workspace --exclude xtask --all-features --bin flyto"))?;
    let must_run = std::env::var_os("CI").is_some_and(|it| !it.is_empty() && it != "false");
    let mut rows = Vec::new();
    for part in PARTS.iter().filter(is_wanted) {
        match part.run(&place) {
            Ok(more) => rows.extend(more),
            Err(Stop::Failed(why)) if place.lacks_packages.take() && !must_run => {
                let name = part.name;
                println!("interop: left out {name}, which is a failure under CI: {why}");
            }
            Err(err) => return Err(err),
        }
    }
    println!("{}", table(&rows));
    match rows.iter().filter(|it| it.result.is_err()).count() {
        0 => Ok(()),
        n => Err(Stop::failed(format!("{n} of {} rows failed", rows.len()))),
    }
}

/// Which words this chore takes, and what each runs.
fn usage() -> String {
    let mut res = String::from(
        "usage: cargo xtask interop [--install] [PART]…\n\n\
         Runs the program against the clients and the servers of others, and prints a table of what came of it.\n\
         It needs npm, Python 3 and a network, and installs each peer below target/interop.\n",
    );
    for Part { name, about, .. } in PARTS {
        let mark = if LARGE.contains(name) { " (only where it is named)" } else { "" };
        res.push_str(&format!("\n  {name:<14}{about}{mark}"));
    }
    res.push_str(
        "\n\nWithout a PART, all run that need not be named. A part whose packages cannot be installed\n\
         is left out, and fails where the variable CI is set. With --install, packages are installed\n\
         and nothing is run.",
    );
    res
}

/// The rows as a table of Markdown.
fn table(rows: &[Row]) -> String {
    let mut res = String::from("| peer | era | exercised | result |\n| --- | --- | --- | --- |");
    for Row { peer, era, exercised, result } in rows {
        let result = match result {
            Ok(told) if told.is_empty() => "ok".to_owned(),
            Ok(told) => format!("ok: {told}"),
            Err(why) => format!("FAILED: {why}"),
        };
        // A bar would end the cell.
        let result = result.replace('|', "\\|").replace('\n', " ");
        res.push_str(&format!("\n| {peer} | {era} | {exercised} | {result} |"));
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_came_of_it() {
        let row = |result| Row { peer: "p 1".into(), era: "modern", exercised: "x".into(), result };
        let rows = [row(Ok(String::new())), row(Err("a|b\nc".into()))];
        expect_test::expect![[r"
            | peer | era | exercised | result |
            | --- | --- | --- | --- |
            | p 1 | modern | x | ok |
            | p 1 | modern | x | FAILED: a\|b c |"]]
        .assert_eq(&table(&rows));
    }

    #[test]
    fn the_help_names_every_part() {
        let text = usage();
        for Part { name, about, .. } in PARTS {
            assert!(text.contains(&format!("  {name} ")) && text.contains(about), "{text}");
        }
        assert!(text.lines().all(|it| it.chars().count() <= 104), "{text}");
    }

    #[test]
    fn help_runs_no_part() {
        for word in ["--help", "-h", "help"] {
            assert!(run(&[word.to_owned()]).is_ok(), "{word}");
        }
        assert!(run(&["python".to_owned(), "--help".to_owned()]).is_ok());
    }

    #[test]
    fn an_unknown_part_is_a_usage_error() {
        assert!(matches!(run(&["nonsense".into()]), Err(Stop::Usage(_))));
        assert!(matches!(run(&[INSTALL.into(), "nonsense".into()]), Err(Stop::Usage(_))));
    }
}
