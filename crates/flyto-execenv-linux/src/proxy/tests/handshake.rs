//! Names in handshakes with a real server of TLS: that of Python, which is OpenSSL.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    sync::Arc,
};

use expect_test::expect;
use tokio::net::TcpListener;

use super::{PUBLIC, World};
use crate::proxy::{egress::EgressPolicy, relay, session::ProxySession};

const SCRIPT: &str = include_str!("handshake.py");

/// Clients whose names change. What a server makes of the first of them without the proxy is known.
const ATTACK: &str = "another name after a retry: served, seen a.org b.org";

/// What the server makes of clients behind the proxy, where `a.org` is granted: it sees no other name.
#[tokio::test]
async fn a_server_sees_the_granted_name_and_no_other() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let port = listener.local_addr().expect("it has one").port();
    #[expect(clippy::disallowed_methods, reason = "its output is read while it runs")]
    let mut command = Command::new("python3");
    let started = command
        .args(["-c", SCRIPT, &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = started else {
        println!("skipped: there is no python3");
        return;
    };
    let mut stdout = BufReader::new(python.stdout.take().expect("it is piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("it is readable");
    let server = format!("127.0.0.1:{}", line.trim()).parse().expect("it has a port");

    let world = World::with_server(&[("a.org", PUBLIC)], server);
    let policy = EgressPolicy::new(vec!["a.org".parse().expect("a pattern")], world);
    let session = Arc::new(ProxySession::new(Arc::new(policy)));
    let served = Arc::clone(&session);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let session = Arc::clone(&served);
            tokio::spawn(async move { relay::serve(stream, &session).await });
        }
    });
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let text = read.await.expect("it ends").expect("it is text");
    assert!(python.wait().expect("it was started").success(), "{text}");
    // On the direct way, on the way through the proxy.
    let ways: Vec<_> = text.lines().filter_map(|it| it.split_once(" | ")).collect();
    assert!(ways.iter().any(|(direct, _)| *direct == ATTACK), "{text}");
    let proxied: String = ways
        .into_iter()
        .map(|(direct, proxied)| {
            let (client, _) = direct.split_once(": ").expect("it is named");
            format!("{client}: {proxied}\n")
        })
        .collect();
    expect![[r#"
        honest: TLSv1.3, new, seen a.org a.org
        honest: TLSv1.3, resumed, seen a.org a.org
        honest: TLSv1.2, new, seen a.org
        honest: TLSv1.2, resumed, seen a.org
        the same name after a retry: served, seen a.org a.org
        the same name in bytes after early data: served, seen a.org a.org
        another name: alert 112, seen nothing
        another name after a retry: alert 112, seen a.org
        another name, in bytes: alert 112, seen a.org
        another name without waiting: alert 112, seen nothing
        another name after a change of ciphers: alert 112, seen a.org
        another name after early data: alert 112, seen a.org
        another name after an alert: alert 112, seen a.org
        another name around an alert: alert 112, seen a.org
        another name around a change of ciphers: alert 112, seen a.org
        an encrypted name after a retry: alert 112, seen a.org
        no name, as SSL 2 had it: alert 112, seen nothing
    "#]]
    .assert_eq(&proxied);
    let denied = session.denied();
    assert!(matches!(denied.as_slice(), [it] if it.place() == "a.org:443"), "{denied:?}");
}
