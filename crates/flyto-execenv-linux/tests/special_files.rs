//! A program that is a socket, a named pipe or a device is refused as what it is.

#![cfg(target_os = "linux")]

use std::{error::Error, os::unix::net::UnixListener};

use expect_test::{Expect, expect};
use flyto_execenv::{ExecEnv, ExecErrorKind, Program, Sha256, Spec};
use flyto_execenv_linux::{KillMechanism, Linux};
use nix::{sys::stat::Mode, unistd::mkfifo};

async fn check(program: &str, expect: Expect) {
    let dir = tempfile::tempdir().expect("there is room");
    let _socket = UnixListener::bind(dir.path().join("socket")).expect("it is ours");
    mkfifo(&dir.path().join("pipe"), Mode::S_IRWXU).expect("it is ours");
    let program = dir.path().join(program);
    let pinned = Program::Pinned { path: program.clone(), sha256: Sha256([0; 32]) };
    let by_process_group = Linux::with_mechanism(KillMechanism::Group).expect("it needs nothing");
    for env in [ExecEnv::new(Linux::new()), ExecEnv::new(by_process_group)] {
        for program in [Program::from(program.clone()), pinned.clone()] {
            let err = env.run(Spec::new(program)).await.expect_err("it cannot start");
            assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::NotExecutable, false));
            let why = err.source().expect("a cause").to_string();
            expect.assert_eq(&why.replace(&*dir.path().to_string_lossy(), "DIR"));
        }
    }
}

#[tokio::test]
async fn what_is_no_regular_file_is_named() {
    check("socket", expect!["DIR/socket is a socket; write the path of an executable file"]).await;
    check("pipe", expect!["DIR/pipe is a named pipe; write the path of an executable file"]).await;
    check("/dev/null", expect!["/dev/null is a device; write the path of an executable file"])
        .await;
}
