//! What a word may become once the line runs.
//!
//! Of what the shell replaces, this is known:
//!
//! | in a word | becomes |
//! | --- | --- |
//! | `{a,b}` | each case; also itself, since not every shell reads it |
//! | `{1..9}`, `$?`, `$#`, `$$`, `$!`, `$((…))` | any text without a slash |
//! | `*`, `?`, `[…]` | a wildcard, which is left in the text |
//! | `"$(cat <<'EOF' …)"` | the lines of the document, where the line defines no function |
//! | `$HOME`, `$PWD` | their directories, where the line sets neither |
//! | `$x` in `for x in WORDS; do …; done` | each of the words, where the line sets `x` by loops alone |
//! | anything else | any text |
//!
//! A value that may split into several words, or that holds a wildcard, is any text
//! where it stands without quotes: the shell splits the name of a file at its blanks
//! and reads the wildcards in its parts. After `for f in src/*.rs`, `$f` may be the words
//! `src/a`, `.env` and `x.rs`, and `"$f"` is one word that begins with `src/`. Which names
//! there are now is no answer, since a file may be made before the line runs.

use std::{
    cell::{OnceCell, RefCell},
    collections::{HashMap, HashSet},
};

use super::{Analysis, Word, base_name, variables::is_name, word::Mark};

/// Most cases of one word. A word with more is any text.
const MAX_CASES: usize = 64;
/// How deep loops over the variables of loops are followed.
const MAX_LOOPS: usize = 8;

/// One text that a word may become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Case {
    /// With wildcards as they are written; without parts that may be any text.
    pub(crate) text: String,
    /// It holds a wildcard.
    pub(crate) is_glob: bool,
    /// The byte at which a part stands that may be any text.
    pub(crate) open_at: Option<usize>,
}

impl Case {
    /// Whether the program gets exactly this text.
    pub(crate) fn is_literal(&self) -> bool {
        !self.is_glob && self.open_at.is_none()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn open(&mut self) {
        self.open_at.get_or_insert(self.text.len());
    }

    /// Appends a value. Without quotes it may split.
    fn append(&mut self, value: &Self, quoted: bool) {
        let is_one_word =
            value.is_literal() && !value.text.contains([' ', '\t', '\n', '*', '?', '[', '\\']);
        if !quoted && !is_one_word {
            return self.open();
        }
        if let Some(at) = value.open_at {
            self.open_at.get_or_insert(self.text.len() + at);
        }
        self.text.push_str(&value.text);
        self.is_glob |= value.is_glob;
    }
}

/// What is known of the variables of a line.
pub(crate) struct Known<'a> {
    analysis: &'a Analysis,
    home: Option<&'a str>,
    working_dir: Option<&'a str>,
    /// Names that a word of the line may set.
    set: OnceCell<HashSet<&'a str>>,
    /// Values of variables of loops; `None` for one of which they are not known.
    values: RefCell<HashMap<String, Option<Vec<Case>>>>,
}

impl<'a> Known<'a> {
    /// `working_dir` is that in which the line starts.
    pub(crate) fn new(
        analysis: &'a Analysis,
        home: Option<&'a str>,
        working_dir: Option<&'a str>,
    ) -> Self {
        let values = RefCell::default();
        Self { analysis, home, working_dir, set: OnceCell::new(), values }
    }

    /// What a word may become; `None` for one that may be any text.
    ///
    /// Never empty.
    pub(crate) fn cases(&self, word: &Word) -> Option<Vec<Case>> {
        self.cases_within(word, 0)
    }

    fn cases_within(&self, word: &Word, depth: usize) -> Option<Vec<Case>> {
        let parts = parts(word);
        let mut res = Vec::new();
        let mut n_left = MAX_CASES;
        for parts in braces(&parts, &mut n_left)? {
            res.extend(self.replace(&parts, depth)?);
            if res.len() > MAX_CASES {
                return None;
            }
        }
        Some(res)
    }

    /// Puts values in the place of variables.
    fn replace(&self, parts: &[Part<'_>], depth: usize) -> Option<Vec<Case>> {
        let mut res = vec![Case::default()];
        for part in parts {
            match part {
                Part::Char(it, mark) => {
                    for case in &mut res {
                        case.text.push(*it);
                        case.is_glob |= *mark == Some(&Mark::Wildcard);
                    }
                }
                Part::Digits => {
                    for case in &mut res {
                        case.text.push('*');
                        case.is_glob = true;
                    }
                }
                Part::Mark(Mark::Variable { name, quoted, in_loop }) => {
                    let Some(values) = self.values(name, *in_loop, depth) else {
                        res.iter_mut().for_each(Case::open);
                        continue;
                    };
                    let mut next = Vec::new();
                    for (case, value) in
                        res.iter().flat_map(|it| values.iter().map(move |v| (it, v)))
                    {
                        let mut case = case.clone();
                        case.append(value, *quoted);
                        next.push(case);
                        if next.len() > MAX_CASES {
                            return None;
                        }
                    }
                    res = next;
                }
                Part::Mark(Mark::Document { slot }) => {
                    let lines = self.analysis.heredoc(*slot);
                    match lines.filter(|_| !self.analysis.defines_functions) {
                        Some(it) => {
                            let text = it.trim_end_matches('\n');
                            res.iter_mut().for_each(|case| case.text.push_str(text));
                        }
                        None => res.iter_mut().for_each(Case::open),
                    }
                }
                Part::Mark(_) => res.iter_mut().for_each(Case::open),
            }
        }
        Some(res)
    }

    /// Values of a variable, where all are known.
    fn values(&self, name: &str, in_loop: bool, depth: usize) -> Option<Vec<Case>> {
        if self.set().contains(name) {
            return None;
        }
        let one = |text: &str| vec![Case { text: text.to_owned(), ..Case::default() }];
        if in_loop {
            if let Some(found) = self.values.borrow().get(name) {
                return found.clone();
            }
            let found = if depth < MAX_LOOPS { self.of_loops(name, depth) } else { None };
            self.values.borrow_mut().insert(name.to_owned(), found.clone());
            return found;
        }
        let is_of_loop = self.analysis.loops.iter().any(|it| it.name == name);
        let moves = self.analysis.commands.iter().any(|it| it.moved);
        match name {
            "HOME" if !is_of_loop && !self.changes_user() => self.home.map(one),
            "PWD" if !is_of_loop && !moves => self.working_dir.map(one),
            _ => None,
        }
    }

    /// All words that loops of this variable go over.
    fn of_loops(&self, name: &str, depth: usize) -> Option<Vec<Case>> {
        let mut res: Vec<Case> = Vec::new();
        for it in self.analysis.loops.iter().filter(|it| it.name == name) {
            for word in it.words.as_ref()? {
                for mut case in self.cases_within(word, depth + 1)? {
                    if case.text.starts_with('~') {
                        let rest = &case.text[1..];
                        let is_home = rest.is_empty() || rest.starts_with('/');
                        case.text = format!("{}{rest}", self.home.filter(|_| is_home)?);
                    }
                    if !res.contains(&case) {
                        res.push(case);
                    }
                    if res.len() > MAX_CASES {
                        return None;
                    }
                }
            }
        }
        Some(res)
    }

    /// Names that the line may set by other means than a loop.
    fn set(&self) -> &HashSet<&'a str> {
        self.set.get_or_init(|| self.analysis.names_set().collect())
    }

    /// Whether a program of the line may have another home directory than the line.
    fn changes_user(&self) -> bool {
        self.analysis.commands.iter().any(|command| {
            command.levels.iter().any(|it| {
                let words = command.words_from(it.start);
                let program = words.first().map_or("", Word::known_text);
                let name = base_name(program);
                let has_option = || words.get(1).is_some_and(|it| it.known_text().starts_with('-'));
                matches!(name, "sudo" | "doas" | "ssh") || (name == "env" && has_option())
            })
        })
    }
}

impl Analysis {
    /// Names that the line may set by other means than a loop: each word that is a
    /// name, or starts with `NAME=`, counts as a word of a command such as `read`
    /// or `export`.
    fn names_set(&self) -> impl Iterator<Item = &str> {
        let words = self.commands.iter().flat_map(|it| &it.words);
        let texts = words.map(|it| {
            let text = it.known_text();
            text.strip_prefix("-v").unwrap_or(text)
        });
        let names = texts.map(|it| it.split(['=', '+', '[']).next().unwrap_or(it));
        let assigned = self.assigned.iter().map(String::as_str);
        names.filter(|it| is_name(it)).chain(assigned)
    }

    /// Whether the line may set one of these variables, also by a loop.
    pub(super) fn may_set(&self, names: &[&str]) -> bool {
        self.names_set().any(|it| names.contains(&it))
            || self.loops.iter().any(|it| names.contains(&it.name.as_str()))
    }
}

/// A character, or what the shell replaces.
#[derive(Debug, Clone, Copy)]
enum Part<'w> {
    Char(char, Option<&'w Mark>),
    Mark(&'w Mark),
    /// A text without a slash.
    Digits,
}

fn parts(word: &Word) -> Vec<Part<'_>> {
    let mut res = Vec::new();
    let mut marks = word.marks().iter().peekable();
    for (at, it) in word.known_text().char_indices() {
        let mut of_char = None;
        while let Some((_, mark)) = marks.next_if(|(mark_at, _)| *mark_at <= at) {
            match mark {
                Mark::Wildcard | Mark::Open | Mark::Comma | Mark::Close => of_char = Some(mark),
                Mark::Number => res.push(Part::Digits),
                Mark::Rest => {
                    res.push(Part::Mark(mark));
                    return res;
                }
                Mark::Variable { .. } | Mark::Document { .. } | Mark::Unknown => {
                    res.push(Part::Mark(mark));
                }
            }
        }
        res.push(Part::Char(it, of_char));
    }
    res.extend(marks.map(|(_, mark)| match mark {
        Mark::Number => Part::Digits,
        mark => Part::Mark(mark),
    }));
    res
}

/// The words that braces make of one, the word itself among them.
///
/// `n_left` bounds their number; `None` where they are more.
fn braces<'w>(parts: &[Part<'w>], n_left: &mut usize) -> Option<Vec<Vec<Part<'w>>>> {
    let mut todo = vec![parts.to_vec()];
    let mut res = Vec::new();
    while let Some(parts) = todo.pop() {
        *n_left = n_left.checked_sub(1)?;
        if let Some(Brace { open, commas, close }) = first_brace(&parts) {
            let (before, behind) = (&parts[..open], &parts[close + 1..]);
            let starts = std::iter::once(open).chain(commas.iter().copied()).map(|it| it + 1);
            let ends = commas.iter().copied().chain([close]);
            for (start, end) in starts.zip(ends) {
                let inner: &[Part<'_>] = match commas.is_empty() {
                    true => &[Part::Digits],
                    false => &parts[start..end],
                };
                todo.push([before, inner, behind].concat());
                if todo.len() > MAX_CASES {
                    return None;
                }
            }
        }
        res.push(parts);
    }
    Some(res)
}

/// A brace with more than one case.
struct Brace {
    open: usize,
    /// Without any it is a sequence, as `{1..3}`.
    commas: Vec<usize>,
    close: usize,
}

/// The first brace that has cases; `{a}` is none, and what is not closed neither.
fn first_brace(parts: &[Part<'_>]) -> Option<Brace> {
    let is_dot = |it: Option<&Part<'_>>| matches!(it, Some(Part::Char('.', _)));
    let mut res: Option<Brace> = None;
    // Those that are open here, each with whether two dots stand in it.
    let mut open: Vec<(Brace, bool)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if let (Some((_, has_dots)), true) =
            (open.last_mut(), is_dot(Some(part)) && is_dot(parts.get(at + 1)))
        {
            *has_dots = true;
        }
        let Part::Char(_, Some(mark)) = part else { continue };
        match (mark, open.last_mut()) {
            (Mark::Open, _) => {
                open.push((Brace { open: at, commas: Vec::new(), close: at }, false));
            }
            (Mark::Comma, Some((brace, _))) => brace.commas.push(at),
            (Mark::Close, Some(_)) => {
                let Some((brace, has_dots)) = open.pop() else { continue };
                let is_first = res.as_ref().is_none_or(|it| brace.open < it.open);
                if is_first && (has_dots || !brace.commas.is_empty()) {
                    res = Some(Brace { close: at, ..brace });
                }
            }
            _ => {}
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let analysis = super::super::analyse_text(line);
        let known = Known::new(&analysis, Some("/home/ada"), Some("/project"));
        let word = analysis.commands.last().and_then(|it| it.words.last()).expect("a word");
        let shown = match known.cases(word) {
            None => "any".to_owned(),
            Some(cases) => {
                let shown = cases.iter().map(|it| match it.open_at {
                    Some(at) => format!("{}$", &it.text[..at]),
                    None => format!("{}{}", it.text, if it.is_glob { " glob" } else { "" }),
                });
                let mut shown: Vec<_> = shown.collect();
                shown.sort();
                shown.join(" | ")
            }
        };
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn braces_are_each_case_and_themselves() {
        check("cat a{b,c}", "ab | ac | a{b,c}");
        check("cat secrets{,}/key", "secrets/key | secrets/key | secrets{,}/key");
        check("cat {a,b{c,d}}", "a | bc | bd | b{c,d} | {a,b{c,d}}");
        check("cat {a,{b}", "{a,{b}");
        check("cat {a}", "{a}");
        check("cat '{a,b}'", "{a,b}");
        check("cat {a,'b,c'}", "a | b,c | {a,b,c}");
        check("cat x{1..9}", "x* glob | x{1..9}");
        check("cat {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "any");
        check("cat {a,$x}", "$ | a | {a,$");
    }

    #[test]
    fn variables_of_loops_are_their_words() {
        check("for d in a b; do cat $d/k", "a/k | b/k");
        check("for d in a{b,c}; do cat $d", "ab | ac | a{b,c}");
        check("for d in ~/a; do cat x$d", "x/home/ada/a");
        check("for d in *.rs; do cat $d", "$");
        check("for d in *.rs; do cat \"$d\"", "*.rs glob");
        check("for d in 'a b'; do cat $d", "$");
        check("for d in a; do for e in $d/b; do cat $e/c", "a/b/c");
        check("for d in a; do d=b; cat $d", "$");
        check("for d in a; do read d; cat $d", "$");
        check("for d in a; do printf -vd b; cat $d", "$");
        check("for d in a; do : ${d:=b}; cat $d", "$");
        check("for d in a; do :; done; cat $d", "$");
        check("for d; do cat $d", "$");
        check("select d in a; do cat $d", "$");
        check("for d in $x; do cat $d", "$");
        check("for d in a; do cat ${d} ${d%x}", "$");
        check("for d in a; do cat ${d}", "a");
    }

    #[test]
    fn directories_are_known_until_the_line_sets_them() {
        check("cat $HOME/a", "/home/ada/a");
        check("cat \"${PWD}/a\"", "/project/a");
        check("cd /srv; cat $PWD/a", "$");
        check("HOME=/x; cat $HOME/a", "$");
        check("HOME=/x; cat ~/a", "$");
        check("for HOME in /x; do cat ~/a; done", "$");
        check("sudo -u eve sh -c 'cat $HOME/a'", "$");
        check("cat $(pwd)/a", "$");
        check("cat out.$$", "out.* glob");
    }

    #[track_caller]
    fn check_directories(line: &str, expected: &str) {
        let analysis = super::super::analyse_text(line);
        let known = Known::new(&analysis, Some("/home/ada"), Some("/project"));
        let shown = analysis.directories(&known).map_or("any".to_owned(), |it| it.join(" | "));
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn literal_changes_of_directory_are_followed() {
        check_directories("ls", "");
        check_directories("cd a; ls", "a");
        check_directories("(cd -P -- a && ls); ls", "a");
        check_directories("pushd a; popd; ls", "a");
        check_directories("cd a; cd b; ls", "a | a/b | b | b/a");
        check_directories("cd; ls", "~");
        check_directories("cd a/b/..; ls", "a/b/.. | a");
        check_directories("cd ../a; ls", "../a");
        check_directories("cd $HOME/a; ls", "/home/ada/a");
        check_directories("CDPATH=/srv; cd ./a; ls", "./a");
        check_directories("env -C a --chdir=b ls", "a | a/b | b | b/a");
        check_directories("sh -c 'cd a; ls'", "a");
        for line in [
            "cd $x",
            "cd -",
            "CDPATH=/srv; cd a",
            "CDPATH=/srv cd a",
            "export CDPATH; cd a",
            "read CDPATH <f; pushd a",
            "HOME=/srv; cd",
            "HOME=/srv; cd ~/a",
            "cd a*",
            "cd -q",
            "while x; do cd a; done",
            "f() { cd a; }",
            "for d in a; do cd a; done",
            "cd a; cd b; cd c; cd d",
            "env -C \"$x\" ls",
            "sudo -R /x ls",
            "trap 'cd a' EXIT",
        ] {
            check_directories(line, "any");
        }
    }
    /// Three changes with 60 cases each have more than a million combinations.
    #[test]
    fn changes_of_directory_with_many_cases_are_not_combined() {
        let cases = |start: &str| {
            let cases: Vec<_> = (0..60).map(|it| format!("{start}{it}")).collect();
            format!("cd {{{}}}", cases.join(","))
        };
        let line = [cases("a"), cases("b"), cases("c"), "ls".to_owned()].join("; ");
        check_directories(&line, "any");
        // Those of the other ones lead to the same few.
        let line = [cases("/a"), cases("/a"), cases("/a"), "ls".to_owned()].join("; ");
        check_directories(&line, "any");
    }
}
