//! In place of `tls` in a build without the feature of that name: no server behind `https` is reached.

use std::path::Path;

use tokio::net::TcpStream;

/// What connects with TLS, of which there is none here.
pub(super) enum TlsConnector {}

/// # Errors
///
/// Always.
pub(super) fn connector(_: Option<&Path>) -> Result<TlsConnector, String> {
    Err("its address begins with https, and this program was built without the feature \"tls\""
        .to_owned())
}

/// Never called: there is no connector.
pub(super) async fn connect(
    tls: &TlsConnector,
    _: &str,
    _: TcpStream,
) -> Result<TcpStream, String> {
    match *tls {}
}
