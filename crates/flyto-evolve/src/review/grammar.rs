//! What a word of a command is by its place: an assignment, a redirection, a reserved word, or a program.
//!
//! | words | what they are |
//! | --- | --- |
//! | `A=1 A+=1 A[i]=1 b c=1` | three assignments, a program, an argument |
//! | `>& 2 {fd}> f b 2> g` | two redirections with targets, a program, a redirection with its target |
//! | `function f { b` | three words of bash, a program |
//! | `coproc N { b` | `coproc`, its name, which may be a program, a word of bash, a program |
//! | `time -p b -p` | two words of bash, a program, an argument |
//! | `for x do b` | three words of bash, a program |
//! | `case b in` | words of bash |
//!
//! The words are those of [`Script`](super::words::Script): a redirection is one without its target.

/// Redirections.
pub(super) const OPERATORS: &[&str] =
    &["<<-", "<<<", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "&>>", "&>"];

/// Words of bash behind which a command follows.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done", "esac", "in",
];

/// Words that begin a compound command.
const COMPOUND: &[&str] = &["{", "if", "while", "until", "for", "select", "case", "[["];

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A redirection, or its target.
    Redirection,
    /// It sets a name.
    Assignment,
    /// A word of bash, with what belongs to it.
    Reserved,
    /// It begins a `case`.
    Case,
    /// It ends one.
    Esac,
    /// `coproc`.
    Coproc,
    /// The program, or the name of a function or builtin.
    Program,
    /// A word behind it.
    Argument,
}

/// Where the next word of a command stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Front {
    place: Place,
    /// The next word is the target of a redirection.
    is_target: bool,
}

/// Behind which words the next one stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Where a program may stand.
    #[default]
    Command,
    /// Behind `function`.
    Function,
    /// Behind `time`.
    Time,
    /// Behind `coproc`.
    Coproc,
    /// Behind one word more, which is its name where a compound command follows.
    CoprocName,
    /// Behind `for` and `select`.
    Loop,
    /// Behind the name there: `do` may follow at once.
    LoopName,
    /// Words of bash's own, as behind `case`.
    Words,
    /// Behind a program.
    Arguments,
}

impl Front {
    /// What the next word is.
    pub(super) fn next(&mut self, word: &str) -> Kind {
        if std::mem::take(&mut self.is_target) {
            return Kind::Redirection;
        }
        if redirection(word).is_some() {
            self.is_target = true;
            return Kind::Redirection;
        }
        match self.place {
            Place::Function => {
                self.place = Place::Command;
                return Kind::Reserved;
            }
            Place::Time if ["-p", "--"].contains(&word) => return Kind::Reserved,
            Place::CoprocName if !COMPOUND.contains(&word) => self.place = Place::Arguments,
            Place::Loop => {
                self.place = Place::LoopName;
                return Kind::Reserved;
            }
            Place::LoopName if !["do", "{"].contains(&word) => self.place = Place::Words,
            _ => {}
        }
        let (place, kind) = match self.place {
            Place::Words => (Place::Words, Kind::Reserved),
            Place::Arguments => (Place::Arguments, Kind::Argument),
            before => match word {
                "function" => (Place::Function, Kind::Reserved),
                "time" => (Place::Time, Kind::Reserved),
                "coproc" => (Place::Coproc, Kind::Coproc),
                "for" | "select" => (Place::Loop, Kind::Reserved),
                "case" => (Place::Words, Kind::Case),
                "esac" => (Place::Command, Kind::Esac),
                _ if RESERVED.contains(&word) => (Place::Command, Kind::Reserved),
                _ if assignment(word).is_some() => (Place::Command, Kind::Assignment),
                _ if before == Place::Coproc => (Place::CoprocName, Kind::Program),
                _ => (Place::Arguments, Kind::Program),
            },
        };
        self.place = place;
        kind
    }

    /// Whether a `[` behind this word begins an item of a list that may be assigned to, so that bash reads on to the `]`.
    pub(super) fn is_item(self, word: &str) -> bool {
        let is_front = !matches!(self.place, Place::Words | Place::Arguments | Place::CoprocName);
        is_front && !self.is_target && name_end(word) == word.len() && name(word).is_some()
    }
}

/// The operator of a redirection, behind the number or the `{name}` of its descriptor.
pub(crate) fn redirection(word: &str) -> Option<&str> {
    let begin = word.find(['<', '>', '&'])?;
    let (descriptor, operator) = word.split_at(begin);
    let is_one = descriptor.is_empty() || is_descriptor(descriptor);
    (is_one && OPERATORS.contains(&operator)).then_some(operator)
}

/// Whether a word in front of a redirection belongs to it.
pub(super) fn is_descriptor(word: &str) -> bool {
    let named = word.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    match named {
        Some(it) => name(it).is_some() && (name_end(it) == it.len() || it.ends_with(']')),
        None => !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit()),
    }
}

/// The name that a word assigns to: `A=1`, `A+=1`, `A[i]=1`.
pub(super) fn assignment(word: &str) -> Option<&str> {
    let name = name(word)?;
    let rest = &word[name.len()..];
    let rest = match rest.starts_with('[') {
        true => &rest[end_of_item(rest)?..],
        false => rest,
    };
    (rest.starts_with('=') || rest.starts_with("+=")).then_some(name)
}

/// Where the bracket ends with which a text begins.
fn end_of_item(text: &str) -> Option<usize> {
    let mut n_open = 0;
    text.bytes()
        .position(|it| {
            n_open += i32::from(it == b'[') - i32::from(it == b']');
            n_open == 0
        })
        .map(|it| it + 1)
}

/// The name of a variable with which a text begins.
fn name(text: &str) -> Option<&str> {
    let name = &text[..name_end(text)];
    name.starts_with(|it: char| !it.is_ascii_digit()).then_some(name)
}

/// How many bytes of a name a text begins with.
fn name_end(text: &str) -> usize {
    text.find(|it: char| it != '_' && !it.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// A word without its quotes, as bash compares it with the lines of a here-document.
pub(super) fn unquoted(word: &str) -> String {
    let mut res = String::new();
    let mut quote = None;
    let mut chars = word.chars().peekable();
    while let Some(it) = chars.next() {
        match (quote, it) {
            (Some(open), it) if open == it => quote = None,
            (None, '\'' | '"') => quote = Some(it),
            (None, '\\') => res.extend(chars.next()),
            (Some('"'), '\\') => {
                res.push(chars.next_if(|it| "\\\"$`".contains(*it)).unwrap_or(it));
            }
            _ => res.push(it),
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_by_its_place() {
        for (text, kinds) in [
            ("A=1 A+=1 A[i]=1 A[a[1]]+=1 b c=1", "aaaapw"),
            (">& 2 b > f {fd}> x 2<< E c", "rrprrrrrrw"),
            ("function f { b c }", "ssspww"),
            ("coproc b c", "cpw"),
            ("coproc N { b c", "cpspw"),
            ("time -p b -p", "sspw"),
            ("time -- b", "ssp"),
            ("! b", "sp"),
            ("for x in b c", "sssss"),
            ("for x do b", "sssp"),
            ("case b in", "Css"),
            ("then case b in", "sCss"),
            ("=1 b", "pw"),
            ("A[1 b", "pw"),
        ] {
            let mut front = Front::default();
            let letter = |it: &str| match front.next(it) {
                Kind::Redirection => 'r',
                Kind::Assignment => 'a',
                Kind::Reserved => 's',
                Kind::Case => 'C',
                Kind::Esac => 'E',
                Kind::Coproc => 'c',
                Kind::Program => 'p',
                Kind::Argument => 'w',
            };
            assert_eq!(text.split(' ').map(letter).collect::<String>(), kinds, "{text}");
        }
    }

    #[test]
    fn quotes_are_taken_off_as_bash_does() {
        for (word, text) in
            [("E", "E"), ("'E'", "E"), ("\\E", "E"), ("E\"O'\"F", "EO'F"), ("\"a\\b\\$\"", "a\\b$")]
        {
            assert_eq!(unquoted(word), text);
        }
    }
}
