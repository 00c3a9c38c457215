//! `find`, whose words are an expression that may run programs.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `find {{.x}} -name {{.y}}` | taken; a call is refused whose value begins with a dash |
//! | `find "$d" -type f -name {{.x}}` | taken: as `-exec`, the variable would run `-type` |
//! | `find "$d" sh {{.x}} \;` | refused: as `-exec`, the variable would run `sh` with the value |
//! | `find . -exec wc {{.x}} {} \;` | taken: `wc` is looked at as a program |
//! | `find . -exec {{.x}} \;` | refused: the value would be the program |
//! | `find . "-exe$n" {{.x}} \;` | refused: what the option is shows at run time only |
//! | `find . -exec echo {{.x}} -exec {{.y}} \;` | refused: with `;` for `x`, `y` would run |
//! | `xargs find` | refused: words of the input may be `-exec` |

use super::{
    TemplateFault,
    lint::{Ends, Input, Seen, at, one_word, program},
    parse::{UNKNOWN, Word},
};

type Res<T> = Result<T, TemplateFault>;

/// Tests with one operand, and actions that write one.
#[rustfmt::skip]
const WITH_OPERAND: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-type", "-xtype", "-size",
    "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-newermt", "-user", "-group", "-uid", "-gid",
    "-perm", "-maxdepth", "-mindepth", "-links", "-inum", "-fstype", "-samefile", "-printf", "-regextype", "-used",
];

/// Looks at the words of `find`.
///
/// A placeholder stands anywhere, since the call refuses a value with a dash in front. A variable is the operand of a test, or no
/// value stands behind it but as one: it could be `-exec`.
///
/// # Errors
///
/// What `-exec` and its kin run breaks a rule, an option is known at run time only, or a variable may be one.
pub(super) fn find(own: &Word, args: &[Word], input: Input, seen: &mut Seen) -> Res<()> {
    if input == Input::Words {
        return Err(at(own, "gets words from the input, which may have it run a program"));
    }
    let is_unknown = |it: &Word| it.text.contains(UNKNOWN);
    // A pattern gives names of files, and an expansion words as well.
    args.iter().filter(|it| is_unknown(it)).try_for_each(one_word)?;
    let mut operands = vec![false; args.len()];
    // The last word that is known at run time only, and no operand.
    let mut last_free = 0;
    for (index, word) in args.iter().enumerate() {
        let before = index.checked_sub(1);
        operands[index] = before.is_some_and(|it| {
            !operands[it] && args[it].fixed().is_some_and(|it| WITH_OPERAND.contains(&it))
        });
        if is_unknown(word) && !operands[index] {
            last_free = index;
        }
    }
    let last_unknown = args.iter().rposition(is_unknown).unwrap_or_default();
    for (index, word) in args.iter().enumerate() {
        if operands[index] {
            continue;
        }
        if matches!(word.fixed(), Some("-exec" | "-execdir" | "-ok" | "-okdir"))
            && let Some(first) = args.get(index + 1)
        {
            let is_within = std::mem::replace(&mut seen.is_within, true);
            program(first, &args[index + 2..], Input::Own, seen)?;
            seen.is_within = is_within;
        }
        if is_unknown(word) && word.text.starts_with('-') {
            return Err(at(word, "may be `-exec`: write the option here"));
        }
        if word.begins_unseen() {
            // Behind it, `-exec` would run a word of the expression, which is no name of a program.
            let next = args.get(index + 1).map_or("(", |it| &it.text);
            let last = if next.starts_with(['-', '(', '!']) { last_free } else { last_unknown };
            if last > index {
                return Err(at(word, "may be `-exec`, which would run what is behind it"));
            }
        }
    }
    seen.guard(args, Ends::Never, &|it| !operands[it]);
    Ok(())
}
