//! Programs that run the one that their words name: they are looked through to it.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `timeout 5 nice wc {{.x}}` | taken: `wc` is looked at |
//! | `timeout 5 {{.x}}` | refused: the value would be the program |
//! | `timeout {{.x}} wc` | refused: a value could take the place of an option |
//! | `env -S TEXT` | refused: the text would be split into a command |
//! | `env -- ls {{.x}}` | taken; the `--` is of `env`, and ends no option of `ls` |
//! | `xargs -0 wc` | taken: the words of the input are arguments of `wc` |
//! | `xargs` | taken: it runs `echo` |
//! | `chroot a` | refused: it starts a shell, which reads the input |

use super::{
    TemplateFault,
    lint::{Input, Seen, assignment, at, fixed, is_assignment, program},
    parse::Word,
};

type Res<T> = Result<T, TemplateFault>;

/// Programs that run the one that their words name.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Options without a value that are taken.
    flags: &'static str,
    /// Options with a value, in the next word or in their own.
    valued: &'static str,
    /// Words of its own in front of the program.
    n_operands: usize,
    /// Whether none of its long options runs anything.
    has_long: bool,
}

const fn wrapper(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    n_operands: usize,
    has_long: bool,
) -> Wrapper {
    Wrapper { names, flags, valued, n_operands, has_long }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(&["sudo"], "AbEHknP", "CDghpRrTtUu", 0, false),
    wrapper(&["doas"], "n", "Cu", 0, false),
    wrapper(&["env", "genv"], "i0", "uC", 0, false),
    wrapper(&["nice", "gnice"], "", "n", 0, true),
    wrapper(&["ionice"], "t", "ncpPu", 0, true),
    wrapper(&["timeout", "gtimeout"], "fpv", "ks", 1, true),
    wrapper(&["chroot"], "", "", 1, false),
    wrapper(&["taskset", "chrt"], "acbfior", "pTPD", 1, true),
    wrapper(&["flock"], "nsxuoeF", "wE", 1, false),
    wrapper(&["nohup", "builtin", "busybox", "toybox"], "", "", 0, false),
    wrapper(&["setsid"], "cfw", "", 0, true),
    wrapper(&["command"], "p", "", 0, false),
    wrapper(&["exec"], "cl", "a", 0, false),
    wrapper(&["stdbuf", "gstdbuf"], "", "ioe", 0, true),
    wrapper(&["time"], "apvqV", "fo", 0, false),
    // Its other options put words of the input into the middle of a command.
    wrapper(&["xargs", "gxargs"], "0rtx", "dnPLs", 0, false),
    // `linux64`, without its number.
    wrapper(&["linux"], "RvBFILSTXZ3", "", 0, true),
    // The architecture in front of the program may be left out.
    wrapper(&["setarch"], "RvBFILSTXZ3", "", 0, true),
    wrapper(&["choom", "prlimit"], "", "npo", 0, true),
    wrapper(&["unbuffer"], "p", "", 0, false),
    wrapper(&["catchsegv", "torsocks", "firejail", "bwrap"], "", "", 0, false),
    wrapper(&["setpriv"], "d", "", 0, true),
    wrapper(&["unshare"], "muinpUCTrcf", "RwSG", 0, true),
    wrapper(&["nsenter"], "muinpCUTaF", "t", 0, true),
    wrapper(&["systemd-run"], "tPqdGr", "pEuHMC", 0, true),
    wrapper(&["systemd-inhibit", "dbus-run-session", "pkexec"], "", "", 0, true),
    wrapper(&["numactl"], "al", "CNimp", 0, true),
    wrapper(&["ssh-agent"], "csd", "aEtPO", 0, false),
    wrapper(&["fakeroot"], "u", "lsib", 0, false),
    wrapper(&["proxychains"], "q", "f", 0, false),
    wrapper(&["entr"], "acdnprxz", "", 0, false),
    wrapper(&["strace", "ltrace"], "fFqTtvyCckirxw", "eopsubaPX", 0, false),
];

/// Wrappers that run nothing where no program stands behind them.
#[rustfmt::skip]
const MAY_BE_ALONE: &[&str] = &[
    "env", "genv", "nice", "gnice", "ionice", "taskset", "chrt", "flock", "builtin", "command", "exec", "time", "choom", "prlimit",
    "numactl", "sudo",
];

/// A program that runs the one that its words name.
///
/// Where none does, some start a shell (`chroot`, `unshare`, `nsenter`, `setarch`), which would read the values from its
/// input. So only those of [`MAY_BE_ALONE`] are taken without one.
///
/// No word before that one is known at run time only, since it could take the place of an option.
pub(super) fn wrapped(
    name: &str,
    wrapper: &Wrapper,
    own: &Word,
    args: &[Word],
    input: Input,
    seen: &mut Seen,
) -> Res<()> {
    let place = format!("where `{name}` looks for the program");
    let input = if name.ends_with("xargs") { Input::Words } else { input };
    let mut n_left = wrapper.n_operands;
    let mut is_value = false;
    // Long options, of which the next word may be the value.
    let mut n_unsure = usize::from(name == "setarch");
    for (index, word) in args.iter().enumerate() {
        let text = fixed(word, &place)?;
        if std::mem::take(&mut is_value) || text == "--" {
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            if !wrapper.has_long {
                return Err(at(word, &format!("is no option of `{name}` that is read here")));
            }
            n_unsure += usize::from(!long.contains('='));
        } else if let Some(letters) = text.strip_prefix('-') {
            if name == "command" && letters.contains(['v', 'V']) {
                // It tells where a program is, and runs none.
                return args.iter().try_for_each(|it| fixed(it, &place).map(drop));
            }
            let end = letters.find(|it| wrapper.valued.contains(it)).unwrap_or(letters.len());
            let is_number = letters.starts_with(|it: char| it.is_ascii_digit());
            if !is_number && !letters[..end].chars().all(|it| wrapper.flags.contains(it)) {
                return Err(at(word, &format!("is no option of `{name}` that is read here")));
            }
            is_value = end + 1 == letters.len();
        } else if is_assignment(&word.raw) {
            // `env A=1 prog`.
            assignment(word, seen)?;
        } else if n_left > 0 {
            n_left -= 1;
        } else {
            if name == "setarch" && index + 1 == args.len() {
                break;
            }
            // Each word that may be the program is looked at as one.
            let last = (index + n_unsure).min(args.len() - 1);
            return (index..=last)
                .try_for_each(|it| program(&args[it], &args[it + 1..], input, seen));
        }
    }
    match input {
        // `xargs` by itself runs `echo`.
        Input::Words if name.ends_with("xargs") => Ok(()),
        Input::Words => Err(at(own, "gets the program from the input")),
        // Several of them start a shell then, which reads the input.
        Input::Own if !MAY_BE_ALONE.contains(&name) => {
            Err(at(own, "has no program that is written behind it"))
        }
        Input::Own => Ok(()),
    }
}
