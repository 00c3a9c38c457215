//! The program under test over HTTP, and a way to it for peers that send no token.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Stdio},
    thread,
};

use super::Place;
use crate::{process::program, stop::Stop};

/// Longest head of a request.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// `flyto serve --http`. Dropping it ends it.
pub(super) struct Server {
    child: Child,
    /// Where requests need no token: those that come here get it on their way.
    pub(super) url: String,
}

impl Server {
    /// Starts it with the fixtures for tools.
    pub(super) fn start(place: &Place, home: &Path) -> Result<Self, Stop> {
        let failed = |err| Stop::because("start the server over HTTP", &err);
        let token = "0123456789abcdef-interop";
        let token_file = home.join("token");
        fs::write(&token_file, token).map_err(failed)?;
        let mut flyto = program(&place.flyto);
        flyto.args(Place::SERVE).args(["--http", "0", "--token-file"]).arg(token_file);
        flyto.env("HOME", home).stderr(Stdio::piped());
        let mut child = flyto.spawn().map_err(failed)?;
        let mut line = String::new();
        let stderr = child.stderr.take();
        let mut stderr = BufReader::new(
            stderr.ok_or(io::ErrorKind::BrokenPipe).map_err(|it| failed(it.into()))?,
        );
        stderr.read_line(&mut line).map_err(failed)?;
        let address = line.trim().strip_prefix("serving http://");
        let address = address.and_then(|it| it.strip_suffix("/mcp")?.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            return Err(Stop::failed(format!("the server said {line:?} in place of its address")));
        };
        // What it says later is of no interest, and must not fill the pipe.
        thread::spawn(move || io::copy(&mut stderr, &mut io::sink()));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let url = format!("http://{}/mcp", listener.local_addr().map_err(failed)?);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                thread::spawn(move || relay(client, address, token));
            }
        });
        Ok(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands one request on with the token, and its response back.
fn relay(client: TcpStream, server: SocketAddr, token: &str) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let mut rest = (&mut reader).take(MAX_HEAD_BYTES.saturating_sub(head.len() as u64));
        if rest.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let mut server = TcpStream::connect(server)?;
    server.write_all(with_token(&head, token).as_bytes())?;
    let mut back = server.try_clone()?;
    let mut to_client = client.try_clone()?;
    let answers = thread::spawn(move || {
        let res = io::copy(&mut back, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
        res
    });
    // A client that closes its end takes its call back.
    let _ = io::copy(&mut reader, &mut server);
    let _ = server.shutdown(Shutdown::Both);
    let _ = answers.join();
    Ok(())
}

/// The head of a request with the token, and with the wish that its connection serves no other one.
fn with_token(head: &str, token: &str) -> String {
    let is_kept = |it: &&str| {
        let name = it.split(':').next().unwrap_or_default();
        !name.eq_ignore_ascii_case("connection") && !name.eq_ignore_ascii_case("authorization")
    };
    let lines: Vec<_> = head.trim_end().split("\r\n").filter(is_kept).collect();
    format!("{}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n", lines.join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_gets_the_token() {
        let head = "POST /mcp HTTP/1.1\r\nHost: a:1\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(
            with_token(head, "t"),
            "POST /mcp HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\nAuthorization: Bearer t\r\n\r\n"
        );
    }
}
