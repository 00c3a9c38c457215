//! `package`: every publishable crate makes a package, and the package is complete.
//!
//! Cargo resolves the crates of the workspace among themselves, so nothing has to be published
//! before. The packages are not compiled here: the workspace is, from the same files.

use crate::{
    metadata::Metadata,
    no_args,
    process::{self, cargo},
    stop::Stop,
};

/// What a package must hold beside its sources.
const REQUIRED: &[&str] = &["Cargo.toml", "README.md", "CHANGELOG.md"];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("package", args)?;
    let metadata = Metadata::load()?;
    let mut flags = String::new();
    let mut n_packages = 0;
    for package in metadata.packages.iter().filter(|it| it.publishable()) {
        let name = &package.name;
        let list = process::read(cargo(&format!("package -p {name} --list --allow-dirty")))?;
        if let Some(file) = REQUIRED.iter().find(|file| !list.lines().any(|it| it == **file)) {
            return Err(Stop::failed(format!("the package `{name}` lacks {file}")));
        }
        flags.push_str(&format!(" -p {name}"));
        n_packages += 1;
    }
    // The working tree may hold changes: what is checked is what a commit of it would publish.
    process::run(cargo(&format!("package --quiet --no-verify --allow-dirty{flags}")))?;
    println!("package: {n_packages} crates");
    Ok(())
}
