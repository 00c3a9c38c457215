//! Connections over which one request is made.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, Uri, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// The longest line of a status or a header of a response, and all of them: 64 KiB.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Reads the address of a server.
///
/// # Errors
///
/// It is none, or its scheme is not spoken here.
pub(super) fn parse(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|err| format!("its address cannot be used: {err}"))?;
    if uri.host().is_none_or(str::is_empty) {
        return Err("its address names no host".to_owned());
    }
    match uri.scheme_str() {
        Some("http") => Ok(uri),
        Some("https") => {
            let what = "its address has the scheme https, which is not spoken here; a local proxy that ends TLS can \
                        be named with http";
            Err(what.to_owned())
        }
        _ => Err("its address has neither the scheme http nor https".to_owned()),
    }
}

/// Makes one request over a connection of its own, and waits for the head of its response. The connection ends with the
/// response, or when this future is dropped.
///
/// # Errors
///
/// The server cannot be reached, or what it sends is no HTTP, in words.
pub(super) async fn send(
    uri: &Uri,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let host = uri.host().unwrap_or_default();
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    let port = uri.port_u16().unwrap_or(80);
    let failed = |err: std::io::Error| format!("{host}:{port} cannot be reached: {err}");
    let stream = TcpStream::connect((host, port)).await.map_err(failed)?;
    // One message a request: it is to leave at once.
    let _ = stream.set_nodelay(true);
    over(stream, request).await
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
