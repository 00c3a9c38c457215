//! Programs that take code in ways of their own.

use super::{
    fault::Fault,
    roles::{Opt, Whole, code_of, instead, option},
    text::{Part, Word},
};

/// Long options of git that name a program, or set what may name one.
const GIT_LONG: [&str; 11] = [
    "exec",
    "upload-pack",
    "receive-pack",
    "extcmd",
    "open-files-in-pager",
    "config",
    "config-env",
    "access-hook",
    "smtp-server",
    "httpd",
    "template",
];

/// Sections of the settings of git in which nothing names a program.
const GIT_PLAIN: [&str; 12] = [
    "user",
    "author",
    "committer",
    "color",
    "column",
    "i18n",
    "status",
    "push",
    "pull",
    "fetch",
    "advice",
    "branch",
];

/// Commands of git that many tools call, and that run no word.
const GIT_ALONE: [&str; 11] = [
    "add",
    "blame",
    "branch",
    "commit",
    "diff",
    "log",
    "ls-files",
    "rev-parse",
    "show",
    "status",
    "tag",
];

/// Commands of git whose words are run.
const GIT_RUNS: [[&str; 2]; 3] =
    [["bisect", "run"], ["submodule", "foreach"], ["filter-branch", ""]];

impl Whole<'_> {
    /// Refuses values in all of some words.
    pub(super) fn all_code(&self, name: &str, args: &[&mut Word]) -> Result<(), Box<Fault>> {
        for word in args {
            let place = format!("behind `{name}`, which runs it as code");
            self.refuse(word, &place, &instead("sh"))?;
        }
        Ok(())
    }

    /// The script of sed is its first operand, or behind `-e`, which may stand anywhere. It can run
    /// programs and write files.
    pub(super) fn sed(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut has_script = false;
        let mut operand = None;
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let lead = word.lead().to_owned();
            if word.fixed().as_deref() == Some("--") {
                operand = operand.or(Some(at + 1));
                break;
            }
            let alone = word.value().is_none();
            match option(&lead) {
                Some(Opt::Long(long, value)) if "expression".starts_with(long) => {
                    self.refuse(word, &code_of(name), &instead(name))?;
                    let code = if value.is_none() { at + 1 } else { at };
                    self.code_at(name, code, args)?;
                    has_script = true;
                    at = code + 1;
                }
                Some(Opt::Long(long, value)) => {
                    self.refuse_unnamed(name, word, value.is_some())?;
                    has_script |= "file".starts_with(long);
                    let valued = ["file", "line-length"].iter().any(|it| it.starts_with(long));
                    at += if valued && value.is_none() { 2 } else { 1 };
                }
                Some(Opt::Short(letters)) => {
                    let stop = letters.find(['e', 'f', 'l', 'i']);
                    let letter = stop.and_then(|it| letters[it..].chars().next());
                    self.refuse_unnamed(name, word, letter.is_some())?;
                    let next = alone && stop.is_some_and(|it| it + 1 == letters.len());
                    has_script |= matches!(letter, Some('e' | 'f'));
                    if letter == Some('e') {
                        self.refuse(word, &code_of(name), &instead(name))?;
                        self.code_at(name, if next { at + 1 } else { at }, args)?;
                    }
                    at += if next && letter != Some('i') { 2 } else { 1 };
                }
                None => {
                    self.refuse_unnamed(name, word, false)?;
                    self.unsure(name, word, &args[at + 1..])?;
                    operand = operand.or(Some(at).filter(|_| !has_script));
                    at += 1;
                }
            }
        }
        match operand.filter(|_| !has_script) {
            Some(at) => self.code_at(name, at, args),
            None => Ok(()),
        }
    }

    /// What a shell on another machine gets is one text, joined of all words behind the host.
    pub(super) fn ssh(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            if word.fixed().as_deref() == Some("--") {
                at += 1;
                break;
            }
            let lead = word.lead().to_owned();
            let Some(Opt::Short(letters)) = option(&lead) else {
                self.refuse_unnamed(name, word, false)?;
                break;
            };
            let Some(stop) = letters.find(|c| "BbcDEeFIiJLlmOopPQRSWw".contains(c)) else {
                self.refuse_unnamed(name, word, false)?;
                at += 1;
                continue;
            };
            let next = stop + 1 == letters.len() && word.value().is_none();
            let value = if next { at + 1 } else { at };
            if let Some(value) =
                args.get(value).filter(|_| letters[stop..].starts_with(['o', 'F', 'I']))
            {
                let place = format!("in an option of `{name}` that may name a program");
                self.refuse(value, &place, "write the option itself")?;
            }
            at = value + 1;
        }
        let more = args.get(at + 1..).unwrap_or_default();
        for word in more {
            let place = format!(
                "behind the host of `{name}`, where a shell of the other machine reads all words as one text"
            );
            let help =
                "keep a script on the other machine that reads the value from a file or stdin";
            self.refuse(word, &place, help)?;
        }
        self.option_position(args, at);
        Ok(())
    }

    /// Refuses values where git is told what else to run.
    pub(super) fn git(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let place = format!("where `{name}` is told what else to run");
        let help = "write it out in the command";
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let lead = word.lead().to_owned();
            let Some(option) = option(&lead) else { break };
            let valued = match option {
                Opt::Short("c") => {
                    self.refuse(word, &place, help)?;
                    if let Some(value) = args.get(at + 1) {
                        self.refuse(value, &place, help)?;
                    }
                    true
                }
                Opt::Short("C") => true,
                Opt::Long("exec-path" | "config-env", _) => {
                    self.refuse(word, &place, help)?;
                    lead == "--config-env"
                }
                Opt::Long(long, value) => {
                    self.refuse_unnamed(name, word, value.is_some())?;
                    value.is_none() && ["git-dir", "work-tree", "namespace"].contains(&long)
                }
                Opt::Short(_) => {
                    self.refuse_unnamed(name, word, false)?;
                    false
                }
            };
            at += if valued { 2 } else { 1 };
        }
        for word in args.iter_mut().take(at) {
            word.needed = true;
        }
        let Some((command, rest)) = args.get(at..).and_then(<[_]>::split_first) else {
            return Ok(());
        };
        self.refuse(command, "in the place of the command of git", help)?;
        let command = command.fixed().unwrap_or_default();
        let second = rest.first().and_then(|it| it.fixed()).unwrap_or_default();
        let runs =
            |[first, then]: &[&str; 2]| command == *first && (then.is_empty() || second == *then);
        if GIT_RUNS.iter().any(runs) {
            return self.all_code(name, rest);
        }
        if command == "config" {
            self.git_config(rest, &place)?;
        }
        for word in rest {
            if word.lead().starts_with("ext::") {
                self.refuse(word, &place, help)?;
            }
        }
        let letters = match command.as_str() {
            "rebase" | "difftool" => "x",
            "clone" => "uc",
            "grep" => "O",
            _ => "",
        };
        for (index, word) in rest.iter().enumerate() {
            if word.fixed().as_deref() == Some("--") {
                break;
            }
            let names_program = match option(word.lead()) {
                Some(Opt::Long(long, value)) => {
                    self.refuse_unnamed(name, word, value.is_some())?;
                    names_program_of_git(long)
                }
                Some(Opt::Short(it)) => it.contains(|c| letters.contains(c)),
                None if !letters.is_empty() => {
                    self.refuse_unnamed(name, word, false)?;
                    false
                }
                None => false,
            };
            if names_program {
                self.refuse(word, &place, help)?;
                if let Some(next) = rest.get(index + 1).filter(|_| !word.lead().contains('=')) {
                    self.refuse(next, &place, help)?;
                }
            }
        }
        Ok(())
    }

    /// Many settings name a program that git runs later.
    fn git_config(&self, args: &[&mut Word], place: &str) -> Result<(), Box<Fault>> {
        let only_looks = |it: &str| {
            matches!(it, "get" | "list" | "-l" | "unset" | "--list" | "--edit")
                || it.starts_with("--get")
                || it.starts_with("--unset")
        };
        if args.iter().any(|it| only_looks(&it.fixed().unwrap_or_default())) {
            return Ok(());
        }
        let is_plain = args.iter().any(|it| {
            let section = it.lead().split_once('.').map(|(section, _)| section);
            section.is_some_and(|it| GIT_PLAIN.contains(&it.to_ascii_lowercase().as_str()))
                && it.value().is_none()
        });
        let help = "write the name of the setting in the command, such as `user.name`";
        for word in args.iter().filter(|_| !is_plain) {
            self.refuse(word, place, help)?;
        }
        Ok(())
    }

    /// Behind `-v` is the name of a variable; some shells run what stands in its brackets.
    pub(super) fn names_behind_v(&self, name: &str, args: &[&mut Word]) -> Result<(), Box<Fault>> {
        for (at, word) in args.iter().enumerate() {
            let place = format!("behind `{name} -v`, where a variable is named");
            let help = "write a name of your own";
            match word.lead() {
                "-v" if word.value().is_some() => self.refuse(word, &place, help)?,
                "-v" => {
                    if let Some(named) = args.get(at + 1) {
                        self.refuse(named, &place, help)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses values behind the first word that makes the rest code.
    pub(super) fn code_behind(
        &self,
        name: &str,
        begins: fn(&str) -> bool,
        args: &[&mut Word],
    ) -> Result<(), Box<Fault>> {
        let begins = |it: &&mut Word| begins(it.lead()) || it.lead() == "-" && it.value().is_some();
        match args.iter().position(begins) {
            Some(at) => self.all_code(name, &args[at..]),
            None => Ok(()),
        }
    }

    /// Refuses values behind a word that may turn out to be an option, or several words.
    pub(super) fn unsure(
        &self,
        name: &str,
        word: &Word,
        rest: &[&mut Word],
    ) -> Result<(), Box<Fault>> {
        let is_path =
            |it: &Part| matches!(it, Part::Literal { cooked, .. } if cooked.contains('/'));
        let expands = |it: &Part| matches!(it, Part::Expansion(_) | Part::Substitution(..));
        if !word.parts.iter().any(expands) || word.parts.iter().any(is_path) {
            return Ok(());
        }
        let place = format!("behind a word that may become an option of `{name}`");
        for word in rest {
            self.refuse(word, &place, &instead("sh"))?;
        }
        Ok(())
    }

    /// Refuses a value within the name of an option.
    pub(super) fn refuse_unnamed(
        &self,
        name: &str,
        word: &Word,
        is_named: bool,
    ) -> Result<(), Box<Fault>> {
        if is_named || !word.lead().starts_with(['-', '+']) {
            return Ok(());
        }
        let place = format!("in an option of `{name}`, and some of them take code");
        self.refuse(word, &place, "write the option itself")
    }

    /// Keeps what stands where an option may stand from becoming one, and from giving its place to
    /// another value.
    pub(super) fn option_position(&self, args: &mut [&mut Word], at: usize) {
        let Some((before, rest)) = args.split_at_mut_checked(at + 1) else { return };
        let more = rest.iter().any(|it| it.value().is_some());
        for (index, word) in before.iter_mut().enumerate() {
            word.needed |= more || index < at;
            word.no_option |= index == at;
        }
    }
}

/// Whether a long option of git names a program, or sets what may name one; it may be cut short.
fn names_program_of_git(long: &str) -> bool {
    long.ends_with("-cmd") || GIT_LONG.iter().any(|it| it.starts_with(long))
}

/// Whether it is clear at a glance that no word of git in a plain text tells it what else to run. What
/// this lets pass, [`Whole::git`] has no fault with; what it does not may have none all the same.
pub(super) fn runs_git_only<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let command = loop {
        match words.next() {
            Some("-C") => _ = words.next(),
            Some(word) => break word,
            None => return true,
        }
    };
    GIT_ALONE.contains(&command)
        && words.all(|word| match word.strip_prefix("--") {
            Some(long) => {
                let end = long.bytes().position(|it| it == b'=' || it == b'{');
                let (name, value) = long.split_at(end.unwrap_or(long.len()));
                long.is_empty() || !(value.starts_with('{') || names_program_of_git(name))
            }
            None => word.starts_with(['-', '{']) || !word.contains('{'),
        })
}

/// Whether the words behind this one are code for PowerShell.
pub(super) fn powershell(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let Some(name) = lower.strip_prefix('-') else { return false };
    !name.is_empty()
        && (["command", "encodedcommand", "commandwithargs"].iter().any(|it| it.starts_with(name))
            || ["ec", "enc", "cwa"].contains(&name))
}

/// Whether the words behind this one are code for Deno.
pub(super) fn deno(word: &str) -> bool {
    word == "eval" || word == "--eval" || word.starts_with("--eval=")
}

/// Whether this word makes code of all operands of Emacs.
pub(super) fn emacsclient(word: &str) -> bool {
    match option(word) {
        Some(Opt::Long(long, _)) => {
            long.len() > 1 && ["eval", "alternate-editor"].iter().any(|it| it.starts_with(long))
        }
        Some(Opt::Short(letters)) => letters.contains(['e', 'a']),
        None => false,
    }
}

/// Whether the words behind this one are code for a debugger.
pub(super) fn debugger(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let name = name.split('=').next().unwrap_or_default();
    name.len() < word.len()
        && ["ex", "iex", "eval-command", "init-eval-command", "x", "command", "o", "one-line"]
            .contains(&name)
}
