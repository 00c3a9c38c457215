//! `tidy`: rules of this repository that the compiler does not know.

use std::{fmt, fs};

use crate::{
    metadata::Metadata,
    no_args,
    process::{self, cargo, root},
    stop::Stop,
};

mod circles; //  files that import each other in a circle
mod codes; //    each code of a finding has its explanation in a file
mod manifests; // each manifest inherits from the workspace and says what the crate is
mod modules; //  each source file belongs to a target
mod phrases; //   phrases that were replaced by plain ones
mod prose; //    names in prose exist
mod sources; //  what source text must not hold
mod strays; //   files that were left behind
mod words; //    plain words, and how much of a crate is documentation

/// Something to put right, shown as `path:line: message`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    /// Relative to the root.
    path: String,
    line: usize,
    message: String,
}

impl Problem {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, message } = self;
        write!(f, "{path}:{line}: {message}")
    }
}

/// One file of the repository that is text.
#[derive(Debug)]
struct TextFile {
    /// Relative to the root, with `/` between its parts.
    path: String,
    text: String,
}

impl TextFile {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The one-based line of an offset.
    fn line_of(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
    }
}

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("tidy", args)?;
    // Reads the lock file as it is, and fails where the manifests ask for something else.
    process::read(cargo("metadata --format-version 1 --locked"))?;
    let metadata = Metadata::load()?;
    let paths = paths()?;
    let files = read_texts(&paths)?;

    let mut problems = Vec::new();
    problems.extend(strays::check(&paths));
    problems.extend(modules::check(&metadata, &files));
    problems.extend(manifests::check(&metadata, &files, &paths));
    problems.extend(sources::check(&metadata, &files));
    problems.extend(prose::check(&metadata, &files, &paths));
    problems.extend(codes::check(&files));
    problems.extend(phrases::check(&files));
    let words = words::check(&files);
    problems.extend(words.problems());
    let docs = words::doc_ratios(&metadata, &files);
    problems.extend(docs.problems());
    let circles = circles::check(&metadata, &files);
    problems.extend(circles.problems());
    problems.sort();
    problems.dedup();
    for problem in &problems {
        eprintln!("{problem}");
    }
    println!("tidy: {}", words.line());
    println!("tidy: {}", docs.line());
    println!("tidy: {}", circles.line());
    match problems.len() {
        0 => {
            println!("tidy: {} files are fine", paths.len());
            Ok(())
        }
        n => Err(Stop::failed(format!("tidy: {n} problem(s)"))),
    }
}

/// All files that are in git or could be added, sorted.
fn paths() -> Result<Vec<String>, Stop> {
    let mut git = process::program("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]);
    let list = process::read(git)?;
    let mut res: Vec<String> = list
        .split('\0')
        // A file that is deleted and not yet committed is still listed.
        .filter(|path| !path.is_empty() && root().join(path).symlink_metadata().is_ok())
        .map(str::to_owned)
        .collect();
    res.sort();
    Ok(res)
}

/// Reads what is UTF-8; images and deliberately broken files are not.
fn read_texts(paths: &[String]) -> Result<Vec<TextFile>, Stop> {
    let mut res = Vec::new();
    for path in paths {
        let full = root().join(path);
        if full.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
            continue;
        }
        let bytes = fs::read(full).map_err(|err| Stop::because(format!("read {path}"), &err))?;
        if let Ok(text) = String::from_utf8(bytes) {
            res.push(TextFile { path: path.clone(), text });
        }
    }
    Ok(res)
}

/// The path of a file that cargo names, relative to the root and with `/`.
fn relative(path: &std::path::Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The directory part of a relative path; empty at the root.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Resolves `.` and `..` in `path` against the directory `base`; `None` above the root.
fn resolve(base: &str, path: &str) -> Option<String> {
    let mut res: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                res.pop()?;
            }
            part => res.push(part),
        }
    }
    Some(res.join("/"))
}

/// Problems as a snapshot shows them.
#[cfg(test)]
fn shown(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn paths_resolve_within_the_root() {
        for (base, path, expected) in [
            ("docs", "layers.md", Some("docs/layers.md")),
            ("crates/a", "../../README.md", Some("README.md")),
            ("", "./xtask/", Some("xtask")),
            ("docs", "../../elsewhere", None),
        ] {
            assert_eq!(resolve(base, path).as_deref(), expected, "{base} + {path}");
        }
    }
}
