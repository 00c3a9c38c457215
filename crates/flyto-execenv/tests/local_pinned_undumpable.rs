//! Pinned programs of a host that keeps others from looking into it, as one that holds secrets does.
//!
//! The one test of its binary, since it changes the process.

#![cfg(all(target_os = "linux", feature = "local"))]

mod support;

use std::fs;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use support::{env, pinned, text, write_executable};

#[tokio::test]
async fn binaries_and_scripts_run_all_the_same() {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).expect("it is ours to say");
    let dir = tempfile::tempdir().expect("a directory");
    let (tool, env) = (dir.path().join("tool"), env());
    let script = "#!/bin/sh\necho ran\n";
    write_executable(&tool, script);
    let shell = fs::read("/bin/sh").expect("a shell");
    for _ in 0..2 {
        for spec in [pinned(&tool, script), pinned("/bin/sh", &shell).args(["-c", "echo ran"])] {
            let outcome = env.run(spec).await.expect("it starts");
            assert_eq!(text(&outcome), "ran\n", "{outcome:?}");
        }
    }
}
