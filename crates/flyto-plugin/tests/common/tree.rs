//! Directories full of plugins.

use std::{
    fs,
    path::{Path, PathBuf},
};

use expect_test::Expect;
use flyto_plugin::{Catalogue, Filter, LoadOptions};
use tempfile::TempDir;

/// A directory of directories of plugins. Names end up in the manifests.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        fs::write(&path, text).expect("written");
        path
    }

    pub(crate) fn plugin(&self, dir: &str, name: &str) -> PathBuf {
        let tool = r#"{"name": "t", "description": "d", "command": "ls"}"#;
        let text = format!("{{\"name\": {name:?}, \"tools\": [{tool}]}}");
        self.file(&format!("{dir}/plugin.json"), text)
    }

    pub(crate) fn discover(&self, dirs: &[&str], filter: &Filter) -> Catalogue {
        let dirs = dirs.iter().map(|it| self.path(it));
        Catalogue::discover(dirs, filter, &LoadOptions::new())
    }

    /// Shows a catalogue without the part of the paths that is another one each time.
    pub(crate) fn show(&self, catalogue: &Catalogue) -> String {
        let mut res = String::new();
        for dir in &catalogue.dirs {
            res += &format!("{}: {:?}\n{}", dir.path.display(), dir.state, indented(&dir.findings));
        }
        for found in &catalogue.found {
            let name = found.name.as_deref().unwrap_or("?");
            res += &format!("- {name} in {}: {}\n", found.dir.display(), found.state);
            res += &indented(&found.findings);
        }
        res.replace(&format!("{}/", self.0.path().display()), "")
    }

    #[track_caller]
    pub(crate) fn check(&self, dirs: &[&str], filter: &Filter, expect: Expect) {
        expect.assert_eq(&self.show(&self.discover(dirs, filter)));
    }
}

fn indented(findings: &flyto_diagnostics::Findings) -> String {
    super::show(findings).lines().map(|line| format!("    {line}\n")).collect()
}
