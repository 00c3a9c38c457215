//! Every benchmark runs to its end, with figures too small to say anything.

#![forbid(unsafe_code)]

use std::{path::Path, time::Duration};

use flyto_execenv::{Ending, ExecEnv, Exit, Spec, local::Local};

/// Runs a benchmark and looks for the rows of its tables.
#[track_caller]
fn check(args: &[&str], rows: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Compilers need to know where they live.
    let path = std::env::var_os("PATH").expect("a test is started with a PATH");
    let home = std::env::var_os("HOME").unwrap_or_default();
    let spec = Spec::new(env!("CARGO_BIN_EXE_bench"))
        .args(args)
        .args(["--rounds", "1", "--calls", "3", "--warm-up", "1"])
        .env_var("PATH", path)
        .env_var("HOME", home)
        .deadline(Duration::from_secs(300));
    let env = ExecEnv::new(Local::new());
    let outcome = runtime.expect("a runtime").block_on(env.run(spec)).expect("it starts");
    let text = String::from_utf8(outcome.stdout.into_bytes()).expect("UTF-8");
    let complaints = String::from_utf8_lossy(&outcome.stderr.bytes()).into_owned();
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)), "{complaints}");
    for row in rows {
        let is_there = text.lines().any(|it| it.starts_with(&format!("| {row} ")));
        assert!(is_there, "no row {row} in:\n{text}");
    }
}

/// One test for all of them: they build the same programs.
#[test]
fn every_benchmark_runs() {
    let twin = "Rust posix_spawn";
    check(
        &["call", "--no-cc", "--unpinned"],
        &[twin, "std::process", "tokio::process, 2 workers", "ExecEnv + Local, current_thread"],
    );
    check(&["flight", "--in-flight", "2", "--no-cc"], &[twin, "ExecEnv + Local, 2 workers"]);
    check(
        &["rss", "--gib", "0", "--no-cc"],
        &[twin, "std::process, forking", "ExecEnv + Local, 2 workers"],
    );
    check(&["fds", "--descriptors", "0,9", "--no-cc"], &[twin, "ExecEnv + Local, 2 workers"]);
    check(
        &["stream", "--mib", "1", "--no-cc"],
        &["Rust posix_spawn: read loop", "ExecEnv + Local: 64 KiB kept"],
    );
    check(&["verify", "--kib", "64,300", "--no-cc"], &["binary of 300 KiB", "script of 64 KiB"]);
    check(
        &["session", "--no-cc", "--unpinned"],
        &["Rust ping-pong", "PluginTool, current_thread", "PluginTool, 2 workers"],
    );
    // Where all packages are built, the program lies beside its benchmark.
    if Path::new(env!("CARGO_BIN_EXE_bench")).with_file_name("flyto").is_file() {
        check(&["program", "--no-cc"], &["the tool", "flyto call"]);
    }
    check(&["host", "--no-cc"], &["permission", "audit", "lookup"]);
    // With the C baseline where there is a compiler.
    check(&["call"], &["ExecEnv + Local, 2 workers"]);
    check(&["session"], &["C ping-pong"]);
    check(&["stream", "--mib", "1"], &["ExecEnv + Local: 4 MiB kept (default)"]);
}
