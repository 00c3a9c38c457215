//! `targets`: each crate compiles for the systems that it is meant for.
//!
//! Only `cargo check` is run, which needs no linker and no system of that kind. A target whose standard
//! library is not installed is skipped, and the output says so.

use std::path::Path;

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
    // No operating system at all.
    Portable {
        triple: "wasm32-unknown-unknown",
        builds: &["-p flyto-diagnostics", "-p flyto-tools"],
    },
    // All but the program: neither a backend for Windows nor the signals of its terminals are written.
    Portable {
        triple: "x86_64-pc-windows-msvc",
        builds: &[
            "-p flyto-diagnostics --all-features",
            "-p flyto-supervision --all-features",
            "-p flyto-audit --all-features",
            "-p flyto-execenv --all-features",
            "-p flyto-execenv-linux --all-features",
            "-p flyto-host --all-features",
            "-p xtask",
        ],
    },
    Portable { triple: "aarch64-apple-darwin", builds: &["--workspace"] },
];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("targets", args)?;
    for Portable { triple, builds } in PORTABLE {
        if !is_installed(triple)? {
            println!("targets: skipped {triple}, not installed (rustup target add {triple})");
            continue;
        }
        for build in *builds {
            process::run(cargo(&format!("check --quiet {build} --target {triple}")))?;
        }
        println!("targets: {triple} passed");
    }
    Ok(())
}

/// Whether the standard library of a target is there.
fn is_installed(triple: &str) -> Result<bool, Stop> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = process::program(rustc);
    command.args(["--print", "target-libdir", "--target", triple]);
    Ok(Path::new(process::read(command)?.trim()).is_dir())
}
