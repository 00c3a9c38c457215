//! `features`: clippy finds nothing with every feature alone and with none, the lean builds stay lean, and what other
//! architectures get is clean too.

use crate::{
    metadata::{Metadata, Package},
    no_args,
    process::{self, cargo},
    stop::Stop,
};

/// Crates that others take with few features.
const WITH_FEATURES: &[&str] = &[
    "flyto-tools",
    "flyto-execenv",
    "flyto-execenv-linux",
    "flyto-permission",
    "flyto-host",
    "flyto-cli",
];

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
    // The export of spans is for those builds that ask for it.
    Lean { package: "flyto-cli", build: "", without: "opentelemetry", without_features: &[] },
];

/// The crate with a part for other architectures, and the variable that has it compiled on this one.
const ELSEWHERE: (&str, &str) = ("flyto-execenv-linux", "FLYTO_PORTABLE");

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("features", args)?;
    let metadata = Metadata::load()?;
    for name in WITH_FEATURES {
        for flags in feature_sets(metadata.package(name)?) {
            process::run(cargo(&format!("clippy --quiet -p {name} {flags} -- -D warnings")))?;
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
    elsewhere()
}

/// Looks at the part of a crate that no other step compiles here: it stands in on other architectures.
fn elsewhere() -> Result<(), Stop> {
    let (name, variable) = ELSEWHERE;
    let mut command =
        cargo(&format!("clippy --quiet -p {name} --all-targets --all-features -- -D warnings"));
    command.env(variable, "1");
    process::run(command)?;
    println!("features: {name} is clean with {variable}=1");
    Ok(())
}

/// The flags of each build: nothing, and each feature alone. Everything together is what `clippy` looks at.
fn feature_sets(package: &Package) -> Vec<String> {
    let mut res = vec!["--no-default-features".to_owned()];
    for feature in package.features.keys().filter(|it| *it != "default") {
        res.push(format!("--no-default-features --features {feature}"));
    }
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
