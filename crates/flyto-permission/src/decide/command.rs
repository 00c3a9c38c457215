//! Command lines.
//!
//! [`bash`] says which commands a line runs, and here each of them is compared with
//! rules: first those that ask or deny, at every program of the command, then those
//! that allow, which have to cover every program that needs one. What reading could
//! not tell is asked, unless a rule has the exact words of the command that holds
//! it.
//!
//! | found in a line | verdict without a rule that denies |
//! | --- | --- |
//! | a program that needs a rule | what a rule that allows covers, else ask |
//! | a variable before a program that may change what runs | ask, unless the rule spells it, or one for every command and the value is plain |
//! | a danger, such as a download piped into a shell | ask, unless a rule has the exact words |
//! | a file that is written | as a call that edits it |
//! | a file that is read | a rule for files that asks or denies |
//! | a word that may be a path which is not known | ask, where a rule for files asks or denies |
//! | an address among the words | a rule for hosts that asks or denies; ask, where one does and a word is not known |
//! | a word that may be an alias of `git` | ask, where a rule asks or denies a command of it |
//! | a denied command among the words | ask, unless a rule that allows names it |
//! | what the shell works out as it runs | ask, or what a rule for every command says, where no rule narrows |
//! | a part that was not read | ask, or for a fixed command line what the rule for the tool says, where no rule narrows |
//!
//! The work is bounded: [`MAX_STEPS`] nodes of the tree of rules for a command, and
//! the steps of the decision.

use flyto_tools::Access;

use super::{Judge, Source, TOO_MUCH, cut, file::Purpose, subcommand, word::Places};
use crate::{
    Cause, Danger, DangerKind, Reason, Rule, Standing, Subject, Verdict,
    bash::{self, Analysis, Command, Redirect, Word},
    index::{Argument, Hits, Matched, Narrows},
};

/// Most nodes of the tree of rules that are looked at for one command, in the
/// search for rules with options between their words. Lines written by hand take a
/// few dozen; beyond it the command is asked.
pub(super) const MAX_STEPS: usize = 64 * 1024;

/// Rules that ask or deny a command.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// Those that name it, each once.
    pub(super) rules: Vec<&'a Rule>,
    /// One that may name it, once all words are known.
    pub(super) possible: Option<&'a Rule>,
}

impl<'a> Found<'a> {
    /// Takes the rules of one match; a rule that two levels of a command match
    /// counts once.
    pub(super) fn add(&mut self, matched: &Matched<'a>) {
        if let Some(rule) = matched.hits.narrowing().filter(|it| !self.rules.contains(it)) {
            self.rules.push(rule);
        }
        self.possible = self.possible.or(matched.possible);
    }
}

/// A word as rules compare it. Each name that a wildcard stands for starts and ends
/// as the word does.
fn argument(word: &Word) -> Argument<'_> {
    let text = word.known_text();
    let end = text.rfind(['*', '?', '[', ']']).map_or(0, |it| it + 1);
    Argument {
        text: known(word),
        leading: word.leading(),
        trailing: if word.is_only_glob() { &text[end..] } else { "" },
        splits: word.may_split() && !word.is_only_glob(),
    }
}

/// The text of a word that is one word and known.
pub(super) fn known(word: &Word) -> Option<&str> {
    word.literal().filter(|_| !word.may_split())
}

impl<'a> Judge<'a> {
    /// The words that a program would get.
    ///
    /// A command whose text stands in the words of another is judged after it, and
    /// a rule with the exact words of the outer one covers it.
    pub(super) fn judge_words(&mut self, words: &[String]) {
        if !self.steps().take_line(words.iter().map(String::len).sum()) {
            return self.unclear((self.tool(), TOO_MUCH, ""), Narrows::ANYTHING, Source::Class);
        }
        let analysis = bash::analyse_words(words);
        let n_before = self.reasons.len();
        let any = self.index.any_command();
        if let Some(rule) = any.narrowing() {
            let subject = self.tool();
            self.reasons.push(Reason::rule(subject, rule));
        }
        self.blanket = self.of_tool.allow.or(any.allow);
        let places = self.places(&analysis);
        let mut exact = vec![false; analysis.commands.len()];
        for (i, command) in analysis.commands.iter().enumerate() {
            if !self.steps().take_command() {
                break;
            }
            // A parent stands before what it runs.
            exact[i] = command.parent.is_some_and(|it| it < i && exact[it]);
            let judged =
                self.judge_command(command, &places, any.kept.or(self.of_tool.kept), exact[i]);
            exact[i] |= judged;
        }
        for (i, danger) in bash::find_dangers(&analysis) {
            if danger.kind.is_asked() && !exact[i] {
                let standing = Standing::Danger { danger: danger.kind };
                let subject = Subject::Command { text: danger.command.clone() };
                self.reasons.push(Reason::default(Verdict::Ask, subject, standing));
            }
            self.dangers.push(danger);
        }
        for it in &analysis.unclear {
            if it.command.is_none_or(|at| !exact[at]) {
                let text = it.command.map_or("", |at| &analysis.commands[at].text);
                let subject = match text {
                    "" => self.tool(),
                    text => Subject::Command { text: text.to_owned() },
                };
                let near = if text == it.near { "" } else { &*it.near };
                let source = match analysis.is_read(it) {
                    true => Source::Evaluated,
                    false => Source::Class,
                };
                self.unclear((subject, it.why, near), Narrows::ANYTHING, source);
            }
        }
        if self.steps().are_spent() {
            self.unclear((self.tool(), TOO_MUCH, ""), Narrows::ANYTHING, Source::Class);
        }
        if self.reasons.len() == n_before && analysis.unclear.is_empty() {
            let why = "no command was found in the command line";
            self.unclear((self.tool(), why, ""), Narrows::ANYTHING, Source::Class);
        }
    }

    /// A text that is probably a command line: only rules that ask or deny count.
    ///
    /// `is_sure` is false for one that may be a text of another language. What is
    /// not read of it is asked where it mentions a denied command.
    pub(super) fn narrow_text(&mut self, text: &str, is_sure: bool) {
        if !self.steps().take_line(text.len()) {
            return;
        }
        let mut analysis = bash::analyse_text(text);
        match (is_sure, analysis.unclear.is_empty()) {
            (true, _) => {}
            (false, true) => self.narrow_unquoted(text),
            (false, false) => {
                analysis.unclear.clear();
                self.narrow_mentions(text);
            }
        }
        self.narrow_analysis(&analysis);
    }

    /// Words that a program would get, or that are probably a command line: only
    /// rules that ask or deny count.
    pub(super) fn narrow_words(&mut self, words: &[String]) {
        if self.steps().take_line(words.iter().map(String::len).sum()) {
            self.narrow_analysis(&bash::analyse_words(words));
        }
    }

    /// Of what could not be read, one reason is enough: the first.
    fn narrow_analysis(&mut self, analysis: &Analysis) {
        let places = self.places(analysis);
        for command in &analysis.commands {
            if !self.steps().take_command() {
                return;
            }
            self.narrow_command(command);
            self.narrow_arguments(command, analysis, |_| false);
            self.judge_redirects(command, false);
            self.narrow_path_words(command, &places);
        }
        self.dangers.extend(bash::find_dangers(analysis).into_iter().map(|(_, it)| it));
        if let Some(it) = analysis.unclear.first() {
            let part = (self.tool(), it.why, &*it.near);
            self.unclear(part, Narrows::ANYTHING, Source::Guess);
        }
    }

    /// Judges a command; whether a rule names all its words exactly.
    ///
    /// `kept` is a rule for the tool or for every command that would allow and may not.
    /// `is_covered` says that a rule has the exact words of the command that holds this
    /// one.
    fn judge_command(
        &mut self,
        command: &Command,
        places: &Places<'_>,
        kept: Option<&'a Rule>,
        is_covered: bool,
    ) -> bool {
        let subject = || Subject::Command { text: command.text.clone() };
        let mut hits = Hits::default();
        let mut is_exact = false;
        let mut covered = vec![false; command.words.len()];
        let mut kept = kept;
        let mut is_elsewhere = false;
        for (start, matched) in self.narrow_command(command) {
            let n_words = match matched.exact {
                Some(_) => command.words.len() - start,
                None => matched.n_allowed,
            };
            if n_words > 0 && places.analysis.is_elsewhere(command, start, n_words) && !self.stays()
            {
                is_elsewhere = true;
                continue;
            }
            if let Some(rule) = matched.hits.allow.filter(|_| matched.n_allowed > 0) {
                covered[start..start + matched.n_allowed].fill(true);
                hits.allow = Some(rule);
            }
            if let Some(rule) = matched.exact {
                // Only from the first word on: `sudo` is not part of a rule for what it runs.
                is_exact |= start == 0
                    || command
                        .levels
                        .first()
                        .is_some_and(|it| it.start == start && command.n_assignments == 0);
                covered[start..].fill(true);
                hits.allow = Some(rule);
            }
            kept = kept.or(matched.hits.kept);
        }
        if !is_exact && !is_covered {
            self.narrow_arguments(command, places.analysis, |at| covered[at]);
        }
        self.judge_redirects(command, true);
        if self.narrow_path_words(command, places) && !is_exact && !is_covered {
            let standing = Standing::Danger { danger: DangerKind::TouchesKeys };
            self.reasons.push(Reason::default(Verdict::Ask, subject(), standing));
        }
        if is_covered {
            return true;
        }
        let blanket = self.blanket;
        let mut is_allowed = true;
        for at in command.risky.iter().filter(|it| !covered[**it]) {
            let word = &command.words[*at];
            is_allowed = blanket.is_some();
            match blanket {
                // Rules that ask or deny were compared with a plain value.
                Some(rule) if assigns_plain_value(word) => {
                    self.reasons.push(Reason::rule(subject(), rule));
                }
                Some(_) => {
                    let why = "a program may run what a variable holds";
                    let source = self.source_of_value(word);
                    self.unclear((subject(), why, ""), Narrows::ANYTHING, source);
                }
                None => {
                    let text = word.known_text();
                    let variable = cut(text.split(['=', '+']).next().unwrap_or(text));
                    let standing = Standing::Variable { variable };
                    let reason = Reason::default(Verdict::Ask, subject(), standing);
                    self.reasons.push(reason.suggest(suggestion(command, true)));
                    // The program may run what is in it.
                    let is_of_program = *at < command.n_assignments && !command.levels.is_empty();
                    if is_of_program && word.literal().is_none() {
                        let why = "a program may run what a variable holds, which is known only \
                                   when it runs";
                        self.unclear((subject(), why, ""), Narrows::ANYTHING, Source::Class);
                    }
                }
            }
        }
        let needs = command.levels.iter().filter(|it| it.needs_rule);
        if needs.clone().count() == 0 {
            // What it runs is judged by itself, unless this rule answers for that too.
            if let Some(rule) = hits.allow.filter(|_| is_exact && is_allowed) {
                self.reasons.push(Reason::rule(subject(), rule));
            }
            return is_exact;
        }
        let is_open = needs.clone().any(|it| !covered[it.start]);
        if is_open && is_elsewhere && blanket.is_none() {
            let why = "a path that a rule allows is named from another directory here";
            self.unclear((subject(), why, ""), Narrows::ANYTHING, Source::Class);
        } else if is_open && blanket.is_none() {
            let cause = match kept {
                Some(rule) => Cause::KeptOnly { rule: rule.clone() },
                None => Cause::Default { default: Standing::NoRule },
            };
            let reason = Reason::new(Verdict::Ask, subject(), cause);
            self.reasons.push(reason.suggest(suggestion(command, false)));
        } else if let Some(rule) = hits.allow.or(blanket).filter(|_| is_allowed) {
            self.reasons.push(Reason::rule(subject(), rule));
        }
        is_exact
    }

    /// What a value that is no plain word comes from: one that is known may hold a danger.
    fn source_of_value(&mut self, word: &Word) -> Source {
        let Some((_, value)) = known(word).and_then(|it| it.split_once('=')) else {
            return Source::Class;
        };
        if bash::names_stream(value) || !self.steps().take_line(value.len()) {
            return Source::Class;
        }
        let analysis = bash::analyse_text(value);
        let is_asked = |it: &(usize, Danger)| it.1.kind.is_asked();
        match analysis.unclear.is_empty() && !bash::find_dangers(&analysis).iter().any(is_asked) {
            true => Source::Evaluated,
            false => Source::Class,
        }
    }

    /// Rules that ask or deny, at every program of a command. Gives what matched,
    /// by the word it starts at.
    ///
    /// A rule that may match once all words are known asks.
    fn narrow_command(&mut self, command: &Command) -> Vec<(usize, Matched<'a>)> {
        let index = self.index;
        let of_whole = (command.n_assignments > 0).then_some(0);
        let starts = of_whole.into_iter().chain(command.levels.iter().map(|it| it.start));
        let mut res = Vec::new();
        let mut n_steps = MAX_STEPS;
        for start in starts {
            let words = command.words_from(start);
            let has_more = command.more_from.is_some();
            // A rule with the words of `xargs` itself knows that it appends some.
            let exact_fits = command.more_from.is_none_or(|it| start < it);
            let literal = || words.iter().map(known);
            let mut matched = index.by_words(literal(), has_more && !exact_fits);
            if has_more && exact_fits {
                matched.possible = matched.possible.or(index.by_words(literal(), true).possible);
            }
            // An assignment is no word of a rule that names no variable, whatever is assigned.
            let assigned =
                words.first().filter(|it| start == 0 && of_whole.is_some() && known(it).is_none());
            if let Some(name) = assigned.map(Word::leading).filter(|it| it.contains('='))
                && !index.narrows_program_as(name)
            {
                matched.possible = None;
            }
            let mut found = Found::default();
            found.add(&matched);
            if let Some((name, rest)) = words.split_first() {
                let name = name.literal().unwrap_or("");
                self.find_narrowing(name, rest, has_more, &mut n_steps, &mut found);
            }
            let subject = || Subject::Command { text: command.text.clone() };
            for rule in found.rules {
                self.reasons.push(Reason::rule(subject(), rule));
            }
            if let Some(rule) = found.possible {
                let cause = Cause::Possible { rule: rule.clone() };
                self.reasons.push(Reason::new(Verdict::Ask, subject(), cause));
            }
            res.push((start, matched));
        }
        res
    }

    /// Rules that ask or deny a program, beside those for its very words: by its name
    /// without the directory, by other spellings of its path, and with options between
    /// the words of the rule.
    pub(super) fn find_narrowing(
        &self,
        name: &str,
        rest: &[Word],
        has_more: bool,
        n_steps: &mut usize,
        found: &mut Found<'a>,
    ) {
        let base = bash::base_name(name);
        if base != name {
            let words = std::iter::once(Some(base)).chain(rest.iter().map(known));
            found.add(&self.index.by_words(words, has_more));
        }
        let spellings = self.other_spellings(name, found);
        for it in &spellings {
            let words = std::iter::once(Some(*it)).chain(rest.iter().map(known));
            found.add(&self.index.by_words(words, has_more));
        }
        let is_alias = subcommand::may_be_any(base, rest);
        let rest = rest.iter().map(argument);
        let mut names = vec![name];
        names.extend(Some(base).filter(|it| *it != name));
        names.extend(spellings);
        found.add(&self.index.by_spread_words(&names, rest, has_more, n_steps));
        if is_alias {
            found.possible = found
                .possible
                .or(self.index.by_words([Some(base), None].into_iter(), true).possible);
        }
    }

    /// Files and connections that redirections of a command open.
    ///
    /// What is read is compared with rules that narrow. What is written needs a rule
    /// that allows, where the command is judged as the `whole` of what runs; else
    /// rules that narrow are all that counts. Streams of the process itself
    /// (`/dev/null`, `/dev/fd/3`) are no files.
    fn judge_redirects(&mut self, command: &Command, whole: bool) {
        let source = if whole { Source::Class } else { Source::Guess };
        for Redirect { target, access } in &command.redirects {
            let Some(path) = target.literal() else {
                self.open_redirect(command, target, *access, source);
                continue;
            };
            let subject = || Subject::Path { path: cut(path), resolved: None, access: *access };
            if let Some(rest) = connection(path) {
                self.narrow_url(rest.split('/').next().unwrap_or(rest), true);
                if whole {
                    let danger = DangerKind::Connects;
                    let standing = Standing::Danger { danger };
                    self.reasons.push(Reason::default(Verdict::Ask, subject(), standing));
                    self.dangers.push(Danger { kind: danger, command: command.text.clone() });
                }
                continue;
            }
            let is_stream =
                matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
                    || path
                        .strip_prefix("/dev/fd/")
                        .is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
            if is_stream {
                continue;
            }
            if command.moved && !path.starts_with(['/', '~']) {
                let why = "the directory it is relative to is not known";
                self.unclear((subject(), why, ""), Narrows::PATHS, source);
                continue;
            }
            // `<>` reads and writes.
            if *access != Access::Write {
                self.judge_path(path, Access::Read, Purpose::Narrow);
            }
            if *access != Access::Read {
                let purpose = if whole { Purpose::Redirect } else { Purpose::Narrow };
                self.judge_path(path, Access::Write, purpose);
            }
        }
    }

    /// A target that is known only when the line runs: a file, or a connection.
    fn open_redirect(&mut self, command: &Command, target: &Word, access: Access, source: Source) {
        let subject = || Subject::Command { text: command.text.clone() };
        let text = target.known_text();
        let why = match access {
            Access::Read => "what it reads is known only when it runs",
            _ => "where it writes is known only when it runs",
        };
        self.unclear((subject(), why, text), Narrows::PATHS, source);
        if CONNECTIONS.iter().any(|it| target.may_start_with(it)) {
            let why = "the address that it may connect to is known only when it runs";
            self.unclear((subject(), why, text), Narrows::HOSTS, Source::Guess);
        }
    }
}

/// Whether a variable gets one plain word, or none: no program takes it for more than a
/// path, an address or the name of a program.
fn assigns_plain_value(word: &Word) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"_-./:,@%+=".contains(&it);
    // Options may run programs, and `PATH` says which ones a name is.
    known(word).is_some_and(|it| {
        let (name, value) = it.split_once('=').unwrap_or((it, ""));
        !name.trim_end_matches('+').eq_ignore_ascii_case("PATH")
            && !value.starts_with('-')
            // A shell may run the text of a stream, as by `BASH_ENV`.
            && !bash::names_stream(value)
            && value.bytes().all(is_plain)
    })
}

/// Beginnings of the paths that bash opens as connections.
const CONNECTIONS: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];

/// What stands behind such a beginning.
fn connection(path: &str) -> Option<&str> {
    CONNECTIONS.iter().find_map(|it| path.strip_prefix(it))
}

/// A rule that names the words of a command, where all are known.
///
/// With assignments, or from the program on that runs in the end. `None` for more
/// than 12 words, for a word that is not known or holds a control character, and
/// where further words are appended.
fn suggestion(command: &Command, with_assignments: bool) -> Option<String> {
    const MAX_WORDS: usize = 12;
    let start = if with_assignments { 0 } else { command.innermost() };
    let words = command.words_from(start);
    if command.more_from.is_some() || words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let mut text = String::from("Bash(");
    for (i, word) in words.iter().enumerate() {
        let word = word.literal().filter(|it| !it.contains(char::is_control))?;
        if i > 0 {
            text.push(' ');
        }
        let is_plain = !word.is_empty()
            && word.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_./:=@%+,~^".contains(&it));
        match is_plain {
            true => text.push_str(word),
            // A quote within quotes ends them, stands behind a backslash, and starts them again.
            false => {
                text.push('\'');
                text.push_str(&word.replace('\'', r"'\''"));
                text.push('\'');
            }
        }
    }
    text.push(')');
    crate::rule::Form::parse(&text).is_ok().then_some(text)
}
