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
    nearest(written, known, Tolerance::Words)
}

/// Known names, prepared once, of which each of many written names has the nearest looked up.
///
/// What it finds is what [`closest`] finds. Most names that are near to none are told by their letters alone,
/// so an object with 100,000 unknown keys costs little more than a look at each of them.
///
/// ```
/// use flyto_diagnostics::KnownNames;
///
/// let known = KnownNames::new(["command", "timeout_seconds"]);
/// assert_eq!(known.closest("comand"), Some("command"));
/// assert_eq!(known.closest("colour"), None);
/// ```
#[derive(Clone, Debug)]
pub struct KnownNames<'a> {
    names: Vec<(&'a str, Folded)>,
}

impl<'a> KnownNames<'a> {
    /// Prepares names. The first 256 count; of those, names of more than 64 bytes are near to none.
    pub fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().take(MOST_NAMES);
        Self { names: names.filter_map(|name| Some((name, Folded::new(name)?))).collect() }
    }

    /// These names, and others behind them.
    pub(crate) fn with(&self, others: impl Iterator<Item = &'a str>) -> Self {
        let mut res = self.clone();
        res.names.extend(Self::new(others).names);
        res
    }

    /// The known name that is nearest to `written`, as [`closest`] finds it; `None` where none is near.
    pub fn closest(&self, written: &str) -> Option<&'a str> {
        let wanted = Folded::new(written)?;
        let distance = |(name, known): &(&'a str, Folded)| {
            Some((wanted.distance_to(known, Tolerance::Words)?, *name))
        };
        let near = self.names.iter().filter_map(distance);
        near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
    }
}

/// How far apart two names may be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tolerance {
    /// A slip of the pen.
    Letters,
    /// That, or whole words left out or added.
    Words,
}

pub(crate) fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    tolerance: Tolerance,
) -> Option<&'a str> {
    let wanted = Folded::new(written)?;
    let near = known
        .into_iter()
        .take(MOST_NAMES)
        .filter_map(|name| Some((wanted.distance(name, tolerance)?, name)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

/// How many names one is compared with: those of a long list are rather looked up in it.
const MOST_NAMES: usize = 256;

/// The longest name, in bytes, that is compared at all. Keys and parameters that people write by hand are
/// shorter.
const LONGEST: usize = 64;

/// How many mistyped letters are looked for at most.
const MOST_EDITS: usize = 3;

/// A name without the differences that count for nothing.
#[derive(Clone, Debug)]
struct Folded {
    letters: Vec<char>,
    /// Which letters there are, one bit for all of one remainder by 128.
    kinds: u128,
    /// Where in `letters` each word ends.
    word_ends: Vec<usize>,
}

impl Folded {
    fn new(name: &str) -> Option<Self> {
        (name.len() <= LONGEST).then(|| fold(name))
    }

    fn words(&self) -> impl Iterator<Item = &[char]> + Clone {
        let starts = std::iter::once(0).chain(self.word_ends.iter().copied());
        starts.zip(&self.word_ends).map(|(start, &end)| &self.letters[start..end])
    }

    /// As [`distance_to`](Self::distance_to) a name that is compared once.
    fn distance(&self, name: &str, tolerance: Tolerance) -> Option<usize> {
        self.distance_to(&Self::new(name)?, tolerance)
    }

    /// How many kinds of letters are here and not in `other`. Each of them takes an edit at least.
    fn n_missing_in(&self, other: &Self) -> usize {
        (self.kinds & !other.kinds).count_ones() as usize
    }

    /// How far `other` is from this one, or nothing when it is too far. Smaller is nearer.
    fn distance_to(&self, other: &Self, tolerance: Tolerance) -> Option<usize> {
        let (n_self, n_other) = (self.letters.len(), other.letters.len());
        let allowed = (n_self.max(n_other) / 3).clamp(1, MOST_EDITS);
        let may_be_near = n_self.abs_diff(n_other) <= allowed
            && self.n_missing_in(other).max(other.n_missing_in(self)) <= allowed;
        // An edit distance as long as the word itself would replace the word, not mend it.
        let near = may_be_near
            .then(|| edits(&self.letters, &other.letters, allowed))
            .flatten()
            .filter(|it| *it < n_self.min(n_other));
        if near.is_some() || tolerance == Tolerance::Letters {
            return near;
        }
        let (short, long) = if self.word_ends.len() < other.word_ends.len() {
            (self, other)
        } else {
            (other, self)
        };
        let n_words = short.word_ends.len();
        let n_added = long.word_ends.len() - n_words;
        if n_added == 0 || n_words == 0 || short.n_missing_in(long) > MOST_SLIPS * n_words {
            return None;
        }
        let is_telling = short.words().any(|word| word.len() >= 3);
        let is_there = |word: &[char]| long.words().any(|it| it == word);
        // Behind every name that is only mistyped.
        if is_telling && short.words().all(is_there) {
            return Some(10 + n_added);
        }
        let is_meant = |word: &[char]| long.words().any(|it| it == word || is_slip(word, it));
        short.words().all(is_meant).then_some(20 + n_added)
    }
}

/// Whether one word is the other with a letter or two mistyped. Short words are too near to each other
/// to tell.
fn is_slip(a: &[char], b: &[char]) -> bool {
    let most = (a.len().max(b.len()) / 4).clamp(1, MOST_SLIPS);
    a.len().min(b.len()) >= 5 && edits(a, b, most).is_some()
}

/// How many mistyped letters are looked for in one word of several.
const MOST_SLIPS: usize = 2;

/// How many letters to replace, add, remove or swap with their neighbour make one word the other, or nothing
/// when they are more than `most`.
///
/// Only the cells of the table that at most `most` edits reach are worked out, so that the steps grow with the
/// length of a word and not with its square.
fn edits(a: &[char], b: &[char], most: usize) -> Option<usize> {
    #[cfg(test)]
    tests::N_EDITS.with(|it| it.set(it.get() + 1));
    let n_equal = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[n_equal..], &b[n_equal..]);
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // Each row is that of the letters of `a` before it, moved so that the cell of equal length is in the middle.
    const MIDDLE: usize = MOST_EDITS;
    let far = most + 1;
    let mut before = [far; 2 * MOST_EDITS + 1];
    let mut last = std::array::from_fn(|cell| cell.checked_sub(MIDDLE).unwrap_or(far).min(far));
    for row in 1..=a.len() {
        let mut this = [far; 2 * MOST_EDITS + 1];
        for cell in MIDDLE - most..=MIDDLE + most {
            // How many letters of `b`.
            let Some(column) = (row + cell).checked_sub(MIDDLE).filter(|it| *it <= b.len()) else {
                continue;
            };
            let removed = last.get(cell + 1).map_or(far, |it| it + 1);
            let Some(left) = column.checked_sub(1) else {
                this[cell] = removed.min(far);
                continue;
            };
            let added = cell.checked_sub(1).map_or(far, |it| this[it] + 1);
            let replaced = last[cell] + usize::from(a[row - 1] != b[left]);
            let is_swap = row > 1 && left > 0 && a[row - 1] == b[left - 1] && a[row - 2] == b[left];
            let swapped = if is_swap { before[cell] + 1 } else { far };
            this[cell] = removed.min(added).min(replaced).min(swapped).min(far);
        }
        if this.iter().all(|it| *it == far) && last.iter().all(|it| *it == far) {
            return None;
        }
        (before, last) = (last, this);
    }
    let n_edits = last[MIDDLE + b.len() - a.len()];
    (n_edits <= most).then_some(n_edits)
}

/// Splits at `-`, `_`, blanks and where a capital follows a small letter; folds case.
fn fold(name: &str) -> Folded {
    let mut res =
        Folded { letters: Vec::with_capacity(name.len()), kinds: 0, word_ends: Vec::new() };
    let mut new_word = true;
    let mut after_small = false;
    for c in name.chars() {
        if matches!(c, '-' | '_' | ' ') {
            new_word = true;
            continue;
        }
        if (new_word || (after_small && c.is_uppercase())) && !res.letters.is_empty() {
            res.word_ends.push(res.letters.len());
        }
        new_word = false;
        after_small = c.is_lowercase();
        res.letters.extend(c.to_lowercase());
    }
    if !res.letters.is_empty() {
        res.word_ends.push(res.letters.len());
    }
    res.kinds = res.letters.iter().fold(0, |kinds, &c| kinds | 1 << (u32::from(c) % u128::BITS));
    res
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    thread_local! {
        /// How often names or words were compared letter by letter.
        pub(super) static N_EDITS: Cell<usize> = const { Cell::new(0) };
    }

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
        assert_eq!(KnownNames::new(KNOWN.iter().copied()).closest(written), expect, "{written:?}");
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
        let name = "n".repeat(LONGEST);
        let near = name.replacen("nn", "n", 1);
        assert_eq!(closest(&near, [name.as_str()]), Some(name.as_str()));
        let longer = name.clone() + "n";
        assert_eq!(closest(&name, [longer.as_str()]), None);
        assert_eq!(closest(&longer, [name.as_str()]), None);
    }

    #[test]
    fn names_with_other_letters_are_not_compared_letter_by_letter() {
        let known = KnownNames::new(KNOWN.iter().copied());
        N_EDITS.set(0);
        assert!((0..100_000).all(|it| known.closest(&format!("key{it}")).is_none()));
        assert_eq!(N_EDITS.get(), 0);
        assert_eq!(known.closest("comand"), Some("command"));
        assert!(N_EDITS.get() > 0);
    }

    proptest! {
        /// Names that the look at their letters leaves out are far apart.
        #[test]
        fn letters_that_are_missing_take_an_edit_each(
            a in "[a-dA\u{e4}\u{161}]{0,12}",
            b in "[a-dA\u{e4}\u{161}]{0,12}",
        ) {
            let (a, b) = (fold(&a), fold(&b));
            let text = |it: &Folded| it.letters.iter().collect::<String>();
            let all = strsim::osa_distance(&text(&a), &text(&b));
            prop_assert!(a.n_missing_in(&b).max(b.n_missing_in(&a)) <= all);
        }

        /// The cells that are left out never change an answer.
        #[test]
        fn edits_are_those_of_the_whole_table(
            a in "[abc]{0,12}",
            b in "[abc]{0,12}",
            most in 1..=MOST_EDITS,
        ) {
            let all = strsim::osa_distance(&a, &b);
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(edits(&chars(&a), &chars(&b), most), (all <= most).then_some(all));
        }
    }
}
