//! `git`, which runs what its configuration, its options and some of its commands name.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `git log -- {{.x}}` | taken |
//! | `git show {{.x}}` | taken; a call is refused whose value begins with a dash |
//! | `git commit -m "$m"` | taken: the word is the value of an option |
//! | `git grep -e {{.x}} -- "$f"` | taken |
//! | `git log --grep={{.x}}` | taken: the option is written in the text |
//! | `git grep "$f" e` | refused: the variable may be `-O`, which names a program |
//! | `git grep -n{{.x}}` | refused: letters of the value would be options |
//! | `git rebase -x {{.x}}` | refused: no command of the list |
//! | `git clone -c {{.x}} a` | refused: the option may take the word for a setting |
//! | `git rebase main` | taken: all words are written in the text |
//! | `git rebase -x 'make test'` | refused: a shell would run the text, which is not read here |

use super::{
    rendered::TemplateFault,
    seen::{Ends, Input, Seen},
    word::{UNKNOWN, Word, at, fixed, one_word},
};

type Res<T> = Result<T, TemplateFault>;

/// Commands that run none of their operands, and options of theirs that take the next word for a value.
#[rustfmt::skip]
const COMMANDS: &[(&str, &[&str])] = &[
    ("log", &["-n", "--max-count", "--grep", "--author", "--since", "--until", "--after", "--before", "-S", "-G", "-L"]),
    ("rev-list", &["-n", "--max-count", "--grep", "--author", "--since", "--until"]), ("shortlog", &[]),
    ("show", &[]), ("diff", &["-S", "-G"]), ("status", &[]), ("add", &[]), ("rm", &[]), ("mv", &[]), ("blame", &["-L"]),
    ("commit", &["-m", "--message", "-F", "--file", "--author", "--date"]), ("tag", &["-m", "--message"]), ("merge", &["-m"]),
    ("checkout", &["-b", "-B"]), ("switch", &["-c", "-C"]), ("branch", &[]), ("restore", &["-s", "--source"]), ("reset", &[]),
    ("stash", &["-m", "--message"]), ("cherry-pick", &[]), ("revert", &[]), ("merge-base", &[]), ("describe", &[]),
    ("grep", &["-e"]), ("ls-files", &[]), ("ls-tree", &[]), ("rev-parse", &[]), ("cat-file", &[]), ("check-ignore", &[]),
    ("init", &[]), ("clone", &["-b", "--branch", "--depth"]), ("fetch", &[]), ("pull", &[]), ("push", &[]),
];

/// Options that have a value in their own word.
#[rustfmt::skip]
const OPTIONS: &[&str] = &[
    "--grep=", "--author=", "--committer=", "--since=", "--until=", "--after=", "--before=", "--max-count=", "--skip=", "--format=",
    "--pretty=", "--date=", "--message=", "--depth=", "--branch=", "--abbrev=", "--unified=", "--source=",
];

/// Commands of which some options have a program or a setting in the next word, and options of theirs without a value.
const WITH_REMOTE: &[&str] = &["init", "clone", "fetch", "pull", "push"];
#[rustfmt::skip]
const FLAGS: &[&str] = &[
    "-q", "--quiet", "-v", "--verbose", "-f", "--force", "--bare", "--mirror", "--recursive", "--recurse-submodules", "--single-branch",
    "--tags", "--all", "--prune", "--rebase", "--ff-only", "--no-rebase", "--set-upstream", "--delete",
];

/// Looks at the words of `git`.
///
/// In front of its command stand a few options, and the directory behind `-C` may be a value. Where words are known at run time
/// only, the command is one of [`COMMANDS`]. Such a word is a value of one of their options, stands behind `--`, or begins with a
/// placeholder, of which the call refuses a value with a dash in front.
pub(super) fn git(own: &Word, args: &[Word], input: Input, seen: &mut Seen) -> Res<()> {
    let place = "where `git` looks for code";
    let mut is_dir = false;
    let mut n_front = args.len();
    for (index, word) in args.iter().enumerate() {
        if std::mem::take(&mut is_dir) {
            one_word(word)?;
            continue;
        }
        match fixed(word, place)? {
            "-C" => is_dir = true,
            "-P" | "-p" | "--no-pager" | "--bare" | "--version" | "--help" => {}
            text if text.starts_with('-') => {
                return Err(at(word, "is no option of `git` that is read here"));
            }
            _ => {
                n_front = index;
                break;
            }
        }
    }
    let (front, behind) = args.split_at(n_front);
    // What stands behind `-C` is a directory, also where it begins with a dash.
    seen.guard(front, Ends::Never, &|_| false);
    let Some((command, words)) = behind.split_first() else {
        return match input {
            Input::Words => Err(at(own, "gets its command from the input")),
            Input::Own => Ok(()),
        };
    };
    let name = command.fixed().unwrap_or_default();
    let is_known = |it: &Word| !it.text.contains(UNKNOWN) && !it.is_split;
    if input == Input::Own && words.iter().all(is_known) {
        return runs_no_text(name, command, words);
    }
    let Some((_, options)) = COMMANDS.iter().find(|it| it.0 == name) else {
        let what = "is no command of `git` that takes what is known at run time only";
        return Err(at(command, what));
    };
    // What looks like an option may be the value of the one before it.
    let mut values = vec![false; words.len()];
    for index in 1..words.len() {
        let before = words[index - 1].fixed().filter(|_| !values[index - 1]);
        values[index] = before.is_some_and(|it| options.contains(&it));
    }
    let is_value = |index: usize| values[index];
    let may_take = |index: usize| {
        let before = index.checked_sub(1).and_then(|it| words[it].fixed()).unwrap_or_default();
        let is_option = before.starts_with('-') && !before.contains('=');
        WITH_REMOTE.contains(&name) && is_option && !FLAGS.contains(&before)
    };
    let mut after_dashes = false;
    for (index, word) in words.iter().enumerate() {
        after_dashes |= word.fixed() == Some("--");
        if after_dashes {
            break;
        }
        if is_value(index) {
            one_word(word)?;
        } else if word.begins_unseen() || (word.text.contains(UNKNOWN) && may_take(index)) {
            return Err(at(word, "may be an option with code: write `--` in front of it"));
        } else if word.text.starts_with('-') && !OPTIONS.iter().any(|it| word.text.starts_with(it))
        {
            fixed(word, place)?;
        }
    }
    if input == Input::Words && !after_dashes {
        let what = "gets words from the input, which may be options: write `--` behind its own";
        return Err(at(own, what));
    }
    seen.guard(words, Ends::Dashes, &|it| !is_value(it));
    Ok(())
}

/// Refuses the commands whose words are a text for a shell, which is not read here.
fn runs_no_text(name: &str, command: &Word, words: &[Word]) -> Res<()> {
    let mut words = words.iter().filter_map(Word::fixed);
    let runs = match name {
        "bisect" | "filter-branch" | "difftool" | "mergetool" => true,
        "rebase" => words.any(|it| it.starts_with("-x") || it.starts_with("--e")),
        "submodule" => words.any(|it| it == "foreach"),
        "grep" => words.any(|it| it.starts_with("-O") || it.starts_with("--op")),
        "config" => true,
        _ => false,
    };
    match runs {
        true => Err(at(command, "is a command of `git` that may have a text run")),
        false => Ok(()),
    }
}
