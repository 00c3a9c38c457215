//! What the words of a command are for: which is the program, which would be run as code, which
//! cannot be left out.

use std::{
    cell::{Cell, RefCell},
    ops::Range,
};

use super::{
    fault::Fault,
    programs::{self, Runs, Wrapper},
    text::{Gap, Item, Part, Taken, Word},
    variables,
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

/// How many interpreters are looked for among the words of a program that is not known.
const MOST_INTERPRETERS: usize = 16;

/// What is known of a whole text while its commands are looked at.
pub(super) struct Whole<'a> {
    text: &'a str,
    params: &'a [String],
    n_wrappers: Cell<usize>,
    /// The variables that got the value of a parameter.
    filled: RefCell<Vec<(String, usize)>>,
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
                        if let Part::Substitution(_, items) = part {
                            self.commands(items)?;
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

    /// The first value in a word, or the first variable that holds one.
    fn value(&self, word: &Word) -> Option<(usize, Range<usize>)> {
        word.value().or_else(|| {
            let filled = self.filled.borrow();
            word.parts.iter().find_map(|it| {
                let Part::Expansion(span) = it else { return None };
                let text = &self.text[span.clone()];
                let (_, param) = filled.iter().find(|(name, _)| text.contains(name.as_str()))?;
                Some((*param, span.clone()))
            })
        })
    }

    /// Refuses any placeholder in a word.
    pub(super) fn refuse(&self, word: &Word, place: &str, help: &str) -> Result<(), Box<Fault>> {
        let Some((param, span)) = self.value(word) else { return Ok(()) };
        let name = &self.params[param];
        Err(Fault::place(span, name, place, help.replace("{{x}}", &format!("{{{{{name}}}}}")))
            .into())
    }

    /// Refuses a value in a variable that decides what runs, and remembers what other one has it.
    fn assigned(&self, name: &str, word: &Word) -> Result<(), Box<Fault>> {
        if variables::choose_what_runs(name) {
            let place = format!("in the variable `{name}`, which decides what runs");
            self.refuse(word, &place, "write its value out, or leave it alone")?;
        }
        if let Some((param, _)) = self.value(word) {
            self.filled.borrow_mut().push((name.to_owned(), param));
        }
        Ok(())
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
    fn program(&self, words: &mut [&mut Word]) -> Result<(), Box<Fault>> {
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
            Runs::OtherBehindExec => {
                let mut end = args.len();
                while let Some(at) = args[..end]
                    .iter()
                    .rposition(|it| matches!(it.lead(), "-exec" | "-execdir" | "-ok" | "-okdir"))
                {
                    self.program(&mut args[at + 1..end])?;
                    end = at;
                }
                // A value such as `;` ends the words of the program, and what follows is read by find.
                for word in &mut args[end..] {
                    word.after_dashes = false;
                    word.no_option = true;
                    word.needed = true;
                }
                return Ok(());
            }
            Runs::Shell => return self.shell(name, args),
            Runs::Code(interpreter) => self.interpreter(name, &interpreter, args)?,
            Runs::Awk => self.awk(name, args)?,
            Runs::Sed => self.sed(name, args)?,
            Runs::Behind(begins) => self.code_behind(name, begins, args)?,
            Runs::Remote => self.ssh(name, args)?,
            Runs::Git => self.git(name, args)?,
            Runs::AllCode => self.all_code(name, args)?,
            Runs::Source => {
                if let Some(word) = args.first() {
                    let place = format!("behind `{name}`, which runs the file as code");
                    self.refuse(word, &place, "write the name of a script")?;
                }
            }
            Runs::Names => self.names(name, args)?,
            Runs::SetsPositional => self.sets(name, program.span.clone(), args)?,
            Runs::Itself => {
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

    /// Many programs run others that are named among their words, as `docker exec` does. An
    /// interpreter with code behind it is taken for one.
    fn behind_unknown(&self, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut n_left = MOST_INTERPRETERS;
        for at in 0..args.len() {
            let Some(path) = args[at].fixed().filter(|_| n_left > 0) else { continue };
            let name = path.rsplit('/').next().unwrap_or_default();
            match programs::of(name) {
                Runs::Shell => {
                    n_left -= 1;
                    self.shell(name, &mut args[at + 1..])?;
                }
                Runs::Code(it) if !it.permutes => {
                    n_left -= 1;
                    self.interpreter(name, &it, &mut args[at + 1..])?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The program that another one runs.
    fn wrapped(
        &self,
        name: &str,
        wrapper: &Wrapper,
        args: &mut [&mut Word],
    ) -> Result<(), Box<Fault>> {
        let mut at = 0;
        let mut only_assigns = false;
        while let Some(word) = args.get(at) {
            let lead = word.lead();
            if !only_assigns && matches!(word.fixed().as_deref(), Some("--" | "-")) {
                only_assigns = lead == "--";
                at += 1;
                continue;
            }
            match option(lead).filter(|_| !only_assigns) {
                Some(Opt::Short(letters)) => {
                    if letters.contains(|c| wrapper.only_looks.contains(c)) {
                        dashes(args);
                        return Ok(());
                    }
                    at += if takes_next(letters, wrapper.valued) { 2 } else { 1 };
                }
                Some(Opt::Long(long, value)) => {
                    let valued = wrapper.long_valued.iter().any(|it| it.starts_with(long));
                    let alone = value.is_none() && valued;
                    if value.is_none() && !valued && !programs::is_flag(long) {
                        let place =
                            format!("behind `{lead}`, of which it is not known what it takes");
                        for word in &args[at..] {
                            self.refuse(word, &place, "write the value of the option behind `=`")?;
                        }
                    }
                    at += if alone { 2 } else { 1 };
                }
                None if wrapper.assigns
                    && let Some(name) = assignment(self.text, word) =>
                {
                    self.assigned(name, word)?;
                    at += 1;
                }
                None => break,
            }
        }
        let at = (at + wrapper.n_operands).min(args.len());
        let (own, rest) = args.split_at_mut(at);
        let splits = |word: &Word| {
            let lead = word.lead();
            lead.starts_with("--s")
                || matches!(option(lead), Some(Opt::Short(letters)) if letters.contains('S'))
        };
        for index in 0..own.len() {
            let behind = index > 0 && splits(own[index - 1]);
            if name == "env" && (behind || splits(own[index])) {
                self.refuse(own[index], "where `env -S` takes it apart", &instead("sh"))?;
            }
            own[index].needed = true;
        }
        dashes(own);
        self.program(rest)
    }

    /// Names of variables, in which some shells run what stands in brackets.
    fn names(&self, name: &str, args: &[&mut Word]) -> Result<(), Box<Fault>> {
        for word in args {
            if let Some((variable, _)) = word.lead().split_once('=') {
                self.assigned(variable, word)?;
            } else {
                let place = format!("behind `{name}`, where a variable is named");
                self.refuse(word, &place, "write a name of your own")?;
            }
        }
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
fn dashes(words: &mut [&mut Word]) {
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

/// The name that a word assigns to, if it is an assignment.
fn assignment<'a>(text: &'a str, word: &Word) -> Option<&'a str> {
    let Some(Part::Literal { raw, .. }) = word.parts.first() else { return None };
    let (name, _) = text[raw.clone()].split_once('=')?;
    let first = |c: char| c == '_' || c.is_ascii_alphabetic();
    (name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit()))
        .then_some(name)
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

/// Whether the last of some letters has its value in the next word.
fn takes_next(letters: &str, valued: &str) -> bool {
    letters.find(|c| valued.contains(c)).is_some_and(|at| at + 1 == letters.len())
}
