//! Many calls of a program that is started before them leave nothing. Alone in its process, so that no other test's files and
//! processes are counted.

#![cfg(all(target_os = "linux", feature = "local"))]

use std::fs;

use flyto_execenv::{ExecEnv, ExecReadiness, Ready, ReadyOptions, Spec, local::Local};

/// As many as take seconds; `bench ready --calls 10000` makes more, and counts as well.
const CALLS: usize = 2000;

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").expect("proc(5)").count()
}

fn children() -> usize {
    let threads = fs::read_dir("/proc/self/task").expect("proc(5)").flatten();
    let children = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    children.map(|it| it.split_ascii_whitespace().count()).sum()
}

fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("proc(5)");
    let pages: u64 = text.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a number");
    pages * 4096
}

#[tokio::test]
async fn many_calls_leave_nothing() {
    let before = (open_files(), children());
    let env = ExecEnv::builder(Local::new()).ready(ReadyOptions::new()).build();
    let spec = Spec::new("/bin/sh").args(["-c", "read -r line; echo $line"]).ready(Ready::new());
    let (mut n_ready, mut after_some) = (0, (0, 0, 0));
    for n in 0..CALLS {
        let spec = spec.clone().stdin_bytes(format!("{n}\n"));
        let outcome = env.run(spec).await.expect("it starts");
        assert_eq!(outcome.stdout.bytes(), format!("{n}\n").as_bytes());
        n_ready += usize::from(matches!(outcome.readiness, ExecReadiness::Ready { .. }));
        while env.waiting_processes() == 0 {
            tokio::task::yield_now().await;
        }
        if n == CALLS / 10 {
            after_some = (open_files(), children(), resident_bytes());
        }
    }
    assert_eq!(n_ready, CALLS - 1);
    assert_eq!(env.waiting_processes(), 1);
    let (files, processes, bytes) = after_some;
    assert!(open_files() <= files && children() <= processes, "{} files", open_files());
    assert!(resident_bytes() < bytes + (4 << 20), "{bytes} to {}", resident_bytes());
    drop(env);
    while (open_files(), children()) != before {
        tokio::task::yield_now().await;
    }
}
