//! Words of commands, as paths and addresses.
//!
//! A word may be a path or an address for any program, so rules for files and hosts
//! that ask or deny are compared with each text that it may become ([`Known`]),
//! from each directory that the line may be in. What can be listed is compared one
//! by one; the rest is asked, unless the program is known to open no file and to
//! connect to nothing:
//!
//! | word | verdict where such a rule stands |
//! | --- | --- |
//! | literal | that of the rule that names it |
//! | a few literal cases, as `s{a,b}` | that of the rules that name one |
//! | a wildcard | ask, where it may stand for what a rule names, or for a link to it |
//! | one between quotes, which the program may read | ask, where it spells what a rule names |
//! | a pathspec of git, as `:/a` | ask, where a rule names it from the directory or a root |
//! | relative, behind a literal `cd` | ask, where a rule names it from one of the directories |
//! | anything else, as `$x`, or words that `xargs` appends | ask |

use super::{
    Judge, Source, cut,
    escape::unescaped,
    pattern::{MAX_GLOB_BYTES, path_of_pathspec},
    protected::may_touch_keys,
    reach::is_wild,
    text::{MAX_ENDS, is_quoting, is_separator, path_words, paths_of_addresses},
};
use crate::{
    Danger, DangerKind, Subject,
    bash::{Analysis, Case, Command, Input, Known, Word},
    glob::Glob,
    index::Narrows,
    location::{End, Location, is_absent, may_be_opened},
};

/// Most options of one command that name a directory, as `-C` does.
const MAX_OPTIONS: usize = 3;
/// How many bytes of a path are put behind a directory in a step.
const COPIED: usize = 16;

/// Where words of a line may lead.
pub(super) struct Places<'a> {
    pub(super) analysis: &'a Analysis,
    known: Known<'a>,
    /// Beside the one it starts in; `None` where any may be.
    directories: Option<Vec<String>>,
}

/// Directories in which one command may look words up.
struct Base<'c> {
    command: &'c Command,
    /// The line changes no directory, so a word is looked up where it starts.
    is_fixed: bool,
    /// Others, in which it may; `None` for any.
    others: Option<Vec<String>>,
    /// What is looked up may be no path.
    is_guess: bool,
}

/// What was found of the words of a command.
#[derive(Default)]
struct Found {
    touches_keys: bool,
    /// A word may be any path.
    has_open_path: bool,
    /// A word may be any address.
    has_open_host: bool,
    /// A relative path starts anywhere.
    has_open_start: bool,
}

impl<'a> Judge<'a> {
    pub(super) fn places<'b>(&mut self, analysis: &'b Analysis) -> Places<'b>
    where
        'a: 'b,
    {
        let request: &'a crate::Request<'a> = self.request;
        let known = Known::new(analysis, request.home_text(), request.program_dir_text());
        if std::mem::replace(&mut self.runs_once, analysis.runs_once()) != self.runs_once {
            // What was found of a path holds for lines of one kind.
            self.seen = Default::default();
        }
        let directories = match analysis.commands.iter().any(|it| it.moved) {
            true => analysis.directories(&known),
            false => Some(Vec::new()),
        };
        self.directories.clone_from(&directories);
        Places { analysis, known, directories }
    }

    /// Rules for files and hosts that ask or deny, for each word of a command;
    /// whether one leads to keys, which is a danger.
    pub(super) fn narrow_path_words(&mut self, command: &Command, places: &Places<'_>) -> bool {
        let n_bytes =
            places.directories.iter().flatten().map(|it| it.len() + COPIED).sum::<usize>();
        if !self.steps().take(n_bytes / COPIED) {
            return false;
        }
        let base = base(command, places);
        let mut found = Found::default();
        let only_mentions =
            !places.analysis.defines_functions() && command.only_mentions(self.runs_once);
        for (i, word) in command.words.iter().enumerate() {
            if command.script.contains(&i) {
                continue;
            }
            // What a program is called by is looked at by rules for commands.
            let is_program = command.levels.iter().any(|it| it.start == i);
            let text = word.literal();
            if is_program && !word.known_text().contains('/') {
                continue;
            }
            if !self.steps().take_text(word.known_text()) {
                return found.touches_keys;
            }
            match text {
                // Only what a name leads to matters to people.
                Some(text) if only_mentions && !is_program && i >= command.n_assignments => {
                    found.touches_keys |= may_touch_keys(text);
                }
                Some(text) => {
                    let is_plain = !text.starts_with('-')
                        && !text.contains(|it| is_separator(it) || is_quoting(it))
                        && base.others.as_ref().is_some_and(Vec::is_empty);
                    if let Some(leads_to_keys) = self.seen[1].get(text).filter(|_| is_plain) {
                        found.touches_keys |= *leads_to_keys;
                        continue;
                    }
                    self.narrow_word_hosts(text);
                    self.only_reads = is_program;
                    self.narrow_text_word(text, false, &base, &mut found);
                    self.only_reads = false;
                }
                None if word.is_process() => {}
                None => self.narrow_open_word(word, (&base, places), &mut found),
            }
        }
        self.narrow_inputs((command, &base), places, &mut found);
        if command.more_from.is_some() {
            found.has_open_path = true;
            found.has_open_host = true;
        }
        self.ask_for_open_words(command, &found);
        if found.touches_keys {
            let kind = DangerKind::TouchesKeys;
            self.dangers.push(Danger { kind, command: command.text.clone() });
        }
        found.touches_keys
    }

    /// Texts of here-strings and here-documents, each part of which may be a path or
    /// an address for the program that reads it, as for `curl -K-`.
    fn narrow_inputs(
        &mut self,
        (command, base): (&Command, &Base<'_>),
        places: &Places<'_>,
        found: &mut Found,
    ) {
        let mut of_input = Found::default();
        for input in &command.inputs {
            match input {
                Input::Word { word, .. } => match word.literal() {
                    Some(text) => self.narrow_input_text(text, base, &mut of_input),
                    None => self.narrow_open_word(word, (base, places), &mut of_input),
                },
                Input::Heredoc { slot, .. } => match places.analysis.heredoc(*slot) {
                    Some(text) => self.narrow_input_text(text, base, &mut of_input),
                    None => {
                        of_input.has_open_path = true;
                        of_input.has_open_host = true;
                    }
                },
            }
        }
        if !command.connects_to_nothing() {
            found.touches_keys |= of_input.touches_keys;
            found.has_open_path |= of_input.has_open_path;
            found.has_open_host |= of_input.has_open_host;
            found.has_open_start |= of_input.has_open_start;
        }
    }

    /// A path among several words is a guess, so it is asked.
    fn narrow_input_text(&mut self, text: &str, base: &Base<'_>, found: &mut Found) {
        if !self.steps().take_text(text) {
            return;
        }
        let parts = || text.split_whitespace();
        if parts().nth(1).is_none() {
            for part in parts() {
                self.narrow_word_hosts(part);
                self.narrow_text_word(part, false, base, found);
            }
            return;
        }
        let guess = guess_base(base);
        let mut of_text = Found::default();
        for part in parts() {
            self.narrow_word_hosts(part);
            self.narrow_text_word(part, false, &guess, &mut of_text);
        }
        // A text may mention keys and lead to none.
        found.has_open_path |= of_text.has_open_path;
        found.has_open_host |= of_text.has_open_host;
    }

    /// Says once what of a command may lead anywhere.
    fn ask_for_open_words(&mut self, command: &Command, found: &Found) {
        let subject = || Subject::Command { text: command.text.clone() };
        let is_open = found.has_open_path || found.has_open_start;
        if is_open && self.index.narrows_paths() && !command.opens_nothing() {
            if found.has_open_path {
                let why = "a word of it that may be a path is known only when it runs";
                self.unclear((subject(), why, ""), Narrows::PATHS, Source::Guess);
            }
            if found.has_open_start {
                let why = "the directory that its paths are relative to is not known";
                self.unclear((subject(), why, ""), Narrows::PATHS, Source::Guess);
            }
        }
        if found.has_open_host && !command.connects_to_nothing() {
            let why = "a word of it that may be an address is known only when it runs";
            self.unclear((subject(), why, ""), Narrows::HOSTS, Source::Guess);
        }
    }

    /// A word that the shell replaces: each text that it may become.
    fn narrow_open_word(
        &mut self,
        word: &Word,
        (base, places): (&Base<'_>, &Places<'_>),
        found: &mut Found,
    ) {
        // Each case is a copy.
        let n_bytes = word.known_text().len();
        let cases = self.steps().take_line(n_bytes).then(|| places.known.cases(word)).flatten();
        let n_bytes = cases.iter().flatten().map(|it| 64 + it.text.len()).sum();
        let Some(cases) = cases.filter(|_| self.steps().take_line(n_bytes)) else {
            found.touches_keys |= self.may_reach_keys(word, !base.is_fixed);
            found.has_open_path = true;
            found.has_open_host = true;
            return;
        };
        let mut asked_for_keys = false;
        for case in &cases {
            if let Some(open_at) = case.open_at {
                if !std::mem::replace(&mut asked_for_keys, true) {
                    found.touches_keys |= self.may_reach_keys(word, !base.is_fixed);
                }
                found.has_open_path = true;
                found.has_open_host |= is_open_host(&case.text[..open_at], word.may_split());
                self.narrow_word_hosts(&case.text);
                self.narrow_text_word(&case.text[..open_at], false, base, found);
            } else if case.is_glob {
                self.narrow_glob_word(case, base, found);
            } else {
                self.narrow_word_hosts(&case.text);
                self.narrow_text_word(&case.text, false, base, found);
            }
        }
    }

    /// A word with wildcards: what it may stand for, as a path; the names of files
    /// that fit, as addresses.
    fn narrow_glob_word(&mut self, case: &Case, base: &Base<'_>, found: &mut Found) {
        self.narrow_text_word(&case.text, true, base, found);
        if !self.index.narrows().hosts || base.command.connects_to_nothing() {
            return;
        }
        self.narrow_word_hosts(&case.text);
        let matches = self.listing(&case.text, |it| it.matches(&case.text));
        match matches.filter(|_| base.is_fixed) {
            Some(matches) => matches.iter().for_each(|it| self.narrow_word_hosts(&it.written)),
            None => found.has_open_host = true,
        }
    }

    /// Each part of a known text that may be a path. `is_glob` says that the shell
    /// reads wildcards in it.
    fn narrow_text_word(&mut self, text: &str, is_glob: bool, base: &Base<'_>, found: &mut Found) {
        let has_parts =
            text.starts_with('-') || text.bytes().any(|it| is_separator(char::from(it)));
        match has_parts {
            false => self.narrow_path_part(text, is_glob, base, found),
            true => {
                found.has_open_path |= text.matches(is_separator).count() > MAX_ENDS;
                for path in path_words(text) {
                    self.narrow_path_part(path, is_glob, base, found);
                }
            }
        }
        if self.index.narrows_paths() {
            for path in paths_of_addresses(text) {
                self.narrow_path_part(&path, false, base, found);
            }
            if !base.command.opens_nothing() {
                self.narrow_expanding_address(text);
            }
            if base.command.runs_sed() {
                self.narrow_sed_script(text, base, found);
            }
            if let Some(path) = path_of_pathspec(text) {
                // It may start at the top of the work tree, which is most likely a root.
                let mut base = guess_base(base);
                base.others.iter_mut().for_each(|it| it.extend_from_slice(self.index.roots()));
                self.narrow_path_part(path, false, &base, found);
            }
        }
        if self.index.narrows().hosts && !base.command.connects_to_nothing() {
            self.narrow_hosts_in_text(text);
            self.narrow_expanding_host(text);
        }
        // A text for a program that reads it, as `open("a/b")` or `{"path":"a\/b"}`: it is a guess, so it is asked.
        if !self.index.narrows_paths() || base.command.connects_to_nothing() {
            return;
        }
        let unescaped = unescaped(text);
        let written = Some(text).filter(|it| it.contains(is_quoting));
        let cases = self.cases(text);
        let others = unescaped.iter().chain(&cases).map(String::as_str);
        let readings = written.into_iter().chain(others);
        for reading in readings {
            if !self.steps().take_text(reading) {
                return;
            }
            let base = guess_base(base);
            for path in reading.split(|it| is_quoting(it) || is_separator(it)) {
                if !path.is_empty() {
                    self.narrow_path_part(path, false, &base, found);
                }
            }
        }
    }

    /// What stands behind the letters of a script of sed with which it opens a file,
    /// as in `rFILE`: a guess, so it is asked.
    fn narrow_sed_script(&mut self, text: &str, base: &Base<'_>, found: &mut Found) {
        /// Most of such letters that are looked at.
        const MAX_LETTERS: usize = 64;
        let base = guess_base(base);
        for (n, (at, _)) in text.match_indices(['r', 'R', 'w', 'W']).enumerate() {
            if n == MAX_LETTERS {
                found.has_open_path = true;
                break;
            }
            let path = text[at + 1..].lines().next().unwrap_or_default().trim();
            if !path.is_empty() {
                self.narrow_path_part(path, false, &base, found);
            }
        }
    }

    /// A part of a word, from each directory that it may be looked up in.
    fn narrow_path_part(&mut self, path: &str, is_glob: bool, base: &Base<'_>, found: &mut Found) {
        let narrows = self.index.narrows_paths();
        let is_plain_path = path.contains('/') || path.starts_with(['~', '.']);
        let is_glob = is_glob && is_wild(path);
        if !narrows && !is_plain_path && !is_glob {
            return;
        }
        // What a wildcard stands for is not read then.
        if is_glob && base.command.opens_nothing() {
            found.touches_keys |= may_touch_keys(path);
            return;
        }
        let is_relative = !path.starts_with(['/', '~']);
        if is_glob && path.len() > MAX_GLOB_BYTES {
            // It may name anything.
            found.touches_keys = true;
            found.has_open_path = true;
            return;
        }
        if !is_relative || base.is_fixed {
            found.touches_keys |= match is_glob {
                true => self.narrow_bounded_glob(path),
                false => self.narrow_path(path, path, true),
            };
        }
        // In a text that is read by a program, `a*b` is most likely a product.
        let is_pattern = narrows
            && (!is_glob && is_wild(path))
            && (!base.is_guess || path.contains('/'))
            && !base.command.connects_to_nothing();
        if is_pattern && (!is_relative || base.is_fixed) {
            self.narrow_pattern(path);
        }
        if !is_relative {
            return;
        }
        let Some(others) = &base.others else {
            found.touches_keys |= may_touch_keys(path);
            found.has_open_start = true;
            return;
        };
        for dir in others {
            if !self.steps().take(2 + (dir.len() + path.len()) / COPIED) {
                return;
            }
            let whole = format!("{dir}/{path}");
            found.touches_keys |= match is_glob {
                true => self.narrow_bounded_glob(&whole),
                false => self.narrow_path(&whole, path, false),
            };
            if is_pattern {
                self.narrow_pattern(&whole);
            }
        }
    }

    /// A path with wildcards, which each pattern and each name in a directory is compared with; whether it may lead to
    /// keys.
    fn narrow_bounded_glob(&mut self, path: &str) -> bool {
        /// How many characters of it are compared with a pattern in a step.
        const COMPARED: usize = 4;
        let n_patterns = self.index.n_patterns();
        let steps = self.steps();
        if !steps.take_path(path, 1) || !steps.take(n_patterns * path.len() / COMPARED) {
            return may_touch_keys(path);
        }
        self.listing(path, |it| it.narrow_glob(path))
    }

    /// Lists what a path with wildcards stands for. The longer it is, the fewer names in directories are looked at.
    fn listing<T>(&mut self, path: &str, list: impl FnOnce(&mut Self) -> T) -> T {
        /// How long a path may be for which an entry is one.
        const SHORT: usize = 64;
        /// Steps for an entry of a directory.
        const ENTRY: usize = 32;
        let weight = 1 + path.len() / SHORT;
        let before = self.entries;
        self.entries = (before / weight).min(self.steps().left() / ENTRY);
        let n_given = self.entries;
        let res = list(self);
        let n_listed = n_given - self.entries;
        self.entries = before.saturating_sub(n_listed * weight);
        let _ = self.steps().take(n_listed * ENTRY);
        res
    }

    /// Whether a word is a name at which there is nothing, neither where the command
    /// runs nor in a root: nothing can be read there, so it is a word of a message.
    fn is_absent_word(&self, word: &str, location: &Location) -> bool {
        if word.contains('/') || word.starts_with(['~', '.']) {
            return false;
        }
        // Most words are the same path in all three, and it was looked up.
        let Location { written, resolved, end, .. } = location;
        let is_absent_at = |path: &str| match end {
            End::There | End::Absent if path == resolved => *end == End::Absent,
            _ => is_absent(path),
        };
        is_absent_at(resolved)
            && is_absent_at(written)
            && self.index.roots().iter().all(|it| is_absent_at(&format!("{it}/{word}")))
    }

    /// A path that a word may name: whether it leads to keys.
    ///
    /// A rule for reading `secrets/**` does not hold for the bare word `secrets`
    /// where there is no such file; one that is found anywhere, as `*.pem`, and one
    /// for writing hold.
    ///
    /// Each is looked up once per decision. `written` is what stands in the line;
    /// `is_certain` is false where the word may name another path.
    pub(super) fn narrow_path(&mut self, path: &str, written: &str, is_certain: bool) -> bool {
        let narrows = self.index.narrows_paths();
        if let Some(leads_to_keys) = self.seen[usize::from(is_certain)].get(path) {
            return *leads_to_keys;
        }
        if matches!(path, "/dev/stdin" | "/dev/stdout" | "/dev/stderr") {
            return false;
        }
        let by_text = may_touch_keys(path);
        if !self.spend(4 * self.index.n_scanned()) || !self.steps().take_path(path, 1) {
            return by_text;
        }
        let located = self.starts.locate(path);
        if let Err(why) = located
            && may_be_opened(why)
        {
            let access = flyto_tools::Access::Unknown;
            let subject = Subject::Path { path: cut(written), resolved: None, access };
            self.unclear((subject, why, ""), Narrows::PATHS, Source::Guess);
        }
        let located = located.ok().or_else(|| self.starts.by_text(path));
        let is_of_keys = |it: &Location| {
            let names = self.protected_names(it);
            may_touch_keys(&it.resolved) || names.iter().any(|it| may_touch_keys(it))
        };
        let leads_to_keys = by_text || located.as_ref().is_some_and(is_of_keys);
        // The same path may be an argument as well.
        if !self.only_reads {
            self.seen[usize::from(is_certain)].insert(path.to_owned(), leads_to_keys);
        }
        if let (true, Some(location)) = (narrows, located) {
            match self.is_absent_word(written, &location) {
                false => self.narrow_location(path, &location, is_certain),
                // Another part of the line may make it.
                true if !self.runs_once => self.narrow_location(path, &location, false),
                true => {
                    let wanted = |it: &Glob, writes: bool| writes || !it.names_place(written);
                    self.narrow_location_by(path, &location, is_certain, wanted);
                }
            }
        }
        leads_to_keys
    }
}

/// The same directories for what may be no path, so that what is found is asked.
fn guess_base<'c>(base: &Base<'c>) -> Base<'c> {
    let others = base.others.iter().flatten().cloned();
    let others = std::iter::once(".".to_owned()).chain(others).collect();
    Base { command: base.command, is_fixed: false, others: Some(others), is_guess: true }
}

/// Directories in which a command may look its words up: those of the line, and
/// those that its options name.
fn base<'c>(command: &'c Command, places: &Places<'_>) -> Base<'c> {
    let options = directory_options(command);
    let is_fixed = !command.moved;
    let (Some(of_line), Some(options)) = (&places.directories, options) else {
        return Base { command, is_fixed, others: None, is_guess: false };
    };
    let mut others = of_line.clone();
    if !is_fixed {
        // A change that fails leaves the line where it was. The form makes it another path than a word of another line.
        others.insert(0, "./.".to_owned());
    }
    let starts: Vec<String> = match is_fixed {
        _ if options.is_empty() => Vec::new(),
        true => vec![".".to_owned()],
        false => others.clone(),
    };
    for option in options {
        let is_absolute = option.starts_with(['/', '~']);
        let of_option = match is_absolute {
            true => vec![option.to_owned()],
            false => starts.iter().map(|it| format!("{it}/{option}")).collect(),
        };
        others.extend(of_option);
    }
    Base { command, is_fixed, others: Some(others), is_guess: false }
}

/// Directories that options of a command name: `-C DIR`, `--directory=DIR`. `None`
/// where one is not known, or they are many.
fn directory_options(command: &Command) -> Option<Vec<&str>> {
    let mut res = Vec::new();
    let mut words = command.words.iter().skip(command.innermost() + 1).peekable();
    while let Some(word) = words.next() {
        let text = word.known_text();
        if !text.starts_with('-') {
            continue;
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if text.starts_with("-C") && text.len() > 2 => ("-C", Some(&text[2..])),
            None => (text, None),
        };
        let long = name.strip_prefix("--").unwrap_or("");
        let is_directory = name == "-C"
            || long.contains("dir")
            || matches!(long, "cwd" | "prefix" | "root" | "work-tree");
        if !is_directory {
            continue;
        }
        let value = match value {
            Some(value) => word.literal().map(|_| value),
            None => match words.peek() {
                Some(next) => next.literal(),
                None => continue,
            },
        };
        if res.len() == MAX_OPTIONS {
            return None;
        }
        res.extend(Some(value?).filter(|it| !it.is_empty()));
    }
    Some(res)
}

/// Whether a word of which this start is known may become an address of any host.
fn is_open_host(start: &str, splits: bool) -> bool {
    // In braces, which curl expands, another host may follow.
    if splits || start.contains(['{', '[']) {
        return true;
    }
    let is_path = ["/", "./", "../", "~/"].iter().any(|it| start.starts_with(it));
    let has_host =
        start.split_once("://").is_some_and(|(_, behind)| behind.contains(['/', '?', '#']));
    !((is_path && !start.starts_with("//")) || has_host)
}
