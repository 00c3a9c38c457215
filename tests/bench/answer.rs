//! The cheapest plugin that keeps its process: it answers each request with a reply of 200 bytes,
//! all requests of one read with one write.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
};

const REPLY_BYTES: usize = 200;

fn main() -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (mut pending, mut replies) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = input.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&buffer[..n]);
        let mut from = 0;
        while let Some(n) = pending[from..].iter().position(|it| *it == b'\n') {
            reply(&pending[from..from + n], &mut replies);
            from += n + 1;
        }
        pending.drain(..from);
        output.write_all(&replies)?;
        replies.clear();
    }
}

fn reply(request: &[u8], replies: &mut Vec<u8>) {
    // The host writes its messages byte for byte like this.
    let rest = request.strip_prefix(br#"{"jsonrpc":"2.0","id":"#).unwrap_or_default();
    let n_digits = rest.iter().take_while(|it| it.is_ascii_digit()).count();
    let end = replies.len() + REPLY_BYTES;
    replies.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    replies.extend_from_slice(&rest[..n_digits]);
    replies.extend_from_slice(br#","result":{"output":""#);
    replies.resize(end - 4, b'x');
    replies.extend_from_slice(b"\"}}\n");
}
