//! What is at the paths that options and variables name as sources.

use std::path::Path;

use flyto_host::{Flags, Surroundings};

use crate::exit::Why;
use crate::stop::Stop;
use crate::words::one_line;

/// Checks that each source that an option names is there, and is of the kind that the option takes.
///
/// # Errors
///
/// A path without a file, a file in the place of a directory, or the other way round.
pub(crate) fn check(flags: &Flags, surroundings: &Surroundings) -> Result<(), Stop> {
    let mut named = flags.plugins.iter().chain(&flags.exec_tools).chain(&flags.config);
    if let Some(path) = named.find(|it| is_missing(it, surroundings)) {
        return Err(no_such_file(path));
    }
    // A path that cannot be looked at is told by its reader.
    let is_dir = |it: &Path| surroundings.current_dir.join(it).metadata().map(|it| it.is_dir());
    let name = |it: &Path| one_line(&it.to_string_lossy());
    if let Some(path) = flags.plugins.iter().find(|it| matches!(is_dir(it), Ok(false))) {
        return Err(Stop::usage(format!("{} is no directory", name(path)))
            .with_help("`--plugins` takes the directory of a plugin, or one that holds plugins"));
    }
    if let Some(path) = flags.exec_tools.iter().find(|it| matches!(is_dir(it), Ok(true))) {
        return Err(Stop::usage(format!("{} is a directory", name(path))).with_help(
            "`--exec-tools` takes a file of definitions; `--plugins DIR` uses plugins",
        ));
    }
    let config_file = surroundings.env.get("FLYTO_CONFIG").filter(|it| !it.is_empty());
    match config_file.map(Path::new).filter(|_| flags.config.is_none()) {
        Some(path) if is_missing(path, surroundings) => {
            Err(no_such_file(path).with_help("it is named by the variable FLYTO_CONFIG"))
        }
        _ => Ok(()),
    }
}

/// Whether there is nothing of a name that stands on the command line. That is an error;
/// a directory that the configuration names may well come later.
fn is_missing(path: &Path, surroundings: &Surroundings) -> bool {
    matches!(surroundings.current_dir.join(path).try_exists(), Ok(false))
}

pub(crate) fn no_such_file(path: &Path) -> Stop {
    Stop::new(Why::Missing, format!("there is no file or directory {}", path.display()))
}
