//! Command lines of `flyto evolve` for a reader to run.

use std::path::Path;
use std::sync::OnceLock;

use crate::words::command_line;

/// The words of this process by which a further one comes to the same store. A process has one command line.
static OPTIONS: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the options of the command line that say where the store is.
pub(crate) fn remember_store(config: Option<&Path>, evolve: Option<&Path>) {
    let given = [("--config", config), ("--evolve", evolve)];
    let given = given.into_iter().filter_map(|(option, path)| Some((option, path?)));
    let words =
        given.flat_map(|(option, path)| [option.to_owned(), path.to_string_lossy().into_owned()]);
    let _first_stays = OPTIONS.set(words.collect());
}

/// The beginning of a line that comes to the store of this process from any directory.
pub(crate) fn from_anywhere() -> String {
    let words = OPTIONS.get().map_or(&[][..], Vec::as_slice);
    let absolute = |(at, word): (usize, &String)| match at % 2 {
        0 => word.clone(),
        _ => std::path::absolute(word).map_or(word.clone(), |it| it.to_string_lossy().into_owned()),
    };
    let words = words.iter().enumerate().map(absolute);
    let all = ["flyto".to_owned()].into_iter().chain(words).chain(["evolve".to_owned()]);
    command_line(all)
}

/// A line that runs `flyto evolve` with these words on the store of this process, in backticks.
pub(crate) fn by_evolve<const N: usize>(words: [&str; N]) -> String {
    line(OPTIONS.get().map_or(&[], Vec::as_slice), &words)
}

fn line(options: &[String], words: &[&str]) -> String {
    let options = options.iter().map(String::as_str);
    let all = ["flyto"].into_iter().chain(options).chain(["evolve"]).chain(words.iter().copied());
    format!("`{}`", command_line(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leads_to_the_store_that_was_named() {
        assert_eq!(line(&[], &["deny", "t-1"]), "`flyto evolve deny t-1`");
        let options = ["--evolve", "my tools"].map(str::to_owned);
        assert_eq!(line(&options, &["list"]), "`flyto --evolve 'my tools' evolve list`");
    }
}
