//! Building what is measured beside this program: the children and the C baseline.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

use crate::{Result, options::Options};

/// The sources of the children, each a program but the first.
const CHILD_SOURCES: &[(&str, &str)] = &[
    ("sys.rs", include_str!("../../../probe-static/sys.rs")),
    ("echo.rs", include_str!("../../../probe-static/echo.rs")),
    ("spew.rs", include_str!("../../../probe-static/spew.rs")),
];

/// The children that stay. How fast they start does not matter.
const PONG_SOURCE: &str = include_str!("../../../bench/pong.rs");
const ANSWER_SOURCE: &str = include_str!("../../../bench/answer.rs");

const BASELINE_SOURCE: &str = include_str!("../../../bench/baseline.c");

/// What was built.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Answers what it is sent.
    pub(crate) echo: PathBuf,
    /// Prints as much as it is told.
    pub(crate) spew: PathBuf,
    /// Stays, and sends back what it is sent.
    pub(crate) pong: PathBuf,
    /// Stays, and answers as a plugin.
    pub(crate) answer: PathBuf,
    /// The C baseline and the compiler's version; the Rust twin takes its place where there is none.
    pub(crate) baseline: Option<(PathBuf, String)>,
}

impl Programs {
    /// Builds all of them beside this program, in a directory of their own.
    pub(crate) fn build(options: &Options) -> Result<Self> {
        let dir = env::current_exe()?.with_file_name("bench-programs");
        fs::create_dir_all(&dir)?;
        for (name, text) in CHILD_SOURCES {
            fs::write(dir.join(name), text)?;
        }
        let echo = build_child(&dir, "echo")?;
        let spew = build_child(&dir, "spew")?;
        let pong = build_staying(&dir, "pong", PONG_SOURCE)?;
        let answer = build_staying(&dir, "answer", ANSWER_SOURCE)?;
        let baseline = match compiler_version() {
            Some(version) if !options.no_cc => Some((build_baseline(&dir)?, version)),
            _ => None,
        };
        Ok(Self { echo, spew, pong, answer, baseline })
    }
}

/// Builds a program without any library: see `tests/probe-static/sys.rs`.
fn build_child(dir: &Path, name: &str) -> Result<PathBuf> {
    let res = dir.join(name);
    // The compiler that cargo would take; a benchmark that was not started by cargo looks in PATH.
    let mut rustc = program(env::var_os("RUSTC").as_deref().unwrap_or(OsStr::new("rustc")));
    rustc
        .args(["--edition=2024", "-O", "-C", "panic=abort", "-C", "relocation-model=static"])
        .args(["-C", "link-arg=-nostartfiles", "-C", "link-arg=-nostdlib"])
        .args(["-C", "link-arg=-static", "-C", "strip=symbols", "-o"])
        .arg(&res)
        .arg(dir.join(name).with_extension("rs"));
    finish(rustc)?;
    Ok(res)
}

fn build_staying(dir: &Path, name: &str, source: &str) -> Result<PathBuf> {
    let res = dir.join(name);
    let file = res.with_extension("rs");
    fs::write(&file, source)?;
    let mut rustc = program(env::var_os("RUSTC").as_deref().unwrap_or(OsStr::new("rustc")));
    rustc.args(["--edition=2024", "-O", "-o"]).arg(&res).arg(file);
    finish(rustc)?;
    Ok(res)
}

fn build_baseline(dir: &Path) -> Result<PathBuf> {
    let source = dir.join("baseline.c");
    fs::write(&source, BASELINE_SOURCE)?;
    let res = dir.join("baseline");
    let mut cc = program(OsStr::new("cc"));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-O2", "-pthread", "-o"]).arg(&res).arg(source);
    finish(cc)?;
    Ok(res)
}

/// The first line of `cc --version`, if there is a `cc`.
fn compiler_version() -> Option<String> {
    let output = program(OsStr::new("cc")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().filter(|_| output.status.success()).map(str::to_owned)
}

fn finish(mut command: Command) -> Result {
    let output = command.output().map_err(|err| format!("failed to start {command:?}: {err}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// A command for `name`.
#[expect(
    clippy::disallowed_methods,
    reason = "what is compared with an `ExecEnv` cannot be run by it"
)]
pub(crate) fn program(name: &OsStr) -> Command {
    Command::new(name)
}

/// A file's size and SHA-256, for people.
pub(crate) fn identity(file: &Path) -> Result<String> {
    let bytes = fs::read(file)?;
    let digest: String = Sha256::digest(&bytes).iter().map(|it| format!("{it:02x}")).collect();
    Ok(format!("{} bytes, SHA-256 {digest}", bytes.len()))
}
