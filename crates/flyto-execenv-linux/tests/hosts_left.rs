//! Calls whose network is limited to hosts leave nothing behind: no descriptor, task or process.
//!
//! The one test of its binary, so that everything it counts is its own.

#![cfg(supervised)]

use std::{fs, time::Duration};

use flyto_execenv::{Capability, Ending, ExecEnv, Executor, Isolation, KillScope, Network, Spec};
use flyto_execenv_linux::Linux;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    runtime::Handle,
    task::yield_now,
};

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

/// Descriptors, tasks and children.
fn counts() -> [usize; 3] {
    let fds = fs::read_dir("/proc/self/fd").expect("proc(5)").count();
    let children: usize = fs::read_dir("/proc/self/task")
        .expect("proc(5)")
        .flatten()
        .filter_map(|it| fs::read_to_string(it.path().join("children")).ok())
        .map(|it| it.split_whitespace().count())
        .sum();
    [fds, Handle::current().metrics().num_alive_tasks(), children]
}

/// Waits until there is no more than this.
async fn settles_at(most: [usize; 3]) {
    let settled = async {
        while counts().iter().zip(&most).any(|(now, most)| now > most) {
            yield_now().await;
        }
    };
    let res = tokio::time::timeout(GUARD, settled).await;
    assert!(res.is_ok(), "{:?} are left where {most:?} may be", counts());
}

#[tokio::test]
async fn nothing_is_left_of_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let port = listener.local_addr().expect("it has one").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // It says something and listens until the other side has gone.
            let _ = stream.write_all(b"x").await;
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        }
    });
    // The supervisors' program stays in memory once it is there.
    drop(Linux::new());
    let before = counts();
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::NetworkHosts) {
        println!("skipped: this user makes no network namespaces here");
        return;
    }
    let env = ExecEnv::new(linux);
    let hosts = vec!["127.0.0.1".parse().expect("a pattern")];
    let spec = |script: &str| {
        Spec::new("/bin/bash")
            .args(["-c", script])
            .env_var("PATH", "/usr/bin:/bin")
            .kill(KillScope::Tree)
            .isolation(Isolation::new().network(Network::Hosts(hosts.clone())))
            .deadline(GUARD)
    };
    let connect = format!(
        r#"exec 3<>/dev/tcp/127.0.0.1/880; printf 'CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n' >&3
        read -r status <&3; read -r empty <&3; IFS= read -r -n 1 one <&3; echo "$status $one"; "#
    );
    let first = env.run(spec(&connect)).await.expect("it runs");
    let text = |it: &[u8]| String::from_utf8_lossy(it).replace('\r', "");
    assert_eq!(text(&first.stdout.bytes()), "HTTP/1.1 200 Connection established x\n");
    // What is kept for later calls, and perhaps what has not quite ended: far less than the calls below make.
    let kept = counts();

    // Some go without a word, some come in only to go, some leave others behind, some are killed.
    let knock = "exec 3<>/dev/tcp/127.0.0.1/880; exit 0";
    let leaver = format!("(trap '' TERM; {connect} sleep 600) >/dev/null 2>&1 & true");
    for n in 0..40 {
        let (script, ending) = match n % 4 {
            0 => (connect.clone(), None),
            1 => (knock.to_owned(), None),
            2 => (leaver.clone(), None),
            _ => (format!("{connect} sleep 600"), Some(Duration::from_millis(20))),
        };
        let spec = spec(&script);
        let outcome = match ending {
            Some(deadline) => env.run(spec.deadline(deadline)).await,
            None => env.run(spec).await,
        };
        let outcome = outcome.expect("it runs");
        assert!(outcome.confirmed, "{outcome:?}");
        assert_eq!(outcome.ending == Ending::TimedOut, ending.is_some(), "{outcome:?}");
        if n % 4 == 0 {
            assert_eq!(text(&outcome.stdout.bytes()), text(&first.stdout.bytes()));
        }
    }
    settles_at(kept).await;

    // A call that is dropped ends with its connections; its supervisor goes too.
    let sleeping = format!("{connect} sleep 600");
    let dropped = tokio::time::timeout(Duration::from_millis(20), env.run(spec(&sleeping)));
    dropped.await.expect_err("it does not end by itself");
    drop(env);
    settles_at([before[0], kept[1], 0]).await;
}
