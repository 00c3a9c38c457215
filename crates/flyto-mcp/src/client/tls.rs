//! TLS for servers behind `https`.
//!
//! A certificate is checked against the authorities of the system, or of one file, and against the host of the address.
//! There is no way to switch that off.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use tokio::net::TcpStream;
pub(super) use tokio_rustls::TlsConnector;
use tokio_rustls::{
    client::TlsStream,
    rustls::{
        self, ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

/// Bytes of a file of authorities, 16 MiB: those of a system have 250 KiB.
const MAX_CA_BYTES: u64 = 16 << 20;

/// What connects with TLS 1.2 and 1.3. Its connections share their sessions, so that a second handshake is a short one.
///
/// # Errors
///
/// No authority can be read, in words.
pub(super) fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, String> {
    let certificates = match ca_file {
        Some(file) => read(file).map_err(|err| {
            format!("the authorities in {} cannot be read: {err}", file.display())
        })?,
        // One that cannot be read is left out; the connection then says what it does not trust.
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    let (n_taken, _) = roots.add_parsable_certificates(certificates);
    if n_taken == 0 {
        return Err(match ca_file {
            Some(file) => format!("there is no certificate in {}", file.display()),
            None => "the system has no certificate authorities; SSL_CERT_FILE names a file of them"
                .to_owned(),
        });
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|err| format!("TLS cannot be used: {err}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The certificates in a file in PEM. What else is in it is left out.
fn read(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let mut text = Vec::new();
    File::open(file)?.take(MAX_CA_BYTES).read_to_end(&mut text)?;
    Ok(CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect())
}

/// Agrees on keys over a connection, and checks the certificate of the server against the name or number of its host.
///
/// # Errors
///
/// In words.
pub(super) async fn connect(
    tls: &TlsConnector,
    host: &str,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|err| err.to_string())?;
    tls.connect(name, stream).await.map_err(|err| {
        let cause = err.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>());
        match cause {
            Some(rustls::Error::InvalidCertificate(why)) => {
                format!("its certificate is not trusted: {why}")
            }
            _ => err.to_string(),
        }
    })
}
