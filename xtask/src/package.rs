//! `package`: every publishable crate makes a package, and the package is complete.
//!
//! Cargo resolves the crates of the workspace among themselves, so nothing has to be published
//! before. The packages are not compiled here: the workspace is, from the same files.

use std::{fs, path::PathBuf};

use crate::{
    metadata::{Metadata, Package},
    no_args,
    process::{self, cargo, root},
    stop::Stop,
};

/// What a package must hold beside its sources.
const REQUIRED: &[&str] = &["Cargo.toml", "README.md", "CHANGELOG.md"];

/// The texts of the licences, which each crate takes from the root through a link. Both licences ask
/// that their text goes with every copy.
const LICENCES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("package", args)?;
    let metadata = Metadata::load()?;
    let mut flags = String::new();
    let mut n_packages = 0;
    for package in metadata.packages.iter().filter(|it| it.publishable()) {
        let name = &package.name;
        let list = process::read(cargo(&format!("package -p {name} --list --allow-dirty")))?;
        let mut required = REQUIRED.iter().chain(LICENCES);
        if let Some(file) = required.find(|file| !list.lines().any(|it| it == **file)) {
            return Err(Stop::failed(format!("the package `{name}` lacks {file}")));
        }
        check_licences(package)?;
        flags.push_str(&format!(" -p {name}"));
        n_packages += 1;
    }
    // The working tree may hold changes: what is checked is what a commit of it would publish.
    process::run(cargo(&format!("package --quiet --no-verify --allow-dirty{flags}")))?;
    println!("package: {n_packages} crates");
    Ok(())
}

/// Compares the licences of a package with those of the repository: on a system without symbolic
/// links a checkout has files with a path in them instead.
fn check_licences(package: &Package) -> Result<(), Stop> {
    let read = |path: PathBuf| {
        fs::read(&path).map_err(|err| Stop::because(format!("read {}", path.display()), &err))
    };
    for name in LICENCES {
        let own = package.manifest_path.with_file_name(name);
        if read(own.clone())? != read(root().join(name))? {
            let why = "is not the licence text: make it a link to the file at the root";
            return Err(Stop::failed(format!("{} {why}", own.display())));
        }
    }
    Ok(())
}
