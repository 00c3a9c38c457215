//! Connections over which one request is made.

use std::path::Path;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, Uri, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

#[cfg(not(feature = "tls"))]
use super::no_tls as tls;
#[cfg(feature = "tls")]
use super::tls;

/// The longest line of a status or a header of a response, and all of them: 64 KiB.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The address of a server, and what a connection to it needs.
pub(super) struct Target {
    uri: Uri,
    /// For the scheme `https`.
    tls: Option<tls::TlsConnector>,
}

impl Target {
    /// Reads an address. `ca_file` has the authorities that are trusted in place of the system's.
    ///
    /// # Errors
    ///
    /// It is no address, its scheme is neither `http` nor `https`, or there are no authorities for the latter.
    pub(super) fn parse(url: &str, ca_file: Option<&Path>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|err| format!("its address cannot be used: {err}"))?;
        if uri.host().is_none_or(str::is_empty) {
            return Err("its address names no host".to_owned());
        }
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => Some(tls::connector(ca_file)?),
            _ => return Err("its address has neither the scheme http nor https".to_owned()),
        };
        Ok(Self { uri, tls })
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Makes one request over a connection of its own, and waits for the head of its response. The connection ends with the
    /// response, or when this future is dropped.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, its certificate is not trusted, or what it sends is no HTTP, in words.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        let host = self.uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
        let default = if self.tls.is_some() { 443 } else { 80 };
        let port = self.uri.port_u16().unwrap_or(default);
        let failed = |err: std::io::Error| format!("{host}:{port} cannot be reached: {err}");
        let stream = TcpStream::connect((host, port)).await.map_err(failed)?;
        // One message a request: it is to leave at once.
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => over(stream, request).await,
            Some(tls) => {
                let stream = tls::connect(tls, host, stream).await;
                let failed = |err| format!("no secure connection to {host}:{port}: {err}");
                over(stream.map_err(failed)?, request).await
            }
        }
    }
}

async fn over(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD_BYTES);
    let failed = |err: hyper::Error| format!("its answer cannot be read: {err}");
    let (mut sender, connection) =
        builder.handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await.map_err(failed)?;
    // It ends when the response was read, or was dropped.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(failed)
}
