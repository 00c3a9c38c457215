//! A program that outlives its starter gets its three streams and nothing else of it.
#![cfg(unix)]

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
};

use flyto_execenv::{
    Environment,
    local::{DetachedSpec, start_detached},
};

fn null() -> OwnedFd {
    File::options().read(true).write(true).open("/dev/null").expect("there").into()
}

/// What a line of shell prints that is started with these variables.
fn printed(script: &str, env: &[(&str, &str)]) -> String {
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let spec = DetachedSpec::new("/bin/sh", [null(), writer.into(), null()])
        .name("a shell")
        .args(["-c", script])
        .env(env.iter().copied().collect::<Environment>());
    let mut shell = start_detached(spec).expect("it starts");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert!(shell.wait().expect("it ends").success());
    text
}

#[test]
fn it_gets_what_the_spec_has() {
    let text = printed("echo \"$0 $GREETING $HOME\"; pwd", &[("GREETING", "hi")]);
    assert_eq!(text, "a shell hi \n/\n");
}

#[cfg(target_os = "linux")]
#[test]
fn no_other_descriptor_reaches_it() {
    use std::os::fd::AsRawFd as _;

    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

    // As a shell hands one down: open, and not marked.
    let file = File::open("/dev/null").expect("there");
    // Far from the numbers that a shell uses itself.
    let open = fcntl_dupfd_cloexec(&file, 100).expect("it is open");
    fcntl_setfd(&open, FdFlags::empty()).expect("it is open");
    let text = printed("for fd in /proc/self/fd/*; do echo \"${fd##*/}\"; done", &[]);
    let inherited: Vec<_> = text.lines().collect();
    assert!(!inherited.contains(&open.as_raw_fd().to_string().as_str()), "{inherited:?}");
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let start = |path: &str| start_detached(DetachedSpec::new(path, [null(), null(), null()]));
    let kind = |path| start(path).expect_err("it is not there").kind();
    assert_eq!(kind("/no/such/program"), io::ErrorKind::NotFound);
    assert_eq!(kind("sh"), io::ErrorKind::InvalidInput);
}
