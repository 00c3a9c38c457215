//! The configuration of a project: what it may do, and what holds when it has changed since it was trusted.
//!
//! A project's file may come from a stranger, or be written by a tool that works on the project. It
//! is used in full only while its bytes are those that the operator trusted; in every other case it
//! narrows. [`review_project`] shows what trust would allow, [`apply_projects`] applies what holds.
//!
//! No error of a project's file stops the host: it is a warning, and what could be read of the file
//! narrows.

use std::{
    error::Error as _,
    path::{Path, PathBuf},
};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, Severity, Source, files, quoted};
use flyto_execenv::Profile;

use super::{
    Config, Origin,
    file::{FileConfig, read_project_file},
    layers::{is_there, narrow, overlay, user_config},
};
use crate::{
    codes, links,
    places::Surroundings,
    trust::{TrustStore, Trusted},
};

/// What the configuration of a project would allow, to be read by the operator before trusting it.
///
/// ```
/// use flyto_execenv::Environment;
/// use flyto_host::{Surroundings, review_project};
///
/// # let dir = tempfile::tempdir()?;
/// let file = dir.path().canonicalize()?.join(".flyto/config.json");
/// std::fs::create_dir(file.parent().expect("it has one"))?;
/// std::fs::write(&file, r#"{"exec_tools": ["tools.json"], "output_limit_bytes": 512}"#)?;
///
/// let surroundings = Surroundings::new(Environment::new(), dir.path());
/// let review = review_project(dir.path(), &surroundings).map_err(|err| format!("{err:?}"))?;
/// // Less output is what a project may ask for anyway.
/// assert_eq!(review.widens, [("exec_tools", r#"["tools.json"]"#.to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProjectReview {
    /// The project's canonical path.
    pub project: PathBuf,
    /// Its configuration.
    pub file: PathBuf,
    /// The content of the file.
    ///
    /// What [`TrustStore::trust`] is given once the operator agrees, so that what was shown is what
    /// is trusted.
    pub content: String,
    /// The keys that go beyond narrowing what the user's own configuration allows, each with its value as it is
    /// written.
    pub widens: Vec<(&'static str, String)>,
    /// What is odd about the file.
    ///
    /// Warnings and notes only: a file with errors is [`ReviewError::Broken`].
    pub findings: Findings,
}

/// Why the configuration of a project cannot be trusted.
///
/// Nothing was recorded or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReviewError {
    /// There is no such file.
    ///
    /// Also where the project's directory is not there.
    Missing(PathBuf),
    /// A link leads to the file: what it leads to can be exchanged.
    Link(PathBuf),
    /// The file cannot be read whole.
    Broken(Findings),
}

/// The file of a project's configuration.
fn file_of(project: &Path) -> PathBuf {
    project.join(".flyto").join("config.json")
}

/// The nearest directory, from the current one upwards, that holds a project's configuration or had one when the
/// operator trusted it.
///
/// `None` where neither is the case up to the root. Nothing is read of the file.
#[must_use]
pub fn find_project(surroundings: &Surroundings) -> Option<PathBuf> {
    let records = TrustStore::of(&surroundings.places);
    let is_trusted = |dir: &Path| {
        let real = links::real(dir);
        records.as_ref().is_some_and(|it| !matches!(it.find(&real), Ok(None)))
    };
    let mut dirs = surroundings.current_dir.ancestors();
    dirs.find(|it| is_there(&file_of(it)) || is_trusted(it)).map(Path::to_owned)
}

/// Reads the configuration of the project in `dir`, to show what it would allow.
///
/// # Errors
///
/// There is no such file, a link leads to it, or it is broken.
///
/// `dir` may be relative to [`Surroundings::current_dir`]. The user's own configuration is read
/// too, since what it allows already is no widening.
pub fn review_project(
    dir: &Path,
    surroundings: &Surroundings,
) -> Result<ProjectReview, ReviewError> {
    let named = file_of(&surroundings.current_dir.join(dir));
    let project = surroundings.current_dir.join(dir);
    let Ok(project) = project.canonicalize() else { return Err(ReviewError::Missing(named)) };
    let file = file_of(&project);
    if !is_there(&file) {
        return Err(ReviewError::Missing(file));
    }
    if let Err(link) = links::plain_path(&file) {
        return Err(ReviewError::Link(link.at));
    }
    let mut findings = Findings::new();
    let read = findings.take(files::open(&file)).map(|source| {
        let dir = file.parent().unwrap_or(&project);
        let read = read_project_file(&source, dir, &surroundings.places, &mut findings);
        (source, read)
    });
    let (source, read) = match read {
        Ok(read) if !findings.has_errors() => read,
        _ => return Err(ReviewError::Broken(findings)),
    };
    let base = user_config(surroundings, &mut Findings::new());
    let widens = widens(&base, read);
    Ok(ProjectReview { project, file, content: source.text().to_owned(), widens, findings })
}

/// The keys of a file that do more than narrow `base`, where the file is used in full.
///
/// Each key comes with the text of its value in the file; empty where that cannot be found.
fn widens(base: &Config, file: FileConfig) -> Vec<(&'static str, String)> {
    let (set, text) = (file.set.clone(), file.text.clone());
    let took = narrow(&mut base.clone(), file, Path::new(""), &mut Findings::new());
    let replaces = |key: &str| match key {
        "plugins.allowed_plugins" => !base.plugins.allowed_plugins.is_empty(),
        "plugins.blocked_plugins" => !base.plugins.blocked_plugins.is_empty(),
        "sandbox" => base.sandbox.in_use().any(|it| it.extends != Profile::None),
        _ => false,
    };
    let shown = |key: &str| {
        let (source, root) = text.as_ref()?;
        let at = At::root(source, root).at_pointer(&format!("/{}", key.replace('.', "/")))?;
        source.text().get(at.span().range()).map(ToOwned::to_owned)
    };
    let beyond = set.iter().filter(|it| !took.contains(*it) || replaces(it));
    beyond.map(|it| (*it, shown(it).unwrap_or_default())).collect()
}

/// Applies the configurations of the projects that the current directory lies in.
///
/// The nearest file counts. It is used in full where its bytes are those that the operator trusted, else it narrows.
/// What was trusted keeps narrowing when its file is changed, broken or gone, and when a file appears in a directory
/// between: a process that may write the project must not loosen what was trusted.
pub(super) fn apply_projects(
    config: &mut Config,
    surroundings: &Surroundings,
    findings: &mut Findings,
) {
    let user = surroundings.places.config_file.as_deref();
    let records = TrustStore::of(&surroundings.places).filter(|it| !it.is_empty());
    let mut narrowing = Vec::new();
    let mut has_file = false;
    for dir in surroundings.current_dir.ancestors() {
        let path = file_of(dir);
        if Some(&*path) == user {
            // The user's own file is no project's, and ends the search for one.
            has_file = true;
        }
        let is_nearest = !has_file && is_there(&path);
        if is_nearest {
            config.files.insert(path.clone());
        }
        let record = records.as_ref().map_or(Ok(None), |it| it.find(&links::real(dir)));
        let record = record.unwrap_or_else(|err| {
            let what = "the record of trust in this project cannot be read";
            let place = Location::file(path.display().to_string());
            let help = format!("read the file, then run `flyto trust {dir:?}`");
            let diag = Diagnostic::warning(codes::BAD_RECORD, place, what);
            let cause = err.source().map(|it| format!(": {it}")).unwrap_or_default();
            let reason = format!("{err}{cause}; {AT_LEAST}");
            findings.push(diag.with_reason(reason).with_help(help));
            narrowing.push((FileConfig::unreadable(), path.clone(), Report::Silent));
            None
        });
        if !is_nearest && record.is_none() {
            continue;
        }
        let opened = is_there(&path).then(|| files::open(&path));
        if let (Some(record), Some(Ok(source))) = (&record, &opened)
            && let Some((file, found)) = unchanged(record, source, &path, surroundings)
        {
            if is_nearest {
                overlay(config, file, &Origin::Project(path));
                findings.append(found);
            } else {
                narrowing.push((file, path, Report::Silent));
            }
            break;
        }
        if let Some(record) = record {
            findings.push(changed(&record, &path, opened.is_some(), dir));
            // The lines are those of the content that was trusted, which the file may have no more.
            let name = format!("{} (as trusted on {})", path.display(), record.day());
            let source = Source::new(name, record.content);
            let file = read(&source, &path, surroundings, &mut Findings::new());
            narrowing.push((file, path.clone(), Report::Silent));
        }
        if let Some(opened) = opened.filter(|_| is_nearest) {
            has_file = true;
            let mut found = Findings::new();
            let file = match found.take(opened) {
                Ok(source) => read(&source, &path, surroundings, &mut found),
                Err(_) => FileConfig::unreadable(),
            };
            tell_broken(&file, &path, found, findings);
            narrowing.push((file, path, Report::Findings));
        }
    }
    for (file, path, report) in narrowing {
        let mut found = Findings::new();
        if file.unread.sandbox {
            config.sandbox.narrow_to(Profile::Workspace);
            config.set_unread_sandbox(&Origin::Project(path.clone()));
        }
        narrow(config, file, &path, &mut found);
        if report == Report::Findings {
            findings.append(found);
        }
    }
}

/// Whether what is left out of a file is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Findings,
    /// Something else was said about it.
    Silent,
}

/// The reason in a finding: what could not be read may have been a sandbox.
const AT_LEAST: &str = "programs run under \"workspace\" at least, since it may have asked for it";

fn read(
    source: &Source,
    path: &Path,
    surroundings: &Surroundings,
    findings: &mut Findings,
) -> FileConfig {
    let dir = path.parent().unwrap_or(path);
    read_project_file(source, dir, &surroundings.places, findings)
}

/// The file, where it is what the operator trusted. A link on the way to it would lead its relative paths elsewhere.
fn unchanged(
    record: &Trusted,
    source: &Source,
    path: &Path,
    surroundings: &Surroundings,
) -> Option<(FileConfig, Findings)> {
    let is_linked = [path.parent(), Some(path)]
        .into_iter()
        .flatten()
        .any(|it| it.symlink_metadata().is_ok_and(|it| it.is_symlink()));
    if is_linked || source.text() != record.content {
        return None;
    }
    let mut findings = Findings::new();
    let file = read(source, path, surroundings, &mut findings);
    // A later version of this program may read the same text in another way.
    (!findings.has_errors()).then_some((file, findings))
}

/// Says that a file is not what the operator trusted.
fn changed(record: &Trusted, path: &Path, is_there: bool, dir: &Path) -> Diagnostic {
    let place = Location::file(path.display().to_string());
    let (what, reason, help) = match is_there {
        true => (
            "has changed since it was trusted",
            "it only narrows now, beside the content that was trusted",
            format!("read it, then run `flyto trust {dir:?}`"),
        ),
        false => (
            "is gone since it was trusted",
            "the content that was trusted goes on to narrow",
            format!("put it back, or run `flyto trust --remove {dir:?}`"),
        ),
    };
    let what = format!("the project's configuration {what} on {}", record.day());
    Diagnostic::warning(codes::CHANGED, place, what).with_reason(reason).with_help(help)
}

/// Says what cannot be read of a project's file. A project stops no calls, so its errors are warnings.
fn tell_broken(file: &FileConfig, path: &Path, found: Findings, findings: &mut Findings) {
    if found.has_errors() {
        let place = Location::file(path.display().to_string());
        let what = "the project's configuration is broken, and only what can be read of it narrows";
        let mut diag = Diagnostic::warning(codes::BROKEN_PROJECT, place, what);
        if file.unread.sandbox {
            diag = diag.with_reason(AT_LEAST);
        }
        let help =
            format!("`flyto validate {}` shows each mistake", quoted(&path.to_string_lossy()));
        findings.push(diag.with_help(help));
    }
    for mut diag in found.into_vec() {
        if diag.severity == Severity::Error {
            diag.severity = Severity::Warning;
        }
        findings.push(diag);
    }
}
