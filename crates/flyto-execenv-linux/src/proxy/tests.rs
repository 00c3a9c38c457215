//! The way out, taken by programs in their namespaces.
//!
//! Servers are real ones on this machine. What stands for the Internet is a table of names, and one server to
//! which all connections to public addresses lead.

use std::{
    collections::BTreeMap,
    env, fs, io,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream as StdStream, UdpSocket},
    os::unix::net::{UnixDatagram, UnixStream},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use flyto_execenv::{
    Capability, ExecEnv, Executor, Isolation, KillScope, Network, Outcome, Spec, SystemCalls,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{Outside, tls::tests::client_hello};
use crate::{
    KillMechanism, Linux,
    ordinary::{GUARD, is_ordinary},
};

mod handshake;

const MECHANISMS: [KillMechanism; 3] =
    [KillMechanism::Subreaper, KillMechanism::PidNamespace, KillMechanism::Cgroup];

/// A world of names and one server.
#[derive(Debug)]
struct World {
    /// What a name is resolved to, time after time; the last answer stays.
    names: Mutex<BTreeMap<&'static str, Vec<Vec<IpAddr>>>>,
    server: SocketAddr,
    connected: Mutex<Vec<SocketAddr>>,
    /// What each connection has said, in the order of their ends.
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl World {
    /// With these names and their addresses.
    async fn new(names: &[(&'static str, &[&[&str]])]) -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let server = listener.local_addr().expect("it has one");
        let heard = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let all_heard = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&all_heard)));
            }
        });
        Self::with(names, server, heard)
    }

    /// With these names and their addresses, and another server.
    fn with_server(names: &[(&'static str, &[&[&str]])], server: SocketAddr) -> Arc<Self> {
        Self::with(names, server, Arc::default())
    }

    fn with(
        names: &[(&'static str, &[&[&str]])],
        server: SocketAddr,
        heard: Arc<Mutex<Vec<Vec<u8>>>>,
    ) -> Arc<Self> {
        let address = |it: &&str| it.parse().expect("an address");
        let all = |it: &&[&str]| it.iter().map(address).collect();
        let names = names.iter().map(|(name, it)| (*name, it.iter().map(all).collect()));
        let names = Mutex::new(names.collect());
        Arc::new(Self { names, server, connected: Mutex::default(), heard })
    }

    /// What so many connections have said, once all of them have ended.
    async fn heard(&self, n: usize) -> Vec<u8> {
        let heard = async {
            loop {
                let heard = self.heard.lock().expect("nobody panicked").clone();
                if heard.len() >= n {
                    break heard.concat();
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(GUARD, heard).await.expect("all connections end")
    }

    fn connected(&self) -> Vec<String> {
        let connected = self.connected.lock().expect("nobody panicked");
        connected.iter().map(ToString::to_string).collect()
    }
}

/// Answers the first words and listens until the end.
async fn serve(mut stream: TcpStream, heard: Arc<Mutex<Vec<Vec<u8>>>>) {
    let mut said = Vec::new();
    if stream.read_buf(&mut said).await.is_ok_and(|it| it > 0) {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nserved\n").await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut said).await;
    }
    heard.lock().expect("nobody panicked").push(said);
}

#[async_trait]
impl Outside for World {
    async fn resolve(&self, host: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        let mut names = self.names.lock().expect("nobody panicked");
        let answers = names.get_mut(host).ok_or(io::ErrorKind::NotFound)?;
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        // A resolver's port is not to be believed.
        Ok(answer.into_iter().map(|it| SocketAddr::new(it, 1)).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.lock().expect("nobody panicked").push(address);
        let is_here = address.ip().is_loopback();
        TcpStream::connect(if is_here { address } else { self.server }).await
    }
}

/// An environment for each mechanism on which this machine limits a network to hosts.
fn each(world: &Arc<World>) -> Vec<ExecEnv> {
    let outside = |linux: Linux| linux.with_outside(Arc::clone(world) as Arc<dyn Outside>);
    let made: Vec<_> = MECHANISMS
        .into_iter()
        .filter_map(|it| Linux::with_mechanism(it).ok())
        .filter(|it| it.capabilities().has(Capability::NetworkHosts))
        .map(|it| ExecEnv::new(outside(it)))
        .collect();
    if made.is_empty() {
        println!("skipped: this user makes no network namespaces here");
    }
    made
}

fn limited(spec: Spec, hosts: &[&str]) -> Spec {
    let hosts = hosts.iter().map(|it| it.parse().expect("a pattern")).collect();
    spec.kill(KillScope::Tree)
        .isolation(Isolation::new().network(Network::Hosts(hosts)))
        .env_var("PATH", "/usr/bin:/bin")
        .deadline(GUARD)
}

/// Says something to the proxy and shows the answer.
const ASK: &str =
    r#"ask() { exec 3<>/dev/tcp/127.0.0.1/880 && printf "$1" >&3 && cat <&3; exec 3>&-; }; "#;

fn bash(script: &str, hosts: &[&str]) -> Spec {
    limited(Spec::new("/bin/bash").args(["-c", &format!("{ASK}{script}")]), hosts)
}

fn shown(outcome: &Outcome) -> String {
    let [out, err] = [&outcome.stdout, &outcome.stderr]
        .map(|it| String::from_utf8_lossy(&it.bytes()).replace("\r\n", "\n"));
    assert!(outcome.confirmed, "{outcome:?}");
    format!("{out}{err}")
}

/// What a program shows, on every mechanism, that asks the proxy for this.
async fn check(world: &Arc<World>, hosts: &[&str], request: &str, expect: Expect) {
    for env in each(world) {
        let outcome = env.run(bash(&format!("ask '{request}'"), hosts)).await.expect("it runs");
        expect.assert_eq(&shown(&outcome));
    }
}

/// Runs the test with this path as an ordinary user too; whether to go on.
macro_rules! as_both {
    ($name:literal) => {
        is_ordinary(concat!("proxy::tests::", $name)).await;
    };
}

const PUBLIC: &[&[&str]] = &[&["93.184.216.34"]];

#[tokio::test]
async fn granted_hosts_are_reached() {
    as_both!("granted_hosts_are_reached");
    let world = World::new(&[("a.org", PUBLIC), ("x.b.org", PUBLIC)]).await;
    let hosts = ["a.org", "*.b.org:81"];
    let request = r"GET http://a.org/x?y HTTP/1.1\r\nHost: other.org\r\n\r\n";
    let served = || {
        expect![[r#"
            HTTP/1.1 200 OK
            Connection: close

            served
        "#]]
    };
    check(&world, &hosts, request, served()).await;
    check(&world, &hosts, r"GET http://x.b.org:81 HTTP/1.0\r\n\r\n", served()).await;
    let heard = world.heard(world.connected().len()).await;
    let heard = String::from_utf8(heard).expect("it is text");
    assert!(heard.contains("GET /x?y HTTP/1.1\r\nHost: a.org\r\n"), "{heard}");
    assert!(heard.contains("GET / HTTP/1.0\r\nHost: x.b.org:81\r\n"), "{heard}");
    assert!(!heard.contains("other.org"), "{heard}");

    let tunnel = r"CONNECT a.org:22 HTTP/1.1\r\n\r\nhello";
    check(
        &world,
        &hosts,
        tunnel,
        expect![[r#"
            HTTP/1.1 200 Connection established

            HTTP/1.1 200 OK
            Connection: close

            served
        "#]],
    )
    .await;
    assert!(world.connected().contains(&"93.184.216.34:22".to_owned()), "{world:?}");

    // SOCKS: the greeting, then a name of five bytes and port 23. Zero bytes are no text.
    let socks = r"ask '\x05\x01\x00\x05\x01\x00\x03\x05a.org\x00\x17hello' | tr '\0\1\5' 015; echo";
    for env in each(&world) {
        let outcome = env.run(bash(socks, &hosts)).await.expect("it runs");
        let text = shown(&outcome);
        assert!(text.starts_with("505001000000HTTP/1.1 200 OK\n"), "{text}");
    }
    assert!(world.connected().contains(&"93.184.216.34:23".to_owned()), "{world:?}");
}

#[tokio::test]
async fn what_was_not_granted_is_refused_by_name() {
    as_both!("what_was_not_granted_is_refused_by_name");
    let world = World::new(&[("a.org", PUBLIC), ("b.org", PUBLIC)]).await;
    let hosts = ["a.org:443"];
    let refused = || {
        expect![[r#"
            HTTP/1.1 403 Forbidden
            Content-Type: text/plain; charset=utf-8
            Content-Length: 146
            Proxy-Status: flyto; error=http_request_denied
            Connection: close

            b.org:443 is not among the hosts that this program may reach. The operator grants it by adding "b.org:443" to the hosts of the program's network.
        "#]]
    };
    check(&world, &hosts, r"CONNECT b.org:443 HTTP/1.1\r\n\r\n", refused()).await;
    check(&world, &hosts, r"GET http://B.org.:443/ HTTP/1.1\r\n\r\n", refused()).await;
    for target in ["a.org:80", "xa.org:443", "a.org.b.org:443", "93.184.216.34:443", "[::1]:443"] {
        for env in each(&world) {
            let script = format!(r"ask 'CONNECT {target} HTTP/1.1\r\n\r\n'");
            let text = shown(&env.run(bash(&script, &hosts)).await.expect("it runs"));
            assert!(text.starts_with("HTTP/1.1 403 Forbidden\n"), "{target}: {text}");
            assert!(text.contains(&format!("\n{target} is not among the hosts")), "{text}");
        }
    }
    for env in each(&world) {
        let socks =
            r"ask '\x05\x01\x00\x05\x01\x00\x03\x05b.org\x01\xbb' | od -An -tu1 | tr -s ' \n' ' '";
        let text = shown(&env.run(bash(socks, &hosts)).await.expect("it runs"));
        assert_eq!(text, " 5 0 5 2 0 1 0 0 0 0 0 0 ");
    }
    assert_eq!(world.connected(), [""; 0]);
}

#[tokio::test]
async fn a_name_is_no_way_to_what_lies_inside() {
    as_both!("a_name_is_no_way_to_what_lies_inside");
    let names: &[(&str, &[&[&str]])] = &[
        ("loop.org", &[&["127.0.0.1"]]),
        ("mapped.org", &[&["::ffff:127.0.0.1"]]),
        ("meta.org", &[&["169.254.169.254"]]),
        ("meta6.org", &[&["fd00:ec2::254"]]),
        ("lan.org", &[&["10.0.0.7", "192.168.0.1"]]),
        ("mixed.org", &[&["10.0.0.7", "93.184.216.34"]]),
        ("localhost", &[&["::1", "127.0.0.1"]]),
    ];
    let world = World::new(names).await;
    let port = world.server.port();
    let hosts: Vec<&str> = names.iter().map(|it| it.0).collect();
    check(
        &world,
        &hosts,
        r"CONNECT meta.org:80 HTTP/1.1\r\n\r\n",
        expect![[r#"
            HTTP/1.1 403 Forbidden
            Content-Type: text/plain; charset=utf-8
            Content-Length: 199
            Proxy-Status: flyto; error=destination_ip_prohibited
            Connection: close

            meta.org:80 has the address 169.254.169.254, which is this machine's, a private network's or a cloud's own. The operator grants it by adding the address itself to the hosts of the program's network.
        "#]],
    )
    .await;
    for env in each(&world) {
        for (name, _) in names.iter().filter(|it| it.0 != "mixed.org") {
            let script = format!(r"ask 'CONNECT {name}:{port} HTTP/1.1\r\n\r\n'");
            let text = shown(&env.run(bash(&script, &hosts)).await.expect("it runs"));
            assert!(text.contains("destination_ip_prohibited"), "{name}: {text}");
        }
        assert_eq!(world.connected(), [""; 0]);
        // What is public of it is reached.
        let script = r"ask 'CONNECT mixed.org:80 HTTP/1.1\r\n\r\nhello'";
        let text = shown(&env.run(bash(script, &hosts)).await.expect("it runs"));
        assert!(text.contains("served"), "{text}");
        assert_eq!(world.connected(), ["93.184.216.34:80"]);
        world.connected.lock().expect("nobody panicked").clear();
        // A pattern that names the address opens it, by number and through the name.
        let address = format!("127.0.0.1:{port}");
        for target in [address.clone(), format!("loop.org:{port}"), format!("mapped.org:{port}")] {
            let script = format!(r"ask 'CONNECT {target} HTTP/1.1\r\n\r\nhello'");
            let named = [hosts.as_slice(), &[address.as_str()]].concat();
            let text = shown(&env.run(bash(&script, &named)).await.expect("it runs"));
            assert!(text.contains("served"), "{target}: {text}");
        }
        world.connected.lock().expect("nobody panicked").clear();
    }
}

#[tokio::test]
async fn an_address_is_looked_at_and_used_once() {
    let answers: &[&[&str]] = &[&["93.184.216.34"], &["127.0.0.1"]];
    for mechanism in 0..3 {
        let world = World::new(&[("a.org", answers)]).await;
        let Some(env) = each(&world).into_iter().nth(mechanism) else { continue };
        let script =
            r"for i in 1 2; do ask 'CONNECT a.org:80 HTTP/1.1\r\n\r\nhello' | head -n 1; done";
        let text = shown(&env.run(bash(script, &["a.org"])).await.expect("it runs"));
        assert_eq!(text, "HTTP/1.1 200 Connection established\nHTTP/1.1 403 Forbidden\n");
        assert_eq!(world.connected(), ["93.184.216.34:80"]);
    }
}

#[tokio::test]
async fn a_tls_connection_starts_with_the_name_that_was_asked_for() {
    let world = World::new(&[("a.org", PUBLIC), ("b.org", PUBLIC)]).await;
    let dir = tempfile::tempdir().expect("there is room");
    for (hello, is_served) in [
        (client_hello(Some("a.org")), true),
        (client_hello(Some("b.org")), false),
        (client_hello(None), false),
        (vec![22, 3, 1, 0, 0], false),
    ] {
        let file = dir.path().join("hello");
        fs::write(&file, &hello).expect("there is room");
        // In two parts, so that the first one says nothing yet.
        let script = format!(
            r"exec 3<>/dev/tcp/127.0.0.1/880
              printf 'CONNECT a.org:443 HTTP/1.1\r\n\r\n' >&3
              IFS= read -r status <&3; IFS= read -r empty <&3
              head -c 4 {0} >&3; tail -c +5 {0} >&3
              cat <&3 | od -An -tx1 | head -n 1",
            file.display()
        );
        for env in each(&world) {
            let before = world.heard(world.connected().len()).await.len();
            let spec = bash(&script, &["a.org", "b.org"]);
            let text = shown(&env.run(spec).await.expect("it runs"));
            // Either the server's answer or the alert.
            let expected = if is_served { " 48 54 54 50" } else { " 15 03 03 00 02 02 70\n" };
            assert!(text.starts_with(expected), "{hello:?}: {text}");
            let heard = world.heard(world.connected().len()).await.split_off(before);
            assert_eq!(heard, if is_served { hello.as_slice() } else { &[] });
        }
    }
}

#[tokio::test]
async fn an_address_needs_no_name_in_a_tls_connection() {
    let world = World::new(&[]).await;
    let dir = tempfile::tempdir().expect("there is room");
    let port = world.server.port();
    for (hello, is_served) in [
        (client_hello(None), true),
        (client_hello(Some("a.org")), true),
        (client_hello(Some("b.org")), false),
    ] {
        let file = dir.path().join("hello");
        fs::write(&file, &hello).expect("there is room");
        let script = format!(
            r"exec 3<>/dev/tcp/127.0.0.1/880
              printf 'CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n' >&3; cat {} >&3; cat <&3 | tr -d '\0'",
            file.display()
        );
        for env in each(&world) {
            let spec = bash(&script, &["127.0.0.1", "a.org"]);
            let text = shown(&env.run(spec).await.expect("it runs"));
            assert_eq!(text.contains("served"), is_served, "{text}");
        }
    }
}

#[tokio::test]
async fn there_is_no_other_way_out() {
    const HOST: &str = "FLYTO_TEST_HOST_PORT";
    if let Some(port) = env::var_os(HOST) {
        let port: u16 = port.to_str().and_then(|it| it.parse().ok()).expect("it is set");
        let errno = |res: io::Error| res.raw_os_error().expect("the system refuses it");
        let to =
            |address: &str, port| errno(StdStream::connect((address, port)).expect_err("refused"));
        assert_eq!(to("127.0.0.1", port), libc::ECONNREFUSED);
        assert_eq!(to("93.184.216.34", 80), libc::ENETUNREACH);
        assert!([libc::ENETUNREACH, libc::EADDRNOTAVAIL].contains(&to("2606:4700::1", 80)));
        let datagrams = UdpSocket::bind("0.0.0.0:0").expect("its own network has them");
        let sent = datagrams.send_to(b"x", "93.184.216.34:53").expect_err("refused");
        assert_eq!(errno(sent), libc::ENETUNREACH);
        assert_eq!(errno(UnixStream::connect("/x").expect_err("refused")), libc::EPERM);
        assert_eq!(errno(UnixDatagram::unbound().expect_err("refused")), libc::EPERM);
        // AF_PACKET, AF_ALG, AF_VSOCK
        for family in [17, 38, 40] {
            let args = [family, libc::SOCK_RAW as u32, 0];
            let refused = crate::bare::attempt::without_buffers(libc::SYS_socket, &args);
            assert_eq!(refused, libc::EPERM as u32, "family {family}");
        }
        // Nothing stands in for the host.
        let taken = TcpListener::bind("127.0.0.2:880").expect_err("refused");
        assert_eq!(errno(taken), libc::EACCES);
        // Its own servers it reaches.
        let own = TcpListener::bind("127.0.0.1:0").expect("its own network has them");
        StdStream::connect(own.local_addr().expect("it has one")).expect("it listens");
        UnixStream::pair().expect("pairs stay");
        return;
    }
    as_both!("there_is_no_other_way_out");
    let world = World::new(&[]).await;
    let port = world.server.port();
    StdStream::connect(world.server).expect("it is reached from here");
    let program = env::current_exe().expect("it runs");
    for env in each(&world) {
        let spec = Spec::new(program.as_os_str())
            .args(["proxy::tests::there_is_no_other_way_out", "--exact", "--nocapture"])
            .env_var(HOST, port.to_string());
        // No host, and yet a network of its own.
        let outcome = env.run(limited(spec, &[])).await.expect("it runs");
        let text = shown(&outcome);
        assert!(outcome.success() && text.contains("1 passed"), "{text}");
    }
}

#[tokio::test]
async fn programs_do_not_meet() {
    as_both!("programs_do_not_meet");
    let world = World::new(&[("a.org", PUBLIC), ("b.org", PUBLIC)]).await;
    for env in each(&world) {
        let script = r"readlink /proc/self/ns/net
            for host in a b; do ask 'CONNECT '$host'.org:80 HTTP/1.1\r\n\r\nhello' | head -n 1; done";
        let [a, b] = [["a.org"], ["b.org"]].map(|it| env.run(bash(script, &it)));
        let (a, b) = tokio::join!(a, b);
        let [a, b] = [a, b].map(|it| shown(&it.expect("it runs")));
        let lines = |it: &str| it.lines().map(str::to_owned).collect::<Vec<_>>();
        let (a, b) = (lines(&a), lines(&b));
        let (reached, refused) = ("HTTP/1.1 200 Connection established", "HTTP/1.1 403 Forbidden");
        assert_eq!((&*a[1], &*a[2]), (reached, refused));
        assert_eq!((&*b[1], &*b[2]), (refused, reached));
        let own = fs::read_link("/proc/self/ns/net").expect("proc(5)").display().to_string();
        assert!(a[0] != b[0] && a[0] != own && b[0] != own, "{a:?} {b:?} {own}");
    }
}

#[tokio::test]
async fn programs_are_told_where_the_proxy_is() {
    let world = World::new(&[]).await;
    let variables = "env | grep -i proxy | LC_ALL=C sort";
    for env in each(&world) {
        let spec = bash(variables, &["a.org", "*.b.org:443"]).env_var("NO_PROXY", "*");
        expect![[r#"
            ALL_PROXY=http://127.0.0.1:880
            HTTPS_PROXY=http://127.0.0.1:880
            HTTP_PROXY=http://127.0.0.1:880
            NODE_USE_ENV_PROXY=1
            NO_PROXY=localhost,127.0.0.1,::1
            all_proxy=http://127.0.0.1:880
            http_proxy=http://127.0.0.1:880
            https_proxy=http://127.0.0.1:880
            no_proxy=localhost,127.0.0.1,::1
        "#]]
        .assert_eq(&shown(&env.run(spec).await.expect("it runs")));
        // This machine's own server is behind the proxy.
        let spec = bash("echo $NO_PROXY", &["127.0.0.1:8080"]);
        let text = shown(&env.run(spec).await.expect("it runs"));
        assert_eq!(text, "localhost,::1\n");
    }
}

#[tokio::test]
async fn odd_requests_are_told_apart() {
    let world = World::new(&[]).await;
    let check = async |script: &str, expect: &str| {
        for env in each(&world) {
            let text = shown(&env.run(bash(script, &["a.org"])).await.expect("it runs"));
            assert!(text.starts_with(expect), "{text}");
        }
    };
    check(r"ask 'GET / HTTP/1.1\r\n\r\n'", "HTTP/1.1 400 Bad Request\n").await;
    check(r"ask '\x16\x03\x01'", "HTTP/1.1 400 Bad Request\n").await;
    let long = r#"ask "GET http://a.org/$(head -c 40000 /dev/zero | tr '\0' x) HTTP/1.1\r\n""#;
    check(long, "HTTP/1.1 431 ").await;
    check(r"ask 'CONNECT a.org:80 HTTP/1.1\r\n\r\n'", "HTTP/1.1 502 Bad Gateway\n").await;
}

#[tokio::test]
async fn other_isolation_holds_beside_it() {
    as_both!("other_isolation_holds_beside_it");
    let world = World::new(&[("a.org", PUBLIC)]).await;
    for env in each(&world) {
        let script = r"ask 'CONNECT a.org:80 HTTP/1.1\r\n\r\nhello' | head -n 1; unshare -U true";
        let mut spec = bash(script, &["a.org"]);
        spec.isolation = spec.isolation.system_calls(SystemCalls::Restricted).deny("/nowhere");
        let text = shown(&env.run(spec).await.expect("it runs"));
        assert!(text.starts_with("HTTP/1.1 200 Connection established\n"), "{text}");
        assert!(text.contains("Operation not permitted"), "{text}");
    }
}
