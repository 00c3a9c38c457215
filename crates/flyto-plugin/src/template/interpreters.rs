//! Shells and interpreters: which of their words are code.

use super::{
    fault::Fault,
    fill::Bound,
    programs::Interpreter,
    roles::{Opt, Whole, code_of, instead, option},
    text::Word,
};

impl Whole<'_> {
    pub(super) fn shell(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut has_code = false;
        let mut is_operand = false;
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let lead = word.lead();
            match option(&lead.replacen('+', "-", usize::from(lead.starts_with('+')))) {
                _ if matches!(word.fixed().as_deref(), Some("--" | "-")) => {
                    at += 1;
                    is_operand = true;
                    break;
                }
                Some(Opt::Short(letters)) => {
                    if letters.contains('c') && word.value().is_some() {
                        self.refuse(word, &code_of(name), &instead(name))?;
                    }
                    self.refuse_unnamed(name, word, false)?;
                    has_code |= letters.contains('c');
                    at += if letters.contains(['o', 'O']) { 2 } else { 1 };
                }
                Some(Opt::Long("command" | "init-command", _)) => {
                    self.refuse(word, &code_of(name), &instead(name))?;
                    has_code = true;
                    at += 1;
                }
                Some(Opt::Long(long, value)) => {
                    self.refuse_unnamed(name, word, false)?;
                    let file = matches!(long, "rcfile" | "init-file") && value.is_none();
                    if let Some(file) = args.get(at + 1).filter(|_| file) {
                        self.refuse(file, &code_of(name), "write the name of a script")?;
                    }
                    at += if file { 2 } else { 1 };
                }
                None => {
                    self.refuse_unnamed(name, word, false)?;
                    self.unsure(name, word, &args[at + 1..])?;
                    break;
                }
            }
        }
        if has_code {
            self.code_at(name, at, args)?;
        } else if !is_operand {
            self.option_position(args, at);
        }
        Ok(())
    }

    /// Refuses a placeholder in the code, and keeps the words before it where they are.
    pub(super) fn code_at(
        &self,
        name: &str,
        at: usize,
        args: &mut [&mut Word],
    ) -> Result<(), Box<Fault>> {
        if let Some(code) = args.get(at) {
            self.refuse(code, &code_of(name), &instead(name))?;
        }
        for word in args.iter_mut().take(at) {
            word.needed = true;
        }
        Ok(())
    }

    pub(super) fn interpreter(
        &self,
        name: &str,
        interpreter: &Interpreter,
        args: &mut [&mut Word],
    ) -> Result<(), Box<Fault>> {
        let mut at = 0;
        // The value of a long option may be the next word, which is no script then.
        let mut maybe_value = false;
        while let Some(word) = args.get(at) {
            let lead = word.lead().to_owned();
            let follows = std::mem::take(&mut maybe_value);
            match option(&lead) {
                _ if word.fixed().as_deref() == Some("--") => {
                    if interpreter.assigns {
                        self.assigning(name, &mut args[at + 1..])?;
                    }
                    return Ok(());
                }
                Some(Opt::Long(long, value))
                    if interpreter.long_code.iter().any(|it| it.starts_with(long)) =>
                {
                    self.refuse(word, &code_of(name), &instead(name))?;
                    let code = if value.is_none() { at + 1 } else { at };
                    self.code_at(name, code, args)?;
                    at = if is_option(args, code) { at } else { code } + 1;
                }
                Some(Opt::Long(_, value)) => {
                    self.refuse_unnamed(name, word, value.is_some())?;
                    maybe_value = value.is_none();
                    at += 1;
                }
                Some(Opt::Short(letters)) => {
                    let Interpreter { code, valued, attached, last, .. } = *interpreter;
                    let known = |c| [code, valued, attached].iter().any(|it| it.contains(c));
                    let Some(stop) = letters.find(known) else {
                        self.refuse_unnamed(name, word, false)?;
                        at += 1;
                        continue;
                    };
                    let is_in = |set: &str| letters[stop..].starts_with(|c| set.contains(c));
                    // What stands behind the letter is its value.
                    let all_code = letters[stop..].chars().all(|c| code.contains(c));
                    let next = all_code || letters.len() == stop + 1;
                    let next = next && word.value().is_none();
                    if is_in(code) {
                        self.refuse(word, &code_of(name), &instead(name))?;
                        self.code_at(name, if next { at + 1 } else { at }, args)?;
                    }
                    if is_in(last) {
                        return Ok(());
                    }
                    let skips = next && !is_in(attached);
                    let skips = skips && !is_option(args, at + 1);
                    at += if skips { 2 } else { 1 };
                }
                None => {
                    self.refuse_unnamed(name, word, false)?;
                    self.unsure(name, word, &args[at + 1..])?;
                    let fixed = word.fixed().unwrap_or_default();
                    if interpreter.commands.contains(&fixed.as_str()) {
                        self.all_code(name, args.get(at + 1..at + 2).unwrap_or_default())?;
                    }
                    if interpreter.assigns {
                        self.assigning(name, &mut args[at..=at])?;
                    }
                    if interpreter.permutes || follows {
                        args[at].no_option = true;
                        at += 1;
                        continue;
                    }
                    self.option_position(args, at);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Operands that set a variable where they hold a `=`.
    fn assigning(&self, name: &str, operands: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        for word in operands {
            if word.fixed().is_none() && word.lead().contains('=') {
                let place = format!("in a variable of `{name}`, which runs `$(shell …)` in it");
                let help = "hand the value over in the environment, as in `env NAME={{x}} make`, and \
                            write `\"$$NAME\"` in the recipe, where the shell reads it";
                self.refuse(word, &place, help)?;
            }
            word.bound = Some(Bound::NoAssignment);
        }
        Ok(())
    }

    pub(super) fn awk(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut has_file = false;
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let lead = word.lead().to_owned();
            if word.fixed().as_deref() == Some("--") {
                at += 1;
                break;
            }
            match option(&lead) {
                Some(Opt::Long(long, value)) if "source".starts_with(long) => {
                    self.refuse(word, &code_of(name), &instead(name))?;
                    let code = if value.is_none() { at + 1 } else { at };
                    self.code_at(name, code, args)?;
                    has_file = true;
                    at = code + 1;
                }
                Some(Opt::Long(long, value)) => {
                    self.refuse_unnamed(name, word, value.is_some())?;
                    has_file |= matches!(long, "file" | "exec");
                    let valued = ["assign", "field-separator", "file", "exec", "include", "load"];
                    at += if value.is_none() && valued.contains(&long) { 2 } else { 1 };
                }
                Some(Opt::Short(letters)) => {
                    let first = letters.chars().next().unwrap_or_default();
                    self.refuse_unnamed(name, word, "vFfEeilW".contains(first))?;
                    has_file |= matches!(first, 'f' | 'E' | 'e');
                    let alone = letters.len() == 1 && word.value().is_none();
                    if first == 'e' {
                        self.refuse(word, &code_of(name), &instead(name))?;
                        self.code_at(name, if alone { at + 1 } else { at }, args)?;
                    }
                    at += if alone && "vFfEeil".contains(first) { 2 } else { 1 };
                }
                None => {
                    self.refuse_unnamed(name, word, false)?;
                    self.unsure(name, word, &args[at + 1..])?;
                    break;
                }
            }
        }
        if !has_file {
            self.code_at(name, at, args)?;
        }
        Ok(())
    }
}

fn is_option(args: &[&mut Word], at: usize) -> bool {
    args.get(at).is_some_and(|it| it.lead().starts_with('-'))
}
