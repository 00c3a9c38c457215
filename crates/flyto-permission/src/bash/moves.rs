//! Changes of directory: where relative paths of a line may start.
//!
//! Which of its changes a line makes before a command is not followed. Each of them
//! may have been made or not, in any order, so a line with up to [`MAX_MOVES`]
//! literal ones has a short list of directories. Of a line with more, with one that
//! is not literal or one in a loop or a function, where it could be made twice,
//! nothing is known.

use super::{Analysis, Case, Known, Word};

/// Most changes of one line whose combinations are listed: 16 directories.
const MAX_MOVES: usize = 3;

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
                if !cases.iter().all(Case::is_literal) {
                    return None;
                }
                targets.push(cases.into_iter().map(Case::into_text).collect());
            }
        }
        let mut res = Vec::new();
        combine("", &targets, &mut vec![false; targets.len()], &mut res);
        (res.len() <= 64).then_some(res)
    }
}

/// Adds every directory that the changes lead to that are not `made` yet, from
/// `start` on.
fn combine(start: &str, targets: &[Vec<String>], made: &mut [bool], res: &mut Vec<String>) {
    for (i, cases) in targets.iter().enumerate() {
        if made[i] {
            continue;
        }
        made[i] = true;
        for target in cases.iter().filter(|it| !it.is_empty()) {
            let dir = match start.is_empty() || target.starts_with(['/', '~']) {
                true => target.clone(),
                false => format!("{start}/{target}"),
            };
            for dir in [&dir, &without_dots(&dir)] {
                if !dir.is_empty() && !res.contains(dir) {
                    res.push(dir.clone());
                }
            }
            combine(&dir, targets, made, res);
        }
        made[i] = false;
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
