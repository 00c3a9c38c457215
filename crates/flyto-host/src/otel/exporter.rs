//! A batch of spans becomes one request to the collector.

use std::{
    fmt,
    io::{self, Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    sync::PoisonError,
    time::{Duration, Instant},
};

use opentelemetry::trace::Status;
use opentelemetry_proto::{
    tonic::collector::trace::v1::ExportTraceServiceRequest,
    transform::{
        common::tonic::ResourceAttributesWithSchema,
        trace::tonic::group_spans_by_resource_and_scope,
    },
};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{SpanData, SpanEvents, SpanExporter},
};
use prost::Message as _;

use super::{
    Problem,
    settings::{Endpoint, Headers},
};

/// The attributes that leave the program. None has an input, an output or a command line.
const ATTRIBUTES: [&str; 11] = [
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "gen_ai.tool.type",
    "gen_ai.tool.call.id",
    "mcp.method.name",
    "error.type",
    "flyto.tool.origin",
    "flyto.permission.verdict",
    "flyto.parent_call.id",
    "flyto.refused_by",
    "flyto.stage.name",
];

/// The first line of an answer is looked for in so many bytes.
const STATUS_LINE_BYTES: usize = 1024;

/// Sends spans to a collector. It runs on the thread of its processor, and may block that.
pub(super) struct Exporter {
    endpoint: Endpoint,
    headers: Headers,
    /// For one request, from the look-up of the address to the answer. The look-up itself has the bounds
    /// of the system's resolver.
    timeout: Duration,
    resource: ResourceAttributesWithSchema,
    problem: Problem,
}

impl Exporter {
    pub(super) fn new(
        endpoint: Endpoint,
        headers: Headers,
        timeout: Duration,
        problem: Problem,
    ) -> Self {
        let resource = ResourceAttributesWithSchema::default();
        Self { endpoint, headers, timeout, resource, problem }
    }

    /// Makes the request.
    fn post(&self, body: &[u8]) -> Result<(), String> {
        let Endpoint { authority, address, path } = &self.endpoint;
        let Headers(headers) = &self.headers;
        let ends = Instant::now() + self.timeout;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\
             User-Agent: flyto-host/{}\r\nContent-Type: application/x-protobuf\r\n{headers}\
             Content-Length: {}\r\n\r\n",
            env!("CARGO_PKG_VERSION"),
            body.len(),
        );
        let mut stream = connect(address, ends)
            .map_err(|err| format!("failed to connect to {address}: {err}"))?;
        let status = write_all(&mut stream, head.as_bytes(), ends)
            .and_then(|()| write_all(&mut stream, body, ends))
            .and_then(|()| status(&mut stream, ends))
            .map_err(|err| format!("failed to send to {address}: {err}"))?;
        match status {
            200..=299 => Ok(()),
            _ => Err(format!("{address} answered with the HTTP status {status}")),
        }
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let batch = batch.into_iter().map(without_content).collect();
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        self.post(&body).map_err(|why| {
            let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
            *problem = Some(why.clone());
            OTelSdkError::InternalFailure(why)
        })
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// The span with nothing in it that may be secret.
fn without_content(mut span: SpanData) -> SpanData {
    span.attributes.retain(|it| ATTRIBUTES.contains(&it.key.as_str()));
    span.events = SpanEvents::default();
    for link in &mut span.links.links {
        link.attributes.clear();
    }
    if let Status::Error { description } = &mut span.status {
        *description = "".into();
    }
    span
}

/// Tries each address of a host.
fn connect(address: &str, ends: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(ends)?) {
            Ok(stream) => return Ok(stream),
            Err(err) => last = err,
        }
    }
    Err(last)
}

/// Writes all bytes, however slowly the collector takes them, until `ends`.
fn write_all(stream: &mut TcpStream, mut bytes: &[u8], ends: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(ends)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(timed_out(err)),
        }
    }
    Ok(())
}

/// The status of the answer. What stands behind the first line is not read.
fn status(stream: &mut TcpStream, ends: Instant) -> io::Result<u16> {
    let mut line = Vec::new();
    while !line.contains(&b'\n') && line.len() < STATUS_LINE_BYTES {
        let mut piece = [0; 256];
        stream.set_read_timeout(Some(left(ends)?))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => line.extend_from_slice(&piece[..n]),
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(timed_out(err)),
        }
    }
    // "HTTP/1.1 200 OK" (RFC 9112, section 4).
    let text = line.starts_with(b"HTTP/1.").then(|| line.get(9..12)).flatten();
    let status = text.and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
    status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is no HTTP/1.1"))
}

/// The time until `ends`, never zero: that would be no limit.
fn left(ends: Instant) -> io::Result<Duration> {
    let left = ends.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A timeout of a socket as one, and not as "resource temporarily unavailable".
fn timed_out(err: io::Error) -> io::Error {
    if err.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { err }
}
