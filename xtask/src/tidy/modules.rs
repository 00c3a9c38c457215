//! Each source file belongs to a target; a file that no `mod` names is never compiled or tested.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, TextFile, parent, relative, resolve};
use crate::{
    metadata::Metadata,
    rust_source::{code_only, is_word},
};

/// Sources that are built by a program of ours, or as part of another workspace.
const BUILT_OTHERWISE: &[&str] = &[
    "tests/probe-static/",
    "crates/flyto-cli/templates/",
    "crates/flyto-execenv-linux/supervisor/",
];

pub(super) fn check(metadata: &Metadata, files: &[TextFile]) -> Vec<Problem> {
    let packages: Vec<String> =
        metadata.packages.iter().map(|it| relative(&it.manifest_path)).collect();
    let in_a_package = |path: &str| {
        packages
            .iter()
            .any(|it| path.strip_prefix(parent(it)).is_some_and(|rest| rest.starts_with('/')))
    };
    let roots = metadata.packages.iter().flat_map(|it| &it.targets);
    let roots: Vec<String> = roots.map(|it| relative(&it.src_path)).collect();
    let reached = reach(&roots, files);
    files
        .iter()
        .filter(|it| it.is_rust() && in_a_package(&it.path) && !reached.contains(&it.path))
        .filter(|it| !BUILT_OTHERWISE.iter().any(|dir| it.path.starts_with(dir)))
        .map(|it| Problem::new(&it.path, 1, "no target and no `mod` leads here: is it left over?"))
        .collect()
}

/// All files that are reached from `roots` by `mod`, `#[path]` and `include…!`.
fn reach(roots: &[String], files: &[TextFile]) -> BTreeSet<String> {
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|it| (it.path.as_str(), it.text.as_str())).collect();
    let mut res: BTreeSet<String> = BTreeSet::new();
    // A root's modules lie beside it, as those of a `mod.rs`.
    let mut open: Vec<(String, bool)> = roots.iter().map(|root| (root.clone(), true)).collect();
    while let Some((path, is_root)) = open.pop() {
        let Some(text) = texts.get(path.as_str()) else { continue };
        if !res.insert(path.clone()) {
            continue;
        }
        let beside = is_root || path.ends_with("/mod.rs");
        let own_dir = if beside { parent(&path) } else { path.trim_end_matches(".rs") };
        for name in named_files(text) {
            let candidates = match name {
                Named::Module(name) => {
                    vec![format!("{own_dir}/{name}.rs"), format!("{own_dir}/{name}/mod.rs")]
                }
                Named::File(file) => resolve(parent(&path), &file).into_iter().collect(),
            };
            open.extend(candidates.into_iter().map(|it| (it, false)));
        }
    }
    res
}

#[derive(Debug, PartialEq)]
enum Named {
    /// `mod name;`, with the names of the inline modules around it before it.
    Module(String),
    /// `#[path = "…"]` or an `include…!("…")`.
    File(String),
}

/// The other files that a source file names.
fn named_files(text: &str) -> Vec<Named> {
    let code = code_only(text);
    let mut res = Vec::new();
    // Names of open inline modules, each with the number of braces around it.
    let mut inline: Vec<(&str, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < code.len() {
        let word = word_at(&code, at);
        match (word, code.as_bytes()[at]) {
            ("", b'{') => depth += 1,
            ("", b'}') => {
                depth -= 1;
                inline.retain(|(_, outer)| *outer < depth);
            }
            ("mod", _) => {
                let start = skip_blanks(&code, at + word.len());
                let name = word_at(&code, start);
                match code.as_bytes().get(skip_blanks(&code, start + name.len())) {
                    Some(b';') => {
                        let parts = inline.iter().map(|(name, _)| *name).chain([name]);
                        res.push(Named::Module(parts.collect::<Vec<_>>().join("/")));
                    }
                    Some(b'{') => inline.push((name, depth)),
                    _ => {}
                }
            }
            ("path" | "include" | "include_str" | "include_bytes", _) => {
                res.extend(literal_after(text, &code, at + word.len()).map(Named::File));
            }
            _ => {}
        }
        at += word.len().max(1);
        while !code.is_char_boundary(at) {
            at += 1;
        }
    }
    res
}

/// The identifier that begins at `at`, or the empty string.
fn word_at(code: &str, at: usize) -> &str {
    let len = code.as_bytes()[at..].iter().take_while(|byte| is_word(**byte)).count();
    &code[at..at + len]
}

fn skip_blanks(code: &str, at: usize) -> usize {
    at + code[at..].len() - code[at..].trim_start().len()
}

/// The string literal that follows `at` with nothing but punctuation of an attribute or a macro
/// call between.
fn literal_after(text: &str, code: &str, at: usize) -> Option<String> {
    let between = code[at..].find(|it: char| !it.is_whitespace() && !"=!(".contains(it));
    let (_, literal) = text[at..at + between.unwrap_or(code.len() - at)].split_once('"')?;
    literal.split_once('"').map(|(literal, _)| literal.to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::TextFile, named_files, reach};

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let named: Vec<String> = named_files(text).iter().map(|it| format!("{it:?}")).collect();
        expect.assert_eq(&named.join("\n"));
    }

    #[test]
    fn declarations_are_read() {
        check(
            "mod a; pub(crate) mod b;\n// mod c;\nconst MODE: &str = \"mod d;\";",
            expect![[r#"
            Module("a")
            Module("b")"#]],
        );
    }

    #[test]
    fn inline_modules_are_part_of_the_path() {
        check(
            "mod a { fn f() {} mod b; mod c { mod d; } } mod größe;",
            expect![[r#"
            Module("a/b")
            Module("a/c/d")
            Module("größe")"#]],
        );
    }

    #[test]
    fn named_paths_are_read() {
        check(
            "#[path = \"x/y.rs\"] mod z; #![doc = include_str!(\"../README.md\")] let path = 3;",
            expect![[r#"
                File("x/y.rs")
                Module("z")
                File("../README.md")"#]],
        );
    }

    #[test]
    fn files_are_followed_from_the_roots() {
        let file = |(path, text): (&str, &str)| TextFile { path: path.into(), text: text.into() };
        let files: Vec<TextFile> = [
            ("p/src/lib.rs", "mod a; #[path = \"odd.rs\"] mod b;"),
            ("p/src/a.rs", "mod below;"),
            ("p/src/a/below.rs", ""),
            ("p/src/below.rs", ""),
            ("p/src/odd.rs", ""),
            ("p/tests/it.rs", "mod common;"),
            ("p/tests/common/mod.rs", "mod more;"),
            ("p/tests/common/more.rs", ""),
        ]
        .map(file)
        .into();
        let reached = reach(&["p/src/lib.rs".into(), "p/tests/it.rs".into()], &files);
        let missed: Vec<&str> =
            files.iter().map(|it| it.path.as_str()).filter(|it| !reached.contains(*it)).collect();
        expect![[r#"["p/src/below.rs"]"#]].assert_eq(&format!("{missed:?}"));
    }
}
