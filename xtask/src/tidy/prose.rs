//! Names in prose exist: crates, features, paths, commands and links in Markdown files.

use super::{Problem, TextFile, parent, resolve};
use crate::{COMMANDS, metadata::Metadata};

/// What prose may name.
struct Names<'a> {
    /// Packages with their features.
    packages: Vec<(&'a str, Vec<&'a str>)>,
    paths: &'a [String],
}

pub(super) fn check(metadata: &Metadata, files: &[TextFile], paths: &[String]) -> Vec<Problem> {
    let packages = metadata.packages.iter();
    let packages = packages
        .map(|it| (it.name.as_str(), it.features.keys().map(String::as_str).collect()))
        .collect();
    let names = Names { packages, paths };
    // A changelog tells of things that have gone.
    let is_prose = |it: &&TextFile| it.path.ends_with(".md") && !it.path.ends_with("CHANGELOG.md");
    files.iter().filter(is_prose).flat_map(|it| check_file(it, &names)).collect()
}

fn check_file(file: &TextFile, names: &Names<'_>) -> Vec<Problem> {
    let mut res = Vec::new();
    let mut in_block = false;
    for (i, line) in file.text.lines().enumerate() {
        let mut found = Vec::new();
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            found.extend(names.wrong_command(line.trim_start_matches(['$', ' '])));
        } else {
            for code in line.split('`').skip(1).step_by(2) {
                found.extend(names.wrong_code(code, &file.path));
            }
            for link in line.split("](").skip(1) {
                let target = link.split([')', ' ']).next().unwrap_or_default();
                found.extend(names.wrong_link(target, &file.path));
            }
        }
        res.extend(found.into_iter().map(|message| Problem::new(&file.path, i + 1, message)));
    }
    res
}

impl Names<'_> {
    /// Says what is wrong with a piece in backticks.
    fn wrong_code(&self, code: &str, file: &str) -> Option<String> {
        // A pattern or a placeholder names nothing in particular.
        let is_placeholder = |part: &str| part.bytes().all(|it| it.is_ascii_uppercase());
        if code.contains(['*', '<', '{', '$', '…']) || code.split('/').any(is_placeholder) {
            return None;
        }
        if let Some(problem) = self.wrong_command(code) {
            return Some(problem);
        }
        if code.contains(char::is_whitespace) {
            return None;
        }
        let (first, rest) = code.split_once('/').unwrap_or((code, ""));
        if first.starts_with("flyto-")
            && first.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
        {
            let Some((_, features)) = self.packages.iter().find(|(name, _)| *name == first) else {
                return Some(format!("there is no crate `{first}`"));
            };
            let known = rest.is_empty() || features.contains(&rest);
            return (!known).then(|| format!("`{first}` has no feature `{rest}`"));
        }
        let of_a_crate = ["src", "tests", "examples", "benches"].contains(&first);
        if !rest.is_empty() && (of_a_crate || self.is_top_level(first)) {
            let found = ["", parent(file)].iter().any(|base| self.exists(base, code));
            return (!found).then(|| format!("there is no `{code}`"));
        }
        None
    }

    /// Says what is wrong with a command line of ours; every other one passes.
    fn wrong_command(&self, line: &str) -> Option<String> {
        let name = line.strip_prefix("cargo xtask ")?.split_whitespace().next()?;
        let known = COMMANDS.iter().any(|(it, ..)| *it == name)
            || name.bytes().all(|it| it.is_ascii_uppercase());
        (!known).then(|| format!("there is no command `cargo xtask {name}`"))
    }

    /// Says what is wrong with the target of a link.
    fn wrong_link(&self, target: &str, file: &str) -> Option<String> {
        let path = target.split('#').next().unwrap_or_default();
        // READMEs are crate docs as well, so a target may be an item or a page of rustdoc.
        let elsewhere = path.is_empty()
            || path.contains("::")
            || path.contains(':')
            || path.ends_with(".html")
            || !path.contains(['/', '.']);
        let found = elsewhere || self.exists(parent(file), path);
        (!found).then(|| format!("the link leads nowhere: {target}"))
    }

    fn is_top_level(&self, name: &str) -> bool {
        self.paths.iter().any(|it| it.strip_prefix(name).is_some_and(|it| it.starts_with('/')))
    }

    /// Whether `path`, seen from the directory `base`, is a file or a directory with files.
    fn exists(&self, base: &str, path: &str) -> bool {
        let Some(path) = resolve(base, path) else { return false };
        path.is_empty()
            || self.paths.iter().any(|it| {
                it.strip_prefix(path.as_str())
                    .is_some_and(|it| it.is_empty() || it.starts_with('/'))
            })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{
        super::{TextFile, shown},
        Names, check_file,
    };

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let paths = ["README.md", "crates/flyto-a/src/lib.rs", "docs/layers.md", ".ci/run"];
        let paths = paths.map(str::to_owned);
        let names = Names { packages: vec![("flyto-a", vec!["local"])], paths: &paths };
        let file = TextFile { path: "crates/flyto-a/README.md".into(), text: text.into() };
        expect.assert_eq(&shown(&check_file(&file, &names)));
    }

    #[test]
    fn names_that_exist_pass() {
        check(
            "`flyto-a`, `flyto-a/local`, `src/lib.rs`, `crates/flyto-a/`, `.ci/run`,\n\
             `cargo xtask tidy`, [up](../../README.md#top), [docs](https://docs.rs/x), [it](crate::It)\n\
             ```sh\n$ cargo xtask ci\n`flyto-b`\n```\n",
            expect![""],
        );
    }

    #[test]
    fn patterns_and_other_words_pass() {
        check(
            "`flyto-a-*` `crates/NAME/src` `cargo xtask COMMAND` `a/b` `flyto list`",
            expect![""],
        );
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        check(
            "`flyto-b` and `flyto-a/remote`\n`docs/gone.md`, `src/gone.rs`\n[up](../README.md)\n\
             `cargo xtask tidier`\n```sh\ncargo xtask tidiest\n```",
            expect![[r#"
                crates/flyto-a/README.md:1: there is no crate `flyto-b`
                crates/flyto-a/README.md:1: `flyto-a` has no feature `remote`
                crates/flyto-a/README.md:2: there is no `docs/gone.md`
                crates/flyto-a/README.md:2: there is no `src/gone.rs`
                crates/flyto-a/README.md:3: the link leads nowhere: ../README.md
                crates/flyto-a/README.md:4: there is no command `cargo xtask tidier`
                crates/flyto-a/README.md:6: there is no command `cargo xtask tidiest`"#]],
        );
    }
}
