//! The processes above this one, as `/proc` shows them (proc(5)).
//!
//! The variable `FLYTO_SERVED_BY` tells a flyto that another one started it as a server. A command such as `env -i` drops it,
//! and cannot drop the processes above.
//!
//! The file of a process that the dynamic loader was started for (`/lib64/ld-linux-x86-64.so.2 flyto serve`) is the loader, so
//! such a process is told from one of `flyto` by itself, and not from another one of the loader. A chain of them behind a
//! `flyto` ends one process later.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Processes of this program above one that starts servers, at most: 1, since an agent that is a tool of one flyto has a
/// flyto of its own.
const MAX_ABOVE: usize = 1;

/// Ancestors that are looked at: 256; a terminal on a desktop has some ten. Where there are more, none of this program may be
/// among those that are not seen.
const MAX_STEPS: usize = 256;

/// Why this process starts no servers, by what is above it.
///
/// Where the system shows no ancestors there is no reason: without `/proc`, and across the edge of a PID namespace.
pub(crate) fn objection() -> Option<String> {
    objection_in(Path::new("/proc"))
}

fn objection_in(proc: &Path) -> Option<String> {
    let own = Process::of(proc, "self")?;
    let mut parent = own.parent;
    let mut n_above = 0;
    for _ in 0..MAX_STEPS {
        if parent == 0 {
            // None, or one of another PID namespace.
            return None;
        }
        let process = Process::of(proc, &parent.to_string())?;
        if process.runs_the_program_of(&own) {
            n_above += 1;
        }
        if n_above > MAX_ABOVE {
            return Some("two others of this program are above this one".to_owned());
        }
        parent = process.parent;
    }
    Some(format!("more than {MAX_STEPS} processes are above this one"))
}

/// What is read of a process. It may have ended meanwhile: then its descendants have another parent.
struct Process {
    parent: u32,
    /// Of the file that it was started from, without directories: 15 bytes at most.
    name: Vec<u8>,
    /// Device and inode of that file. `None` where the process may not be looked into: another user's, or one outside of the
    /// sandbox that this one is in.
    file: Option<(u64, u64)>,
}

impl Process {
    fn of(proc: &Path, number: &str) -> Option<Self> {
        let dir = proc.join(number);
        let stat = fs::read(dir.join("stat")).ok()?;
        // The name is field 2, in parentheses, and may hold parentheses itself; the parent is field 4.
        let start = stat.iter().position(|it| *it == b'(')? + 1;
        let end = stat.iter().rposition(|it| *it == b')')?;
        let parent = str::from_utf8(stat.get(end + 2..)?).ok()?.split(' ').nth(1)?.parse().ok()?;
        let file = fs::metadata(dir.join("exe")).ok().map(|it| (it.dev(), it.ino()));
        Some(Self { parent, name: stat.get(start..end)?.to_owned(), file })
    }

    fn runs_the_program_of(&self, other: &Self) -> bool {
        match (self.file, other.file) {
            (Some(file), Some(others)) => file == others,
            _ => self.name == other.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` with a chain of processes, this one first: the file that each runs, or none where it cannot be told, and its name.
    fn check(chain: &[(Option<&str>, &str)], objection: Option<&str>) {
        let dir = tempfile::tempdir().unwrap();
        for (at, (file, name)) in chain.iter().enumerate() {
            let number = if at == 0 { "self".to_owned() } else { at.to_string() };
            let parent = if at + 1 == chain.len() { 0 } else { at + 1 };
            let process = dir.path().join(number);
            fs::create_dir(&process).unwrap();
            fs::write(process.join("stat"), format!("{at} ({name}) S {parent} 1 1")).unwrap();
            if let Some(file) = file {
                let file = dir.path().join(file);
                fs::write(&file, "").unwrap();
                std::os::unix::fs::symlink(file, process.join("exe")).unwrap();
            }
        }
        assert_eq!(objection_in(dir.path()).as_deref(), objection, "{chain:?}");
    }

    const TWO: Option<&str> = Some("two others of this program are above this one");
    const OWN: (Option<&str>, &str) = (Some("flyto"), "flyto");
    const SHELL: (Option<&str>, &str) = (Some("sh"), "sh");

    #[test]
    fn two_others_above_are_an_objection() {
        check(&[OWN, SHELL], None);
        check(&[OWN, SHELL, OWN, SHELL, SHELL], None);
        check(&[OWN, SHELL, OWN, SHELL, OWN, SHELL], TWO);
        check(&[OWN, OWN, OWN], TWO);
        // Another program of this name is none of it, and this one under another name is.
        check(&[OWN, (Some("wrapper"), "flyto"), OWN, (Some("wrapper"), "flyto")], None);
        check(&[OWN, (Some("flyto"), ") R (x"), (Some("flyto"), "exe")], TWO);
    }

    #[test]
    fn a_chain_by_the_loader_ends_one_process_later() {
        let loader = (Some("ld-linux-x86-64.so.2"), "ld-linux-x86-64");
        check(&[loader, OWN, SHELL], None);
        check(&[loader, loader, OWN, SHELL], None);
        check(&[loader, loader, loader, OWN, SHELL], TWO);
        check(&[OWN, loader, loader, loader], None);
    }

    #[test]
    fn a_process_that_cannot_be_looked_into_counts_by_its_name() {
        let hidden = (None, "flyto");
        check(&[OWN, hidden, SHELL, hidden], TWO);
        check(&[hidden, OWN, OWN], TWO);
        check(&[OWN, hidden, (None, "sh")], None);
    }

    #[test]
    fn a_chain_that_is_too_long_to_be_seen_is_an_objection() {
        let mut chain = vec![OWN];
        chain.resize(MAX_STEPS, SHELL);
        check(&chain, None);
        chain.resize(MAX_STEPS + 3, SHELL);
        check(&chain, Some("more than 256 processes are above this one"));
    }

    #[test]
    fn where_nothing_is_shown_there_is_no_objection() {
        assert_eq!(objection_in(Path::new("/nowhere")), None);
    }
}
