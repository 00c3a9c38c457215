//! Parts of an argument that may be paths: of an option, a list, or a text that a shell reads.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// A part of an argument that may be a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// All of it, or what is behind its `=`, between its `:`, behind the letters of its option or behind its `@`. Of a pattern
    /// (`lib/*`), the directory.
    Whole(&'a OsStr),
    /// A word of a longer text, which is a file where there is one; a directory has many meanings there.
    Word(&'a OsStr),
}

/// The parts of an argument, each of them once in its place.
pub(super) fn parts(arg: &OsStr) -> Vec<Part<'_>> {
    let arg = arg.as_bytes();
    let mut wholes = vec![arg];
    let value = arg.iter().position(|it| *it == b'=').map(|at| &arg[at + 1..]);
    wholes.extend(value);
    // A text of several lines is no list.
    let is_list = |it: &&[u8]| it.contains(&b':') && !arg.contains(&b'\n');
    let lists = [Some(arg), value].into_iter().flatten().filter(is_list);
    wholes.extend(lists.flat_map(|it| it.split(|it| *it == b':')));
    if let Some(file) = arg.strip_prefix(b"@") {
        wholes.push(file);
    }
    // `-I/opt/lib`, `-I../lib`.
    if arg.starts_with(b"-") {
        let attached = arg.iter().skip(1).position(|it| matches!(it, b'/' | b'.'));
        wholes.extend(attached.map(|at| &arg[at + 1..]));
    }
    let patterns: Vec<_> = wholes.iter().filter_map(|it| directory_of_pattern(it)).collect();
    wholes.extend(patterns);
    let whole = |it| Part::Whole(OsStr::from_bytes(it));
    let mut res: Vec<_> = wholes.into_iter().filter(|it| !it.is_empty()).map(whole).collect();
    if arg.iter().any(|it| parts_words(*it)) {
        let words = arg.split(|it| parts_words(*it)).filter(|it| may_be_a_file(it));
        res.extend(words.map(|it| Part::Word(OsStr::from_bytes(it))));
    }
    res
}

/// The directory in which a pattern of names finds files: `lib` of `lib/*.jar`.
fn directory_of_pattern(path: &[u8]) -> Option<&[u8]> {
    let pattern = path.iter().position(|it| matches!(it, b'*' | b'?' | b'['))?;
    let end = path[..pattern].iter().rposition(|it| *it == b'/')?;
    Some(&path[..end])
}

/// Whether this byte stands between words: white space, and what a shell or another language puts around names.
fn parts_words(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`;|&()<>{}[]$=:,".contains(&byte)
}

/// Whether a word looks like the name of a file: of a script of hundreds of words, few do.
fn may_be_a_file(word: &[u8]) -> bool {
    let names = |it: &u8| !matches!(it, b'.' | b'/');
    word.iter().any(|it| !names(it)) && word.iter().any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arg: &str, wholes: &[&str], words: &[&str]) {
        let found = parts(OsStr::new(arg));
        let all = |is_word: bool| {
            let text = found.iter().filter_map(move |it| match it {
                Part::Whole(it) => (!is_word).then_some(*it),
                Part::Word(it) => is_word.then_some(*it),
            });
            text.map(|it| it.to_str().expect("it was")).collect::<Vec<_>>()
        };
        assert_eq!((all(false), all(true)), (wholes.to_vec(), words.to_vec()), "{arg}");
    }

    #[test]
    fn an_argument_names_paths_in_several_ways() {
        check("", &[], &[]);
        check("run.py", &["run.py"], &[]);
        check("--file=a b", &["--file=a b", "a b"], &[]);
        check("lib:a.jar", &["lib:a.jar", "lib", "a.jar"], &["a.jar"]);
        check("-Dx=a:b", &["-Dx=a:b", "a:b", "-Dx=a", "b", "a", "b"], &[]);
        check("-I/opt/lib", &["-I/opt/lib", "/opt/lib"], &[]);
        check("-I../lib", &["-I../lib", "../lib"], &[]);
        check("@options", &["@options", "options"], &[]);
        check("lib/*", &["lib/*", "lib"], &[]);
        check("/*", &["/*"], &[]);
    }

    #[test]
    fn a_text_has_words_that_name_files() {
        let text = ". ./lib.sh; exec \"$HOME/run\" </dev/null | jq . / ..";
        check(text, &[text], &["./lib.sh", "HOME/run", "/dev/null"]);
        let text = "import json, sys\nsys.path.insert(0, '/opt/lib')";
        check(text, &[text], &["sys.path.insert", "/opt/lib"]);
    }
}
