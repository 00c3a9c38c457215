//! Help for authors: places in which common programs would run a value.
//!
//! It is no promise. What a program does with an argument is the program's, and a list of programs is never finished;
//! a permission rule and a sandbox see the arguments as they are.
//!
//! The table has one row for programs with the same options, and is kept short. The walk is
//! linear in the words behind each program, and at most [`MOST_PROGRAMS`] programs are walked.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use super::{
    fault::Fault,
    rules::{Checker, is_assignment, mark_dashes},
    words::Word,
};

/// How many programs of the table are looked at in one text: each can cost a look at all words behind it.
const MOST_PROGRAMS: usize = 64;

/// What programs with these names do with their words. Options are letters and long names.
///
/// Lists are separated by blanks.
struct Row {
    /// Names of programs, without a directory.
    names: &'static str,
    /// Options behind which code stands, or a program: what is left of the word, else the next operand.
    code: &'static str,
    /// Other options whose value is a word of its own.
    valued: &'static str,
    /// What the words are that are no options.
    operands: Operands,
}

/// An operand is a word that is no option and no value of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// The first one ends the options; what follows is free.
    End,
    /// Options may stand behind them.
    Free,
    /// The first one is code, unless an option with code or a file of it stands anywhere.
    Script,
    /// Behind so many, another program follows.
    Program(usize),
    /// Behind so many, all are code.
    Code(usize),
}

use Operands::{Code, End, Free, Program, Script};

const fn row(
    names: &'static str,
    operands: Operands,
    code: &'static str,
    valued: &'static str,
) -> Row {
    Row { names, code, valued, operands }
}

/// Versions at the end of a name are left out, as in `python3.12`.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Shells.
    row("sh bash dash ash ksh mksh zsh fish csh tcsh pwsh", End, "c command init-command", "o O rcfile init-file"),
    row("su runuser", Free, "c command session-command", "u g G s w"),
    row("script expect npx", Free, "c command call", ""),
    row("eval trap let compgen complete watch parallel", Code(0), "", "n interval"),
    row("export readonly declare typeset local unset read mapfile readarray", Code(0), "", ""),
    row("printf", End, "v", ""),
    row("test [", Free, "-v -R", ""),
    row(". source exec command builtin", Program(0), "", "a"),
    // Interpreters.
    row("python pypy ipython", End, "c", "W X m"),
    row("perl", End, "e E", "I"),
    row("ruby jruby", End, "e", "r I C E"),
    row("node nodejs bun", End, "e p eval print", "r C require import loader conditions input-type"),
    row("php", End, "r B R E run process-begin process-code process-end", "d c z t define"),
    row("lua luajit", End, "e", "l"),
    row("R Rscript", End, "e", ""),
    row("julia", End, "e E eval print", "L J project"),
    row("elixir groovy scala osascript", End, "e eval", ""),
    row("awk gawk mawk nawk original-awk", Script, "e", "F v i l"),
    row("sed gsed", Script, "e expression", "l line-length"),
    // Programs that run others.
    row("find gfind", Free, "-exec -execdir -ok -okdir", ""),
    row("fd fdfind", Free, "x X exec exec-batch", ""),
    row("xargs gxargs", Program(0), "", "a d E I L n P s arg-file delimiter max-args max-procs max-lines max-chars"),
    row("env genv", Program(0), "S split-string", "u C unset chdir"),
    row("sudo", Program(0), "", "C D g h p R r T t U u user group host prompt chdir chroot"),
    row("doas", Program(0), "", "C u a"),
    row("nice gnice", Program(0), "", "n adjustment"),
    row("timeout gtimeout", Program(1), "", "k s kill-after signal"),
    row("nohup setsid busybox toybox", Program(0), "", ""),
    row("time", Program(0), "", "f o format output"),
    row("stdbuf gstdbuf", Program(0), "", "i o e input output error"),
    row("ionice chrt taskset", Program(0), "", "c n p P u"),
    row("chroot", Program(1), "", "userspec groups"),
    row("flock", Program(1), "c command", "w E timeout conflict-exit-code"),
    row("strace ltrace", Program(0), "", "e o p s u a b E I O P S X"),
    row("ssh", Code(1), "o", "B b c D E e F I i J L l m O p Q R S W w"),
    row("rsync", Free, "e rsh rsync-path", ""),
    row("git", End, "c config-env exec-path", "C git-dir work-tree namespace"),
];

/// The row of each name.
static ROWS: LazyLock<HashMap<&str, &Row>> = LazyLock::new(|| {
    TABLE.iter().flat_map(|row| row.names.split(' ').map(move |it| (it, row))).collect()
});

/// The row of a program by its path: by its whole name, else by the name without a version
/// behind it.
fn of(path: &str) -> Option<(&str, &'static Row)> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    Some((name, *ROWS.get(name).or_else(|| ROWS.get(plain))?))
}

/// The entries of a list.
fn each(options: &str) -> impl Iterator<Item = &[u8]> {
    options.as_bytes().split(|it| *it == b' ')
}

/// Whether a letter or a long name is in a list; long names may be cut short.
fn lists(options: &str, name: &str) -> bool {
    let name = name.as_bytes();
    each(options).any(|it| it == name || name.len() > 1 && it.starts_with(name))
}

/// The looks at programs so far.
///
/// One for each command, also for the substitutions in it.
#[derive(Default)]
pub(super) struct Lint {
    n_programs: usize,
}

impl Lint {
    /// Refuses values that the program, or one that it runs, takes for code.
    /// A program that runs another one is followed to that one, and so on. A program that is in
    /// no row is searched for interpreters among its words.
    ///
    /// # Errors
    ///
    /// A fault for the first value that would be code.
    pub(super) fn check(
        &mut self,
        checker: &Checker<'_>,
        mut words: &mut [&mut Word],
    ) -> Result<(), Box<Fault>> {
        loop {
            let Some((program, args)) = words.split_first_mut() else { return Ok(()) };
            let path = path(checker.text, program);
            let Some((name, row)) = path.as_deref().and_then(of) else {
                return self.interpreters(checker, args);
            };
            self.count(program)?;
            let next = Args { checker, name, row, words: args }.check()?;
            match (row.operands, next) {
                (Program(_), Some(next)) => words = &mut args[next..],
                (Free, _) => return self.interpreters(checker, args),
                _ => return Ok(()),
            }
        }
    }

    /// Many programs run others that are named among their words, as `docker exec` does. An interpreter with code
    /// behind it is taken for one.
    fn interpreters(
        &mut self,
        checker: &Checker<'_>,
        args: &mut [&mut Word],
    ) -> Result<(), Box<Fault>> {
        mark_dashes(checker.text, args);
        for at in 0..args.len() {
            let (before, behind) = args.split_at_mut(at + 1);
            let path = path(checker.text, before[at]);
            let Some((name, row)) = path.as_deref().and_then(of) else { continue };
            if row.operands == End {
                self.count(before[at])?;
                Args { checker, name, row, words: behind }.check()?;
            }
        }
        Ok(())
    }

    /// Counts one program, and fails beyond [`MOST_PROGRAMS`].
    fn count(&mut self, word: &Word) -> Result<(), Box<Fault>> {
        self.n_programs += 1;
        if self.n_programs <= MOST_PROGRAMS {
            return Ok(());
        }
        let what = format!(
            "the command names more than {MOST_PROGRAMS} shells and programs that run others"
        );
        Err(Fault::syntax(word.span.clone(), what).into())
    }
}

/// The path of a program as it is written: its end where a directory changes from call to call,
/// and what is left where its expansions are empty.
fn path<'a>(text: &'a str, word: &'a Word) -> Option<Cow<'a, str>> {
    let end = || word.tail(text).filter(|it| it.contains('/')).map(Cow::Borrowed);
    let left = || word.value().is_none().then(|| word.literals(text).collect());
    word.fixed(text).or_else(end).or_else(left)
}

/// The words behind one program.
struct Args<'a, 'w> {
    checker: &'a Checker<'a>,
    name: &'a str,
    row: &'static Row,
    /// All words of the command behind the program.
    words: &'a mut [&'w mut Word],
}

/// A word as a program with options reads it.
enum Kind<'a> {
    /// Its letters or its long name; whether a value stands in the same word.
    Option(Names<'a>, bool),
    /// `--`, or a lone `-`.
    Dashes,
    /// Anything else, also a word that begins with a value.
    Operand,
}

/// The options in one word: one long name, or letters that are one each.
#[derive(Clone, Copy)]
enum Names<'a> {
    Long(&'a str),
    Letters(&'a str),
}

impl Names<'_> {
    /// Whether one of them is meant.
    fn any(self, is_meant: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Long(name) => is_meant(name),
            Self::Letters(all) => {
                all.char_indices().any(|(at, it)| is_meant(&all[at..at + it.len_utf8()]))
            }
        }
    }

    /// Whether the last of them is meant.
    fn last(self, is_meant: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Long(name) => is_meant(name),
            Self::Letters(all) => {
                all.char_indices().next_back().is_some_and(|(at, _)| is_meant(&all[at..]))
            }
        }
    }
}

/// Letters behind one sign are options each, and so is a text behind two. What a value adds is
/// not seen.
fn kind<'a>(text: &'a str, word: &'a Word) -> Kind<'a> {
    let lead = word.lead(text);
    if word.fixed(text).is_some_and(|it| it == "-" || it == "--") {
        return Kind::Dashes;
    }
    if let Some(long) = lead.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        return Kind::Option(Names::Long(name), name.len() < long.len());
    }
    match lead.strip_prefix(['-', '+']) {
        Some(letters) => Kind::Option(Names::Letters(letters), false),
        None => Kind::Operand,
    }
}

impl Args<'_, '_> {
    /// Refuses a placeholder in a word that is code.
    fn refuse(&self, word: &Word) -> Result<(), Box<Fault>> {
        if word.value().is_none() {
            return Ok(());
        }
        let (place, help) = words_for(self.name);
        self.checker.refuse(word, &place, &help)
    }

    /// Refuses values in code; gives the place of the program that this one runs. Words up to it, to code, or to the
    /// first operand of an interpreter cannot be left out: another one would take their place.
    fn check(&mut self) -> Result<Option<usize>, Box<Fault>> {
        let Row { code, valued, operands, .. } = *self.row;
        let text = self.checker.text;
        let is_shell = self.name.ends_with("sh");
        if operands == Script || operands == End && !is_shell {
            mark_dashes(text, self.words);
        }
        let (mut at, mut n_operands, mut n_needed) = (0, 0, 0);
        // The next operand is code; code or a file of it was named; the first operand of a script.
        let (mut is_next, mut is_named, mut script) = (false, false, None);
        while let Some(word) = self.words.get(at) {
            match kind(text, word) {
                Kind::Option(names, has_value) => {
                    let is_code = names.any(|it| lists(code, it))
                        || word
                            .fixed(text)
                            .is_some_and(|it| each(code).any(|one| one == it.as_bytes()));
                    let is_valued = names.any(|it| lists(valued, it));
                    if is_code {
                        self.refuse(word)?;
                    } else if !has_value && !is_valued && word.value().is_some() {
                        let place =
                            format!("in an option of `{}`, and some of them take code", self.name);
                        self.checker.refuse(word, &place, "write the option itself")?;
                    }
                    let is_last = |of: &str| names.last(|it| lists(of, it));
                    let is_alone = !has_value && word.value().is_none();
                    is_named |=
                        is_code || operands == Script && names.any(|it| lists("f file", it));
                    is_next |=
                        is_code && is_alone && (is_last(code) || is_shell || code.starts_with('-'));
                    let takes_word = || is_last(valued) || operands == Script && is_last("f file");
                    if is_alone && !is_code && takes_word() {
                        let behind = &self.words[at + 1..];
                        let n_gone = behind.iter().take_while(|it| it.may_vanish(text)).count();
                        at += n_gone + 1;
                    }
                }
                // What follows may stand in its place. A command in it may print code.
                Kind::Operand if word.may_vanish(text) && operands != Program(n_operands) => {
                    if is_next || matches!(operands, Script | Code(_)) {
                        self.refuse(word)?;
                    }
                }
                _ if is_next => {
                    self.refuse(word)?;
                    (is_next, n_needed) = (false, at + 1);
                    if is_shell {
                        break;
                    }
                }
                Kind::Dashes if operands == End && !is_shell => break,
                Kind::Dashes => {}
                Kind::Operand
                    if matches!(operands, Program(_)) && is_assignment(word.lead(text)) =>
                {
                    let place = format!("in a variable that `{}` sets", self.name);
                    self.checker.refuse(word, &place, "set it under \"env\" in the manifest")?;
                }
                Kind::Operand => {
                    n_operands += 1;
                    match operands {
                        End => {
                            n_needed = at + 1;
                            break;
                        }
                        Free => {}
                        Script => script = script.or(Some(at)),
                        Program(n) if n_operands > n => {
                            self.checker.refuse_program(&self.words[at..])?;
                            self.words[..at].iter_mut().for_each(|it| it.needed = true);
                            return Ok(Some(at));
                        }
                        Code(n) if n_operands > n => self.refuse(word)?,
                        Program(_) | Code(_) => {}
                    }
                }
            }
            at += 1;
        }
        if let Some(at) = script.filter(|_| !is_named) {
            self.refuse(self.words[at])?;
            n_needed = at + 1;
        }
        self.words[..n_needed].iter_mut().for_each(|it| it.needed = true);
        Ok(None)
    }
}

/// Where a value stands that a program would take for more than data, and what to write in its place.
/// `{{x}}` stands for the placeholder, whose name the caller puts in.
fn words_for(name: &str) -> (String, String) {
    const ARG: &str = "hand the value over as an argument, as in";
    const SH: &str = "`sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\"";
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let code = format!("in the code that `{name}` runs");
    let own = match plain {
        "export" | "readonly" | "declare" | "typeset" | "local" => {
            let help = format!("set the variable under \"env\" in the manifest, or {ARG} {SH}");
            return (format!("in an assignment that `{name}` makes"), help);
        }
        "unset" | "read" | "mapfile" | "readarray" | "printf" | "test" | "[" => {
            let place = format!("where `{name}` takes the name of a variable");
            return (place, "write a name of your own".to_owned());
        }
        "git" => {
            let place = format!("in a setting of `{name}`, and some of them run programs");
            return (place, "write the setting itself, as in `git -c core.pager=cat`".to_owned());
        }
        "sed" | "gsed" => {
            let help =
                "write the script itself; a value can be the file, as in `sed 's/a/b/' {{x}}`";
            return (code, help.to_owned());
        }
        "python" | "pypy" | "ipython" => "`python3 -c '…' {{x}}`, where it is `sys.argv[1]`",
        "perl" => "`perl -e '…' -- {{x}}`, where it is `$ARGV[0]`",
        "ruby" | "jruby" => "`ruby -e '…' -- {{x}}`, where it is `ARGV[0]`",
        "node" | "nodejs" | "bun" => "`node -e '…' -- {{x}}`, where it is `process.argv[1]`",
        "php" => "`php -r '…' -- {{x}}`, where it is `$argv[1]`",
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => {
            "`awk 'BEGIN { x = ARGV[1]; ARGV[1] = \"\" } …' {{x}} FILE`, where it is the variable `x`"
        }
        _ => "",
    };
    let or = if own.is_empty() { "" } else { ", or in " };
    (code, format!("{ARG} {own}{or}{SH}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stays_small() {
        assert!(TABLE.len() <= 60, "a list of foreign programs is never finished");
    }
}
