//! What cargo knows about the workspace: the parts of `cargo metadata` that the chores need.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;

use crate::{process, stop::Stop};

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// The members of the workspace only.
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
    /// Registries the package may go to; an empty list says `publish = false`.
    publish: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<DependencyKind>,
    /// Present for dependencies inside the workspace.
    pub(crate) path: Option<PathBuf>,
}

/// Absent in the JSON for a normal dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    Dev,
    Build,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
    /// Whether `cargo test` runs it; for an example this is a choice of the manifest.
    pub(crate) test: bool,
}

impl Target {
    pub(crate) fn is_kind(&self, kind: &str) -> bool {
        self.kind.iter().any(|it| it == kind)
    }

    pub(crate) fn is_library_or_program(&self) -> bool {
        ["lib", "bin", "proc-macro"].iter().any(|kind| self.is_kind(kind))
    }
}

impl Package {
    pub(crate) fn publishable(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

impl Metadata {
    pub(crate) fn load() -> Result<Self, Stop> {
        let json = process::read(process::cargo("metadata --format-version 1 --no-deps"))?;
        serde_json::from_str(&json).map_err(|err| Stop::because("read cargo metadata", &err))
    }

    pub(crate) fn package(&self, name: &str) -> Result<&Package, Stop> {
        self.packages
            .iter()
            .find(|package| package.name == name)
            .ok_or_else(|| Stop::failed(format!("the workspace has no package `{name}`")))
    }
}
