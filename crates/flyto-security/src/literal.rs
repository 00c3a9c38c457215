//! Is a value a secret, a reference to one, or a placeholder?
//!
//! The functions here look at a value alone, as bytes, and know nothing of what stands around it.
//! Each is linear in the value. They err in both directions; which of them a rule asks decides how
//! often.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::catalogue::automaton;

/// How common each pair of letters is in English and in names of programs: row `a` to `z` for the first letter,
/// column for the second. 5 is as common as in random letters, each step more or less is a factor of two. Counted
/// over the papers and comments of this repository, each word once and a little more for each repetition.
///
/// Digits are ASCII; a row has 26.
#[rustfmt::skip] // One row a line reads as the table it is.
const PAIRS: [&[u8; 26]; 26] = [
    b"06772461605768060878544250", b"50006200530600500441500030",
    b"70407127406621830637520020", b"52148231700421610562401030",
    b"83896653402778364997265741", b"50236510700410600444500020",
    b"50207035601225400652510000", b"71008000600130700434400030",
    b"55666560103769760677060403", b"10003000000000300030200000",
    b"20027010600014120062000000", b"71268410703712730265541050",
    b"75327210602242660050300000", b"60687582604325640378452040",
    b"44663550425778660866756300", b"70327323600610650756501030",
    b"00000000000200000000500000", b"73559252705455840676652060",
    b"61608026704442662268614050", b"71548327800530740776504350",
    b"44545250400657350767000201", b"50007100500000310020000000",
    b"60005005500105500541001000", b"40315000300000050005000020",
    b"00004000200103340054003000", b"00004000000000200000000001",
];

/// Letters whose pairs are rarer on average than this are no words, in tenths. Of random strings of ten letters 97 in
/// 100 are below, of words 1.5 in 100.
const WORD_TENTHS: usize = 50;

/// How common the pairs of letters are on average, in tenths; `None` without a pair.
///
/// Case does not count; a pair needs two letters side by side.
fn pair_tenths(text: &[u8]) -> Option<usize> {
    let (mut n, mut sum) = (0, 0);
    for pair in text.windows(2) {
        if let [a, b] = pair
            && a.is_ascii_alphabetic()
            && b.is_ascii_alphabetic()
        {
            let row = PAIRS[usize::from(a.to_ascii_lowercase() - b'a')];
            sum += usize::from(row[usize::from(b.to_ascii_lowercase() - b'a')] - b'0');
            n += 1;
        }
    }
    (n > 0).then(|| sum * 10 / n)
}

/// Whether the letters of `text` make words.
///
/// True for a text without two letters side by side, of which nothing can be told.
pub(crate) fn is_wordy(text: &[u8]) -> bool {
    pair_tenths(text).is_none_or(|it| it >= WORD_TENTHS)
}

/// Shannon's entropy of the bytes, in bits per byte.
///
/// 0 for an empty text and for one byte again and again, at most 8.
pub(crate) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let total = text.len() as f64;
    let share = |n: &u32| f64::from(*n) / total;
    counts.iter().filter(|it| **it > 0).map(share).map(|it| -it * it.log2()).sum()
}

/// How many different bytes there are.
pub(crate) fn distinct(text: &[u8]) -> usize {
    let mut seen = [false; 256];
    text.iter().filter(|it| !std::mem::replace(&mut seen[usize::from(**it)], true)).count()
}

/// Whether `text` stands for a value that comes from elsewhere: `$X`, `${X}`, `$(…)`, `{{x}}`, `<X>`, `%X%`, `${{ }}`.
///
/// True for an empty text, and wherever such a form stands in it.
pub(crate) fn is_reference(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return true };
    if matches!(first, b'$' | b'<' | b'{' | b'[' | b'(') || text.starts_with(b"@{") {
        return true;
    }
    if (*first == b'%' && *last == b'%') || (text.starts_with(b"__") && text.ends_with(b"__")) {
        return true;
    }
    text.windows(2).any(|it| match it {
        b"${" | b"$(" | b"{{" | b"}}" | b"#{" | b"%(" | b"%s" | b"%v" | b"<%" | b"<<" | b"@@" => {
            true
        }
        [b'$', next] => next.is_ascii_alphabetic() || *next == b'_',
        _ => false,
    })
}

/// Parts of values that documents and tests use in the place of secrets, in lower case.
///
/// Found anywhere in a value, in either case.
#[rustfmt::skip] // A list reads best as one.
const STAND_INS: &[&str] = &[
    "example", "placeholder", "changeme", "change-me", "change_me", "change-this", "changethis", "redacted", "xxxx",
    "****", "....", "your-", "your_", "yourapi", "yourtoken", "yourpass", "yoursecret", "your ", "insert", "replace",
    "dummy", "sample", "foobar", "todo", "fixme", "notreal", "not-a-", "not_a_", "masked", "hidden", "<", "…",
    "goes-here", "goes_here", "-here", "_here", "000000000000", "lorem", "mysecret", "my-secret", "my_secret",
    "mytoken", "my-token", "my_token", "mypassword", "my_password", "my-password", "secretkey", "secret-key",
    "secret_key", "supersecret",
];

/// Whether `text` stands in the place of a secret in a document or a test.
///
/// True also for a text of fewer than four different bytes.
pub(crate) fn is_stand_in(text: &[u8]) -> bool {
    if distinct(text) < 4 {
        return true;
    }
    static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(STAND_INS, true));
    FINDER.is_match(text)
}

/// Passwords that stand for none, in lower case; digits behind them count for nothing.
///
/// The whole value, after digits and `!-_.` at its end are taken off.
#[rustfmt::skip] // A list reads best as one.
const WEAK: &[&str] = &[
    "", "abc", "access", "admin", "administrator", "apikey", "api_key", "auth", "bar", "baz", "bogus", "changeit",
    "credentials", "default", "demo", "disabled", "enabled", "empty", "fake", "false", "foo", "guest", "key",
    "letmein", "local", "localhost", "login", "mock", "mongo", "mypass", "mysql", "nil", "no", "none", "null", "off",
    "ok", "on", "pass", "passwd", "password", "passw0rd", "p@ssw0rd", "postgres", "private", "prompt", "public",
    "pwd", "qwerty", "rabbitmq", "redis", "required", "root", "s3cret", "secret", "secrets", "some", "something",
    "string", "temp", "test", "tester", "testing", "testpass", "testpassword", "token", "true", "undefined",
    "unknown", "user", "username", "value", "welcome", "wrong", "yes", "pw", "passphrase", "hunter",
];

/// Whether `text` is a password that is tried first, or a word for one.
///
/// Ten or more digits and signs alone are no such password.
pub(crate) fn is_weak(text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    let end = lower.iter().rposition(|it| !it.is_ascii_digit() && !b"!-_.".contains(it));
    let stem = &lower[..end.map_or(0, |it| it + 1)];
    // Digits alone: a year, a counted row, and not the id of a program.
    if stem.is_empty() && text.len() >= 10 {
        return false;
    }
    WEAK.iter().any(|it| it.as_bytes() == stem)
}

/// What a value is made of.
///
/// Counts of bytes; `others` has signs, blanks and all that is not ASCII.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Make {
    pub(crate) digits: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) others: usize,
}

impl Make {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut res = Self::default();
        for byte in text {
            match byte {
                b'0'..=b'9' => res.digits += 1,
                b'a'..=b'z' => res.lower += 1,
                b'A'..=b'Z' => res.upper += 1,
                _ => res.others += 1,
            }
        }
        res
    }

    /// ASCII letters of both cases.
    pub(crate) fn letters(self) -> usize {
        self.lower + self.upper
    }
}

/// How often letters follow digits or digits follow letters.
///
/// Words and numbers have few, tokens many.
pub(crate) fn switches(text: &[u8]) -> usize {
    text.windows(2)
        .filter(|it| {
            (it[0].is_ascii_digit() && it[1].is_ascii_alphabetic())
                || (it[0].is_ascii_alphabetic() && it[1].is_ascii_digit())
        })
        .count()
}

/// How often an upper-case letter follows a lower-case one, or the other way round within a word.
pub(crate) fn case_switches(text: &[u8]) -> usize {
    text.windows(2)
        .filter(|it| {
            (it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase())
                || (it[0].is_ascii_uppercase() && it[1].is_ascii_lowercase())
        })
        .count()
}

/// Whether `text` is all hexadecimal digits.
///
/// True for an empty text.
pub(crate) fn is_hex(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_hexdigit)
}

/// Whether `text` is a UUID (RFC 9562), or has its form.
///
/// Digits of either case; version and variant are not looked at.
pub(crate) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(i, it)| match i {
            8 | 13 | 18 | 23 => *it == b'-',
            _ => it.is_ascii_hexdigit(),
        })
}

/// Whether a value that the text calls a secret looks like one made by a machine: digits among letters, or letters
/// that make no words.
///
/// False below 8 bytes or 6 different ones.
pub(crate) fn looks_random(text: &[u8]) -> bool {
    let make = Make::of(text);
    if text.len() < 8 || distinct(text) < 6 {
        return false;
    }
    if is_uuid(text) {
        return true;
    }
    if make.letters() == 0 {
        return make.digits >= 12 && make.others == 0;
    }
    if make.digits >= 2 && switches(text) >= 2 {
        return true;
    }
    !is_wordy(text) || (text.len() >= 20 && case_switches(text) >= 6 && entropy(text) > 3.8)
}
