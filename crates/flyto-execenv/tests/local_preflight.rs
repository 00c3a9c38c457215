//! What is told of a start without starting anything: the same that the start itself would say.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{fs, os::unix::fs::symlink, path::Path};

use expect_test::{Expect, expect};
use flyto_execenv::{ExecError, ExecErrorKind, Program, Sha256, Spec};
use support::{GUARD, env, pinned, write_executable};

/// Leaves a file in the working directory, so that a start shows.
const SCRIPT: &str = "#!/bin/sh\n: >ran\n";

/// A directory with one program and with what is none.
fn dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("sub")).expect("ours");
    write_executable(&at("tool"), SCRIPT);
    fs::write(at("plain"), SCRIPT).expect("ours");
    write_executable(&at("lost"), "#!/no/such/interpreter\n");
    write_executable(&at("crlf"), "#!/bin/sh\r\n");
    symlink("tool", at("link")).expect("ours");
    symlink("nowhere", at("dangling")).expect("ours");
    dir
}

fn named(program: &str) -> Spec {
    Spec::new(program).env_var("PATH", "/usr/bin:/bin").deadline(GUARD)
}

fn chain(err: &ExecError, dir: &Path) -> String {
    let mut res = err.to_string();
    let mut source = std::error::Error::source(err);
    while let Some(err) = source {
        res.push_str(&format!(": {err}"));
        source = err.source();
    }
    res.replace(&*dir.to_string_lossy(), "DIR")
}

/// Expects that nothing is known against `spec`, that telling so starts nothing, and that it runs.
async fn check_good(spec: Spec, dir: &Path) {
    let (spec, env) = (spec.working_dir(dir), env());
    env.preflight(spec.clone()).await.expect("nothing is known against it");
    assert!(!dir.join("ran").exists(), "{spec:?} was started");
    assert!(env.run(spec).await.expect("it starts").success());
    fs::remove_file(dir.join("ran")).expect("it ran");
}

/// Expects this refusal of each in `dir`, and that a run is refused for a reason of the same kind.
async fn check_bad<const N: usize>(
    specs: [Spec; N],
    dir: &Path,
    kind: ExecErrorKind,
    why: &Expect,
) {
    let env = env();
    for spec in specs.map(|it| it.working_dir(dir)) {
        let err = env.preflight(spec.clone()).await.expect_err("it cannot start");
        assert_eq!((err.kind(), err.did_start()), (kind, false), "{err}");
        why.assert_eq(&chain(&err, dir));
        let err = env.run(spec).await.expect_err("it cannot start");
        assert_eq!((err.kind(), err.did_start()), (kind, false), "{err}");
    }
}

#[tokio::test]
async fn programs_that_run_pass_the_preflight() {
    let dir = dir();
    for path in ["./tool", "./link", "sub/../tool", &*dir.path().join("tool").to_string_lossy()] {
        check_good(named(path), dir.path()).await;
        check_good(pinned(path, SCRIPT), dir.path()).await;
    }
    // A bare name is looked up in the spec's PATH, whose relative entries start where it works.
    for path in ["/nowhere:.", "sub:", &*dir.path().to_string_lossy()] {
        let path = format!("{path}:/usr/bin:/bin");
        check_good(named("tool").env_var("PATH", &path), dir.path()).await;
        check_good(pinned("tool", SCRIPT).env_var("PATH", &path), dir.path()).await;
    }
}

#[tokio::test]
async fn names_that_lead_to_no_program() {
    use ExecErrorKind as K;
    let dir = dir();
    for (spec, kind, why) in [
        (
            named("no-such-tool"),
            K::ProgramNotFound,
            expect![[r#"failed to start "no-such-tool": no such program in PATH=/usr/bin:/bin"#]],
        ),
        (
            Spec::new("tool"),
            K::ProgramNotFound,
            expect![[
                r#"failed to start "tool": it is a bare name, and the program's environment has no PATH"#
            ]],
        ),
        (
            named("plain").env_var("PATH", "."),
            K::NotExecutable,
            expect![[r#"failed to start "plain": DIR/./plain is not executable"#]],
        ),
        (
            pinned("no-such-tool", SCRIPT),
            K::ProgramNotFound,
            expect![[r#"failed to start "no-such-tool": no such program in PATH=/usr/bin:/bin"#]],
        ),
    ] {
        check_bad([spec], dir.path(), kind, &why).await;
    }
}

#[tokio::test]
async fn paths_that_lead_to_no_program() {
    use ExecErrorKind as K;
    let dir = dir();
    for (path, kind, why) in [
        (
            "./none",
            K::ProgramNotFound,
            expect![[r#"failed to start "./none": looked for DIR/./none"#]],
        ),
        (
            "./dangling",
            K::ProgramNotFound,
            expect![[r#"failed to start "./dangling": looked for DIR/./dangling"#]],
        ),
        (
            "./sub",
            K::IsDirectory,
            expect![[r#"failed to start "./sub": DIR/./sub is a directory"#]],
        ),
        (
            "./plain",
            K::NotExecutable,
            expect![[r#"failed to start "./plain": DIR/./plain lacks the right to execute"#]],
        ),
        (
            "./lost",
            K::BadInterpreter,
            expect![[
                r#"failed to start "./lost": the first line of DIR/./lost names the interpreter /no/such/interpreter"#
            ]],
        ),
        (
            "./crlf",
            K::BadInterpreter,
            expect![[
                r#"failed to start "./crlf": the first line of DIR/./crlf ends in CR LF; save it with LF"#
            ]],
        ),
    ] {
        let content = fs::read(dir.path().join(path)).unwrap_or_default();
        check_bad([named(path), pinned(path, content)], dir.path(), kind, &why).await;
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_worked_in() {
    let dir = dir();
    let none = dir.path().join("none");
    let env = env();
    for spec in [named("sh"), named("/bin/sh"), pinned("/bin/sh", "")] {
        let err = env.preflight(spec.working_dir(&none)).await.expect_err("there is none");
        assert_eq!(err.kind(), ExecErrorKind::BadWorkingDir, "{err}");
        let why = chain(&err, dir.path());
        assert!(why.contains("its working directory is DIR/none"), "{why}");
    }
}

#[tokio::test]
async fn a_digest_is_compared_by_the_start_alone() {
    let dir = dir();
    let program = Program::Pinned { path: "./tool".into(), sha256: Sha256([7; 32]) };
    let (spec, env) = (Spec::new(program).working_dir(dir.path()).deadline(GUARD), env());
    env.preflight(spec.clone()).await.expect("whether it is the right program is not looked at");
    let err = env.run(spec).await.expect_err("it is another program");
    assert_eq!(err.kind(), ExecErrorKind::DigestMismatch);
    assert!(!dir.path().join("ran").exists());
}
