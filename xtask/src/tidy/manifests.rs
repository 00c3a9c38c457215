//! Each manifest inherits from the workspace, and each published crate says what it is.

use super::{Problem, TextFile, parent, relative};
use crate::{metadata::Metadata, rust_source::find_word};

/// What every package takes from the workspace.
const INHERITED: &[(&str, &str)] = &[
    ("package", "version"),
    ("package", "edition"),
    ("package", "rust-version"),
    ("package", "license"),
    ("lints", ""),
];

/// Beside each published crate's manifest.
const PAPERS: &[&str] = &["README.md", "CHANGELOG.md"];

/// These show how all crates lie above each other.
const PICTURES: &[&str] = &["CONTRIBUTING.md", "docs/layers.md"];

pub(super) fn check(metadata: &Metadata, files: &[TextFile], paths: &[String]) -> Vec<Problem> {
    let mut res = Vec::new();
    for package in &metadata.packages {
        let path = relative(&package.manifest_path);
        let text = files.iter().find(|it| it.path == path).map_or("", |it| &it.text);
        let manifest = Manifest::parse(text);
        check_inherited(&path, &manifest, &mut res);
        if package.publishable() {
            check_published(&path, &manifest, &mut res);
            for paper in PAPERS.iter().map(|it| format!("{}/{it}", parent(&path))) {
                if !paths.contains(&paper) {
                    res.push(Problem::new(&path, 1, format!("{paper} is missing")));
                }
            }
            for picture in files.iter().filter(|it| PICTURES.contains(&&*it.path)) {
                if find_word(&picture.text, &package.name).is_none() {
                    let message = format!("`{}` is not in the picture", package.name);
                    res.push(Problem::new(&picture.path, 1, message));
                }
            }
        }
    }
    res
}

fn check_inherited(path: &str, manifest: &Manifest<'_>, res: &mut Vec<Problem>) {
    for (section, key) in INHERITED {
        if !manifest.inherits(section, key) {
            let what = format!("{section}.{key}");
            let message = format!("say `{}.workspace = true`", what.trim_matches('.'));
            res.push(Problem::new(path, manifest.line_of(section), message));
        }
    }
    for Entry { name, line, inherited } in manifest.dependencies() {
        if !inherited {
            let message = format!(
                "`{name}` has a version of its own: put it into `[workspace.dependencies]` and say \
                 `{name}.workspace = true`"
            );
            res.push(Problem::new(path, line, message));
        }
    }
}

fn check_published(path: &str, manifest: &Manifest<'_>, res: &mut Vec<Problem>) {
    let line = manifest.line_of("package");
    match manifest.value("package", "description") {
        None | Some("\"\"") => {
            res.push(Problem::new(path, line, "`description` is missing: what is the crate for?"));
        }
        Some("\"PLACEHOLDER\"") => {
            res.push(Problem::new(
                path,
                line,
                "`description` says nothing: what is the crate for?",
            ));
        }
        Some(_) => {}
    }
    for (key, message) in [
        ("repository", "say `repository.workspace = true`"),
        ("readme", "say `readme = \"README.md\"`"),
    ] {
        if manifest.value("package", key).is_none() && !manifest.inherits("package", key) {
            res.push(Problem::new(path, line, message));
        }
    }
    if manifest.value("package.metadata.docs.rs", "all-features") != Some("true") {
        let message = "docs.rs shows default features only: say `all-features = true` in \
                       `[package.metadata.docs.rs]`";
        res.push(Problem::new(path, line, message));
    }
}

/// A manifest as its lines. Cargo has read it already, so what is here is well-formed TOML, and the
/// keys that interest us are simple.
#[derive(Debug)]
struct Manifest<'a> {
    /// Section, key, value, one-based line.
    lines: Vec<(&'a str, &'a str, &'a str, usize)>,
    /// Section heads with their lines.
    heads: Vec<(&'a str, usize)>,
}

/// One dependency.
struct Entry<'a> {
    name: &'a str,
    line: usize,
    inherited: bool,
}

impl<'a> Manifest<'a> {
    fn parse(text: &'a str) -> Self {
        let mut res = Self { lines: Vec::new(), heads: Vec::new() };
        let mut section = "";
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            // An item of an array that spans lines begins with a quote or a bracket and is no key.
            if let Some(head) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                section = head.trim_matches(['[', ']']);
                res.heads.push((section, i + 1));
            } else if line.starts_with(|it: char| it.is_ascii_alphanumeric())
                && let Some((key, value)) = line.split_once('=')
            {
                res.lines.push((section, key.trim(), value.trim(), i + 1));
            }
        }
        res
    }

    fn value(&self, section: &str, key: &str) -> Option<&'a str> {
        let mut lines = self.lines.iter();
        lines.find(|(s, k, ..)| *s == section && *k == key).map(|(_, _, value, _)| *value)
    }

    /// Whether `key` of `section` (or the whole section, for an empty key) is the workspace's.
    fn inherits(&self, section: &str, key: &str) -> bool {
        match key {
            "" => {
                self.value(section, "workspace") == Some("true")
                    || self.value("", &format!("{section}.workspace")) == Some("true")
            }
            key => {
                self.value(section, &format!("{key}.workspace")) == Some("true")
                    || self.value(section, key).is_some_and(is_inherited)
            }
        }
    }

    fn line_of(&self, section: &str) -> usize {
        self.heads.iter().find(|(head, _)| *head == section).map_or(1, |(_, line)| *line)
    }

    /// The entries of all dependency tables, also those of one target.
    fn dependencies(&self) -> Vec<Entry<'a>> {
        let is_table = |section: &str| section.rsplit(['.', '\'', '"']).next().is_some_and(is_kind);
        let mut res: Vec<Entry<'a>> = self
            .lines
            .iter()
            .filter(|(section, ..)| is_table(section))
            .map(|(_, key, value, line)| match key.split_once('.') {
                Some((name, rest)) => {
                    Entry { name, line: *line, inherited: rest == "workspace" && *value == "true" }
                }
                None => Entry { name: key, line: *line, inherited: is_inherited(value) },
            })
            .collect();
        // A dependency may have a section of its own.
        for (head, line) in &self.heads {
            if let Some((table, name)) = head.rsplit_once('.')
                && is_table(table)
            {
                res.push(Entry { name, line: *line, inherited: self.inherits(head, "") });
            }
        }
        res
    }
}

fn is_kind(table: &str) -> bool {
    ["dependencies", "dev-dependencies", "build-dependencies"].contains(&table)
}

/// Whether an inline table says `workspace = true`.
fn is_inherited(value: &str) -> bool {
    let squeezed: String = value.chars().filter(|it| !it.is_whitespace()).collect();
    squeezed.starts_with("{workspace=true") || squeezed.contains(",workspace=true")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::shown, Manifest, check_inherited, check_published};

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let manifest = Manifest::parse(text);
        let mut res = Vec::new();
        check_inherited("Cargo.toml", &manifest, &mut res);
        check_published("Cargo.toml", &manifest, &mut res);
        expect.assert_eq(&shown(&res));
    }

    const GOOD: &str = r#"[package]
name = "a"
description = "Says what it is"
version.workspace = true
edition = { workspace = true }
rust-version.workspace = true
license.workspace = true
repository.workspace = true
readme = "README.md"
keywords = [
    "a=b",
]

[package.metadata.docs.rs]
all-features = true

[features]
default = ["local"]

[dependencies]
b.workspace = true
c = { workspace = true, features = [
    "d",
] }

[target.'cfg(unix)'.dependencies]
e = { workspace = true, optional = true }

[dev-dependencies.f]
workspace = true

[lints]
workspace = true
"#;

    #[test]
    fn a_good_manifest_passes() {
        check(GOOD, expect![""]);
    }

    #[test]
    fn own_values_are_found() {
        let text = GOOD
            .replace("version.workspace = true\nedition", "version = \"1.0.0\"\nedition")
            .replace("[lints]\nworkspace = true", "[lints.clippy]\nall = \"warn\"");
        check(
            &text,
            expect![[r#"
            Cargo.toml:1: say `package.version.workspace = true`
            Cargo.toml:1: say `lints.workspace = true`"#]],
        );
    }

    #[test]
    fn own_dependency_versions_are_found() {
        let text = GOOD
            .replace("b.workspace = true", "b = \"1.2\"")
            .replace("{ workspace = true, optional", "{ version = \"2\", optional")
            .replace(
                "[dev-dependencies.f]\nworkspace = true",
                "[dev-dependencies.f]\npath = \"f\"",
            );
        check(
            &text,
            expect![[r#"
            Cargo.toml:21: `b` has a version of its own: put it into `[workspace.dependencies]` and say `b.workspace = true`
            Cargo.toml:27: `e` has a version of its own: put it into `[workspace.dependencies]` and say `e.workspace = true`
            Cargo.toml:29: `f` has a version of its own: put it into `[workspace.dependencies]` and say `f.workspace = true`"#]],
        );
    }

    #[test]
    fn a_published_crate_says_what_it_is() {
        let text = GOOD
            .replace("Says what it is", "PLACEHOLDER")
            .replace("readme = \"README.md\"\n", "")
            .replace("all-features", "no-features");
        check(
            &text,
            expect![[r#"
            Cargo.toml:1: `description` says nothing: what is the crate for?
            Cargo.toml:1: say `readme = "README.md"`
            Cargo.toml:1: docs.rs shows default features only: say `all-features = true` in `[package.metadata.docs.rs]`"#]],
        );
    }
}
