//! Sends back every byte that it reads, until the end of its input: what a raw ping-pong talks to.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
};

fn main() -> io::Result<()> {
    // Without the buffers of the standard streams.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            n => output.write_all(&buffer[..n])?,
        }
    }
}
