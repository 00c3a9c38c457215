//! `layers`: the arrows between crates are the allowed ones.
//!
//! A new arrow edits [`LAYERS`], so it shows in review.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    metadata::{DependencyKind, Metadata},
    no_args,
    stop::Stop,
};

/// Every allowed arrow, bottom up: a crate may name only crates listed above it.
#[rustfmt::skip] // One crate a line reads as the table it is.
const LAYERS: &[(&str, &[&str])] = &[
    ("flyto-diagnostics", &[]),
    ("flyto-tools", &[]),
    ("flyto-execenv", &[]),
    ("flyto-supervision", &[]),
    ("flyto-audit", &[]),
    ("flyto-security", &[]),
    ("flyto-execenv-linux", &["flyto-execenv", "flyto-supervision"]),
    ("flyto-program", &["flyto-tools", "flyto-execenv"]),
    ("flyto-permission", &["flyto-diagnostics", "flyto-tools"]),
    ("flyto-plugin", &["flyto-diagnostics", "flyto-tools", "flyto-execenv", "flyto-program"]),
    ("flyto-exectool", &["flyto-diagnostics", "flyto-tools", "flyto-execenv", "flyto-program"]),
    ("flyto-evolve", &["flyto-diagnostics", "flyto-tools", "flyto-execenv", "flyto-program", "flyto-security", "flyto-audit"]),
    ("flyto-host", &["flyto-diagnostics", "flyto-tools", "flyto-audit", "flyto-security", "flyto-execenv", "flyto-program", "flyto-permission", "flyto-plugin", "flyto-exectool"]),
    ("flyto-mcp", &["flyto-diagnostics", "flyto-tools", "flyto-execenv", "flyto-security", "flyto-program", "flyto-plugin", "flyto-host"]),
    ("flyto-cli", &["flyto-diagnostics", "flyto-tools", "flyto-execenv", "flyto-security", "flyto-audit", "flyto-execenv-linux", "flyto-plugin", "flyto-exectool", "flyto-evolve", "flyto-host", "flyto-mcp"]),
];

/// Packages beside the layers: they may name any crate, and no crate names them.
const BESIDE: &[&str] = &["flyto-fuzz", "flyto-tests", "xtask"];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("layers", args)?;
    let arrows = arrows(&Metadata::load()?);
    let problems = compare(LAYERS, BESIDE, &arrows);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => {
            let n_arrows: usize = arrows.values().map(BTreeSet::len).sum();
            println!("layers: {} packages, {n_arrows} arrows, all allowed", arrows.len());
            Ok(())
        }
        n => Err(Stop::failed(format!("layers: {n} problem(s)"))),
    }
}

/// Which crate names which. `true` marks an arrow that only tests and examples need.
type Arrows = BTreeMap<String, BTreeSet<(String, bool)>>;

fn arrows(metadata: &Metadata) -> Arrows {
    let of_package = |dependencies: &[crate::metadata::Dependency]| {
        dependencies
            .iter()
            .filter(|it| it.path.is_some())
            .map(|it| (it.name.clone(), it.kind == Some(DependencyKind::Dev)))
            .collect()
    };
    metadata.packages.iter().map(|it| (it.name.clone(), of_package(&it.dependencies))).collect()
}

fn compare(layers: &[(&str, &[&str])], beside: &[&str], arrows: &Arrows) -> Vec<String> {
    let mut res = Vec::new();
    for (name, _) in layers.iter().filter(|(name, _)| !arrows.contains_key(*name)) {
        res.push(format!(
            "`{name}` is listed but is no crate of the workspace: take it out of LAYERS in \
             xtask/src/layers.rs"
        ));
    }
    for (from, to) in arrows.iter().filter(|(from, _)| !beside.contains(&from.as_str())) {
        let Some((_, allowed)) = layers.iter().find(|(name, _)| name == from) else {
            res.push(format!(
                "`{from}` has no place in the layers: add it with its arrows to LAYERS in \
                 xtask/src/layers.rs, and to the picture in docs/layers.md"
            ));
            continue;
        };
        let below = all_below(layers, from);
        for (to, in_tests) in to {
            let fits = match in_tests {
                false => allowed.contains(&to.as_str()),
                // Tests may use whatever lies below, and the crate itself with more features.
                true => to == from || below.contains(to.as_str()),
            };
            if beside.contains(&to.as_str()) {
                res.push(format!(
                    "`{from}` depends on `{to}`, which is for development only: move what it needs \
                     into a crate of the layers"
                ));
            } else if !fits {
                let kind = if *in_tests { " (dev-dependency)" } else { "" };
                res.push(format!(
                    "`{from}` must not depend on `{to}`{kind}: move the code to the layer that may \
                     know both, or add the arrow to LAYERS in xtask/src/layers.rs and say why in \
                     the commit"
                ));
            }
        }
    }
    res
}

/// Everything that can be reached from `name` along allowed arrows.
fn all_below<'a>(layers: &[(&'a str, &[&'a str])], name: &'a str) -> BTreeSet<&'a str> {
    let mut res = BTreeSet::new();
    let mut open: Vec<&str> = vec![name];
    while let Some(name) = open.pop() {
        let below = layers.iter().find(|(it, _)| *it == name).map_or(&[][..], |(_, to)| to);
        open.extend(below.iter().filter(|it| res.insert(**it)));
    }
    res
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Arrows, LAYERS, compare};

    const THREE: &[(&str, &[&str])] = &[("low", &[]), ("middle", &["low"]), ("top", &["middle"])];

    /// `arrows` is one crate a line: `from: to to`, with `~to` for a dev-dependency.
    #[track_caller]
    fn check(arrows: &str, expect: Expect) {
        let mut parsed = Arrows::new();
        for line in arrows.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (from, to) = line.split_once(':').expect("the lines above have a colon");
            let to = to.split_whitespace().map(|it| match it.strip_prefix('~') {
                Some(it) => (it.to_owned(), true),
                None => (it.to_owned(), false),
            });
            parsed.insert(from.to_owned(), to.collect());
        }
        expect.assert_eq(&compare(THREE, &["chores"], &parsed).join("\n"));
    }

    #[test]
    fn allowed_arrows_pass() {
        check(
            "low:
             middle: low ~low
             top: middle ~middle ~low ~top
             chores: low top",
            expect![""],
        );
    }

    #[test]
    fn an_unlisted_arrow_fails() {
        check(
            "low: ~middle
             middle: low
             top: low",
            expect![[r#"
                `low` must not depend on `middle` (dev-dependency): move the code to the layer that may know both, or add the arrow to LAYERS in xtask/src/layers.rs and say why in the commit
                `top` must not depend on `low`: move the code to the layer that may know both, or add the arrow to LAYERS in xtask/src/layers.rs and say why in the commit"#]],
        );
    }

    #[test]
    fn no_crate_depends_on_the_chores() {
        check(
            "low: ~chores
             middle:
             top:
             chores:",
            expect![[
                r#"`low` depends on `chores`, which is for development only: move what it needs into a crate of the layers"#
            ]],
        );
    }

    #[test]
    fn list_and_workspace_hold_the_same_crates() {
        check(
            "low:
             top:
             new:",
            expect![[r#"
                `middle` is listed but is no crate of the workspace: take it out of LAYERS in xtask/src/layers.rs
                `new` has no place in the layers: add it with its arrows to LAYERS in xtask/src/layers.rs, and to the picture in docs/layers.md"#]],
        );
    }

    #[test]
    fn the_real_list_points_down() {
        for (i, (name, below)) in LAYERS.iter().enumerate() {
            for it in *below {
                assert!(LAYERS[..i].iter().any(|(lower, _)| lower == it), "{name} -> {it}");
            }
        }
    }
}
