//! Isolation that a spec asks for. Each part is required once it is asked for.

use std::path::PathBuf;

/// What the program may reach on the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Network {
    /// Whatever the machine can reach.
    #[default]
    Host,
    /// Nothing.
    Off,
}

/// What the program may reach in the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filesystem {
    /// Whatever the user may reach.
    #[default]
    Host,
    /// The listed paths and what lies below them; nothing else.
    Grants {
        /// Paths that may be read and executed.
        read: Vec<PathBuf>,
        /// Paths that may be read and written.
        write: Vec<PathBuf>,
    },
}

/// How far the program is cut off from the machine it runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Isolation {
    /// The network.
    pub network: Network,
    /// The file system.
    pub filesystem: Filesystem,
}

impl Isolation {
    /// None at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the program may reach on the network.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Sets what the program may reach in the file system.
    #[must_use]
    pub fn filesystem(mut self, filesystem: Filesystem) -> Self {
        self.filesystem = filesystem;
        self
    }

    /// The stricter of two, field by field. Where both grant paths, a path must lie under a grant of
    /// both.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        Self {
            network: self.network.max(other.network),
            filesystem: match (&self.filesystem, &other.filesystem) {
                (Filesystem::Host, it) | (it, Filesystem::Host) => it.clone(),
                (
                    Filesystem::Grants { read: read_a, write: write_a },
                    Filesystem::Grants { read: read_b, write: write_b },
                ) => {
                    let all = |read: &[PathBuf], write: &[PathBuf]| [read, write].concat();
                    Filesystem::Grants {
                        read: common(&all(read_a, write_a), &all(read_b, write_b)),
                        write: common(write_a, write_b),
                    }
                }
            },
        }
    }
}

/// The deeper path of each pair in which one contains the other.
fn common(a: &[PathBuf], b: &[PathBuf]) -> Vec<PathBuf> {
    let mut res: Vec<PathBuf> = Vec::new();
    for one in a {
        for two in b {
            let deeper = match (one.starts_with(two), two.starts_with(one)) {
                (true, _) => one,
                (false, true) => two,
                (false, false) => continue,
            };
            if !res.contains(deeper) {
                res.push(deeper.clone());
            }
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_narrow_to_what_both_allow() {
        let grants = |read: &[&str], write: &[&str]| Filesystem::Grants {
            read: read.iter().map(PathBuf::from).collect(),
            write: write.iter().map(PathBuf::from).collect(),
        };
        let check = |a: Filesystem, b: Filesystem, expect: Filesystem| {
            let narrowed =
                Isolation::new().filesystem(a).narrowed_by(&Isolation::new().filesystem(b));
            assert_eq!(narrowed.filesystem, expect);
        };
        check(Filesystem::Host, grants(&["/a"], &[]), grants(&["/a"], &[]));
        check(grants(&["/a"], &[]), grants(&["/a/b", "/c"], &[]), grants(&["/a/b"], &[]));
        check(grants(&[], &["/w"]), grants(&["/w/x"], &[]), grants(&["/w/x"], &[]));
        check(grants(&["/a"], &[]), grants(&["/b"], &[]), grants(&[], &[]));
    }
}
