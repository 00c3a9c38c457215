//! `features`: every feature compiles alone, none and all together, and the lean builds stay lean.

use std::path::Path;

use crate::{
    lint::WITH_FEATURES,
    metadata::{Metadata, Package},
    no_args,
    process::{self, cargo},
    stop::Stop,
};

/// What a build of a crate must not pull in.
struct Lean {
    package: &'static str,
    /// Feature flags of that build.
    build: &'static str,
    /// A crate that the build must not contain at all, or, with features, not with these.
    without: &'static str,
    without_features: &'static [&'static str],
}

const LEAN: &[Lean] = &[
    // The contract with backends knows no runtime that starts processes or threads.
    Lean {
        package: "flyto-execenv",
        build: "--no-default-features",
        without: "tokio",
        without_features: &["process", "rt-multi-thread", "signal"],
    },
    // A tool needs no runtime at all.
    Lean {
        package: "flyto-tools",
        build: "--all-features",
        without: "tokio",
        without_features: &["fs", "net", "process", "rt-multi-thread", "signal"],
    },
    Lean { package: "flyto-tools", build: "", without: "jsonschema", without_features: &[] },
];

/// Crates without an operating system under them.
const PORTABLE: &[&str] = &["flyto-diagnostics", "flyto-tools"];
const BARE_TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("features", args)?;
    let metadata = Metadata::load()?;
    for name in WITH_FEATURES {
        for flags in feature_sets(metadata.package(name)?) {
            process::run(cargo(&format!("check --quiet -p {name} {flags}")))?;
        }
    }
    for lean in LEAN {
        let Lean { package, build, .. } = lean;
        let tree = format!("tree -p {package} {build} -e normal --prefix none --no-dedupe");
        let mut command = cargo(&tree);
        command.args(["--format", "{p} features={f}"]);
        if let Some(problem) = too_much(lean, &process::read(command)?) {
            return Err(Stop::failed(problem));
        }
    }
    println!("features: {} lean builds are lean", LEAN.len());
    bare_target()
}

/// The flags of each build: nothing, each feature alone, everything.
fn feature_sets(package: &Package) -> Vec<String> {
    let mut res = vec!["--no-default-features".to_owned()];
    for feature in package.features.keys().filter(|it| *it != "default") {
        res.push(format!("--no-default-features --features {feature}"));
    }
    res.push("--all-features".to_owned());
    res
}

/// Says what `tree` (lines of `name vVERSION … features=a,b`) holds beyond what `lean` allows.
fn too_much(lean: &Lean, tree: &str) -> Option<String> {
    let Lean { package, build, without, without_features } = lean;
    for line in tree.lines().filter(|line| line.split(' ').next() == Some(without)) {
        if without_features.is_empty() {
            return Some(format!("`{package} {build}` must not depend on `{without}`: {line}"));
        }
        let (_, features) = line.rsplit_once("features=").unwrap_or_default();
        if let Some(it) = features.split(',').find(|it| without_features.contains(it)) {
            return Some(format!("`{package} {build}` must not turn on `{without}/{it}`: {line}"));
        }
    }
    None
}

/// Checks the portable crates for a target that has no files and no processes.
fn bare_target() -> Result<(), Stop> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = process::program(rustc);
    command.args(["--print", "target-libdir", "--target", BARE_TARGET]);
    let libdir = process::read(command)?;
    if !Path::new(libdir.trim()).is_dir() {
        println!(
            "features: skipped the check for {BARE_TARGET}, its standard library is not installed \
             (rustup target add {BARE_TARGET})"
        );
        return Ok(());
    }
    for name in PORTABLE {
        process::run(cargo(&format!("check --quiet -p {name} --target {BARE_TARGET}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Lean, too_much};

    #[track_caller]
    fn check(without_features: &'static [&'static str], tree: &str, expect: Expect) {
        let lean = Lean { package: "p", build: "--flag", without: "tokio", without_features };
        expect.assert_eq(&too_much(&lean, tree).unwrap_or_default());
    }

    #[test]
    fn a_crate_can_be_unwanted() {
        check(&[], "p v0.1.0 (/p) features=\ntokio-util v0.7.20 features=\n", expect![""]);
        check(
            &[],
            "tokio v1.54.1 features=\n",
            expect!["`p --flag` must not depend on `tokio`: tokio v1.54.1 features="],
        );
    }

    #[test]
    fn a_feature_can_be_unwanted() {
        check(&["process", "signal"], "tokio v1.54.1 features=sync,io-util\n", expect![""]);
        check(
            &["process", "signal"],
            "tokio v1.54.1 features=sync,signal\n",
            expect![
                "`p --flag` must not turn on `tokio/signal`: tokio v1.54.1 features=sync,signal"
            ],
        );
    }
}
