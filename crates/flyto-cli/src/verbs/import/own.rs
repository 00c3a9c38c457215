//! This program among the servers of another client.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use flyto_mcp::import::ClientServer;

/// This program, as a file of another client names it.
#[derive(Debug)]
pub(super) struct Own {
    /// The file that runs, without links on its way.
    file: Option<PathBuf>,
    /// The directories in which a bare name is looked for.
    path: OsString,
}

impl Own {
    /// The program that runs; the other client looks for a bare name in `path`.
    pub(super) fn new(path: &OsStr) -> Self {
        let file = std::env::current_exe().and_then(|it| it.canonicalize()).ok();
        Self { file, path: path.to_owned() }
    }

    /// Whether a server is this program with `serve`: by the file, or by the name that each installation of it has.
    pub(super) fn is_started_by(&self, server: &ClientServer) -> bool {
        let Some(command) = server.command().map(Path::new) else { return false };
        let is_own = || {
            let paths = match command.components().count() {
                1 => std::env::split_paths(&self.path).map(|it| it.join(command)).collect(),
                _ => vec![command.to_owned()],
            };
            let first = paths.iter().find_map(|it| it.canonicalize().ok());
            first.is_some() && first == self.file
        };
        server.args().any(|it| it == "serve")
            && (command.file_stem() == Some("flyto".as_ref()) || is_own())
    }
}

/// Whether a server seems to run this program behind another one, such as `env flyto serve` or `sh -c "flyto serve"`.
pub(super) fn seems_behind(server: &ClientServer) -> bool {
    names_own(server.command().into_iter().chain(server.args()))
}

fn names_own<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let words = words.flat_map(str::split_whitespace).map(|it| it.trim_matches(['"', '\'']));
    let mut words = words.skip_while(|it| {
        let file = it.rsplit('/').next().unwrap_or(it);
        // `flyto@1.2` is a package of this name.
        file.split(['.', '@']).next() != Some("flyto")
    });
    words.next().is_some() && words.any(|it| it == "serve")
}

#[cfg(test)]
mod tests {
    use super::names_own;

    #[test]
    fn this_program_is_seen_behind_another_one() {
        let seen = |words: &[&str]| names_own(words.iter().copied());
        assert!(seen(&["env", "-i", "/opt/flyto", "serve"]));
        assert!(seen(&["sh", "-c", "exec 'flyto' --evolve x serve"]));
        assert!(seen(&["npx", "-y", "flyto@1.2", "serve"]));
        assert!(!seen(&["env", "flyto-notes", "serve"]));
        assert!(!seen(&["python", "serve", "flyto"]));
    }
}
