//! Variables: which of them choose what runs, and which hold a value.

use std::ops::Range;

use super::{
    fault::Fault,
    roles::Whole,
    text::{Part, Word},
};

/// Names of variables that say where programs and code are found, or are run as code themselves.
const NAMES: [&str; 30] = [
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "CDPATH",
    "HOME",
    "ZDOTDIR",
    "XDG_CONFIG_HOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_INIT",
    "MAKEFLAGS",
    "EDITOR",
    "PAGER",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "RUSTC_WRAPPER",
];

const PREFIXES: [&str; 8] =
    ["LD_", "DYLD_", "BASH_FUNC_", "PYTHON", "PERL5", "GIT_", "LUA_INIT_", "npm_config_"];

const SUFFIXES: [&str; 5] = ["_COMMAND", "_EDITOR", "_PAGER", "_WRAPPER", "_RSH"];

impl Whole<'_> {
    /// The first value in a word, or the first variable that holds one.
    pub(super) fn value(&self, word: &Word) -> Option<(usize, Range<usize>)> {
        word.value().or_else(|| {
            let filled = self.filled.borrow();
            word.parts.iter().find_map(|it| {
                let Part::Expansion(span) = it else { return None };
                let text = &self.text[span.clone()];
                let (_, param) =
                    filled.iter().find(|(name, _)| names_in(text).any(|it| it == name))?;
                Some((*param, span.clone()))
            })
        })
    }

    /// Refuses a value in a variable that decides what runs, and remembers what other one has it.
    pub(super) fn assigned(&self, name: &str, word: &Word) -> Result<(), Box<Fault>> {
        if choose_what_runs(name) {
            let place = format!("in the variable `{name}`, which decides what runs");
            self.refuse(word, &place, "write its value out, or leave it alone")?;
        }
        if let Some((param, _)) = self.value(word) {
            self.holds(name, param);
        }
        Ok(())
    }

    fn holds(&self, name: &str, param: usize) {
        let mut filled = self.filled.borrow_mut();
        if !filled.iter().any(|(it, _)| it == name) {
            filled.push((name.to_owned(), param));
        }
    }

    /// The variable that is named in a text and holds a value.
    fn filled_in(&self, text: &str) -> Option<(String, usize)> {
        let filled = self.filled.borrow();
        let named = names_in(text).find_map(|name| filled.iter().find(|(it, _)| it == name));
        named.cloned()
    }

    /// Refuses an expansion in which a shell reads what a variable holds: as the name of another, or
    /// to calculate with it, which some do by running what stands in its brackets.
    pub(super) fn expansion(&self, span: &Range<usize>) -> Result<(), Box<Fault>> {
        let text = &self.text[span.clone()];
        let read = if text.starts_with("$((") {
            text
        } else if let Some(inside) = text.strip_prefix("${") {
            let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let named = inside.trim_start_matches('#');
            let end = named.find(|c| !is_name(c)).unwrap_or(named.len());
            let (name, rest) = named.split_at(end);
            match rest.as_bytes() {
                _ if inside.starts_with('!') => inside,
                [b':', b'=', ..] | [b'=', ..] => {
                    if let Some((_, param)) = self.filled_in(rest) {
                        self.holds(name, param);
                    }
                    return Ok(());
                }
                [b':', b'-' | b'+' | b'?', ..] => return Ok(()),
                [b':' | b'[', ..] => rest,
                // `${A@P}` runs what is in the variable.
                [b'@', ..] => inside,
                _ => return Ok(()),
            }
        } else {
            return Ok(());
        };
        let Some((name, param)) = self.filled_in(read) else { return Ok(()) };
        let place =
            format!("in the variable `{name}`, which `{text}` reads as a calculation or a name");
        let x = format!("{{{{{}}}}}", self.params[param]);
        let help = format!(
            "calculate with a program, as in `expr {x} + 1`, and write the names of variables out"
        );
        Err(Fault::place(span.clone(), &self.params[param], &place, help).into())
    }

    /// Names of variables, in which some shells run what stands in brackets.
    pub(super) fn names(&self, name: &str, args: &[&mut Word]) -> Result<(), Box<Fault>> {
        for word in args {
            let calculates =
                word.lead().starts_with(['-', '+']) && word.lead().contains(['i', 'n']);
            if calculates && name != "read" && name != "unset" && !self.params.is_empty() {
                let what = format!("`{name} {}` makes more of what a variable gets", word.lead());
                let mut fault = Fault::syntax(word.span.clone(), what);
                fault.reason = Some("some shells run what stands in brackets in it");
                fault.help = Some("leave the option out, and calculate with `expr`".to_owned());
                return Err(Box::new(fault));
            }
            if let Some((variable, _)) = word.lead().split_once('=') {
                self.assigned(variable, word)?;
            } else {
                let place = format!("behind `{name}`, where a variable is named");
                self.refuse(word, &place, "write a name of your own")?;
            }
        }
        Ok(())
    }
}

/// Whatever looks like the name of a variable in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.split(move |c| !is_name(c)).filter(|it| !it.is_empty())
}

/// The name that a word assigns to, if it is an assignment.
pub(super) fn assignment<'a>(text: &'a str, word: &Word) -> Option<&'a str> {
    let Some(Part::Literal { raw, .. }) = word.parts.first() else { return None };
    let (name, _) = text[raw.clone()].split_once('=')?;
    let first = |c: char| c == '_' || c.is_ascii_alphabetic();
    (name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit()))
        .then_some(name)
}

/// Whether the value of a variable decides which program or which code runs.
pub(super) fn choose_what_runs(name: &str) -> bool {
    NAMES.contains(&name)
        || PREFIXES.iter().any(|it| name.starts_with(it))
        || SUFFIXES.iter().any(|it| name.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_things_are_free() {
        for name in ["PATH", "LD_PRELOAD", "PYTHONSTARTUP", "GIT_SSH", "PROMPT_COMMAND", "ENV"] {
            assert!(choose_what_runs(name), "{name}");
        }
        for name in ["A", "LANG", "TZ", "MY_PATH", "ENVIRONMENT", "COMMAND", "PAGER_LINES"] {
            assert!(!choose_what_runs(name), "{name}");
        }
    }
}
