//! Programs that a rule names by a path.
//!
//! `Bash(/bin/rm:*)` in `deny` holds for `/bin/rm` however it is spelled: `//bin/rm`,
//! `/usr/../bin/rm`, `cd /bin; ./rm`. What is compared are places: both paths from each
//! directory that they may start in, by their text and as their links lead. Rules that
//! allow are compared word by word, and are none of them.

use super::{Judge, command::Found};

/// Steps for a path that is looked up.
const LOOK_UP: usize = 64;

/// What a command's name may be.
enum Spelled {
    /// Absolute, or from the directory of the call's program.
    Paths(Vec<String>),
    /// A file of any directory.
    Anywhere,
}

impl<'a> Judge<'a> {
    /// First words of rules that ask or deny, beside `name` itself, by which they name
    /// the program at its path. Of a program whose directory is not known, one of the
    /// rules that have its name is noted as possible.
    pub(super) fn other_spellings(&self, name: &str, found: &mut Found<'a>) -> Vec<&'a str> {
        let base = name.rsplit('/').next().unwrap_or(name);
        let rules: Vec<&str> = self.index.programs_by_path(base).filter(|it| *it != name).collect();
        if rules.is_empty() || !name.contains('/') {
            return Vec::new();
        }
        let Spelled::Paths(paths) = self.spelled(name) else {
            let any = |it: &&str| self.index.by_words([Some(*it)].into_iter(), true).possible;
            found.possible = found.possible.or(rules.iter().find_map(any));
            return Vec::new();
        };
        let mut places = Vec::new();
        for path in &paths {
            self.add_places(path, &mut places);
        }
        let is_same = |rule: &&str| {
            let mut named = Vec::new();
            if rule.starts_with('/') || rule.starts_with("~/") {
                self.add_places(rule, &mut named);
            } else {
                let anchors = self.anchors();
                let dirs = [anchors.program_dir, anchors.working_dir].into_iter().flatten();
                for dir in dirs.chain(anchors.roots.iter().map(String::as_str)) {
                    self.add_places(&format!("{dir}/{rule}"), &mut named);
                }
            }
            named.iter().any(|it| places.contains(it))
        };
        rules.into_iter().filter(is_same).collect()
    }

    /// Whether each change of directory of the line leads to where it starts, as agents
    /// write `cd /project && ./run`.
    pub(super) fn stays(&self) -> bool {
        let Some(dirs) = &self.directories else { return false };
        let located = |path: &str| {
            let is_left = self.steps().take(LOOK_UP);
            self.starts.locate(path).ok().filter(|_| is_left).map(|it| it.resolved)
        };
        let start = located(".");
        start.is_some() && dirs.iter().all(|it| located(it) == start)
    }

    /// The paths that a program may be started by.
    fn spelled(&self, name: &str) -> Spelled {
        if name.starts_with('/') || name.starts_with("~/") {
            return Spelled::Paths(vec![name.to_owned()]);
        }
        // `~+` is the current directory, `~-` the one before, `~name` the home of a user.
        let name = name.strip_prefix("~+/").unwrap_or(name);
        match &self.directories {
            Some(dirs) if !name.starts_with('~') && self.anchors().program_dir.is_some() => {
                let moved = dirs.iter().map(|dir| format!("{dir}/{name}"));
                Spelled::Paths(std::iter::once(name.to_owned()).chain(moved).collect())
            }
            _ => Spelled::Anywhere,
        }
    }

    /// Adds a path as its text says, and as its links lead.
    fn add_places(&self, path: &str, places: &mut Vec<String>) {
        if !self.steps().take(LOOK_UP) {
            return;
        }
        let located = self.starts.locate(path).ok();
        if let Some(it) = located.or_else(|| self.starts.by_text(path)) {
            places.extend([it.written, it.resolved]);
        }
    }
}
