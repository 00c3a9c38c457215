//! `targets`: each crate compiles for the systems that it is meant for.
//!
//! Only `cargo check` is run, which needs no linker and no system of that kind. A target whose standard
//! library is not installed is skipped, and the output says so. Where `CI` is set, a skip is a failure
//! unless [`LISTED`] names the target. `targets --missing` prints what is not installed.

use std::{env, path::Path};

use crate::{
    no_args,
    process::{self, cargo},
    stop::Stop,
};

/// A target, and the flags of each build that has to pass there.
struct Portable {
    triple: &'static str,
    builds: &'static [&'static str],
}

const PORTABLE: &[Portable] = &[
    // No operating system at all. flyto-security needs one for random numbers, flyto-audit for files.
    Portable {
        triple: "wasm32-unknown-unknown",
        builds: &["-p flyto-diagnostics", "-p flyto-tools", "-p flyto-permission --all-features"],
    },
    // All but the program: neither a backend for Windows nor the signals of its terminals are written.
    Portable {
        triple: "x86_64-pc-windows-msvc",
        builds: &[
            "-p flyto-diagnostics --all-features",
            "-p flyto-supervision --all-features",
            "-p flyto-audit --all-features",
            "-p flyto-security --all-features",
            "-p flyto-permission --all-features",
            "-p flyto-execenv --all-features",
            "-p flyto-execenv-linux --all-features",
            "-p flyto-host --all-features",
            "-p xtask",
        ],
    },
    // The cryptography of TLS is C, for which there is no compiler of another system here.
    Portable {
        triple: "aarch64-apple-darwin",
        builds: &[
            "--workspace --exclude flyto-cli --exclude flyto-mcp",
            "-p flyto-cli -p flyto-mcp --no-default-features",
        ],
    },
];

/// The variable with the targets that may be skipped, separated by blanks.
const LISTED: &str = "FLYTO_MISSING_TARGETS";

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    if args == ["--missing"] {
        for Portable { triple, .. } in PORTABLE {
            if !is_installed(triple)? {
                println!("{triple}");
            }
        }
        return Ok(());
    }
    no_args("targets", args)?;
    let listed = env::var(LISTED).unwrap_or_default();
    let must_pass = env::var_os("CI").is_some_and(|it| !it.is_empty() && it != "false");
    for Portable { triple, builds } in PORTABLE {
        if !is_installed(triple)? {
            let line = format!("skipped {triple}, not installed (rustup target add {triple})");
            if must_pass && !lists(&listed, triple) {
                return Err(Stop::failed(format!("{line}; {LISTED} lists what may be skipped")));
            }
            println!("targets: {line}");
            continue;
        }
        for build in *builds {
            process::run(cargo(&format!("check --quiet {build} --target {triple}")))?;
        }
        println!("targets: {triple} passed");
    }
    Ok(())
}

/// Whether a list separated by blanks or line feeds names a target.
fn lists(listed: &str, triple: &str) -> bool {
    listed.split_whitespace().any(|it| it == triple)
}

/// Whether the standard library of a target is there.
fn is_installed(triple: &str) -> Result<bool, Stop> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = process::program(rustc);
    command.args(["--print", "target-libdir", "--target", triple]);
    Ok(Path::new(process::read(command)?.trim()).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_listed() {
        let listed = "wasm32-unknown-unknown\nx86_64-pc-windows-msvc";
        assert!(lists(listed, "wasm32-unknown-unknown") && lists(listed, "x86_64-pc-windows-msvc"));
        assert!(!lists(listed, "wasm32") && !lists("", "wasm32-unknown-unknown"));
    }
}
