//! Compares what rules for files allow with what bash reads: a few hundred lines each time, and as many as are wanted on
//! demand, `LINES_TO_TRY=20000 SEED=7 cargo test -p flyto-permission --test reads_against_bash -- --nocapture`. Without
//! `/bin/bash` and `timeout` it says so and tries nothing.
//!
//! Lines are put together from commands that read files, changes of directory, loops and words with braces, wildcards,
//! variables and substitutions. Bash runs each in a directory with files that rules deny. A line that was allowed must not
//! print what is in them.

#![cfg(all(unix, feature = "bash"))]

use std::{fs, os::unix::fs::symlink, path::Path, process::Stdio};

use flyto_permission::{Layer, Place, Request, Rules, Verdict};
use flyto_tools::{PermissionClass, Preview, ToolId};

/// Parts of words. `W` is a further word, so that words nest.
const PARTS: &[&str] = &[
    "secrets",
    "secrets",
    "/",
    "/",
    "/",
    "key",
    "key",
    "sub",
    "src",
    "a",
    "a",
    "b",
    "l",
    "d",
    ".env",
    ".env",
    ".e",
    "nv",
    "s",
    "crets",
    "k",
    "..",
    "../",
    "./",
    ".",
    "*",
    "?",
    "s*",
    ".e*",
    "k?y",
    "[ks]*",
    "{secrets,src}",
    "{,}",
    "{a,b}",
    "{a,",
    "}",
    "{s..t}",
    "{1..3}",
    "$x",
    "$x",
    "$d",
    "$d",
    "${x}",
    "${d}",
    "\"$x\"",
    "\"$d\"",
    "$HOME",
    "${HOME}",
    "$PWD",
    "\"$PWD\"",
    "~",
    "~/",
    "~+/",
    "$OLDPWD",
    "$_",
    "${PWD%/*}",
    "${x:-secrets}",
    "${y:=key}",
    "$y",
    "$#",
    "$?",
    "$1",
    "$@",
    "`echo v`",
    "$(echo secrets)",
    "$(echo W)",
    "$(cat W)",
    "'.env'",
    "'s'",
    "\\k",
    "\"key\"",
    "$'\\x6b'",
    "project",
    "list",
    "<(cat W)",
    "=",
    ",",
    ":",
    "-",
];

/// Words that name a file more often than parts put together at random.
const WORDS: &[&str] = &[
    "W/key",
    "W/W",
    "secrets/W",
    ".eW",
    "sW",
    "../W",
    "$HOME/W",
    "\"$PWD\"/W",
    "{W,W}",
    "{W,W}/key",
    "$d/key",
    "$d",
    "$x",
    "\"$d\"",
    "a",
    "b",
    "l",
    "sub/l",
    "d/key",
    "sub",
    "*",
    "s*/k*",
    "src/a",
    "secrets/key",
    ".env",
    "W",
    "W",
    "W",
    "a=W",
    "W,W",
    "~/W",
];

/// Commands. `W` is a word, `C` a further command.
const COMMANDS: &[&str] = &[
    "cat W",
    "cat W",
    "cat W",
    "cat W",
    "cat W W",
    "cat -- W",
    "cat -n W",
    "head W",
    "cat < W",
    "cd W",
    "cd W",
    "cd src",
    "cd secrets",
    "cd ..",
    "cd",
    "cd -",
    "pushd W",
    "pushd sub",
    "popd",
    "pushd",
    "C; C",
    "C; C",
    "C; C",
    "C && C",
    "C || C",
    "C & C",
    "C\nC",
    "(C)",
    "(C; C)",
    "{ C; C; }",
    "C | cat",
    "C | C",
    "for d in W; do C; done",
    "for d in W W; do C; done",
    "for x in W; do for d in $x W; do C; done; done",
    "for d in a b; do C; C; done",
    "for d; do C; done",
    "while read x; do C; done < list",
    "x=W; C",
    "d=W; C",
    "y=W",
    "x=W C",
    "export x=W; C",
    "read x < W; C",
    "if C; then C; else C; fi",
    "case W in *) C;; esac",
    "f() { C; }; f W",
    "f() { cat \"$1\"; }; f W",
    "f() { cd W; }; f; C",
    "set -- W; C",
    "sh -c 'cat a; cat b'",
    "sh -c 'cd sub; cat l'",
    "bash -c \"C\"",
    "eval \"C\"",
    "eval C",
    "env -C W cat W",
    "env cat W",
    "env x=W cat W",
    "echo W | xargs cat",
    "echo W | xargs -I{} cat {}",
    "ls W | xargs cat",
    "find W -exec cat {} +",
    "find sub -name 'l' -exec cat {} \\;",
    "echo W",
    "echo \"$(C)\"",
    "cat $(C)",
    "cat <<E\n$(C)\nE\n",
    "cat <<< \"$(C)\"",
    "[[ -f W ]] && C",
    "test -f W && C",
    "[ -f W ] && C",
    "until C; do break; done",
    "trap 'C' EXIT",
    "printf -v x %s W; C",
    "unset x; C",
    "time C",
    "! C",
    "command cat W",
    "local x=W",
    "shift; C",
    "select x in W; do C; break; done",
    "while true; do cd W; C; break; done",
    "for d in W; do cd $d; C; done",
    "cat $(< W)",
    "coproc C",
    "mapfile -t x < W; C",
    "PWD=W; C",
    "HOME=W; C",
    "CDPATH=W; C",
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

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Fills the holes of a text: `C` with commands, then `W` with words. What is deep gets the plainest.
fn line(numbers: &mut Numbers) -> String {
    let mut res = "C".to_owned();
    let mut n_left = 1 + numbers.below(4);
    while let Some(at) = res.find('C').filter(|at| !res[*at..].starts_with("CDPATH")) {
        let text = if n_left == 0 { "cat W" } else { numbers.of(COMMANDS) };
        n_left = n_left.saturating_sub(1);
        res.replace_range(at..=at, text);
    }
    let mut n_left = 8;
    while let Some(at) = hole(&res) {
        let text = match (n_left, numbers.below(3)) {
            (0, _) => numbers.of(&["key", "a", "secrets", ".env", "$d", "$x", "s*"]).to_owned(),
            (_, 0) => (0..=numbers.below(3)).map(|_| numbers.of(PARTS)).collect(),
            _ => numbers.of(WORDS).to_owned(),
        };
        n_left = usize::saturating_sub(n_left, 1);
        res.replace_range(at..=at, &text);
    }
    res
}

/// A `W` that is no part of `PWD` and its like.
fn hole(text: &str) -> Option<usize> {
    let is_name = |it: u8| it.is_ascii_uppercase();
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|at| {
        let beside = [at.checked_sub(1), Some(at + 1)];
        let is_alone =
            beside.into_iter().flatten().all(|it| !bytes.get(it).is_some_and(|it| is_name(*it)));
        bytes[*at] == b'W' && is_alone
    })
}

/// Directories with files that are denied and hold `secret`, links to them and others.
fn fill(base: &Path, secret: &str) {
    for dir in ["project/secrets", "project/sub", "project/src", "project/a=b", "home/secrets"] {
        fs::create_dir_all(base.join(dir)).expect("the directory is ours");
    }
    for file in ["project/secrets/key", "project/.env", "project/sub/.env", "home/.env"] {
        fs::write(base.join(file), secret).expect("the directory is ours");
    }
    for file in
        ["project/a", "project/b", "project/src/a", "project/sub/a", "home/a", "project/key"]
    {
        fs::write(base.join(file), "secrets/key\n.env\n").expect("the directory is ours");
    }
    fs::write(base.join("project/list"), "secrets/key\n.env\nl\n").expect("the directory is ours");
    for (to, from) in [
        ("secrets/key", "project/l"),
        ("secrets", "project/d"),
        ("../.env", "project/sub/l"),
        ("../secrets", "project/src/d"),
        ("../project", "home/project"),
    ] {
        symlink(to, base.join(from)).expect("the directory is ours");
    }
}

/// What bash prints, within bounds of time, memory and processes.
#[expect(clippy::disallowed_methods, reason = "bash is the measure here")]
fn printed(line: &str, base: &Path) -> String {
    const BOUNDED: &str = "ulimit -t 2; ulimit -f 64; ulimit -v 400000; PATH=/usr/bin:/bin; unset OLDPWD\n\
         exec 2>&1; eval \"$LINE\"\n";
    let output = std::process::Command::new("timeout")
        .args(["-k", "1", "5", "/bin/bash", "--norc", "--noprofile", "-c", BOUNDED])
        .env_clear()
        .env("LINE", line)
        .env("HOME", base.join("home"))
        .current_dir(base.join("project"))
        .stdin(Stdio::null())
        .output()
        .expect("timeout is installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn bash_reads_no_denied_file_in_a_line_that_is_allowed() {
    if !Path::new("/bin/bash").exists() || !Path::new("/usr/bin/timeout").exists() {
        println!("skipped: there is no /bin/bash or no timeout");
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let n_lines = number("LINES_TO_TRY").unwrap_or(200);
    let mut numbers = Numbers(number("SEED").unwrap_or(0x9e37_79b9_7f4a_7c15));
    let dir = tempfile::tempdir().expect("there is a place for files");
    // Deep enough for `../..` to stay in it; a text that stands in no other file.
    let base = &dir.path().join("1/2/3/4/5/6");
    let secret = dir.path().to_string_lossy().replace('/', "-");
    fill(base, &secret);
    let mut rules = Rules::builder();
    for name in [
        "cat", "head", "cd", "pushd", "popd", "echo", "env", "xargs", "ls", "find", "export",
        "read", "test", "[", "set", "shift", "printf", "unset", "eval", "bash", "sh", "f", "true",
        "break", "local", "command", "x=a", "mapfile", "PWD=W", "trap",
    ] {
        let text = format!("Bash({name}:*)");
        rules.add(Layer::Operator, Verdict::Allow, &text, Place::default()).expect("a rule");
    }
    for text in ["Read(secrets/**)", "Read(.env)"] {
        rules.add(Layer::Operator, Verdict::Deny, text, Place::default()).expect("a rule");
    }
    let rules = rules.build();
    let id = ToolId::parse("shell:run").expect("this is a name");
    let (mut n_allowed, mut n_reading) = (0, 0);
    for i in 0..n_lines {
        let line = line(&mut numbers);
        let preview = Preview::new().with_command_line(["bash", "-c", &line]);
        let (project, home) = (base.join("project"), base.join("home"));
        let request = Request::new(&id)
            .class(&PermissionClass::BASH)
            .preview(Some(&preview))
            .home(&home)
            .working_dir(&project);
        let decision = rules.decide(&request);
        let reads = printed(&line, base).contains(&secret);
        n_reading += usize::from(reads);
        if decision.verdict == Verdict::Allow {
            n_allowed += 1;
            assert!(!reads, "line {i} was allowed and read a denied file: {line:?}");
        }
    }
    println!(
        "{n_lines} lines, {n_allowed} allowed, {n_reading} read a denied file, none of them allowed"
    );
    assert!(n_allowed > 0 && n_reading > 0);
}
