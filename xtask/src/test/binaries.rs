//! Test binaries, several at once: one alone leaves the machine idle for a third of its time, since its last tests wait for
//! what they started.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::{ExitStatus, Output},
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use serde::Deserialize;

use crate::{
    process::{self, cargo, program},
    stop::Stop,
};

/// A test binary that cargo made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Binary {
    /// The directory of its package, in which cargo would start it.
    dir: PathBuf,
    executable: PathBuf,
}

/// Compiles with these words of cargo, and gives the test binaries.
pub(super) fn compile(words: &str) -> Result<Vec<Binary>, Stop> {
    let stdout =
        process::read_stdout(cargo(&format!("{words} --message-format=json-render-diagnostics")))?;
    listed(&String::from_utf8_lossy(&stdout))
}

/// The test binaries in what cargo says, a line for each of its artefacts.
fn listed(messages: &str) -> Result<Vec<Binary>, Stop> {
    #[derive(Deserialize)]
    struct Message {
        reason: String,
        manifest_path: Option<PathBuf>,
        executable: Option<PathBuf>,
        profile: Option<Profile>,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let mut res = Vec::new();
    for line in messages.lines().filter(|it| it.starts_with('{')) {
        let message: Message = serde_json::from_str(line)
            .map_err(|err| Stop::because("read a message of cargo".to_owned(), &err))?;
        let is_test = message.profile.is_some_and(|it| it.test);
        if message.reason == "compiler-artifact"
            && is_test
            && let (Some(manifest), Some(executable)) = (message.manifest_path, message.executable)
        {
            let dir = manifest.parent().unwrap_or(Path::new(".")).to_owned();
            res.push(Binary { dir, executable });
        }
    }
    Ok(res)
}

/// Runs binaries with these words, `n_at_once` of them at a time, the largest first: those take longest. Passes the output of each on
/// when it has ended, and shows each line of its stdout to `look` as well. Says whether all succeeded.
pub(super) fn run(
    mut binaries: Vec<Binary>,
    n_at_once: usize,
    words: &[String],
    look: &mut dyn FnMut(&str),
) -> Result<bool, Stop> {
    let size = |it: &Binary| it.executable.metadata().map_or(0, |it| it.len());
    binaries.sort_by_cached_key(size);
    let waiting = Mutex::new(binaries);
    let (sender, ended) = mpsc::channel();
    let mut succeeded = true;
    thread::scope(|scope| {
        for _ in 0..n_at_once {
            let (sender, waiting) = (sender.clone(), &waiting);
            scope.spawn(move || {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                while let Some(binary) = next() {
                    let mut command = program(&binary.executable);
                    command.current_dir(&binary.dir).env("CARGO_MANIFEST_DIR", &binary.dir);
                    let output = command.args(words).output();
                    if sender.send((binary, output)).is_err() {
                        return; // The run has ended early.
                    }
                }
            });
        }
        drop(sender);
        for (binary, output) in ended {
            let output =
                output.map_err(|err| Stop::because(format!("run {}", name(&binary)), &err))?;
            succeeded &= output.status.success();
            show(&binary, &output, look);
        }
        Ok(succeeded)
    })
}

fn name(binary: &Binary) -> String {
    binary.executable.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Passes the output of a binary on.
fn show(binary: &Binary, output: &Output, look: &mut dyn FnMut(&str)) {
    let Output { status, stdout, stderr } = output;
    // A caller that closed our stdout still gets the right exit code.
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "\n     Running {}", name(binary));
    let _ = out.write_all(stdout);
    let _ = io::stderr().write_all(stderr);
    String::from_utf8_lossy(stdout).lines().for_each(&mut *look);
    if let Some(why) = odd_end(*status) {
        let _ = writeln!(out, "{}: {why}", name(binary));
    }
}

/// What a binary ended with that libtest does not: 101 says that a test failed, which it has told.
fn odd_end(status: ExitStatus) -> Option<String> {
    (!status.success() && status.code() != Some(101)).then(|| status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_found_among_artefacts() {
        let messages = r#"warning: text of a build script
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","profile":{"test":true},"executable":"/t/a-1"}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","profile":{"test":false},"executable":"/t/a"}
{"reason":"compiler-artifact","manifest_path":"/w/b/Cargo.toml","profile":{"test":true},"executable":null}
{"reason":"build-finished","success":true}
"#;
        let found = listed(messages).unwrap_or_default();
        assert_eq!(found, [Binary { dir: "/w/a".into(), executable: "/t/a-1".into() }]);
        assert!(listed("{").is_err());
    }

    #[test]
    fn each_binary_is_shown_and_counts() {
        let binary = |name: &str| Binary { dir: "/".into(), executable: name.into() };
        let mut lines = Vec::new();
        let mut look = |it: &str| lines.push(it.to_owned());
        let words = ["a".to_owned()];
        let both = vec![binary("/bin/echo"), binary("/bin/echo")];
        assert!(run(both, 2, &words, &mut look).is_ok_and(|it| it));
        assert!(run(vec![binary("/bin/false")], 2, &words, &mut look).is_ok_and(|it| !it));
        assert!(run(vec![binary("/nowhere")], 2, &words, &mut look).is_err());
        assert_eq!(lines, ["a", "a"]);
    }
}
