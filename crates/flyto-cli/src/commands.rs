//! Command lines of `flyto` for a reader to run.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::words::command_line;

/// Each source of this process: its option, and its path. A process has one command line.
static SOURCES: OnceLock<Vec<(&'static str, OsString)>> = OnceLock::new();

/// Whether readers may be in another directory than this process.
static IS_READ_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Keeps the options of the command line that name sources, for each line that is shown from now on.
pub(crate) fn remember_sources(options: Vec<(&'static str, OsString)>) {
    let _first_stays = SOURCES.set(options);
}

/// From now on, paths in lines are absolute: the reader is the user of a client.
pub(crate) fn read_elsewhere() {
    IS_READ_ELSEWHERE.store(true, Ordering::Relaxed);
}

/// A line that runs `flyto` with these words on the sources of this process, in backticks.
pub(crate) fn by_flyto<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    format!("`{}`", flyto_line(words))
}

/// The same without backticks.
pub(crate) fn flyto_line<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    line(sources(), IS_READ_ELSEWHERE.load(Ordering::Relaxed), words)
}

/// A line that runs `flyto evolve` with these words on the sources of this process, in backticks.
pub(crate) fn by_evolve<const N: usize>(words: [&str; N]) -> String {
    by_flyto(["evolve"].into_iter().chain(words))
}

/// The beginning of a line that comes to the store of this process from any directory.
pub(crate) fn evolve_from_anywhere() -> String {
    line(sources(), true, ["evolve"])
}

fn sources() -> &'static [(&'static str, OsString)] {
    SOURCES.get().map_or(&[], Vec::as_slice)
}

fn line<T: AsRef<str>>(
    sources: &[(&'static str, OsString)],
    is_read_elsewhere: bool,
    words: impl IntoIterator<Item = T>,
) -> String {
    let mut all = vec!["flyto".to_owned()];
    for (option, path) in sources {
        let absolute = is_read_elsewhere.then(|| std::path::absolute(path).ok()).flatten();
        let path = absolute.map_or_else(|| path.clone(), Into::into);
        all.extend([(*option).to_owned(), path.to_string_lossy().into_owned()]);
    }
    all.extend(words.into_iter().map(|it| it.as_ref().to_owned()));
    command_line(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leads_to_the_sources_that_were_named() {
        assert_eq!(line(&[], true, ["evolve", "deny", "t-1"]), "flyto evolve deny t-1");
        let sources = [("--plugins", "my tools".into()), ("--config", "/c.json".into())];
        assert_eq!(
            line(&sources, false, ["show", "p:t"]),
            "flyto --plugins 'my tools' --config /c.json show p:t"
        );
        let dir = std::env::current_dir().unwrap();
        let tools = command_line([dir.join("my tools").to_string_lossy()]);
        assert_eq!(
            line(&sources, true, ["list"]),
            format!("flyto --plugins {tools} --config /c.json list")
        );
    }
}
