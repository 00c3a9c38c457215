//! stdin and stdout of this process, as the streams of a client.

use std::io::{self, Read, Write};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

/// stdin without a lock and a buffer, for a thread that may wait.
pub(crate) struct Stdin;

impl Read for Stdin {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        retried(PollFlags::IN, || rustix::io::read(rustix::stdio::stdin(), &mut *bytes))
    }
}

/// stdout in the same way.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        retried(PollFlags::OUT, || rustix::io::write(rustix::stdio::stdout(), bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tries again once the stream is ready, where it says that it would have to wait: its other end may have made it
/// non-blocking, for the flag belongs to the pipe and not to a process (open(2)).
fn retried(ready: PollFlags, mut call: impl FnMut() -> Result<usize, Errno>) -> io::Result<usize> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
                let stream = if ready == PollFlags::IN { &stdin } else { &stdout };
                match poll(&mut [PollFd::new(stream, ready)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(err) => return Err(err.into()),
                }
            }
            res => return Ok(res?),
        }
    }
}
