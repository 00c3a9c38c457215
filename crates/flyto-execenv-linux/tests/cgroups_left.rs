//! No control group is left. In a program of its own, so that all cgroups of this process are its own.

#![cfg(supervised)]

use std::{fs, path::Path, time::Duration};

use flyto_execenv::{ExecEnv, KillScope, Limits, Spec};
use flyto_execenv_linux::Linux;

/// Directories of this process.
fn n_cgroups(below: &Path) -> usize {
    let own = format!("flyto-{}-", std::process::id());
    let dirs = fs::read_dir(below).into_iter().flatten().flatten();
    dirs.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()))
        .map(|it| {
            let is_own = it.file_name().as_encoded_bytes().starts_with(own.as_bytes());
            usize::from(is_own) + n_cgroups(&it.path())
        })
        .sum()
}

#[tokio::test]
async fn no_cgroup_outlives_its_host() {
    let env = ExecEnv::new(Linux::new());
    let spec = |script| {
        Spec::new("/bin/sh")
            .args(["-c", script])
            .env_var("PATH", "/usr/bin:/bin")
            .kill(KillScope::Tree)
            .limits(Limits::new().processes(50))
            .deadline(Duration::from_secs(60))
    };
    for script in ["setsid sleep 60 >/dev/null 2>&1 & exit 3", "true"] {
        let calls = (0..8).map(|_| {
            tokio::spawn({
                let (env, spec) = (env.clone(), spec(script));
                async move { env.run(spec).await }
            })
        });
        for call in calls.collect::<Vec<_>>() {
            let outcome = call.await.expect("it does not panic").expect("there is a shell");
            assert!(outcome.confirmed, "{outcome:?}");
        }
    }
    drop(env);
    assert_eq!(n_cgroups(Path::new("/sys/fs/cgroup")), 0);
}
