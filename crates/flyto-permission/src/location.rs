//! Where a path leads, by the real file system.

use std::{collections::VecDeque, fs, io, path::Path};

/// Longest path in bytes, as [path_resolution(7)] has it.
///
/// [path_resolution(7)]: https://man7.org/linux/man-pages/man7/path_resolution.7.html
const MAX_BYTES: usize = 4096;
/// Most parts that are looked up, with those that links add.
const MAX_STEPS: usize = 512;
/// Most links on the way, as path_resolution(7) has it.
const MAX_LINKS: usize = 40;

/// A path, as it is written and as it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// Absolute, `.` and `..` taken out by their text.
    pub(crate) written: String,
    /// Absolute, links followed. The end may not exist yet.
    pub(crate) resolved: String,
}

/// Looks a path up. `Err`: why it cannot be told where it leads.
pub(crate) fn locate(
    path: &str,
    working_dir: Option<&str>,
    home: Option<&str>,
) -> Result<Location, &'static str> {
    let full = absolute(path, working_dir, home)?;
    let resolved = resolve(&full)?;
    Ok(Location { written: normalise(&full), resolved })
}

fn absolute(
    path: &str,
    working_dir: Option<&str>,
    home: Option<&str>,
) -> Result<String, &'static str> {
    if path.is_empty() || path.contains('\0') {
        return Err("it is no path");
    }
    let full = if path == "~" || path.starts_with("~/") {
        let home = home.ok_or("the home directory is not known")?;
        format!("{home}{}", &path[1..])
    } else if path.starts_with('~') {
        return Err("it may be the home directory of another user");
    } else if path.starts_with('/') {
        path.to_owned()
    } else {
        let dir = working_dir.ok_or("the directory it is relative to is not known")?;
        format!("{dir}/{path}")
    };
    if full.len() > MAX_BYTES {
        return Err("the path is too long");
    }
    Ok(full)
}

/// A path by its text alone, for rules that ask or deny where [`locate`] cannot tell.
pub(crate) fn by_text(
    path: &str,
    working_dir: Option<&str>,
    home: Option<&str>,
) -> Option<Location> {
    let full = absolute(path, working_dir, home).ok()?;
    let written = normalise(&full);
    Some(Location { resolved: written.clone(), written })
}

/// Takes `.`, `..` and repeated slashes out of an absolute path, by its text.
pub(crate) fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            it => parts.push(it),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Follows an absolute path through the file system.
fn resolve(path: &str) -> Result<String, &'static str> {
    let mut todo: VecDeque<String> = split(path).collect();
    let mut done = String::new();
    let mut missing = false;
    let (mut n_steps, mut n_links) = (0, 0);
    while let Some(part) = todo.pop_front() {
        n_steps += 1;
        if n_steps > MAX_STEPS {
            return Err("the path has too many parts");
        }
        if part == ".." {
            if missing {
                return Err("it goes back from a directory that is not there");
            }
            done.truncate(done.rfind('/').unwrap_or(0));
            continue;
        }
        let next = format!("{done}/{part}");
        if missing {
            done = next;
            continue;
        }
        match fs::symlink_metadata(Path::new(&next)) {
            Ok(found) if found.file_type().is_symlink() => {
                n_links += 1;
                if n_links > MAX_LINKS {
                    return Err("the path has too many links");
                }
                let target = fs::read_link(Path::new(&next)).map_err(|_| UNREADABLE)?;
                let target = target.to_str().ok_or(UNREADABLE)?;
                if target.len() > MAX_BYTES {
                    return Err("the path is too long");
                }
                if target.starts_with('/') {
                    done.clear();
                }
                for part in split(target).collect::<Vec<_>>().into_iter().rev() {
                    todo.push_front(part);
                }
            }
            Ok(_) => done = next,
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                missing = true;
                done = next;
            }
            Err(_) => return Err(UNREADABLE),
        }
    }
    Ok(if done.is_empty() { "/".to_owned() } else { done })
}

const UNREADABLE: &str = "it cannot be told where the path leads";

fn split(path: &str) -> impl Iterator<Item = String> {
    path.split('/').filter(|it| !it.is_empty() && *it != ".").map(str::to_owned)
}
