//! Help for authors: places in which common programs would run a value.
//!
//! It is no promise. What a program does with an argument is the program's, and a list of programs
//! is never finished; a permission rule and a sandbox see the arguments as they are.
//!
//! The table has one row for programs with the same options, and is kept short. The walk is
//! linear in the words behind each program, and the [`Checker`] bounds how many are walked.

use std::{borrow::Cow, sync::LazyLock};

use smallvec::SmallVec;

use super::{
    checker::Checker,
    fault::Fault,
    words::{Word, is_assignment},
};

/// What programs with these names do with their words. Options are letters and long names.
///
/// Lists are separated by blanks.
struct Row {
    /// Names of programs, without a directory.
    names: &'static str,
    /// What the words are that are no options.
    operands: Operands,
    /// Options behind which code stands, or a program: what is left of the word, else the next
    /// operand.
    code: &'static str,
    /// Other options whose value is a word of its own.
    valued: &'static str,
    /// Where a value stands that would be more than data; `{}` is the program.
    place: &'static str,
    /// What to write instead; `{{x}}` is the placeholder.
    help: &'static str,
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

/// What to write in place of a value in code.
macro_rules! argument {
    ($own:literal) => {
        concat!(
            "hand the value over as an argument, as in ",
            $own,
            "`sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\""
        )
    };
}

const CODE: &str = "in the code that `{}` runs";
const ASSIGNS: &str = "in an assignment that `{}` makes";
const NAMES: &str = "where `{}` takes the name of a variable";
const SETTING: &str = "in a setting of `{}`, and some of them run programs";

const fn row(
    names: &'static str,
    operands: Operands,
    code: &'static str,
    valued: &'static str,
) -> Row {
    Row { names, operands, code, valued, place: CODE, help: argument!("") }
}

impl Row {
    /// The row with a place and a help of its own.
    const fn says(self, place: &'static str, help: &'static str) -> Self {
        Self { place, help, ..self }
    }
}

/// Versions at the end of a name are left out, as in `python3.12`.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Shells.
    row("sh bash dash ash ksh mksh zsh fish csh tcsh pwsh", End, "c command init-command", "o O rcfile init-file"),
    row("su runuser sg", Free, "c command session-command", "u g G s w"),
    row("script expect npx", Free, "c command call", ""),
    row("eval trap let compgen complete watch parallel", Code(0), "", "n interval"),
    row("export readonly declare typeset local", Code(0), "", "").says(
        ASSIGNS, concat!("set the variable under \"env\" in the manifest, or ", argument!(""))),
    row("unset read mapfile readarray", Code(0), "", "").says(NAMES, "write a name of your own"),
    row("printf", End, "v", "").says(NAMES, "write a name of your own"),
    row("test [", Free, "-v -R", "").says(NAMES, "write a name of your own"),
    row(". source exec command builtin", Program(0), "", "a"),
    // Interpreters.
    row("python pypy ipython", End, "c", "W X m")
        .says(CODE, argument!("`python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in ")),
    row("perl", End, "e E", "I")
        .says(CODE, argument!("`perl -e '…' -- {{x}}`, where it is `$ARGV[0]`, or in ")),
    row("ruby jruby", End, "e", "r I C E")
        .says(CODE, argument!("`ruby -e '…' -- {{x}}`, where it is `ARGV[0]`, or in ")),
    row("node nodejs bun", End, "e p eval print", "r C require import loader conditions input-type")
        .says(CODE, argument!("`node -e '…' -- {{x}}`, where it is `process.argv[1]`, or in ")),
    row("php", End, "r B R E run process-begin process-code process-end", "d c z t define")
        .says(CODE, argument!("`php -r '…' -- {{x}}`, where it is `$argv[1]`, or in ")),
    row("lua luajit", End, "e", "l"),
    row("R Rscript", End, "e", ""),
    row("julia", End, "e E eval print", "L J project"),
    row("elixir groovy scala osascript", End, "e eval", ""),
    row("awk gawk mawk nawk original-awk", Script, "e", "F v i l")
        .says(CODE, argument!("`awk 'BEGIN { x = ARGV[1]; ARGV[1] = \"\" } …' {{x}} FILE`, where it is the variable `x`, or in ")),
    row("sed gsed", Script, "e expression", "l line-length")
        .says(CODE, "write the script itself; a value can be the file, as in `sed 's/a/b/' {{x}}`"),
    // Programs that run others.
    row("find gfind", Free, "-exec -execdir -ok -okdir", ""),
    row("fd fdfind", Free, "x X exec exec-batch", ""),
    row("xargs gxargs", Program(0), "", "a d E I L n P s arg-file delimiter max-args max-procs max-lines max-chars"),
    row("env genv", Program(0), "S split-string", "u C unset chdir"),
    row("sudo", Program(0), "", "C D g h p R r T t U u user group host prompt chdir chroot"),
    row("doas", Program(0), "", "C u a"),
    row("nice gnice", Program(0), "", "n adjustment"),
    row("timeout gtimeout", Program(1), "", "k s kill-after signal"),
    row("nohup setsid busybox toybox unbuffer catchsegv linux32 linux64 setarch torsocks", Program(0), "", ""),
    row("choom prlimit", Program(0), "", "n p o adjust pid output"),
    row("numactl", Program(0), "", "C N i m p cpunodebind interleave membind physcpubind preferred"),
    row("dbus-run-session ssh-agent", Program(0), "", "E O P a t config-file dbus-daemon"),
    row("systemd-inhibit systemd-run", Program(0), "", "E M p u what who why mode unit property setenv slice"),
    row("fakeroot pkexec proxychains proxychains4", Program(0), "", "b f i l s faked lib user"),
    row("unshare nsenter setpriv firejail bwrap", Program(0), "", "G R S t w root setgid setuid target wd"),
    row("entr", Program(0), "s", ""),
    row("time", Program(0), "", "f o format output"),
    row("stdbuf gstdbuf", Program(0), "", "i o e input output error"),
    row("ionice chrt taskset", Program(0), "", "c n p P u"),
    row("chroot", Program(1), "", "userspec groups"),
    row("flock", Program(1), "c command", "w E timeout conflict-exit-code"),
    row("strace ltrace", Program(0), "", "e o p s u a b E I O P S X"),
    row("ssh", Code(1), "o", "B b c D E e F I i J L l m O p Q R S W w"),
    row("rsync", Free, "e rsh rsync-path", "")
        .says(CODE, "write the program itself, as in `rsync -e ssh {{x}} DIR`"),
    row("psql", Free, "c command", "d dbname f file F field-separator h host L log-file o output p port P pset R record-separator T table-attr U username v set variable")
        .says(CODE, "write the statement into a file, and hand the value over as a variable: `psql -v x={{x}} -f FILE`, where it is :'x'"),
    row("git", End, "c config-env exec-path", "C git-dir work-tree namespace")
        .says(SETTING, "write the setting itself, as in `git -c core.pager=cat`"),
];

/// The row of each name, the shorter names first: most steps of a search compare no more than the lengths.
static ROWS: LazyLock<Vec<(&str, &Row)>> = LazyLock::new(|| {
    let names = |row: &'static Row| row.names.split(' ').map(move |it| (it, row));
    let mut res: Vec<_> = TABLE.iter().flat_map(names).collect();
    res.sort_unstable_by_key(|it| (it.0.len(), it.0));
    res
});

fn row_of(name: &str) -> Option<&'static Row> {
    let rows = &*ROWS;
    let at = rows.binary_search_by(|it| (it.0.len(), it.0).cmp(&(name.len(), name))).ok()?;
    Some(rows[at].1)
}

/// The name of a program and its row: by the whole name, else by the name without a version behind
/// it.
fn known<'a>(text: &'a str, program: &'a Word) -> Option<(Cow<'a, str>, &'static Row)> {
    let path = program.path(text)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let plain = || name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let row = row_of(name).or_else(|| row_of(plain()))?;
    let at = path.len() - name.len();
    let name = match path {
        Cow::Borrowed(path) => Cow::Borrowed(&path[at..]),
        Cow::Owned(mut path) => Cow::Owned(path.split_off(at)),
    };
    Some((name, row))
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

/// Refuses values that the program, or one that it runs, takes for code.
/// A program that runs another one is followed to that one, and so on. A program that is in
/// no row is searched for interpreters among its words.
///
/// # Errors
///
/// A fault for the first value that would be code.
pub(super) fn check(
    checker: &mut Checker<'_>,
    mut words: &mut [&mut Word],
) -> Result<(), Box<Fault>> {
    while let Some((program, args)) = words.split_first_mut() {
        let Some((name, row)) = known(checker.text, program) else {
            return interpreters(checker, args);
        };
        checker.count_program(program)?;
        match (row.operands, arguments(checker, &name, row, args)?) {
            (Program(_), Some(next)) => words = &mut args[next..],
            (Free, _) => return interpreters(checker, args),
            _ => break,
        }
    }
    Ok(())
}

/// Many programs run others that are named among their words, as `docker exec` does. An interpreter
/// with code behind it is taken for one.
fn interpreters(checker: &mut Checker<'_>, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
    mark_dashes(checker.text, args);
    for at in 0..args.len() {
        let (before, behind) = args.split_at_mut(at + 1);
        let found = known(checker.text, before[at]);
        if let Some((name, row)) = found.filter(|(_, row)| row.operands == End) {
            checker.count_program(before[at])?;
            arguments(checker, &name, row, behind)?;
        }
    }
    Ok(())
}

/// Marks the words behind `--`.
/// For programs that take `--` as the end of options; the words are those behind the program.
fn mark_dashes(text: &str, words: &mut [&mut Word]) {
    let (mut after_dashes, mut is_value) = (false, false);
    for word in words {
        word.after_dashes = after_dashes;
        let fixed = word.fixed(text);
        // Behind these letters of grep and others, `--` is a value.
        after_dashes |= fixed.as_deref() == Some("--") && !is_value;
        let may_be_next = matches!(fixed.as_deref(), Some("-e" | "-f"));
        if may_be_next != is_value && !word.may_vanish(text) {
            is_value = may_be_next;
        }
    }
}

/// A word as a program with options reads it.
enum Kind<'a> {
    /// Its long name, or its letters, which are one each; whether a value stands in the same word.
    Option(SmallVec<[&'a str; 4]>, bool),
    /// `--`, or a lone `-`.
    Dashes,
    /// Anything else, also a word that begins with a value.
    Operand,
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
        return Kind::Option([name].into_iter().collect(), name.len() < long.len());
    }
    let Some(letters) = lead.strip_prefix(['-', '+']) else { return Kind::Operand };
    let letters = letters.char_indices().map(|(at, it)| &letters[at..at + it.len_utf8()]);
    Kind::Option(letters.collect(), false)
}

/// Refuses values in code; gives the place of the program that this one runs. Words up to it, to
/// code, or to the first operand of an interpreter cannot be left out: another one would take their
/// place. The words are all behind the program.
fn arguments(
    checker: &mut Checker<'_>,
    name: &str,
    row: &Row,
    words: &mut [&mut Word],
) -> Result<Option<usize>, Box<Fault>> {
    let Row { code, valued, operands, place, help, .. } = *row;
    let refuse = |checker: &Checker<'_>, word: &Word| match &word.value {
        Some(_) => checker.refuse(word, &place.replace("{}", name), help),
        None => Ok(()),
    };
    let text = checker.text;
    let is_shell = name.ends_with("sh");
    if operands == Script || operands == End && !is_shell {
        mark_dashes(text, words);
    }
    let (mut at, mut n_operands, mut n_needed, mut next) = (0, 0, 0, None);
    // The next operand is code; code or a file of it was named; the first operand of a script.
    let (mut is_next, mut is_named, mut script) = (false, false, None);
    while let Some(word) = words.get(at) {
        match kind(text, word) {
            Kind::Option(names, has_value) => {
                let any = |of| names.iter().any(|it| lists(of, it));
                let last = |of| names.last().is_some_and(|it| lists(of, it));
                // A list with whole words begins with one.
                let whole = word.fixed(text).filter(|_| code.starts_with('-'));
                let is_code =
                    any(code) || whole.is_some_and(|it| each(code).any(|one| one == it.as_bytes()));
                if is_code {
                    refuse(checker, word)?;
                } else if word.value.is_some() && !has_value && !any(valued) {
                    let place = format!("in an option of `{name}`, and some of them take code");
                    checker.refuse(word, &place, "write the option itself")?;
                }
                let is_alone = !has_value && word.value.is_none();
                let is_script = operands == Script;
                is_named |= is_code || is_script && any("f file");
                is_next |= is_code && is_alone && (last(code) || is_shell || code.starts_with('-'));
                if is_alone && !is_code && (last(valued) || is_script && last("f file")) {
                    let behind = words[at + 1..].iter();
                    at += 1 + behind.take_while(|it| it.may_vanish(text)).count();
                }
            }
            // What follows may stand in its place. A command in it may print code.
            Kind::Operand if word.may_vanish(text) && operands != Program(n_operands) => {
                if is_next || matches!(operands, Script | Code(_)) {
                    refuse(checker, word)?;
                }
            }
            _ if is_next => {
                refuse(checker, word)?;
                (is_next, n_needed) = (false, at + 1);
                if is_shell {
                    break;
                }
            }
            Kind::Dashes if operands == End && !is_shell => break,
            Kind::Dashes => {}
            Kind::Operand if matches!(operands, Program(_)) && is_assignment(word.lead(text)) => {
                let place = format!("in a variable that `{name}` sets");
                checker.refuse(word, &place, "set it under \"env\" in the manifest")?;
            }
            Kind::Operand => {
                n_operands += 1;
                match operands {
                    End => {
                        n_needed = at + 1;
                        break;
                    }
                    Script => script = script.or(Some(at)),
                    Program(n) if n_operands > n => {
                        checker.refuse_program(&words[at..])?;
                        (n_needed, next) = (at, Some(at));
                        break;
                    }
                    Code(n) if n_operands > n => refuse(checker, word)?,
                    Free | Program(_) | Code(_) => {}
                }
            }
        }
        at += 1;
    }
    if let Some(at) = script.filter(|_| !is_named) {
        refuse(checker, words[at])?;
        n_needed = at + 1;
    }
    words[..n_needed].iter_mut().for_each(|it| it.needed = true);
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stays_small() {
        assert!(TABLE.len() <= 60, "a list of foreign programs is never finished");
    }

    #[test]
    fn a_name_is_in_one_row() {
        let twice = ROWS.windows(2).find(|it| it[0].0 == it[1].0);
        assert_eq!(twice.map(|it| it[0].0), None);
    }
}
