//! A home, a current directory and an environment of its own for each test, and the program in it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use expect_test::Expect;

use crate::signals;

/// Where one test lives.
#[derive(Debug)]
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// A place without tools and without a configuration.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    /// A place with one plugin `p`, whose tools are given as name, shell script and further members
    /// of the declaration.
    pub(crate) fn with_tools(tools: &[(&str, &str, &str)]) -> Self {
        let res = Self::new();
        res.plugin("p", tools);
        res
    }

    /// Adds a plugin to the directory `plugins`.
    pub(crate) fn plugin(&self, name: &str, tools: &[(&str, &str, &str)]) {
        let tools: Vec<String> = tools
            .iter()
            .map(|(tool, script, more)| {
                self.write(&format!("plugins/{name}/{tool}.sh"), script);
                let comma = if more.is_empty() { "" } else { "," };
                format!(
                    r#"{{"name": "{tool}", "description": "The tool {tool}.", "command": "sh",
                        "args": ["{tool}.sh"]{comma} {more}}}"#
                )
            })
            .collect();
        let manifest = format!(r#"{{"name": "{name}", "tools": [{}]}}"#, tools.join(",\n"));
        self.write(&format!("plugins/{name}/plugin.json"), &manifest);
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// The program with these words, in this place.
    pub(crate) fn flyto(&self, words: &[&str]) -> Flyto<'_> {
        signals::stop_ignoring();
        #[expect(
            clippy::disallowed_methods,
            reason = "the program under test is started as a user does"
        )]
        let mut command = Command::new(env!("CARGO_BIN_EXE_flyto"));
        command
            .args(words)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path().join("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Flyto { place: self, command, stdin: None }
    }

    /// The same with the plugins of this place.
    pub(crate) fn call(&self, words: &[&str]) -> Flyto<'_> {
        self.flyto(&[&["--plugins", "plugins", "call"], words].concat())
    }
}

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Flyto<'a> {
    place: &'a Place,
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl Flyto<'_> {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = Some(bytes.to_vec());
        self.command.stdin(Stdio::piped());
        self
    }

    pub(crate) fn command(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    /// Lets a shell start it: `"$@"` in the script stands for the program and its words.
    pub(crate) fn started_by(mut self, script: &str) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a shell sets up what a process inherits from its parent"
        )]
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "sh"]).arg(self.command.get_program());
        shell.args(self.command.get_args()).current_dir(self.place.path()).env_clear();
        for (name, value) in self.command.get_envs() {
            shell.envs(value.map(|it| (name, it)));
        }
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command = shell;
        self
    }

    pub(crate) fn start(mut self) -> Child {
        self.command.spawn().unwrap()
    }

    pub(crate) fn run(mut self) -> Ran {
        let mut child = self.command.spawn().unwrap();
        if let Some(bytes) = self.stdin {
            // A program that is done before it has read everything is no fault of this test.
            let _ = child.stdin.take().unwrap().write_all(&bytes);
        }
        Ran::new(child.wait_with_output().unwrap(), self.place)
    }

    /// Runs it and compares the exit code, stdout and stderr.
    #[track_caller]
    pub(crate) fn check(self, expect: Expect) {
        expect.assert_eq(&self.run().shown());
    }
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    dir: String,
}

impl Ran {
    pub(crate) fn new(output: Output, place: &Place) -> Self {
        let Output { status, stdout, stderr } = output;
        let dir = place.path().to_str().unwrap().to_owned();
        Self { code: status.code(), stdout, stderr, dir }
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.stderr.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    pub(crate) fn json_error(&self) -> serde_json::Value {
        assert_eq!(self.stdout(), "");
        serde_json::from_slice(&self.stderr).unwrap()
    }

    /// Exit code, stdout and stderr, with the test's own directory and all measures taken out.
    pub(crate) fn shown(&self) -> String {
        let part = |name: &str, text: String| match text.as_str() {
            "" => String::new(),
            text => format!("-- {name}\n{text}{}", if text.ends_with('\n') { "" } else { "⏎\n" }),
        };
        let text = format!(
            "exit code {}\n{}{}",
            self.code.map_or("none".to_owned(), |it| it.to_string()),
            part("stdout", self.stdout()),
            part("stderr", self.stderr())
        );
        let text = text.replace(env!("CARGO_BIN_EXE_flyto"), "FLYTO");
        without_measures(&text.replace(&self.dir, "DIR"))
    }
}

/// Replaces numbers before a unit of time or size, which differ from run to run.
fn without_measures(text: &str) -> String {
    let mut res = String::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("took ") {
            res.push_str("took         MEASURED\n");
        } else {
            res.push_str(line);
        }
    }
    res
}
