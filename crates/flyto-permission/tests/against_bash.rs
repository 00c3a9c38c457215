//! Compares what the parser finds with what bash runs: a few hundred lines each time, and as many as
//! are wanted on demand, `LINES_TO_TRY=60000 SEED=7 cargo test -p flyto-permission --test against_bash --
//! --nocapture`. Without `/bin/bash` it says so and tries nothing.
//!
//! Lines are put together from pieces of shell grammar. Bash runs each without any program: it asks
//! its `command_not_found_handle` for every command, which writes the name down. A line that was
//! allowed must have run allowed names only.

#![cfg(feature = "bash")]

use std::{fs, path::Path, process::Stdio};

use flyto_permission::{Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};

/// No loop without an end is among them, and functions nest twice at most: nothing here may run on.
/// `A` and `B` stand for allowed commands, `X` for one that is not.
const PIECES: &[&str] = &[
    "A",
    "A",
    "A",
    "B",
    "B",
    "X",
    " ",
    " ",
    " ",
    " ",
    ";",
    ";",
    "\n",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "(",
    ")",
    "$(",
    ")",
    "`",
    "`",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "{ ",
    "; }",
    "if ",
    "; then ",
    "; fi",
    "else ",
    "; do ",
    "; done",
    "for i in a b",
    "case a in a) ",
    ";; ",
    "esac",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n",
    "<<<",
    ">/dev/null",
    "2>&1",
    "<(",
    ">(",
    "${v:-",
    "}",
    "${v}",
    "$v",
    "$'",
    "\\x41",
    "#",
    "!",
    "time ",
    "v=",
    "v=1 ",
    "eval ",
    "command ",
    "builtin ",
    "f() ",
    "f",
    "[[ ",
    " ]]",
    "==",
    "=",
    "$((",
    "))",
    "1",
    "{A,",
    "*",
    "~",
    "\\\n",
    "\t",
    "]",
    "[",
    "function f ",
    "$\"",
    "(",
    "((",
    "&>",
    ">",
    "<",
    "\u{a0}",
    "a=(",
    "${",
    "%",
    "-",
    "--",
    ",",
    "..",
    "@",
    "\\'",
    "\\\"",
    "$",
];

/// What an allowed line may run. `time` behind a pipe is a program, which runs its arguments.
const RUN: &[&str] = &["cmd_a", "cmd_b", "f", "time"];

/// Whole lines with a hole, into which a piece of a line is put.
const FRAMES: &[&str] = &[
    "A; {}",
    "A $({})",
    "A `{}`",
    "A \"$({})\"",
    "A \"`{}`\"",
    "if A; then {}; fi",
    "A <<E\n{}\nE\n",
    "A <<'E'\n{}\nE\n",
    "A <<E\n$({})\nE\nB",
    "A ${v:-{}}",
    "A '{}'",
    "A \"{}\"",
    "A $'{}'",
    "A # {}",
    "{ {}; }",
    "({})",
    "f() { {}; }; f",
    "case a in a) {};; esac",
    "for i in a {}; do A; done",
    "A <({})",
    "eval '{}'",
    "eval \"{}\"",
    "A {} B",
    "A | {}",
    "v={} A",
    "[[ {} ]]",
    "A $(B; {} # c\n)",
    "A $(case a in a) {};; esac)",
    "A \\\n{}",
    "{}",
    "{}",
    "{}",
];

/// A small generator of numbers: the same lines each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

fn line(numbers: &mut Numbers) -> String {
    let mut res = "{}".to_owned();
    for _ in 0..=numbers.below(3) {
        let frame = FRAMES[numbers.below(FRAMES.len())];
        res = res.replacen("{}", frame, 1);
    }
    let n_pieces = 1 + numbers.below(6);
    let piece: String = (0..n_pieces).map(|_| PIECES[numbers.below(PIECES.len())]).collect();
    let text = res.replacen("{}", &piece, 1);
    text.replace('A', "cmd_a").replace('B', "cmd_b").replace('X', "cmd_x")
}

/// Names of the commands that bash looked for.
#[expect(clippy::disallowed_methods, reason = "a bash without programs is the measure here")]
fn ran(line: &str, dir: &Path, status: u8) -> Vec<String> {
    let log = dir.join("log");
    fs::write(&log, "").expect("the directory is ours");
    let script = format!(
        "command_not_found_handle() {{ builtin printf '%s\\n' \"$1\" >> '{}'; return {status}; }}\n\
         FUNCNEST=2; ulimit -t 1; ulimit -f 64; PATH=/nonexistent\nbuiltin eval \"$LINE\"\n",
        log.display()
    );
    std::process::Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", &script])
        .env_clear()
        .env("LINE", line)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("bash is installed");
    let text = fs::read(&log).expect("the log was written before");
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

#[test]
fn bash_runs_no_command_that_was_not_found() {
    if !Path::new("/bin/bash").exists() {
        println!("skipped: there is no /bin/bash");
        return;
    }
    let dir = tempfile::tempdir().expect("there is a place for files");
    let n_lines: usize =
        std::env::var("LINES_TO_TRY").ok().and_then(|it| it.parse().ok()).unwrap_or(400);
    let seed =
        std::env::var("SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(0x9e37_79b9_7f4a_7c15);
    let mut rules = Rules::builder();
    for text in [
        "Bash(cmd_a:*)",
        "Bash(cmd_b:*)",
        "Bash(f:*)",
        "Bash(eval:*)",
        "Bash(command:*)",
        "Bash(builtin:*)",
        "Edit(/**)",
    ] {
        rules
            .add(Layer::Operator, Verdict::Allow, text, Place::default())
            .expect("these are rules");
    }
    let rules = rules.build();
    let id = ToolId::parse("shell:run").expect("this is a name");
    let mut numbers = Numbers(seed);
    let (mut n_allowed, mut n_run) = (0, 0);
    for i in 0..n_lines {
        let line = line(&mut numbers);
        let preview = Preview::new()
            .with_command_line(["bash", "-c", &line])
            .with_working_dir(dir.path().to_str().expect("the path is UTF-8"));
        let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
        if rules.decide(&request).verdict != Verdict::Allow {
            continue;
        }
        n_allowed += 1;
        for status in [0, 1] {
            let names = ran(&line, dir.path(), status);
            n_run += names.len();
            let odd: Vec<_> = names.iter().filter(|it| !RUN.contains(&it.as_str())).collect();
            assert!(odd.is_empty(), "line {i} was allowed and ran {odd:?}: {line:?}");
        }
    }
    println!("{n_lines} lines, {n_allowed} allowed, {n_run} commands run by bash, none unseen");
    assert!(n_allowed > 0 && n_run > 0);
}
