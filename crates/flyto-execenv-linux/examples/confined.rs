//! Runs a program that may read the programs of the system, write one directory, and reach no
//! network; then prints what came of it and what was in force.
//!
//! ```sh
//! cargo run -p flyto-execenv-linux --example confined -- /tmp/work sh -c 'touch here; cat ~/.ssh/id'
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    target_os = "linux",
    expect(clippy::print_stdout, reason = "an example shows what it does")
)]

#[cfg(target_os = "linux")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::{env, path::PathBuf, time::Duration};

    use flyto_execenv::{
        ExecEnv, Filesystem, Isolation, KillScope, Limits, LocalSockets, Network, Spec, SystemCalls,
    };
    use flyto_execenv_linux::Linux;

    let mut words = env::args_os().skip(1);
    let dir = words.next().map_or_else(env::temp_dir, PathBuf::from);
    let program = words.next().unwrap_or_else(|| "sh".into());
    let mut args: Vec<_> = words.collect();
    if args.is_empty() && program == "sh" {
        args = ["-c", "pwd; setsid sleep 60 & cat /etc/passwd"].map(Into::into).into();
    }

    let linux = Linux::new();
    println!("trees are ended by: {}", linux.mechanism().name());

    // Each part of an isolation is required once it is asked for: a machine that cannot enforce one refuses
    // the call, and nothing is started.
    let isolation = Isolation::new()
        .filesystem(Filesystem::Grants {
            read: ["/usr", "/bin", "/lib", "/lib64"].map(PathBuf::from).into(),
            // A shell opens /dev/null for what it starts in the background.
            write: [dir.clone(), "/dev/null".into()].into(),
        })
        .network(Network::Off)
        .local_sockets(LocalSockets::Off)
        .system_calls(SystemCalls::Restricted);
    let mut limits = Limits::new();
    limits.memory_bytes = Some(512 << 20);
    limits.processes = Some(64);

    let spec = Spec::new(program)
        .args(args)
        .env_var("PATH", "/usr/bin:/bin")
        .working_dir(dir)
        .isolation(isolation)
        .limits(limits)
        .kill(KillScope::Tree)
        .deadline(Duration::from_secs(10));
    let outcome = ExecEnv::new(linux).run(spec).await?;

    println!("ending: {:?}", outcome.ending);
    print!("stdout: {}", String::from_utf8_lossy(&outcome.stdout.bytes()));
    print!("stderr: {}", String::from_utf8_lossy(&outcome.stderr.bytes()));
    // Processes that the program left behind; all of them were ended.
    println!("left behind: {:?}, all ended: {}", outcome.leaked, outcome.confirmed);
    let enforced: Vec<_> = outcome.enforced.iter().map(|it| it.name()).collect();
    println!("in force: {}", enforced.join(", "));
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
