//! The one place of xtask that starts programs.
//!
//! Every program starts at the workspace root with a closed stdin, so a chore behaves the same
//! with a terminal, in a pipe and under CI.

use std::{
    env,
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::stop::Stop;

/// The directory of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    // `cargo run` names the package's directory; a binary started by hand knows where it was built.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), Path::to_path_buf)
}

/// A program to run at the workspace root.
#[expect(
    clippy::disallowed_methods,
    reason = "chores run cargo and git for a developer, no tool for a model"
)]
pub(crate) fn program(name: impl Into<OsString>) -> Command {
    let mut res = Command::new(name.into());
    res.current_dir(root()).stdin(Stdio::null());
    // What `cargo run` told xtask about itself is no business of the programs it starts, and build
    // scripts that watch these variables would run again for nothing.
    for (name, _) in env::vars_os() {
        let of_xtask = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if of_xtask.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes())) {
            res.env_remove(name);
        }
    }
    res
}

/// The cargo that started xtask, with arguments separated by blanks.
pub(crate) fn cargo(args: &str) -> Command {
    let mut res = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    res.args(args.split_whitespace());
    res
}

/// Runs to the end; its output goes where ours goes.
pub(crate) fn run(mut command: Command) -> Result<(), Stop> {
    let shown = show(&command);
    eprintln!("$ {shown}");
    let status = command.status().map_err(|err| Stop::because(format!("start {shown}"), &err))?;
    if status.success() { Ok(()) } else { Err(Stop::failed(format!("`{shown}`: {status}"))) }
}

/// Runs to the end and returns stdout. What went to stderr is shown on failure only.
pub(crate) fn read(mut command: Command) -> Result<String, Stop> {
    let shown = show(&command);
    let output = command.output().map_err(|err| Stop::because(format!("start {shown}"), &err))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(Stop::failed(format!("`{shown}`: {}\n{}", output.status, stderr.trim_end())));
    }
    String::from_utf8(output.stdout)
        .map_err(|err| Stop::because(format!("read the output of {shown}"), &err))
}

/// Runs to the end and returns stdout; stderr goes where ours goes.
pub(crate) fn read_stdout(mut command: Command) -> Result<Vec<u8>, Stop> {
    let shown = show(&command);
    eprintln!("$ {shown}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|err| Stop::because(format!("start {shown}"), &err))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Stop::failed(format!("`{shown}`: {}", output.status))),
    }
}

/// Runs to the end, passes each line of stdout on as it comes, and shows it to `look` as well.
/// Says whether the program succeeded.
pub(crate) fn watch(mut command: Command, look: &mut dyn FnMut(&str)) -> Result<bool, Stop> {
    let shown = show(&command);
    eprintln!("$ {shown}");
    let start = |err| Stop::because(format!("start {shown}"), &err);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(start)?;
    let stdout = child.stdout.take().expect("stdout was piped one line above");
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    let follow = |err| Stop::because(format!("follow {shown}"), &err);
    while lines.read_until(b'\n', &mut line).map_err(follow)? > 0 {
        // A caller that closed our stdout still gets the right exit code.
        let _ = io::stdout().write_all(&line);
        look(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(child.wait().map_err(follow)?.success())
}

fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut res = program.to_string_lossy().into_owned();
    for arg in command.get_args() {
        res.push(' ');
        res.push_str(&arg.to_string_lossy());
    }
    res
}
