//! Rules that are written into a configuration file, with everything else in it as it stands there.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use flyto_diagnostics::{At, Findings, ObjectReader, Severity, Source, Span, files, json};

use super::permissions;
use crate::replace::{Flush, create_dir, file_behind_links, parent, replace};

/// How long a process waits for another one that adds rules.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Why rules were not written. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddRulesError {
    /// The file cannot be used as a configuration, or would not be one with the rules.
    #[error("failed to add a rule to {path:?}: {why}; `flyto validate` shows where", path = .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The first error in it.
        why: String,
    },
    /// The file cannot be written.
    #[error("failed to add a rule to {path:?}", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Adds rules to the list `permissions.allow` of a configuration file, for every later call.
///
/// Comments of other keys, their order and their layout stay as they are; a rule that stands there already is not
/// repeated. A file that is not there is made. The file is replaced in one step, and keeps its rights; where a link
/// leads to it, what it leads to is replaced.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let file = dir.path().join("config.json");
/// std::fs::write(&file, "{\n  \"output_limit_bytes\": 512\n}\n")?;
/// flyto_host::add_rules(&file, &["notes:add".to_owned()])?;
/// assert_eq!(
///     std::fs::read_to_string(&file)?,
///     "{\n  \"permissions\": {\"allow\": [\"notes:add\"]},\n  \"output_limit_bytes\": 512\n}\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The file is no configuration, a text is no rule, or the file cannot be written.
pub fn add_rules(file: &Path, rules: &[String]) -> Result<(), AddRulesError> {
    let failed = |source| AddRulesError::Write { path: file.to_owned(), source };
    let path = &*file_behind_links(file).map_err(failed)?;
    let _lock = lock_config_file(path).map_err(failed)?;
    let mut findings = Findings::new();
    let source = match path.symlink_metadata() {
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            Source::new(path.display().to_string(), "{\n}\n")
        }
        _ => findings.take(files::open(path)).map_err(|_| broken(path, &findings))?,
    };
    check(&source, path)?;
    let root = findings.take(json::parse(&source)).map_err(|_| broken(path, &findings))?;
    for pointer in ["/permissions", "/permissions/allow"] {
        if root.get_pointer(pointer).is_some_and(json::Value::is_null) {
            let why = format!("{pointer} is null; remove the key");
            return Err(AddRulesError::Broken { path: path.to_owned(), why });
        }
    }
    if std::fs::metadata(path).is_ok_and(|it| it.permissions().readonly()) {
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "it is closed for writing");
        return Err(AddRulesError::Write { path: path.to_owned(), source });
    }
    let mut text = source.text().to_owned();
    if let Some((at, insert)) = insertion(&root, &text, rules) {
        text.insert_str(at, &insert);
    }
    check(&Source::new(source.name(), text.clone()), path)?;
    replace(path, text.as_bytes(), Flush::Now)
        .map_err(|source| AddRulesError::Write { path: path.to_owned(), source })
}

/// What [`lock_config_file`] holds, until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct ConfigLock {
    /// `None` on systems without such locks.
    _dir: Option<File>,
}

/// Keeps other processes and threads that edit a configuration file from reading it before this edit is in it:
/// [`add_rules`] and each caller of this. The lock is one of the file's directory (flock(2)), as the file itself is replaced;
/// a link is followed. A directory that is missing is made, for the user alone.
///
/// # Errors
///
/// The directory cannot be made or opened, or another process holds its lock for 5 s.
pub fn lock_config_file(file: &Path) -> io::Result<ConfigLock> {
    lock_within(file, LOCK_TIMEOUT)
}

fn lock_within(file: &Path, timeout: Duration) -> io::Result<ConfigLock> {
    let file = file_behind_links(file)?;
    let dir = parent(&file);
    if cfg!(not(unix)) {
        return Ok(ConfigLock { _dir: None });
    }
    create_dir(dir)?;
    let dir = File::open(dir)?;
    let end = Instant::now() + timeout;
    loop {
        match dir.try_lock() {
            Ok(()) => return Ok(ConfigLock { _dir: Some(dir) }),
            Err(TryLockError::Error(err)) => return Err(err),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => {
                let why = format!("another process holds its directory's lock for {timeout:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    }
}

/// Reads the rules of a text as those of a configuration.
fn check(source: &Source, path: &Path) -> Result<(), AddRulesError> {
    let mut findings = Findings::new();
    let root = findings.take(json::parse(source)).map_err(|_| broken(path, &findings))?;
    let res = match ObjectReader::new(At::root(source, &root), &mut findings) {
        Ok(mut reader) => reader.optional("permissions").and_then(|it| match it {
            Some(at) => permissions::read(at, reader.findings()).1,
            None => Ok(()),
        }),
        Err(reported) => Err(reported),
    };
    res.map_err(|_| broken(path, &findings))
}

fn broken(path: &Path, findings: &Findings) -> AddRulesError {
    let first = findings.iter().find(|it| it.severity == Severity::Error);
    let why = first.map_or_else(|| "it cannot be read".to_owned(), |it| it.message.clone());
    AddRulesError::Broken { path: path.to_owned(), why }
}

/// What is inserted into the text, and at which byte; `None` where every rule stands there already.
fn insertion(root: &json::Value<'_>, text: &str, rules: &[String]) -> Option<(usize, String)> {
    let permissions = root.get("permissions");
    let allow = permissions.and_then(|it| it.get("allow"));
    let there = || allow.and_then(|it| it.as_array()).unwrap_or_default();
    let is_there = |rule: &str| there().iter().any(|it| it.as_str() == Some(rule));
    let new: Vec<_> = rules.iter().filter(|it| !is_there(it)).map(|it| literal(it)).collect();
    if new.is_empty() {
        return None;
    }
    Some(match (permissions, allow, there().last()) {
        // Behind the last rule, with the blanks that stand before it.
        (_, Some(_), Some(last)) => {
            let before = &text[..last.span.start];
            let blanks = &before[before.trim_end().len()..];
            let separator =
                if blanks.contains('\n') { format!(",{blanks}") } else { ", ".to_owned() };
            (last.span.end, new.iter().map(|it| format!("{separator}{it}")).collect())
        }
        (_, Some(list), None) => (list.span.start + 1, new.join(", ")),
        (Some(section), None, _) => {
            member_at_start(section, text, &format!("\"allow\": [{}]", new.join(", ")))
        }
        (None, ..) => {
            let member = format!("\"permissions\": {{\"allow\": [{}]}}", new.join(", "));
            member_at_start(root, text, &member)
        }
    })
}

/// A text as JSON writes it.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A member in front of all others of an object, laid out as the first of those.
fn member_at_start(object: &json::Value<'_>, text: &str, member: &str) -> (usize, String) {
    let start = object.span.start + 1;
    let first = object.as_object().and_then(|it| it.first()).map(|it| it.key.span);
    let insert = match first {
        Some(Span { start: first, .. }) => {
            let blanks = &text[start..first];
            format!("{blanks}{member},")
        }
        None if text[start..object.span.end].contains('\n') => format!("\n  {member}"),
        None => member.to_owned(),
    };
    (start, insert)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(before: &str, rules: &[&str], expect: Expect) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("config.json");
        std::fs::write(&file, before).expect("written");
        let rules: Vec<_> = rules.iter().map(|it| (*it).to_owned()).collect();
        let shown = match add_rules(&file, &rules) {
            Ok(()) => std::fs::read_to_string(&file).expect("read"),
            Err(err) => {
                assert_eq!(std::fs::read_to_string(&file).expect("read"), before);
                format!("{err}\n").replace(&*dir.path().to_string_lossy(), "DIR")
            }
        };
        expect.assert_eq(&shown);
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 1, "nothing else is left");
    }

    #[cfg(unix)]
    #[test]
    fn rules_that_are_added_at_once_are_all_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("config.json");
        let rules: Vec<_> = (0..16).map(|i| format!("notes:t{i}")).collect();
        thread::scope(|scope| {
            for rule in &rules {
                scope.spawn(|| add_rules(&file, std::slice::from_ref(rule)).expect("added"));
            }
        });
        let text = std::fs::read_to_string(&file).expect("read");
        assert!(rules.iter().all(|it| text.contains(&format!("{it:?}"))), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_is_held_by_one_until_it_is_dropped() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let dir = tempfile::tempdir().expect("a directory");
        // The directory is not there yet: the first one makes it.
        let file = dir.path().join("new/flyto/config.json");
        let held = lock_config_file(&file).expect("made");
        let mode =
            std::fs::metadata(file.parent().expect("one")).expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let waited = lock_within(&file, Duration::from_millis(30)).expect_err("it is held");
        assert_eq!(waited.kind(), io::ErrorKind::TimedOut);
        // By a link it is the same file.
        std::fs::write(&file, "{}").expect("written");
        let link = dir.path().join("link.json");
        symlink(&file, &link).expect("linked");
        lock_within(&link, Duration::ZERO).expect_err("it is held");
        // A file elsewhere is another one.
        let other = lock_within(&dir.path().join("other.json"), Duration::ZERO).expect("free");
        drop(other);
        // One that waits has it as soon as it is dropped.
        thread::scope(|scope| {
            let waits = scope.spawn(|| lock_config_file(&link).map(drop));
            thread::sleep(Duration::from_millis(30));
            drop(held);
            waits.join().expect("no panic").expect("free");
        });
    }

    #[test]
    fn a_rule_is_added_and_nothing_else_changes() {
        check("{}", &["p:t"], expect![[r#"{"permissions": {"allow": ["p:t"]}}"#]]);
        check(
            "{\n\t\"exec_tools\": [ ]\n}\n",
            &["Bash(echo \"a\")"],
            expect![[r#"
                {
                	"permissions": {"allow": ["Bash(echo \"a\")"]},
                	"exec_tools": [ ]
                }
            "#]],
        );
        check(
            "{\"permissions\": {\"deny\": [\"x\"]}}",
            &["p:t", "p:u"],
            expect![[r#"{"permissions": {"allow": ["p:t", "p:u"],"deny": ["x"]}}"#]],
        );
        check(
            "{\"permissions\": {\"allow\": []}}",
            &["p:t"],
            expect![[r#"{"permissions": {"allow": ["p:t"]}}"#]],
        );
        check(
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"a:b\"\n    ]\n  }\n}\n",
            &["p:t", "a:b", "p:u"],
            expect![[r#"
                {
                  "permissions": {
                    "allow": [
                      "a:b",
                      "p:t",
                      "p:u"
                    ]
                  }
                }
            "#]],
        );
    }

    #[test]
    fn a_file_that_is_broken_stays_as_it_is() {
        check(
            "{",
            &["p:t"],
            expect![[r#"
            failed to add a rule to "DIR/config.json": the text ends inside an object; `flyto validate` shows where
        "#]],
        );
        check(
            "{\"permissions\": []}",
            &["p:t"],
            expect![[r#"
            failed to add a rule to "DIR/config.json": "permissions" must be an object, found an array; `flyto validate` shows where
        "#]],
        );
        check(
            "{}",
            &["Bash(a"],
            expect![[r#"
            failed to add a rule to "DIR/config.json": "Bash(a" is no rule: a bracket is not closed; `flyto validate` shows where
        "#]],
        );
        check(
            "[]",
            &["p:t"],
            expect![[r#"
            failed to add a rule to "DIR/config.json": the document must be an object, found an array; `flyto validate` shows where
        "#]],
        );
    }

    #[test]
    fn what_stands_there_as_null_is_told() {
        check(
            "{\"permissions\": {\"allow\": null}}",
            &["p:t"],
            expect![[r#"
            failed to add a rule to "DIR/config.json": /permissions/allow is null; remove the key; `flyto validate` shows where
        "#]],
        );
        check(
            "{\"permissions\": null}",
            &["p:t"],
            expect![[r#"
            failed to add a rule to "DIR/config.json": "permissions" must be an object, found null; `flyto validate` shows where
        "#]],
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_of_the_user_alone_and_a_link_stays_one() {
        use std::os::unix::fs::{self, PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        add_rules(&path("new/config.json"), &["p:t".to_owned()]).expect("written");
        let mode = |it: &Path| std::fs::metadata(it).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&path("new/config.json")), 0o600);

        std::fs::write(path("real.json"), "{}").expect("written");
        std::fs::set_permissions(path("real.json"), fs::PermissionsExt::from_mode(0o640))
            .expect("set");
        symlink("real.json", path("link.json")).expect("linked");
        add_rules(&path("link.json"), &["p:t".to_owned()]).expect("written");
        assert!(path("link.json").is_symlink());
        assert!(std::fs::read_to_string(path("real.json")).expect("read").contains("p:t"));
        assert_eq!(mode(&path("real.json")), 0o640);

        symlink("later.json", path("dangling.json")).expect("linked");
        add_rules(&path("dangling.json"), &["p:t".to_owned()]).expect("written");
        assert!(path("dangling.json").is_symlink());
        assert!(std::fs::read_to_string(path("later.json")).expect("read").contains("p:t"));
        symlink("missing/later.json", path("broken.json")).expect("linked");
        add_rules(&path("broken.json"), &["p:t".to_owned()]).expect_err("no directory");
        assert!(path("broken.json").is_symlink());
    }
}
