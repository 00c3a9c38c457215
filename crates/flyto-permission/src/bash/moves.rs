//! Changes of directory: where relative paths of a line may start.
//!
//! Which of its changes a line makes before a command is not followed. Each of them
//! may have been made or not, in any order, so a line with up to [`MAX_MOVES`]
//! literal ones has a short list of directories. Of a line with more, with one that
//! is not literal or one in a loop or a function, where it could be made twice,
//! nothing is known. Nor is it of one that sets a variable by which the shell finds
//! the directory.

use super::{Analysis, Case, Known, Word};

/// Variables in which the shell looks up what a tilde at the start of a word stands for
/// (`~`, `~+`, `~-`).
pub(super) const OF_TILDE: &[&str] = &["HOME", "PWD", "OLDPWD"];
/// Directories in which `cd` and `pushd` look a name up (POSIX, `cd`).
const SEARCHED: &str = "CDPATH";

/// Most changes of one line whose combinations are listed: 16 directories.
const MAX_MOVES: usize = 3;
/// Most directories that a line may be in. Of one with more nothing is known.
const MAX_DIRECTORIES: usize = 64;
/// Most combinations of changes that are followed, of which several may lead to one directory.
const MAX_COMBINED: usize = 4096;

/// One change of directory.
#[derive(Debug, Clone)]
pub(super) enum Move {
    /// To the directory that this word names.
    To(Word),
    /// Back to one that the line was in before.
    Back,
    /// Anywhere.
    Unknown,
}

impl Move {
    /// To a directory; anywhere for one that is not known.
    pub(super) fn to(dir: Option<&str>) -> Self {
        dir.map_or(Self::Unknown, |it| Self::To(Word::literal_of(it)))
    }

    /// `cd`, `pushd` or `popd`. `words` begin with the name.
    ///
    /// `cd -` leads to the directory in a variable, which may come from outside.
    pub(super) fn of(name: &str, words: &[Word]) -> Self {
        let mut at = 1;
        while let Some(option) = words.get(at).and_then(Word::literal) {
            let is_option = option.len() > 1 && option.starts_with('-');
            if option == "--" {
                at += 1;
                break;
            }
            if !is_option || option[1..].starts_with(|it: char| it.is_ascii_digit()) {
                break;
            }
            if !option[1..].bytes().all(|it| b"LPen".contains(&it)) {
                return Self::Unknown;
            }
            at += 1;
        }
        let is_rotation = |it: &str| {
            it.strip_prefix(['+', '-'])
                .is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
        };
        match (name, words.get(at)) {
            ("cd", None) => Self::to(Some("~")),
            (_, None) => Self::Back,
            ("popd", Some(_)) => Self::Back,
            ("pushd", Some(word)) if word.literal().is_some_and(is_rotation) => Self::Back,
            (_, Some(word)) if word.literal() == Some("-") => Self::Unknown,
            (_, Some(word)) => Self::To(word.clone()),
        }
    }
}

impl Analysis {
    /// Directories in which a command of the line may run beside the one it starts
    /// in, as they are written.
    ///
    /// Relative ones start at that one. One with `..` behind a link counts as a
    /// shell reads it, and as the system does. `None` where a change leads to where
    /// it is not known.
    pub(crate) fn directories(&self, known: &Known<'_>) -> Option<Vec<String>> {
        let mut targets: Vec<Vec<String>> = Vec::new();
        for command in self.commands.iter().filter(|it| !it.moves.is_empty()) {
            for it in &command.moves {
                let word = match it {
                    Move::To(word) => word,
                    Move::Back => continue,
                    Move::Unknown => return None,
                };
                if command.repeated || targets.len() == MAX_MOVES {
                    return None;
                }
                let cases = known.cases(word)?;
                if !cases.iter().all(|it| it.is_literal() && self.leads_where_it_says(it)) {
                    return None;
                }
                targets.push(cases.into_iter().map(Case::into_text).collect());
            }
        }
        let mut res = Combined { directories: Vec::new(), n_left: MAX_COMBINED };
        res.add("", &targets, &mut vec![false; targets.len()])?;
        Some(res.directories)
    }
}

impl Analysis {
    /// Whether no variable that the line sets has the shell take another directory for this one.
    fn leads_where_it_says(&self, target: &Case) -> bool {
        let text = target.text.as_str();
        let is_searched = !text.starts_with(['/', '~'])
            && !matches!(text, "." | "..")
            && !text.starts_with("./")
            && !text.starts_with("../");
        let is_other = is_searched && self.may_set(&[SEARCHED])
            || text.starts_with('~') && self.may_set(OF_TILDE);
        !is_other
    }
}

/// Directories that changes lead to, each once.
struct Combined {
    directories: Vec<String>,
    /// What is left of [`MAX_COMBINED`].
    n_left: usize,
}

impl Combined {
    /// Adds every directory that the changes lead to that are not `made` yet, from
    /// `start` on. `None` where they are too many.
    fn add(&mut self, start: &str, targets: &[Vec<String>], made: &mut [bool]) -> Option<()> {
        for (i, cases) in targets.iter().enumerate() {
            if made[i] {
                continue;
            }
            made[i] = true;
            for target in cases.iter().filter(|it| !it.is_empty()) {
                self.n_left = self.n_left.checked_sub(1)?;
                let dir = match start.is_empty() || target.starts_with(['/', '~']) {
                    true => target.clone(),
                    false => format!("{start}/{target}"),
                };
                for dir in [&dir, &without_dots(&dir)] {
                    if !dir.is_empty() && !self.directories.contains(dir) {
                        self.directories.push(dir.clone());
                    }
                }
                if self.directories.len() > MAX_DIRECTORIES {
                    return None;
                }
                self.add(&dir, targets, made)?;
            }
            made[i] = false;
        }
        Some(())
    }
}

/// The directory as a shell counts it, which takes `..` out of the text and does
/// not ask where links lead.
fn without_dots(dir: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if !matches!(*last, "" | ".." | "~") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
