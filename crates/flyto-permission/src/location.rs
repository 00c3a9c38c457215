//! Where a path leads, by the real file system.
//!
//! Links are followed part by part, as the kernel does, with bounds on bytes, parts
//! and links. A path without one is told by the kernel at once, where it can. The end
//! of a path may not exist yet: a file that is to be written. Nothing is read but
//! links.

use std::{
    cell::OnceCell,
    collections::VecDeque,
    fs, io,
    path::{Path, PathBuf},
};

use crate::Request;

/// Longest path in bytes, as [path_resolution(7)] has it.
///
/// [path_resolution(7)]: https://man7.org/linux/man-pages/man7/path_resolution.7.html
///
/// The target of a link has the same bound.
const MAX_BYTES: usize = 4096;
/// Most parts that are looked up, with those that links add.
///
/// With [`MAX_LINKS`] it bounds the system calls of one path: one lstat(2) for a
/// step, and one readlink(2) for a link.
const MAX_STEPS: usize = 512;
/// Most links on the way, as path_resolution(7) has it.
const MAX_LINKS: usize = 40;

/// A path, as it is written and as it leads.
///
/// Both are UTF-8: a path through a link whose target is not cannot be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// Absolute, `.` and `..` taken out by their text. Rules that ask or deny hold
    /// for it too, so that a link does not lead around them.
    pub(crate) written: String,
    /// Absolute, links followed. The end may not exist yet. Rules that allow hold
    /// for it alone.
    pub(crate) resolved: String,
    /// Absolute: the path up to each link that is followed, with what is left behind
    /// it. Rules that ask or deny hold for these too.
    pub(crate) on_the_way: Vec<String>,
    /// Whether something is at `resolved`.
    pub(crate) end: End,
}

/// Whether something is where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A file, a directory, or another thing.
    There,
    /// Nothing, in a directory that is there.
    Absent,
    /// It was not looked up, or the directory is not there either.
    Unknown,
}

/// Where relative paths and `~` start, looked up once for a decision.
#[derive(Debug, Default)]
pub(crate) struct Starts<'a> {
    /// The directory that is worked in, where it is not that of the program.
    working_dir: Option<Start<'a>>,
    program_dir: Start<'a>,
    home: Start<'a>,
}

/// A directory, looked up when it is first needed.
///
/// `None` in `location` is a directory that was not given, or one that cannot be
/// looked up.
#[derive(Debug, Default)]
struct Start<'a> {
    text: Option<&'a str>,
    location: OnceCell<Option<Location>>,
}

impl Start<'_> {
    /// Looks the file system up the first time, and not again within a decision:
    /// all parts are judged by one answer.
    fn get(&self) -> Option<&Location> {
        let look = || self.text.and_then(|it| absolute_location(it).ok());
        self.location.get_or_init(look).as_ref()
    }
}

impl<'a> Starts<'a> {
    /// Of a call.
    pub(crate) fn new(request: &Request<'a>) -> Self {
        let start = |text| Start { text, location: OnceCell::new() };
        let (working_dir, program_dir) = (request.working_dir_text(), request.program_dir_text());
        Self {
            working_dir: (working_dir != program_dir).then(|| start(working_dir)),
            program_dir: start(program_dir),
            home: start(request.home_text()),
        }
    }

    /// Where the working directory leads, if that is another place.
    pub(crate) fn real_working_dir(&self) -> Option<&str> {
        let dir = self.working_dir.as_ref().unwrap_or(&self.program_dir);
        dir.get().and_then(Location::elsewhere)
    }

    /// Where the directory of the program leads, if that is another place.
    pub(crate) fn real_program_dir(&self) -> Option<&str> {
        self.program_dir.get().and_then(Location::elsewhere)
    }

    /// Where the home directory leads, if that is another place.
    pub(crate) fn real_home(&self) -> Option<&str> {
        self.home.get().and_then(Location::elsewhere)
    }

    /// Looks a path up. `Err`: why it cannot be told where it leads.
    ///
    /// An end that does not exist is taken as it is written; `..` behind it is an
    /// error, since what it would lead to is not known.
    pub(crate) fn locate(&self, path: &str) -> Result<Location, &'static str> {
        let (start, rest) = self.split(path)?;
        let (resolved, end, on_the_way) = match start {
            Some(it) => resolve(&it.resolved, it.end, rest)?,
            None => resolve("", End::There, rest)?,
        };
        Ok(Location { written: written(start, rest), resolved, on_the_way, end })
    }

    /// A path by its text alone, for rules that ask or deny where
    /// [`locate`](Self::locate) cannot tell.
    ///
    /// Links are not followed. `None` where its start is not known, and for a text
    /// that is no path.
    pub(crate) fn by_text(&self, path: &str) -> Option<Location> {
        let (start, rest) = self.split(path).ok()?;
        let written = written(start, rest);
        Some(Location {
            resolved: written.clone(),
            written,
            on_the_way: Vec::new(),
            end: End::Unknown,
        })
    }

    /// Where a path starts, and what follows.
    ///
    /// `~name` is refused: which directory that is only the system's user database
    /// says.
    fn split<'p>(&'p self, path: &'p str) -> Result<(Option<&'p Location>, &'p str), &'static str> {
        if path.is_empty() || path.contains('\0') {
            return Err("it is no path");
        }
        if path.len() > MAX_BYTES {
            return Err(TOO_LONG);
        }
        if path == "~" || path.starts_with("~/") {
            let home = self.home.get().ok_or(NO_HOME)?;
            return Ok((Some(home), &path[1..]));
        }
        if path.starts_with('~') {
            return Err(OTHER_HOME);
        }
        if path.starts_with('/') {
            return Ok((None, path));
        }
        let dir = self.program_dir.get();
        Ok((Some(dir.ok_or(NO_START)?), path))
    }
}

impl Location {
    /// Where it leads, if that is another place than it is written.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        (self.resolved != self.written).then_some(&*self.resolved)
    }
}

/// Whether nothing is at an absolute path, in a directory that there is. Nothing
/// else counts, such as a directory that may not be read.
#[cfg(feature = "bash")]
pub(crate) fn is_absent(path: &str) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_err_and(|it| it.kind() == io::ErrorKind::NotFound)
        && Path::new(path).parent().is_some_and(Path::is_dir)
}

/// Looks an absolute path up.
pub(crate) fn absolute_location(path: &str) -> Result<Location, &'static str> {
    Starts::default().locate(path)
}

/// The text of a path behind the text of its start.
fn written(start: Option<&Location>, rest: &str) -> String {
    match start {
        Some(start) => normalise(&[&start.written, "/", rest].concat()),
        None => normalise(rest),
    }
}

/// Takes `.`, `..` and repeated slashes out of an absolute path, by its text.
///
/// `..` at the root stays there, as in the kernel. The parts of links are not known
/// here: `a/../b` is `b` although the link `a` may lead elsewhere, which
/// [`Location::resolved`] has right.
pub(crate) fn normalise(path: &str) -> String {
    let mut res = String::with_capacity(path.len() + 1);
    for part in split(path) {
        match part {
            ".." => res.truncate(res.rfind('/').unwrap_or(0)),
            it => {
                res.push('/');
                res.push_str(it);
            }
        }
    }
    if res.is_empty() {
        res.push('/');
    }
    res
}

/// A directory with its path in one form, where it is not: without `.` and empty
/// parts, which patterns that start there are compared without. `..` stays, since a
/// link may stand before it.
pub(crate) fn tidied(dir: &Path) -> Option<PathBuf> {
    let text = dir.to_str().filter(|it| it.starts_with('/'))?;
    let is_odd = text.contains("//") || text.contains("/./") || text.ends_with("/.");
    let parts = || split(text).flat_map(|it| ["/", it]);
    is_odd.then(|| {
        PathBuf::from(
            parts()
                .chain(["/"].into_iter().filter(|_| split(text).next().is_none()))
                .collect::<String>(),
        )
    })
}

/// The path behind a directory that is already resolved, where it is there and leads
/// where its text says: nothing is followed then. `None` is no answer.
#[cfg(target_os = "linux")]
fn link_free(start: &str, of_start: End, path: &str) -> Option<String> {
    let mut res = String::with_capacity(start.len() + path.len() + 1);
    res.push_str(start);
    let mut parts = 0..MAX_STEPS;
    for part in split(path) {
        parts.next()?;
        if part == ".." {
            return None;
        }
        res.push('/');
        res.push_str(part);
    }
    let is_looked_up = of_start == End::There && res.len() > start.len();
    let found = is_looked_up && flyto_diagnostics::files::is_link_free(Path::new(&res));
    found.then_some(res)
}

/// Other systems tell it part by part.
#[cfg(not(target_os = "linux"))]
fn link_free(_start: &str, _of_start: End, _path: &str) -> Option<String> {
    None
}

/// Follows a path from a directory that is already resolved.
///
/// Follows part by part, as path_resolution(7) does; `start` has no link in it, and `of_start` says
/// whether it is there.
///
/// # Errors
///
/// Too many parts or links, a link or directory that cannot be read, a target that
/// is not UTF-8, and `..` behind a part that does not exist.
fn resolve(
    start: &str,
    of_start: End,
    path: &str,
) -> Result<(String, End, Vec<String>), &'static str> {
    let mut done = start.trim_end_matches('/').to_owned();
    if let Some(whole) = link_free(&done, of_start, path) {
        return Ok((whole, End::There, Vec::new()));
    }
    let mut todo: VecDeque<String> = split(path).map(str::to_owned).collect();
    let mut on_the_way = Vec::new();
    let mut missing = false;
    let mut end = of_start;
    let (mut n_steps, mut n_links) = (0, 0);
    while let Some(part) = todo.pop_front() {
        n_steps += 1;
        if n_steps > MAX_STEPS {
            return Err(TOO_MANY_PARTS);
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
            end = End::Unknown;
            done = next;
            continue;
        }
        match fs::symlink_metadata(Path::new(&next)) {
            Ok(found) if found.file_type().is_symlink() => {
                if is_of_process(&next) {
                    return Err(UNREADABLE);
                }
                n_links += 1;
                if n_links > MAX_LINKS {
                    return Err("the path has too many links");
                }
                let behind = todo.iter().flat_map(|it| ["/", it]);
                on_the_way.push(normalise(&[&*next].into_iter().chain(behind).collect::<String>()));
                let target = fs::read_link(Path::new(&next)).map_err(|_| UNREADABLE)?;
                let target = target.to_str().ok_or(UNREADABLE)?;
                if target.len() > MAX_BYTES {
                    return Err(TOO_LONG);
                }
                if target.starts_with('/') {
                    done.clear();
                    end = End::There;
                }
                for part in split(target).rev() {
                    todo.push_front(part.to_owned());
                }
            }
            Ok(_) => {
                end = End::There;
                done = next;
            }
            // A process that is not there yet, or a descriptor that the call opens itself, may lead anywhere.
            Err(err)
                if err.kind() == io::ErrorKind::NotFound
                    && names_process(&next)
                    && leads_out_of_process(&next, &todo) =>
            {
                return Err(UNREADABLE);
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                missing = true;
                end = match end {
                    End::There => End::Absent,
                    End::Absent | End::Unknown => End::Unknown,
                };
                done = next;
            }
            Err(err) if cannot_be(&err) => return Err(NO_SUCH),
            Err(_) => return Err(UNREADABLE),
        }
    }
    Ok((if done.is_empty() { "/".to_owned() } else { done }, end, on_the_way))
}

const UNREADABLE: &str = "it cannot be told where the path leads";
const TOO_MANY_PARTS: &str = "the path has too many parts";
const TOO_LONG: &str = "the path is too long";
const NO_SUCH: &str = "it leads through what is no directory";
const NO_HOME: &str = "the home directory is not known";
const OTHER_HOME: &str = "it may be the home directory of another user";
const NO_START: &str = "the directory it is relative to is not known";

/// Whether a path that cannot be located for this reason is one that a program can
/// open all the same.
pub(crate) fn may_be_opened(why: &str) -> bool {
    [UNREADABLE, TOO_MANY_PARTS, TOO_LONG, NO_HOME, OTHER_HOME, NO_START].contains(&why)
}

/// Whether a link leads elsewhere for each process that follows it, as
/// `/proc/1/cwd` does ([proc(5)]).
///
/// [proc(5)]: https://man7.org/linux/man-pages/man5/proc.5.html
fn is_of_process(link: &str) -> bool {
    names_process(link) && link.matches('/').count() > 2
}

/// Whether a link of a process is named, which leads anywhere (proc(5)): something behind one, or a descriptor beside
/// the first three.
fn leads_out_of_process(path: &str, behind: &VecDeque<String>) -> bool {
    let parts = path.split('/').chain(behind.iter().map(String::as_str));
    let mut of_link =
        parts.skip_while(|it| !matches!(*it, "cwd" | "exe" | "fd" | "map_files" | "ns" | "root"));
    match of_link.next() {
        Some("cwd" | "exe" | "root") => of_link.next().is_some(),
        Some("fd") => of_link.next().is_some_and(|it| !matches!(it, "0" | "1" | "2")),
        Some(_) => of_link.nth(1).is_some(),
        None => false,
    }
}

/// Whether a path without links is that of a process, or lies below it.
fn names_process(path: &str) -> bool {
    let process = path.strip_prefix("/proc/").and_then(|it| it.split('/').next()).unwrap_or("");
    !process.is_empty() && process.bytes().all(|it| it.is_ascii_digit())
}

/// Whether there can be nothing of that name: behind a file, and where no file
/// system takes the name.
fn cannot_be(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
}

/// The parts of a path, without empty ones and `.`.
fn split(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|it| !it.is_empty() && *it != ".")
}
