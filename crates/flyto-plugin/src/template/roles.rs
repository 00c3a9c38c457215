//! What the words of a command are for: which is the program, which would be run as code, which
//! cannot be left out.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
};

use super::{
    fault::Fault,
    programs::{self, Runs},
    text::{Gap, Item, Part, Taken, Word},
    variables::assignment,
};

/// Words that are no program to a shell. `case` and `function` are looked at on their own.
const KEYWORDS: [&str; 14] = [
    "!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for",
    "select",
];

/// Commands that exist in a shell only.
const BUILTINS: [&str; 48] = [
    "case",
    "function",
    "esac",
    "[[",
    "coproc",
    ":",
    ".",
    "break",
    "continue",
    "eval",
    "exec",
    "exit",
    "export",
    "readonly",
    "return",
    "set",
    "shift",
    "times",
    "trap",
    "unset",
    "alias",
    "bg",
    "cd",
    "command",
    "fc",
    "fg",
    "getopts",
    "hash",
    "jobs",
    "read",
    "type",
    "ulimit",
    "umask",
    "unalias",
    "wait",
    "source",
    "let",
    "declare",
    "typeset",
    "local",
    "builtin",
    "mapfile",
    "readarray",
    "shopt",
    "pushd",
    "popd",
    "dirs",
    "disown",
];

/// How many programs in a text may run others. Each of them is looked at from within the one before
/// it, so this keeps far from the end of a thread's stack.
const MOST_WRAPPERS: usize = 128;

/// Keywords that begin a loop.
const LOOPS: [&str; 4] = ["while", "until", "for", "select"];

/// How often a text with loops is looked at, so that a long one costs no more than a moment.
const MOST_LOOKS: usize = 16;

/// What is known of a whole text while its commands are looked at.
pub(super) struct Whole<'a> {
    pub(super) text: &'a str,
    pub(super) params: &'a [String],
    n_wrappers: Cell<usize>,
    /// The variables that got the value of a parameter.
    pub(super) filled: RefCell<Vec<(String, usize)>>,
}

/// Refuses placeholders whose values would be run, and marks words that cannot be left out and words
/// that a `--` protects. Says whether a shell is needed beyond what the text itself shows.
pub(super) fn assign(text: &str, taken: &mut Taken) -> Result<(), Box<Fault>> {
    let Taken { items, params, positional, .. } = taken;
    if let Some(span) = positional.clone().filter(|_| !params.is_empty()) {
        let fault = Fault::positional(span.clone(), &text[span]);
        return Err(Box::new(fault));
    }
    let mut commands = items.iter().filter(|it| matches!(it, Item::Word(_)));
    let Some(Item::Word(first)) = commands.next() else {
        return Err(Fault::empty(0..text.len()).into());
    };
    let raw = &text[first.span.clone()];
    let cooked = first.fixed().unwrap_or_default();
    let shell = is_shells_own(raw)
        || BUILTINS.contains(&cooked.as_str())
        || assignment(text, first).is_some();
    let whole = Whole { text, params, n_wrappers: Cell::new(0), filled: RefCell::default() };
    whole.commands(items)?;
    // In a loop, what stands further down is run before what stands above it.
    let mut n_filled = 0;
    let mut n_looks = 1;
    while n_filled < whole.filled.borrow().len() && LOOPS.iter().any(|it| text.contains(it)) {
        if n_looks == MOST_LOOKS {
            let what = "variables are handed on through more of each other than is looked at here";
            return Err(Fault::syntax(0..text.len(), what).into());
        }
        n_filled = whole.filled.borrow().len();
        whole.n_wrappers.set(0);
        whole.commands(items)?;
        n_looks += 1;
    }
    taken.live |= shell;
    Ok(())
}

/// Whether a word as it is written means something to a shell itself.
pub(super) fn is_shells_own(word: &str) -> bool {
    KEYWORDS.contains(&word) || BUILTINS.contains(&word)
}

impl Whole<'_> {
    fn commands(&self, items: &mut [Item]) -> Result<(), Box<Fault>> {
        let mut words: Vec<&mut Word> = Vec::new();
        // A redirection came, and its target did not yet.
        let mut redirect = None;
        let mut after_word = false;
        for item in items {
            match item {
                Item::Word(word) => {
                    for part in &mut word.parts {
                        match part {
                            Part::Substitution(_, items) => self.commands(items)?,
                            Part::Expansion(span) => self.expansion(span)?,
                            Part::Literal { .. } | Part::Value { .. } => {}
                        }
                    }
                    match redirect.take() {
                        Some(gap) => self.target(word, gap)?,
                        None => words.push(word),
                    }
                    after_word = true;
                    continue;
                }
                Item::Gap(Gap::Blank | Gap::Comment, _) => {}
                Item::Gap(gap @ (Gap::Redirect | Gap::Duplicate), _) => {
                    // Digits right before it name the descriptor, and are no word.
                    if after_word && words.last().is_some_and(|it| self.is_number(it)) {
                        words.pop();
                    }
                    if after_word
                        && let Some(span) = words.last().and_then(|it| self.named_stream(it))
                    {
                        return Err(Fault::named_stream(span).into());
                    }
                    redirect = Some(*gap);
                }
                Item::Gap(Gap::Open, span) => {
                    let begun = words.iter().any(|it| !self.is_keyword(it));
                    if begun && !self.params.is_empty() {
                        let what = "a function or a list in parentheses";
                        return Err(Fault::moves_positional(span.clone(), what).into());
                    }
                    self.command(&mut words)?;
                    words.clear();
                }
                Item::Gap(Gap::Newline | Gap::Background | Gap::Close, _) => {
                    self.command(&mut words)?;
                    words.clear();
                }
            }
            after_word = false;
        }
        self.command(&mut words)
    }

    fn is_number(&self, word: &Word) -> bool {
        self.text[word.span.clone()].bytes().all(|it| it.is_ascii_digit())
    }

    /// `{name}`, as some shells have it in front of a redirection.
    fn named_stream(&self, word: &Word) -> Option<Range<usize>> {
        let name = self.text[word.span.clone()].strip_prefix('{')?.strip_suffix('}')?;
        (!name.contains(['{', '}', ','])).then(|| word.span.clone())
    }

    fn is_keyword(&self, word: &Word) -> bool {
        KEYWORDS.contains(&&self.text[word.span.clone()])
    }

    fn target(&self, word: &mut Word, gap: Gap) -> Result<(), Box<Fault>> {
        if gap == Gap::Duplicate {
            let help = "write the number of the stream, as in `2>&1`";
            self.refuse(word, "where a stream is named", help)?;
        }
        word.needed = true;
        Ok(())
    }

    /// Refuses any placeholder in a word.
    pub(super) fn refuse(&self, word: &Word, place: &str, help: &str) -> Result<(), Box<Fault>> {
        let Some((param, span)) = self.value(word) else { return Ok(()) };
        let name = &self.params[param];
        Err(Fault::place(span, name, place, help.replace("{{x}}", &format!("{{{{{name}}}}}")))
            .into())
    }

    /// Looks at one simple command, or at the beginning of a compound one.
    fn command(&self, words: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        for at in 0..words.len() {
            let (first, after) = (words[at].span.clone(), &mut words[at + 1..]);
            let raw = &self.text[first.clone()];
            match raw {
                "for" | "select" => {
                    if let Some(name) = after.first() {
                        self.refuse(name, "where a variable is named", "write a name of your own")?;
                        let name = name.fixed().unwrap_or_default();
                        for word in &after[1..] {
                            self.assigned(&name, word)?;
                        }
                    }
                    dashes(after);
                    return Ok(());
                }
                "case" => {
                    let what = "a template has no `case`, whose branches end with `;;`";
                    let mut fault = Fault::syntax(first, what);
                    fault.help = Some("write a script, or `sh -c '…' _ {{name}}`".to_owned());
                    return Err(Box::new(fault));
                }
                "function" if !self.params.is_empty() => {
                    let fault = Fault::moves_positional(first, "a function");
                    return Err(Box::new(fault));
                }
                "[[" => {
                    for word in after.iter() {
                        self.refuse(word, "within `[[`, where some shells calculate", "use `[`")?;
                    }
                    return Ok(());
                }
                _ if KEYWORDS.contains(&raw) => {}
                _ if let Some(name) = assignment(self.text, words[at]) => {
                    self.assigned(name, words[at])?
                }
                _ => return self.program(&mut words[at..]),
            }
        }
        Ok(())
    }

    /// Looks at a program and its words.
    pub(super) fn program(&self, words: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let Some((program, args)) = words.split_first_mut() else { return Ok(()) };
        self.refuse(
            program,
            "in the place of the program",
            &format!("write the program itself; {}", instead("sh")),
        )?;
        let Some(path) = path(self.text, program) else {
            for word in args.iter() {
                let place = "behind a program that is known to the shell alone, and may be one that \
                             runs code";
                self.refuse(word, place, "write the name of the program, or its path")?;
            }
            dashes(args);
            return Ok(());
        };
        if path.is_empty() {
            return Err(Fault::empty(program.span.clone()).into());
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        match programs::of(name) {
            Runs::Other(wrapper) => {
                self.n_wrappers.set(self.n_wrappers.get() + 1);
                if self.n_wrappers.get() > MOST_WRAPPERS {
                    let what = format!("more than {MOST_WRAPPERS} programs that run others");
                    return Err(Fault::syntax(program.span.clone(), what).into());
                }
                return self.wrapped(name, &wrapper, args);
            }
            Runs::OtherBehindExec => return self.behind_exec(name, args),
            Runs::Shell => return self.shell(name, args),
            Runs::Code(interpreter) => self.interpreter(name, &interpreter, args)?,
            Runs::Awk => self.awk(name, args)?,
            Runs::Sed => self.sed(name, args)?,
            Runs::Behind(begins) => self.code_behind(name, begins, args)?,
            Runs::Remote => self.ssh(name, args)?,
            Runs::Git => self.git(name, args)?,
            Runs::AllCode => self.all_code(name, args)?,
            Runs::AllCodeWith(is_like) => {
                if args.iter().any(|it| is_like(it.lead())) {
                    self.all_code(name, args)?;
                }
            }
            Runs::Launcher => return self.launched(name, args),
            Runs::NamesBehindV => self.names_behind_v(name, args)?,
            Runs::Source => {
                if let Some(word) = args.first() {
                    let place = format!("behind `{name}`, which runs the file as code");
                    self.refuse(word, &place, "write the name of a script")?;
                }
            }
            Runs::Names => self.names(name, args)?,
            Runs::SetsPositional => self.sets(name, program.span.clone(), args)?,
            runs @ (Runs::Itself | Runs::Options(_)) => {
                if let Runs::Options(options) = runs {
                    self.options(name, &options, args, true)?;
                }
                let dashes = args.iter().position(|it| it.fixed().as_deref() == Some("--"));
                if let Some(program) = dashes.and_then(|it| args.get(it + 1))
                    && programs::runs_behind_dashes(name)
                {
                    self.refuse(program, "in the place of the program", &instead("sh"))?;
                }
                self.behind_unknown(args)?;
                // Behind their `--` are the words of another program.
                let runs = |it: &Word| {
                    let path = it.fixed().unwrap_or_default();
                    programs::takes_code(path.rsplit('/').next().unwrap_or_default())
                };
                if programs::passes_on(name) || args.iter().any(|it| runs(it)) {
                    return Ok(());
                }
            }
        }
        dashes(args);
        Ok(())
    }

    /// `set -e` changes no positional parameter; what names further words does.
    fn sets(&self, name: &str, span: Range<usize>, args: &[&mut Word]) -> Result<(), Box<Fault>> {
        let mut option_name = false;
        let only_options = args.iter().all(|it| {
            let lead = it.lead();
            let fine = std::mem::take(&mut option_name)
                || (lead.starts_with(['-', '+']) && !matches!(lead, "-" | "--"));
            option_name = lead.starts_with(['-', '+']) && lead.ends_with('o');
            fine
        });
        if self.params.is_empty() || (name == "set" && only_options) {
            return Ok(());
        }
        Err(Fault::moves_positional(span, &format!("`{name}`")).into())
    }
}

/// The path of a program, or the end of it that does not change from call to call.
fn path(text: &str, program: &Word) -> Option<String> {
    let raw = &text[program.span.clone()];
    // Alone, it is no pattern and a program of this name.
    if raw == "[" {
        return Some(raw.to_owned());
    }
    // Some shells take the latter two for assignments.
    if is_pattern(raw) || raw.contains("+=") || raw.contains("]=") {
        return None;
    }
    if let Some(path) = program.fixed() {
        return Some(path);
    }
    if matches!(text[program.span.clone()].trim_matches('"'), "$SHELL" | "${SHELL}") {
        return Some("sh".to_owned());
    }
    match program
        .parts
        .iter()
        .rev()
        .find(|it| !matches!(it, Part::Literal { cooked, .. } if cooked.is_empty()))
    {
        Some(Part::Literal { cooked, .. }) if cooked.contains('/') => Some(cooked.clone()),
        _ => None,
    }
}

/// Whether the file name at the end of a word depends on which files there are.
fn is_pattern(raw: &str) -> bool {
    let (mut single, mut double, mut res) = (false, false, false);
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !single => {
                chars.next();
            }
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            _ if single || double => {}
            // `${NAME}` is an expansion and no list.
            '$' if chars.peek() == Some(&'{') => {
                chars.by_ref().find(|it| *it == '}');
            }
            '/' => res = false,
            '*' | '?' | '[' => res = true,
            '{' => return true,
            _ => {}
        }
    }
    res
}

/// Marks the words behind `--`.
pub(super) fn dashes(words: &mut [&mut Word]) {
    let mut after_dashes = false;
    let mut is_value = false;
    for word in words {
        word.after_dashes = after_dashes;
        let fixed = word.fixed();
        // Behind these letters of grep and others, `--` is a value.
        after_dashes |= fixed.as_deref() == Some("--") && !is_value;
        is_value = matches!(fixed.as_deref(), Some("-e" | "-f"));
    }
}

pub(super) fn code_of(name: &str) -> String {
    format!("in the code that `{name}` runs")
}

/// How to hand a value to code.
pub(super) fn instead(name: &str) -> String {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let own = match plain {
        "python" | "pypy" | "ipython" | "jython" => {
            "`python3 -c '…' {{x}}`, where it is `sys.argv[1]`"
        }
        "perl" => "`perl -e '…' -- {{x}}`, where it is `$ARGV[0]`",
        "ruby" | "jruby" => "`ruby -e '…' -- {{x}}`, where it is `ARGV[0]`",
        "node" | "nodejs" | "bun" => "`node -e '…' -- {{x}}`, where it is `process.argv[1]`",
        "php" => "`php -r '…' -- {{x}}`, where it is `$argv[1]`",
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => {
            "`awk 'BEGIN { x = ARGV[1] } …' {{x}}`, where it is the variable `x`"
        }
        "sed" | "gsed" | "ssed" => {
            "`awk 'BEGIN { x = ARGV[1]; ARGV[1] = \"\" } …' {{x}} FILE`, where it is the variable `x`"
        }
        _ => "",
    };
    let sh = "`sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\"";
    let or = if own.is_empty() { "" } else { ", or in " };
    format!("hand the value over as an argument, as in {own}{or}{sh}")
}

pub(super) enum Opt<'a> {
    /// The letters behind one `-`.
    Short(&'a str),
    /// The name behind `--`, and the value behind `=`.
    Long(&'a str, Option<&'a str>),
}

pub(super) fn option(word: &str) -> Option<Opt<'_>> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        return Some(Opt::Long(name, value));
    }
    word.strip_prefix('-').filter(|it| !it.is_empty()).map(Opt::Short)
}
