//! Files of one crate that import each other in a circle: none of them can be read before the others.
//!
//! A name that a module passes on (`pub use`) belongs to the module that it is from, so a parent
//! that lists what its children offer is in no circle. Tests are left out, as they come last.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, TextFile, parent, relative, words::before_tests};
use crate::{
    metadata::Metadata,
    rust_source::{code_only, is_word},
};

/// The most files of a crate that are in circles; no other crate has any.
///
/// It only sinks: a change that unties files takes as many off here.
const MOST: &[(&str, usize)] = &[
    ("flyto-audit", 5),
    ("flyto-cli", 62),
    ("flyto-diagnostics", 10),
    ("flyto-evolve", 29),
    ("flyto-execenv", 13),
    ("flyto-execenv-linux", 16),
    ("flyto-host", 28),
    ("flyto-mcp", 22),
    ("flyto-permission", 15),
    ("flyto-program", 2),
    ("flyto-security", 4),
    ("flyto-tests", 38),
    ("flyto-tools", 9),
    ("xtask", 25),
];

/// The files of one crate by the paths of their modules; the root is empty.
type Modules<'a> = BTreeMap<Vec<String>, &'a TextFile>;

/// The circles of each crate that has any.
pub(super) struct Circles(BTreeMap<String, BTreeSet<Vec<String>>>);

/// Looks at the library and the programs of each crate.
pub(super) fn check(metadata: &Metadata, files: &[TextFile]) -> Circles {
    let mut res: BTreeMap<String, BTreeSet<Vec<String>>> = BTreeMap::new();
    for package in &metadata.packages {
        for target in package.targets.iter().filter(|it| it.is_kind("lib") || it.is_kind("bin")) {
            let found = circles(&relative(&target.src_path), files);
            if !found.is_empty() {
                res.entry(package.name.clone()).or_default().extend(found);
            }
        }
    }
    Circles(res)
}

impl Circles {
    /// One line for people: for each crate with circles, how many files are in them.
    pub(super) fn line(&self) -> String {
        let shown: Vec<_> =
            self.0.iter().map(|(name, it)| format!("{name} {}", n_files(it))).collect();
        match shown.is_empty() {
            true => "no files import each other in a circle".to_owned(),
            false => format!("files that import each other in a circle: {}", shown.join(" ")),
        }
    }

    /// Crates with more files in circles than they may have.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let most = |name: &str| MOST.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
        let grown =
            self.0.iter().filter(|(name, it)| n_files(it) > most(name)).map(|(name, it)| {
                let shown: Vec<_> = it.iter().map(|it| it.join(" ")).collect();
                let (n, most, shown) = (n_files(it), most(name), shown.join("; "));
                let what =
                    format!("{n} files import each other in circles, at most {most}: {shown}");
                Problem::new(&format!("crates/{name}"), 1, what)
            });
        grown.collect()
    }
}

fn n_files(circles: &BTreeSet<Vec<String>>) -> usize {
    circles.iter().flatten().collect::<BTreeSet<_>>().len()
}

/// The circles below a root, each sorted, as paths from its directory.
fn circles(root: &str, files: &[TextFile]) -> Vec<Vec<String>> {
    let dir = parent(root);
    let mut modules = Modules::new();
    for file in files.iter().filter(|it| it.is_rust()) {
        let below = file.path.strip_prefix(dir).and_then(|it| it.strip_prefix('/'));
        let Some(below) = below.filter(|it| !it.contains("tests")) else { continue };
        let path = match file.path == root {
            true => Vec::new(),
            false => {
                let path = below.trim_end_matches(".rs").trim_end_matches("/mod");
                path.split('/').map(str::to_owned).collect()
            }
        };
        modules.insert(path, file);
    }
    let uses: BTreeMap<&[String], Vec<Use>> =
        modules.iter().map(|(path, file)| (&path[..], uses(&file.text))).collect();
    let knows = |path: &[String]| -> BTreeSet<Vec<String>> {
        let all = uses[path].iter().filter(|it| !it.passes_on);
        let targets = all.filter_map(|it| target(&uses, path, &it.path, 0));
        targets.filter(|it| it != path).collect()
    };
    let edges: BTreeMap<&[String], BTreeSet<Vec<String>>> =
        uses.keys().map(|path| (*path, knows(path))).collect();
    let reached: BTreeMap<&[String], BTreeSet<&[String]>> =
        edges.keys().map(|path| (*path, reach(&edges, path))).collect();
    let mut res: BTreeSet<Vec<String>> = BTreeSet::new();
    for (path, far) in &reached {
        let circle = far.iter().filter(|it| reached[**it].contains(path));
        let circle: Vec<_> = circle.map(|it| shown(it)).collect();
        if circle.len() > 1 {
            res.insert(circle);
        }
    }
    res.into_iter().collect()
}

fn shown(path: &[String]) -> String {
    if path.is_empty() { "(root)".to_owned() } else { path.join("/") }
}

/// All that can be reached from a module, and itself.
fn reach<'a>(
    edges: &'a BTreeMap<&[String], BTreeSet<Vec<String>>>,
    from: &'a [String],
) -> BTreeSet<&'a [String]> {
    let mut res = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(path) = open.pop() {
        open.extend(edges[path].iter().map(Vec::as_slice).filter(|it| res.insert(it)));
    }
    res
}

/// A path in the code of a module.
#[derive(Debug, PartialEq)]
struct Use {
    path: Vec<String>,
    /// It stands in a `pub use`.
    passes_on: bool,
}

/// The module that a path leads to from another one, or that the name at its end is from. Each
/// step follows one `pub use`, and eight are more than there are.
fn target(
    uses: &BTreeMap<&[String], Vec<Use>>,
    from: &[String],
    path: &[String],
    depth: usize,
) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut at = from.to_vec();
    let mut rest = rest;
    match first.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => drop(at.pop()?),
        _ => rest = path,
    }
    while let Some((first, behind)) = rest.split_first() {
        if first == "super" {
            at.pop()?;
        } else if uses.contains_key(&[&at[..], std::slice::from_ref(first)].concat()[..]) {
            at.push(first.clone());
        } else {
            break;
        }
        rest = behind;
    }
    let is_relative = matches!(first.as_str(), "crate" | "self" | "super");
    if !is_relative && at == from {
        // A crate, or a name of the module's own.
        return None;
    }
    let Some(name) = rest.first() else { return (!is_relative || at != from).then_some(at) };
    let own = uses.get(&at[..])?;
    let passed_on = own.iter().find(|it| it.passes_on && it.path.last() == Some(name));
    match passed_on.filter(|_| depth < 8) {
        Some(found) => target(uses, &at, &found.path, depth + 1).or(Some(at)),
        None => Some(at),
    }
}

/// The paths in the code of a file, up to its tests.
fn uses(text: &str) -> Vec<Use> {
    let code = code_only(before_tests(text));
    let bytes = code.as_bytes();
    let mut res = Vec::new();
    let (mut at, mut passes_on) = (0, false);
    while at < bytes.len() {
        let begins = is_word(bytes[at]) && !bytes[at].is_ascii_digit();
        if !begins || at > 0 && (is_word(bytes[at - 1]) || b":.'".contains(&bytes[at - 1])) {
            passes_on &= bytes[at] != b';';
            at += 1;
            continue;
        }
        let before = res.len();
        let end = tree(&code, at, &mut Vec::new(), &mut res);
        if &code[at..end] == "use" {
            let statement = code[..at].rsplit([';', '}', '{']).next().unwrap_or_default();
            passes_on = statement.split_whitespace().any(|it| it.starts_with("pub"));
        }
        res[before..].iter_mut().for_each(|it| it.passes_on = passes_on);
        at = end.max(at + 1);
    }
    res
}

/// Reads a path, or the tree of a `use`, and gives where it ends. A single word is no path.
fn tree(code: &str, at: usize, before: &mut Vec<String>, res: &mut Vec<Use>) -> usize {
    let skip = |at: usize| at + code[at..].len() - code[at..].trim_start().len();
    let n_before = before.len();
    let mut at = at;
    loop {
        let len = code.as_bytes()[at..].iter().take_while(|it| is_word(**it)).count();
        if len > 0 {
            before.push(code[at..at + len].to_owned());
            at += len;
        } else if n_before < before.len() && code[at..].starts_with('{') {
            at = skip(at + 1);
            while at < code.len() && !code[at..].starts_with('}') {
                let end = tree(code, at, before, res);
                // An alias, and the comma.
                let rest = code[end..].find([',', '}']).map_or(code.len(), |it| end + it);
                at = if code[rest..].starts_with(',') { skip(rest + 1) } else { rest };
            }
            at = (at + 1).min(code.len());
            break;
        }
        if !code[at..].starts_with("::") {
            if before.len() > 1 && before.last().is_some_and(|it| it != "self") {
                res.push(Use { path: before.clone(), passes_on: false });
            } else if before.len() > 2 {
                res.push(Use { path: before[..before.len() - 1].to_vec(), passes_on: false });
            }
            break;
        }
        at += 2;
    }
    before.truncate(n_before);
    at
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::TextFile, circles, uses};

    #[track_caller]
    fn check(files: &[(&str, &str)], expect: Expect) {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: format!("c/src/{path}"),
            text: (*text).to_owned(),
        };
        let files: Vec<_> = files.iter().map(file).collect();
        expect.assert_eq(&format!("{:?}", circles("c/src/lib.rs", &files)));
    }

    #[test]
    fn paths_are_read() {
        let text = "pub use self::a::{B, c::{self, D}};\nuse super::e::F as G;\n// use x::y\nfn f() { crate::h::i(2); j.k::<L>(); }";
        let shown: Vec<_> = uses(text)
            .iter()
            .map(|it| format!("{}{}", if it.passes_on { "pub " } else { "" }, it.path.join("::")))
            .collect();
        expect![[r#"
            pub self::a::B
            pub self::a::c
            pub self::a::c::D
            super::e::F
            crate::h::i"#]]
        .assert_eq(&shown.join("\n"));
    }

    #[test]
    fn a_circle_is_found_and_a_tree_is_none() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod d;"),
                ("a.rs", "use crate::b::B;"),
                ("b/mod.rs", "mod c; use self::c::C;"),
                ("b/c.rs", "use crate::{a::A, d::D};"),
                ("d.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }"),
            ],
            expect![[r#"[["a", "b", "b/c"]]"#]],
        );
    }

    #[test]
    fn what_is_passed_on_belongs_to_its_own_module() {
        check(
            &[
                ("lib.rs", "mod a; pub use a::A;"),
                ("a/mod.rs", "mod b; mod c; pub(crate) use self::{b::B, c::C};"),
                ("a/b.rs", "use super::C; use crate::A;"),
                ("a/c.rs", ""),
            ],
            expect![[r#"[]"#]],
        );
    }
}
