//! Pinned programs of the local backend: which bytes run, and what is refused.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{
    fs::{self, File, Permissions},
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

use expect_test::{Expect, expect};
use flyto_execenv::{
    Ending, ExecEnv, ExecErrorKind, Executor, Exit, Program, Sha256, Spec, local::Local,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use support::{env, has_executable_memory, pinned, text, tiny_elf, write_executable};

const SCRIPT: &str = "#!/bin/sh\necho \"ran $*\"\n";

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

async fn run(env: &ExecEnv, spec: Spec) -> String {
    let outcome = env.run(spec).await.expect("it starts");
    assert!(outcome.success(), "{outcome:?}");
    text(&outcome)
}

/// Expects that `spec` is refused, with this chain of causes, in which `dir` reads `DIR`.
async fn check_refusal(env: &ExecEnv, spec: Spec, kind: ExecErrorKind, dir: &Path, why: Expect) {
    let err = env.run(spec).await.expect_err("it is refused");
    assert_eq!((err.kind(), err.did_start()), (kind, false), "{err}");
    let mut text = err.to_string();
    let mut source = std::error::Error::source(&err);
    while let Some(err) = source {
        text.push_str(&format!(": {err}"));
        source = err.source();
    }
    why.assert_eq(&text.replace(&*dir.to_string_lossy(), "DIR"));
}

#[tokio::test]
async fn a_script_runs_and_sees_its_copy() {
    let dir = dir();
    let (tool, env) = (dir.path().join("a tool.sh"), env());
    write_executable(&tool, SCRIPT);
    for _ in 0..3 {
        assert_eq!(run(&env, pinned(&tool, SCRIPT).args(["a", "b c"])).await, "ran a b c\n");
    }
    // The copy has the name of the original and is elsewhere; no other user may read it.
    let script = "#!/bin/sh\nstat -c '%a %n' \"$0\" \"${0%/*}\"\n";
    write_executable(&tool, script);
    let seen = run(&env, pinned(&tool, script)).await;
    let lines: Vec<_> = seen.lines().collect();
    let [file, parent] = lines[..] else { panic!("{seen}") };
    assert!(file.starts_with("500 /") && file.ends_with("/a tool.sh"), "{seen}");
    assert!(parent.starts_with("700 /"), "{seen}");
    assert!(!seen.contains(&*dir.path().to_string_lossy()), "{seen}");
}

#[tokio::test]
async fn programs_run_with_the_name_that_the_caller_gave() {
    let dir = dir();
    let (shell, env) = (fs::read("/bin/sh").expect("a shell"), env());
    let copy = dir.path().join("my-shell");
    write_executable(&copy, &shell);
    let spec = pinned("./my-shell", &shell).working_dir(dir.path()).args(["-c", "echo $0 $$"]);
    let printed = run(&env, spec).await;
    assert!(printed.starts_with("./my-shell "), "{printed}");
    // A pinned program has no descriptor that any other program would not have.
    for _ in 0..2 {
        let list =
            pinned(&copy, &shell).args(["-c", "for it in /proc/self/fd/*; do echo $it; done"]);
        let open = run(&env, list).await;
        assert!(open.lines().count() <= 4, "{open}");
        let unpinned =
            Spec::new(&copy).args(["-c", "for it in /proc/self/fd/*; do echo $it; done"]);
        assert_eq!(open, run(&env, unpinned).await);
    }
}

#[tokio::test]
async fn no_process_can_write_to_a_program_that_runs() {
    let (shell, env) = (fs::read("/bin/sh").expect("a shell"), env());
    // The program itself tries, by the path under which it was started and by its own image.
    let script = "ls -l /proc/$$/exe; (: >>/proc/$$/exe) 2>/dev/null && echo written; exit 0";
    let printed = run(&env, pinned("/bin/sh", &shell).args(["-c", script])).await;
    // From memory where that can be executed, and else from a file of ours, which is busy.
    assert_eq!(printed.contains("/memfd:sh"), has_executable_memory(), "{printed}");
    assert!(!printed.contains("written"), "{printed}");
}

#[tokio::test]
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    ignore = "nobody has written such a program for this machine"
)]
async fn a_program_without_libraries_runs() {
    let elf = tiny_elf().expect("there is one for these machines");
    let dir = dir();
    let (tool, env) = (dir.path().join("tiny"), env());
    write_executable(&tool, &elf);
    for _ in 0..2 {
        let outcome = env.run(pinned(&tool, &elf)).await.expect("it starts");
        assert_eq!(outcome.ending, Ending::Exited(Exit::Code(42)));
    }
    // Other bytes behind it are other bytes.
    fs::write(&tool, [&elf[..], b"x"].concat()).expect("ours");
    let err = env.run(pinned(&tool, &elf)).await.expect_err("it is another program");
    assert_eq!(err.kind(), ExecErrorKind::DigestMismatch);
}

#[tokio::test]
async fn a_pinned_program_is_found_as_any_other() {
    let dir = dir();
    let env = env();
    let sub = dir.path().join("sub");
    fs::create_dir(&sub).expect("ours");
    write_executable(&sub.join("tool"), SCRIPT);
    symlink("sub/tool", dir.path().join("link")).expect("ours");
    let at = |path: &str| pinned(path, SCRIPT).working_dir(dir.path());
    for path in ["sub/tool", "./sub/../sub/tool", "./link"] {
        assert_eq!(run(&env, at(path)).await, "ran \n", "{path}");
    }
    // A name is looked up in the spec's PATH, and what is found there must have the digest.
    let path = format!("{}:/usr/bin:/bin", sub.display());
    assert_eq!(run(&env, at("tool").env_var("PATH", path)).await, "ran \n");
    let err = env.run(at("sh")).await.expect_err("it is another program");
    assert_eq!(err.kind(), ExecErrorKind::DigestMismatch);
    let err = env.run(at("tool")).await.expect_err("it is not on the PATH");
    assert_eq!(err.kind(), ExecErrorKind::ProgramNotFound);
}

#[tokio::test]
async fn a_mismatch_names_both_digests_and_how_to_see_the_right_one() {
    let dir = dir();
    let (path, env) = (dir.path().join("it's a tool"), env());
    write_executable(&path, "#!/bin/sh\necho other\n");
    let why = expect![[
        r#"failed to start "DIR/it's a tool": its SHA-256 is 7994c7881558bd72c4dfe4fedb9780b955f67b98a0fd675629e1da888bc0d783 where 987d996801f1055deb4cfa4e8c146f81e311937cab6fdd96d914a30b36b12e64 is demanded; `sha256sum 'DIR/it'\''s a tool'` prints the one it has"#
    ]];
    check_refusal(&env, pinned(&path, SCRIPT), ExecErrorKind::DigestMismatch, dir.path(), why)
        .await;
    // The same file, and another digest that it does not have.
    let spec = Spec::new(Program::Pinned { path, sha256: Sha256([0xab; 32]) });
    let why = expect![[
        r#"failed to start "DIR/it's a tool": its SHA-256 is 7994c7881558bd72c4dfe4fedb9780b955f67b98a0fd675629e1da888bc0d783 where abababababababababababababababababababababababababababababababab is demanded; `sha256sum 'DIR/it'\''s a tool'` prints the one it has"#
    ]];
    check_refusal(&env, spec, ExecErrorKind::DigestMismatch, dir.path(), why).await;
}

#[tokio::test]
async fn what_is_no_program_is_refused_as_what_it_is() {
    use ExecErrorKind as K;
    let dir = dir();
    let env = env();
    let at = |path: &str| pinned(path, SCRIPT).working_dir(dir.path());
    fs::write(dir.path().join("plain"), SCRIPT).expect("ours");
    write_executable(&dir.path().join("lost"), "#!/no/such/interpreter\n");
    symlink("nowhere", dir.path().join("dangling")).expect("ours");
    let fifo = dir.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o755), 0).expect("ours");
    let _socket = UnixListener::bind(dir.path().join("socket")).expect("ours");
    let large = File::create(dir.path().join("large")).expect("ours");
    large.set_len((1 << 30) + 1).expect("it takes no room");
    large.set_permissions(Permissions::from_mode(0o755)).expect("ours");

    let lost = pinned("./lost", "#!/no/such/interpreter\n").working_dir(dir.path());
    let shell = fs::read("/bin/sh").expect("a shell");
    let nowhere = pinned("/bin/sh", shell).working_dir("/no/such/directory");
    for (spec, kind, why) in [
        (
            at("./none"),
            K::ProgramNotFound,
            expect![[
                r#"failed to start "./none": looked for DIR/./none: No such file or directory (os error 2)"#
            ]],
        ),
        (
            at("./dangling"),
            K::ProgramNotFound,
            expect![[
                r#"failed to start "./dangling": looked for DIR/./dangling: No such file or directory (os error 2)"#
            ]],
        ),
        (at("./"), K::IsDirectory, expect![[r#"failed to start "./": DIR/./ is a directory"#]]),
        (
            at("./plain"),
            K::NotExecutable,
            expect![[
                r#"failed to start "./plain": DIR/./plain lacks the right to execute: Permission denied (os error 13)"#
            ]],
        ),
        (
            at("./fifo"),
            K::NotExecutable,
            expect![[
                r#"failed to start "./fifo": DIR/./fifo is a named pipe; write the path of an executable file"#
            ]],
        ),
        (
            at("./socket"),
            K::NotExecutable,
            expect![[
                r#"failed to start "./socket": DIR/./socket is a socket; write the path of an executable file"#
            ]],
        ),
        (
            at("/dev/null"),
            K::NotExecutable,
            expect![[
                r#"failed to start "/dev/null": /dev/null is a device; write the path of an executable file"#
            ]],
        ),
        (
            at("./large"),
            K::Unsupported,
            expect![[
                r#"failed to start "./large": DIR/./large has more than 1073741824 bytes, the most that a pinned program may have"#
            ]],
        ),
        (
            lost,
            K::BadInterpreter,
            expect![[
                r#"failed to start "./lost": the first line of DIR/./lost names the interpreter /no/such/interpreter: No such file or directory (os error 2)"#
            ]],
        ),
        (
            nowhere,
            K::BadWorkingDir,
            expect![[
                r#"failed to start "/bin/sh": its working directory is /no/such/directory: No such file or directory (os error 2)"#
            ]],
        ),
    ] {
        check_refusal(&env, spec, kind, dir.path(), why).await;
    }
}

#[tokio::test]
async fn a_script_that_nothing_takes_is_refused_and_says_where_it_was_tried() {
    let dir = dir();
    let tool = dir.path().join("tool");
    write_executable(&tool, SCRIPT);
    let local = Local::new().pinned_dirs([std::path::PathBuf::from("/proc/none"), tool.clone()]);
    let env = ExecEnv::new(local.clone());
    let why = expect![[
        r#"failed to start "DIR/tool": there is no place for a private copy of it (/proc/none: No such file or directory (os error 2); DIR/tool: Not a directory (os error 20))"#
    ]];
    check_refusal(&env, pinned(&tool, SCRIPT), ExecErrorKind::Other, dir.path(), why).await;

    // The first place that does is taken.
    let places = ["/proc/none".as_ref(), dir.path(), "/tmp".as_ref()];
    let env = ExecEnv::new(local.pinned_dirs(places));
    let script = "#!/bin/sh\necho $0\n";
    write_executable(&tool, script);
    let printed = run(&env, pinned(&tool, script)).await;
    assert!(Path::new(&printed).starts_with(dir.path()), "{printed}");
}

#[test]
fn the_capability_is_declared() {
    assert!(Local::new().capabilities().has(flyto_execenv::Capability::PinnedProgram));
}
