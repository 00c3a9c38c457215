//! Programs that run others: where the other one stands among their words.

use super::{
    fault::Fault,
    fill::Bound,
    programs::{self, Runs, Wrapper},
    roles::{Opt, Whole, dashes, instead, option},
    text::Word,
    variables::assignment,
};

/// How many interpreters are looked for among the words of a program that is not known.
const MOST_INTERPRETERS: usize = 16;

/// What find takes for itself among the words of a program that it runs.
const FIND_OWN: &[&str] = &[";", "+", "{}"];

/// The same of fd.
const FD_OWN: &[&str] = &[";", "{}", "{/}", "{//}", "{.}", "{/.}"];

impl Whole<'_> {
    /// The programs behind `-exec` of find, and behind `-x` of fd.
    pub(super) fn behind_exec(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let is_fd = name.starts_with("fd");
        let begins = |it: &&mut Word| match option(it.lead()) {
            Some(Opt::Long(long, _)) => is_fd && long.len() > 1 && "exec-batch".starts_with(long),
            Some(Opt::Short(letters)) if is_fd => letters.ends_with(['x', 'X']),
            Some(Opt::Short(letters)) => matches!(letters, "exec" | "execdir" | "ok" | "okdir"),
            None => false,
        };
        let mut end = args.len();
        while let Some(at) = args[..end].iter().rposition(begins) {
            // A value such as `;` ends the words of the program, and what follows is read by find.
            let ends = |it: &&mut Word| it.fixed().as_deref() == Some(";");
            let stop = args[at..end].iter().position(ends).map_or(end, |it| at + it);
            for word in &mut args[at + 1..stop] {
                word.bound = Some(Bound::NoneOf(if is_fd { FD_OWN } else { FIND_OWN }));
            }
            self.program(&mut args[at + 1..end])?;
            end = at;
        }
        for word in &mut args[end..] {
            word.after_dashes = false;
            word.no_option = true;
            word.needed = true;
        }
        Ok(())
    }

    /// Many programs run others that are named among their words, as `docker exec` does. An
    /// interpreter with code behind it is taken for one.
    pub(super) fn behind_unknown(&self, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let mut n_left = MOST_INTERPRETERS;
        for at in 0..args.len() {
            let Some(path) = args[at].fixed().filter(|_| n_left > 0) else { continue };
            let name = path.rsplit('/').next().unwrap_or_default();
            match programs::of(name) {
                Runs::Shell => {
                    n_left -= 1;
                    self.shell(name, &mut args[at + 1..])?;
                }
                Runs::Options(it) => {
                    n_left -= 1;
                    self.options(name, &it, &args[at + 1..], false)?;
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
    pub(super) fn wrapped(
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
            let prints = |word: &Word| match option(word.lead()) {
                Some(Opt::Short(letters)) => letters.contains('o'),
                Some(Opt::Long(it, _)) => "output".starts_with(it),
                None => false,
            };
            if name == "strace" && (prints(own[index]) || index > 0 && prints(own[index - 1])) {
                let place = "in the output of `strace`, which may be a pipe to a program";
                self.refuse(own[index], place, "write the name of a file")?;
            }
            if name == "env" && (behind || splits(own[index])) {
                self.refuse(own[index], "where `env -S` takes it apart", &instead("sh"))?;
            }
            own[index].needed = true;
        }
        dashes(own);
        self.program(rest)
    }
}

/// Whether the last of some letters has its value in the next word.
fn takes_next(letters: &str, valued: &str) -> bool {
    letters.find(|c| valued.contains(c)).is_some_and(|at| at + 1 == letters.len())
}
