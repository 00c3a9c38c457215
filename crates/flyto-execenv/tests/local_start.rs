//! Starting programs on this machine: what is found, what is refused and why, what they get.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{error::Error, ffi::OsString, fs, os::unix::ffi::OsStringExt, path::Path};

use expect_test::expect;
#[cfg(target_os = "linux")]
use flyto_execenv::{ExecErrorKind, WordsTooLong};
use flyto_execenv::{KillScope, Spec};
use proptest::{collection, prelude::*};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use support::{env, sh, text, write_executable};
use tempfile::TempDir;
use tokio::task::JoinSet;

const SCRIPT: &str = "#!/bin/sh\necho \"ran $0\"\n";

fn directory() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    for name in ["good", "plain", "twice", "directory"] {
        fs::create_dir(path(name)).expect("a directory");
    }
    write_executable(&path("good/tool"), SCRIPT);
    fs::write(path("plain/tool"), SCRIPT).expect("a file");
    fs::write(path("plain/only-plain"), SCRIPT).expect("a file");
    write_executable(&path("no-interpreter"), "#!/no/such/interpreter -x\n");
    write_executable(&path("crlf"), "#!/bin/sh\r\necho hi\r\n");
    write_executable(&path("plain-interpreter"), format!("#!{}\n", path("plain/tool").display()));
    write_executable(&path("no-format"), "neither a program nor a script\n");
    write_executable(&path("empty"), "");
    // What a program built for another machine, or without its loader, looks like.
    write_executable(&path("cut-off"), b"\x7fELF\x02\x01\x01");
    mknodat(CWD, path("fifo"), FileType::Fifo, Mode::from_raw_mode(0o755), 0).expect("a pipe");
    // Its name stays when it is closed.
    std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
    std::os::unix::fs::symlink("loop", path("loop")).expect("a link");
    dir
}

/// Kind and message, with its causes, of a start that is refused; the directory shows as `DIR`.
async fn refusal(dir: &TempDir, spec: Spec) -> String {
    let err = env().run(spec).await.expect_err("it cannot start");
    assert!(!err.did_start(), "{err}");
    let mut line = format!("{:?}: {err}", err.kind());
    let mut cause = err.source();
    while let Some(err) = cause {
        line.push_str(&format!(": {err}"));
        cause = err.source();
    }
    line.replace(&dir.path().display().to_string(), "DIR") + "\n"
}

#[tokio::test]
async fn each_reason_not_to_start_has_its_kind() {
    let dir = &directory();
    let full = |name: &str| dir.path().join(name).display().to_string();
    let at = |name: &str| Spec::new(full(name));
    let named =
        |name: &str, path: &str| Spec::new(name).working_dir(dir.path()).env_var("PATH", path);
    let specs = [
        at("nothing"),
        named("./nothing", ""),
        named("cat", &full("good")),
        Spec::new("cat"),
        at("loop"),
        at("good/tool/below"),
        named("directory", "."),
        at("plain/tool"),
        named("only-plain", "plain:good"),
        at("no-format"),
        at("empty"),
        at("directory"),
        at("fifo"),
        at("socket"),
        Spec::new("/dev/null"),
        named("fifo", "."),
        at("no-interpreter"),
        at("plain-interpreter"),
        at("crlf"),
        at("cut-off"),
        at("good/tool").working_dir(full("nothing")),
        at("good/tool").working_dir(full("plain/tool")),
        // One argument may be 128 KiB long on Linux (execve(2)).
        at("good/tool").arg("x".repeat(1 << 18)),
    ];
    let mut refusals = String::new();
    for spec in specs {
        refusals.push_str(&refusal(dir, spec).await);
    }
    expect![[r#"
        ProgramNotFound: failed to start "DIR/nothing": looked for DIR/nothing: No such file or directory (os error 2)
        ProgramNotFound: failed to start "./nothing": looked for DIR/./nothing: No such file or directory (os error 2)
        ProgramNotFound: failed to start "cat": no such program in PATH=DIR/good
        ProgramNotFound: failed to start "cat": it is a bare name, and the program's environment has no PATH
        ProgramNotFound: failed to start "DIR/loop": looked for DIR/loop: Too many levels of symbolic links (os error 40)
        ProgramNotFound: failed to start "DIR/good/tool/below": looked for DIR/good/tool/below: Not a directory (os error 20)
        ProgramNotFound: failed to start "directory": no such program in PATH=.
        NotExecutable: failed to start "DIR/plain/tool": DIR/plain/tool lacks the right to execute: Permission denied (os error 13)
        NotExecutable: failed to start "only-plain": DIR/plain/only-plain is not executable
        NotExecutable: failed to start "DIR/no-format": DIR/no-format is no program and has no `#!` line: Exec format error (os error 8)
        NotExecutable: failed to start "DIR/empty": DIR/empty is no program and has no `#!` line: Exec format error (os error 8)
        IsDirectory: failed to start "DIR/directory": DIR/directory is a directory
        NotExecutable: failed to start "DIR/fifo": DIR/fifo is a named pipe; write the path of an executable file
        NotExecutable: failed to start "DIR/socket": DIR/socket is a socket; write the path of an executable file
        NotExecutable: failed to start "/dev/null": /dev/null is a device; write the path of an executable file
        ProgramNotFound: failed to start "fifo": no such program in PATH=.
        BadInterpreter: failed to start "DIR/no-interpreter": the first line of DIR/no-interpreter names the interpreter /no/such/interpreter: No such file or directory (os error 2)
        BadInterpreter: failed to start "DIR/plain-interpreter": the first line of DIR/plain-interpreter names the interpreter DIR/plain/tool: Permission denied (os error 13)
        BadInterpreter: failed to start "DIR/crlf": the first line of DIR/crlf ends in CR LF; save it with LF: No such file or directory (os error 2)
        BadInterpreter: failed to start "DIR/cut-off": DIR/cut-off was built for another machine, or its loader is missing: Exec format error (os error 8)
        BadWorkingDir: failed to start "DIR/good/tool": its working directory is DIR/nothing: No such file or directory (os error 2)
        BadWorkingDir: failed to start "DIR/good/tool": its working directory is DIR/plain/tool: Not a directory (os error 20)
        TooLong: failed to start "DIR/good/tool": argument 1 has 262144 bytes, and 131071 are the most; hand it over in a file
    "#]].assert_eq(&refusals);
}

/// What is told before a start is what the kernel does, but for the few bytes that it adds.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_bound_of_all_words_is_that_of_the_system() {
    let env = env();
    let max_bytes = flyto_execenv::local::max_words_bytes().expect("Linux has one");
    let spec = |n_bytes: u64| {
        // A word of 1,000 bytes, NUL and pointer takes 1,009.
        let n_words = usize::try_from(n_bytes / 1009).expect("it is small");
        let half = |it: usize| (0..it).map(|_| "x".repeat(1000));
        let variables = (0..n_words / 2).map(|it| (format!("V{it:05}"), "x".repeat(993)));
        Spec::new("/bin/true").args(half(n_words - n_words / 2)).env(variables.collect())
    };
    let (under, over) = (spec(max_bytes - 4096), spec(max_bytes + 4096));
    env.preflight(under.clone()).await.expect("it fits");
    assert!(env.run(under).await.expect("it fits").success());
    let told = env.preflight(over.clone()).await.expect_err("it is too long");
    let found = env.run(over).await.expect_err("it is too long");
    assert_eq!((found.kind(), found.did_start()), (ExecErrorKind::TooLong, false));
    let why = WordsTooLong::of(&found).expect("it is told");
    assert!(matches!(why, WordsTooLong::Together { .. }), "{why}");
    assert_eq!(WordsTooLong::of(&told), Some(why));
}

#[tokio::test]
async fn the_path_of_the_spec_decides() {
    let dir = directory();
    let check = async |path: &str, expected: &str| {
        let spec = Spec::new("tool").working_dir(dir.path()).env_var("PATH", path);
        let outcome = env().run(spec).await.expect("it is found");
        assert_eq!(text(&outcome), format!("ran {}\n", dir.path().join(expected).display()));
    };
    write_executable(&dir.path().join("twice/tool"), SCRIPT);
    check("good", "good/tool").await;
    check("nothing:good:twice", "good/tool").await;
    check("twice:good", "twice/tool").await;
    // An earlier hit that may not be executed is passed over, as execvp(3) does.
    check("plain:good", "good/tool").await;
    check(&format!("/no/such:{}", dir.path().join("good").display()), "good/tool").await;
    // An empty entry is the working directory.
    write_executable(&dir.path().join("tool"), SCRIPT);
    check("good:", "good/tool").await;
    check(":good", "tool").await;
}

#[tokio::test]
async fn the_environment_is_the_specs_to_the_byte() {
    let odd = || OsString::from_vec(vec![b'x', 0xff, b'\n', b'=']);
    let spec = Spec::new("/usr/bin/env").arg("-0").env_var("B", "2").env_var("A", odd());
    let outcome = env().run(spec).await.expect("env(1) is there");
    assert_eq!(&*outcome.stdout.bytes(), b"A=x\xff\n=\0B=2\0");
    let none = env().run(Spec::new("/usr/bin/env")).await.expect("env(1) is there");
    assert_eq!(&*none.stdout.bytes(), b"");
}

#[tokio::test]
async fn a_program_sees_the_name_that_the_spec_gives_it() {
    let shell = Spec::new("sh").args(["-c", "tr '\\0' '\\n' </proc/$$/cmdline"]);
    let outcome = env().run(shell.env_var("PATH", "/usr/bin:/bin")).await.expect("it runs");
    assert_eq!(text(&outcome).lines().next(), Some("sh"));
}

#[tokio::test]
async fn the_leader_has_a_group_of_its_own_where_the_group_is_ended() {
    let group = async |scope| {
        let spec = sh("cut -d' ' -f5 /proc/$$/stat; echo $$").kill(scope);
        let printed = text(&env().run(spec).await.expect("it runs"));
        let (group, leader) = printed.split_once('\n').expect("two lines");
        (group.to_owned(), leader.trim_end().to_owned())
    };
    let (own, leader) = group(KillScope::Group).await;
    assert_eq!(own, leader);
    let (shared, leader) = group(KillScope::Leader).await;
    assert_ne!(shared, leader);
}

proptest! {
    // Each case is a process.
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn any_arguments_arrive_byte_for_byte(
        args in collection::vec(collection::vec(1u8.., 0..40), 1..8),
    ) {
        let words = args.iter().map(|it| OsString::from_vec(it.clone()));
        let spec = sh("printf '%s\\0' \"$@\"").arg("sh").args(words);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime.expect("a runtime").block_on(env().run(spec)).expect("it runs");
        let sent: Vec<u8> = args.iter().flat_map(|it| [it, &b"\0"[..]].concat()).collect();
        prop_assert_eq!(&*outcome.stdout.bytes(), sent);
    }
}

/// Files that are still open for writing in a child of another thread, between its fork and its exec,
/// cannot be executed for a moment: ETXTBSY of execve(2).
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn just_written_programs_start_while_others_start() {
    const PROGRAMS: usize = 200;
    let dir = tempfile::tempdir().expect("a directory");
    let mut calls = JoinSet::new();
    for n in 0..PROGRAMS {
        let path = dir.path().join(format!("tool-{n}"));
        calls.spawn(async move {
            write_executable(&path, format!("#!/bin/sh\necho {n}\n"));
            (n, env().run(Spec::new(&*path)).await)
        });
    }
    let mut n_started = 0;
    while let Some(joined) = calls.join_next().await {
        let (n, outcome) = joined.expect("no call panics");
        assert_eq!(text(&outcome.expect("it starts")), format!("{n}\n"));
        n_started += 1;
    }
    assert_eq!(n_started, PROGRAMS);
}

#[tokio::test]
async fn descriptors_without_close_on_exec_stay_here() {
    use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
    let file = fs::File::open(Path::new("/dev/null")).expect("it is always there");
    fcntl_setfd(&file, FdFlags::empty()).expect("the file is open");
    // `Local::new` marks what is open at that time.
    let list = "for fd in /proc/self/fd/*; do [ -e $fd ] && echo ${fd##*/}; done";
    let outcome = env().run(sh(list)).await.expect("it runs");
    assert_eq!(text(&outcome), "0\n1\n2\n");
    assert_eq!(fcntl_getfd(&file).expect("the file is open"), FdFlags::CLOEXEC);
}
