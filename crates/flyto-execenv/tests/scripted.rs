//! The in-memory backend as a tool for tests: programs that are functions, and a strict eye on the code
//! that drives them.

#![cfg(feature = "scripted")]

use std::time::Duration;

use flyto_execenv::{
    Capability, Ending, ExecEnv, ExecErrorKind, Executor, Exit, KillScope, Limits, RunOptions,
    Signal, Spec, Stdin, Target,
    scripted::{Disposition, Scripted},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn quiet() -> Scripted {
    Scripted::new().program("/bin/quiet", async |_| Exit::Code(0))
}

/// Expects one violation that says `what`.
#[track_caller]
fn check(backend: &Scripted, what: &str) {
    let violations = backend.violations();
    assert!(violations.len() == 1 && violations[0].contains(what), "{violations:?}");
}

#[tokio::test]
async fn a_program_gets_what_the_spec_gives_it() {
    let backend = Scripted::new().program("/usr/bin/tool", async |call| {
        let env: Vec<_> = call.env.names().map(|it| it.display().to_string()).collect();
        let args: Vec<_> = call.args.iter().map(|it| it.display().to_string()).collect();
        let dir = call.working_dir.display();
        call.stdout.line(&format!("{} {} {dir}", args.join(","), env.join(","))).await;
        call.stderr.line("a complaint").await;
        Exit::Code(3)
    });
    let spec = Spec::new("tool").args(["a", "b"]).env_var("PATH", "/usr/bin").working_dir("/tmp");
    let outcome = ExecEnv::new(backend.clone()).run(spec).await.expect("it is found");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(3)));
    assert_eq!(&*outcome.stdout.bytes(), b"a,b PATH /tmp\n");
    assert_eq!(&*outcome.stderr.bytes(), b"a complaint\n");
    backend.assert_clean();
}

#[tokio::test]
async fn files_can_be_scripts_of_a_program() {
    let backend = Scripted::new().program("/bin/reader", async |call| {
        let script = call.args.first().and_then(|it| call.files.read(it));
        let Some(script) = script else { return Exit::Code(1) };
        // A stream without a reader is no concern here.
        let _ = call.stdout.write(&script).await;
        Exit::Code(0)
    });
    backend.files().write("/tools/one", "#!/bin/reader\nbody\n", true);
    backend.files().write("/tools/two", "#!/bin/reader\n", false);
    let env = ExecEnv::new(backend.clone());
    let outcome = env.run(Spec::new("./one").working_dir("/tools")).await.expect("it is found");
    assert_eq!(&*outcome.stdout.bytes(), b"#!/bin/reader\nbody\n");
    let err = env.run(Spec::new("/tools/two")).await.expect_err("it may not be executed");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::NotExecutable, false));
    backend.assert_clean();
}

#[tokio::test]
async fn a_deadline_asks_and_kills_in_memory_as_well() {
    let backend = Scripted::new()
        .program("/bin/polite", async |mut call| {
            call.on(Signal::TERM, Disposition::Catch);
            let signal = call.caught().await;
            call.stdout.line(&format!("heard {signal}")).await;
            Exit::Code(4)
        })
        .program("/bin/deaf", async |call| {
            call.on(Signal::TERM, Disposition::Ignore);
            call.spawn(async |_| std::future::pending().await);
            std::future::pending().await
        });
    let env = ExecEnv::new(backend.clone());
    let soon = Duration::from_millis(1);
    let polite = Spec::new("/bin/polite").deadline(soon).grace(Duration::from_secs(600));
    let outcome = env.run(polite).await.expect("it starts");
    assert_eq!((outcome.ending, outcome.exit), (Ending::TimedOut, Some(Exit::Code(4))));
    assert_eq!(&*outcome.stdout.bytes(), b"heard signal 15, SIGTERM\n");
    let outcome = env.run(Spec::new("/bin/deaf").deadline(soon).grace(soon)).await;
    let outcome = outcome.expect("it starts");
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::KILL)));
    assert!(outcome.confirmed);
    backend.assert_clean();
}

#[tokio::test]
async fn a_session_of_its_own_is_beyond_the_group() {
    let backend = Scripted::new().program("/bin/daemon", async |call| {
        call.spawn_session(async |_| std::future::pending().await);
        Exit::Code(0)
    });
    let env = ExecEnv::new(backend.clone());
    let leaked = async |scope| {
        let spec = Spec::new("/bin/daemon").kill(scope);
        let outcome = env.run(spec).await.expect("it starts");
        (outcome.leaked, outcome.pipe_held)
    };
    assert_eq!(leaked(KillScope::Group).await, (Some(0), true));
    assert_eq!(leaked(KillScope::Tree).await, (Some(1), true));
    backend.assert_clean();
}

#[tokio::test]
async fn a_withdrawn_capability_is_refused() {
    let backend = quiet().without(Capability::Grace);
    let spec = Spec::new("/bin/quiet").grace(Duration::from_secs(1));
    let err = ExecEnv::new(backend).run(spec).await.expect_err("not declared");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Unsupported, false));
}

#[tokio::test]
async fn a_program_that_panics_is_a_program_that_was_killed() {
    let backend = Scripted::new().program("/bin/bug", async |call| match call.args.first() {
        Some(_) => Exit::Code(0),
        None => panic!("the program under test is broken"),
    });
    let outcome = ExecEnv::new(backend).run(Spec::new("/bin/bug")).await.expect("it starts");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Signal(Signal::KILL)));
}

// What follows drives the backend by hand, and wrongly.

#[tokio::test]
async fn a_spec_that_the_handle_should_have_refused_is_noted() {
    let backend = quiet();
    let undeclared = Spec::new("/bin/quiet").limits(Limits::new().processes(1));
    let _running = backend.start(undeclared).await.expect("it starts in spite of that");
    check(&backend, "demands process-limit, which is not declared");
    let backend = quiet();
    let _running = backend.start(Spec::new("/bin/quiet").arg("\0")).await.expect("it starts");
    check(&backend, "invalid");
}

#[tokio::test]
async fn waiting_and_ending_out_of_turn_is_noted() {
    let backend = quiet();
    let running = backend.start(Spec::new("/bin/quiet")).await.expect("it starts");
    let (one, two) = tokio::join!(running.control.wait(), running.control.wait());
    assert_eq!(one.expect("it is watched"), two.expect("it is watched"));
    check(&backend, "from two places at once");

    let backend = quiet();
    let mut running = backend.start(Spec::new("/bin/quiet")).await.expect("it starts");
    for stream in [&mut running.stdout, &mut running.stderr].into_iter().flatten() {
        stream.read_to_end(&mut Vec::new()).await.expect("memory");
    }
    running.control.end(Duration::ZERO).await.expect("it is watched");
    // A signal to what is gone is allowed.
    running.control.signal(Signal::KILL, Target::Tree).expect("it is watched");
    backend.assert_clean();
    running.control.end(Duration::ZERO).await.expect("it is watched");
    check(&backend, "ended twice");
    running.control.wait().await.expect("it is watched");
    assert!(backend.violations()[1].contains("waited for after its end"));
}

#[tokio::test]
async fn unread_output_is_noted() {
    let backend = quiet();
    let running = backend.start(Spec::new("/bin/quiet")).await.expect("it starts");
    running.control.wait().await.expect("it is watched");
    running.control.end(Duration::ZERO).await.expect("it is watched");
    drop(running);
    check(&backend, "not read to its end");

    // A dropped call reads nothing, and that is its right.
    let backend = quiet();
    drop(backend.start(Spec::new("/bin/quiet")).await.expect("it starts"));
    backend.assert_clean();
}

#[tokio::test]
async fn input_beyond_the_spec_is_noted() {
    let backend = Scripted::new().program("/bin/sink", async |mut call| {
        let read = call.stdin.read_to_end(&mut Vec::new()).await;
        Exit::Code(i32::from(read.is_err()))
    });
    let input = vec![b'x'; 100_000];
    let spec = || Spec::new("/bin/sink").stdin(Stdin::Bytes(input.clone().into()));
    let mut running = backend.start(spec()).await.expect("it starts");
    let mut stdin = running.stdin.take().expect("so much does not fit into a pipe");
    for _ in 0..2 {
        stdin.write_all(&input).await.expect("it is read");
    }
    drop((stdin, running));
    check(&backend, "100000 bytes of input more than the spec has");

    let backend = backend.clone();
    let outcome = ExecEnv::new(backend).run_with(spec(), RunOptions::new()).await;
    assert!(outcome.expect("it starts").success());
}
