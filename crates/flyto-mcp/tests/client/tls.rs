//! Servers behind `https`.

use std::{fs, path::PathBuf, sync::Arc};

use flyto_mcp::{ServerReport, ServerStatus};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::{
    http::Listening,
    support::{World, options},
};

/// A certificate authority in a file, and what ends TLS with a certificate of it for `host`.
fn authority(dir: &TempDir, name: &str, host: &str) -> (PathBuf, TlsAcceptor) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let file = dir.path().join(name);
    let own = params.self_signed(&key).expect("a certificate");
    fs::write(&file, own.pem()).expect("written");
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([host.to_owned()]).expect("a host");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("known ones")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("they are a pair");
    (file, TlsAcceptor::from(Arc::new(config)))
}

/// Ends TLS before a server that speaks HTTP; the port.
async fn before(server: &Listening, acceptor: TlsAcceptor) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let (port, plain) = (listener.local_addr().expect("it has one").port(), server.port);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut server =
                    TcpStream::connect(("127.0.0.1", plain)).await.expect("it listens");
                // The client may end its side first.
                let _ = copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    port
}

async fn connected(port: u16, ca_file: Option<PathBuf>) -> World {
    let mut options = options();
    options.ca_file = ca_file;
    let url = format!("https://127.0.0.1:{port}/mcp");
    let headers = json!({"Authorization": "Bearer ${SECRET}"});
    World::with(json!({"s": {"url": url, "headers": headers}}), options, None).connected().await
}

/// How an attempt ended that was not to succeed.
fn problem(report: ServerReport) -> String {
    assert_eq!(report.status, ServerStatus::Failed);
    report.problem.expect("there is one")
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_used() {
    let dir = tempfile::tempdir().expect("a directory");
    for modes in [&["stream"][..], &["modern", "stream"]] {
        let server = Listening::start(modes);
        let (ca_file, acceptor) = authority(&dir, "ca.pem", "127.0.0.1");
        let port = before(&server, acceptor).await;
        let world = connected(port, Some(ca_file)).await;
        assert_eq!(world.report().problem, None, "{modes:?}");
        assert_eq!(world.text("echo", json!({"text": "a"})).await, "a", "{modes:?}");
        assert!(world.servers.close().await.is_empty());
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Listening::start(&[]);
    let (own, acceptor) = authority(&dir, "own.pem", "127.0.0.1");
    let (other, _) = authority(&dir, "other.pem", "127.0.0.1");
    let port = before(&server, acceptor).await;
    let (named, for_a_name) = authority(&dir, "named.pem", "a.org");
    let port_of_a_name = before(&server, for_a_name).await;
    let empty = dir.path().join("empty.pem");
    fs::write(&empty, "no certificate").expect("written");
    for (port, ca_file, expected) in [
        (port, Some(other), "its certificate is not trusted"),
        (port_of_a_name, Some(named), "its certificate is not trusted"),
        (port, Some(empty), "there is no certificate in "),
        (port, Some(dir.path().join("none.pem")), "cannot be read: No such file"),
        // A server that speaks HTTP only.
        (server.port, Some(own), "no secure connection to 127.0.0.1:"),
    ] {
        let told = problem(connected(port, ca_file).await.report());
        assert!(told.contains(expected), "{told}");
    }
    // The authorities of the system are not asked for the test's own.
    let told = problem(connected(port, None).await.report());
    assert!(told.contains("not trusted") || told.contains("no certificate authorities"), "{told}");
}
