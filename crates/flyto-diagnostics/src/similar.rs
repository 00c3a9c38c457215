//! Did you mean: finding the known name that was probably meant.

/// The known name that is nearest to `written`, if one is near enough to suggest it.
///
/// Near is: the same but for case, `-`, `_` and blanks (`inputSchema`, `input_schema`); a few letters
/// mistyped, left out, added or swapped, about one in three (`comand`, `command`); or one being the
/// other with whole words added (`timeout`, `timeout_seconds`), also where a letter of them is mistyped
/// (`timout`). The first 256 names are compared.
///
/// ```
/// use flyto_diagnostics::closest;
///
/// let known = ["command", "timeout_seconds"];
/// assert_eq!(closest("comand", known), Some("command"));
/// assert_eq!(closest("timeoutSeconds", known), Some("timeout_seconds"));
/// assert_eq!(closest("colour", known), None);
/// ```
pub fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(written, known, Reach::Words)
}

/// How far apart two names may be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    /// A slip of the pen.
    Letters,
    /// That, or whole words left out or added.
    Words,
}

pub(crate) fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    reach: Reach,
) -> Option<&'a str> {
    let wanted = Folded::new(written)?;
    let near = known
        .into_iter()
        .take(MOST_NAMES)
        .filter_map(|name| Some((wanted.distance(name, reach)?, name)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

/// How many names one is compared with: those of a long list are rather looked up in it.
const MOST_NAMES: usize = 256;

/// The longest name, in bytes, that is compared at all; a longer one is no slip of the pen.
const LONGEST: usize = 256;

/// A name without the differences that count for nothing.
struct Folded {
    letters: String,
    n_letters: usize,
    words: Vec<String>,
}

impl Folded {
    fn new(name: &str) -> Option<Self> {
        if name.len() > LONGEST {
            return None;
        }
        let words = words(name);
        let letters = words.concat();
        Some(Self { n_letters: letters.chars().count(), letters, words })
    }

    /// How far `name` is from this one, or nothing when it is too far. Smaller is nearer.
    fn distance(&self, name: &str, reach: Reach) -> Option<usize> {
        let other = Self::new(name)?;
        let allowed = (self.n_letters.max(other.n_letters) / 3).clamp(1, 3);
        if self.n_letters.abs_diff(other.n_letters) <= allowed {
            let n_edits = strsim::damerau_levenshtein(&self.letters, &other.letters);
            // An edit distance as long as the word itself would replace the word, not mend it.
            if n_edits <= allowed && n_edits < self.n_letters.min(other.n_letters) {
                return Some(n_edits);
            }
        }
        if reach == Reach::Letters {
            return None;
        }
        let (short, long) = if self.words.len() < other.words.len() {
            (&self.words, &other.words)
        } else {
            (&other.words, &self.words)
        };
        if short.len() >= long.len() {
            return None;
        }
        let telling = short.iter().any(|word| word.len() >= 3);
        let n_added = long.len() - short.len();
        // Behind every name that is only mistyped.
        if telling && short.iter().all(|it| long.contains(it)) {
            return Some(10 + n_added);
        }
        let is_there = |it: &String| long.iter().any(|other| it == other || is_slip(it, other));
        (!short.is_empty() && short.iter().all(is_there)).then_some(20 + n_added)
    }
}

/// Whether one word is the other with a letter or two mistyped. Short words are too near to each other
/// to tell.
fn is_slip(a: &str, b: &str) -> bool {
    let (n_a, n_b) = (a.chars().count(), b.chars().count());
    if n_a.min(n_b) < 5 || n_a.abs_diff(n_b) > 2 {
        return false;
    }
    strsim::damerau_levenshtein(a, b) <= (n_a.max(n_b) / 4).clamp(1, 2)
}

/// Splits at `-`, `_`, blanks and where a capital follows a small letter; folds case.
fn words(name: &str) -> Vec<String> {
    let mut res: Vec<String> = Vec::new();
    let mut new_word = true;
    let mut after_small = false;
    for c in name.chars() {
        if matches!(c, '-' | '_' | ' ') {
            new_word = true;
            continue;
        }
        if new_word || (after_small && c.is_uppercase()) {
            res.push(String::new());
        }
        new_word = false;
        after_small = c.is_lowercase();
        if let Some(word) = res.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &[
        "name",
        "command",
        "args",
        "env",
        "work_dir",
        "input_schema",
        "timeout_seconds",
        "read_only",
    ];

    #[track_caller]
    fn check(written: &str, expect: Option<&str>) {
        assert_eq!(closest(written, KNOWN.iter().copied()), expect, "{written:?}");
    }

    #[test]
    fn slips_of_the_pen() {
        check("comand", Some("command"));
        check("commadn", Some("command"));
        check("commands", Some("command"));
        check("nmae", Some("name"));
        check("arg", Some("args"));
        check("envs", Some("env"));
        check("timeout_secs", Some("timeout_seconds"));
    }

    #[test]
    fn case_and_separators_do_not_count() {
        check("inputSchema", Some("input_schema"));
        check("InputSchema", Some("input_schema"));
        check("read-only", Some("read_only"));
        check("READ ONLY", Some("read_only"));
        check("workdir", Some("work_dir"));
    }

    #[test]
    fn words_left_out_or_added() {
        check("timeout", Some("timeout_seconds"));
        check("schema", Some("input_schema"));
        check("tool_name", Some("name"));
        check("timout", Some("timeout_seconds"));
        check("shcema", Some("input_schema"));
        check("out", None);
    }

    #[test]
    fn what_is_far_stays_unsuggested() {
        for written in ["", "x", "homepage", "license", "do", "the_quick_brown_fox"] {
            check(written, None);
        }
    }

    #[test]
    fn long_names_are_not_compared() {
        let long = "command_".repeat(1000);
        check(&long, None);
        assert_eq!(closest("command", [long.as_str()]), None);
    }
}
