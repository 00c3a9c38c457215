//! The output of a job so far, in two files.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::{Mutex, PoisonError},
};

use flyto_tools::OutputChannel;

use super::names;

/// Bytes that are kept of each of a job's two streams while it runs: 8 MiB from its beginning. The result has both ends
/// of a longer one, and names the file with the whole of it where there is one.
pub const MAX_OUTPUT_BYTES: u64 = 8 << 20;

/// Writes what arrives.
#[derive(Debug)]
pub(super) struct Recorded(Mutex<Streams>);

#[derive(Debug)]
struct Streams {
    stdout: Stream,
    stderr: Stream,
    dropped_bytes: u64,
}

#[derive(Debug)]
struct Stream {
    /// `None` once it could not be written.
    file: Option<File>,
    room_bytes: u64,
}

impl Recorded {
    /// Opens the files of a job, which are there and empty.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let stream = |name| -> io::Result<Stream> {
            let file = File::options().append(true).open(dir.join(name))?;
            Ok(Stream { file: Some(file), room_bytes: MAX_OUTPUT_BYTES })
        };
        let (stdout, stderr) = (stream(names::STDOUT)?, stream(names::STDERR)?);
        Ok(Self(Mutex::new(Streams { stdout, stderr, dropped_bytes: 0 })))
    }

    /// Takes a piece, and says how many bytes were dropped so far.
    pub(super) fn take(&self, channel: OutputChannel, bytes: &[u8]) -> u64 {
        // The state is whole between any two statements that change it.
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match channel {
            OutputChannel::Output => &mut streams.stdout,
            _ => &mut streams.stderr,
        };
        let n_dropped = stream.write(bytes);
        streams.dropped_bytes += n_dropped;
        streams.dropped_bytes
    }
}

impl Stream {
    /// Gives how many bytes were not written.
    fn write(&mut self, bytes: &[u8]) -> u64 {
        let n_all = bytes.len() as u64;
        let Some(file) = &mut self.file else { return n_all };
        let n_kept = usize::try_from(self.room_bytes).unwrap_or(usize::MAX).min(bytes.len());
        if file.write_all(&bytes[..n_kept]).is_err() {
            // How much of it was written is not known. A gap in the middle would mislead, so nothing follows.
            self.file = None;
            return n_all;
        }
        self.room_bytes -= n_kept as u64;
        n_all - n_kept as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_each_stream_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in [names::STDOUT, names::STDERR] {
            File::create(dir.path().join(name)).expect("made");
        }
        let recorded = Recorded::open(dir.path()).expect("they are there");
        recorded.0.lock().expect("not poisoned").stdout.room_bytes = 5;
        let take = |channel, bytes: &[u8]| recorded.take(channel, bytes);
        assert_eq!(take(OutputChannel::Output, b"abc"), 0);
        assert_eq!(take(OutputChannel::Error, b"warning"), 0);
        assert_eq!(take(OutputChannel::Output, b"defg"), 2);
        assert_eq!(take(OutputChannel::Output, b"h"), 3);
        let read = |name| std::fs::read(dir.path().join(name)).expect("there");
        assert_eq!(
            (&*read(names::STDOUT), &*read(names::STDERR)),
            (&b"abcde"[..], &b"warning"[..])
        );
    }
}
